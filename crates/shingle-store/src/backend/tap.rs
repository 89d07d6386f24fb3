//! What clients ask for, for somebody who looks on. He gets it in lots; one who is slow misses some, and the store does
//! not wait.

use std::sync::mpsc::{SyncSender, TrySendError};

use shingle_core::units::{Nanos, Op, Request};
use shingle_engine::{Command, CommandOp};

/// What clients have asked for.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Seen {
    /// Reads, writes and trims.
    pub(crate) requests: Vec<Request>,
    /// Requests before these that were missed.
    pub(crate) missed: u64,
}

/// Where it goes.
pub(super) struct Tap {
    to: SyncSender<Seen>,
    seen: Seen,
    /// When something was handed over last.
    handed: Nanos,
}

/// In one lot at most.
const LOT: usize = 4096;
/// And a lot at least so often.
const WITHIN: Nanos = Nanos::from_millis(200);

impl Tap {
    pub(super) fn new(to: SyncSender<Seen>) -> Tap {
        Tap { to, seen: Seen::default(), handed: Nanos::ZERO }
    }

    pub(super) fn sees(&mut self, command: &Command, now: Nanos) {
        let op = match command.op {
            CommandOp::Read => Op::Read,
            CommandOp::Write | CommandOp::WriteZeroes => Op::Write,
            CommandOp::Trim => Op::Trim,
            CommandOp::Flush => return,
        };
        if self.seen.requests.len() >= LOT {
            self.seen.missed += 1;
            return;
        }
        let Command { offset, bytes, .. } = *command;
        self.seen.requests.push(Request { at: now, offset, bytes, op });
    }

    /// Hands over what there is, if it is time. Nothing if nobody looks on any more.
    pub(super) fn hand_over(mut self, now: Nanos) -> Option<Tap> {
        let due = self.seen.requests.len() >= LOT / 2 || now.since(self.handed) >= WITHIN;
        if !due {
            return Some(self);
        }
        self.handed = now;
        match self.to.try_send(std::mem::take(&mut self.seen)) {
            Ok(()) => {}
            Err(TrySendError::Full(seen)) => {
                self.seen.missed = seen.missed + seen.requests.len() as u64;
            }
            Err(TrySendError::Disconnected(_)) => return None,
        }
        Some(self)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::sync_channel;

    use super::*;

    fn write(n: u64) -> Command {
        Command::new(n, CommandOp::Write, n << 12, 4096)
    }

    #[test]
    fn who_is_slow_misses_some_and_is_told_how_much() {
        let (to, seen) = sync_channel(1);
        let mut tap = Tap::new(to);
        let at = Nanos::from_millis;
        tap.sees(&write(1), at(1));
        tap.sees(&Command::new(2, CommandOp::Flush, 0, 0), at(1));
        let tap = tap.hand_over(at(100)).expect("somebody looks on");
        assert!(seen.try_recv().is_err(), "it is not time yet");
        let mut tap = tap.hand_over(at(300)).expect("somebody looks on");
        // The lot from before was not taken: these are missed.
        (0..10_000).for_each(|n| tap.sees(&write(n), at(400)));
        let mut tap = tap.hand_over(at(600)).expect("somebody looks on");
        let first = seen.recv().expect("a lot");
        assert_eq!((first.requests.len(), first.missed), (1, 0));
        tap.sees(&write(7), at(700));
        let tap = tap.hand_over(at(900)).expect("somebody looks on");
        let second = seen.recv().expect("a lot");
        assert_eq!((second.requests.len(), second.missed), (1, 10_000));
        drop(seen);
        assert!(tap.hand_over(at(2_000)).is_none());
    }
}
