//! Why an engine cannot begin.

use thiserror::Error;

/// Why an engine cannot begin.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The cache is of another size than the SSD.
    #[error("the SSD has {ssd} slots and the cache was made with {cache}")]
    Slots {
        /// According to the superblock.
        ssd: u64,
        /// Of the cache.
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
        /// Of the disk.
        disk_blocks: u64,
    },
    /// More blocks than slots.
    #[error("the SSD holds {0} blocks and has fewer slots")]
    TooMany(usize),
    /// An SSD is to be put in, and the one before is not out.
    #[error("the SSD before it is not out yet")]
    NotOut,
    /// An SSD is to be put in that holds blocks.
    #[error("the SSD to be put in holds {0} blocks; make a new cache on it")]
    NotEmpty(usize),
    /// The disk does not grow.
    #[error(
        "the disk cannot grow to {0} blocks now: it has as many, the SSD has failed, or they are more than 64 PiB"
    )]
    Grow(u64),
    /// The policy needs to know the future.
    #[error("this policy needs to know the future: it runs in the simulator only")]
    Future,
}
