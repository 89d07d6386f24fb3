//! What policies and translations are told beside the requests: those to come, how far the disk's buffer
//! has been emptied, where write pointers are.

use std::sync::Arc;

use shingle_core::cache::CacheCore;
use shingle_core::policy::Access;
use shingle_core::units::{Nanos, Request};
use shingle_result::Pacing;

use super::System;
use crate::disk::Disk;

/// Who wants to be told what.
#[derive(Clone)]
pub(super) struct Hints {
    horizon: bool,
    write_pointers: bool,
    /// The disk is a translation that gets the host's requests as they come, and is told of them ahead.
    announces: bool,
    /// The next use of the block of each access, if the policy is told.
    future: Option<Arc<Vec<u64>>>,
}

impl Hints {
    pub(super) fn new(cache: &dyn CacheCore, disk: &Disk, pacing: Pacing) -> Hints {
        // A cache changes what the disk is asked; in closed loop nothing ever waits.
        let as_they_come = pacing == Pacing::Open && cache.slots().capacity() == 0;
        Hints {
            horizon: cache.wants_horizon(),
            write_pointers: cache.wants_write_pointers(),
            announces: as_they_come && disk.translated().is_some(),
            future: None,
        }
    }

    /// The next use of the block of the access that comes after `accesses` others.
    #[inline]
    pub(super) fn next_use(&self, accesses: u64) -> u64 {
        let known = self.future.as_ref().and_then(|future| future.get(accesses as usize));
        known.copied().unwrap_or(Access::NEVER)
    }
}

impl System {
    /// Whether the policy wants to be told [`System::foresee`].
    #[must_use]
    pub fn wants_future(&self) -> bool {
        self.cache.wants_future()
    }

    /// Tells the policy the future: `next_uses` is that of every block access from the first
    /// request on ([`crate::future::next_uses`]). Accesses beyond its end know of no next use.
    pub fn foresee(&mut self, next_uses: Vec<u64>) {
        self.hints.future = Some(Arc::new(next_uses));
    }

    /// These requests come next; see [`CacheCore::prefetch`].
    pub fn prefetch(&self, requests: &[Request]) {
        let (slots, drive) = (self.cache.slots(), self.disk.drive());
        let expect = |block| drive.prefetch(block);
        self.cache.prefetch(requests, &mut |coming| coming.on_disk(slots, expect));
    }

    /// Whether [`System::announce`] is of use.
    #[must_use]
    pub fn announces(&self) -> bool {
        self.hints.announces
    }

    /// These requests come behind those announced before; see
    /// [`Translated::announce`](crate::translated::Translated::announce).
    pub fn announce(&mut self, requests: &[Request]) {
        self.tell_translation(0, requests);
    }

    /// A request begins at `start`.
    pub(super) fn tell_of_request(&mut self, start: Nanos) {
        self.tell_translation(1, &[]);
        if self.hints.write_pointers {
            self.disk.catch_up(start);
            self.tell_write_pointers();
        }
    }

    /// The first `begun` requests of those announced have come, and `coming` follow.
    fn tell_translation(&mut self, begun: usize, coming: &[Request]) {
        if !self.hints.announces {
            return;
        }
        if let Some(translated) = self.disk.disk_mut().translated_mut() {
            translated.announce(begun, coming);
        }
    }

    /// The disk has been written to.
    pub(super) fn tell_of_disk(&mut self) {
        if self.hints.horizon {
            let disk = self.disk.drive();
            // (With nothing in the buffer all that was destaged is in its place.)
            let written = disk.counters().written_blocks;
            let behind = written - disk.buffer().oldest.unwrap_or(written);
            self.cache.set_horizon(self.cache.slots().destaged().saturating_sub(behind));
        }
        if self.hints.write_pointers {
            self.tell_write_pointers();
        }
    }

    /// Tells the policy of write pointers that have moved.
    fn tell_write_pointers(&mut self) {
        let Some(zoned) = self.disk.drive_mut().zoned() else { return };
        while let Some(zone) = zoned.moved() {
            self.cache.set_write_pointer(zone, zoned.zone(zone).write_pointer);
        }
    }
}
