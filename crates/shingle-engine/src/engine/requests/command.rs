//! Commands of clients, their replies, and the state of a command in progress.

use std::fmt;

use shingle_core::units::{Op, Request};

use super::losses::Connection;
use crate::buffer::Buffer;
use crate::data::Data;

/// The kind of a command.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum CommandOp {
    /// Read data.
    Read,
    /// Write data.
    Write,
    /// The data is no longer needed. This is advice only.
    Trim,
    /// Write zeros.
    WriteZeroes,
    /// Make everything durable that was answered before the flush was submitted.
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
    /// Returned with the reply.
    pub id: u64,
    /// The connection that sent it: a FLUSH tells each connection once that writes may be lost.
    pub connection: Connection,
    /// The kind.
    pub op: CommandOp,
    /// The first byte. Ignored for a flush.
    pub offset: u64,
    /// The length.
    pub bytes: u64,
    /// Reply only when this command itself is durable.
    pub fua: bool,
    /// The data of a write: `bytes` long.
    pub data: D::Payload,
}

impl<D: Data> Command<D> {
    /// A command of this process itself, without FUA and data. The caller sets what differs.
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

/// An error number of Linux, as clients know it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Errno(pub i32);

impl Errno {
    /// A device failed, or data is damaged.
    pub const IO: Errno = Errno(5);
    /// The range ends beyond the disk, or the data has the wrong length.
    pub const INVALID: Errno = Errno(22);
    /// No slot became free in time, because the disk takes nothing.
    pub const TIMED_OUT: Errno = Errno(110);
    /// The engine is being shut down.
    pub const SHUT_DOWN: Errno = Errno(108);
}

/// The reply to a command.
#[derive(Clone)]
pub struct Reply<D: Data = Buffer> {
    /// The id of the command.
    pub id: u64,
    /// The data of a read.
    pub result: Result<D::Payload, Errno>,
}

#[derive(Clone)]
pub(super) struct Running<D: Data> {
    pub(super) command: Command<D>,
    pub(super) request: Request,
    pub(super) number: u64,
    /// The next block to begin, and the end of the range.
    pub(super) next: u64,
    pub(super) end: u64,
    /// Blocks begun and not done.
    pub(super) outstanding: u32,
    pub(super) error: Option<Errno>,
    /// A part of its data is in the cache, and was not committed when it got there.
    pub(super) in_cache: bool,
    /// It belongs to a long sequential run.
    pub(super) sequential: bool,
    /// The number of its last write to the disk.
    pub(super) on_disk: u64,
    /// The number of losses that had been reported to its connection when it arrived.
    pub(super) reported: u64,
    /// The record to be committed, and the write to be flushed, before it is answered.
    pub(super) needs: Option<(u64, u64)>,
}
