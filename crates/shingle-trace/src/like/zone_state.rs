//! The last access of each block of a zone.

use memchr::memchr;
use shingle_core::units::Op;

use super::tables::op_index;
use crate::zones::ZONE_BLOCKS;

const BLOCKS: usize = ZONE_BLOCKS as usize;

/// The slice and the operation of a block's last access.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Stamp(pub(super) u8);

impl Stamp {
    /// Never accessed.
    pub(super) const FRESH: Stamp = Stamp(0);
    /// Last accessed before the slices were repeated.
    const BEFORE: Stamp = Stamp(1);

    pub(super) fn of(slice: usize, op: Op) -> Stamp {
        Stamp(2 + 2 * slice as u8 + op_index(op) as u8)
    }
}

pub(super) struct ZoneState {
    stamps: Box<[u8; BLOCKS]>,
    last_end: Option<usize>,
}

impl ZoneState {
    pub(super) fn new() -> ZoneState {
        ZoneState { stamps: Box::new([Stamp::FRESH.0; BLOCKS]), last_end: None }
    }

    /// Returns the stamp of a block. An access before the slices were repeated counts as none.
    pub(super) fn at(&self, block: usize) -> Stamp {
        match Stamp(self.stamps[block]) {
            Stamp::BEFORE => Stamp::FRESH,
            stamp => stamp,
        }
    }

    pub(super) fn touch(&mut self, block: usize, stamp: Stamp) {
        self.stamps[block] = stamp.0;
    }

    pub(super) fn start_repeat(&mut self) {
        for stamp in self.stamps.iter_mut().filter(|stamp| **stamp != Stamp::FRESH.0) {
            *stamp = Stamp::BEFORE.0;
        }
    }

    /// Returns the first block of a span with this stamp, from `from` on, then from the start of
    /// the span.
    pub(super) fn find(&self, stamp: Stamp, from: usize, span: (usize, usize)) -> Option<usize> {
        if stamp == Stamp::FRESH {
            let before = self.search(Stamp::BEFORE, from, span);
            return before.or_else(|| self.search(stamp, from, span));
        }
        self.search(stamp, from, span)
    }

    fn search(&self, stamp: Stamp, from: usize, (begin, end): (usize, usize)) -> Option<usize> {
        let from = from.clamp(begin, end);
        let behind = memchr(stamp.0, &self.stamps[from..end]).map(|at| from + at);
        behind.or_else(|| memchr(stamp.0, &self.stamps[begin..from]).map(|at| begin + at))
    }

    /// Returns the start of the run of equal stamps that contains this block.
    pub(super) fn run_begin(&self, block: usize) -> usize {
        let stamp = self.stamps[block];
        self.stamps[..block].iter().rposition(|&other| other != stamp).map_or(0, |at| at + 1)
    }

    pub(super) fn last_end(&self) -> Option<usize> {
        self.last_end
    }

    pub(super) fn set_last_end(&mut self, end: usize) {
        self.last_end = Some(end);
    }
}
