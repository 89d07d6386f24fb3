//! Files and block devices: opened, locked, measured; and what a new cache looks like.

use std::fs::{File, OpenOptions};
use std::io::{self, Seek, SeekFrom};
use std::os::unix::fs::{FileExt, FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, OFlags, flock};
use shingle_core::units::{BLOCK_BYTES, Block};
use thiserror::Error;

use crate::format::layout::{Copy, Layout};
use crate::format::superblock::{Superblock, WORDS_BYTES_MAX};
use crate::format::{BLOCKS_MAX, PAGE_BYTES, Page};
use crate::recover::Pages;

/// What is wrong with a file or device.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum FileError {
    /// The system does not give it.
    #[error("cannot {what} {path}: {error}")]
    System {
        /// What was tried.
        what: &'static str,
        /// Where.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// Neither a file nor a block device.
    #[error("{0} is neither a file nor a block device")]
    Kind(PathBuf),
    /// Cache and disk are one.
    #[error("{0} cannot be cache and disk at once")]
    Same(PathBuf),
    /// Another process has it open.
    #[error("{0} is in use by another process, or mounted")]
    Busy(PathBuf),
    /// It is of another size than when the cache was made.
    #[error("{path} has {found} bytes, but {needed} when the cache was made; is it the right one?")]
    Size {
        /// Where.
        path: PathBuf,
        /// Now.
        found: u64,
        /// Then.
        needed: u64,
    },
    /// An SSD that cannot hold a cache.
    #[error("{path} has {found} bytes: too small for a cache, which needs at least 16 MiB")]
    TooSmall {
        /// Where.
        path: PathBuf,
        /// Its size.
        found: u64,
    },
    /// A disk that cannot be cached.
    #[error(
        "{path} has {found} bytes: a disk has whole blocks of 4096 bytes, and less than 64 PiB"
    )]
    Uneven {
        /// Where.
        path: PathBuf,
        /// Its size.
        found: u64,
    },
    /// Policy and parameters are too long to be written down.
    #[error("policy and parameters take {0} bytes; there is room for {WORDS_BYTES_MAX}")]
    Words(usize),
}

/// A file or device that is ours alone.
#[derive(Debug)]
pub struct Device {
    /// For asynchronous I/O, past the page cache where the file system can.
    pub(super) direct: File,
    /// Through the page cache; used before anything is written past it.
    plain: File,
    path: PathBuf,
    pub(super) bytes: u64,
}

/// What tells places apart, whatever they are called.
fn identity(metadata: &std::fs::Metadata) -> (u64, u64) {
    if metadata.file_type().is_block_device() {
        return (0, metadata.rdev());
    }
    (metadata.dev(), metadata.ino())
}

impl Device {
    /// Opens SSD and disk of a cache.
    ///
    /// # Errors
    /// As [`Device::open`], or if they are the same.
    pub fn pair(ssd: &Path, disk: &Path) -> Result<(Device, Device), FileError> {
        if let (Ok(one), Ok(other)) = (std::fs::metadata(ssd), std::fs::metadata(disk))
            && identity(&one) == identity(&other)
        {
            return Err(FileError::Same(disk.to_owned()));
        }
        Ok((Device::open(ssd)?, Device::open(disk)?))
    }

    /// Opens a file or block device, and locks it.
    ///
    /// # Errors
    /// If it cannot be opened, is something else, or is in use.
    pub fn open(path: &Path) -> Result<Device, FileError> {
        let system = |what| {
            let path = path.to_owned();
            move |error| FileError::System { what, path, error }
        };
        let options = || OpenOptions::new().read(true).write(true).to_owned();
        let metadata = std::fs::metadata(path).map_err(system("open"))?;
        if !metadata.is_file() && !metadata.file_type().is_block_device() {
            return Err(FileError::Kind(path.to_owned()));
        }
        // The system lets nobody have a block device for himself that is mounted.
        let alone = if metadata.is_file() { OFlags::empty() } else { OFlags::EXCL };
        let mut plain = match options().custom_flags(alone.bits() as i32).open(path) {
            Err(error) if error.kind() == io::ErrorKind::ResourceBusy => {
                return Err(FileError::Busy(path.to_owned()));
            }
            other => other.map_err(system("open"))?,
        };
        let direct = options().custom_flags(OFlags::DIRECT.bits() as i32).open(path);
        let direct = match direct {
            // A file system without direct I/O.
            Err(error) if error.kind() == io::ErrorKind::InvalidInput => options().open(path),
            other => other,
        };
        let direct = direct.map_err(system("open"))?;
        flock(&plain, FlockOperation::NonBlockingLockExclusive)
            .map_err(|_| FileError::Busy(path.to_owned()))?;
        let bytes = plain.seek(SeekFrom::End(0)).map_err(system("measure"))?;
        Ok(Device { direct, plain, path: path.to_owned(), bytes })
    }

