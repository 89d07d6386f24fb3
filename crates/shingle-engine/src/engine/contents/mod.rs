//! What is cached, and where: the cache that decides, what its slots hold, and what of that is lost.
//!
//! The policy knows slots, the SSD has frames: a slot is mapped to a frame, anew with each write. What
//! changes is given to [`Durability`] as a record, here and nowhere else, so that no mapping changes without.

mod ages;
mod hints;
mod restore;
#[cfg(feature = "bugs")]
mod state;
mod swap;

use std::any::Any;
use std::collections::BTreeMap;
use std::ops::Range;

use prefetch_index::prefetch_index;
use shingle_core::cache::{Ahead, CacheCore, Coming, Outcome};
use shingle_core::plan::{Destage, Plan};
use shingle_core::policy::{Access, Cost};
use shingle_core::slots::EXPECTED_MAX;
use shingle_core::units::{Block, Nanos, Request, Slot, Zone};

use super::durability::Durability;
use super::status::DirtyAges;
use crate::format::journal::Record;
use crate::format::{Frame, State};

/// Where the block of a slot is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mapping {
    pub(super) block: Block,
    /// `None` until the first data of the slot is written.
    pub(super) frame: Option<Frame>,
    pub(super) crc: u32,
    /// Counts what has become of the slot: who read a frame knows by it whether that still is the one.
    pub(super) version: u32,
    /// Of the record that says so: the disk gets the block when it is committed. Otherwise, after a
    /// crash, the SSD could hold something older than the disk.
    pub(super) number: u64,
}

const UNMAPPED: Mapping = Mapping { block: Block(0), frame: None, crc: 0, version: 0, number: 0 };

/// The cache and what its slots hold.
pub(super) struct Contents {
    cache: Box<dyn CacheCore>,
    plan: Plan,
    mappings: Vec<Mapping>,
    hints: hints::Hints,
    ages: ages::Ages,
    /// Dirty blocks whose data is gone. Their slots stay, in nobody's way: no policy may name them.
    lost: BTreeMap<Block, Slot>,
}

impl Clone for Contents {
    fn clone(&self) -> Contents {
        let Contents { cache, plan, mappings, hints, ages, lost } = self;
        let (plan, mappings, hints) = (plan.clone(), mappings.clone(), hints.clone());
        let (ages, lost) = (ages.clone(), lost.clone());
        Contents { cache: cache.copy(), plan, mappings, hints, ages, lost }
    }
}

impl Contents {
    #[inline]
    pub(super) fn lookup(&self, block: Block) -> Option<Slot> {
        self.cache.lookup(block)
    }

    /// As [`CacheCore::expect`]; `disk` is told of blocks that the disk is likely to read or write.
    pub(super) fn expect(
        &self,
        requests: &[Request],
        durability: &Durability,
        disk: &dyn Fn(Block),
    ) {
        let mut found = [Slot::NONE; EXPECTED_MAX];
        self.cache.expect(requests, &mut |coming| {
            if let Coming::Hits(slots) = coming {
                slots.iter().for_each(|&slot| self.expect_mapping(slot));
                found.iter_mut().zip(slots).for_each(|(found, &slot)| *found = slot);
            }
            coming.on_disk(self.cache.slots(), disk);
        });
        // What that leads to, once it is there.
        let found = found.iter().take_while(|&&slot| slot != Slot::NONE);
        let frames = found.filter_map(|&slot| self.mapping(slot).frame);
        frames.for_each(|frame| durability.expect(frame));
    }

    /// Has the memory bring what [`Contents::map`] will write to.
    #[inline]
    pub(super) fn expect_map(&self, slot: Slot, frame: Frame, durability: &Durability) {
        self.expect_mapping(slot);
        self.ages.expect(slot);
        durability.expect(frame);
    }

    /// Likewise what is read when the disk has the block of `slot` for good.
    pub(super) fn expect_destaged(&self, slot: Slot, step: Ahead, durability: &Durability) {
        match step {
            Ahead::First => {
                self.expect_mapping(slot);
                self.ages.expect(slot);
            }
            Ahead::Second => {
                if let Some(frame) = self.mapping(slot).frame {
                    durability.expect(frame);
                }
            }
            Ahead::Third => {}
        }
        self.cache.expect_destaged(slot, step);
    }

    /// Likewise what is read when its destage is planned.
    #[inline]
    pub(super) fn expect_mapping(&self, slot: Slot) {
        prefetch_index(&self.mappings, slot.index());
    }

    #[inline]
    pub(super) fn is_dirty(&self, slot: Slot) -> bool {
        self.cache.slots().dirty(slot)
    }

    /// Where the block of `slot` is.
    #[inline]
    pub(super) fn mapping(&self, slot: Slot) -> Mapping {
        self.mappings[slot.index()]
    }

    pub(super) fn capacity(&self) -> u32 {
        self.cache.slots().capacity()
    }

