//! The region of the disk that the probe writes, and how it empties the buffer.
//!
//! SAC §5.1, step 1: write a range in random order, which evicts everything else from the buffer,
//! then in sequential order, which makes the buffer drop its blocks of the range. The first half is
//! done by writing a small range repeatedly in large random writes, until as many bytes have gone
//! into the log as it can hold: then everything older in the log has been cleaned. (The paper
//! writes the whole range once, which makes the drive clean each of its bands.)
//!
//! A sequential pass that ends within a band leaves the beginning of that band in the buffer. So the
//! region ends at the end of a band, as soon as one border is known.

use std::ops::ControlFlow;

use crate::error::ProbeError;
use crate::permute::Permutation;
use crate::target::{Block, Io, Op, Target};

/// Blocks of the writes that evict and sweep: the largest write that a drive takes as one
/// (Skylight; the Northeastern model).
pub(crate) const LARGE_BLOCKS: u64 = 128;
/// Size of the small range that is written repeatedly.
const SQUEEZE_BLOCKS: u64 = 1 << 16;

/// The region of a target.
pub(crate) struct Scratch<'a> {
    pub(crate) target: &'a mut dyn Target,
    /// The region goes from block 0 to here.
    pub(crate) region_blocks: u64,
    /// The largest possible size of the log, as far as is known.
    pub(crate) log_blocks: u64,
}

impl Scratch<'_> {
    /// Empties the buffer, whatever is in it. Returns the number of blocks written.
    pub(crate) fn empty(&mut self) -> Result<u64, ProbeError> {
        let places = SQUEEZE_BLOCKS.min(self.region_blocks) / LARGE_BLOCKS;
        let writes = self.log_blocks.div_ceil(LARGE_BLOCKS) + places;
        let order = Permutation::new(places, 0x5eed);
        let large = |nth| large(order.get(nth % places) * LARGE_BLOCKS);
        self.run_all((0..writes).map(large))?;
        self.sweep()?;
        Ok(writes * LARGE_BLOCKS + self.region_blocks)
    }

    /// Empties the buffer of blocks of the region.
    pub(crate) fn sweep(&mut self) -> Result<(), ProbeError> {
        let end = self.region_blocks;
        let piece = |block| Io { count: LARGE_BLOCKS.min(end - block), ..large(block) };
        let flush = Io { op: Op::Flush, block: Block(0), count: 0 };
        self.run_all((0..end).step_by(LARGE_BLOCKS as usize).map(piece).chain([flush]))
    }

    /// Executes `ios` one after another.
    pub(crate) fn run_all(&mut self, ios: impl Iterator<Item = Io>) -> Result<(), ProbeError> {
        self.run_each(ios, |_| ControlFlow::Continue(()))
    }

    /// Executes `ios` one after another, and returns the latency of each in microseconds.
    pub(crate) fn latencies_us(
        &mut self,
        ios: impl Iterator<Item = Io>,
    ) -> Result<Vec<u64>, ProbeError> {
        let mut times = Vec::new();
        self.run_each(ios, |us| {
            times.push(us);
            ControlFlow::Continue(())
        })?;
        Ok(times)
    }

    /// Executes `ios` one after another. `seen` gets the latency of each in microseconds.
    pub(crate) fn run_each(
        &mut self,
        mut ios: impl Iterator<Item = Io>,
        mut seen: impl FnMut(u64) -> ControlFlow<()>,
    ) -> Result<(), ProbeError> {
        self.target.run(1, &mut || ios.next(), &mut |done| seen(done.latency().0 / 1000))?;
        Ok(())
    }
}

/// Makes a write of [`LARGE_BLOCKS`].
pub(crate) fn large(block: u64) -> Io {
    Io { count: LARGE_BLOCKS, ..write(block) }
}

pub(crate) fn write(block: u64) -> Io {
    Io { op: Op::Write, block: Block(block), count: 1 }
}
