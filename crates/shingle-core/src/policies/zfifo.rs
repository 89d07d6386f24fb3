//! Zone-oriented FIFO (ROCO §4.1, §4.2.1): the cache evicts all blocks of the zone that has been in
//! it longest, in the order in which they came (Cache-ZFIFO) or by address (Reorder-CZFIFO). Only
//! writes enter: a read that misses is served by the disk (the paper has writes alone fill the
//! cache, §3.2).

use core::marker::PhantomData;

use crate::list::{Links, List};
use crate::params::{Param, Params};
use crate::plan::{Manner, WriteOrder};
use crate::policy::{Access, Admission, Memory, Policy, Victims, ZONE, Zoning};
use crate::slots::Slots;
use crate::units::{Op, Slot, Zone};

/// In which sequence a zone leaves.
pub trait Sequence: Clone + Send + 'static {
    /// Name of the policy.
    const NAME: &'static str;
    /// One line on it.
    const ABOUT: &'static str;
    /// The order of writing.
    const ORDER: WriteOrder;
}

/// In the order in which blocks first came: Cache-ZFIFO.
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

/// The cached blocks of each zone as they came, and the zones as they came.
#[derive(Clone, Debug)]
pub struct ZoneFifo<S> {
    members: Links,
    zones: Vec<List>,
    order: Links,
    fifo: List,
    sequence: PhantomData<S>,
}

impl<S: Sequence> ZoneFifo<S> {
    fn forget(&mut self, slot: Slot, zone: Zone) {
        let list = &mut self.zones[zone.index()];
        list.unlink(&mut self.members, slot.0);
        if list.is_empty() {
            self.fifo.unlink(&mut self.order, zone.0);
        }
    }

    /// Names the blocks of a zone that can leave.
    fn evict_zone(&mut self, zone: Zone, out: &mut Victims) {
        let mut next = self.zones[zone.index()].tail();
        while let Some(member) = next.map(Slot) {
            next = self.members.towards_head(member.0);
            if out.slots().evictable(member) {
                self.forget(member, zone);
                out.push(member);
            }
        }
        out.end_group(Manner::Write(S::ORDER));
    }
}

impl<S: Sequence> Policy for ZoneFifo<S> {
    const NAME: &'static str = S::NAME;
    const ABOUT: &'static str = S::ABOUT;
    const ZONING: Zoning = Zoning::Fixed;
    const PARAMS: &'static [Param] = &[Param { default: "bands", ..ZONE }];

    fn new(_: &Params, slots: &Slots) -> Self {
        let zones = slots.zones().count();
        ZoneFifo {
            members: Links::new(slots.capacity() as usize),
            zones: vec![List::default(); zones],
            order: Links::new(zones),
            fifo: List::default(),
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
        let zone = slots.zone(slot);
        let list = &mut self.zones[zone.index()];
        if list.is_empty() {
            self.fifo.push_head(&mut self.order, zone.0);
        }
        list.push_head(&mut self.members, slot.0);
    }

    fn on_remove(&mut self, slot: Slot, slots: &Slots) {
        self.forget(slot, slots.zone(slot));
    }

    fn evict(&mut self, _: Option<&Access>, want: u32, out: &mut Victims) {
        let mut next = self.fifo.tail();
        while let Some(zone) = next.filter(|_| out.len() < want) {
            next = self.order.towards_head(zone);
            self.evict_zone(Zone(zone), out);
        }
    }

    fn memory(&self) -> Memory {
        Memory {
            by_slots: self.members.bytes(),
            by_zones: self.zones.capacity() * size_of::<List>() + self.order.bytes(),
        }
    }

    fn check(&self, slots: &Slots) {
        self.fifo.check(&self.order);
        let cached: Vec<Zone> = self.fifo.from_tail(&self.order).map(Zone).collect();
        let full = self.zones.iter().filter(|list| !list.is_empty()).count();
        assert_eq!(cached.len(), full, "a zone is in the FIFO as long as it has blocks");
        for zone in cached {
            let list = &self.zones[zone.index()];
            list.check(&self.members);
            for slot in list.from_tail(&self.members).map(Slot) {
                assert_eq!(slots.zone(slot), zone);
            }
        }
    }
}
