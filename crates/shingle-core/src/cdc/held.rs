//! Any [`Order`] as a side of the comparator ("Generality of CDC", SAC §4.4). The group is what the
//! order returns when asked. Its slots are held on a list until they leave, and go back to the
//! order when they are used. So the price is updated block by block, and no group is ever searched.

use crate::cdc::{Offer, Shared, Side, next_victims};
use crate::drive_view::Costs;
use crate::idle::Round;
use crate::order::Order;
use crate::parts::{ByZone, List};
use crate::policy::{Access, Memory, Victims};
use crate::slots::Slots;
use crate::units::{Nanos, Slot};

/// How a group is priced.
#[derive(Clone, Debug)]
enum Price {
    /// Equation 3: reading the hot blocks again.
    Reads,
    /// Equation 5. As `R(x)` is linear, the sum needs only the number of zones.
    Rmw {
        /// Blocks of the group in each zone.
        per_zone: ByZone<u32>,
        /// Number of zones with such a block.
        zones: u64,
    },
}

/// An order, and the group of its worst blocks.
#[derive(Clone, Debug)]
pub struct Held<O> {
    order: O,
    group: List,
    is_held: Vec<bool>, // by slot
    cold: u64,
    group_blocks: u64,
    price: Price,
    round: Round,
}

impl<O: Order> Held<O> {
    /// Creates the clean side over `order`, which is empty.
    #[must_use]
    pub fn clean(order: O, group_blocks: u64, slots: &Slots) -> Held<O> {
        let is_held = vec![false; slots.capacity() as usize];
        let (group, price, round) = (List::default(), Price::Reads, Round::default());
        Held { order, group, is_held, cold: 0, group_blocks, price, round }
    }

    /// Creates the dirty side over `order`, which is empty.
    #[must_use]
    pub fn dirty(order: O, group_blocks: u64, slots: &Slots) -> Held<O> {
        let price = Price::Rmw { per_zone: ByZone::new(), zones: 0 };
        Held { price, ..Held::clean(order, group_blocks, slots) }
    }

    fn hold(&mut self, slot: Slot, shared: &mut Shared, slots: &Slots) {
        self.is_held[slot.index()] = true;
        self.group.push_head(&mut shared.links, slot.0);
        self.cold += u64::from(shared.recency.cold(slot));
        if let Price::Rmw { per_zone, zones } = &mut self.price {
            let blocks = &mut per_zone[slots.zone_index(slot)];
            *zones += u64::from(*blocks == 0);
            *blocks += 1;
        }
    }

    /// Removes `slot` from the group.
    fn let_go(&mut self, slot: Slot, was_cold: bool, shared: &mut Shared, slots: &Slots) {
        self.is_held[slot.index()] = false;
        self.group.unlink(&mut shared.links, slot.0);
        self.cold -= u64::from(was_cold);
        if let Price::Rmw { per_zone, zones } = &mut self.price {
            let blocks = &mut per_zone[slots.zone_index(slot)];
            *blocks -= 1;
            *zones -= u64::from(*blocks == 0);
        }
    }

    /// Returns `slot`, which is in the group, to the order.
    fn give_back(&mut self, slot: Slot, was_cold: bool, shared: &mut Shared, slots: &Slots) {
        self.let_go(slot, was_cold, shared, slots);
        self.order.restore(slot, slots);
    }

    fn name(&mut self, slot: Slot, shared: &mut Shared, out: &mut Victims) {
        shared.recency.forget(slot);
        self.order.left(slot, out.slots());
        out.push(slot);
    }
}

impl<O: Order> Side for Held<O> {
    #[inline]
    fn miss(&mut self, access: &Access, slots: &Slots) {
        self.order.miss(access, slots);
    }

    #[inline]
    fn insert(&mut self, slot: Slot, _: bool, access: &Access, _: &mut Shared, slots: &Slots) {
        self.order.insert(slot, access, slots);
    }

    #[inline]
    fn touch(
        &mut self,
        slot: Slot,
        was_cold: bool,
        access: &Access,
        shared: &mut Shared,
        slots: &Slots,
    ) {
        if self.is_held[slot.index()] {
            self.give_back(slot, was_cold, shared, slots);
        }
        self.order.touch(slot, access, slots);
    }

