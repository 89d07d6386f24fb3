//! What is under way on one connection: requests that were submitted, and replies that wait to be
//! sent, in order of completion.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use crate::answer::{Answer, Failure};
use crate::requests::Request;

/// A request between its arrival and the sending of its reply.
#[derive(Clone, Copy, Debug)]
pub(crate) struct InFlight {
    pub(crate) request: Request,
    /// What it is charged for.
    pub(crate) memory_bytes: u64,
}

/// A reply that waits to be sent.
pub(crate) type Ready = (InFlight, Result<Answer, Failure>);

/// How much may be under way.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Room {
    pub(crate) requests: usize,
    pub(crate) memory_bytes: u64,
}

pub(crate) struct Outbox {
    /// Of the connection, from 1 on.
    connection: u64,
    room: Room,
    state: Mutex<State>,
    /// The writer waits for replies, or for the end.
    replies: Condvar,
    /// The reader waits for room.
    freed: Condvar,
}

#[derive(Default)]
struct State {
    ready: Vec<Ready>,
    requests: usize,
    /// Of these, how many have their answer: the export has done with them.
    answered: usize,
    memory_bytes: u64,
    writer_waits: bool,
    reader_waits: bool,
    /// No more requests will come.
    ended: bool,
    /// Nobody waits for what is under way.
    abandoned: bool,
}

impl Outbox {
    pub(crate) fn new(connection: u64, room: Room) -> Self {
        let state = Mutex::default();
        Self { connection, room, state, replies: Condvar::new(), freed: Condvar::new() }
    }

    pub(crate) fn connection(&self) -> u64 {
        self.connection
    }

    /// No code that holds the lock can leave the state half changed.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for room and takes it; calls `before_waiting` if it has to wait. False when abandoned.
    pub(crate) fn enter(&self, memory_bytes: u64, before_waiting: impl FnOnce()) -> bool {
        // A request larger than all room comes through alone.
        let full = |state: &State| {
            state.requests >= self.room.requests
                || (state.requests > 0
                    && state.memory_bytes + memory_bytes > self.room.memory_bytes)
        };
        let mut state = self.lock();
        if full(&state) && !state.abandoned {
            drop(state);
            before_waiting();
            state = self.lock();
            while full(&state) && !state.abandoned {
                state.reader_waits = true;
                state = self.freed.wait(state).unwrap_or_else(PoisonError::into_inner);
            }
            state.reader_waits = false;
        }
        state.requests += 1;
        state.memory_bytes += memory_bytes;
        !state.abandoned
    }

    /// A request that has entered is answered.
    pub(crate) fn push(&self, which: InFlight, result: Result<Answer, Failure>) {
        let mut state = self.lock();
        state.ready.push((which, result));
        state.answered += 1;
        // Condvar::notify is a system call even if nobody waits.
        if state.writer_waits {
            state.writer_waits = false;
            drop(state);
            self.replies.notify_one();
        }
    }

    /// Waits for replies and moves all into `into`, which is empty. False when none will come any
    /// more.
    pub(crate) fn take(&self, into: &mut Vec<Ready>) -> bool {
        let mut state = self.lock();
        loop {
            if !state.ready.is_empty() {
                std::mem::swap(&mut state.ready, into);
                return true;
            }
            if state.abandoned || (state.ended && state.requests == 0) {
                return false;
            }
            state.writer_waits = true;
            state = self.replies.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Replies to so many requests have been sent.
    pub(crate) fn leave(&self, requests: usize, memory_bytes: u64) {
        let mut state = self.lock();
        state.requests -= requests;
        state.answered -= requests;
        state.memory_bytes -= memory_bytes;
        if state.reader_waits {
            state.reader_waits = false;
            drop(state);
            self.freed.notify_one();
        }
    }

    /// No more requests will come; what is under way is still answered.
    pub(crate) fn end(&self) {
        self.lock().ended = true;
        self.replies.notify_one();
    }

    /// Abandons it if the export has done with all requests, but for `lacking` ones that it does not
    /// have yet. From then on none gets in.
    pub(crate) fn abandon_idle(&self, lacking: usize) -> bool {
        let mut state = self.lock();
        if state.requests - state.answered > lacking {
            return false;
        }
        state.abandoned = true;
        drop(state);
        self.replies.notify_one();
        self.freed.notify_one();
        true
    }

    /// Nobody waits any more for what is under way.
    pub(crate) fn abandon(&self) {
        self.lock().abandoned = true;
        self.replies.notify_one();
        self.freed.notify_one();
    }
}
