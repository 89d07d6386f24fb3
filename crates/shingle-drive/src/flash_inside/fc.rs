//! FC: all writes go to the flash, bands are written back whole.
//!
//! After "FC: Built-in flash cache with fast cleaning" (Ma et al., JSA 98, 2019), which was not at
//! hand. What is known is what MCM says of it (§II-B, §IV-B.c): flash is the cache, all writes go there
//! first and are then written back selectively. **All else here is a reconstruction**: one log over
//! all flash, the full block with most invalid pages as victim, and one of two ways to make room:
//!
//! - `copy`: the band with most pages on the flash is rewritten, then the victim's valid pages are
//!   copied and it is erased;
//! - `write back`: each band that has a valid page in the victim is rewritten with all its pages on
//!   the flash, and the victim is erased without copying any.
//!
//! A victim of which nothing is valid is erased at once, in both.

use super::bands::BandRank;
use super::controller::{Controller, Step, Steps};
use super::space::{Front, Space, largest};
use super::values::{Marks, Setup};
use crate::error::DriveError;
use crate::flash::{EraseBlock, Geometry};
use crate::runs::Runs;
use serde::Deserialize;
use shingle_core::units::Zone;

#[derive(Deserialize)]
struct Values {
    fc_copies: bool,
    fc_rewrites_bands: bool,
}

/// Free blocks that only copies may take: with one, there is always room to collect a block.
const KEPT: u32 = 1;

/// See the module.
#[derive(Clone)]
pub(crate) struct Fc {
    pub(super) log: Log,
    copies: bool,
}

/// One log over all flash: what FC and RMW-F have in common.
#[derive(Clone)]
pub(super) struct Log {
    pub(super) space: Space,
    front: Front,
    marks: Marks,
    /// Free blocks are being gained until there are enough.
    gaining: bool,
    /// The disk's bands are rewritten; otherwise blocks go through its persistent cache.
    pub(super) rewrites: bool,
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

    /// Puts a block on the flash, when `gain` has made room for it.
    pub(super) fn put(
        &mut self,
        block: u64,
        steps: &mut dyn Steps,
        gain: impl Fn(&mut Log, &mut dyn Steps),
    ) {
        self.gaining |= self.space.free(0) < self.marks.low;
        // Ends: each turn makes pages invalid or frees their place.
        while self.gaining && !self.marks.background {
            gain(self, steps);
            self.gaining = self.space.free(0) < self.marks.high;
        }
        let to = loop {
            match self.space.next(&mut self.front, 0, &[(0, KEPT)]) {
                Some(to) => break to,
                None => gain(self, steps),
            }
        };
        let page = self.space.program(to, block);
        steps.step(Step::Program { block, page });
    }

    /// In the background.
    pub(super) fn collect(
        &mut self,
        steps: &mut dyn Steps,
        gain: impl Fn(&mut Log, &mut dyn Steps),
    ) {
        gain(self, steps);
        self.gaining = self.space.free(0) < self.marks.high;
    }

    pub(super) fn wants(&self) -> bool {
        self.gaining
    }

    pub(super) fn prefill(&mut self) -> Option<EraseBlock> {
        self.space.next(&mut self.front, 0, &[(0, self.marks.high)])
    }

    /// The next victim, and whether it can be erased as it is.
    fn victim(&self) -> Option<(EraseBlock, bool)> {
        let victim = self.space.most_invalid(0)?;
        Some((victim, self.space.valid(victim) == 0))
    }

    /// Erases the victim, if nothing in it is valid.
    pub(super) fn erase_dead(&mut self, steps: &mut dyn Steps) -> bool {
        let Some((victim, true)) = self.victim() else { return false };
        self.space.erase(victim, steps);
        true
    }

    /// Copies the valid pages of the victim and erases it, if that gains anything.
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

impl Fc {
    pub(super) fn new(setup: &Setup) -> Result<Fc, DriveError> {
        let values: Values = setup.recipe.sheet.values();
        Ok(Fc::with(&values, setup.geometry, setup.disk.bands(), setup.marks))
    }

