//! LRU: the least recently used block leaves first. It knows nothing of shingling: the blocks it
//! writes belong to many bands, so on a shingled disk it can be worse than no cache at all (SAC
//! §2.2).

use crate::order::Order;
use crate::params::Params;
use crate::parts::Uses;
use crate::policy::{Access, Memory};
use crate::slots::Slots;
use crate::units::Slot;

/// Slots by their last use.
#[derive(Clone, Debug)]
pub struct Lru {
    uses: Uses,
}

impl Order for Lru {
    const NAME: &'static str = "lru";
    const ABOUT: &'static str = "least recently used block first";

    fn new(_: &Params, slots: &Slots) -> Self {
        Lru { uses: Uses::new(slots.capacity()) }
    }

    #[inline]
    fn insert(&mut self, slot: Slot, _: &Access, _: &Slots) {
        self.uses.touch(slot.0);
    }

    #[inline]
    fn touch(&mut self, slot: Slot, _: &Access, _: &Slots) {
        self.uses.touch(slot.0);
    }

    fn remove(&mut self, slot: Slot, _: &Slots) {
        self.uses.remove(slot.0);
    }

    #[inline]
    fn pop(&mut self, slots: &Slots) -> Option<Slot> {
        self.uses.pop(|slot| slots.evictable(Slot(slot))).map(Slot)
    }

    fn restore(&mut self, slot: Slot, _: &Slots) {
        self.uses.push_tail(slot.0);
    }

    fn coldest(&self) -> impl Iterator<Item = Slot> + '_ {
        self.uses.from_tail().map(Slot)
    }

    #[inline]
    fn prefetch(&self, slot: Slot) {
        self.uses.prefetch(slot.0);
    }

    #[inline]
    fn next_victims(&self, out: &mut [Slot]) -> usize {
        self.uses.next_victims(out)
    }

    fn memory(&self) -> Memory {
        Memory { by_slots: self.uses.bytes(), by_zones: 0 }
    }

    fn check(&self, _: &Slots) {
        self.uses.check();
    }
}
