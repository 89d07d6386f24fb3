//! Detects when the cache (without one: the disk's buffer) is first full: counts from then on do
//! not depend on how it was filled.

use shingle_result::Snapshot;

use super::System;

/// The state of this detection.
#[derive(Clone, Copy, Debug)]
#[allow(clippy::large_enum_variant)] // one a system
pub(super) enum Warm {
    NotYet,
    /// Full from the next access on.
    Next,
    /// Full since this request, with the counters before it.
    Since {
        request: u64,
        before: Snapshot,
    },
}

impl System {
    /// Returns the counters when the cache (without one: the buffer) was first full, and the number
    /// of the request from which on it was. `None` if it never was.
    #[must_use]
    pub fn warm(&self) -> Option<(u64, &Snapshot)> {
        match &self.warm {
            Warm::Since { request, before } => Some((*request, before)),
            _ => None,
        }
    }

    /// Called before an access.
    #[inline]
    pub(super) fn begin_warm(&mut self) {
        if let Warm::Next = self.warm {
            self.warm = Warm::Since { request: self.requests, before: self.snapshot() };
        }
    }

    /// Called after a slot was allocated.
    #[inline]
    pub(super) fn notice_full_cache(&mut self) {
        if matches!(self.warm, Warm::NotYet) && self.cache.full() {
            self.warm = Warm::Next;
        }
    }

    /// Called after a request.
    #[inline]
    pub(super) fn notice_full_buffer(&mut self) {
        if !self.caches && matches!(self.warm, Warm::NotYet) && self.disk.drive().buffer().was_full
        {
            self.warm = Warm::Next;
        }
    }
}