    fn with(values: &Values, geometry: Geometry, bands: &Runs, marks: Marks) -> Fc {
        let rank = BandRank::pages(bands.units() as usize, largest(bands));
        let log = Log::new(geometry, bands, marks, rank, values.fc_rewrites_bands);
        Fc { log, copies: values.fc_copies }
    }
}

/// Makes room: one victim, with what has to be written back for it.
fn gain(copies: bool) -> impl Fn(&mut Log, &mut dyn Steps) {
    move |log, steps| {
        if log.erase_dead(steps) {
            return;
        }
        if copies {
            if let Some(band) = log.space.rank.best() {
                log.write_back_band(band, steps);
            }
            log.collect_victim(steps);
            return;
        }
        let (victim, _) = log.victim().expect("most blocks are full");
        let mut at = 0;
        while let Some((page, block)) = log.space.next_valid(victim, at) {
            at = log.space.after(page);
            let band = log.space.band(block).0;
            log.write_back_band(band, steps);
        }
        log.space.erase(victim, steps);
    }
}

impl Controller for Fc {
    const REGIONS: &'static [&'static str] = &["flash"];

    fn write(&mut self, first: u64, count: u64, steps: &mut dyn Steps) {
        for block in first..first + count {
            self.log.put(block, steps, gain(self.copies));
        }
    }

    fn wants(&self) -> bool {
        self.log.wants()
    }

    fn collect(&mut self, steps: &mut dyn Steps) {
        self.log.collect(steps, gain(self.copies));
    }

    fn prefill(&mut self) -> Option<EraseBlock> {
        self.log.prefill()
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flash::Page;
    use crate::flash_inside::controller::Recorder;

    /// One unit of six erase blocks with four pages each, bands of ten blocks. Four erase blocks are
    /// full, of the fifth a page is used. One is free: less than the two that there should be.
    ///
    /// 0: 1 25 10 20, 1: 50 51 60 61, 2: 30 31 32 40, 3: 33 41 10 20, 4: 70.
    fn filled(fc_copies: bool) -> (Fc, Recorder) {
        let geometry = Geometry { units: 1, blocks_per_unit: 6, pages_per_block: 4 };
        let marks = Marks { low: 2, high: 2, background: false };
        let values = Values { fc_copies, fc_rewrites_bands: true };
        let mut fc = Fc::with(&values, geometry, &Runs::new(&[(10, 10)], 100), marks);
        let mut steps = Recorder::default();
        for block in [1, 25, 10, 20, 50, 51, 60, 61, 30, 31, 32, 40, 33, 41, 10, 20, 70] {
            fc.write(block, 1, &mut steps);
        }
        assert!(steps.take().iter().all(|step| matches!(step, Step::Program { .. })));
        fc.check();
        (fc, steps)
    }

    fn load(block: u64, page: u32) -> Step {
        Step::Load { block, page: Page(page) }
    }

    #[test]
    fn the_band_of_most_pages_is_rewritten_and_a_victim_copied() {
        let (mut fc, mut steps) = filled(true);
        fc.write(71, 1, &mut steps);
        // Band 3 has four pages. Without them 2 has most invalid pages, and 40 is copied.
        let expected = [
            load(30, 8),
            load(31, 9),
            load(32, 10),
            load(33, 12),
            Step::Rewrite,
            Step::Copy { from: Page(11), to: Page(17) },
            Step::Erase(EraseBlock(2)),
            Step::Program { block: 71, page: Page(18) },
        ];
        assert_eq!(steps.take(), expected);
        fc.check();
    }

    #[test]
    fn all_bands_of_the_victim_are_rewritten_and_nothing_is_copied() {
        let (mut fc, mut steps) = filled(false);
        fc.write(71, 1, &mut steps);
        // 0 has two invalid pages. Of the others, 1 is in band 0, and 25 in band 2, of which 20 lies
        // elsewhere.
        let expected = [
            load(1, 0),
            Step::Rewrite,
            load(20, 15),
            load(25, 1),
            Step::Rewrite,
            Step::Erase(EraseBlock(0)),
            Step::Program { block: 71, page: Page(17) },
        ];
        assert_eq!(steps.take(), expected);
        fc.check();
    }
}
