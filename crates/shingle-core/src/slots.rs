//! What each slot of the cache holds and in what state: the view a policy gets.

use crate::units::{Block, Nanos, Slot, Zone};
use crate::zones::ZoneMap;

/// Costs a host may plan with (SAC §4.4): a random read, and writing a band of which `x` blocks are
/// dirty, `R(x) = base + slope · x`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Costs {
    /// Mean time of a random 4 KiB read, `L_read`.
    pub read: Nanos,
    /// Fixed part of `R(x)`.
    pub rmw_base: Nanos,
    /// Part of `R(x)` for each dirty block.
    pub rmw_per_block: Nanos,
}

impl Costs {
    /// `R(x)`: the time to write a band of which `dirty_blocks` are dirty.
    #[must_use]
    pub fn rmw(&self, dirty_blocks: u64) -> Nanos {
        Nanos(self.rmw_base.0 + self.rmw_per_block.0 * dirty_blocks)
    }
}

/// What a host may know of the disk behind the cache.
#[derive(Clone, Debug)]
pub struct DriveView {
    /// The division of the disk that the policy works with; `None` if it needs none.
    pub zones: Option<ZoneMap>,
    /// Blocks that fit into the disk's buffer; 0 if it has none.
    pub buffer_blocks: u64,
    /// Costs to plan with.
    pub costs: Costs,
}

/// One slot. 16 bytes: four slots share a cache line of the CPU.
#[derive(Clone, Copy, Debug)]
struct Record {
    block: Block,
    zone: Zone,
    state: u8,
    pins: u8,
}

/// Holds a block.
const LIVE: u8 = 1;
/// Holds data the disk does not have yet.
const DIRTY: u8 = 2;
/// Named as a victim: the policy has forgotten it, the index still finds it.
const LEAVING: u8 = 4;
/// Its data is on its way to the disk.
const DESTAGING: u8 = 8;
/// Written again since its destage began.
const REWRITTEN: u8 = 16;

/// What a slot was before it was touched.
#[derive(Clone, Copy)]
pub(crate) struct Before(u8);

impl Before {
    #[inline]
    pub(crate) fn dirty(self) -> bool {
        self.0 & DIRTY != 0
    }

    #[inline]
    pub(crate) fn leaving(self) -> bool {
        self.0 & LEAVING != 0
    }
}

/// All slots of a cache, indexed by [`Slot`].
#[derive(Clone, Debug)]
pub struct Slots {
    records: Vec<Record>,
    view: DriveView,
    dirty: u32,
    clean: u32,
    destaged: u64,
    horizon: Option<u64>,
}

impl Slots {
    pub(crate) fn new(capacity: u32, view: DriveView) -> Slots {
        let empty = Record { block: Block(0), zone: Zone(0), state: 0, pins: 0 };
        let records = vec![empty; capacity as usize];
        Slots { records, view, dirty: 0, clean: 0, destaged: 0, horizon: None }
    }

    /// Slots in the cache.
    #[must_use]
    pub fn capacity(&self) -> u32 {
        self.records.len() as u32
    }

    /// The block in `slot`.
    #[must_use]
    #[inline]
    pub fn block(&self, slot: Slot) -> Block {
        self.records[slot.index()].block
    }

    /// The zone of the block in `slot`. Zone 0 if the policy asked for no zones.
    #[must_use]
    #[inline]
    pub fn zone(&self, slot: Slot) -> Zone {
        self.records[slot.index()].zone
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
        let record = &self.records[slot.index()];
        record.pins == 0 && record.state & (LIVE | LEAVING | DESTAGING) == LIVE
    }

    /// Dirty blocks in the cache, those on their way out included.
    #[must_use]
    pub fn dirty_blocks(&self) -> u32 {
        self.dirty
    }

    /// Clean blocks in the cache.
    #[must_use]
    pub fn clean_blocks(&self) -> u32 {
        self.clean
    }

    /// What the host may know of the disk.
    #[must_use]
    pub fn drive(&self) -> &DriveView {
        &self.view
    }

