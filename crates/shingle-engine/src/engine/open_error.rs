//! Errors of opening an engine, or of changing its cache, SSD or disk.

use thiserror::Error;

/// An error of opening an engine, or of changing its cache, SSD or disk.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The cache has another size than the SSD.
    #[error("the SSD has {ssd} slots and the cache was made with {cache}")]
    Slots {
        /// According to the superblock.
        ssd: u64,
        /// The slots of the cache.
        cache: u64,
    },
    /// Two frames hold the same block.
    #[error("two frames hold block {0}: the SSD contradicts itself")]
    Twice(u64),
    /// A block lies beyond the end of the disk.
    #[error("the SSD holds block {block} of a disk that has {disk_blocks}")]
    Beyond {
        /// The block.
        block: u64,
        /// The size of the disk in blocks.
        disk_blocks: u64,
    },
    /// More blocks than slots.
    #[error("the SSD holds {0} blocks and has fewer slots")]
    TooMany(usize),
    /// The old SSD is not out yet.
    #[error("the SSD before it is not out yet")]
    NotOut,
    /// The SSD to be put in holds blocks.
    #[error("the SSD to be put in holds {0} blocks; make a new cache on it")]
    NotEmpty(usize),
    /// The disk cannot grow to this size.
    #[error(
        "the disk cannot grow to {0} blocks now: it has as many, the SSD has failed, or they are more than 64 PiB"
    )]
    Grow(u64),
    /// The policy has to know the future.
    #[error("this policy needs to know the future: it runs in the simulator only")]
    Future,
}
