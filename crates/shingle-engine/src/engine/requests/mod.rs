//! What clients want: commands, cut into operations on blocks, a window of them at a time; who waits for
//! what; and the answers, with what each connection was told of losses.
//!
//! An operation is in one place at a time: it waits for the lock of its block, is ready, waits for room or
//! for a frame, or I/O is under way for it; or it is in the hands of another room, which gives its key back.

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

/// Blocks of one command that are worked on at a time.
const WINDOW: u32 = 1024;

/// Commands, their operations, and who waits.
#[derive(Clone)]
pub(super) struct Requests<D: Data> {
    /// Commands carried out at a time; as many more wait.
    depth: usize,
    disk_blocks: u64,
    /// And what each one's connection had been told of when it came.
    waiting: VecDeque<(Command<D>, u64)>,
    running: Slab<Running<D>>,
    /// Those whose blocks are not all begun.
    unfinished: VecDeque<CommandKey>,
    /// Those that wait until they are durable.
    durable: Vec<CommandKey>,
    /// Commands begun so far.
    numbers: u64,
    ops: Slab<BlockOp<D>>,
    locks: locks::Locks,
    /// They have their lock and may begin, or go on.
    ready: VecDeque<OpKey>,
    /// The disk is told that nobody needs these blocks: who wants one of them waits.
    trimming: Option<Range<u64>>,
    /// They have the lock of their block, and do.
    behind_trim: Vec<OpKey>,
    /// They wait for a slot, in order.
    no_room: VecDeque<OpKey>,
    /// Likewise for a free frame.
    no_frame: VecDeque<OpKey>,
    losses: losses::Losses,
    replies: Vec<Reply<D>>,
    /// What became of blocks: the part of the status that is about requests.
    counts: Counts,
    observer: Option<Shared>,
    bugs: Seeded,
}

/// A command that has begun.
pub(super) struct Begun {
    pub(super) command: CommandKey,
    /// It has no blocks to be worked on.
    pub(super) is_done: bool,
    /// What it wants.
    pub(super) request: Request,
}

