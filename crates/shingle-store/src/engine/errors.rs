//! What went wrong: fenced to the blocks it concerns, counted, and remembered for those who ask.

use std::collections::BTreeMap;
use std::sync::Arc;

use shingle_core::cache::{CacheCore, Outcome};
use shingle_core::units::{Block, Slot};

use super::Engine;
use super::gone::Gone;
use crate::recover::Findings;

/// What is wrong with a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Damage {
    Unreadable,
    Checksum,
}

/// What an engine says of itself.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Status {
    /// Blocks of requests, by what became of them.
    pub read_hits: u64,
    /// Likewise.
    pub read_misses: u64,
    /// Likewise.
    pub write_hits: u64,
    /// Likewise.
    pub write_misses: u64,
    /// Blocks that entered from the disk.
    pub fills: u64,
    /// Blocks written round the cache.
    pub bypassed_blocks: u64,
    /// Blocks destaged.
    pub destaged_blocks: u64,
    /// Blocks cached that the disk does not have.
    pub dirty_blocks: u64,
    /// Blocks cached that it has, too.
    pub clean_blocks: u64,
    /// Frames that hold nothing.
    pub free_frames: u64,
    /// Reads of the SSD that failed.
    pub ssd_read_errors: u64,
    /// Cached blocks whose checksum did not fit.
    pub checksum_errors: u64,
    /// Writes that the SSD did not take.
    pub ssd_write_errors: u64,
    /// Reads that the disk did not serve.
    pub disk_read_errors: u64,
    /// Writes that the disk did not take; destaged blocks among them stay dirty and are tried again.
    pub disk_write_errors: u64,
    /// Flushes of the disk that failed.
    pub disk_flush_errors: u64,
    /// What recovery met at the start.
    pub found: Findings,
    /// The SSD has failed for good: the disk serves what it can.
    pub ssd_failed: bool,
    /// And it was told that what it holds as clean does not count any more.
    pub ssd_written_off: bool,
    /// Blocks whose writes are refused because an SSD that failed holds them as dirty, in order.
    pub refused: Arc<Vec<Block>>,
    /// Dirty blocks whose data is lost: they read as errors until they are written anew or trimmed.
    pub lost: Vec<Block>,
}

/// All errors.
#[derive(Default)]
pub(super) struct Errors {
    pub(super) status: Status,
    lost: BTreeMap<Block, Slot>,
}

impl Errors {
    pub(super) fn is_lost(&self, block: Block) -> bool {
        !self.lost.is_empty() && self.lost.contains_key(&block)
    }

    /// Slots have other numbers, in another cache.
    pub(super) fn move_slots(&mut self, new_of: impl Fn(&mut Slot), cache: &mut dyn CacheCore) {
        for slot in self.lost.values_mut() {
            new_of(slot);
            cache.pin(*slot);
        }
    }

    pub(super) fn damaged(&mut self, damage: Damage) {
        match damage {
            Damage::Unreadable => self.status.ssd_read_errors += 1,
            Damage::Checksum => self.status.checksum_errors += 1,
        }
    }

    pub(super) fn ssd_write_failed(&mut self) {
        self.status.ssd_write_errors += 1;
    }

    pub(super) fn disk_read_failed(&mut self) {
        self.status.disk_read_errors += 1;
    }

    pub(super) fn disk_write_failed(&mut self) {
        self.status.disk_write_errors += 1;
    }

    pub(super) fn disk_flush_failed(&mut self) {
        self.status.disk_flush_errors += 1;
    }

    pub(super) fn count_outcome(&mut self, write: bool, outcome: Outcome) {
        let hit = matches!(outcome, Outcome::Hit(_));
        match (write, hit) {
            _ if outcome == Outcome::NoRoom && write => {}
            (false, true) => self.status.read_hits += 1,
            (false, false) => self.status.read_misses += 1,
            (true, true) => self.status.write_hits += 1,
            (true, false) => self.status.write_misses += 1,
        }
    }
}

impl Engine {
    /// The data of a dirty block is gone. Its slot stays, in nobody's way: no policy may name it.
    pub(super) fn lose(&mut self, block: Block, slot: Slot) {
        if self.errors.lost.insert(block, slot).is_none() {
            self.pin(slot);
        }
    }

    /// The block is written anew, or not needed any more.
    pub(super) fn found_again(&mut self, block: Block) {
        if let Some(slot) = self.errors.lost.remove(&block) {
            self.unpin(slot);
        }
    }

    /// Runs of `blocks` blocks from `first` on that are dirty, and that are not, with the length of
    /// each. They may end early: looking takes time.
    #[must_use]
    pub fn dirty_runs(&self, first: Block, blocks: u64) -> Vec<(u64, bool)> {
        const BLOCKS_MAX: u64 = 1 << 18;
        let slots = self.cache.slots();
        let mut runs: Vec<(u64, bool)> = Vec::new();
        for at in 0..blocks.min(BLOCKS_MAX) {
            let slot = self.cache.lookup(first.after(at));
            let dirty = slot.is_some_and(|slot| slots.dirty(slot));
            match runs.last_mut() {
                Some((length, last)) if *last == dirty => *length += 1,
                _ => runs.push((1, dirty)),
            }
        }
        runs
    }

    /// Sets what the superblock says of policy and parameters.
    pub fn set_words(&mut self, words: String) {
        self.journal.say(words);
    }

    /// What the engine says of itself.
    #[must_use]
    pub fn status(&self) -> Status {
        let slots = self.cache.slots();
        Status {
            dirty_blocks: u64::from(slots.dirty_blocks()),
            clean_blocks: u64::from(slots.clean_blocks()),
            free_frames: self.frames.free_count() as u64,
            ssd_written_off: self.gone.as_ref().is_some_and(Gone::is_written_off),
            refused: self.gone.as_ref().map(Gone::claims).unwrap_or_default(),
            lost: self.errors.lost.keys().copied().collect(),
            ..self.errors.status.clone()
        }
    }
}
