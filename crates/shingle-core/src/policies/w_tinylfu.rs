//! W-TinyLFU (Einziger, Friedman and Manes, ACM Transactions on Storage 13(4), 2017). A small LRU
//! window takes every new block. A block that falls out of the window enters the main part only if
//! it was used more often, by a [`Sketch`] of counts, than the block that would have to leave for
//! it. The main part is a segmented LRU: a block enters on probation and is protected once it is
//! used again.
//!
//! The window is at least a block. In a tie the block in the main part stays. The two are compared
//! when room is needed, and the winner moves after the new block is inserted. While the window is
//! not full, it takes room from the main part without a comparison.

use crate::order::Order;
use crate::param;
use crate::params::{Param, Params};
use crate::parts::{Links, List, Sketch};
use crate::policy::{Access, Memory};
use crate::slots::Slots;
use crate::units::Slot;

const WINDOW: usize = 0;
const PROBATION: usize = 1;
const PROTECTED: usize = 2;

/// Window, probation, and protected, each with the last used at the head.
#[derive(Clone, Debug)]
pub struct WTinyLfu {
    pub(super) links: Links,
    pub(super) lists: [List; 3],
    pub(super) places: Vec<u8>, // by slot: its list
    pub(super) sketch: Sketch,
    pub(super) window_share: u32,
    pub(super) protected_share: u32,
}

impl WTinyLfu {
    fn take(&mut self, slot: Slot) -> usize {
        let list = usize::from(self.places[slot.index()]);
        self.lists[list].unlink(&mut self.links, slot.0);
        list
    }

    fn put(&mut self, slot: Slot, list: usize) {
        self.places[slot.index()] = list as u8;
        self.lists[list].push_head(&mut self.links, slot.0);
    }

    /// Moves what `list` holds beyond `share` to probation.
    fn overflow(&mut self, list: usize, share: u32) {
        while self.lists[list].len() > share
            && let Some(slot) = self.lists[list].pop_tail(&mut self.links)
        {
            self.put(Slot(slot), PROBATION);
        }
    }
}

impl Order for WTinyLfu {
    const NAME: &'static str = "w-tinylfu";
    const ABOUT: &'static str = "W-TinyLFU: who was used more often gets in (TOS 2017)";
    const PARAMS: &'static [Param] = &[
        param!("window": Ratio = "0.01",
            "part of the cache for the window (paper), at least a block"),
        param!("protected": Ratio = "0.8",
            "part of the main part for protected blocks (paper), at most 1"),
        param!("sample": Count = "10",
            "counts are halved every so many cache sizes of uses (own choice)"),
    ];

    fn new(params: &Params, slots: &Slots) -> Self {
        let capacity = slots.capacity();
        let window = params.part_of("window", capacity).clamp(1, u64::from(capacity).max(1)) as u32;
        let main = capacity.saturating_sub(window);
        let protected = params.part_of("protected", main).min(u64::from(main)) as u32;
        let sample = u64::from(capacity).saturating_mul(params.count("sample").max(1));
        WTinyLfu {
            links: Links::new(capacity as usize),
            lists: [List::default(); 3],
            places: vec![0; capacity as usize],
            sketch: Sketch::new(capacity, sample),
            window_share: window,
            protected_share: protected,
        }
    }

    #[inline]
    fn miss(&mut self, access: &Access, _: &Slots) {
        self.sketch.record(access.block);
    }

    #[inline]
    fn insert(&mut self, slot: Slot, _: &Access, _: &Slots) {
        self.put(slot, WINDOW);
        self.overflow(WINDOW, self.window_share);
    }

    #[inline]
    fn touch(&mut self, slot: Slot, access: &Access, _: &Slots) {
        self.sketch.record(access.block);
        match usize::from(self.places[slot.index()]) {
            PROBATION => {
                self.take(slot);
                self.put(slot, PROTECTED);
                self.overflow(PROTECTED, self.protected_share);
            }
            list => self.lists[list].to_head(&mut self.links, slot.0),
        }
    }

    fn remove(&mut self, slot: Slot, _: &Slots) {
        self.take(slot);
    }

    #[inline]
    fn pop(&mut self, slots: &Slots) -> Option<Slot> {
        let victim = slots
            .coldest(&self.lists[PROBATION], &self.links)
            .or_else(|| slots.coldest(&self.lists[PROTECTED], &self.links));
        let candidate = slots.coldest(&self.lists[WINDOW], &self.links);
        let slot = match (candidate, victim) {
            (Some(candidate), Some(victim)) => {
                let uses = |slot| self.sketch.estimate(slots.block(slot));
                let full = self.lists[WINDOW].len() >= self.window_share;
                if full && uses(candidate) <= uses(victim) { candidate } else { victim }
            }
            (one, other) => one.or(other)?,
        };
        self.take(slot);
        Some(slot)
    }

    fn restore(&mut self, slot: Slot, _: &Slots) {
        let list = usize::from(self.places[slot.index()]);
        self.lists[list].push_tail(&mut self.links, slot.0);
    }

    fn coldest(&self) -> impl Iterator<Item = Slot> + '_ {
        self.lists.iter().flat_map(|list| list.from_tail(&self.links)).map(Slot)
    }

    #[inline]
    fn prefetch(&self, slot: Slot) {
        self.links.prefetch(slot.0);
    }

    fn memory(&self) -> Memory {
        let by_slots = self.links.bytes() + self.places.capacity() + self.sketch.bytes();
        Memory { by_slots, by_zones: 0 }
    }

    fn check(&self, _: &Slots) {
        for (at, list) in self.lists.iter().enumerate() {
            list.check(&self.links);
            for slot in list.from_tail(&self.links) {
                assert_eq!(usize::from(self.places[slot as usize]), at, "a slot is misplaced");
            }
        }
    }
}
