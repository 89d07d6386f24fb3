//! Cleans a zone, a batch at a time: the live blocks in up to 512 KiB of it are read in one read,
//! with all blocks between them, and appended elsewhere, group by group.
//!
//! Between batches the host may write. Blocks of the victim that it overwrites are no longer moved.

use super::zones::Zones;
use crate::translation::{Place, Step};
use shingle_core::units::Block;

/// Most blocks of a zone that a batch reads: 512 KiB.
pub(super) const BATCH: u64 = 128;

/// A live block of the victim.
#[derive(Clone, Copy, Debug)]
pub(super) struct Move {
    pub(super) place: u64,
    pub(super) block: u64,
    pub(super) group: u8,
}

#[derive(Clone, Debug)]
pub(super) struct Cleaner {
    victim: Option<u32>,
    /// Live blocks of the victim when it was chosen.
    live: u64,
    /// Blocks of the victim before this one are finished.
    at: u64,
    batch: Vec<Move>,
    /// Of the batch: blocks read, the place after the last one read, and blocks appended.
    read: usize,
    place: u64,
    moved: usize,
}

impl Cleaner {
    pub(super) fn new() -> Cleaner {
        let batch = Vec::with_capacity(BATCH as usize);
        Cleaner { victim: None, live: 0, at: 0, batch, read: 0, place: 0, moved: 0 }
    }

    pub(super) fn victim(&self) -> Option<u32> {
        self.victim
    }

    pub(super) fn begin(&mut self, victim: u32, zones: &Zones) {
        debug_assert!(self.moved == self.batch.len(), "nothing is under way");
        (self.victim, self.live, self.at) = (Some(victim), zones.live(victim), 0);
    }

    /// Ends the cleaning: the victim has no live blocks any more.
    pub(super) fn end(&mut self) {
        self.victim = None;
    }

    /// Returns how many blocks must be moved for `written` ones, so that cleaning keeps pace with
    /// writes.
    pub(super) fn due(&self, written: u64, zones: &Zones) -> u64 {
        let gained = zones.zone_blocks() - self.live;
        (written * self.live).div_ceil(gained.max(1))
    }

    /// Collects the next live blocks of the victim; `group` returns the group for the block at a
    /// place. Returns `false` if there are none.
    pub(super) fn gather(&mut self, zones: &Zones, mut group: impl FnMut(u64) -> u8) -> bool {
        let Some(victim) = self.victim else { return false };
        let (blocks, first) = (zones.pointer(victim), u64::from(victim) * zones.zone_blocks());
        self.batch.clear();
        (self.read, self.moved) = (0, 0);
        let next = (self.at..blocks).find(|&offset| zones.owner(victim, offset).is_some());
        let Some(from) = next else {
            self.at = blocks;
            return false;
        };
        self.at = (from + BATCH).min(blocks);
        self.place = first + from;
        for offset in from..self.at {
            if let Some(block) = zones.owner(victim, offset) {
                let place = first + offset;
                self.batch.push(Move { place, block, group: group(place) });
            }
        }
        true
    }

    /// Returns the next step that reads the batch.
    pub(super) fn read(&mut self) -> Option<Step> {
        let next = *self.batch.get(self.read)?;
        if self.place < next.place {
            let (from, count) = (Place::Native(self.place), next.place - self.place);
            self.place = next.place;
            return Some(Step::Over { from, count });
        }
        let rest = &self.batch[self.read..];
        let goes_on = |(ahead, of): &(u64, &Move)| {
            (of.place, of.block) == (next.place + ahead, next.block + ahead)
        };
        let count = (0..).zip(rest).take_while(goes_on).count();
        self.read += count;
        self.place = next.place + count as u64;
        if self.read == self.batch.len() {
            self.batch.sort_unstable_by_key(|of| (of.group, of.place));
        }
        let (block, count) = (Block(next.block), count as u64);
        Some(Step::Read { from: Place::Native(next.place), block, count })
    }

    /// Returns the next block to append, and the length of the run that it begins: blocks of one
    /// group that are neighbours to the host too.
    pub(super) fn next(&self) -> Option<(Move, u64)> {
        let rest = &self.batch[self.moved..];
        let first = *rest.first()?;
        let goes_on =
            |(ahead, of): &(u64, &Move)| (of.group, of.block) == (first.group, first.block + ahead);
        Some((first, (0..).zip(rest).take_while(goes_on).count() as u64))
    }

    /// Marks the next block as appended, and returns it.
    pub(super) fn appended(&mut self) -> Move {
        self.moved += 1;
        self.batch[self.moved - 1]
    }

    pub(super) fn memory_bytes(&self) -> u64 {
        (self.batch.capacity() * size_of::<Move>()) as u64
    }
}
