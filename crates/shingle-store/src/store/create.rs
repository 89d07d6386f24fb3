//! Creates a cache on an SSD, and deletes one. The disk is not changed.

use std::path::Path;

use shingle_core::registry::Registry;
use shingle_device::{Device, DeviceError, Mark, ZONED, signature};
use shingle_engine::format::layout::Layout;
use shingle_engine::format::superblock::Superblock;
use shingle_engine::format::{PAGE_BYTES, Unusable};
use shingle_engine::settings::Settings;
use uuid::Uuid;

pub use super::errors::{CreateError, EndError};
use super::format::{NewCache, format, read_superblock, write_superblock};
use super::moved::Moved;
use super::occupant::superblocks_if_any;
pub use super::occupant::{Occupant, occupant};
use crate::backend::{Disk, write_over_superblocks, zoned_cache};

/// What `create` may destroy.
#[derive(Clone, Copy, Default, Debug)]
pub struct Consent<'a> {
    /// The UUIDs of caches that may be destroyed, with their dirty blocks: the one on the SSD, and
    /// the one that the disk belongs to.
    pub destroy: &'a [Uuid],
    /// A file system, a partition table or the like on the SSD, or data in a file, may be
    /// overwritten.
    pub overwrite: bool,
}

/// Creates a cache on `ssd` for `disk`. Anything of value that is there is overwritten only with
/// `consent`.
///
/// # Errors
/// If there is not enough space, a cache is in the way, settings are wrong, or a device fails.
pub fn create(
    ssd: &Device,
    disk: &dyn Disk,
    settings: &Settings,
    registry: &Registry,
    consent: Consent<'_>,
) -> Result<Superblock, CreateError> {
    let of_log = disk.is_log().then(|| settings.of_log());
    let settings = of_log.as_ref().unwrap_or(settings);
    if let Some(layout) = Layout::for_ssd(ssd.bytes()) {
        settings.cache(registry, layout.slots as u32, disk.blocks())?;
    }
    if disk.device().is_none() {
        settings.check_without_bands()?;
    }
    let text = settings.to_text()?;
    let unread = |path: &Path| {
        let path = path.to_owned();
        move |error| CreateError::Read { path, error }
    };
    let of_disk = disk.device().map(occupant).transpose();
    if let Some(found) = of_disk.map_err(unread(disk.path()))?.flatten() {
        return Err(CreateError::Swapped { path: disk.path().to_owned(), found });
    }
    // What a cache on another SSD holds cannot be found out here.
    let of_disk = disk.mark()?.and_then(|mark| mark.cache(disk.name()));
    let here = check_free(ssd, of_disk, consent)?;
    let elsewhere = of_disk.filter(|&uuid| here != Some(uuid));
    if let Some(uuid) = elsewhere.filter(|uuid| !consent.destroy.contains(uuid)) {
        return Err(CreateError::Taken { path: disk.path().to_owned(), uuid });
    }
    ssd.reserve()?;
    let uuid = Uuid::new_v4().into_bytes();
    let new = NewCache { uuid, edition: 1, fingerprint: disk.fingerprint()?, settings: text };
    let made = format(ssd, disk, &new)?;
    // From now on the disk belongs to this cache.
    disk.leave_mark(&Mark { uuid, edition: made.edition })?;
    Ok(made)
}

/// The cache whose disk `ssd` is, by its mark. The content of its blocks may not show that: the
/// beginning of a file system may be on the SSD of that cache only.
fn disk_of(ssd: &Device) -> Result<Option<Uuid>, DeviceError> {
    let mark = Mark::of(ssd)?.and_then(|mark| mark.cache(None));
    Ok(mark.or_else(|| zoned_cache(ssd)))
}

fn check_signature(ssd: &Device, consent: Consent<'_>) -> Result<(), CreateError> {
    let path = || ssd.path().to_owned();
    let found = signature(ssd).map_err(|error| CreateError::Read { path: path(), error })?;
    if consent.overwrite {
        return Ok(());
    }
    // A zoned disk whose first page is lost has no signature.
    let is_zoned = || shingle_zoned::is_zoned(ssd).is_ok_and(|is_zoned| is_zoned);
    let found = found.or_else(|| is_zoned().then_some(ZONED));
    match (found, Moved::on(&mut { ssd })) {
        (Some(found), _) => Err(CreateError::Foreign { path: path(), found }),
        (None, Some(moved)) => Err(CreateError::Moved { path: path(), moved }),
        (None, None) if is_data(ssd)? => Err(CreateError::Data { path: path() }),
        (None, None) => Ok(()),
    }
}

