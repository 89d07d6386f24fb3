//! What a drive does inside while it serves an I/O, for whoever carries it out on a real disk: which
//! data goes where, and what cleaning reads and writes.
//!
//! Such a drive writes its bands in place and keeps blocks in its memory from one I/O to the next, so these steps say
//! what becomes of a block, after the fact. What a host does with zones is decided ahead, step by step, and has rules
//! of its own for what may be lost: those are other steps.

use shingle_core::units::Block;

use crate::io::Stamp;

/// A place on the medium, or in the drive's memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place {
    /// A slot of the buffer.
    Slot(u32),
    /// The block's own place.
    Native,
    /// The drive's memory.
    Memory,
}

/// One step. Those of one I/O come in their order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step {
    /// The host gets a block.
    Read {
        /// Where its newest data is.
        from: Place,
        /// The block.
        block: Block,
    },
    /// The data with a stamp is put somewhere: it is the host's, or in memory.
    Put {
        /// The stamp it was written with.
        stamp: Stamp,
        /// Where.
        to: Place,
        /// The block, for its own place and for memory.
        block: Block,
    },
    /// A run of blocks will be read (unless all of it is at hand), merged with what was collected, and
    /// written back.
    Rewrite {
        /// The first.
        first: Block,
        /// How many.
        blocks: u64,
        /// Whether it is read, and what is merged staged elsewhere first.
        read: bool,
    },
    /// The data of a slot belongs to its block's own place: it is merged into what is rewritten.
    Collect {
        /// The slot.
        slot: u32,
        /// The block.
        block: Block,
    },
    /// What was rewritten and collected since the last such step is written now.
    Written,
}

/// Remembers the steps of a drive from when it is first asked to.
#[derive(Clone, Debug, Default)]
pub struct StepLog {
    steps: Option<Vec<Step>>,
}

impl StepLog {
    /// Steps are remembered from now on; every I/O has to carry stamps then.
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
