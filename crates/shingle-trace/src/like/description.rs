//! The description of a trace.

use shingle_core::units::Op;

use super::tables::Tables;
use super::zone_state::Stamp;
use crate::zones::ZONE_BLOCKS;

/// The most slices: a byte holds the slice and the operation ([`Stamp`]).
pub(super) const SLICES_MAX: usize = 126;

/// Number of parts into which the time of a slice, and the range of a zone, are divided.
pub(super) const PARTS: u8 = 32;

/// The fractions of a cell that are done at its [`Cell::times`], in tenths.
pub(super) const DONE_TENTHS: [u64; 5] = [0, 1, 5, 9, 10];

/// A description that can be shared in place of a trace.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Description {
    /// For each zone, by address, the class of its distance from the one before, in zones.
    pub(super) zones: Vec<u32>,
    pub(super) tables: Tables,
    pub(super) slices: Vec<Slice>,
}

/// A stretch of the trace.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Slice {
    pub(super) requests: u64,
    pub(super) nanos: u64,
    pub(super) cells: Vec<Cell>,
}

/// The reads, or the writes, of a slice to one zone.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Cell {
    pub(super) zone: u32,
    pub(super) op: Op,
    /// Parts of the slice, from 0, in which the fractions [`DONE_TENTHS`] of its blocks were reached.
    pub(super) times: [u8; DONE_TENTHS.len()],
    /// The first part of the zone that it touches; `high` is the last.
    pub(super) low: u8,
    pub(super) high: u8,
    pub(super) runs: u64,
    /// Number of blocks of its runs by their last access. A block counts once for each run.
    pub(super) sources: Vec<(Stamp, u64)>,
}

impl Slice {
    /// Returns the mean time between its requests, in nanoseconds.
    pub(super) fn mean_wait_ns(&self) -> u64 {
        self.nanos / self.requests.max(1)
    }
}

impl Cell {
    /// Returns the range of blocks of the zone that it may touch: first and end, exclusive.
    pub(super) fn span(&self) -> (usize, usize) {
        let begin = |part: u8| (ZONE_BLOCKS * u64::from(part)).div_ceil(PARTS.into()) as usize;
        (begin(self.low), begin(self.high + 1))
    }

    pub(super) fn blocks(&self) -> u64 {
        self.sources.iter().map(|(_, blocks)| blocks).sum()
    }
}

impl Description {
    /// Returns the number of requests of the trace.
    #[must_use]
    pub fn requests(&self) -> u64 {
        self.slices.iter().map(|slice| slice.requests).sum()
    }
}
