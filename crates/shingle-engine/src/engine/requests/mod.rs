//! Requests of clients: commands, split into operations on blocks, a window of them at a time; the
//! queues in which operations wait; and the replies, with the losses that they report.
//!
//! An operation is in one place at a time: it waits for the lock of its block, is ready, waits for
//! room or for a frame, or has I/O in flight. Otherwise another module holds its key and returns it
//! later.

mod answers;
mod block;
mod command;
mod locks;
mod losses;
#[cfg(feature = "bugs")]
mod state;

use std::collections::VecDeque;
use std::ops::Range;

use shingle_core::observer::{Event, Shared};
use shingle_core::policy::Access;
use shingle_core::service::Service;
use shingle_core::units::{BLOCK_BYTES, Block, Nanos, Op, Request, Slot};
use slab::Slab;

pub(super) use answers::Promise;
pub(super) use block::{BlockOp, Stage};
pub use command::{Command, CommandOp, Errno, Reply};
pub use losses::Connection;

use super::contents::Contents;
use super::keys::{CommandKey, OpKey};
use super::status::Counts;
use crate::bugs::{Bug, Seeded};
use crate::data::Data;
use command::Running;

/// The highest number of blocks of one command in progress.
const WINDOW: u32 = 1024;

/// Commands, their operations, and the queues.
#[derive(Clone)]
pub(super) struct Requests<D: Data> {
    /// The number of commands in progress at a time; as many more wait.
    depth: usize,
    disk_blocks: u64,
    /// Commands that wait, with the number of losses that had been reported to their connection when
    /// they arrived.
    waiting: VecDeque<(Command<D>, u64)>,
    running: Slab<Running<D>>,
    /// Commands in progress whose blocks are not all begun.
    unfinished: VecDeque<CommandKey>,
    /// Commands that wait until they are durable.
    durable: Vec<CommandKey>,
    /// The number of commands begun so far.
    numbers: u64,
    ops: Slab<BlockOp<D>>,
    locks: locks::Locks,
    /// Operations that hold their lock and may begin, or resume.
    ready: VecDeque<OpKey>,
    /// Blocks that are being trimmed on the disk: operations on them wait.
    trimming: Option<Range<u64>>,
    /// Those operations. They hold the lock of their block.
    trim_queue: Vec<OpKey>,
    /// Operations that wait for a slot, in order.
    room_queue: VecDeque<OpKey>,
    /// Operations that wait for a free frame, in order.
    frame_queue: VecDeque<OpKey>,
    losses: losses::Losses,
    replies: Vec<Reply<D>>,
    /// Counts of blocks: the part of the status about requests.
    counts: Counts,
    observer: Option<Shared>,
    bugs: Seeded,
}

/// A command that has begun.
pub(super) struct Begun {
    pub(super) command: CommandKey,
    /// There are no blocks to work on.
    pub(super) is_done: bool,
    pub(super) request: Request,
}

/// What a finished operation held.
pub(super) struct Finished<D> {
    pub(super) slot: Option<Slot>,
    pub(super) buffer: Option<D>,
}

impl<D: Data> Requests<D> {
    pub(super) fn new(depth: usize, disk_blocks: u64, bugs: Seeded) -> Requests<D> {
        Requests {
            depth,
            disk_blocks,
            waiting: VecDeque::new(),
            running: Slab::new(),
            unfinished: VecDeque::new(),
            durable: Vec::new(),
            numbers: 0,
            ops: Slab::new(),
            locks: locks::Locks::default(),
            ready: VecDeque::new(),
            trimming: None,
            trim_queue: Vec::new(),
            room_queue: VecDeque::new(),
            frame_queue: VecDeque::new(),
            losses: losses::Losses::default(),
            replies: Vec::new(),
            counts: Counts::default(),
            observer: None,
            bugs,
        }
    }

    pub(super) fn watch(&mut self, observer: Shared) {
        self.observer = Some(observer);
    }

    fn trace(&self, event: impl FnOnce() -> Event) {
        if let Some(observer) = &self.observer {
            observer.event(&event());
        }
    }

    /// Whether another command may be submitted.
    pub(super) fn can_submit(&self) -> bool {
        self.waiting.len() < self.depth
    }

    /// Whether an operation may resume, or a command begin, without any other event. Operations
    /// that wait for room or for a frame do not count.
    #[inline]
    pub(super) fn has_runnable(&self) -> bool {
        let begins = !self.waiting.is_empty() && self.running.len() < self.depth;
        !self.ready.is_empty() || begins || !self.unfinished.is_empty()
    }

