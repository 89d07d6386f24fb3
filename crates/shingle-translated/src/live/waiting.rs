//! Who waits for a turn to write: a translation that cleans may ask, and does not move what is about to be overwritten.

use std::sync::{Mutex, MutexGuard, PoisonError};

use shingle_core::units::Block;
use shingle_translation::Queue;

/// Writes that wait: the first block of each, and how many.
#[derive(Default)]
pub(super) struct Waiting(Mutex<Vec<(Block, u64)>>);

impl Waiting {
    pub(super) fn begin(&self, block: Block, count: u64) {
        self.list().push((block, count));
    }

    /// It has its turn.
    pub(super) fn end(&self, block: Block, count: u64) {
        let mut list = self.list();
        if let Some(mine) = list.iter().position(|waits| *waits == (block, count)) {
            list.swap_remove(mine);
        }
    }

    fn list(&self) -> MutexGuard<'_, Vec<(Block, u64)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Queue for Waiting {
    fn writes(&self, hits: &dyn Fn(Block, u64) -> bool) -> bool {
        self.list().iter().any(|&(block, count)| hits(block, count))
    }

    fn waits(&self) -> bool {
        !self.list().is_empty()
    }
}
