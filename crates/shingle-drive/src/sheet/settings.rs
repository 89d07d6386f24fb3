//! What a user may ask of a drive, and what its maker gets.

use super::error::DriveError;
use super::parameters::{Overrides, Sheet};
use crate::drive::Drive;
use shingle_core::size::parse_bytes;
use shingle_core::units::{BLOCK_BYTES, Nanos};

/// How I/O is timed.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Timing {
    /// Arm, platter and bus.
    Mechanics,
    /// The papers' costs: `L_read` a read, `R(x)` a band with `x` dirty blocks.
    Cost,
}

/// How large the buffer is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Buffer {
    /// As the sheet says.
    #[default]
    Real,
    /// This many bytes of log, and one map entry for each 4 KiB of them. Bytes are the host's data:
    /// headers come on top, in time and counters.
    Bytes(u64),
    /// Both limits.
    Limits {
        /// Bytes of log.
        log_bytes: u64,
        /// Map entries.
        extents: u64,
    },
}

impl Buffer {
    /// So many bytes of log and so many map entries; where nothing is said, as the sheet has it.
    #[must_use]
    pub fn of(log_bytes: Option<u64>, extents: Option<u64>) -> Buffer {
        match (log_bytes, extents) {
            (None, None) => Buffer::Real,
            (Some(bytes), None) => Buffer::Bytes(bytes),
            // (As large as none is: the map is the limit.)
            (bytes, Some(extents)) => {
                Buffer::Limits { log_bytes: bytes.unwrap_or(u64::MAX / 4), extents }
            }
        }
    }

    /// Bytes of log as they are written: a size, or `real` for the drive's own.
    ///
    /// # Errors
    /// One line, which says what is wrong.
    pub fn parse_log(text: &str) -> Result<Option<u64>, String> {
        if text == "real" {
            return Ok(None);
        }
        let bytes = parse_bytes(text).map_err(|error| format!("{error}, or real"))?;
        Buffer::check_log(bytes).map(Some)
    }

    /// `bytes` of log.
    ///
    /// # Errors
    /// If that is less than a block.
    pub fn check_log(bytes: u64) -> Result<u64, String> {
        match bytes {
            0..BLOCK_BYTES => Err("a buffer holds at least one block of 4 KiB".into()),
            bytes => Ok(bytes),
        }
    }

    /// Map entries as they are written.
    ///
    /// # Errors
    /// One line, which says what is wrong.
    pub fn parse_extents(text: &str) -> Result<u64, String> {
        let extents = text.parse().ok().filter(|&extents| extents > 0);
        extents.ok_or_else(|| "give a number of map entries".into())
    }
}

/// What a user may ask of a drive beside its parameters. `None` leaves it to the drive.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// Timing. By default emulators take cost, disks mechanics.
    pub timing: Option<Timing>,
    /// Size of the buffer.
    pub buffer: Buffer,
    /// Whether bands are cleaned in idle time.
    pub idle_cleaning: Option<bool>,
    /// How long a drive is idle before it cleans.
    pub idle_delay: Option<Nanos>,
    /// `drive.NAME=VALUE`.
    pub overrides: Overrides,
}

/// What the maker of a drive gets.
pub(crate) struct Recipe<'a> {
    pub(crate) name: &'a str,
    pub(crate) sheet: &'a Sheet,
    pub(crate) settings: &'a Settings,
    /// Bands that were measured on a disk, as pairs of blocks and count, in place of what the sheet
    /// says of them. Hosts then plan with what was measured, whatever the timing.
    pub(crate) bands: Option<&'a [(u64, u64)]>,
    /// Makes a drive that this one lies on.
    pub(crate) underneath: fn(&str) -> Result<Box<dyn Drive>, DriveError>,
}

impl Recipe<'_> {
    /// What an SSD answers who asks for timing by mechanics.
    pub(crate) fn refuse_mechanics(&self) -> Result<(), DriveError> {
        if self.settings.timing == Some(Timing::Mechanics) {
            return Err(self.refuse("an SSD has no mechanics; leave its timing at cost"));
        }
        Ok(())
    }

    /// An error that names the drive.
    pub(crate) fn refuse(&self, what: &str) -> DriveError {
        DriveError::Refused(format!("{}: {what}", self.name))
    }
}
