//! A zoned disk as the disk of a cache: a translation makes it writable anywhere
//! (`shingle-translated`).
//!
//! Its map has a name, which each format changes. The name is the first half of the fingerprint,
//! and the superblock has it even while the cache is in use, so another disk is noticed at any
//! time. The second half is of samples, as for other disks. The map also records which cache used
//! it last, so an older copy of a cache is noticed wherever the disk is.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::io::Errno;
use shingle_core::units::{BLOCK_BYTES, Block};
use shingle_device::{
    Device, DeviceError, Fingerprint, Mark, Medium, Volume, VolumeMedium, fingerprint_of,
};
use shingle_engine::IO_PAGES_MAX;
use shingle_engine::buffer::{Buffer, zeroed};
use shingle_engine::format::Page;
use shingle_translated::{LiveDisk, OpenError, inspect};
use uuid::Uuid;

use super::disk::{Disk, DiskName};
use super::store_error::StoreError;
use super::watch::Watch;

/// Opens a disk: a file or block device, or a zoned disk with a map.
///
/// # Errors
/// If it is in use, cannot be read, or is a zoned disk without a map or with a damaged one.
pub fn open_disk(path: &Path) -> Result<Box<dyn Disk>, StoreError> {
    opened(Device::open(path)?)
}

/// Opens SSD and disk of a cache.
///
/// # Errors
/// As [`open_disk`], or if they are the same.
pub fn open_pair(ssd: &Path, disk: &Path) -> Result<(Device, Box<dyn Disk>), StoreError> {
    let (ssd, disk) = Device::open_pair(ssd, disk)?;
    Ok((ssd, opened(disk)?))
}

fn opened(device: Device) -> Result<Box<dyn Disk>, StoreError> {
    if !shingle_zoned::is_zoned(&device)? {
        return Ok(Box::new(device));
    }
    let path = device.path().to_owned();
    let live = LiveDisk::open(shingle_zoned::open_device(device)?)?;
    Ok(Box::new(TranslatedDisk { live: Arc::new(live), path }))
}

/// Opens a disk for inspection: nothing is changed, not even on a zoned disk, of which only name, size
/// and mark are known.
///
/// # Errors
/// As [`open_disk`].
pub fn open_disk_read_only(path: &Path) -> Result<Box<dyn Disk>, StoreError> {
    looked_at(Device::open_read_only(path)?)
}

/// The same for SSD and disk of a cache.
///
/// # Errors
/// As [`open_pair`].
pub fn open_pair_read_only(ssd: &Path, disk: &Path) -> Result<(Device, Box<dyn Disk>), StoreError> {
    let (ssd, disk) = Device::open_pair_read_only(ssd, disk)?;
    Ok((ssd, looked_at(disk)?))
}

fn looked_at(disk: Device) -> Result<Box<dyn Disk>, StoreError> {
    if !shingle_zoned::is_zoned(&disk)? {
        return Ok(Box::new(disk));
    }
    let found = inspect(&shingle_zoned::open_read_only(disk.path())?)?;
    let name = disk.path().display().to_string();
    if let Some(what) = found.damage {
        return Err(OpenError::Damaged { disk: name, what }.into());
    }
    let uuid = Uuid::parse_str(&found.uuid);
    let uuid = uuid.map_err(|why| OpenError::Unusable { disk: name, what: why.to_string() })?;
    let (bytes, mark) = (found.blocks * BLOCK_BYTES, found.mark);
    Ok(Box::new(LookedAt { device: disk, bytes, name: uuid.into_bytes(), mark }))
}

/// The cache that a zoned disk belongs to, if its map can be read.
pub(crate) fn zoned_cache(device: &Device) -> Option<Uuid> {
    if !shingle_zoned::is_zoned(device).ok()? {
        return None;
    }
    let found = inspect(&shingle_zoned::open_read_only(device.path()).ok()?).ok()?;
    found.mark?.cache(Some(Uuid::parse_str(&found.uuid).ok()?.into_bytes()))
}

/// A zoned disk of which only the map is read.
#[derive(Clone, Debug)]
struct LookedAt {
    /// Locked by this process.
    device: Device,
    bytes: u64,
    name: DiskName,
    mark: Option<Mark>,
}

