//! The output of a sweep, and of the targets of a comparison.

use comfy_table::{Cell, CellAlignment};
use shingle_core::duration::{show_duration as seconds, show_micros as micros};
use shingle_core::size::show_blocks;
use shingle_core::units::BLOCK_BYTES;
use shingle_result::{
    Axis, Report, RunResult, Smallest,
    verdict::{self, POLICY, PlaceRuns, count},
};

use super::fit::{Figures, wrapped};
use super::plain::rows;
use super::words::{few_cleanings, heading};
use crate::cli::Color;

/// Formats the result of `sweep`: a row for each place of the grid, with the best policy there.
pub(crate) fn sweep(report: &Report, color: Color) -> String {
    let Some(sweep) = &report.sweep else { return String::new() };
    let mut text = match sweep.traces.len() {
        1 => heading(report),
        count => format!("{count} traces, the first: {}", heading(report)),
    };
    let axes: Vec<&Axis> = sweep.axes.iter().filter(|axis| axis.name != POLICY).collect();
    let places = verdict::places(&report.runs, sweep);
    let several = places.iter().any(|place| place.runs.len() > 1);
    let mut table = Figures::new(color, &["RMWs", "hits", "left"]);
    let mut header: Vec<&str> = axes.iter().map(|axis| axis.name.as_str()).collect();
    header.push(if several { "best" } else { "policy" });
    let open = |run: &&RunResult| run.queue.is_some();
    header.push(
        match (report.runs.iter().all(|run| open(&run)), report.runs.iter().any(|r| open(&r))) {
            (true, _) => "mean response",
            (false, false) => "done + left",
            (false, true) => "done + left, mean",
        },
    );
    header.extend(["left", "hits", "RMWs"]);
    header.extend(several.then_some("next best"));
    table.set_header(header);
    for PlaceRuns { at, runs } in &places {
        let runs: Vec<&RunResult> = runs.iter().map(|&i| &report.runs[i]).collect();
        let best = runs[0];
        let value = |axis: &&Axis| at.get(axis.name.as_str()).copied().unwrap_or("-");
        let mut cells: Vec<Cell> = axes.iter().map(|axis| Cell::new(value(axis))).collect();
        cells.push(Cell::new(&best.labels.policy));
        let figures = [
            measure(best),
            seconds(best.left.seconds),
            best.all.hits.ratio.map_or("-".into(), |ratio| format!("{:.1} %", 100.0 * ratio)),
            count(best.all.drive_io.rmw),
        ];
        cells.extend(figures.map(|f| Cell::new(f).set_alignment(CellAlignment::Right)));
        if several {
            let behind = |run: &&RunResult| {
                let times = verdict::measure(run) / verdict::measure(best);
                format!("{}, {times:.2} times", run.labels.policy)
            };
            let next = match verdict::none_filled(&runs) {
                true => "the cache never filled".into(),
                false => runs.get(1).map_or("-".into(), behind),
            };
            cells.push(Cell::new(next));
        }
        table.add_row(cells);
    }
    text += &table.to_string();
    text.push('\n');
    let said = report.said.iter().map(|said| &said.text);
    for sentence in said.chain(&sweep.left_out) {
        text += &wrapped(sentence);
        text.push('\n');
    }
    text
}

fn measure(run: &RunResult) -> String {
    match run.queue {
        None => seconds(verdict::measure(run)),
        Some(queue) => micros(verdict::measure(run)) + if queue.overloaded { " !" } else { "" },
    }
}

/// Formats the smallest caches that meet the targets of a comparison; empty if there are none.
pub(crate) fn targets(report: &Report, color: Color) -> String {
    if report.targets.is_empty() {
        return String::new();
    }
    let doubtful = |smallest| doubtful(smallest, &report.runs);
    let cells: Vec<[String; 4]> = report
        .targets
        .iter()
        .map(|smallest| {
            let drive = match &smallest.translation {
                None => smallest.drive.clone(),
                Some(translation) => format!("{translation} over {}", smallest.drive),
            };
            let few = if doubtful(smallest).is_empty() { "" } else { " ~" };
            let needed = needed(smallest) + few;
            [smallest.target.clone(), smallest.policy.clone(), drive, needed]
        })
        .collect();
    let header = ["target", "policy", "drive", "smallest cache that meets it"];
    let table = format!("\n{}\n", rows(header, &cells, color));
    let few: Vec<&RunResult> = report.targets.iter().flat_map(doubtful).collect();
    match few.is_empty() {
        true => table,
        false => table + &few_cleanings(verdict::cleaned(&few), "with that cache"),
    }
}

/// Returns the runs in which a cache meets its target and that cleaned little. (Hits do not depend on it.)
fn doubtful<'a>(smallest: &Smallest, runs: &'a [RunResult]) -> Vec<&'a RunResult> {
    let is_its = |run: &&RunResult| {
        let labels = &run.labels;
        Some(labels.cache_blocks) == smallest.cache_blocks
            && (&labels.policy, &labels.drive, &labels.translation)
                == (&smallest.policy, &smallest.drive, &smallest.translation)
    };
    let depends = !smallest.target.starts_with("hits");
    let of_it = runs.iter().filter(is_its).filter(|run| depends && verdict::hardly_cleaned(run));
    of_it.collect()
}

fn needed(smallest: &Smallest) -> String {
    match smallest.cache_blocks {
        Some(0) => "none is needed".into(),
        Some(blocks) => {
            let larger = smallest.tried.iter().filter(|t| !t.meets && t.cache_blocks > blocks);
            let larger: Vec<String> = larger.map(|tried| show_blocks(tried.cache_blocks)).collect();
            let but = match larger.as_slice() {
                [] => String::new(),
                larger => format!("; {} does not", larger.join(", ")),
            };
            let bytes = blocks * BLOCK_BYTES;
            format!(
                "{}: {} blocks, {} bytes{but}",
                show_blocks(blocks),
                count(blocks),
                count(bytes)
            )
        }
        None if smallest.tried.iter().all(|tried| tried.cache_blocks == 0) => {
            "not met without a cache".into()
        }
        None => {
            let sizes = smallest.tried.iter().map(|tried| show_blocks(tried.cache_blocks));
            format!("none of these sizes does: {}", sizes.collect::<Vec<_>>().join(", "))
        }
    }
}
