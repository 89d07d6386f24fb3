//! Reads do not wait for zones that are written: the next write can.

/// Slots that reads took although a zone was cheaper.
#[derive(Clone, Debug)]
pub(super) struct ReadsFirst {
    most: u32,
    taken: u32,
}

impl ReadsFirst {
    /// A zone leaves, read or not, when so many were taken.
    pub(super) fn new(most: u64) -> ReadsFirst {
        ReadsFirst { most: u32::try_from(most).unwrap_or(u32::MAX), taken: 0 }
    }

    /// Whether one may be taken.
    pub(super) fn may(&self) -> bool {
        self.taken < self.most
    }

    /// One is.
    pub(super) fn take(&mut self) {
        self.taken = self.taken.saturating_add(1);
    }

    /// A zone leaves.
    pub(super) fn zone_leaves(&mut self) {
        self.taken = 0;
    }
}
