//! What went wrong: errors that were met, counted; and an SSD that has failed for good.

mod ssd;
mod status;

use shingle_core::units::{Block, Nanos};

use super::OpKey;
use super::bugs::{Bug, Seeded};
use super::port::{Failed, Port};
use crate::data::Data;
use crate::journal::{MayHold, Write};
use crate::recover::Findings;
use ssd::FailedSsd;

pub(super) use ssd::Permission;
pub use status::Status;

/// What is wrong with a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Damage {
    Unreadable,
    Checksum,
}

/// Errors, and the SSD if it has failed.
pub(super) struct Failure {
    ssd_read_errors: u64,
    checksum_errors: u64,
    ssd_write_errors: u64,
    disk_read_errors: u64,
    disk_write_errors: u64,
    disk_flush_errors: u64,
    found: Findings,
    ssd: Option<FailedSsd>,
    bugs: Seeded,
}

impl Failure {
    /// With what recovery met.
    pub(super) fn new(found: Findings, bugs: Seeded) -> Failure {
        Failure {
            ssd_read_errors: 0,
            checksum_errors: 0,
            ssd_write_errors: 0,
            disk_read_errors: 0,
            disk_write_errors: 0,
            disk_flush_errors: 0,
            found,
            ssd: None,
            bugs,
        }
    }

    pub(super) fn count_damaged(&mut self, damage: Damage) {
        match damage {
            Damage::Unreadable => self.ssd_read_errors += 1,
            Damage::Checksum => self.checksum_errors += 1,
        }
    }

    pub(super) fn count_ssd_write(&mut self) {
        self.ssd_write_errors += 1;
    }

    pub(super) fn count_disk_read(&mut self) {
        self.disk_read_errors += 1;
    }

    pub(super) fn count_disk_write(&mut self) {
        self.disk_write_errors += 1;
    }

    pub(super) fn count_disk_flush(&mut self) {
        self.disk_flush_errors += 1;
    }

    pub(super) fn report(&self, status: &mut Status) {
        status.ssd_read_errors = self.ssd_read_errors;
        status.checksum_errors = self.checksum_errors;
        status.ssd_write_errors = self.ssd_write_errors;
        status.disk_read_errors = self.disk_read_errors;
        status.disk_write_errors = self.disk_write_errors;
        status.disk_flush_errors = self.disk_flush_errors;
        status.found = self.found;
        if let Some(ssd) = &self.ssd {
            status.ssd_failed = true;
            status.ssd_written_off = ssd.is_written_off();
            status.refused = ssd.refused();
        }
    }

    /// The SSD has failed, and holds so much. `settled` if what it held at the start was safe.
    pub(super) fn ssd_failed(&mut self, settled: bool, held: MayHold) {
        self.ssd = Some(FailedSsd::new(settled, held));
    }

    pub(super) fn has_ssd_failed(&self) -> bool {
        self.ssd.is_some()
    }

    /// It has failed before anybody knew what is safe on it: each FLUSH is an error.
    pub(super) fn is_nothing_known(&self) -> bool {
        self.ssd.as_ref().is_some_and(FailedSsd::is_nothing_known)
    }

    /// It is being told what does not count: what may be done meanwhile is open.
    pub(super) fn is_invalidating(&self) -> bool {
        self.ssd.as_ref().is_some_and(FailedSsd::is_invalidating)
    }

    /// Whether the disk may get what is dirty of `block`, as far as a failed SSD is concerned.
    pub(super) fn may_destage(&self, block: Block) -> bool {
        self.ssd.as_ref().is_none_or(|ssd| ssd.may_destage(block))
    }

    /// Whether the disk may get a block from a client, past a failed SSD.
    pub(super) fn may_bypass(&self, block: Block) -> Permission {
        let Some(ssd) = &self.ssd else { return Permission::Granted };
        let wrong = match ssd.holds_dirty(block) {
            true => Bug::RoundDirty,
            false => Bug::RoundWithoutWord,
        };
        if self.bugs.has(wrong) { Permission::Granted } else { ssd.may_bypass(block) }
    }

    /// `op` waits until the SSD is told, or takes nothing.
    pub(super) fn wait(&mut self, op: OpKey) {
        self.ssd.as_mut().expect("it has failed").wait(op);
    }

    /// Writes these copies of the superblock to the SSD, one after the other.
    pub(super) fn invalidate<D: Data>(&mut self, copies: [Write; 2], port: &mut Port<D>) {
        self.ssd.as_mut().expect("it has failed").invalidate(copies, port);
    }

    /// A copy is written, or not. Returns those who go on, when that is over.
    pub(super) fn invalidation_written<D: Data>(
        &mut self,
        result: Result<(), Failed>,
        buffer: D,
        now: Nanos,
        port: &mut Port<D>,
    ) -> Option<impl Iterator<Item = OpKey>> {
        let ssd = self.ssd.as_mut().expect("it has failed");
        ssd.written(result, buffer, now, port).then(|| ssd.take_waiting())
    }

    /// And flushed, or not.
    pub(super) fn invalidation_flushed<D: Data>(
        &mut self,
        result: Result<(), Failed>,
        port: &mut Port<D>,
    ) -> Option<impl Iterator<Item = OpKey>> {
        let ssd = self.ssd.as_mut().expect("it has failed");
        ssd.flushed(result, port).then(|| ssd.take_waiting())
    }

    /// Nothing is dirty any more. Returns whether the SSD is to be told now that nothing counts.
    pub(super) fn begins_last_invalidation(&mut self) -> bool {
        self.ssd.as_mut().is_some_and(FailedSsd::begins_last)
    }
}
