//! MOST (Xiao et al., ICCD 2016, as described in SAC §2.2): the band with the most dirty blocks
//! leaves, whole and at once. Bands are fixed zones here. Reads do not fill (SAC §7: "the cache
//! layer does not actively cache read request data"; Table 5 shows no read hits).
//!
//! It needs few cleanings for each block written, but ignores popularity: hot blocks leave with the
//! rest and come back. The prototype of SAC departs in three ways, each an option.
//!
//! The papers say nothing of idle time. Here the dirty blocks of the zones with the most of them
//! are written, zone by zone. As reads do not fill, MOST does not say what becomes of clean blocks:
//! those cleaned in idle time, and those found at a restart. They stay, in LRU order and apart from
//! the zones, and leave first, at no cost. If reads do fill, a clean block stays with its zone,
//! which then has a lower score (`score=dirty`) and leaves later, as the prototype treats blocks
//! that were read.

use crate::ahead::PrefetchStep;
use crate::param;
use crate::params::{Param, Params};
use crate::parts::{Buckets, ByZone, Links, List, ZoneIndex};
use crate::policy::{Access, Admission, Idle, Memory, Policy, Victims, ZONE, Zoning};
use crate::slots::Slots;
use crate::units::{Op, Slot};

/// The cached blocks of each zone in LRU order, and the zones by score.
#[derive(Clone, Debug)]
pub struct Most {
    links: Links,
    /// The blocks of each zone; if reads do not fill, only the dirty ones.
    zones: ByZone<List>,
    /// If reads do not fill, the clean blocks, most recently used at the head.
    clean: List,
    scores: Buckets,
    /// Zones by their number of dirty blocks, if `scores` counts clean blocks, too.
    by_dirty: Option<Buckets>,
    score_all: bool,
    fill_reads: bool,
    whole_zone: bool,
    /// With `step=batch`: the zone that is leaving, and the number of its blocks that have left.
    current: Option<(ZoneIndex, u64)>,
}

impl Most {
    fn score(&mut self, zone: ZoneIndex, change: i32) {
        let score = self.scores.score(zone.0).unwrap_or(0);
        match self.zones[zone].is_empty() {
            true => self.scores.remove(zone.0),
            false => {
                self.scores.set(zone.0, score.checked_add_signed(change).expect("a score below 0"))
            }
        }
    }

    /// Adds `more` to the number of dirty blocks of `zone`.
    fn count_dirty(&mut self, zone: ZoneIndex, more: i32) {
        let Some(by_dirty) = &mut self.by_dirty else { return };
        let dirty = by_dirty.score(zone.0).unwrap_or(0).checked_add_signed(more);
        match dirty.expect("fewer than no dirty blocks") {
            0 => by_dirty.remove(zone.0),
            dirty => by_dirty.set(zone.0, dirty),
        }
    }

    fn counts(&self, slot: Slot, slots: &Slots) -> i32 {
        i32::from(self.score_all || slots.dirty(slot))
    }

    /// Returns whether a block is kept with its zone.
    fn with_zone(&self, slot: Slot, slots: &Slots) -> bool {
        self.fill_reads || slots.dirty(slot)
    }

    fn keep(&mut self, slot: Slot, slots: &Slots) {
        if !self.with_zone(slot, slots) {
            return self.clean.push_head(&mut self.links, slot.0);
        }
        let zone = slots.zone_index(slot);
        self.zones[zone].push_head(&mut self.links, slot.0);
        self.score(zone, self.counts(slot, slots));
        self.count_dirty(zone, i32::from(slots.dirty(slot)));
    }

    fn forget(&mut self, slot: Slot, slots: &Slots) {
        if !self.with_zone(slot, slots) {
            return self.clean.unlink(&mut self.links, slot.0);
        }
        let zone = slots.zone_index(slot);
        self.zones[zone].unlink(&mut self.links, slot.0);
        self.score(zone, -self.counts(slot, slots));
        self.count_dirty(zone, -i32::from(slots.dirty(slot)));
    }

