//! The outbox of a connection: its [queue](crate::queue) behind a lock, with the waits of its
//! threads. Payload uses the connection's own memory first, and then the shared
//! [pool](crate::pool).

use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};

use crate::answer::{Answer, Failure};
use crate::pool::{Pool, Want};
use crate::queue::{Entry, Queue, Ready, Replies};
use crate::sender::{Sender, Sent};

pub(crate) use crate::queue::{InFlight, Room};

/// The answering thread sends at most this many replies itself, and only if it has no other request
/// to work on meanwhile.
const AT_ONCE_MAX: usize = 4;

pub(crate) struct Outbox {
    /// The number of the connection, from 1 on.
    connection: u64,
    room: Room,
    /// The memory reserved for it, and the pool for more.
    own_bytes: u64,
    pool: Arc<Pool>,
    /// Locked last: after the connections of the server, the replies being sent and the pool.
    held: Mutex<Held>,
    /// Wakes the writer, which waits for replies or for the end.
    replies: Condvar,
    /// Wakes the reader, which waits for room.
    freed: Condvar,
    /// Set when the transmission begins. While its lock is held that of the queue may be taken, not
    /// the other way round.
    sender: OnceLock<Sender>,
}

#[derive(Default)]
struct Held {
    queue: Queue,
    /// Memory taken from the pool.
    pooled: u64,
    /// The reader waits for more memory of the pool.
    is_queued: bool,
}

impl Held {
    /// The memory in use beyond its own.
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

    /// Begins the transmission: replies are sent through `sender`.
    pub(crate) fn begin_transmission(&self, sender: Sender) -> &Sender {
        self.sender.get_or_init(|| sender)
    }

    pub(crate) fn connection(&self) -> u64 {
        self.connection
    }

    /// Locks the queue. No code that panics under the lock leaves it inconsistent.
    fn lock(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for room and takes it. Calls `before_waiting` before it may have to wait, and `stalls`
    /// repeatedly while it waits for memory that others hold. False if the outbox is abandoned.
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
            held.is_queued = true;
            Want::Bytes(held.beyond(self.own_bytes).saturating_sub(held.pooled))
        };
        let took = |bytes| self.lock().pooled += bytes;
        let entered = self.pool.take(self.connection, want, took, stalls);
        self.lock().is_queued = false;
        entered
    }

    /// Whether it holds memory of the pool.
    pub(crate) fn holds_pooled(&self) -> bool {
        self.lock().pooled > 0
    }

    /// Adds the reply to a request that has entered. Returns whether the writer has to be woken.
    #[must_use]
    pub(crate) fn push(&self, which: InFlight, result: Result<Answer, Failure>) -> bool {
        self.lock().queue.push(which, result)
    }

    /// Called when there are replies and the writer sleeps: sends them if that is possible at once,
    /// or wakes the writer.
    pub(crate) fn send_or_wake(&self) {
        if !self.sender.get().is_some_and(|sender| self.send_at_once(sender)) {
            self.replies.notify_one();
        }
    }

    /// Returns whether the writer may continue to sleep.
    fn send_at_once(&self, sender: &Sender) -> bool {
        let Some(mut sending) = sender.try_lock() else { return false };
        let mut ready = Vec::new();
        if !self.lock().queue.take_last(AT_ONCE_MAX, &mut ready) {
            return false;
        }
        sending.add(&sender.session, &mut ready);
        let sent = sending.send_at_once(sender.watched());
        // If the connection is broken, the writer finds that out, too.
        if let Ok(sent) = sent {
            self.release(sent);
        }
        !self.lock().queue.has_sent(sent.is_ok())
    }

    /// Waits for replies and moves all of them to `into`, which is empty. False if no more will
    /// come.
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

    /// Releases what sent replies have held.
    pub(crate) fn release(&self, sent: Sent) {
        let mut held = self.lock();
        let wakes = held.queue.release(sent.requests, sent.memory_bytes);
        let beyond = held.beyond(self.own_bytes);
        let surplus = held.pooled.saturating_sub(beyond);
        held.pooled -= surplus;
        let looks = surplus > 0 || held.is_queued;
        drop(held);
        if wakes {
            self.freed.notify_one();
        }
        if looks {
            self.pool.give_back(surplus);
        }
    }

    /// Ends the outbox: no more requests will come; those in flight are still answered.
    pub(crate) fn end(&self) {
        self.lock().queue.end();
        self.replies.notify_one();
    }

    /// Abandons the outbox if the export is done with all requests, except for `lacking` ones that
    /// it does not have yet. From then on none enters.
    pub(crate) fn abandon_idle(&self, lacking: usize) -> bool {
        let idle = self.lock().queue.abandon_idle(lacking);
        if idle {
            self.wake_all();
        }
        idle
    }

    /// Abandons the outbox: nothing waits for the requests in flight any more.
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

/// Called when the last request is answered, or can never be: the outbox holds nothing any more.
impl Drop for Outbox {
    fn drop(&mut self) {
        let pooled = self.lock().pooled;
        self.pool.give_back(pooled);
    }
}
