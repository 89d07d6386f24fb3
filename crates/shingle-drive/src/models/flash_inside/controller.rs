//! The interface between the controller, which decides where blocks go, and the frame, which
//! carries that out.
//!
//! A controller owns the map and the state of the flash. It has no clock and moves no data: it
//! changes its state and issues steps, in order. The frame (`work.rs`) carries each step out as it
//! comes: it times it and moves the data, so that a wrong decision shows as a wrong read.

use super::space::Space;
use super::step::Steps;
use crate::parts::flash::EraseBlock;

/// Decides which blocks are on the flash and which on the disk.
pub(crate) trait Controller: Clone + Send + 'static {
    /// Names of the regions of the flash.
    const REGIONS: &'static [&'static str];

    /// Handles a host write of `count` blocks from `first` on.
    fn write(&mut self, first: u64, count: u64, steps: &mut dyn Steps);

    /// Handles a trim of these blocks.
    fn trim(&mut self, first: u64, count: u64, steps: &mut dyn Steps) {
        let _ = steps;
        self.space_mut().forget_all(first, count);
    }

    /// Handles a FLUSH: nothing may stay in memory.
    fn flush(&mut self, steps: &mut dyn Steps) {
        let _ = steps;
    }

    /// Returns whether a block is held in memory.
    fn holds(&self, block: u64) -> bool {
        let _ = block;
        false
    }

    /// Returns whether erase blocks should be freed before any write waits for them.
    fn wants(&self) -> bool;

    /// Frees erase blocks: one victim, or one band.
    fn collect(&mut self, steps: &mut dyn Steps);

    /// Returns the next free page for a block that was there before the host's first I/O; `None` if
    /// there is no room without collecting.
    fn prefill(&mut self) -> Option<EraseBlock>;

    /// Returns whether blocks written back are merged into their band at once, not through the
    /// persistent cache.
    fn rewrites(&self) -> bool;

    fn space(&self) -> &Space;

    fn space_mut(&mut self) -> &mut Space;

    /// Panics if an invariant is broken.
    fn check(&self) {
        self.space().check();
    }
}
