//! What a user may ask of a probe.

use serde::{Deserialize, Serialize};
use shingle_core::units::BLOCK_BYTES;

use crate::bands::MARKS;
use crate::target::{Block, Nanos};

/// Size of a write, and how many are under way at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Writes {
    /// Blocks.
    pub blocks: u64,
    /// At once.
    pub depth: u32,
}

/// See the module. All of it changes what is measured.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Options {
    /// The most that a buffer may hold, in bytes (the paper's C).
    pub buffer_max_bytes: u64,
    /// The largest band there may be, in bytes.
    pub band_max_bytes: u64,
    /// For which writes the capacity is wanted. The first should be of one block, one at a time.
    pub writes: Vec<Writes>,
    /// At how many places bands are looked for.
    pub sites: u64,
    /// Bytes of a reading step.
    pub step_bytes: u64,
    /// Blocks of the zones that `R(x)` is of.
    pub zone_blocks: u64,
    /// Blocks written of each zone, a measurement each.
    pub coverages: Vec<u64>,
    /// Zones of each coverage.
    pub zones: u64,
    /// How long to wait for cleaning in idle time.
    pub idle_max: u64,
    /// Order of everything.
    pub seed: u64,
}

impl Default for Options {
    /// SAC's Table 3, zones and coverages.
    fn default() -> Options {
        let writes = [(1, 1), (2, 1), (1, 32), (2, 32), (64, 1)];
        Options {
            buffer_max_bytes: 40 << 30,
            band_max_bytes: 64 << 20,
            writes: writes.map(|(blocks, depth)| Writes { blocks, depth }).to_vec(),
            sites: 24,
            step_bytes: 256 << 10,
            zone_blocks: 5000,
            coverages: vec![500, 1000, 1500, 2000, 2500],
            zones: 240,
            idle_max: 30,
            seed: 1,
        }
    }
}

impl Options {
    /// Blocks from a place to either end of what is read of it.
    pub(crate) fn half_blocks(&self) -> u64 {
        self.band_max_bytes / BLOCK_BYTES * 5 / 4
    }

    /// Blocks of a reading step.
    pub(crate) fn step_blocks(&self) -> u64 {
        (self.step_bytes / BLOCK_BYTES).next_multiple_of(MARKS).max(MARKS)
    }

    /// The longest idle time.
    #[must_use]
    pub fn idle_max(&self) -> Nanos {
        Nanos::from_millis(self.idle_max * 1000)
    }

    /// Where bands are looked for, on a disk of `blocks`: evenly, from the start to the end.
    pub(crate) fn places(&self, blocks: u64) -> Vec<Block> {
        let half = self.half_blocks();
        let span = blocks.saturating_sub(2 * half);
        (0..self.sites).map(|nth| Block(half + span * nth / (self.sites - 1).max(1))).collect()
    }
}
