//! The simulator: a trace, a cache and a drive make numbers. A run is a pure function of trace,
//! configuration and seed; only [`result::Wall`] tells real time.

#![allow(clippy::cast_possible_truncation)] // slots are u32 by construction, places in a request too

mod check;
pub mod counters;
mod device;
mod disk;
pub mod experiment;
pub mod flash;
pub mod future;
mod guard;
pub mod measured;
pub mod recorded;
pub mod requests;
pub mod response;
pub mod result;
pub mod run;
pub mod said;
pub mod store;
pub mod swept;
pub mod system;
pub mod target;
pub mod translated;
mod translating;
pub mod verdict;
pub mod watch;

pub use check::Stale;
pub use disk::Disk;
pub use translating::Translating;
