//! A copy of the requests of clients for one receiver, in batches. A slow receiver misses some; the
//! store does not wait.

use std::sync::mpsc::{SyncSender, TrySendError};

use shingle_core::units::{Nanos, Op, Request};
use shingle_engine::{Command, CommandOp};

/// A batch of requests.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Batch {
    /// Reads, writes and trims, in order.
    pub(crate) requests: Vec<Request>,
    /// The number of requests before these that were missed.
    pub(crate) missed: u64,
}

/// Collects requests for one receiver.
pub(super) struct Tap {
    to: SyncSender<Batch>,
    batch: Batch,
    /// The time of the last batch.
    handed: Nanos,
}

/// The most requests in one batch.
const BATCH_MAX: usize = 4096;
/// The longest time until the next batch.
const WITHIN: Nanos = Nanos::from_millis(200);

impl Tap {
    pub(super) fn new(to: SyncSender<Batch>) -> Tap {
        Tap { to, batch: Batch::default(), handed: Nanos::ZERO }
    }

    pub(super) fn record(&mut self, command: &Command, now: Nanos) {
        let op = match command.op {
            CommandOp::Read => Op::Read,
            CommandOp::Write | CommandOp::WriteZeroes => Op::Write,
            CommandOp::Trim => Op::Trim,
            CommandOp::Flush => return,
        };
        if self.batch.requests.len() >= BATCH_MAX {
            self.batch.missed += 1;
            return;
        }
        let Command { offset, bytes, .. } = *command;
        self.batch.requests.push(Request { at: now, offset, bytes, op });
    }

    /// Sends a batch if one is due. Returns `None` if the receiver is gone.
    pub(super) fn hand_over(mut self, now: Nanos) -> Option<Tap> {
        let due = self.batch.requests.len() >= BATCH_MAX / 2 || now.since(self.handed) >= WITHIN;
        if !due {
            return Some(self);
        }
        self.handed = now;
        match self.to.try_send(std::mem::take(&mut self.batch)) {
            Ok(()) => {}
            Err(TrySendError::Full(batch)) => {
                self.batch.missed = batch.missed + batch.requests.len() as u64;
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
        let (to, batch) = sync_channel(1);
        let mut tap = Tap::new(to);
        let at = Nanos::from_millis;
        tap.record(&write(1), at(1));
        tap.record(&Command::new(2, CommandOp::Flush, 0, 0), at(1));
        let tap = tap.hand_over(at(100)).expect("a receiver");
        assert!(batch.try_recv().is_err(), "it is not time yet");
        let mut tap = tap.hand_over(at(300)).expect("a receiver");
        // The last batch was not taken: these requests are missed.
        (0..10_000).for_each(|n| tap.record(&write(n), at(400)));
        let mut tap = tap.hand_over(at(600)).expect("a receiver");
        let first = batch.recv().expect("a lot");
        assert_eq!((first.requests.len(), first.missed), (1, 0));
        tap.record(&write(7), at(700));
        let tap = tap.hand_over(at(900)).expect("a receiver");
        let second = batch.recv().expect("a lot");
        assert_eq!((second.requests.len(), second.missed), (1, 10_000));
        drop(batch);
        assert!(tap.hand_over(at(2_000)).is_none());
    }
}
