//! The steps of a translation, for its [`Executor`](crate::Executor).

use std::ops::Range;

use shingle_core::units::{Block, Zone};

/// A place of blocks on the disk.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place {
    /// In the buffer: blocks from this one on, counted from the start of the buffer.
    Buffer(u64),
    /// In sequential zones: blocks from this one on, counted from the start of the first sequential
    /// zone, below the write pointer.
    Native(u64),
    /// Nowhere: never written. Reads as zeros, without I/O.
    Nowhere,
}

impl Place {
    /// Returns the place `count` blocks further on.
    #[must_use]
    pub fn after(self, count: u64) -> Place {
        match self {
            Place::Buffer(at) => Place::Buffer(at + count),
            Place::Native(at) => Place::Native(at + count),
            Place::Nowhere => Place::Nowhere,
        }
    }

    /// Returns the block of the disk, if the sequential zones begin at `first_sequential` and the
    /// buffer at the start; `None` for [`Place::Nowhere`].
    #[must_use]
    pub fn on_disk(self, first_sequential: Block) -> Option<Block> {
        match self {
            Place::Buffer(at) => Some(Block(at)),
            Place::Native(at) => Some(first_sequential.after(at)),
            Place::Nowhere => None,
        }
    }
}

/// Neighbouring blocks that are stored together.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Piece {
    /// Place of the first of them.
    pub place: Place,
    /// How many.
    pub count: u64,
}

/// One I/O, or a point between I/Os. Steps are carried out in order, each after the one before is
/// done. Three kinds may be joined to one I/O with the step just before: a read that begins where a
/// read ended, a write into the buffer that begins where such a write ended, and an append to the
/// same zone. Neighbours on the disk need not be neighbours to the host.
///
/// The order makes a translation safe on a real disk: data is written, then [`Step::Commit`] makes
/// the map with its new place durable, and only then may a step overwrite an old copy or reset its
/// zone.
///
/// *Memory* belongs to the executor. It holds blocks of the host by address: those that the host is
/// writing, and those that steps have read. It is empty when a [`Work`](crate::Work) begins, except
/// for the data of a write, and is dropped at its end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step {
    /// Reads `count` blocks at `from` into memory, as the host's blocks `block..`. Blocks of the
    /// host's current write are kept; those of an earlier step are replaced.
    Read {
        /// Their place.
        from: Place,
        /// Their first block in memory.
        block: Block,
        /// How many.
        count: u64,
    },
    /// Reads `count` blocks at `from` and drops them: blocks between two runs that are read as one
    /// I/O.
    Over {
        /// Their place.
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
        /// Destination, in blocks from the start of the buffer.
        at: u64,
    },
    /// Writes blocks `block..` from memory at the write pointer of a zone. Blocks that are not in
    /// memory are synthesized as zeros, which are never read.
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
    /// Makes all earlier steps durable, and then the current map, before any later step.
    Commit,
}

impl Step {
    /// Returns the host's blocks that it moves; none if they are no longer in use.
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
