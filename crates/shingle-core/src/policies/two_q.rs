//! 2Q, full version (Johnson and Shasha, VLDB 1994). A new block enters the FIFO queue A1in. When
//! it leaves that, its number is remembered in A1out for a while. Only a block that returns while
//! it is in A1out enters Am, which is LRU. So one scan cannot empty the cache.
//!
//! As in the paper, a hit in A1in changes nothing, the victim comes from A1in while that is longer
//! than Kin, and blocks that leave Am are not remembered. Kin and Kout are at least 1, for caches
//! smaller than the paper's. If the queue to evict from has no evictable block, the other one is
//! used.

use crate::order::Order;
use crate::param;
use crate::params::{Param, Params};
use crate::parts::{Ghosts, Links, List};
use crate::policy::{Access, Memory};
use crate::slots::Slots;
use crate::units::{Block, Slot};

/// The three queues; slots and ghosts share the links.
#[derive(Clone, Debug)]
pub struct TwoQ {
    pub(super) links: Links,
    pub(super) a1in: List,
    pub(super) a1out: List,
    pub(super) am: List,
    pub(super) in_am: Vec<bool>, // by slot
    pub(super) ghosts: Ghosts,
    pub(super) kin: u32,
    pub(super) kout: u32,
    /// The block that missed last, if it was in A1out: making room may push it out.
    pub(super) returning: Option<Block>,
}

impl TwoQ {
    /// Returns the list of a cached slot, and the links.
    #[inline]
    fn list_of(&mut self, slot: Slot) -> (&mut List, &mut Links) {
        let list = if self.in_am[slot.index()] { &mut self.am } else { &mut self.a1in };
        (list, &mut self.links)
    }

    /// Removes `block` from A1out. Returns whether it was there, now or at the miss.
    #[inline]
    fn returns(&mut self, block: Block) -> bool {
        let missed = self.returning.take_if(|returning| *returning == block).is_some();
        let Some(ghost) = self.ghosts.find(block) else { return missed };
        self.a1out.unlink(&mut self.links, ghost);
        self.ghosts.remove(ghost);
        true
    }
}

impl Order for TwoQ {
    const NAME: &'static str = "2q";
    const ABOUT: &'static str = "2Q: what comes back after it left a FIFO queue is hot (VLDB 1994)";
    const PARAMS: &'static [Param] = &[
        param!("kin": Ratio = "0.25", "part of the cache for A1in (paper), at least a block"),
        param!("kout": Ratio = "0.5", "names in A1out, in cache sizes (paper), at most 4"),
    ];

    fn new(params: &Params, slots: &Slots) -> Self {
        let capacity = slots.capacity();
        let kout = params.part_of("kout", capacity).clamp(1, 4 * u64::from(capacity) + 1);
        // One more than may stay, until the oldest is removed.
        let ghosts = Ghosts::capacity_for(capacity, kout + 1);
        TwoQ {
            links: Links::new(capacity as usize + ghosts as usize),
            a1in: List::default(),
            a1out: List::default(),
            am: List::default(),
            in_am: vec![false; capacity as usize],
            ghosts: Ghosts::new(capacity, ghosts),
            kin: params.part_of("kin", capacity).clamp(1, u64::from(u32::MAX)) as u32,
            kout: ghosts - 1,
            returning: None,
        }
    }

    #[inline]
    fn miss(&mut self, access: &Access, _: &Slots) {
        self.returning = self.ghosts.find(access.block).map(|_| access.block);
    }

    #[inline]
    fn insert(&mut self, slot: Slot, access: &Access, _: &Slots) {
        self.in_am[slot.index()] = self.returns(access.block);
        let (list, links) = self.list_of(slot);
        list.push_head(links, slot.0);
    }

    #[inline]
    fn touch(&mut self, slot: Slot, _: &Access, _: &Slots) {
        if self.in_am[slot.index()] {
            self.am.to_head(&mut self.links, slot.0);
        }
    }

    fn remove(&mut self, slot: Slot, _: &Slots) {
        let (list, links) = self.list_of(slot);
        list.unlink(links, slot.0);
    }

    #[inline]
    fn pop(&mut self, slots: &Slots) -> Option<Slot> {
        let TwoQ { links, a1in, am, kin, .. } = self;
        let turns = if a1in.len() > *kin { [a1in, am] } else { [am, a1in] };
        for list in turns {
            if let Some(slot) = slots.coldest(list, links) {
                list.unlink(links, slot.0);
                return Some(slot);
            }
        }
        None
    }

    fn restore(&mut self, slot: Slot, _: &Slots) {
        let (list, links) = self.list_of(slot);
        list.push_tail(links, slot.0);
    }

    #[inline]
    fn left(&mut self, slot: Slot, slots: &Slots) {
        if self.in_am[slot.index()] {
            return;
        }
        let ghost = self.ghosts.add(slots.block(slot), 0);
        self.a1out.push_head(&mut self.links, ghost);
        if self.a1out.len() > self.kout
            && let Some(oldest) = self.a1out.pop_tail(&mut self.links)
        {
            self.ghosts.remove(oldest);
        }
    }

    fn coldest(&self) -> impl Iterator<Item = Slot> + '_ {
        self.a1in.from_tail(&self.links).chain(self.am.from_tail(&self.links)).map(Slot)
    }

    #[inline]
    fn prefetch(&self, slot: Slot) {
        self.links.prefetch(slot.0);
    }

    #[inline]
    fn prefetch_blocks(&self, next: &[Block], soon: &[Block], _: &Slots) {
        self.ghosts.prefetch(next, soon);
    }

    fn memory(&self) -> Memory {
        let by_slots = self.links.bytes() + self.in_am.capacity() + self.ghosts.bytes();
        Memory { by_slots, by_zones: 0 }
    }

    fn check(&self, slots: &Slots) {
        [self.a1in, self.a1out, self.am].iter().for_each(|list| list.check(&self.links));
        assert_eq!(self.a1out.len(), self.ghosts.len(), "a ghost is on no list");
        for (list, am) in [(self.a1in, false), (self.am, true)] {
            for slot in list.from_tail(&self.links).map(Slot) {
                assert_eq!(self.in_am[slot.index()], am, "a slot is on the wrong list");
                assert!(self.ghosts.find(slots.block(slot)).is_none(), "a ghost is in the cache");
            }
        }
    }
}
