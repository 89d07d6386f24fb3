//! LRU: the block unused for longest leaves first. Knows nothing of shingling: the blocks it writes
//! belong to many bands, so on a shingled disk it can be worse than no cache at all (SAC §2.2).

use crate::order::Order;
use crate::params::Params;
use crate::parts::{Links, List};
use crate::policy::{Access, Memory};
use crate::slots::Slots;
use crate::units::Slot;

/// One list, most recently used at the head.
#[derive(Clone, Debug)]
pub struct Lru {
    links: Links,
    list: List,
}

impl Order for Lru {
    const NAME: &'static str = "lru";
    const ABOUT: &'static str = "least recently used block first";

    fn new(_: &Params, slots: &Slots) -> Self {
        Lru { links: Links::new(slots.capacity() as usize), list: List::default() }
    }

    #[inline]
    fn insert(&mut self, slot: Slot, _: &Access, _: &Slots) {
        self.list.push_head(&mut self.links, slot.0);
    }

    #[inline]
    fn touch(&mut self, slot: Slot, _: &Access, _: &Slots) {
        self.list.to_head(&mut self.links, slot.0);
    }

    fn remove(&mut self, slot: Slot, _: &Slots) {
        self.list.unlink(&mut self.links, slot.0);
    }

    #[inline]
    fn pop(&mut self, slots: &Slots) -> Option<Slot> {
        let slot = slots.coldest(&self.list, &self.links)?;
        self.list.unlink(&mut self.links, slot.0);
        // Who leaves after it: what that will read is on its way meanwhile.
        if let Some(next) = self.list.tail() {
            slots.expect_to_leave(Slot(next));
            self.links.expect_neighbours(next);
        }
        Some(slot)
    }

    fn restore(&mut self, slot: Slot, _: &Slots) {
        self.list.push_tail(&mut self.links, slot.0);
    }

    fn coldest(&self) -> impl Iterator<Item = Slot> + '_ {
        self.list.from_tail(&self.links).map(Slot)
    }

    #[inline]
    fn expect(&self, slot: Slot) {
        self.links.expect_neighbours(slot.0);
    }

    fn memory(&self) -> Memory {
        Memory { by_slots: self.links.bytes(), by_zones: 0 }
    }

    fn check(&self, _: &Slots) {
        self.list.check(&self.links);
    }
}
