//! The results of commands.

use std::borrow::Cow;

use crate::replies::ErrorCode;

/// The result of a command that succeeded.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Answer {
    /// For all commands except READ and BLOCK_STATUS.
    Done,
    /// For READ: all bytes.
    Data(Vec<u8>),
    /// For READ: all bytes, in order, with holes.
    Pieces(Vec<Piece>),
    /// For BLOCK_STATUS: for each requested context, consecutive extents from the offset on. They
    /// may end before or after the range; there must be at least one.
    Status {
        /// The extents of [`Context::Allocation`](crate::export::Context::Allocation).
        allocation: Vec<Extent>,
        /// The extents of [`Context::Dirty`](crate::export::Context::Dirty).
        dirty: Vec<Extent>,
    },
}

/// A part of the data that was read.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Piece {
    /// Bytes.
    Data(Vec<u8>),
    /// This number of zeroes.
    Zeroes(u32),
}

/// A part of a range, with its status in one context.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Extent {
    /// The length in bytes, at least 1; a multiple of the minimum block size.
    pub length_bytes: u64,
    /// Flags of the context.
    pub flags: u32,
}

/// The error of a command.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Failure {
    /// The error number of the protocol.
    pub code: ErrorCode,
    /// The message for users; only clients with structured replies get it.
    pub message: Cow<'static, str>,
    /// The first byte of the export that failed, if known.
    pub offset: Option<u64>,
}

impl Failure {
    /// A failure of the whole command.
    pub fn new(code: ErrorCode, message: impl Into<Cow<'static, str>>) -> Self {
        Self { code, message: message.into(), offset: None }
    }

    /// The error of a request for zeroes only if they are faster than data, which they are not.
    pub fn no_fast_zeroes() -> Self {
        Self::new(ErrorCode::NotSup, "zeroes are written like other data, no faster")
    }

    /// Adds the byte of the export that failed.
    pub fn at(self, offset: u64) -> Self {
        Self { offset: Some(offset), ..self }
    }
}
