//! Which slot holds a block: an open-addressing table of `(tag, slot)` with linear probing and
//! back-shift deletion. The block itself is compared in the slot's record, which a hit needs anyway.

use crate::units::{Block, Slot};

/// The table. 8 bytes an entry, two entries a slot: misses look
/// at 2.5 entries on average.
#[derive(Clone, Debug)]
pub(crate) struct Index {
    entries: Vec<u64>, // tag in the high half, slot in the low half; EMPTY if none
}

const EMPTY: u64 = u64::MAX;

impl Index {
    pub(crate) fn new(capacity: usize) -> Index {
        Index { entries: vec![EMPTY; capacity * 2 + 8] }
    }

    /// The upper half of a multiplicative hash; the home position follows from the tag alone, so
    /// that deletion can shift entries back without looking at their blocks.
    #[inline]
    fn tag(block: Block) -> u32 {
        ((block.0 ^ (block.0 >> 32)).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32) as u32
    }

    #[inline]
    fn home(&self, tag: u32) -> usize {
        ((u64::from(tag) * self.entries.len() as u64) >> 32) as usize
    }

    #[inline]
    fn next(&self, position: usize) -> usize {
        if position + 1 == self.entries.len() { 0 } else { position + 1 }
    }

    /// The slot of `block`; `holds` compares the candidate's block.
    #[inline]
    pub(crate) fn get(&self, block: Block, holds: impl Fn(Slot) -> bool) -> Option<Slot> {
        let tag = Self::tag(block);
        let mut position = self.home(tag);
        loop {
            let entry = self.entries[position];
            if entry == EMPTY {
                return None;
            }
            if (entry >> 32) as u32 == tag && holds(Slot(entry as u32)) {
                return Some(Slot(entry as u32));
            }
            position = self.next(position);
        }
    }

    /// Adds `block`, which is not in the table.
    #[inline]
    pub(crate) fn insert(&mut self, block: Block, slot: Slot) {
        let tag = Self::tag(block);
        let mut position = self.home(tag);
        while self.entries[position] != EMPTY {
            position = self.next(position);
        }
        self.entries[position] = u64::from(tag) << 32 | u64::from(slot.0);
    }

    /// Removes `block`, which is in the table as `slot`.
    #[inline]
    pub(crate) fn remove(&mut self, block: Block, slot: Slot) {
        let tag = Self::tag(block);
        let wanted = u64::from(tag) << 32 | u64::from(slot.0);
        let mut hole = self.home(tag);
        while self.entries[hole] != wanted {
            assert_ne!(self.entries[hole], EMPTY, "the block is not in the index");
            hole = self.next(hole);
        }
        let mut position = self.next(hole);
        while self.entries[position] != EMPTY {
            let home = self.home((self.entries[position] >> 32) as u32);
            // The entry may fill the hole unless its home lies cyclically in (hole, position].
            let stays = if hole < position {
                hole < home && home <= position
            } else {
                hole < home || home <= position
            };
            if !stays {
                self.entries[hole] = self.entries[position];
                hole = position;
            }
            position = self.next(position);
        }
        self.entries[hole] = EMPTY;
    }

    /// Bytes the table takes.
    pub(crate) fn bytes(&self) -> usize {
        self.entries.len() * 8
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    proptest! {
        #[test]
        fn the_index_is_a_map(ops in prop::collection::vec((any::<bool>(), 0u64..40), 0..300)) {
            let (mut index, mut model) = (Index::new(16), BTreeMap::new());
            let mut held = [Block(0); 16];
            for (insert, key) in ops {
                let block = Block(key * 0x1_0000_0001);
                if insert && !model.contains_key(&key) && model.len() < 16 {
                    let slot = (0..16u32).find(|s| !model.values().any(|v| v == s)).unwrap();
                    held[slot as usize] = block;
                    index.insert(block, Slot(slot));
                    model.insert(key, slot);
                } else if !insert && let Some(slot) = model.remove(&key) {
                    index.remove(block, Slot(slot));
                }
                for key in 0..40u64 {
                    let block = Block(key * 0x1_0000_0001);
                    let found = index.get(block, |slot| held[slot.index()] == block);
                    prop_assert_eq!(found.map(|s| s.0), model.get(&key).copied());
                }
            }
        }
    }
}
