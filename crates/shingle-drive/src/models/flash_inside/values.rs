//! The sheet of the flash, and what follows from it.

use crate::models::drive_managed::DriveManaged;
use crate::parts::flash::{Geometry, Times};
use crate::sheet::{DriveError, Recipe};
use serde::Deserialize;
use shingle_core::drive_view::Costs;
use shingle_core::units::{BLOCK_BYTES, Nanos};

/// Parameters of all flash inside disks.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Values {
    flash_bytes: u64,
    flash_units: u32,
    flash_pages_per_block: u32,
    flash_read_us: u64,
    flash_program_us: u64,
    flash_erase_us: u64,
    pub(super) flash_background: bool,
    flash_low_percent: f64,
    flash_high_percent: f64,
    pub(super) flash_prefill_percent: u64,
    pub(super) flash_endurance: u32,
}

/// What a controller is made of, besides its own parameters.
pub(super) struct Setup<'a> {
    pub(super) recipe: &'a Recipe<'a>,
    pub(super) disk: &'a DriveManaged,
    pub(super) geometry: Geometry,
    pub(super) marks: Marks,
    pub(super) costs: Costs,
}

/// When erase blocks are freed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Marks {
    /// With fewer free blocks than `low`, blocks are freed until there are `high`.
    pub(super) low: u32,
    pub(super) high: u32,
    /// Whether this is done in the background; then a write waits only if there is no room at all.
    pub(super) background: bool,
}

impl Values {
    /// Returns the geometry, with as many units as requested, or fewer if there are few erase
    /// blocks.
    pub(super) fn geometry(&self, recipe: &Recipe) -> Result<Geometry, DriveError> {
        let pages_per_block = self.flash_pages_per_block;
        let blocks = self.flash_bytes / (u64::from(pages_per_block) * BLOCK_BYTES);
        let units = u64::from(self.flash_units).min(blocks / BLOCKS_PER_UNIT_MIN);
        if units == 0 {
            return Err(recipe.refuse(
                "the flash has 16 erase blocks at least; have more flash_bytes or fewer \
                 flash_pages_per_block",
            ));
        }
        let narrow = |count: u64| u32::try_from(count).ok().filter(|&count| count <= PAGES_MAX);
        let blocks_per_unit = narrow(blocks / units)
            .filter(|_| narrow(blocks.saturating_mul(u64::from(pages_per_block))).is_some());
        let Some(blocks_per_unit) = blocks_per_unit else {
            return Err(
                recipe.refuse("flash of at most 2^27 pages (512 GiB); have less flash_bytes")
            );
        };
        Ok(Geometry { units: units as u32, blocks_per_unit, pages_per_block })
    }

    pub(super) fn times(&self) -> Times {
        Times {
            read: Nanos::from_micros(self.flash_read_us),
            program: Nanos::from_micros(self.flash_program_us),
            erase: Nanos::from_micros(self.flash_erase_us),
            transfer: Nanos::ZERO,
        }
    }

    pub(super) fn marks(&self, geometry: &Geometry) -> Marks {
        let part = |percent: f64| (f64::from(geometry.blocks()) * percent / 100.0) as u32;
        let low = part(self.flash_low_percent).max(2);
        // With few blocks, some must stay full.
        let high = part(self.flash_high_percent).max(low + 1).min(geometry.blocks() / 4);
        Marks { low: low.min(high), high, background: self.flash_background }
    }
}

/// Fewest erase blocks in a unit: with fewer, units would hold nothing but open blocks.
const BLOCKS_PER_UNIT_MIN: u64 = 16;

const PAGES_MAX: u32 = crate::parts::map::SLOTS_MAX;
