//! The values that a host takes from a profile or a model to plan with.

use super::{BufferFacts, Profile};
use crate::drive::Description;
use shingle_core::units::{BLOCK_BYTES, Nanos};

/// Values to plan with, in whole microseconds and blocks. What was not determined is `None`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// Blocks that fit into the disk's buffer when each is written by itself.
    pub buffer_blocks: Option<u64>,
    /// Blocks of log in the buffer, if its map fills first; 0 if it does not.
    pub log_blocks: Option<u64>,
    /// Blocks of the zones that `R(x)` is of.
    pub zone_blocks: Option<u64>,
    /// `L_read`.
    pub read_us: Option<u64>,
    /// `R(0)`.
    pub rmw_base_us: Option<u64>,
    /// The part of `R(x)` for each block written.
    pub rmw_us_per_block: Option<u64>,
}

/// A log whose end was not reached: this many blocks for each entry of the map (extents of 512 KiB)…
const LOG_BLOCKS_PER_EXTENT: u64 = 128;
/// …but no more than 128 GiB in all, beyond any drive's buffer.
const LOG_BLOCKS_MAX: u64 = 1 << 25;

impl BufferFacts {
    /// Returns the entries of the map and the blocks of log; `None` if neither end was reached.
    pub(super) fn extents_and_log_blocks(&self) -> Option<(u64, u64)> {
        let log_blocks = self.log_bytes.map(|bytes| bytes / BLOCK_BYTES);
        let of_extents =
            |extents: u64| (extents * LOG_BLOCKS_PER_EXTENT).min(LOG_BLOCKS_MAX).max(extents);
        let extents = self.extents.or(log_blocks)?;
        Some((extents, log_blocks.unwrap_or_else(|| of_extents(extents))))
    }
}

impl Profile {
    /// Returns the values to plan with.
    #[must_use]
    pub fn plan(&self) -> Plan {
        let room = self.buffer.as_ref().and_then(BufferFacts::extents_and_log_blocks);
        let (rmw, us) = (self.rmw.as_ref(), |us: f64| us.round() as u64);
        Plan {
            buffer_blocks: room.map(|(extents, log)| extents.min(log)),
            log_blocks: room.map(|(extents, log)| if extents < log { log } else { 0 }),
            zone_blocks: rmw.map(|rmw| rmw.zone_blocks),
            // Zones without written data are read without the medium.
            read_us: self.zones.is_none().then(|| us(self.read.random_us)),
            rmw_base_us: rmw.map(|rmw| us(rmw.base_us)),
            rmw_us_per_block: rmw.map(|rmw| us(rmw.us_per_block)),
        }
    }
}

impl Description {
    /// Returns the values to plan with over this model.
    #[must_use]
    pub fn plan(&self) -> Plan {
        // Rounded up, so that no cost becomes zero.
        let us = |span: Nanos| Some(span.0.div_ceil(1_000));
        Plan {
            buffer_blocks: Some(self.buffer_blocks),
            log_blocks: Some(self.in_order.log_blocks),
            zone_blocks: None,
            read_us: us(self.costs.read),
            rmw_base_us: us(self.costs.rmw_base),
            rmw_us_per_block: us(self.costs.rmw_per_block),
        }
    }
}

impl Plan {
    /// Returns the known values, by name.
    pub fn known(&self) -> impl Iterator<Item = (&'static str, u64)> {
        let all = [
            ("buffer_blocks", self.buffer_blocks),
            ("log_blocks", self.log_blocks),
            ("zone_blocks", self.zone_blocks),
            ("read_us", self.read_us),
            ("rmw_base_us", self.rmw_base_us),
            ("rmw_us_per_block", self.rmw_us_per_block),
        ];
        all.into_iter().filter_map(|(name, value)| Some((name, value?)))
    }
}
