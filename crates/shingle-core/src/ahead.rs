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

/// The steps in which is prefetched what a lookup reads, or an insertion ([`Policy::prefetch_insert`](crate::policy::Policy::prefetch_insert)):
/// each read depends on the one before.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PrefetchStep {
    /// The record of the slot; of an insertion what is known of the zone.
    First,
    /// The head of its hash chain; of an insertion what that leads to.
    Second,
    /// The first record of that chain.
    Third,
}

/// The blocks of the next [`PREFETCH_REQUESTS`] requests to one cache. It is kept from call to call:
/// only requests that the call before did not see are new work.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::{BLOCK_BYTES, Nanos, Op};

    /// Three calls on, the batches are those that a look at the same requests for the first time
    /// finds, also behind the last request.
    #[test]
    fn what_was_seen_before_is_what_would_be_seen_now() {
        let request = |number: u64| Request {
            at: Nanos::ZERO,
            offset: 100 * number * BLOCK_BYTES,
            bytes: number % 9 * BLOCK_BYTES, // the blocks of some batches are more than fit
            op: Op::Read,
        };
        let requests: Vec<Request> = (0..70).map(request).collect();
        let bucket = |block: Block| block.0 as u32 / 7;
        let blocks = |batches: [&Batch; BATCHES]| batches.map(|batch| batch.blocks().to_vec());
        let mut ahead = Ahead::default();
        for first in (0..requests.len()).step_by(LOOKAHEAD) {
            let shown = &requests[first..requests.len().min(first + PREFETCH_REQUESTS)];
            let known = ahead.show(shown, bucket);
            for batch in known {
                let buckets: Vec<u32> = batch.blocks().iter().map(|&block| bucket(block)).collect();
                assert_eq!(batch.buckets(), buckets);
            }
            let first_of_all = known[0].blocks()[0];
            assert_eq!(blocks(known), blocks(Ahead::default().show(shown, bucket)));
            let expected = shown.iter().find(|request| request.bytes > 0).expect("one has blocks");
            assert_eq!(first_of_all, expected.first());
        }
    }
}
