//! Formats a disk: makes a map on it.

use shingle_core::params::Params;
use shingle_core::units::Zone;
use shingle_translation::{Layout, translations};
use shingle_zoned::{Condition, ZonedDisk};
use uuid::Uuid;

use crate::bugs::Seeded;
use crate::error::{FormatError, OpenError};
use crate::saved::{Areas, Record, Saver, Superblock, records_of_length, superblocks};

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
    let no_room = |what: String| FormatError::NoRoom { disk: disk.name().to_owned(), what };
    let geometry = *disk.geometry();
    // Zones that were finished are copied before they are appended to, which may be several in one
    // operation.
    let more = if geometry.max_active == 0 { 0 } else { 2 };
    // Checked before the search for a map: if a conventional zone is offline, it is unknown whether
    // there is one.
    let (zones, spares) = usable(disk, format.spare_zones, more)?;
    refuse_another(disk, format)?;
    let conventional_blocks = u64::from(geometry.conventional_zones) * geometry.zone_blocks;
    let logical = zones.len() as u64 - spares;
    let capacity = geometry.zone_capacity_blocks;
    // At worst one run for each block; at least a few for each zone.
    let others = logical + 2 * records_of_length(logical * capacity) + 64;
    let areas = Areas::plan(conventional_blocks, logical * capacity + others, 4 * logical + others);
    let between = areas.between();
    let left = between.end - between.start;
    let buffer_blocks = format.buffer_blocks.unwrap_or(left);
    if left == 0 || buffer_blocks > left || buffer_blocks == 0 {
        let map = 2 * areas.copy_blocks();
        return Err(no_room(format!(
            "its {} conventional zones have {conventional_blocks} blocks, of which the map takes {map}: no room for a \
             buffer of {}",
            geometry.conventional_zones,
            buffer_blocks.max(1)
        )));
    }
    let entry = translations::get(&format.translation).map_err(FormatError::Translation)?;
    let mut params = Params::new(entry.params);
    for (name, value) in &format.params {
        let wrong = |error| FormatError::Translation(format!("{}: {error}", entry.name));
        params.set(name, value).map_err(wrong)?;
    }
    let layout = Layout { zone_blocks: capacity, buffer_blocks, zones: logical as u32 };
    let translation = entry.make(&params, layout).map_err(FormatError::Translation)?;
    let (blocks, open, active) =
        (translation.blocks(), translation.open_zones(), geometry.max_active);
    if active != 0 && active < open {
        return Err(no_room(format!(
            "it has at most {active} zones open or closed at a time, and {} with these parameters appends to {open} by \
             turns",
            entry.name
        )));
    }
    let superblock = Superblock {
        uuid: format.uuid.unwrap_or_else(|| Uuid::new_v4().into_bytes()),
        epoch: 1,
        generation: 0,
        checkpoint_epoch: 1,
        checkpoint_pages: 1,
        zones: geometry.zones,
        conventional_zones: geometry.conventional_zones,
        zone_blocks: geometry.zone_blocks,
        zone_capacity_blocks: capacity,
        areas,
        logical_zones: logical as u32,
        buffer_blocks,
        blocks,
        translation: entry.name.to_owned(),
        params: params.iter().map(|(name, value)| (name.to_owned(), value)).collect(),
        mark: None,
    };
    let uuid = superblock.uuid;
    let mut saver = Saver::new(superblock, Seeded::default());
    // The old map is erased first: half of it must never be combined with half of the new one.
    saver.erase(disk)?;
    saver.blank_logs(disk)?;
    let named = zones.iter().take(logical as usize);
    let record = |(logical, &physical)| Record::Zone { logical, physical, pointer: 0 };
    saver.checkpoint(disk, (0..).zip(named).map(record))?;
    Ok(Formatted {
        uuid,
        blocks,
        buffer_blocks,
        zones: logical as u32,
        spare_zones: spares as u32,
        map_blocks: 2 * areas.copy_blocks(),
        runs_max: areas.records_max() - others,
    })
}

/// Refuses a disk with a map, complete or not, and one that belongs to a cache, whose SSD may have
/// dirty blocks.
fn refuse_another(disk: &dyn ZonedDisk, format: &Format) -> Result<(), FormatError> {
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
        (Some(_), Some(_)) => return Ok(()),
        (None, _) => {}
    }
    match found {
        _ if format.force => Ok(()),
        Ok(chosen) => has(Uuid::from_bytes(chosen.superblock.uuid).to_string()),
        Err(OpenError::NotFormatted { .. }) => Ok(()),
        Err(OpenError::Disk(error)) => Err(error.into()),
        Err(other) => has(format!("unknown: {other}")),
    }
}

/// The usable sequential zones, and how many of them are spares.
fn usable(
    disk: &dyn ZonedDisk,
    spares: Option<u32>,
    more: u64,
) -> Result<(Vec<u32>, u64), FormatError> {
    let no_room = |what: String| Err(FormatError::NoRoom { disk: disk.name().to_owned(), what });
    let geometry = *disk.geometry();
    let mut zones = Vec::new();
    for report in disk.report(Zone(0), geometry.zones)? {
        match report.condition {
            Condition::ReadOnly | Condition::Offline if geometry.is_conventional(report.zone) => {
                let what = format!(
                    "conventional zone {} is {}, and map and buffer need them all",
                    report.zone.0,
                    report.condition.name()
                );
                return no_room(what);
            }
            Condition::Conventional | Condition::ReadOnly | Condition::Offline => {}
            _ => zones.push(report.zone.0),
        }
    }
    let count = zones.len() as u64;
    let spares = spares.map_or(2 + count / 1000 + more, u64::from);
    if geometry.conventional_zones == 0 {
        return no_room("it has no conventional zones, and the map needs some".to_owned());
    }
    if more > 0 && spares < 2 + more {
        return no_room(format!(
            "{spares} zones are to be spare: with a limit on active zones at least {} are",
            2 + more
        ));
    }
    if spares == 0 || spares >= count {
        return no_room(format!(
            "of its {count} sequential zones {spares} are to be spare: at least one is, and one is not"
        ));
    }
    Ok((zones, spares))
}
