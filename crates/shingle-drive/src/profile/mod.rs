//! Drive profiles: what probing a disk found out, as a file. [`crate::registry::make`] builds a
//! calibrated model of one (`profile:FILE`), a store takes from it what its policies plan with. What
//! each field is stands in `docs/profile.md` too.

mod cleanings;
mod layout;
mod mechanics;
mod model;
mod plan;
mod text;
mod work;

pub use mechanics::pairs_below;
pub(crate) use model::Model;
pub use plan::Plan;
pub use text::{ProfileError, parse, read};

use serde::{Deserialize, Serialize};

/// What the first line of a profile says.
pub const FORMAT: &str = "shingle.profile/1";

/// What a disk is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// Writes go where they belong, at the price of a seek.
    Conventional,
    /// Shingled behind a buffer that cleaning empties.
    DriveManaged,
    /// Exposes zones, and takes writes anywhere.
    HostAware,
    /// Exposes zones that have to be written in order.
    HostManaged,
    /// No mechanics to be seen: as fast wherever it is read, and no buffer that fills.
    SolidState,
    /// Takes all that was written without a cliff, faster than its mechanics could: what lies behind
    /// its cache was not found out.
    Hidden,
}

/// A profile. Times of I/O are means in microseconds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    /// [`FORMAT`].
    pub format: String,
    /// The disk, as it was named when it was probed.
    pub name: String,
    /// Its serial.
    pub serial: String,
    /// What it is.
    pub kind: Kind,
    /// Its size.
    pub bytes: u64,
    /// Reads.
    pub read: Reads,
    /// Reads by distance; `None` if that was not measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mechanics: Option<MechanicsFacts>,
    /// What it exposes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub zones: Option<ZoneFacts>,
    /// Its persistent buffer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub buffer: Option<BufferFacts>,
    /// `R(x)`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rmw: Option<RmwFacts>,
    /// Cleaning in idle time; `None` if that was not found out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idle: Option<IdleFacts>,
    /// Bands that were measured, by address.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub bands: Vec<BandFacts>,
}

/// How it reads.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reads {
    /// `L_read`: a random read of 4 KiB, over the whole disk.
    pub random_us: f64,
    /// A further block of a read in order, at the start of the disk.
    pub sequential_us_per_block_first: f64,
    /// The same, at its end.
    pub sequential_us_per_block_last: f64,
}

/// Arm and platter, as reads show them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MechanicsFacts {
    /// Time of a rotation; 0 if none shows: a read takes as long wherever it is.
    pub rotation_us: f64,
    /// A read of a block that the drive has in its memory.
    pub command_us: f64,
    /// How far behind a read the drive reads on when nothing is asked of it.
    pub read_ahead_bytes: u64,
    /// A read of a block by its distance to the read before, the nearest first.
    pub reads: Vec<DistanceFacts>,
}

/// A read at a distance.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DistanceFacts {
    /// Blocks from the read before.
    pub blocks: u64,
    /// How long it takes, half a rotation included.
    pub us: f64,
}

/// Zones that it exposes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ZoneFacts {
    /// Bytes in a zone.
    pub zone_bytes: u64,
    /// How many there are.
    pub count: u64,
}

/// The buffer. A limit that was not reached is left out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BufferFacts {
    /// Map entries: writes that it holds, whatever their size.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extents: Option<u64>,
    /// Bytes of log.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log_bytes: Option<u64>,
    /// A write of 4 KiB into a buffer with room, one at a time.
    pub write_us: f64,
    /// Each further block of such a write.
    pub write_us_per_further_block: f64,
    /// What each size and depth of writes showed (SAC Table 3).
    pub measured: Vec<CapacityFacts>,
}

/// A row of SAC's Table 3.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CapacityFacts {
    /// Size of each write.
    pub write_bytes: u64,
    /// Writes under way at once.
    pub depth: u32,
    /// Bytes written until one waited for cleaning.
    pub bytes: u64,
    /// Least and greatest value that the measurement allows (95 %).
    pub bytes_low: u64,
    /// See `bytes_low`.
    pub bytes_high: u64,
    /// Writes a second until then.
    pub iops_before: f64,
    /// Writes a second from then on.
    pub iops_after: f64,
}

/// `R(x)`, the drive time of a zone of which `x` blocks are written (SAC §4.4, Figure 10).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RmwFacts {
    /// Blocks in a zone.
    pub zone_blocks: u64,
    /// `R(0)`.
    pub base_us: f64,
    /// The part for each block written.
    pub us_per_block: f64,
    /// Interval of `us_per_block` (95 %).
    pub us_per_block_low: f64,
    /// See `us_per_block_low`.
    pub us_per_block_high: f64,
    /// R² of the line.
    pub r_squared: f64,
}

/// Cleaning in idle time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct IdleFacts {
    /// Whether it does that.
    pub cleaning: bool,
    /// Idle time before it begins; without cleaning, how long was waited for it.
    pub delay_ms: f64,
    /// By how much `delay_ms` may be too great.
    pub delay_ms_error: f64,
}

/// A band.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BandFacts {
    /// Its first block.
    pub first_block: u64,
    /// Its blocks.
    pub blocks: u64,
    /// By how much each border may be off.
    pub error_blocks: u64,
}
