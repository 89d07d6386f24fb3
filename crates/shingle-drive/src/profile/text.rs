//! Profiles as files: TOML, checked before use. An error is one line with its place.

use super::{
    BandFacts, BufferFacts, CapacityFacts, FORMAT, IdleFacts, MechanicsFacts, Profile, Reads,
    RmwFacts,
};
use crate::sheet::DriveError;
use crate::sheet::text::{self, TEXT_BYTES_MAX, load, quoted};
use serde::Deserialize;
use shingle_core::units::{BLOCK_BYTES, DISK_BYTES_MAX};
use std::io;
use std::path::Path;
use thiserror::Error;

/// Longest time of an I/O: 100 s, in microseconds.
const IO_US_MAX: f64 = 1e8;

/// The reason why a profile cannot be used. Displays as one line.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct ProfileError(String);

impl From<ProfileError> for DriveError {
    fn from(error: ProfileError) -> DriveError {
        DriveError::Refused(error.0)
    }
}

fn wrong(what: impl Into<String>) -> ProfileError {
    ProfileError(what.into())
}

/// Reads a profile from a file.
///
/// # Errors
/// If it cannot be read, is not a profile, or has an impossible value. The error names the file.
pub fn read(path: &Path) -> Result<Profile, ProfileError> {
    let named = |what: &dyn std::fmt::Display| wrong(format!("{}: {what}", path.display()));
    let text = load(path).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => named(&"there is no such file; `shingle probe` writes profiles"),
        io::ErrorKind::InvalidData => named(&"no profile: it is not text"),
        _ => named(&error),
    })?;
    parse(&text).map_err(|error| named(&error))
}

/// Parses a profile.
///
/// # Errors
/// If it is not a profile, or has an impossible value. The error names the line or the field.
pub fn parse(text: &str) -> Result<Profile, ProfileError> {
    #[derive(Deserialize)]
    struct Head {
        format: Option<String>,
    }
    if text.len() as u64 > TEXT_BYTES_MAX {
        return Err(wrong("too long for a profile (8 MiB)"));
    }
    let head: Head = toml::from_str(text).map_err(|error| in_line(text, &error))?;
    match head.format.as_deref() {
        Some(FORMAT) => {}
        Some(other) => {
            let other = quoted(other);
            return Err(wrong(format!(
                "its format is `{other}`, and this version reads `{FORMAT}`: probe the disk again"
            )));
        }
        None => return Err(wrong(format!("no profile: it does not say format = \"{FORMAT}\""))),
    }
    let profile: Profile = toml::from_str(text).map_err(|error| in_line(text, &error))?;
    profile.check()?;
    Ok(profile)
}

/// Formats a parser error as one line with its number.
fn in_line(text: &str, error: &toml::de::Error) -> ProfileError {
    let what = text::in_line(text, error.message(), error.span());
    wrong(format!("{what}; correct it, or probe the disk again"))
}

impl Profile {
    /// Formats it as a file.
    ///
    /// # Panics
    /// If a number is greater than TOML allows (2^63 - 1), which a checked profile does not have.
    #[must_use]
    pub fn to_text(&self) -> String {
        toml::to_string(self).expect("a profile is plain numbers and names")
    }

    /// Checks that all values are possible.
    ///
    /// # Errors
    /// The first field that is not.
    pub fn check(&self) -> Result<(), ProfileError> {
        count("bytes", self.bytes, 2 * BLOCK_BYTES, DISK_BYTES_MAX)?;
        let Reads { random_us, sequential_us_per_block_first, sequential_us_per_block_last } =
            self.read;
        number("read.random_us", random_us, IO_US_MAX)?;
        number("read.sequential_us_per_block_first", sequential_us_per_block_first, IO_US_MAX)?;
        number("read.sequential_us_per_block_last", sequential_us_per_block_last, IO_US_MAX)?;
        if let Some(mechanics) = &self.mechanics {
            mechanics.check(self.bytes / BLOCK_BYTES)?;
        }
        if let Some(zones) = self.zones {
            count("zones.zone_bytes", zones.zone_bytes, BLOCK_BYTES, DISK_BYTES_MAX)?;
            count("zones.count", zones.count, 1, DISK_BYTES_MAX / BLOCK_BYTES)?;
        }
        if let Some(buffer) = &self.buffer {
            buffer.check()?;
        }
        if let Some(rmw) = self.rmw {
            rmw.check()?;
        }
        if let Some(IdleFacts { delay_ms, delay_ms_error, .. }) = self.idle {
            number("idle.delay_ms", delay_ms, 1e9)?;
            number("idle.delay_ms_error", delay_ms_error, 1e9)?;
        }
        let before = [None].into_iter().chain(self.bands.iter().map(Some));
        for (at, (band, before)) in self.bands.iter().zip(before).enumerate() {
            band.check(at, before, self.bytes / BLOCK_BYTES)?;
        }
        Ok(())
    }
}

