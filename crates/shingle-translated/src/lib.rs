//! A translation over a real zoned disk.
//!
//! [`shingle_translation`] decides where blocks lie; [`shingle_zoned`] is disks. Here the one is carried out over the other,
//! with a map on the disk that is whole after any crash.
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
//! - [`format()`] makes the map, [`LiveDisk::open`] recovers it, [`inspect()`] only looks.
//! - [`LiveDisk`] is the disk as its host sees it.

#![allow(clippy::cast_possible_truncation)] // zones and places in them have 32 bits: see `Geometry::check`

mod bugs;
mod error;
mod format;
mod inspect;
mod live;
mod ranges;
mod saved;
mod status;
mod volume;
mod whereabouts;
mod zones;

#[cfg(feature = "bugs")]
pub use bugs::Bug;
pub use error::{FormatError, LiveError, LiveErrorKind, OpenError};
pub use format::{Format, Formatted, format};
pub use inspect::{Copy, Inspected, inspect};
pub use live::LiveDisk;
pub use status::{BufferStatus, MapStatus, Status, WrittenStatus, ZonesStatus};
