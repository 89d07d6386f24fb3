//! Hashes the state of the contents, by block and not by slot.

use std::hash::{Hash, Hasher};

use shingle_core::units::{Block, Slot};

use super::super::state::{View, unordered};
use super::{Contents, Mapping};

impl Contents {
    pub(in super::super) fn block_of(&self, slot: Slot) -> Block {
        self.cache.slots().block(slot)
    }

    pub(in super::super) fn hash_state<H: Hasher + Default>(&self, view: &View, into: &mut H) {
        // Ages are for observers: no decision depends on them.
        let Contents { cache, plan, mappings, hints, ages: _, lost } = self;
        let slots = cache.slots();
        let live = (0..slots.capacity()).map(Slot);
        let live = live.filter(|&slot| cache.lookup(slots.block(slot)) == Some(slot));
        unordered(live, into, |slot, into| {
            (slots.block(slot), slots.dirty(slot), slots.evictable(slot)).hash(into);
            // The version is compared with the versions of destages, and hashed there.
            let Mapping { block: _, frame, crc, version: _, number } = mappings.get(slot);
            frame.map(|frame| (frame, crc, view.record(number))).hash(into);
        });
        plan.is_empty().hash(into);
        hints.hash(into);
        lost.len().hash(into);
        lost.keys().for_each(|block| block.hash(into));
    }
}
