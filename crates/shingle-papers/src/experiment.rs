//! Experiments as data: what a paper ran, what it published, and how the two are compared. The
//! experiments themselves are in [`crate::papers`].

use shingle_drive::registry::Timing;
use shingle_sim::result::RunResult;
use shingle_trace::Mode;

use crate::cells::Cells;
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
    /// Tables and figures in the order of the paper.
    pub figures: &'static [Figure],
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

/// Where the numbers of a figure come from.
#[derive(Debug)]
pub enum Source {
    /// Runs of caches over drives.
    Runs(&'static [Grid]),
    /// Something else: bare drives, trace analysis.
    Measured(fn(&Bench) -> Result<Measured, MeasureError>),
}

/// Runs: each system over each trace at each point.
#[derive(Debug)]
pub struct Grid {
    /// Volumes, or `long` or `mix`.
    pub traces: &'static [&'static str],
    /// The requests that count.
    pub mode: Mode,
    /// The first so many accesses of each trace, at the paper's scale; `None`: all.
    pub accesses: Option<u64>,
    /// Copies of which the trace is made, at the paper's scale; 1 for single volumes.
    pub copies: u32,
    /// By how much an unscaled run is scaled by default: a part of copies and accesses.
    pub default_scale: f64,
    /// The drive, unless a system has its own.
    pub drive: &'static str,
    /// How the drive is timed; `None`: as it prefers.
    pub timing: Option<Timing>,
    /// The drive's buffer.
    pub buffer: Size,
    /// The cache, unless a point has its own.
    pub cache: Size,
    /// Settings of all runs.
    pub sets: Sets,
    /// What is compared.
    pub systems: &'static [System],
    /// What is varied; a single point without a label for nothing.
    pub points: &'static [Point],
}

/// `OWNER.NAME` and value, as for `--set`.
pub type Sets = &'static [(&'static str, &'static str)];

/// A size that may depend on the trace. Ranges are those of the 5,000-block zones touched.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Size {
    /// So many blocks, whatever the trace.
    Blocks(u64),
    /// So many bytes at the paper's number of copies; in proportion with fewer.
    Bytes(u64),
    /// A part of the written range, in thousandths.
    Written(u64),
    /// A part of the accessed range, in thousandths.
    Accessed(u64),
    /// What the drive has.
    Real,
}

/// One of the compared systems.
#[derive(Clone, Copy, Debug)]
pub struct System {
    /// As in the paper.
    pub label: &'static str,
    /// The policy here; `none` for a bare drive.
    pub policy: &'static str,
    /// Its drive, if it is not the grid's.
    pub drive: Option<&'static str>,
    /// Its settings.
    pub sets: Sets,
}

impl System {
    /// A policy over the grid's drive.
    pub(crate) const fn new(label: &'static str, policy: &'static str, sets: Sets) -> System {
        System { label, policy, drive: None, sets }
    }
}

/// A value of what is varied.
#[derive(Clone, Copy, Debug)]
pub struct Point {
    /// As in the paper.
    pub label: &'static str,
    /// The cache, if that is varied.
    pub cache: Option<Size>,
    /// Settings.
    pub sets: Sets,
}

/// Nothing is varied.
pub(crate) const ONE: &[Point] = &[Point { label: "", cache: None, sets: &[] }];

/// A figure of a run.
#[derive(Clone, Copy)]
pub struct Metric {
    /// With its unit.
    pub name: &'static str,
    /// From the result. Not a number if there is nothing to divide by.
    pub of: fn(&RunResult) -> f64,
}

impl std::fmt::Debug for Metric {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

/// A picture.
#[derive(Debug)]
pub enum Chart {
    /// Groups of bars: a group a trace, a bar a system.
    ByTrace(Metric),
    /// Lines: a line a system, over the points.
    ByPoint(Metric),
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

/// Figures with their names, which should rise.
#[derive(Clone, PartialEq, Debug)]
pub struct Chain {
    /// Where: a trace, a point; may be empty.
    pub place: String,
    /// What is compared.
    pub links: Vec<(String, f64)>,
}

impl Chain {
    /// Whether each figure is above the one before it. Nothing rises from or to what is no number.
    #[must_use]
    pub fn rises(&self) -> bool {
        self.links.windows(2).all(|pair| pair[0].1 < pair[1].1)
    }
}
