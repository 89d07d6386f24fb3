//! The SSD has failed: nothing more can be committed, and the disk serves what it can.
//!
//! The danger is the next start. The SSD may be there again then, and hold blocks as they were before
//! the disk was written round it. So it is told first, in its superblock, that what it holds as clean
//! does not count any more. When it has taken that, in both copies and flushed, clean blocks are
//! written on the disk. What is dirty on it is read from it and goes to the disk as far as it can be
//! read; once everything has, the SSD is told that nothing counts.
//!
//! An SSD that takes no word at all keeps its claim on every block that it may hold: writes of those
//! are refused. Other blocks are not its affair.

use std::collections::VecDeque;
use std::sync::Arc;

use shingle_core::units::Block;

use super::bugs::Bug;
use super::command::{CommandOp, Errno};
use super::commit::FOUND;
use super::io::{Device, Failed, Kind, Then};
use super::{Engine, OpKey};
use crate::buffer::Buffer;
use crate::journal::Write;

/// What the SSD has been told.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Told {
    /// It took nothing.
    Nothing,
    /// It failed before it was known what it holds.
    NothingKnown,
    /// It is being told that its clean blocks do not count.
    TellingClean,
    Clean,
    /// And now that nothing counts.
    TellingAll,
    All,
}

/// Whether the disk may be written round the SSD.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Round {
    Goes,
    Waits,
    Refused,
}

/// An SSD that has failed.
pub(super) struct Gone {
    told: Told,
    /// What it may hold at the next start, in order.
    clean: Vec<Block>,
    dirty: Arc<Vec<Block>>,
    /// Copies of the superblock to be written yet.
    left: VecDeque<Write>,
    tries: u32,
    /// It did not take the last word.
    deaf: bool,
    /// Writes that wait until it is told.
    waiting: Vec<OpKey>,
    /// Writes were answered that it does not keep, and no client knows.
    untold: bool,
}

/// It is told so often.
const TRIES: u32 = 3;

impl Gone {
    fn round(&self, block: Block) -> Round {
        let is_in = |blocks: &[Block]| blocks.binary_search(&block).is_ok();
        match self.told {
            Told::All => Round::Goes,
            Told::NothingKnown => Round::Refused,
            Told::TellingAll if is_in(&self.dirty) => Round::Waits,
            _ if is_in(&self.dirty) => Round::Refused,
            Told::Clean | Told::TellingAll => Round::Goes,
            _ if !is_in(&self.clean) => Round::Goes,
            Told::TellingClean => Round::Waits,
            Told::Nothing => Round::Refused,
        }
    }

    /// Whether the disk may get what is dirty of `block`. What the SSD holds as dirty will go over it
    /// once more; but a block that it holds as clean would be another than that on the disk.
    pub(super) fn may_destage(&self, block: Block) -> bool {
        match self.told {
            Told::Clean | Told::TellingAll | Told::All => true,
            Told::Nothing => self.clean.binary_search(&block).is_err(),
            Told::NothingKnown | Told::TellingClean => false,
        }
    }

    /// What will become of it is open.
    pub(super) fn is_telling(&self) -> bool {
        matches!(self.told, Told::TellingClean | Told::TellingAll)
    }

    /// Blocks of which writes are refused because it holds them as dirty.
    pub(super) fn claims(&self) -> Arc<Vec<Block>> {
        match self.told {
            Told::All => Arc::default(),
            _ => self.dirty.clone(),
        }
    }

    /// What it holds as clean does not count any more.
    pub(super) fn is_written_off(&self) -> bool {
        matches!(self.told, Told::Clean | Told::TellingAll | Told::All)
    }

    /// Whether a flush has to say that writes may be lost: once; but each one if not even what was found
    /// at the start is known to be safe.
    pub(super) fn take_untold(&mut self) -> bool {
        self.told == Told::NothingKnown || std::mem::take(&mut self.untold)
    }
}

impl Engine {
    /// Metadata cannot be written: nothing can be committed any more. No page of it is under way.
    pub(super) fn ssd_is_gone(&mut self, settled: bool, waiting: Vec<OpKey>) {
        self.errors.status.ssd_failed = true;
        let held = self.journal.may_hold();
        let untold = self.commits.added() > self.commits.committed().max(FOUND);
        self.gone = Some(Gone {
            told: if settled { Told::TellingClean } else { Told::NothingKnown },
            clean: held.clean,
            dirty: Arc::new(held.dirty),
            left: VecDeque::new(),
            tries: 0,
            deaf: false,
            waiting: Vec::new(),
            untold,
        });
        self.fail_what_is_under_way();
        // Those who waited for a commit, or for room, find another way.
        self.ready.extend(waiting);
        for key in std::mem::take(&mut self.no_room) {
            self.ready.push_back(key);
        }
        if settled {
            self.write_off(false);
        }
    }

