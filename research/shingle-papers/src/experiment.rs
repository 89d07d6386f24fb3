//! Experiments as data: what a paper ran, what it published, and how to compare the two. The
//! experiments themselves are in [`crate::papers`].

use crate::cells::{Cells, Chain};
use crate::grid::{Grid, Metric};
use crate::measured::{Bench, MeasureError, Measured};

/// A paper with its tables and figures.
#[derive(Debug)]
pub struct Paper {
    /// Name on the command line.
    pub name: &'static str,
    /// Authors, title, venue.
    pub citation: &'static str,
    /// Notes on all its experiments here, in a few sentences.
    pub about: &'static [&'static str],
    /// Figures that are too long to be run while free parameters are varied.
    pub not_varied: &'static [&'static str],
    /// Tables and figures in the order of the paper.
    pub figures: &'static [Figure],
    /// Its main comparison, which can be run over any trace.
    pub comparison: Comparison,
}

/// What a paper claims about its systems for any trace.
#[derive(Debug)]
pub struct Comparison {
    /// The systems, their drive and the pacing. The traces of this grid are ignored.
    pub grid: Grid,
    /// The claims.
    pub claims: &'static [Claim],
}

/// An order of systems that a paper claims.
#[derive(Debug)]
pub struct Claim {
    /// Section and figure.
    pub at: &'static str,
    /// The paper's words.
    pub says: &'static str,
    /// The compared metric.
    pub metric: Metric,
    /// Chains of systems; the metric must rise strictly in each.
    pub chains: &'static [&'static [&'static str]],
}

/// A table or figure.
#[derive(Debug)]
pub struct Figure {
    /// Identifier on the command line: `14`, `table-5`.
    pub id: &'static str,
    /// What it shows.
    pub title: &'static str,
    /// How it is run here, and how that differs from the paper.
    pub how: &'static str,
    /// The source of its numbers.
    pub source: Source,
    /// Its charts.
    pub charts: &'static [Chart],
    /// The paper's statements about it.
    pub rows: &'static [Row],
}

impl Figure {
    /// The grids of its runs; empty for a figure of other measurements.
    #[must_use]
    pub fn grids(&self) -> &'static [Grid] {
        match self.source {
            Source::Runs(grids) => grids,
            Source::Measured(_) => &[],
        }
    }
}

/// The source of the numbers of a figure.
#[derive(Debug)]
pub enum Source {
    /// Runs of caches over drives.
    Runs(&'static [Grid]),
    /// Other measurements: bare drives, trace analysis.
    Measured(fn(&Bench) -> Result<Measured, MeasureError>),
}

/// Charts of a figure.
#[derive(Debug)]
pub enum Chart {
    /// A bar chart for each metric, with a group for each trace and a bar for each system.
    ByTrace(&'static [Metric]),
    /// A line chart for each metric, with a line for each system over the points.
    ByPoint(&'static [Metric]),
    /// Stacked parts of a whole, with a bar for each system.
    Stacked(&'static str, &'static [Metric]),
    /// A picture of a [`Measured`], by name.
    Own(&'static str),
}

/// A statement of the paper.
#[derive(Debug)]
pub struct Row {
    /// Section and table or figure.
    pub at: &'static str,
    /// The paper's words or figures.
    pub says: &'static str,
    /// How it is checked.
    pub check: Check,
    /// The reason why our result disagrees; empty if it agrees, or if the reason is unknown.
    pub reason: &'static str,
}

/// How a statement is checked, for each seed.
#[derive(Debug)]
pub enum Check {
    /// Chains of values, each of which must rise strictly.
    Order(fn(&Cells) -> Vec<Chain>),
    /// A ratio, time or count: agrees in size if ours ÷ published is within 1/1.5 to 1.5.
    Factor {
        /// The published value.
        published: f64,
        /// Calculates our value.
        ours: fn(&Cells) -> f64,
    },
    /// A percentage: agrees in size if within five points.
    Percent {
        /// The published value.
        published: f64,
        /// Calculates our value.
        ours: fn(&Cells) -> f64,
    },
}
