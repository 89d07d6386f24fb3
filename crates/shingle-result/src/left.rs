//! Deferred work at the end of a run.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::counts::{ByCause, Counts};

/// Work left undone at the end of a run, or done then with `--drain`.
#[derive(Clone, Copy, Debug, Default, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Left {
    /// Dirty blocks in the cache.
    pub dirty_blocks: u64,
    /// Blocks that the disk has accepted and not yet written to their bands: live ones in its
    /// buffer, and those it holds in memory until it is known whether they fill a band in order.
    #[schemars(with = "Option<u64>")]
    pub buffer_blocks: u64,
    /// Bands of the blocks in the buffer.
    #[schemars(with = "Option<u64>")]
    pub buffer_bands: u64,
    /// Time of SSD and disk to destage and clean all of it: the sum of `by_cause` without
    /// `idle_clean`.
    #[schemars(with = "Option<f64>")]
    pub seconds: f64,
    /// The same by what the devices do.
    #[schemars(with = "Option<ByCause>")]
    pub by_cause: ByCause,
    /// Bands to be cleaned by read-modify-write.
    #[schemars(with = "Option<u64>")]
    pub rmw: u64,
    /// Bands to be cleaned without reading their native data.
    #[schemars(with = "Option<u64>")]
    pub rmw_free: u64,
    /// Bands to be written in order, without the buffer.
    #[schemars(with = "Option<u64>")]
    #[serde(default)]
    pub in_order_bands: u64,
    /// Zones and bands that the host has to write back whole.
    #[schemars(with = "Option<u64>")]
    #[serde(default)]
    pub host_rmw_zones: u64,
    /// Blocks to be read from the disk.
    #[schemars(with = "Option<u64>")]
    pub read_blocks: u64,
    /// Blocks to be written to the disk.
    #[schemars(with = "Option<u64>")]
    pub written_blocks: u64,
}

impl Left {
    /// Computes what draining did from its counters, without the blocks and bands that were left.
    #[must_use]
    pub fn of_drain(done: &Counts) -> Left {
        Left {
            seconds: done.seconds.total,
            by_cause: done.seconds.by_cause,
            rmw: done.drive_io.rmw,
            rmw_free: done.drive_io.rmw_free,
            in_order_bands: done.drive_io.in_order_bands,
            host_rmw_zones: done.host_rmw.zones,
            read_blocks: done.drive_io.read_blocks,
            written_blocks: done.drive_io.written_blocks,
            ..Left::default()
        }
    }
}
