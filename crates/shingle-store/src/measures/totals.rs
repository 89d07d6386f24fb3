//! All measurements of a cache: sums that continue over restarts, and the current state.

use serde::{Deserialize, Serialize};
use shingle_engine::{BandCounts, Counts, ErrorCounts};

use super::{DeviceTotals, IosNow, KINDS, Misplaced, NotServed, RequestTotals};

/// Sums since the cache was first served with counters kept; without a place for them, since the
/// start of the process.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Totals {
    /// Starts of processes that served it, including this one.
    pub starts: u64,
    /// Requests of clients, by [`KINDS`].
    pub requests: [RequestTotals; KINDS.len()],
    /// I/O of SSD and disk.
    pub devices: [DeviceTotals; 2],
    /// Counts of accesses.
    pub counts: Counts,
    /// Counts of errors. Fields that are no counts show the current state.
    pub errors: ErrorCounts,
    /// Blocks destaged.
    pub destaged_blocks: u64,
    /// Counts of bands written whole.
    pub bands: BandCounts,
    /// Records added to the journal.
    pub journal_records: u64,
    /// Commits of the journal.
    pub journal_commits: u64,
    /// What the translation of a zoned disk has done.
    pub zoned: ZonedTotals,
}

/// What the translation of a zoned disk has done.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ZonedTotals {
    /// The number of cleanings.
    pub cleanings: u64,
    /// Blocks that cleanings moved.
    pub cleaned_blocks: u64,
    /// Blocks written: by the host, into the buffer, into zones, and of the map.
    pub written: [u64; 4],
}

impl ZonedTotals {
    /// Of two answers of a disk that counts upwards, whichever came first, the later one.
    pub(crate) fn no_less_than(&self, other: &ZonedTotals) -> ZonedTotals {
        ZonedTotals {
            cleanings: self.cleanings.max(other.cleanings),
            cleaned_blocks: self.cleaned_blocks.max(other.cleaned_blocks),
            written: std::array::from_fn(|at| self.written[at].max(other.written[at])),
        }
    }
}

impl Totals {
    /// The sum of both: `earlier` are the sums of former processes.
    #[must_use]
    pub fn plus(&self, earlier: &Totals) -> Totals {
        let (now, then) = (self, earlier);
        Totals {
            starts: now.starts + then.starts,
            requests: std::array::from_fn(|at| now.requests[at].plus(&then.requests[at])),
            devices: std::array::from_fn(|at| now.devices[at].plus(&then.devices[at])),
            counts: Counts {
                read_hits: now.counts.read_hits + then.counts.read_hits,
                read_misses: now.counts.read_misses + then.counts.read_misses,
                write_hits: now.counts.write_hits + then.counts.write_hits,
                write_misses: now.counts.write_misses + then.counts.write_misses,
                fills: now.counts.fills + then.counts.fills,
                bypassed_blocks: now.counts.bypassed_blocks + then.counts.bypassed_blocks,
            },
            errors: ErrorCounts {
                damaged_pages: now.errors.damaged_pages + then.errors.damaged_pages,
                void_records: now.errors.void_records + then.errors.void_records,
                ssd_reads: now.errors.ssd_reads + then.errors.ssd_reads,
                checksums: now.errors.checksums + then.errors.checksums,
                ssd_writes: now.errors.ssd_writes + then.errors.ssd_writes,
                disk_reads: now.errors.disk_reads + then.errors.disk_reads,
                disk_writes: now.errors.disk_writes + then.errors.disk_writes,
                disk_trims: now.errors.disk_trims + then.errors.disk_trims,
                disk_flushes: now.errors.disk_flushes + then.errors.disk_flushes,
                ssd_failed: now.errors.ssd_failed,
                ssd_invalidated: now.errors.ssd_invalidated,
            },
            destaged_blocks: now.destaged_blocks + then.destaged_blocks,
            bands: BandCounts {
                written: now.bands.written + then.bands.written,
                given_up: now.bands.given_up + then.bands.given_up,
                read_blocks: now.bands.read_blocks + then.bands.read_blocks,
                written_blocks: now.bands.written_blocks + then.bands.written_blocks,
            },
            journal_records: now.journal_records + then.journal_records,
            journal_commits: now.journal_commits + then.journal_commits,
            zoned: ZonedTotals {
                cleanings: now.zoned.cleanings + then.zoned.cleanings,
                cleaned_blocks: now.zoned.cleaned_blocks + then.zoned.cleaned_blocks,
                written: std::array::from_fn(|at| now.zoned.written[at] + then.zoned.written[at]),
            },
        }
    }
}

