//! Data that is no longer needed: cached blocks are dropped, and never destaged.

use shingle_core::units::{BLOCK_BYTES, Block, Request, Slot};

use super::Engine;

impl Engine {
    /// Drops the cached ones of the blocks that `request` covers wholly. Those that are in use stay: a
    /// trim is advice.
    pub(super) fn trim(&mut self, request: &Request) {
        let first = request.offset.div_ceil(BLOCK_BYTES);
        let end = (request.offset + request.bytes) / BLOCK_BYTES;
        let slots = self.cache.slots().capacity();
        // A trim may cover the whole disk: look at its blocks or at the slots, whichever are fewer.
        if end.saturating_sub(first) <= u64::from(slots) {
            for block in first..end {
                if let Some(slot) = self.cache.lookup(Block(block)) {
                    self.trim_slot(Block(block), slot);
                }
            }
        } else {
            for slot in (0..slots).map(Slot) {
                let block = self.frames.held(slot).block;
                if (first..end).contains(&block.0) && self.cache.lookup(block) == Some(slot) {
                    self.trim_slot(block, slot);
                }
            }
        }
    }

    fn trim_slot(&mut self, block: Block, slot: Slot) {
        if !self.locks.is_taken(block) {
            self.found_again(block);
            self.drop_slot(block, slot);
        }
    }

    /// The block leaves at once, whatever it is; returns whether it could.
    pub(super) fn drop_slot(&mut self, block: Block, slot: Slot) -> bool {
        let dropped = self.cache.trim(block, 1) == 1;
        if dropped {
            self.give_up(slot);
        }
        dropped
    }
}
