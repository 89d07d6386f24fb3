//! Whether it is worth looking at all that may be due.
//!
//! A look at what can be done now ([`Engine::pump`]) that has found nothing finds nothing again, until something happens
//! or a time has come. Most looks are such: an owner looks at each point in time, several times a request. So
//! the rooms say what they leave to the next look, and without that, and without an event, there is none.

use super::Engine;
use super::ssd_state::SsdState;
use crate::data::Data;

/// Whether the next look may find something.
#[derive(Clone, Default, Hash)]
pub(super) struct Looks {
    wanted: bool,
}

impl Looks {
    /// Something has happened.
    #[inline]
    pub(super) fn again(&mut self) {
        self.wanted = true;
    }
}

impl<D: Data> Engine<D> {
    /// Does all that can be done now, if there may be anything.
    #[inline]
    pub(super) fn look(&mut self) {
        if self.looks.wanted {
            self.pump();
        }
    }

    /// All was looked at.
    pub(super) fn looked(&mut self) {
        self.looks.wanted = self.leaves_something();
    }

    /// Something may be done that the look which now ends has not done: in doubt, yes. What waits for I/O, or for a
    /// time ([`Engine::is_time`]), is not among it.
    fn leaves_something(&self) -> bool {
        // The policy may name others when it is asked again.
        let lacks_room = || {
            let coming = self.contents.free_slots() + self.destages.leaving();
            self.service.room_wanted(coming, self.destages.choice_blocks()) > 0
        };
        let frames = || self.durability.has_failed() || self.durability.free_frames() > 0;
        self.requests.some_may_go_on()
            || self.requests.some_wait_for_frame() && frames()
            || self.requests.waiting_for_room() > 0 && self.serves_waiting()
            || self.drains()
            // Then much depends on the time, or on what one of the last steps has done.
            || self.exchange.state() != SsdState::In
            || self.growth.blocks().is_some()
            || self.trims.may_go_on()
            || self.durability.is_idle() && !self.durability.is_settled()
            || self.service.limits_destages() && !self.destages.is_empty()
            || self.destages.is_disk_failing()
            || self.failure.has_ssd_failed()
            || self.life.is_ending()
            || self.bugs.are_made()
            || lacks_room()
    }

    /// What waits for a time is due.
    #[inline]
    pub(super) fn is_time(&self) -> bool {
        self.durability.is_time(self.now)
            || self.requests.waiting_for_room() > 0 && self.disk.is_time_for_room(self.now)
    }
}