    #[inline]
    pub(super) fn dirty_blocks(&self) -> u32 {
        self.cache.slots().dirty_blocks()
    }

    pub(super) fn clean_blocks(&self) -> u32 {
        self.cache.slots().clean_blocks()
    }

    /// How long blocks have been dirty.
    pub(super) fn dirty_ages(&self, now: Nanos) -> DirtyAges {
        self.ages.at(now)
    }

    /// Slots that hold nothing.
    #[inline]
    pub(super) fn free_slots(&self) -> u32 {
        self.cache.slots().free_slots()
    }

    /// Asks the policy, for the first time or `again`. What it plans is to be carried out next.
    #[inline]
    pub(super) fn access(&mut self, access: &mut Access, again: bool) -> Outcome {
        if again {
            self.cache.retry(access, &mut self.plan)
        } else {
            self.hints.count();
            self.cache.access(access, &mut self.plan)
        }
    }

    /// Asks it for room. What it plans is to be carried out next.
    pub(super) fn evict(&mut self, slots: u32) {
        self.cache.evict(slots, &mut self.plan);
    }

    /// Asks it for what could be destaged while nobody wants anything. The plan comes back by
    /// [`Contents::put_back`].
    pub(super) fn plan_idle(&mut self, blocks: u32) -> Plan {
        self.cache.idle(blocks, &mut self.plan);
        std::mem::take(&mut self.plan)
    }

    /// Whether the policy has planned anything.
    #[inline]
    pub(super) fn has_plan(&self) -> bool {
        !self.plan.is_empty()
    }

    /// What the policy has planned, if anything. Who was dropped is unmapped at once: its slot may hold
    /// something else from now on.
    pub(super) fn take_plan(&mut self, durability: &mut Durability, now: Nanos) -> Option<Plan> {
        if self.plan.is_empty() {
            return None;
        }
        let plan = std::mem::take(&mut self.plan);
        for dropped in plan.dropped() {
            debug_assert_eq!(self.mapping(dropped.slot).block, dropped.block);
            self.unmap(dropped.slot, durability, now);
        }
        Some(plan)
    }

    /// A plan that was carried out: its memory is used again.
    pub(super) fn put_back(&mut self, mut plan: Plan) {
        plan.clear();
        self.plan = plan;
    }

    /// I/O begins on a slot that a policy must not name meanwhile.
    #[inline]
    pub(super) fn pin(&mut self, slot: Slot) {
        self.cache.pin(slot);
    }

    /// And ends.
    #[inline]
    pub(super) fn unpin(&mut self, slot: Slot) {
        self.cache.unpin(slot);
    }

    /// Who is told of what the cache decides.
    #[inline]
    pub(super) fn observer(&mut self) -> Option<&mut dyn Any> {
        self.cache.observer()
    }

    /// What a command to the disk took.
    #[inline]
    pub(super) fn observe(&mut self, cost: &Cost) {
        self.cache.observe(cost);
    }

    /// Whether the block of `slot` may go to the disk now; then it is on its way.
    pub(super) fn begin_destage(&mut self, slot: Slot) -> bool {
        self.cache.begin_destage(slot)
    }

    /// The disk did not take it.
    pub(super) fn destage_failed(&mut self, slot: Slot) {
        self.cache.destage_failed(slot);
    }

    /// The disk keeps it. Returns whether the block left.
    pub(super) fn destaged(&mut self, slot: Slot) -> bool {
        self.cache.destaged(slot)
    }

    /// Blocks of a zone of the policy; `None` if it has no such zone, as another policy may have named it.
    pub(super) fn blocks_of(&self, zone: Zone) -> Option<Range<u64>> {
        let zones = self.cache.slots().zones();
        if zone.index() >= zones.count() {
            return None;
        }
        let first = zones.first_block(zone).0;
        Some(first..first + zones.blocks(zone))
    }

    /// Those of `blocks` that are cached, and their slots.
    pub(super) fn cached_in(&self, blocks: &Range<u64>) -> Vec<(Block, Slot)> {
        // (Whichever are fewer.)
        if blocks.end.saturating_sub(blocks.start) <= u64::from(self.capacity()) {
            let blocks = blocks.clone().map(Block);
            blocks.filter_map(|block| Some((block, self.lookup(block)?))).collect()
        } else {
            let slots = (0..self.capacity()).map(Slot);
            slots
                .map(|slot| (self.mapping(slot).block, slot))
                .filter(|&(block, slot)| {
                    blocks.contains(&block.0) && self.lookup(block) == Some(slot)
                })
                .collect()
        }
    }

    /// Dirty blocks that could go to the disk now and may, in the order of their addresses.
    pub(super) fn dirty(&self, may: impl Fn(Block) -> bool) -> Vec<Destage> {
        let mut dirty: Vec<Destage> = self
            .all_dirty()
            .filter(|one| self.cache.slots().evictable(one.slot) && may(one.block))
            .collect();
        dirty.sort_unstable_by_key(|destage| destage.block);
        dirty
    }

