//! Disks with a limit on active zones, which are those that have been begun and are not full.
//!
//! A translation does not know the limit: it may leave any number of zones half-full. So before one zone too many becomes
//! active, another one is *finished*: its data stays, the rest of the zone is given up, and the zone is copied to a spare
//! before it is appended to again. Zones that no logical zone lies in are chosen first, as they need no copy; then the zone
//! that was appended to longest ago.
//!
//! The number of open zones needs no care: the disk closes an open zone by itself when another one is written.

use shingle_core::units::Zone;
use shingle_zoned::{ZonedDisk as _, ZonedError};

use super::Shared;
use super::worker::{Stop, Worker};

impl Worker {
    /// Makes sure that a zone, which is about to be written, may be active.
    pub(super) fn make_active(&mut self, shared: &Shared, physical: u32) -> Result<(), Stop> {
        let max = shared.plan.max_active as usize;
        if max == 0 {
            return Ok(());
        }
        if !self.table.active.contains(&physical) {
            while self.table.active.len() >= max {
                self.end_one(shared)?;
            }
        }
        self.table.is_not_active(physical);
        self.table.active.push(physical);
        Ok(())
    }

    /// Resets or finishes one active zone.
    fn end_one(&mut self, shared: &Shared) -> Result<(), Stop> {
        let owner = |zone: u32| self.table.physical.iter().position(|physical| *physical == zone);
        let mut zones: Vec<(Option<usize>, u32)> =
            self.table.active.iter().map(|&zone| (owner(zone), zone)).collect();
        zones.sort_by_key(|(owner, _)| owner.is_some());
        let mut failed = None;
        for (owner, zone) in zones {
            let is_empty = match owner {
                Some(logical) => {
                    self.table.pointers[logical] == 0 && !self.has_old_copies(shared, zone)
                }
                None => self.table.spares.contains(&zone),
            };
            self.keep_appended(shared, zone)?;
            let done = match is_empty {
                true => self.reset_zone(shared, zone),
                false => shared.disk.finish(Zone(zone)),
            };
            if let Err(error) = done {
                failed = Some(error);
                continue;
            }
            self.table.is_not_active(zone);
            if let Some(logical) = owner.map(|logical| logical as u32) {
                if is_empty {
                    self.table.is_whole(logical);
                } else {
                    self.table.finished.insert(logical);
                }
            }
            return Ok(());
        }
        Err(Stop::Disk(failed.expect("some are active")))
    }

    /// Resets a physical zone.
    pub(super) fn reset_zone(&mut self, shared: &Shared, zone: u32) -> Result<(), ZonedError> {
        shared.disk.reset(Zone(zone))?;
        self.table.reset_unflushed.insert(zone);
        self.table.appended.remove(&zone);
        self.table.is_not_active(zone);
        Ok(())
    }
}
