//! The settings of a user for a drive, and the recipe from which it is created.

use super::error::DriveError;
use super::parameters::{Overrides, Sheet};
use crate::drive::Drive;
use shingle_core::size::parse_bytes;
use shingle_core::units::{BLOCK_BYTES, Nanos};

/// The timing of I/O.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Timing {
    /// Arm, platter and bus.
    Mechanics,
    /// The papers' costs: `L_read` a read, `R(x)` a band with `x` dirty blocks.
    Cost,
}

/// The size of the buffer.
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
    /// Creates it from bytes of log and map entries; `None` as in the sheet.
    #[must_use]
    pub fn of(log_bytes: Option<u64>, extents: Option<u64>) -> Buffer {
        match (log_bytes, extents) {
            (None, None) => Buffer::Real,
            (Some(bytes), None) => Buffer::Bytes(bytes),
            // So large that only the map is a limit.
            (bytes, Some(extents)) => {
                Buffer::Limits { log_bytes: bytes.unwrap_or(u64::MAX / 4), extents }
            }
        }
    }

    /// Parses bytes of log: a size, or `real` for the drive's own.
    ///
    /// # Errors
    /// One line that says what is wrong.
    pub fn parse_log(text: &str) -> Result<Option<u64>, String> {
        if text == "real" {
            return Ok(None);
        }
        let bytes = parse_bytes(text).map_err(|error| format!("{error}, or real"))?;
        Buffer::check_log(bytes).map(Some)
    }

    /// Checks `bytes` of log.
    ///
    /// # Errors
    /// If that is less than a block.
    pub fn check_log(bytes: u64) -> Result<u64, String> {
        match bytes {
            0..BLOCK_BYTES => Err("a buffer holds at least one block of 4 KiB".into()),
            bytes => Ok(bytes),
        }
    }

    /// Parses map entries.
    ///
    /// # Errors
    /// One line that says what is wrong.
    pub fn parse_extents(text: &str) -> Result<u64, String> {
        let extents = text.parse().ok().filter(|&extents| extents > 0);
        extents.ok_or_else(|| "give a number of map entries".into())
    }
}

/// Settings of a drive besides its parameters. `None` leaves it to the drive.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// Timing. By default emulators take cost, disks mechanics.
    pub timing: Option<Timing>,
    /// Size of the buffer.
    pub buffer: Buffer,
    /// Whether bands are cleaned in idle time.
    pub idle_cleaning: Option<bool>,
    /// Idle time before a drive cleans.
    pub idle_delay: Option<Nanos>,
    /// `drive.NAME=VALUE`.
    pub overrides: Overrides,
}

/// The recipe from which a model creates a drive.
pub(crate) struct Recipe<'a> {
    pub(crate) name: &'a str,
    pub(crate) sheet: &'a Sheet,
    pub(crate) settings: &'a Settings,
    /// Measured bands of a disk, as pairs of blocks and count, instead of those of the sheet. Hosts
    /// then plan with measured costs, whatever the timing.
    pub(crate) bands: Option<&'a [(u64, u64)]>,
    /// Creates a drive beneath this one.
    pub(crate) underneath: fn(&str) -> Result<Box<dyn Drive>, DriveError>,
}

impl Recipe<'_> {
    /// Refuses timing by mechanics, for an SSD.
    pub(crate) fn refuse_mechanics(&self) -> Result<(), DriveError> {
        if self.settings.timing == Some(Timing::Mechanics) {
            return Err(self.refuse("an SSD has no mechanics; leave its timing at cost"));
        }
        Ok(())
    }

    /// Returns an error that names the drive.
    pub(crate) fn refuse(&self, what: &str) -> DriveError {
        DriveError::Refused(format!("{}: {what}", self.name))
    }
}
