//! Truncated fragmentation (SAC §3): a band cleaned again before the buffer turned over.

/// For each band, the number of blocks that had left the buffer at its last cleaning.
#[derive(Clone, Debug)]
pub struct Turnover {
    /// The number plus one; 0 for never.
    cleaned_at: Vec<u64>,
    buffer_blocks: u64,
}

impl Turnover {
    /// Creates it for `bands` bands behind a buffer of `buffer_blocks`, before any cleaning.
    #[must_use]
    pub fn new(bands: usize, buffer_blocks: u64) -> Turnover {
        Turnover { cleaned_at: vec![0; bands], buffer_blocks }
    }

    /// Notes a cleaning of `band`, which moves the number from `evicted_before` to `evicted_after`.
    /// Returns whether less than one buffer left since its cleaning before.
    pub fn cleaned(&mut self, band: usize, evicted_before: u64, evicted_after: u64) -> bool {
        let last = std::mem::replace(&mut self.cleaned_at[band], evicted_after + 1);
        last != 0 && evicted_before - (last - 1) < self.buffer_blocks
    }
}
