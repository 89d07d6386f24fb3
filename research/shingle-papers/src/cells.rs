//! The results of a figure, by trace, system and point.

use std::collections::{BTreeMap, BTreeSet};

use shingle_result::RunResult;

use crate::grid::{Grid, Metric};
use crate::measured::Measured;

/// The results of a figure for one seed.
#[derive(Debug, Default)]
pub struct Cells {
    runs: BTreeMap<(&'static str, &'static str, &'static str), RunResult>,
    pub(crate) measured: Measured,
    /// Remarks on its traces.
    pub(crate) notes: BTreeSet<String>,
}

impl Cells {
    pub(crate) fn insert(
        &mut self,
        trace: &'static str,
        system: &'static str,
        point: &'static str,
        run: RunResult,
    ) {
        self.runs.insert((trace, system, point), run);
    }

    /// The run of `system` over `trace` at `point`.
    ///
    /// # Panics
    /// If the figure has no such run: its data is wrong, which a test notices.
    #[must_use]
    pub fn run(&self, trace: &str, system: &str, point: &str) -> &RunResult {
        let found = self.runs.iter().find(|((t, s, p), _)| (*t, *s, *p) == (trace, system, point));
        found.unwrap_or_else(|| panic!("no run of {system} over {trace} at `{point}`")).1
    }

    /// The metric of that run.
    #[must_use]
    pub fn at(&self, metric: Metric, trace: &str, system: &str, point: &str) -> f64 {
        (metric.of)(self.run(trace, system, point))
    }

    /// The metric of `system` in a figure with a single trace and point.
    #[must_use]
    pub fn of(&self, metric: Metric, system: &str) -> f64 {
        let mut runs = self.runs.iter().filter(|((_, s, _), _)| *s == system);
        let run = runs.next().unwrap_or_else(|| panic!("no run of {system}")).1;
        assert!(runs.next().is_none(), "several runs of {system}");
        (metric.of)(run)
    }

    /// The mean over `traces`.
    #[must_use]
    pub fn mean(&self, metric: Metric, traces: &[&str], system: &str, point: &str) -> f64 {
        let sum: f64 = traces.iter().map(|trace| self.at(metric, trace, system, point)).sum();
        sum / traces.len() as f64
    }

    /// A measured number that belongs to no run.
    ///
    /// # Panics
    /// If there is none of that name.
    #[must_use]
    pub fn number(&self, name: &str) -> f64 {
        let numbers = &self.measured.numbers;
        *numbers.get(name).unwrap_or_else(|| panic!("nothing measured is called `{name}`"))
    }

    /// Makes a chain of a metric over systems, at a trace and point.
    #[must_use]
    pub fn chain(&self, metric: Metric, trace: &str, point: &str, systems: &[&str]) -> Chain {
        let place = [trace, point].into_iter().filter(|text| !text.is_empty());
        let value = |system: &&str| ((*system).to_owned(), self.at(metric, trace, system, point));
        Chain {
            place: place.collect::<Vec<_>>().join(", "),
            links: systems.iter().map(value).collect(),
        }
    }

    /// Makes a chain of a metric over points, for a trace and system.
    #[must_use]
    pub fn points_chain(
        &self,
        metric: Metric,
        trace: &str,
        system: &str,
        points: &[&str],
    ) -> Chain {
        let value = |point: &&str| ((*point).to_owned(), self.at(metric, trace, system, point));
        Chain { place: trace.to_owned(), links: points.iter().map(value).collect() }
    }

    /// Makes such a chain for each trace and point of a grid.
    #[must_use]
    pub fn chains(&self, metric: Metric, grid: &Grid, systems: &[&str]) -> Vec<Chain> {
        let points = || grid.points.iter().map(|point| point.label);
        let places =
            grid.traces.iter().flat_map(|trace| points().map(move |point| (*trace, point)));
        places.map(|(trace, point)| self.chain(metric, trace, point, systems)).collect()
    }
}

/// Named values that are expected to rise.
#[derive(Clone, PartialEq, Debug)]
pub struct Chain {
    /// The place: a trace, a point; may be empty.
    pub place: String,
    /// The compared names and their values.
    pub links: Vec<(String, f64)>,
}

impl Chain {
    /// Whether each value is above the previous one. A NaN never rises.
    #[must_use]
    pub fn rises(&self) -> bool {
        self.links.windows(2).all(|pair| pair[0].1 < pair[1].1)
    }

    /// Whether no value is below the previous one.
    #[must_use]
    pub fn never_falls(&self) -> bool {
        self.links.windows(2).all(|pair| pair[0].1 <= pair[1].1)
    }
}
