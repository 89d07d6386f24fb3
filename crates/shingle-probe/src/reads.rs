//! Read times: random (`L_read`), and sequential at both ends of the disk.

use serde::{Deserialize, Serialize};

use crate::change::real;
use crate::error::ProbeError;
use crate::permute::Permutation;
use crate::scratch::{LARGE_BLOCKS, Scratch};
use crate::target::{Block, Io, Op};

const RANDOM: u64 = 2000;
const IN_ORDER: u64 = 256;

/// Latencies in microseconds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReadTimes {
    /// Random reads of a block, over the whole disk.
    pub random_us: Vec<u64>,
    /// Sequential reads of 512 KiB each, from the first block on.
    pub first_us: Vec<u64>,
    /// The same, up to the end of the disk.
    pub last_us: Vec<u64>,
}

impl ReadTimes {
    /// `L_read`: the mean of random reads.
    #[must_use]
    pub fn random(&self) -> f64 {
        mean(&self.random_us)
    }

    /// Random reads that took longer than an arm takes, and their part of the time of all. An arm takes
    /// at most a seek over the whole disk and a rotation, which is less than four times the median.
    #[must_use]
    pub(crate) fn long(&self) -> (usize, f64) {
        let mut sorted = self.random_us.clone();
        sorted.sort_unstable();
        let median = sorted.get(sorted.len() / 2).copied().unwrap_or(0);
        let long = &sorted[sorted.partition_point(|&us| us <= 4 * median)..];
        (long.len(), real(long.iter().sum()) / real(sorted.iter().sum::<u64>().max(1)))
    }

    /// The time of a block in sequential reads, at the start and at the end: the mean without the
    /// first tenth, which includes the seek.
    #[must_use]
    pub fn in_order(&self) -> (f64, f64) {
        let block = |us: &[u64]| mean(&us[us.len() / 10..]) / real(LARGE_BLOCKS);
        (block(&self.first_us), block(&self.last_us))
    }
}

fn mean(us: &[u64]) -> f64 {
    real(us.iter().sum()) / real(us.len().max(1) as u64)
}

/// Measures random and sequential reads.
pub(crate) fn reads(scratch: &mut Scratch, seed: u64) -> Result<ReadTimes, ProbeError> {
    let blocks = scratch.target.facts().blocks;
    let order = Permutation::new(blocks, seed);
    let large = IN_ORDER.min(blocks / LARGE_BLOCKS / 2);
    let read = |block, count| Io { op: Op::Read, block: Block(block), count };
    let random_us =
        scratch.latencies_us((0..RANDOM.min(blocks)).map(|nth| read(order.get(nth), 1)))?;
    let first_us =
        scratch.latencies_us((0..large).map(|nth| read(nth * LARGE_BLOCKS, LARGE_BLOCKS)))?;
    let from = blocks - large * LARGE_BLOCKS;
    let last_us = scratch
        .latencies_us((0..large).map(|nth| read(from + nth * LARGE_BLOCKS, LARGE_BLOCKS)))?;
    Ok(ReadTimes { random_us, first_us, last_us })
}
