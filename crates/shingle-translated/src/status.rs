//! What a translated disk says of itself.

use serde::{Deserialize, Serialize};

/// How a translated disk is now, and what was done since it was opened. Sizes are in blocks of 4 KiB.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Status {
    /// Name of the translation.
    pub translation: String,
    /// Its parameters, those set and those left as they are.
    pub params: Vec<(String, String)>,
    /// Of the map, as text.
    pub uuid: String,
    /// Blocks that the host may address.
    pub blocks: u64,
    /// The first error after which nothing is written any more; the disk has to be opened again.
    pub failed: Option<String>,
    /// The buffer.
    pub buffer: BufferStatus,
    /// Sequential zones, by what they are in.
    pub zones: ZonesStatus,
    /// Cleanings of the buffer, or of zones where there is none.
    pub cleanings: u64,
    /// Blocks that cleaning moved: out of the buffer, within it, or between zones. It grows while cleaning gets on.
    pub cleaned_blocks: u64,
    /// Whether idle time would have something to do.
    pub wants_idle: bool,
    /// What was written, by whom.
    pub written: WrittenStatus,
    /// The map.
    pub map: MapStatus,
    /// Blocks of the host that were lost: the first of each run, and how many. They are errors until written again or
    /// trimmed.
    pub lost_ranges: Vec<(u64, u64)>,
}

/// Fill of the buffer, in blocks.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct BufferStatus {
    /// Of the buffer.
    pub blocks: u64,
    /// In use, live or not.
    pub used: u64,
    /// Newest copies of the host's blocks.
    pub live: u64,
}

/// Sequential zones by state. All but `bad` add up to those that are used or can be.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct ZonesStatus {
    /// The translation's, with nothing written.
    pub empty: u32,
    /// The translation's, written in part.
    pub open: u32,
    /// The translation's, written to the end.
    pub full: u32,
    /// Not the translation's: into them zones are rewritten.
    pub spare: u32,
    /// Given up, and spare as soon as the map that no longer names them is durable.
    pub leaving: u32,
    /// Of the translation's, those that cannot be written as they are, and are copied to a spare before they are.
    pub to_be_moved: u32,
    /// Read-only or offline, and named by nobody.
    pub bad: u32,
}

/// Blocks written since the disk was opened.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct WrittenStatus {
    /// By the host.
    pub host_blocks: u64,
    /// Into the buffer, by the host or by cleaning.
    pub buffer_blocks: u64,
    /// Into sequential zones.
    pub zone_blocks: u64,
    /// Of the map, both copies.
    pub map_blocks: u64,
}

/// The map on the disk.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct MapStatus {
    /// Runs of the host's blocks that lie together.
    pub runs: u64,
    /// How many there is room for, at most.
    pub runs_max: u64,
    /// Bytes of memory of the runs and of the table of zones.
    pub memory_bytes: u64,
    /// Which checkpoint the map is in.
    pub generation: u64,
    /// Pages of the log in use.
    pub log_pages: u64,
    /// Of so many.
    pub log_pages_max: u64,
    /// Times that the map became durable, since it was opened.
    pub commits: u64,
    /// Of these, those by a checkpoint.
    pub checkpoints: u64,
}
