//! What a user may ask of a drive, and what its maker gets.

use super::error::DriveError;
use super::parameters::{Overrides, Sheet};
use crate::drive::Drive;
use shingle_core::units::Nanos;

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
