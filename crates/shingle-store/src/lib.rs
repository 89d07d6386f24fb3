//! The store: the policies of the simulator over real files and devices, crash-safe.
//!
//! [`engine`] is one state machine without a clock and without I/O: requests and completions go in,
//! I/O and replies come out. [`backend`] carries the I/O out on files and devices. [`journal`] and [`recover`] keep what the SSD says of itself, in the
//! [`format`](mod@format) that stands there.

#![allow(clippy::cast_possible_truncation)] // frames, slots and places in a block are small

pub mod backend;
pub mod buffer;
pub mod engine;
pub mod format;
pub mod journal;
pub mod recover;
pub mod store;
pub mod table;
