//! When things begin and end.
//!
//! Closed loop adds up: each I/O begins when the one before it is done (SAC, PORE). Open loop
//! queues: each I/O begins when what it depends on is done and its device is free, so that an SSD
//! hit never waits for the disk.

use shingle_core::units::Nanos;
use shingle_result::Pacing;

/// The time of a system, and of the request under way.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clock {
    pacing: Pacing,
    /// All requests so far are done.
    now: Nanos,
    /// The next I/O of the request may begin.
    ready: Nanos,
    /// The request is done, as far as is known.
    done: Nanos,
}

impl Clock {
    pub(super) fn new(pacing: Pacing) -> Clock {
        Clock { pacing, now: Nanos::ZERO, ready: Nanos::ZERO, done: Nanos::ZERO }
    }

    /// A request with timestamp `at` begins. Returns when.
    #[inline]
    pub(super) fn begin(&mut self, at: Nanos) -> Nanos {
        let start = match self.pacing {
            Pacing::Closed => self.now,
            Pacing::Open => at,
        };
        (self.ready, self.done) = (start, start);
        start
    }

    /// The request under way has no more I/O. Returns when it is done.
    #[inline]
    pub(super) fn end(&mut self) -> Nanos {
        self.now = self.now.max(self.done);
        self.done
    }

    /// Something that is no request begins, at `at` or when all requests are done. Returns when.
    pub(super) fn begin_after(&mut self, at: Nanos) -> Nanos {
        self.ready = self.now.max(at);
        self.done = self.ready;
        self.ready
    }

    /// That has ended.
    pub(super) fn end_at(&mut self, at: Nanos) {
        self.now = at;
    }

    /// Nothing more begins before `at`.
    pub(super) fn not_before(&mut self, at: Nanos) {
        self.now = self.now.max(at);
    }

    /// When all requests so far are done.
    pub(super) fn now(&self) -> Nanos {
        self.now
    }

    /// When the next I/O of the request under way may begin.
    #[inline]
    pub(super) fn ready(&self) -> Nanos {
        self.ready
    }

    /// Whether each I/O waits for the one before it.
    #[inline]
    pub(super) fn closed(&self) -> bool {
        self.pacing == Pacing::Closed
    }

    /// The request is not done before `done`; in closed loop nothing else begins before it.
    #[inline]
    pub(super) fn waits_for(&mut self, done: Nanos) {
        self.done = self.done.max(done);
        if self.closed() {
            self.ready = done;
        }
    }

    /// What comes next begins when this is done, and the request is not done before.
    #[inline]
    pub(super) fn chain(&mut self, done: Nanos) {
        self.ready = self.ready.max(done);
        self.done = self.done.max(done);
    }
}
