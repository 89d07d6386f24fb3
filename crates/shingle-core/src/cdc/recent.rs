//! Clean blocks in LRU order, as SAC keeps them (§4.1). In that order the cold blocks are those at
//! the tail, so that the price of any group from the tail on is known without looking at it.
//!
//! A block that turns clean in idle time comes in without being used: a cold one behind those that are
//! cold already, as if it had turned cold just now, a hot one as if it had been used just now. When that
//! one turns cold it moves to the cold ones, so that they are at the tail all the same.
//!
//! SAC+ drops cold blocks whatever dirty ones would cost, and prices one hot block when there are
//! none ([`Recent::cold_first`]).

use crate::cdc::{Offer, Shared, Side, coming};
use crate::drive_view::Costs;
use crate::parts::List;
use crate::policy::{Access, Memory, Victims};
use crate::slots::Slots;
use crate::units::{Nanos, Slot};

/// The clean side of SAC.
#[derive(Clone, Debug)]
pub struct Recent {
    list: List,
    cold: u64,
    /// The cold block that leaves last.
    edge: Option<Slot>,
    /// Hot blocks may not be in the order in which they were used.
    hot_out_of_order: bool,
    group_blocks: u64,
    cold_first: bool,
    /// The group under way is of cold blocks only.
    cold_only: bool,
    /// Blocks of the group that have left.
    left: u64,
}

impl Recent {
    /// An empty side that offers `group_blocks` at a time.
    #[must_use]
    pub fn new(group_blocks: u64) -> Recent {
        Recent {
            list: List::default(),
            cold: 0,
            edge: None,
            hot_out_of_order: false,
            group_blocks,
            cold_first: false,
            cold_only: false,
            left: 0,
        }
    }

    /// An empty side that offers cold blocks, as many as there are and no more than `group_blocks`,
    /// at no cost; if there are none, as many hot ones at the cost of one each.
    #[must_use]
    pub fn cold_first(group_blocks: u64) -> Recent {
        Recent { cold_first: true, ..Recent::new(group_blocks) }
    }
}

impl Recent {
    /// The cold `slot` is cold no longer, or goes.
    #[inline]
    fn leaves_cold(&mut self, slot: Slot, shared: &Shared) {
        self.cold -= 1;
        if self.edge == Some(slot) {
            self.edge = shared.links.towards_tail(slot.0).map(Slot);
        }
    }

    /// Puts `slot`, which is on no list, on the head side of all that are cold.
    fn push_cold(&mut self, slot: Slot, shared: &mut Shared) {
        match self.edge.replace(slot) {
            Some(edge) => self.list.push_before(&mut shared.links, slot.0, edge.0),
            None => self.list.push_tail(&mut shared.links, slot.0),
        }
    }
}

impl Side for Recent {
    #[inline]
    fn insert(&mut self, slot: Slot, cold: bool, _: &Access, shared: &mut Shared, _: &Slots) {
        if cold {
            self.cold += 1;
            return self.push_cold(slot, shared);
        }
        self.hot_out_of_order |= !shared.recency.used_last(slot);
        self.list.push_head(&mut shared.links, slot.0);
    }

    #[inline]
    fn touch(&mut self, slot: Slot, was_cold: bool, _: &Access, shared: &mut Shared, _: &Slots) {
        if was_cold {
            self.leaves_cold(slot, shared);
        }
        self.list.to_head(&mut shared.links, slot.0);
    }

    #[inline]
    fn remove(&mut self, slot: Slot, was_cold: bool, shared: &mut Shared, _: &Slots) {
        if was_cold {
            self.leaves_cold(slot, shared);
        }
        self.list.unlink(&mut shared.links, slot.0);
    }

    #[inline]
    fn turned_cold(&mut self, slot: Slot, shared: &mut Shared, _: &Slots) {
        self.cold += 1;
        if self.hot_out_of_order {
            self.list.unlink(&mut shared.links, slot.0);
            return self.push_cold(slot, shared);
        }
        // It is the next one of the list.
        self.edge = Some(slot);
    }

    fn offer(&mut self, _: bool, costs: &Costs, _: &mut Shared, _: &Slots) -> Option<Offer> {
        self.cold_only = self.cold_first && self.cold > 0;
        let blocks = match (self.cold_first, self.cold_only) {
            (_, true) => self.cold.min(self.group_blocks),
            (true, _) => u64::from(self.list.len()).min(1),
            (false, _) => u64::from(self.list.len()).min(self.group_blocks),
        };
        let cold_blocks = self.cold.min(blocks);
        let time = Nanos((blocks - cold_blocks) * costs.read.0);
        (blocks > 0).then_some(Offer { time, cold_blocks })
    }

    fn begin(&mut self, _: &Shared, _: &Slots) {
        self.left = 0;
    }

    fn evict(&mut self, want: u32, shared: &mut Shared, out: &mut Victims) -> bool {
        if self.cold_only && self.cold == 0 {
            return false; // they were used meanwhile
        }
        let (mut next, mut named) = (self.list.tail(), 0);
        while let Some(slot) = next.map(Slot)
            && named < want
        {
            next = shared.links.towards_head(slot.0);
            // Should I/O be under way on all cold blocks, one that is hot has to do.
            if self.cold_only && named > 0 && !shared.recency.cold(slot) {
                break;
            }
            if out.slots().evictable(slot) {
                self.remove(slot, shared.recency.cold(slot), shared, out.slots());
                shared.recency.forget(slot);
                out.push(slot);
                named += 1;
            }
        }
        self.left += u64::from(named);
        let some_left = if self.cold_only { self.cold > 0 } else { !self.list.is_empty() };
        named > 0 && self.left < self.group_blocks && some_left
    }

    #[inline]
    fn coming(&self, shared: &Shared, out: &mut [Slot]) -> usize {
        coming(self.list.from_tail(&shared.links), out)
    }

    fn memory(&self) -> Memory {
        Memory::default()
    }

    fn check(&self, shared: &Shared, slots: &Slots) {
        self.list.check(&shared.links);
        let members = || self.list.from_tail(&shared.links).map(Slot);
        assert!(members().all(|slot| !slots.dirty(slot)), "a dirty slot among the clean ones");
        let cold = members().take_while(|&slot| shared.recency.cold(slot));
        let (cold, edge) = cold.fold((0, None), |(cold, _), slot| (cold + 1, Some(slot)));
        assert_eq!((cold, edge), (self.cold, self.edge), "the cold ones are at the tail");
        let cold = members().filter(|&slot| shared.recency.cold(slot)).count();
        assert_eq!(cold as u64, self.cold, "cold clean blocks were miscounted");
    }
}
