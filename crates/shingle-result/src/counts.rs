//! The figures of a run, or of a part of it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Counters of a run or of a part of it. Ratios with a denominator of zero are null.
#[derive(Clone, Copy, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Counts {
    /// Requests by kind.
    pub requests: Requests,
    /// Accesses: blocks of requests.
    pub accesses: PerOp,
    /// Accesses that found their block cached.
    pub hits: Hits,
    /// Accesses served by the disk without entering the cache.
    pub bypass: PerOp,
    /// Partly written blocks whose rest was read from the disk.
    pub fills: u64,
    /// Dirty blocks that were destaged and stay in the cache as clean blocks.
    #[serde(default)] // older results do not say
    pub kept: u64,
    /// Blocks that left the cache.
    pub evictions: Evictions,
    /// Host-side read-modify-writes of zones.
    pub host_rmw: HostRmw,
    /// The cache device.
    pub ssd: Ssd,
    /// The disk.
    pub drive_io: DriveIo,
    /// The disk's persistent buffer.
    pub pb: Buffer,
    /// Band bytes written by cleaning ÷ live bytes that left the buffer.
    pub wa_band: Option<f64>,
    /// All bytes written to the medium ÷ bytes the drive received.
    pub wa_drive: Option<f64>,
    /// All bytes written to the medium ÷ bytes the host wrote (in whole blocks).
    pub wa_host: Option<f64>,
    /// Flash pages programmed ÷ pages the cache wrote; null without a model of the flash.
    pub wa_flash: Option<f64>,
    /// Virtual time.
    pub seconds: Seconds,
}

/// Requests by kind.
#[derive(Clone, Copy, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct Requests {
    pub read: u64,
    pub write: u64,
    pub trim: u64,
    pub flush: u64,
}

/// Hits in blocks.
#[derive(Clone, Copy, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct Hits {
    pub read_blocks: u64,
    pub write_blocks: u64,
    /// Hits ÷ accesses.
    pub ratio: Option<f64>,
}

/// Blocks by direction.
#[derive(Clone, Copy, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct PerOp {
    pub read_blocks: u64,
    pub write_blocks: u64,
}

/// Blocks that left the cache.
#[derive(Clone, Copy, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct Evictions {
    pub clean_blocks: u64,
    pub dirty_blocks: u64,
    #[serde(default)] // older results do not say
    pub trimmed_blocks: u64,
}

/// Zones that the host read, merged with what it had cached, and wrote back.
#[derive(Clone, Copy, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct HostRmw {
    /// Number of zones.
    pub zones: u64,
    /// Blocks read from the disk for this, and for gaps in appends to a zone.
    pub read_blocks: u64,
    /// Blocks written, those from the cache included.
    pub written_blocks: u64,
    /// Blocks written for this, and in gaps of appends to a zone, that were not from the cache.
    #[serde(default)] // older results do not say
    pub added_blocks: u64,
}

/// The cache device. Flash counters are zero unless the flash is modelled.
#[derive(Clone, Copy, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Ssd {
    /// Blocks the cache read.
    pub read_blocks: u64,
    /// Blocks the cache wrote.
    pub written_blocks: u64,
    /// Flash pages programmed, for the cache and by garbage collection.
    #[schemars(with = "Option<u64>")]
    pub programmed_blocks: u64,
    /// Of these, pages copied by garbage collection.
    #[schemars(with = "Option<u64>")]
    pub copied_blocks: u64,
    /// Flash blocks erased.
    #[schemars(with = "Option<u64>")]
    pub erases: u64,
}

/// I/O at the disk, and the disk's internal work.
#[derive(Clone, Copy, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct DriveIo {
    /// Blocks read from the disk.
    pub read_blocks: u64,
    /// Blocks written to the disk.
    pub written_blocks: u64,
    /// Bands cleaned by read-modify-write.
    #[schemars(with = "Option<u64>")]
    pub rmw: u64,
    /// Bands cleaned without reading their native data.
    #[schemars(with = "Option<u64>")]
    pub rmw_free: u64,
    /// Native bytes read by cleaning.
    #[schemars(with = "Option<u64>")]
    pub rmw_read_bytes: u64,
    /// Bytes written to bands by cleaning.
    #[schemars(with = "Option<u64>")]
    pub band_bytes_written: u64,
    /// Cleanings of a band that had been cleaned less than one buffer of evicted blocks before.
    #[schemars(with = "Option<u64>")]
    pub truncated: u64,
    /// Bytes written directly to their native place.
    #[schemars(with = "Option<u64>")]
    pub native_bytes_written: u64,
    /// Bands written in order from first block to last, without the buffer.
    #[schemars(with = "Option<u64>")]
    #[serde(default)]
    pub in_order_bands: u64,
    /// Bytes written to the buffer, headers, padding and staging included.
    #[schemars(with = "Option<u64>")]
    pub log_bytes_written: u64,
    /// Blocks that cleaning generated to fill gaps below a new write pointer.
    #[schemars(with = "Option<u64>")]
    pub synthesized_blocks: u64,
    /// Never-written blocks read at or beyond a write pointer.
    #[schemars(with = "Option<u64>")]
    pub beyond_pointer_blocks: u64,
    /// Zones reset by the host.
    #[schemars(with = "Option<u64>")]
    pub zone_resets: u64,
    /// Open zones that the drive closed to open others.
    #[schemars(with = "Option<u64>")]
    pub zone_closes: u64,
}

/// The disk's persistent buffer, in blocks.
#[derive(Clone, Copy, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Buffer {
    /// Host reads served from it.
    #[schemars(with = "Option<u64>")]
    pub read_blocks: u64,
    /// Host writes to it.
    #[schemars(with = "Option<u64>")]
    pub written_blocks: u64,
    /// Host reads served from the native place.
    #[schemars(with = "Option<u64>")]
    pub native_read_blocks: u64,
    /// Writes of blocks that it already held.
    #[schemars(with = "Option<u64>")]
    pub write_hits: u64,
    /// Live blocks that cleaning moved to their bands.
    #[schemars(with = "Option<u64>")]
    pub evicted_blocks: u64,
    /// Live blocks that its own garbage collection moved within it.
    #[schemars(with = "Option<u64>")]
    pub moved_blocks: u64,
}

/// Virtual seconds.
#[derive(Clone, Copy, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Seconds {
    /// SSD and disk, without cleaning in idle time. In closed loop, the length of the run.
    pub total: f64,
    /// By the call that took the time, without waiting for the device.
    pub by_call: ByCall,
    /// By what the device did.
    pub by_cause: ByCause,
}

/// Seconds by call.
#[derive(Clone, Copy, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct ByCall {
    pub ssd_read: f64,
    pub ssd_write: f64,
    pub drive_read: f64,
    pub drive_write: f64,
}

/// Seconds by cause.
#[derive(Clone, Copy, Debug, Default, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct ByCause {
    /// The SSD.
    pub ssd: f64,
    /// Reading from the disk.
    pub read: f64,
    /// Writing to the buffer.
    #[schemars(with = "Option<f64>")]
    pub log: f64,
    /// Writing to the native place: conventional disks, sequential bands.
    pub write: f64,
    /// Cleaning that made I/O wait.
    #[schemars(with = "Option<f64>")]
    pub clean: f64,
    /// Cleaning in idle time; not part of the total.
    #[schemars(with = "Option<f64>")]
    pub idle_clean: f64,
}
