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
    /// What failed and is not put right: nothing is written until it is, which each write tries.
    pub failed: Option<String>,
    /// How often something failed since the disk was opened, put right or not.
    pub failures: u64,
    /// Writes, trims and flushes that ended with an error since then: what was asked for was not done.
    #[serde(default)]
    pub refused: u64,
    /// What failed last.
    pub last_failure: Option<String>,
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
    /// trimmed, or until they can be read again after all.
    pub lost_ranges: Vec<(u64, u64)>,
    /// Likewise, blocks that were written before a flush failed: the disk may have older ones.
    pub doubtful_ranges: Vec<(u64, u64)>,
    /// How fast it gets on, if somebody with a clock looks at it.
    pub pace: Option<Pace>,
}

impl Status {
    /// Whether more zones have failed than there were spare ones: writes that need another zone are refused, for good.
    #[must_use]
    pub fn lacks_spares(&self) -> bool {
        self.zones.spare + self.zones.leaving + self.zones.kept == 0
    }
}

/// Whether works get on: writes, trims, flushes, and cleaning.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Progress {
    /// I/Os of works that are done, since the disk was opened.
    pub ios: u64,
    /// Whether one is under way.
    pub under_way: bool,
}

/// How fast works get on.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Pace {
    /// I/Os of works done in the last ten seconds.
    pub ios_10s: u64,
    /// For how many seconds one I/O has been under way and none was done; 0 if none is.
    pub stuck_seconds: u64,
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
    /// Not spare, as blocks were in them that could not be read when they were to be moved, and may be readable later. They
    /// become spare when others run short.
    #[serde(default)]
    pub kept: u32,
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
    /// Checkpoints that were written page by page while works went on: nothing waited for them.
    pub checkpoints_beside_works: u64,
}
