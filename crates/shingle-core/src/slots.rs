//! The slots of the cache, what each holds and in what state: the view that a policy gets.

mod state;
mod transitions;

use core::hint::select_unpredictable;

use prefetch_index::prefetch_index;

use crate::ahead::PREFETCH_MAX;
use crate::drive_view::{DriveView, NO_POINTER};
use crate::parts::{Bits, Links, List, Met, ZoneIndex};
use crate::units::{Block, Slot, Zone};
use crate::zones::ZoneMap;
use state::{DESTAGING, DIRTY, LIVE, PIN, PINS, is_evictable};

/// One slot. 16 bytes: four slots share a cache line of the CPU.
#[derive(Clone, Copy, Debug)]
struct Record {
    /// Low 48 bits: the block number (disks up to 2^60 bytes). High 16 bits: the state, see
    /// `state.rs`.
    block: u64,
    zone: ZoneIndex,
    /// The next slot of the same hash chain, or the next free one.
    chain: Slot,
}

const BLOCK_BITS: u64 = (1 << 48) - 1;

/// Victims prefetched at a time, at most.
pub(crate) const VICTIMS_MAX: usize = 16;

/// Up to this many slots, all records fit into the processor's cache without prefetching.
const CACHE_RESIDENT_MAX: u32 = 1 << 16;

/// All slots of a cache, indexed by [`Slot`], and found by block through a chained hash table. The
/// chains run through the records, which a hit needs anyway.
#[derive(Clone, Debug)]
pub struct Slots {
    records: Vec<Record>,
    heads: Vec<Slot>,
    free: Slot,
    view: DriveView,
    met: Met,
    /// Which slots are dirty.
    dirty_slots: Bits,
    dirty: u32,
    clean: u32,
    /// Number of I/Os in flight: destages and pins.
    in_flight: u64,
    destaged: u64,
    horizon: Option<u64>,
}

impl Slots {
    pub(crate) fn new(capacity: u32, view: DriveView) -> Slots {
        assert!(capacity < u32::MAX, "slots are numbered with 32 bits");
        // All slots are free, the first at the head.
        let record = |slot| Record {
            block: 0,
            zone: ZoneIndex::NONE,
            chain: if slot + 1 < capacity { Slot(slot + 1) } else { Slot::NONE },
        };
        // Two heads a slot, so that half of all misses end at an empty one.
        let heads = vec![Slot::NONE; (2 * capacity as usize).clamp(1, u32::MAX as usize)];
        Slots {
            records: (0..capacity).map(record).collect(),
            heads,
            free: if capacity > 0 { Slot(0) } else { Slot::NONE },
            view,
            met: Met::default(),
            dirty_slots: Bits::new(capacity as usize),
            dirty: 0,
            clean: 0,
            in_flight: 0,
            destaged: 0,
            horizon: None,
        }
    }

    /// Returns the number of slots.
    #[must_use]
    pub fn capacity(&self) -> u32 {
        self.records.len() as u32
    }

    /// Returns whether all records fit into the processor's cache, where prefetching costs more
    /// than it saves.
    #[inline]
    pub(crate) fn fit_processor_cache(&self) -> bool {
        self.capacity() <= CACHE_RESIDENT_MAX
    }

    /// Returns the block in `slot`.
    #[must_use]
    #[inline]
    pub fn block(&self, slot: Slot) -> Block {
        Block(self.records[slot.index()].block & BLOCK_BITS)
    }

    /// Returns the zone of the block in `slot`, which holds one. Zone 0 if the policy uses no
    /// zones.
    #[must_use]
    #[inline]
    pub fn zone(&self, slot: Slot) -> Zone {
        self.zone_of(self.zone_index(slot))
    }

    /// Returns the zone of the block in `slot`, as an index into per-zone state of a policy
    /// ([`ByZone`](crate::parts::ByZone)). The index of a slot that holds no block must not be
    /// used.
    #[must_use]
    #[inline]
    pub fn zone_index(&self, slot: Slot) -> ZoneIndex {
        self.records[slot.index()].zone
    }

