//! Writes that wait for their turn. A translation asks for them while it cleans, so as not to move blocks that are about to be
//! overwritten.

use std::sync::{Mutex, MutexGuard, PoisonError};

use shingle_core::units::Block;
use shingle_translation::Queue;

/// The waiting writes: first block and number of blocks of each.
#[derive(Default)]
pub(super) struct Waiting(Mutex<Vec<(Block, u64)>>);

impl Waiting {
    pub(super) fn begin(&self, block: Block, count: u64) {
        self.list().push((block, count));
    }

    /// The write does not wait any more.
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
