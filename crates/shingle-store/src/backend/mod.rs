//! A store over files and block devices: a thread that owns the engine, its ring of I/O, and what
//! other threads want of it.

mod file;
mod medium;
mod ring;
mod run;

pub use file::{Create, Device, FileError, create, write_superblock};
pub use medium::{Direct, Medium};
pub use run::{Answer, Handle, Ready, Store, StoreError};
