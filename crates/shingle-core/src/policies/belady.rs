//! MIN (Belady, IBM Systems Journal 5(2), 1966): the block used again furthest in the future
//! leaves. No policy has more hits, so this is a bound for the others and no policy for a store:
//! only a simulator, which has read the trace, knows the next use of a block
//! ([`Access::next_use`]).
//!
//! The bound is for caches into which every block enters, as it does under the other orders: a new
//! block always enters, even if it is used later than everything cached. It bounds hits and nothing
//! else: not bands written, not time. Without knowledge of the future every block counts as never
//! used again, and the one in the slot with the highest number leaves.
//!
//! A heap orders the slots, so a step takes time logarithmic in the cache.

use prefetch_index::prefetch_index;

use crate::order::Order;
use crate::params::Params;
use crate::policy::{Access, Idle, Memory};
use crate::slots::Slots;
use crate::units::Slot;

/// A binary heap of slots, the one used furthest in the future on top.
#[derive(Clone, Debug)]
pub struct Belady {
    next_use: Vec<u64>, // by slot
    heap: Vec<u32>,
    place: Vec<u32>, // by slot: index in the heap
    /// Slots that are not evictable yet and that a search has skipped, mostly those of the current
    /// request. They are kept out of the heap, or each search of a long request would skip all of
    /// them again.
    aside: Vec<u32>,
}

/// The place of a slot that is set aside.
const ASIDE: u32 = u32::MAX;

impl Belady {
    fn key(&self, at: usize) -> (u64, u32) {
        let slot = self.heap[at];
        (self.next_use[slot as usize], slot)
    }

    fn swap(&mut self, a: usize, b: usize) {
        self.heap.swap(a, b);
        self.place[self.heap[a] as usize] = a as u32;
        self.place[self.heap[b] as usize] = b as u32;
    }

    fn up(&mut self, mut at: usize) {
        while at > 0 && self.key((at - 1) / 2) < self.key(at) {
            self.swap((at - 1) / 2, at);
            at = (at - 1) / 2;
        }
    }

    fn down(&mut self, mut at: usize) {
        loop {
            let children = (2 * at + 1..2 * at + 3).filter(|&child| child < self.heap.len());
            match children.max_by_key(|&child| self.key(child)) {
                Some(child) if self.key(child) > self.key(at) => {
                    self.swap(child, at);
                    at = child;
                }
                _ => return,
            }
        }
    }

    fn push(&mut self, slot: u32) {
        self.place[slot as usize] = self.heap.len() as u32;
        self.heap.push(slot);
        self.up(self.heap.len() - 1);
    }

    fn take(&mut self, at: usize) -> u32 {
        let last = self.heap.len() - 1;
        self.swap(at, last);
        let slot = self.heap.pop().unwrap_or_default();
        if at < last {
            self.down(at);
            self.up(at);
        }
        slot
    }
}

impl Order for Belady {
    const NAME: &'static str = "belady";
    const ABOUT: &'static str =
        "a bound on hits, not a policy: MIN, which knows the future (Belady 1966)";
    const IDLE: Idle = Idle::Never("it is a bound on hits; no store runs it");

    fn new(_: &Params, slots: &Slots) -> Self {
        let capacity = slots.capacity() as usize;
        Belady {
            next_use: vec![Access::NEVER; capacity],
            heap: Vec::with_capacity(capacity),
            place: vec![0; capacity],
            aside: Vec::with_capacity(capacity),
        }
    }

    #[inline]
    fn insert(&mut self, slot: Slot, access: &Access, _: &Slots) {
        self.next_use[slot.index()] = access.next_use;
        self.push(slot.0);
    }

    #[inline]
    fn touch(&mut self, slot: Slot, access: &Access, _: &Slots) {
        self.next_use[slot.index()] = access.next_use;
        let at = self.place[slot.index()];
        if at != ASIDE {
            self.down(at as usize);
            self.up(at as usize);
        }
    }

    fn remove(&mut self, slot: Slot, _: &Slots) {
        match self.place[slot.index()] {
            ASIDE => self.aside.retain(|&aside| aside != slot.0),
            at => _ = self.take(at as usize),
        }
    }

    #[inline]
    fn pop(&mut self, slots: &Slots) -> Option<Slot> {
        let mut at = 0;
        while let Some(&slot) = self.aside.get(at) {
            match slots.evictable(Slot(slot)) {
                true => {
                    self.aside.swap_remove(at);
                    self.push(slot);
                }
                false => at += 1,
            }
        }
        while !self.heap.is_empty() {
            let slot = self.take(0);
            if slots.evictable(Slot(slot)) {
                return Some(Slot(slot));
            }
            self.place[slot as usize] = ASIDE;
            self.aside.push(slot);
        }
        None
    }

    fn restore(&mut self, slot: Slot, _: &Slots) {
        self.push(slot.0);
    }

    fn wants_future(&self) -> bool {
        true
    }

    #[inline]
    fn prefetch(&self, slot: Slot) {
        prefetch_index(&self.place, slot.index());
    }

    fn memory(&self) -> Memory {
        let words = self.heap.capacity() + self.place.capacity() + self.aside.capacity();
        Memory { by_slots: self.next_use.capacity() * 8 + words * 4, by_zones: 0 }
    }

    fn check(&self, _: &Slots) {
        for (at, &slot) in self.heap.iter().enumerate() {
            assert_eq!(self.place[slot as usize] as usize, at, "a slot has lost its place");
            assert!(at == 0 || self.key((at - 1) / 2) > self.key(at), "the heap is out of order");
        }
        assert!(self.aside.iter().all(|&slot| self.place[slot as usize] == ASIDE));
    }
}