    /// Whether every command is answered.
    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty() && self.running.is_empty()
    }

    /// Whether every command that has begun is answered, and no operation is left.
    pub(super) fn none_running(&self) -> bool {
        self.running.is_empty() && self.ops.is_empty()
    }

    pub(super) fn disk_blocks(&self) -> u64 {
        self.disk_blocks
    }

    pub(super) fn set_disk_blocks(&mut self, blocks: u64) {
        self.disk_blocks = blocks;
    }

    /// Whether no operation is left, not even of answered commands.
    pub(super) fn has_no_ops(&self) -> bool {
        self.ops.is_empty()
    }

    pub(super) fn take_replies(&mut self, into: &mut Vec<Reply<D>>) {
        if into.is_empty() {
            std::mem::swap(into, &mut self.replies);
        } else {
            into.append(&mut self.replies);
        }
    }

    pub(super) fn connection_opened(&mut self, connection: Connection) {
        self.losses.connection_opened(connection, self.bugs);
    }

    pub(super) fn connection_closed(&mut self, connection: Connection) {
        self.losses.connection_closed(connection);
    }

    /// Queues a command, or refuses it if the engine is stopping or the command is invalid.
    pub(super) fn submit(&mut self, command: Command<D>, stopping: bool) {
        let refused = if stopping {
            Some(Errno::SHUT_DOWN)
        } else {
            (!self.is_valid(&command)).then_some(Errno::INVALID)
        };
        match refused {
            Some(errno) => self.replies.push(Reply { id: command.id, result: Err(errno) }),
            None => {
                let reported = self.losses.reported_to(command.connection);
                self.waiting.push_back((command, reported));
            }
        }
    }

    fn is_valid(&self, command: &Command<D>) -> bool {
        let end = command.offset.checked_add(command.bytes);
        let brings = if command.op == CommandOp::Write { command.bytes } else { 0 };
        command.op == CommandOp::Flush
            || end.is_some_and(|end| end <= self.disk_blocks * BLOCK_BYTES)
                && D::fits(&command.data, brings)
    }

    /// Begins the next command, if there is one and not too many are in progress.
    #[inline]
    pub(super) fn begin_next(&mut self, now: Nanos, service: &mut Service) -> Option<Begun> {
        if self.running.len() >= self.depth || self.waiting.is_empty() {
            return None;
        }
        self.begin_first(now, service)
    }

    fn begin_first(&mut self, now: Nanos, service: &mut Service) -> Option<Begun> {
        let (mut command, reported) = self.waiting.pop_front()?;
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
        let request = Request { at: now, offset, bytes, op };
        self.trace(|| Event::Request(request));
        let works_on_blocks = matches!(op, Op::Read | Op::Write);
        let first = request.first().0;
        let (next, end) = if works_on_blocks { (first, first + request.blocks()) } else { (0, 0) };
        let sequential = works_on_blocks && service.is_sequential(&request);
        if op == Op::Read {
            command.data = D::room(bytes);
        }
        let number = self.numbers;
        self.numbers += 1;
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
            on_disk: 0,
            reported,
            needs: None,
        };
        let command = self.running.insert(running);
        let is_done = next == end;
        if !is_done && self.begin_blocks(command, now) {
            self.unfinished.push_back(command);
        }
        Some(Begun { command, is_done, request })
    }

    /// Begins more blocks of commands that have blocks left.
    pub(super) fn begin_more_blocks(&mut self, now: Nanos) {
        for _ in 0..self.unfinished.len() {
            let Some(key) = self.unfinished.pop_front() else { break };
            if self.begin_blocks(key, now) {
                self.unfinished.push_back(key);
            }
        }
    }

    /// Begins blocks of a command. Returns whether blocks are left.
    fn begin_blocks(&mut self, key: CommandKey, now: Nanos) -> bool {
        loop {
            let running = &mut self.running[key];
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
            let op = BlockOp::new(key, block, place, write, from as u16..to as u16, now);
            let op = self.ops.insert(op);
            // Locks are taken in the order of the commands, so overlapping ones are done in that
            // order.
            if self.bugs.has(Bug::OverlapsUnordered) || self.locks.take(block, op) {
                match &self.trimming {
                    Some(held) if held.contains(&block.0) => self.trim_queue.push(op),
                    _ => self.ready.push_back(op),
                }
            }
        }
    }

    /// Lets new operations on these blocks wait. None of the blocks may be locked.
    pub(super) fn hold(&mut self, blocks: Range<u64>) {
        self.trimming = Some(blocks);
    }

    /// Ends that, and lets them run.
    pub(super) fn end_hold(&mut self) {
        self.trimming = None;
        self.ready.extend(self.trim_queue.drain(..));
    }

    /// The locked blocks of a range, in no order.
    pub(super) fn locked_in(&self, blocks: Range<u64>) -> Vec<u64> {
        self.locks.taken_in(blocks)
    }

    pub(super) fn op(&self, key: OpKey) -> &BlockOp<D> {
        &self.ops[key]
    }

    pub(super) fn op_mut(&mut self, key: OpKey) -> &mut BlockOp<D> {
        &mut self.ops[key]
    }

    /// Whether an operation holds the lock of `block`.
    pub(super) fn is_locked(&self, block: Block) -> bool {
        self.locks.is_taken(block)
    }

    /// The access that the policy is called with.
    pub(super) fn access_of(&self, key: OpKey) -> Access {
        let op = &self.ops[key];
        let running = &self.running[op.command];
        let kind = if op.write { Op::Write } else { Op::Read };
        let mut access = Access::whole(running.number, op.block, kind);
        access.request = running.request;
        access.place = op.place;
        access.partial = op.is_partial();
        access
    }

    /// Whether its command belongs to a long sequential run.
    pub(super) fn is_sequential(&self, key: OpKey) -> bool {
        self.running[self.ops[key].command].sequential
    }

    /// Copies the bytes that a write brings for a block to `buffer`.
    pub(super) fn merge(&self, key: OpKey, buffer: &mut D) {
        let op = &self.ops[key];
        let running = &self.running[op.command];
        let part = usize::from(op.part.start)..usize::from(op.part.end);
        if running.command.op == CommandOp::WriteZeroes {
            buffer.clear(part);
        } else {
            let at =
                (op.block.bytes() + u64::from(op.part.start) - running.request.offset) as usize;
            buffer.write(part, &running.command.data, at);
        }
    }

    /// Copies the bytes that a read wants of a block from `buffer`.
    pub(super) fn deliver(&mut self, key: OpKey, buffer: &D) {
        let op = &self.ops[key];
        let running = &mut self.running[op.command];
        let part = usize::from(op.part.start)..usize::from(op.part.end);
        let at = (op.block.bytes() + u64::from(op.part.start) - running.request.offset) as usize;
        buffer.read(part, &mut running.command.data, at);
    }

    /// Notes that the data of the operation is in the cache.
    pub(super) fn mark_in_cache(&mut self, key: OpKey) {
        let op = &self.ops[key];
        // Only a seeded bug answers before this.
        if !op.answered {
            self.running[op.command].in_cache = true;
        }
    }

    /// Notes that the disk has the data of the operation, by the write with this number.
    pub(super) fn mark_on_disk(&mut self, key: OpKey, number: u64) {
        let op = &self.ops[key];
        if !op.answered {
            let running = &mut self.running[op.command];
            running.on_disk = running.on_disk.max(number);
        }
    }

    /// The next operation that may begin, or resume.
    pub(super) fn next_ready(&mut self) -> Option<OpKey> {
        self.ready.pop_front()
    }

    pub(super) fn has_ready(&self) -> bool {
        !self.ready.is_empty()
    }

    /// Lets an operation resume at its stage: what it waited for has come, or never will.
    pub(super) fn resume(&mut self, key: OpKey) {
        self.ready.push_back(key);
    }

    pub(super) fn resume_all(&mut self, keys: impl IntoIterator<Item = OpKey>) {
        self.ready.extend(keys);
    }

    /// For a seeded bug: the next operation that wants the lock begins too early.
    pub(super) fn unlock_early(&mut self, key: OpKey) {
        if let Some(next) = self.locks.release(self.ops[key].block) {
            self.ready.push_back(next);
        }
    }

    /// Lets an operation wait for a slot, behind the others.
    pub(super) fn wait_for_room(&mut self, key: OpKey) {
        self.room_queue.push_back(key);
    }

    /// Lets an operation wait for a slot again, in front of later ones.
    pub(super) fn wait_for_room_first(&mut self, key: OpKey) {
        self.room_queue.push_front(key);
    }

    pub(super) fn waiting_for_room(&self) -> usize {
        self.room_queue.len()
    }

    pub(super) fn next_for_room(&mut self) -> Option<OpKey> {
        self.room_queue.pop_front()
    }

    /// The arrival of the first operation that waits for room.
    pub(super) fn waits_for_room_since(&self) -> Option<Nanos> {
        self.room_queue.front().map(|&key| self.ops[key].since)
    }

    /// Lets all operations that wait for room resume: they take another way.
    pub(super) fn stop_waiting_for_room(&mut self) {
        self.ready.extend(self.room_queue.drain(..));
    }

    /// Lets an operation wait for a free frame. Its data is kept.
    pub(super) fn wait_for_frame(&mut self, key: OpKey, buffer: D) {
        self.ops[key].keep(buffer);
        self.frame_queue.push_back(key);
    }

    pub(super) fn some_wait_for_frame(&self) -> bool {
        !self.frame_queue.is_empty()
    }

    pub(super) fn next_for_frame(&mut self) -> Option<OpKey> {
        self.frame_queue.pop_front()
    }

    /// Renumbers the slots for another cache. The policy of that one has not been called yet for
    /// the operations that wait for room.
    pub(super) fn move_slots(&mut self, new_of: &[Slot], contents: &mut Contents) {
        for (_, op) in &mut self.ops {
            if let Some(slot) = &mut op.slot {
                *slot = new_of[slot.index()];
                contents.pin(*slot);
            }
        }
        for &key in &self.room_queue {
            self.ops[key].asked = false;
        }
    }

    /// Counts an access as hit or miss. Each access is counted once.
    pub(super) fn count_access(&mut self, write: bool, hit: bool) {
        match (write, hit) {
            (false, true) => self.counts.read_hits += 1,
            (false, false) => self.counts.read_misses += 1,
            (true, true) => self.counts.write_hits += 1,
            (true, false) => self.counts.write_misses += 1,
        }
    }

    pub(super) fn count_fill(&mut self) {
        self.counts.fills += 1;
    }

    pub(super) fn count_bypassed(&mut self) {
        self.counts.bypassed_blocks += 1;
    }

    pub(super) fn counts(&self) -> Counts {
        self.counts
    }
}
