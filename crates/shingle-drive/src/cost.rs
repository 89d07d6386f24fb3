//! The papers' costs: a time a read, a time a logged block, and `R(x)` a cleaned band.

use crate::drive::Costs;
use serde::Deserialize;
use shingle_core::units::Nanos;

/// The part of a sheet that says what I/O costs.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct CostValues {
    cost_read_us: u64,
    cost_read_us_per_further_block: u64,
    cost_log_us_per_block: u64,
    cost_rmw_base_us: u64,
    cost_rmw_us_per_block: u64,
}

impl CostValues {
    /// One read I/O of `count` blocks.
    pub(crate) fn read(&self, count: u64) -> Nanos {
        let further = count.saturating_sub(1) * self.cost_read_us_per_further_block;
        Nanos::from_micros(if count == 0 { 0 } else { self.cost_read_us + further })
    }

    /// `count` blocks into the buffer.
    pub(crate) fn log(&self, count: u64) -> Nanos {
        Nanos::from_micros(count * self.cost_log_us_per_block)
    }

    /// `count` blocks written in order to their native place.
    pub(crate) fn stream(&self, count: u64) -> Nanos {
        Nanos::from_micros(count * self.cost_read_us_per_further_block)
    }

    /// Cleaning a band of which `dirty` blocks are collected.
    pub(crate) fn rmw(&self, dirty: u64) -> Nanos {
        Nanos::from_micros(self.cost_rmw_base_us + dirty * self.cost_rmw_us_per_block)
    }

    /// What a host may plan with.
    pub(crate) fn plan(&self) -> Costs {
        Costs {
            read: Nanos::from_micros(self.cost_read_us),
            rmw_base: Nanos::from_micros(self.cost_rmw_base_us),
            rmw_per_block: Nanos::from_micros(self.cost_rmw_us_per_block),
        }
    }
}