/// Whether `ssd` is a file that begins with data that is not a cache. A used device may hold
/// anything; naming it is consent enough, as for tools that make file systems.
fn is_data(ssd: &Device) -> Result<bool, CreateError> {
    if !ssd.is_regular() {
        return Ok(false);
    }
    let failed = |error| CreateError::Read { path: ssd.path().to_owned(), error };
    let Some(first) = superblocks_if_any(ssd).map_err(failed)? else { return Ok(false) };
    let is_none = matches!(Superblock::newer(&first), Err(Unusable::Foreign));
    // After a cache was deleted these are zeros.
    Ok(is_none && first.as_flattened().iter().any(|&byte| byte != 0))
}

/// Whether a cache can be created on `ssd` without destroying what must not be destroyed: a file
/// system, a cache, or the disk of one. `beside` is a cache elsewhere that may be named, too.
/// Returns the cache on `ssd`.
pub(super) fn check_free(
    ssd: &Device,
    beside: Option<Uuid>,
    consent: Consent<'_>,
) -> Result<Option<Uuid>, CreateError> {
    shingle_zoned::check_written_anywhere(ssd)?;
    check_signature(ssd, consent)?;
    let path = || ssd.path().to_owned();
    let there = occupant(ssd).map_err(|error| CreateError::Read { path: path(), error })?;
    let here = there.as_ref().map(|found| found.uuid);
    let behind = disk_of(ssd)?;
    let given_up = |uuid: &Uuid| consent.destroy.contains(uuid);
    if let Some(found) = there {
        let known = [here, beside, behind];
        let other = consent.destroy.iter().find(|&&typed| !known.contains(&Some(typed)));
        if let Some(&typed) = other {
            return Err(CreateError::Another { path: path(), typed });
        }
        if !given_up(&found.uuid) && found.dirty_blocks != Some(0) {
            return Err(CreateError::Occupied { path: path(), found });
        }
    }
    if let Some(uuid) = behind.filter(|uuid| !given_up(uuid)) {
        return Err(CreateError::Disk { path: path(), uuid });
    }
    Ok(here)
}

/// Whether something that is no cache may be made of a device without destroying what must not be
/// destroyed: a file system or the like, a zoned disk, the disk of a cache, or a cache, even one without dirty blocks.
///
/// # Errors
/// If it may not, or the device cannot be read.
pub fn check_given_up(device: &Device, consent: Consent<'_>) -> Result<(), CreateError> {
    check_free(device, None, consent)?;
    let path = || device.path().to_owned();
    let there = occupant(device).map_err(|error| CreateError::Read { path: path(), error })?;
    match there.filter(|found| !consent.destroy.contains(&found.uuid)) {
        Some(found) => Err(CreateError::Occupied { path: path(), found }),
        None => Ok(()),
    }
}

/// Deletes the cache with this UUID and everything that it holds: the SSD holds no cache any more,
/// and the disk belongs to none.
///
/// # Errors
/// If another cache is on the SSD by now, the SSD cannot be read or written, or the mark of the
/// disk not cleared.
pub fn destroy(ssd: &Device, disk: &dyn Disk, uuid: Uuid) -> Result<(), EndError> {
    let path = || ssd.path().to_owned();
    let (superblock, worse) =
        read_superblock(ssd).map_err(|error| EndError::Recover { path: path(), error })?;
    if superblock.uuid != *uuid.as_bytes() {
        return Err(EndError::Another { path: path(), uuid });
    }
    // A disk that belongs to no cache may be given to another one, so this cache has to be empty
    // before. Until then it exists: after an interruption the call is repeated.
    write_superblock(ssd, &superblock.emptied(), worse)?;
    disk.belong_to_none()?;
    Ok(write_over_superblocks(ssd, &[0; PAGE_BYTES])?)
}
