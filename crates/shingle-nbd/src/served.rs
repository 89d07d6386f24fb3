//! An export as a server offers it.

use std::sync::Arc;

use crate::export::Export;
use crate::handshake::ExportInfo;

/// The largest minimum block size that the protocol allows, in bytes.
pub const MINIMUM_BLOCK_MAX: u32 = 64 << 10;

/// An export, with what the handshake tells of it.
#[derive(Clone)]
pub struct Served {
    /// Its name; may be empty.
    pub name: String,
    /// For people; may be empty.
    pub description: String,
    /// What offsets and lengths have to be multiples of, in bytes: a power of two up to 64 KiB. 1
    /// lets clients write single bytes.
    pub minimum_block: u32,
    /// The export itself.
    pub export: Arc<dyn Export>,
}

impl Served {
    pub(crate) fn check(&self) {
        let minimum = self.minimum_block;
        assert!(minimum.is_power_of_two() && minimum <= MINIMUM_BLOCK_MAX, "minimum {minimum}");
    }

    /// As it is now: an export may have grown since the client before.
    pub(crate) fn info(&self) -> ExportInfo {
        ExportInfo {
            name: self.name.clone(),
            description: self.description.clone(),
            size_bytes: self.export.size_bytes(),
            read_only: self.export.read_only(),
            minimum_block: self.minimum_block,
        }
    }
}
