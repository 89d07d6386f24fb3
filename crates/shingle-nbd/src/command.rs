//! The commands of an export.

/// A command for an export.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Command {
    /// Read bytes. The result is [`Answer::Data`](crate::export::Answer::Data) or
    /// [`Answer::Pieces`](crate::export::Answer::Pieces).
    Read {
        /// The first byte.
        offset: u64,
        /// The number of bytes.
        length: u32,
    },
    /// Write bytes.
    Write {
        /// The first byte.
        offset: u64,
        /// The bytes; the export may keep the buffer.
        data: Vec<u8>,
        /// The write has to be durable before the reply.
        fua: bool,
    },
    /// Make durable all writes that were answered.
    Flush,
    /// Discard a range. The export chooses what it reads as afterwards.
    Trim {
        /// The first byte.
        offset: u64,
        /// The number of bytes.
        length: u32,
        /// The trim has to be durable before the reply.
        fua: bool,
    },
    /// Prefetch a range. May be ignored.
    Cache {
        /// The first byte.
        offset: u64,
        /// The number of bytes.
        length: u32,
    },
    /// Write zeroes.
    WriteZeroes {
        /// The first byte.
        offset: u64,
        /// The number of bytes. May be far more than the longest payload.
        length: u32,
        /// The zeroes have to be durable before the reply.
        fua: bool,
        /// The space has to stay allocated.
        no_hole: bool,
        /// Fail at once with [`ErrorCode::NotSup`](crate::replies::ErrorCode::NotSup), unless it is
        /// faster than a write.
        fast: bool,
    },
    /// Get the status of a range. The result is [`Answer::Status`](crate::export::Answer::Status).
    BlockStatus {
        /// The first byte.
        offset: u64,
        /// The number of bytes.
        length: u32,
        /// The requested contexts.
        contexts: Contexts,
        /// Only the first extent of each context is wanted.
        one: bool,
    },
}

/// A metadata context. The namespace `shingle` is this project's own.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Context {
    /// `base:allocation`, with [`HOLE`] and [`ZERO`].
    Allocation,
    /// `shingle:dirty`, with [`DIRTY`].
    Dirty,
}

/// Flag of [`Context::Allocation`]: no space is allocated.
pub const HOLE: u32 = 1 << 0;
/// Flag of [`Context::Allocation`]: the range reads as zeroes.
pub const ZERO: u32 = 1 << 1;
/// Flag of [`Context::Dirty`]: the cache has data that the disk does not have yet.
pub const DIRTY: u32 = 1 << 0;

impl Context {
    /// All contexts.
    pub const ALL: [Self; 2] = [Self::Allocation, Self::Dirty];

    /// The name in the protocol.
    pub fn name(self) -> &'static str {
        match self {
            Self::Allocation => "base:allocation",
            Self::Dirty => "shingle:dirty",
        }
    }

    /// The number in the protocol.
    pub fn id(self) -> u32 {
        match self {
            Self::Allocation => 1,
            Self::Dirty => 2,
        }
    }
}

/// A set of contexts.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Contexts {
    /// `base:allocation`
    pub allocation: bool,
    /// `shingle:dirty`
    pub dirty: bool,
}

impl Contexts {
    /// The empty set.
    pub const NONE: Self = Self { allocation: false, dirty: false };

    /// Whether `context` is in the set.
    pub fn has(self, context: Context) -> bool {
        match context {
            Context::Allocation => self.allocation,
            Context::Dirty => self.dirty,
        }
    }

    /// Adds `context`.
    pub fn add(&mut self, context: Context) {
        match context {
            Context::Allocation => self.allocation = true,
            Context::Dirty => self.dirty = true,
        }
    }
}
