//! An order behind a gate: only slots that pass may be victims. Refused slots are parked by zone.
//! When their zone opens they return to their place, so no eviction looks at the same refused slot
//! twice.
//!
//! Each parked slot keeps the ticket it drew when it was first parked. The order returns its slots
//! from the coldest up, so a lower ticket means colder. Returning slots are sorted by ticket and
//! restored hottest first, which puts every slot where it was.

use crate::order::Order;
use crate::params::Params;
use crate::parts::{ByZone, Links, List, ZoneIndex};
use crate::policy::{Access, Memory};
use crate::slots::Slots;
use crate::units::Slot;

/// Order `O` behind a gate.
#[derive(Clone, Debug)]
pub struct Gated<O> {
    order: O,
    parked: ByZone<List>,
    links: Links,
    tickets: Vec<u64>, // by slot; NO_TICKET if not parked since its last use
    next_ticket: u64,
    returning: Vec<Slot>,
    is_parked: Vec<bool>,
}

const NO_TICKET: u64 = u64::MAX;

impl<O: Order> Gated<O> {
    /// Creates an empty order behind a gate.
    #[must_use]
    pub fn new(params: &Params, slots: &Slots) -> Gated<O> {
        let capacity = slots.capacity() as usize;
        Gated {
            order: O::new(params, slots),
            parked: ByZone::new(),
            links: Links::new(capacity),
            tickets: vec![NO_TICKET; capacity],
            next_ticket: 0,
            returning: Vec::with_capacity(capacity),
            is_parked: vec![false; capacity],
        }
    }

    /// Inserts `slot`.
    pub fn insert(&mut self, slot: Slot, access: &Access, slots: &Slots) {
        self.tickets[slot.index()] = NO_TICKET;
        self.order.insert(slot, access, slots);
    }

    /// A hit: `slot` is no longer parked, whatever its zone.
    pub fn touch(&mut self, slot: Slot, access: &Access, slots: &Slots) {
        self.unpark(slot, slots);
        self.tickets[slot.index()] = NO_TICKET;
        self.order.touch(slot, access, slots);
    }

    /// Removes `slot`.
    pub fn remove(&mut self, slot: Slot, slots: &Slots) {
        self.unpark(slot, slots);
        self.order.remove(slot, slots);
    }

    /// Unparks `slot`, which passes from now on, whatever its zone.
    pub fn release(&mut self, slot: Slot, slots: &Slots) {
        self.unpark(slot, slots);
    }