    /// Names up to `want` of the clean blocks that are kept apart.
    fn evict_clean(&mut self, want: u32, out: &mut Victims) {
        while out.len() < want
            && let Some(slot) = out.slots().coldest(&self.clean, &self.links)
        {
            self.clean.unlink(&mut self.links, slot.0);
            out.push(slot);
        }
    }

    /// Names up to `most` evictable blocks of `zone`, least recently used first.
    fn evict_from(&mut self, zone: ZoneIndex, most: u32, out: &mut Victims) -> u32 {
        let (mut next, mut named) = (self.zones[zone].tail(), 0);
        while let Some(slot) = next.map(Slot)
            && named < most
        {
            out.prefetch(named, most, slot, &self.links);
            next = self.links.towards_head(slot.0);
            if out.slots().evictable(slot) {
                self.forget(slot, out.slots());
                out.push(slot);
                named += 1;
            }
        }
        named
    }

    /// Returns the zone of the highest score that has an evictable block.
    fn choose(&mut self, slots: &Slots) -> Option<ZoneIndex> {
        self.scores.settle();
        self.scores.descending().map(ZoneIndex).find(|zone| {
            let mut members = self.zones[*zone].from_tail(&self.links).map(Slot);
            members.any(|slot| slots.evictable(slot))
        })
    }

    /// Returns the zone that is leaving in steps, unless the next one has to be chosen.
    fn current(&self, slots: &Slots) -> Option<(ZoneIndex, u64)> {
        let buffer = slots.drive().buffer_blocks.max(1);
        self.current.filter(|&(_, left)| left % buffer != 0)
    }

    /// Evicts a step of the prototype: part of a zone. The next zone is chosen when this one is
    /// empty, or when a multiple of the buffer has left it.
    fn evict_step(&mut self, want: u32, out: &mut Victims) {
        let current = self.current(out.slots());
        if let Some((zone, left)) = current {
            let named = self.evict_from(zone, want, out);
            self.current = Some((zone, left + u64::from(named)));
            if named > 0 {
                return;
            }
        }
        if let Some(zone) = self.choose(out.slots()) {
            let named = self.evict_from(zone, want, out);
            self.current = Some((zone, u64::from(named)));
        }
    }
}

