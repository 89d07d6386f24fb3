//! What is cached, and where: the cache that decides, what its slots hold, and which data is lost.
//!
//! The policy knows slots, the SSD has frames. A slot is mapped to a frame, and each write maps it
//! to another one. Each change of a mapping is given to [`Durability`] as a record here and nowhere
//! else, so no mapping changes without a record.

mod ages;
mod hints;
mod mappings;
mod restore;
#[cfg(feature = "bugs")]
mod state;
mod swap;

use std::any::Any;
use std::collections::BTreeMap;
use std::ops::Range;

use shingle_core::ahead::{Ahead, PREFETCH_MAX, PrefetchStep};
use shingle_core::cache::{CacheCore, Forecast, Outcome};
use shingle_core::plan::{Destage, Plan};
use shingle_core::policy::{Access, Cost};
use shingle_core::units::{Block, Nanos, Request, Slot, Zone};

use super::durability::Durability;
use super::status::DirtyAges;
use crate::format::journal::Record;
use crate::format::{Frame, State};

pub(super) use mappings::Mapping;

/// The cache and what its slots hold.
pub(super) struct Contents {
    cache: Box<dyn CacheCore>,
    plan: Plan,
    mappings: mappings::Mappings,
    hints: hints::Hints,
    ages: ages::Ages,
    /// Dirty blocks whose data is lost. Their slots stay allocated, but no policy may choose them.
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

    /// As [`CacheCore::prefetch`]. Calls `disk` for blocks that the disk is likely to read or write.
    pub(super) fn prefetch(
        &self,
        ahead: &mut Ahead,
        requests: &[Request],
        durability: &Durability,
        disk: &dyn Fn(Block),
    ) {
        let mut found = [Slot::NONE; PREFETCH_MAX];
        self.cache.prefetch(ahead, requests, &mut |coming| {
            if let Forecast::Hits(slots) = coming {
                slots.iter().for_each(|&slot| self.prefetch_mapping(slot));
                found.iter_mut().zip(slots).for_each(|(found, &slot)| *found = slot);
            }
            coming.on_disk(self.cache.slots(), disk);
        });
        // Second step: the frames of those mappings, which are in the processor's cache by now.
        let found = found.iter().take_while(|&&slot| slot != Slot::NONE);
        let frames = found.filter_map(|&slot| self.mapping(slot).frame);
        frames.for_each(|frame| durability.prefetch(frame));
    }

    /// Prefetches the memory that [`Contents::map`] writes.
    #[inline]
    pub(super) fn prefetch_map(&self, slot: Slot, frame: Frame, durability: &Durability) {
        self.prefetch_mapping(slot);
        self.ages.prefetch(slot);
        durability.prefetch(frame);
    }

    /// Prefetches the memory that is used when the destage of `slot` is durable.
    pub(super) fn prefetch_destaged(
        &self,
        slot: Slot,
        step: PrefetchStep,
        durability: &Durability,
    ) {
        match step {
            PrefetchStep::First => {
                self.prefetch_mapping(slot);
                self.ages.prefetch(slot);
            }
            PrefetchStep::Second => {
                if let Some(frame) = self.mapping(slot).frame {
                    durability.prefetch(frame);
                }
            }
            PrefetchStep::Third => {}
        }
        self.cache.prefetch_destaged(slot, step);
    }

    /// Prefetches the memory that is used when the destage of `slot` is planned.
    #[inline]
    pub(super) fn prefetch_mapping(&self, slot: Slot) {
        self.mappings.prefetch(slot);
    }

    #[inline]
    pub(super) fn is_dirty(&self, slot: Slot) -> bool {
        self.cache.slots().dirty(slot)
    }

