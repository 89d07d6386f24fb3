//! Decides whether a disk may be overwritten. A probe overwrites all of it, so a disk that is in
//! use or holds data is refused before anything is written. A disk that exposes zones is only read,
//! whatever it holds.
//!
//! A disk in use is refused always. A disk that holds data is refused unless its serial is given. A
//! disk holds data if it has the signature of a file system, a partition table or a cache of
//! `shingle store`, or if a sampled block is neither zero nor written by a probe. The disk *behind*
//! a store holds data too, even if it is empty: what clients wrote may be on the SSD only. While it
//! is served it is in use. At other times its mark tells, if it is a file. A block device has no
//! mark, and is judged by its content, as any disk is.

use std::fs;
use std::io;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use shingle_core::units::BLOCK_BYTES;
use shingle_device::{Device, DeviceError, Mark, SIGNATURE_PAGES, sampled_blocks, signature_in};
use shingle_engine::format::layout::{Copy, SUPERBLOCKS};
use shingle_engine::format::superblock::Superblock;
use shingle_engine::format::{PAGE_BYTES, Page, Unusable};
use shingle_engine::recover::Pages;
use thiserror::Error;

use crate::fill::is_probe_block;
use crate::sysfs;
use crate::target::Facts;

/// The smallest disk that is probed: a smaller one has no room for a realistic buffer and bands.
pub const BYTES_MIN: u64 = 256 << 20;

/// A disk of this name is too small for the method.
#[derive(Debug, Error)]
#[error("{0}: it is smaller than {least} MiB, which a probe needs; name a larger disk", least = BYTES_MIN >> 20)]
pub struct TooSmall(String);

/// Refuses disks that are too small.
pub(crate) fn check_size(facts: &Facts) -> Result<(), TooSmall> {
    match facts.blocks < BYTES_MIN / BLOCK_BYTES {
        true => Err(TooSmall(facts.name.clone())),
        false => Ok(()),
    }
}

/// The reason why a disk may not be overwritten. Nothing has been written.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Refusal {
    /// It cannot be opened.
    #[error("{}: cannot be opened: {error}", path.display())]
    Open {
        /// Path of the disk.
        path: PathBuf,
        /// The error of the system.
        error: io::Error,
    },
    /// Neither a file nor a block device.
    #[error("{}: neither a file nor a block device; name one of these", .0.display())]
    Kind(PathBuf),
    /// It is read-only.
    #[error("{}: it is read-only; a probe writes all over a disk", .0.display())]
    ReadOnly(PathBuf),
    /// It is in use.
    #[error("{}: in use: {by}; unmount or stop that first (--destroy does not help)", path.display())]
    Busy {
        /// Path of the disk.
        path: PathBuf,
        /// The user.
        by: String,
    },
    /// It is too small.
    #[error(transparent)]
    TooSmall(#[from] TooSmall),
    /// The given serial is not that of this disk.
    #[error(
        "{name}: --destroy {typed} is not its serial, which is {serial}; is it the right disk?"
    )]
    Another {
        /// Name of the disk.
        name: String,
        /// The given serial.
        typed: String,
        /// The right serial.
        serial: String,
    },
    /// It holds data.
    #[error("{name}: it holds {what}; to destroy that, say --destroy {serial}")]
    Occupied {
        /// Name of the disk.
        name: String,
        /// What it holds.
        what: String,
        /// Its serial.
        serial: String,
    },
    /// It cannot be read.
    #[error("{name}: cannot be read: {error}; it may be failing")]
    Read {
        /// Name of the disk.
        name: String,
        /// The error of the system.
        error: io::Error,
    },
}

/// A disk that may be overwritten, opened exclusively.
#[derive(Debug)]
pub struct Allowed {
    pub(crate) device: Device,
    /// What the disk reports about itself.
    pub facts: Facts,
}

