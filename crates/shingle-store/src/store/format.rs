//! The format of a new cache on its SSD, and the two copies of its superblock.

use std::io;
use std::path::Path;

use shingle_core::units::BLOCK_BYTES;
use shingle_device::{Device, DeviceError, Mark, erase_end};
use shingle_engine::format::layout::{Copy, Layout, SUPERBLOCKS};
use shingle_engine::format::superblock::{SETTINGS_BYTES_MAX, Superblock};
use shingle_engine::format::table::TablePage;
use shingle_engine::format::{BLOCKS_MAX, Frame, PAGE_BYTES};
use shingle_engine::recover::RecoverError;

use super::errors::CreateError;
use crate::backend::{Disk, superblock_pages, write_over_superblocks};

/// The number of pages written at a time.
const PAGES_AT_ONCE: usize = 256;

/// The parameters of a new cache.
#[derive(Clone, Debug)]
pub struct NewCache {
    /// The UUID of the cache, which never changes.
    pub uuid: [u8; 16],
    /// The edition of its first superblock: 1, or more than that of the SSD that it replaces.
    pub edition: u64,
    /// The fingerprint of the disk.
    pub fingerprint: [u8; 32],
    /// Policy and parameters.
    pub settings: String,
}

/// Writes an empty cache for `disk` to `ssd`; the disk is not changed. Everything on the SSD is
/// lost: the caller checks that it may be.
///
/// # Errors
/// If they are in use, cannot be written, or have unsupported sizes.
pub fn format(ssd: &Device, disk: &dyn Disk, new: &NewCache) -> Result<Superblock, CreateError> {
    format_for(ssd, (disk.path(), disk.bytes()), new)
}

/// As [`format`], for a disk with a known path and size.
pub(super) fn format_for(
    ssd: &Device,
    (disk, bytes): (&Path, u64),
    new: &NewCache,
) -> Result<Superblock, CreateError> {
    let (path, found) = (ssd.path().to_owned(), ssd.bytes());
    let layout = Layout::for_ssd(found).ok_or(CreateError::TooSmall { path, found })?;
    if bytes == 0 || !bytes.is_multiple_of(BLOCK_BYTES) || bytes / BLOCK_BYTES > BLOCKS_MAX {
        return Err(CreateError::Uneven { path: disk.to_owned(), found: bytes });
    }
    if new.settings.len() > SETTINGS_BYTES_MAX {
        return Err(CreateError::SettingsTooLong(new.settings.len()));
    }
    let mut superblock = Superblock {
        fingerprint: new.fingerprint,
        settings: new.settings.clone(),
        edition: new.edition,
        table_written: true,
        ..Superblock::new(new.uuid, layout, found, bytes)
    };
    // Until everything else is written neither superblock is valid. If this SSD has this very
    // cache, because the SSD has grown, it remains an empty cache meanwhile: a crash does not leave
    // a disk without its cache.
    let found = read_superblock(ssd).ok();
    let emptied = found.filter(|(found, _)| found.uuid == new.uuid);
    let emptied = emptied.map(|(found, worse)| (found.emptied(), worse));
    match emptied.filter(|(emptied, _)| emptied.edition < new.edition) {
        Some((emptied, worse)) => {
            // Zeros are valid unused pages in the old layout, too. Pages of the new table would be
            // at wrong places in it.
            superblock.table_written = false;
            write_superblock(ssd, &emptied, worse)?;
        }
        None => write_over_superblocks(ssd, &[0; PAGE_BYTES])?,
    }
    let zeros = vec![0; PAGES_AT_ONCE * PAGE_BYTES];
    let (table, end) = (layout.table_page(0, Copy::One), layout.frame_page(Frame(0)));
    let end = if superblock.table_written { table } else { end };
    for page in (SUPERBLOCKS..end).step_by(PAGES_AT_ONCE) {
        let count = (end - page).min(PAGES_AT_ONCE as u64) as usize;
        ssd.write(page, &zeros[..count * PAGE_BYTES])?;
    }
    // (In a new cache no frame is used.)
    erase_end(ssd, layout.frame_page(Frame(0)))?;
    if superblock.table_written {
        write_table(ssd, &superblock)?;
    }
    ssd.flush()?;
    write_superblock(ssd, &superblock, Copy::One)?;
    // The device is not the disk of a cache any more, if it was one.
    Mark::remove(ssd)?;
    Ok(superblock)
}

/// Writes a table in which each frame is free.
fn write_table(ssd: &Device, superblock: &Superblock) -> Result<(), DeviceError> {
    let (owner, layout) = (superblock.owner(), superblock.layout);
    let pages = layout.table_pages as u32;
    for first in (0..pages).step_by(PAGES_AT_ONCE) {
        let places = first..pages.min(first + PAGES_AT_ONCE as u32);
        let bytes: Vec<u8> =
            places.flat_map(|place| TablePage::unused(place).encode(owner)).collect();
        for copy in Copy::BOTH {
            ssd.write(layout.table_page(first, copy), &bytes)?;
        }
    }
    Ok(())
}

/// The superblock of an SSD, and its worse copy, if one is: a new superblock may overwrite that one
/// first.
///
/// # Errors
/// If the SSD cannot be read, or neither copy is good.
pub fn read_superblock(ssd: &Device) -> Result<(Superblock, Copy), RecoverError<io::Error>> {
    let page = Copy::One.superblock_page();
    let copies =
        superblock_pages(&mut { ssd }).map_err(|error| RecoverError::Read { page, error })?;
    let superblock = Superblock::newer(&copies).map_err(RecoverError::Superblock)?;
    let worse = if copies[0] == superblock.encode() { Copy::Two } else { Copy::One };
    Ok((superblock, worse))
}

/// Writes both copies, one after the other and each flushed, `first` before the other one.
pub fn write_superblock(
    ssd: &Device,
    superblock: &Superblock,
    first: Copy,
) -> Result<(), DeviceError> {
    for copy in [first, first.other()] {
        ssd.write(copy.superblock_page(), &superblock.encode())?;
        ssd.flush()?;
    }
    Ok(())
}
