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
use super::log::{Cleaning, Log, Logged};
use super::space::largest;
use super::step::Steps;
use super::values::{Marks, Setup};
use crate::parts::flash::Geometry;
use crate::parts::runs::Runs;
use crate::sheet::DriveError;
use serde::Deserialize;

#[derive(Deserialize)]
struct Values {
    fc_copies: bool,
    fc_rewrites_bands: bool,
}

/// See the module.
#[derive(Clone)]
pub(crate) struct Fc {
    copies: bool,
}

impl Fc {
    pub(super) fn new(setup: &Setup) -> Result<Logged<Fc>, DriveError> {
        let values: Values = setup.recipe.sheet.values();
        Ok(Fc::with(&values, setup.geometry, setup.disk.bands(), setup.marks))
    }

    fn with(values: &Values, geometry: Geometry, bands: &Runs, marks: Marks) -> Logged<Fc> {
        let rank = BandRank::pages(bands.units() as usize, largest(bands));
        let log = Log::new(geometry, bands, marks, rank, values.fc_rewrites_bands);
        Logged { log, cleaning: Fc { copies: values.fc_copies } }
    }
}

impl Cleaning for Fc {
    fn gain(&self, log: &mut Log, steps: &mut dyn Steps) {
        if log.erase_dead(steps) {
            return;
        }
        if self.copies {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::models::flash_inside::controller::Controller;
    use crate::models::flash_inside::step::{Recorder, Step};
    use crate::parts::flash::{EraseBlock, Page};

    /// One unit of six erase blocks with four pages each, bands of ten blocks. Four erase blocks are
    /// full, of the fifth a page is used. One is free: less than the two that there should be.
    ///
    /// 0: 1 25 10 20, 1: 50 51 60 61, 2: 30 31 32 40, 3: 33 41 10 20, 4: 70.
    fn filled(fc_copies: bool) -> (Logged<Fc>, Recorder) {
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
