//! Comparisons for the statements of papers: chains and ratios over traces.

use crate::cells::{Cells, Chain};
use crate::grid::Metric;

/// Makes a chain of two values.
pub(super) fn two(place: &str, less: (&str, f64), more: (&str, f64)) -> Chain {
    let link = |(name, value): (&str, f64)| (name.to_owned(), value);
    Chain { place: place.into(), links: vec![link(less), link(more)] }
}

/// The figure of one trace is above that of each other trace.
pub(super) fn above_others(
    traces: &[&str],
    trace: &str,
    figure: impl Fn(&str) -> f64,
) -> Vec<Chain> {
    let pair = |other: &&str| two("", (other, figure(other)), (trace, figure(trace)));
    traces.iter().filter(|other| **other != trace).map(pair).collect()
}

pub(super) fn reversed(mut chains: Vec<Chain>) -> Vec<Chain> {
    chains.iter_mut().for_each(|chain| chain.links.reverse());
    chains
}

/// Makes a chain of systems for each trace.
pub(super) fn on_each(
    cells: &Cells,
    metric: Metric,
    traces: &[&'static str],
    systems: &[&str],
) -> Vec<Chain> {
    traces.iter().map(|trace| cells.chain(metric, trace, "", systems)).collect()
}

/// The metric of one system is below that of each other system, on each trace.
pub(super) fn below_each(
    cells: &Cells,
    metric: Metric,
    traces: &[&'static str],
    system: &str,
    others: &[&str],
) -> Vec<Chain> {
    let of = |trace: &&'static str| {
        let trace = *trace;
        let chain = move |other: &&str| cells.chain(metric, trace, "", &[system, other]);
        others.iter().map(chain).collect::<Vec<_>>()
    };
    traces.iter().flat_map(of).collect()
}

/// The percentage by which a metric of a trace is lower under system `of` than under `from`.
pub(super) fn saved_on(cells: &Cells, metric: Metric, of: &str, from: &str, trace: &str) -> f64 {
    100.0 * (1.0 - times_on(cells, metric, of, from, trace))
}

/// The ratio of a metric under system `of` to that under `than`.
pub(super) fn times_on(cells: &Cells, metric: Metric, of: &str, than: &str, trace: &str) -> f64 {
    cells.at(metric, trace, of, "") / cells.at(metric, trace, than, "")
}

/// The mean of a figure over traces.
pub(super) fn mean(traces: &[&str], figure: impl Fn(&str) -> f64) -> f64 {
    traces.iter().map(|trace| figure(trace)).sum::<f64>() / traces.len() as f64
}
