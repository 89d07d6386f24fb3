//! Read latency by distance: seek time, rotation, and read-ahead.
//!
//! Pairs of reads lie a chosen distance apart. The second is at the lower address, so that
//! read-ahead does not bring it. Within a class the distance is random, so that the platter is at a
//! random angle when the arm arrives: then latencies are spread evenly over a rotation, and their
//! middle is the time of the seek and half a rotation. The spread itself is the time of a rotation.
//! A more exact figure comes from reading the block just before one that was read, which has just
//! passed the head.

use serde::{Deserialize, Serialize};
use shingle_core::units::BLOCK_BYTES;
use shingle_drive::Rng;
use shingle_drive::profile::{DistanceFacts, MechanicsFacts, read_pairs_end};

use crate::change::{real, round};
use crate::error::ProbeError;
use crate::scratch::Scratch;
use crate::target::{Block, Io, Nanos, Op};

/// Pairs of a class. The nearest classes have more, as they also give the rotation.
const PAIRS: u64 = 80;
const PAIRS_NEAR: u64 = 200;
const NEAR: usize = 4;
/// A track is assumed to stream in this time. Classes begin at twice that distance.
const TRACK_US: f64 = 10_000.0;
/// Reads of the previous block, and of the same block again.
const TURNS: u64 = 40;
/// Distances in blocks at which read-ahead is tested, and reads of each.
const AHEAD: [u64; 8] = [64, 128, 256, 512, 1024, 2048, 4096, 8192];
const AHEAD_TRIES: usize = 5;
/// Pause in which the drive can read ahead.
const PAUSE: Nanos = Nanos::from_millis(60);
/// Plausible times of a rotation, in microseconds: 30,000 to 3,000 a minute.
const ROTATION_US: std::ops::RangeInclusive<f64> = 2000.0..=20_000.0;

/// Pairs of reads at a distance.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Class {
    /// The least distance in blocks; the greatest is half as much again.
    pub least_blocks: u64,
    /// Latency of each second read, in microseconds.
    pub us: Vec<u64>,
}

/// What was measured; latencies in microseconds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Distances {
    /// Classes by distance, the nearest first.
    pub classes: Vec<Class>,
    /// Reads of the block just before the one that was read.
    pub before_us: Vec<u64>,
    /// Reads of the same block again.
    pub again_us: Vec<u64>,
    /// Blocks from a read to one after a pause, and the median latency of the latter.
    pub ahead: Vec<(u64, u64)>,
}

/// The blocks that will be read of a disk of `blocks`, and the seconds that this takes on a typical
/// disk.
pub(crate) fn expected(blocks: u64) -> (u64, f64) {
    const READ_S: f64 = 0.013;
    /// Microseconds for a block in sequential reads, at the start.
    const BLOCK_US: f64 = 22.0;
    let classes = u64::from((blocks / least_blocks(BLOCK_US)).max(1).ilog2());
    let pairs = NEAR as u64 * PAIRS_NEAR + classes.saturating_sub(NEAR as u64) * PAIRS;
    let reads = 2 * pairs + 4 * TURNS + 2 * AHEAD.len() as u64 * AHEAD_TRIES as u64;
    let pauses = real(PAUSE.0) / 1e9 * real((AHEAD.len() * AHEAD_TRIES) as u64);
    (reads, real(reads) * READ_S + pauses)
}

/// The least distance, on a disk that reads a block sequentially in `block_us`.
fn least_blocks(block_us: f64) -> u64 {
    (2.0 * TRACK_US / block_us.max(0.1)).max(16.0) as u64
}

/// Measures a disk that reads a block sequentially in `block_us` at its start.
pub(crate) fn distances(
    scratch: &mut Scratch,
    block_us: f64,
    seed: u64,
) -> Result<Distances, ProbeError> {
    let blocks = scratch.target.facts().blocks;
    let mut rng = Rng::new(seed);
    let mut classes = Vec::new();
    let mut least_blocks = least_blocks(block_us);
    while least_blocks <= blocks / 2 {
        let pairs = if classes.len() < NEAR { PAIRS_NEAR } else { PAIRS };
        let us = (0..pairs).map(|_| pair(scratch, &mut rng, least_blocks, blocks));
        classes.push(Class { least_blocks, us: us.collect::<Result<_, _>>()? });
        least_blocks *= 2;
    }
    let (mut before_us, mut again_us) = (Vec::new(), Vec::new());
    for _ in 0..TURNS {
        let block = 1 + rng.below(read_pairs_end(blocks, 0) - 1);
        let us = scratch.latencies_us([block, block - 1].into_iter().map(read))?;
        before_us.push(us[1]);
        let block = rng.below(read_pairs_end(blocks, 0));
        again_us.push(scratch.latencies_us([block, block].into_iter().map(read))?[1]);
    }
    let mut ahead = Vec::new();
    for gap in AHEAD.into_iter().filter(|gap| gap * 4 < blocks) {
        let mut us = Vec::new();
        for _ in 0..AHEAD_TRIES {
            let block = rng.below(blocks - 2 * gap);
            scratch.latencies_us(std::iter::once(read(block)))?;
            scratch.target.idle(PAUSE)?;
            us.extend(scratch.latencies_us(std::iter::once(read(block + gap)))?);
        }
        us.sort_unstable();
        ahead.push((gap, us[AHEAD_TRIES / 2]));
    }
    Ok(Distances { classes, before_us, again_us, ahead })
}

