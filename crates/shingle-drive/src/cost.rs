//! The papers' costs: a time a read, a time a logged block, and `R(x)` a cleaned band. And what
//! hosts plan with: these costs where they are what I/O takes, else what was measured.

use crate::drive::Costs;
use crate::settings::Timing;
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

/// What was measured on a disk under timing by mechanics. A sheet that has not been measured yet
/// lacks it, as a conventional disk lacks `R(x)`: the costs stand in.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct MeasuredValues {
    measured_read_us: Option<u64>,
    measured_rmw_base_us: Option<u64>,
    measured_rmw_us_per_block: Option<u64>,
}

impl MeasuredValues {
    /// What a host may plan with, in place of `costs` under timing by mechanics.
    pub(crate) fn plan(&self, costs: Costs, timing: Timing) -> Costs {
        if timing == Timing::Cost {
            return costs;
        }
        let measured = |us: Option<u64>, cost| us.map_or(cost, Nanos::from_micros);
        Costs {
            read: measured(self.measured_read_us, costs.read),
            rmw_base: measured(self.measured_rmw_base_us, costs.rmw_base),
            rmw_per_block: measured(self.measured_rmw_us_per_block, costs.rmw_per_block),
        }
    }
}
