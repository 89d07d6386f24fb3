//! One run: its labels, and every figure of it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use shingle_core::policy;
use shingle_trace::summary::ratio;

use crate::counters::Snapshot;
use crate::counts::Counts;
use crate::flash::Flash;
use crate::labels::Labels;
use crate::latency::{Bar, DriveLatency, Latency, ResponseTimes, Responses};
use crate::left::Left;
use crate::series::{Heat, Point};
use crate::translating::Translating;

/// One configuration.
#[derive(Clone, Debug, JsonSchema, Serialize, Deserialize)]
pub struct RunResult {
    /// Its labels.
    #[serde(flatten)]
    pub labels: Labels,
    /// Memory of cache and policy.
    pub memory: Memory,
    /// Counters from the first request on.
    pub all: Counts,
    /// Counters since the cache (without one: the buffer) was first full; zero if it never was.
    pub warm: Counts,
    /// Number of the request from which `warm` counts; null if the cache was never full.
    pub warm_from: Option<u64>,
    /// Work left undone at the end; none with `--drain`.
    pub left: Left,
    /// Work that `--drain` did at the end; it is part of `all`. Null without `--drain`.
    pub drained: Option<Left>,
    /// Response times of requests.
    pub latency: Latency,
    /// Response times of reads alone; missing without any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_latency: Option<Latency>,
    /// Response times of I/O at the disk, from the moment it could have begun: its time in the
    /// queue is included.
    pub drive_latency: DriveLatency,
    /// Flash inside the disk; null for a disk without it.
    pub flash: Option<Flash>,
    /// Counters of the translation; null if there is none.
    pub translation_counters: Option<Translating>,
    /// Open loop only.
    pub queue: Option<Queue>,
    /// Time series of the run in equal parts of its requests; of `run`, and when pictures are
    /// drawn.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub series: Vec<Point>,
    /// Where the host wrote and where the disk was written, over the course of the run; only when
    /// pictures are drawn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub heat: Option<Heat>,
    /// Histogram of response times; of `run`, and when pictures are drawn.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub histogram: Vec<Bar>,
    /// Reads whose data was checked, in a checked run.
    pub checked_reads: Option<u64>,
    /// Set for a real run (`replay`): its device figures were measured, and what cannot be measured
    /// is null.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measured: Option<Measured>,
    /// How long the simulation or the real run took.
    pub wall: Wall,
}

impl RunResult {
    /// Creates a result with zero counters, and without the optional parts.
    #[must_use]
    pub fn without_counts(labels: &Labels, memory: policy::Memory) -> RunResult {
        let none = Counts::between(&Snapshot::default(), &Snapshot::default());
        RunResult {
            labels: labels.clone(),
            memory: Memory {
                bytes_per_slot: ratio(memory.by_slots as u64, labels.cache_blocks),
                zone_bytes: memory.by_zones as u64,
            },
            all: none,
            warm: none,
            warm_from: None,
            left: Left::default(),
            drained: None,
            latency: ResponseTimes::default().latency(),
            read_latency: None,
            drive_latency: DriveLatency::of(Responses::default()),
            flash: None,
            translation_counters: None,
            queue: None,
            series: Vec::new(),
            heat: None,
            histogram: Vec::new(),
            checked_reads: None,
            measured: None,
            wall: Wall { seconds: 0.0, blocks_per_second: 0.0 },
        }
    }
}

/// Figures of real runs only.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Measured {
    /// Most requests in flight; null if they came at the trace's own times.
    pub depth: Option<u64>,
    /// Requests that were answered with an error.
    pub failed_requests: u64,
    /// I/Os of SSD and disk that failed.
    pub failed_ios: u64,
    /// Whether the disk was emulated: its internal counters are those of the model, whose steps
    /// were done as real I/O.
    pub emulated: bool,
}

/// Memory of cache and policy.
#[derive(Clone, Copy, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Memory {
    /// Bytes for each slot of the cache.
    pub bytes_per_slot: Option<f64>,
    /// Bytes for the zones of the disk that the cache has met.
    pub zone_bytes: u64,
}

/// How the devices kept up with the trace's own pace.
#[derive(Clone, Copy, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Queue {
    /// Busy share of the disk.
    pub disk_utilisation: f64,
    /// Busy share of the SSD, over its channels.
    pub ssd_utilisation: f64,
    /// Most requests that waited or were served at once.
    pub longest: u64,
    /// Whether the queue still grew at the end: the mean then depends on the length of the trace.
    pub overloaded: bool,
}

/// Real time: the one part that differs between equal runs.
#[derive(Clone, Copy, Debug, JsonSchema, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct Wall {
    pub seconds: f64,
    pub blocks_per_second: f64,
}

impl Wall {
    /// Returns the time of a run that has counted `all` in `seconds`.
    #[must_use]
    pub fn new(seconds: f64, all: &Counts) -> Wall {
        // JSON has no infinity, in case the clock did not advance.
        let seconds = seconds.max(1e-9);
        let blocks = all.accesses.read_blocks + all.accesses.write_blocks;
        Wall { seconds, blocks_per_second: blocks as f64 / seconds }
    }
}
