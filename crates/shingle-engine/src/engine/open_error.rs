//! Errors of opening an engine, or of changing its cache, SSD or disk.

use thiserror::Error;

/// An error of opening an engine, or of changing its cache, SSD or disk.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
#[allow(missing_docs)] // the messages say it
pub enum OpenError {
    #[error("the SSD has {ssd} slots and the cache was made with {cache}")]
    Slots { ssd: u64, cache: u64 },
    #[error("two frames hold block {0}: the SSD contradicts itself")]
    Twice(u64),
    #[error("the SSD holds block {block} of a disk that has {disk_blocks}")]
    Beyond {
        block: u64,
        /// The size of the disk in blocks.
        disk_blocks: u64,
    },
    #[error("the SSD holds {0} blocks and has fewer slots")]
    TooMany(usize),
    #[error("the SSD before it is not out yet")]
    NotOut,
    #[error("the SSD to be put in holds {0} blocks; make a new cache on it")]
    NotEmpty(usize),
    #[error(
        "the disk cannot grow to {0} blocks now: it has as many, the SSD has failed, or they are more than 64 PiB"
    )]
    Grow(u64),
    #[error("this policy needs to know the future: it runs in the simulator only")]
    Future,
}