impl Policy for Most {
    const NAME: &'static str = "most";
    const ABOUT: &'static str = "the zone with the most dirty blocks leaves whole (SAC §2.2)";
    const ZONING: Zoning = Zoning::Fixed;
    const IDLE: Idle = Idle::Names;
    const PARAMS: &'static [Param] = &[
        ZONE,
        param!("score": Choice(&["dirty", "all"]) = "dirty",
            "count the dirty blocks of a zone (paper) or all its cached blocks (prototype)"),
        param!("clean": Choice(&["bypass", "evict"]) = "bypass",
            "reads do not fill (paper), or fill, and clean blocks leave with their zone (prototype)"),
        param!("step": Choice(&["zone", "batch"]) = "zone",
            "a zone leaves at once (paper), or a batch at a time (prototype, 64 blocks)"),
    ];

    fn new(params: &Params, slots: &Slots) -> Self {
        let zones = slots.zones();
        let score_max = zones.largest().min(u64::from(slots.capacity())) as u32;
        let score_all = params.choice("score") == "all";
        let fill_reads = params.choice("clean") == "evict";
        Most {
            links: Links::new(slots.capacity() as usize),
            zones: ByZone::new(),
            clean: List::default(),
            scores: Buckets::new(0, score_max),
            by_dirty: (score_all && fill_reads).then(|| Buckets::new(0, score_max)),
            score_all,
            fill_reads,
            whole_zone: params.choice("step") == "zone",
            current: None,
        }
    }

    fn admit(&mut self, access: &Access, _: &Slots) -> Admission {
        match access.op {
            Op::Read if !self.fill_reads => Admission::Bypass,
            _ => Admission::Fill,
        }
    }

    fn on_hit(&mut self, slot: Slot, _: &Access, slots: &Slots) {
        let list = match self.with_zone(slot, slots) {
            true => &mut self.zones[slots.zone_index(slot)],
            false => &mut self.clean,
        };
        list.to_head(&mut self.links, slot.0);
    }

    fn on_insert(&mut self, slot: Slot, _: &Access, slots: &Slots) {
        self.keep(slot, slots);
    }

    fn on_remove(&mut self, slot: Slot, slots: &Slots) {
        self.forget(slot, slots);
    }

    fn on_dirty(&mut self, slot: Slot, slots: &Slots) {
        if !self.fill_reads {
            self.clean.unlink(&mut self.links, slot.0);
            return self.keep(slot, slots);
        }
        self.score(slots.zone_index(slot), i32::from(!self.score_all));
        self.count_dirty(slots.zone_index(slot), 1);
    }

    fn on_clean(&mut self, slot: Slot, slots: &Slots) {
        let zone = slots.zone_index(slot);
        if !self.fill_reads {
            self.zones[zone].unlink(&mut self.links, slot.0);
            self.score(zone, -1);
            return self.clean.push_head(&mut self.links, slot.0);
        }
        self.score(zone, -i32::from(!self.score_all));
        self.count_dirty(zone, -1);
    }

    fn evict(&mut self, _: Option<&Access>, want: u32, out: &mut Victims) {
        self.evict_clean(want, out);
        if !self.whole_zone {
            if out.is_empty() {
                self.evict_step(want, out);
            }
            return;
        }
        while out.len() < want {
            let Some(zone) = self.choose(out.slots()) else { return };
            self.evict_from(zone, u32::MAX, out);
        }
    }

    fn destage(&mut self, want: u32, out: &mut Victims) {
        let current = self.current(out.slots()).filter(|_| !self.whole_zone);
        let by_dirty = self.by_dirty.as_mut().unwrap_or(&mut self.scores);
        by_dirty.settle();
        // Zones without dirty blocks come last. Blocks that are skipped are being written.
        let zones = by_dirty.descending().take_while(|&zone| by_dirty.score(zone) > Some(0));
        let zones = current.map(|(zone, _)| zone).into_iter().chain(zones.map(ZoneIndex));
        for zone in zones {
            if out.len() >= want {
                return;
            }
            out.push_dirty(self.zones[zone].from_tail(&self.links).map(Slot));
        }
    }

    #[inline]
    fn prefetch_insert(&self, zone: ZoneIndex, _: bool, step: PrefetchStep) {
        match step {
            PrefetchStep::First => {
                self.zones.prefetch(zone);
                self.scores.prefetch(zone.0);
            }
            _ => self.zones[zone].prefetch_push(&self.links),
        }
    }

    #[inline]
    fn prefetch(&self, slot: Slot) {
        self.links.prefetch_neighbours(slot.0);
    }

    fn memory(&self) -> Memory {
        let by_dirty = self.by_dirty.as_ref().map_or(0, Buckets::bytes);
        let by_zones = self.scores.bytes() + self.zones.bytes() + by_dirty;
        Memory { by_slots: self.links.bytes(), by_zones }
    }

    fn check(&self, slots: &Slots) {
        self.scores.check();
        for (zone, list) in self.zones.iter() {
            list.check(&self.links);
            let members = || list.from_tail(&self.links).map(Slot);
            assert!(members().all(|slot| self.with_zone(slot, slots)));
            let score: i32 = members().map(|slot| self.counts(slot, slots)).sum();
            let expected = (!list.is_empty()).then_some(score as u32);
            assert_eq!(self.scores.score(zone.0), expected);
            if let Some(by_dirty) = &self.by_dirty {
                by_dirty.check();
                let dirty = members().filter(|&slot| slots.dirty(slot)).count() as u32;
                assert_eq!(by_dirty.score(zone.0), (dirty > 0).then_some(dirty));
            }
        }
        self.clean.check(&self.links);
        assert!(self.clean.from_tail(&self.links).all(|slot| !self.with_zone(Slot(slot), slots)));
    }
}
