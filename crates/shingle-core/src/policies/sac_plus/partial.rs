//! Choice of the zone to write back, and of the block to start from, by the cost of rewriting a
//! part of the zone.
//!
//! A zone is rewritten from its lowest cold dirty block to its end, which releases its cold dirty
//! blocks. The zone that releases most blocks for each block rewritten leaves (ARSC). If no dirty
//! block is cold, all count as cold. Of equal zones the first one leaves.
//!
//! Nothing is searched: each zone keeps its dirty blocks in a heap, cold ones first and then by
//! address, and a tournament keeps the best zone. Zones that have changed are played again before
//! the next choice.

use core::cmp::Ordering;

use crate::cdc::{Offer, Shared, Side};
use crate::drive_view::Costs;
use crate::params::Params;
use crate::parts::{ByZone, Heap, List, Pool, Tournament, ZoneIndex};
use crate::plan::{DestageMethod, WriteOrder};
use crate::policy::{Access, Memory, Victims};
use crate::slots::Slots;
use crate::units::Slot;

/// Set in the key of a hot block; the rest is its offset in the zone.
const HOT: u32 = 1 << 31;

#[derive(Clone, Copy, Debug, Default)]
struct ZoneState {
    /// Its dirty blocks by offset, cold ones before the others.
    dirty: Heap,
    dirty_blocks: u32,
    cold_blocks: u32,
    /// Number of blocks to rewrite, as of its last match.
    rewritten: u32,
    /// Whether it has to be played again.
    changed: bool,
}

impl ZoneState {
    /// Returns the number of blocks that rewriting it releases.
    fn released(&self) -> u32 {
        if self.cold_blocks > 0 { self.cold_blocks } else { self.dirty_blocks }
    }

    /// Compares two zones by blocks released for each block rewritten.
    fn worth(&self, other: &ZoneState) -> Ordering {
        let worth = |a: &ZoneState, b: &ZoneState| {
            (a.cold_blocks > 0, u64::from(a.released()) * u64::from(b.rewritten))
        };
        worth(self, other).cmp(&worth(other, self))
    }
}

/// The dirty blocks over a drive that exposes zones.
#[derive(Clone, Debug)]
pub struct Partial {
    pool: Pool,
    zones: ByZone<ZoneState>,
    best: Tournament,
    changed: Vec<ZoneIndex>,
    /// Zones whose blocks all have I/O in flight, or that idle time has handled; empty between
    /// calls.
    held_up: Vec<ZoneIndex>,
    partial: bool,
}

impl Partial {
    /// Creates an empty side.
    #[must_use]
    pub fn new(params: &Params, slots: &Slots) -> Partial {
        let capacity = slots.capacity() as usize;
        let largest = slots.zones().largest();
        assert!(largest < u64::from(HOT), "a zone has less than 2^31 blocks");
        Partial {
            pool: Pool::new(capacity),
            zones: ByZone::new(),
            best: Tournament::new(),
            changed: Vec::new(),
            held_up: Vec::new(),
            partial: params.switch("partial"),
        }
    }

    fn change(&mut self, zone: ZoneIndex) {
        let state = &mut self.zones[zone];
        if !core::mem::replace(&mut state.changed, true) {
            self.changed.push(zone);
        }
    }

    /// Plays the matches of the zones that have changed.
    fn settle(&mut self, slots: &Slots) {
        while let Some(zone) = self.changed.pop() {
            let from = self.from(zone);
            let state = &mut self.zones[zone];
            state.changed = false;
            state.rewritten = slots.zones().blocks(slots.zone_of(zone)) as u32 - from;
            let takes_part = state.dirty_blocks > 0;
            self.play(zone, takes_part, slots);
        }
    }

    fn play(&mut self, zone: ZoneIndex, takes_part: bool, slots: &Slots) {
        let zones = &self.zones;
        let beats = |a: u32, b: u32| {
            let (a, b) = (ZoneIndex(a), ZoneIndex(b));
            match zones[a].worth(&zones[b]) {
                Ordering::Equal => slots.zone_of(a) < slots.zone_of(b),
                order => order.is_gt(),
            }
        };
        self.best.update(zone.0, takes_part, beats);
    }

    /// Returns the offset from which a zone would be rewritten.
    fn from(&self, zone: ZoneIndex) -> u32 {
        let least = self.zones[zone].dirty.least().filter(|_| self.partial);
        least.map_or(0, |slot| self.pool.key(slot) & !HOT)
    }

    /// Names the dirty blocks of a zone from its rewrite offset on, to leave or, with `stay`, to be
    /// written and stay. Returns their number.
    fn name(&mut self, zone: ZoneIndex, stay: bool, shared: &mut Shared, out: &mut Victims) -> u32 {
        let (from, slots) = (self.from(zone), out.slots());
        let state = &self.zones[zone];
        let disk_zone = slots.zone_of(zone);
        let first = slots.zones().first_block(disk_zone);
        let (mut named, mut lowest) = (List::default(), u32::MAX);
        // Dirty blocks are on no list, so their links are free for this one.
        let mut name = |slot: Slot| {
            if slots.evictable(slot) {
                named.push_head(&mut shared.links, slot.0);
                lowest = lowest.min(self.pool.key(slot.0) & !HOT);
            }
        };
        // Walks the dirty blocks of the zone or the blocks to rewrite, whichever are fewer.
        if state.dirty_blocks < state.rewritten {
            let members = state.dirty.members(&self.pool);
            members.filter(|&slot| self.pool.key(slot) & !HOT >= from).map(Slot).for_each(name);
        } else {
            let blocks = u64::from(from)..u64::from(from + state.rewritten);
            let cached = blocks.filter_map(|offset| slots.find(first.after(offset)));
            cached.filter(|&slot| slots.dirty(slot)).for_each(&mut name);
        }
        let count = named.len();
        while let Some(slot) = named.pop_tail(&mut shared.links).map(Slot) {
            if !stay {
                self.remove(slot, shared.recency.cold(slot), shared, out.slots());
                shared.recency.forget(slot);
            }
            out.push(slot);
        }
        if count > 0 {
            out.end_group(match out.slots().write_pointer(disk_zone) {
                None => DestageMethod::Write(WriteOrder::ByAddress),
                Some(pointer) if u64::from(lowest) >= pointer => DestageMethod::Append(disk_zone),
                Some(_) => DestageMethod::HostRmw(disk_zone),
            });
        }
        count
    }

