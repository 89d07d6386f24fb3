//! LRU-band (PORE §V-B): blocks leave in LRU order, and each takes every cached block of its band
//! with it. It gets the true bands of the disk, which no real host knows.
//!
//! The paper says nothing of idle time. Here the dirty blocks of the bands that would leave next
//! are written, band by band.

use crate::idle::{Round, SLOTS_EXAMINED};
use crate::param;
use crate::params::{Param, Params};
use crate::parts::{ByZone, Links, List};
use crate::policy::{Access, Idle, Memory, Policy, Victims, Zoning};
use crate::slots::Slots;
use crate::units::Slot;

/// An LRU list, and the cached blocks of each band.
#[derive(Clone, Debug)]
pub struct LruBand {
    order: Links,
    lru: List,
    members: Links,
    bands: ByZone<List>,
    keep_clean: bool,
    clean_alone: bool,
    round: Round,
}

impl LruBand {
    fn forget(&mut self, slot: Slot, slots: &Slots) {
        self.lru.unlink(&mut self.order, slot.0);
        self.bands[slots.zone_index(slot)].unlink(&mut self.members, slot.0);
    }

    /// Names the dirty blocks of the band of `slot`, `slot` included; they stay.
    fn write_band(&self, slot: Slot, out: &mut Victims) {
        let band = &self.bands[out.slots().zone_index(slot)];
        out.push_dirty(band.from_tail(&self.members).map(Slot));
    }

    /// Names the cached blocks of the band of `victim`, `victim` included.
    fn evict_band(&mut self, victim: Slot, out: &mut Victims) {
        let mut next = self.bands[out.slots().zone_index(victim)].tail();
        while let Some(member) = next.map(Slot) {
            next = self.members.towards_head(member.0);
            let slots = out.slots();
            let leaves = member == victim || slots.dirty(member) || !self.keep_clean;
            if slots.evictable(member) && leaves {
                self.forget(member, slots);
                out.push(member);
            }
        }
    }
}

impl Policy for LruBand {
    const NAME: &'static str = "lru-band";
    const ABOUT: &'static str = "LRU that takes the whole band of its victim along (PORE §V-B)";
    const ZONING: Zoning = Zoning::Bands;
    const IDLE: Idle = Idle::Names;
    const PARAMS: &'static [Param] = &[
        param!("clean": Choice(&["evict", "keep"]) = "evict",
            "clean blocks of the victim's band leave too (paper), or stay"),
        param!("clean_victim": Choice(&["band", "alone"]) = "band",
            "a clean victim takes its band along (paper), or leaves alone, as nothing is written for it"),
    ];

    fn new(params: &Params, slots: &Slots) -> Self {
        let capacity = slots.capacity() as usize;
        LruBand {
            order: Links::new(capacity),
            lru: List::default(),
            members: Links::new(capacity),
            bands: ByZone::new(),
            keep_clean: params.choice("clean") == "keep",
            clean_alone: params.choice("clean_victim") == "alone",
            round: Round::default(),
        }
    }

    fn on_hit(&mut self, slot: Slot, _: &Access, _: &Slots) {
        self.lru.to_head(&mut self.order, slot.0);
    }

    fn on_insert(&mut self, slot: Slot, _: &Access, slots: &Slots) {
        self.lru.push_head(&mut self.order, slot.0);
        self.bands[slots.zone_index(slot)].push_head(&mut self.members, slot.0);
    }

    fn on_remove(&mut self, slot: Slot, slots: &Slots) {
        self.forget(slot, slots);
    }

    fn evict(&mut self, _: Option<&Access>, want: u32, out: &mut Victims) {
        while out.len() < want {
            let slots = out.slots();
            let Some(slot) = slots.coldest(&self.lru, &self.order) else { return };
            if slots.dirty(slot) || !self.clean_alone {
                self.evict_band(slot, out);
            } else {
                self.forget(slot, slots);
                out.push(slot);
            }
        }
    }

    fn destage(&mut self, want: u32, out: &mut Victims) {
        let looked_at = SLOTS_EXAMINED.saturating_mul(want as usize);
        for slot in self.lru.from_tail(&self.order).map(Slot).take(looked_at) {
            if out.len() >= want {
                return;
            }
            if out.slots().evictable(slot) && out.slots().dirty(slot) {
                self.write_band(slot, out);
            }
        }
        // Too few of the coldest are dirty: writes any others.
        while out.len() < want
            && let Some(slot) = self.round.next(out.slots())
        {
            self.write_band(slot, out);
        }
    }

    #[inline]
    fn prefetch(&self, slot: Slot) {
        self.order.prefetch(slot.0);
    }

    fn memory(&self) -> Memory {
        Memory { by_slots: self.order.bytes() + self.members.bytes(), by_zones: self.bands.bytes() }
    }

    fn check(&self, slots: &Slots) {
        self.lru.check(&self.order);
        self.bands.iter().for_each(|(_, band)| band.check(&self.members));
        let in_bands: u32 = self.bands.iter().map(|(_, band)| band.len()).sum();
        assert_eq!(in_bands, self.lru.len());
        for slot in self.lru.from_tail(&self.order).map(Slot) {
            assert!(!self.bands[slots.zone_index(slot)].is_empty());
        }
    }
}
