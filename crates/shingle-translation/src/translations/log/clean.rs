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

    /// Collects the next live blocks of the victim, which has some; `group` returns the group for a
    /// block that the host wrote at a time, if it is known.
    pub(super) fn gather(&mut self, zones: &Zones, mut group: impl FnMut(Option<u64>) -> u8) {
        let Some(victim) = self.victim else { return };
        let (blocks, first) = (zones.pointer(victim), u64::from(victim) * zones.zone_blocks());
        self.batch.clear();
        (self.read, self.moved) = (0, 0);
        let next = zones.live_runs(victim, self.at, blocks).next();
        let (from, _, _) = next.expect("what is live is behind what was moved");
        self.at = (from + BATCH).min(blocks);
        self.place = first + from;
        for (offset, block, count) in zones.live_runs(victim, from, self.at) {
            let mut at = 0;
            while at < count {
                let (time, alike) = zones.times(first + offset + at, count - at);
                self.batch.extend((0..alike).map(|ahead| Move {
                    place: first + offset + at + ahead,
                    block: block + at + ahead,
                    group: group(time.map(|time| time + ahead)),
                }));
                at += alike;
            }
        }
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

    /// Returns the next block to append; there is one.
    pub(super) fn upcoming(&self) -> Move {
        self.batch[self.moved]
    }

    /// Marks the next `count` blocks as appended.
    pub(super) fn appended(&mut self, count: u64) {
        self.moved += count as usize;
    }

    pub(super) fn memory_bytes(&self) -> u64 {
        (self.batch.capacity() * size_of::<Move>()) as u64
    }
}
