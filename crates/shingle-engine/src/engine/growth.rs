//! A disk that has become larger: where it grows to, until the SSD says so.

/// A disk that grows.
#[derive(Clone, Default)]
pub(super) struct Growth {
    to: Option<u64>,
}

impl Growth {
    /// To so many blocks.
    pub(super) fn begin(&mut self, blocks: u64) {
        self.to = Some(blocks);
    }

    /// Where it grows to.
    pub(super) fn blocks(&self) -> Option<u64> {
        self.to
    }

    /// It has.
    pub(super) fn end(&mut self) {
        self.to = None;
    }
}
