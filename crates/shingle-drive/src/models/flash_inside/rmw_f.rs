//! RMW-F: writes that cause no RMW go straight to their band; bands leave the flash by cost.
//!
//! After "RMW-F: A Design of RMW-Free Cache Using Built-in NAND-Flash for SMR Storage" (Ma et al., ACM
//! TECS 18(5s), 2019), of which only the abstract was at hand: incoming data are told apart by how
//! they are written back, those that would cause RMWs stay in the flash, the others go straight to the
//! disk, and cleaning is guided by a model of the cost of writing back and by popularity. **How all of
//! this is done here is a reconstruction**:
//!
//! - each band has an end: nothing was written at or beyond it. A write there overlaps nothing that
//!   is needed and goes to its place; any other goes to the flash. Both move the end.
//! - the band that leaves is the one whose rewriting takes least time for each page that was not
//!   written of late: `R(x) / cold`, with `R` as measured on the disk, of the [`CANDIDATES`] bands with
//!   most such pages. Without any, it is the band of the page written longest ago.
//! - then the erase block with most invalid pages is collected, as in FC.

use super::bands::BandRank;
use super::log::{Cleaning, Log, Logged};
use super::space::{Space, largest};
use super::step::{Step, Steps};
use super::values::{Marks, Setup};
use crate::parts::flash::Geometry;
use crate::parts::runs::Runs;
use crate::sheet::DriveError;
use serde::Deserialize;
use shingle_core::drive_view::Costs;
use shingle_core::units::Zone;

/// Number of bands compared.
const CANDIDATES: usize = 16;

#[derive(Deserialize)]
struct Values {
    rmwf_warm_percent: u64,
    rmwf_disk_is_new: bool,
    rmwf_rewrites_bands: bool,
}

#[derive(Clone)]
pub(crate) struct RmwF {
    /// For each band, one past the last block written.
    ends: Vec<u32>,
    costs: Costs,
}

impl RmwF {
    pub(super) fn new(setup: &Setup) -> Result<Logged<RmwF>, DriveError> {
        let values: Values = setup.recipe.sheet.values();
        let bands = setup.disk.bands();
        Ok(RmwF::with(&values, setup.geometry, bands, setup.marks, setup.costs))
    }

    fn with(
        values: &Values,
        geometry: Geometry,
        bands: &Runs,
        marks: Marks,
        costs: Costs,
    ) -> Logged<RmwF> {
        let (pages, count) = (geometry.pages(), bands.units() as usize);
        let window = u64::from(pages) * values.rmwf_warm_percent / 100;
        let rank = BandRank::cold(count, largest(bands), pages, window as u32);
        let end = if values.rmwf_disk_is_new { 0 } else { u32::MAX };
        let log = Log::new(geometry, bands, marks, rank, values.rmwf_rewrites_bands);
        Logged { log, cleaning: RmwF { ends: vec![end; count], costs } }
    }
}

/// Returns the band that is written back next.
fn leaving(space: &mut Space, costs: Costs) -> Option<Zone> {
    let rewriting = |pages: u32| costs.rmw_base.0 + costs.rmw_per_block.0 * u64::from(pages);
    let cheapest = space.rank.cheapest(CANDIDATES, rewriting);
    cheapest.or_else(|| space.rank.oldest_warm().map(|page| space.band_of(page)))
}

impl Cleaning for RmwF {
    fn write(&mut self, log: &mut Log, first: u64, count: u64, steps: &mut dyn Steps) {
        let (mut at, end) = (first, first + count);
        while at < end {
            let (band, offset, blocks) = log.space.place(at);
            let piece = (blocks - offset).min(end - at);
            let written = &mut self.ends[band.index()];
            let free = offset >= u64::from(*written);
            *written = (*written).max((offset + piece) as u32);
            if free {
                log.space.forget_all(at, piece);
                steps.step(Step::ToBand { first: at, count: piece });
            } else {
                for block in at..at + piece {
                    log.put(block, steps, self);
                }
            }
            at += piece;
        }
    }

    /// The cheapest band, then one victim.
    fn gain(&self, log: &mut Log, steps: &mut dyn Steps) {
        if log.erase_dead(steps) {
            return;
        }
        if let Some(band) = leaving(&mut log.space, self.costs) {
            log.write_back_band(band, steps);
        }
        log.collect_victim(steps);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::models::flash_inside::controller::Controller;
    use crate::models::flash_inside::step::Recorder;
    use shingle_core::units::Nanos;

    /// One unit of six erase blocks with four pages each, of which two are warm; bands of ten blocks.
    fn rmw_f(rmwf_disk_is_new: bool) -> (Logged<RmwF>, Recorder) {
        let geometry = Geometry { units: 1, blocks_per_unit: 6, pages_per_block: 4 };
        let marks = Marks { low: 2, high: 2, background: false };
        let values = Values { rmwf_warm_percent: 10, rmwf_disk_is_new, rmwf_rewrites_bands: true };
        let (read, rmw_base) = (Nanos::ZERO, Nanos(10));
        let costs = Costs { read, rmw_base, rmw_per_block: Nanos(1) };
        let bands = Runs::new(&[(10, 10)], 100);
        (RmwF::with(&values, geometry, &bands, marks, costs), Recorder::default())
    }

    #[test]
    fn what_overlaps_nothing_goes_to_its_band() {
        let (mut drive, mut steps) = rmw_f(true);
        let mut write = |first, count| {
            drive.write(first, count, &mut steps);
            drive.check();
            steps.take()
        };
        let to_band = |first, count| Step::ToBand { first, count };
        assert_eq!(write(3, 2), [to_band(3, 2)]);
        assert_eq!(write(7, 1), [to_band(7, 1)]);
        // Behind 4 lies 7.
        assert!(matches!(write(4, 1)[..], [Step::Program { block: 4, .. }]));
        // Over the border of a band: tracks of one do not overlap the next.
        assert_eq!(write(8, 4), [to_band(8, 2), to_band(10, 2)]);
        assert!(matches!(write(11, 2)[..], [Step::Program { .. }, Step::Program { .. }]));
        // 12 is on the flash, and what comes at 12 goes there.
        assert!(matches!(write(12, 1)[..], [Step::Program { block: 12, .. }]));
        assert_eq!(write(13, 1), [to_band(13, 1)]);
    }

    #[test]
    fn the_band_that_costs_least_for_each_cold_page_leaves() {
        let (mut drive, mut steps) = rmw_f(false);
        for block in [1, 2, 3, 11, 12, 13, 14, 15, 21, 31] {
            drive.write(block, 1, &mut steps);
        }
        // All but 21 and 31 are cold: 13 for three pages of band 0, 15 for five of band 1.
        assert_eq!(leaving(&mut drive.log.space, drive.cleaning.costs), Some(Zone(1)));
        for block in [11, 12, 13] {
            drive.write(block, 1, &mut steps);
        }
        // 12 and 13 are warm: 15 for three.
        assert_eq!(leaving(&mut drive.log.space, drive.cleaning.costs), Some(Zone(0)));
        assert!(steps.take().iter().all(|step| matches!(step, Step::Program { .. })));
        drive.check();
    }
}
