//! What each slot of the cache holds and in what state: the view a policy gets.

mod state;
mod transitions;

use prefetch_index::prefetch_index;

use crate::drive_view::{DriveView, NO_POINTER};
use crate::parts::{Bits, Links, List, Met, ZoneIndex};
use crate::units::{Block, Slot, Zone};
use crate::zones::ZoneMap;
use state::{DESTAGING, DIRTY, LIVE, PIN, PINS, may_be_named};

/// One slot. 16 bytes: four slots share a cache line of the CPU.
#[derive(Clone, Copy, Debug)]
struct Record {
    /// Low 48 bits: the block, of disks up to 2^60 bytes.
    block: u64,
    zone: ZoneIndex,
    /// The next slot of the same hash, or the next free one.
    chain: Slot,
}

const BLOCK_BITS: u64 = (1 << 48) - 1;

/// Blocks looked ahead to at a time, at most.
pub const EXPECTED_MAX: usize = 64;

/// Victims likewise.
pub(crate) const VICTIMS_MAX: usize = 16;

/// What so many slots take is in a processor's cache by itself.
const FEW: u32 = 1 << 16;

/// All slots of a cache, indexed by [`Slot`], and found by block through a chained hash table: the
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
    /// I/O under way: destages and pins.
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
        // Two heads a slot: half of all misses end at an empty one.
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

    /// Slots in the cache.
    #[must_use]
    pub fn capacity(&self) -> u32 {
        self.records.len() as u32
    }

    /// Whether a processor's cache holds all that is known of them: to ask the memory for it ahead costs more than it saves.
    #[inline]
    pub(crate) fn are_few(&self) -> bool {
        self.capacity() <= FEW
    }

    /// The block in `slot`.
    #[must_use]
    #[inline]
    pub fn block(&self, slot: Slot) -> Block {
        Block(self.records[slot.index()].block & BLOCK_BITS)
    }

    /// The zone of the block in `slot`, which holds one. Zone 0 if the policy asked for no zones.
    #[must_use]
    #[inline]
    pub fn zone(&self, slot: Slot) -> Zone {
        self.zone_of(self.zone_index(slot))
    }

    /// The zone of the block in `slot`, as an index into what a policy keeps of zones
    /// ([`ByZone`](crate::parts::ByZone)). A slot that holds no block has an index that may not be
    /// used.
    #[must_use]
    #[inline]
    pub fn zone_index(&self, slot: Slot) -> ZoneIndex {
        self.records[slot.index()].zone
    }

    /// Which zone of the disk that is.
    #[must_use]
    #[inline]
    pub fn zone_of(&self, index: ZoneIndex) -> Zone {
        self.met.zone(index)
    }

    /// The index of a zone of the disk; `None` if the cache has held no block of it.
    #[must_use]
    pub fn find_zone(&self, zone: Zone) -> Option<ZoneIndex> {
        self.met.find(zone)
    }

    /// Whether `slot` holds data the disk does not have yet.
    #[must_use]
    #[inline]
    pub fn dirty(&self, slot: Slot) -> bool {
        self.has(slot, DIRTY)
    }

    /// Whether `slot` may be named as a victim: no I/O is under way on it.
    #[must_use]
    #[inline]
    pub fn evictable(&self, slot: Slot) -> bool {
        may_be_named(self.records[slot.index()].block)
    }

    /// The [`Slots::evictable`] slot nearest to the tail of `list`.
    #[must_use]
    #[inline]
    pub fn coldest(&self, list: &List, links: &Links) -> Option<Slot> {
        list.from_tail(links).map(Slot).find(|&slot| self.evictable(slot))
    }

    /// Dirty blocks in the cache, those on their way out included.
    #[must_use]
    pub fn dirty_blocks(&self) -> u32 {
        self.dirty
    }

    /// The first dirty slot from `from` on, in the order of slots, those on their way out included. A
    /// policy whose own order does not lead to the dirty blocks finds them so ([`crate::idle::Round`]).
    #[must_use]
    pub(crate) fn next_dirty(&self, from: Slot) -> Option<Slot> {
        self.dirty_slots.next(from.0).map(Slot)
    }

    /// Clean blocks in the cache.
    #[must_use]
    pub fn clean_blocks(&self) -> u32 {
        self.clean
    }

    /// Slots that hold nothing.
    #[must_use]
    #[inline]
    pub fn free_slots(&self) -> u32 {
        self.capacity() - self.dirty - self.clean
    }

    /// What the host may know of the disk.
    #[must_use]
    pub fn drive(&self) -> &DriveView {
        &self.view
    }

    /// The zones the policy asked for.
    ///
    /// # Panics
    /// If it asked for none ([`crate::policy::Policy::ZONING`]).
    #[must_use]
    pub fn zones(&self) -> &ZoneMap {
        self.view.zones.as_ref().expect("the policy declared that it needs no zones")
    }

    /// The write pointer of `zone`: its next writable block, counted from its first. `None` in a
    /// conventional zone, which is written anywhere.
    ///
    /// # Panics
    /// If the policy does not work with exposed zones ([`crate::policy::Zoning::Exposed`]).
    #[must_use]
    #[inline]
    pub fn write_pointer(&self, zone: Zone) -> Option<u64> {
        let pointer = self.view.write_pointers[zone.index()];
        (pointer != NO_POINTER).then_some(u64::from(pointer))
    }

    /// Dirty blocks named for destaging since the cache was made.
    #[must_use]
    pub fn destaged(&self) -> u64 {
        self.destaged
    }

    /// All blocks destaged before this count have left the disk's buffer. A host takes it that the
    /// buffer holds the last `buffer_blocks` destaged blocks; a simulator may tell the truth.
    #[must_use]
    pub fn horizon(&self) -> u64 {
        self.horizon.unwrap_or(self.destaged.saturating_sub(self.view.buffer_blocks))
    }

    pub(crate) fn set_horizon(&mut self, horizon: u64) {
        self.horizon = Some(horizon);
    }

    /// Returns where the write pointer was, unless the zone is conventional.
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
    fn bucket(&self, block: Block) -> usize {
        let hash = block.0.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32;
        ((hash * self.heads.len() as u64) >> 32) as usize
    }

    /// The slot that holds `block`.
    #[must_use]
    #[inline]
    pub fn find(&self, block: Block) -> Option<Slot> {
        let mut slot = self.heads[self.bucket(block)];
        while slot != Slot::NONE {
            let record = &self.records[slot.index()];
            if record.block & BLOCK_BITS == block.0 {
                return Some(slot);
            }
            slot = record.chain;
        }
        None
    }

    /// Has the memory bring, while others are worked on, where looking for these blocks begins.
    #[inline]
    pub(crate) fn expect_heads(&self, blocks: &[Block]) {
        for &block in blocks {
            prefetch_index(&self.heads, self.bucket(block));
        }
    }

    /// Likewise what it reads first, once the heads are there.
    #[inline]
    pub(crate) fn expect_first(&self, blocks: &[Block]) {
        for &block in blocks {
            prefetch_index(&self.records, self.heads[self.bucket(block)].index());
        }
    }

    /// Likewise what it reads second, once the first is there. Fills `met` with where it leads.
    #[inline]
    pub(crate) fn expect_second(&self, blocks: &[Block], met: &mut [Slot; EXPECTED_MAX]) {
        for (&block, met) in blocks.iter().zip(met) {
            let head = self.heads[self.bucket(block)];
            let (mut first, mut second) = (block.0, Slot::NONE);
            if let Some(record) = self.records.get(head.index()) {
                (first, second) = (record.block & BLOCK_BITS, record.chain);
            }
            // (Without a branch: whether it is there, nobody can guess.)
            *met = if first == block.0 { head } else { second };
            prefetch_index(&self.records, met.index());
        }
    }

    /// Likewise where looking for these begins, once what is known of them is there; of the first [`EXPECTED_MAX`].
    #[inline]
    pub(crate) fn expect_to_leave(&self, slots: impl Iterator<Item = Slot>) {
        for slot in slots.take(EXPECTED_MAX) {
            prefetch_index(&self.heads, self.bucket(self.block(slot)));
        }
    }

    /// Likewise what looking for these reads first, once that is there, too.
    #[inline]
    pub(crate) fn expect_leaving(&self, slots: impl Iterator<Item = Slot>) {
        for slot in slots {
            prefetch_index(&self.records, self.heads[self.bucket(self.block(slot))].index());
        }
    }

    /// Likewise what is known of these.
    #[inline]
    pub(crate) fn expect_slots(&self, slots: impl Iterator<Item = Slot>) {
        slots.for_each(|slot| prefetch_index(&self.records, slot.index()));
    }

    /// Some slot that may be named, if no I/O is under way on any.
    #[cold]
    pub(crate) fn evictable_at_rest(&self) -> Option<Slot> {
        (self.in_flight == 0).then(|| self.iter_live().find(|&slot| self.evictable(slot))).flatten()
    }

    /// Some dirty slot, if no I/O is under way on any: it may be written.
    pub(crate) fn dirty_at_rest(&self) -> Option<Slot> {
        (self.in_flight == 0).then(|| self.next_dirty(Slot(0))).flatten()
    }

    /// Whether `slot` holds one of `count` blocks from `first` on.
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

    /// Slots that hold a block.
    pub(crate) fn iter_live(&self) -> impl Iterator<Item = Slot> + '_ {
        (0..self.capacity()).map(Slot).filter(|&slot| self.live(slot))
    }

    pub(crate) fn bytes(&self) -> usize {
        self.records.len() * size_of::<Record>()
            + self.heads.len() * size_of::<Slot>()
            + self.dirty_slots.bytes()
    }

    /// Memory taken by the zones met.
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
