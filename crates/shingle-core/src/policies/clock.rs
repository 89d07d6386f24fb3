//! CLOCK (Corbató, A Paging Experiment with the Multics System, MIT 1968): a hand goes round the
//! blocks. A block that was used since the hand last passed is spared once; the first one that was
//! not leaves. A new block takes its place, right behind the hand.
//!
//! The circle is kept as a list cut at the hand: a spared block moves from the tail to the head
//! (FIFO with reinsertion, which is the same circle). The bit of a new block is clear: insertion is
//! not a use. A block with I/O in flight stays in front of the hand, with its bit.

use prefetch_index::prefetch_index;

use crate::order::Order;
use crate::params::Params;
use crate::parts::{Links, List};
use crate::policy::{Access, Memory};
use crate::slots::Slots;
use crate::units::Slot;

/// The circle, and which blocks were used.
#[derive(Clone, Debug)]
pub struct Clock {
    links: Links,
    list: List,
    used: Vec<bool>, // by slot
}

/// Removes and returns the first evictable block from the tail on that `spares` does not spare.
/// Spared blocks move to the head. Each time `spares` spares a block, it must come nearer to not
/// sparing it.
#[inline]
pub(super) fn second_chance(
    list: &mut List,
    links: &mut Links,
    slots: &Slots,
    mut spares: impl FnMut(u32) -> bool,
) -> Option<Slot> {
    let mut next = list.tail();
    while let Some(member) = next {
        next = links.towards_head(member);
        if !slots.evictable(Slot(member)) {
            continue;
        }
        if !spares(member) {
            list.unlink(links, member);
            return Some(Slot(member));
        }
        list.to_head(links, member);
        // The head of the list was spared: it is examined again.
        next = next.or(Some(member));
    }
    None
}

impl Order for Clock {
    const NAME: &'static str = "clock";
    const ABOUT: &'static str = "FIFO that spares once what was used (Corbató 1968)";

    fn new(_: &Params, slots: &Slots) -> Self {
        let capacity = slots.capacity() as usize;
        Clock { links: Links::new(capacity), list: List::default(), used: vec![false; capacity] }
    }

    #[inline]
    fn insert(&mut self, slot: Slot, _: &Access, _: &Slots) {
        self.used[slot.index()] = false;
        self.list.push_head(&mut self.links, slot.0);
    }

    #[inline]
    fn touch(&mut self, slot: Slot, _: &Access, _: &Slots) {
        self.used[slot.index()] = true;
    }

    fn remove(&mut self, slot: Slot, _: &Slots) {
        self.list.unlink(&mut self.links, slot.0);
    }

    #[inline]
    fn pop(&mut self, slots: &Slots) -> Option<Slot> {
        let Clock { list, links, used } = self;
        second_chance(list, links, slots, |member| core::mem::take(&mut used[member as usize]))
    }

    fn restore(&mut self, slot: Slot, _: &Slots) {
        self.list.push_tail(&mut self.links, slot.0);
    }

    fn coldest(&self) -> impl Iterator<Item = Slot> + '_ {
        self.list.from_tail(&self.links).map(Slot)
    }

    #[inline]
    fn prefetch(&self, slot: Slot) {
        prefetch_index(&self.used, slot.index());
    }

    fn memory(&self) -> Memory {
        Memory { by_slots: self.links.bytes() + self.used.capacity(), by_zones: 0 }
    }

    fn check(&self, _: &Slots) {
        self.list.check(&self.links);
    }
}
