//! The state of a cache that is not served, from its metadata. The SSD is only read, and may be
//! served at the same time.

use std::fs::File;
use std::io::{self, Seek, SeekFrom};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use shingle_device::{DeviceError, is_locked, open_unlocked};
use shingle_engine::ErrorCounts;
use shingle_engine::format::superblock::Superblock;
use shingle_engine::format::{PAGE_BYTES, Page, Unusable};
use shingle_engine::recover::{Pages, RecoverError, recover};
use shingle_engine::settings::{Settings, SettingsError};
use thiserror::Error;
use uuid::Uuid;

pub use super::moved::Moved;
use super::status::{Errors, SCHEMA, Status};
use crate::backend::{is_known, superblock_pages};

/// Why there is no status.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum UnservedError {
    /// The SSD cannot be read.
    #[error("{}: {error}", path.display())]
    Io {
        /// The SSD.
        path: PathBuf,
        /// The reason.
        error: io::Error,
    },
    /// Another process uses the cache.
    #[error(
        "{}: another process uses it, which cannot be asked from here: ask as the user who runs it, \
         with the same XDG_RUNTIME_DIR; or it is ending and waits for a device: see dmesg", .0.display()
    )]
    Held(PathBuf),
    /// The cache has moved to another SSD.
    #[error("{}: {moved}", path.display())]
    Moved {
        /// The SSD.
        path: PathBuf,
        /// Where it went.
        moved: Moved,
    },
    /// The metadata is damaged.
    #[error("cannot use the cache on {}: {error}", path.display())]
    Recover {
        /// The SSD.
        path: PathBuf,
        /// The reason.
        error: RecoverError<io::Error>,
    },
    /// The SSD is smaller than when the cache was made.
    #[error(transparent)]
    Size(DeviceError),
    /// The settings are not valid.
    #[error(transparent)]
    Settings(#[from] SettingsError),
}

/// An SSD that is only read.
struct ReadOnly(File);

impl Pages for ReadOnly {
    type Error = io::Error;

    fn read(&mut self, first: u64, out: &mut [Page]) -> io::Result<()> {
        self.0.read_exact_at(out.as_flattened_mut(), first * PAGE_BYTES as u64)
    }
}

impl ReadOnly {
    fn at(ssd: &Path) -> io::Result<ReadOnly> {
        open_unlocked(ssd).map(ReadOnly)
    }

    /// Reads the superblock; `None` if there is no cache.
    fn superblock(&mut self) -> io::Result<Option<Superblock>> {
        let copies = match superblock_pages(self) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
            copies => copies?,
        };
        match Superblock::newer(&copies) {
            Ok(superblock) => Ok(Some(superblock)),
            Err(Unusable::Foreign) => Ok(None),
            Err(why) => Err(io::Error::other(why)),
        }
    }

    /// Checks that the SSD was not cut short, as `must_be_whole` does where it may be opened for writing.
    fn must_be_whole(&mut self, path: &Path) -> Result<(), UnservedError> {
        let found = self.0.seek(SeekFrom::End(0)).map_err(io_error(path))?;
        // Recovery reports superblocks that cannot be used.
        match self.superblock() {
            Ok(Some(Superblock { ssd_bytes: needed, .. })) if found < needed => {
                let path = path.to_owned();
                Err(UnservedError::Size(DeviceError::Size { path, found, needed }))
            }
            _ => Ok(()),
        }
    }
}

fn io_error(ssd: &Path) -> impl Fn(io::Error) -> UnservedError {
    move |error| UnservedError::Io { path: ssd.to_owned(), error }
}

/// The superblock of the cache on an SSD, which may be served at the same time; `None` if there is
/// no cache.
///
/// # Errors
/// If the SSD cannot be read, its superblocks are damaged, or the cache has moved to another SSD.
pub fn superblock(ssd: &Path) -> Result<Option<Superblock>, UnservedError> {
    let mut look = ReadOnly::at(ssd).map_err(io_error(ssd))?;
    let found = look.superblock().map_err(io_error(ssd))?;
    match found.is_none().then(|| Moved::on(&mut look)).flatten() {
        Some(moved) => Err(UnservedError::Moved { path: ssd.to_owned(), moved }),
        None => Ok(found),
    }
}

/// The status of the cache on an SSD. Frames are not read, except those of the last second before a
/// crash.
///
/// # Errors
/// If another process uses it, the SSD cannot be read or was cut short, or metadata is damaged.
pub fn status(ssd: &Path) -> Result<Status, UnservedError> {
    let mut look = ReadOnly::at(ssd).map_err(io_error(ssd))?;
    if is_locked(&look.0) {
        return Err(UnservedError::Held(ssd.to_owned()));
    }
    look.must_be_whole(ssd)?;
    let found = recover(&mut look);
    // A process that began to use the cache in the meantime has written a superblock first.
    let path = || ssd.to_owned();
    let found = match found {
        Err(_) if is_locked(&look.0) => return Err(UnservedError::Held(path())),
        other => other.map_err(|error| UnservedError::Recover { path: path(), error })?,
    };
    let superblock = found.journal.superblock();
    let now = look.superblock().map_err(io_error(ssd))?;
    if now.map(|now| now.edition) != Some(superblock.edition) {
        return Err(UnservedError::Held(path()));
    }
    let dirty_blocks = found.dirty_blocks();
    let mut status = Status {
        schema: SCHEMA.to_owned(),
        served: false,
        uuid: Uuid::from_bytes(superblock.uuid).to_string(),
        ssd: ssd.display().to_string(),
        disk_bytes: superblock.disk_bytes,
        edition: superblock.edition,
        clean_shutdown: Some(found.clean),
        fingerprint_known: Some(found.clean && is_known(&superblock.fingerprint)),
        slots: superblock.layout.slots,
        dirty_blocks,
        clean_blocks: found.live().count() as u64 - dirty_blocks,
        errors: Errors {
            counts: ErrorCounts {
                damaged_pages: found.findings.damaged_pages,
                void_records: found.findings.void_records,
                ..ErrorCounts::default()
            },
            ..Errors::default()
        },
        ..Status::default()
    };
    status.put_settings(&Settings::from_text(&superblock.settings)?);
    Ok(status)
}
