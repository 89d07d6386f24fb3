//! What an export is asked.

/// What an export has to do.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Command {
    /// Read. Answered by [`Answer::Data`](crate::export::Answer::Data) or
    /// [`Answer::Pieces`](crate::export::Answer::Pieces).
    Read {
        /// First byte.
        offset: u64,
        /// Bytes.
        length: u32,
    },
    /// Write.
    Write {
        /// First byte.
        offset: u64,
        /// The bytes; the export may keep the buffer.
        data: Vec<u8>,
        /// Durable before it is answered.
        fua: bool,
    },
    /// Make durable all writes that were answered.
    Flush,
    /// A range is no longer needed. What it reads as afterwards is the export's choice.
    Trim {
        /// First byte.
        offset: u64,
        /// Bytes.
        length: u32,
        /// Durable before it is answered.
        fua: bool,
    },
    /// A range will be read soon. May be ignored.
    Cache {
        /// First byte.
        offset: u64,
        /// Bytes.
        length: u32,
    },
    /// Write zeroes.
    WriteZeroes {
        /// First byte.
        offset: u64,
        /// Bytes. May be far more than the longest payload.
        length: u32,
        /// Durable before it is answered.
        fua: bool,
        /// The space has to stay allocated.
        no_hole: bool,
        /// Fail at once with [`ErrorCode::NotSup`](crate::replies::ErrorCode::NotSup) unless it is faster than writing.
        fast: bool,
    },
    /// Tell what is known of a range. Answered by [`Answer::Status`](crate::export::Answer::Status).
    BlockStatus {
        /// First byte.
        offset: u64,
        /// Bytes.
        length: u32,
        /// Which contexts are asked for.
        contexts: Contexts,
        /// Only the first extent of each is wanted.
        one: bool,
    },
}

/// What is known of blocks, by name. The namespace `shingle` is this project's own.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Context {
    /// `base:allocation`, with [`HOLE`] and [`ZERO`].
    Allocation,
    /// `shingle:dirty`, with [`DIRTY`].
    Dirty,
}

/// Flag of [`Context::Allocation`]: there is no space behind it.
pub const HOLE: u32 = 1 << 0;
/// Flag of [`Context::Allocation`]: it reads as zeroes.
pub const ZERO: u32 = 1 << 1;
/// Flag of [`Context::Dirty`]: the cache holds what the disk does not have yet.
pub const DIRTY: u32 = 1 << 0;

impl Context {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::Allocation, Self::Dirty];

    /// Its name in the protocol.
    pub fn name(self) -> &'static str {
        match self {
            Self::Allocation => "base:allocation",
            Self::Dirty => "shingle:dirty",
        }
    }

    /// Its number in the protocol.
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
    /// None of them.
    pub const NONE: Self = Self { allocation: false, dirty: false };

    /// Whether `context` is among them.
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
