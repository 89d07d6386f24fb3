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
    /// There is no such parameter.
    #[error("No parameter `{name}`; there are {names}")]
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
