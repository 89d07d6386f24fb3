//! State changes of slots, which only the cache core makes.

use super::state::{
    DESTAGING, DIRTY, LEAVING, LIVE, OldState, PIN, REWRITTEN, is_evictable, refusal_reason,
};
use super::{BLOCK_BITS, Record, Slots};
use crate::parts::ZoneIndex;
use crate::units::{Block, Slot, Zone};

impl Slots {
    /// Returns whether no slot is free.
    #[inline]
    pub(crate) fn full(&self) -> bool {
        self.free == Slot::NONE
    }

    /// Allocates a free slot to `block`, which is not cached.
    #[inline]
    pub(crate) fn fill(&mut self, block: Block, dirty: bool) -> Option<Slot> {
        self.fill_in(self.zone_to_meet(block), block, dirty)
    }

    /// Returns the zone of a block of the disk, if the policy uses zones.
    #[inline]
    pub(super) fn zone_to_meet(&self, block: Block) -> Option<Zone> {
        self.view.zones.as_ref().map(|zones| zones.zone(block))
    }

    /// As [`Slots::fill`], for a block of this zone.
    #[inline]
    pub(crate) fn fill_in(
        &mut self,
        zone: Option<Zone>,
        block: Block,
        dirty: bool,
    ) -> Option<Slot> {
        let slot = self.free.some()?;
        assert!(block.0 <= BLOCK_BITS, "a disk has less than 2^48 blocks");
        let zone = zone.map_or(ZoneIndex(0), |zone| self.met.meet(zone));
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

    /// Evicts `slot`: a clean one is freed; a dirty one begins its destage, leaves when that is
    /// done, and its block is returned.
    #[inline]
    pub(crate) fn leave(&mut self, slot: Slot) -> Option<Block> {
        let state = self.state(slot);
        debug_assert!(is_evictable(*state), "Victims::push has looked");
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

    /// Marks `slot` as accessed, and as written with `write`. Returns its state before.
    #[inline]
    pub(crate) fn touch(&mut self, slot: Slot, write: bool) -> OldState {
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
        OldState(before)
    }

    /// Marks the start of a destage of `slot`, which stays.
    pub(crate) fn begin_destage(&mut self, slot: Slot) {
        debug_assert!(self.evictable(slot) && self.dirty(slot), "who calls has looked");
        *self.state(slot) |= DESTAGING;
        self.destaged += 1;
        self.in_flight += 1;
    }

    /// Marks the end of a destage of `slot`. Returns whether the slot still leaves, and whether the
    /// disk now has the current data.
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

    /// Cancels the eviction of `slot`: it stays.
    pub(crate) fn stay(&mut self, slot: Slot) {
        *self.state(slot) &= !LEAVING;
    }

    /// Says why `slot` may not be named to leave or, with `stay`, to be written and stay. `None` if
    /// it may.
    #[inline]
    pub(crate) fn refusal(&self, slot: Slot, stay: bool) -> Option<&'static str> {
        let state = self.records.get(slot.index()).map(|record| record.block);
        match state {
            Some(state) if is_evictable(state) && (!stay || state & DIRTY != 0) => None,
            state => Some(refusal_reason(state)),
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
