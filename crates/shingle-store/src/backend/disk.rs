//! The disk of a cache: a file or block device as it is, or something that is made of one.

use std::fmt::Debug;
use std::path::Path;

use shingle_core::units::{BLOCK_BYTES, Block};
use shingle_device::{Device, DeviceError, Fingerprint, Mark, Medium, fingerprint};
use shingle_engine::format::Page;

use super::watch::Watch;

/// What a disk calls itself.
pub type DiskName = [u8; 16];

const NAME_BYTES: usize = size_of::<DiskName>();

/// Stands in the superblock of a cache that is made over a plain disk while that changes.
const UNKNOWN: Fingerprint = [0; 32];

/// Whether a fingerprint tells what the disk holds.
pub(crate) fn is_known(fingerprint: &Fingerprint) -> bool {
    fingerprint[NAME_BYTES..] != UNKNOWN[NAME_BYTES..]
}

/// Whether a fingerprint, known or not, is of a disk of this name.
pub(crate) fn has_name(fingerprint: &Fingerprint, name: &DiskName) -> bool {
    fingerprint[..NAME_BYTES] == name[..]
}

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

    /// Whether its blocks can be read. If not, it is only looked at, and what is known is its name and its size.
    fn is_readable(&self) -> bool {
        true
    }

    /// What it calls itself, if it does: no other disk has this name, nor has this one after all on it was given up.
    fn name(&self) -> Option<DiskName> {
        None
    }

    /// A digest of samples of what it holds: see [`fingerprint`].
    ///
    /// # Errors
    /// If it cannot be read.
    fn samples(&self) -> Result<Fingerprint, DeviceError>;

    /// Tells whether it was written: its samples, of which the name takes the first half where there is one.
    ///
    /// # Errors
    /// If it cannot be read.
    fn fingerprint(&self) -> Result<Fingerprint, DeviceError> {
        let mut fingerprint = self.samples()?;
        if let Some(name) = self.name() {
            fingerprint[..NAME_BYTES].copy_from_slice(&name);
        }
        Ok(fingerprint)
    }

    /// What stands on the SSD in place of the fingerprint while the disk changes: its name, or nothing.
    fn fingerprint_in_use(&self) -> Fingerprint {
        let mut fingerprint = UNKNOWN;
        fingerprint[..NAME_BYTES].copy_from_slice(&self.name().unwrap_or_default());
        fingerprint
    }

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

    /// It belongs to no cache any more. An older copy of the SSD may turn up, and what it has that is dirty is older than
    /// what will be written here: where there is a place for it, a mark says so.
    ///
    /// # Errors
    /// If that cannot be written.
    fn belong_to_none(&self) -> Result<(), DeviceError>;

    /// The file or block device that it is, if each block lies at its own place there.
    fn device(&self) -> Option<&Device>;

    /// What does its I/O, if no device does. To be asked for once.
    fn medium(&self) -> Option<Box<dyn Medium>>;

    /// Whether it is a file without a name: what it holds goes when nobody has it open any more.
    fn is_deleted(&self) -> bool {
        self.device().is_some_and(Device::is_deleted)
    }

    /// Whether a trim gives it room that it uses for something else, so that it is to be told of each.
    fn frees_trimmed(&self) -> bool {
        false
    }

    /// Tells how it is doing, while it is used; nothing of a file or device as it is.
    fn watch(&self) -> Option<Watch> {
        None
    }

    /// Ends its use. What was flushed is safe without, too.
    ///
    /// # Errors
    /// If what makes the next start quicker cannot be written.
    fn close(self: Box<Self>) -> Result<(), DeviceError> {
        Ok(())
    }

    /// How large it is by now.
    ///
    /// # Errors
    /// If that cannot be told.
    fn measure(&self) -> Result<u64, DeviceError> {
        Ok(self.bytes())
    }

    /// So many bytes of it are used from now on.
    fn grow(&mut self, _bytes: u64) {}

    /// It must be as large as it was. Of one that may grow nothing but the first `needed` bytes is used.
    ///
    /// # Errors
    /// If it is not.
    fn must_have(&mut self, needed: u64) -> Result<(), DeviceError> {
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

    fn samples(&self) -> Result<Fingerprint, DeviceError> {
        fingerprint(self)
    }

    fn mark(&self) -> Result<Option<Mark>, DeviceError> {
        Mark::of(self)
    }

    fn leave_mark(&self, mark: &Mark) -> Result<bool, DeviceError> {
        mark.leave(self)
    }

    fn belong_to_none(&self) -> Result<(), DeviceError> {
        Mark::alone(None).leave(self).map(drop)
    }

    fn device(&self) -> Option<&Device> {
        Some(self)
    }

    fn measure(&self) -> Result<u64, DeviceError> {
        Device::measure(self)
    }

    fn grow(&mut self, bytes: u64) {
        self.use_bytes(bytes);
    }

    fn must_have(&mut self, needed: u64) -> Result<(), DeviceError> {
        Device::must_have(self, needed)
    }

    fn medium(&self) -> Option<Box<dyn Medium>> {
        None
    }
}
