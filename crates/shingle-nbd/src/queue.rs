//! The requests in flight on one connection, and its replies in the order of completion. Decides
//! which thread has to be woken; the [outbox](crate::outbox) makes threads wait.

use crate::answer::{Answer, Failure};
use crate::requests::Request;

/// A request between its arrival and the sending of its reply.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct InFlight {
    pub(crate) request: Request,
    /// The memory that it is charged for.
    pub(crate) memory_bytes: u64,
}

/// A reply that waits to be sent.
pub(crate) type Ready = (InFlight, Result<Answer, Failure>);

/// The limits of requests in flight.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Room {
    pub(crate) requests: usize,
    pub(crate) memory_bytes: u64,
}

/// The result of [`Queue::enter`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Entry {
    /// The request has entered.
    Entered,
    /// There is no room.
    Full,
    /// The queue is abandoned: nothing enters any more.
    Abandoned,
}

/// The result of [`Queue::take`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Replies {
    /// There were replies.
    Taken,
    /// There are none yet.
    NotYet,
    /// There will be none any more.
    NoMore,
}

#[derive(Clone, Hash, Debug, Default)]
pub(crate) struct Queue {
    ready: Vec<Ready>,
    requests: usize,
    /// How many of them are answered: the export is done with them.
    answered: usize,
    memory_bytes: u64,
    writer_waits: bool,
    /// An answering thread has sent a part of a reply: the writer sends the rest.
    begun: bool,
    reader_waits: bool,
    /// No more requests will come.
    ended: bool,
    /// The queue is abandoned: nothing waits for the requests in flight.
    abandoned: bool,
}

impl Queue {
    /// The memory charged for requests in flight.
    pub(crate) fn memory_bytes(&self) -> u64 {
        self.memory_bytes
    }

    pub(crate) fn is_abandoned(&self) -> bool {
        self.abandoned
    }

    /// Tries to add a request.
    pub(crate) fn enter(&mut self, room: Room, memory_bytes: u64) -> Entry {
        // A request larger than the limit is accepted alone.
        let full = self.requests >= room.requests
            || (self.requests > 0 && self.memory_bytes + memory_bytes > room.memory_bytes);
        match (self.abandoned, full) {
            (true, _) => Entry::Abandoned,
            (false, true) => Entry::Full,
            (false, false) => {
                self.requests += 1;
                self.memory_bytes += memory_bytes;
                Entry::Entered
            }
        }
    }

    /// Notes that the reader waits for room.
    pub(crate) fn reader_waits(&mut self) {
        self.reader_waits = true;
    }

    /// Adds the reply to a request. Returns whether the writer has to be woken, unless the
    /// answering thread sends the replies itself ([`Queue::take_last`]).
    pub(crate) fn push(&mut self, which: InFlight, result: Result<Answer, Failure>) -> bool {
        self.ready.push((which, result));
        self.answered += 1;
        std::mem::take(&mut self.writer_waits)
    }

    /// Moves all replies to `into`, which is empty. If there are none, the writer waits from now
    /// on.
    pub(crate) fn take(&mut self, into: &mut Vec<Ready>) -> Replies {
        if std::mem::take(&mut self.begun) || !self.ready.is_empty() {
            std::mem::swap(&mut self.ready, into);
            return Replies::Taken;
        }
        if self.is_over() {
            return Replies::NoMore;
        }
        self.writer_waits = true;
        Replies::NotYet
    }

    fn is_over(&self) -> bool {
        self.abandoned || (self.ended && self.requests == 0)
    }

    /// For a thread that would have to wake the writer ([`Queue::push`]) and sends instead: moves
    /// all replies to `into`, which is empty, if they are at most `most` and no other request of
    /// the client is open.
    pub(crate) fn take_last(&mut self, most: usize, into: &mut Vec<Ready>) -> bool {
        let replies = self.ready.len();
        let last = replies == self.requests && replies <= most;
        if last {
            std::mem::swap(&mut self.ready, into);
        }
        last
    }

    /// Notes that this thread has sent `all` replies, and called [`Queue::release`], or has sent a
    /// part. Returns whether the writer has to be woken after all.
    pub(crate) fn has_sent(&mut self, all: bool) -> bool {
        self.begun |= !all;
        let wakes = self.begun || !self.ready.is_empty() || self.is_over();
        self.writer_waits |= !wakes;
        wakes
    }

    /// Removes requests whose replies have been sent. Returns whether the reader has to be woken.
    pub(crate) fn release(&mut self, requests: usize, memory_bytes: u64) -> bool {
        self.requests -= requests;
        self.answered -= requests;
        self.memory_bytes -= memory_bytes;
        std::mem::take(&mut self.reader_waits)
    }

    /// Ends the queue: no more requests will come; those in flight are still answered. The writer
    /// has to be woken.
    pub(crate) fn end(&mut self) {
        self.ended = true;
    }

    /// Abandons the queue: nothing waits for the requests in flight any more. Both threads have to
    /// be woken.
    pub(crate) fn abandon(&mut self) {
        self.abandoned = true;
    }

