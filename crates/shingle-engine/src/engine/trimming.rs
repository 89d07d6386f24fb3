//! Trims: trimmed blocks leave the cache, and are trimmed on the disk.

use shingle_core::units::{BLOCK_BYTES, Block, Request, Slot};

use super::Engine;
use super::port::Failed;
use super::ssd_state::SsdState;
use super::trims::first_without;
use crate::bugs::Bug;
use crate::data::Data;

impl<D: Data> Engine<D> {
    /// Handles a trim: the blocks that `request` covers wholly are not needed any more.
    pub(super) fn trim(&mut self, request: &Request) {
        let first = request.offset.div_ceil(BLOCK_BYTES);
        self.trims.add(first..(request.offset + request.bytes) / BLOCK_BYTES);
    }

    /// Takes one piece of the trims a step further. Its cached blocks are dropped; when the records
    /// of that are committed, the disk is trimmed. Blocks in use are trimmed later.
    pub(super) fn run_trims(&mut self) {
        let Some(piece) = self.trims.next_piece() else { return };
        let mut busy = Vec::new();
        for (block, slot) in self.contents.cached_in(&piece) {
            if self.requests.is_locked(block) || !self.drop_trimmed(block, slot) {
                busy.push(block.0);
            }
        }
        let exchanged = self.exchange.state() != SsdState::In;
        if !self.trims.passdown() || self.failure.has_ssd_failed() || exchanged {
            return self.trims.forget(piece);
        }
        if !self.durability.has_committed_invalidations(piece.clone())
            && !self.bugs.has(Bug::TrimBeforeGivenUp)
        {
            return self.trims.pass(&piece);
        }
        busy.extend(self.requests.locked_in(piece.clone()));
        // Writing back a piece of a band would undo a trim of it.
        if let Some(held) = self.destages.held_by_band() {
            busy.extend(held.start.max(piece.start)..held.end.min(piece.end));
        }
        busy.sort_unstable();
        if self.bugs.has(Bug::TrimOfCached) {
            busy.clear();
        }
        let Some(run) = first_without(&piece, &busy) else { return self.trims.pass(&piece) };
        self.trims.begin(run.clone());
        self.destages.band_touched(run.clone(), &mut self.port);
        self.port.trim(run.start, run.end - run.start, self.now);
        if !self.bugs.has(Bug::TrimUnheld) {
            self.requests.hold(run);
        }
    }

    fn drop_trimmed(&mut self, block: Block, slot: Slot) -> bool {
        self.contents.clear_lost(block);
        let dropped = self.contents.drop_block(block, slot, &mut self.durability, self.now);
        self.destages.forget_failures(block);
        if self.bugs.has(Bug::TrimmedBypassedAtOnce) {
            self.durability.forget_invalidation(block);
        }
        dropped
    }

    /// Handles the completed trim of the disk.
    pub(super) fn trimmed(&mut self, result: Result<(), Failed>) {
        self.trims.done(result.is_ok());
        self.requests.end_hold();
        if result.is_err() {
            self.failure.counts().disk_trims += 1;
            return;
        }
        let number = self.disk.trimmed();
        // The freed space is free after a flush of the disk.
        if self.trims.are_done() {
            self.disk.want(number);
        }
    }
}