    /// Returns the slots from the coldest on, without the parked ones.
    pub fn coldest(&self) -> impl Iterator<Item = Slot> + '_ {
        self.order.coldest()
    }

    /// As [`Order::prefetch`].
    #[inline]
    pub fn prefetch(&self, slot: Slot) {
        self.order.prefetch(slot);
    }

    /// As [`Order::miss`].
    #[inline]
    pub fn miss(&mut self, access: &Access, slots: &Slots) {
        self.order.miss(access, slots);
    }

    /// Removes and returns the coldest slot for which `passes` holds; it leaves the cache. Between
    /// calls the gate may change only through [`Gated::open`], and for slots that are touched.
    pub fn pop(&mut self, slots: &Slots, mut passes: impl FnMut(Slot) -> bool) -> Option<Slot> {
        while let Some(slot) = self.order.pop(slots) {
            if passes(slot) {
                self.order.left(slot, slots);
                return Some(slot);
            }
            if self.tickets[slot.index()] == NO_TICKET {
                self.tickets[slot.index()] = self.next_ticket;
                self.next_ticket += 1;
            }
            self.is_parked[slot.index()] = true;
            self.parked[slots.zone_index(slot)].push_head(&mut self.links, slot.0);
        }
        None
    }

    /// Opens the gate for `zones`: their parked slots return.
    pub fn open(&mut self, zones: impl Iterator<Item = ZoneIndex>, slots: &Slots) {
        for zone in zones {
            while let Some(slot) = self.parked[zone].pop_tail(&mut self.links) {
                self.is_parked[slot as usize] = false;
                self.returning.push(Slot(slot));
            }
        }
        // Slots that returned before and are still at the cold end are taken out first, so that all
        // returning slots are sorted together.
        self.collect_returned(slots);
        let tickets = &self.tickets;
        self.returning.sort_unstable_by_key(|slot| core::cmp::Reverse(tickets[slot.index()]));
        for slot in self.returning.drain(..) {
            self.order.restore(slot, slots);
        }
    }

    /// Changes the gate and opens it for `zones`. From now on, of all slots for which `passes`
    /// holds, those of the highest `rank` leave first. Looks at every slot; must not be mixed with
    /// [`Gated::open`].
    pub fn open_ranked(
        &mut self,
        zones: impl Iterator<Item = ZoneIndex>,
        mut passes: impl FnMut(Slot) -> bool,
        rank: impl Fn(Slot) -> u64,
        slots: &Slots,
    ) {
        for zone in zones {
            while let Some(slot) = self.parked[zone].pop_tail(&mut self.links) {
                self.is_parked[slot as usize] = false;
                self.returning.push(Slot(slot));
            }
        }
        while let Some(slot) = self.order.pop(slots) {
            if passes(slot) {
                self.returning.push(slot);
            } else {
                self.is_parked[slot.index()] = true;
                self.parked[slots.zone_index(slot)].push_head(&mut self.links, slot.0);
            }
        }
        self.returning.sort_unstable_by_key(|&slot| rank(slot));
        for slot in self.returning.drain(..) {
            self.order.restore(slot, slots);
        }
    }

    /// Removes the slots with tickets from the cold end of the order.
    fn collect_returned(&mut self, slots: &Slots) {
        while let Some(slot) = self.order.pop(slots) {
            if self.tickets[slot.index()] == NO_TICKET {
                self.order.restore(slot, slots);
                return;
            }
            self.returning.push(slot);
        }
    }

    /// Returns the memory in use.
    pub fn memory(&self) -> Memory {
        let by_slots = self.links.bytes()
            + self.tickets.capacity() * size_of::<u64>()
            + self.returning.capacity() * size_of::<Slot>()
            + self.is_parked.capacity();
        let by_zones = self.parked.bytes();
        self.order.memory() + Memory { by_slots, by_zones }
    }

    /// Panics if an invariant is broken.
    pub fn check(&self, slots: &Slots) {
        self.order.check(slots);
        for (zone, parked) in self.parked.iter() {
            parked.check(&self.links);
            for slot in parked.from_tail(&self.links).map(Slot) {
                assert!(self.is_parked[slot.index()] && slots.zone_index(slot) == zone);
            }
        }
        let parked: u32 = self.parked.iter().map(|(_, list)| list.len()).sum();
        assert_eq!(parked as usize, self.is_parked.iter().filter(|&&parked| parked).count());
    }

    fn unpark(&mut self, slot: Slot, slots: &Slots) {
        if core::mem::take(&mut self.is_parked[slot.index()]) {
            self.parked[slots.zone_index(slot)].unlink(&mut self.links, slot.0);
            self.order.restore(slot, slots);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drive_view::{Costs, DriveView};
    use crate::policies::lru::Lru;
    use crate::units::{Block, Nanos, Op};
    use crate::zones::ZoneMap;
    use proptest::prelude::*;

    fn slots() -> Slots {
        let costs = Costs { read: Nanos(1), rmw_base: Nanos(1), rmw_per_block: Nanos(1) };
        let zones = Some(ZoneMap::fixed(4, 16));
        let mut slots = Slots::new(
            16,
            DriveView {
                zones,
                write_pointers: Vec::new(),
                buffer_blocks: 4,
                costs,
                in_order: crate::drive_view::InOrder::default(),
            },
        );
        (0..16).for_each(|s| assert_eq!(slots.fill(Block(s), true), Some(Slot(s as u32))));
        slots
    }

    proptest! {
        /// Against a plain list that is searched from the cold end at every pop.
        #[test]
        fn a_gated_lru_names_the_coldest_that_passes(
            ops in prop::collection::vec((0u8..4, 0u32..16), 0..300)
        ) {
            let slots = slots();
            let mut gated: Gated<Lru> = Gated::new(&Params::new(&[]), &slots);
            let (mut model, mut open) = (Vec::<u32>::new(), [true, false, true, false]);
            for (op, arg) in ops {
                let (slot, known) = (Slot(arg), model.contains(&arg));
                let access = Access::whole(0, Block(u64::from(arg)), Op::Write);
                match op {
                    0 if known => {
                        gated.touch(slot, &access, &slots);
                        model.retain(|&s| s != arg);
                        model.push(arg);
                    }
                    0 => { gated.insert(slot, &access, &slots); model.push(arg); }
                    1 if known => { gated.remove(slot, &slots); model.retain(|&s| s != arg); }
                    2 => {
                        let named = gated.pop(&slots, |s| open[slots.zone(s).index()]);
                        let wanted = model.iter().copied().find(|&s| open[s as usize / 4]);
                        prop_assert_eq!(named.map(|s| s.0), wanted);
                        model.retain(|&s| Some(s) != wanted);
                    }
                    3 => {
                        // A new period: other zones are open.
                        open = core::array::from_fn(|zone| arg >> zone & 1 == 1);
                        let opened = (0..4u32).filter(|&z| open[z as usize]).map(ZoneIndex);
                        gated.open(opened, &slots);
                    }
                    _ => {}
                }
            }
        }
    }
}
