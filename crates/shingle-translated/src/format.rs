//! Making a map on a disk.

use shingle_zoned::ZonedDisk;

use crate::error::FormatError;

/// What is to be made of a zoned disk.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Format {
    /// Name of the translation.
    pub translation: String,
    /// Its parameters that are set, by name.
    pub params: Vec<(String, String)>,
    /// Blocks of the buffer; if none are named, all of the conventional zones that the map leaves.
    pub buffer_blocks: Option<u64>,
    /// Sequential zones kept from the translation, to rewrite zones into and in the place of those that fail; if none
    /// are named, 2 and one of a thousand.
    pub spare_zones: Option<u32>,
    /// Of the map; if none is named, a new one.
    pub uuid: Option<[u8; 16]>,
    /// Also if there is a map already.
    pub force: bool,
}

/// What was made.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Formatted {
    /// Of the map.
    pub uuid: [u8; 16],
    /// Blocks that the host may address.
    pub blocks: u64,
    /// Of the buffer.
    pub buffer_blocks: u64,
    /// The translation's sequential zones.
    pub zones: u32,
    /// Sequential zones beyond these.
    pub spare_zones: u32,
    /// Of the map, both copies.
    pub map_blocks: u64,
    /// How many runs of the host's blocks it can tell apart.
    pub runs_max: u64,
}

/// Makes a disk a translated one. What was on it is given up. Zones are reset when they are needed, not now.
///
/// # Errors
/// If there is a map already and [`Format::force`] is not set, if translation and disk do not go together, or if the disk
/// fails.
pub fn format(disk: &dyn ZonedDisk, _format: &Format) -> Result<Formatted, FormatError> {
    Err(FormatError::NoRoom { disk: disk.name().to_owned(), what: "not yet".to_owned() })
}
