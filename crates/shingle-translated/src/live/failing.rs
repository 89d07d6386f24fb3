//! What becomes of a failure.
//!
//! A work that stops half-way leaves a translation that is ahead of the disk. There are two ways on, and each ends with the
//! disk in use:
//!
//! - **Rolled back.** What readers know is the map as it was when the work began, or at the last commit within it, and all that
//!   it names is there. It is made durable, and the translation is opened from it. The work is tried once more; if it stops
//!   again whoever asked for it gets the error. Nothing that was answered is lost.
//! - **Gone back**, after a flush that failed: a disk may forget then what it had acknowledged, so only the durable map counts.
//!   The disk is opened as after a power cut. Blocks that the host had written since are errors until they are written anew,
//!   and if it was not the host's own flush, the next one of the host fails: it has to learn of it.
//!
//! If the way on fails, too, it is tried again by the next work. Readers go on.

use super::Shared;
use super::works::{Failure, Since, Stop, Works};
use crate::bugs::Bug;

impl Works {
    /// Something has failed.
    pub(super) fn fail(&mut self, shared: &Shared, stop: &Stop) {
        if stop.lacks_spare() {
            self.give_up_all_copies(shared);
        }
        if !stop.forgets() || self.bugs.has(Bug::FailedFlushServed) {
            return self.note(stop, Since::Published);
        }
        let mut map = shared.map_mut();
        self.unflushed.iter().for_each(|range| map.doubtful.insert(range));
        drop(map);
        self.note(stop, Since::Durable);
    }

    pub(super) fn note(&mut self, stop: &Stop, since: Since) {
        let what = stop.to_string();
        self.failures += 1;
        self.last_failure = Some(what.clone());
        match &mut self.failed {
            // The first one says most. Nothing makes a forgotten block come back.
            Some(failed) if failed.since == Since::Published => failed.since = since,
            Some(_) => {}
            None => self.failed = Some(Failure { what, since }),
        }
    }

    /// Puts right what failed, if something did. With an error it is as it was.
    pub(super) fn put_right(&mut self, shared: &Shared) -> Result<(), Stop> {
        let Some(failed) = &self.failed else { return Ok(()) };
        // (A flush of a disk that is away would fail, and say more than is known.)
        shared.answers()?;
        if failed.since == Since::Published {
            match self.roll_back(shared) {
                Ok(()) => {
                    self.failed = None;
                    return Ok(());
                }
                Err(stop) if stop.forgets() => self.fail(shared, &stop),
                // What is durable has room.
                Err(stop @ Stop::MapFull { .. }) => self.note(&stop, Since::Durable),
                Err(stop) => return Err(stop),
            }
        }
        self.go_back(shared)?;
        self.failed = None;
        Ok(())
    }
}
