//! Real runs and their predictions, side by side.

use shingle_core::duration::show_micros;
use shingle_result::RunResult;
use shingle_result::verdict::count;

use crate::cli::Color;
use crate::table::figure_rows;

/// A policy that ran.
#[derive(Clone, Copy)]
pub(super) struct Row<'a> {
    pub(super) measured: &'a RunResult,
    /// The same run in virtual time, if requested.
    pub(super) simulated: Option<&'a RunResult>,
}

/// Pairs `runs`: the first `real` are real ones, the rest simulated.
pub(super) fn rows(runs: &[RunResult], real: usize) -> Vec<Row<'_>> {
    let (real, simulated) = runs.split_at(real);
    let same = |measured: &RunResult| {
        simulated.iter().find(|run| run.labels.policy == measured.labels.policy)
    };
    real.iter().map(|measured| Row { measured, simulated: same(measured) }).collect()
}

/// A figure of both kinds of runs.
type Figure = (&'static str, fn(&RunResult) -> String);

const FIGURES: [Figure; 6] = [
    ("hits %", |run| run.all.hits.ratio.map_or("-".into(), |hits| format!("{:.2}", 100.0 * hits))),
    ("blocks written", |run| count(run.all.drive_io.written_blocks)),
    ("RMWs", rmws),
    ("left dirty", |run| count(run.left.dirty_blocks)),
    ("mean response", |run| show_micros(run.latency.mean_us)),
    ("99 %", |run| show_micros(run.latency.p99_us)),
];

/// A line of the table: policy, whether it was measured or simulated, figures.
pub(super) type Line = [String; 2 + FIGURES.len()];

/// Rewrites are unknown for a real disk.
fn rmws(run: &RunResult) -> String {
    match &run.measured {
        Some(measured) if !measured.emulated => "-".into(),
        _ => count(run.all.drive_io.rmw),
    }
}

/// Names of the columns.
pub(super) fn header() -> Line {
    line_of(["policy", ""].map(str::to_owned), FIGURES.map(|(name, _)| name.to_owned()))
}

fn line_of([policy, how]: [String; 2], figures: [String; FIGURES.len()]) -> Line {
    let [hits, written, rmws, dirty, mean, p99] = figures;
    [policy, how, hits, written, rmws, dirty, mean, p99]
}

/// The table by lines: each policy as it was measured, and as it was simulated.
pub(super) fn lines(rows: &[Row<'_>]) -> Vec<Line> {
    let line = |run: &RunResult, how: &str| {
        line_of([run.labels.policy.clone(), how.to_owned()], FIGURES.map(|(_, of)| of(run)))
    };
    let both = |row: &Row<'_>| {
        let simulated = row.simulated.map(|run| line(run, "simulated"));
        [Some(line(row.measured, "measured")), simulated].into_iter().flatten().collect::<Vec<_>>()
    };
    rows.iter().flat_map(both).collect()
}

pub(super) fn table(rows: &[Row<'_>], color: Color) -> String {
    let header = header();
    figure_rows(header.each_ref().map(String::as_str), &lines(rows), color)
}