    /// The same, if the export is done with all requests, except for `lacking` ones that it does
    /// not have yet.
    pub(crate) fn abandon_idle(&mut self, lacking: usize) -> bool {
        let idle = self.requests - self.answered <= lacking;
        self.abandoned |= idle;
        idle
    }
}

#[cfg(test)]
impl Queue {
    /// The requests in flight, and the memory that they are charged for.
    pub(crate) fn in_use(&self) -> (usize, u64) {
        (self.requests, self.memory_bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROOM: Room = Room { requests: 3, memory_bytes: 10 };

    fn answer(queue: &mut Queue) {
        let request = Request { flags: 0, kind: 0, cookie: 0, offset: 0, length: 0 };
        queue.push(InFlight { request, memory_bytes: 0 }, Ok(Answer::Done));
    }

    #[test]
    fn requests_enter_as_long_as_there_is_room() {
        let mut queue = Queue::default();
        assert_eq!(queue.enter(ROOM, 4), Entry::Entered);
        assert_eq!(queue.enter(ROOM, 7), Entry::Full);
        assert_eq!(queue.enter(ROOM, 6), Entry::Entered);
        assert_eq!(queue.memory_bytes(), 10);
        assert_eq!(queue.enter(ROOM, 0), Entry::Entered);
        assert_eq!(queue.enter(ROOM, 0), Entry::Full);
        answer(&mut queue);
        assert_eq!(queue.enter(ROOM, 0), Entry::Full, "there is room once the reply is sent");
        queue.release(1, 6);
        assert_eq!(queue.enter(ROOM, 6), Entry::Entered);
    }

    #[test]
    fn what_is_larger_than_all_room_enters_alone() {
        let mut queue = Queue::default();
        assert_eq!(queue.enter(ROOM, 11), Entry::Entered);
        assert_eq!(queue.enter(ROOM, 0), Entry::Full);
        answer(&mut queue);
        queue.release(1, 11);
        assert_eq!(queue.enter(ROOM, 1), Entry::Entered);
        assert_eq!(queue.enter(ROOM, 11), Entry::Full);
    }

    #[test]
    fn nothing_enters_or_waits_once_it_is_abandoned() {
        let mut queue = Queue::default();
        assert_eq!(queue.enter(ROOM, 1), Entry::Entered);
        assert_eq!(queue.take(&mut Vec::new()), Replies::NotYet);
        assert!(!queue.is_abandoned());
        queue.abandon();
        assert!(queue.is_abandoned());
        assert_eq!(queue.enter(ROOM, 1), Entry::Abandoned);
        assert_eq!(queue.take(&mut Vec::new()), Replies::NoMore);
    }

    #[test]
    fn who_answered_sends_what_the_client_waits_for_and_leaves_to_the_writer_what_does_not_go() {
        let mut queue = Queue::default();
        (0..2).for_each(|_| assert_eq!(queue.enter(ROOM, 1), Entry::Entered));
        let mut ready = Vec::new();
        assert_eq!(queue.take(&mut ready), Replies::NotYet);
        answer(&mut queue);
        assert!(!queue.take_last(2, &mut ready), "the client has another request under way");
        answer(&mut queue);
        assert!(!queue.take_last(1, &mut ready), "too many");
        assert!(queue.take_last(2, &mut ready) && ready.len() == 2);
        queue.release(2, 2);
        assert!(!queue.has_sent(true), "the writer sleeps on");
        assert_eq!(queue.enter(ROOM, 1), Entry::Entered);
        let request = Request { flags: 0, kind: 0, cookie: 0, offset: 0, length: 0 };
        assert!(queue.push(InFlight { request, memory_bytes: 1 }, Ok(Answer::Done)), "it sleeps");
        ready.clear();
        assert!(queue.take_last(2, &mut ready));
        assert!(queue.has_sent(false), "a part has to be sent");
        ready.clear();
        assert_eq!(queue.take(&mut ready), Replies::Taken);
        assert!(ready.is_empty(), "it is on its way already");
        queue.release(1, 1);
        queue.end();
        assert_eq!(queue.take(&mut ready), Replies::NoMore);
    }

    #[test]
    fn a_queue_is_idle_without_requests_that_the_export_has() {
        let entered = |requests: usize| {
            let mut queue = Queue::default();
            (0..requests).for_each(|_| assert_eq!(queue.enter(ROOM, 1), Entry::Entered));
            queue
        };
        let mut works = entered(2);
        assert!(!works.abandon_idle(0) && !works.abandon_idle(1));
        assert_eq!(works.enter(ROOM, 1), Entry::Entered);
        let mut lacks = entered(2);
        answer(&mut lacks);
        assert!(lacks.abandon_idle(1), "the payload of one has not come, the other is answered");
        let mut idle = entered(0);
        assert!(idle.abandon_idle(0));
        for mut queue in [lacks, idle] {
            assert_eq!(queue.enter(ROOM, 1), Entry::Abandoned);
        }
    }
}
