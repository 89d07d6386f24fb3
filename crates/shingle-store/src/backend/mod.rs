//! A store over files and block devices: a thread that owns the engine, and what other threads want of it.

mod handle;
mod ready;
mod run;

pub use handle::{Answer, Handle};
pub use ready::{Ready, StoreError};
pub use run::{Left, Store};
