//! Truncated fragmentation (SAC §3): a band cleaned again before the buffer turned over.

/// For each band, how many blocks had left the buffer when it was last cleaned.
#[derive(Clone, Debug)]
pub struct Turnover {
    /// Plus one; 0 is never.
    cleaned_at: Vec<u64>,
    buffer_blocks: u64,
}

impl Turnover {
    /// Nothing cleaned yet of `bands`, before which lies a buffer of `buffer_blocks`.
    #[must_use]
    pub fn new(bands: usize, buffer_blocks: u64) -> Turnover {
        Turnover { cleaned_at: vec![0; bands], buffer_blocks }
    }

    /// `band` is cleaned, which moves `evicted_before` on to `evicted_after`. Says whether less
    /// than one buffer left since it was cleaned before.
    pub fn cleaned(&mut self, band: usize, evicted_before: u64, evicted_after: u64) -> bool {
        let last = std::mem::replace(&mut self.cleaned_at[band], evicted_after + 1);
        last != 0 && evicted_before - (last - 1) < self.buffer_blocks
    }
}