    /// The zones the policy asked for.
    ///
    /// # Panics
    /// If it asked for none ([`crate::policy::Policy::ZONES`]).
    #[must_use]
    pub fn zones(&self) -> &ZoneMap {
        self.view.zones.as_ref().expect("the policy declared that it needs no zones")
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

    #[inline]
    fn has(&self, slot: Slot, state: u8) -> bool {
        self.records[slot.index()].state & state != 0
    }

    #[inline]
    fn state(&mut self, slot: Slot) -> &mut u8 {
        &mut self.records[slot.index()].state
    }

    // ── Transitions, for the cache core only ─────────────────────────────────────────────────

    #[inline]
    pub(crate) fn fill(&mut self, slot: Slot, block: Block, dirty: bool) {
        let zone = self.view.zones.as_ref().map_or(Zone(0), |zones| zones.zone(block));
        let state = if dirty { LIVE | DIRTY } else { LIVE };
        self.records[slot.index()] = Record { block, zone, state, pins: 0 };
        *(if dirty { &mut self.dirty } else { &mut self.clean }) += 1;
    }

    /// Frees a live `slot`; returns the block it held.
    #[inline]
    pub(crate) fn free(&mut self, slot: Slot) -> Block {
        let record = &mut self.records[slot.index()];
        *(if record.state & DIRTY == 0 { &mut self.clean } else { &mut self.dirty }) -= 1;
        record.state = 0;
        record.block
    }

    /// A policy has named `slot`: a clean one is freed, a dirty one begins its destage and leaves
    /// when that is done. Returns its block and whether it was freed.
    ///
    /// # Panics
    /// If the slot may not be named.
    #[inline]
    pub(crate) fn leave(&mut self, slot: Slot) -> (Block, bool) {
        let record = &mut self.records[slot.index()];
        let free = record.pins == 0 && record.state & (LIVE | LEAVING | DESTAGING) == LIVE;
        assert!(free, "a policy named a slot that is in use");
        let dirty = record.state & DIRTY != 0;
        if dirty {
            record.state |= DESTAGING | LEAVING;
            self.destaged += 1;
        } else {
            record.state = 0;
            self.clean -= 1;
        }
        (record.block, !dirty)
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
            }
        }
        Before(before)
    }

    /// `slot` is about to be written to the disk and stays.
    pub(crate) fn begin_destage(&mut self, slot: Slot) {
        *self.state(slot) |= DESTAGING;
        self.destaged += 1;
    }

    /// The destage of `slot` is over. Returns whether the slot still leaves, and whether the disk
    /// now has the current data.
    #[inline]
    pub(crate) fn end_destage(&mut self, slot: Slot) -> (bool, bool) {
        let state = self.state(slot);
        let before = *state;
        assert_ne!(before & DESTAGING, 0, "the slot was not being destaged");
        *state &= !(DESTAGING | REWRITTEN);
        (before & LEAVING != 0, before & REWRITTEN == 0)
    }

    pub(crate) fn mark_clean(&mut self, slot: Slot) {
        *self.state(slot) &= !DIRTY;
        self.dirty -= 1;
        self.clean += 1;
    }

    /// `slot` stays after all.
    pub(crate) fn stay(&mut self, slot: Slot) {
        *self.state(slot) &= !LEAVING;
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
        self.has(slot, DESTAGING) || self.records[slot.index()].pins > 0
    }

    pub(crate) fn pin(&mut self, slot: Slot) {
        let pins = &mut self.records[slot.index()].pins;
        *pins = pins.checked_add(1).expect("more I/O on one slot than can be counted");
    }

    pub(crate) fn unpin(&mut self, slot: Slot) {
        let pins = &mut self.records[slot.index()].pins;
        *pins = pins.checked_sub(1).expect("a slot was unpinned that was not pinned");
    }

    /// Slots that hold a block.
    pub(crate) fn iter_live(&self) -> impl Iterator<Item = Slot> + '_ {
        (0..self.capacity()).map(Slot).filter(|&slot| self.live(slot))
    }

    pub(crate) fn bytes(&self) -> usize {
        self.records.len() * size_of::<Record>()
    }
}
