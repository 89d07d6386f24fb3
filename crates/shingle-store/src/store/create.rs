//! A new cache on an SSD. The disk behind it is not touched: what it holds stays as it is.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use shingle_core::registry::Registry;
use shingle_device::{Device, DeviceError, Mark, fingerprint, signature};
use shingle_engine::format::layout::{Copy, Layout, SUPERBLOCKS};
use shingle_engine::format::superblock::{SETTINGS_BYTES_MAX, Superblock};
use shingle_engine::format::{PAGE_BYTES, Page, Unusable};
use shingle_engine::recover::{Pages, RecoverError, recover};
use shingle_engine::settings::{Settings, SettingsError};
use thiserror::Error;
use uuid::Uuid;

use super::format::{NewCache, format, read_superblock};

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
    /// The disk belongs to a cache on another SSD.
    #[error(
        "{}: belongs to another cache, {uuid}, which may hold data that the disk does not have; to \
         give that up, say --destroy {uuid}",
        path.display()
    )]
    Taken {
        /// The disk.
        path: PathBuf,
        /// The cache.
        uuid: Uuid,
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
    #[error("policy and parameters take {0} bytes; there is room for {SETTINGS_BYTES_MAX}")]
    SettingsTooLong(usize),
    /// The settings do not hold together.
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// A file or device.
    #[error(transparent)]
    Device(#[from] DeviceError),
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

/// What `create` may destroy.
#[derive(Clone, Copy, Default, Debug)]
pub struct Consent<'a> {
    /// Caches of these names, with what their disks do not have: the one on the SSD, and the one that the
    /// disk belongs to.
    pub destroy: &'a [Uuid],
    /// On the SSD a file system, a partition table or the like.
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
    consent: Consent<'_>,
) -> Result<Superblock, CreateError> {
    let path = ssd.path().to_owned();
    if let Some(layout) = Layout::for_ssd(ssd.bytes()) {
        settings.cache(registry, layout.slots as u32, disk.blocks())?;
    }
    let text = settings.to_text()?;
    let unread = |path: &Path| {
        let path = path.to_owned();
        move |error| CreateError::Read { path, error }
    };
    if let Some(found) = occupant(disk).map_err(unread(disk.path()))? {
        return Err(CreateError::Swapped { path: disk.path().to_owned(), found });
    }
    if !consent.overwrite
        && let Some(found) = signature(ssd).map_err(unread(&path))?
    {
        return Err(CreateError::Foreign { path, found });
    }
    let there = occupant(ssd).map_err(unread(&path))?;
    let given_up = |uuid: Uuid| consent.destroy.contains(&uuid);
    let here = there.as_ref().map(|found| found.uuid);
    // (Of a cache that is not here it cannot be told what it holds.)
    let elsewhere = Mark::of(disk)?.map(|mark| Uuid::from_bytes(mark.uuid));
    let elsewhere = elsewhere.filter(|&uuid| here != Some(uuid));
    if let Some(found) = there {
        let mut typed = consent.destroy.iter().copied().map(Some);
        if let Some(Some(typed)) = typed.find(|&typed| typed != here && typed != elsewhere) {
            return Err(CreateError::Another { path, typed });
        }
        if !given_up(found.uuid) && found.dirty_blocks != Some(0) {
            return Err(CreateError::Occupied { path, found });
        }
    }
    if let Some(uuid) = elsewhere.filter(|&uuid| !given_up(uuid)) {
        return Err(CreateError::Taken { path: disk.path().to_owned(), uuid });
    }
    let uuid = Uuid::new_v4().into_bytes();
    let new = NewCache { uuid, fingerprint: fingerprint(disk)?, settings: text };
    let made = format(ssd, disk, &new)?;
    // From now on the disk belongs to this one.
    Mark { uuid, edition: made.edition }.leave(disk)?;
    Ok(made)
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
    /// Somebody else has written to it.
    #[error("{}: the cache {uuid} does not stand there any more: nothing was written", path.display())]
    Another {
        /// The SSD.
        path: PathBuf,
        /// The cache that was served.
        uuid: Uuid,
    },
    /// A device.
    #[error(transparent)]
    Device(#[from] DeviceError),
}

/// Ends the cache of this name with everything that it holds: the SSD is no cache any more, and the disk belongs to
/// none.
///
/// # Errors
/// If another one stands there by now, the SSD cannot be read or written, or the mark of the disk not cleared.
pub fn destroy(ssd: &Device, disk: &Device, uuid: Uuid) -> Result<(), EndError> {
    let path = || ssd.path().to_owned();
    let (superblock, _) =
        read_superblock(ssd).map_err(|error| EndError::Recover { path: path(), error })?;
    if superblock.uuid != *uuid.as_bytes() {
        return Err(EndError::Another { path: path(), uuid });
    }
    for copy in Copy::BOTH {
        ssd.write(copy.superblock_page(), &[0; PAGE_BYTES])?;
    }
    ssd.flush()?;
    // Only now: a disk without a mark may be given to another cache.
    Ok(Mark::remove(disk)?)
}
