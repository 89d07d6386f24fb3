//! Which steps are due.
//!
//! A pass over the steps ([`Engine::pump`]) that has found nothing to do finds nothing again until
//! something happens or a time has come. For the most frequent events, a new request or a completion,
//! it is known which steps may have something to do. The handler marks them, and in doubt marks all.
//! A step may mark a later one. [`Engine::has_more_steps`] says what remains for the next pass.

use super::Engine;
use super::ssd_state::SsdState;
use crate::data::Data;

/// Groups of steps that become due for the same reasons.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Part {
    /// Operations may resume, commands begin, or room be made for them.
    Requests = 1,
    /// The disk may get more, or be flushed, and requests that wait for that be answered.
    Destages = 2,
    /// A commit may begin.
    Commit = 4,
    /// Everything that is rare.
    Rest = 8,
    /// Submits queued I/O: part of each pass.
    Issue = 16,
}

/// The parts that are due in the next pass.
#[derive(Clone, Default, Hash)]
pub(super) struct DueSteps {
    parts: u8,
}

const ALL: u8 = 31;

impl DueSteps {
    /// Marks all parts: anything may have changed.
    #[inline]
    pub(super) fn mark_all(&mut self) {
        self.parts = ALL;
    }

    #[inline]
    pub(super) fn mark(&mut self, part: Part) {
        self.parts |= part as u8 | Part::Issue as u8;
    }

    /// Whether no part is due.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.parts == 0
    }

    /// Whether this part is due.
    #[inline]
    pub(super) fn has(&self, part: Part) -> bool {
        self.parts & part as u8 != 0
    }
}

impl<D: Data> Engine<D> {
    /// Runs the steps that are due.
    #[inline]
    pub(super) fn run_due(&mut self) {
        if !self.due.is_empty() {
            self.run_steps();
        }
    }

    /// Marks the commit, if one may have become due.
    #[inline]
    pub(super) fn mark_commit(&mut self) {
        if self.durability.may_be_due() {
            self.due.mark(Part::Commit);
        }
    }

    /// Marks the requests: operations may resume.
    #[inline]
    pub(super) fn mark_requests(&mut self) {
        // What becomes dirty has to be destaged at once.
        if self.is_draining() {
            self.due.mark_all();
        } else {
            self.due.mark(Part::Requests);
        }
    }

    /// Ends a pass: decides what is due in the next one.
    pub(super) fn end_pass(&mut self) {
        let looked_at = std::mem::take(&mut self.due);
        let beside = looked_at.has(Part::Destages) || looked_at.has(Part::Rest);
        let requests = beside || looked_at.has(Part::Requests);
        let left = requests && self.has_more_requests() || beside && self.has_more_steps();
        if left || self.bugs.are_made() {
            self.due.mark_all();
        }
    }

    /// Whether requests may resume, or the policy may name other victims when it is called again.
    fn has_more_requests(&self) -> bool {
        let frames = || self.durability.has_failed() || self.durability.free_frames() > 0;
        let coming = self.contents.free_slots() + self.destages.leaving();
        self.requests.has_runnable()
            || self.requests.some_wait_for_frame() && frames()
            || self.requests.waiting_for_room() > 0 && self.may_retry_waiting()
            || self.service.slots_to_free(coming, self.destages.choice_blocks()) > 0
    }

    /// Whether other steps may have something left to do; true in doubt. Work that waits for I/O,
    /// or for a time ([`Engine::is_time`]), does not count.
    fn has_more_steps(&self) -> bool {
        self.may_drain()
            // In these states much depends on the time, or on what a later step of this pass has
            // done.
            || self.exchange.state() != SsdState::In
            || self.grows_to.is_some()
            || self.trims.may_continue()
            || self.durability.is_idle() && !self.durability.is_settled()
            || self.service.limits_destages() && !self.destages.is_empty()
            || self.destages.is_disk_failing()
            || self.failure.has_ssd_failed()
            || self.life.is_ending()
    }

    /// Whether something is due that waited for a time.
    #[inline]
    pub(super) fn is_time(&self) -> bool {
        self.durability.is_time(self.now)
            || self.requests.waiting_for_room() > 0 && self.disk.is_time_for_room(self.now)
            || self.may_drain()
    }
}
