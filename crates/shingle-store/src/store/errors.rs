//! The errors of operations on caches.

use std::io;
use std::path::PathBuf;

use shingle_core::size::show_bytes;
use shingle_device::DeviceError;
use shingle_engine::format::layout::Layout;
use shingle_engine::format::superblock::SETTINGS_BYTES_MAX;
use shingle_engine::recover::RecoverError;
use shingle_engine::settings::SettingsError;
use shingle_nbd::listen::ListenError;
use thiserror::Error;
use uuid::Uuid;

use super::control::ControlError;
use super::doubt::Distrusted;
use super::moved::Moved;
use super::occupant::Occupant;
use super::reload::ReloadError;
use super::unserved::UnservedError;
use crate::backend::StoreError;
use crate::ublk::UblkError;

/// Why no cache was created. Nothing was changed, unless the SSD failed.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum CreateError {
    /// There is a cache already.
    #[error("{}: {found}; to destroy it, say --destroy {}", path.display(), found.uuid)]
    Occupied {
        /// The SSD.
        path: PathBuf,
        /// The cache on it.
        found: Occupant,
    },
    /// The cache there is another one than the one that may be destroyed.
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
    /// The SSD is the disk of a cache.
    #[error(
        "{}: is the disk of cache {uuid}, and all that it holds would be lost; if it is not needed, say --destroy {uuid}",
        path.display()
    )]
    Disk {
        /// What was to be the SSD.
        path: PathBuf,
        /// The cache.
        uuid: Uuid,
    },
    /// The cache that was here has moved: an operator may be looking for it.
    #[error("{}: {moved}; to make another one here say --overwrite", path.display())]
    Moved {
        /// The SSD.
        path: PathBuf,
        /// Where it went.
        moved: Moved,
    },
    /// The file contains data.
    #[error("{}: this file holds data, and no cache; to write over it say --overwrite", path.display())]
    Data {
        /// The SSD.
        path: PathBuf,
    },
    /// The SSD contains other data.
    #[error(
        "{}: there is {found}; to destroy it say --overwrite",
        path.display()
    )]
    Foreign {
        /// The SSD.
        path: PathBuf,
        /// The kind of data.
        found: &'static str,
    },
    /// The disk is the SSD of a cache.
    #[error("{}: {found}, so it is no disk; are --cache and --disk swapped?", path.display())]
    Swapped {
        /// The disk.
        path: PathBuf,
        /// The cache on it.
        found: Occupant,
    },
    /// The SSD is too small for a cache.
    #[error(
        "{path} has {}: too small for a cache, which needs at least {}",
        show_bytes(*found), show_bytes(Layout::ssd_bytes_min())
    )]
    TooSmall {
        /// The SSD.
        path: PathBuf,
        /// Its size.
        found: u64,
    },
    /// The size of the disk is not supported.
    #[error("{path} has {found} B: a disk has whole blocks of 4096 bytes, and less than 64 PiB")]
    Uneven {
        /// The disk.
        path: PathBuf,
        /// Its size.
        found: u64,
    },
    /// Policy and parameters are too long to be stored.
    #[error("policy and parameters take {0} bytes; there is room for {SETTINGS_BYTES_MAX}")]
    SettingsTooLong(usize),
    /// The settings contradict each other.
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// A file or device failed.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// The SSD cannot be read.
    #[error("{}: cannot be read: {error}", path.display())]
    Read {
        /// The SSD.
        path: PathBuf,
        /// The reason.
        error: io::Error,
    },
}

/// Why a cache was not deleted.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum EndError {
    /// It has dirty blocks.
    #[error("{0} blocks are dirty still: the cache was not ended")]
    Dirty(u64),
    /// It cannot be found out what it holds.
    #[error("{}: {error}", path.display())]
    Recover {
        /// The SSD.
        path: PathBuf,
        /// The reason.
        error: RecoverError<io::Error>,
    },
    /// The SSD was overwritten.
    #[error("{}: the cache {uuid} does not stand there any more: nothing was written", path.display())]
    Another {
        /// The SSD.
        path: PathBuf,
        /// The cache that was served.
        uuid: Uuid,
    },
    /// A device failed.
    #[error(transparent)]
    Device(#[from] DeviceError),
}

/// Why a cache is not served.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ServeError {
    /// The store cannot be opened.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A file or device failed.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// The settings in the superblock cannot be used.
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// The server cannot listen.
    #[error(transparent)]
    Listen(#[from] ListenError),
    /// Another process serves this cache, from another SSD: the one here is not in use.
    #[error(
        "cache {0} is served already, on another SSD: one of them is a copy; `shingle store status --cache {0}` says what is served"
    )]
    Copy(Uuid),
    /// The cache is not on this SSD any more.
    #[error(transparent)]
    NotThere(#[from] UnservedError),
    /// The cache is on what was named as the disk.
    #[error("{} holds no cache, and {} does: are --cache and --disk swapped?", ssd.display(), disk.display())]
    Swapped {
        /// What was named as the SSD.
        ssd: PathBuf,
        /// What was named as the disk.
        disk: PathBuf,
    },
    /// The cache was not deleted.
    #[error(transparent)]
    End(#[from] EndError),
    /// The disk is distrusted.
    #[error(transparent)]
    Distrusted(#[from] Distrusted),
    /// The store has ended by itself.
    #[error(
        "the store has failed: {0}; what was flushed is safe, and is there when the cache is served again"
    )]
    Failed(String),
    /// The caches cannot be served together.
    #[error(transparent)]
    Reload(#[from] ReloadError),
    /// The error of one of several exports.
    #[error("export `{name}`: {error}")]
    OfExport {
        /// Name of the export.
        name: String,
        /// The error.
        error: Box<ServeError>,
    },
    /// Some of several exports failed, each with a notice of its own.
    #[error("an export failed: see above")]
    SomeFailed,
    /// The SSD failed while it was served.
    #[error("the SSD has failed")]
    SsdFailed,
    /// The end of a cache was not recorded, and the disk does not have everything.
    #[error("{error}; keep the SSD: only it has what is dirty (blocks: {dirty_blocks})")]
    LeftDirty {
        /// Why it was not recorded.
        error: Box<ServeError>,
        /// The number of dirty blocks.
        dirty_blocks: u64,
    },
    /// The control socket failed.
    #[error(transparent)]
    Control(#[from] ControlError),
    /// The block device failed.
    #[error(transparent)]
    Ublk(#[from] UblkError),
    /// Data cached by the kernel for the block device was lost at the end.
    #[error(
        "what the kernel had cached of the block device could not be written, and is lost: {0}"
    )]
    Unwritten(io::Error),
    /// The system failed, or dirty blocks are left after everything possible was destaged.
    #[error(transparent)]
    System(#[from] io::Error),
}
