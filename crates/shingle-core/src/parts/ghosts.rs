//! Ghosts: blocks that have left the cache and are still remembered. An order that detects the
//! return of a block keeps its ghosts here, and orders them on its lists: each ghost is a member of
//! a pool of links, numbered behind the slots, so a list may hold slots and ghosts alike.

use prefetch_index::prefetch_index;

use crate::units::Block;

const NONE: u32 = u32::MAX;
/// Chain heads per ghost, in quarters: memory counts for more here than shorter chains.
const HEADS_IN_QUARTERS: usize = 3;

/// One remembered block, in 12 bytes.
#[derive(Clone, Copy, Debug)]
struct Entry {
    /// Low 32 bits of the block, and the 16 bits above them.
    low: u32,
    high: u16,
    tag: u16,
    /// The next entry of the same hash chain, or the next free one.
    chain: u32,
}

impl Entry {
    fn block(&self) -> Block {
        Block(u64::from(self.high) << 32 | u64::from(self.low))
    }
}

/// A set of blocks of fixed capacity. Each has a member number and a tag that its owner chose.
#[derive(Clone, Debug)]
pub struct Ghosts {
    first: u32,
    entries: Vec<Entry>,
    heads: Vec<u32>,
    free: u32,
    len: u32,
}

impl Ghosts {
    /// Creates room for `capacity` ghosts, with member numbers from `first` on.
    ///
    /// # Panics
    /// If the numbers do not fit 32 bits.
    #[must_use]
    pub fn new(first: u32, capacity: u32) -> Ghosts {
        assert!(first.checked_add(capacity).is_some_and(|end| end < NONE), "too many ghosts");
        let chain = |at| if at + 1 < capacity { at + 1 } else { NONE };
        let entry = |at| Entry { low: 0, high: 0, tag: 0, chain: chain(at) };
        Ghosts {
            first,
            entries: (0..capacity).map(entry).collect(),
            heads: vec![NONE; (capacity as usize * HEADS_IN_QUARTERS).div_ceil(4).max(1)],
            free: if capacity > 0 { 0 } else { NONE },
            len: 0,
        }
    }

    /// Returns `wanted`, limited to what can be numbered behind `first` slots.
    #[must_use]
    pub fn capacity_for(first: u32, wanted: u64) -> u32 {
        wanted.min(u64::from(NONE - 1 - first)) as u32
    }

    /// Returns the number of ghosts.
    #[must_use]
    pub fn len(&self) -> u32 {
        self.len
    }

    /// Returns whether there is no ghost.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns whether there is no room for another ghost.
    #[must_use]
    #[inline]
    pub fn is_full(&self) -> bool {
        self.free == NONE
    }

    /// Returns whether `member` is the number of a ghost, not of a slot.
    #[must_use]
    #[inline]
    pub fn numbers(&self, member: u32) -> bool {
        member >= self.first
    }

    #[inline]
    fn bucket(&self, block: Block) -> usize {
        let hash = (block.0 ^ (block.0 >> 32)).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32;
        (hash as usize * self.heads.len()) >> 32
    }

    /// Returns the member number of the ghost of `block`.
    #[must_use]
    #[inline]
    pub fn find(&self, block: Block) -> Option<u32> {
        let mut at = self.heads[self.bucket(block)];
        while at != NONE {
            let entry = &self.entries[at as usize];
            if entry.block() == block {
                return Some(self.first + at);
            }
            at = entry.chain;
        }
        None
    }

    /// Prefetches lookups: of the blocks that come `soon` the chain head, of those that come `next`
    /// the first entry of the chain.
    #[inline]
    pub fn prefetch(&self, next: &[Block], soon: &[Block]) {
        for &block in soon {
            prefetch_index(&self.heads, self.bucket(block));
        }
        for &block in next {
            prefetch_index(&self.entries, self.heads[self.bucket(block)] as usize);
        }
    }

    /// Returns the block of the ghost `member`.
    #[must_use]
    pub fn block(&self, member: u32) -> Block {
        self.entries[(member - self.first) as usize].block()
    }

    /// Returns the tag that the owner gave when it added the ghost `member`.
    #[must_use]
    #[inline]
    pub fn tag(&self, member: u32) -> u16 {
        self.entries[(member - self.first) as usize].tag
    }

    /// Adds a ghost of `block`, which has none yet, and returns its member number.
    ///
    /// # Panics
    /// If there is no room: the owner decides which ghost to remove for it.
    pub fn add(&mut self, block: Block, tag: u16) -> u32 {
        let at = self.free;
        assert!(at != NONE, "no room for another ghost");
        debug_assert!(self.find(block).is_none(), "a block is remembered twice");
        let bucket = self.bucket(block);
        let entry = &mut self.entries[at as usize];
        self.free = entry.chain;
        let (low, high) = (block.0 as u32, (block.0 >> 32) as u16);
        *entry = Entry { low, high, tag, chain: self.heads[bucket] };
        self.heads[bucket] = at;
        self.len += 1;
        self.first + at
    }

    /// Removes `member`, which is a ghost.
    pub fn remove(&mut self, member: u32) {
        let at = member - self.first;
        let Entry { chain, .. } = self.entries[at as usize];
        let bucket = self.bucket(self.block(member));
        if self.heads[bucket] == at {
            self.heads[bucket] = chain;
        } else {
            let mut before = self.heads[bucket] as usize;
            while self.entries[before].chain != at {
                before = self.entries[before].chain as usize;
            }
            self.entries[before].chain = chain;
        }
        self.entries[at as usize].chain = self.free;
        self.free = at;
        self.len -= 1;
    }

    /// Returns the bytes of memory used.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.entries.capacity() * size_of::<Entry>() + self.heads.capacity() * size_of::<u32>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    proptest! {
        #[test]
        fn ghosts_are_a_map_of_bounded_size(
            capacity in 0u32..12,
            ops in prop::collection::vec((any::<bool>(), 0u64..30), 0..300),
        ) {
            let mut ghosts = Ghosts::new(100, capacity);
            let mut model = BTreeMap::new();
            for (add, key) in ops {
                // All 48 bits of a block count.
                let (block, tag) = (Block((key << 43) | (key * 0x1_0001)), key as u16);
                if let Some(member) = model.get(&block).copied() {
                    if !add {
                        ghosts.remove(member);
                        model.remove(&block);
                    }
                } else if add && !ghosts.is_full() {
                    let member = ghosts.add(block, tag);
                    prop_assert!(ghosts.numbers(member) && member < 100 + capacity);
                    prop_assert!(!model.values().any(|&other| other == member));
                    prop_assert_eq!((ghosts.tag(member), ghosts.block(member)), (tag, block));
                    model.insert(block, member);
                }
                prop_assert_eq!(ghosts.len() as usize, model.len());
                prop_assert_eq!(ghosts.is_full(), model.len() == capacity as usize);
                for key in 0..30 {
                    let block = Block((key << 43) | (key * 0x1_0001));
                    prop_assert_eq!(ghosts.find(block), model.get(&block).copied());
                }
            }
        }
    }
}
