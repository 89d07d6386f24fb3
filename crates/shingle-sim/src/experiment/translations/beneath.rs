//! The drive beneath a translation. One without zones is written in zones.

use shingle_core::drive_view::Costs;
use shingle_core::size;
use shingle_core::units::Zone;
use shingle_core::zones::ZoneMap;
use shingle_drive::{Description, Drive};

use super::{FILLED, MAP, Over, ZONE_SIZE};
use crate::experiment::options::{ExperimentError, usage};

/// Of the zones of a disk that has none of its own, one of so many is conventional. (`shingle zoned
/// create` rounds up.)
const CONVENTIONAL_PART: u64 = 100;

/// Most zones of such a disk, which bounds the memory they take.
const ZONES_MAX: u64 = 1 << 22;

/// The drive beneath a translation.
pub(in crate::experiment) struct Beneath<'a> {
    pub(in crate::experiment) name: &'a str,
    /// Of the drive, or of the zones that it is written in.
    pub(in crate::experiment) description: &'a Description,
    /// Whether it has zones of its own.
    pub(in crate::experiment) own_zones: bool,
    /// Whether it takes time to read what was never written: a host-aware disk whose zones are empty
    /// does without reading.
    pub(in crate::experiment) holds_data: bool,
}

/// Whether a drive has zones that a translation can use, some of them conventional. A host-aware disk
/// without these is written in zones like one that has none.
pub(in crate::experiment) fn has_own_zones(description: &Description) -> bool {
    description
        .exposed
        .is_some_and(|zones| zones.sequential_required || zones.conventional_zones > 0)
}

impl Over {
    /// Returns `drive` with zones: if it has none of its own, written in zones of so many blocks, for
    /// which `costs` is asked what hosts plan with.
    ///
    /// # Errors
    /// If the translation has a buffer in conventional zones, which are written in place: the disk
    /// would clean them. Or if the disk is too small.
    pub(in crate::experiment) fn on_zones(
        &self,
        name: &str,
        drive: Box<dyn Drive>,
        costs: impl FnOnce(u64) -> Costs,
    ) -> Result<Box<dyn Drive>, ExperimentError> {
        let description = drive.description();
        if has_own_zones(description) {
            return Ok(drive);
        }
        if self.entry.has_buffer {
            return Err(usage(format!(
                "-t {}: {name} has no conventional zones for it, and a buffer that is written in place gains nothing there: \
                 -t log writes all of such a disk in zones, and `shingle list drives` has disks with zones",
                self.entry.name
            )));
        }
        let zone_blocks = self.shared.blocks(ZONE_SIZE);
        let zones = description.disk_blocks / zone_blocks;
        let conventional = (zones / CONVENTIONAL_PART).max(1);
        if zones <= conventional || zones > ZONES_MAX {
            return Err(usage(format!(
                "translation.{ZONE_SIZE}: {name} has {zones} zones of {}; from 2 to {ZONES_MAX} are possible",
                size::show_blocks(zone_blocks)
            )));
        }
        let beneath = description.bands.as_ref().filter(|_| description.exposed.is_some());
        let own = beneath.map_or(1, |zones| zones.blocks(Zone(0)));
        if !zone_blocks.is_multiple_of(own) {
            return Err(usage(format!(
                "translation.{ZONE_SIZE}: {name} has zones of {}: give a multiple of that",
                size::show_blocks(own)
            )));
        }
        Ok(shingle_drive::in_zones(drive, zone_blocks, conventional as u32, costs(zone_blocks)))
    }

    /// Returns a note on how a disk without zones is written.
    pub(super) fn how_written(&self, drive: &str, beneath: &Description) -> String {
        let zone = size::show_blocks(self.shared.blocks(ZONE_SIZE));
        let count = beneath.bands.as_ref().map_or(0, ZoneMap::count);
        let holds = match self.shared.choice(FILLED) {
            "on" => "holds data in each zone of 5,000 blocks that the trace touches",
            _ => "is empty",
        };
        let map = match self.shared.choice(MAP) {
            "on" => "saved on the disk",
            _ => "kept at no cost",
        };
        format!(
            "{drive} has no zones for a translation: it is written in {count} zones of {zone}, each in sequence. Before \
             the run it {holds}; the map is {map} (translation.{ZONE_SIZE}, {FILLED}, {MAP})"
        )
    }
}
