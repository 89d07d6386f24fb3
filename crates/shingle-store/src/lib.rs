//! The store: the policies of the simulator over real files and devices, crash-safe.

pub mod format;
pub mod journal;
pub mod recover;
pub mod table;
