//! One I/O, and its result.

use shingle_core::units::{Block, Nanos, Op};

/// Identifies one written version of a block. Checked runs pass one stamp per block to every write
/// and compare what reads return; a block that was never written reads as 0.
pub type Stamp = u64;

/// One I/O: a run of blocks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Io {
    /// The operation.
    pub op: Op,
    /// First block.
    pub block: Block,
    /// Number of blocks. 0 only for [`Op::Flush`].
    pub count: u64,
}

/// Completion of an I/O, and the spans of its time. The spans add up to `done - start`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Served {
    /// Completion.
    pub done: Nanos,
    /// Command processing and the bus.
    pub command: Nanos,
    /// Arm movement, head switches and settling.
    pub seek: Nanos,
    /// Waiting for the platter.
    pub rotation: Nanos,
    /// Media or flash transfer; under cost timing the whole service time.
    pub transfer: Nanos,
    /// Waiting for cleaning that had to come first.
    pub clean: Nanos,
    /// Waiting for I/O served before, in a drive that queues by itself
    /// ([`channels`](crate::Description::channels)).
    pub wait: Nanos,
}

impl Served {
    /// Adds an I/O served next, beginning where this one ends. With `cleans`, all of it counts as
    /// cleaning.
    pub fn then(&mut self, next: &Served, cleans: bool) {
        if cleans {
            self.clean += next.done.since(self.done);
        } else {
            self.command += next.command;
            self.seek += next.seek;
            self.rotation += next.rotation;
            self.transfer += next.transfer;
            self.clean += next.clean;
            self.wait += next.wait;
        }
        self.done = next.done;
    }

    /// Adds a time without mechanics: all of it counts as transfer.
    pub(crate) fn spend(&mut self, time: Nanos) {
        self.transfer += time;
        self.done += time;
    }
}
