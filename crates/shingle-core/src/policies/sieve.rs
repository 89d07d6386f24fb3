//! SIEVE (Zhang, Yang, Yue, Vigfusson and Rashmi, NSDI 2024, Algorithm 1): a FIFO list, a bit for
//! each block that was used, and a hand that moves from the tail to the head and round again. The
//! hand clears the bits on its way and takes the first block whose bit is clear. Spared blocks stay
//! in place, so new blocks, at the head, are separated from old ones. Not designed for scans.
//!
//! The hand skips a block with I/O in flight and keeps its bit.

use prefetch_index::prefetch_index;

use crate::order::Order;
use crate::params::Params;
use crate::parts::{Links, List};
use crate::policy::{Access, Memory};
use crate::slots::Slots;
use crate::units::Slot;

/// The list, newest at the head, and the hand.
#[derive(Clone, Debug)]
pub struct Sieve {
    pub(super) links: Links,
    pub(super) list: List,
    pub(super) visited: Vec<bool>, // by slot
    /// The block looked at next; `None` for the tail.
    pub(super) hand: Option<u32>,
}

impl Sieve {
    /// Removes `member`; a hand that points at it moves on.
    fn take(&mut self, member: u32) {
        if self.hand == Some(member) {
            self.hand = self.links.towards_head(member);
        }
        self.list.unlink(&mut self.links, member);
    }
}

impl Order for Sieve {
    const NAME: &'static str = "sieve";
    const ABOUT: &'static str = "FIFO with a hand that spares what was used, in place (NSDI 2024)";

    fn new(_: &Params, slots: &Slots) -> Self {
        let capacity = slots.capacity() as usize;
        Sieve {
            links: Links::new(capacity),
            list: List::default(),
            visited: vec![false; capacity],
            hand: None,
        }
    }

    #[inline]
    fn insert(&mut self, slot: Slot, _: &Access, _: &Slots) {
        self.visited[slot.index()] = false;
        self.list.push_head(&mut self.links, slot.0);
    }

    #[inline]
    fn touch(&mut self, slot: Slot, _: &Access, _: &Slots) {
        self.visited[slot.index()] = true;
    }

    fn remove(&mut self, slot: Slot, _: &Slots) {
        self.take(slot.0);
    }

    #[inline]
    fn pop(&mut self, slots: &Slots) -> Option<Slot> {
        // One round clears every bit, so two rounds find a victim if any block is evictable.
        for _ in 0..2 * self.list.len() {
            let member = self.hand.or(self.list.tail())?;
            let slot = Slot(member);
            self.hand = self.links.towards_head(member);
            if slots.evictable(slot) && !core::mem::take(&mut self.visited[slot.index()]) {
                self.list.unlink(&mut self.links, member);
                return Some(slot);
            }
        }
        None
    }

    /// Restores the slot right before the hand, and points the hand at it. After the head comes the
    /// tail again.
    fn restore(&mut self, slot: Slot, _: &Slots) {
        match self.hand {
            Some(hand) => self.list.push_behind(&mut self.links, slot.0, hand),
            None => self.list.push_tail(&mut self.links, slot.0),
        }
        self.hand = Some(slot.0);
    }

    /// From the hand to the head.
    fn coldest(&self) -> impl Iterator<Item = Slot> + '_ {
        let first = self.hand.or(self.list.tail());
        core::iter::successors(first, |&member| self.links.towards_head(member)).map(Slot)
    }

    #[inline]
    fn prefetch(&self, slot: Slot) {
        prefetch_index(&self.visited, slot.index());
    }

    fn memory(&self) -> Memory {
        Memory { by_slots: self.links.bytes() + self.visited.capacity(), by_zones: 0 }
    }

    fn check(&self, _: &Slots) {
        self.list.check(&self.links);
        let on_list = |hand| self.list.from_tail(&self.links).any(|member| member == hand);
        assert!(self.hand.is_none_or(on_list), "the hand is at a slot that is not on the list");
    }
}