fn read(block: u64) -> Io {
    Io { op: Op::Read, block: Block(block), count: 1 }
}

/// The latency of the second of two reads.
fn pair(scratch: &mut Scratch, rng: &mut Rng, least: u64, blocks: u64) -> Result<u64, ProbeError> {
    let distance = least + rng.below(least / 2);
    let first = distance + rng.below(read_pairs_end(blocks, distance) - distance);
    Ok(scratch.latencies_us([first, first - distance].into_iter().map(read))?[1])
}

impl Distances {
    /// Evaluates the measurements for a profile; `block_us` as above. `None` if nothing was
    /// measured.
    #[must_use]
    pub fn facts(&self, block_us: f64) -> Option<MechanicsFacts> {
        let again = quantile(&self.again_us, 0.5)?;
        let nearest = middle(&self.classes.first()?.us)?;
        let rotation_us = self.rotation_us(block_us).unwrap_or(0.0);
        // Between the latency of the drive's memory and that of the medium.
        let held = libm::sqrt(again.max(1.0) * nearest);
        let ahead = self.ahead.iter().take_while(|&&(_, us)| real(us) < held).last();
        let row = |class: &Class| {
            let blocks = class.least_blocks + class.least_blocks / 4;
            Some(DistanceFacts { blocks, us: round(middle(&class.us)?) })
        };
        Some(MechanicsFacts {
            rotation_us: round(rotation_us),
            command_us: round(if rotation_us > 0.0 { again.min(nearest) } else { 0.0 }),
            read_ahead_bytes: ahead.map_or(0, |&(gap, _)| gap * BLOCK_BYTES),
            reads: self.classes.iter().filter_map(row).collect(),
        })
    }

    /// The time of a rotation; `None` if latencies are not spread as over a rotation.
    fn rotation_us(&self, block_us: f64) -> Option<f64> {
        let mut off: Vec<f64> = Vec::new();
        for class in self.classes.iter().take(NEAR) {
            let middle = middle(&class.us)?;
            off.extend(class.us.iter().map(|&us| real(us) - middle));
        }
        off.sort_unstable_by(f64::total_cmp);
        let at = |part: usize| off.get(off.len() * part / 20).copied();
        // Nine tenths of all latencies lie between these two.
        let spread = (at(19)? - at(1)?) / 0.9;
        // The block returns to the head after a rotation less two blocks, and is then read. The
        // command is processed meanwhile.
        let turn = quantile(&self.before_us, 0.5)? + block_us;
        let rotation = if (turn / spread - 1.0).abs() < 0.15 { turn } else { spread };
        let random = middle(&self.classes.last()?.us)?;
        (ROTATION_US.contains(&rotation) && spread > random / 8.0).then_some(rotation)
    }
}

/// Midway between the quantiles of 5 % and 95 %: for an even spread this is the mean, with a
/// smaller error.
fn middle(us: &[u64]) -> Option<f64> {
    Some(f64::midpoint(quantile(us, 0.05)?, quantile(us, 0.95)?))
}

fn quantile(us: &[u64], part: f64) -> Option<f64> {
    let mut sorted = us.to_vec();
    sorted.sort_unstable();
    let last = sorted.len().checked_sub(1)?;
    let at = part * real(last as u64);
    let (low, high) = (sorted[at as usize], sorted[(at as usize + 1).min(last)]);
    Some(real(low) + (real(high) - real(low)) * at.fract())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Seeks of 1, 2, … ms and a rotation of 8.4 ms, evenly spread.
    fn seen(rotation: u64) -> Distances {
        let class = |nth: u64| Class {
            least_blocks: 1000 << nth,
            us: (0..=100).map(|at| 1000 * (nth + 1) + rotation * at / 100).collect(),
        };
        Distances {
            classes: (0..8).map(class).collect(),
            before_us: vec![rotation.saturating_sub(20); 9],
            again_us: vec![200; 9],
            ahead: vec![(64, 210), (128, 205), (256, 6000), (512, 203)],
        }
    }

    #[test]
    fn seeks_and_a_rotation_are_told_apart() {
        let facts = seen(8400).facts(20.0).expect("measured");
        assert!((facts.rotation_us - 8400.0).abs() < 1.0, "{facts:?}");
        let (first, last) = (facts.reads[0], facts.reads[7]);
        assert_eq!((first.blocks, last.blocks), (1250, 160_000));
        assert!((first.us - 5200.0).abs() < 1.0 && (last.us - 12_200.0).abs() < 1.0, "{facts:?}");
        assert_eq!((facts.command_us, facts.read_ahead_bytes), (200.0, 128 * BLOCK_BYTES));
        // A drive that has the previous block in memory: the spread gives the rotation within 3 %.
        let mut held = seen(8400);
        held.before_us.fill(200);
        let rotation_us = held.facts(20.0).expect("measured").rotation_us;
        assert!((rotation_us / 8400.0 - 1.0).abs() < 0.03, "{rotation_us}");
    }

    #[test]
    fn without_a_spread_there_is_no_rotation() {
        let facts = seen(0).facts(20.0).expect("measured");
        assert_eq!((facts.rotation_us, facts.command_us), (0.0, 0.0));
        assert_eq!(facts.reads.len(), 8);
    }
}
