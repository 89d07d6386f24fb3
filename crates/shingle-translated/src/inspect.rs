//! Inspects the map of a disk without changes.

use serde::{Deserialize, Serialize};
use shingle_core::units::Zone;
use shingle_device::Mark;
use shingle_zoned::ZonedDisk;
use uuid::Uuid;

use crate::bugs::Seeded;
use crate::error::OpenError;
use crate::live::{Found, find};
use crate::saved::{Reading, Superblock, superblocks};

/// The findings on a map. Nothing was written.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Inspected {
    /// The UUID of the map.
    pub uuid: String,
    /// The name of the translation.
    pub translation: String,
    /// The parameters of the translation.
    pub params: Vec<(String, String)>,
    /// The blocks that the host may address.
    pub blocks: u64,
    /// The size of the buffer in blocks; 0 if the translation has none.
    pub buffer_blocks: u64,
    /// The sequential zones of the translation.
    pub zones: u32,
    /// The sequential zones kept as spares.
    pub spare_zones: u32,
    /// The generation of the checkpoint.
    pub generation: u64,
    /// The number of commits since that checkpoint.
    pub commits: u64,
    /// Whether a last commit was torn by a crash; it was never acknowledged, and is not used.
    pub torn_commit: bool,
    /// The two copies.
    pub copies: [Copy; 2],
    /// The number of runs of the host's blocks that are stored together.
    pub runs: u64,
    /// Sequential zones that are read-only or offline.
    pub failed_zones: u32,
    /// Conventional zones of map and buffer that are read-only or offline. There are no spares for
    /// them: writes that need one are refused.
    pub failed_conventional_zones: Vec<u32>,
    /// Spares into which zones can still be rewritten. Without any, writes that need one are
    /// refused. `None` if the map cannot be read.
    pub spares_left: Option<u32>,
    /// Zones written further than the map says: that data was never acknowledged. Zones without
    /// valid data, which are to be reset, do not count.
    pub zones_ahead: u32,
    /// Blocks of the host that are lost, or would be found to be when the disk is opened: the first
    /// block of each run, and the length. Without those of `given_up_ranges`.
    pub lost_ranges: Vec<(u64, u64)>,
    /// Why the disk cannot be opened, if so.
    pub damage: Option<String>,
    /// What [`repair()`](crate::repair()) would give up so that the disk can be opened: the first
    /// block of each run, and the length. `None` if there is no damage, or it cannot be repaired.
    pub given_up_ranges: Option<Vec<(u64, u64)>>,
    /// The mark of the cache that used it last, if there is one.
    #[serde(skip)]
    pub mark: Option<Mark>,
}

/// One copy of the map.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Copy {
    /// Whether its superblock is valid.
    pub superblock: bool,
    /// Pages of the checkpoint and log in use that are bad in this copy: the other one has them. Opening the disk repairs
    /// them.
    pub bad_pages: u64,
    /// Whether a page is damaged. If not, bad pages are of the last commit, as a crash between the copies leaves them.
    pub damaged: bool,
    /// The first problem.
    pub what: Option<String>,
}

impl Inspected {
    /// Whether nothing is lost, and writes find a zone.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        self.damage.is_none()
            && self.lost_ranges.is_empty()
            && self.failed_conventional_zones.is_empty()
            && self.spares_left != Some(0)
    }

    /// Whether neither copy is damaged.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.damage.is_none() && self.copies.iter().all(|copy| !copy.damaged)
    }
}

/// Reads a map as [`LiveDisk::open`](crate::LiveDisk::open) would, and writes nothing.
///
/// # Errors
/// If there is no map, or it has a later version. Damage is reported in [`Inspected::damage`].
pub fn inspect(disk: &dyn ZonedDisk) -> Result<Inspected, OpenError> {
    let map = inspect_map(disk)?;
    let conventional = disk.report(Zone(0), disk.geometry().conventional_zones)?;
    let used = superblocks(disk).map(|chosen| chosen.superblock.used_zones());
    let is_used = |zone: u32| used.as_ref().ok().is_none_or(|used| used.contains(&zone));
    let failed =
        conventional.iter().filter(|zone| zone.condition.has_failed() && is_used(zone.zone.0));
    Ok(Inspected { failed_conventional_zones: failed.map(|zone| zone.zone.0).collect(), ..map })
}

