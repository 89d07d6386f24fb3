//! The next use of each block, for policies that ask for it
//! ([`shingle_core::policy::Policy::wants_future`]). The trace is in memory, so it can be read
//! ahead.

use std::collections::BTreeMap;

use shingle_core::policy::Access;
use shingle_core::units::{Block, Op, Request};

/// Returns for each access in `requests` the number of the next access to its block, or
/// [`Access::NEVER`]. A block that is wholly trimmed before its next use counts as never used
/// again: keeping it gains nothing.
///
/// Takes 24 bytes an access while it sorts, 8 of which are the result.
#[must_use]
pub fn next_uses(requests: impl Iterator<Item = Request>) -> Vec<u64> {
    let mut accesses: Vec<(Block, u64)> = Vec::new();
    let mut trims = Trims::default();
    for request in requests {
        let now = accesses.len() as u64;
        match request.op {
            Op::Read | Op::Write => {
                let blocks = (0..request.blocks()).map(|place| request.first().after(place));
                accesses.extend((now..).zip(blocks).map(|(number, block)| (block, number)));
            }
            Op::Trim => {
                let (first, count) = request.whole_blocks();
                if count > 0 {
                    trims.edges.push((first, now, true));
                    trims.edges.push((first.after(count), now, false));
                }
            }
            Op::Flush => {}
        }
    }
    accesses.sort_unstable();
    trims.edges.sort_unstable();
    let mut next = vec![Access::NEVER; accesses.len()];
    for pair in accesses.windows(2) {
        let [(block, number), (other, later)] = [pair[0], pair[1]];
        if block == other && !trims.between(block, number, later) {
            next[number as usize] = later;
        }
    }
    next
}

/// Trims, looked up by ascending blocks.
#[derive(Default)]
struct Trims {
    /// The block at which a trim begins (`true`) or ends, and the number of accesses before the
    /// trim.
    edges: Vec<(Block, u64, bool)>,
    /// Number of edges at or before the block looked up last.
    passed: usize,
    /// Trims that cover this block, by the number of accesses before them.
    covering: BTreeMap<u64, u32>,
}

impl Trims {
    /// Returns whether `block` was trimmed between the accesses `number` and `later`.
    fn between(&mut self, block: Block, number: u64, later: u64) -> bool {
        while let Some(&(_, at, begins)) =
            self.edges.get(self.passed).filter(|(edge, ..)| *edge <= block)
        {
            let trims = self.covering.entry(at).or_default();
            if begins {
                *trims += 1;
            } else if *trims > 1 {
                *trims -= 1;
            } else {
                self.covering.remove(&at);
            }
            self.passed += 1;
        }
        self.covering.range(number + 1..=later).next().is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use shingle_core::units::{BLOCK_BYTES, Nanos};

    fn request(op: Op, offset: u64, bytes: u64) -> Request {
        Request { at: Nanos::ZERO, offset, bytes, op }
    }

    #[test]
    fn requests_are_split_and_a_trim_ends_a_blocks_life() {
        const N: u64 = Access::NEVER;
        let requests = [
            request(Op::Write, 0, 3 * BLOCK_BYTES), // accesses 0, 1, 2: blocks 0, 1, 2
            request(Op::Read, 2 * BLOCK_BYTES - 1, 2), // accesses 3, 4: blocks 1, 2
            request(Op::Flush, 0, 0),               // none
            request(Op::Trim, 100, 3 * BLOCK_BYTES - 200), // block 1 as a whole
            request(Op::Write, 0, 3 * BLOCK_BYTES), // accesses 5, 6, 7
        ];
        assert_eq!(next_uses(requests.into_iter()), [5, 3, 4, N, 7, N, N, N]);
    }

    proptest! {
        /// Against looking ahead from each access.
        #[test]
        fn as_if_looked_up_one_by_one(
            ops in prop::collection::vec((0u8..4, 0u64..12, 1u64..5), 0..60),
        ) {
            let requests: Vec<Request> = ops
                .iter()
                .map(|&(op, block, blocks)| {
                    let op = [Op::Read, Op::Write, Op::Trim, Op::Trim][op as usize];
                    request(op, block * BLOCK_BYTES, blocks * BLOCK_BYTES)
                })
                .collect();
            // One block after the other, trimmed or accessed.
            let steps: Vec<(bool, Block)> = requests
                .iter()
                .flat_map(|r| {
                    (0..r.blocks()).map(|place| (r.op != Op::Trim, r.first().after(place)))
                })
                .collect();
            let mut wanted = Vec::new();
            for (at, &(_, block)) in steps.iter().enumerate().filter(|(_, step)| step.0) {
                let next = (at + 1..steps.len()).find(|&later| steps[later].1 == block);
                let accessed = next.filter(|&later| steps[later].0);
                let number = |later| steps[..later].iter().filter(|step| step.0).count() as u64;
                wanted.push(accessed.map_or(Access::NEVER, number));
            }
            prop_assert_eq!(next_uses(requests.into_iter()), wanted);
        }
    }
}