    /// Returns the zone of the disk with this index.
    #[must_use]
    #[inline]
    pub fn zone_of(&self, index: ZoneIndex) -> Zone {
        self.met.zone(index)
    }

    /// Returns the index of a zone of the disk; `None` if the cache has held no block of it.
    #[must_use]
    pub fn find_zone(&self, zone: Zone) -> Option<ZoneIndex> {
        self.met.find(zone)
    }

    /// Returns whether `slot` holds data that the disk does not have yet.
    #[must_use]
    #[inline]
    pub fn dirty(&self, slot: Slot) -> bool {
        self.has(slot, DIRTY)
    }

    /// Returns whether `slot` may be named as a victim: it holds a block and has no I/O in flight.
    #[must_use]
    #[inline]
    pub fn evictable(&self, slot: Slot) -> bool {
        is_evictable(self.records[slot.index()].block)
    }

    /// Returns the [`Slots::evictable`] slot nearest to the tail of `list`.
    #[must_use]
    #[inline]
    pub fn coldest(&self, list: &List, links: &Links) -> Option<Slot> {
        list.from_tail(links).map(Slot).find(|&slot| self.evictable(slot))
    }

    /// Returns the number of dirty blocks, including those that are leaving.
    #[must_use]
    pub fn dirty_blocks(&self) -> u32 {
        self.dirty
    }

    /// Returns the first dirty slot from `from` on, in slot order, including those that are
    /// leaving. A policy whose own order does not lead to dirty blocks finds them this way
    /// ([`crate::idle::Round`]).
    #[must_use]
    pub(crate) fn next_dirty(&self, from: Slot) -> Option<Slot> {
        self.dirty_slots.next(from.0).map(Slot)
    }

    /// Returns the number of clean blocks.
    #[must_use]
    pub fn clean_blocks(&self) -> u32 {
        self.clean
    }

    /// Returns the number of free slots.
    #[must_use]
    #[inline]
    pub fn free_slots(&self) -> u32 {
        self.capacity() - self.dirty - self.clean
    }

    /// Returns what the host may know of the disk.
    #[must_use]
    pub fn drive(&self) -> &DriveView {
        &self.view
    }

    /// Returns the zones the policy asked for.
    ///
    /// # Panics
    /// If it asked for none ([`crate::policy::Policy::ZONING`]).
    #[must_use]
    pub fn zones(&self) -> &ZoneMap {
        self.view.zones.as_ref().expect("the policy declared that it needs no zones")
    }

    /// Returns the write pointer of `zone`: its next writable block, counted from its first. `None`
    /// in a conventional zone, which is written anywhere.
    ///
    /// # Panics
    /// If the policy does not work with exposed zones ([`crate::policy::Zoning::Exposed`]).
    #[must_use]
    #[inline]
    pub fn write_pointer(&self, zone: Zone) -> Option<u64> {
        let pointer = self.view.write_pointers[zone.index()];
        (pointer != NO_POINTER).then_some(u64::from(pointer))
    }

    /// Returns the number of destages named since the cache was made.
    #[must_use]
    pub fn destaged(&self) -> u64 {
        self.destaged
    }

    /// Returns the horizon: all blocks destaged before this count have left the disk's buffer. A
    /// host assumes that the buffer holds the last `buffer_blocks` destaged blocks; a simulator may
    /// set the truth.
    #[must_use]
    pub fn horizon(&self) -> u64 {
        self.horizon.unwrap_or(self.destaged.saturating_sub(self.view.buffer_blocks))
    }

    pub(crate) fn set_horizon(&mut self, horizon: u64) {
        self.horizon = Some(horizon);
    }

    /// Sets the write pointer. Returns its old value, unless the zone is conventional.
    pub(crate) fn set_write_pointer(&mut self, zone: Zone, to: u64) -> Option<u64> {
        let before = self.write_pointer(zone)?;
        let to = u32::try_from(to).expect("a zone has less than 2^32 blocks");
        self.view.write_pointers[zone.index()] = to;
        Some(before)
    }