/// Opens a file or block device that may be overwritten: it holds no data, or `destroy` is its
/// serial.
///
/// # Errors
/// If it may not be overwritten, or cannot be opened.
pub fn allow(path: &Path, destroy: Option<&str>) -> Result<Allowed, Refusal> {
    let system = sysfs::system();
    let open = |error| Refusal::Open { path: path.to_owned(), error };
    let metadata = fs::metadata(path).map_err(open)?;
    let is_device = metadata.file_type().is_block_device();
    if !is_device && !metadata.is_file() {
        return Err(Refusal::Kind(path.to_owned()));
    }
    let folder = is_device.then(|| system.folder(std::os::unix::fs::MetadataExt::rdev(&metadata)));
    let folder = folder.transpose().map_err(open)?;
    // Root could write to such a file all the same.
    let read_only = match &folder {
        Some(folder) => sysfs::is_read_only(folder),
        None => metadata.permissions().readonly(),
    };
    if read_only {
        return Err(Refusal::ReadOnly(path.to_owned()));
    }
    let busy = |by| Refusal::Busy { path: path.to_owned(), by };
    if let Some(by) = system.user(&metadata).map_err(open)? {
        return Err(busy(by));
    }
    let device = Device::open(path).map_err(|error| match error {
        DeviceError::Busy(_) => busy("another process has it open, or it is mounted".into()),
        DeviceError::System { error, .. } if error.kind() == io::ErrorKind::ReadOnlyFilesystem => {
            Refusal::ReadOnly(path.to_owned())
        }
        DeviceError::System { error, .. } => open(error),
        other => open(io::Error::other(other)),
    })?;
    let facts = Facts {
        name: path.display().to_string(),
        serial: match &folder {
            Some(folder) => sysfs::serial(folder),
            None => path.file_name().unwrap_or_default().to_string_lossy().into_owned(),
        },
        blocks: device.blocks(),
        zones: folder.as_deref().and_then(sysfs::zones),
    };
    let mark = Mark::of(&device).map_err(|error| open(io::Error::other(error)))?;
    if let (None, Some(cache)) = (destroy, mark.and_then(|mark| mark.cache(None))) {
        let what = format!(
            "the data of cache {cache} of `shingle store`, which its SSD may have a part of: detach that first"
        );
        return Err(Refusal::Occupied { name: facts.name, what, serial: facts.serial });
    }
    check_allowed(&facts, &mut &device, destroy)?;
    Ok(Allowed { device, facts })
}

/// Checks whether the content of a disk may be overwritten.
pub(crate) fn check_allowed(
    facts: &Facts,
    pages: &mut impl Pages<Error = io::Error>,
    destroy: Option<&str>,
) -> Result<(), Refusal> {
    check_size(facts)?;
    let Facts { name, serial, blocks, .. } = facts;
    match destroy {
        Some(typed) if typed == serial => return Ok(()),
        Some(typed) => {
            let (name, serial) = (name.clone(), serial.clone());
            return Err(Refusal::Another { name, typed: typed.to_owned(), serial });
        }
        None if facts.zones.is_some() => return Ok(()),
        None => {}
    }
    match find_data(*blocks, pages) {
        Ok(None) => Ok(()),
        Ok(Some(what)) => {
            Err(Refusal::Occupied { name: name.clone(), what, serial: serial.clone() })
        }
        Err(error) => Err(Refusal::Read { name: name.clone(), error }),
    }
}

/// Describes the data on a disk of `blocks` blocks; `None` if none was found.
fn find_data(blocks: u64, pages: &mut impl Pages<Error = io::Error>) -> io::Result<Option<String>> {
    let mut first: Vec<Page> = vec![[0; PAGE_BYTES]; SIGNATURE_PAGES];
    pages.read(0, &mut first)?;
    // The random bytes of a probe may look like a signature.
    first.iter_mut().filter(|page| is_probe_block(&page[..])).for_each(|page| page.fill(0));
    if let Some(what) = signature_in(first.as_flattened()) {
        return Ok(Some(what.to_owned()));
    }
    let mut copies: [Page; 2] = [[0; PAGE_BYTES]; SUPERBLOCKS as usize];
    pages.read(Copy::One.superblock_page(), &mut copies)?;
    match Superblock::newer(&copies) {
        Ok(found) => {
            let name = uuid::Uuid::from_bytes(found.uuid);
            return Ok(Some(format!("{name}, a cache of `shingle store`")));
        }
        Err(Unusable::Foreign) => {}
        Err(_) => return Ok(Some("a damaged cache of `shingle store`".into())),
    }
    let mut page: [Page; 1] = [[0; PAGE_BYTES]];
    for block in sampled_blocks(blocks) {
        pages.read(block, &mut page)?;
        if page[0] != [0; PAGE_BYTES] && !is_probe_block(&page[0]) {
            return Ok(Some(format!("data, at byte {}", block * BLOCK_BYTES)));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::target::Zones;

    /// A disk full of data.
    struct Full;

    impl Pages for Full {
        type Error = io::Error;

        fn read(&mut self, _: u64, out: &mut [Page]) -> io::Result<()> {
            out.iter_mut().for_each(|page| page.fill(7));
            Ok(())
        }
    }

    /// The probe writes nothing to such a disk.
    #[test]
    fn a_disk_that_exposes_zones_may_hold_something() {
        let zones = Zones { required: true, zone_blocks: 65_536, count: 100 };
        let facts = |zones| Facts {
            name: "/dev/sdx".into(),
            serial: "Z8".into(),
            blocks: 100 * 65_536,
            zones,
        };
        assert!(matches!(
            check_allowed(&facts(None), &mut Full, None),
            Err(Refusal::Occupied { .. })
        ));
        check_allowed(&facts(Some(zones)), &mut Full, None).expect("it is only read");
        let another = check_allowed(&facts(Some(zones)), &mut Full, Some("Z9"));
        assert!(matches!(another, Err(Refusal::Another { .. })));
    }
}
