//! Formats a disk: makes a map on it.

use std::ops::Range;

use shingle_core::params::Params;
use shingle_core::units::Zone;
use shingle_translation::{Layout, translations};
use shingle_zoned::{Condition, ZoneReport, ZonedDisk};
use uuid::Uuid;

use crate::bugs::Seeded;
use crate::error::{FormatError, OpenError};
use crate::saved::{
    Areas, COUNTER_MAX, Record, Saver, Superblock, highest_epoch, longest_run, records_of_length,
    superblocks,
};

/// The parameters of a format.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Format {
    /// The name of the translation.
    pub translation: String,
    /// The parameters that are set, by name.
    pub params: Vec<(String, String)>,
    /// The size of the buffer in blocks; by default all of the conventional zones that the map
    /// leaves.
    pub buffer_blocks: Option<u64>,
    /// Sequential zones kept from the translation, to rewrite zones into and to replace zones that
    /// fail. By default 2 and one of a thousand, and 2 more on a disk with a limit on active zones.
    pub spare_zones: Option<u32>,
    /// The UUID of the map; by default a new one.
    pub uuid: Option<[u8; 16]>,
    /// Format even if there is a map.
    pub force: bool,
    /// Format even if the existing map says that the disk belongs to this cache. [`Format::force`]
    /// is not needed then.
    pub destroy: Option<[u8; 16]>,
}

/// The result of a format.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Formatted {
    /// The UUID of the map.
    pub uuid: [u8; 16],
    /// The blocks that the host may address.
    pub blocks: u64,
    /// The size of the buffer in blocks.
    pub buffer_blocks: u64,
    /// The sequential zones of the translation.
    pub zones: u32,
    /// The sequential zones kept as spares.
    pub spare_zones: u32,
    /// The conventional zones that are left out, as they or others beside them have failed.
    pub left_out_zones: u32,
    /// The size of the map in blocks, both copies.
    pub map_blocks: u64,
    /// The highest number of runs of the host's blocks in the map.
    pub runs_max: u64,
}

/// Formats a disk for a translation. Its content is given up. Zones are reset when they are needed,
/// not now.
///
/// # Errors
/// If there is a map and [`Format::force`] is not set; if the disk belongs to a cache other than
/// [`Format::destroy`]; if translation and disk do not fit together; or if the disk fails.
pub fn format(disk: &dyn ZonedDisk, format: &Format) -> Result<Formatted, FormatError> {
    let zones = Zones::usable(disk, format.spare_zones)?;
    let old = refuse_another(disk, format)?;
    let room = Room::plan(disk, &zones, format.buffer_blocks)?;
    // It counts beside older maps in zones that cannot be written any more, also beside those that are no use. (The limit is
    // never reached, and leaves as many epochs to those who open it.)
    let before = highest_epoch(disk)?.max(old.as_ref().map_or(0, |old| old.epoch));
    let epoch = 1 + before.min(COUNTER_MAX / 2);
    let superblock =
        Superblock { epoch, checkpoint_epoch: epoch, ..superblock(disk, format, &zones, &room)? };
    let formatted = Formatted {
        uuid: superblock.uuid,
        blocks: superblock.blocks,
        buffer_blocks: room.buffer_blocks,
        zones: zones.logical.len() as u32,
        spare_zones: zones.spares,
        left_out_zones: disk.geometry().conventional_zones - zones.conventional.len() as u32,
        map_blocks: 2 * room.areas.copy_blocks(),
        runs_max: room.areas.records_max() - room.others,
    };
    write_map(disk, superblock, old.as_ref(), &zones)?;
    Ok(formatted)
}

fn no_room(disk: &dyn ZonedDisk, what: String) -> FormatError {
    FormatError::NoRoom { disk: disk.name().to_owned(), what }
}

