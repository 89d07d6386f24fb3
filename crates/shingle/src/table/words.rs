//! Text around tables of results.

use shingle_core::size::show_bytes;
use shingle_result::verdict::{CLEANINGS_MIN, counted};
use shingle_result::{Report, RunResult};

use super::fit::wrapped;

pub(crate) fn heading(report: &Report) -> String {
    let trace = &report.trace;
    wrapped(&format!(
        "{}: {}, {} ({:.1} % writes) in zones of {}, seed {}\n",
        trace.name,
        counted(trace.requests, "request", "requests"),
        counted(trace.blocks, "block access", "block accesses"),
        100.0 * trace.write_blocks as f64 / trace.blocks.max(1) as f64,
        show_bytes(trace.accessed_zone_bytes),
        report.seed,
    ))
}

/// Returns the drive, and the layers above it.
pub(super) fn title(run: &RunResult) -> String {
    match &run.labels.translation {
        None => run.labels.drive.clone(),
        Some(translation) => format!("{translation} over {}", run.labels.drive),
    }
}

/// Returns the remarks on compared runs, one per line.
pub(super) fn said(report: &Report, compared: &[usize]) -> String {
    let said = report.said.iter().filter(|said| said.compared == compared);
    said.map(|said| wrapped(&said.text) + "\n").collect()
}

/// Returns what the mark `~` says: of `bands`, or whatever else is cleaned.
pub(super) fn few_cleanings(bands: &str, whereabouts: &str) -> String {
    let or_a = if bands == "bands" { "or a" } else { "or, where there is one, a" };
    wrapped(&format!(
        "~ fewer than {CLEANINGS_MIN} {bands} were cleaned {whereabouts}: these figures say little about shingling. A \
         longer trace, a smaller cache {or_a} smaller buffer (--set drive.pb=SIZE) shows more.\n"
    ))
}

/// Formats a ratio; `-` if the denominator is zero.
pub(super) fn ratio(value: Option<f64>) -> String {
    value.map_or("-".into(), |value| format!("{value:.2}"))
}
