//! Executes a write of the host, block by block (Amphisbaena §5.2.2, figures 6 and 11).

use super::record::Role;
use super::roles::Seen;
use super::{Amphisbaena, Job};
use shingle_core::units::Block;

#[derive(Clone, Copy, Debug)]
pub(super) struct Writing {
    next: Block,
    end: Block,
    /// Whether the request is hot.
    hot: bool,
    /// Set if `next` is to enter the HFB: its role before.
    enters: Option<Option<Role>>,
    /// Whether the request was already counted for the period.
    counted: bool,
}

impl Writing {
    pub(super) fn new(block: Block, count: u64, hot: bool) -> Writing {
        Writing { next: block, end: block.after(count), hot, enters: None, counted: false }
    }
}

impl Amphisbaena {
    /// Continues the write in progress, until there is a step to execute. Returns whether it has to
    /// be called again.
    pub(super) fn write(&mut self) -> bool {
        let Job::Write(mut writing) = self.job else { unreachable!("no write is under way") };
        while writing.next < writing.end && self.place_block(&mut writing) {
            writing.next = writing.next.after(1);
            writing.enters = None;
        }
        let goes_on = writing.next < writing.end;
        if !goes_on && !writing.counted {
            writing.counted = true;
            self.steps.finish_run();
            self.count_write();
        }
        self.job = Job::Write(writing);
        goes_on
    }

    /// Finds the place of the next block and writes it there. Returns `false` if room has to be
    /// made first: then it must be called again.
    #[inline]
    fn place_block(&mut self, writing: &mut Writing) -> bool {
        let (block, hot) = (writing.next, writing.hot);
        if writing.enters.is_none() {
            match self.roles.look(block) {
                Seen::Slot(slot) => {
                    self.update_hot(block, slot, hot);
                    return true;
                }
                Seen::Past(role) if hot || !self.settings.shadow_needs_hot => {
                    self.roles.recall(block);
                    self.ghost_hits += u64::from(role == Role::Ghost);
                    writing.enters = Some(Some(role));
                }
                _ if hot => writing.enters = Some(None),
                _ => return self.write_cold(block),
            }
        }
        self.enter_hot(block, writing.enters.flatten())
    }

    /// Updates the block in its slot. Its role changes only if the request is hot.
    fn update_hot(&mut self, block: Block, slot: u32, hot: bool) {
        if hot {
            self.roles.hit(slot);
        }
        self.counters.write_hits += 1;
        self.counters.hot_hits += 1;
        self.hot.update(slot);
        self.steps.write(block, self.hot.place(slot));
    }

    /// Writes the block into a slot, and drops a copy in the LFB.
    fn enter_hot(&mut self, block: Block, past: Option<Role>) -> bool {
        if self.roles.free_slots() == 0 {
            self.evict();
            return false;
        }
        if self.steps.commits_first() {
            return false;
        }
        let at = self.settings.geometry.address(block);
        let zone = self.touch(at.zone);
        if self.cold.remove(at, &mut self.zones) {
            self.counters.write_hits += 1;
            self.steps.place_freed();
        }
        self.zones.count_hot(zone, true);
        let slot = self.roles.enter(block, past);
        self.hot.enter(slot);
        self.steps.write(block, self.hot.place(slot));
        true
    }

    /// Writes the block to its place in its chunk, and remembers it as a shadow.
    fn write_cold(&mut self, block: Block) -> bool {
        let at = self.settings.geometry.address(block);
        let zone = self.touch(at.zone);
        let frame = match self.cold.frame(at.part) {
            Some(frame) => frame,
            None if !self.has_free_frame() => return false,
            None => self.cold.map(at.part, zone, &mut self.zones),
        };
        if self.cold.add(frame, at, zone, &mut self.zones) {
            self.counters.write_hits += 1;
        }
        self.roles.pass_by(block);
        self.steps.write(block, self.cold.place(frame, at.within));
        true
    }

    /// Returns the number of `zone`, with room for its weight.
    #[inline]
    pub(super) fn touch(&mut self, zone: u32) -> u32 {
        let number = self.zones.touch(zone);
        self.weights.grow(self.zones.len());
        number
    }

    /// Returns whether a free frame of the LFB may be used now; if not, begins to free one.
    pub(super) fn has_free_frame(&mut self) -> bool {
        if self.cold.free_frames() == 0 {
            self.collect_best();
            return false;
        }
        !self.steps.commits_first()
    }
}
