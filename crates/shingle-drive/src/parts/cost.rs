//! The papers' costs: a time per read, a time per logged block, and `R(x)` per cleaned band. And
//! the costs that hosts plan with: these where I/O takes them, otherwise the measured ones.

use crate::sheet::Timing;
use serde::{Deserialize, Deserializer};
use shingle_core::drive_view::Costs;
use shingle_core::units::Nanos;

/// The costs of I/O in a sheet: in microseconds, with decimals for measured disks.
#[derive(Clone, Debug, Default, Deserialize)]
pub(crate) struct CostValues {
    #[serde(rename = "cost_read_us", deserialize_with = "micros")]
    read: Nanos,
    #[serde(rename = "cost_read_us_per_further_block", deserialize_with = "micros")]
    read_per_further_block: Nanos,
    #[serde(rename = "cost_log_us_per_block", deserialize_with = "micros")]
    log_per_block: Nanos,
    /// As `log_per_block`, unless the sheet has its own value.
    #[serde(rename = "cost_log_us_per_further_block", deserialize_with = "some_micros", default)]
    log_per_further_block: Option<Nanos>,
    #[serde(rename = "cost_rmw_base_us", deserialize_with = "micros")]
    rmw_base: Nanos,
    #[serde(rename = "cost_rmw_us_per_block", deserialize_with = "micros")]
    rmw_per_block: Nanos,
}

impl CostValues {
    /// Returns the time of one read of `count` blocks.
    pub(crate) fn read(&self, count: u64) -> Nanos {
        times(u64::from(count > 0), self.read)
            + times(count.saturating_sub(1), self.read_per_further_block)
    }

    /// Returns the time of one write of `count` blocks into the buffer.
    pub(crate) fn log(&self, count: u64) -> Nanos {
        let further = self.log_per_further_block.unwrap_or(self.log_per_block);
        times(u64::from(count > 0), self.log_per_block) + times(count.saturating_sub(1), further)
    }

    /// Returns the time of `count` blocks written in order to their native place.
    pub(crate) fn stream(&self, count: u64) -> Nanos {
        times(count, self.read_per_further_block)
    }

    /// Returns the time of cleaning a band of which `dirty` blocks are collected.
    pub(crate) fn rmw(&self, dirty: u64) -> Nanos {
        self.rmw_base + times(dirty, self.rmw_per_block)
    }

    /// Returns the costs that a host may plan with.
    pub(crate) fn plan(&self) -> Costs {
        Costs { read: self.read, rmw_base: self.rmw_base, rmw_per_block: self.rmw_per_block }
    }
}

fn times(count: u64, each: Nanos) -> Nanos {
    Nanos(count * each.0)
}

/// Reads microseconds of a sheet.
fn micros<'de, D: Deserializer<'de>>(sheet: D) -> Result<Nanos, D::Error> {
    Ok(match Micros::deserialize(sheet)? {
        Micros::Whole(us) => Nanos::from_micros(us),
        Micros::Decimal(us) => nanos(us * 1e3),
    })
}

fn nanos(span: f64) -> Nanos {
    Nanos(span.round() as u64)
}

fn some_micros<'de, D: Deserializer<'de>>(sheet: D) -> Result<Option<Nanos>, D::Error> {
    micros(sheet).map(Some)
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Micros {
    Whole(u64),
    Decimal(f64),
}

/// Measured costs of a disk under timing by mechanics. A sheet that was not measured yet has none,
/// and a conventional disk has no `R(x)`: then the papers' costs are used.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct MeasuredValues {
    #[serde(rename = "measured_read_us", deserialize_with = "some_micros", default)]
    read: Option<Nanos>,
    #[serde(rename = "measured_rmw_base_us", deserialize_with = "some_micros", default)]
    rmw_base: Option<Nanos>,
    #[serde(rename = "measured_rmw_us_per_block", deserialize_with = "some_micros", default)]
    rmw_per_block: Option<Nanos>,
}

impl MeasuredValues {
    /// Returns the costs that a host may plan with: under timing by mechanics the measured ones,
    /// otherwise `costs`.
    pub(crate) fn plan(&self, costs: Costs, timing: Timing) -> Costs {
        if timing == Timing::Cost { costs } else { self.over(costs) }
    }

    /// Returns the measured costs, and `costs` where nothing was measured.
    pub(crate) fn over(&self, costs: Costs) -> Costs {
        Costs {
            read: self.read.unwrap_or(costs.read),
            rmw_base: self.rmw_base.unwrap_or(costs.rmw_base),
            rmw_per_block: self.rmw_per_block.unwrap_or(costs.rmw_per_block),
        }
    }
}
