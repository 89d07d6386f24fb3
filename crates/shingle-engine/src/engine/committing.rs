//! Commits, what they release, and what is left to do when the SSD has failed and there are no more.

use super::Engine;
use super::durability::{self, FOUND, Progress};
use super::life::{Facts, Step};
use super::port::Failed;
use crate::bugs::Bug;
use crate::data::Data;
use crate::journal::PageKind;

impl<D: Data> Engine<D> {
    /// Commits what was given in, if somebody waits for it or it is time.
    pub(super) fn commit_if_due(&mut self) {
        let demand = durability::Demand {
            frames: self.requests.some_wait_for_frame(),
            all: self.life.wants_commits(),
        };
        let progress = self.durability.commit_if_due(demand, self.now, &mut self.port);
        self.follow(progress);
    }

    /// A page of metadata is written, or not.
    pub(super) fn meta_written(&mut self, what: PageKind, result: Result<(), Failed>, buffer: D) {
        let port = &mut self.port;
        let progress = self.durability.meta_written(what, result, buffer, self.now, port);
        self.follow(progress);
    }

    /// The SSD was flushed, or not: for a commit, or for what the superblock says of a failed SSD.
    pub(super) fn ssd_flushed(&mut self, result: Result<(), Failed>) {
        if self.durability.has_failed() {
            let released = self.failure.invalidation_flushed(result, &mut self.port);
            self.requests.all_go_on(released.into_iter().flatten());
        } else {
            let progress = self.durability.flushed(result, self.now);
            self.follow(progress);
        }
    }

    #[inline]
    fn follow(&mut self, progress: Progress) {
        if progress != Progress::Nothing {
            self.looks.again();
        }
        match progress {
            Progress::Nothing => {}
            Progress::Committed => {
                self.requests.all_go_on(self.durability.take_released());
                self.trims.look_again();
            }
            Progress::SsdFailed => self.ssd_failed(),
        }
    }

    /// Metadata cannot be written: nothing can be committed any more. No page of it is under way.
    fn ssd_failed(&mut self) {
        let settled = self.durability.is_settled();
        // Writes were answered that it may not keep.
        let committed = self.durability.committed();
        let lost = self.durability.added() > committed.max(FOUND);
        if lost && !self.bugs.has(Bug::GoneUntold) {
            self.requests.lost();
        }
        self.failure.ssd_failed(settled, self.durability.may_hold());
        self.requests.fail_uncommitted(committed);
        // Those who waited for a commit, or for room, find another way.
        self.requests.all_go_on(self.durability.take_waiting());
        self.requests.stop_waiting_for_room();
        if settled {
            self.invalidate_ssd(false);
        }
    }

    /// Tells the SSD that what it holds as clean does not count, or nothing at all.
    pub(super) fn invalidate_ssd(&mut self, dirty_too: bool) {
        let copies = self.durability.invalidate_ssd(dirty_too);
        self.failure.invalidate(copies, &mut self.port);
    }

    /// A copy of the superblock is written that says so, or not.
    pub(super) fn invalidation_written(&mut self, result: Result<(), Failed>, buffer: D) {
        self.looks.again();
        let (now, port) = (self.now, &mut self.port);
        let released = self.failure.invalidation_written(result, buffer, now, port);
        self.requests.all_go_on(released.into_iter().flatten());
    }

    /// The disk has everything that was dirty: a failed SSD may know.
    pub(super) fn invalidate_all_if_due(&mut self) {
        let emptied = || self.contents.dirty_blocks() == 0 && self.destages.is_empty();
        if self.failure.has_ssd_failed() && emptied() && self.failure.begins_last_invalidation() {
            self.invalidate_ssd(true);
        }
    }

    /// Goes on towards the end, if it has begun.
    pub(super) fn stop_if_done(&mut self) {
        if !self.life.is_ending() {
            return;
        }
        let no_requests = self.requests.is_empty() && self.requests.has_no_ops();
        let told = self.trims.is_done(self.life.forgets(), self.now);
        let flushed = self.disk.is_clean() || self.bugs.has(Bug::StopBeforeDiskFlush);
        let step = self.life.step(Facts {
            finished: no_requests && self.destages.is_empty() && told && flushed,
            // (A failed SSD is not told that all is well, nor is anybody else.)
            quiet: no_requests && self.durability.is_idle() && !self.durability.has_failed(),
            idle: self.durability.is_idle() && self.port.is_idle(),
            emptied: self.durability.is_emptied(),
        });
        match step {
            Step::Nothing => {}
            Step::Empty => {
                self.durability.write_hints();
                self.commit_if_due();
                // There may be nothing to do.
                self.stop_if_done();
            }
            Step::WriteLastSuperblock => {
                let progress = self.durability.write_last_superblock(self.now, &mut self.port);
                self.follow(progress);
            }
        }
    }
}
