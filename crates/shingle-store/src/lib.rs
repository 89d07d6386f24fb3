//! The store: an engine of `shingle-engine` over real files and devices, and the operations of its
//! operators.
//!
//! - [`backend`] runs an engine: it carries out its I/O on files and devices, and tells it the
//!   time.
//! - [`store`] has the operations on caches: create, serve, status, check, stop, detach, export.
//! - [`measures`] has the measurements of a served cache.
//! - [`ublk`] exports a cache as a block device of the kernel.
//!
//! A cache of 64 MiB before a disk of 256 MiB, both files, from its creation to its end:
//!
//! ```
//! use std::fs::File;
//!
//! use shingle_core::registry::Registry;
//! use shingle_device::Device;
//! use shingle_engine::settings::Settings;
//! use shingle_store::store::create::{Consent, create, destroy};
//! use shingle_store::store::unserved::status;
//! use uuid::Uuid;
//!
//! let folder = tempfile::tempdir()?;
//! let (ssd_path, disk_path) = (folder.path().join("ssd.img"), folder.path().join("disk.img"));
//! File::create(&ssd_path)?.set_len(64 << 20)?;
//! File::create(&disk_path)?.set_len(256 << 20)?;
//!
//! let (ssd, disk) = Device::open_pair(&ssd_path, &disk_path)?;
//! let none = Consent { destroy: &[], overwrite: false };
//! let made = create(&ssd, &disk, &Settings::new("sac"), &Registry::default(), none)?;
//! drop((ssd, disk));
//! assert_eq!(status(&ssd_path)?.policy, "sac");
//!
//! let (ssd, disk) = Device::open_pair(&ssd_path, &disk_path)?;
//! destroy(&ssd, &disk, Uuid::from_bytes(made.uuid))?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! [`store::serve::Serving`] serves caches over NBD, and [`backend::Ready`] starts one without a server.

// Casts lose nothing: slots and places in a block are small.

pub mod backend;
pub mod measures;
pub mod store;
pub mod ublk;
