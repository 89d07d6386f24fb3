//! Information for policies and translations beside the requests: coming requests, the state of the
//! disk's buffer, write pointers.

use std::sync::Arc;

use shingle_core::cache::CacheCore;
use shingle_core::policy::Access;
use shingle_core::units::{Nanos, Request};
use shingle_result::{HostCounters, Pacing};

use super::System;
use crate::disk::Disk;

/// Which information is needed.
#[derive(Clone)]
pub(super) struct Hints {
    horizon: bool,
    write_pointers: bool,
    /// Whether coming requests are announced to the disk: a translation that gets the host's
    /// requests as they arrive.
    announces: bool,
    /// The next use of the block of each access, if the policy needs it.
    future: Option<Arc<Vec<u64>>>,
}

impl Hints {
    pub(super) fn new(cache: &dyn CacheCore, disk: &Disk, pacing: Pacing) -> Hints {
        // A cache changes the I/O of the disk, and in closed loop nothing waits.
        let as_they_come = pacing == Pacing::Open && cache.slots().capacity() == 0;
        Hints {
            horizon: cache.wants_horizon(),
            write_pointers: cache.wants_write_pointers(),
            announces: as_they_come && disk.translated().is_some(),
            future: None,
        }
    }

    /// Returns whether [`System::tell_of_request`] has an effect.
    #[inline]
    pub(super) fn wants_requests(&self) -> bool {
        self.announces | self.write_pointers
    }

    /// Returns the next use of the block accessed now, with `host` before this access.
    #[inline]
    pub(super) fn next_use(&self, host: &HostCounters) -> u64 {
        let Some(future) = &self.future else { return Access::NEVER };
        let accesses = host.read_blocks + host.write_blocks;
        future.get(accesses as usize).copied().unwrap_or(Access::NEVER)
    }
}

impl System {
    /// Returns whether the policy needs [`System::set_future`].
    #[must_use]
    pub fn wants_future(&self) -> bool {
        self.cache.wants_future()
    }

    /// Gives the policy the future: `next_uses` has an entry for every block access from the first
    /// request on ([`crate::future::next_uses`]). Accesses beyond its end have no next use.
    pub fn set_future(&mut self, next_uses: Vec<u64>) {
        self.hints.future = Some(Arc::new(next_uses));
    }

    /// Prefetches data for the next requests; see [`CacheCore::prefetch`].
    pub fn prefetch(&mut self, requests: &[Request]) {
        let (slots, drive) = (self.cache.slots(), self.disk.drive());
        let prefetch = |block| drive.prefetch(block);
        self.cache
            .prefetch(&mut self.ahead, requests, &mut |coming| coming.on_disk(slots, prefetch));
    }

    /// Returns whether [`System::announce`] has an effect.
    #[must_use]
    pub fn uses_announcements(&self) -> bool {
        self.hints.announces
    }

    /// Announces requests that follow those announced before; see
    /// [`Translated::announce`](crate::translated::Translated::announce).
    pub fn announce(&mut self, requests: &[Request]) {
        self.tell_translation(0, requests);
    }

    #[inline(never)]
    pub(super) fn tell_of_request(&mut self, start: Nanos) {
        self.tell_translation(1, &[]);
        if self.hints.write_pointers {
            self.disk.catch_up(start);
            self.tell_write_pointers();
        }
    }

    /// Reports that the first `begun` of the announced requests have arrived, and announces
    /// `coming`.
    fn tell_translation(&mut self, begun: usize, coming: &[Request]) {
        if !self.hints.announces {
            return;
        }
        if let Some(translated) = self.disk.disk_mut().translated_mut() {
            translated.announce(begun, coming);
        }
    }

    /// Updates the horizon and the write pointers after a write to the disk.
    pub(super) fn tell_of_disk(&mut self) {
        if self.hints.horizon {
            let disk = self.disk.drive();
            // If the buffer is empty, everything destaged is in its place.
            let written = disk.counters().written_blocks;
            let behind = written - disk.buffer().oldest.unwrap_or(written);
            self.cache.set_horizon(self.cache.slots().destaged().saturating_sub(behind));
        }
        if self.hints.write_pointers {
            self.tell_write_pointers();
        }
    }

    /// Passes the write pointers that have moved to the policy.
    fn tell_write_pointers(&mut self) {
        let Some(zoned) = self.disk.drive_mut().zoned() else { return };
        while let Some(zone) = zoned.moved() {
            self.cache.set_write_pointer(zone, zoned.zone(zone).write_pointer);
        }
    }
}
