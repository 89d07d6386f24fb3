//! The disk of a cache: a file or block device as it is, or something that is made of one.

use std::fmt::Debug;
use std::path::Path;

use shingle_core::units::{BLOCK_BYTES, Block};
use shingle_device::{Device, DeviceError, Fingerprint, Mark, Medium, fingerprint};
use shingle_engine::format::Page;

/// The disk of a cache, opened for this process alone.
///
/// It is either a file or block device ([`Disk::device`]), and the store does I/O on it by itself; or blocks lie
/// elsewhere than they are asked for, and what knows where does the I/O ([`Disk::medium`]).
pub trait Disk: Debug + Send {
    /// As it was named.
    fn path(&self) -> &Path;

    /// Its size.
    fn bytes(&self) -> u64;

    /// Its size in whole blocks.
    fn blocks(&self) -> u64 {
        self.bytes() / BLOCK_BYTES
    }

    /// Reads blocks that follow each other.
    ///
    /// # Errors
    /// If they cannot be read.
    fn read_blocks(&self, first: Block, out: &mut [Page]) -> Result<(), DeviceError>;

    /// Tells whether it was written: see [`fingerprint`].
    ///
    /// # Errors
    /// If it cannot be read.
    fn fingerprint(&self) -> Result<Fingerprint, DeviceError>;

    /// The cache that it belongs to, if it says so.
    ///
    /// # Errors
    /// If it cannot be asked.
    fn mark(&self) -> Result<Option<Mark>, DeviceError>;

    /// Leaves a mark, to stay when this is done. Returns whether there is a place for one.
    ///
    /// # Errors
    /// If it cannot be written.
    fn leave_mark(&self, mark: &Mark) -> Result<bool, DeviceError>;

    /// It belongs to no cache any more.
    ///
    /// # Errors
    /// If that cannot be written.
    fn remove_mark(&self) -> Result<(), DeviceError>;

    /// The file or block device that it is, if each block lies at its own place there.
    fn device(&self) -> Option<&Device>;

    /// What does its I/O, if no device does. To be asked for once.
    fn medium(&self) -> Option<Box<dyn Medium>>;

    /// It must be as large as it was.
    ///
    /// # Errors
    /// If it is not.
    fn must_have(&self, needed: u64) -> Result<(), DeviceError> {
        let (path, found) = (self.path().to_owned(), self.bytes());
        if found == needed { Ok(()) } else { Err(DeviceError::Size { path, found, needed }) }
    }
}

impl Disk for Device {
    fn path(&self) -> &Path {
        Device::path(self)
    }

    fn bytes(&self) -> u64 {
        Device::bytes(self)
    }

    fn read_blocks(&self, first: Block, out: &mut [Page]) -> Result<(), DeviceError> {
        Device::read_blocks(self, first, out)
    }

    fn fingerprint(&self) -> Result<Fingerprint, DeviceError> {
        fingerprint(self)
    }

    fn mark(&self) -> Result<Option<Mark>, DeviceError> {
        Mark::of(self)
    }

    fn leave_mark(&self, mark: &Mark) -> Result<bool, DeviceError> {
        mark.leave(self)
    }

    fn remove_mark(&self) -> Result<(), DeviceError> {
        Mark::remove(self)
    }

    fn device(&self) -> Option<&Device> {
        Some(self)
    }

    fn medium(&self) -> Option<Box<dyn Medium>> {
        None
    }
}
