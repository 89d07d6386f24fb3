//! Where replies wait to be sent, and threads for them: the [queue](crate::queue) of a connection behind a lock. Its
//! memory is its own up to some size, and beyond of the [pool](crate::pool) of all.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};

use crate::answer::{Answer, Failure};
use crate::pool::{Pool, Want};
use crate::queue::{Entry, Queue, Ready, Replies};
use crate::sender::{Sender, Sent};

pub(crate) use crate::queue::{InFlight, Room};

/// So many replies are sent by who answered at most, and if there is no other request that he could see to meanwhile.
const AT_ONCE_MAX: usize = 4;

pub(crate) struct Outbox {
    /// Of the connection, from 1 on.
    connection: u64,
    room: Room,
    /// Memory that it has for itself, and where the rest is from.
    own_bytes: u64,
    pool: Arc<Pool>,
    held: Mutex<Held>,
    /// The writer waits for replies, or for the end.
    replies: Condvar,
    /// The reader waits for room.
    freed: Condvar,
    /// Once there is something to be sent. (Whoever holds its lock may take that of the queue, not the other way round.)
    sender: OnceLock<Sender>,
}

#[derive(Default)]
struct Held {
    queue: Queue,
    /// Memory from the pool.
    pooled: u64,
    /// The reader waits for more of it.
    stands_in_line: bool,
}

impl Held {
    /// What it uses beyond its own.
    fn beyond(&self, own_bytes: u64) -> u64 {
        self.queue.memory_bytes().saturating_sub(own_bytes)
    }
}

impl Outbox {
    pub(crate) fn new(connection: u64, room: Room, own_bytes: u64, pool: Arc<Pool>) -> Self {
        let (held, sender) = (Mutex::default(), OnceLock::new());
        let (replies, freed) = (Condvar::new(), Condvar::new());
        Self { connection, room, own_bytes, pool, held, replies, freed, sender }
    }

    /// The handshake is over: replies go through `sender`.
    pub(crate) fn begin_transmission(&self, sender: Sender) -> &Sender {
        self.sender.get_or_init(|| sender)
    }

    pub(crate) fn connection(&self) -> u64 {
        self.connection
    }

    /// No code that holds the lock can leave the queue half changed.
    fn lock(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for room and takes it; calls `before_waiting` before it may have to wait, and `stalls` now and then while it
    /// waits for memory that others have. False when abandoned.
    pub(crate) fn enter(
        &self,
        memory_bytes: u64,
        before_waiting: impl Fn(),
        stalls: impl FnMut(),
    ) -> bool {
        let mut held = self.lock();
        let mut waits = false;
        loop {
            match held.queue.enter(self.room, memory_bytes) {
                Entry::Entered => break,
                Entry::Abandoned => return false,
                Entry::Full if waits => {
                    held.queue.reader_waits();
                    held = self.freed.wait(held).unwrap_or_else(PoisonError::into_inner);
                }
                Entry::Full => {
                    waits = true;
                    drop(held);
                    before_waiting();
                    held = self.lock();
                }
            }
        }
        if held.beyond(self.own_bytes) <= held.pooled {
            return true;
        }
        drop(held);
        before_waiting();
        self.take_of_pool(stalls)
    }

    fn take_of_pool(&self, stalls: impl FnMut()) -> bool {
        let want = || {
            let mut held = self.lock();
            if held.queue.is_abandoned() {
                return Want::Nothing;
            }
            held.stands_in_line = true;
            Want::Bytes(held.beyond(self.own_bytes).saturating_sub(held.pooled))
        };
        let took = |bytes| self.lock().pooled += bytes;
        let entered = self.pool.take(self.connection, want, took, stalls);
        self.lock().stands_in_line = false;
        entered
    }

    /// Whether it has memory that others may want.
    pub(crate) fn holds_pooled(&self) -> bool {
        self.lock().pooled > 0
    }

    /// A request that has entered is answered. Returns whether the writer has to be woken.
    #[must_use]
    pub(crate) fn push(&self, which: InFlight, result: Result<Answer, Failure>) -> bool {
        self.lock().queue.push(which, result)
    }

    /// There are replies, and the writer sleeps: sends them, if that goes at once; if not, wakes the writer.
    pub(crate) fn send_or_wake(&self) {
        if !self.sender.get().is_some_and(|sender| self.send_at_once(sender)) {
            self.replies.notify_one();
        }
    }

    /// Returns whether the writer may sleep on.
    fn send_at_once(&self, sender: &Sender) -> bool {
        let Some(mut sending) = sender.try_lock() else { return false };
        let mut ready = Vec::new();
        if !self.lock().queue.take_last(AT_ONCE_MAX, &mut ready) {
            return false;
        }
        sending.add(&sender.session, &mut ready);
        let sent = sending.send_at_once(sender.watched());
        // (If the connection is broken, the writer meets that, too.)
        if let Ok(sent) = sent {
            self.leave(sent);
        }
        !self.lock().queue.has_sent(sent.is_ok())
    }

    /// Waits for replies and moves all into `into`, which is empty. False when none will come any
    /// more.
    pub(crate) fn take(&self, into: &mut Vec<Ready>) -> bool {
        let mut held = self.lock();
        loop {
            match held.queue.take(into) {
                Replies::Taken => return true,
                Replies::NoMore => return false,
                Replies::NotYet => {
                    held = self.replies.wait(held).unwrap_or_else(PoisonError::into_inner);
                }
            }
        }
    }

    /// Replies have been sent.
    pub(crate) fn leave(&self, sent: Sent) {
        let mut held = self.lock();
        let wakes = held.queue.leave(sent.requests, sent.memory_bytes);
        let beyond = held.beyond(self.own_bytes);
        let surplus = held.pooled.saturating_sub(beyond);
        held.pooled -= surplus;
        let looks = surplus > 0 || held.stands_in_line;
        drop(held);
        if wakes {
            self.freed.notify_one();
        }
        if looks {
            self.pool.give_back(surplus);
        }
    }

    /// No more requests will come; what is under way is still answered.
    pub(crate) fn end(&self) {
        self.lock().queue.end();
        self.replies.notify_one();
    }

    /// Abandons it if the export has done with all requests, but for `lacking` ones that it does not
    /// have yet. From then on none gets in.
    pub(crate) fn abandon_idle(&self, lacking: usize) -> bool {
        let idle = self.lock().queue.abandon_idle(lacking);
        if idle {
            self.wake_all();
        }
        idle
    }

    /// Nobody waits any more for what is under way.
    pub(crate) fn abandon(&self) {
        self.lock().queue.abandon();
        self.wake_all();
    }

    fn wake_all(&self) {
        self.replies.notify_one();
        self.freed.notify_one();
        self.pool.give_back(0);
    }
}

/// The last request is answered, or will never be: nothing is held any more.
impl Drop for Outbox {
    fn drop(&mut self) {
        let pooled = self.lock().pooled;
        self.pool.give_back(pooled);
    }
}
