//! Data stamps: every write gets a number, and every read must return the last one written.

use std::collections::HashMap;

use shingle_core::units::Block;
use shingle_drive::Stamp;

/// The expected contents of each block.
#[derive(Clone, Default)]
pub(crate) struct Check {
    latest: HashMap<Block, Option<Stamp>>,
    drawn: Stamp,
    reads: u64,
    stale: Option<StaleRead>,
}

/// A read that did not return the last write: a bug in the simulator.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StaleRead {
    /// The block.
    pub block: Block,
    /// The stamp that was written last.
    pub expected: Stamp,
    /// The stamp that was read.
    pub found: Stamp,
}

impl Check {
    pub(crate) fn write(&mut self, block: Block) -> Stamp {
        self.drawn += 1;
        self.latest.insert(block, Some(self.drawn));
        self.drawn
    }

    /// Returns what a read of `block` that begins now must return; `None` if anything is allowed.
    pub(crate) fn expected(&self, block: Block) -> Option<Stamp> {
        self.latest.get(&block).copied().unwrap_or(Some(0))
    }

    pub(crate) fn read(&mut self, block: Block, found: Stamp) {
        self.compare(block, self.expected(block), found);
    }

    /// Compares the stamp that a read returned with the expected one.
    pub(crate) fn compare(&mut self, block: Block, expected: Option<Stamp>, found: Stamp) {
        self.reads += 1;
        if let Some(expected) = expected
            && expected != found
            && self.stale.is_none()
        {
            self.stale = Some(StaleRead { block, expected, found });
        }
    }

    /// Notes a trim: until it is written again, a block may read as anything.
    pub(crate) fn trim(&mut self, first: Block, count: u64) {
        let end = first.after(count);
        if count as usize > self.latest.len() {
            let trimmed = |block: &Block| first <= *block && *block < end;
            self.latest.iter_mut().filter(|(block, _)| trimmed(block)).for_each(|(_, s)| *s = None);
        } else {
            (first.0..end.0).map(Block).for_each(|block| {
                self.latest.insert(block, None);
            });
        }
    }

    /// Returns the first stale read, if any.
    pub(crate) fn stale(&self) -> Option<StaleRead> {
        self.stale
    }

    pub(crate) fn reads(&self) -> u64 {
        self.reads
    }
}
