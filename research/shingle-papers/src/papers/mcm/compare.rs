//! Comparisons of metrics for MCM's statements.

use super::systems::{FC_A, FC_B, FIVE, TWO};
use crate::cells::{Cells, Chain};
use crate::grid::{Metric, Point};
use crate::papers::compare;
use crate::papers::metrics::RESPONSE;

const OURS: &str = "MCM";

/// The percentage by which a metric is lower under MCM than under another system: the mean over
/// traces.
pub(super) fn saved(cells: &Cells, metric: Metric, from: &str) -> f64 {
    saved_by(cells, metric, OURS, from)
}

/// The percentage by which a metric is lower under system `of` than under `from`: the mean over
/// traces.
pub(super) fn saved_by(cells: &Cells, metric: Metric, of: &str, from: &str) -> f64 {
    compare::mean(FIVE, |trace| compare::saved_on(cells, metric, of, from, trace))
}

pub(super) fn saved_on(cells: &Cells, metric: Metric, from: &str, trace: &str) -> f64 {
    compare::saved_on(cells, metric, OURS, from, trace)
}

/// The greatest saving of all traces.
pub(super) fn saved_at_most(cells: &Cells, metric: Metric, from: &str) -> f64 {
    FIVE.iter().map(|trace| saved_on(cells, metric, from, trace)).fold(f64::NEG_INFINITY, f64::max)
}

/// The metric of MCM is below that of each other system, on each trace.
pub(super) fn least(cells: &Cells, metric: Metric, others: &[&str]) -> Vec<Chain> {
    compare::below_each(cells, metric, FIVE, OURS, others)
}

/// More is saved on `trace` than on any other.
pub(super) fn saves_most_on(cells: &Cells, metric: Metric, from: &str, trace: &str) -> Vec<Chain> {
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

/// The ratio of a metric to that under another system: the mean over traces.
pub(super) fn ratio(cells: &Cells, metric: Metric, system: &str, than: &str) -> f64 {
    compare::mean(FIVE, |trace| compare::times_on(cells, metric, system, than, trace))
}

/// Each of `figures` is above a bound.
pub(super) fn all_above(
    bound: f64,
    what: &str,
    figures: impl Iterator<Item = (&'static str, f64)>,
) -> Vec<Chain> {
    figures.map(|(place, figure)| compare::two(place, (what, bound), (place, figure))).collect()
}

/// Makes a chain of two systems for each trace.
pub(super) fn pairs(cells: &Cells, metric: Metric, less: &str, more: &str) -> Vec<Chain> {
    compare::on_each(cells, metric, FIVE, &[less, more])
}
