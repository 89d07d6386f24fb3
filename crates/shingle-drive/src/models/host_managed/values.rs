//! The sheet of a host-managed disk, and what follows from it.

use crate::sheet::{DriveError, Recipe};
use serde::Deserialize;
use shingle_core::drive_view::Costs;
use shingle_core::units::{BLOCK_BYTES, Nanos, Op};

/// The part of the sheet beside mechanics and costs.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Values {
    zone_bytes: u64,
    conventional_zones: u64,
    open_zones: u64,
    pub(super) reads_beyond_pointer: bool,
}

/// How the medium is divided.
#[derive(Clone, Copy, Debug)]
pub(super) struct Layout {
    /// Zones, those without write pointer among them, and blocks in each.
    pub(super) zones: usize,
    pub(super) conventional: u32,
    pub(super) zone_blocks: u64,
    /// Zones open at a time.
    pub(super) open_max: u32,
}

impl Values {
    /// Divides a medium of `capacity_blocks` into whole zones.
    pub(super) fn layout(
        &self,
        recipe: &Recipe,
        capacity_blocks: u64,
    ) -> Result<Layout, DriveError> {
        let zone_blocks = (self.zone_bytes / BLOCK_BYTES).max(1);
        let zones = capacity_blocks / zone_blocks;
        if zones <= self.conventional_zones || zones > ZONES_MAX {
            return Err(recipe.refuse(
                "there are from 1 to 2^22 zones, not all of them conventional; change \
                 capacity_bytes, zone_bytes or conventional_zones",
            ));
        }
        let narrow = |count: u64| u32::try_from(count).unwrap_or(u32::MAX);
        Ok(Layout {
            zones: usize::try_from(zones).expect("checked above"),
            conventional: narrow(self.conventional_zones),
            zone_blocks,
            open_max: narrow(self.open_zones),
        })
    }
}

/// Zones at most, which bounds the memory they take.
const ZONES_MAX: u64 = 1 << 22;

/// What I/O costs under timing by cost.
#[derive(Clone, Copy, Debug, Deserialize)]
pub(super) struct CostValues {
    cost_read_us: u64,
    cost_write_us: u64,
    cost_block_ns: u64,
}

impl CostValues {
    /// Returns the cost of an I/O of `count` blocks; one that continues the last one needs no
    /// positioning.
    pub(super) fn io(&self, op: Op, count: u64, goes_on: bool) -> Nanos {
        let position = match op {
            _ if goes_on => 0,
            Op::Read => self.cost_read_us,
            _ => self.cost_write_us,
        };
        Nanos::from_micros(position) + Nanos(count * self.cost_block_ns)
    }

    /// Returns the costs to plan with: a random read, and reading and writing `x` blocks of a zone.
    pub(super) fn plan(&self) -> Costs {
        Costs {
            read: Nanos::from_micros(self.cost_read_us),
            rmw_base: Nanos::from_micros(self.cost_read_us + self.cost_write_us),
            rmw_per_block: Nanos(2 * self.cost_block_ns),
        }
    }
}
