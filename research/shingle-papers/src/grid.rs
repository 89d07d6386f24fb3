//! Grids of runs: systems, traces, varied parameters, and the metrics of a run.

use shingle_drive::Timing;
use shingle_result::{Pacing, RunResult};
use shingle_trace::Mode;

/// A grid of runs: each system over each trace at each point.
#[derive(Clone, Copy, Debug)]
pub struct Grid {
    /// Names of volumes, or `long` or `mix`.
    pub traces: &'static [&'static str],
    /// Free parameters of made traces that this grid sets, by name.
    pub free: Sets,
    /// The kinds of requests that are served.
    pub mode: Mode,
    /// Closed: block accesses one after another, as the prototypes of SAC and PORE replay them. Open:
    /// requests of single volumes at their times.
    pub pacing: Pacing,
    /// The number of accesses (in open loop: requests) at the start of each trace, at the paper's
    /// scale; `None` for all.
    pub accesses: Option<u64>,
    /// The number of copies of which a trace is made, at the paper's scale; 1 for single volumes.
    pub copies: u32,
    /// The default scale of copies and accesses, relative to the paper.
    pub default_scale: f64,
    /// The drive, unless a system names its own.
    pub drive: &'static str,
    /// The timing of the drive; `None` for its default.
    pub timing: Option<Timing>,
    /// The SSD that caches are on.
    pub ssd: &'static str,
    /// The size of the drive's buffer.
    pub buffer: Size,
    /// The size of the cache, unless a point names its own: on the SSD, or for the policy `none`
    /// the flash inside the drive.
    pub cache: Size,
    /// Settings of all runs.
    pub sets: Sets,
    /// The compared systems.
    pub systems: &'static [System],
    /// The varied values; a single point without a label if nothing is varied.
    pub points: &'static [Point],
}

impl Grid {
    /// The defaults of most papers: single volumes, at the times of their requests. Traces, drive
    /// and systems must be added.
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

/// A size that may depend on the trace. Ranges are those of the touched 5,000-block zones.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Size {
    /// A number of blocks.
    Blocks(u64),
    /// A number of bytes at the paper's number of copies; in proportion for fewer.
    Bytes(u64),
    /// Thousandths of the written range.
    Written(u64),
    /// Thousandths of the accessed range.
    Accessed(u64),
    /// Thousandths of the number of distinct written blocks. That is only counted in open loop.
    Different(u64),
    /// Thousandths of the written 256 MiB zones. They are only counted in open loop.
    WrittenLarge(u64),
    /// The drive's own size.
    Real,
}

/// One of the compared systems.
#[derive(Clone, Copy, Debug)]
pub struct System {
    /// Name in the paper.
    pub label: &'static str,
    /// The policy here; `none` for a bare drive.
    pub policy: &'static str,
    /// Its drive, if it differs from the grid's.
    pub drive: Option<&'static str>,
    /// The translation over the drive, if any.
    pub translation: Option<&'static str>,
    /// Its settings.
    pub sets: Sets,
}

impl System {
    /// Makes a system of a policy over the grid's drive.
    pub(crate) const fn new(label: &'static str, policy: &'static str, sets: Sets) -> System {
        System { label, policy, drive: None, translation: None, sets }
    }
}

/// One of the varied values.
#[derive(Clone, Copy, Debug)]
pub struct Point {
    /// Label in the paper.
    pub label: &'static str,
    /// The size of the cache, if that is varied.
    pub cache: Option<Size>,
    /// Settings.
    pub sets: Sets,
}

/// Makes a point of settings.
pub(crate) const fn point(label: &'static str, sets: Sets) -> Point {
    Point { label, cache: None, sets }
}

/// The points of a grid that varies nothing.
pub(crate) const ONE: &[Point] = &[point("", &[])];

/// A metric of a run.
#[derive(Clone, Copy)]
pub struct Metric {
    /// Its name, with the unit.
    pub name: &'static str,
    /// Calculates it from the result. NaN if there is nothing to divide by.
    pub of: fn(&RunResult) -> f64,
}

pub(crate) const fn metric(name: &'static str, of: fn(&RunResult) -> f64) -> Metric {
    Metric { name, of }
}

impl std::fmt::Debug for Metric {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}
