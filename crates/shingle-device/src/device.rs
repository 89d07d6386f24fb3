//! Files and block devices: opens, locks, measures, reads and writes them.

use std::fmt::Display;
use std::fs::File;
use std::io::{self, Seek, SeekFrom};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{ioctl_blksszget, major, minor};
use shingle_core::units::{BLOCK_BYTES, Block};
use shingle_engine::buffer::Aligned;
use shingle_engine::format::{PAGE_BYTES, Page};
use shingle_engine::recover::Pages;
use thiserror::Error;

use crate::direct::{Direct, PAGES_AT_ONCE};
use crate::page_reader::PageReader;
use crate::same::is_same;
use crate::{lock, loops};

/// The message about a file that [is deleted](Device::is_deleted), and the consequence.
#[must_use]
pub fn deleted(name: impl Display, what: &str) -> String {
    format!("{name}: it was deleted while it was served, and {what}")
}

/// An error of a file or device.
#[derive(Debug, Error)]
#[non_exhaustive]
#[allow(missing_docs)] // the messages say it
pub enum DeviceError {
    #[error("cannot {what} {path}: {error}")]
    System { what: &'static str, path: PathBuf, error: io::Error },
    #[error("cannot open {0}: there is no such file; a device may have another name now (`lsblk`)")]
    Missing(PathBuf),
    #[error("{0} is neither a file nor a block device")]
    Kind(PathBuf),
    #[error("{0} cannot be cache and disk at once")]
    Same(PathBuf),
    #[error("{0} is in use by another process, or mounted; `fuser -v {0}` shows by which")]
    Busy(PathBuf),
    /// A file that is also used as a loop device, or a loop device of a file with another one: what
    /// is mounted there and what is served would destroy each other.
    #[error("{path} is in use as {device}: name that one, or give it up by `losetup -d {device}`")]
    Behind { path: PathBuf, device: String },
    #[error("{path} has {found} bytes, but {needed} when the cache was made; is it the right one?")]
    Size {
        path: PathBuf,
        /// Its current size.
        found: u64,
        /// The earlier size.
        needed: u64,
    },
    #[error(
        "{path} needs {needed} bytes more, and its file system has {found}: free some, or make it smaller"
    )]
    Room {
        path: PathBuf,
        /// The missing bytes.
        needed: u64,
        /// The free bytes.
        found: u64,
    },
    #[error("cannot open {path} for writing: {error}")]
    Write { path: PathBuf, error: io::Error },
    #[error(
        "{0} is write-protected; `blockdev --setrw {0}` ends that, unless a switch or the device itself keeps it so"
    )]
    Protected(PathBuf),
    #[error(
        "{path} takes I/O in units of {sector_bytes} bytes only: it cannot be used, as blocks have 4096"
    )]
    Sectors {
        path: PathBuf,
        /// Its logical block size.
        sector_bytes: u32,
    },
}

/// A file or block device that no other process can open.
///
/// All I/O goes through one open file, which also holds the lock (and, of a block device, the
/// exclusive claim). The system keeps both until the last I/O is done, even if the process is
/// killed. Clones share the open file.
#[derive(Clone, Debug)]
pub struct Device {
    /// Without the page cache, if the file system supports that.
    direct: Arc<Direct>,
    path: PathBuf,
    bytes: u64,
    regular: bool,
}

impl Device {
    /// Opens SSD and disk of a cache.
    ///
    /// # Errors
    /// As [`Device::open`], or if they are the same.
    pub fn open_pair(ssd: &Path, disk: &Path) -> Result<(Device, Device), DeviceError> {
        Device::both(ssd, disk, true)
    }

    /// As [`Device::open_pair`], read-only.
    pub fn open_pair_read_only(ssd: &Path, disk: &Path) -> Result<(Device, Device), DeviceError> {
        Device::both(ssd, disk, false)
    }

