//! The internal steps of a drive while it serves an I/O, for carrying them out on a real disk:
//! which data goes where, and what cleaning reads and writes.
//!
//! Such a drive writes its bands in place and keeps blocks in its memory from one I/O to the next,
//! so these steps describe where a block went, after the fact. The steps of a translation are
//! different: a host decides them ahead, one by one, and has rules for what may be lost.

use shingle_core::units::Block;

use crate::io::Stamp;

/// A place on the medium, or in the drive's memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place {
    /// A slot of the buffer.
    Slot(u32),
    /// The native place of the block.
    Native,
    /// The drive's memory.
    Memory,
}

/// One step. The steps of one I/O are in order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step {
    /// A block is returned to the host.
    Read {
        /// Place of its newest data.
        from: Place,
        /// The block.
        block: Block,
    },
    /// The data with a stamp, from the host or from memory, is stored.
    Put {
        /// The stamp it was written with.
        stamp: Stamp,
        /// The place.
        to: Place,
        /// The block, for its native place and for memory.
        block: Block,
    },
    /// A run of blocks will be read (unless all of it is buffered), merged with the collected
    /// blocks, and written back.
    Rewrite {
        /// The first.
        first: Block,
        /// How many.
        blocks: u64,
        /// Whether it is read, and the merged data staged elsewhere first.
        read: bool,
    },
    /// The data of a slot is collected: it is merged into the blocks being rewritten.
    Collect {
        /// The slot.
        slot: u32,
        /// The block.
        block: Block,
    },
    /// The blocks rewritten and collected since the last such step have been written.
    Written,
}

/// Records the steps of a drive, once enabled.
#[derive(Clone, Debug, Default)]
pub struct StepLog {
    steps: Option<Vec<Step>>,
}

impl StepLog {
    /// Starts recording; from now on every I/O must carry stamps.
    pub fn begin(&mut self) {
        self.steps.get_or_insert_default();
    }

    /// Moves the steps since the last call into `steps`.
    pub fn take(&mut self, steps: &mut Vec<Step>) {
        if let Some(remembered) = &mut self.steps {
            steps.append(remembered);
        }
    }

    pub(crate) fn add(&mut self, step: Step) {
        if let Some(steps) = &mut self.steps {
            steps.push(step);
        }
    }
}
