//! Comparisons of metrics for Amphisbaena's statements.

use super::systems::EIGHT;
use crate::cells::{Cells, Chain};
use crate::grid::{Metric, Point};
use crate::papers::compare::{self, reversed, two};

const OURS: &str = "Amphisbaena";

/// The percentage by which Amphisbaena's value is below a rival's, on a trace.
pub(super) fn saved_on(cells: &Cells, metric: Metric, rival: &str, trace: &str) -> f64 {
    compare::saved_on(cells, metric, OURS, rival, trace)
}

/// The mean of [`saved_on`] over the traces.
pub(super) fn average_saved(cells: &Cells, metric: Metric, rival: &str) -> f64 {
    compare::mean(EIGHT, |trace| saved_on(cells, metric, rival, trace))
}

/// More is saved on `trace` than on any other.
pub(super) fn most_saved_on(
    cells: &Cells,
    metric: Metric,
    rival: &str,
    trace: &'static str,
) -> Vec<Chain> {
    compare::above_others(EIGHT, trace, |name| saved_on(cells, metric, rival, name))
}

/// Less is saved on `trace` than on any other.
pub(super) fn least_saved_on(
    cells: &Cells,
    metric: Metric,
    rival: &str,
    trace: &'static str,
) -> Vec<Chain> {
    reversed(most_saved_on(cells, metric, rival, trace))
}

/// The metric of one trace at a point is above that of each other trace.
pub(super) fn most(cells: &Cells, metric: Metric, trace: &'static str, point: &str) -> Vec<Chain> {
    compare::above_others(EIGHT, trace, |name| cells.at(metric, name, OURS, point))
}

/// The metric of one trace at a point is below that of each other trace.
pub(super) fn least(cells: &Cells, metric: Metric, trace: &'static str, point: &str) -> Vec<Chain> {
    reversed(most(cells, metric, trace, point))
}

/// The metrics of two traces are below those of all others.
pub(super) fn least_of_two(
    cells: &Cells,
    metric: Metric,
    traces: [&'static str; 2],
    point: &str,
) -> Vec<Chain> {
    let of_one = |trace| least(cells, metric, trace, point);
    let other = |chain: &Chain| traces.iter().all(|trace| chain.links[1].0 != *trace);
    traces.into_iter().flat_map(of_one).filter(other).collect()
}

/// Amphisbaena's value is below each rival's on each trace.
pub(super) fn lowest(cells: &Cells, metric: Metric, rivals: &[&str]) -> Vec<Chain> {
    lowest_of(cells, OURS, metric, rivals)
}

/// The value of the variant `ours` is below each rival's on each trace.
pub(super) fn lowest_of(cells: &Cells, ours: &str, metric: Metric, rivals: &[&str]) -> Vec<Chain> {
    compare::below_each(cells, metric, EIGHT, ours, rivals)
}

/// Amphisbaena's value is above each rival's on each trace.
pub(super) fn highest(cells: &Cells, metric: Metric, rivals: &[&str]) -> Vec<Chain> {
    reversed(lowest(cells, metric, rivals))
}

/// Removes the chains of these traces.
pub(super) fn except(chains: Vec<Chain>, traces: &[&str]) -> Vec<Chain> {
    chains.into_iter().filter(|chain| !traces.contains(&chain.place.as_str())).collect()
}

/// The mean over the traces is lower for the first system of each pair than for the second.
pub(super) fn rises(cells: &Cells, metric: Metric, pairs: &[&[&str; 2]]) -> Vec<Chain> {
    let mean = |system: &str| compare::mean(EIGHT, |trace| cells.at(metric, trace, system, ""));
    pairs.iter().map(|[less, more]| two("", (less, mean(less)), (more, mean(more)))).collect()
}

/// A metric grows from point to point, on each trace.
pub(super) fn grows(cells: &Cells, metric: Metric, points: &[&str]) -> Vec<Chain> {
    EIGHT.iter().map(|trace| cells.points_chain(metric, trace, OURS, points)).collect()
}

/// The difference between the highest value of the rivals and Amphisbaena's.
pub(super) fn largest_margin(cells: &Cells, metric: Metric, trace: &str, rivals: &[&str]) -> f64 {
    let of = |rival: &&str| cells.at(metric, trace, rival, "");
    let highest = rivals.iter().map(of).fold(f64::NEG_INFINITY, f64::max);
    highest - cells.at(metric, trace, OURS, "")
}

/// The mean of a metric at a point, over the traces.
pub(super) fn mean(cells: &Cells, metric: Metric, point: &str) -> f64 {
    compare::mean(EIGHT, |trace| cells.at(metric, trace, OURS, point))
}

/// Greatest less least value over points: the mean over the traces.
pub(super) fn mean_range(cells: &Cells, metric: Metric, points: &[Point]) -> f64 {
    let unlike = |(least, most): (f64, f64)| most - least;
    compare::mean(EIGHT, |trace| unlike(bounds(cells, metric, trace, points)))
}

/// Greatest ÷ least value over points: the mean over the traces.
pub(super) fn spread(cells: &Cells, metric: Metric, points: &[Point]) -> f64 {
    let spread = |(least, most): (f64, f64)| most / least;
    compare::mean(EIGHT, |trace| spread(bounds(cells, metric, trace, points)))
}

fn bounds(cells: &Cells, metric: Metric, trace: &str, points: &[Point]) -> (f64, f64) {
    let at = points.iter().map(|point| cells.at(metric, trace, OURS, point.label));
    at.fold((f64::INFINITY, f64::NEG_INFINITY), |(least, most), value| {
        (least.min(value), most.max(value))
    })
}

/// Two numbers of the trace for which the number `by` is the least or greatest (`pick`): `by` and
/// `other`.
pub(super) fn numbers_of_extreme(
    cells: &Cells,
    by: &str,
    other: &str,
    pick: fn(f64, f64) -> f64,
) -> (f64, f64) {
    let of = |trace: &str, what: &str| cells.number(&format!("{trace}: {what}"));
    let best = EIGHT.iter().map(|trace| of(trace, by)).reduce(pick);
    let best = best.unwrap_or(f64::NAN);
    let trace = EIGHT.iter().find(|trace| of(trace, by) == best);
    (best, trace.map_or(f64::NAN, |trace| of(trace, other)))
}

/// The least or greatest (`pick`) value of a number over the traces.
pub(super) fn extreme(cells: &Cells, what: &str, pick: fn(f64, f64) -> f64) -> f64 {
    let of = |trace: &&str| cells.number(&format!("{trace}: {what}"));
    EIGHT.iter().map(of).reduce(pick).unwrap_or(f64::NAN)
}
