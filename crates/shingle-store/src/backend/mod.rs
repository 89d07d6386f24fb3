//! A store over files and block devices: a thread that owns the engine, and what other threads want of it.

mod disk;
mod errors;
mod handle;
mod ready;
mod run;

pub use disk::Disk;
pub use errors::{LastError, Tell};
pub use handle::{Answer, Handle};
pub use ready::{Beside, Ready, StoreError};
pub use run::{ShutDown, Store};
