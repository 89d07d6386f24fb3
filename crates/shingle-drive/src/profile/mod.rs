//! Drive profiles: the results of probing a disk, as a file. [`crate::registry::make`] builds a
//! calibrated model from one (`profile:FILE`), and a store takes the costs that its policies plan
//! with. `docs/profile.md` also describes each field.

mod cleanings;
mod layout;
mod mechanics;
mod model;
mod plan;
mod text;
mod work;

pub use mechanics::read_pairs_end;
pub(crate) use model::Model;
pub use plan::Plan;
pub use text::{ProfileError, parse, read};

use serde::{Deserialize, Serialize};

/// The format in the first line of a profile.
pub const FORMAT: &str = "shingle.profile/1";

/// The kind of a disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// Writes go to their place, at the cost of a seek.
    Conventional,
    /// Shingled behind a buffer that cleaning empties.
    DriveManaged,
    /// Exposes zones, and takes writes anywhere.
    HostAware,
    /// Exposes zones that have to be written in order.
    HostManaged,
    /// No visible mechanics: reads are equally fast everywhere, and no buffer fills up.
    SolidState,
    /// All writes were served without a cliff, faster than the mechanics allow: the device behind
    /// its cache could not be determined.
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
    /// Its kind.
    pub kind: Kind,
    /// Its size.
    pub bytes: u64,
    /// Times of reads.
    pub read: Reads,
    /// Reads by distance; `None` if not measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mechanics: Option<MechanicsFacts>,
    /// The zones that it exposes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub zones: Option<ZoneFacts>,
    /// Its persistent buffer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub buffer: Option<BufferFacts>,
    /// `R(x)`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rmw: Option<RmwFacts>,
    /// Cleaning in idle time; `None` if not determined.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idle: Option<IdleFacts>,
    /// The measured bands, by address.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub bands: Vec<BandFacts>,
}

/// Times of reads.
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

/// Arm and platter, as visible in reads.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MechanicsFacts {
    /// Time of a rotation; 0 if none is visible: reads take the same time everywhere.
    pub rotation_us: f64,
    /// Time of a read of a block in the drive's memory.
    pub command_us: f64,
    /// How far the drive reads ahead after a read, when idle.
    pub read_ahead_bytes: u64,
    /// Times of reads of a block by distance from the read before, the nearest first.
    pub reads: Vec<DistanceFacts>,
}

/// A read at a distance.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DistanceFacts {
    /// Blocks from the read before.
    pub blocks: u64,
    /// Its time, half a rotation included.
    pub us: f64,
}

/// Zones that it exposes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ZoneFacts {
    /// Bytes in a zone.
    pub zone_bytes: u64,
    /// Number of zones.
    pub count: u64,
}

/// The buffer. A limit that was not reached is left out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BufferFacts {
    /// Map entries: the number of writes that it holds, whatever their size.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extents: Option<u64>,
    /// Bytes of log.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log_bytes: Option<u64>,
    /// Time of a write of 4 KiB into a buffer with room, one at a time.
    pub write_us: f64,
    /// Time of each further block of such a write.
    pub write_us_per_further_block: f64,
    /// Results for each size and depth of writes (SAC Table 3).
    pub measured: Vec<CapacityFacts>,
}

/// A row of SAC's Table 3.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CapacityFacts {
    /// Size of each write.
    pub write_bytes: u64,
    /// Writes in flight at a time.
    pub depth: u32,
    /// Bytes written until a write waited for cleaning.
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
    /// Part for each block written.
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
    /// Whether the drive cleans in idle time.
    pub cleaning: bool,
    /// Idle time before it begins; without cleaning, the time that the probe waited for it.
    pub delay_ms: f64,
    /// Greatest error of `delay_ms`, which may be too large.
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
    /// Greatest error of each border.
    pub error_blocks: u64,
}
