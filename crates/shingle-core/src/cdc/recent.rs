//! Clean blocks in LRU order, as SAC keeps them (§4.1). In that order the cold blocks are at the
//! tail, so the price of any group from the tail on is known without looking at it.
//!
//! A block that turns clean in idle time is inserted without being used. A cold one goes in front
//! of those that are cold already, as if it had just turned cold. A hot one goes to the head, as if
//! it had just been used. When such a hot block turns cold it is moved to the cold ones, so that
//! these are at the tail all the same.
//!
//! SAC+ drops cold blocks whatever dirty ones would cost, and prices one hot block when there are
//! none ([`Recent::cold_first`]).

use crate::cdc::{Offer, Shared, Side, next_victims};
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
    /// The cold block nearest to the head.
    edge: Option<Slot>,
    /// Whether hot blocks may not be in the order of their use.
    hot_out_of_order: bool,
    group_blocks: u64,
    cold_first: bool,
    /// Whether the current group has cold blocks only.
    cold_only: bool,
    /// Number of blocks of the group that have left.
    left: u64,
}

impl Recent {
    /// Creates an empty side that offers `group_blocks` at a time.
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

    /// Creates an empty side that offers cold blocks, at most `group_blocks`, at no cost. If there
    /// are none, it offers one hot block at the cost of reading it.
    #[must_use]
    pub fn cold_first(group_blocks: u64) -> Recent {
        Recent { cold_first: true, ..Recent::new(group_blocks) }
    }
}

impl Recent {
    /// Updates the count and the edge when the cold `slot` is used or removed.
    #[inline]
    fn remove_cold(&mut self, slot: Slot, shared: &Shared) {
        self.cold -= 1;
        if self.edge == Some(slot) {
            self.edge = shared.links.towards_tail(slot.0).map(Slot);
        }
    }

    /// Inserts `slot`, which is on no list, on the head side of all cold blocks.
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
            self.remove_cold(slot, shared);
        }
        self.list.to_head(&mut shared.links, slot.0);
    }

    #[inline]
    fn remove(&mut self, slot: Slot, was_cold: bool, shared: &mut Shared, _: &Slots) {
        if was_cold {
            self.remove_cold(slot, shared);
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
        // It is the neighbour of the edge.
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
            return false; // all cold blocks were used meanwhile
        }
        let (mut next, mut named) = (self.list.tail(), 0);
        while let Some(slot) = next.map(Slot)
            && named < want
        {
            next = shared.links.towards_head(slot.0);
            // If all cold blocks have I/O in flight, one hot block is evicted instead.
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
    fn next_victims(&self, shared: &Shared, out: &mut [Slot]) -> usize {
        next_victims(self.list.from_tail(&shared.links), out)
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