fn inspect_map(disk: &dyn ZonedDisk) -> Result<Inspected, OpenError> {
    match find(disk, Reading::Compared, Seeded::default()) {
        Ok(found) => Ok(inspected(found)),
        Err(OpenError::Damaged { what, .. }) => {
            Ok(match find(disk, Reading::WithHoles, Seeded::default()) {
                Ok(found) => {
                    let given_up_ranges = Some(found.given_up.starts_and_counts());
                    Inspected { damage: Some(what), given_up_ranges, ..inspected(found) }
                }
                Err(_) => {
                    let known = superblocks(disk).ok().map(|chosen| {
                        let copies = chosen.wrong.map(|wrong| copy(wrong, (0, None), false));
                        Inspected { copies, ..about(&chosen.superblock) }
                    });
                    Inspected { damage: Some(what), ..known.unwrap_or_default() }
                }
            })
        }
        Err(other) => Err(other),
    }
}

/// The UUID of the map, which is also in [`Inspected::uuid`]. Only superblocks are read.
///
/// # Errors
/// If there is no map, it has a later version, or both superblocks are bad.
pub fn uuid(disk: &dyn ZonedDisk) -> Result<Uuid, OpenError> {
    Ok(Uuid::from_bytes(superblocks(disk)?.superblock.uuid))
}

/// The cache that the disk belongs to, if any. Only superblocks are read.
///
/// # Errors
/// As [`uuid()`].
pub fn cache_of(disk: &dyn ZonedDisk) -> Result<Option<Uuid>, OpenError> {
    let known = superblocks(disk)?.superblock;
    Ok(known.mark.and_then(|mark| mark.cache(Some(known.uuid))))
}

/// The contents of a superblock.
fn about(superblock: &Superblock) -> Inspected {
    let sequential = superblock.zones - superblock.conventional_zones;
    Inspected {
        uuid: Uuid::from_bytes(superblock.uuid).to_string(),
        translation: superblock.translation.clone(),
        params: superblock.params.clone(),
        blocks: superblock.blocks,
        buffer_blocks: superblock.told_buffer_blocks(),
        zones: superblock.logical_zones,
        spare_zones: sequential - superblock.logical_zones,
        generation: superblock.generation,
        mark: superblock.mark,
        ..Inspected::default()
    }
}

/// The findings on one copy: its superblock, and its pages.
fn copy(wrong: Option<String>, (bad_pages, first): (u64, Option<String>), damaged: bool) -> Copy {
    let superblock = wrong.is_none();
    let what = wrong.map(|what| format!("superblock: {what}")).or(first);
    Copy { superblock, bad_pages, damaged: damaged || !superblock, what }
}

fn inspected(found: Found) -> Inspected {
    let Found { superblock, wrong, recovered, survey, mut lost, given_up, .. } = found;
    for range in given_up.iter() {
        lost.remove(range);
    }
    let ([wrong, wrong_too], [bad, bad_too]) = (wrong, recovered.bad);
    let [damaged, damaged_too] = recovered.damaged;
    let copies = [copy(wrong, bad, damaged), copy(wrong_too, bad_too, damaged_too)];
    Inspected {
        commits: recovered.commits,
        torn_commit: recovered.torn,
        copies,
        runs: recovered.whereabouts.runs(),
        failed_zones: survey.failed,
        spares_left: Some((survey.table.spares.len() + survey.table.kept().count()) as u32),
        zones_ahead: survey.ahead,
        lost_ranges: lost.blocks().starts_and_counts(),
        ..about(&superblock)
    }
}
