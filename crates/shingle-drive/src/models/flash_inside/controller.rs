//! The seam between what decides where blocks go and what carries that out.
//!
//! A controller owns the map and the state of the flash. It has no clock and moves no data: it
//! changes its state and says, step by step and in order, what is to be done. The frame
//! (`work.rs`) carries each step out as it comes: it times it and moves the data, so that a wrong
//! decision shows as a wrong read.

use super::space::Space;
use super::step::Steps;
use crate::parts::flash::EraseBlock;

/// Decides what lies on the flash and what on the disk.
pub(crate) trait Controller: Clone + Send + 'static {
    /// Names of the regions of the flash.
    const REGIONS: &'static [&'static str];

    /// The host writes `count` blocks from `first` on.
    fn write(&mut self, first: u64, count: u64, steps: &mut dyn Steps);

    /// The host no longer needs these blocks.
    fn trim(&mut self, first: u64, count: u64, steps: &mut dyn Steps) {
        let _ = steps;
        self.space_mut().forget_all(first, count);
    }

    /// Nothing may stay in memory.
    fn flush(&mut self, steps: &mut dyn Steps) {
        let _ = steps;
    }

    /// Whether a block is held in memory.
    fn holds(&self, block: u64) -> bool {
        let _ = block;
        false
    }

    /// Whether free blocks should be gained before anything waits for them.
    fn wants(&self) -> bool;

    /// Gains free blocks: one victim, or one band.
    fn collect(&mut self, steps: &mut dyn Steps);

    /// The next free page for a block that was there before the host came; `None` when there is no
    /// room without collecting.
    fn prefill(&mut self) -> Option<EraseBlock>;

    /// Whether what is written back is merged into its band at once, not through the persistent
    /// cache.
    fn rewrites(&self) -> bool;

    /// What lies on the flash.
    fn space(&self) -> &Space;

    /// What lies on the flash.
    fn space_mut(&mut self) -> &mut Space;

    /// Panics if an invariant is broken.
    fn check(&self) {
        self.space().check();
    }
}
