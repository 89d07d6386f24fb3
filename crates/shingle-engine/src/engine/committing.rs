//! Commits, the operations that they release, and the invalidation of an SSD that has failed.

use super::Engine;
use super::durability::{self, FOUND, Progress};
use super::life::{Facts, Step};
use super::port::Failed;
use crate::bugs::Bug;
use crate::data::Data;
use crate::journal::PageKind;

impl<D: Data> Engine<D> {
    /// Starts a commit of the added records, if something waits for it or it is time.
    pub(super) fn commit_if_due(&mut self) {
        let demand = durability::Demand {
            frames: self.requests.some_wait_for_frame(),
            all: self.life.wants_commits(),
        };
        let progress = self.durability.commit_if_due(demand, self.now, &mut self.port);
        self.apply_progress(progress);
    }

    /// Handles the completed write of a page of metadata.
    pub(super) fn meta_written(&mut self, what: PageKind, result: Result<(), Failed>, buffer: D) {
        let port = &mut self.port;
        let progress = self.durability.meta_written(what, result, buffer, self.now, port);
        self.apply_progress(progress);
    }

    /// Handles a completed flush of the SSD: for a commit, or for the superblock that invalidates a
    /// failed SSD.
    pub(super) fn ssd_flushed(&mut self, result: Result<(), Failed>) {
        if self.durability.has_failed() {
            let released = self.failure.invalidation_flushed(result, &mut self.port);
            self.requests.resume_all(released.into_iter().flatten());
        } else {
            let progress = self.durability.flushed(result, self.now);
            self.apply_progress(progress);
        }
    }

    #[inline]
    fn apply_progress(&mut self, progress: Progress) {
        if progress != Progress::Nothing {
            self.due.mark_all();
        }
        match progress {
            Progress::Nothing => {}
            Progress::Committed => {
                self.requests.resume_all(self.durability.take_released());
                self.trims.begin_pass();
            }
            Progress::SsdFailed => self.ssd_failed(),
        }
    }

    /// Handles an SSD whose metadata cannot be written: nothing can be committed any more. No page
    /// of metadata is in flight.
    fn ssd_failed(&mut self) {
        let settled = self.durability.is_settled();
        // Writes were acknowledged that the SSD may not keep.
        let committed = self.durability.committed();
        let lost = self.durability.added() > committed.max(FOUND);
        if lost && !self.bugs.has(Bug::GoneUntold) {
            self.requests.report_loss();
        }
        self.failure.ssd_failed(settled, self.durability.possible_contents());
        self.requests.fail_uncommitted(committed);
        // Operations that waited for a commit, or for room, take another way.
        self.requests.resume_all(self.durability.take_waiting());
        self.requests.stop_waiting_for_room();
        if settled {
            self.invalidate_ssd(false);
        }
    }

    /// Invalidates what the SSD holds: its clean blocks only, or all of it.
    pub(super) fn invalidate_ssd(&mut self, dirty_too: bool) {
        let copies = self.durability.invalidate_ssd(dirty_too);
        self.failure.invalidate(copies, &mut self.port);
    }

    /// Handles the completed write of a copy of the superblock that invalidates the SSD.
    pub(super) fn invalidation_written(&mut self, result: Result<(), Failed>, buffer: D) {
        self.due.mark_all();
        let (now, port) = (self.now, &mut self.port);
        let released = self.failure.invalidation_written(result, buffer, now, port);
        self.requests.resume_all(released.into_iter().flatten());
    }

    /// Invalidates all of a failed SSD when the disk has every block that was dirty.
    pub(super) fn invalidate_all_if_due(&mut self) {
        let emptied = || self.contents.dirty_blocks() == 0 && self.destages.is_empty();
        if self.failure.has_ssd_failed() && emptied() && self.failure.begin_last_invalidation() {
            self.invalidate_ssd(true);
        }
    }

    /// Takes the next step towards the end, if the store is ending.
    pub(super) fn stop_if_done(&mut self) {
        if !self.life.is_ending() {
            return;
        }
        let no_requests = self.requests.is_empty() && self.requests.has_no_ops();
        let trimmed = self.trims.is_done(self.life.forgets(), self.now);
        let flushed = self.disk.is_clean() || self.bugs.has(Bug::StopBeforeDiskFlush);
        let step = self.life.step(Facts {
            finished: no_requests && self.destages.is_empty() && trimmed && flushed,
            // A clean superblock must not be written to a failed SSD.
            quiet: no_requests && self.durability.is_idle() && !self.durability.has_failed(),
            idle: self.durability.is_idle() && self.port.is_idle(),
            emptied: self.durability.is_emptied(),
        });
        match step {
            Step::Nothing => {}
            Step::Empty => {
                self.durability.write_hints();
                self.commit_if_due();
                // There may be nothing to commit.
                self.stop_if_done();
            }
            Step::WriteLastSuperblock => {
                let progress = self.durability.write_last_superblock(self.now, &mut self.port);
                self.apply_progress(progress);
            }
        }
    }
}
