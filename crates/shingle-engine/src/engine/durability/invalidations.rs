//! Blocks that have left the cache, but not yet by a committed record. Until then the disk gets no
//! newer data of them: after a crash recovery would bring back the cached version.

use std::collections::VecDeque;
use std::ops::Range;

use hashbrown::HashMap;
use shingle_core::units::Block;

use super::FOUND;

#[derive(Clone, Default)]
pub(super) struct Pending {
    records: HashMap<Block, u64>,
    order: VecDeque<(u64, Block)>,
}

impl Pending {
    pub(super) fn add(&mut self, block: Block, number: u64) {
        self.records.insert(block, number);
        self.order.push_back((number, block));
    }

    /// The number of the record that has to be committed before the disk gets newer data of
    /// `block`.
    pub(super) fn of(&self, block: Block) -> u64 {
        self.records.get(&block).copied().unwrap_or(FOUND)
    }

    /// Whether an invalidation of a block of this range is pending.
    pub(super) fn any_in(&self, blocks: Range<u64>) -> bool {
        if (self.records.len() as u64) < blocks.end - blocks.start {
            return self.records.keys().any(|block| blocks.contains(&block.0));
        }
        blocks.map(Block).any(|block| self.records.contains_key(&block))
    }

    pub(super) fn forget(&mut self, block: Block) {
        self.records.remove(&block);
    }

    /// Notes that the records up to `upto` are committed.
    pub(super) fn committed(&mut self, upto: u64) {
        while let Some(&(number, block)) = self.order.front()
            && number <= upto
        {
            self.order.pop_front();
            // The block may have entered the cache again, and left once more.
            if self.records.get(&block) == Some(&number) {
                self.records.remove(&block);
            }
        }
    }
}

#[cfg(feature = "bugs")]
impl Pending {
    /// Hashes the whole state, with numbers as distances to the last record.
    pub(super) fn hash_state<H: std::hash::Hasher + Default>(
        &self,
        view: &super::super::state::View,
        into: &mut H,
    ) {
        use std::hash::Hash;

        let Pending { records, order } = self;
        super::super::state::unordered(records.iter(), into, |(block, &number), into| {
            (block, view.record(number)).hash(into);
        });
        order.len().hash(into);
        order.iter().for_each(|&(number, block)| (view.record(number), block).hash(into));
    }
}
