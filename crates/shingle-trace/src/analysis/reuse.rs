//! Reuses of blocks: distances, the LRU curves that follow from them, and update periods.

use shingle_core::units::{Block, Op, Request};

use super::curve::Curve;
use super::histogram::Histogram;
use super::periods::Periods;
use crate::distance::{Numbers, Stack};

/// Distances of accesses, in distinct blocks.
#[derive(Clone, Debug, Default)]
pub struct Reuse {
    /// Other blocks read or written since the last access of the block.
    pub reuse: Histogram,
    /// Other blocks written since the last write of the block.
    pub update: Histogram,
    /// LRU over reads and writes.
    pub all: Curve,
    /// LRU over the writes only, as if nothing were read.
    pub writes: Curve,
    /// Update periods of each block.
    pub periods: Periods,
    numbers: Numbers,
    used: Stack,
    written: Stack,
}

impl Reuse {
    /// Counts the accesses of a request.
    ///
    /// # Panics
    /// If there are 2³¹ distinct blocks or more.
    pub fn add(&mut self, request: &Request) {
        if !matches!(request.op, Op::Read | Op::Write) {
            return;
        }
        let first = request.first().0;
        for block in first..first + request.blocks() {
            let number = self.numbers.of(Block(block));
            let distance = self.used.touch(number);
            distance.into_iter().for_each(|distance| self.reuse.add(distance));
            self.all.add(request.op, distance);
            if request.op == Op::Write {
                let period = self.written.touch(number);
                period.into_iter().for_each(|period| self.update.add(period));
                self.writes.add(Op::Write, period);
                self.periods.add(number, period);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use shingle_core::units::{BLOCK_BYTES, Nanos};

    use super::*;

    /// Returns the read and write misses of an LRU cache, simulated as a list with the newest last.
    fn misses(accesses: &[(u64, Op)], cache: usize) -> [u64; 2] {
        let (mut list, mut misses): (Vec<u64>, _) = (Vec::new(), [0; 2]);
        for &(block, op) in accesses {
            let before = list.len();
            list.retain(|&other| other != block);
            if list.len() == before {
                misses[usize::from(op == Op::Write)] += 1;
                if list.len() == cache {
                    list.remove(0);
                }
            }
            list.push(block);
        }
        misses
    }

    proptest! {
        #[test]
        fn curves_are_those_of_lru_caches(
            requests in prop::collection::vec((0..60_u64, 1..5_u64, any::<bool>()), 1..300)
        ) {
            let (mut reuse, mut accesses) = (Reuse::default(), Vec::new());
            for (block, blocks, write) in requests {
                let op = if write { Op::Write } else { Op::Read };
                let (offset, bytes) = (block * BLOCK_BYTES, blocks * BLOCK_BYTES);
                reuse.add(&Request { at: Nanos::ZERO, offset, bytes, op });
                accesses.extend((block..block + blocks).map(|block| (block, op)));
            }
            let writes: Vec<_> =
                accesses.iter().copied().filter(|access| access.1 == Op::Write).collect();
            for (curve, accesses) in [(&reuse.all, accesses), (&reuse.writes, writes)] {
                prop_assert_eq!(curve.accesses(), accesses.len() as u64);
                for point in curve.points() {
                    let found = misses(&accesses, point.cache_blocks as usize);
                    prop_assert_eq!([point.read_misses, point.write_misses], found);
                }
            }
        }
    }
}
