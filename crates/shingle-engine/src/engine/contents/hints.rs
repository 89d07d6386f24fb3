//! Hints: roughly when each block was last used. They are written to the frame table with the
//! block, so that a restart restores the order of the cache.

/// The clock of the hints.
#[derive(Clone, Hash)]
pub(super) struct Hints {
    now: u16,
    /// Accesses for which the hint stays the same.
    step: u64,
    left: u64,
}

impl Hints {
    pub(super) fn new(slots: u64, latest: u16) -> Hints {
        // A cache turned over once is 32 steps; after 2,000 turns all hints stay at the highest.
        let step = (slots / 32).max(1);
        Hints { now: latest.saturating_add(1), step, left: step }
    }

    #[inline]
    pub(super) fn count(&mut self) {
        self.left -= 1;
        if self.left == 0 {
            (self.now, self.left) = (self.now.saturating_add(1), self.step);
        }
    }

    #[inline]
    pub(super) fn now(&self) -> u16 {
        self.now
    }
}
