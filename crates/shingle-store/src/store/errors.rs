//! The errors of operations on caches.

use std::io;
use std::path::PathBuf;

use rustix::io::Errno;
use shingle_core::size::show_bytes;
use shingle_device::DeviceError;
use shingle_engine::format::layout::Layout;
use shingle_engine::format::superblock::SETTINGS_BYTES_MAX;
use shingle_engine::recover::RecoverError;
use shingle_engine::settings::SettingsError;
use shingle_nbd::listen::ListenError;
use shingle_zoned::OpenError;
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
#[allow(missing_docs)] // the messages say it
pub enum CreateError {
    #[error("{}: {found}; to destroy it, say --destroy {}", path.display(), found.uuid)]
    Occupied { path: PathBuf, found: Occupant },
    #[error("{}: --destroy {typed} is not the cache that is there", path.display())]
    Another { path: PathBuf, typed: Uuid },
    #[error(
        "{}: belongs to another cache, {uuid}, which may hold data that the disk does not have; to \
         give that up, say --destroy {uuid}",
        path.display()
    )]
    Taken { path: PathBuf, uuid: Uuid },
    #[error(
        "{}: is the disk of cache {uuid}, and all that it holds would be lost; if it is not needed, say --destroy {uuid}",
        path.display()
    )]
    Disk { path: PathBuf, uuid: Uuid },
    /// The cache that was here has moved: an operator may be looking for it.
    #[error("{}: {moved}; to make another one here say --overwrite", path.display())]
    Moved { path: PathBuf, moved: Moved },
    #[error("{}: this file holds data, and no cache; to write over it say --overwrite", path.display())]
    Data { path: PathBuf },
    #[error(
        "{}: there is {found}; to destroy it say --overwrite",
        path.display()
    )]
    Foreign { path: PathBuf, found: &'static str },
    #[error("{}: {found}, so it is no disk; are --cache and --disk swapped?", path.display())]
    Swapped { path: PathBuf, found: Occupant },
    #[error(
        "{path} has {}: too small for a cache, which needs at least {}",
        show_bytes(*found), show_bytes(Layout::ssd_bytes_min())
    )]
    TooSmall {
        path: PathBuf,
        /// Its size.
        found: u64,
    },
    #[error("{path} has {found} B: a disk has whole blocks of 4096 bytes, and less than 64 PiB")]
    Uneven {
        path: PathBuf,
        /// Its size.
        found: u64,
    },
    #[error("policy and parameters take {0} bytes; there is room for {SETTINGS_BYTES_MAX}")]
    SettingsTooLong(usize),
    #[error(transparent)]
    Settings(#[from] SettingsError),
    #[error(transparent)]
    Device(#[from] DeviceError),
    #[error("{}: cannot be read: {error}", path.display())]
    Read { path: PathBuf, error: io::Error },
    /// The SSD is host-managed, or may be.
    #[error(transparent)]
    Zoned(#[from] OpenError),
}

/// Why a cache was not deleted.
#[derive(Debug, Error)]
#[non_exhaustive]
#[allow(missing_docs)] // the messages say it
pub enum EndError {
    #[error("{0} blocks are dirty still: the cache was not ended")]
    Dirty(u64),
    #[error("{}: {error}", path.display())]
    Recover { path: PathBuf, error: RecoverError<io::Error> },
    #[error("{}: the cache {uuid} does not stand there any more: nothing was written", path.display())]
    Another { path: PathBuf, uuid: Uuid },
    #[error(transparent)]
    Device(#[from] DeviceError),
}

/// Why a cache is not served.
#[derive(Debug, Error)]
#[non_exhaustive]
#[allow(missing_docs)] // the messages say it
pub enum ServeError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Device(#[from] DeviceError),
    #[error(transparent)]
    Settings(#[from] SettingsError),
    #[error(transparent)]
    Listen(#[from] ListenError),
    #[error(
        "cache {0} is served already, on another SSD: one of them is a copy; `shingle store status --cache {0}` says what is served"
    )]
    Copy(Uuid),
    #[error(transparent)]
    NotThere(#[from] UnservedError),
    #[error("{} holds no cache, and {} does: are --cache and --disk swapped?", ssd.display(), disk.display())]
    Swapped { ssd: PathBuf, disk: PathBuf },
    #[error(transparent)]
    End(#[from] EndError),
    #[error(transparent)]
    Distrusted(#[from] Distrusted),
    #[error(
        "the store has failed: {0}; what was flushed is safe, and is there when the cache is served again"
    )]
    Failed(String),
    #[error(transparent)]
    Reload(#[from] ReloadError),
    #[error("an export has failed: see above")]
    SomeFailed,
    #[error("no export can be served: see above")]
    NoneServed,
    #[error("the SSD has failed")]
    SsdFailed,
    #[error("{error}; keep the SSD: only it has what is dirty (blocks: {dirty_blocks})")]
    LeftDirty {
        error: Box<ServeError>,
        /// The number of dirty blocks.
        dirty_blocks: u64,
    },
    #[error(transparent)]
    Control(#[from] ControlError),
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

impl ServeError {
    /// Whether it may pass by itself: a device is not there yet, or in use. Any other needs somebody, who may be working on
    /// the devices: until told so, nobody else opens them.
    pub(super) fn may_pass(&self) -> bool {
        match self {
            ServeError::Device(error)
            | ServeError::Store(
                StoreError::Device(error) | StoreError::Zoned(OpenError::Device(error)),
            ) => match error {
                DeviceError::Missing(_) | DeviceError::Busy(_) => true,
                // A node may be there before its device, or before its group is set.
                DeviceError::Write { error, .. } | DeviceError::System { error, .. } => matches!(
                    Errno::from_io_error(error),
                    Some(Errno::NXIO | Errno::NODEV | Errno::NOMEDIUM | Errno::ACCESS)
                ),
                _ => false,
            },
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of a disk that is plugged in, the node appears first, then its group, and a card reader has one without a card.
    #[test]
    fn a_device_that_is_not_ready_is_tried_again() {
        let write = |errno: Errno| {
            let (path, error) = (PathBuf::from("/dev/sdz"), io::Error::from(errno));
            ServeError::Device(DeviceError::Write { path, error })
        };
        for errno in [Errno::NXIO, Errno::NODEV, Errno::NOMEDIUM, Errno::ACCESS] {
            assert!(write(errno).may_pass(), "{errno}");
        }
        assert!(!write(Errno::ROFS).may_pass());
        assert!(!ServeError::NoneServed.may_pass());
    }
}
