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
    /// The policy needs to know the future.
    #[error("this policy needs to know the future: it runs in the simulator only")]
    Future,
}
