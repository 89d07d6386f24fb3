//! What an engine says of itself. Each room fills in its part.

use std::sync::Arc;

use shingle_core::units::Block;

use crate::recover::Findings;

/// What an engine says of itself.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Status {
    /// Blocks of requests, by what became of them.
    pub read_hits: u64,
    /// Likewise.
    pub read_misses: u64,
    /// Likewise.
    pub write_hits: u64,
    /// Likewise.
    pub write_misses: u64,
    /// Blocks that entered from the disk.
    pub fills: u64,
    /// Blocks written round the cache.
    pub bypassed_blocks: u64,
    /// Blocks destaged.
    pub destaged_blocks: u64,
    /// Blocks cached that the disk does not have.
    pub dirty_blocks: u64,
    /// Blocks cached that it has, too.
    pub clean_blocks: u64,
    /// Frames that hold nothing.
    pub free_frames: u64,
    /// Reads of the SSD that failed.
    pub ssd_read_errors: u64,
    /// Cached blocks whose checksum did not fit.
    pub checksum_errors: u64,
    /// Writes that the SSD did not take.
    pub ssd_write_errors: u64,
    /// Reads that the disk did not serve.
    pub disk_read_errors: u64,
    /// Writes that the disk did not take; destaged blocks among them stay dirty and are tried again.
    pub disk_write_errors: u64,
    /// Flushes of the disk that failed.
    pub disk_flush_errors: u64,
    /// What recovery met at the start.
    pub found: Findings,
    /// The SSD has failed for good: the disk serves what it can.
    pub ssd_failed: bool,
    /// And it was told that what it holds as clean does not count any more.
    pub ssd_written_off: bool,
    /// Blocks whose writes are refused because an SSD that failed holds them as dirty, in order.
    pub refused: Arc<Vec<Block>>,
    /// Dirty blocks whose data is lost: they read as errors until they are written anew or trimmed.
    pub lost: Vec<Block>,
}
