//! Real runs and what was foretold of them, side by side.

use shingle_core::duration::show_micros;
use shingle_result::RunResult;
use shingle_result::verdict::count;

use crate::cli::Color;
use crate::table::figure_rows;

/// A policy that ran.
#[derive(Clone, Copy)]
pub(super) struct Row<'a> {
    pub(super) measured: &'a RunResult,
    /// The same in virtual time, if that was asked for.
    pub(super) simulated: Option<&'a RunResult>,
}

/// Of `runs`, the first `real` are real ones, and the rest are simulated.
pub(super) fn rows(runs: &[RunResult], real: usize) -> Vec<Row<'_>> {
    let (real, simulated) = runs.split_at(real);
    let same = |measured: &RunResult| {
        simulated.iter().find(|run| run.labels.policy == measured.labels.policy)
    };
    real.iter().map(|measured| Row { measured, simulated: same(measured) }).collect()
}

/// A figure that both have.
type Figure = (&'static str, fn(&RunResult) -> String);

const FIGURES: [Figure; 5] = [
    ("hits %", |run| run.all.hits.ratio.map_or("-".into(), |hits| format!("{:.2}", 100.0 * hits))),
    ("written to the disk", |run| count(run.all.drive_io.written_blocks)),
    ("dirty at the end", |run| count(run.left.dirty_blocks)),
    ("mean response", |run| show_micros(run.latency.mean_us)),
    ("99 %", |run| show_micros(run.latency.p99_us)),
];

/// Names of the columns.
pub(super) const HEADER: [&str; 7] =
    ["policy", "", FIGURES[0].0, FIGURES[1].0, FIGURES[2].0, FIGURES[3].0, FIGURES[4].0];

/// The table by lines: each policy as it was measured, and as it was simulated.
pub(super) fn lines(rows: &[Row<'_>]) -> Vec<[String; 7]> {
    let line = |run: &RunResult, how: &str| {
        let [hits, written, dirty, mean, p99] = FIGURES.map(|(_, of)| of(run));
        [run.labels.policy.clone(), how.to_owned(), hits, written, dirty, mean, p99]
    };
    let both = |row: &Row<'_>| {
        let simulated = row.simulated.map(|run| line(run, "simulated"));
        [Some(line(row.measured, "measured")), simulated].into_iter().flatten().collect::<Vec<_>>()
    };
    rows.iter().flat_map(both).collect()
}

pub(super) fn table(rows: &[Row<'_>], color: Color) -> String {
    figure_rows(HEADER, &lines(rows), color)
}
