//! A new cache on an SSD. The disk behind it is not touched: what it holds stays as it is.

use std::fmt;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use shingle_core::registry::Registry;
use thiserror::Error;
use uuid::Uuid;

use super::fingerprint::fingerprint;
use super::settings::{Settings, SettingsError};
use super::signature;
use crate::backend::{self, Create, Device, FileError};
use crate::format::layout::{Copy, Layout, SUPERBLOCKS};
use crate::format::superblock::Superblock;
use crate::format::{PAGE_BYTES, Page, Unusable};
use crate::recover::{Pages, RecoverError, recover};

/// Why no cache was made. Nothing was changed then, unless the SSD failed.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum CreateError {
    /// There is a cache already.
    #[error("{}: {found}; to destroy it, say --destroy {}", path.display(), found.uuid)]
    Occupied {
        /// The SSD.
        path: PathBuf,
        /// What is there.
        found: Occupant,
    },
    /// Another cache than the one that may be destroyed.
    #[error("{}: --destroy {typed} is not the cache that is there", path.display())]
    Another {
        /// The SSD.
        path: PathBuf,
        /// What was typed.
        typed: Uuid,
    },
    /// Somebody's data.
    #[error(
        "{}: there is {found}; to destroy it, clear it with `wipefs -a` or say --overwrite",
        path.display()
    )]
    Foreign {
        /// The SSD.
        path: PathBuf,
        /// What is there.
        found: &'static str,
    },
    /// The disk is the SSD of a cache.
    #[error("{}: {found}, so it is no disk; are --cache and --disk swapped?", path.display())]
    Swapped {
        /// The disk.
        path: PathBuf,
        /// What is there.
        found: Occupant,
    },
    /// The settings do not hold together.
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// A file or device.
    #[error(transparent)]
    File(#[from] FileError),
    /// The SSD cannot be read.
    #[error("{}: cannot be read: {error}", path.display())]
    Read {
        /// The SSD.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
}

/// The cache that is on an SSD.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Occupant {
    /// Its name.
    pub uuid: Uuid,
    /// Blocks that the disk does not have; `None` if it cannot be told.
    pub dirty_blocks: Option<u64>,
}

impl fmt::Display for Occupant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "there is a cache {} ", self.uuid)?;
        match self.dirty_blocks {
            Some(0) => write!(f, "without dirty data"),
            Some(1) => write!(f, "with a block that its disk does not have"),
            Some(blocks) => write!(f, "with {blocks} blocks that its disk does not have"),
            None => write!(f, "that is damaged and may hold data that its disk does not have"),
        }
    }
}

/// What `create` may destroy on the SSD.
#[derive(Clone, Copy, Default, Debug)]
pub struct Consent {
    /// The cache of this name, with what its disk does not have.
    pub destroy: Option<Uuid>,
    /// A file system, a partition table or the like.
    pub overwrite: bool,
}

/// Makes a cache on `ssd` for `disk`. What is there already and would be missed is overwritten only
/// with `consent`.
///
/// # Errors
/// If there is no room, a cache is in the way, settings are wrong, or a place fails.
pub fn create(
    ssd: &Device,
    disk: &Device,
    settings: &Settings,
    registry: &Registry,
    consent: Consent,
) -> Result<Superblock, CreateError> {
    let path = ssd.path().to_owned();
    if let Some(layout) = Layout::for_ssd(ssd.bytes()) {
        settings.cache(registry, layout.slots as u32, disk.blocks())?;
    }
    let words = settings.to_words()?;
    let unread = |path: &Path| {
        let path = path.to_owned();
        move |error| CreateError::Read { path, error }
    };
    if let Some(found) = occupant(disk).map_err(unread(disk.path()))? {
        return Err(CreateError::Swapped { path: disk.path().to_owned(), found });
    }
    if !consent.overwrite
        && let Some(found) = signature::of(ssd).map_err(unread(&path))?
    {
        return Err(CreateError::Foreign { path, found });
    }
    let there = occupant(ssd).map_err(unread(&path))?;
    match (there, consent.destroy) {
        (Some(found), Some(typed)) if found.uuid != typed => {
            return Err(CreateError::Another { path, typed });
        }
        (Some(found), None) if found.dirty_blocks != Some(0) => {
            return Err(CreateError::Occupied { path, found });
        }
        _ => {}
    }
    let uuid = Uuid::new_v4().into_bytes();
    let new = Create { uuid, fingerprint: fingerprint(disk)?, words };
    Ok(backend::create(ssd, disk, &new)?)
}

