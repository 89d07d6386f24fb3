//! The sheet of a host-aware disk, and what follows from it.

use crate::parts::map::{BLOCKS_MAX, SLOTS_MAX};
use crate::sheet::{Buffer, DriveError, Recipe};
use serde::Deserialize;
use shingle_core::units::BLOCK_BYTES;

/// The part of the sheet beside mechanics and costs.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Values {
    zone_bytes: u64,
    conventional_zones: u64,
    log_zones: u64,
    pub(super) free_zones_min: u64,
    pub(super) gc_invalid_percent: u64,
    map_extents: u64,
    pub(super) filled: bool,
    pub(super) clean_reads_whole: bool,
    pub(super) merge_bytes: u64,
    open_zones: u64,
    non_sequential_zones_advised: u64,
    pub(super) close_us: u64,
    pub(super) write_command_us: u64,
    pub(super) idle_cleaning: bool,
    pub(super) idle_delay_ms: u64,
}

/// How the medium is divided.
#[derive(Clone, Copy, Debug)]
pub(super) struct Layout {
    /// Zones that the host sees, those without write pointer among them, and blocks in each.
    pub(super) zones: usize,
    pub(super) conventional: u32,
    pub(super) zone_blocks: u64,
    /// Log zones of the disk cache, and blocks in each.
    pub(super) logs: u32,
    pub(super) log_blocks: u32,
    /// Blocks of the medium before the host's first.
    pub(super) reserved: u64,
    /// Live map entries at most; 0 for no limit.
    pub(super) extents: u64,
    /// Zones open at a time, and advice for the host.
    pub(super) open_max: u32,
    pub(super) non_sequential_advised: u32,
}

impl Values {
    /// Divides a medium of `capacity_blocks`. A buffer of another size has as many log zones.
    pub(super) fn layout(
        &self,
        recipe: &Recipe,
        capacity_blocks: u64,
    ) -> Result<Layout, DriveError> {
        let zone_blocks = (self.zone_bytes / BLOCK_BYTES).max(1);
        let zones = (capacity_blocks / zone_blocks).saturating_sub(self.log_zones);
        if zones == 0 || zones <= self.conventional_zones || zones > ZONES_MAX {
            return Err(recipe.refuse(
                "beside the disk cache there are from 1 to 2^22 zones, not all of them \
                 conventional; change zone_bytes, log_zones or conventional_zones",
            ));
        }
        let real = self.log_zones * zone_blocks;
        let (slots, extents) = match recipe.settings.buffer {
            Buffer::Real => (real, self.map_extents),
            Buffer::Bytes(bytes) => (bytes / BLOCK_BYTES, 0),
            Buffer::Limits { log_bytes, extents } => (log_bytes / BLOCK_BYTES, extents.max(1)),
        };
        if !(1..=u64::from(SLOTS_MAX)).contains(&slots) {
            return Err(recipe.refuse("the buffer holds from 1 to 2^27 blocks of 4 KiB (512 GiB)"));
        }
        if self.free_zones_min >= self.log_zones {
            return Err(recipe.refuse("free_zones_min is less than log_zones"));
        }
        let log_blocks = (slots / self.log_zones).max(1);
        let reserved = real.max(self.log_zones * log_blocks);
        if reserved + zones * zone_blocks > BLOCKS_MAX {
            return Err(recipe.refuse("at most 2^32 blocks (17.5 TB), the disk cache included"));
        }
        let narrow = |count: u64| u32::try_from(count).unwrap_or(u32::MAX);
        Ok(Layout {
            zones: usize::try_from(zones).expect("checked above"),
            conventional: narrow(self.conventional_zones),
            zone_blocks,
            logs: narrow(self.log_zones),
            log_blocks: narrow(log_blocks),
            reserved,
            extents,
            open_max: narrow(self.open_zones),
            non_sequential_advised: narrow(self.non_sequential_zones_advised),
        })
    }
}

impl Layout {
    pub(super) fn disk_blocks(&self) -> u64 {
        self.zones as u64 * self.zone_blocks
    }

    /// Single blocks that the empty disk cache takes before it cleans: all log zones but those that
    /// are kept free are full then, or the map is.
    pub(super) fn buffer_blocks(&self, free_zones_min: u64) -> u64 {
        let zones = u64::from(self.logs) + 1 - free_zones_min;
        let blocks = zones * u64::from(self.log_blocks);
        if self.extents == 0 { blocks } else { blocks.min(self.extents) }
    }
}

/// Zones at most, which bounds the memory they take.
const ZONES_MAX: u64 = 1 << 22;
