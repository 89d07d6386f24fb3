//! Commands of a client and their answers, and what is known of one that is carried out.

use std::fmt;

use shingle_core::units::{Op, Request};

use super::losses::Connection;
use crate::buffer::Buffer;
use crate::data::Data;

/// What a client wants.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum CommandOp {
    /// Data.
    Read,
    /// Data kept.
    Write,
    /// The data is no longer needed: advice.
    Trim,
    /// As a write of zeros.
    WriteZeroes,
    /// Everything answered before is durable when this is.
    Flush,
}

impl From<Op> for CommandOp {
    fn from(op: Op) -> CommandOp {
        match op {
            Op::Read => CommandOp::Read,
            Op::Write => CommandOp::Write,
            Op::Trim => CommandOp::Trim,
            Op::Flush => CommandOp::Flush,
        }
    }
}

/// A command.
pub struct Command<D: Data = Buffer> {
    /// Comes back with the reply.
    pub id: u64,
    /// Who wants it: a FLUSH tells each connection of its own that writes may be lost.
    pub connection: Connection,
    /// What.
    pub op: CommandOp,
    /// First byte. Of no meaning for a flush.
    pub offset: u64,
    /// How many.
    pub bytes: u64,
    /// The reply comes when this command itself is durable.
    pub fua: bool,
    /// What is written: as long as `bytes`.
    pub data: D::Payload,
}

impl<D: Data> Command<D> {
    /// One of this process itself, without FUA and with nothing to write: what differs is set on it.
    #[must_use]
    pub fn new(id: u64, op: CommandOp, offset: u64, bytes: u64) -> Command<D> {
        let (connection, data) = (Connection::default(), D::Payload::default());
        Command { id, connection, op, offset, bytes, fua: false, data }
    }
}

impl<D: Data> Clone for Command<D> {
    fn clone(&self) -> Command<D> {
        Command { data: self.data.clone(), ..*self }
    }
}

impl<D: Data> fmt::Debug for Command<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Command { id, op, offset, bytes, fua, .. } = self;
        write!(f, "{id}: {op:?} of {bytes} bytes from {offset}{}", if *fua { ", FUA" } else { "" })
    }
}

/// An error number of Linux, as clients know them.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Errno(pub i32);

impl Errno {
    /// A device failed, or data is damaged.
    pub const IO: Errno = Errno(5);
    /// Beyond the end, or data of the wrong length.
    pub const INVALID: Errno = Errno(22);
    /// Room could not be made in time, as the disk takes nothing.
    pub const TIMED_OUT: Errno = Errno(110);
    /// The engine is being shut down.
    pub const SHUT_DOWN: Errno = Errno(108);
}

/// The answer to a command.
#[derive(Clone)]
pub struct Reply<D: Data = Buffer> {
    /// Of the command.
    pub id: u64,
    /// Data, if it was a read.
    pub result: Result<D::Payload, Errno>,
}

/// A command that is carried out.
#[derive(Clone)]
pub(super) struct Running<D: Data> {
    pub(super) command: Command<D>,
    pub(super) request: Request,
    pub(super) number: u64,
    /// The next of its blocks to begin, and the one after the last.
    pub(super) next: u64,
    pub(super) end: u64,
    /// Blocks that were begun and are not done.
    pub(super) outstanding: u32,
    pub(super) error: Option<Errno>,
    /// Some of what it writes is in the cache, and in no committed record when it got there.
    pub(super) in_cache: bool,
    /// Part of a long sequential run.
    pub(super) sequential: bool,
    /// The last of its own writes to the disk, by number.
    pub(super) on_disk: u64,
    /// Losses that its connection had been told of when it came.
    pub(super) knew: u64,
    /// What must be committed, and what the disk must have flushed, before it is answered.
    pub(super) needs: Option<(u64, u64)>,
}