    fn both(ssd: &Path, disk: &Path, write: bool) -> Result<(Device, Device), DeviceError> {
        if is_same(ssd, disk) {
            return Err(DeviceError::Same(disk.to_owned()));
        }
        // Data of an SSD that takes no writes any more can still be read.
        let ssd = Device::open_as(ssd, write)?;
        let disk = if write { Device::open(disk)? } else { Device::open_read_only(disk)? };
        Ok((ssd, disk))
    }

    /// Opens a file or block device, and locks it.
    ///
    /// # Errors
    /// If it cannot be opened, is something else, is in use, or is write-protected.
    pub fn open(path: &Path) -> Result<Device, DeviceError> {
        let device = Device::open_as(path, true)?;
        match device.is_protected() {
            true => Err(DeviceError::Protected(path.to_owned())),
            false => Ok(device),
        }
    }

    /// As [`Device::open`], read-only, which needs no permission to write: every write fails.
    pub fn open_read_only(path: &Path) -> Result<Device, DeviceError> {
        Device::open_as(path, false)
    }

    fn open_as(path: &Path, write: bool) -> Result<Device, DeviceError> {
        let system = |what| {
            let path = path.to_owned();
            move |error| DeviceError::System { what, path, error }
        };
        let metadata = std::fs::metadata(path).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => DeviceError::Missing(path.to_owned()),
            _ => system("open")(error),
        })?;
        let regular = metadata.is_file();
        if !regular && !metadata.file_type().is_block_device() {
            return Err(DeviceError::Kind(path.to_owned()));
        }
        let opened = lock::open_alone(path, &metadata, write);
        let mut file = opened.map_err(|error| match error.kind() {
            io::ErrorKind::ResourceBusy => DeviceError::Busy(path.to_owned()),
            _ if write => DeviceError::Write { path: path.to_owned(), error },
            _ => system("open")(error),
        })?;
        if regular
            && write
            && let Some(device) = loops::of_file(path)
        {
            return Err(DeviceError::Behind { path: path.to_owned(), device });
        }
        if !regular && let Some(file) = loops::file_in_use(metadata.rdev()) {
            return Err(DeviceError::Busy(file));
        }
        if !regular
            && write
            && let Some(device) = loops::beside(metadata.rdev())
        {
            return Err(DeviceError::Behind { path: path.to_owned(), device });
        }
        if !regular {
            let sector_bytes = ioctl_blksszget(&file).map_err(io::Error::from);
            takes_blocks(path, sector_bytes.map_err(system("measure"))?)?;
        }
        let bytes = file.seek(SeekFrom::End(0)).map_err(system("measure"))?;
        Ok(Device { direct: Arc::new(Direct(file)), path: path.to_owned(), bytes, regular })
    }

    /// Whether it is a block device that can be opened for writing, but refuses writes.
    fn is_protected(&self) -> bool {
        let Ok(metadata) = self.direct().metadata() else { return false };
        let number = metadata.rdev();
        let told = format!("/sys/dev/block/{}:{}/ro", major(number), minor(number));
        !self.regular && std::fs::read_to_string(told).is_ok_and(|told| told.trim() == "1")
    }

    /// Checks that it has at least `needed` bytes, and uses no more than these.
    pub fn limit_to(&mut self, needed: u64) -> Result<(), DeviceError> {
        self.check_size(needed)?;
        self.bytes = needed;
        Ok(())
    }

    /// Checks that it has at least `needed` bytes.
    pub fn check_size(&self, needed: u64) -> Result<(), DeviceError> {
        if self.bytes < needed {
            return Err(DeviceError::Size { path: self.path.clone(), found: self.bytes, needed });
        }
        Ok(())
    }

    /// Sets the number of bytes that are used from now on.
    pub fn set_used_bytes(&mut self, bytes: u64) {
        self.bytes = bytes;
    }

    /// Its current size, whatever part of it is used.
    pub fn measure(&self) -> Result<u64, DeviceError> {
        let mut file: &File = self.direct();
        file.seek(SeekFrom::End(0)).map_err(self.system("measure"))
    }

    /// The path by which it was opened.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The number of bytes used.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The same in whole blocks.
    #[must_use]
    pub fn blocks(&self) -> u64 {
        self.bytes / BLOCK_BYTES
    }

    /// Whether it is a file, not a block device.
    #[must_use]
    pub fn is_regular(&self) -> bool {
        self.regular
    }

    /// Whether it is a deleted file: its content is lost when the last process closes it.
    #[must_use]
    pub fn is_deleted(&self) -> bool {
        self.regular && self.direct().metadata().is_ok_and(|metadata| metadata.nlink() == 0)
    }

    /// The open file for I/O without the page cache, if supported: offsets, lengths and memory
    /// addresses are multiples of 4096 bytes.
    #[must_use]
    pub fn direct(&self) -> &File {
        &self.direct.0
    }

    /// Duplicates the open file: as long as it exists, no other process can open the device.
    ///
    /// # Errors
    /// If the process may open no more files.
    pub fn again(&self) -> io::Result<Direct> {
        self.direct.again()
    }

    /// Reads a block.
    pub fn read_block(&self, block: Block, out: &mut Page) -> Result<(), DeviceError> {
        self.read_blocks(block, std::slice::from_mut(out))
    }

    /// Reads consecutive blocks.
    pub fn read_blocks(&self, first: Block, out: &mut [Page]) -> Result<(), DeviceError> {
        self.read_pages(first.0, out).map_err(self.system("read"))
    }

    fn read_pages(&self, first: u64, out: &mut [Page]) -> io::Result<()> {
        self.reader().read(first, out)
    }

    /// A reader of many parts, one after the other, which reuses its memory.
    #[must_use]
    pub fn reader(&self) -> PageReader<'_> {
        PageReader::of(&self.direct)
    }

    /// Writes whole pages, from `page` on.
    ///
    /// # Panics
    /// If the length is not a multiple of a page.
    pub fn write(&self, page: u64, bytes: &[u8]) -> Result<(), DeviceError> {
        let (pages, rest) = bytes.as_chunks::<PAGE_BYTES>();
        assert!(rest.is_empty(), "pages are whole");
        for (first, pages) in (page..).step_by(PAGES_AT_ONCE).zip(pages.chunks(PAGES_AT_ONCE)) {
            let buffers: Vec<_> = pages.iter().map(|page| Box::new(Aligned(*page))).collect();
            self.direct.write(first, &buffers).map_err(self.system("write to"))?;
        }
        Ok(())
    }

    /// Makes everything durable that was written.
    pub fn flush(&self) -> Result<(), DeviceError> {
        self.direct.flush().map_err(self.system("flush"))
    }

    pub(crate) fn system(&self, what: &'static str) -> impl FnOnce(io::Error) -> DeviceError {
        let path = self.path.clone();
        move |error| DeviceError::System { what, path, error }
    }
}

impl Pages for &Device {
    type Error = io::Error;

    fn read(&mut self, first: u64, out: &mut [Page]) -> Result<(), io::Error> {
        self.read_pages(first, out)
    }
}

/// Checks that I/O with offsets, lengths and addresses in multiples of 4096 bytes suits the device.
fn takes_blocks(path: &Path, sector_bytes: u32) -> Result<(), DeviceError> {
    if u64::from(sector_bytes) <= BLOCK_BYTES {
        return Ok(());
    }
    Err(DeviceError::Sectors { path: path.to_owned(), sector_bytes })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sectors_are_no_larger_than_blocks() {
        let path = Path::new("/dev/some");
        assert!([512, 4096].iter().all(|&bytes| takes_blocks(path, bytes).is_ok()));
        let error = takes_blocks(path, 16_384).expect_err("too large").to_string();
        assert_eq!(
            error,
            "/dev/some takes I/O in units of 16384 bytes only: it cannot be used, as blocks have 4096"
        );
    }
}
