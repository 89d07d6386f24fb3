//! Errors of a probe.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

use crate::guard::TooSmall;
use crate::target::TargetError;

/// The reason why a probe ended without findings. Displays as one line.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ProbeError {
    /// The disk failed, or the user interrupted the probe.
    #[error(transparent)]
    Target(#[from] TargetError),
    /// The record of measurements cannot be read or written.
    #[error("{0}: {1}")]
    Record(PathBuf, io::Error),
    /// Another probe has the record open.
    #[error("{0}: another probe of this disk is under way; wait until it has ended")]
    RecordInUse(PathBuf),
    /// The record is of another disk or of other options.
    #[error(
        "{0} is a record of another disk or of other options; name another file with --record, or remove it"
    )]
    OtherSubject(PathBuf),
    /// The file is not a record.
    #[error("{0}, line {1}: no record of a probe: {2}")]
    BadRecord(PathBuf, usize, String),
    /// A line of the record is damaged.
    #[error(
        "{0}, line {1}: it is damaged: {2}; a copy that ends before this line is a record from which the same command goes on"
    )]
    DamagedRecord(PathBuf, usize, serde_json::Error),
    /// A measurement in the record cannot be parsed.
    #[error("{0}: measurement `{1}` cannot be read: {2}")]
    BadMeasurement(PathBuf, String, serde_json::Error),
    /// The record to be analysed lacks a measurement.
    #[error("the record ends before the probe did; run it again without --fit-only to go on")]
    NotMeasured,
    /// The disk exposes zones: its host decides what is cleaned.
    #[error("{0}: the disk exposes zones, so it has no hidden buffer to empty")]
    Zoned(String),
    /// The disk is too small for the method.
    #[error(transparent)]
    TooSmall(#[from] TooSmall),
}
