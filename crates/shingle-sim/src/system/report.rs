//! What there is to know of a system.

use std::sync::Arc;

use shingle_core::cache::CacheCore;
use shingle_core::units::Nanos;
use shingle_drive::Drive;
use shingle_drive::steps::Step;
use shingle_result::{Responses, Snapshot, Translating};

use super::System;
use crate::check::Stale;
use crate::device;
use crate::passed::{LeftOut, Passed};
use crate::translated::Translated;
use crate::watch::Watch;

impl System {
    /// All counters now.
    #[must_use]
    pub fn snapshot(&self) -> Snapshot {
        device::snapshot(&self.host, self.ssd.device(), &self.disk)
    }

    /// The cache.
    #[must_use]
    pub fn cache(&self) -> &dyn CacheCore {
        self.cache.as_ref()
    }

    /// The disk.
    #[must_use]
    pub fn disk(&self) -> &dyn Drive {
        self.disk.drive()
    }

    /// What the translation over the disk has done, if there is one.
    #[must_use]
    pub fn translating(&self) -> Option<Translating> {
        self.disk.disk().translated().map(Translated::translating)
    }

    /// The parts of the time that the disk and the SSD were at work.
    #[must_use]
    pub(crate) fn utilisation(&self) -> [f64; 2] {
        [&self.disk, self.ssd.device()].map(|device| device.utilisation(self.finished()))
    }

    /// When the last I/O is done.
    #[must_use]
    pub fn finished(&self) -> Nanos {
        self.clock.now().max(self.disk.last_io()).max(self.ssd.device().last_io())
    }

    /// Has the disk do in idle time what it would have done by `now`, before somebody looks at what is undone.
    pub(crate) fn catch_up(&mut self, now: Nanos) {
        self.disk.catch_up(now);
    }

    /// Response times of the disk.
    #[must_use]
    pub(crate) fn drive_responses(&self) -> Responses {
        self.disk.responses()
    }

    /// How long after `at` the disk is still busy with what came before.
    #[must_use]
    pub(crate) fn backlog(&self, at: Nanos) -> Nanos {
        self.disk.last_io().since(at)
    }

    /// The first stale read and how many were checked, in a checked system.
    #[must_use]
    pub fn checked(&self) -> Option<(u64, Option<Stale>)> {
        self.check.as_ref().map(|check| (check.reads(), check.stale()))
    }

    /// Moves what the drive has done inside into `steps`, if it tells.
    pub(crate) fn take_steps(&mut self, steps: &mut Vec<Step>) {
        if let Some(log) = self.disk.drive_mut().steps() {
            log.take(steps);
        }
    }

    /// Those who look on at what the disk is asked, if anybody does.
    pub(crate) fn watched(&mut self) -> Option<&mut Watch> {
        self.disk.watched()
    }

    /// Lets somebody look on at what the disk is asked, but not at what copies of the system ask.
    pub(crate) fn watch(&mut self) -> &mut Watch {
        self.disk.watch()
    }

    /// The requests are a sample, and these were left out before each.
    pub(crate) fn pass_over(&mut self, left_out: Arc<LeftOut>) {
        self.disk.pass(Passed::new(left_out));
    }

    /// Nobody watches the disk any more.
    pub(crate) fn unwatch(&mut self) {
        self.disk.unwatch();
    }
}
