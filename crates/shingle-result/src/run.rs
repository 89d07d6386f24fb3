//! One run: what it is called, and every figure of it.

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
    /// What it is called.
    #[serde(flatten)]
    pub labels: Labels,
    /// Memory that cache and policy take.
    pub memory: Memory,
    /// Counters from the first request on.
    pub all: Counts,
    /// Counters since the cache (without one: the buffer) was first full; nothing counts if it never
    /// was.
    pub warm: Counts,
    /// Number of the request from which `warm` counts; null if the cache never was full.
    pub warm_from: Option<u64>,
    /// Work left undone at the end; with `--drain` none.
    pub left: Left,
    /// Work that `--drain` did at the end, of which nothing is left then: it is part of `all`. Null
    /// without `--drain`.
    pub drained: Option<Left>,
    /// Response times of requests.
    pub latency: Latency,
    /// Response times of reads alone; not there without any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_latency: Option<Latency>,
    /// Response times of I/O at the disk, from the moment it could have begun: its queue is in them.
    pub drive_latency: DriveLatency,
    /// Flash inside the disk; null for a disk without.
    pub flash: Option<Flash>,
    /// What the translation has done; null if there is none.
    pub translation_counters: Option<Translating>,
    /// Open loop only.
    pub queue: Option<Queue>,
    /// The course of the run in equal parts of its requests; of `run`, and when pictures are drawn.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub series: Vec<Point>,
    /// Where the host wrote and where the disk was written, over the course of the run; only when
    /// pictures are drawn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub heat: Option<Heat>,
    /// How many requests took how long; of `run`, and when pictures are drawn.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub histogram: Vec<Bar>,
    /// Reads whose data was checked, in a checked run.
    pub checked_reads: Option<u64>,
    /// The run was a real one, of `replay`: what is said of devices was measured, and what cannot be
    /// measured is null.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measured: Option<Measured>,
    /// How long the simulation took, or the real run.
    pub wall: Wall,
}

impl RunResult {
    /// A run of which nothing is counted yet, without what only some runs have.
    #[must_use]
    pub fn uncounted(labels: &Labels, memory: policy::Memory) -> RunResult {
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

/// What only a real run has.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Measured {
    /// Requests under way at a time, at most; null if they came at the trace's own times.
    pub depth: Option<u64>,
    /// Requests that were answered with an error.
    pub failed_requests: u64,
    /// I/Os of SSD and disk that failed.
    pub failed_ios: u64,
    /// The disk was emulated: the counters within it are those of the model, and its steps were
    /// carried out as real I/O.
    pub emulated: bool,
}

/// Memory that cache and policy take.
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
    /// The queue still grew at the end: the mean says how long the trace is.
    pub overloaded: bool,
}

/// Real time: the one part that differs between equal runs.
#[derive(Clone, Copy, Debug, JsonSchema, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct Wall {
    pub seconds: f64,
    pub blocks_per_second: f64,
}
