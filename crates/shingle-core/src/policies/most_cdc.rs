//! MOST under the comparator of SAC (§6.3, Table 5): dirty blocks leave by whole zones, those with
//! the most dirty blocks first; clean blocks leave in LRU order; the cheaper group leaves.
//!
//! A dirty group is as many zones, by their dirty blocks, as make up one buffer of blocks. They are
//! emptied one after the other, a batch at a time. The paper says only that "MOST is adopted to
//! manage the dirty cache region". Its prototype compares the ages of the coldest blocks instead of
//! costs, and crashes. In idle time the zones with the most dirty blocks are written, after those
//! of the group that is leaving. Unlike MOST alone this fills the cache with reads: Table 5 shows
//! 29.9 % of them hitting.

use crate::cdc::recent::Recent;
use crate::cdc::{
    CLEAN_PART, COST, Cdc, Offer, Pair, Shared, Side, WINDOW, group_blocks, next_victims,
};
use crate::drive_view::Costs;
use crate::params::{Param, Params};
use crate::parts::{Buckets, ByZone, List, ZoneIndex};
use crate::policy::{Access, Memory, Victims, ZONE};
use crate::slots::Slots;
use crate::units::{Nanos, Slot};

/// The policy.
pub type MostCdc = Cdc<Sides>;

/// The sides of [`MostCdc`].
#[derive(Clone, Debug)]
pub struct Sides;

impl Pair for Sides {
    const NAME: &'static str = "most+cdc";
    const ABOUT: &'static str = "MOST for dirty, LRU for clean blocks, balanced by cost (SAC §6.3)";
    const PARAMS: &'static [Param] = &[ZONE, WINDOW, CLEAN_PART, COST];
    type Clean = Recent;
    type Dirty = Fullest;

