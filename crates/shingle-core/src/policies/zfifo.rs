//! Zone-oriented FIFO (ROCO §4.1, §4.2.1): the cache evicts all blocks of the zone that has been
//! cached longest, in the order of their insertion (Cache-ZFIFO) or by address (Reorder-CZFIFO).
//! Only writes enter: a read that misses is served by the disk (§3.2 mentions only writes).
//!
//! The paper says nothing of idle time. Here the dirty blocks of the zones that would leave next
//! are written, zone by zone, in the same order. They keep their places in the FIFO.

use core::marker::PhantomData;

use crate::params::{Param, Params};
use crate::parts::{ByZone, Links, List, Tournament, ZoneIndex};
use crate::plan::{DestageMethod, WriteOrder};
use crate::policy::{Access, Admission, Idle, Memory, Policy, Victims, ZONE, Zoning};
use crate::slots::Slots;
use crate::units::{Op, Slot};

/// The sequence in which the blocks of a zone leave.
pub trait Sequence: Clone + Send + 'static {
    /// Name of the policy.
    const NAME: &'static str;
    /// One line, with the source.
    const ABOUT: &'static str;
    /// The order in which they are written.
    const ORDER: WriteOrder;
}

/// In the order of insertion: Cache-ZFIFO.
#[derive(Clone, Debug)]
pub struct Arrival;

impl Sequence for Arrival {
    const NAME: &'static str = "zfifo";
    const ABOUT: &'static str = "the zone cached longest leaves, blocks as they came (ROCO §4.1)";
    const ORDER: WriteOrder = WriteOrder::AsGiven;
}

/// By address: Reorder-CZFIFO.
#[derive(Clone, Debug)]
pub struct Address;

impl Sequence for Address {
    const NAME: &'static str = "reorder-zfifo";
    const ABOUT: &'static str = "the zone cached longest leaves, blocks by address (ROCO §4.2.1)";
    const ORDER: WriteOrder = WriteOrder::ByAddress;
}

/// Cache-ZFIFO.
pub type Zfifo = ZoneFifo<Arrival>;
/// Reorder-CZFIFO.
pub type ReorderZfifo = ZoneFifo<Address>;

/// The cached blocks of a zone.
#[derive(Clone, Copy, Debug, Default)]
struct Cached {
    /// In the order of insertion.
    blocks: List,
    dirty: u32,
    /// Sequence number of its entry into the cache.
    since: u64,
}

/// The cached blocks of each zone, and the zones, both in the order of insertion.
#[derive(Clone, Debug)]
pub struct ZoneFifo<S> {
    members: Links,
    zones: ByZone<Cached>,
    order: Links,
    fifo: List,
    came: u64,
    /// The zone with dirty blocks that was inserted first.
    unwritten: Tournament,
    /// Zones that idle time has handled; empty between calls.
    written: Vec<ZoneIndex>,
    sequence: PhantomData<S>,
}

impl<S: Sequence> ZoneFifo<S> {
    fn forget(&mut self, slot: Slot, slots: &Slots) {
        let zone = slots.zone_index(slot);
        self.zones[zone].blocks.unlink(&mut self.members, slot.0);
        if slots.dirty(slot) {
            self.count_dirty(zone, -1);
        }
        if self.zones[zone].blocks.is_empty() {
            self.fifo.unlink(&mut self.order, zone.0);
        }
    }

    /// Adds `more` to the number of dirty blocks of `zone`.
    fn count_dirty(&mut self, zone: ZoneIndex, more: i32) {
        let state = &mut self.zones[zone];
        let before = state.dirty;
        state.dirty = before.checked_add_signed(more).expect("fewer than no dirty blocks");
        if (before == 0) != (state.dirty == 0) {
            self.play(zone, before == 0);
        }
    }

    fn play(&mut self, zone: ZoneIndex, takes_part: bool) {
        let since = |zone| self.zones[ZoneIndex(zone)].since;
        self.unwritten.update(zone.0, takes_part, |a, b| since(a) < since(b));
    }

    /// Names the evictable blocks of a zone.
    fn evict_zone(&mut self, zone: ZoneIndex, out: &mut Victims) {
        let mut next = self.zones[zone].blocks.tail();
        while let Some(member) = next.map(Slot) {
            next = self.members.towards_head(member.0);
            if out.slots().evictable(member) {
                self.forget(member, out.slots());
                out.push(member);
            }
        }
        out.end_group(DestageMethod::Write(S::ORDER));
    }
}