    /// It must be as large as it was.
    pub(crate) fn must_have(&self, needed: u64) -> Result<(), FileError> {
        if self.bytes == needed {
            return Ok(());
        }
        Err(FileError::Size { path: self.path.clone(), found: self.bytes, needed })
    }

    /// As it was named.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its size.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Its size in whole blocks.
    #[must_use]
    pub fn blocks(&self) -> u64 {
        self.bytes / BLOCK_BYTES
    }

    /// For I/O past the page cache where the file system can: places, lengths and memory are multiples
    /// of 4096 bytes.
    #[must_use]
    pub fn direct(&self) -> &File {
        &self.direct
    }

    /// Reads a block.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn read_block(&self, block: Block, out: &mut Page) -> Result<(), FileError> {
        self.plain.read_exact_at(out, block.bytes()).map_err(self.system("read"))
    }

    /// Writes pages from `page` on.
    ///
    /// # Errors
    /// If they cannot be written.
    pub fn write(&self, page: u64, bytes: &[u8]) -> Result<(), FileError> {
        self.plain.write_all_at(bytes, page * BLOCK_BYTES).map_err(self.system("write to"))
    }

    /// What was written survives a power cut when this is done.
    ///
    /// # Errors
    /// If that is not so.
    pub fn flush(&self) -> Result<(), FileError> {
        self.plain.sync_data().map_err(self.system("flush"))
    }

    fn system(&self, what: &'static str) -> impl FnOnce(io::Error) -> FileError {
        let path = self.path.clone();
        move |error| FileError::System { what, path, error }
    }
}

impl Pages for &Device {
    type Error = io::Error;

    fn read(&mut self, first: u64, out: &mut [Page]) -> Result<(), io::Error> {
        self.plain.read_exact_at(out.as_flattened_mut(), first * BLOCK_BYTES)
    }
}

/// What a new cache is made of.
#[derive(Clone, Debug)]
pub struct Create {
    /// Its name for ever.
    pub uuid: [u8; 16],
    /// Of sampled sectors of the disk.
    pub fingerprint: [u8; 32],
    /// Policy and parameters.
    pub words: String,
}

/// Makes a cache on `ssd` for `disk`, which stays as it is. Whatever was on the SSD is gone: whether
/// it may go is for the caller to ask.
///
/// # Errors
/// If they are in use, cannot be written, or are of sizes that cannot be.
pub fn create(ssd: &Device, disk: &Device, new: &Create) -> Result<Superblock, FileError> {
    let (path, found) = (ssd.path.clone(), ssd.bytes);
    let layout = Layout::for_ssd(ssd.bytes).ok_or(FileError::TooSmall { path, found })?;
    if disk.bytes == 0
        || !disk.bytes.is_multiple_of(BLOCK_BYTES)
        || disk.bytes / BLOCK_BYTES > BLOCKS_MAX
    {
        return Err(FileError::Uneven { path: disk.path.clone(), found: disk.bytes });
    }
    if new.words.len() > WORDS_BYTES_MAX {
        return Err(FileError::Words(new.words.len()));
    }
    let superblock = Superblock {
        fingerprint: new.fingerprint,
        words: new.words.clone(),
        ..Superblock::new(new.uuid, layout, ssd.bytes, disk.bytes)
    };
    // Neither superblock counts while the rest is made.
    let none = [0; PAGE_BYTES];
    for copy in Copy::BOTH {
        ssd.write(copy.superblock_page(), &none)?;
    }
    ssd.flush()?;
    const PAGES_AT_ONCE: u64 = 256;
    let zeros = vec![0; PAGES_AT_ONCE as usize * PAGE_BYTES];
    let end = layout.frame_page(crate::format::Frame(0));
    let mut page = crate::format::layout::SUPERBLOCKS;
    while page < end {
        let count = (end - page).min(PAGES_AT_ONCE);
        ssd.write(page, &zeros[..count as usize * PAGE_BYTES])?;
        page += count;
    }
    ssd.flush()?;
    write_superblock(ssd, &superblock)?;
    Ok(superblock)
}

/// Writes both copies, one after the other.
///
/// # Errors
/// If they cannot be written.
pub fn write_superblock(ssd: &Device, superblock: &Superblock) -> Result<(), FileError> {
    for copy in Copy::BOTH {
        ssd.write(copy.superblock_page(), &superblock.encode())?;
        ssd.flush()?;
    }
    Ok(())
}
