//! FIFO: the block that was inserted first leaves first, however often it was used. The simplest
//! baseline, and the list on which CLOCK, SIEVE and S3-FIFO build.

use crate::order::Order;
use crate::params::Params;
use crate::parts::{Links, List};
use crate::policy::{Access, Memory};
use crate::slots::Slots;
use crate::units::Slot;

/// One list, the newest at the head.
#[derive(Clone, Debug)]
pub struct Fifo {
    links: Links,
    list: List,
}

impl Order for Fifo {
    const NAME: &'static str = "fifo";
    const ABOUT: &'static str = "first in, first out";

    fn new(_: &Params, slots: &Slots) -> Self {
        Fifo { links: Links::new(slots.capacity() as usize), list: List::default() }
    }

    #[inline]
    fn insert(&mut self, slot: Slot, _: &Access, _: &Slots) {
        self.list.push_head(&mut self.links, slot.0);
    }

    #[inline]
    fn touch(&mut self, _: Slot, _: &Access, _: &Slots) {}

    fn remove(&mut self, slot: Slot, _: &Slots) {
        self.list.unlink(&mut self.links, slot.0);
    }

    #[inline]
    fn pop(&mut self, slots: &Slots) -> Option<Slot> {
        let slot = slots.coldest(&self.list, &self.links)?;
        self.list.unlink(&mut self.links, slot.0);
        Some(slot)
    }

    fn restore(&mut self, slot: Slot, _: &Slots) {
        self.list.push_tail(&mut self.links, slot.0);
    }

    fn coldest(&self) -> impl Iterator<Item = Slot> + '_ {
        self.list.from_tail(&self.links).map(Slot)
    }

    fn memory(&self) -> Memory {
        Memory { by_slots: self.links.bytes(), by_zones: 0 }
    }

    fn check(&self, _: &Slots) {
        self.list.check(&self.links);
    }
}
