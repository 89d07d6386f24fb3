//! Reasons to distrust a disk, and how they are reported to an operator.

use std::fmt;
use std::path::PathBuf;

use shingle_core::units::Block;
use thiserror::Error;
use uuid::Uuid;

/// A reason to distrust a disk.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Doubt {
    /// It was changed since the cache was shut down.
    Changed,
    /// It is another zoned disk than that of the cache, or was formatted since.
    NotIt,
    /// Blocks that are cached as clean differ on the disk.
    Differs {
        /// The blocks that differ.
        blocks: Vec<Block>,
        /// The number of blocks compared.
        compared: usize,
    },
    /// It was used with the same cache later.
    Later {
        /// The edition of the superblock in the mark of the disk.
        disk: u64,
        /// The edition of the cache.
        cache: u64,
    },
    /// The cache was used later, without this disk.
    Earlier {
        /// The edition of the superblock in the mark of the disk.
        disk: u64,
        /// The edition of the last start of the cache.
        cache: u64,
    },
    /// It was last used with another cache.
    Another(Uuid),
    /// A cache was detached from it, or it was served alone, on behalf of an operator who gave up
    /// its SSD.
    Alone,
}

impl fmt::Display for Doubt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Doubt::Changed => write!(f, "was written without its cache since that was shut down"),
            Doubt::NotIt => {
                write!(
                    f,
                    "is not the disk of this cache, or was formatted since the cache was made"
                )
            }
            Doubt::Differs { blocks, compared } => {
                const NAMED: usize = 5;
                let named: Vec<String> =
                    blocks.iter().take(NAMED).map(|block| block.0.to_string()).collect();
                let more = match blocks.len().saturating_sub(NAMED) {
                    0 => String::new(),
                    more => format!(" and {more} more"),
                };
                write!(
                    f,
                    "was written without its cache, or this is an older copy of the cache: of \
                     {compared} blocks compared these are not as they are cached: {}{more}",
                    named.join(", ")
                )
            }
            Doubt::Later { disk, cache } => write!(
                f,
                "was used with a newer copy of this cache, or with the SSD that takes its place (edition {disk}; this one has {cache})"
            ),
            Doubt::Earlier { disk, cache } => write!(
                f,
                "is an older copy of the disk, or not the one that this cache was used with last: it knows edition {disk} of the cache, which \
                 was used since as edition {cache}"
            ),
            Doubt::Alone => {
                write!(
                    f,
                    "belongs to no cache any more: one was detached from it since, or it was served without its SSD (`zoned serve \
                     --without-ssd`)"
                )
            }
            Doubt::Another(uuid) => write!(f, "was last used with another cache, {uuid}"),
        }
    }
}

/// The error for a disk that is not written unless the operator confirms that it is the right one.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[error(
    "{}: {doubt}; what is cached may be stale{}. If it is the right disk, --trust-disk uses it \
     nevertheless{}; `create --destroy {uuid}` makes a new cache for it{}", disk.display(),
    match dirty_blocks {
        0 => String::new(),
        1 => ", and 1 block is on the SSD only".to_owned(),
        n => format!(", and {n} blocks are on the SSD only"),
    },
    if *dirty_blocks > 0 { " and writes that to it" } else { "" },
    if *dirty_blocks > 0 { " and gives that up" } else { "" },
)]
pub struct Distrusted {
    /// The disk.
    pub disk: PathBuf,
    /// The cache.
    pub uuid: Uuid,
    /// The reason.
    pub doubt: Doubt,
    /// The number of dirty blocks.
    pub dirty_blocks: u64,
}
