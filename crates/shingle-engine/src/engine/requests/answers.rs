//! Replies to commands: when all their blocks are done and, for some, durable.

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
    /// Nothing, or the command has failed.
    Nothing,
    /// Its own writes: on the SSD, and on the disk up to this number.
    Own(u64),
    /// Everything that was answered before.
    All,
}

/// What a failed flush of the disk means for commands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in super::super) struct Unflushed {
    /// Some commands fail because of it.
    pub(in super::super) failed_some: bool,
    /// The highest number of a write that was not lost and that other commands wait for.
    pub(in super::super) wanted: u64,
}

impl<D: Data> Requests<D> {
    /// Marks this block as answered. Returns the command if this was the last of its blocks: it may
    /// be answered.
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

    /// Ends an operation: the next one that waits for the lock becomes ready. Returns what it held.
    pub(in super::super) fn finish(&mut self, key: OpKey) -> Finished<D> {
        let op = &mut self.ops[key];
        let (block, slot, buffer) = (op.block, op.slot, op.buffer.take());
        // Drops it in place, without a move.
        drop(self.ops.remove(key));
        if let Some(next) = self.locks.release(block) {
            self.ready.push_back(next);
        }
        Finished { slot, buffer }
    }

    /// Fails the operation, and its command unless this block was already answered.
    pub(in super::super) fn set_error(&mut self, key: OpKey, errno: Errno) {
        let op = &self.ops[key];
        if !op.answered {
            self.running[op.command].error = Some(errno);
        }
    }

    /// What has to be durable before a command is answered, all of whose blocks are done.
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
            // FUA covers neither the writes of other commands, nor their errors.
            None if command.fua && command.op != CommandOp::Read && !ignored => {
                Promise::Own(running.on_disk)
            }
            None => Promise::Nothing,
        }
    }

    /// Lets a command wait until records up to `committed` are committed and the disk is flushed up
    /// to `flushed`.
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
        let Running { command, error, number, reported, .. } = &mut self.running[key];
        let (id, op, connection) = (command.id, command.op, command.connection);
        let (mut error, number, reported) = (*error, *number, *reported);
        let read = op == CommandOp::Read;
        let data = if read { std::mem::take(&mut command.data) } else { D::Payload::default() };
        // Drops it in place, without a move.
        drop(self.running.remove(key));
        if cfg!(feature = "bugs") && matches!(op, CommandOp::Write | CommandOp::WriteZeroes) {
            self.losses.writes(connection);
        }
        if op == CommandOp::Flush && self.losses.must_report(connection, reported, self.bugs) {
            error = Some(Errno::IO);
        }
        self.trace(|| Event::Answered { number, at: now, done: error.is_none() });
        self.replies.push(Reply { id, result: error.map_or(Ok(data), Err) });
    }

    /// Answers the commands that waited until they were durable, or have failed in the meantime.
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

    /// Fails the writes of which a part is on the SSD, and the commands that wait for a commit:
    /// there will be none.
    pub(in super::super) fn fail_uncommitted(&mut self, committed: u64) {
        for (_, running) in &mut self.running {
            let waits = running.needs.is_some_and(|(commit, _)| commit > committed);
            if waits || running.in_cache && running.needs.is_none() {
                running.error = Some(Errno::IO);
            }
        }
    }

    /// After a failed flush of the disk, fails the commands that need writes after `kept` and up to
    /// `lost`: these may be lost.
    pub(in super::super) fn fail_unflushed(&mut self, kept: u64, lost: u64) -> Unflushed {
        let mut unflushed = Unflushed { failed_some: false, wanted: 0 };
        for (_, running) in &mut self.running {
            // Of a write of many blocks some may be lost while others are in flight.
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

    /// Notes that acknowledged writes may be lost: the next FLUSH of each connection fails.
    pub(in super::super) fn report_loss(&mut self) {
        self.losses.add_loss();
    }
}
