//! A store over files and block devices: a thread that owns the engine, and its messages from other
//! threads.

mod asking;
mod clock;
mod disk;
mod errors;
mod handle;
mod ready;
mod replies;
mod run;
mod store_error;
mod superblock;
mod tap;
mod waker;
mod watch;
mod zoned;

pub(crate) use asking::{Asked, Asking};
pub use disk::{Disk, DiskName};
pub(crate) use disk::{has_name, is_known};
pub use errors::{FailedIo, LastError, Tell};
pub use handle::Handle;
pub use ready::{Made, Ready, StartOptions};
pub use run::{ShutDown, Store};
pub use store_error::StoreError;
pub(crate) use superblock::{must_be_whole, superblock_pages, write_over_superblocks};
pub(crate) use tap::Batch;
pub use watch::Watch;
pub(crate) use zoned::zoned_cache;
pub use zoned::{open_disk, open_disk_read_only, open_pair, open_pair_read_only};
