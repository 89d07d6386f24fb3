//! Opens zoned disks: files, or host-managed block devices.

use std::io::{Seek, SeekFrom};
use std::path::Path;

use shingle_device::{Device, is_locked, open_unlocked};

use crate::disk::ZonedDisk;
use crate::file::{self, OpenError};
use crate::kernel;
use crate::read_only::ReadOnlyDisk;

/// Opens and locks a zoned disk: a file made by [`create`](crate::create), or a host-managed block
/// device.
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
    Ok(match device.is_regular() {
        true => Box::new(file::open(device)?),
        false => Box::new(kernel::open(device)?),
    })
}

/// Whether a device is a zoned disk: a file with the head of one, even if it is damaged, or a
/// host-managed block device.
pub fn is_zoned(device: &Device) -> Result<bool, OpenError> {
    match device.is_regular() {
        true => Ok(file::is_zoned(device)?),
        false => Ok(kernel::is_zoned(device.direct())),
    }
}

/// Opens a zoned disk in a file.
///
/// # Errors
/// As [`open`], or if it is not a file.
pub fn open_file(path: &Path) -> Result<file::FileDisk, OpenError> {
    let device = Device::open(path)?;
    match device.is_regular() {
        true => file::open(device),
        false => Err(OpenError::unusable(path, "it is a block device, and no file")),
    }
}

/// Opens a zoned disk for inspection: nothing is changed, and all changes are refused. If another
/// process is using it, the result may be inconsistent; a file shows the zones of the last flush.
///
/// # Errors
/// If it is no zoned disk, or cannot be read.
pub fn open_read_only(path: &Path) -> Result<ReadOnlyDisk, OpenError> {
    let open = OpenError::system(path, "open");
    let mut file = open_unlocked(path).map_err(&open)?;
    let is_file = file.metadata().map_err(&open)?.is_file();
    let file::Seen { zones, first_page, damaged } = if is_file {
        file::inspect(path, &file)?
    } else {
        let bytes = file.seek(SeekFrom::End(0)).map_err(OpenError::system(path, "measure"))?;
        let zones = kernel::inspect(path, &file, bytes)?;
        file::Seen { zones, first_page: 0, damaged: Vec::new() }
    };
    Ok(ReadOnlyDisk { name: path.display().to_string(), file, first_page, is_file, zones, damaged })
}

/// Whether another process has locked it.
pub fn is_in_use(path: &Path) -> Result<bool, OpenError> {
    let file = open_unlocked(path).map_err(OpenError::system(path, "open"))?;
    Ok(is_locked(&file))
}
