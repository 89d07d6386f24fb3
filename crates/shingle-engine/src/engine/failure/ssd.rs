//! The SSD has failed: nothing more can be committed, and the disk serves what it can.
//!
//! The danger is the next start. The SSD may be there again then, and hold blocks as they were before
//! writes bypassed it. So it is told first, in its superblock, that what it holds as clean
//! does not count any more. When it has taken that, in both copies and flushed, clean blocks are
//! written on the disk. What is dirty on it is read from it and goes to the disk as far as it can be
//! read; once everything has, the SSD is told that nothing counts.
//!
//! If the SSD takes no invalidation at all, writes to blocks that it may hold are refused. Other blocks are
//! not its affair.

use std::collections::VecDeque;
use std::sync::Arc;

use shingle_core::units::{Block, Nanos};

use super::super::keys::OpKey;
use super::super::port::{Completion, Device, Failed, Port};
use crate::data::Data;
use crate::journal::{MayHold, Write};

/// What the SSD says does not count.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Invalidation {
    /// It took nothing: all that it holds counts.
    Refused,
    /// It failed before it was known what it holds.
    Unknown,
    /// It is being told that its clean blocks do not count.
    OfCleanUnderWay,
    OfClean,
    /// And now that nothing counts.
    OfAllUnderWay,
    OfAll,
}

/// Whether a write may bypass the SSD.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in super::super) enum Permission {
    Granted,
    /// It will be known.
    Pending,
    Refused,
}

/// An SSD that has failed.
#[derive(Clone)]
pub(super) struct FailedSsd {
    invalidation: Invalidation,
    /// What it may hold at the next start, in order.
    clean: Vec<Block>,
    dirty: Arc<Vec<Block>>,
    /// Copies of the superblock to be written yet.
    left: VecDeque<Write>,
    tries: u32,
    /// What it is told first is that nothing counts.
    of_all_at_once: bool,
    /// It did not take the last invalidation.
    took_none: bool,
    /// Writes that wait until that is known.
    waiting: Vec<OpKey>,
}

/// A copy is tried so often.
const TRIES: u32 = 3;

impl FailedSsd {
    pub(super) fn new(settled: bool, held: MayHold) -> FailedSsd {
        FailedSsd {
            invalidation: match settled {
                true => Invalidation::OfCleanUnderWay,
                false => Invalidation::Unknown,
            },
            clean: held.clean,
            dirty: Arc::new(held.dirty),
            left: VecDeque::new(),
            tries: 0,
            of_all_at_once: false,
            took_none: false,
            waiting: Vec::new(),
        }
    }

    /// One that has not failed: the disk has everything, and it is being told that nothing counts.
    pub(super) fn taken_out(held: MayHold) -> FailedSsd {
        FailedSsd { of_all_at_once: true, ..FailedSsd::new(true, held) }
    }

    /// It will not be used again: the disk may be written past it.
    pub(super) fn abandon(&mut self) {
        self.invalidation = Invalidation::OfAll;
        (self.clean, self.dirty) = (Vec::new(), Arc::default());
    }

    /// Nothing on it counts.
    pub(super) fn is_told(&self) -> bool {
        self.invalidation == Invalidation::OfAll
    }

    /// It does not take that.
    pub(super) fn takes_nothing_more(&self) -> bool {
        match self.invalidation {
            Invalidation::Refused => true,
            Invalidation::OfClean => self.took_none,
            _ => false,
        }
    }

    pub(super) fn holds_dirty(&self, block: Block) -> bool {
        self.dirty.binary_search(&block).is_ok()
    }

    fn holds_clean(&self, block: Block) -> bool {
        self.clean.binary_search(&block).is_ok()
    }

    pub(super) fn may_bypass(&self, block: Block) -> Permission {
        match self.invalidation {
            Invalidation::OfAll => Permission::Granted,
            Invalidation::Unknown => Permission::Refused,
            Invalidation::OfAllUnderWay if self.holds_dirty(block) => Permission::Pending,
            _ if self.holds_dirty(block) => Permission::Refused,
            Invalidation::OfClean | Invalidation::OfAllUnderWay => Permission::Granted,
            _ if !self.holds_clean(block) => Permission::Granted,
            Invalidation::OfCleanUnderWay => Permission::Pending,
            Invalidation::Refused => Permission::Refused,
        }
    }

    /// Whether the disk may get what is dirty of `block`. What the SSD holds as dirty will go over it
    /// once more; but a block that it holds as clean would be another than that on the disk.
    pub(super) fn may_destage(&self, block: Block) -> bool {
        match self.invalidation {
            Invalidation::OfClean | Invalidation::OfAllUnderWay | Invalidation::OfAll => true,
            Invalidation::Refused => !self.holds_clean(block),
            Invalidation::Unknown | Invalidation::OfCleanUnderWay => false,
        }
    }

