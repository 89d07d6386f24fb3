//! The findings of a probe, and conclusions from them.

use shingle_core::units::BLOCK_BYTES;
use shingle_drive::profile::{BandFacts, Kind};

use crate::bands::Seen;
use crate::change::{Change, real};
use crate::cliff::{End, Fill, stall};
use crate::cost::{Fit, Timed, fit, other_us, points, slope_error_of_zones};
use crate::distance::Distances;
use crate::idle::Trials;
use crate::options::Writes;
use crate::reads::ReadTimes;
use crate::target::{Facts, Nanos};

/// All findings of a probe.
#[derive(Clone, Debug)]
pub struct Findings {
    /// The disk.
    pub facts: Facts,
    /// The kind of the disk.
    pub kind: Kind,
    /// Read times.
    pub reads: ReadTimes,
    /// Reads by distance; `None` in a record from before this measurement existed.
    pub distances: Option<Distances>,
    /// The first random writes, with whatever was in the buffer.
    pub look: Option<Fill>,
    /// The capacity for each kind of writes.
    pub capacities: Vec<Capacity>,
    /// The places where bands were searched, by address, with the band if one was found.
    pub bands: Vec<(Seen, Option<BandFacts>)>,
    /// Timed cleaning.
    pub timed: Vec<Timed>,
    /// Trials of idle cleaning.
    pub idle: Option<Trials>,
    /// What could not be found, and why.
    pub notes: Vec<String>,
}

/// Capacity of the buffer for one kind of writes.
#[derive(Clone, Debug, PartialEq)]
pub struct Capacity {
    /// The kind of writes.
    pub writes: Writes,
    /// The measurement.
    pub fill: Fill,
    /// The cliff, if there is one.
    pub cliff: Option<Change>,
}

impl Findings {
    /// Points of `R(x)`: blocks written in a zone, and microseconds.
    #[must_use]
    pub fn costs(&self) -> Vec<(f64, f64)> {
        points(&self.timed)
    }

    /// Microseconds of a write in `R(x)` that may be no cleaning.
    #[must_use]
    pub fn other_us(&self) -> f64 {
        other_us(&self.timed)
    }

    /// The line of `R(x)`. The error of its slope is the greater of two: of the line, and of the choice
    /// of zones.
    #[must_use]
    pub fn cost_line(&self) -> Option<Fit> {
        let fit = fit(&self.costs())?;
        Some(Fit { slope_error: fit.slope_error.max(slope_error_of_zones(&self.timed)), ..fit })
    }
}

/// The least random read time of a disk with an arm.
pub(crate) const SOLID_US: f64 = 1000.0;

/// Classifies a disk by its random writes and reads.
pub(crate) fn kind(look: &Fill, reads: &ReadTimes) -> Kind {
    match look.end {
        // Flash waits too, for its erasing; and what answers reads without an arm hides the rest.
        End::Cliff | End::Full if reads.random() < SOLID_US => Kind::Hidden,
        End::Cliff | End::Full => Kind::DriveManaged,
        End::SeekBound if written_through(look, reads) => Kind::Hidden,
        End::SeekBound if reads.random() >= SOLID_US => Kind::Conventional,
        _ if reads.random() < SOLID_US => Kind::SolidState,
        // (If a few writes waited long, the mean does not describe the others.)
        _ if look.mean_us() >= reads.random() / 8.0 && stalled(look, reads).is_none() => {
            Kind::Conventional
        }
        _ => Kind::Hidden,
    }
}

/// Whether every write takes longer than on a conventional disk. That one writes a block as fast as
/// it reads one, except for the settling of the head, and within a region its seeks are shorter. A
/// log without a write cache waits for rotations.
pub(crate) fn written_through(look: &Fill, reads: &ReadTimes) -> bool {
    let read = reads.random();
    look.end == End::SeekBound && read >= SOLID_US && look.mean_us() > 1.2 * read
}

/// The longest write latency, in microseconds, if it is as long as cleaning a band.
pub(crate) fn stalled(look: &Fill, reads: &ReadTimes) -> Option<u64> {
    let longest = look.slow.iter().map(|slow| slow.2).max()?;
    let read = Nanos::from_micros(reads.random() as u64);
    (real(longest) >= stall(read) / 1e3).then_some(longest)
}

/// The limits of the buffer, as far as writes of several sizes show them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// Map entries.
    pub extents: Option<u64>,
    /// Bytes of log.
    pub log_bytes: Option<u64>,
}

/// Compares the capacities of all write sizes, one write at a time. An equal count of writes for
/// two sizes shows a limit in entries, an equal count of bytes a limit in bytes. A single size
/// shows no limit, with one exception: if a larger size fits more bytes in fewer writes, the
/// smallest size is limited by entries and the largest by bytes.
#[must_use]
pub fn limits(capacities: &[Capacity]) -> Limits {
    /// Two counts are equal if their ratio is at least this.
    const ALIKE: f64 = 0.97;
    let rows: Vec<(u64, u64)> = capacities
        .iter()
        .filter(|row| row.writes.depth == 1)
        .filter_map(|row| Some((row.cliff?.at, row.cliff?.at * row.writes.blocks * BLOCK_BYTES)))
        .collect();
    let most = |pick: fn(&(u64, u64)) -> u64| rows.iter().map(pick).max().unwrap_or(0);
    let (entries, bytes) = (most(|row| row.0), most(|row| row.1));
    let like = |one: u64, most: u64| real(one) >= ALIKE * real(most);
    let by_entries = rows.iter().any(|row| like(row.0, entries) && !like(row.1, bytes));
    let by_bytes = rows.iter().any(|row| like(row.1, bytes) && !like(row.0, entries));
    Limits { extents: by_entries.then_some(entries), log_bytes: by_bytes.then_some(bytes) }
}
