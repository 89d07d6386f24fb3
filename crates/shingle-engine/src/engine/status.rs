//! What an engine says of itself. Each room keeps its part.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use shingle_core::units::{Block, Nanos};

use super::ssd_state::SsdState;

/// Blocks of requests, by what became of them, since the start.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Counts {
    /// Accesses of blocks by reads that found them cached.
    pub read_hits: u64,
    /// And those that did not, also past the cache.
    pub read_misses: u64,
    /// Accesses by writes to blocks that were cached.
    pub write_hits: u64,
    /// And to others, also past the cache.
    pub write_misses: u64,
    /// Blocks that entered from the disk.
    pub fills: u64,
    /// Blocks written past the cache.
    pub bypassed_blocks: u64,
}

/// What went wrong, since the start.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ErrorCounts {
    /// Pages of metadata that were damaged at the start, and stood elsewhere, too.
    pub damaged_pages: u64,
    /// Blocks that at the start were as they had been before, as what was written last did not fit its
    /// checksum: it was not flushed when the power went, or is damaged.
    pub void_records: u64,
    /// Reads of the SSD that failed.
    pub ssd_reads: u64,
    /// Cached blocks whose checksum did not fit.
    pub checksums: u64,
    /// Writes that the SSD did not take.
    pub ssd_writes: u64,
    /// Reads that the disk did not serve.
    pub disk_reads: u64,
    /// Writes that the disk did not take; destaged blocks among them stay dirty and are tried again.
    pub disk_writes: u64,
    /// Trims that the disk did not take: it keeps space for what nobody reads any more.
    pub disk_trims: u64,
    /// Flushes of the disk that failed.
    pub disk_flushes: u64,
    /// The SSD takes no more writes: the disk serves what it can.
    pub ssd_failed: bool,
    /// And it was told that what it holds as clean does not count any more, so that clean blocks are
    /// written on the disk. Otherwise writes of those are refused, too.
    #[serde(rename = "ssd_written_off")]
    pub ssd_invalidated: bool,
}

/// Bands that a policy wanted to be written whole, since the start.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct BandCounts {
    /// Those that were.
    pub written: u64,
    /// Those that were begun or planned, and whose blocks stayed dirty instead.
    pub given_up: u64,
    /// Blocks read from the disk for it.
    pub read_blocks: u64,
    /// Blocks written to the disk so.
    pub written_blocks: u64,
}

/// How long blocks have been dirty, those found at the start since then.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct DirtyAges {
    /// The oldest; zero if none is dirty.
    pub oldest: Nanos,
    /// Blocks that have been for at least so long: [`DirtyAges::LIMITS`].
    pub older: [u64; 3],
}

impl DirtyAges {
    /// A minute, an hour, a day.
    pub const LIMITS: [Nanos; 3] =
        [Nanos::from_millis(60_000), Nanos::from_millis(3_600_000), Nanos::from_millis(86_400_000)];
}

/// What the journal is doing.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct JournalStatus {
    /// Records given in since the start.
    pub records: u64,
    /// Commits since the start: each is one flush of the SSD, for all who wait.
    pub commits: u64,
    /// Pages that a restart would read.
    pub used_pages: u64,
    /// Pages there are.
    pub pages: u64,
    /// The SSD says what was set last: the next start knows it.
    pub has_settings: bool,
}

/// What an engine says of itself.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Status {
    /// Blocks of requests.
    pub counts: Counts,
    /// What went wrong.
    pub errors: ErrorCounts,
    /// Blocks destaged.
    pub destaged_blocks: u64,
    /// Bands written whole.
    pub bands: BandCounts,
    /// Pages of 4 KiB written to SSDs, metadata included.
    pub ssd_written_pages: u64,
    /// Blocks of the disk that are served.
    pub disk_blocks: u64,
    /// Whether the SSD is used, or exchanged.
    pub ssd: SsdState,
    /// Blocks cached that the disk does not have.
    pub dirty_blocks: u64,
    /// Blocks cached that it has, too.
    pub clean_blocks: u64,
    /// For how long they have been.
    pub dirty_ages: DirtyAges,
    /// What the journal is doing.
    pub journal: JournalStatus,
    /// Blocks on their way to the disk, or about to be.
    pub destaging_blocks: u64,
    /// The disk has not taken, or not kept, what it got last: how long it is left alone before it is tried again.
    pub destage_pause: Option<Nanos>,
    /// Frames that hold nothing.
    pub free_frames: u64,
    /// I/Os of SSD and disk that are queued or under way.
    pub ios: u64,
    /// Blocks whose writes are refused because an SSD that failed holds them as dirty, in order.
    pub refused: Arc<Vec<Block>>,
    /// Of an SSD that was taken out: blocks whose data was lost, and which are from then on what the disk has of them.
    pub forgotten: Vec<Block>,
    /// Blocks that clients do not need any more and of which the disk has not been told.
    pub trimming_blocks: u64,
    /// Dirty blocks whose data is lost: they read as errors until they are written anew or trimmed.
    pub lost: Vec<Block>,
}