impl LookedAt {
    fn refused(&self, what: &'static str) -> DeviceError {
        let (path, error) = (self.device.path().to_owned(), Errno::ROFS.into());
        DeviceError::System { what, path, error }
    }
}

impl Disk for LookedAt {
    fn path(&self) -> &Path {
        self.device.path()
    }

    fn bytes(&self) -> u64 {
        self.bytes
    }

    fn is_readable(&self) -> bool {
        false
    }

    fn read_blocks(&self, _: Block, _: &mut [Page]) -> Result<(), DeviceError> {
        Err(self.refused("read"))
    }

    fn name(&self) -> Option<DiskName> {
        Some(self.name)
    }

    fn samples(&self) -> Result<Fingerprint, DeviceError> {
        Err(self.refused("read"))
    }

    fn mark(&self) -> Result<Option<Mark>, DeviceError> {
        Ok(self.mark)
    }

    fn leave_mark(&self, _: &Mark) -> Result<bool, DeviceError> {
        Err(self.refused("mark"))
    }

    fn belong_to_none(&self) -> Result<(), DeviceError> {
        Err(self.refused("clear the mark of"))
    }

    fn device(&self) -> Option<&Device> {
        None
    }

    fn medium(&self) -> Option<Box<dyn Medium>> {
        None
    }

    fn share(&self) -> Box<dyn Disk> {
        Box::new(self.clone())
    }
}

#[derive(Clone)]
struct TranslatedDisk {
    live: Arc<LiveDisk>,
    path: PathBuf,
}

impl fmt::Debug for TranslatedDisk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("TranslatedDisk").field(&self.path).finish()
    }
}

impl TranslatedDisk {
    fn set_mark(&self, what: &'static str, mark: Option<Mark>) -> Result<(), DeviceError> {
        self.live.set_mark(mark).map_err(|error| DeviceError::System {
            what,
            path: self.path.clone(),
            error: error.into(),
        })
    }
}

impl Disk for TranslatedDisk {
    fn path(&self) -> &Path {
        &self.path
    }

    fn bytes(&self) -> u64 {
        self.live.blocks() * BLOCK_BYTES
    }

    fn is_log(&self) -> bool {
        self.live.is_log()
    }

    fn read_blocks(&self, first: Block, out: &mut [Page]) -> Result<(), DeviceError> {
        let mut first = first;
        for out in out.chunks_mut(IO_PAGES_MAX) {
            let mut buffers: Vec<Buffer> = out.iter().map(|_| zeroed()).collect();
            let read = Volume::read(&*self.live, first, &mut buffers);
            let path = || self.path.clone();
            read.map_err(|error| DeviceError::System { what: "read", path: path(), error })?;
            out.iter_mut().zip(&buffers).for_each(|(page, buffer)| *page = buffer.0);
            first = first.after(out.len() as u64);
        }
        Ok(())
    }

    fn name(&self) -> Option<DiskName> {
        Some(self.live.uuid())
    }

    fn samples(&self) -> Result<Fingerprint, DeviceError> {
        fingerprint_of(self.bytes(), |first, pages| self.read_blocks(first, pages))
    }

    fn mark(&self) -> Result<Option<Mark>, DeviceError> {
        Ok(self.live.mark())
    }

    fn leave_mark(&self, mark: &Mark) -> Result<bool, DeviceError> {
        self.set_mark("mark", Some(*mark)).map(|()| true)
    }

    fn belong_to_none(&self) -> Result<(), DeviceError> {
        if self.live.mark().is_none() {
            return Ok(());
        }
        self.set_mark("clear the mark of", Some(Mark::without_cache(self.name())))
    }

    fn device(&self) -> Option<&Device> {
        None
    }

    fn medium(&self) -> Option<Box<dyn Medium>> {
        Some(Box::new(VolumeMedium(self.live.clone())))
    }

    fn share(&self) -> Box<dyn Disk> {
        Box::new(self.clone())
    }

    fn backing(&self) -> Option<&Device> {
        self.live.backing()
    }

    fn frees_trimmed(&self) -> bool {
        true
    }

    fn watch(&self) -> Option<Watch> {
        Some(Watch::new(&self.live))
    }

    fn close(self: Box<Self>) -> Result<(), DeviceError> {
        let path = self.path;
        self.live.close().map_err(|error| DeviceError::System {
            what: "close",
            path,
            error: error.into(),
        })
    }
}