/// What an operation had that is done.
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
            behind_trim: Vec::new(),
            no_room: VecDeque::new(),
            no_frame: VecDeque::new(),
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

    /// Whether there is room for another command.
    pub(super) fn accepts(&self) -> bool {
        self.waiting.len() < self.depth
    }

    /// Somebody may go on, or begin, without anything else happening before: of those that wait for room or for a
    /// frame others know.
    #[inline]
    pub(super) fn some_may_go_on(&self) -> bool {
        let begins = !self.waiting.is_empty() && self.running.len() < self.depth;
        !self.ready.is_empty() || begins || !self.unfinished.is_empty()
    }

    /// No command is unanswered.
    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty() && self.running.is_empty()
    }

    /// No command that has begun is unanswered, and no operation is left.
    pub(super) fn none_running(&self) -> bool {
        self.running.is_empty() && self.ops.is_empty()
    }

    pub(super) fn disk_blocks(&self) -> u64 {
        self.disk_blocks
    }

    /// The disk is larger from now on.
    pub(super) fn set_disk_blocks(&mut self, blocks: u64) {
        self.disk_blocks = blocks;
    }

    /// No operation is left, of answered commands neither.
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

    pub(super) fn opened(&mut self, connection: Connection) {
        self.losses.opened(connection, self.bugs);
    }

    pub(super) fn closed(&mut self, connection: Connection) {
        self.losses.closed(connection);
    }

    /// A command comes; it is refused when the end has begun, or if it makes no sense.
    pub(super) fn submit(&mut self, command: Command<D>, stopping: bool) {
        let refused = if stopping {
            Some(Errno::SHUT_DOWN)
        } else {
            (!self.is_valid(&command)).then_some(Errno::INVALID)
        };
        match refused {
            Some(errno) => self.replies.push(Reply { id: command.id, result: Err(errno) }),
            None => {
                let knew = self.losses.knows(command.connection);
                self.waiting.push_back((command, knew));
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

    /// Begins the next command, if there is one and not too many are carried out.
    #[inline]
    pub(super) fn begin_next(&mut self, now: Nanos, service: &mut Service) -> Option<Begun> {
        if self.running.len() >= self.depth || self.waiting.is_empty() {
            return None;
        }
        self.begin_first(now, service)
    }

    fn begin_first(&mut self, now: Nanos, service: &mut Service) -> Option<Begun> {
        let (mut command, knew) = self.waiting.pop_front()?;
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
            knew,
            needs: None,
        };
        let command = self.running.insert(running);
        let is_done = next == end;
        if !is_done && self.begin_blocks(command, now) {
            self.unfinished.push_back(command);
        }
        Some(Begun { command, is_done, request })
    }

    /// Begins blocks of commands that have not begun all of theirs.
    pub(super) fn begin_more_blocks(&mut self, now: Nanos) {
        for _ in 0..self.unfinished.len() {
            let Some(key) = self.unfinished.pop_front() else { break };
            if self.begin_blocks(key, now) {
                self.unfinished.push_back(key);
            }
        }
    }

    /// Begins blocks of a command; returns whether there are more.
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
            // A lock is taken in the order of the commands: what overlaps is done as it was asked.
            if self.bugs.has(Bug::OverlapsUnordered) || self.locks.take(block, op) {
                match &self.trimming {
                    Some(held) if held.contains(&block.0) => self.behind_trim.push(op),
                    _ => self.ready.push_back(op),
                }
            }
        }
    }

    /// Whoever wants one of these blocks waits. None of them may be in use.
    pub(super) fn hold(&mut self, blocks: Range<u64>) {
        self.trimming = Some(blocks);
    }

    /// They are free again.
    pub(super) fn end_hold(&mut self) {
        self.trimming = None;
        self.ready.extend(self.behind_trim.drain(..));
    }

    /// Those of `blocks` that operations are at work on, in no order.
    pub(super) fn locked_in(&self, blocks: Range<u64>) -> Vec<u64> {
        self.locks.taken_in(blocks)
    }

    pub(super) fn op(&self, key: OpKey) -> &BlockOp<D> {
        &self.ops[key]
    }

    pub(super) fn op_mut(&mut self, key: OpKey) -> &mut BlockOp<D> {
        &mut self.ops[key]
    }

    /// An operation is at work on `block`.
    pub(super) fn is_locked(&self, block: Block) -> bool {
        self.locks.is_taken(block)
    }

    /// As the policy is asked.
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

    /// Its command belongs to a long sequential run.
    pub(super) fn is_sequential(&self, key: OpKey) -> bool {
        self.running[self.ops[key].command].sequential
    }

    /// The bytes that a write brings for a block go into `buffer`.
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

    /// The bytes that a read wants of a block are in `buffer`.
    pub(super) fn deliver(&mut self, key: OpKey, buffer: &D) {
        let op = &self.ops[key];
        let running = &mut self.running[op.command];
        let part = usize::from(op.part.start)..usize::from(op.part.end);
        let at = (op.block.bytes() + u64::from(op.part.start) - running.request.offset) as usize;
        buffer.read(part, &mut running.command.data, at);
    }

    /// What it writes is in the cache.
    pub(super) fn is_in_cache(&mut self, key: OpKey) {
        let op = &self.ops[key];
        // (Only a seeded bug answers before this.)
        if !op.answered {
            self.running[op.command].in_cache = true;
        }
    }

    /// What it writes is on the disk, by this write of the disk.
    pub(super) fn is_on_disk(&mut self, key: OpKey, number: u64) {
        let op = &self.ops[key];
        if !op.answered {
            let running = &mut self.running[op.command];
            running.on_disk = running.on_disk.max(number);
        }
    }

    /// The next one that may begin, or go on.
    pub(super) fn next_ready(&mut self) -> Option<OpKey> {
        self.ready.pop_front()
    }

    pub(super) fn has_ready(&self) -> bool {
        !self.ready.is_empty()
    }

    /// What it waited for is there, or will never be: it goes on where it stands.
    pub(super) fn go_on(&mut self, key: OpKey) {
        self.ready.push_back(key);
    }

    pub(super) fn all_go_on(&mut self, keys: impl IntoIterator<Item = OpKey>) {
        self.ready.extend(keys);
    }

    /// The next one that wants the block's lock begins too early: a seeded bug.
    pub(super) fn unlock_early(&mut self, key: OpKey) {
        if let Some(next) = self.locks.release(self.ops[key].block) {
            self.ready.push_back(next);
        }
    }

    /// It waits for a slot, behind the others.
    pub(super) fn wait_for_room(&mut self, key: OpKey) {
        self.no_room.push_back(key);
    }

    /// It goes on waiting, in front of those who came later.
    pub(super) fn wait_for_room_first(&mut self, key: OpKey) {
        self.no_room.push_front(key);
    }

    pub(super) fn waiting_for_room(&self) -> usize {
        self.no_room.len()
    }

    pub(super) fn next_for_room(&mut self) -> Option<OpKey> {
        self.no_room.pop_front()
    }

    /// When the first of those came that wait for room.
    pub(super) fn waits_for_room_since(&self) -> Option<Nanos> {
        self.no_room.front().map(|&key| self.ops[key].since)
    }

    /// Nobody waits for room any more: they find another way.
    pub(super) fn stop_waiting_for_room(&mut self) {
        self.ready.extend(self.no_room.drain(..));
    }

    /// It waits for a free frame, with its data.
    pub(super) fn wait_for_frame(&mut self, key: OpKey, buffer: D) {
        self.ops[key].keep(buffer);
        self.no_frame.push_back(key);
    }

    pub(super) fn some_wait_for_frame(&self) -> bool {
        !self.no_frame.is_empty()
    }

    pub(super) fn next_for_frame(&mut self) -> Option<OpKey> {
        self.no_frame.pop_front()
    }

    /// Slots have other numbers, in another cache, which has not been asked yet by those who wait for room.
    pub(super) fn move_slots(&mut self, new_of: &[Slot], contents: &mut Contents) {
        for (_, op) in &mut self.ops {
            if let Some(slot) = &mut op.slot {
                *slot = new_of[slot.index()];
                contents.pin(*slot);
            }
        }
        for &key in &self.no_room {
            self.ops[key].asked = false;
        }
    }

    /// A block was found cached, or not: whether it enters, or the disk serves it. Of each access one is counted.
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