    fn remove(&mut self, slot: Slot, was_cold: bool, shared: &mut Shared, slots: &Slots) {
        if self.is_held[slot.index()] {
            self.give_back(slot, was_cold, shared, slots);
        }
        self.order.remove(slot, slots);
    }

    #[inline]
    fn turned_cold(&mut self, slot: Slot, _: &mut Shared, _: &Slots) {
        self.cold += u64::from(self.is_held[slot.index()]);
    }

    /// Fills the group up. Amortised: a slot is held once for each time that it leaves or is used.
    fn offer(
        &mut self,
        _: bool,
        costs: &Costs,
        shared: &mut Shared,
        slots: &Slots,
    ) -> Option<Offer> {
        while u64::from(self.group.len()) < self.group_blocks
            && let Some(slot) = self.order.pop(slots)
        {
            self.hold(slot, shared, slots);
        }
        let blocks = u64::from(self.group.len());
        let time = match &self.price {
            Price::Reads => costs.read.0 * (blocks - self.cold),
            Price::Rmw { zones, .. } => costs.rmw_base.0 * zones + costs.rmw_per_block.0 * blocks,
        };
        (blocks > 0).then_some(Offer { time: Nanos(time), cold_blocks: self.cold })
    }

    fn begin(&mut self, _: &Shared, _: &Slots) {}

    fn evict(&mut self, want: u32, shared: &mut Shared, out: &mut Victims) -> bool {
        if self.group.is_empty() {
            return false; // all of its blocks were used since the offer
        }
        let (mut next, before) = (self.group.tail(), out.len());
        while let Some(slot) = next.map(Slot)
            && out.len() - before < want
        {
            next = shared.links.towards_head(slot.0);
            if out.slots().evictable(slot) {
                self.let_go(slot, shared.recency.cold(slot), shared, out.slots());
                self.name(slot, shared, out);
            }
        }
        if out.len() > before {
            return !self.group.is_empty();
        }
        // All of the group has I/O in flight: the next ones leave instead.
        while out.len() - before < want
            && let Some(slot) = self.order.pop(out.slots())
        {
            self.name(slot, shared, out);
        }
        false
    }

    /// Names the group, then the others from the coldest on. All are dirty; those skipped are being
    /// written.
    fn destage(&mut self, want: u32, shared: &mut Shared, out: &mut Victims) {
        let group = self.group.from_tail(&shared.links).map(Slot);
        for slot in group.chain(self.order.coldest()) {
            if out.len() == want {
                return;
            }
            out.push_dirty([slot]);
        }
        // Not every order lists all of its slots.
        self.round.name(want, out);
    }

    #[inline]
    fn prefetch(&self, slot: Slot) {
        self.order.prefetch(slot);
    }

    #[inline]
    fn next_victims(&self, shared: &Shared, out: &mut [Slot]) -> usize {
        next_victims(self.group.from_tail(&shared.links), out)
    }

    fn memory(&self) -> Memory {
        let by_zones = match &self.price {
            Price::Reads => 0,
            Price::Rmw { per_zone, .. } => per_zone.bytes(),
        };
        self.order.memory() + Memory { by_slots: self.is_held.capacity(), by_zones }
    }

    fn check(&self, shared: &Shared, slots: &Slots) {
        self.order.check(slots);
        self.group.check(&shared.links);
        let (mut cold, mut expected) = (0, ByZone::<u32>::new());
        for slot in self.group.from_tail(&shared.links).map(Slot) {
            let dirty = matches!(self.price, Price::Rmw { .. });
            assert!(self.is_held[slot.index()] && slots.dirty(slot) == dirty);
            cold += u64::from(shared.recency.cold(slot));
            expected[slots.zone_index(slot)] += 1;
        }
        assert_eq!(cold, self.cold, "cold blocks of the group were miscounted");
        let held = self.is_held.iter().filter(|&&held| held).count();
        assert_eq!(held, self.group.len() as usize);
        if let Price::Rmw { per_zone, zones } = &self.price {
            let filled = |blocks: &ByZone<u32>| {
                let filled = blocks.iter().filter(|&(_, &blocks)| blocks > 0);
                filled.map(|(zone, &blocks)| (zone, blocks)).collect::<Vec<_>>()
            };
            assert_eq!(filled(per_zone), filled(&expected));
            assert_eq!(*zones, filled(&expected).len() as u64);
        }
    }
}