impl<S: Sequence> Policy for ZoneFifo<S> {
    const NAME: &'static str = S::NAME;
    const ABOUT: &'static str = S::ABOUT;
    const ZONING: Zoning = Zoning::Fixed;
    const IDLE: Idle = Idle::Names;
    const PARAMS: &'static [Param] = &[Param { default: "bands", ..ZONE }];

    fn new(_: &Params, slots: &Slots) -> Self {
        ZoneFifo {
            members: Links::new(slots.capacity() as usize),
            zones: ByZone::new(),
            order: Links::new(0),
            fifo: List::default(),
            came: 0,
            unwritten: Tournament::new(),
            written: Vec::new(),
            sequence: PhantomData,
        }
    }

    fn admit(&mut self, access: &Access, _: &Slots) -> Admission {
        match access.op {
            Op::Read => Admission::Bypass,
            _ => Admission::Fill,
        }
    }

    fn on_hit(&mut self, _: Slot, _: &Access, _: &Slots) {}

    fn on_insert(&mut self, slot: Slot, _: &Access, slots: &Slots) {
        let zone = slots.zone_index(slot);
        let state = &mut self.zones[zone];
        if state.blocks.is_empty() {
            self.fifo.push_head(&mut self.order, zone.0);
            self.came += 1;
            state.since = self.came;
        }
        state.blocks.push_head(&mut self.members, slot.0);
        if slots.dirty(slot) {
            self.count_dirty(zone, 1);
        }
    }

    fn on_remove(&mut self, slot: Slot, slots: &Slots) {
        self.forget(slot, slots);
    }

    fn on_dirty(&mut self, slot: Slot, slots: &Slots) {
        self.count_dirty(slots.zone_index(slot), 1);
    }

    fn on_clean(&mut self, slot: Slot, slots: &Slots) {
        self.count_dirty(slots.zone_index(slot), -1);
    }

    fn evict(&mut self, _: Option<&Access>, want: u32, out: &mut Victims) {
        let mut next = self.fifo.tail();
        while let Some(zone) = next.filter(|_| out.len() < want) {
            next = self.order.towards_head(zone);
            self.evict_zone(ZoneIndex(zone), out);
        }
    }

    fn destage(&mut self, want: u32, out: &mut Victims) {
        while out.len() < want
            && let Some(zone) = self.unwritten.winner().map(ZoneIndex)
        {
            let named = out.len();
            out.push_dirty(self.zones[zone].blocks.from_tail(&self.members).map(Slot));
            if out.len() > named {
                out.end_group(DestageMethod::Write(S::ORDER));
            }
            // The zone stays dirty until the writes complete; without this it would be chosen
            // again.
            self.play(zone, false);
            self.written.push(zone);
        }
        while let Some(zone) = self.written.pop() {
            self.play(zone, true);
        }
    }

    fn memory(&self) -> Memory {
        let written = self.written.capacity() * size_of::<ZoneIndex>();
        let by_zones = self.zones.bytes() + self.order.bytes() + self.unwritten.bytes() + written;
        Memory { by_slots: self.members.bytes(), by_zones }
    }

    fn check(&self, slots: &Slots) {
        self.fifo.check(&self.order);
        let cached: Vec<ZoneIndex> = self.fifo.from_tail(&self.order).map(ZoneIndex).collect();
        let full = self.zones.iter().filter(|(_, state)| !state.blocks.is_empty()).count();
        assert_eq!(cached.len(), full, "a zone is in the FIFO as long as it has blocks");
        let mut first_dirty = None;
        for zone in cached {
            let state = &self.zones[zone];
            state.blocks.check(&self.members);
            let members = || state.blocks.from_tail(&self.members).map(Slot);
            assert!(members().all(|slot| slots.zone_index(slot) == zone));
            let dirty = members().filter(|&slot| slots.dirty(slot)).count();
            assert_eq!(dirty, state.dirty as usize, "dirty blocks of a zone were miscounted");
            first_dirty = first_dirty.or((dirty > 0).then_some(zone.0));
        }
        assert_eq!(self.unwritten.winner(), first_dirty);
        assert!(self.written.is_empty());
    }
}
