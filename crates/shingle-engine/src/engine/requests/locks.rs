//! Of requests on the same block one is carried out at a time, in the order in which they came.

use std::ops::Range;

use hashbrown::HashMap;
use hashbrown::hash_map::Entry;
use shingle_core::units::Block;

use super::super::keys::OpKey;

/// Blocks that requests are at work on, and who waits for them.
#[derive(Clone, Default)]
pub(super) struct Locks {
    taken: HashMap<Block, Queue>,
    /// Who comes after each operation that waits for a lock, by its key.
    next: Vec<OpKey>,
}

/// The first and the last of those that wait for one block; [`NOBODY`] if none does.
#[derive(Clone)]
struct Queue {
    first: OpKey,
    last: OpKey,
}

const NOBODY: OpKey = OpKey::MAX;

impl Locks {
    /// Whether `op` may begin; otherwise it is told when it may by [`Locks::release`].
    pub(super) fn take(&mut self, block: Block, op: OpKey) -> bool {
        match self.taken.entry(block) {
            Entry::Vacant(free) => {
                free.insert(Queue { first: NOBODY, last: NOBODY });
                true
            }
            Entry::Occupied(mut taken) => {
                if self.next.len() <= op {
                    self.next.resize(op + 1, NOBODY);
                }
                self.next[op] = NOBODY;
                let queue = taken.get_mut();
                match queue.first {
                    NOBODY => queue.first = op,
                    _ => self.next[queue.last] = op,
                }
                queue.last = op;
                false
            }
        }
    }

    /// Who is next.
    pub(super) fn release(&mut self, block: Block) -> Option<OpKey> {
        let Entry::Occupied(mut taken) = self.taken.entry(block) else { return None };
        let first = taken.get().first;
        if first == NOBODY {
            taken.remove();
            return None;
        }
        taken.get_mut().first = self.next[first];
        Some(first)
    }

    /// Those of `blocks` that are, in no order.
    pub(super) fn taken_in(&self, blocks: Range<u64>) -> Vec<u64> {
        if (self.taken.len() as u64) < blocks.end - blocks.start {
            let taken = self.taken.keys().map(|block| block.0);
            return taken.filter(|block| blocks.contains(block)).collect();
        }
        blocks.filter(|&block| self.is_taken(Block(block))).collect()
    }

    pub(super) fn is_taken(&self, block: Block) -> bool {
        self.taken.contains_key(&block)
    }
}

#[cfg(feature = "bugs")]
impl Locks {
    /// Blocks that are locked, in no order, and who waits for each.
    pub(super) fn all(&self) -> impl Iterator<Item = (Block, Vec<OpKey>)> {
        let next = |key: &OpKey| self.next.get(*key).copied();
        self.taken.iter().map(move |(&block, queue)| {
            let first = Some(queue.first);
            let waiting = std::iter::successors(first, next).take_while(|&key| key != NOBODY);
            (block, waiting.collect())
        })
    }
}
