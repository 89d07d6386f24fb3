//! Why there is no store.

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
    /// A file or device.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// A zoned disk.
    #[error(transparent)]
    Zoned(#[from] shingle_zoned::OpenError),
    /// Its map.
    #[error(transparent)]
    Translated(#[from] shingle_translated::OpenError),
    /// What stands on the SSD.
    #[error("cannot use the cache on {path}: {error}")]
    Recover {
        /// The SSD.
        path: PathBuf,
        /// Why.
        error: RecoverError<io::Error>,
    },
    /// The SSD cannot be told that the disk is about to change.
    #[error("{error}; with --trust-disk, `export` writes to the disk what can still be read there")]
    Superblock {
        /// Why.
        error: DeviceError,
    },
    /// The disk does not take the mark of its cache: an older copy of that would not be noticed.
    #[error("{error}; --trust-disk uses it nevertheless")]
    Mark {
        /// Why.
        error: DeviceError,
    },
    /// The cache and the SSD do not fit.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The policy.
    #[error("{0}")]
    Policy(String),
    /// No io_uring.
    #[error("this system does not allow io_uring ({0}): see sysctl kernel.io_uring_disabled")]
    Ring(io::Error),
    /// It is not there any more.
    #[error("the store has ended")]
    Ended,
    /// No thread, or no doorbell.
    #[error("cannot start the store: {0}")]
    Start(io::Error),
}
