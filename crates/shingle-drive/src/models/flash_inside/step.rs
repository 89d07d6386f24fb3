//! The steps that a controller issues to the frame (`work.rs`).

use crate::parts::flash::{EraseBlock, Page};

/// One step. Pages and erase blocks are of the flash, blocks of the disk.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Step {
    /// A block the host writes now goes to `page`.
    Program { block: u64, page: Page },
    /// Blocks that the host writes now are held in memory.
    Hold { first: u64, count: u64 },
    /// A block that was held goes to `page`. Its time was counted when it was held.
    Settle { block: u64, page: Page },
    /// Blocks go to the disk, through its persistent cache; the host writes them now, or they were
    /// `held`.
    ToDisk { first: u64, count: u64, held: bool },
    /// Blocks that the host writes now go straight to their native place, as there is no needed
    /// data behind them in their band.
    ToBand { first: u64, count: u64 },
    /// A valid page is copied within the flash.
    Copy { from: Page, to: Page },
    /// A valid page is read, to be written to the disk with the others read since the last
    /// write-back.
    Load { block: u64, page: Page },
    /// The pages read go to the disk, through its persistent cache.
    WriteBack,
    /// The pages read, all of one band, are merged into it (RMW).
    Rewrite,
    /// An erase block is erased, after all steps before.
    Erase(EraseBlock),
}

/// Carries out the steps of a controller.
pub(crate) trait Steps {
    fn step(&mut self, step: Step);
}

/// Records steps instead of carrying them out.
#[cfg(test)]
#[derive(Default)]
pub(super) struct Recorder(pub(super) Vec<Step>);

#[cfg(test)]
impl Steps for Recorder {
    fn step(&mut self, step: Step) {
        self.0.push(step);
    }
}

#[cfg(test)]
impl Recorder {
    pub(super) fn take(&mut self) -> Vec<Step> {
        std::mem::take(&mut self.0)
    }
}
