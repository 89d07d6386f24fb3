//! Why a drive cannot be made.

use thiserror::Error;

/// Why a drive cannot be made. Displays as one line.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum DriveError {
    /// There is no such drive.
    #[error("there is no {kind} `{name}`; there are {names}")]
    UnknownDrive {
        /// `drive` or `SSD`.
        kind: &'static str,
        /// As asked for.
        name: String,
        /// Those there are, nearest first.
        names: String,
    },
    /// It is the maker's number of a disk, and no drive here.
    #[error(
        "`{name}` is a disk, and no model of it is here: {disk} (its source: `shingle list disks '{name}'`); take the \
         nearest model, -d {nearest}, or probe yours, `shingle probe DEVICE --profile FILE`, and take -d profile:FILE"
    )]
    RealDisk {
        /// As asked for.
        name: String,
        /// Maker, line, size and kind.
        disk: String,
        /// The drive that is nearest.
        nearest: String,
    },
    /// There is no such parameter.
    #[error("no parameter `{name}`; there are {names}")]
    UnknownParameter {
        /// As asked for.
        name: String,
        /// Those there are, nearest first.
        names: String,
    },
    /// The value is none the parameter can have.
    #[error("{0}")]
    BadValue(String),
    /// The drive cannot do what was asked.
    #[error("{0}")]
    Refused(String),
}