/// Writes a map of empty zones.
fn write_map(
    disk: &dyn ZonedDisk,
    superblock: Superblock,
    old: Option<&Superblock>,
    zones: &Zones,
) -> Result<(), FormatError> {
    let others = old.map(|old| old.areas.superblocks());
    let others = others.filter(|places| *places != superblock.areas.superblocks());
    let mut saver = Saver::new(superblock, 0, Seeded::default());
    // The old map is erased first: half of it must never be combined with half of the new one.
    if let Some(places) = others {
        saver.erase_old(disk, places)?;
    }
    saver.erase(disk)?;
    saver.blank_logs(disk)?;
    let record = |(logical, &physical)| Record::Zone { logical, physical, pointer: 0 };
    saver.checkpoint(disk, (0..).zip(&zones.logical).map(record))?;
    Ok(())
}

/// The superblock of a new map, with the translation that fits this room.
fn superblock(
    disk: &dyn ZonedDisk,
    format: &Format,
    zones: &Zones,
    room: &Room,
) -> Result<Superblock, FormatError> {
    let geometry = *disk.geometry();
    let entry = translations::get(&format.translation).map_err(FormatError::Translation)?;
    let mut params = Params::new(entry.params);
    // (Any number of open zones may still be a limited one of active zones.)
    entry.limit_open(
        &mut params,
        if geometry.max_open == 0 { geometry.max_active } else { geometry.max_open },
    );
    for (name, value) in &format.params {
        let wrong = |error| FormatError::Translation(format!("{}: {error}", entry.name));
        params.set(name, value).map_err(wrong)?;
    }
    let layout = Layout {
        zone_blocks: geometry.zone_capacity_blocks,
        buffer_blocks: room.buffer_blocks,
        zones: zones.logical.len() as u32,
    };
    let translation = entry.make(&params, layout).map_err(FormatError::Translation)?;
    let (open, active) = (translation.open_zones(), geometry.max_active);
    if active != 0 && active < open {
        let what = format!(
            "it has at most {active} zones open or closed at a time, and {} with these parameters appends to {open} by \
             turns",
            entry.name
        );
        return Err(no_room(disk, what));
    }
    Ok(Superblock {
        uuid: format.uuid.unwrap_or_else(|| Uuid::new_v4().into_bytes()),
        epoch: 1,
        generation: 0,
        checkpoint_epoch: 1,
        checkpoint_pages: 1,
        zones: geometry.zones,
        conventional_zones: geometry.conventional_zones,
        zone_blocks: geometry.zone_blocks,
        zone_capacity_blocks: geometry.zone_capacity_blocks,
        areas: room.areas,
        logical_zones: layout.zones,
        buffer_blocks: room.buffer_blocks,
        blocks: translation.blocks(),
        translation: entry.name.to_owned(),
        params: params.iter().map(|(name, value)| (name.to_owned(), value)).collect(),
        mark: None,
    })
}

/// Refuses a disk with a map, complete or not, and one that belongs to a cache, whose SSD may have
/// dirty blocks. Returns the superblock of a map that may be given up.
fn refuse_another(
    disk: &dyn ZonedDisk,
    format: &Format,
) -> Result<Option<Superblock>, FormatError> {
    let name = || disk.name().to_owned();
    let has = |uuid| Err(FormatError::HasMap { disk: name(), uuid });
    let found = superblocks(disk);
    let known = found.as_ref().ok().map(|chosen| &chosen.superblock);
    let cache = known.and_then(|known| known.mark?.cache(Some(known.uuid)));
    match (cache, format.destroy.map(Uuid::from_bytes)) {
        (Some(cache), None) => return Err(FormatError::OfCache { disk: name(), cache }),
        (cache, Some(typed)) if cache != Some(typed) => {
            return Err(FormatError::AnotherCache { disk: name(), typed });
        }
        (Some(_), Some(_)) => return Ok(known.cloned()),
        (None, _) => {}
    }
    match found {
        found if format.force => Ok(found.ok().map(|chosen| chosen.superblock)),
        Ok(chosen) => has(Uuid::from_bytes(chosen.superblock.uuid).to_string()),
        Err(OpenError::NotFormatted { .. }) => Ok(None),
        Err(OpenError::Disk(error)) => Err(error.into()),
        Err(other) => has(format!("unknown: {other}")),
    }
}

