//! How late each block was used, roughly: written beside it into the frame table, so that a restart
//! finds the order of the cache again.

/// Time as the hints count it.
#[derive(Clone, Hash)]
pub(super) struct Hints {
    now: u16,
    /// Accesses for which the hint stays the same, and of these those that are left.
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
