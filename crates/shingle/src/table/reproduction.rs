//! The output of `reproduce`.

use comfy_table::presets::UTF8_FULL_CONDENSED;
use comfy_table::{Attribute, Cell, CellAlignment};
use shingle_core::size::show_blocks;
use shingle_papers::on::{OnTraces, Outcome};
use shingle_papers::result::Reproduction;
use shingle_papers::turned::Differences;
use shingle_report::numbers::figure;

use super::fit::{table, wrapped};
use crate::cli::Color;

/// Formats the verdicts of `reproduce`, figure by figure.
pub(crate) fn reproduction(result: &Reproduction, color: Color) -> String {
    let mut text = String::new();
    let (mut statements, mut agree) = (0, 0);
    for figure in &result.figures {
        let mut table = table(color);
        table.load_style(UTF8_FULL_CONDENSED);
        table.set_header(["published", "theirs", "ours", "verdict"]);
        for row in &figure.rows {
            let mut verdict = row.verdict.words().to_owned();
            if !row.reason.is_empty() {
                verdict += &format!(": {}", row.reason);
            }
            let attribute = if row.verdict.agrees() { Attribute::Reset } else { Attribute::Bold };
            let cells = [row.says.to_owned(), row.theirs(), row.shown.clone()].map(Cell::new);
            table.add_row(cells.into_iter().chain([Cell::new(verdict).add_attribute(attribute)]));
        }
        statements += figure.rows.len();
        agree += figure.rows.iter().filter(|row| row.verdict.agrees()).count();
        text += &format!("{}: {}\n", shingle_papers::page::label(figure.id), figure.title);
        if !figure.scale.is_empty() {
            text += &format!("scale: {}\n", figure.scale.join("; "));
        }
        text += &format!("{table}\n\n");
    }
    if result.figures.iter().flat_map(|figure| &figure.rows).any(|row| !row.reason.is_empty()) {
        text += &wrapped(&format!("{}\n", shingle_papers::page::REASONS));
    }
    text + &format!("{agree} of {statements} statements agree; seeds {:?}\n", result.seeds)
}

/// Formats the statements that changed since an earlier reproduction.
pub(crate) fn differences(found: &Differences, color: Color) -> String {
    let mut text = String::new();
    for agrees in [true, false] {
        let turned = || found.turned.iter().filter(|turned| turned.verdict.agrees() == agrees);
        if turned().next().is_none() {
            continue;
        }
        let mut table = table(color);
        table.load_style(UTF8_FULL_CONDENSED);
        table.set_header(["figure", "published", "before", "now"]);
        for turned in turned() {
            table.add_row([turned.figure, turned.says, &turned.before, turned.now]);
        }
        let what = if agrees {
            "did not agree before, and do now"
        } else {
            "agreed before, and do not now"
        };
        text += &format!("{what}:\n{table}\n\n");
    }
    let gained = found.turned.iter().filter(|turned| turned.verdict.agrees()).count();
    let lost = found.turned.len() - gained;
    text += &format!(
        "of {} statements that are in both {} agreed before, {} agree now: {gained} more, {lost} fewer\n",
        found.both,
        found.agreed,
        found.agreed + gained - lost,
    );
    for otherwise in &found.otherwise {
        text += &format!("not the same: {otherwise}\n");
    }
    text
}

/// Formats where a paper's rankings hold, one table per claim.
pub(crate) fn on_traces(result: &OnTraces, color: Color) -> String {
    let mut text = String::new();
    for claim in &result.claims {
        let chains: Vec<String> = claim.chains.iter().map(|chain| chain.join(" < ")).collect();
        let mut table = table(color);
        table.load_style(UTF8_FULL_CONDENSED);
        let header = ["trace"].into_iter().chain(result.systems.iter().copied());
        table.set_header(header.chain(["order"]));
        for (trace, found) in result.traces.iter().zip(&claim.found) {
            let figures = found.figures.iter().map(|value| value.map_or("-".into(), figure));
            let attribute = match found.outcome {
                Outcome::DoesNotHold => Attribute::Bold,
                Outcome::Holds | Outcome::NothingToCompare => Attribute::Reset,
            };
            let right = |text: String| Cell::new(text).set_alignment(CellAlignment::Right);
            let cells = [Cell::new(&trace.name)].into_iter().chain(figures.map(right));
            table.add_row(cells.chain([Cell::new(found.outcome.words()).add_attribute(attribute)]));
        }
        let count = |outcome| claim.found.iter().filter(|found| found.outcome == outcome).count();
        let (holds, not) = (count(Outcome::Holds), count(Outcome::DoesNotHold));
        let found = match holds + not {
            0 => "nothing to compare on any trace".to_owned(),
            compared => format!("holds on {holds} of {compared} traces"),
        };
        text += &format!(
            "{}: {}\n{}; to hold: {}\n{table}\n{found}\n\n",
            claim.at,
            claim.says,
            claim.metric,
            chains.join(", "),
        );
    }
    for trace in &result.traces {
        let mut about = vec![format!("different blocks {}", show_blocks(trace.distinct_blocks))];
        about.extend(trace.cache_blocks.map(|blocks| format!("cache {}", show_blocks(blocks))));
        about.extend(trace.buffer_blocks.map(|blocks| format!("buffer {}", show_blocks(blocks))));
        about.extend(trace.notes.iter().cloned());
        text += &format!("{}: {}\n", trace.name, about.join("; "));
    }
    text
}
