//! Where the superblocks are.
//!
//! They are at both ends of the conventional zones. If some of these had failed when the disk was
//! formatted, the map is in the longest run of others, and its superblocks are at the ends of that.
//! A zone that has failed stays so: each end is an end of the conventional zones, or beside a zone
//! that has failed by now. A map in other zones may have been there before, in a zone that could not
//! be written any more; the later map has the higher epoch.

use std::ops::Range;

use shingle_core::units::{Block, Zone};
use shingle_zoned::{ZoneReport, ZonedDisk, ZonedError};

use super::areas::Areas;
use super::fetch::read_page;
use super::superblock::{NoSuperblock, Superblock};
use crate::error::OpenError;

/// The longest run of conventional zones that have not failed; empty if there is none. `reports` are
/// those of all conventional zones.
pub(crate) fn longest_run(reports: &[ZoneReport]) -> Range<u32> {
    let runs = reports.split(|report| report.condition.has_failed());
    let range = |run: &[ZoneReport]| match run {
        [first, ..] => first.zone.0..first.zone.0 + run.len() as u32,
        [] => 0..0,
    };
    // (The first one, if several are as long.)
    runs.map(range).rev().max_by_key(Range::len).unwrap_or(0..0)
}

/// Where superblocks may be: the usual places first, those of a disk of which no zone has failed.
fn ends(disk: &dyn ZonedDisk, reports: &[ZoneReport]) -> Vec<Block> {
    let mut ends = in_zones(disk, 0..disk.geometry().conventional_zones).to_vec();
    for pair in reports.windows(2) {
        if pair.iter().any(|report| report.condition.has_failed()) {
            ends.extend([Block(pair[1].first.0 - 1), pair[1].first]);
        }
    }
    ends
}

fn in_zones(disk: &dyn ZonedDisk, zones: Range<u32>) -> [Block; 2] {
    let block = |zone: u32| u64::from(zone) * disk.geometry().zone_blocks;
    Areas::superblocks_in(&(block(zones.start)..block(zones.end)))
}

/// The highest epoch of all superblocks on the disk, also of maps that cannot be used; 0 if there is none. In a zone that cannot
/// be written any more they stay: a new map has to be later than all of them.
pub(crate) fn highest_epoch(disk: &dyn ZonedDisk) -> Result<u64, ZonedError> {
    let reports = disk.report(Zone(0), disk.geometry().conventional_zones)?;
    let found = |at: Block| Superblock::decode(&read_page(disk, at).ok()?).ok();
    let epochs = ends(disk, &reports).into_iter().filter_map(found).map(|found| found.epoch);
    Ok(epochs.max().unwrap_or(0))
}

/// The places of the superblocks of a disk with conventional zones. If there are none, those where
/// they would be.
pub(super) fn places(disk: &dyn ZonedDisk) -> Result<[Block; 2], OpenError> {
    let geometry = disk.geometry();
    let usual = in_zones(disk, 0..geometry.conventional_zones);
    let reports = disk.report(Zone(0), geometry.conventional_zones)?;
    if !reports.iter().any(|report| report.condition.has_failed()) {
        return Ok(usual);
    }
    let ends = ends(disk, &reports);
    let newest = ends.iter().filter_map(|at| at_home(disk, *at)).max_by_key(Superblock::age);
    if let Some(newest) = newest {
        return Ok(newest.areas.superblocks());
    }
    // A usual place that is read and holds something else shows that the disk has no map, unless the other one holds a
    // damaged superblock.
    let looks = usual.map(|at| read_page(disk, at).map(|page| Superblock::decode(&page)));
    let is_none = |look: &Result<_, _>| matches!(look, Ok(Err(NoSuperblock::Foreign)));
    match looks.iter().any(is_none) && looks.iter().all(|look| look.is_err() || is_none(look)) {
        true => Ok(in_zones(disk, longest_run(&reports))),
        false => Ok(usual),
    }
}

/// The superblock at a place where it says that it is.
fn at_home(disk: &dyn ZonedDisk, at: Block) -> Option<Superblock> {
    let superblock = Superblock::decode(&read_page(disk, at).ok()?).ok()?;
    superblock.areas.superblocks().contains(&at).then_some(superblock)
}