impl MechanicsFacts {
    fn check(&self, disk_blocks: u64) -> Result<(), ProfileError> {
        number("mechanics.rotation_us", self.rotation_us, 1e6)?;
        number("mechanics.command_us", self.command_us, IO_US_MAX)?;
        count("mechanics.read_ahead_bytes", self.read_ahead_bytes, 0, 1 << 40)?;
        let mut nearest = 1;
        for (at, read) in self.reads.iter().enumerate() {
            let field = |name: &str| format!("mechanics.reads[{at}].{name}");
            // Rising, so that a curve goes through them.
            count(&field("blocks"), read.blocks, nearest, disk_blocks)?;
            number(&field("us"), read.us, IO_US_MAX)?;
            nearest = read.blocks + 1;
        }
        Ok(())
    }
}

impl BufferFacts {
    fn check(&self) -> Result<(), ProfileError> {
        if let Some(extents) = self.extents {
            count("buffer.extents", extents, 1, 1 << 30)?;
        }
        if let Some(log_bytes) = self.log_bytes {
            count("buffer.log_bytes", log_bytes, BLOCK_BYTES, DISK_BYTES_MAX)?;
        }
        number("buffer.write_us", self.write_us, IO_US_MAX)?;
        number("buffer.write_us_per_further_block", self.write_us_per_further_block, IO_US_MAX)?;
        for (at, row) in self.measured.iter().enumerate() {
            let &CapacityFacts { write_bytes, depth, bytes, bytes_low, bytes_high, .. } = row;
            let field = |name: &str| format!("buffer.measured[{at}].{name}");
            count(&field("write_bytes"), write_bytes, BLOCK_BYTES, 1 << 40)?;
            count(&field("depth"), depth.into(), 1, 1 << 20)?;
            count(&field("bytes"), bytes, 0, DISK_BYTES_MAX)?;
            count(&field("bytes_low"), bytes_low, 0, bytes)?;
            count(&field("bytes_high"), bytes_high, bytes, DISK_BYTES_MAX)?;
            number(&field("iops_before"), row.iops_before, 1e12)?;
            number(&field("iops_after"), row.iops_after, 1e12)?;
        }
        Ok(())
    }
}

impl RmwFacts {
    fn check(&self) -> Result<(), ProfileError> {
        count("rmw.zone_blocks", self.zone_blocks, 1, DISK_BYTES_MAX / BLOCK_BYTES)?;
        number("rmw.base_us", self.base_us, 1e9)?;
        number("rmw.us_per_block", self.us_per_block, 1e7)?;
        // The slope is within its interval; the interval may go below 0.
        let (low, high) = (self.us_per_block_low, self.us_per_block_high);
        if !(low.is_finite() && high.is_finite()) || low > self.us_per_block {
            return Err(bad("rmw.us_per_block_low", low, "a number up to us_per_block"));
        }
        if high < self.us_per_block {
            return Err(bad("rmw.us_per_block_high", high, "a number from us_per_block on"));
        }
        number("rmw.r_squared", self.r_squared, 1.0)
    }
}

impl BandFacts {
    /// Checks the band number `at`, which follows `before`.
    fn check(
        &self,
        at: usize,
        before: Option<&BandFacts>,
        disk_blocks: u64,
    ) -> Result<(), ProfileError> {
        let field = |name: &str| format!("bands[{at}].{name}");
        count(&field("first_block"), self.first_block, 0, disk_blocks - 1)?;
        count(&field("blocks"), self.blocks, 2, disk_blocks)?;
        count(&field("error_blocks"), self.error_blocks, 0, disk_blocks)?;
        // Borders may be off by their errors.
        let first = self.first_block + self.error_blocks;
        let follows = |before: &BandFacts| {
            before.first_block < self.first_block && before.first_block + before.blocks <= first
        };
        if !before.is_none_or(follows) {
            return Err(wrong(format!(
                "{} is {}: bands are listed by address and do not overlap; put them in order, or \
                 probe the disk again",
                field("first_block"),
                self.first_block
            )));
        }
        let most = disk_blocks - self.first_block + self.error_blocks;
        count(&field("blocks"), self.blocks, 2, most)
    }
}

fn bad(field: &str, value: impl std::fmt::Display, allowed: &str) -> ProfileError {
    wrong(format!("{field} is {value}, and should be {allowed}: probe the disk again"))
}

fn count(field: &str, value: u64, least: u64, most: u64) -> Result<(), ProfileError> {
    if (least..=most).contains(&value) {
        return Ok(());
    }
    Err(bad(field, value, &format!("from {least} to {most}")))
}

/// NaN is in no range.
fn number(field: &str, value: f64, most: f64) -> Result<(), ProfileError> {
    if (0.0..=most).contains(&value) {
        return Ok(());
    }
    Err(bad(field, value, &format!("from 0 to {most}")))
}
