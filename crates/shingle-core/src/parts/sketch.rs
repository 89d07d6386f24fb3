//! Approximate use counts of blocks in little memory: the TinyLFU of Einziger, Friedman and Manes
//! (ACM Transactions on Storage 13(4), 2017). A doorkeeper (a Bloom filter) remembers blocks that
//! were used once. From the second use on, four small counters count, of which the smallest is
//! taken, as others may share the rest. When a sample is full, all counts are halved and the
//! doorkeeper is emptied, so old uses are forgotten.
//!
//! One departure: the four counters of a block, one in each row, lie in the same 64 bytes, so that
//! counting reads memory once. Rows are therefore independent only within a line.

use super::split_mix::mixed;
use crate::units::Block;

/// Four rows of 32 counters of four bits.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Line([u64; 8]);

/// Cached blocks per line: 16 counters a block.
const BLOCKS_A_LINE: u32 = 8;
/// Cached blocks per word of the doorkeeper: 32 bits a block.
const BLOCKS_A_WORD: u32 = 2;
const COUNT_MAX: u64 = 15;

/// Counts of uses, and the doorkeeper.
#[derive(Clone, Debug)]
pub struct Sketch {
    lines: Vec<Line>,
    door: Vec<u64>,
    recorded: u64,
    sample: u64,
}

/// Returns two hashes of `block`: one chooses a place in memory, one chooses bits there.
fn hashes(block: Block) -> (u64, u64) {
    let hash = mixed(block.0);
    (hash >> 32, hash & 0xFFFF_FFFF)
}

/// Returns for each row the word in a line and the shift in that word of its counter.
#[inline]
fn counters(bits: u64) -> [(usize, u32); 4] {
    core::array::from_fn(|row| {
        let counter = (bits >> (5 * row)) & 31;
        (2 * row + (counter >> 4) as usize, 4 * (counter & 15) as u32)
    })
}

impl Sketch {
    /// Creates a sketch for a cache of `capacity` blocks; every `sample` uses, at least one, the
    /// counts are halved.
    #[must_use]
    pub fn new(capacity: u32, sample: u64) -> Sketch {
        Sketch {
            lines: vec![Line([0; 8]); capacity.div_ceil(BLOCKS_A_LINE).max(1) as usize],
            door: vec![0; capacity.div_ceil(BLOCKS_A_WORD).max(1) as usize],
            recorded: 0,
            sample: sample.max(1),
        }
    }

    /// Returns the line of a block, its word of the doorkeeper, its two bits there, and the bits
    /// that choose its counters.
    #[inline]
    fn places(&self, block: Block) -> (usize, usize, u64, u64) {
        let (place, bits) = hashes(block);
        let line = (place * self.lines.len() as u64) >> 32;
        let word = (place * self.door.len() as u64) >> 32;
        let marks = 1 << (bits >> 20 & 63) | 1 << (bits >> 26 & 63);
        (line as usize, word as usize, marks, bits)
    }

    /// Counts a use of `block`.
    #[inline]
    pub fn record(&mut self, block: Block) {
        let (line, word, marks, bits) = self.places(block);
        if self.door[word] & marks != marks {
            self.door[word] |= marks;
        } else {
            for (word, shift) in counters(bits) {
                let count = &mut self.lines[line].0[word];
                *count += u64::from((*count >> shift) & COUNT_MAX < COUNT_MAX) << shift;
            }
        }
        self.recorded += 1;
        if self.recorded >= self.sample {
            self.age();
        }
    }

    /// Returns the estimated uses of `block`: never fewer than since the last halving, up to 16.
    #[must_use]
    #[inline]
    pub fn estimate(&self, block: Block) -> u64 {
        let (line, word, marks, bits) = self.places(block);
        let counts =
            counters(bits).map(|(word, shift)| (self.lines[line].0[word] >> shift) & COUNT_MAX);
        let least = counts[0].min(counts[1]).min(counts[2].min(counts[3]));
        least + u64::from(self.door[word] & marks == marks)
    }

    /// Halves every count. Done once per sample of several cache sizes, so each use pays for less
    /// than a word.
    fn age(&mut self) {
        for word in self.lines.iter_mut().flat_map(|line| &mut line.0) {
            *word = (*word >> 1) & 0x7777_7777_7777_7777;
        }
        self.door.fill(0);
        self.recorded /= 2;
    }

    /// Returns the bytes of memory used.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.lines.capacity() * size_of::<Line>() + self.door.capacity() * size_of::<u64>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    #[test]
    fn counts_go_up_to_sixteen_and_are_halved() {
        let (a, b) = (Block(1), Block(2));
        let mut sketch = Sketch::new(1000, 40);
        for uses in 0..30 {
            assert_eq!(sketch.estimate(a), uses.min(16), "one by the door, fifteen by counters");
            sketch.record(a);
        }
        (0..3).for_each(|_| sketch.record(b));
        assert_eq!((sketch.estimate(a), sketch.estimate(b)), (16, 3));
        (0..7).for_each(|_| sketch.record(b));
        // The 40th use halves: 15 and 9 by counters become 7 and 4, and the door is empty.
        assert_eq!((sketch.estimate(a), sketch.estimate(b)), (7, 4));
        (0..19).for_each(|_| sketch.record(a));
        assert_eq!(sketch.estimate(a), 16);
        sketch.record(a);
        assert_eq!(sketch.estimate(a), 7, "after half a sample more, halved again");
        (0..60).for_each(|number| sketch.record(Block(100 + number)));
        assert_eq!(sketch.estimate(a), 0, "three more times: forgotten");
    }

    proptest! {
        /// Never less than the truth since the last halving; the truth if there is room.
        #[test]
        fn estimates_are_bounds(
            capacity in 0u32..600,
            uses in prop::collection::vec(0u64..40, 0..500),
        ) {
            let mut sketch = Sketch::new(capacity, u64::MAX);
            let mut truth: BTreeMap<u64, u64> = BTreeMap::new();
            for &block in &uses {
                sketch.record(Block(block * 977));
                *truth.entry(block).or_default() += 1;
            }
            let mut wrong = 0;
            for (&block, &count) in &truth {
                let estimate = sketch.estimate(Block(block * 977));
                prop_assert!(estimate >= count.min(16), "{} of {}", estimate, count);
                wrong += u32::from(estimate > count);
            }
            prop_assert!(capacity < 500 || wrong <= 2, "{} of 40 too high", wrong);
        }
    }
}
