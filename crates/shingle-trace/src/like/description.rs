//! What is kept of a trace.

use shingle_core::units::Op;

use super::ground::Stamp;
use super::tables::Tables;
use crate::zones::ZONE_BLOCKS;

/// Slices are told apart by a byte with the operation ([`Stamp`]).
pub(super) const SLICES_MAX: usize = 126;

/// Times within a slice, and places within a zone, are told in so many parts of it.
pub(super) const PARTS: u8 = 32;

/// How much of a cell is done at each of its [`Cell::times`], in tenths.
pub(super) const DONE: [u64; 5] = [0, 1, 5, 9, 10];

/// What is shared in place of a trace.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Description {
    /// Of each zone by address, the class of its distance from the one before, in zones.
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

/// What the reads, or the writes, of a slice do to a zone.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Cell {
    pub(super) zone: u32,
    pub(super) op: Op,
    /// Parts of the slice, from 0, in which so many of its blocks were done ([`DONE`]).
    pub(super) times: [u8; DONE.len()],
    /// The first and the last part of the zone that it touches.
    pub(super) low: u8,
    pub(super) high: u8,
    pub(super) runs: u64,
    /// How many blocks of its runs were last touched when. A block is counted once a run.
    pub(super) sources: Vec<(Stamp, u64)>,
}

impl Slice {
    /// Nanoseconds between its requests, on average.
    pub(super) fn mean_wait_ns(&self) -> u64 {
        self.nanos / self.requests.max(1)
    }
}

impl Cell {
    /// Blocks of the zone that it may touch: the first, and the one behind the last.
    pub(super) fn span(&self) -> (usize, usize) {
        let begin = |part: u8| (ZONE_BLOCKS * u64::from(part)).div_ceil(PARTS.into()) as usize;
        (begin(self.low), begin(self.high + 1))
    }

    /// Blocks of all its runs.
    pub(super) fn blocks(&self) -> u64 {
        self.sources.iter().map(|(_, blocks)| blocks).sum()
    }
}

impl Description {
    /// How many requests the trace had.
    #[must_use]
    pub fn requests(&self) -> u64 {
        self.slices.iter().map(|slice| slice.requests).sum()
    }
}
