//! What clients do not need any more leaves the cache, and the disk is told.

use shingle_core::units::{BLOCK_BYTES, Block, Request, Slot};

use super::Engine;
use super::port::Failed;
use super::ssd_state::SsdState;
use super::trims::first_without;
use crate::bugs::Bug;
use crate::data::Data;

impl<D: Data> Engine<D> {
    /// Nobody needs the blocks that `request` covers wholly.
    pub(super) fn trim(&mut self, request: &Request) {
        let first = request.offset.div_ceil(BLOCK_BYTES);
        self.trims.add(first..(request.offset + request.bytes) / BLOCK_BYTES);
    }

    /// A step: of one piece what is cached leaves; or, when the SSD says that it has left, the disk is told. What is in use
    /// has its turn later.
    pub(super) fn tell_trims(&mut self) {
        let Some(piece) = self.trims.next_piece() else { return };
        let mut busy = Vec::new();
        for (block, slot) in self.contents.cached_in(&piece) {
            if self.requests.is_locked(block) || !self.drop_trimmed(block, slot) {
                busy.push(block.0);
            }
        }
        let exchanged = self.exchange.state() != SsdState::In;
        if !self.trims.tells() || self.failure.has_ssd_failed() || exchanged {
            return self.trims.forget(piece);
        }
        if !self.durability.gave_up(piece.clone()) && !self.bugs.has(Bug::TrimBeforeGivenUp) {
            return self.trims.pass(&piece);
        }
        busy.extend(self.requests.locked_in(piece.clone()));
        // A piece of a band that is being written back: what is told now would be undone.
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

    /// The disk was told, or does not take it.
    pub(super) fn trimmed(&mut self, result: Result<(), Failed>) {
        self.trims.done(result.is_ok());
        self.requests.end_hold();
        if result.is_err() {
            self.failure.counts().disk_trims += 1;
            return;
        }
        let number = self.disk.trimmed();
        // (What is freed is free when the disk was flushed.)
        if self.trims.are_told() {
            self.disk.want(number);
        }
    }
}
