//! Work that a run leaves undone.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::counts::{ByCause, Counts};

/// Work left undone at the end of a run, or done then because it was asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Left {
    /// Dirty blocks in the cache.
    pub dirty_blocks: u64,
    /// Blocks that the disk has taken and that are not in their bands yet: live ones in its buffer, and
    /// those it holds in memory until it is known whether they fill a band in order.
    #[schemars(with = "Option<u64>")]
    pub buffer_blocks: u64,
    /// Bands to which those in the buffer belong.
    #[schemars(with = "Option<u64>")]
    pub buffer_bands: u64,
    /// Time of SSD and disk to destage and clean all of it: the sum of `by_cause` but `idle_clean`.
    #[schemars(with = "Option<f64>")]
    pub seconds: f64,
    /// The same by what the devices do for that.
    #[schemars(with = "Option<ByCause>")]
    pub by_cause: ByCause,
    /// Bands to be cleaned after their native data has been read.
    #[schemars(with = "Option<u64>")]
    pub rmw: u64,
    /// Bands to be cleaned without that.
    #[schemars(with = "Option<u64>")]
    pub rmw_free: u64,
    /// Bands to be written in order, past the buffer.
    #[schemars(with = "Option<u64>")]
    #[serde(default)]
    pub in_order_bands: u64,
    /// Zones and bands that the host is to write back whole.
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
    /// What it took to do what was left, but for what that was.
    #[must_use]
    pub fn doing(done: &Counts) -> Left {
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
