//! The status of a translated disk.

use serde::{Deserialize, Serialize};

/// The state of a translated disk, and its work since it was opened. Sizes are in blocks of 4 KiB.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Status {
    /// The name of the translation.
    pub translation: String,
    /// All parameters, set or default.
    pub params: Vec<(String, String)>,
    /// The UUID of the map.
    pub uuid: String,
    /// The blocks that the host may address.
    pub blocks: u64,
    /// A failure that is not repaired: nothing is written until it is, which each write tries.
    pub failed: Option<String>,
    /// The number of failures since the disk was opened, repaired or not.
    pub failures: u64,
    /// Writes, trims and flushes that failed since then.
    #[serde(default)]
    pub refused: u64,
    /// Why writes are refused, if they are: the map has no room, or the last write failed.
    #[serde(default)]
    pub writes_refused: Option<String>,
    /// The last failure.
    pub last_failure: Option<String>,
    /// The buffer.
    pub buffer: BufferStatus,
    /// The sequential zones by state.
    pub zones: ZonesStatus,
    /// Cleanings of the buffer, or of zones if there is no buffer.
    pub cleanings: u64,
    /// Blocks moved by cleaning: out of the buffer, within it, between zones, or to be fewer runs. It
    /// increases while cleaning proceeds.
    pub cleaned_blocks: u64,
    /// Whether there is work for idle time.
    pub wants_idle: bool,
    /// Blocks written, by origin.
    pub written: WrittenStatus,
    /// The map.
    pub map: MapStatus,
    /// Blocks of the host that were lost: the first of each run, and the length. Reads fail until they are written again or
    /// trimmed, or until their old copies can be read again.
    pub lost_ranges: Vec<(u64, u64)>,
    /// Blocks that were written before a flush failed: the disk may have older versions. In the
    /// same form.
    pub doubtful_ranges: Vec<(u64, u64)>,
    /// The pace of operations, if it is observed.
    pub pace: Option<Pace>,
}

impl Status {
    /// Whether more zones have failed than there were spares: writes that need another zone are
    /// refused for good.
    #[must_use]
    pub fn lacks_spares(&self) -> bool {
        self.zones.spare + self.zones.leaving + self.zones.kept == 0
    }
}

/// The progress of operations: writes, trims, flushes, and cleaning.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Progress {
    /// I/Os completed since the disk was opened.
    pub ios: u64,
    /// Whether one is in flight.
    pub under_way: bool,
}

/// The pace of operations.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Pace {
    /// I/Os completed in the last ten seconds.
    pub ios_10s: u64,
    /// The seconds for which one I/O has been in flight while none was completed; 0 if none is.
    pub stuck_seconds: u64,
}

/// The fill of the buffer, in blocks.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct BufferStatus {
    /// The size of the buffer.
    pub blocks: u64,
    /// Blocks in use, live or not.
    pub used: u64,
    /// Blocks with the newest version of a block of the host.
    pub live: u64,
}

/// The sequential zones by state. All but `bad` add up to those in use or usable.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct ZonesStatus {
    /// Zones of the translation that are empty.
    pub empty: u32,
    /// Zones of the translation that are written in part.
    pub open: u32,
    /// Zones of the translation that are full.
    pub full: u32,
    /// Spare zones, into which zones are rewritten.
    pub spare: u32,
    /// Zones given up; spare as soon as a map that no longer refers to them is durable.
    pub leaving: u32,
    /// Zones with old copies of lost blocks. They become spare when other spare zones run short.
    #[serde(default)]
    pub kept: u32,
    /// Zones of the translation that cannot be appended to, and are copied to a spare before that.
    pub to_be_moved: u32,
    /// Unused zones that are read-only or offline.
    pub bad: u32,
}

/// Blocks written since the disk was opened.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct WrittenStatus {
    /// Blocks written by the host.
    pub host_blocks: u64,
    /// Blocks written into the buffer, by the host or by cleaning.
    pub buffer_blocks: u64,
    /// Blocks written into sequential zones.
    pub zone_blocks: u64,
    /// Blocks of the map, both copies.
    pub map_blocks: u64,
}

/// The map on the disk.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct MapStatus {
    /// Runs of the host's blocks that are stored together.
    pub runs: u64,
    /// The highest number of runs.
    pub runs_max: u64,
    /// Blocks written again so that they are fewer runs, since the disk was opened.
    #[serde(default)]
    pub gathered_blocks: u64,
    /// The memory of the runs and of the table of zones, in bytes.
    pub memory_bytes: u64,
    /// The generation of the checkpoint.
    pub generation: u64,
    /// Pages of the log in use.
    pub log_pages: u64,
    /// Pages of the log in all.
    pub log_pages_max: u64,
    /// Commits since the disk was opened.
    pub commits: u64,
    /// Commits by a checkpoint.
    pub checkpoints: u64,
    /// Checkpoints that were written page by page during other work: nothing waited for them.
    pub checkpoints_beside_works: u64,
}
