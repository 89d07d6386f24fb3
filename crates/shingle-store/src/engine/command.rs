//! Commands of a client: cut into operations on blocks, a window of them at a time, and answered
//! when all are done.

use std::collections::VecDeque;

use shingle_core::units::{BLOCK_BYTES, Block, Nanos, Op, Request};
use shingle_core::witness::Event;
use slab::Slab;

use super::bugs::Bug;
use super::lookup::BlockOp;
use super::{Engine, OpKey};
use crate::buffer::Buffer;

/// What a client wants.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
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

/// A command.
#[derive(Clone, Debug)]
pub struct Command {
    /// Comes back with the reply.
    pub id: u64,
    /// What.
    pub op: CommandOp,
    /// First byte. Of no meaning for a flush.
    pub offset: u64,
    /// How many.
    pub bytes: u64,
    /// The reply comes when this command itself is durable.
    pub fua: bool,
    /// What is written: as long as `bytes`.
    pub data: Vec<u8>,
}

/// An error number of Linux, as clients know them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
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
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Reply {
    /// Of the command.
    pub id: u64,
    /// Data, if it was a read.
    pub result: Result<Vec<u8>, Errno>,
}

/// Blocks of one command that are worked on at a time.
const WINDOW: u32 = 1024;

/// A command that is carried out.
pub(super) struct Running {
    pub(super) command: Command,
    pub(super) request: Request,
    pub(super) number: u64,
    pub(super) next: u64,
    pub(super) end: u64,
    pub(super) outstanding: u32,
    pub(super) error: Option<Errno>,
    /// Some of what it writes is in the cache, and in no committed record when it got there.
    pub(super) in_cache: bool,
    /// Part of a long sequential run.
    pub(super) sequential: bool,
    /// What must be committed, and what the disk must have flushed, before it is answered.
    pub(super) needs: Option<(u64, u64)>,
}

/// All commands.
#[derive(Default)]
pub(super) struct Commands {
    waiting: VecDeque<Command>,
    pub(super) running: Slab<Running>,
    /// Those whose blocks are not all begun.
    unfinished: VecDeque<usize>,
    /// Those that wait until they are durable.
    pub(super) durable: Vec<usize>,
    numbers: u64,
    pub(super) last_at: Nanos,
}

impl Commands {
    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty() && self.running.is_empty()
    }

    pub(super) fn get(&mut self, key: usize) -> &mut Running {
        &mut self.running[key]
    }

    /// All that are under way.
    pub(super) fn all(&mut self) -> impl Iterator<Item = &mut Running> {
        self.running.iter_mut().map(|(_, running)| running)
    }

    pub(super) fn of(&self, key: usize) -> &Running {
        &self.running[key]
    }
}

impl Engine {
    /// Whether there is room for another command: otherwise wait for replies.
    #[must_use]
    pub fn accepts(&self) -> bool {
        self.commands.waiting.len() < self.config.depth
    }

    /// A client wants something. It is answered by a [`Reply`] with its id.
    pub fn submit(&mut self, command: Command) {
        self.commands.last_at = self.now;
        let refused = if self.stopping.begun() {
            Some(Errno::SHUT_DOWN)
        } else {
            (!self.is_valid(&command)).then_some(Errno::INVALID)
        };
        match refused {
            Some(errno) => self.replies.push(Reply { id: command.id, result: Err(errno) }),
            None => self.commands.waiting.push_back(command),
        }
    }

    fn is_valid(&self, command: &Command) -> bool {
        let end = command.offset.checked_add(command.bytes);
        let data = if command.op == CommandOp::Write { command.bytes } else { 0 };
        command.op == CommandOp::Flush
            || end.is_some_and(|end| end <= self.disk_blocks * BLOCK_BYTES)
                && command.data.len() as u64 == data
    }

    pub(super) fn start_commands(&mut self) {
        while self.commands.running.len() < self.config.depth
            && let Some(command) = self.commands.waiting.pop_front()
        {
            self.begin_command(command);
        }
        for _ in 0..self.commands.unfinished.len() {
            let Some(key) = self.commands.unfinished.pop_front() else { break };
            if self.advance(key) {
                self.commands.unfinished.push_back(key);
            }
        }
    }

    fn begin_command(&mut self, mut command: Command) {
        let op = match command.op {
            CommandOp::Read => Op::Read,
            CommandOp::Write | CommandOp::WriteZeroes => Op::Write,
            CommandOp::Trim => Op::Trim,
            CommandOp::Flush => Op::Flush,
        };
        if op == Op::Flush {
            (command.offset, command.bytes) = (0, 0);
        }
        let Command { offset, bytes, .. } = command;
        let request = Request { at: self.now, offset, bytes, op };
        self.tell(|| Event::Request(request));
        let (mut next, mut end) = (request.first().0, request.first().0 + request.blocks());
        let mut sequential = false;
        match op {
            Op::Read | Op::Write => {
                sequential = self.streams.is_long(&request, self.config.sequential_bytes);
                if op == Op::Read {
                    command.data = vec![0; bytes as usize];
                }
            }
            Op::Trim => {
                self.trim(&request);
                (next, end) = (0, 0);
            }
            Op::Flush => (next, end) = (0, 0),
        }
        let number = self.commands.numbers;
        self.commands.numbers += 1;
        let running = Running {
            command,
            request,
            number,
            next,
            end,
            outstanding: 0,
            error: None,
            in_cache: false,
            sequential,
            needs: None,
        };
        let key = self.commands.running.insert(running);
        if next == end {
            self.all_blocks_done(key);
        } else if self.advance(key) {
            self.commands.unfinished.push_back(key);
        }
    }

    /// Begins blocks of a command; returns whether there are more.
    fn advance(&mut self, key: usize) -> bool {
        loop {
            let running = &mut self.commands.running[key];
            if running.next == running.end {
                return false;
            }
            if running.outstanding == WINDOW {
                return true;
            }
            let block = Block(running.next);
            running.next += 1;
            running.outstanding += 1;
            let request = running.request;
            let from = request.offset.saturating_sub(block.bytes());
            let to = (request.offset + request.bytes - block.bytes()).min(BLOCK_BYTES);
            let place = (block.0 - request.first().0) as u32;
            let write = request.op == Op::Write;
            let op = BlockOp::new(key, block, place, write, from as u16..to as u16, self.now);
            let op = self.ops.insert(op);
            if self.bug(Bug::OverlapsUnordered) || self.locks.take(block, op) {
                self.ready.push_back(op);
            }
        }
    }

    /// The bytes that a write brings for a block go into `buffer`.
    pub(super) fn merge(&mut self, op: OpKey, buffer: &mut Buffer) {
        let op = &self.ops[op];
        let running = &self.commands.running[op.command];
        let part = usize::from(op.part.start)..usize::from(op.part.end);
        if running.command.op == CommandOp::WriteZeroes {
            buffer.0[part].fill(0);
        } else {
            let at =
                (op.block.bytes() + u64::from(op.part.start) - running.request.offset) as usize;
            buffer.0[part.clone()].copy_from_slice(&running.command.data[at..at + part.len()]);
        }
    }

    /// The bytes that a read wants of a block are in `buffer`.
    pub(super) fn deliver(&mut self, op: OpKey, buffer: &Buffer) {
        let op = &self.ops[op];
        let running = &mut self.commands.running[op.command];
        let part = usize::from(op.part.start)..usize::from(op.part.end);
        let at = (op.block.bytes() + u64::from(op.part.start) - running.request.offset) as usize;
        running.command.data[at..at + part.len()].copy_from_slice(&buffer.0[part]);
    }
}
