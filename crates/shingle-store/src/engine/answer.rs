//! Answers to commands: when all their blocks are done, and those that have to be durable when they are.

use shingle_core::witness::Event;

use super::Engine;
use super::bugs::Bug;
use super::command::{CommandOp, Errno, Reply, Running};
use super::gone::Gone;

impl Engine {
    /// A block of a command is done, as far as the client is concerned.
    pub(super) fn block_done(&mut self, key: usize) {
        let running = &mut self.commands.running[key];
        running.outstanding -= 1;
        if running.outstanding == 0 && running.next == running.end {
            self.all_blocks_done(key);
        }
    }

    pub(super) fn all_blocks_done(&mut self, key: usize) {
        let running = &mut self.commands.running[key];
        let flush = running.command.op == CommandOp::Flush;
        let fua = running.command.fua && running.command.op != CommandOp::Read;
        if running.error.is_none() && (flush || fua && !self.bug(Bug::FuaIgnored)) {
            if flush
                && self.gone.as_mut().is_some_and(Gone::take_untold)
                && !self.bug(Bug::GoneUntold)
            {
                self.commands.running[key].error = Some(Errno::IO);
                return self.answer(key);
            }
            let disk =
                if self.bug(Bug::FlushWithoutDisk) { 0 } else { self.disk.wanted_by_clients() };
            let committed = match self.gone {
                // Whose writes were not kept has been told.
                Some(_) => 0,
                None if self.bug(Bug::FlushBeforeCommit) => 0,
                None => self.commits.added(),
            };
            self.commits.want(committed);
            self.commands.running[key].needs = Some((committed, disk));
            self.commands.durable.push(key);
        } else {
            self.answer(key);
        }
    }

    pub(super) fn answer(&mut self, key: usize) {
        let Running { command, error, number, .. } = self.commands.running.remove(key);
        self.tell(|| Event::Answered { number, at: self.now, done: error.is_none() });
        let data = if command.op == CommandOp::Read { command.data } else { Vec::new() };
        let result = error.map_or(Ok(data), Err);
        self.replies.push(Reply { id: command.id, result });
    }

    /// Answers those that waited until they were durable.
    pub(super) fn answer_durable(&mut self) {
        if self.commands.durable.is_empty() {
            return;
        }
        let (committed, flushed) = (self.commits.committed(), self.disk.flushed());
        for key in std::mem::take(&mut self.commands.durable) {
            let running = &mut self.commands.running[key];
            let (commit, disk) = running.needs.expect("it waits");
            if running.error.is_some() || commit <= committed && disk <= flushed {
                if self.disk.take_lost() {
                    self.commands.running[key].error = Some(Errno::IO);
                }
                self.answer(key);
            } else {
                self.commands.durable.push(key);
            }
        }
    }
}
