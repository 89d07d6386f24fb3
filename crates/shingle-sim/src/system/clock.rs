//! Start and completion times.
//!
//! Closed loop is sequential: each I/O begins when the one before it is done (SAC, PORE). Open loop
//! queues: each I/O begins when what it depends on is done and its device is free, so an SSD hit
//! never waits for the disk.

use shingle_core::units::Nanos;
use shingle_result::Pacing;

/// The time of a system, and of the current request.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clock {
    pacing: Pacing,
    /// Time at which all requests so far are done.
    now: Nanos,
    /// Time from which on the next I/O of the request may begin.
    ready: Nanos,
    /// Completion of the request, as far as known.
    done: Nanos,
}

impl Clock {
    pub(super) fn new(pacing: Pacing) -> Clock {
        Clock { pacing, now: Nanos::ZERO, ready: Nanos::ZERO, done: Nanos::ZERO }
    }

    /// Begins a request with timestamp `at`. Returns its start.
    #[inline]
    pub(super) fn begin(&mut self, at: Nanos) -> Nanos {
        let start = match self.pacing {
            Pacing::Closed => self.now,
            Pacing::Open => at,
        };
        (self.ready, self.done) = (start, start);
        start
    }

    /// Ends the current request, which has no more I/O. Returns its completion.
    #[inline]
    pub(super) fn end(&mut self) -> Nanos {
        self.now = self.now.max(self.done);
        self.done
    }

    /// Begins work that is no request, at `at` or when all requests are done. Returns its start.
    pub(super) fn begin_after(&mut self, at: Nanos) -> Nanos {
        self.ready = self.now.max(at);
        self.done = self.ready;
        self.ready
    }

    pub(super) fn end_at(&mut self, at: Nanos) {
        self.now = at;
    }

    /// Lets nothing more begin before `at`.
    pub(super) fn not_before(&mut self, at: Nanos) {
        self.now = self.now.max(at);
    }

    /// Returns when all requests so far are done.
    pub(super) fn now(&self) -> Nanos {
        self.now
    }

    /// Returns when the next I/O of the current request may begin.
    #[inline]
    pub(super) fn ready(&self) -> Nanos {
        self.ready
    }

    /// Returns whether each I/O waits for the one before it.
    #[inline]
    pub(super) fn closed(&self) -> bool {
        self.pacing == Pacing::Closed
    }

    /// Delays the completion of the request to `done`; in closed loop the next I/O, too.
    #[inline]
    pub(super) fn waits_for(&mut self, done: Nanos) {
        self.done = self.done.max(done);
        if self.closed() {
            self.ready = done;
        }
    }

    /// Delays the next I/O and the completion of the request to `done`.
    #[inline]
    pub(super) fn chain(&mut self, done: Nanos) {
        self.ready = self.ready.max(done);
        self.done = self.done.max(done);
    }
}