    #[inline]
    fn has(&self, slot: Slot, state: u64) -> bool {
        self.records[slot.index()].block & state != 0
    }

    #[inline]
    fn state(&mut self, slot: Slot) -> &mut u64 {
        &mut self.records[slot.index()].block
    }

    #[inline]
    pub(crate) fn bucket(&self, block: Block) -> usize {
        let hash = block.0.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32;
        ((hash * self.heads.len() as u64) >> 32) as usize
    }

    /// Returns the slot of `block` if it is the first of its chain, and else the second one there.
    #[inline]
    fn likely(&self, block: Block, bucket: usize) -> Slot {
        // Without branches, as which of them it is, or that the chain is empty, is not predictable. For an
        // empty chain the last record is read.
        let head = self.heads[bucket];
        let last = self.records.len().saturating_sub(1);
        let Some(record) = self.records.get(head.index().min(last)) else { return Slot::NONE };
        let is_first = (record.block & BLOCK_BITS == block.0) | (head == Slot::NONE);
        select_unpredictable(is_first, head, record.chain)
    }

    /// Returns the slot that holds `block`.
    #[must_use]
    #[inline]
    pub fn find(&self, block: Block) -> Option<Slot> {
        let mut slot = self.likely(block, self.bucket(block));
        while slot != Slot::NONE {
            let record = &self.records[slot.index()];
            if record.block & BLOCK_BITS == block.0 {
                return Some(slot);
            }
            slot = record.chain;
        }
        None
    }

    /// Prefetches the chain heads of these buckets: the first step of a lookup.
    #[inline]
    pub(crate) fn prefetch_heads(&self, buckets: &[u32]) {
        for &bucket in buckets {
            prefetch_index(&self.heads, bucket as usize);
        }
    }

    /// Prefetches what [`Slots::find_zone`] of the zone of `block` reads. Returns this zone, if the policy
    /// uses zones.
    #[inline]
    pub(crate) fn prefetch_zone(&self, block: Block) -> Option<Zone> {
        let zone = self.zone_to_meet(block)?;
        self.met.prefetch(zone);
        Some(zone)
    }

    /// Prefetches the first record of each chain, once the heads are there: the second step.
    #[inline]
    pub(crate) fn prefetch_first(&self, buckets: &[u32]) {
        for &bucket in buckets {
            prefetch_index(&self.records, self.heads[bucket as usize].index());
        }
    }

    /// Prefetches the record that the lookup of `block` reads next, once the first one is there:
    /// the third step. Returns the slot of this record: that of the block, most often.
    #[inline]
    pub(crate) fn prefetch_second(&self, block: Block, bucket: u32) -> Slot {
        let likely = self.likely(block, bucket as usize);
        prefetch_index(&self.records, likely.index());
        likely
    }

    /// Prefetches the chain heads of the first [`PREFETCH_MAX`] of `slots`, once their records are
    /// there: freeing a slot walks its chain.
    #[inline]
    pub(crate) fn prefetch_heads_of(&self, slots: impl Iterator<Item = Slot>) {
        for slot in slots.take(PREFETCH_MAX) {
            prefetch_index(&self.heads, self.bucket(self.block(slot)));
        }
    }

    /// Prefetches the first record of the chains of `slots`, once records and heads are there.
    #[inline]
    pub(crate) fn prefetch_first_of(&self, slots: impl Iterator<Item = Slot>) {
        for slot in slots {
            prefetch_index(&self.records, self.heads[self.bucket(self.block(slot))].index());
        }
    }

    #[inline]
    pub(crate) fn prefetch_records(&self, slots: impl Iterator<Item = Slot>) {
        slots.for_each(|slot| prefetch_index(&self.records, slot.index()));
    }

    /// Returns an evictable slot if there is one and no I/O is in flight.
    #[cold]
    pub(crate) fn evictable_at_rest(&self) -> Option<Slot> {
        (self.in_flight == 0).then(|| self.iter_live().find(|&slot| self.evictable(slot))).flatten()
    }

