//! What an export answers.

use std::borrow::Cow;

use crate::replies::ErrorCode;

/// What a command that went well is answered with.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Answer {
    /// All but READ and BLOCK_STATUS.
    Done,
    /// READ: all bytes.
    Data(Vec<u8>),
    /// READ: all bytes, in order, with holes.
    Pieces(Vec<Piece>),
    /// BLOCK_STATUS: for each context that was asked for, extents that follow one another from the
    /// offset on. They may end early or reach beyond the range; there must be one at least.
    Status {
        /// Of [`Context::Allocation`](crate::export::Context::Allocation).
        allocation: Vec<Extent>,
        /// Of [`Context::Dirty`](crate::export::Context::Dirty).
        dirty: Vec<Extent>,
    },
}

/// A part of what is read.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Piece {
    /// Bytes.
    Data(Vec<u8>),
    /// So many zeroes.
    Zeroes(u32),
}

/// A part of a range, and what one context says of it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Extent {
    /// Bytes, at least 1; a multiple of the minimum block size.
    pub length_bytes: u64,
    /// In the meaning of the context.
    pub flags: u32,
}

/// Why a command failed.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Failure {
    /// In the numbers of the protocol.
    pub code: ErrorCode,
    /// For people; only clients with structured replies get to see it.
    pub message: Cow<'static, str>,
    /// The first byte of the export that failed, if that is known.
    pub offset: Option<u64>,
}

impl Failure {
    /// A failure of the whole command.
    pub fn new(code: ErrorCode, message: impl Into<Cow<'static, str>>) -> Self {
        Self { code, message: message.into(), offset: None }
    }

    /// What is asked for is zeroes that are quicker than data, and here are none.
    pub fn no_fast_zeroes() -> Self {
        Self::new(ErrorCode::NotSup, "zeroes are written like other data, no faster")
    }

    /// The same, at a byte of the export.
    pub fn at(self, offset: u64) -> Self {
        Self { offset: Some(offset), ..self }
    }
}
