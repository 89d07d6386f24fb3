//! A store over files and block devices: a thread that owns the engine, its ring of I/O, and what
//! other threads want of it.

mod file;
mod handle;
pub(crate) mod lock;
mod mark;
mod medium;
mod ready;
mod ring;
mod run;

pub use file::{Create, Device, FileError, create, read_superblock, write_superblock};
pub use handle::{Answer, Handle};
pub use mark::Mark;
pub use medium::{Direct, Medium};
pub use ready::{Ready, StoreError};
pub use run::{Left, Store};