    /// What will become of it is open.
    pub(super) fn is_invalidating(&self) -> bool {
        matches!(self.invalidation, Invalidation::OfCleanUnderWay | Invalidation::OfAllUnderWay)
    }

    /// Blocks of which writes are refused because it holds them as dirty.
    pub(super) fn refused(&self) -> Arc<Vec<Block>> {
        match self.invalidation {
            Invalidation::OfAll => Arc::default(),
            _ => self.dirty.clone(),
        }
    }

    /// What it holds as clean does not count any more.
    pub(super) fn is_invalidated(&self) -> bool {
        matches!(
            self.invalidation,
            Invalidation::OfClean | Invalidation::OfAllUnderWay | Invalidation::OfAll
        )
    }

    /// Not even what was found at the start is known to be safe.
    pub(super) fn is_nothing_known(&self) -> bool {
        self.invalidation == Invalidation::Unknown
    }

    pub(super) fn wait(&mut self, op: OpKey) {
        self.waiting.push(op);
    }

    pub(super) fn take_waiting(&mut self) -> impl Iterator<Item = OpKey> {
        self.waiting.drain(..)
    }

    pub(super) fn invalidate<D: Data>(&mut self, copies: [Write; 2], port: &mut Port<D>) {
        self.left = copies.into();
        self.tries = 0;
        self.write_next(port);
    }

    /// Writes the copy that is next, when the one before is flushed: one of the two is whole at any time.
    /// Returns whether there was none, and the SSD has taken both.
    fn write_next<D: Data>(&mut self, port: &mut Port<D>) -> bool {
        match self.left.front() {
            Some(write) => {
                port.write_meta(write.page, &write.bytes, Completion::InvalidationWritten);
                false
            }
            None => self.ended(true),
        }
    }

    /// A copy is written, or not. Returns whether the invalidation has ended, one way or the other.
    pub(super) fn written<D: Data>(
        &mut self,
        result: Result<(), Failed>,
        buffer: D,
        now: Nanos,
        port: &mut Port<D>,
    ) -> bool {
        port.give(buffer);
        match result {
            Ok(()) => {
                port.flush(Device::Ssd, Completion::SsdFlushed, now);
                false
            }
            Err(Failed) => self.try_again(port),
        }
    }

    /// And flushed, or not. Returns likewise.
    pub(super) fn flushed<D: Data>(
        &mut self,
        result: Result<(), Failed>,
        port: &mut Port<D>,
    ) -> bool {
        match result {
            Ok(()) => {
                self.left.pop_front();
                self.write_next(port)
            }
            Err(Failed) => self.try_again(port),
        }
    }

    fn try_again<D: Data>(&mut self, port: &mut Port<D>) -> bool {
        self.tries += 1;
        if self.tries > TRIES {
            self.left.clear();
            return self.ended(false);
        }
        self.write_next(port)
    }

    fn ended(&mut self, taken: bool) -> bool {
        self.invalidation = match (self.invalidation, taken) {
            (Invalidation::OfCleanUnderWay, true) if self.of_all_at_once => Invalidation::OfAll,
            (Invalidation::OfCleanUnderWay, true) => Invalidation::OfClean,
            (Invalidation::OfCleanUnderWay, false) => Invalidation::Refused,
            (Invalidation::OfAllUnderWay, true) => Invalidation::OfAll,
            // Perhaps one copy says that nothing counts, perhaps none: either is true.
            (Invalidation::OfAllUnderWay, false) => Invalidation::OfClean,
            (before, _) => before,
        };
        self.took_none |= !taken;
        if self.is_invalidated() {
            self.clean = Vec::new();
        }
        true
    }

    /// Whether it is to be told now that nothing counts.
    pub(super) fn begins_last(&mut self) -> bool {
        let begins = self.invalidation == Invalidation::OfClean && !self.took_none;
        if begins {
            self.invalidation = Invalidation::OfAllUnderWay;
        }
        begins
    }
}

#[cfg(feature = "bugs")]
impl FailedSsd {
    /// All that decides what is done without it from now on.
    pub(super) fn hash_state<H: std::hash::Hasher>(
        &self,
        view: &super::super::state::View,
        into: &mut H,
    ) {
        use std::hash::Hash;

        let FailedSsd { invalidation, clean, dirty, left, tries, took_none, waiting, .. } = self;
        let FailedSsd { of_all_at_once, .. } = self;
        (invalidation, clean, dirty, tries, took_none, of_all_at_once).hash(into);
        left.iter().for_each(|write| write.hash_state(into));
        view.ops(waiting.iter(), into);
    }
}
