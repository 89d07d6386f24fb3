//! The status of a cache, from the process that serves it or from its SSD.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use shingle_engine::settings::{Settings, SettingsError};
use shingle_engine::{self as engine, BandCounts, Counts, ErrorCounts};

use crate::backend;
use crate::measures::{IosNow, Misplaced};

/// The name of the schema of `status --json`.
pub const SCHEMA: &str = "shingle.store-status/1";

/// The status of a cache.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Status {
    /// [`SCHEMA`]
    pub schema: String,
    /// Whether a process serves it. If not, counters are zero, and fields that only the process
    /// knows are empty.
    pub served: bool,
    /// The name of the export; empty if it is not served.
    pub export: String,
    /// The UUID of the cache.
    pub uuid: String,
    /// The path of the SSD.
    pub ssd: String,
    /// The path of the disk. The SSD does not store it: empty if the cache is not served.
    pub disk: String,
    /// The size of the disk in bytes.
    pub disk_bytes: u64,
    /// The edition of the superblock: at the start of the serving process, or now. A disk that is a
    /// file records with which edition it was used last.
    pub edition: u64,
    /// Whether the last process that served it ended in order; `None` while it is served.
    pub clean_shutdown: Option<bool>,
    /// Whether the state of the disk at that time is recorded.
    pub fingerprint_known: Option<bool>,
    /// The addresses where clients connect, and the block device.
    pub addresses: Vec<String>,
    /// Connected clients.
    pub connections: u64,
    /// The name of the policy.
    pub policy: String,
    /// The name of the mode.
    pub mode: String,
    /// Parameters that are set, `OWNER.NAME`.
    pub settings: BTreeMap<String, String>,
    /// The size of the cache in blocks of 4 KiB.
    pub slots: u64,
    /// Dirty blocks in the cache.
    pub dirty_blocks: u64,
    /// Clean blocks in the cache.
    pub clean_blocks: u64,
    /// Counts of accesses.
    #[serde(flatten)]
    pub counts: Counts,
    /// Blocks destaged.
    pub destaged_blocks: u64,
    /// Counts of bands written whole.
    pub bands: BandCounts,
    /// Blocks that clients have trimmed and that are not yet trimmed on the disk.
    pub trimming_blocks: u64,
    /// Bytes written to SSDs, metadata included.
    pub ssd_written_bytes: u64,
    /// The state of the SSD: `in`, or during an exchange `leaving`, `untold`, `out`, `entering`.
    pub ssd_state: String,
    /// Devices that have not answered for long.
    pub silent: Vec<Silent>,
    /// Devices whose names do not lead to them any more.
    pub misplaced: Vec<Misplaced>,
    /// The recording, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recording: Option<Recording>,
    /// Counts and details of errors.
    pub errors: Errors,
    /// The last known status of a zoned disk, if the cache is served.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub zoned: Option<shingle_translated::Status>,
}

/// A device that has not answered for long.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Silent {
    /// `SSD` or `disk`.
    pub device: String,
    /// The age of its oldest I/O in flight.
    pub seconds: u64,
    /// I/Os in flight.
    pub ios: u64,
}

/// A recording of the requests of clients and the decisions of the cache.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Recording {
    /// The file, once it is complete.
    pub file: String,
    /// Why the recording has ended, if it has.
    pub ended: Option<String>,
}

/// Errors since the process began.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Errors {
    /// The counts.
    #[serde(flatten)]
    pub counts: ErrorCounts,
    /// Ranges of the disk in bytes, as `[first, length]`, whose writes are refused because the
    /// failed SSD holds newer data for them.
    pub refused_ranges: Vec<(u64, u64)>,
    /// Ranges of the disk in bytes, as `[first, length]`, whose newest data is lost: reads fail
    /// until they are written again or trimmed.
    pub lost_ranges: Vec<(u64, u64)>,
    /// The last failed I/O of each device, if any.
    pub last: Vec<LastError>,
}

/// The last failed I/O of a device.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct LastError {
    /// `SSD` or `disk`.
    pub device: String,
    /// `read`, `write`, `flush` or `trim`.
    pub operation: String,
    /// The first block of 4 KiB; 0 for a flush.
    pub block: u64,
    /// The number of blocks; 0 for a flush.
    pub blocks: u64,
    /// The reason in words of the system: `Input/output error (EIO)`.
    pub error: String,
    /// The age of the error.
    pub seconds_ago: u64,
}