    /// Writes under way of which some is on the SSD have failed, and so has who waits for a commit.
    fn fail_what_is_under_way(&mut self) {
        let committed = self.commits.committed();
        let mut flushes = false;
        for running in self.commands.all() {
            let waits = running.needs.is_some_and(|(commit, _)| commit > committed);
            if waits || running.in_cache && running.needs.is_none() {
                running.error = Some(Errno::IO);
                flushes |= running.command.op == CommandOp::Flush;
            }
        }
        if let Some(gone) = &mut self.gone {
            gone.untold &= !flushes;
        }
    }

    fn write_off(&mut self, dirty_too: bool) {
        let copies = self.journal.write_off(dirty_too);
        if let Some(gone) = &mut self.gone {
            gone.left = copies.into();
            gone.tries = 0;
        }
        self.write_next_copy();
    }

    fn write_next_copy(&mut self) {
        let Some(gone) = &mut self.gone else { return };
        match gone.left.front() {
            Some(write) => {
                let mut buffer = self.pool.take();
                buffer.0 = write.bytes;
                self.ios.push(Device::Ssd, Kind::Write, write.page, buffer, Then::WrittenOff);
            }
            None => self.is_told(true),
        }
    }

    /// A copy of the superblock is written, or not.
    pub(super) fn written_off(&mut self, result: Result<(), Failed>, buffer: Buffer) {
        self.pool.give(buffer);
        match result {
            Ok(()) => self.ios.flush(Device::Ssd, Then::SsdFlushed, self.now),
            Err(Failed) => self.tell_again(),
        }
    }

    /// And flushed, or not.
    pub(super) fn written_off_flushed(&mut self, result: Result<(), Failed>) {
        match (result, &mut self.gone) {
            (Ok(()), Some(gone)) => {
                gone.left.pop_front();
                self.write_next_copy();
            }
            _ => self.tell_again(),
        }
    }

    fn tell_again(&mut self) {
        let Some(gone) = &mut self.gone else { return };
        gone.tries += 1;
        if gone.tries > TRIES {
            gone.left.clear();
            return self.is_told(false);
        }
        self.write_next_copy();
    }

    fn is_told(&mut self, taken: bool) {
        let Some(gone) = &mut self.gone else { return };
        gone.told = match (gone.told, taken) {
            (Told::TellingClean, true) => Told::Clean,
            (Told::TellingClean, false) => Told::Nothing,
            (Told::TellingAll, true) => Told::All,
            // Perhaps one copy says that nothing counts, perhaps none: either is true.
            (Told::TellingAll, false) => Told::Clean,
            (told, _) => told,
        };
        gone.deaf |= !taken;
        if gone.is_written_off() {
            gone.clean = Vec::new();
        }
        self.ready.extend(gone.waiting.drain(..));
    }

    /// The disk has everything that was dirty: the SSD may know.
    pub(super) fn maybe_write_all_off(&mut self) {
        let Some(gone) = &mut self.gone else { return };
        let emptied = self.cache.slots().dirty_blocks() == 0 && self.destager.is_empty();
        if gone.told == Told::Clean && !gone.deaf && emptied {
            gone.told = Told::TellingAll;
            self.write_off(true);
        }
    }

    /// An operation begins, and the SSD is gone.
    pub(super) fn look_up_without_ssd(&mut self, key: OpKey) {
        let op = &self.ops[key];
        let (block, write) = (op.block, op.write);
        let slot = self.cache.lookup(block);
        let dirty = slot.is_some_and(|slot| self.cache.slots().dirty(slot));
        if self.errors.is_lost(block) || dirty && write {
            return self.fail(key, Errno::IO);
        }
        if dirty {
            return self.look_up_cached(key);
        }
        // (Of a block that is not dirty the disk has all there is.)
        self.bypass(key);
    }

    /// Whether the data of this operation may go to the disk now. Otherwise it waits, or has failed.
    pub(super) fn may_go_round(&mut self, key: OpKey) -> bool {
        let block = self.ops[key].block;
        let (clean, dirty) = (self.bug(Bug::RoundWithoutWord), self.bug(Bug::RoundDirty));
        let Some(gone) = &mut self.gone else { return true };
        let is_dirty = gone.dirty.binary_search(&block).is_ok();
        match gone.round(block) {
            Round::Goes => return true,
            _ if clean && !is_dirty || dirty && is_dirty => return true,
            Round::Waits => gone.waiting.push(key),
            Round::Refused => self.fail(key, Errno::IO),
        }
        false
    }
}
