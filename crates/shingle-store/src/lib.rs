//! The store: an engine of `shingle-engine` over real files and devices, and what operators do with it.
//!
//! [`backend`] runs an engine: it carries its I/O out on files and devices, and tells it the time. [`store`]
//! has what operators do: create, serve, ask, check, stop, detach, export. [`measures`] are what is measured meanwhile.
//! [`ublk`] makes what is served a block device of the kernel.

#![allow(clippy::cast_possible_truncation)] // slots and places in a block are small

pub mod backend;
pub mod measures;
pub mod store;
pub mod ublk;
