//! How the systems' figures are compared.

use super::systems::{FC_A, FC_B, FIVE, TWO};
use crate::cells::{Cells, Chain};
use crate::grid::{Metric, Point};
use crate::papers::metrics::RESPONSE;

/// By how many per cent a metric is less under MCM than under another system: the mean over traces.
pub(super) fn saved(cells: &Cells, metric: Metric, from: &str) -> f64 {
    saved_by(cells, metric, "MCM", from)
}

/// By how many per cent a metric is less under one system than under another: the mean over traces.
pub(super) fn saved_by(cells: &Cells, metric: Metric, of: &str, from: &str) -> f64 {
    let share = |trace: &&str| cells.at(metric, trace, of, "") / cells.at(metric, trace, from, "");
    100.0 * (1.0 - FIVE.iter().map(share).sum::<f64>() / FIVE.len() as f64)
}

pub(super) fn saved_on(cells: &Cells, metric: Metric, from: &str, trace: &str) -> f64 {
    100.0 * (1.0 - cells.at(metric, trace, "MCM", "") / cells.at(metric, trace, from, ""))
}

/// The most over traces.
pub(super) fn saved_at_most(cells: &Cells, metric: Metric, from: &str) -> f64 {
    FIVE.iter().map(|trace| saved_on(cells, metric, from, trace)).fold(f64::NEG_INFINITY, f64::max)
}

/// MCM's is below each other's, on each trace.
pub(super) fn least(cells: &Cells, metric: Metric, others: &[&str]) -> Vec<Chain> {
    let of = |trace: &&'static str| {
        let trace = *trace;
        let chain = move |other: &&str| cells.chain(metric, trace, "", &["MCM", other]);
        others.iter().map(chain).collect::<Vec<_>>()
    };
    FIVE.iter().flat_map(of).collect()
}

/// What is saved on one trace is more than on each other.
pub(super) fn most_on(
    cells: &Cells,
    metric: Metric,
    from: &str,
    trace: &'static str,
) -> Vec<Chain> {
    let link = |name: &str| (name.to_owned(), saved_on(cells, metric, from, name));
    let chain =
        |other: &&str| Chain { place: String::new(), links: vec![link(other), link(trace)] };
    FIVE.iter().filter(|other| **other != trace).map(chain).collect()
}

/// MCM's response times are below Skylight's and FC's, on both traces at each point.
pub(super) fn outperforms(cells: &Cells, points: &'static [Point]) -> Vec<Chain> {
    let at = |trace: &'static str, point: &Point| {
        let label = point.label;
        ["Skylight", FC_A, FC_B].map(|other| cells.chain(RESPONSE, trace, label, &["MCM", other]))
    };
    let of = |point| TWO.iter().flat_map(move |trace| at(trace, point));
    points.iter().flat_map(of).collect()
}

/// How many times as much as under another system: the mean over traces.
pub(super) fn times(cells: &Cells, metric: Metric, system: &str, than: &str) -> f64 {
    let of = |trace: &&str| cells.at(metric, trace, system, "") / cells.at(metric, trace, than, "");
    FIVE.iter().map(of).sum::<f64>() / FIVE.len() as f64
}

/// Whether something printed of a trace is above a bound.
pub(super) fn above(
    bound: f64,
    what: &str,
    figures: impl Iterator<Item = (&'static str, f64)>,
) -> Vec<Chain> {
    let bound = (what.to_owned(), bound);
    let chain = |(place, figure): (&str, f64)| Chain {
        place: place.into(),
        links: vec![bound.clone(), (place.to_owned(), figure)],
    };
    figures.map(chain).collect()
}

/// A chain of two systems on each trace.
pub(super) fn pairs(cells: &Cells, metric: Metric, less: &str, more: &str) -> Vec<Chain> {
    FIVE.iter().map(|trace| cells.chain(metric, trace, "", &[less, more])).collect()
}
