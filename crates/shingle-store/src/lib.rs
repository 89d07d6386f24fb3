//! The store: an engine of `shingle-engine` over real files and devices, and what operators do with it.
//!
//! - [`backend`] runs an engine: it carries out its I/O on files and devices, and tells it the time.
//! - [`store`] has what operators do: create, serve, ask, check, stop, detach, export.
//! - [`measures`] has what is measured meanwhile.
//! - [`ublk`] makes a block device of the kernel from what is served.

// Casts lose nothing: slots and places in a block are small.

pub mod backend;
pub mod measures;
pub mod store;
pub mod ublk;
