//! Where the superblocks of a cache stand.

use shingle_device::{Device, DeviceError};
use shingle_engine::format::layout::{Copy, SUPERBLOCKS};
use shingle_engine::format::superblock::Superblock;
use shingle_engine::format::{PAGE_BYTES, Page};
use shingle_engine::recover::Pages;

/// What stands where the superblocks of a cache would be.
pub(crate) fn superblock_pages<P: Pages>(
    ssd: &mut P,
) -> Result<[Page; SUPERBLOCKS as usize], P::Error> {
    let mut copies = [[0; PAGE_BYTES]; SUPERBLOCKS as usize];
    ssd.read(Copy::One.superblock_page(), &mut copies)?;
    Ok(copies)
}

/// Writes `page` where the superblocks of a cache are: none stands there any more.
pub(crate) fn write_over_superblocks(ssd: &Device, page: &Page) -> Result<(), DeviceError> {
    for copy in Copy::BOTH {
        ssd.write(copy.superblock_page(), page)?;
    }
    ssd.flush()
}

/// What an SSD lacks that was cut short is not to be told as damage.
pub(crate) fn must_be_whole(ssd: &Device) -> Result<(), DeviceError> {
    // (What cannot be read, and what is no superblock, recovery tells.)
    let copies = superblock_pages(&mut { ssd }).ok();
    match copies.and_then(|copies| Superblock::newer(&copies).ok()) {
        Some(superblock) => ssd.must_reach(superblock.ssd_bytes),
        None => Ok(()),
    }
}
