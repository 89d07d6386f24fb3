//! Errors of formatting, opening and using a disk. Each displays as one line.

use std::ops::Range;

use shingle_zoned::ZonedError;
use uuid::Uuid;

/// Why a zoned disk was not formatted. It is unchanged, unless its writes failed half-way.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FormatError {
    /// There is a map already.
    #[error(
        "{disk} has a map already (UUID {uuid}): formatting gives up all that is on the disk; ask for it by force"
    )]
    HasMap {
        /// The path of the disk.
        disk: String,
        /// The UUID of that map.
        uuid: String,
    },
    /// The disk belongs to a cache, whose SSD may have dirty blocks.
    #[error(
        "{disk}: is the disk of cache {cache}, and all that it holds, and what only the SSD of that cache has, would be lost; \
         if it is not needed, say --destroy {cache}"
    )]
    OfCache {
        /// The path of the disk.
        disk: String,
        /// The cache.
        cache: Uuid,
    },
    /// The disk does not belong to the cache that may be destroyed.
    #[error("{disk}: --destroy {typed} is not a cache that this disk belongs to")]
    AnotherCache {
        /// The path of the disk.
        disk: String,
        /// The UUID that was given.
        typed: Uuid,
    },
    /// The translation or a parameter does not exist, or the layout leaves the translation no
    /// space.
    #[error("{0}")]
    Translation(String),
    /// The disk has too few zones of some kind.
    #[error("{disk}: {what}")]
    NoRoom {
        /// The path of the disk.
        disk: String,
        /// What there is, and what is needed.
        what: String,
    },
    /// The disk failed.
    #[error(transparent)]
    Disk(#[from] ZonedError),
}

/// Why a formatted disk cannot be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// There is no map.
    #[error("{disk} has no map of a translation; format it first")]
    NotFormatted {
        /// The path of the disk.
        disk: String,
    },
    /// The map has a later version, or is of another disk.
    #[error("{disk}: {what}")]
    Unusable {
        /// The path of the disk.
        disk: String,
        /// What does not match.
        what: String,
    },
    /// Both copies of a page are damaged. Nothing was changed.
    #[error(
        "{disk}: the map is damaged: {what}; nothing was changed, and `shingle zoned check {disk}` says what can be saved, and \
         how"
    )]
    Damaged {
        /// The path of the disk.
        disk: String,
        /// The page, its blocks on the disk, and what is wrong with it.
        what: String,
    },
    /// The disk failed.
    #[error(transparent)]
    Disk(#[from] ZonedError),
}

/// The kind of a failure, for callers that return a number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum LiveErrorKind {
    /// The blocks are beyond the end of the disk: EINVAL.
    OutOfRange,
    /// The data of these blocks is lost, until they are written again: EIO.
    Lost,
    /// There is no space for further records of the map: ENOSPC.
    Full,
    /// An earlier failure could not be repaired, or these blocks are not the last version: EIO.
    Failed,
    /// The disk failed to carry out an I/O: EIO.
    Disk,
}

/// A failed operation on blocks of the host.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{}{cause}", of_blocks(range))]
pub struct LiveError {
    /// The blocks of the host; empty if the operation names none.
    pub range: Range<u64>,
    /// The kind.
    pub kind: LiveErrorKind,
    /// A description: the command, the zone, the block of the disk, the error of the device.
    pub cause: String,
}

fn of_blocks(range: &Range<u64>) -> String {
    match range.end.saturating_sub(range.start) {
        0 => String::new(),
        1 => format!("block {} of the translated disk: ", range.start),
        _ => format!("blocks {} to {} of the translated disk: ", range.start, range.end - 1),
    }
}

impl LiveError {
    pub(crate) fn new(range: Range<u64>, kind: LiveErrorKind, cause: impl ToString) -> LiveError {
        LiveError { range, kind, cause: cause.to_string() }
    }
}
