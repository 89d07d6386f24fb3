//! What is said of a cache: by the process that serves it, or from what stands on its SSD.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use shingle_engine::settings::{Settings, SettingsError};
use shingle_engine::{self as engine, BandCounts, Counts, ErrorCounts};

use crate::backend;
use crate::measures::IosNow;

/// The name of the schema of `status --json`.
pub const SCHEMA: &str = "shingle.store-status/1";

/// How things are.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Status {
    /// [`SCHEMA`]
    pub schema: String,
    /// A process serves it. If none does, counters of its work are zero, and what only it knows is empty.
    pub served: bool,
    /// Name of the export, if somebody serves it; empty if it has none.
    pub export: String,
    /// Name of the cache.
    pub uuid: String,
    /// Paths.
    pub ssd: String,
    /// Likewise. The SSD does not know it: empty if nobody serves the cache.
    pub disk: String,
    /// Size of the disk.
    pub disk_bytes: u64,
    /// Of the superblock, at the start of the process that serves it, or now. A disk that is a file says
    /// with which it was used last.
    pub edition: u64,
    /// The process that served it last left in order; nothing while one serves it.
    pub clean_shutdown: Option<bool>,
    /// And it is known what the disk was like then.
    pub fingerprint_known: Option<bool>,
    /// Where clients connect, and the block device that it is.
    pub addresses: Vec<String>,
    /// Clients connected.
    pub connections: u64,
    /// Name of the policy.
    pub policy: String,
    /// Name of the mode.
    pub mode: String,
    /// Parameters that were set, `OWNER.NAME`.
    pub settings: BTreeMap<String, String>,
    /// Blocks (4 KiB) that fit.
    pub slots: u64,
    /// Blocks cached that the disk does not have.
    pub dirty_blocks: u64,
    /// Blocks cached that it has, too.
    pub clean_blocks: u64,
    /// Blocks of requests.
    #[serde(flatten)]
    pub counts: Counts,
    /// Blocks destaged.
    pub destaged_blocks: u64,
    /// Bands that were to be written whole.
    pub bands: BandCounts,
    /// Blocks that clients have trimmed and of which the disk has not been told yet.
    pub trimming_blocks: u64,
    /// Bytes written to SSDs, metadata included.
    pub ssd_written_bytes: u64,
    /// `in`, or how far the SSD is that is exchanged: `leaving`, `untold`, `out`, `entering`.
    pub ssd_state: String,
    /// Devices that have not answered for long.
    pub silent: Vec<Silent>,
    /// What is recorded, if anything is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recording: Option<Recording>,
    /// What went wrong.
    pub errors: Errors,
    /// How the disk is doing, or was when it told last, if it is a zoned one and somebody serves the cache.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub zoned: Option<shingle_translated::Status>,
}

/// A device that has not answered for long.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Silent {
    /// `SSD` or `disk`.
    pub device: String,
    /// For how long its oldest I/O is under way.
    pub seconds: u64,
    /// I/Os under way.
    pub ios: u64,
}

/// A recording of what clients ask for and the cache decides.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Recording {
    /// Where it is when it is whole.
    pub file: String,
    /// Why nothing more is recorded, if that is so.
    pub ended: Option<String>,
}

/// What went wrong, counted since the process began.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Errors {
    /// How often.
    #[serde(flatten)]
    pub counts: ErrorCounts,
    /// Bytes of the disk, as `[first, length]`, whose writes are refused because the SSD that failed
    /// holds newer data for them.
    pub refused_ranges: Vec<(u64, u64)>,
    /// Bytes of the disk whose newest data is lost, as `[first, length]`: they read as errors until
    /// they are written anew or trimmed.
    pub lost_ranges: Vec<(u64, u64)>,
    /// The last I/O of each device that failed, if any did.
    pub last: Vec<LastError>,
}

/// The last I/O of a device that failed.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct LastError {
    /// `SSD` or `disk`.
    pub device: String,
    /// `read`, `write`, `flush` or `trim`.
    pub operation: String,
    /// The first block of 4 KiB, and how many; 0 for a flush.
    pub block: u64,
    /// Likewise.
    pub blocks: u64,
    /// Why, in words of the system: `Input/output error (EIO)`.
    pub error: String,
    /// How long ago.
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
    /// Fills in what the cache was told.
    pub(crate) fn put_settings(&mut self, settings: &Settings) {
        self.policy.clone_from(&settings.policy);
        settings.mode.name().clone_into(&mut self.mode);
        self.settings = settings.sets.iter().cloned().collect();
    }

    /// What the cache was told.
    ///
    /// # Errors
    /// If a process of another version said it.
    pub fn to_settings(&self) -> Result<Settings, SettingsError> {
        let mut settings = Settings::new(&self.policy);
        settings.set(&format!("mode={}", self.mode))?;
        settings.sets = self.settings.clone().into_iter().collect();
        Ok(settings)
    }

    /// Fills in what the devices are doing.
    pub(crate) fn put_devices(&mut self, [ssd, disk]: [IosNow; 2]) {
        let silent = |(device, ios): (&str, IosNow)| {
            let seconds = ios.silent_for()?.as_secs();
            Some(Silent { device: device.to_owned(), seconds, ios: ios.under_way })
        };
        self.silent = [("SSD", ssd), ("disk", disk)].into_iter().filter_map(silent).collect();
    }

    /// Fills in what the engine says.
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

/// Runs of neighbouring blocks, of their first bytes in order.
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
