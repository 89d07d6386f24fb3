//! The results and the state of a system.

use std::sync::Arc;

use shingle_core::cache::CacheCore;
use shingle_core::units::Nanos;
use shingle_drive::Drive;
use shingle_drive::steps::Step;
use shingle_result::{Responses, Snapshot, Translating};

use super::System;
use crate::check::StaleRead;
use crate::device;
use crate::passed::{LeftOut, Passed};
use crate::translated::Translated;
use crate::watch::Watch;

impl System {
    /// Returns all counters.
    #[must_use]
    pub fn snapshot(&self) -> Snapshot {
        device::snapshot(&self.host, self.ssd.device(), &self.disk)
    }

    /// Returns the cache.
    #[must_use]
    pub fn cache(&self) -> &dyn CacheCore {
        self.cache.as_ref()
    }

    /// Returns the disk.
    #[must_use]
    pub fn disk(&self) -> &dyn Drive {
        self.disk.drive()
    }

    /// Returns the counters of the translation over the disk, if there is one.
    #[must_use]
    pub fn translating(&self) -> Option<Translating> {
        self.disk.disk().translated().map(Translated::translating)
    }

    /// Returns the utilisation of the disk and of the SSD.
    #[must_use]
    pub(crate) fn utilisation(&self) -> [f64; 2] {
        [&self.disk, self.ssd.device()].map(|device| device.utilisation(self.finished()))
    }

    /// Returns when the last I/O is done.
    #[must_use]
    pub fn finished(&self) -> Nanos {
        self.clock.now().max(self.disk.last_io()).max(self.ssd.device().last_io())
    }

    /// Runs the background work that the disk would have done by `now`, before the work left is
    /// examined.
    pub(crate) fn catch_up(&mut self, now: Nanos) {
        self.disk.catch_up(now);
    }

    /// Returns the response times of the disk.
    #[must_use]
    pub(crate) fn drive_responses(&self) -> Responses {
        self.disk.responses()
    }

    /// Returns for how long after `at` the disk is busy with earlier I/O.
    #[must_use]
    pub(crate) fn backlog(&self, at: Nanos) -> Nanos {
        self.disk.last_io().since(at)
    }

    /// Returns the number of checked reads and the first stale one, in a checked system.
    #[must_use]
    pub fn checked(&self) -> Option<(u64, Option<StaleRead>)> {
        self.check.as_ref().map(|check| (check.reads(), check.stale()))
    }

    /// Moves the internal steps of the drive into `steps`, if it reports them.
    pub(crate) fn take_steps(&mut self, steps: &mut Vec<Step>) {
        if let Some(log) = self.disk.drive_mut().steps() {
            log.take(steps);
        }
    }

    /// Returns the observers of the disk, if there are any.
    pub(crate) fn watched(&mut self) -> Option<&mut Watch> {
        self.disk.watched()
    }

    /// Returns the observers of the disk, to add one. They do not see copies of the system.
    pub(crate) fn watch(&mut self) -> &mut Watch {
        self.disk.watch()
    }

    /// Declares that the requests are a sample, with the requests left out before each.
    pub(crate) fn pass_over(&mut self, left_out: Arc<LeftOut>) {
        self.disk.pass(Passed::new(left_out));
    }

    /// Removes the observers of the disk.
    pub(crate) fn unwatch(&mut self) {
        self.disk.unwatch();
    }
}
