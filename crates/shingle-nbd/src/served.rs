//! An export with its description.

use std::sync::Arc;

use crate::export::Export;
use crate::handshake::ExportInfo;

/// The largest minimum block size of the protocol, in bytes.
pub const MINIMUM_BLOCK_MAX: u32 = 64 << 10;

/// An export, with what the handshake reports about it.
#[derive(Clone)]
pub struct Served {
    /// The name; may be empty.
    pub name: String,
    /// The description for users; may be empty.
    pub description: String,
    /// Offsets and lengths have to be multiples of this, in bytes: a power of two up to 64 KiB.
    /// With 1, clients may write single bytes.
    pub minimum_block: u32,
    /// The export itself.
    pub export: Arc<dyn Export>,
}

impl Served {
    pub(crate) fn check(&self) {
        let minimum = self.minimum_block;
        assert!(minimum.is_power_of_two() && minimum <= MINIMUM_BLOCK_MAX, "minimum {minimum}");
    }

    /// The current information: the export may have grown since the last client.
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