/// What is on an SSD; `None` if it holds no cache.
///
/// # Errors
/// If it cannot be read.
pub fn occupant(ssd: &Device) -> io::Result<Option<Occupant>> {
    let mut copies: [Page; 2] = [[0; PAGE_BYTES]; SUPERBLOCKS as usize];
    if ssd.bytes() < size_of_val(&copies) as u64 {
        return Ok(None);
    }
    Pages::read(&mut { ssd }, Copy::One.superblock_page(), &mut copies)?;
    match Superblock::newer(&copies) {
        Ok(superblock) => {
            let dirty = recover(&mut { ssd }).ok().map(|found| found.dirty_blocks());
            let uuid = Uuid::from_bytes(superblock.uuid);
            Ok(Some(Occupant { uuid, dirty_blocks: dirty }))
        }
        Err(Unusable::Foreign) => Ok(None),
        Err(_) => Ok(Some(Occupant { uuid: Uuid::nil(), dirty_blocks: None })),
    }
}

/// The name of the cache on an SSD, which another process may serve; `None` if there is no cache.
///
/// # Errors
/// If the SSD cannot be read, or its superblocks are damaged.
pub fn name(ssd: &Path) -> io::Result<Option<Uuid>> {
    let mut copies: [Page; 2] = [[0; PAGE_BYTES]; SUPERBLOCKS as usize];
    let place = Copy::One.superblock_page() * PAGE_BYTES as u64;
    let told =
        |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", ssd.display()));
    let file = File::open(ssd).map_err(told)?;
    match file.read_exact_at(copies.as_flattened_mut(), place) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        other => other.map_err(told)?,
    }
    match Superblock::newer(&copies) {
        Ok(superblock) => Ok(Some(Uuid::from_bytes(superblock.uuid))),
        Err(Unusable::Foreign) => Ok(None),
        Err(why) => Err(told(io::Error::other(why))),
    }
}

/// Why a cache is not ended.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum EndError {
    /// It holds what its disk has not.
    #[error("{0} blocks are dirty still: the cache was not ended")]
    Dirty(u64),
    /// It cannot be told what it holds.
    #[error("{}: {error}", path.display())]
    Recover {
        /// The SSD.
        path: PathBuf,
        /// Why.
        error: RecoverError<io::Error>,
    },
    /// The SSD.
    #[error(transparent)]
    File(#[from] FileError),
}

/// Ends a cache that holds nothing its disk has not: the SSD is no cache any more.
///
/// # Errors
/// If it is dirty, cannot be read or cannot be written. It is still a cache then.
pub fn end(ssd: &Device) -> Result<(), EndError> {
    let found = recover(&mut { ssd })
        .map_err(|error| EndError::Recover { path: ssd.path().to_owned(), error })?;
    match found.dirty_blocks() {
        0 => Ok(destroy(ssd)?),
        blocks => Err(EndError::Dirty(blocks)),
    }
}

/// Ends a cache with everything that it holds.
///
/// # Errors
/// If the SSD cannot be written.
pub fn destroy(ssd: &Device) -> Result<(), FileError> {
    for copy in Copy::BOTH {
        ssd.write(copy.superblock_page(), &[0; PAGE_BYTES])?;
    }
    ssd.flush()
}
