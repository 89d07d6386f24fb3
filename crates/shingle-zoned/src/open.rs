//! Opening of whatever is named: a file that is a zoned disk, or a host-managed block device.

use std::io::{Seek, SeekFrom};
use std::path::Path;

use shingle_device::{Device, is_held, open_to_look};

use crate::disk::ZonedDisk;
use crate::file::{self, OpenError};
use crate::kernel;
use crate::read_only::ReadOnlyDisk;

/// Opens a zoned disk for ourselves alone: a file made by [`create`](crate::create), or a host-managed block device.
///
/// # Errors
/// If it is none, is in use, or cannot be read.
pub fn open(path: &Path) -> Result<Box<dyn ZonedDisk>, OpenError> {
    open_device(Device::open(path)?)
}

/// The same, of what is open already.
///
/// # Errors
/// If it is no zoned disk, or cannot be read.
pub fn open_device(device: Device) -> Result<Box<dyn ZonedDisk>, OpenError> {
    Ok(match device.is_regular() {
        true => Box::new(file::open(device)?),
        false => Box::new(kernel::open(device)?),
    })
}

/// Whether what is open is a zoned disk: a file that says so in its head, be it damaged, or a host-managed block device.
///
/// # Errors
/// If it cannot be read.
pub fn is_zoned(device: &Device) -> Result<bool, OpenError> {
    match device.is_regular() {
        true => Ok(file::is_zoned(device)?),
        false => Ok(kernel::is_zoned(device.direct())),
    }
}

/// Opens a zoned disk in a file.
///
/// # Errors
/// As [`open`], or if it is no file.
pub fn open_file(path: &Path) -> Result<file::FileDisk, OpenError> {
    let device = Device::open(path)?;
    match device.is_regular() {
        true => file::open(device),
        false => Err(OpenError::unusable(path, "it is a block device, and no file")),
    }
}

/// Opens a zoned disk to look at what is on it: nothing is changed, and all that would change it is refused. Somebody may
/// be using it: then nothing is sure, and a file tells how its zones were at the last flush.
///
/// # Errors
/// If it is no zoned disk, or cannot be read.
pub fn open_read_only(path: &Path) -> Result<ReadOnlyDisk, OpenError> {
    let open = OpenError::system(path, "open");
    let mut file = open_to_look(path).map_err(&open)?;
    let is_file = file.metadata().map_err(&open)?.is_file();
    let file::Seen { zones, first_page, damaged } = if is_file {
        file::look(path, &file)?
    } else {
        let bytes = file.seek(SeekFrom::End(0)).map_err(OpenError::system(path, "measure"))?;
        let zones = kernel::look(path, &file, bytes)?;
        file::Seen { zones, first_page: 0, damaged: Vec::new() }
    };
    Ok(ReadOnlyDisk { name: path.display().to_string(), file, first_page, is_file, zones, damaged })
}

/// Whether somebody is using it: it is locked.
///
/// # Errors
/// If it cannot be opened.
pub fn is_in_use(path: &Path) -> Result<bool, OpenError> {
    let file = open_to_look(path).map_err(OpenError::system(path, "open"))?;
    Ok(is_held(&file))
}
