//! Experiments as data: what a paper ran, what it published, and how the two are compared. The
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
    /// What holds for all its experiments here, in a few sentences.
    pub about: &'static [&'static str],
    /// Figures left out where free parameters are varied, for their length.
    pub not_varied: &'static [&'static str],
    /// Tables and figures in the order of the paper.
    pub figures: &'static [Figure],
    /// Its main comparison, which any trace can be put through.
    pub comparison: Comparison,
}

/// What a paper says of its systems whatever the trace.
#[derive(Debug)]
pub struct Comparison {
    /// The systems, over what, and how requests come. Its traces do not count.
    pub grid: Grid,
    /// What is said.
    pub claims: &'static [Claim],
}

/// An order that a paper says its systems have.
#[derive(Debug)]
pub struct Claim {
    /// Section and figure.
    pub at: &'static str,
    /// Its words.
    pub says: &'static str,
    /// What is compared.
    pub metric: Metric,
    /// Chains of systems, in each of which the figure rises strictly.
    pub chains: &'static [&'static [&'static str]],
}

/// A table or figure.
#[derive(Debug)]
pub struct Figure {
    /// As on the command line: `14`, `table-5`.
    pub id: &'static str,
    /// What it shows.
    pub title: &'static str,
    /// How it is run here, and where that departs from the paper.
    pub how: &'static str,
    /// Where its numbers come from.
    pub source: Source,
    /// Its pictures.
    pub charts: &'static [Chart],
    /// What the paper says about it.
    pub rows: &'static [Row],
}

impl Figure {
    /// Its runs; none of a figure that is measured otherwise.
    #[must_use]
    pub fn grids(&self) -> &'static [Grid] {
        match self.source {
            Source::Runs(grids) => grids,
            Source::Measured(_) => &[],
        }
    }
}

/// Where the numbers of a figure come from.
#[derive(Debug)]
pub enum Source {
    /// Runs of caches over drives.
    Runs(&'static [Grid]),
    /// Something else: bare drives, trace analysis.
    Measured(fn(&Bench) -> Result<Measured, MeasureError>),
}

/// Pictures.
#[derive(Debug)]
pub enum Chart {
    /// One of each metric. Groups of bars: a group a trace, a bar a system.
    ByTrace(&'static [Metric]),
    /// One of each metric. Lines: a line a system, over the points.
    ByPoint(&'static [Metric]),
    /// Parts of a whole, stacked: a bar a system.
    Stacked(&'static str, &'static [Metric]),
    /// A picture that a [`Measured`] brings, by name.
    Own(&'static str),
}

/// A statement of the paper.
#[derive(Debug)]
pub struct Row {
    /// Section and table or figure.
    pub at: &'static str,
    /// Its words or figures.
    pub says: &'static str,
    /// How it is checked.
    pub check: Check,
    /// Why ours disagrees, if it does; empty if that is not known or not the case.
    pub reason: &'static str,
}

/// How a statement is checked. Figures are worked out for each seed.
#[derive(Debug)]
pub enum Check {
    /// Chains of figures, each of which must rise strictly.
    Order(fn(&Cells) -> Vec<Chain>),
    /// A quotient, time or count: in size if ours ÷ published is within 1/1.5 to 1.5.
    Factor {
        /// What the paper has.
        published: f64,
        /// What came out here.
        ours: fn(&Cells) -> f64,
    },
    /// A percentage: in size if within five points.
    Percent {
        /// What the paper has.
        published: f64,
        /// What came out here.
        ours: fn(&Cells) -> f64,
    },
}
