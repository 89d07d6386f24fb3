//! What a translation has an [`Executor`](crate::Executor) do.

use std::ops::Range;

use shingle_core::units::{Block, Zone};

/// Where blocks lie on the disk.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place {
    /// In the buffer: blocks from this one on, counted from the start of the buffer.
    Buffer(u64),
    /// In sequential zones: blocks from this one on, counted from the start of the first sequential
    /// zone. They lie below the write pointer.
    Native(u64),
    /// Nowhere: never written. Reads as zeros, without I/O.
    Nowhere,
}

impl Place {
    /// The place `count` blocks further on.
    #[must_use]
    pub fn after(self, count: u64) -> Place {
        match self {
            Place::Buffer(at) => Place::Buffer(at + count),
            Place::Native(at) => Place::Native(at + count),
            Place::Nowhere => Place::Nowhere,
        }
    }

    /// Which block of the disk it is, if the sequential zones begin at `first_sequential` and the buffer at the
    /// start; none for [`Place::Nowhere`].
    #[must_use]
    pub fn on_disk(self, first_sequential: Block) -> Option<Block> {
        match self {
            Place::Buffer(at) => Some(Block(at)),
            Place::Native(at) => Some(first_sequential.after(at)),
            Place::Nowhere => None,
        }
    }
}

/// Neighbouring blocks that lie together.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Piece {
    /// Where the first of them lies.
    pub place: Place,
    /// How many.
    pub count: u64,
}

/// One I/O, or a point between I/Os. Steps are carried out in the order given, each after the one
/// before is done. Only a read that goes on where the read just before it ended, a write into the
/// buffer that goes on where the write just before it ended, or an append to the zone just appended to, may be
/// joined with it to one I/O: neighbours on the disk need not be neighbours to the host.
///
/// The order is what makes a translation safe to carry out on a real disk: data are written, then
/// [`Step::Commit`] makes the map that names their new place durable, and only then may a step write
/// over an old copy or reset its zone.
///
/// *Memory* is the executor's. It holds blocks of the host by their address: those that the host is
/// writing, and those that steps have read. It is empty when a [`Work`](crate::Work) begins, but for the
/// data of a write, and is dropped at its end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step {
    /// Reads `count` blocks at `from` into memory, where they are the host's blocks `block..`. Blocks
    /// that memory has already from the host's write under way stay as they are; those of an earlier
    /// step are replaced.
    Read {
        /// Where they lie.
        from: Place,
        /// Whose place in memory they take.
        block: Block,
        /// How many.
        count: u64,
    },
    /// Reads `count` blocks at `from` and drops them: what lies between two runs that one I/O is to read.
    Over {
        /// Where they lie.
        from: Place,
        /// How many.
        count: u64,
    },
    /// Writes blocks `block..` from memory, which has them all, into the buffer.
    Buffer {
        /// The first of them.
        block: Block,
        /// How many.
        count: u64,
        /// Where to, in blocks from the start of the buffer.
        at: u64,
    },
    /// Writes blocks `block..` from memory at the write pointer of a zone. What memory does not have is
    /// synthesized: zeros that nobody will read.
    Append {
        /// The zone, counted from the first sequential one.
        zone: Zone,
        /// The first of the blocks.
        block: Block,
        /// How many.
        count: u64,
    },
    /// Moves the write pointer of a zone back to its start.
    Reset {
        /// The zone, counted from the first sequential one.
        zone: Zone,
    },
    /// All steps before are to be durable, and then the map as it is now, before any step after.
    Commit,
}

impl Step {
    /// The host's blocks that it moves; none, where it moves blocks that are no longer anybody's.
    #[must_use]
    pub fn blocks(self) -> Range<u64> {
        match self {
            Step::Read { block, count, .. }
            | Step::Buffer { block, count, .. }
            | Step::Append { block, count, .. } => block.0..block.0 + count,
            Step::Over { .. } | Step::Reset { .. } | Step::Commit => 0..0,
        }
    }
}
