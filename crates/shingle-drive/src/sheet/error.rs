//! The error for a drive that cannot be created.

use thiserror::Error;

/// The reason why a drive cannot be created. Displays as one line.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum DriveError {
    /// There is no such drive.
    #[error("there is no {kind} `{name}`; there are {names}")]
    UnknownDrive {
        /// `drive` or `SSD`.
        kind: &'static str,
        /// The requested name.
        name: String,
        /// Those there are, nearest first.
        names: String,
    },
    /// The name is the maker's number of a disk that is not modelled.
    #[error(
        "`{name}` is a disk, and no model of it is here: {disk} (its source: `shingle list disks '{name}'`); take the \
         nearest model, -d {nearest}, or probe yours, `shingle probe DEVICE --profile FILE`, and take -d profile:FILE"
    )]
    RealDisk {
        /// The requested name.
        name: String,
        /// Maker, line, size and kind.
        disk: String,
        /// The nearest modelled drive.
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
    /// The parameter cannot have this value.
    #[error("{0}")]
    BadValue(String),
    /// The drive does not support the request.
    #[error("{0}")]
    Refused(String),
}
