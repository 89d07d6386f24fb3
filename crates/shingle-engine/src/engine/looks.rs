//! What it is worth to look at.
//!
//! A look at what can be done now ([`Engine::pump`]) that has found nothing finds nothing again, until something happens
//! or a time has come. And of most that happens, a request that comes or the end of an I/O, it is known which steps may
//! find something: whoever sees to it says so, in doubt [`Looks::again`]. A step may say it of a later one. What
//! is left to the next look is said by [`Engine::leaves_something`].

use super::Engine;
use super::ssd_state::SsdState;
use crate::data::Data;

/// Steps that are worth taking for the same reasons.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Part {
    /// Operations may go on, commands begin, room be made for them.
    Requests = 1,
    /// The disk may get more, or be flushed, and who waits for that be answered.
    Destages = 2,
    /// A commit may begin.
    Commit = 4,
    /// What seldom happens.
    Rest = 8,
    /// Issues what is queued: a part of each look.
    Issue = 16,
}

/// What the next look looks at.
#[derive(Clone, Default, Hash)]
pub(super) struct Looks {
    parts: u8,
}

const ALL: u8 = 31;

impl Looks {
    /// Anything may have changed.
    #[inline]
    pub(super) fn again(&mut self) {
        self.parts = ALL;
    }

    /// Something has happened for this part, and no other.
    #[inline]
    pub(super) fn at(&mut self, part: Part) {
        self.parts |= part as u8 | Part::Issue as u8;
    }

    /// Nothing is worth looking at.
    #[inline]
    pub(super) fn are_over(&self) -> bool {
        self.parts == 0
    }

    /// Whether something has happened for this part.
    #[inline]
    pub(super) fn has(&self, part: Part) -> bool {
        self.parts & part as u8 != 0
    }
}

impl<D: Data> Engine<D> {
    /// Does all that can be done now, if there may be anything.
    #[inline]
    pub(super) fn look(&mut self) {
        if !self.looks.are_over() {
            self.take_steps();
        }
    }

    /// A commit may begin, if one may have become due.
    #[inline]
    pub(super) fn look_at_commit(&mut self) {
        if self.durability.may_be_due() {
            self.looks.at(Part::Commit);
        }
    }

    /// Operations may go on that could not before.
    #[inline]
    pub(super) fn look_at_requests(&mut self) {
        // (What becomes dirty has to go at once.)
        if self.drains() {
            self.looks.again();
        } else {
            self.looks.at(Part::Requests);
        }
    }

    /// All was looked at.
    pub(super) fn looked(&mut self) {
        let looked_at = std::mem::take(&mut self.looks);
        let beside = looked_at.has(Part::Destages) || looked_at.has(Part::Rest);
        let requests = beside || looked_at.has(Part::Requests);
        let left = requests && self.leaves_requests() || beside && self.leaves_something();
        if left || self.bugs.are_made() {
            self.looks.again();
        }
    }

    /// Some of the requests may go on, or the policy name others for room when it is asked again.
    fn leaves_requests(&self) -> bool {
        let frames = || self.durability.has_failed() || self.durability.free_frames() > 0;
        let coming = self.contents.free_slots() + self.destages.leaving();
        self.requests.some_may_go_on()
            || self.requests.some_wait_for_frame() && frames()
            || self.requests.waiting_for_room() > 0 && self.serves_waiting()
            || self.service.room_wanted(coming, self.destages.choice_blocks()) > 0
    }

    /// Something else may be done that the look which now ends has not done: in doubt, yes. What waits for I/O, or for a
    /// time ([`Engine::is_time`]), is not among it.
    fn leaves_something(&self) -> bool {
        self.may_drain()
            // Then much depends on the time, or on what one of the last steps has done.
            || self.exchange.state() != SsdState::In
            || self.growth.blocks().is_some()
            || self.trims.may_go_on()
            || self.durability.is_idle() && !self.durability.is_settled()
            || self.service.limits_destages() && !self.destages.is_empty()
            || self.destages.is_disk_failing()
            || self.failure.has_ssd_failed()
            || self.life.is_ending()
    }

    /// What waits for a time is due.
    #[inline]
    pub(super) fn is_time(&self) -> bool {
        self.durability.is_time(self.now)
            || self.requests.waiting_for_room() > 0 && self.disk.is_time_for_room(self.now)
            || self.may_drain()
    }
}
