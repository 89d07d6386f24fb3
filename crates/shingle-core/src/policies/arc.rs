//! ARC (Megiddo and Modha, FAST 2003, Fig. 4). T1 holds blocks seen once lately, T2 those seen at
//! least twice, each in LRU order. B1 and B2 remember as many blocks again that left them. A block
//! that returns while in B1 shows that T1 was too small, one in B2 that T2 was; the target `p` for
//! T1 is moved accordingly.
//!
//! `p` is a fixed-point number with 32 binary places; the steps |B2|/|B1| are rounded down to that.
//! The bounds |T1|+|B1| ≤ c and 2c in all are restored after the new block is in rather than
//! before; the same blocks are forgotten. When many leave and none comes, |B1|+|B2| stays at most
//! c+1. If the list to evict from has no evictable block, the other one is used.

use crate::order::Order;
use crate::params::Params;
use crate::parts::{Ghosts, Links, List};
use crate::policy::{Access, Memory};
use crate::slots::Slots;
use crate::units::{Block, Slot};

const ONCE: usize = 0;
const TWICE: usize = 1;
/// 1 in fixed point.
const UNIT: u64 = 1 << 32;

/// The four lists; slots and ghosts share the links.
#[derive(Clone, Debug)]
pub struct Arc {
    pub(super) links: Links,
    pub(super) cached: [List; 2],     // T1, T2
    pub(super) remembered: [List; 2], // B1, B2
    pub(super) twice: Vec<bool>,      // by slot
    pub(super) ghosts: Ghosts,        // tagged with their list
    pub(super) capacity: u32,
    /// Target for |T1|, in units of [`UNIT`].
    pub(super) p: u64,
    /// Whether the block that missed last is in B2.
    pub(super) from_b2: bool,
}

impl Arc {
    fn list_of(&self, slot: Slot) -> usize {
        usize::from(self.twice[slot.index()])
    }

    /// Removes the oldest ghost of `list`, or of the other list if it has none.
    fn forget(&mut self, list: usize) {
        for list in [list, 1 - list] {
            if let Some(ghost) = self.remembered[list].pop_tail(&mut self.links) {
                return self.ghosts.remove(ghost);
            }
        }
    }

    fn len(&self, list: usize) -> u32 {
        self.cached[list].len() + self.remembered[list].len()
    }
}

/// Returns `above / below` in fixed point, but at least 1.
pub(super) fn step(above: u32, below: u32) -> u64 {
    if above <= below { UNIT } else { (u64::from(above) << 32) / u64::from(below) }
}

impl Order for Arc {
    const NAME: &'static str = "arc";
    const ABOUT: &'static str = "ARC: balances recency and frequency by its ghosts (FAST 2003)";

    fn new(_: &Params, slots: &Slots) -> Self {
        let capacity = slots.capacity();
        let ghosts = Ghosts::capacity_for(capacity, u64::from(capacity) + 1);
        Arc {
            links: Links::new(capacity as usize + ghosts as usize),
            cached: [List::default(); 2],
            remembered: [List::default(); 2],
            twice: vec![false; capacity as usize],
            ghosts: Ghosts::new(capacity, ghosts),
            capacity,
            p: 0,
            from_b2: false,
        }
    }

    /// Cases II and III: adapts the target.
    #[inline]
    fn miss(&mut self, access: &Access, _: &Slots) {
        let Some(ghost) = self.ghosts.find(access.block) else {
            self.from_b2 = false;
            return;
        };
        let [b1, b2] = self.remembered.map(|list| list.len());
        self.from_b2 = usize::from(self.ghosts.tag(ghost)) == TWICE;
        self.p = if self.from_b2 {
            self.p.saturating_sub(step(b1, b2))
        } else {
            (self.p + step(b2, b1)).min(u64::from(self.capacity) << 32)
        };
    }

    #[inline]
    fn insert(&mut self, slot: Slot, access: &Access, _: &Slots) {
        let ghost = self.ghosts.find(access.block);
        if let Some(ghost) = ghost {
            let list = usize::from(self.ghosts.tag(ghost));
            self.remembered[list].unlink(&mut self.links, ghost);
            self.ghosts.remove(ghost);
        }
        self.twice[slot.index()] = ghost.is_some();
        self.cached[usize::from(ghost.is_some())].push_head(&mut self.links, slot.0);
        self.from_b2 = false;
        // Case IV: removes the ghosts beyond the bounds.
        while self.len(ONCE) > self.capacity {
            self.forget(ONCE);
        }
        while u64::from(self.len(ONCE)) + u64::from(self.len(TWICE)) > 2 * u64::from(self.capacity)
        {
            self.forget(TWICE);
        }
    }

    /// Case I.
    #[inline]
    fn touch(&mut self, slot: Slot, _: &Access, _: &Slots) {
        if self.twice[slot.index()] {
            return self.cached[TWICE].to_head(&mut self.links, slot.0);
        }
        self.cached[ONCE].unlink(&mut self.links, slot.0);
        self.twice[slot.index()] = true;
        self.cached[TWICE].push_head(&mut self.links, slot.0);
    }

    fn remove(&mut self, slot: Slot, _: &Slots) {
        let list = self.list_of(slot);
        self.cached[list].unlink(&mut self.links, slot.0);
    }

    /// The subroutine REPLACE.
    #[inline]
    fn pop(&mut self, slots: &Slots) -> Option<Slot> {
        let t1 = u64::from(self.cached[ONCE].len()) << 32;
        let turn = if t1 > self.p || (self.from_b2 && t1 == self.p) { ONCE } else { TWICE };
        for list in [turn, 1 - turn] {
            let list = &mut self.cached[list];
            if let Some(slot) = slots.coldest(list, &self.links) {
                list.unlink(&mut self.links, slot.0);
                return Some(slot);
            }
        }
        None
    }

    fn restore(&mut self, slot: Slot, _: &Slots) {
        let list = self.list_of(slot);
        self.cached[list].push_tail(&mut self.links, slot.0);
    }

    #[inline]
    fn left(&mut self, slot: Slot, slots: &Slots) {
        let list = self.list_of(slot);
        if self.ghosts.is_full() {
            self.forget(list);
        }
        let ghost = self.ghosts.add(slots.block(slot), list as u16);
        self.remembered[list].push_head(&mut self.links, ghost);
    }

    fn coldest(&self) -> impl Iterator<Item = Slot> + '_ {
        self.cached.iter().flat_map(|list| list.from_tail(&self.links)).map(Slot)
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
        let by_slots = self.links.bytes() + self.twice.capacity() + self.ghosts.bytes();
        Memory { by_slots, by_zones: 0 }
    }

    fn check(&self, slots: &Slots) {
        self.cached.iter().chain(&self.remembered).for_each(|list| list.check(&self.links));
        let remembered = self.remembered.map(|list| list.len());
        assert_eq!(remembered[0] + remembered[1], self.ghosts.len(), "a ghost is on no list");
        assert!(self.p <= u64::from(self.capacity) << 32, "the target is beyond the cache");
        for (at, list) in self.cached.iter().enumerate() {
            for slot in list.from_tail(&self.links).map(Slot) {
                assert_eq!(self.list_of(slot), at, "a slot is on the wrong list");
                assert!(self.ghosts.find(slots.block(slot)).is_none(), "a ghost is in the cache");
            }
        }
    }
}
