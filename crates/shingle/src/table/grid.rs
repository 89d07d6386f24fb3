//! What a sweep and the targets of a comparison come to.

use std::collections::BTreeMap;

use comfy_table::{Cell, CellAlignment};
use shingle_core::size::show_bytes;
use shingle_core::units::BLOCK_BYTES;
use shingle_sim::result::{Report, RunResult};
use shingle_sim::swept::{Axis, Swept};
use shingle_sim::target::Smallest;
use shingle_sim::verdict::{self, count};

use super::{heading, micros, rows, seconds, wide_table};
use crate::cli::Color;

/// The axis within whose groups runs are compared.
const POLICY: &str = "policy";

/// A place of the grid but for the policy, with the runs that belong there, best first.
struct Group<'a> {
    at: BTreeMap<&'a str, &'a str>,
    runs: Vec<&'a RunResult>,
}

/// The result of `sweep`: a row for each place of the grid, with the best policy there.
pub(crate) fn sweep(report: &Report, color: Color) -> String {
    let Some(sweep) = &report.sweep else { return String::new() };
    let mut text = match sweep.traces.len() {
        1 => heading(report),
        count => format!("{count} traces, the first: {}", heading(report)),
    };
    let axes: Vec<&Axis> = sweep.axes.iter().filter(|axis| axis.name != POLICY).collect();
    let groups = groups(report, sweep);
    let several = groups.iter().any(|group| group.runs.len() > 1);
    let mut table = wide_table(color);
    let mut header: Vec<&str> = axes.iter().map(|axis| axis.name.as_str()).collect();
    header.push(if several { "best" } else { "policy" });
    let open = |run: &&RunResult| run.queue.is_some();
    header.push(
        match (report.runs.iter().all(|run| open(&run)), report.runs.iter().any(|r| open(&r))) {
            (true, _) => "mean response",
            (false, false) => "I/O time",
            (false, true) => "I/O time, mean",
        },
    );
    header.extend(["hits", "RMWs", "left"]);
    header.extend(several.then_some("next best"));
    table.set_header(header);
    for group in &groups {
        let best = group.runs[0];
        let value = |axis: &&Axis| group.at.get(axis.name.as_str()).copied().unwrap_or("-");
        let mut cells: Vec<Cell> = axes.iter().map(|axis| Cell::new(value(axis))).collect();
        cells.push(Cell::new(&best.policy));
        let figures = [
            measure(best),
            best.all.hits.ratio.map_or("-".into(), |ratio| format!("{:.1} %", 100.0 * ratio)),
            count(best.all.drive_io.rmw),
            seconds(best.left.seconds),
        ];
        cells.extend(figures.map(|f| Cell::new(f).set_alignment(CellAlignment::Right)));
        if several {
            let behind = |run: &&RunResult| {
                let times = verdict::measure(run) / verdict::measure(best);
                format!("{}, {times:.2} times", run.policy)
            };
            cells.push(Cell::new(group.runs.get(1).map_or("-".into(), behind)));
        }
        table.add_row(cells);
    }
    text += &table.to_string();
    text.push('\n');
    if several {
        text += &winners(&groups);
    }
    text += &hardly_cleaned(report);
    for sentence in &sweep.left_out {
        text += sentence;
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

/// A word on runs that say little about shingling.
fn hardly_cleaned(report: &Report) -> String {
    let cleanings = |run: &RunResult| run.all.drive_io.rmw + run.all.drive_io.rmw_free;
    let shingled = |run: &&RunResult| run.drive_parameters.contains_key("pb");
    let few = |run: &&RunResult| cleanings(run) < verdict::CLEANINGS_MIN;
    match report.runs.iter().filter(shingled).filter(few).count() {
        0 => String::new(),
        runs => format!(
            "{runs} of {} runs cleaned fewer than {} bands: they say little about shingling\n",
            report.runs.len(),
            verdict::CLEANINGS_MIN
        ),
    }
}

/// Who is best how often.
fn winners(groups: &[Group]) -> String {
    let mut wins: BTreeMap<&str, usize> = BTreeMap::new();
    for group in groups {
        *wins.entry(&group.runs[0].policy).or_default() += 1;
    }
    let mut wins: Vec<(&str, usize)> = wins.into_iter().collect();
    wins.sort_by_key(|&(_, count)| std::cmp::Reverse(count));
    let wins: Vec<String> =
        wins.iter().map(|(policy, count)| format!("{policy} in {count}")).collect();
    format!("best of {} places: {}\n", groups.len(), wins.join(", "))
}

/// Runs by place. What an axis makes no difference to belongs to each of its values, as `none` does
/// to each cache size.
fn groups<'a>(report: &'a Report, sweep: &'a Swept) -> Vec<Group<'a>> {
    let mut groups: Vec<Group> = Vec::new();
    let mut numbers = BTreeMap::new();
    let places: Vec<(BTreeMap<&str, &str>, &RunResult)> = sweep
        .cells
        .iter()
        .zip(&report.runs)
        .map(|(place, run)| {
            let at = place.at.iter().filter(|(axis, _)| *axis != POLICY);
            (at.map(|(axis, value)| (axis.as_str(), value.as_str())).collect(), run)
        })
        .collect();
    let most = places.iter().map(|(at, _)| at.len()).max().unwrap_or(0);
    for (at, run) in places.iter().filter(|(at, _)| at.len() == most) {
        let number = *numbers.entry(at.clone()).or_insert_with(|| {
            groups.push(Group { at: at.clone(), runs: Vec::new() });
            groups.len() - 1
        });
        groups[number].runs.push(run);
    }
    for (at, run) in places.iter().filter(|(at, _)| at.len() < most) {
        let mut alone = true;
        for group in &mut groups {
            if at.iter().all(|(axis, value)| group.at.get(axis) == Some(value)) {
                group.runs.push(run);
                alone = false;
            }
        }
        if alone {
            groups.push(Group { at: at.clone(), runs: vec![run] });
        }
    }
    for group in &mut groups {
        group.runs.sort_by(|a, b| verdict::measure(a).total_cmp(&verdict::measure(b)));
    }
    groups
}

/// The smallest caches that meet the targets of a comparison; nothing if there are none.
pub(crate) fn targets(found: &[Smallest], color: Color) -> String {
    if found.is_empty() {
        return String::new();
    }
    let cells: Vec<[String; 4]> = found
        .iter()
        .map(|smallest| {
            let drive = match &smallest.translation {
                None => smallest.drive.clone(),
                Some(translation) => format!("{translation} over {}", smallest.drive),
            };
            [smallest.target.clone(), smallest.policy.clone(), drive, needed(smallest)]
        })
        .collect();
    let header = ["target", "policy", "drive", "smallest cache that meets it"];
    format!("\n{}\n", rows(header, &cells, color))
}

fn needed(smallest: &Smallest) -> String {
    let shown = |blocks: u64| show_bytes(blocks * BLOCK_BYTES);
    match smallest.cache_blocks {
        Some(0) => "none is needed".into(),
        Some(blocks) => {
            let larger = smallest.tried.iter().filter(|t| !t.meets && t.cache_blocks > blocks);
            let larger: Vec<String> = larger.map(|tried| shown(tried.cache_blocks)).collect();
            let but = match larger.as_slice() {
                [] => String::new(),
                larger => format!("; {} does not", larger.join(", ")),
            };
            let bytes = blocks * BLOCK_BYTES;
            format!("{}: {} blocks, {} bytes{but}", shown(blocks), count(blocks), count(bytes))
        }
        None if smallest.tried.iter().all(|tried| tried.cache_blocks == 0) => {
            "not met without a cache".into()
        }
        None => {
            let sizes = smallest.tried.iter().map(|tried| shown(tried.cache_blocks));
            format!("none of these sizes does: {}", sizes.collect::<Vec<_>>().join(", "))
        }
    }
}
