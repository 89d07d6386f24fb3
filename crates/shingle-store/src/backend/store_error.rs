//! The errors of opening a store.

use std::io;
use std::path::PathBuf;

use shingle_device::DeviceError;
use shingle_engine::OpenError;
use shingle_engine::recover::RecoverError;
use thiserror::Error;

/// Why a store cannot be opened.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum StoreError {
    /// A file or device failed.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// A zoned disk cannot be opened.
    #[error(transparent)]
    Zoned(#[from] shingle_zoned::OpenError),
    /// The map of a zoned disk cannot be used.
    #[error(transparent)]
    Translated(#[from] shingle_translated::OpenError),
    /// The cache on the SSD cannot be recovered.
    #[error("cannot use the cache on {path}: {error}")]
    Recover {
        /// The SSD.
        path: PathBuf,
        /// The reason.
        error: RecoverError<io::Error>,
    },
    /// The superblock cannot be written before the disk changes.
    #[error("{error}; with --trust-disk, `export` writes to the disk what can still be read there")]
    Superblock {
        /// The reason.
        error: DeviceError,
    },
    /// The disk does not take the mark of its cache: an older copy of the cache would not be
    /// noticed.
    #[error("{error}; --trust-disk uses it nevertheless")]
    Mark {
        /// The reason.
        error: DeviceError,
    },
    /// The cache and the SSD do not fit together.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The store has ended.
    #[error("the store has ended")]
    Ended,
    /// The thread or its doorbell cannot be made.
    #[error("cannot start the store: {0}")]
    Start(io::Error),
}
