//! Opens zoned disks: host-managed block devices, and files and other block devices with the head of
//! a zoned disk.

use std::fs::File;
use std::io::{Seek, SeekFrom};
use std::path::Path;

use shingle_device::{Device, open_unlocked};

use crate::disk::ZonedDisk;
use crate::head::{self, On, OpenError};
use crate::kernel;
use crate::read_only::ReadOnlyDisk;

/// Whether a block device has its zones from the kernel. Otherwise its head has them.
fn is_of_kernel(path: &Path, device: &File, regular: bool) -> Result<bool, OpenError> {
    if regular {
        return Ok(false);
    }
    kernel::is_zoned(device).map_err(|why| OpenError::unusable(path, why))
}

/// Opens and locks a zoned disk: a file made by [`create`](crate::create), a block device made one by
/// [`create_on`](crate::create_on), or a host-managed block device.
///
/// # Errors
/// If it is not a zoned disk, is in use, or cannot be read.
pub fn open(path: &Path) -> Result<Box<dyn ZonedDisk>, OpenError> {
    open_device(Device::open(path)?)
}

/// Opens a zoned disk on an open device.
///
/// # Errors
/// If it is no zoned disk, or cannot be read.
pub fn open_device(device: Device) -> Result<Box<dyn ZonedDisk>, OpenError> {
    Ok(match is_of_kernel(device.path(), device.direct(), device.is_regular())? {
        true => Box::new(kernel::open(device)?),
        false => Box::new(head::open(device)?),
    })
}

/// Whether a device is a zoned disk: a host-managed block device, or a file or another block device
/// with the head of one, even if that is damaged.
pub fn is_zoned(device: &Device) -> Result<bool, OpenError> {
    match is_of_kernel(device.path(), device.direct(), device.is_regular())? {
        true => Ok(true),
        false => Ok(head::is_zoned(device)?),
    }
}

/// Checks that a device can be the SSD of a cache: it takes writes anywhere.
///
/// # Errors
/// If it is a host-managed block device or a part of one, or the system does not say whether it is.
pub fn check_written_anywhere(device: &Device) -> Result<(), OpenError> {
    if device.is_regular() {
        return Ok(());
    }
    let checked = kernel::check_written_anywhere(device.direct());
    checked.map_err(|why| OpenError::unusable(device.path(), why))
}

/// Opens a zoned disk that has a head, in a file or on a block device.
///
/// # Errors
/// As [`open`], or if it is a host-managed device.
pub fn open_with_head(path: &Path) -> Result<head::HeadDisk, OpenError> {
    let device = Device::open(path)?;
    match is_of_kernel(device.path(), device.direct(), device.is_regular())? {
        true => Err(OpenError::unusable(path, "it is host-managed, and has no head")),
        false => head::open(device),
    }
}

/// Opens a zoned disk for inspection: nothing is changed, and all changes are refused. If another
/// process is using it, the result may be inconsistent; a disk with a head shows the zones of the
/// last flush.
///
/// # Errors
/// If it is no zoned disk, or cannot be read.
pub fn open_read_only(path: &Path) -> Result<ReadOnlyDisk, OpenError> {
    let open = OpenError::system(path, "open");
    let mut file = open_unlocked(path).map_err(&open)?;
    let regular = file.metadata().map_err(&open)?.is_file();
    let bytes = file.seek(SeekFrom::End(0)).map_err(OpenError::system(path, "measure"))?;
    let name = path.display().to_string();
    if is_of_kernel(path, &file, regular)? {
        let zones = kernel::inspect(path, &file, bytes)?;
        return Ok(ReadOnlyDisk { name, file, head: None, zones, damaged: Vec::new() });
    }
    let on = if regular { On::File } else { On::Device };
    let head::Seen { zones, first_page, damaged } = head::inspect(path, &file, bytes, on)?;
    Ok(ReadOnlyDisk { name, file, head: Some((on, first_page)), zones, damaged })
}

/// Whether another process has locked it, by this name or another one.
pub fn is_in_use(path: &Path) -> Result<bool, OpenError> {
    shingle_device::is_in_use(path).map_err(OpenError::system(path, "open"))
}