    /// Takes `zone`, which has been named or has no evictable block, out of the tournament, so that
    /// the next one is chosen.
    fn set_aside(&mut self, zone: ZoneIndex, slots: &Slots) {
        self.play(zone, false, slots);
        self.held_up.push(zone);
    }

    /// Puts the zones set aside back into the tournament.
    fn take_back(&mut self) {
        while let Some(zone) = self.held_up.pop() {
            self.change(zone);
        }
    }
}

impl Side for Partial {
    #[inline]
    fn insert(&mut self, slot: Slot, cold: bool, _: &Access, _: &mut Shared, slots: &Slots) {
        let zone = slots.zone_index(slot);
        let offset = (slots.block(slot).0 - slots.zones().first_block(slots.zone(slot)).0) as u32;
        let state = &mut self.zones[zone];
        state.dirty.insert(&mut self.pool, slot.0, if cold { offset } else { offset | HOT });
        state.dirty_blocks += 1;
        state.cold_blocks += u32::from(cold);
        self.change(zone);
    }

    #[inline]
    fn touch(&mut self, slot: Slot, was_cold: bool, _: &Access, _: &mut Shared, slots: &Slots) {
        if was_cold {
            let zone = slots.zone_index(slot);
            let (state, hot) = (&mut self.zones[zone], self.pool.key(slot.0) | HOT);
            state.dirty.rekey(&mut self.pool, slot.0, hot);
            state.cold_blocks -= 1;
            self.change(zone);
        }
    }

    fn remove(&mut self, slot: Slot, was_cold: bool, _: &mut Shared, slots: &Slots) {
        let zone = slots.zone_index(slot);
        let state = &mut self.zones[zone];
        state.dirty.remove(&mut self.pool, slot.0);
        state.dirty_blocks -= 1;
        state.cold_blocks -= u32::from(was_cold);
        self.change(zone);
    }

    fn turned_cold(&mut self, slot: Slot, _: &mut Shared, slots: &Slots) {
        let zone = slots.zone_index(slot);
        let (state, cold) = (&mut self.zones[zone], self.pool.key(slot.0) & !HOT);
        state.dirty.rekey(&mut self.pool, slot.0, cold);
        state.cold_blocks += 1;
        self.change(zone);
    }

    /// The comparator divides by one block more than are cold, which the cost of SAC+ does not.
    fn offer(&mut self, _: bool, costs: &Costs, _: &mut Shared, slots: &Slots) -> Option<Offer> {
        self.settle(slots);
        let state = &self.zones[ZoneIndex(self.best.winner()?)];
        let time = costs.rmw(u64::from(state.rewritten));
        Some(Offer { time, cold_blocks: u64::from(state.released()) - 1 })
    }

    fn begin(&mut self, _: &Shared, _: &Slots) {}

    fn evict(&mut self, _: u32, shared: &mut Shared, out: &mut Victims) -> bool {
        self.settle(out.slots());
        while let Some(zone) = self.best.winner().map(ZoneIndex)
            && self.name(zone, false, shared, out) == 0
        {
            self.set_aside(zone, out.slots());
        }
        self.take_back();
        false
    }

    /// Writes the zones as if they left, each at most once per call.
    fn destage(&mut self, want: u32, shared: &mut Shared, out: &mut Victims) {
        self.settle(out.slots());
        while out.len() < want
            && let Some(zone) = self.best.winner().map(ZoneIndex)
        {
            self.name(zone, true, shared, out);
            self.set_aside(zone, out.slots());
        }
        self.take_back();
    }

    #[inline]
    fn prefetch(&self, slot: Slot) {
        self.pool.prefetch(slot.0);
    }

    fn memory(&self) -> Memory {
        let lists = (self.changed.capacity() + self.held_up.capacity()) * size_of::<ZoneIndex>();
        let states = self.zones.bytes();
        Memory { by_slots: self.pool.bytes(), by_zones: states + self.best.bytes() + lists }
    }

    fn check(&self, shared: &Shared, slots: &Slots) {
        for (zone, state) in self.zones.iter() {
            state.dirty.check(&self.pool);
            let first = slots.zones().first_block(slots.zone_of(zone)).0;
            let (mut dirty, mut cold) = (0, 0);
            for slot in state.dirty.members(&self.pool).map(Slot) {
                assert!(slots.dirty(slot) && slots.zone_index(slot) == zone);
                let (is_cold, key) = (shared.recency.cold(slot), self.pool.key(slot.0));
                assert_eq!(u64::from(key & !HOT), slots.block(slot).0 - first);
                assert_eq!(key & HOT == 0, is_cold, "cold blocks come first");
                (dirty, cold) = (dirty + 1, cold + u32::from(is_cold));
            }
            assert_eq!((dirty, cold), (state.dirty_blocks, state.cold_blocks));
            assert_eq!(state.changed, self.changed.contains(&zone));
        }
        assert!(self.held_up.is_empty());
    }
}
