//! The status of an engine. Each module provides its part.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use shingle_core::units::{Block, Nanos};

use super::ssd_state::SsdState;

/// Counts of accesses since the start.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Counts {
    /// Reads of blocks that were cached.
    pub read_hits: u64,
    /// Reads of blocks that were not cached, including bypassed ones.
    pub read_misses: u64,
    /// Writes to blocks that were cached.
    pub write_hits: u64,
    /// Writes to blocks that were not cached, including bypassed ones.
    pub write_misses: u64,
    /// Blocks filled from the disk.
    pub fills: u64,
    /// Blocks written past the cache.
    pub bypassed_blocks: u64,
}

/// Counts of errors since the start.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ErrorCounts {
    /// Damaged pages of metadata that were found at the start, with a good second copy.
    pub damaged_pages: u64,
    /// Blocks that recovery set back to their previous version, because the checksum of the last
    /// one did not match: it was not flushed before a power cut, or is damaged.
    pub void_records: u64,
    /// Failed reads of the SSD.
    pub ssd_reads: u64,
    /// Cached blocks whose checksum did not match.
    pub checksums: u64,
    /// Failed writes to the SSD.
    pub ssd_writes: u64,
    /// Failed reads of the disk.
    pub disk_reads: u64,
    /// Failed writes to the disk. Destaged blocks among them stay dirty and are tried again.
    pub disk_writes: u64,
    /// Failed trims of the disk: it keeps space for data that is not needed.
    pub disk_trims: u64,
    /// Failed flushes of the disk.
    pub disk_flushes: u64,
    /// Whether the SSD takes no more writes: the disk serves what it can.
    pub ssd_failed: bool,
    /// Whether its clean blocks are invalidated, so that they can be written on the disk. If not,
    /// writes to them are refused, too.
    #[serde(rename = "ssd_written_off")]
    pub ssd_invalidated: bool,
}

/// Counts, since the start, of bands that a policy wanted to be written whole.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct BandCounts {
    /// Bands written whole.
    pub written: u64,
    /// Bands planned or begun and then given up: their blocks stayed dirty.
    pub given_up: u64,
    /// Blocks read from the disk for such bands.
    pub read_blocks: u64,
    /// Blocks written to the disk in such bands.
    pub written_blocks: u64,
}

/// How long blocks have been dirty. Blocks found dirty at the start count from the start.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct DirtyAges {
    /// The age of the oldest; zero if no block is dirty.
    pub oldest: Nanos,
    /// The number of blocks that have at least each age of [`DirtyAges::LIMITS`].
    pub older: [u64; 3],
}

impl DirtyAges {
    /// One minute, one hour, one day.
    pub const LIMITS: [Nanos; 3] =
        [Nanos::from_millis(60_000), Nanos::from_millis(3_600_000), Nanos::from_millis(86_400_000)];
}

/// The state of the journal.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct JournalStatus {
    /// Records added since the start.
    pub records: u64,
    /// Commits since the start. Each is one flush of the SSD, for everything that waits.
    pub commits: u64,
    /// Pages in use, which a restart would read.
    pub used_pages: u64,
    /// Pages in all.
    pub pages: u64,
    /// Whether both superblocks have the last settings, so that the next start finds them.
    pub has_settings: bool,
}

/// The status of an engine.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Status {
    /// Counts of accesses.
    pub counts: Counts,
    /// Counts of errors.
    pub errors: ErrorCounts,
    /// Blocks destaged.
    pub destaged_blocks: u64,
    /// Counts of bands written whole.
    pub bands: BandCounts,
    /// Pages of 4 KiB written to SSDs, metadata included.
    pub ssd_written_pages: u64,
    /// The size of the disk that is served, in blocks.
    pub disk_blocks: u64,
    /// Whether the SSD is in use, or being exchanged.
    pub ssd: SsdState,
    /// Dirty blocks in the cache.
    pub dirty_blocks: u64,
    /// Clean blocks in the cache.
    pub clean_blocks: u64,
    /// The ages of the dirty blocks.
    pub dirty_ages: DirtyAges,
    /// The state of the journal.
    pub journal: JournalStatus,
    /// Blocks that are being destaged, or about to be.
    pub destaging_blocks: u64,
    /// The rest of the back-off of the disk after a destage failed; `None` if the last one
    /// succeeded.
    pub destage_back_off: Option<Nanos>,
    /// Free frames.
    pub free_frames: u64,
    /// I/Os of SSD and disk that are queued or in flight.
    pub ios: u64,
    /// Blocks whose writes are refused because a failed SSD holds them as dirty, sorted.
    pub refused: Arc<Vec<Block>>,
    /// Blocks whose data was lost and that were given up with an SSD that was taken out: the disk
    /// serves what it has of them.
    pub forgotten: Vec<Block>,
    /// Blocks that clients have trimmed and that are not yet trimmed on the disk.
    pub trimming_blocks: u64,
    /// Dirty blocks whose data is lost: reads fail until they are written again or trimmed.
    pub lost: Vec<Block>,
}