    fn sides(params: &Params, slots: &Slots) -> (Recent, Fullest) {
        (Recent::new(group_blocks(params, slots)), Fullest::new(slots))
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct ZoneState {
    /// Dirty blocks, most recently used at the head.
    dirty: List,
    cold: u32,
}

/// Dirty blocks by zone, the fullest zones first.
#[derive(Clone, Debug)]
pub struct Fullest {
    zones: ByZone<ZoneState>,
    by_dirty: Buckets,
    /// Zones of the group; those before `at` have been emptied.
    group: Vec<ZoneIndex>,
    at: usize,
    /// Number of blocks of the group that have not left.
    left: u64,
    leaving: bool,
    buffer_blocks: u64,
}

impl Fullest {
    fn new(slots: &Slots) -> Fullest {
        let zones = slots.zones();
        let dirty_max = zones.largest().min(u64::from(slots.capacity())) as u32;
        let buffer_blocks = slots.drive().buffer_blocks.max(1);
        // A group has at most one zone per block of the buffer, and per slot.
        let group_max = slots.capacity() as usize;
        let group_max = group_max.min(usize::try_from(buffer_blocks).unwrap_or(usize::MAX));
        let group_max = group_max.min(zones.count());
        Fullest {
            zones: ByZone::new(),
            by_dirty: Buckets::new(0, dirty_max),
            group: Vec::with_capacity(group_max),
            at: 0,
            left: 0,
            leaving: false,
            buffer_blocks,
        }
    }

    #[inline]
    fn rescore(&mut self, zone: ZoneIndex) {
        match self.zones[zone].dirty.len() {
            0 => self.by_dirty.remove(zone.0),
            dirty => self.by_dirty.set(zone.0, dirty),
        }
    }
}

impl Side for Fullest {
    #[inline]
    fn insert(&mut self, slot: Slot, cold: bool, _: &Access, shared: &mut Shared, slots: &Slots) {
        let zone = slots.zone_index(slot);
        let state = &mut self.zones[zone];
        state.dirty.push_head(&mut shared.links, slot.0);
        state.cold += u32::from(cold);
        self.rescore(zone);
    }

    #[inline]
    fn touch(
        &mut self,
        slot: Slot,
        was_cold: bool,
        _: &Access,
        shared: &mut Shared,
        slots: &Slots,
    ) {
        let state = &mut self.zones[slots.zone_index(slot)];
        state.dirty.to_head(&mut shared.links, slot.0);
        state.cold -= u32::from(was_cold);
    }

    fn remove(&mut self, slot: Slot, was_cold: bool, shared: &mut Shared, slots: &Slots) {
        let zone = slots.zone_index(slot);
        let state = &mut self.zones[zone];
        state.dirty.unlink(&mut shared.links, slot.0);
        state.cold -= u32::from(was_cold);
        self.rescore(zone);
    }

    fn turned_cold(&mut self, slot: Slot, _: &mut Shared, slots: &Slots) {
        self.zones[slots.zone_index(slot)].cold += 1;
    }

    fn offer(&mut self, _: bool, costs: &Costs, _: &mut Shared, _: &Slots) -> Option<Offer> {
        self.group.clear();
        (self.at, self.left) = (0, 0);
        self.by_dirty.settle();
        let mut offer = Offer { time: Nanos(0), cold_blocks: 0 };
        for zone in self.by_dirty.descending().map(ZoneIndex) {
            if self.left >= self.buffer_blocks {
                break;
            }
            let state = &self.zones[zone];
            let dirty = u64::from(state.dirty.len());
            offer.time.0 += costs.rmw(dirty).0;
            offer.cold_blocks += u64::from(state.cold);
            self.left += dirty;
            self.group.push(zone);
        }
        (!self.group.is_empty()).then_some(offer)
    }

    fn begin(&mut self, _: &Shared, _: &Slots) {
        self.leaving = true;
    }

    fn evict(&mut self, want: u32, shared: &mut Shared, out: &mut Victims) -> bool {
        let before = out.len();
        // Blocks with I/O in flight are left behind: they are dirty again later, or clean.
        while let Some(&zone) = self.group.get(self.at) {
            let mut next = self.zones[zone].dirty.tail();
            while let Some(slot) = next.map(Slot)
                && out.len() - before < want
                && self.left > 0
            {
                next = shared.links.towards_head(slot.0);
                if out.slots().evictable(slot) {
                    self.remove(slot, shared.recency.cold(slot), shared, out.slots());
                    shared.recency.forget(slot);
                    out.push(slot);
                    self.left -= 1;
                }
            }
            if self.left == 0 || next.is_some() {
                break;
            }
            self.at += 1;
        }
        self.leaving = self.left > 0 && self.at < self.group.len();
        if out.len() == before {
            self.leaving = false;
            // The group was written in idle time, or trimmed: compare costs again.
            if self.group.iter().all(|&zone| self.zones[zone].dirty.is_empty()) {
                return false;
            }
            // All of the group has I/O in flight: take the next zone with an evictable block.
            self.by_dirty.settle();
            let any = self.by_dirty.descending().map(ZoneIndex).find_map(|zone| {
                let slots = self.zones[zone].dirty.from_tail(&shared.links).map(Slot);
                slots.into_iter().find(|&slot| out.slots().evictable(slot))
            });
            if let Some(slot) = any {
                self.remove(slot, shared.recency.cold(slot), shared, out.slots());
                shared.recency.forget(slot);
                out.push(slot);
            }
            return false;
        }
        self.leaving
    }

    fn destage(&mut self, want: u32, shared: &mut Shared, out: &mut Victims) {
        self.by_dirty.settle();
        let leaving = if self.leaving { &self.group[self.at..] } else { &[] };
        let zones = leaving.iter().copied().chain(self.by_dirty.descending().map(ZoneIndex));
        for zone in zones {
            if out.len() >= want {
                return;
            }
            let dirty = &self.zones[zone].dirty;
            out.push_dirty(dirty.from_tail(&shared.links).map(Slot));
        }
    }

    #[inline]
    fn next_victims(&self, shared: &Shared, out: &mut [Slot]) -> usize {
        let zone = self.group.get(self.at);
        zone.map_or(0, |&zone| next_victims(self.zones[zone].dirty.from_tail(&shared.links), out))
    }

    fn memory(&self) -> Memory {
        let states = self.zones.bytes();
        let group = self.group.capacity() * size_of::<ZoneIndex>();
        Memory { by_slots: 0, by_zones: states + self.by_dirty.bytes() + group }
    }

    fn check(&self, shared: &Shared, slots: &Slots) {
        self.by_dirty.check();
        for (zone, state) in self.zones.iter() {
            state.dirty.check(&shared.links);
            let mut cold = 0;
            for slot in state.dirty.from_tail(&shared.links).map(Slot) {
                assert!(slots.dirty(slot) && slots.zone_index(slot) == zone);
                cold += u32::from(shared.recency.cold(slot));
            }
            assert_eq!(cold, state.cold, "cold blocks of a zone were miscounted");
            let dirty = state.dirty.len();
            assert_eq!(self.by_dirty.score(zone.0), (dirty > 0).then_some(dirty));
        }
    }
}
