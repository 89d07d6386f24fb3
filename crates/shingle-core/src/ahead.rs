//! The look ahead: the blocks of the next requests, for [`CacheCore::prefetch`].
//!
//! [`CacheCore::prefetch`]: crate::cache::CacheCore::prefetch

use crate::units::{Block, Request};

/// Requests between two calls of [`CacheCore::prefetch`](crate::cache::CacheCore::prefetch).
pub const LOOKAHEAD: usize = 16;

/// Batches that are looked at: a lookup takes three dependent reads (the head of its chain, the
/// first slot there, the next one), and each call takes every batch one step further.
const BATCHES: usize = 3;

/// Requests passed to one call of [`CacheCore::prefetch`](crate::cache::CacheCore::prefetch).
pub const PREFETCH_REQUESTS: usize = BATCHES * LOOKAHEAD;

/// Blocks of a batch, at most. Those beyond are not looked up ahead.
pub const PREFETCH_MAX: usize = 64;

/// The blocks of the next [`PREFETCH_REQUESTS`] requests. One for each stream of requests; each
/// call takes only the requests apart that the call before did not see.
#[derive(Clone, Debug)]
pub struct Ahead {
    batches: [Batch; BATCHES],
    /// Which of them comes next.
    next: usize,
    begun: bool,
}

/// The blocks of [`LOOKAHEAD`] requests.
#[derive(Clone, Debug)]
pub(crate) struct Batch {
    blocks: [Block; PREFETCH_MAX],
    /// Where the hash chain of each block begins.
    buckets: [u32; PREFETCH_MAX],
    count: usize,
}

impl Default for Ahead {
    fn default() -> Ahead {
        let empty =
            Batch { blocks: [Block(0); PREFETCH_MAX], buckets: [0; PREFETCH_MAX], count: 0 };
        Ahead { batches: [empty.clone(), empty.clone(), empty], next: 0, begun: false }
    }
}

impl Ahead {
    /// Takes the `requests` that come next, [`LOOKAHEAD`] later than in the call before. Returns
    /// their batches, the next one first. `bucket` says where the chain of a block begins.
    #[inline]
    pub(crate) fn show(
        &mut self,
        requests: &[Request],
        bucket: impl Fn(Block) -> u32,
    ) -> [&Batch; BATCHES] {
        let mut parts = requests.chunks(LOOKAHEAD);
        if self.begun {
            let last = self.next;
            self.next = (self.next + 1) % BATCHES;
            self.batches[last].take(parts.nth(BATCHES - 1).unwrap_or_default(), bucket);
        } else {
            self.begun = true;
            for batch in &mut self.batches {
                batch.take(parts.next().unwrap_or_default(), &bucket);
            }
        }
        core::array::from_fn(|ahead| &self.batches[(self.next + ahead) % BATCHES])
    }
}

impl Batch {
    fn take(&mut self, requests: &[Request], bucket: impl Fn(Block) -> u32) {
        let blocks = requests
            .iter()
            .flat_map(|request| (0..request.blocks()).map(|at| request.first().after(at)));
        let places = self.blocks.iter_mut().zip(&mut self.buckets);
        self.count = places
            .zip(blocks)
            .map(|(place, block)| (*place.0, *place.1) = (block, bucket(block)))
            .count();
    }

    #[inline]
    pub(crate) fn blocks(&self) -> &[Block] {
        &self.blocks[..self.count]
    }

    #[inline]
    pub(crate) fn buckets(&self) -> &[u32] {
        &self.buckets[..self.count]
    }
}
