//! One I/O, and what became of it.

use shingle_core::units::{Block, Nanos, Op};

/// Identifies one written version of a block. Checking runs hand a stamp a block to every write and
/// compare what reads return; a block never written reads as 0.
pub type Stamp = u64;

/// One I/O: a run of blocks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Io {
    /// What it does.
    pub op: Op,
    /// First block.
    pub block: Block,
    /// How many blocks. 0 only for [`Op::Flush`].
    pub count: u64,
}

/// When an I/O was done, and where its time went. The spans add up to `done - start`.
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
    /// Waiting for cleaning that had to be done first.
    pub clean: Nanos,
    /// Waiting for I/O served before, in a drive that queues by itself
    /// ([`channels`](crate::Description::channels)).
    pub wait: Nanos,
}

impl Served {
    /// Adds what was served next, from where this ends. All of it counts as cleaning if `cleans`.
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

    /// Adds a time without a head: all of it counts as transfer.
    pub(crate) fn spend(&mut self, time: Nanos) {
        self.transfer += time;
        self.done += time;
    }
}
