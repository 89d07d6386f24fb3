//! One log over all flash: the common part of FC and RMW-F.

use super::bands::BandRank;
use super::controller::Controller;
use super::space::{Front, Space};
use super::step::{Step, Steps};
use super::values::Marks;
use crate::parts::flash::{EraseBlock, Geometry};
use crate::parts::runs::Runs;
use shingle_core::units::Zone;

/// Free blocks reserved for copies: with one, there is always room to collect a block.
const KEPT: u32 = 1;

#[derive(Clone)]
pub(super) struct Log {
    pub(super) space: Space,
    front: Front,
    marks: Marks,
    /// Whether blocks are being freed, until there are enough.
    gaining: bool,
    /// Whether the disk's bands are rewritten; otherwise blocks go through its persistent cache.
    rewrites: bool,
}

impl Log {
    pub(super) fn new(
        geometry: Geometry,
        bands: &Runs,
        marks: Marks,
        rank: BandRank,
        rewrites: bool,
    ) -> Log {
        Log {
            space: Space::new(geometry, bands, &[1], rank, None),
            front: Front::new(geometry.units),
            marks,
            gaining: false,
            rewrites,
        }
    }

    /// Writes a block to the flash, after `cleaning` has made room for it.
    pub(super) fn put(&mut self, block: u64, steps: &mut dyn Steps, cleaning: &impl Cleaning) {
        self.gaining |= self.space.free(0) < self.marks.low;
        // Terminates: each turn makes pages invalid or frees their place.
        while self.gaining && !self.marks.background {
            cleaning.gain(self, steps);
            self.gaining = self.space.free(0) < self.marks.high;
        }
        let to = loop {
            match self.space.next(&mut self.front, 0, &[(0, KEPT)]) {
                Some(to) => break to,
                None => cleaning.gain(self, steps),
            }
        };
        let page = self.space.program(to, block);
        steps.step(Step::Program { block, page });
    }

    /// Returns the next victim, and whether it can be erased at once.
    pub(super) fn victim(&mut self) -> Option<(EraseBlock, bool)> {
        let victim = self.space.most_invalid(0)?;
        Some((victim, self.space.valid(victim) == 0))
    }

    /// Erases the victim, if no page of it is valid.
    pub(super) fn erase_dead(&mut self, steps: &mut dyn Steps) -> bool {
        let Some((victim, true)) = self.victim() else { return false };
        self.space.erase(victim, steps);
        true
    }

    /// Copies the valid pages of the victim and erases it, if that frees anything.
    pub(super) fn collect_victim(&mut self, steps: &mut dyn Steps) {
        let Some((victim, _)) = self.victim() else { return };
        if self.space.invalid(victim) == 0 {
            return;
        }
        let mut at = 0;
        while let Some((from, _)) = self.space.next_valid(victim, at) {
            at = self.space.after(from);
            let to = self.space.next(&mut self.front, 0, &[(0, 0)]);
            let to = self.space.copy(from, to.expect("there is room for a block's pages"));
            steps.step(Step::Copy { from, to });
        }
        self.space.erase(victim, steps);
    }

    pub(super) fn write_back_band(&mut self, band: Zone, steps: &mut dyn Steps) {
        self.space.write_back_band(band, self.rewrites, steps);
    }
}

/// Decides what enters the log, and how room is made in it.
pub(super) trait Cleaning: Clone + Send + 'static {
    /// Handles a host write of `count` blocks from `first` on.
    fn write(&mut self, log: &mut Log, first: u64, count: u64, steps: &mut dyn Steps) {
        (first..first + count).for_each(|block| log.put(block, steps, self));
    }

    /// Makes room: one victim, with what has to be written back for it.
    fn gain(&self, log: &mut Log, steps: &mut dyn Steps);
}

#[derive(Clone)]
pub(crate) struct Logged<C> {
    pub(super) log: Log,
    pub(super) cleaning: C,
}

impl<C: Cleaning> Controller for Logged<C> {
    const REGIONS: &'static [&'static str] = &["flash"];

    fn write(&mut self, first: u64, count: u64, steps: &mut dyn Steps) {
        self.cleaning.write(&mut self.log, first, count, steps);
    }

    fn wants(&self) -> bool {
        self.log.gaining
    }

    fn collect(&mut self, steps: &mut dyn Steps) {
        self.cleaning.gain(&mut self.log, steps);
        self.log.gaining = self.log.space.free(0) < self.log.marks.high;
    }

    fn prefill(&mut self) -> Option<EraseBlock> {
        self.log.space.next(&mut self.log.front, 0, &[(0, self.log.marks.high)])
    }

    fn rewrites(&self) -> bool {
        self.log.rewrites
    }

    fn space(&self) -> &Space {
        &self.log.space
    }

    fn space_mut(&mut self) -> &mut Space {
        &mut self.log.space
    }
}