/// The usable zones of a disk.
struct Zones {
    /// The conventional zones for map and buffer.
    conventional: Range<u32>,
    /// Those that become logical zones.
    logical: Vec<u32>,
    /// The number of the others.
    spares: u32,
}

impl Zones {
    fn usable(disk: &dyn ZonedDisk, spares: Option<u32>) -> Result<Zones, FormatError> {
        let geometry = *disk.geometry();
        let reports = disk.report(Zone(0), geometry.zones)?;
        let (conventional, sequential) = reports.split_at(geometry.conventional_zones as usize);
        let conventional = longest_run(conventional);
        let is_usable = |report: &&ZoneReport| {
            report.condition != Condition::Conventional && !report.condition.has_failed()
        };
        let mut zones: Vec<u32> =
            sequential.iter().filter(is_usable).map(|report| report.zone.0).collect();
        if conventional.is_empty() {
            let what = match geometry.conventional_zones {
                0 => "it has no conventional zones, and the map needs some".to_owned(),
                count => format!(
                    "all its {count} conventional zones have failed, and the map needs some; use another disk"
                ),
            };
            return Err(no_room(disk, what));
        }
        let count = zones.len() as u32;
        // With a limit on active zones, zones that were finished are copied before they are
        // appended to, which may be several in one operation.
        let more = if geometry.max_active == 0 { 0 } else { 2 };
        let spares = spares.unwrap_or(2 + count / 1000 + more);
        if more > 0 && spares < 2 + more {
            let what = format!(
                "{spares} zones are to be spare: with a limit on active zones at least {} are",
                2 + more
            );
            return Err(no_room(disk, what));
        }
        if spares == 0 || spares >= count {
            let what = format!(
                "of its {count} sequential zones {spares} are to be spare: at least one is, and one is not"
            );
            return Err(no_room(disk, what));
        }
        zones.truncate((count - spares) as usize);
        Ok(Zones { conventional, logical: zones, spares })
    }
}

/// The division of the conventional zones.
struct Room {
    /// The map.
    areas: Areas,
    /// The most records of the map that are no runs of the host's blocks.
    others: u64,
    /// The buffer of the translation.
    buffer_blocks: u64,
}

impl Room {
    fn plan(
        disk: &dyn ZonedDisk,
        zones: &Zones,
        buffer_blocks: Option<u64>,
    ) -> Result<Room, FormatError> {
        let geometry = disk.geometry();
        let used = &zones.conventional;
        let conventional = u64::from(used.start) * geometry.zone_blocks
            ..u64::from(used.end) * geometry.zone_blocks;
        let logical = zones.logical.len() as u64;
        let zones_blocks = logical * geometry.zone_capacity_blocks;
        // At worst one run for each block; at least a few for each zone.
        let others = logical + 2 * records_of_length(zones_blocks) + 64;
        let areas = Areas::plan(&conventional, zones_blocks + others, 4 * logical + others);
        let between = areas.between();
        let left = between.end - between.start;
        let buffer_blocks = buffer_blocks.unwrap_or(left);
        if !(1..=left).contains(&buffer_blocks) {
            let have = format!(
                "its {} conventional zones{} have {} blocks",
                used.len(),
                match used.len() as u32 == geometry.conventional_zones {
                    true => String::new(),
                    false => format!(" from zone {} on, up to one that has failed,", used.start),
                },
                areas.conventional_blocks,
            );
            let map_blocks = 2 * areas.copy_blocks();
            let what = match left {
                // (One block is between the copies, also where it is no buffer.)
                0 => format!(
                    "{have}, and the map takes {map_blocks} and one between its copies; if `zoned create` made the disk, it \
                     can make one with more of them (--conventional), or with larger zones"
                ),
                _ => format!(
                    "{have}, of which the map takes {map_blocks}: no room for a buffer of {buffer_blocks}"
                ),
            };
            return Err(no_room(disk, what));
        }
        Ok(Room { areas, others, buffer_blocks })
    }
}