    #[inline]
    pub(super) fn mapping(&self, slot: Slot) -> Mapping {
        self.mappings.get(slot)
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

    /// Calls the policy for an access, for the first time or `again`. The caller carries out the
    /// resulting plan next.
    #[inline]
    pub(super) fn access(&mut self, access: &mut Access, again: bool) -> Outcome {
        if again {
            self.cache.retry(access, &mut self.plan)
        } else {
            self.hints.count();
            self.cache.access(access, &mut self.plan)
        }
    }

    /// Asks the policy to free `slots` slots. The caller carries out the resulting plan next.
    pub(super) fn evict(&mut self, slots: u32) {
        self.cache.evict(slots, &mut self.plan);
    }

    /// Asks the policy what to destage while the store is idle. The caller returns the plan to
    /// [`Contents::put_back`].
    pub(super) fn plan_idle(&mut self, blocks: u32) -> Plan {
        self.cache.idle(blocks, &mut self.plan);
        std::mem::take(&mut self.plan)
    }

    /// Whether there is a plan to carry out.
    #[inline]
    pub(super) fn has_plan(&self) -> bool {
        !self.plan.is_empty()
    }

    /// Takes the plan of the policy, if there is one. Dropped blocks are unmapped at once: their
    /// slots may be reused from now on.
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

    /// Returns a plan that was carried out, to reuse its memory.
    pub(super) fn put_back(&mut self, mut plan: Plan) {
        plan.clear();
        self.plan = plan;
    }

    /// Pins a slot for the time of an I/O: policies must not choose it.
    #[inline]
    pub(super) fn pin(&mut self, slot: Slot) {
        self.cache.pin(slot);
    }

    /// Unpins a slot after its I/O.
    #[inline]
    pub(super) fn unpin(&mut self, slot: Slot) {
        self.cache.unpin(slot);
    }

    /// The observer of the decisions of the cache.
    #[inline]
    pub(super) fn observer(&mut self) -> Option<&mut dyn Any> {
        self.cache.observer()
    }

    /// Reports the cost of an I/O to the policy.
    #[inline]
    pub(super) fn observe(&mut self, cost: &Cost) {
        self.cache.observe(cost);
    }

    /// Begins the destage of `slot`, if its block may go to the disk now. Returns whether it may.
    pub(super) fn begin_destage(&mut self, slot: Slot) -> bool {
        self.cache.begin_destage(slot)
    }

    /// Reports that the disk did not take the block of `slot`.
    pub(super) fn destage_failed(&mut self, slot: Slot) {
        self.cache.destage_failed(slot);
    }

    /// Reports that the disk has the block of `slot`. Returns whether the block left the cache.
    pub(super) fn destaged(&mut self, slot: Slot) -> bool {
        self.cache.destaged(slot)
    }

    /// The blocks of a zone. `None` if there is no such zone: the plan may stem from another
    /// policy.
    pub(super) fn blocks_of(&self, zone: Zone) -> Option<Range<u64>> {
        let zones = self.cache.slots().zones();
        if zone.index() >= zones.count() {
            return None;
        }
        let first = zones.first_block(zone).0;
        Some(first..first + zones.blocks(zone))
    }

    /// The cached blocks of a range, with their slots.
    pub(super) fn cached_in(&self, blocks: &Range<u64>) -> Vec<(Block, Slot)> {
        // Loop over the range or over the slots, whichever is shorter.
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

    /// The dirty blocks that can be destaged now and for which `may` is true, by address.
    pub(super) fn dirty(&self, may: impl Fn(Block) -> bool) -> Vec<Destage> {
        let mut dirty: Vec<Destage> = self
            .all_dirty()
            .filter(|one| self.cache.slots().evictable(one.slot) && may(one.block))
            .collect();
        dirty.sort_unstable_by_key(|destage| destage.block);
        dirty
    }

    /// Whether there is a dirty block, pinned or not, whose data is not lost and for which `may` is
    /// true.
    pub(super) fn has_dirty(&self, may: impl Fn(Block) -> bool) -> bool {
        self.all_dirty().any(|one| !self.is_lost(one.block) && may(one.block))
    }

    fn all_dirty(&self) -> impl Iterator<Item = Destage> {
        let slots = self.cache.slots();
        let dirty = (0..slots.capacity()).map(Slot).filter(|&slot| slots.dirty(slot));
        dirty.map(|slot| Destage { slot, block: slots.block(slot), leaves: false })
    }

    /// Splits `blocks` blocks from `first` on into runs that are dirty and runs that are not.
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

    /// Maps `slot` to the frame of `record`.
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
        let mapping = Mapping { block, frame: Some(frame), crc, version, number };
        self.mappings.set(slot, &mapping);
        match state {
            State::Dirty => self.ages.dirty(slot, now),
            _ => self.ages.clean(slot),
        }
        self.touch(slot, durability);
    }

    /// Unmaps `slot`, and frees its frame.
    pub(super) fn unmap(&mut self, slot: Slot, durability: &mut Durability, now: Nanos) {
        self.ages.clean(slot);
        let old = self.mapping(slot);
        let version = old.version.wrapping_add(1);
        self.mappings.set(slot, &Mapping { frame: None, version, ..old });
        if let Some(frame) = old.frame {
            durability.invalidate(old.block, frame, now);
        }
    }

    /// Records the block of `slot` as clean: it was destaged and stays in the cache.
    pub(super) fn map_clean(&mut self, slot: Slot, durability: &mut Durability, now: Nanos) {
        let Mapping { block, frame, crc, .. } = self.mapping(slot);
        if let Some(frame) = frame {
            let record = Record { frame, crc, block, state: State::Clean };
            self.map(slot, record, durability, now);
        }
    }

    /// Drops a block from the cache without a destage. Returns whether that was possible.
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

    /// Updates the hint of a block that was used.
    #[inline]
    pub(super) fn touch(&self, slot: Slot, durability: &mut Durability) {
        if let Some(frame) = self.mapping(slot).frame {
            durability.set_hint(frame, self.hints.now());
        }
    }

    /// When the block of `slot` was last used. One without data yet is used now.
    fn hint_of(&self, slot: Slot, durability: &Durability) -> u16 {
        let frame = self.mapping(slot).frame;
        frame.map_or(u16::MAX, |frame| durability.entry(frame).hint)
    }

    #[inline]
    pub(super) fn is_lost(&self, block: Block) -> bool {
        !self.lost.is_empty() && self.lost.contains_key(&block)
    }

    /// Notes that the data of a dirty block is lost.
    pub(super) fn mark_lost(&mut self, block: Block, slot: Slot) {
        if self.lost.insert(block, slot).is_none() {
            self.pin(slot);
        }
    }

    /// Removes a block from the lost ones: it is written again, or not needed any more.
    pub(super) fn clear_lost(&mut self, block: Block) {
        if let Some(slot) = self.lost.remove(&block) {
            self.unpin(slot);
        }
    }

    pub(super) fn lost_blocks(&self) -> u64 {
        self.lost.len() as u64
    }

    /// Blocks whose data is gone, in order.
    pub(super) fn lost(&self) -> Vec<Block> {
        self.lost.keys().copied().collect()
    }
}
