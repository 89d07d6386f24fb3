//! Recovery from a failure while the disk is in use.
//!
//! A work that fails half-way leaves a translation that is ahead of the disk. There are two ways to recover:
//!
//! - **Roll back.** The map of the readers is that of the beginning of the work, or of the last commit within it, and all data
//!   that it names is on the disk. It is made durable, and the translation is opened from it. The work is tried once more; if
//!   it fails again, the caller gets the error. No acknowledged write is lost.
//! - **Revert**, after a flush that failed, or where a write pointer lies behind what was acknowledged: the disk may have
//!   dropped writes, so only the durable map is valid. The disk is opened as after a power cut. Blocks that the host has
//!   written since are errors until they are written anew. If it was not a flush of the host that failed, its next one does,
//!   so that the host learns of it.
//!
//! If recovery fails, too, the next work tries it again. Reads go on meanwhile.

use super::Shared;
use super::worker::{Failure, Since, Stop, Worker};
use crate::bugs::Bug;

impl Worker {
    /// Records a failure, and what is needed to recover.
    pub(super) fn fail(&mut self, shared: &Shared, stop: &Stop) {
        if stop.lacks_spare() {
            self.give_up_all_copies(shared);
        }
        if !stop.may_lose_writes() || self.bugs.has(Bug::FailedFlushServed) {
            return self.record_failure(stop, Since::Published);
        }
        let mut map = shared.map_mut();
        self.unflushed.iter().for_each(|range| map.doubtful.insert(range));
        drop(map);
        self.record_failure(stop, Since::Durable);
    }

    pub(super) fn record_failure(&mut self, stop: &Stop, since: Since) {
        let what = stop.to_string();
        self.failures += 1;
        self.last_failure = Some(what.clone());
        match &mut self.failed {
            // The first failure explains most. (`Durable` stays: a write that the disk has dropped does not come back.)
            Some(failed) if failed.since == Since::Published => failed.since = since,
            Some(_) => {}
            None => self.failed = Some(Failure { what, since }),
        }
    }

    /// Recovers from a failure, if there was one. If that fails, nothing has changed.
    pub(super) fn recover(&mut self, shared: &Shared) -> Result<(), Stop> {
        let Some(failed) = &self.failed else { return Ok(()) };
        // (If the disk does not respond at all, a flush would fail, and count as one that drops writes.)
        shared.answers()?;
        if failed.since == Since::Published {
            match self.roll_back(shared) {
                Ok(()) => {
                    self.failed = None;
                    return Ok(());
                }
                Err(stop) if stop.may_lose_writes() => self.fail(shared, &stop),
                // The durable map has room.
                Err(stop @ Stop::MapFull { .. }) => self.record_failure(&stop, Since::Durable),
                Err(stop) => return Err(stop),
            }
        }
        self.revert(shared)?;
        self.failed = None;
        Ok(())
    }
}