    /// Returns a dirty slot if there is one and no I/O is in flight, so that it may be written.
    pub(crate) fn dirty_at_rest(&self) -> Option<Slot> {
        (self.in_flight == 0).then(|| self.next_dirty(Slot(0))).flatten()
    }

    /// Returns whether `slot` holds one of `count` blocks from `first` on.
    pub(crate) fn holds(&self, slot: Slot, first: Block, count: u64) -> bool {
        let block = self.block(slot);
        self.live(slot) && first <= block && block.0 - first.0 < count
    }

    pub(crate) fn live(&self, slot: Slot) -> bool {
        self.has(slot, LIVE)
    }

    pub(crate) fn busy(&self, slot: Slot) -> bool {
        self.has(slot, DESTAGING | PINS)
    }

    /// Returns the slots that hold a block.
    pub(crate) fn iter_live(&self) -> impl Iterator<Item = Slot> + '_ {
        (0..self.capacity()).map(Slot).filter(|&slot| self.live(slot))
    }

    pub(crate) fn bytes(&self) -> usize {
        self.records.len() * size_of::<Record>()
            + self.heads.len() * size_of::<Slot>()
            + self.dirty_slots.bytes()
    }

    /// Returns the bytes used for the zones met.
    pub(crate) fn zone_bytes(&self) -> usize {
        self.met.bytes()
    }

    /// Panics unless each slot is found by its block or is free, and the counts are right.
    pub(crate) fn check(&self) {
        let free = core::iter::successors(self.free.some(), |slot| {
            assert!(!self.live(*slot), "a free slot holds a block");
            self.records[slot.index()].chain.some()
        });
        let free = free.take(self.records.len() + 1).count();
        let live = self.iter_live().count();
        let dirty = self.iter_live().filter(|&slot| self.dirty(slot)).count();
        assert_eq!(live + free, self.records.len(), "slots were lost");
        assert_eq!((dirty, live - dirty), (self.dirty as usize, self.clean as usize));
        let mut next = self.next_dirty(Slot(0));
        for slot in self.iter_live().filter(|&slot| self.dirty(slot)) {
            assert_eq!(next, Some(slot), "a dirty slot is not among the dirty ones");
            next = self.next_dirty(Slot(slot.0 + 1));
        }
        assert_eq!(next, None, "a slot among the dirty ones is clean or free");
        let io = |slot: Slot| {
            let state = self.records[slot.index()].block;
            (state & PINS) / PIN + u64::from(state & DESTAGING != 0)
        };
        assert_eq!(self.iter_live().map(io).sum::<u64>(), self.in_flight, "I/O under way");
        for slot in self.iter_live() {
            assert_eq!(self.find(self.block(slot)), Some(slot), "a block is not found");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drive_view::{Costs, InOrder};
    use crate::units::Nanos;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    proptest! {
        #[test]
        fn slots_are_a_map_of_bounded_size(
            ops in prop::collection::vec((any::<bool>(), 0u64..40), 0..300),
        ) {
            let costs = Costs { read: Nanos(1), rmw_base: Nanos(1), rmw_per_block: Nanos(1) };
            let mut slots = Slots::new(16, DriveView { zones: None, write_pointers: Vec::new(), buffer_blocks: 0, costs, in_order: InOrder::default() });
            let mut model = BTreeMap::new();
            for (insert, key) in ops {
                let block = Block(key * 0x1_0001_0001); // far apart: some share a bucket
                if insert && !model.contains_key(&block) {
                    prop_assert_eq!(slots.full(), model.len() == 16);
                    if let Some(slot) = slots.fill(block, key % 2 == 0) {
                        model.insert(block, slot);
                    }
                } else if !insert && let Some(slot) = model.remove(&block) {
                    slots.free(slot);
                }
                slots.check();
                for block in (0..40).map(|key| Block(key * 0x1_0001_0001)) {
                    prop_assert_eq!(slots.find(block), model.get(&block).copied());
                }
            }
        }
    }
}
