//! Exchanges of SSDs and a growing disk, during other commands.

use shingle_engine::recover::recover;
use shingle_engine::{Device, NewSsd, SsdState};

use super::cell::Cell;
use super::world::{Step, World, empty_ssd};
use crate::simulated::oracle::stamp;

impl World {
    /// The next step of the owner of the engine, as soon as it is possible: as the store does it.
    pub(super) fn owners_step(&self) -> Option<Step> {
        let up = self.up.as_ref().expect("it is up");
        match up.engine.ssd_state() {
            SsdState::Out => Some(Step::PutIn),
            SsdState::Untold => Some(Step::Abandon),
            SsdState::Leaving if up.pending.is_empty() => {
                let errors = up.engine.status().errors;
                let may_stay = errors.ssd_failed && !errors.ssd_invalidated && !self.abandoned;
                may_stay.then_some(Step::KeepIn)
            }
            SsdState::In | SsdState::Leaving | SsdState::Entering => None,
        }
    }

    /// Replaces the SSD by a new one.
    fn take_another(&mut self) {
        let edition = recover(&mut self.ssd).map_or(1, |found| found.journal.superblock().edition);
        self.ssd = empty_ssd(&self.scope, self.disk.pages(), edition + 1);
        self.abandoned = false;
    }

    pub(super) fn serve_another_if_abandoned(&mut self) {
        if self.abandoned {
            self.take_another();
        }
    }

    pub(super) fn put_in(&mut self) {
        assert!(self.pending().iter().all(|one| one.io.device == Device::Disk), "it is out");
        self.take_another();
        let mut found = recover(&mut self.ssd).expect("a new cache");
        for write in found.journal.mark_in_use() {
            self.ssd.keep(write.page, Cell::of(&write.bytes));
        }
        let cache = self.scope.cache(self.disk.pages());
        let new = NewSsd { found, cache, room_slots: 0 };
        let up = self.up.as_mut().expect("it is up");
        up.engine.put_ssd_in(new).expect("the one before is out");
    }

    pub(super) fn abandon(&mut self) {
        self.abandoned = true;
        self.up.as_mut().expect("it is up").engine.abandon_ssd();
    }

    /// It grows once, by a block.
    pub(super) fn may_grow(&self) -> bool {
        let engine = &self.up.as_ref().expect("it is up").engine;
        self.disk.pages() == self.scope.blocks && engine.ssd_state() == SsdState::In
    }

    pub(super) fn grow(&mut self) {
        let blocks = self.scope.blocks + 1;
        self.disk.grow([Cell::of(&stamp(blocks - 1, 0))].into_iter());
        self.oracle.grow(blocks);
        let up = self.up.as_mut().expect("it is up");
        up.grows_to = blocks;
        // (This fails if the SSD has failed.)
        let _ = up.engine.grow_disk(blocks, self.scope.cache(blocks));
    }

    /// Whether all changes that an operator has begun are done.
    pub(super) fn has_changed(&self) -> bool {
        let up = self.up.as_ref().expect("it is up");
        if up.grows_to == 0 && up.engine.ssd_state() == SsdState::In {
            return true;
        }
        let status = up.engine.status();
        // (An SSD that has failed has no new state, and is never released while data is lost.)
        let exchanged = up.engine.ssd_state() == SsdState::In || !status.lost.is_empty();
        exchanged && (status.errors.ssd_failed || status.disk_blocks >= up.grows_to)
    }
}