/// The current state.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Now {
    /// The size of the cache in blocks.
    pub slots: u64,
    /// Dirty blocks in the cache.
    pub dirty_blocks: u64,
    /// Clean blocks in the cache.
    pub clean_blocks: u64,
    /// Dirty blocks whose data is lost.
    pub lost_blocks: u64,
    /// The age of the oldest dirty block, as far as this process knows.
    pub oldest_dirty_ns: u64,
    /// Dirty blocks that are older than a minute, an hour, a day.
    pub dirty_older: [u64; 3],
    /// Blocks that are being destaged, or about to be.
    pub destaging_blocks: u64,
    /// Whether the disk did not take the last destage.
    pub destages_refused: bool,
    /// The time to destage all dirty blocks, at the pace of the last minute of writing; `None` if
    /// unknown.
    pub drain_seconds: Option<f64>,
    /// The I/O in flight of SSD and disk.
    pub ios: [IosNow; 2],
    /// Pages of the journal in use, which a restart would read.
    pub journal_used_pages: u64,
    /// Pages of the journal in all.
    pub journal_pages: u64,
    /// Connected clients.
    pub connections: u64,
}

/// The measurements of a cache.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Measures {
    /// The name of the export.
    pub export: String,
    /// The UUID of the cache.
    pub uuid: String,
    /// The path of the SSD.
    pub ssd: String,
    /// The path of the disk.
    pub disk: String,
    /// The absolute path of the SSD, for callers in another folder.
    pub ssd_place: String,
    /// The name of the policy.
    pub policy: String,
    /// The name of the mode.
    pub mode: String,
    /// Devices whose names do not lead to them any more.
    pub misplaced: Vec<Misplaced>,
    /// Other exports of the same process, which are not served.
    pub not_served: Vec<NotServed>,
    /// Whether the store answers.
    pub up: bool,
    /// Sums.
    pub totals: Totals,
    /// The current state, or the last known one if the store does not answer.
    pub now: Now,
    /// The last known status of a zoned disk.
    pub zoned: Option<shingle_translated::Status>,
}

impl Measures {
    /// What operators are told if the disk refuses writes.
    #[must_use]
    pub fn writes_refused(&self) -> Option<String> {
        let why = self.zoned.as_ref()?.writes_refused.as_ref()?;
        Some(format!("writes to the disk are refused: {why}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_add_up_and_states_do_not() {
        let mut one = Totals { starts: 1, destaged_blocks: 3, ..Totals::default() };
        one.counts.read_hits = 7;
        one.errors.ssd_failed = true;
        one.requests[1].bytes = 10;
        let mut two = Totals { starts: 4, destaged_blocks: 5, ..Totals::default() };
        two.counts.read_hits = 1;
        two.requests[1].bytes = 20;
        let both = two.plus(&one);
        assert_eq!((both.starts, both.destaged_blocks, both.counts.read_hits), (5, 8, 8));
        assert_eq!(both.requests[1].bytes, 30);
        assert!(!both.errors.ssd_failed, "that was before");
        // No field is forgotten: in JSON, every number of a sum with itself is doubled.
        fn doubled(one: &serde_json::Value, two: &serde_json::Value) {
            match (one, two) {
                (serde_json::Value::Number(one), serde_json::Value::Number(two)) => {
                    assert_eq!(one.as_u64().map(|one| 2 * one), two.as_u64());
                }
                (serde_json::Value::Array(one), serde_json::Value::Array(two)) => {
                    one.iter().zip(two).for_each(|(one, two)| doubled(one, two));
                }
                (serde_json::Value::Object(one), serde_json::Value::Object(two)) => {
                    one.iter().for_each(|(name, one)| doubled(one, &two[name]));
                }
                _ => {}
            }
        }
        let mut count = 0;
        let mut filled = serde_json::to_value(Totals::default()).expect("JSON");
        fn fill(value: &mut serde_json::Value, count: &mut u64) {
            match value {
                serde_json::Value::Number(number) => {
                    *count += 1;
                    *number = (*count).into();
                }
                serde_json::Value::Array(values) => values.iter_mut().for_each(|v| fill(v, count)),
                serde_json::Value::Object(map) => map.values_mut().for_each(|v| fill(v, count)),
                _ => {}
            }
        }
        fill(&mut filled, &mut count);
        let filled: Totals = serde_json::from_value(filled).expect("totals");
        let sum = serde_json::to_value(filled.plus(&filled)).expect("JSON");
        doubled(&serde_json::to_value(&filled).expect("JSON"), &sum);
    }
}
