//! Why a probe ended without an answer.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

use crate::target::TargetError;

/// Why a probe ended without an answer. Displays as one line.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ProbeError {
    /// The disk failed, or the user had enough.
    #[error(transparent)]
    Target(#[from] TargetError),
    /// The record of measurements cannot be read or written.
    #[error("{0}: {1}")]
    Record(PathBuf, io::Error),
    /// Another probe writes it.
    #[error("{0}: another probe of this disk is under way; wait until it has ended")]
    RecordInUse(PathBuf),
    /// It is of another disk or other options.
    #[error(
        "{0} is a record of another disk or of other options; name another file with --record, or remove it"
    )]
    OtherSubject(PathBuf),
    /// It is none.
    #[error("{0}, line {1}: no record of a probe: {2}")]
    BadRecord(PathBuf, usize, String),
    /// A line of it is damaged.
    #[error(
        "{0}, line {1}: it is damaged: {2}; a copy that ends before this line is a record from which the same command goes on"
    )]
    DamagedRecord(PathBuf, usize, serde_json::Error),
    /// A measurement in it is none.
    #[error("{0}: measurement `{1}` cannot be read: {2}")]
    BadMeasurement(PathBuf, String, serde_json::Error),
    /// A record was to be analysed that lacks something.
    #[error("the record ends before the probe did; run it again without --fit-only to go on")]
    NotMeasured,
    /// It exposes zones: its host decides what is cleaned.
    #[error("{0} exposes zones; there is no hidden buffer to empty")]
    Zoned(String),
    /// The disk has too little room for the method.
    #[error("{name} has {bytes} bytes: too small to be probed, which takes {needed} at least")]
    TooSmall {
        /// The disk.
        name: String,
        /// Its size.
        bytes: u64,
        /// The least.
        needed: u64,
    },
}
