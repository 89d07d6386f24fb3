//! What only the cache core does with slots.

use super::state::{
    Before, DESTAGING, DIRTY, LEAVING, LIVE, PIN, REWRITTEN, may_be_named, why_not,
};
use super::{BLOCK_BITS, Record, Slots};
use crate::parts::ZoneIndex;
use crate::units::{Block, Slot};

impl Slots {
    /// Whether no slot is free.
    #[inline]
    pub(crate) fn full(&self) -> bool {
        self.free == Slot::NONE
    }

    /// Gives a free slot to `block`, which is in none.
    #[inline]
    pub(crate) fn fill(&mut self, block: Block, dirty: bool) -> Option<Slot> {
        let slot = self.free.some()?;
        assert!(block.0 <= BLOCK_BITS, "a disk has less than 2^48 blocks");
        let zone = match &self.view.zones {
            Some(zones) => self.met.meet(zones.zone(block)),
            None => ZoneIndex(0),
        };
        let state = if dirty { LIVE | DIRTY } else { LIVE };
        *(if dirty { &mut self.dirty } else { &mut self.clean }) += 1;
        if dirty {
            self.dirty_slots.insert(slot.0);
        }
        let bucket = self.bucket(block);
        let record = &mut self.records[slot.index()];
        self.free = record.chain;
        *record = Record { block: block.0 | state, zone, chain: self.heads[bucket] };
        self.heads[bucket] = slot;
        Some(slot)
    }

    /// Frees a live `slot`.
    #[inline]
    pub(crate) fn free(&mut self, slot: Slot) {
        let Record { block: state, chain, .. } = self.records[slot.index()];
        *(if state & DIRTY == 0 { &mut self.clean } else { &mut self.dirty }) -= 1;
        if state & DIRTY != 0 {
            self.dirty_slots.remove(slot.0);
        }
        let bucket = self.bucket(Block(state & BLOCK_BITS));
        if self.heads[bucket] == slot {
            self.heads[bucket] = chain;
        } else {
            let mut before = self.heads[bucket];
            while self.records[before.index()].chain != slot {
                before = self.records[before.index()].chain;
            }
            self.records[before.index()].chain = chain;
        }
        self.records[slot.index()] = Record { block: 0, zone: ZoneIndex::NONE, chain: self.free };
        self.free = slot;
    }

    /// A policy has named `slot`: a clean one is freed, a dirty one begins its destage and leaves
    /// when that is done. Returns its block if it is dirty.
    #[inline]
    pub(crate) fn leave(&mut self, slot: Slot) -> Option<Block> {
        let state = self.state(slot);
        debug_assert!(may_be_named(*state), "Victims::push has looked");
        if *state & DIRTY == 0 {
            self.free(slot);
            return None;
        }
        *state |= DESTAGING | LEAVING;
        let block = Block(*state & BLOCK_BITS);
        self.destaged += 1;
        self.in_flight += 1;
        Some(block)
    }

    /// Marks `slot` as accessed, as written with `write`. Returns what it was before.
    #[inline]
    pub(crate) fn touch(&mut self, slot: Slot, write: bool) -> Before {
        let state = self.state(slot);
        let before = *state;
        if write {
            *state |= if before & DESTAGING == 0 { DIRTY } else { DIRTY | REWRITTEN };
            if before & DIRTY == 0 {
                self.dirty += 1;
                self.clean -= 1;
                self.dirty_slots.insert(slot.0);
            }
        }
        Before(before)
    }

    /// `slot` is about to be written to the disk and stays.
    pub(crate) fn begin_destage(&mut self, slot: Slot) {
        debug_assert!(self.evictable(slot) && self.dirty(slot), "who calls has looked");
        *self.state(slot) |= DESTAGING;
        self.destaged += 1;
        self.in_flight += 1;
    }

    /// The destage of `slot` is over. Returns whether the slot still leaves, and whether the disk
    /// now has the current data.
    #[inline]
    pub(crate) fn end_destage(&mut self, slot: Slot) -> (bool, bool) {
        let state = self.state(slot);
        let before = *state;
        assert_ne!(before & DESTAGING, 0, "the slot was not being destaged");
        *state &= !(DESTAGING | REWRITTEN);
        self.in_flight -= 1;
        (before & LEAVING != 0, before & REWRITTEN == 0)
    }

    pub(crate) fn mark_clean(&mut self, slot: Slot) {
        *self.state(slot) &= !DIRTY;
        self.dirty -= 1;
        self.clean += 1;
        self.dirty_slots.remove(slot.0);
    }

    /// `slot` stays after all.
    pub(crate) fn stay(&mut self, slot: Slot) {
        *self.state(slot) &= !LEAVING;
    }

    /// Why `slot` may not be named, to leave or, with `stay`, to be written and stay. `None` if it may.
    #[inline]
    pub(crate) fn refusal(&self, slot: Slot, stay: bool) -> Option<&'static str> {
        let state = self.records.get(slot.index()).map(|record| record.block);
        match state {
            Some(state) if may_be_named(state) && (!stay || state & DIRTY != 0) => None,
            state => Some(why_not(state)),
        }
    }

    pub(crate) fn pin(&mut self, slot: Slot) {
        let state = self.state(slot);
        *state = state.checked_add(PIN).expect("more I/O on one slot than can be counted");
        self.in_flight += 1;
    }

    pub(crate) fn unpin(&mut self, slot: Slot) {
        let state = self.state(slot);
        *state = state.checked_sub(PIN).expect("a slot was unpinned that was not pinned");
        self.in_flight -= 1;
    }
}
