//! Answers to commands: when all their blocks are done, and those that have to be durable when they are.

use shingle_core::observer::Event;
use shingle_core::units::Nanos;

use super::super::keys::{CommandKey, OpKey};
use super::command::{CommandOp, Errno, Reply, Running};
use super::{Finished, Requests};
use crate::bugs::Bug;
use crate::data::Data;

/// What has to be durable before a command is answered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in super::super) enum Promise {
    /// Nothing, or it has failed.
    Nothing,
    /// What it wrote itself: to the SSD, and to the disk up to this write.
    Own(u64),
    /// Everything that was answered before.
    All,
}

/// What a failed flush of the disk means for commands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in super::super) struct Unflushed {
    /// Some of them are answered with an error for it.
    pub(in super::super) failed_some: bool,
    /// The last write that others wait for, which was not lost.
    pub(in super::super) wanted: u64,
}

impl<D: Data> Requests<D> {
    /// The client gets its answer for this block. Returns the command, if this was the last of its blocks:
    /// it may be answered.
    #[must_use]
    pub(in super::super) fn answer_block(&mut self, key: OpKey) -> Option<CommandKey> {
        let op = &mut self.ops[key];
        if std::mem::replace(&mut op.answered, true) {
            return None;
        }
        let command = op.command;
        let running = &mut self.running[command];
        running.outstanding -= 1;
        (running.outstanding == 0 && running.next == running.end).then_some(command)
    }

    /// All is done for this block: who waits for its lock is next. What it had is given back.
    pub(in super::super) fn finish(&mut self, key: OpKey) -> Finished<D> {
        let op = &mut self.ops[key];
        let (block, slot, buffer) = (op.block, op.slot, op.buffer.take());
        // (What is left of it is not moved to be dropped.)
        drop(self.ops.remove(key));
        if let Some(next) = self.locks.release(block) {
            self.ready.push_back(next);
        }
        Finished { slot, buffer }
    }

    /// The operation fails, and with it its command, unless that has its answer for it.
    pub(in super::super) fn set_error(&mut self, key: OpKey, errno: Errno) {
        let op = &self.ops[key];
        if !op.answered {
            self.running[op.command].error = Some(errno);
        }
    }

    /// What the answer to a command, of which all blocks are done, says of durability.
    pub(in super::super) fn promise(&self, key: CommandKey) -> Promise {
        let running = &self.running[key];
        let command = &running.command;
        let flush = command.op == CommandOp::Flush;
        let zeroes = command.op == CommandOp::WriteZeroes;
        let ignored =
            self.bugs.has(Bug::FuaIgnored) || zeroes && self.bugs.has(Bug::FuaOfZeroesIgnored);
        let idle =
            self.bugs.has(Bug::FlushOfIdleSkipped) && !self.losses.has_written(command.connection);
        match running.error {
            Some(_) => Promise::Nothing,
            None if flush && idle => Promise::Nothing,
            None if flush => Promise::All,
            // (What others wrote is not its affair, nor are errors of that.)
            None if command.fua && command.op != CommandOp::Read && !ignored => {
                Promise::Own(running.on_disk)
            }
            None => Promise::Nothing,
        }
    }

    /// It is answered when records up to `committed` are committed and the disk was flushed up to `flushed`.
    pub(in super::super) fn wait_until_durable(
        &mut self,
        key: CommandKey,
        committed: u64,
        flushed: u64,
    ) {
        self.running[key].needs = Some((committed, flushed));
        self.durable.push(key);
    }

    pub(in super::super) fn answer_with(&mut self, key: CommandKey, errno: Errno, now: Nanos) {
        self.running[key].error = Some(errno);
        self.answer(key, now);
    }

    pub(in super::super) fn answer(&mut self, key: CommandKey, now: Nanos) {
        let Running { command, error, number, knew, .. } = &mut self.running[key];
        let (id, op, connection) = (command.id, command.op, command.connection);
        let (mut error, number, knew) = (*error, *number, *knew);
        let read = op == CommandOp::Read;
        let data = if read { std::mem::take(&mut command.data) } else { D::Payload::default() };
        // (What is left of it is not moved to be dropped.)
        drop(self.running.remove(key));
        if cfg!(feature = "bugs") && matches!(op, CommandOp::Write | CommandOp::WriteZeroes) {
            self.losses.writes(connection);
        }
        if op == CommandOp::Flush && self.losses.tells(connection, knew, self.bugs) {
            error = Some(Errno::IO);
        }
        self.trace(|| Event::Answered { number, at: now, done: error.is_none() });
        self.replies.push(Reply { id, result: error.map_or(Ok(data), Err) });
    }

    /// Answers those that waited until they were durable, or have failed meanwhile.
    #[inline]
    pub(in super::super) fn answer_durable(&mut self, committed: u64, flushed: u64, now: Nanos) {
        if !self.durable.is_empty() {
            self.answer_some(committed, flushed, now);
        }
    }

    fn answer_some(&mut self, committed: u64, flushed: u64, now: Nanos) {
        let mut waiting = std::mem::take(&mut self.durable);
        waiting.retain(|&key| {
            let running = &self.running[key];
            let (commit, disk) = running.needs.expect("it waits");
            let durable = running.error.is_some() || commit <= committed && disk <= flushed;
            if durable {
                self.answer(key, now);
            }
            !durable
        });
        self.durable = waiting;
    }

    /// Nothing more is committed: writes of which some is on the SSD have failed, and so has who waits for a
    /// commit.
    pub(in super::super) fn fail_uncommitted(&mut self, committed: u64) {
        for (_, running) in &mut self.running {
            let waits = running.needs.is_some_and(|(commit, _)| commit > committed);
            if waits || running.in_cache && running.needs.is_none() {
                running.error = Some(Errno::IO);
            }
        }
    }

    /// A flush of the disk failed: writes after `kept` and up to `lost` may be lost, and who needs them has
    /// failed.
    pub(in super::super) fn fail_unflushed(&mut self, kept: u64, lost: u64) -> Unflushed {
        let mut unflushed = Unflushed { failed_some: false, wanted: 0 };
        for (_, running) in &mut self.running {
            // Of a write of many blocks some may be lost before the others are there.
            let number = running.needs.map_or(0, |(_, number)| number).max(running.on_disk);
            if number > lost {
                unflushed.wanted = unflushed.wanted.max(number);
            } else if number > kept {
                running.error = Some(Errno::IO);
                unflushed.failed_some = true;
            }
        }
        unflushed
    }

    /// Answered writes may be lost: the next FLUSH of each connection says so.
    pub(in super::super) fn lost(&mut self) {
        self.losses.lost();
    }
}
