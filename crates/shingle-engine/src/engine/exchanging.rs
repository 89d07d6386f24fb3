//! Carries out what `exchange` decides, in the other parts of the engine.

use super::Engine;
use super::contents::Contents;
use super::durability::Durability;
use super::exchange::{Facts, NewSsd, Step};
use super::open_error::OpenError;
use super::ssd_state::SsdState;
use crate::bugs::Bug;
use crate::data::Data;
use shingle_core::units::BLOCK_BYTES;

impl<D: Data> Engine<D> {
    /// Begins to take the SSD out. Blocks whose data is lost keep it in, unless `forgets_lost` is
    /// set.
    pub fn take_ssd_out(&mut self, forgets_lost: bool) {
        if !self.life.is_ending() && self.exchange.begin(forgets_lost) {
            self.service.set_detaching_ssd(true);
            self.drain.search_again();
        }
        self.pump();
    }

    /// Keeps the SSD in, if nothing on it was given up yet. Returns whether it stays in.
    pub fn keep_ssd_in(&mut self) -> bool {
        let stays = self.exchange.keep_in();
        if stays {
            self.service.set_detaching_ssd(false);
        }
        self.pump();
        stays
    }

    /// Notes that an [untold](SsdState::Untold) SSD will never be served again, whatever it holds:
    /// from now on the disk is written past it.
    pub fn abandon_ssd(&mut self) {
        if self.exchange.abandon() {
            self.failure.abandon();
        }
        self.pump();
    }

    /// Puts another SSD in: all I/O submitted later is for the new one. The old one must be
    /// [out](SsdState::Out).
    ///
    /// # Errors
    /// If the old one is not out, or the new one and its cache do not fit together.
    pub fn put_ssd_in(&mut self, new: NewSsd) -> Result<(), OpenError> {
        self.exchange.put_in(new)?;
        self.pump();
        Ok(())
    }

    /// The state of the SSD.
    #[must_use]
    pub fn ssd_state(&self) -> SsdState {
        self.exchange.state()
    }

    /// Takes the exchange further, if one is in progress.
    pub(super) fn exchange_if_due(&mut self) {
        if self.exchange.state() == SsdState::In {
            return;
        }
        if self.life.is_ending() {
            // The next start continues from what the SSD holds by then.
            self.exchange.keep_in();
            return;
        }
        let facts = Facts {
            dirty: self.contents.dirty_blocks().into(),
            lost: self.contents.lost_blocks(),
            no_destages: self.destages.holds_nothing(),
            no_commands: self.requests.none_running(),
            committed: self.durability.committed() == self.durability.added()
                && self.durability.is_idle(),
            failed: self.failure.has_ssd_failed(),
            invalidating: self.failure.is_invalidating(),
            invalidated: self.failure.is_all_invalidated(),
            refuses_invalidation: self.failure.refuses_invalidation(),
            no_ssd_io: !self.port.uses_ssd(),
        };
        match self.exchange.step(&facts, self.now) {
            Step::Nothing => {}
            Step::Invalidate => self.begin_invalidation(),
            Step::SearchDirty => {
                if !self.has_more_to_destage() {
                    self.exchange.set_untold();
                }
            }
            Step::Out => {
                if !self.forget_lost() {
                    self.exchange.step_back();
                }
            }
            Step::Enter(new) => self.enter(*new),
        }
    }

    /// Whether a dirty block may still go to the disk. A block in use by a command goes there
    /// later, or is lost.
    fn has_more_to_destage(&self) -> bool {
        let may = |block| self.failure.may_destage(block);
        if self.bugs.has(Bug::GivenUpInUse) {
            return !self.contents.dirty(may).is_empty();
        }
        self.contents.has_dirty(may)
    }

    /// Invalidates the whole SSD.
    fn begin_invalidation(&mut self) {
        let forgotten = self.forget_lost();
        assert!(forgotten, "no slot is in use");
        self.failure.ssd_taken_out(self.durability.possible_contents());
        self.durability.end();
        if self.bugs.has(Bug::TakenOutUntold) {
            self.failure.abandon();
        } else {
            self.invalidate_ssd(true);
        }
    }

    /// Gives up the blocks whose data is lost: the disk serves what it has of them. Returns false
    /// if the slot of one is still in use.
    fn forget_lost(&mut self) -> bool {
        let mut all = true;
        for block in self.contents.lost() {
            let slot = self.contents.lookup(block).expect("a lost block has a slot");
            self.contents.clear_lost(block);
            if self.contents.drop_block(block, slot, &mut self.durability, self.now) {
                self.exchange.forget(block);
            } else {
                self.contents.mark_lost(block, slot);
                all = false;
            }
        }
        all
    }

    fn enter(&mut self, new: NewSsd) {
        let NewSsd { found, cache, room_slots } = new;
        let disk_blocks = self.requests.disk_blocks();
        let contents = Contents::restore(cache, &found.journal.table, disk_blocks);
        self.contents = contents.expect("it is empty and of its size");
        let mut journal = found.journal;
        if !D::HAS_PAGES {
            journal.skip_encoding();
        }
        let commit_after = self.durability.commit_after();
        let counted = self.durability.status();
        self.durability = Durability::open(journal, &found.corrections, commit_after, self.bugs);
        self.durability.count_on(&counted);
        self.failure.ssd_put_in();
        if let Some(blocks) = self.grows_to {
            self.durability.set_disk_bytes(blocks * BLOCK_BYTES);
        }
        self.drain.forget();
        self.service.set_room_slots(room_slots);
        self.service.set_detaching_ssd(false);
    }
}