    /// Whether there is a dirty block of which this is so and whose data is not lost, in use or not.
    pub(super) fn has_dirty(&self, may: impl Fn(Block) -> bool) -> bool {
        self.all_dirty().any(|one| !self.is_lost(one.block) && may(one.block))
    }

    fn all_dirty(&self) -> impl Iterator<Item = Destage> {
        let slots = self.cache.slots();
        let dirty = (0..slots.capacity()).map(Slot).filter(|&slot| slots.dirty(slot));
        dirty.map(|slot| Destage { slot, block: slots.block(slot), leaves: false })
    }

    /// Runs of `blocks` blocks from `first` on that are dirty, and that are not.
    pub(super) fn dirty_runs(&self, first: Block, blocks: u64) -> Vec<(u64, bool)> {
        let mut runs: Vec<(u64, bool)> = Vec::new();
        for at in 0..blocks {
            let slot = self.lookup(first.after(at));
            let dirty = slot.is_some_and(|slot| self.is_dirty(slot));
            match runs.last_mut() {
                Some((length, last)) if *last == dirty => *length += 1,
                _ => runs.push((1, dirty)),
            }
        }
        runs
    }

    /// The data of `slot` is in `frame` from now on.
    pub(super) fn map(
        &mut self,
        slot: Slot,
        record: Record,
        durability: &mut Durability,
        now: Nanos,
    ) {
        let Record { frame, crc, block, state } = record;
        let old = self.mapping(slot);
        let superseded = old.frame.filter(|&old_frame| old_frame != frame);
        assert!(
            superseded.is_none() || old.block == block,
            "a slot is unmapped before it holds another block"
        );
        // The new frame first, then the old one: a crash between the two leaves both, never none.
        let number = durability.record_move(record, superseded, now);
        let version = old.version.wrapping_add(1);
        self.mappings[slot.index()] = Mapping { block, frame: Some(frame), crc, version, number };
        match state {
            State::Dirty => self.ages.dirty(slot, now),
            _ => self.ages.clean(slot),
        }
        self.touch(slot, durability);
    }

    /// `slot` no longer holds what it held.
    pub(super) fn unmap(&mut self, slot: Slot, durability: &mut Durability, now: Nanos) {
        self.ages.clean(slot);
        let mapping = &mut self.mappings[slot.index()];
        mapping.version = mapping.version.wrapping_add(1);
        let block = mapping.block;
        if let Some(frame) = mapping.frame.take() {
            durability.invalidate(block, frame, now);
        }
    }

    /// The destage of the block of `slot` is done and it stays: the SSD may say that it is clean.
    pub(super) fn map_clean(&mut self, slot: Slot, durability: &mut Durability, now: Nanos) {
        let Mapping { block, frame, crc, .. } = self.mapping(slot);
        if let Some(frame) = frame {
            let record = Record { frame, crc, block, state: State::Clean };
            self.map(slot, record, durability, now);
        }
    }

    /// The block leaves at once, whatever it is; returns whether it could.
    pub(super) fn drop_block(
        &mut self,
        block: Block,
        slot: Slot,
        durability: &mut Durability,
        now: Nanos,
    ) -> bool {
        let dropped = self.cache.trim(block, 1) == 1;
        if dropped {
            self.unmap(slot, durability, now);
        }
        dropped
    }

    /// The block of `slot` was used.
    #[inline]
    pub(super) fn touch(&self, slot: Slot, durability: &mut Durability) {
        if let Some(frame) = self.mapping(slot).frame {
            durability.hint(frame, self.hints.now());
        }
    }

    /// How late the block of `slot` was used; one whose data is on its way is used now.
    fn hint_of(&self, slot: Slot, durability: &Durability) -> u16 {
        let frame = self.mapping(slot).frame;
        frame.map_or(u16::MAX, |frame| durability.entry(frame).hint)
    }

    #[inline]
    pub(super) fn is_lost(&self, block: Block) -> bool {
        !self.lost.is_empty() && self.lost.contains_key(&block)
    }

    /// The data of a dirty block is gone.
    pub(super) fn mark_lost(&mut self, block: Block, slot: Slot) {
        if self.lost.insert(block, slot).is_none() {
            self.pin(slot);
        }
    }

    /// The block is written anew, or not needed any more.
    pub(super) fn clear_lost(&mut self, block: Block) {
        if let Some(slot) = self.lost.remove(&block) {
            self.unpin(slot);
        }
    }

    /// How many these are.
    pub(super) fn lost_blocks(&self) -> u64 {
        self.lost.len() as u64
    }

    /// Blocks whose data is gone, in order.
    pub(super) fn lost(&self) -> Vec<Block> {
        self.lost.keys().copied().collect()
    }
}
