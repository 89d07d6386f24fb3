//! Files and block devices, as disks and SSDs: opened and locked by one process, measured, read and
//! written without the page cache, if the file system supports that.
//!
//! - [`Device`] is a file or block device that no other process can open. [`Direct`] does its I/O, one at a time.
//! - [`DeviceIo`] does the I/O of an engine on two devices: by io_uring, or by threads where the
//!   system does not allow it.
//! - [`Medium`] is something in place of a disk, such as an emulated drive; [`MediumThreads`] run
//!   it.
//! - [`Volume`] is a disk that is made of another one.
//! - [`Lanes`] are threads for jobs of a disk: one for jobs that change it, several for reads, and
//!   idle time between jobs.
//! - [`Worker`] is a thread whose panic is an error.
//! - [`IoError`] says what failed: the device, the operation, its place, and the error of the
//!   system.
//! - [`RepeatLimiter`] limits the reports of similar errors.
//! - [`Mark`], [`fingerprint`] and [`signature`] identify a disk and what is on it.
//!
//! This crate does not know what a cache is, or what is on its SSD; `shingle-store` does.
//!
//! ```
//! use shingle_core::units::Block;
//! use shingle_device::{Device, DeviceError};
//!
//! let file = tempfile::NamedTempFile::new()?;
//! file.as_file().set_len(1 << 20)?;
//! let disk = Device::open(file.path())?;
//! assert_eq!(disk.blocks(), 256);
//! disk.write(7, &[1; 4096])?;
//! disk.flush()?;
//! let mut page = [0; 4096];
//! disk.read_block(Block(7), &mut page)?;
//! assert_eq!(page, [1; 4096]);
//! // No other process can open it meanwhile.
//! assert!(matches!(Device::open(file.path()), Err(DeviceError::Busy(_))));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

// Casts lose nothing: places in memory.

mod device;
mod device_io;
mod direct;
mod done;
mod error;
mod fingerprint;
mod lanes;
mod lock;
mod loops;
mod mark;
mod medium;
mod page_reader;
mod place;
mod repeat_limiter;
mod room;
mod same;
mod signature;
mod volume;
mod worker;

pub use device::{Device, DeviceError, deleted};
pub use device_io::{DeviceIo, IoFile, IoMethod};
pub use direct::Direct;
pub use done::Done;
pub use error::{IoError, Operation, cause};
pub use fingerprint::{
    Fingerprint, SAMPLED_FIRST_BLOCKS, fingerprint, fingerprint_of, sampled_blocks,
};
pub use lanes::{IDLE_AFTER, Lanes, MainLane, READERS, ReadLane};
pub use lock::{is_locked, open_unlocked};
pub use loops::is_in_use;
pub use mark::Mark;
pub use medium::{Medium, MediumThreads, Reader};
pub use place::Place;
pub use repeat_limiter::{RepeatLimiter, Repeats};
pub use same::is_same;
pub use signature::{SIGNATURE_PAGES, ZONED, erase_end, signature, signature_in};
pub use volume::{Volume, VolumeMedium};
pub use worker::{Worker, panicked, start_thread};
