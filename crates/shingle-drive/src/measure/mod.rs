//! Measurement of what a host should know of a drive: `R(x)`, `L_read`, the size of its buffer.
//!
//! Sheets carry the result as parameters `measured_…`, and hosts plan with it
//! ([`crate::drive::Description::costs`]) under timing by mechanics. It holds for the drive as
//! built: overrides of other parameters do not change it. [`rewrite`] puts a new measurement
//! in; a test measures again and compares.

mod anchors;
mod coverage;
pub mod disksim;
pub mod experiments;
mod into_sheet;
mod load;

pub use crate::parts::fit::{Line, line};
pub use anchors::{Role, Row, anchors};
pub use coverage::{Clusters, Coverage, Peak, Placement, Plan, Sequence};
pub use into_sheet::{SheetError, rewrite, rewrite_file};

use crate::registry::{entry, make};
use crate::sheet::{DriveError, Settings};
use coverage::coverage;
use load::Load;
use shingle_core::units::{BLOCK_BYTES, Nanos, Op};

/// The result of [`measure`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measured {
    /// `L_read`: mean time of a random 4 KiB read over the whole drive, in microseconds.
    pub read_us: u64,
    /// The part that only a drive with a buffer has.
    pub shingled: Option<Shingled>,
}

/// The part of [`Measured`] of drives with a buffer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shingled {
    /// `R(0)`, the fixed part, in microseconds.
    pub rmw_base_us: u64,
    /// The part of `R(x)` for each dirty block, in microseconds.
    pub rmw_us_per_block: u64,
    /// R² of the line, to four places.
    pub rmw_r_squared: f64,
    /// Blocks of a zone that `R(x)` holds for.
    pub zone_blocks: u64,
    /// Random 4 KiB writes that the empty buffer takes before the first waits (SAC §5.1).
    pub buffer_blocks: u64,
}

/// `R(x)` of a drive: a point for each coverage, and the line through them (SAC Figure 10).
#[derive(Clone, Debug, PartialEq)]
pub struct Rmw {
    /// A measurement for each coverage of the plan.
    pub points: Vec<Coverage>,
    /// Milliseconds a zone over blocks written of it.
    pub line: Line,
}

const READS: u64 = 20_000;
const WRITES_MAX: u64 = 10_000_000;
/// As many as fit into half a gigabyte of memory.
const ZONES_MAX: u64 = 1 << 27;

/// Measures the drive called `name`, made as built. Takes a second or so.
///
/// # Errors
/// If there is no such drive, or it has no mechanics to measure: the costs of emulators are given.
pub fn measure(name: &str) -> Result<Measured, DriveError> {
    if !entry(name)?.has("rpm") {
        let refused = format!("{name}: no mechanics to measure, its costs are given; take a disk");
        return Err(DriveError::Refused(refused));
    }
    let buffered = make(name, &Settings::default())?.description().buffer_blocks > 0;
    Ok(Measured {
        read_us: (mean_read(name)?.0 + 500) / 1000,
        shingled: if buffered { Some(measure_shingled(name)?) } else { None },
    })
}

fn measure_shingled(name: &str) -> Result<Shingled, DriveError> {
    let plan = Plan::default();
    let line = rmw(name, &Settings::default(), &plan)?.line;
    let mut load = Load::new(name, u64::MAX, BLOCK_BYTES, plan.seed)?;
    Ok(Shingled {
        rmw_base_us: round(line.intercept * 1e3),
        rmw_us_per_block: round(line.slope * 1e3),
        rmw_r_squared: (line.r_squared * 1e4).round() / 1e4,
        zone_blocks: plan.zone_blocks,
        // The write that waited is not counted.
        buffer_blocks: load.run_to_cliff(WRITES_MAX) - 1,
    })
}

/// Measures `R(x)` of a drive with a buffer.
///
/// # Errors
/// If the drive cannot be made so, has no buffer, or cannot follow the plan.
pub fn rmw(name: &str, settings: &Settings, plan: &Plan) -> Result<Rmw, DriveError> {
    let refuse = |why: &str| DriveError::Refused(format!("{name}: {why}"));
    let description = make(name, settings)?.description().clone();
    if description.buffer_blocks == 0 {
        return Err(refuse("R(x) is of drives with a buffer; take a shingled one"));
    }
    let zones = description.disk_blocks.checked_div(plan.zone_blocks).unwrap_or(u64::MAX);
    if !(1..=ZONES_MAX).contains(&zones) {
        return Err(refuse("from 1 to 2^27 zones lie on the drive; take others"));
    }
    if plan.fills == 0 {
        return Err(refuse("the buffer is filled once at least"));
    }
    if plan.coverages.iter().any(|blocks| !(1..=plan.zone_blocks).contains(blocks)) {
        return Err(refuse("a coverage is from one block to all of the zone"));
    }
    let point = |&blocks| {
        coverage(make(name, settings)?, plan, blocks)
            .ok_or_else(|| refuse("the drive is too small to fill its buffer; take a smaller one"))
    };
    let points = plan.coverages.iter().map(point).collect::<Result<Vec<Coverage>, DriveError>>()?;
    let places: Vec<(f64, f64)> =
        points.iter().map(|point| (point.blocks as f64, point.zone_ms())).collect();
    let line = line(&places).ok_or_else(|| refuse("a line needs two different coverages"))?;
    Ok(Rmw { points, line })
}

/// `L_read`: the mean of random 4 KiB reads over all of a drive whose buffer is empty.
pub(crate) fn mean_read(name: &str) -> Result<Nanos, DriveError> {
    let mut load = Load::new(name, u64::MAX, BLOCK_BYTES, 1)?;
    let start = load.now;
    load.run(Op::Read, READS);
    Ok(Nanos(load.now.since(start).0 / READS))
}

/// Rounds a time; one below zero, which a line can have, becomes 0.
fn round(us: f64) -> u64 {
    us.round().max(0.0) as u64
}
