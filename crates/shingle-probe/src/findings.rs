//! What was found out, and what follows from it.

use shingle_core::units::BLOCK_BYTES;
use shingle_drive::profile::{BandFacts, Kind};

use crate::bands::Seen;
use crate::change::{Change, real};
use crate::cliff::{End, Fill, stall};
use crate::cost::{Fit, Timed, fit, points};
use crate::distance::Distances;
use crate::idle::Trials;
use crate::options::Writes;
use crate::reads::ReadTimes;
use crate::target::{Facts, Nanos};

/// All that was found out.
#[derive(Clone, Debug)]
pub struct Findings {
    /// The disk.
    pub facts: Facts,
    /// What it is.
    pub kind: Kind,
    /// How it reads.
    pub reads: ReadTimes,
    /// Reads by distance; `None` in a record that was made before they were measured.
    pub distances: Option<Distances>,
    /// The first look: random writes, whatever was in the buffer.
    pub look: Option<Fill>,
    /// What each kind of writes showed.
    pub capacities: Vec<Capacity>,
    /// Bands that were looked for, and what was seen; by address.
    pub bands: Vec<(Seen, Option<BandFacts>)>,
    /// Cleaning that was timed.
    pub timed: Vec<Timed>,
    /// Pauses that were tried.
    pub idle: Option<Trials>,
    /// What could not be told, and why.
    pub notes: Vec<String>,
}

/// Capacity of the buffer for one kind of writes.
#[derive(Clone, Debug, PartialEq)]
pub struct Capacity {
    /// What was written.
    pub writes: Writes,
    /// What it showed.
    pub fill: Fill,
    /// Where the cliff is, if there is one.
    pub cliff: Option<Change>,
}

impl Findings {
    /// Points of `R(x)`: blocks written of a zone, and microseconds.
    #[must_use]
    pub fn costs(&self) -> Vec<(f64, f64)> {
        points(&self.timed)
    }

    /// The line of `R(x)`.
    #[must_use]
    pub fn cost_line(&self) -> Option<Fit> {
        fit(&self.costs())
    }
}

/// No arm moves as fast.
const SOLID_US: f64 = 1000.0;

/// What a disk is, by its random writes and reads.
pub(crate) fn kind(look: &Fill, reads: &ReadTimes) -> Kind {
    match look.end {
        End::Cliff | End::Full => Kind::DriveManaged,
        End::SeekBound if written_through(look, reads) => Kind::Hidden,
        End::SeekBound if reads.random() >= SOLID_US => Kind::Conventional,
        _ if reads.random() < SOLID_US => Kind::SolidState,
        // (Where a few writes waited long the mean says nothing of the others.)
        _ if look.mean_us() >= reads.random() / 8.0 && stalled(look, reads).is_none() => {
            Kind::Conventional
        }
        _ => Kind::Hidden,
    }
}

/// Whether each write waits for more than a conventional disk does: that writes a block as fast as it reads one, but for the
/// settling of the head, and in a region it seeks no farther. A log without a write cache waits for rotations.
pub(crate) fn written_through(look: &Fill, reads: &ReadTimes) -> bool {
    let read = reads.random();
    look.end == End::SeekBound && read >= SOLID_US && look.mean_us() > 1.2 * read
}

/// The longest that a write took, in microseconds, if that is as long as cleaning a band.
pub(crate) fn stalled(look: &Fill, reads: &ReadTimes) -> Option<u64> {
    let longest = look.slow.iter().map(|slow| slow.2).max()?;
    let read = Nanos::from_micros(reads.random() as u64);
    (real(longest) >= stall(read) / 1e3).then_some(longest)
}

/// What the buffer is limited by, as far as writes of several sizes tell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// Map entries.
    pub extents: Option<u64>,
    /// Bytes of log.
    pub log_bytes: Option<u64>,
}

/// Compares the capacities of all sizes of writes, one at a time: as many writes of two sizes tell of
/// a limit in entries, as many bytes of one in bytes. What only one size shows is not told, but where
/// a larger size fits more bytes in fewer writes: then the least is limited by entries and the largest
/// by bytes.
#[must_use]
pub fn limits(capacities: &[Capacity]) -> Limits {
    /// Two counts are one if they differ by less.
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
