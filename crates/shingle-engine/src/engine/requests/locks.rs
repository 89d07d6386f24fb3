//! Of requests on the same block one is carried out at a time, in the order in which they came.

use std::collections::VecDeque;

use hashbrown::HashMap;
use hashbrown::hash_map::Entry;
use shingle_core::units::Block;

use super::super::keys::OpKey;

/// Blocks that requests are at work on, and who waits for them.
#[derive(Clone, Default)]
pub(super) struct Locks {
    pub(super) waiting: HashMap<Block, VecDeque<OpKey>>,
}

impl Locks {
    /// Whether `op` may begin; otherwise it is told when it may by [`Locks::release`].
    pub(super) fn take(&mut self, block: Block, op: OpKey) -> bool {
        let mut free = false;
        let new = || {
            free = true;
            VecDeque::new()
        };
        let waiting = self.waiting.entry(block).or_insert_with(new);
        if !free {
            waiting.push_back(op);
        }
        free
    }

    /// Who is next.
    pub(super) fn release(&mut self, block: Block) -> Option<OpKey> {
        let Entry::Occupied(mut waiting) = self.waiting.entry(block) else { return None };
        let next = waiting.get_mut().pop_front();
        if next.is_none() {
            waiting.remove();
        }
        next
    }

    pub(super) fn is_taken(&self, block: Block) -> bool {
        self.waiting.contains_key(&block)
    }
}
