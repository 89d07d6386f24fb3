//! The superblock pages of an SSD.

use shingle_device::{Device, DeviceError};
use shingle_engine::format::layout::{Copy, SUPERBLOCKS};
use shingle_engine::format::superblock::Superblock;
use shingle_engine::format::{PAGE_BYTES, Page};
use shingle_engine::recover::Pages;

/// Reads the pages where the superblocks of a cache would be.
pub(crate) fn superblock_pages<P: Pages>(
    ssd: &mut P,
) -> Result<[Page; SUPERBLOCKS as usize], P::Error> {
    let mut copies = [[0; PAGE_BYTES]; SUPERBLOCKS as usize];
    ssd.read(Copy::One.superblock_page(), &mut copies)?;
    Ok(copies)
}

/// Overwrites both superblock pages with `page`.
pub(crate) fn write_over_superblocks(ssd: &Device, page: &Page) -> Result<(), DeviceError> {
    for copy in Copy::BOTH {
        ssd.write(copy.superblock_page(), page)?;
    }
    ssd.flush()
}

/// Checks that the SSD was not cut short, before recovery: it would report missing parts as damage, and
/// takes memory for as many frames as the superblock says.
pub(crate) fn must_be_whole(ssd: &Device) -> Result<(), DeviceError> {
    // Recovery reports an SSD that cannot be read, and pages that are no superblock.
    let copies = superblock_pages(&mut { ssd }).ok();
    match copies.and_then(|copies| Superblock::newer(&copies).ok()) {
        Some(superblock) => ssd.check_size(superblock.ssd_bytes),
        None => Ok(()),
    }
}
