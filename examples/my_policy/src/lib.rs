//! Quiet zones: of the zones that hold many blocks, the one that is used least leaves, whole.
//!
//! MOST looks at how much a zone releases and not at how soon it comes back. Here every hit takes
//! a point from its zone, and each eviction forgives one zone, in turn, half of its hits: a zone
//! that was busy once is not spared for ever. As in MOST, reads do not fill.

use shingle_core::params::{Kind, Param, Params};
use shingle_core::parts::{Buckets, ByZone, Links, List, ZoneIndex};
use shingle_core::policy::{Access, Admission, Memory, Policy, Victims, ZONE, Zoning};
use shingle_core::slots::Slots;
use shingle_core::units::{Op, Slot};

/// The cached blocks of each zone, and the zones by their score: blocks less points lost.
#[derive(Clone, Debug)]
pub struct QuietZones {
    members: Links,
    zones: ByZone<List>, // the slots of each zone
    lost: ByZone<u32>,   // points each zone has lost by hits
    scores: Buckets,     // zones that hold blocks
    ring_links: Links,
    ring: List, // the same zones in the order in which they are forgiven: tail first
    hit_points: u32,
}

impl QuietZones {
    fn rescore(&mut self, zone: ZoneIndex) {
        let blocks = self.zones[zone].len();
        self.scores.set(zone.0, blocks.saturating_sub(self.lost[zone]));
    }

    fn forget(&mut self, slot: Slot, slots: &Slots) {
        let zone = slots.zone_index(slot);
        self.zones[zone].unlink(&mut self.members, slot.0);
        if self.zones[zone].is_empty() {
            self.lost[zone] = 0;
            self.scores.remove(zone.0);
            self.ring.unlink(&mut self.ring_links, zone.0);
        } else {
            self.rescore(zone);
        }
    }

    /// Half of what the next zone has lost is forgiven.
    fn forgive_one(&mut self) {
        if let Some(zone) = self.ring.pop_tail(&mut self.ring_links).map(ZoneIndex) {
            self.ring.push_head(&mut self.ring_links, zone.0);
            self.lost[zone] /= 2;
            self.rescore(zone);
        }
    }

    /// Names every block of `zone` that may leave.
    fn evict_zone(&mut self, zone: ZoneIndex, out: &mut Victims) {
        let mut next = self.zones[zone].tail();
        while let Some(slot) = next.map(Slot) {
            next = self.members.towards_head(slot.0);
            if out.slots().evictable(slot) {
                self.forget(slot, out.slots());
                out.push(slot);
            }
        }
    }
}

impl Policy for QuietZones {
    const NAME: &'static str = "my-policy";
    const ABOUT: &'static str = "the zone with the most blocks less hits leaves whole (tutorial)";
    const ZONING: Zoning = Zoning::Fixed;
    const PARAMS: &'static [Param] = &[
        ZONE,
        Param {
            name: "hit_points",
            kind: Kind::Count,
            default: "1",
            about: "points a zone loses by a hit; 0 for MOST",
        },
    ];

    fn new(params: &Params, slots: &Slots) -> QuietZones {
        let score_max = slots.zones().largest().min(u64::from(slots.capacity()));
        QuietZones {
            members: Links::new(slots.capacity() as usize),
            zones: ByZone::new(),
            lost: ByZone::new(),
            scores: Buckets::new(0, u32::try_from(score_max).unwrap_or(u32::MAX)),
            ring_links: Links::new(0),
            ring: List::default(),
            hit_points: u32::try_from(params.count("hit_points")).unwrap_or(u32::MAX),
        }
    }

    fn admit(&mut self, access: &Access, _: &Slots) -> Admission {
        if access.op == Op::Read { Admission::Bypass } else { Admission::Fill }
    }

    fn on_hit(&mut self, slot: Slot, _: &Access, slots: &Slots) {
        let lost = &mut self.lost[slots.zone_index(slot)];
        *lost = lost.saturating_add(self.hit_points);
        self.rescore(slots.zone_index(slot));
    }

    fn on_insert(&mut self, slot: Slot, _: &Access, slots: &Slots) {
        let zone = slots.zone_index(slot);
        if self.zones[zone].is_empty() {
            self.ring.push_head(&mut self.ring_links, zone.0);
        }
        self.zones[zone].push_head(&mut self.members, slot.0);
        self.rescore(zone);
    }

    fn on_remove(&mut self, slot: Slot, slots: &Slots) {
        self.forget(slot, slots);
    }

    fn evict(&mut self, _: Option<&Access>, want: u32, out: &mut Victims) {
        self.forgive_one();
        while out.len() < want {
            self.scores.settle(); // changed scores are sorted now
            let gives = |zone: &ZoneIndex| {
                let mut members = self.zones[*zone].from_tail(&self.members).map(Slot);
                members.any(|slot| out.slots().evictable(slot))
            };
            let Some(zone) = self.scores.descending().map(ZoneIndex).find(gives) else { return };
            self.evict_zone(zone, out);
        }
    }

    fn memory(&self) -> Memory {
        let by_zone = self.zones.bytes() + self.lost.bytes();
        let by_zones = by_zone + self.scores.bytes() + self.ring_links.bytes();
        Memory { by_slots: self.members.bytes(), by_zones }
    }

    fn check(&self, slots: &Slots) {
        self.scores.check();
        self.ring.check(&self.ring_links);
        for (zone, list) in self.zones.iter() {
            list.check(&self.members);
            let mut members = list.from_tail(&self.members).map(Slot);
            assert!(members.all(|slot| slots.zone_index(slot) == zone));
            let score = (!list.is_empty()).then(|| list.len().saturating_sub(self.lost[zone]));
            assert_eq!(self.scores.score(zone.0), score);
        }
    }
}
