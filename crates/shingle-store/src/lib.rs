//! The store: an engine of `shingle-engine` over real files and devices, and the operations of its
//! operators.
//!
//! - [`backend`] runs an engine: it carries out its I/O on files and devices, and tells it the
//!   time.
//! - [`store`] has the operations on caches: create, serve, status, check, stop, detach, export.
//! - [`measures`] has the measurements of a served cache.
//! - [`ublk`] exports a cache as a block device of the kernel.

// Casts lose nothing: slots and places in a block are small.

pub mod backend;
pub mod measures;
pub mod store;
pub mod ublk;
