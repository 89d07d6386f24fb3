//! The cache that an SSD already has.

use std::fmt;
use std::io;

use shingle_device::Device;
use shingle_engine::format::layout::SUPERBLOCKS;
use shingle_engine::format::superblock::Superblock;
use shingle_engine::format::{PAGE_BYTES, Page, Unusable};
use shingle_engine::recover::recover;
use uuid::Uuid;

use crate::backend::{must_be_whole, superblock_pages};

/// The cache on an SSD.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Occupant {
    /// The UUID of the cache.
    pub uuid: Uuid,
    /// The number of dirty blocks; `None` if unknown.
    pub dirty_blocks: Option<u64>,
}

impl fmt::Display for Occupant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "there is a cache {} ", self.uuid)?;
        match self.dirty_blocks {
            Some(0) => write!(f, "without dirty data"),
            Some(1) => write!(f, "with a block that its disk does not have"),
            Some(blocks) => write!(f, "with {blocks} blocks that its disk does not have"),
            None => write!(f, "that is damaged and may hold data that its disk does not have"),
        }
    }
}

/// Reads the superblock pages; `None` if the SSD is too small for them.
pub(super) fn superblocks_if_any(ssd: &Device) -> io::Result<Option<[Page; SUPERBLOCKS as usize]>> {
    let room = ssd.bytes() >= SUPERBLOCKS * PAGE_BYTES as u64;
    room.then(|| superblock_pages(&mut { ssd })).transpose()
}

/// The cache on an SSD; `None` if there is none.
pub fn occupant(ssd: &Device) -> io::Result<Option<Occupant>> {
    let Some(copies) = superblocks_if_any(ssd)? else { return Ok(None) };
    match Superblock::newer(&copies) {
        Ok(superblock) => {
            let found = must_be_whole(ssd).ok().and_then(|()| recover(&mut { ssd }).ok());
            let dirty = found.map(|found| found.dirty_blocks());
            let uuid = Uuid::from_bytes(superblock.uuid);
            Ok(Some(Occupant { uuid, dirty_blocks: dirty }))
        }
        Err(Unusable::Foreign) => Ok(None),
        Err(_) => Ok(Some(Occupant { uuid: Uuid::nil(), dirty_blocks: None })),
    }
}
