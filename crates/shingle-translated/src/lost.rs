//! Lost blocks of the host, and the places of their old copies.
//!
//! A block is lost if it cannot be read when its zone is cleaned: cleaning goes on without it. It may be readable later, as
//! after a reset of the disk or of its link. So the map names the block's old copy, the zone of the copy is not reset as long
//! as enough other zones are spare, and a read of the block tries the copy again.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use shingle_core::ranges::Ranges;
use shingle_core::units::Block;

/// The most old copies of lost blocks that a map names. Each may need two more records.
pub(crate) const COPIES_MAX: u64 = 1024;

/// The physical zone of a block of the disk, if zones have `zone_blocks` blocks.
pub(crate) fn zone_of(at: Block, zone_blocks: u64) -> u32 {
    (at.0 / zone_blocks) as u32
}

/// A set of lost blocks.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Lost {
    blocks: Ranges,
    /// For lost blocks of the host: the block of the disk, in a sequential zone, that is the old copy.
    copies: BTreeMap<u64, Block>,
}

impl Lost {
    /// Adds blocks. Those that were lost before keep their old copies.
    pub(crate) fn insert(&mut self, blocks: Range<u64>) {
        self.blocks.insert(blocks);
    }

    /// Adds a block with its old copy. If it was lost before it stays as it is, as `copy` does not have its data then.
    pub(crate) fn insert_with_copy(&mut self, block: u64, copy: Block) {
        if !self.blocks.has(block..block + 1) {
            self.blocks.insert(block..block + 1);
            self.copies.insert(block, copy);
        }
    }

    /// Sets blocks as a record of the map says, whatever they were before: lost, with old copies from `first_copy` on or without.
    pub(crate) fn set(&mut self, blocks: Range<u64>, first_copy: Option<Block>) {
        self.remove(blocks.clone());
        self.blocks.insert(blocks.clone());
        if let Some(first) = first_copy {
            self.copies.extend((0..).zip(blocks).map(|(ahead, block)| (block, first.after(ahead))));
        }
    }

    /// Adds the blocks of `other`, which were lost later. Blocks that were lost before keep their old copies.
    pub(crate) fn add(&mut self, other: &Lost) {
        for (&block, &copy) in &other.copies {
            self.insert_with_copy(block, copy);
        }
        other.blocks.iter().for_each(|range| self.blocks.insert(range));
    }

    /// Removes blocks. Returns whether one of them was lost.
    pub(crate) fn remove(&mut self, blocks: Range<u64>) -> bool {
        while let Some((&block, _)) = self.copies.range(blocks.clone()).next() {
            self.copies.remove(&block);
        }
        self.blocks.remove(blocks)
    }

    pub(crate) fn clear(&mut self) {
        self.blocks.clear();
        self.copies.clear();
    }

    pub(crate) fn blocks(&self) -> &Ranges {
        &self.blocks
    }

    /// The old copy of a lost block.
    pub(crate) fn copy(&self, block: u64) -> Option<Block> {
        self.copies.get(&block).copied()
    }

    /// The number of blocks that have old copies.
    pub(crate) fn copies(&self) -> u64 {
        self.copies.len() as u64
    }

    /// The blocks of the host that have old copies, in order.
    pub(crate) fn with_copies(&self) -> impl Iterator<Item = u64> + '_ {
        self.copies.keys().copied()
    }

    /// Gives up old copies for which `keep` is false. Returns whether there were any.
    pub(crate) fn keep_copies(&mut self, mut keep: impl FnMut(Block) -> bool) -> bool {
        let before = self.copies.len();
        self.copies.retain(|_, copy| keep(*copy));
        self.copies.len() < before
    }

    /// Whether a physical zone of `zone_blocks` blocks has old copies.
    pub(crate) fn has_copies_in(&self, zone: u32, zone_blocks: u64) -> bool {
        self.copies.values().any(|&copy| zone_of(copy, zone_blocks) == zone)
    }

    /// The physical zones, of `zone_blocks` blocks each, with old copies.
    pub(crate) fn zones(&self, zone_blocks: u64) -> BTreeSet<u32> {
        self.copies.values().map(|&copy| zone_of(copy, zone_blocks)).collect()
    }

    /// Runs of lost blocks whose old copies are a run as well, with the first copy; or which have none.
    pub(crate) fn runs(&self) -> impl Iterator<Item = (Range<u64>, Option<Block>)> + '_ {
        self.blocks.iter().flat_map(|range| self.runs_of(range))
    }

    fn runs_of(&self, range: Range<u64>) -> impl Iterator<Item = (Range<u64>, Option<Block>)> + '_ {
        let Range { start: mut next, end } = range;
        std::iter::from_fn(move || {
            let (start, first) = (next, self.copy(next));
            if start == end {
                return None;
            }
            next = match first {
                None => self.copies.range(start..end).next().map_or(end, |(&block, _)| block),
                Some(first) => {
                    let goes_on =
                        |block: &u64| self.copy(*block) == Some(first.after(block - start));
                    (start..end).find(|block| !goes_on(block)).unwrap_or(end)
                }
            };
            Some((start..next, first))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runs(lost: &Lost) -> Vec<(Range<u64>, Option<u64>)> {
        lost.runs().map(|(range, first)| (range, first.map(|first| first.0))).collect()
    }

    #[test]
    fn a_block_that_was_lost_before_keeps_its_old_copy() {
        let mut lost = Lost::default();
        lost.insert_with_copy(5, Block(100));
        // (Its new place has zeros.)
        lost.insert_with_copy(5, Block(200));
        lost.insert(4..7);
        let mut later = Lost::default();
        later.insert_with_copy(5, Block(300));
        later.insert_with_copy(8, Block(301));
        later.insert(9..10);
        lost.add(&later);
        assert_eq!(
            runs(&lost),
            [(4..5, None), (5..6, Some(100)), (6..7, None), (8..9, Some(301)), (9..10, None)]
        );
        assert_eq!(lost.zones(100), BTreeSet::from([1, 3]));
        assert!(lost.remove(5..6) && !lost.remove(5..6));
        lost.insert_with_copy(5, Block(400));
        assert_eq!(lost.copy(5), Some(Block(400)));
    }

    #[test]
    fn copies_that_lie_together_are_one_run() {
        let mut lost = Lost::default();
        lost.insert(2..4);
        for (block, copy) in [(4, 50), (5, 51), (6, 40), (7, 41)] {
            lost.insert_with_copy(block, Block(copy));
        }
        assert_eq!(runs(&lost), [(2..4, None), (4..6, Some(50)), (6..8, Some(40))]);
        let mut read = Lost::default();
        lost.runs().for_each(|(range, first)| read.set(range, first));
        assert_eq!(read, lost);
        read.set(5..7, None);
        assert_eq!(runs(&read), [(2..4, None), (4..5, Some(50)), (5..7, None), (7..8, Some(41))]);
        assert!(lost.keep_copies(|copy| copy.0 < 50) && !lost.keep_copies(|copy| copy.0 < 50));
        assert_eq!(runs(&lost), [(2..6, None), (6..8, Some(40))]);
        assert_eq!(lost.blocks().starts_and_counts(), [(2, 6)]);
    }
}
