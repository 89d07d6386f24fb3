//! The new size of a disk that grows, until the SSD has recorded it.

/// A disk that may be growing.
#[derive(Clone, Default)]
pub(super) struct Growth {
    to: Option<u64>,
}

impl Growth {
    /// Begins to grow to `blocks` blocks.
    pub(super) fn begin(&mut self, blocks: u64) {
        self.to = Some(blocks);
    }

    /// The new size in blocks, while it grows.
    pub(super) fn blocks(&self) -> Option<u64> {
        self.to
    }

    /// Ends the growth.
    pub(super) fn end(&mut self) {
        self.to = None;
    }
}
