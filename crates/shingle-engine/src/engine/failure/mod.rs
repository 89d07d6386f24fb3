//! What went wrong: errors that were met, counted; and an SSD that has failed for good.

mod ssd;

use std::sync::Arc;

use shingle_core::units::{Block, Nanos};

use super::keys::OpKey;
use super::port::{Failed, Port};
use super::status::ErrorCounts;
use crate::bugs::{Bug, Seeded};
use crate::data::Data;
use crate::journal::{MayHold, Write};
use crate::recover::Findings;
use ssd::FailedSsd;

pub(super) use ssd::Permission;

/// What is wrong with a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Damage {
    Unreadable,
    Checksum,
}

/// Errors, and the SSD if it has failed.
#[derive(Clone)]
pub(super) struct Failure {
    errors: ErrorCounts,
    ssd: Option<FailedSsd>,
    bugs: Seeded,
}

impl Failure {
    /// With what recovery met.
    pub(super) fn new(found: Findings, bugs: Seeded) -> Failure {
        let Findings { damaged_pages, void_records, .. } = found;
        let errors = ErrorCounts { damaged_pages, void_records, ..ErrorCounts::default() };
        Failure { errors, ssd: None, bugs }
    }

    pub(super) fn count_damaged(&mut self, damage: Damage) {
        match damage {
            Damage::Unreadable => self.errors.ssd_reads += 1,
            Damage::Checksum => self.errors.checksums += 1,
        }
    }

    /// To count another error.
    pub(super) fn counts(&mut self) -> &mut ErrorCounts {
        &mut self.errors
    }

    pub(super) fn errors(&self) -> ErrorCounts {
        let ssd_invalidated = self.ssd.as_ref().is_some_and(FailedSsd::is_invalidated);
        ErrorCounts { ssd_failed: self.has_ssd_failed(), ssd_invalidated, ..self.errors }
    }

    /// Blocks whose writes are refused, as a failed SSD holds them as dirty.
    pub(super) fn refused(&self) -> Arc<Vec<Block>> {
        self.ssd.as_ref().map(FailedSsd::refused).unwrap_or_default()
    }

    /// The SSD has failed, and holds so much. `settled` if what it held at the start was safe.
    pub(super) fn ssd_failed(&mut self, settled: bool, held: MayHold) {
        self.ssd = Some(FailedSsd::new(settled, held));
    }

    /// The SSD is taken out, holds so much, none of it dirty, and is to be told that nothing counts.
    pub(super) fn ssd_taken_out(&mut self, held: MayHold) {
        self.ssd = Some(FailedSsd::taken_out(held));
    }

    /// Another one is in its place.
    pub(super) fn ssd_put_in(&mut self) {
        self.ssd = None;
    }

    /// It will never be used again: whatever it was not told, the disk may be written past it.
    pub(super) fn abandon(&mut self) {
        if let Some(ssd) = &mut self.ssd {
            ssd.abandon();
        }
    }

    /// It was told that nothing on it counts, or was abandoned.
    pub(super) fn is_told(&self) -> bool {
        self.ssd.as_ref().is_some_and(FailedSsd::is_told)
    }

    /// It is known what it holds, and it does not take that this does not count.
    pub(super) fn takes_nothing_more(&self) -> bool {
        self.ssd.as_ref().is_some_and(FailedSsd::takes_nothing_more)
    }

    #[inline]
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
            true => Bug::BypassOfDirty,
            false => Bug::BypassBeforeInvalidation,
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

#[cfg(feature = "bugs")]
impl Failure {
    /// Errors are counted for the status only.
    pub(super) fn hash_state<H: std::hash::Hasher>(&self, view: &super::state::View, into: &mut H) {
        use std::hash::Hash;

        let Failure { errors: _, ssd, bugs: _ } = self;
        ssd.is_some().hash(into);
        if let Some(ssd) = ssd {
            ssd.hash_state(view, into);
        }
    }
}
