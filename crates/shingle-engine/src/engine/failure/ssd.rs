//! An SSD that has failed: nothing more can be committed, and the disk serves what it can.
//!
//! The danger is the next start. By then the SSD may work again, and hold blocks as they were
//! before writes bypassed it. So the SSD is invalidated first: its superblock records that its
//! clean blocks are not valid any more. When both copies of that are written and flushed, clean
//! blocks may be written on the disk. Its dirty blocks are destaged as far as they can be read.
//! After that the superblock records that nothing on the SSD is valid.
//!
//! If the SSD takes no invalidation at all, writes to blocks that it may hold are refused. Other
//! blocks are not affected.

use std::collections::VecDeque;
use std::sync::Arc;

use shingle_core::units::{Block, Nanos};

use super::super::keys::OpKey;
use super::super::port::{Completion, Device, Failed, Port};
use crate::data::Data;
use crate::journal::{PossibleContents, Write};

/// What the superblock of the SSD invalidates.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Invalidation {
    /// Nothing, as it could not be written: all that the SSD holds remains valid.
    Refused,
    /// The SSD failed before it was known what it holds.
    Unknown,
    /// The invalidation of its clean blocks is being written.
    OfCleanUnderWay,
    OfClean,
    /// The invalidation of everything is being written.
    OfAllUnderWay,
    OfAll,
}

/// Whether a write may bypass the SSD.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in super::super) enum Permission {
    Granted,
    /// Not known yet.
    Pending,
    Refused,
}

#[derive(Clone)]
pub(super) struct FailedSsd {
    invalidation: Invalidation,
    /// The blocks that it may hold at the next start, sorted.
    clean: Vec<Block>,
    dirty: Arc<Vec<Block>>,
    /// Copies of the superblock still to be written.
    left: VecDeque<Write>,
    tries: u32,
    /// The first invalidation is of everything.
    all_at_once: bool,
    /// The last invalidation failed.
    last_refused: bool,
    /// Writes that wait for the result.
    waiting: Vec<OpKey>,
}

/// How often a copy is tried.
const TRIES: u32 = 3;

impl FailedSsd {
    pub(super) fn new(settled: bool, held: PossibleContents) -> FailedSsd {
        FailedSsd {
            invalidation: match settled {
                true => Invalidation::OfCleanUnderWay,
                false => Invalidation::Unknown,
            },
            clean: held.clean,
            dirty: Arc::new(held.dirty),
            left: VecDeque::new(),
            tries: 0,
            all_at_once: false,
            last_refused: false,
            waiting: Vec::new(),
        }
    }

    /// An SSD that is taken out without having failed: the disk has everything, and all of it is
    /// being invalidated.
    pub(super) fn taken_out(held: PossibleContents) -> FailedSsd {
        FailedSsd { all_at_once: true, ..FailedSsd::new(true, held) }
    }

    /// Notes that the SSD will not be used again: the disk may be written past it.
    pub(super) fn abandon(&mut self) {
        self.invalidation = Invalidation::OfAll;
        (self.clean, self.dirty) = (Vec::new(), Arc::default());
    }

    /// Whether everything on it is invalidated.
    pub(super) fn is_all_invalidated(&self) -> bool {
        self.invalidation == Invalidation::OfAll
    }

    /// Whether it does not take an invalidation of everything.
    pub(super) fn refuses_invalidation(&self) -> bool {
        match self.invalidation {
            Invalidation::Refused => true,
            Invalidation::OfClean => self.last_refused,
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

    /// Whether the disk may get the dirty data of `block`. If the SSD holds the block as dirty, the
    /// next start would destage it once more, which is harmless. If it holds the block as clean,
    /// its data would differ from the disk.
    pub(super) fn may_destage(&self, block: Block) -> bool {
        match self.invalidation {
            Invalidation::OfClean | Invalidation::OfAllUnderWay | Invalidation::OfAll => true,
            Invalidation::Refused => !self.holds_clean(block),
            Invalidation::Unknown | Invalidation::OfCleanUnderWay => false,
        }
    }

    /// Whether an invalidation is being written.
    pub(super) fn is_invalidating(&self) -> bool {
        matches!(self.invalidation, Invalidation::OfCleanUnderWay | Invalidation::OfAllUnderWay)
    }

    /// Blocks whose writes are refused because the SSD holds them as dirty.
    pub(super) fn refused(&self) -> Arc<Vec<Block>> {
        match self.invalidation {
            Invalidation::OfAll => Arc::default(),
            _ => self.dirty.clone(),
        }
    }

    /// Whether its clean blocks are invalidated.
    pub(super) fn is_invalidated(&self) -> bool {
        matches!(
            self.invalidation,
            Invalidation::OfClean | Invalidation::OfAllUnderWay | Invalidation::OfAll
        )
    }

    /// Whether not even what was found at the start is known to be durable.
    pub(super) fn is_content_unknown(&self) -> bool {
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

    /// Writes the next copy. The one before is flushed, so one of the two is whole at any time.
    /// Returns whether both are done.
    fn write_next<D: Data>(&mut self, port: &mut Port<D>) -> bool {
        match self.left.front() {
            Some(write) => {
                port.write_meta(write.page, &write.bytes, Completion::InvalidationWritten);
                false
            }
            None => self.ended(true),
        }
    }

    /// Handles the completed write of a copy. Returns whether the invalidation has ended, with or
    /// without success.
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

    /// Handles the completed flush of a copy. Returns the same.
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
            (Invalidation::OfCleanUnderWay, true) if self.all_at_once => Invalidation::OfAll,
            (Invalidation::OfCleanUnderWay, true) => Invalidation::OfClean,
            (Invalidation::OfCleanUnderWay, false) => Invalidation::Refused,
            (Invalidation::OfAllUnderWay, true) => Invalidation::OfAll,
            // One copy may say that nothing is valid, or none: both are true.
            (Invalidation::OfAllUnderWay, false) => Invalidation::OfClean,
            (before, _) => before,
        };
        self.last_refused |= !taken;
        if self.is_invalidated() {
            self.clean = Vec::new();
        }
        true
    }

    /// Whether the invalidation of everything begins now.
    pub(super) fn begin_last(&mut self) -> bool {
        let begins = self.invalidation == Invalidation::OfClean && !self.last_refused;
        if begins {
            self.invalidation = Invalidation::OfAllUnderWay;
        }
        begins
    }
}

#[cfg(feature = "bugs")]
impl FailedSsd {
    /// Hashes everything that decides what happens next.
    pub(super) fn hash_state<H: std::hash::Hasher>(
        &self,
        view: &super::super::state::View,
        into: &mut H,
    ) {
        use std::hash::Hash;

        let FailedSsd { invalidation, clean, dirty, left, tries, last_refused, waiting, .. } = self;
        let FailedSsd { all_at_once, .. } = self;
        (invalidation, clean, dirty, tries, last_refused, all_at_once).hash(into);
        left.iter().for_each(|write| write.hash_state(into));
        view.ops(waiting.iter(), into);
    }
}
