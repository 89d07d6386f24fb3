//! Grids of runs: which systems over which traces, what is varied, and what is measured of a run.

use shingle_drive::Timing;
use shingle_result::{Pacing, RunResult};
use shingle_trace::Mode;

/// Runs: each system over each trace at each point.
#[derive(Clone, Copy, Debug)]
pub struct Grid {
    /// Volumes, or `long` or `mix`.
    pub traces: &'static [&'static str],
    /// Free parameters of made traces that differ in this grid, by name.
    pub free: Sets,
    /// The requests that count.
    pub mode: Mode,
    /// Closed: block accesses one after another, as the prototypes of SAC and PORE replay them. Open:
    /// requests of single volumes at their times.
    pub pacing: Pacing,
    /// The first so many accesses (in open loop: requests) of each trace, at the paper's scale; `None`: all.
    pub accesses: Option<u64>,
    /// Copies of which the trace is made, at the paper's scale; 1 for single volumes.
    pub copies: u32,
    /// By how much an unscaled run is scaled by default: a part of copies and accesses.
    pub default_scale: f64,
    /// The drive, unless a system has its own.
    pub drive: &'static str,
    /// How the drive is timed; `None`: as it prefers.
    pub timing: Option<Timing>,
    /// The SSD that caches are on.
    pub ssd: &'static str,
    /// The drive's buffer.
    pub buffer: Size,
    /// The cache, unless a point has its own: on the SSD, or where the policy is `none` the flash inside
    /// the drive.
    pub cache: Size,
    /// Settings of all runs.
    pub sets: Sets,
    /// What is compared.
    pub systems: &'static [System],
    /// What is varied; a single point without a label for nothing.
    pub points: &'static [Point],
}

impl Grid {
    /// What most papers have: volumes as they are, at the times of their requests. Traces, drive and systems are to be named.
    pub(crate) const PLAIN: Grid = Grid {
        traces: &[],
        free: &[],
        mode: Mode::ReadWrite,
        pacing: Pacing::Open,
        accesses: None,
        copies: 1,
        default_scale: 1.0,
        drive: "",
        timing: None,
        ssd: "pcie-ssd",
        buffer: Size::Real,
        cache: Size::Real,
        sets: &[],
        systems: &[],
        points: ONE,
    };
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
    /// A part of the different blocks that are written, in thousandths. They are counted in open loop
    /// alone.
    Different(u64),
    /// A part of the 256 MiB zones that are written, in thousandths. They are counted in open loop
    /// alone.
    WrittenLarge(u64),
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
    /// The translation over the drive, if there is one.
    pub translation: Option<&'static str>,
    /// Its settings.
    pub sets: Sets,
}

impl System {
    /// A policy over the grid's drive.
    pub(crate) const fn new(label: &'static str, policy: &'static str, sets: Sets) -> System {
        System { label, policy, drive: None, translation: None, sets }
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

/// One that is set.
pub(crate) const fn point(label: &'static str, sets: Sets) -> Point {
    Point { label, cache: None, sets }
}

/// Nothing is varied.
pub(crate) const ONE: &[Point] = &[point("", &[])];

/// A figure of a run.
#[derive(Clone, Copy)]
pub struct Metric {
    /// With its unit.
    pub name: &'static str,
    /// From the result. Not a number if there is nothing to divide by.
    pub of: fn(&RunResult) -> f64,
}

/// One of this name.
pub(crate) const fn metric(name: &'static str, of: fn(&RunResult) -> f64) -> Metric {
    Metric { name, of }
}

impl std::fmt::Debug for Metric {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}
