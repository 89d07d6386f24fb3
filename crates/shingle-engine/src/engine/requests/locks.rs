//! Locks of blocks: operations on the same block run one at a time, in the order of their arrival.

use std::ops::Range;

use hashbrown::HashMap;
use hashbrown::hash_map::Entry;
use shingle_core::units::Block;

use super::super::keys::OpKey;

/// Locked blocks, and the operations that wait for each.
#[derive(Clone, Default)]
pub(super) struct Locks {
    taken: HashMap<Block, Queue>,
    /// For each waiting operation, by its key, the one behind it.
    next: Vec<OpKey>,
}

/// The first and the last operation that wait for one block; [`NONE`] if none does.
#[derive(Clone)]
struct Queue {
    first: OpKey,
    last: OpKey,
}

const NONE: OpKey = OpKey::MAX;

impl Locks {
    /// Locks `block` for `op`. Returns whether it is locked now; otherwise [`Locks::release`]
    /// returns `op` later.
    pub(super) fn take(&mut self, block: Block, op: OpKey) -> bool {
        match self.taken.entry(block) {
            Entry::Vacant(free) => {
                free.insert(Queue { first: NONE, last: NONE });
                true
            }
            Entry::Occupied(mut taken) => {
                if self.next.len() <= op {
                    self.next.resize(op + 1, NONE);
                }
                self.next[op] = NONE;
                let queue = taken.get_mut();
                match queue.first {
                    NONE => queue.first = op,
                    _ => self.next[queue.last] = op,
                }
                queue.last = op;
                false
            }
        }
    }

    /// Unlocks `block`. Returns the next operation, which holds the lock now.
    pub(super) fn release(&mut self, block: Block) -> Option<OpKey> {
        let Entry::Occupied(mut taken) = self.taken.entry(block) else { return None };
        let first = taken.get().first;
        if first == NONE {
            taken.remove();
            return None;
        }
        taken.get_mut().first = self.next[first];
        Some(first)
    }

    /// The locked blocks of a range, in no order.
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
    /// The locked blocks, in no order, with the operations that wait for each.
    pub(super) fn all(&self) -> impl Iterator<Item = (Block, Vec<OpKey>)> {
        let next = |key: &OpKey| self.next.get(*key).copied();
        self.taken.iter().map(move |(&block, queue)| {
            let first = Some(queue.first);
            let waiting = std::iter::successors(first, next).take_while(|&key| key != NONE);
            (block, waiting.collect())
        })
    }
}
