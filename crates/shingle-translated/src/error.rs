//! What goes wrong: when a disk is formatted, when it is opened, and while it is used. Each displays as one line.

use std::ops::Range;

use shingle_zoned::ZonedError;
use uuid::Uuid;

/// Why a zoned disk was not formatted. It is as it was, unless its writes failed half-way.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FormatError {
    /// There is a map already.
    #[error(
        "{disk} has a map already (UUID {uuid}): formatting gives up all that is on the disk; ask for it by force"
    )]
    HasMap {
        /// The disk, as it was named.
        disk: String,
        /// Of that map, as text.
        uuid: String,
    },
    /// The disk belongs to a cache, whose SSD may have what it lacks.
    #[error(
        "{disk}: is the disk of cache {cache}, and all that it holds, and what only the SSD of that cache has, would be lost; \
         if nobody needs it, say --destroy {cache}"
    )]
    OfCache {
        /// The disk, as it was named.
        disk: String,
        /// The cache.
        cache: Uuid,
    },
    /// The disk does not belong to the cache that may be destroyed.
    #[error("{disk}: --destroy {typed} is not a cache that this disk belongs to")]
    AnotherCache {
        /// The disk, as it was named.
        disk: String,
        /// What was typed.
        typed: Uuid,
    },
    /// No such translation or parameter, or a layout that leaves the translation no room.
    #[error("{0}")]
    Translation(String),
    /// The disk has too few zones of some kind.
    #[error("{disk}: {what}")]
    NoRoom {
        /// The disk, as it was named.
        disk: String,
        /// What there is, and what would be needed.
        what: String,
    },
    /// The disk failed.
    #[error(transparent)]
    Disk(#[from] ZonedError),
}

/// Why a formatted disk was not opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// There is no map on it.
    #[error("{disk} has no map of a translation; format it first")]
    NotFormatted {
        /// The disk, as it was named.
        disk: String,
    },
    /// The map was made by a program to come, or is of another disk.
    #[error("{disk}: {what}")]
    Unusable {
        /// The disk, as it was named.
        disk: String,
        /// What does not fit.
        what: String,
    },
    /// Both copies of something are bad. Nothing was changed.
    #[error(
        "{disk}: the map is damaged: {what}; nothing was changed, and `shingle zoned check {disk}` says what can be saved, and \
         how"
    )]
    Damaged {
        /// The disk, as it was named.
        disk: String,
        /// Which page, in which blocks of the disk, and what is wrong with it.
        what: String,
    },
    /// The disk failed.
    #[error(transparent)]
    Disk(#[from] ZonedError),
}

/// What kind of failure it is, for those who answer with a number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum LiveErrorKind {
    /// The blocks are not on the disk: EINVAL.
    OutOfRange,
    /// What these blocks held is lost, until they are written again: EIO.
    Lost,
    /// There is no room for what the map would have to say: ENOSPC.
    Full,
    /// Something failed before, and could not be put right; or these blocks are not what was written last: EIO.
    Failed,
    /// The disk did not carry an I/O out: EIO.
    Disk,
}

/// Blocks of the host with which something was to be done, and why it was not.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{}{cause}", of_blocks(range))]
pub struct LiveError {
    /// The host's blocks; empty where no blocks were named.
    pub range: Range<u64>,
    /// What it is.
    pub kind: LiveErrorKind,
    /// In words: the command, the zone, the block of the disk, what the device said.
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
