//! S3-FIFO (Yang, Zhang, Qiu, Yue and Rashmi, SOSP 2023, Algorithm 1). New blocks enter a small
//! FIFO queue. Most of them are never used again and leave it soon, remembered in a ghost queue as
//! long as the main one. A block that was used more than once in the small queue moves to the main
//! queue, as does a block that returns while it is remembered. The main queue spares a block once
//! for each of its uses, of which up to three count.
//!
//! Where Algorithm 1 leaves room: the count of a block is reset when it moves to the main queue, as
//! in the authors' simulator, and the main queue is full when it holds more than its share. One
//! departure: `pop` returns one block, so when a block that moved pushes another out of the main
//! queue, that is the victim, where EVICTS would continue until the small queue gave one as well.

use prefetch_index::prefetch_index;

use crate::order::Order;
use crate::param;
use crate::params::{Param, Params};
use crate::parts::{Ghosts, Links, List};
use crate::policies::clock::second_chance;
use crate::policy::{Access, Memory};
use crate::slots::Slots;
use crate::units::{Block, Slot};

/// Uses of a block that count.
const USES_MAX: u8 = 3;
/// With more uses than this a block moves from the small to the main queue.
const USES_TO_MOVE: u8 = 1;
/// Bit of slots in the main queue.
const MAIN: u8 = 4;

/// The queues, newest at the head; slots and ghosts share the links.
#[derive(Clone, Debug)]
pub struct S3Fifo {
    pub(super) links: Links,
    pub(super) small: List,
    pub(super) main: List,
    pub(super) remembered: List,
    /// Uses of a slot in the low bits, [`MAIN`] above.
    pub(super) states: Vec<u8>,
    pub(super) ghosts: Ghosts,
    pub(super) small_share: u32,
    pub(super) main_share: u32,
}

impl S3Fifo {
    fn list_of(&mut self, slot: Slot) -> (&mut List, &mut Links) {
        let main = self.states[slot.index()] & MAIN != 0;
        (if main { &mut self.main } else { &mut self.small }, &mut self.links)
    }

    /// EVICTM.
    #[inline]
    fn evict_main(&mut self, slots: &Slots) -> Option<Slot> {
        let S3Fifo { main, links, states, .. } = self;
        second_chance(main, links, slots, |member| {
            let state = &mut states[member as usize];
            let used = *state != MAIN;
            *state -= u8::from(used);
            used
        })
    }

    /// EVICTS.
    #[inline]
    fn evict_small(&mut self, slots: &Slots) -> Option<Slot> {
        let mut next = self.small.tail();
        while let Some(member) = next {
            next = self.links.towards_head(member);
            if !slots.evictable(Slot(member)) {
                continue;
            }
            self.small.unlink(&mut self.links, member);
            if self.states[member as usize] <= USES_TO_MOVE {
                return Some(Slot(member));
            }
            self.states[member as usize] = MAIN;
            self.main.push_head(&mut self.links, member);
            if self.main.len() > self.main_share
                && let Some(slot) = self.evict_main(slots)
            {
                return Some(slot);
            }
        }
        None
    }
}

impl Order for S3Fifo {
    const NAME: &'static str = "s3-fifo";
    const ABOUT: &'static str = "S3-FIFO: a small queue sifts, a main one keeps (SOSP 2023)";
    const PARAMS: &'static [Param] = &[param!("small": Ratio = "0.1",
        "part of the cache for the small queue, at least a block (paper)")];

    fn new(params: &Params, slots: &Slots) -> Self {
        let capacity = slots.capacity();
        let small = params.part_of("small", capacity).clamp(1, u64::from(capacity).max(1)) as u32;
        let main = capacity.saturating_sub(small);
        let ghosts = Ghosts::capacity_for(capacity, u64::from(main));
        S3Fifo {
            links: Links::new(capacity as usize + ghosts as usize),
            small: List::default(),
            main: List::default(),
            remembered: List::default(),
            states: vec![0; capacity as usize],
            ghosts: Ghosts::new(capacity, ghosts),
            small_share: small,
            main_share: main,
        }
    }

    #[inline]
    fn insert(&mut self, slot: Slot, access: &Access, _: &Slots) {
        let ghost = self.ghosts.find(access.block);
        if let Some(ghost) = ghost {
            self.remembered.unlink(&mut self.links, ghost);
            self.ghosts.remove(ghost);
        }
        self.states[slot.index()] = if ghost.is_some() { MAIN } else { 0 };
        let (list, links) = self.list_of(slot);
        list.push_head(links, slot.0);
    }

    #[inline]
    fn touch(&mut self, slot: Slot, _: &Access, _: &Slots) {
        let state = &mut self.states[slot.index()];
        *state += u8::from(*state & !MAIN < USES_MAX);
    }

    fn remove(&mut self, slot: Slot, _: &Slots) {
        let (list, links) = self.list_of(slot);
        list.unlink(links, slot.0);
    }

    #[inline]
    fn pop(&mut self, slots: &Slots) -> Option<Slot> {
        if self.small.len() >= self.small_share {
            self.evict_small(slots).or_else(|| self.evict_main(slots))
        } else {
            let slot = self.evict_main(slots).or_else(|| self.evict_small(slots));
            // All of the small queue may have moved to a main queue that had no evictable block
            // before.
            slot.or_else(|| self.evict_main(slots))
        }
    }

    fn restore(&mut self, slot: Slot, _: &Slots) {
        let (list, links) = self.list_of(slot);
        list.push_tail(links, slot.0);
    }

    #[inline]
    fn left(&mut self, slot: Slot, slots: &Slots) {
        if self.states[slot.index()] & MAIN != 0 || self.main_share == 0 {
            return;
        }
        if self.ghosts.is_full()
            && let Some(oldest) = self.remembered.pop_tail(&mut self.links)
        {
            self.ghosts.remove(oldest);
        }
        let ghost = self.ghosts.add(slots.block(slot), 0);
        self.remembered.push_head(&mut self.links, ghost);
    }

    fn coldest(&self) -> impl Iterator<Item = Slot> + '_ {
        self.small.from_tail(&self.links).chain(self.main.from_tail(&self.links)).map(Slot)
    }

    #[inline]
    fn prefetch(&self, slot: Slot) {
        prefetch_index(&self.states, slot.index());
    }

    #[inline]
    fn prefetch_blocks(&self, next: &[Block], soon: &[Block], _: &Slots) {
        self.ghosts.prefetch(next, soon);
    }

    fn memory(&self) -> Memory {
        let by_slots = self.links.bytes() + self.states.capacity() + self.ghosts.bytes();
        Memory { by_slots, by_zones: 0 }
    }

    fn check(&self, slots: &Slots) {
        [self.small, self.main, self.remembered].iter().for_each(|list| list.check(&self.links));
        assert_eq!(self.remembered.len(), self.ghosts.len(), "a ghost is on no list");
        for (list, place) in [(self.small, 0), (self.main, MAIN)] {
            for slot in list.from_tail(&self.links).map(Slot) {
                assert_eq!(self.states[slot.index()] & MAIN, place, "a slot is on the wrong list");
                assert!(self.ghosts.find(slots.block(slot)).is_none(), "a ghost is in the cache");
            }
        }
    }
}
