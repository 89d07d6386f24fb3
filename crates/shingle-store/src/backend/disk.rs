//! The disk of a cache: a file or block device as it is, or a disk made of one.

use std::fmt::Debug;
use std::path::Path;

use shingle_core::units::{BLOCK_BYTES, Block};
use shingle_device::{Device, DeviceError, Fingerprint, Mark, Medium, fingerprint};
use shingle_engine::format::Page;

use super::watch::Watch;

/// The name that a disk has by itself.
pub type DiskName = [u8; 16];

const NAME_BYTES: usize = size_of::<DiskName>();

/// The fingerprint in the superblock while a plain disk is in use.
const UNKNOWN: Fingerprint = [0; 32];

/// Whether a fingerprint describes the content of the disk.
pub(crate) fn is_known(fingerprint: &Fingerprint) -> bool {
    fingerprint[NAME_BYTES..] != UNKNOWN[NAME_BYTES..]
}

/// Whether a fingerprint is of a disk with this name.
pub(crate) fn has_name(fingerprint: &Fingerprint, name: &DiskName) -> bool {
    fingerprint[..NAME_BYTES] == name[..]
}

/// The disk of a cache, locked by this process.
///
/// Either it is a file or block device ([`Disk::device`]) and the store does I/O on it directly. Or
/// blocks are stored elsewhere than at their addresses, and a [`Disk::medium`] does the I/O.
pub trait Disk: Debug + Send {
    /// The path by which it was opened.
    fn path(&self) -> &Path;

    /// Its size in bytes.
    fn bytes(&self) -> u64;

    /// Its size in whole blocks.
    fn blocks(&self) -> u64 {
        self.bytes() / BLOCK_BYTES
    }

    /// Reads consecutive blocks.
    fn read_blocks(&self, first: Block, out: &mut [Page]) -> Result<(), DeviceError>;

    /// Whether its blocks can be read. If not, only its name and its size are known.
    fn is_readable(&self) -> bool {
        true
    }

    /// Whether all that is written is appended to a log, wherever it belongs.
    fn is_log(&self) -> bool {
        false
    }

    /// Its own name, if it has one. No other disk has the same name, nor has this disk after a new
    /// format.
    fn name(&self) -> Option<DiskName> {
        None
    }

    /// A digest of samples of its content: see [`fingerprint`].
    fn samples(&self) -> Result<Fingerprint, DeviceError>;

    /// Shows whether the disk was written: its samples, of which the name replaces the first half
    /// if there is one.
    fn fingerprint(&self) -> Result<Fingerprint, DeviceError> {
        let mut fingerprint = self.samples()?;
        if let Some(name) = self.name() {
            fingerprint[..NAME_BYTES].copy_from_slice(&name);
        }
        Ok(fingerprint)
    }

    /// The fingerprint in the superblock while the disk is in use: its name, or nothing.
    fn fingerprint_in_use(&self) -> Fingerprint {
        let mut fingerprint = UNKNOWN;
        fingerprint[..NAME_BYTES].copy_from_slice(&self.name().unwrap_or_default());
        fingerprint
    }

    /// The mark of the cache that it belongs to, if there is one.
    fn mark(&self) -> Result<Option<Mark>, DeviceError>;

    /// Writes a mark durably. Returns whether the disk has a place for one.
    fn leave_mark(&self, mark: &Mark) -> Result<bool, DeviceError>;

    /// Marks the disk as belonging to no cache, where there is a place for a mark. If an older copy
    /// of the SSD turns up, its dirty blocks are older than what will be written here.
    fn belong_to_none(&self) -> Result<(), DeviceError>;

    /// The file or block device, if each block is stored there at its own address.
    fn device(&self) -> Option<&Device>;

    /// The medium that does its I/O, if no device does. Can be taken once.
    fn medium(&self) -> Option<Box<dyn Medium>>;

    /// The file or block device that it is on, whatever block is stored where.
    fn backing(&self) -> Option<&Device> {
        self.device()
    }

    /// Whether it reuses the space of trimmed blocks, so that trims should be passed on to it.
    fn frees_trimmed(&self) -> bool {
        false
    }

    /// Its status while it is in use; `None` for a plain file or device.
    fn watch(&self) -> Option<Watch> {
        None
    }

    /// Ends its use. Flushed data is safe even without this call.
    ///
    /// # Errors
    /// If data that makes the next start faster cannot be written.
    fn close(self: Box<Self>) -> Result<(), DeviceError> {
        Ok(())
    }

    /// Its current size in bytes.
    fn measure(&self) -> Result<u64, DeviceError> {
        Ok(self.bytes())
    }

    /// Sets the number of bytes that are used from now on.
    fn grow(&mut self, _bytes: u64) {}

    /// The same disk, for another thread: calls on a disk that hangs block.
    fn share(&self) -> Box<dyn Disk>;

    /// Checks that it has at least `needed` bytes, and exactly as many if it cannot grow.
    ///
    /// # Errors
    /// If the size is wrong.
    fn limit_to(&mut self, needed: u64) -> Result<(), DeviceError> {
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
        mark.write_to(self)
    }

    fn belong_to_none(&self) -> Result<(), DeviceError> {
        Mark::without_cache(None).write_to(self).map(drop)
    }

    fn device(&self) -> Option<&Device> {
        Some(self)
    }

    fn measure(&self) -> Result<u64, DeviceError> {
        Device::measure(self)
    }

    fn grow(&mut self, bytes: u64) {
        self.set_used_bytes(bytes);
    }

    fn share(&self) -> Box<dyn Disk> {
        Box::new(self.clone())
    }

    fn limit_to(&mut self, needed: u64) -> Result<(), DeviceError> {
        Device::limit_to(self, needed)
    }

    fn medium(&self) -> Option<Box<dyn Medium>> {
        None
    }
}