impl From<&backend::LastError> for LastError {
    fn from(last: &backend::LastError) -> LastError {
        LastError {
            device: last.operation.device_name().to_owned(),
            operation: last.operation.name().to_owned(),
            block: last.operation.block,
            blocks: last.operation.blocks,
            error: last.cause.clone(),
            seconds_ago: last.at.elapsed().as_secs(),
        }
    }
}

impl Status {
    /// Fills in the settings.
    pub(crate) fn put_settings(&mut self, settings: &Settings) {
        self.policy.clone_from(&settings.policy);
        settings.mode.name().clone_into(&mut self.mode);
        self.settings = settings.sets.iter().cloned().collect();
    }

    /// The settings.
    ///
    /// # Errors
    /// If a process of another version sent them.
    pub fn to_settings(&self) -> Result<Settings, SettingsError> {
        let mut settings = Settings::new(&self.policy);
        settings.set(&format!("mode={}", self.mode))?;
        settings.sets = self.settings.clone().into_iter().collect();
        Ok(settings)
    }

    /// Fills in the devices that do not answer.
    pub(crate) fn put_devices(&mut self, [ssd, disk]: [IosNow; 2]) {
        let silent = |(device, ios): (&str, IosNow)| {
            let seconds = ios.unresponsive_for()?.as_secs();
            Some(Silent { device: device.to_owned(), seconds, ios: ios.under_way })
        };
        self.silent = [("SSD", ssd), ("disk", disk)].into_iter().filter_map(silent).collect();
    }

    /// Fills in the status of the engine.
    pub(crate) fn put_engine(&mut self, said: &engine::Status, last_errors: &[backend::LastError]) {
        self.dirty_blocks = said.dirty_blocks;
        self.clean_blocks = said.clean_blocks;
        self.counts = said.counts;
        self.destaged_blocks = said.destaged_blocks;
        self.bands = said.bands;
        self.trimming_blocks = said.trimming_blocks;
        self.ssd_written_bytes = said.ssd_written_pages * shingle_core::units::BLOCK_BYTES;
        said.ssd.name().clone_into(&mut self.ssd_state);
        self.errors = Errors {
            counts: said.errors,
            refused_ranges: ranges(said.refused.iter().map(|block| block.bytes())),
            lost_ranges: ranges(said.lost.iter().map(|block| block.bytes())),
            last: last_errors.iter().map(LastError::from).collect(),
        };
    }
}

/// Joins neighbouring blocks to ranges of bytes; the blocks are sorted.
fn ranges(blocks: impl Iterator<Item = u64>) -> Vec<(u64, u64)> {
    const BLOCK: u64 = shingle_core::units::BLOCK_BYTES;
    let mut ranges: Vec<(u64, u64)> = Vec::new();
    for first in blocks {
        match ranges.last_mut() {
            Some((begin, length)) if *begin + *length == first => *length += BLOCK,
            _ => ranges.push((first, BLOCK)),
        }
    }
    ranges
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_that_does_not_answer_is_told_with_its_time() {
        let ios = |under_way, oldest_ns| IosNow { under_way, oldest_ns };
        let told = |devices| {
            let mut status = Status::default();
            status.put_devices(devices);
            status.silent
        };
        assert_eq!(told([ios(0, 0), ios(64, 10_000_000_000)]), [], "busy");
        let disk = Silent { device: "disk".to_owned(), seconds: 41, ios: 4 };
        assert_eq!(told([ios(1, 5_000_000), ios(4, 41_900_000_000)]), [disk]);
        assert_eq!(told([ios(1, 11_000_000_000), ios(0, 0)])[0].device, "SSD");
    }

    #[test]
    fn neighbours_are_one_range() {
        let blocks = [0_u64, 4096, 8192, 40_960, 81_920, 86_016];
        assert_eq!(ranges(blocks.into_iter()), [(0, 12_288), (40_960, 4096), (81_920, 8192)]);
        assert_eq!(ranges(std::iter::empty()), []);
    }
}
