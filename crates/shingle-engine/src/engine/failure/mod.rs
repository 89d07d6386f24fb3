//! Failures: counts of errors, and an SSD that has failed for good.

mod ssd;

use std::sync::Arc;

use shingle_core::units::{Block, Nanos};

use super::keys::OpKey;
use super::port::{Failed, Port};
use super::status::ErrorCounts;
use crate::bugs::{Bug, Seeded};
use crate::data::Data;
use crate::journal::{PossibleContents, Write};
use crate::recover::Findings;
use ssd::FailedSsd;

pub(super) use ssd::Permission;

/// How a frame is damaged.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Damage {
    Unreadable,
    Checksum,
}

/// The counts of errors, and the failed SSD if there is one.
#[derive(Clone)]
pub(super) struct Failure {
    errors: ErrorCounts,
    ssd: Option<FailedSsd>,
    bugs: Seeded,
}

impl Failure {
    /// Begins with the errors that recovery found.
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

    /// The counts, to add an error.
    pub(super) fn counts(&mut self) -> &mut ErrorCounts {
        &mut self.errors
    }

    pub(super) fn errors(&self) -> ErrorCounts {
        let ssd_invalidated = self.ssd.as_ref().is_some_and(FailedSsd::is_invalidated);
        ErrorCounts { ssd_failed: self.has_ssd_failed(), ssd_invalidated, ..self.errors }
    }

    /// Blocks whose writes are refused, because a failed SSD holds them as dirty.
    pub(super) fn refused(&self) -> Arc<Vec<Block>> {
        self.ssd.as_ref().map(FailedSsd::refused).unwrap_or_default()
    }

    /// Notes that the SSD has failed. `held` is what it may hold; `settled` if what it held at the
    /// start was durable.
    pub(super) fn ssd_failed(&mut self, settled: bool, held: PossibleContents) {
        self.ssd = Some(FailedSsd::new(settled, held));
    }

    /// Notes that the SSD is taken out. It holds no dirty block, and is to be invalidated.
    pub(super) fn ssd_taken_out(&mut self, held: PossibleContents) {
        self.ssd = Some(FailedSsd::taken_out(held));
    }

    /// Notes that another SSD is in its place.
    pub(super) fn ssd_put_in(&mut self) {
        self.ssd = None;
    }

    /// Notes that the SSD will never be used again: the disk may be written past it, even if it is
    /// not invalidated.
    pub(super) fn abandon(&mut self) {
        if let Some(ssd) = &mut self.ssd {
            ssd.abandon();
        }
    }

    /// Whether the SSD is invalidated as a whole, or abandoned.
    pub(super) fn is_all_invalidated(&self) -> bool {
        self.ssd.as_ref().is_some_and(FailedSsd::is_all_invalidated)
    }

    /// Whether the SSD does not take its invalidation, and what it holds is known.
    pub(super) fn refuses_invalidation(&self) -> bool {
        self.ssd.as_ref().is_some_and(FailedSsd::refuses_invalidation)
    }

    #[inline]
    pub(super) fn has_ssd_failed(&self) -> bool {
        self.ssd.is_some()
    }

    /// Whether it failed before it was known what is durable on it: each FLUSH is an error.
    pub(super) fn is_content_unknown(&self) -> bool {
        self.ssd.as_ref().is_some_and(FailedSsd::is_content_unknown)
    }

    /// Whether it is being invalidated: until the result is known, requests may have to wait.
    pub(super) fn is_invalidating(&self) -> bool {
        self.ssd.as_ref().is_some_and(FailedSsd::is_invalidating)
    }

    /// Whether the disk may get the dirty data of `block`, as far as a failed SSD is concerned.
    pub(super) fn may_destage(&self, block: Block) -> bool {
        self.ssd.as_ref().is_none_or(|ssd| ssd.may_destage(block))
    }

    /// Whether a client may write `block` to the disk, past a failed SSD.
    pub(super) fn may_bypass(&self, block: Block) -> Permission {
        let Some(ssd) = &self.ssd else { return Permission::Granted };
        let wrong = match ssd.holds_dirty(block) {
            true => Bug::BypassOfDirty,
            false => Bug::BypassBeforeInvalidation,
        };
        if self.bugs.has(wrong) { Permission::Granted } else { ssd.may_bypass(block) }
    }

    /// Lets `op` wait until the invalidation has succeeded or failed.
    pub(super) fn wait(&mut self, op: OpKey) {
        self.ssd.as_mut().expect("it has failed").wait(op);
    }

    /// Writes these copies of the superblock to the SSD, one after the other.
    pub(super) fn invalidate<D: Data>(&mut self, copies: [Write; 2], port: &mut Port<D>) {
        self.ssd.as_mut().expect("it has failed").invalidate(copies, port);
    }

    /// Handles the completed write of a copy. Returns the operations to resume when the
    /// invalidation has ended.
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

    /// Handles the completed flush of a copy.
    pub(super) fn invalidation_flushed<D: Data>(
        &mut self,
        result: Result<(), Failed>,
        port: &mut Port<D>,
    ) -> Option<impl Iterator<Item = OpKey>> {
        let ssd = self.ssd.as_mut().expect("it has failed");
        ssd.flushed(result, port).then(|| ssd.take_waiting())
    }

    /// Called when nothing is dirty any more. Returns whether the whole SSD is to be invalidated
    /// now.
    pub(super) fn begin_last_invalidation(&mut self) -> bool {
        self.ssd.as_mut().is_some_and(FailedSsd::begin_last)
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
