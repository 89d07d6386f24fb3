//! When each block of a zone was last touched.

use memchr::memchr;
use shingle_core::units::Op;

use super::tables::side;
use crate::zones::ZONE_BLOCKS;

const BLOCKS: usize = ZONE_BLOCKS as usize;

/// In which slice, and by what.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Stamp(pub(super) u8);

impl Stamp {
    /// Never.
    pub(super) const FRESH: Stamp = Stamp(0);
    /// Before the first slice, when slices come again.
    const BEFORE: Stamp = Stamp(1);

    pub(super) fn of(slice: usize, op: Op) -> Stamp {
        Stamp(2 + 2 * slice as u8 + side(op) as u8)
    }
}

/// A zone.
pub(super) struct Ground {
    stamps: Box<[u8; BLOCKS]>,
    last_end: Option<usize>,
}

impl Ground {
    pub(super) fn new() -> Ground {
        Ground { stamps: Box::new([Stamp::FRESH.0; BLOCKS]), last_end: None }
    }

    /// What counts as never touched may have been touched before the slices came again.
    pub(super) fn at(&self, block: usize) -> Stamp {
        match Stamp(self.stamps[block]) {
            Stamp::BEFORE => Stamp::FRESH,
            stamp => stamp,
        }
    }

    pub(super) fn touch(&mut self, block: usize, stamp: Stamp) {
        self.stamps[block] = stamp.0;
    }

    pub(super) fn again(&mut self) {
        for stamp in self.stamps.iter_mut().filter(|stamp| **stamp != Stamp::FRESH.0) {
            *stamp = Stamp::BEFORE.0;
        }
    }

    /// The first such block of a span from `from` on, and then from the beginning of the span.
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

    /// Where blocks of the same stamp begin that end with this one.
    pub(super) fn begin(&self, block: usize) -> usize {
        let stamp = self.stamps[block];
        self.stamps[..block].iter().rposition(|&other| other != stamp).map_or(0, |at| at + 1)
    }

    /// Where the last run ended, if there was one.
    pub(super) fn last_end(&self) -> Option<usize> {
        self.last_end
    }

    pub(super) fn ended(&mut self, end: usize) {
        self.last_end = Some(end);
    }
}
