//! Exchanges of SSDs and a growing disk, during other commands.

use shingle_engine::format::layout::Layout;
use shingle_engine::format::table::ENTRIES;
use shingle_engine::recover::recover;
use shingle_engine::{Device, NewSsd, SsdState};

use super::oracle::stamp;
use super::world::{World, cache, formatted};

/// The disk grows at most to this many times its size.
const GROWTH_MAX: u64 = 500;

impl World {
    /// The operator changes something.
    pub(super) fn change(&mut self) {
        let state = self.engine.ssd_state();
        if self.tells {
            println!("change, the SSD is {state:?}");
        }
        match state {
            SsdState::In if self.rng.one_in(3) => self.grow_disk(),
            SsdState::In => {
                let forgets_lost = self.faulty && self.rng.one_in(2);
                self.forgotten = 0;
                self.engine.take_ssd_out(forgets_lost);
            }
            SsdState::Leaving if self.rng.one_in(10) => drop(self.engine.keep_ssd_in()),
            SsdState::Leaving | SsdState::Entering => {}
            SsdState::Untold => {
                self.abandoned = true;
                self.engine.abandon_ssd();
            }
            SsdState::Out => self.put_in(),
        }
    }

    /// Checks the state of the changes.
    pub(super) fn changed(&mut self) {
        let status = self.engine.status();
        self.disk_blocks = status.disk_blocks;
        // (From before the SSD is invalidated.)
        for block in &status.forgotten[self.forgotten.min(status.forgotten.len())..] {
            self.oracle.forget(block.0);
        }
        self.forgotten = status.forgotten.len();
    }

    fn grow_disk(&mut self) {
        let blocks = self.disk_blocks + self.rng.range(1, 20);
        if blocks > GROWTH_MAX {
            return;
        }
        let there = self.disk.pages();
        self.disk.grow((there..blocks).map(|block| stamp(block, 0)));
        self.oracle.grow(blocks.max(there));
        let cache = cache(&self.policy, self.layout.slots, blocks, self.band_blocks);
        // (This fails while it is already growing, or without an SSD.)
        let _ = self.engine.grow_disk(blocks, cache.expect("a cache of a larger disk"));
    }

    /// Replaces the SSD by a new one with a new cache.
    pub(super) fn take_another(&mut self) {
        let (slots, spare) = (self.rng.range(4, 60), self.rng.range(6, 40));
        let frames = slots + spare;
        let table_pages = frames.div_ceil(ENTRIES as u64);
        let layout = Layout { journal_pages: self.rng.range(6, 24), table_pages, frames, slots };
        while cache(&self.policy, slots, self.disk_blocks, self.band_blocks).is_none() {
            self.policy = *self.rng.pick(&self.policies);
        }
        let edition = recover(&mut self.ssd).map_or(1, |found| found.journal.superblock().edition);
        let faults = self.ssd.faults;
        self.ssd = formatted(layout, self.disk_blocks, edition + 1);
        self.ssd.faults = faults;
        self.layout = layout;
        self.config.rules.room_slots = self.rng.below(slots / 2) as u32;
        self.abandoned = false;
    }

    fn put_in(&mut self) {
        assert!(self.pending.iter().all(|pending| pending.io.device == Device::Disk), "it is out");
        self.take_another();
        let mut found = recover(&mut self.ssd).expect("a new cache");
        for write in found.journal.mark_in_use() {
            self.ssd.keep(write.page, &write.bytes);
        }
        let cache = cache(&self.policy, self.layout.slots, self.disk_blocks, self.band_blocks);
        let cache = cache.expect("it was made before");
        let room_slots = self.config.rules.room_slots;
        let new = NewSsd { found, cache, room_slots };
        self.engine.put_ssd_in(new).expect("the one before is out");
    }

    /// Waits until the changes in progress have ended.
    pub(super) fn end_exchange(&mut self) {
        for _ in 0..100_000 {
            match self.engine.ssd_state() {
                SsdState::In => return,
                SsdState::Leaving if self.engine.keep_ssd_in() => return self.effects(),
                // (With lost data that may not be forgotten, it waits for ever.)
                SsdState::Leaving if self.engine.status().errors.ssd_failed && self.faulty => {
                    return;
                }
                SsdState::Leaving | SsdState::Entering => {}
                SsdState::Untold | SsdState::Out => self.change(),
            }
            self.effects();
            if self.pending.is_empty() || self.rng.one_in(50) {
                self.tick();
            } else {
                self.complete();
            }
            self.effects();
        }
        panic!("the exchange never comes to an end: {}", self.says());
    }
}
