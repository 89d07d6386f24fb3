//! The store: the policies of the simulator over real files and devices, crash-safe.

pub mod format;
