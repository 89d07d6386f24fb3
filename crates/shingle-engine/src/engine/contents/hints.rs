//! How late each block was used, roughly: written beside it into the frame table, so that a restart
//! finds the order of the cache again.

/// Time as the hints count it.
#[derive(Default)]
pub(super) struct Hints {
    accesses: u64,
    /// Accesses for which the hint stays the same.
    step: u64,
    /// The latest hint found at the start.
    from: u16,
}

impl Hints {
    pub(super) fn new(slots: u64, latest: u16) -> Hints {
        // A cache turned over once is 32 steps; after 2,000 turns all hints stay at the highest.
        Hints { accesses: 0, step: (slots / 32).max(1), from: latest }
    }

    pub(super) fn count(&mut self) {
        self.accesses += 1;
    }

    pub(super) fn now(&self) -> u16 {
        let steps = u64::from(self.from) + 1 + self.accesses / self.step;
        u16::try_from(steps).unwrap_or(u16::MAX)
    }
}
