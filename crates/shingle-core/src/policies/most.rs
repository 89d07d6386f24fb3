//! MOST (Xiao et al., ICCD 2016, as told in SAC §2.2): the band with the most dirty blocks leaves,
//! whole and at once. Bands are fixed zones here. Reads do not fill (SAC §7: "the cache layer does
//! not actively cache read request data"; Table 5 shows no read hits).
//!
//! Few cleanings for each block written, but popularity is ignored: hot blocks leave with the rest
//! and come back. The prototype of SAC departs in three ways, each an option.

use crate::buckets::Buckets;
use crate::list::{Links, List};
use crate::params::{Kind, Param, Params};
use crate::policy::{Access, Admission, Memory, Policy, Victims, ZONE, Zoning};
use crate::slots::Slots;
use crate::units::{Op, Slot, Zone};

/// The cached blocks of each zone in LRU order, and the zones by score.
#[derive(Clone, Debug)]
pub struct Most {
    links: Links,
    zones: Vec<List>,
    scores: Buckets,
    score_all: bool,
    fill_reads: bool,
    whole_zone: bool,
    /// With steps of a batch: the zone that is leaving, and how many of its blocks have left.
    current: Option<(Zone, u64)>,
}

impl Most {
    fn score(&mut self, zone: Zone, change: i32) {
        let score = self.scores.score(zone).unwrap_or(0);
        match self.zones[zone.index()].is_empty() {
            true => self.scores.remove(zone),
            false => {
                self.scores.set(zone, score.checked_add_signed(change).expect("a score below 0"))
            }
        }
    }

    fn counts(&self, slot: Slot, slots: &Slots) -> i32 {
        i32::from(self.score_all || slots.dirty(slot))
    }

    fn forget(&mut self, slot: Slot, slots: &Slots) {
        let zone = slots.zone(slot);
        self.zones[zone.index()].unlink(&mut self.links, slot.0);
        self.score(zone, -self.counts(slot, slots));
    }

    /// Names up to `most` evictable blocks of `zone`, least recently used first.
    fn evict_from(&mut self, zone: Zone, most: u32, out: &mut Victims) -> u32 {
        let (mut next, mut named) = (self.zones[zone.index()].tail(), 0);
        while let Some(slot) = next.map(Slot)
            && named < most
        {
            next = self.links.towards_head(slot.0);
            if out.slots().evictable(slot) {
                self.forget(slot, out.slots());
                out.push(slot);
                named += 1;
            }
        }
        named
    }

    /// The first zone, by score, that has a block to give.
    fn choose(&self, slots: &Slots) -> Option<Zone> {
        self.scores.descending().find(|zone| {
            let mut members = self.zones[zone.index()].from_tail(&self.links).map(Slot);
            members.any(|slot| slots.evictable(slot))
        })
    }

    /// The prototype's step: part of a zone; the next zone is chosen when this one is exhausted, or
    /// when a multiple of the buffer has left it.
    fn evict_step(&mut self, want: u32, out: &mut Victims) {
        let buffer = out.slots().drive().buffer_blocks.max(1);
        let current = self.current.filter(|&(_, left)| left % buffer != 0);
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
    const PARAMS: &'static [Param] = &[
        ZONE,
        Param {
            name: "score",
            kind: Kind::Choice(&["dirty", "all"]),
            default: "dirty",
            about: "count the dirty blocks of a zone (paper) or all its cached blocks (prototype)",
        },
        Param {
            name: "clean",
            kind: Kind::Choice(&["bypass", "evict"]),
            default: "bypass",
            about: "reads do not fill (paper), or fill, and clean blocks leave with their zone \
                    (prototype)",
        },
        Param {
            name: "step",
            kind: Kind::Choice(&["zone", "batch"]),
            default: "zone",
            about: "a zone leaves at once (paper), or a batch at a time (prototype, 64 blocks)",
        },
    ];

    fn new(params: &Params, slots: &Slots) -> Self {
        let zones = slots.zones();
        let score_max = zones.largest().min(u64::from(slots.capacity())) as u32;
        Most {
            links: Links::new(slots.capacity() as usize),
            zones: vec![List::default(); zones.count()],
            scores: Buckets::new(zones.count(), score_max),
            score_all: params.choice("score") == "all",
            fill_reads: params.choice("clean") == "evict",
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
        self.zones[slots.zone(slot).index()].to_head(&mut self.links, slot.0);
    }

    fn on_insert(&mut self, slot: Slot, _: &Access, slots: &Slots) {
        let zone = slots.zone(slot);
        self.zones[zone.index()].push_head(&mut self.links, slot.0);
        self.score(zone, self.counts(slot, slots));
    }

    fn on_remove(&mut self, slot: Slot, slots: &Slots) {
        self.forget(slot, slots);
    }

    fn on_dirty(&mut self, slot: Slot, slots: &Slots) {
        self.score(slots.zone(slot), i32::from(!self.score_all));
    }

    fn on_clean(&mut self, slot: Slot, slots: &Slots) {
        self.score(slots.zone(slot), -i32::from(!self.score_all));
    }

    fn evict(&mut self, _: Option<&Access>, want: u32, out: &mut Victims) {
        if !self.whole_zone {
            return self.evict_step(want, out);
        }
        while out.len() < want {
            let Some(zone) = self.choose(out.slots()) else { return };
            self.evict_from(zone, u32::MAX, out);
        }
    }

    #[inline]
    fn expect(&self, slot: Slot) {
        self.links.expect(slot.0);
    }

    fn memory(&self) -> Memory {
        let lists = self.zones.capacity() * size_of::<List>();
        Memory { by_slots: self.links.bytes(), by_zones: self.scores.bytes() + lists }
    }

    fn check(&self, slots: &Slots) {
        self.scores.check();
        for (zone, list) in self.zones.iter().enumerate() {
            list.check(&self.links);
            let members = list.from_tail(&self.links).map(Slot);
            let score: i32 = members.map(|slot| self.counts(slot, slots)).sum();
            let expected = (!list.is_empty()).then_some(score as u32);
            assert_eq!(self.scores.score(Zone(zone as u32)), expected);
        }
    }
}
