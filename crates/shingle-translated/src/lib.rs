//! A translation over a real zoned disk.
//!
//! [`shingle_translation`] decides where blocks are stored; [`shingle_zoned`] has the disks. This
//! crate carries out a translation on a disk, with a map on the disk that is consistent after any
//! crash.
//!
//! ```text
//!  read ─────────────────────────┐        write, trim, flush, idle: one work at a time
//!                                ▼                     │
//!        Whereabouts: host run ──► place     Executor over a translation
//!        zones: logical ──► physical    ◄──────────────┤ at commits, and at the end of works
//!                                                      ▼
//!        saved map: superblock, checkpoint, log; everything twice
//! ```
//!
//! - [`format()`] makes the map, [`LiveDisk::open`] recovers it, [`inspect()`] reads it,
//!   [`repair()`] repairs it.
//! - [`LiveDisk`] is the disk as its host sees it. Failures are handled while it is in use
//!   (`live/failing.rs`).
//!
//! With any translation a power cut loses nothing that was flushed: a zone that is rewritten moves
//! to a spare, and the old zone is given up once a map that no longer refers to it is durable.
//! Reading a block of a failed zone is an error, for exactly its blocks, until they are written
//! again.
//!
//! This crate must not know whether a disk is a device or a file, who its clients are, or how a
//! translation decides. Not supported: the translation is not told of reads, so orders by use count
//! writes only; works (not reads) wait while a checkpoint is written.
//!
//! ```
//! use shingle_core::units::Block;
//! use shingle_engine::buffer::zeroed;
//! use shingle_translated::{Format, LiveDisk, format};
//! use shingle_zoned::{Faults, Geometry, MemoryDisk};
//!
//! // 64 zones of 256 KiB, eight of them conventional.
//! let disk = MemoryDisk::new(Geometry { conventional_zones: 8, ..Geometry::new(64, 64) }, Faults::none());
//! format(&disk, &Format { translation: "fluid".to_owned(), ..Format::default() })?;
//!
//! let disk = LiveDisk::open(Box::new(disk))?;
//! let mut block = zeroed();
//! block.0[0] = 7;
//! disk.write(Block(1000), &[block])?; // anywhere
//! disk.flush()?;
//! let mut read = [zeroed()];
//! disk.read(Block(1000), &mut read)?;
//! assert_eq!((read[0].0[0], disk.status().map.runs), (7, 1));
//! disk.close()?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

// Casts lose nothing: zones and places in them have 32 bits: see `Geometry::check`.

// Without the feature no bug is used.
#[cfg_attr(not(feature = "bugs"), allow(dead_code, unreachable_pub))]
mod bugs;
mod error;
mod format;
mod inspect;
mod live;
mod lost;
mod repair;
mod saved;
mod status;
mod volume;
mod whereabouts;
mod zones;

#[cfg(feature = "bugs")]
pub use bugs::Bug;
pub use error::{FormatError, LiveError, LiveErrorKind, OpenError};
pub use format::{Format, Formatted, format};
pub use inspect::{Copy, Inspected, cache_of, inspect, uuid};
pub use live::LiveDisk;
pub use repair::repair;
pub use status::{BufferStatus, MapStatus, Pace, Progress, Status, WrittenStatus, ZonesStatus};
