//! Where replies wait to be sent, and threads for them: the [queue](crate::queue) of a connection behind a lock.

use std::sync::{Condvar, Mutex, MutexGuard, OnceLock, PoisonError};

use crate::answer::{Answer, Failure};
use crate::queue::{Entry, Queue, Ready, Replies};
use crate::sender::{Sender, Sent};

pub(crate) use crate::queue::{InFlight, Room};

/// So many replies are sent by who answered at most, and if there is no other request that he could see to meanwhile.
const AT_ONCE_MAX: usize = 4;

pub(crate) struct Outbox {
    /// Of the connection, from 1 on.
    connection: u64,
    room: Room,
    queue: Mutex<Queue>,
    /// The writer waits for replies, or for the end.
    replies: Condvar,
    /// The reader waits for room.
    freed: Condvar,
    /// Once there is something to be sent. (Whoever holds its lock may take that of the queue, not the other way round.)
    sender: OnceLock<Sender>,
}

impl Outbox {
    pub(crate) fn new(connection: u64, room: Room) -> Self {
        let (queue, sender) = (Mutex::default(), OnceLock::new());
        Self { connection, room, queue, replies: Condvar::new(), freed: Condvar::new(), sender }
    }

    /// The handshake is over: replies go through `sender`.
    pub(crate) fn begin_transmission(&self, sender: Sender) -> &Sender {
        self.sender.get_or_init(|| sender)
    }

    pub(crate) fn connection(&self) -> u64 {
        self.connection
    }

    /// No code that holds the lock can leave the queue half changed.
    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for room and takes it; calls `before_waiting` if it has to wait. False when abandoned.
    pub(crate) fn enter(&self, memory_bytes: u64, before_waiting: impl FnOnce()) -> bool {
        let first = self.lock().enter(self.room, memory_bytes);
        if first != Entry::Full {
            return first == Entry::Entered;
        }
        before_waiting();
        let mut queue = self.lock();
        loop {
            match queue.enter(self.room, memory_bytes) {
                Entry::Entered => return true,
                Entry::Abandoned => return false,
                Entry::Full => {}
            }
            queue.reader_waits();
            queue = self.freed.wait(queue).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// A request that has entered is answered. Returns whether the writer has to be woken.
    #[must_use]
    pub(crate) fn push(&self, which: InFlight, result: Result<Answer, Failure>) -> bool {
        self.lock().push(which, result)
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
        if !self.lock().take_last(AT_ONCE_MAX, &mut ready) {
            return false;
        }
        sending.add(&sender.session, &mut ready);
        let sent = sending.send_at_once(sender.watched());
        // (If the connection is broken, the writer meets that, too.)
        if let Ok(sent) = sent {
            self.leave(sent);
        }
        !self.lock().has_sent(sent.is_ok())
    }

    /// Waits for replies and moves all into `into`, which is empty. False when none will come any
    /// more.
    pub(crate) fn take(&self, into: &mut Vec<Ready>) -> bool {
        let mut queue = self.lock();
        loop {
            match queue.take(into) {
                Replies::Taken => return true,
                Replies::NoMore => return false,
                Replies::NotYet => {
                    queue = self.replies.wait(queue).unwrap_or_else(PoisonError::into_inner);
                }
            }
        }
    }

    /// Replies have been sent.
    pub(crate) fn leave(&self, sent: Sent) {
        let wakes = self.lock().leave(sent.requests, sent.memory_bytes);
        if wakes {
            self.freed.notify_one();
        }
    }

    /// No more requests will come; what is under way is still answered.
    pub(crate) fn end(&self) {
        self.lock().end();
        self.replies.notify_one();
    }

    /// Abandons it if the export has done with all requests, but for `lacking` ones that it does not
    /// have yet. From then on none gets in.
    pub(crate) fn abandon_idle(&self, lacking: usize) -> bool {
        let idle = self.lock().abandon_idle(lacking);
        if idle {
            self.replies.notify_one();
            self.freed.notify_one();
        }
        idle
    }

    /// Nobody waits any more for what is under way.
    pub(crate) fn abandon(&self) {
        self.lock().abandon();
        self.replies.notify_one();
        self.freed.notify_one();
    }
}
