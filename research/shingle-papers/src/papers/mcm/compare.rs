//! How the systems' figures are compared.

use super::systems::{FC_A, FC_B, FIVE, TWO};
use crate::cells::{Cells, Chain};
use crate::grid::{Metric, Point};
use crate::papers::compare;
use crate::papers::metrics::RESPONSE;

const OURS: &str = "MCM";

/// By how many per cent a metric is less under MCM than under another system: the mean over traces.
pub(super) fn saved(cells: &Cells, metric: Metric, from: &str) -> f64 {
    saved_by(cells, metric, OURS, from)
}

/// By how many per cent a metric is less under one system than under another: the mean over traces.
pub(super) fn saved_by(cells: &Cells, metric: Metric, of: &str, from: &str) -> f64 {
    compare::mean(FIVE, |trace| compare::saved_on(cells, metric, of, from, trace))
}

pub(super) fn saved_on(cells: &Cells, metric: Metric, from: &str, trace: &str) -> f64 {
    compare::saved_on(cells, metric, OURS, from, trace)
}

/// The most over traces.
pub(super) fn saved_at_most(cells: &Cells, metric: Metric, from: &str) -> f64 {
    FIVE.iter().map(|trace| saved_on(cells, metric, from, trace)).fold(f64::NEG_INFINITY, f64::max)
}

/// MCM's is below each other's, on each trace.
pub(super) fn least(cells: &Cells, metric: Metric, others: &[&str]) -> Vec<Chain> {
    compare::below_each(cells, metric, FIVE, OURS, others)
}

/// What is saved on one trace is more than on each other.
pub(super) fn most_on(cells: &Cells, metric: Metric, from: &str, trace: &str) -> Vec<Chain> {
    compare::above_others(FIVE, trace, |name| saved_on(cells, metric, from, name))
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
    compare::mean(FIVE, |trace| compare::times_on(cells, metric, system, than, trace))
}

/// Whether something printed of a trace is above a bound.
pub(super) fn above(
    bound: f64,
    what: &str,
    figures: impl Iterator<Item = (&'static str, f64)>,
) -> Vec<Chain> {
    figures.map(|(place, figure)| compare::two(place, (what, bound), (place, figure))).collect()
}

/// A chain of two systems on each trace.
pub(super) fn pairs(cells: &Cells, metric: Metric, less: &str, more: &str) -> Vec<Chain> {
    compare::on_each(cells, metric, FIVE, &[less, more])
}
