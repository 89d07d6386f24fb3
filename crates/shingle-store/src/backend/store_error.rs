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
#[allow(missing_docs)] // the messages say it
pub enum StoreError {
    #[error(transparent)]
    Device(#[from] DeviceError),
    #[error(transparent)]
    Zoned(#[from] shingle_zoned::OpenError),
    #[error(transparent)]
    Translated(#[from] shingle_translated::OpenError),
    #[error("cannot use the cache on {path}: {error}")]
    Recover { path: PathBuf, error: RecoverError<io::Error> },
    #[error("{error}; with --trust-disk, `export` writes to the disk what can still be read there")]
    Superblock { error: DeviceError },
    /// The disk does not take the mark of its cache: an older copy of the cache would not be
    /// noticed.
    #[error("{error}; --trust-disk uses it nevertheless")]
    Mark { error: DeviceError },
    #[error(transparent)]
    Open(#[from] OpenError),
    #[error("the store has ended")]
    Ended,
    #[error("cannot start the store: {0}")]
    Start(io::Error),
}
