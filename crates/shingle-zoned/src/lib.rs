//! Zoned disks behind one trait, [`ZonedDisk`]: host-managed block devices, files and other block devices that are
//! written like one, and disks in memory that fail by seed.
//!
//! ```text
//!                       Zones: the rules, pure                      state
//!            ┌────────────────┼──────────────────┐
//!       MemoryDisk        HeadDisk            BlockDisk
//!     faults by seed     table in a        ioctls of the
//!                        head              kernel
//! ```
//!
//! - [`Zones`] is the state machine of zones: which commands are refused, which zones are open,
//!   where write pointers are.
//! - [`create`] creates a file that is a zoned disk, [`create_on`] makes one of a block device
//!   without zones; [`open`] opens these and host-managed devices; [`open_read_only`] opens them for
//!   inspection.
//! - [`MemoryDisk`] loses its power, or its host, as [`Faults`] say.
//!
//! It opens files and devices with `shingle-device`, but is a crate of its own: tests of all code
//! that writes to zones use the rules and the disk in memory, and need no io_uring. This crate must
//! not know what is written where.
//!
//! ```
//! use shingle_core::units::{Block, Zone};
//! use shingle_engine::buffer::zeroed;
//! use shingle_zoned::{Condition, Geometry, Reason, ZonedDisk as _, create, open};
//!
//! let folder = tempfile::tempdir()?;
//! let path = folder.path().join("disk.zoned");
//! // Eight zones of 64 KiB, one of them conventional.
//! create(&path, &Geometry { conventional_zones: 1, ..Geometry::new(8, 16) })?;
//!
//! let disk = open(&path)?;
//! disk.write(Block(48), &[zeroed(), zeroed()])?;
//! let error = disk.write(Block(48), &[zeroed()]).expect_err("not at the write pointer");
//! assert!(matches!(error.reason, Reason::NotAtPointer { pointer: Block(50) }));
//! disk.flush()?;
//! drop(disk);
//!
//! let zone = open(&path)?.report(Zone(3), 1)?[0];
//! assert_eq!((zone.condition, zone.write_pointer), (Condition::Closed, Some(2)));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

// Casts lose nothing: zones and places in them have 32 bits: see `Geometry::check`.

mod cut;
mod disk;
mod error;
mod faults;
mod geometry;
pub mod head;
pub mod kernel;
mod memory;
mod on_device;
mod open;
mod read_only;
mod zone;
mod zones;

pub use cut::after_power_cut;
pub use disk::{ZoneCommand, ZonedDisk};
pub use error::{Operation, Reason, Refused, ZonedError};
pub use faults::{Fault, Faults};
pub use geometry::{Geometry, GeometryError, ReadsBeyond};
pub use head::{HeadDisk, OpenError, create, create_failed, create_on, geometry_on};
pub use kernel::BlockDisk;
pub use memory::MemoryDisk;
pub use on_device::{Backing, OnDevice};
pub use open::{
    check_written_anywhere, is_in_use, is_zoned, open, open_device, open_read_only, open_with_head,
};
pub use read_only::ReadOnlyDisk;
pub use zone::{Condition, ZoneReport};
pub use zones::{ZoneState, Zones};
