//! The result format, `shingle.result/1`: stable names, documented in docs/results.md. Everything
//! but `wall` and `shingle` is the same for the same input and seed.

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema};
use serde::{Deserialize, Serialize};
use shingle_core::policy;
use shingle_core::units::{BLOCK_BYTES, Nanos, Request};
use shingle_drive::BufferState;
use shingle_trace::{Recognised, Summary};
use std::borrow::Cow;
use std::collections::BTreeMap;

use crate::counters::Snapshot;
use crate::device::Responses;
use crate::flash::Flash;
use crate::response::ResponseTimes;
use crate::run::Labels;
use crate::said::Said;
use crate::swept::Swept;
use crate::system::Pacing;
use crate::target::Smallest;
use crate::translating::Translating;

/// Name and version of the format.
pub const SCHEMA: &str = "shingle.result/1";

/// The JSON Schema of [`Report`].
#[must_use]
pub fn schema() -> Schema {
    let settings = SchemaSettings::draft2020_12().for_serialize();
    let mut schema = settings.into_generator().into_root_schema_for::<Report>();
    schema.insert("title".into(), SCHEMA.into());
    schema
}

/// What `compare`, `run` and `sweep` print as JSON.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct Report {
    /// `shingle.result/1`.
    pub schema: &'static str,
    /// The program that wrote this.
    pub shingle: Program,
    /// Seed of everything random.
    pub seed: u64,
    /// The trace.
    pub trace: TraceInfo,
    /// One entry a configuration, in the order asked for.
    pub runs: Vec<RunResult>,
    /// What was varied, and where in that each run stands; `sweep` only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sweep: Option<Swept>,
    /// The smallest caches that meet what was asked for with `--target`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub targets: Vec<Smallest>,
    /// What the runs come to, in words: verdicts, warnings and notes.
    pub said: Vec<Said>,
}

/// The program that wrote a result, and how it was called.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct Program {
    /// Its version.
    pub version: Cow<'static, str>,
    /// The command line that writes the result again, as one would type it.
    pub command: String,
}

/// The trace, after filters.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct TraceInfo {
    /// File name or workload.
    pub name: String,
    /// The format it was read in, or the built-in workload; null if a program made the requests.
    pub format: Option<TraceFormat>,
    /// Of the requests as they were run, after all filters ([`shingle_trace::hash`]).
    pub hash: String,
    /// Requests of all kinds.
    pub requests: u64,
    /// Blocks accessed: each block a read or write touches, once a request.
    pub blocks: u64,
    /// Of these, by reads.
    pub read_blocks: u64,
    /// Of these, by writes.
    pub write_blocks: u64,
    /// Different blocks accessed.
    pub distinct_blocks: u64,
    /// Bytes of the 5,000-block zones that any access touches.
    pub accessed_zone_bytes: u64,
    /// Bytes of the 5,000-block zones that writes touch.
    pub written_zone_bytes: u64,
}

impl TraceInfo {
    /// Of a summarised trace of `requests`.
    #[must_use]
    pub fn new(
        name: &str,
        format: Option<&Recognised>,
        requests: &[Request],
        summary: &Summary,
    ) -> TraceInfo {
        TraceInfo {
            name: name.into(),
            format: format.map(TraceFormat::new),
            hash: shingle_trace::hash::hash(requests),
            requests: summary.requests.total(),
            blocks: summary.blocks(),
            read_blocks: summary.read_blocks,
            write_blocks: summary.write_blocks,
            distinct_blocks: summary.distinct_blocks,
            accessed_zone_bytes: summary.accessed_zone_bytes(),
            written_zone_bytes: summary.written_zone_bytes(),
        }
    }
}

/// The format of a trace, and how it is known.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct TraceFormat {
    /// As `--format` takes it; of a built-in workload its name.
    pub name: String,
    /// One line about it.
    pub about: String,
    /// How it is known: `told` (by `--format`), `magic` (only this format begins so), `header` (by the
    /// names of its columns), `lines` or `records` (those of the beginning fit this format and no
    /// other), or `workload` (it is built in).
    pub by: Cow<'static, str>,
    /// The same in words, with how many lines or records that rests on.
    pub evidence: String,
}

impl TraceFormat {
    /// Of what was recognised.
    #[must_use]
    pub fn new(recognised: &Recognised) -> TraceFormat {
        TraceFormat {
            name: recognised.name.into(),
            about: recognised.about.into(),
            by: recognised.evidence.kind().into(),
            evidence: recognised.evidence.to_string(),
        }
    }
}

/// One configuration.
#[derive(Clone, Debug, JsonSchema, Serialize, Deserialize)]
pub struct RunResult {
    /// Seed of a synthetic trace.
    pub seed: u64,
    /// Policy.
    pub policy: String,
    /// Parameters of policy and cache.
    pub parameters: BTreeMap<String, String>,
    /// Drive.
    pub drive: String,
    /// What was set on the drive: buffer, timing and parameters that differ from its sheet.
    pub drive_parameters: BTreeMap<String, String>,
    /// Blocks of the disk's persistent buffer, or of that of the translation; null for a disk without
    /// and for a real one.
    #[serde(default)]
    pub pb_blocks: Option<u64>,
    /// SSD the cache is on.
    pub ssd: String,
    /// Translation over the drive; null if there is none.
    pub translation: Option<String>,
    /// Its parameters, and how long the drive is idle before it works; null if there is none.
    pub translation_parameters: Option<BTreeMap<String, String>>,
    /// Slots of the cache.
    pub cache_blocks: u64,
    /// `rw`, `w` or `r`.
    pub mode: Cow<'static, str>,
    /// `closed` or `trace`.
    pub pacing: Cow<'static, str>,
    /// The policy is given the true bands of the drive.
    pub knows_bands: bool,
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
    pub(crate) fn uncounted(
        labels: &Labels,
        cache_blocks: u64,
        pacing: Pacing,
        memory: policy::Memory,
    ) -> RunResult {
        let none = Counts::between(&Snapshot::default(), &Snapshot::default());
        RunResult {
            seed: labels.seed,
            policy: labels.policy.clone(),
            parameters: labels.parameters.clone(),
            drive: labels.drive.clone(),
            drive_parameters: labels.drive_parameters.clone(),
            pb_blocks: None,
            ssd: labels.ssd.clone(),
            translation: labels.translation.as_ref().map(|(name, _)| name.clone()),
            translation_parameters: labels.translation.clone().map(|(_, set)| set),
            cache_blocks,
            mode: labels.mode.into(),
            pacing: pacing.name().into(),
            knows_bands: labels.knows_bands,
            memory: Memory {
                bytes_per_slot: ratio(memory.by_slots as u64, cache_blocks),
                zone_bytes: memory.by_zones as u64,
            },
            all: none,
            warm: none,
            warm_from: None,
            left: Left::default(),
            drained: None,
            latency: ResponseTimes::default().latency(),
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

/// Counters of a run or of a part of it. Ratios with nothing to divide by are null.
#[derive(Clone, Copy, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Counts {
    /// Requests by kind.
    pub requests: Requests,
    /// Their blocks.
    pub accesses: PerOp,
    /// Accesses that found their block cached.
    pub hits: Hits,
    /// Accesses served by the disk without entering the cache.
    pub bypass: PerOp,
    /// Partly written blocks whose rest was read from the disk.
    pub fills: u64,
    /// Blocks that left the cache.
    pub evictions: Evictions,
    /// Host-side read-modify-writes of zones.
    pub host_rmw: HostRmw,
    /// The cache device.
    pub ssd: Ssd,
    /// The disk.
    pub drive_io: DriveIo,
    /// The disk's persistent buffer.
    pub pb: Buffer,
    /// Band bytes written by cleaning ÷ live bytes that left the buffer.
    pub wa_band: Option<f64>,
    /// All bytes written to the medium ÷ bytes the drive received.
    pub wa_drive: Option<f64>,
    /// All bytes written to the medium ÷ bytes the host wrote (in whole blocks).
    pub wa_host: Option<f64>,
    /// Flash pages programmed ÷ pages the cache wrote; null without a model of the flash.
    pub wa_flash: Option<f64>,
    /// Virtual time.
    pub seconds: Seconds,
}

/// Requests by kind.
#[derive(Clone, Copy, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct Requests {
    pub read: u64,
    pub write: u64,
    pub trim: u64,
    pub flush: u64,
}

/// Hits in blocks.
#[derive(Clone, Copy, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct Hits {
    pub read_blocks: u64,
    pub write_blocks: u64,
    /// Hits ÷ accesses.
    pub ratio: Option<f64>,
}

/// Blocks by direction.
#[derive(Clone, Copy, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct PerOp {
    pub read_blocks: u64,
    pub write_blocks: u64,
}

/// Blocks that left the cache.
#[derive(Clone, Copy, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct Evictions {
    pub clean_blocks: u64,
    pub dirty_blocks: u64,
}

/// The cache device. The flash within it counts only where it is modelled.
#[derive(Clone, Copy, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Ssd {
    /// Blocks the cache read.
    pub read_blocks: u64,
    /// Blocks the cache wrote.
    pub written_blocks: u64,
    /// Flash pages programmed, for the cache and by garbage collection.
    #[schemars(with = "Option<u64>")]
    pub programmed_blocks: u64,
    /// Of these, those that garbage collection copied.
    #[schemars(with = "Option<u64>")]
    pub copied_blocks: u64,
    /// Flash blocks erased.
    #[schemars(with = "Option<u64>")]
    pub erases: u64,
}

/// What the disk was asked and what it did inside.
#[derive(Clone, Copy, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct DriveIo {
    /// Blocks read from the disk.
    pub read_blocks: u64,
    /// Blocks written to the disk.
    pub written_blocks: u64,
    /// Bands cleaned after their native data had been read.
    #[schemars(with = "Option<u64>")]
    pub rmw: u64,
    /// Bands cleaned without that.
    #[schemars(with = "Option<u64>")]
    pub rmw_free: u64,
    /// Native bytes read by cleaning.
    #[schemars(with = "Option<u64>")]
    pub rmw_read_bytes: u64,
    /// Bytes written to bands by cleaning.
    #[schemars(with = "Option<u64>")]
    pub band_bytes_written: u64,
    /// Cleanings of a band cleaned less than one buffer of evicted blocks before.
    #[schemars(with = "Option<u64>")]
    pub truncated: u64,
    /// Bytes written straight to their native place.
    #[schemars(with = "Option<u64>")]
    pub native_bytes_written: u64,
    /// Bytes written to the buffer, headers, padding and staging included.
    #[schemars(with = "Option<u64>")]
    pub log_bytes_written: u64,
    /// Blocks that cleaning made up to fill gaps below a new write pointer.
    #[schemars(with = "Option<u64>")]
    pub synthesized_blocks: u64,
    /// Blocks read at or beyond a write pointer that nobody had written.
    #[schemars(with = "Option<u64>")]
    pub beyond_pointer_blocks: u64,
    /// Zones the host reset.
    #[schemars(with = "Option<u64>")]
    pub zone_resets: u64,
    /// Open zones the drive closed to open others.
    #[schemars(with = "Option<u64>")]
    pub zone_closes: u64,
}

/// Zones that the host read, merged with what it had cached, and wrote back.
#[derive(Clone, Copy, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct HostRmw {
    /// How many.
    pub zones: u64,
    /// Blocks read from the disk for that.
    pub read_blocks: u64,
    /// Blocks written, those from the cache included.
    pub written_blocks: u64,
}

/// The disk's persistent buffer, in blocks.
#[derive(Clone, Copy, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Buffer {
    /// Host reads served from it.
    #[schemars(with = "Option<u64>")]
    pub read_blocks: u64,
    /// Host writes that went into it.
    #[schemars(with = "Option<u64>")]
    pub written_blocks: u64,
    /// Host reads served from the native place.
    #[schemars(with = "Option<u64>")]
    pub native_read_blocks: u64,
    /// Writes of blocks it held already.
    #[schemars(with = "Option<u64>")]
    pub write_hits: u64,
    /// Live blocks that cleaning moved out.
    #[schemars(with = "Option<u64>")]
    pub evicted_blocks: u64,
    /// Live blocks that its own garbage collection moved within it.
    #[schemars(with = "Option<u64>")]
    pub moved_blocks: u64,
}

/// Virtual seconds.
#[derive(Clone, Copy, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Seconds {
    /// SSD and disk, cleaning in idle time apart. In closed loop, the length of the run.
    pub total: f64,
    /// Charged to the call that took them, waiting for the device apart.
    pub by_call: ByCall,
    /// Charged to what the device did.
    pub by_cause: ByCause,
}

/// Seconds by call.
#[derive(Clone, Copy, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct ByCall {
    pub ssd_read: f64,
    pub ssd_write: f64,
    pub drive_read: f64,
    pub drive_write: f64,
}

/// Seconds by cause.
#[derive(Clone, Copy, Debug, Default, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct ByCause {
    /// The SSD.
    pub ssd: f64,
    /// Reading from the disk.
    pub read: f64,
    /// Writing to the buffer.
    #[schemars(with = "Option<f64>")]
    pub log: f64,
    /// Writing to the native place: conventional disks, sequential bands.
    pub write: f64,
    /// Cleaning that made I/O wait.
    #[schemars(with = "Option<f64>")]
    pub clean: f64,
    /// Cleaning in idle time; not part of the total.
    #[schemars(with = "Option<f64>")]
    pub idle_clean: f64,
}

/// Work left undone at the end of a run, or done then because it was asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Left {
    /// Dirty blocks in the cache.
    pub dirty_blocks: u64,
    /// Blocks that the disk has taken and that are not in their bands yet: live ones in its buffer, and
    /// those it holds in memory until it is known whether they fill a band in order.
    #[schemars(with = "Option<u64>")]
    pub buffer_blocks: u64,
    /// Bands to which those in the buffer belong.
    #[schemars(with = "Option<u64>")]
    pub buffer_bands: u64,
    /// Time of SSD and disk to destage and clean all of it: the sum of `by_cause`.
    #[schemars(with = "Option<f64>")]
    pub seconds: f64,
    /// The same by what the devices do for that.
    #[schemars(with = "Option<ByCause>")]
    pub by_cause: ByCause,
    /// Bands to be cleaned after their native data has been read.
    #[schemars(with = "Option<u64>")]
    pub rmw: u64,
    /// Bands to be cleaned without that.
    #[schemars(with = "Option<u64>")]
    pub rmw_free: u64,
    /// Blocks to be read from the disk.
    #[schemars(with = "Option<u64>")]
    pub read_blocks: u64,
    /// Blocks to be written to the disk.
    #[schemars(with = "Option<u64>")]
    pub written_blocks: u64,
}

impl Left {
    /// What it took to do what was left, but for what that was.
    pub(crate) fn doing(done: &Counts) -> Left {
        Left {
            seconds: done.seconds.total,
            by_cause: done.seconds.by_cause,
            rmw: done.drive_io.rmw,
            rmw_free: done.drive_io.rmw_free,
            read_blocks: done.drive_io.read_blocks,
            written_blocks: done.drive_io.written_blocks,
            ..Left::default()
        }
    }
}

/// Response times of requests.
#[derive(Clone, Copy, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct Latency {
    pub mean_us: f64,
    pub p50_us: f64,
    pub p99_us: f64,
    pub p999_us: f64,
    pub max_us: f64,
}

/// Response times of I/O at the disk.
#[derive(Clone, Copy, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct DriveLatency {
    pub ios: u64,
    pub mean_us: Option<f64>,
    pub max_us: f64,
}

impl DriveLatency {
    #[allow(clippy::cast_precision_loss)]
    pub(crate) fn of(responses: Responses) -> DriveLatency {
        DriveLatency {
            ios: responses.count,
            mean_us: ratio(responses.sum.0, responses.count).map(|ns| ns / 1000.0),
            max_us: responses.max.0 as f64 / 1000.0,
        }
    }
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

/// What happened in one part of a run.
#[derive(Clone, Copy, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Point {
    /// Requests from the start of the run to the end of this part.
    pub requests: u64,
    /// Virtual seconds from the start of the run to the end of this part.
    pub at_seconds: f64,
    /// Device time of this part.
    pub seconds: f64,
    /// Of that, cleaning.
    pub clean_seconds: f64,
    /// Block accesses of this part.
    pub blocks: u64,
    /// Hits ÷ accesses of this part.
    pub hit_ratio: Option<f64>,
    /// Bands cleaned in this part.
    pub rmw: u64,
    /// Dirty blocks in the cache at the end of this part.
    pub dirty_blocks: u64,
    /// Blocks in the disk's buffer at the end of this part, counted as in `left`.
    pub buffer_blocks: u64,
    /// Bands to which those in the buffer belong.
    pub buffer_bands: u64,
}

impl Point {
    /// The end of a part in which `part` was counted.
    pub(crate) fn of(
        requests: usize,
        at: Nanos,
        part: &Counts,
        dirty_blocks: u64,
        buffer: &BufferState,
    ) -> Point {
        Point {
            requests: requests as u64,
            at_seconds: at.as_secs_f64(),
            seconds: part.seconds.total,
            clean_seconds: part.seconds.by_cause.clean,
            blocks: part.accesses.read_blocks + part.accesses.write_blocks,
            hit_ratio: part.hits.ratio,
            rmw: part.drive_io.rmw,
            dirty_blocks,
            buffer_blocks: buffer.pending_blocks(),
            buffer_bands: buffer.bands,
        }
    }
}

/// Addresses by time. A row is a number of neighbouring 5,000-block zones that the trace touches,
/// all rows nearly the same number; those between that it does not touch are in none.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Heat {
    /// The first byte of the first zone of each row.
    pub row_first_bytes: Vec<u64>,
    /// For each part of the series, blocks that the host wrote, by row.
    pub written_blocks: Vec<Vec<u64>>,
    /// For each part of the series, blocks that the disk was asked to write, by row: what dirty
    /// evictions, bypassing writes and host-side RMWs send it.
    pub drive_written_blocks: Vec<Vec<u64>>,
}

/// Requests within a span of response times.
#[derive(Clone, Copy, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Bar {
    /// No response time of the bar is longer; each is longer than this bound of the bar before.
    pub up_to_us: f64,
    /// Requests.
    pub requests: u64,
}

/// Real time: the one part that differs between equal runs.
#[derive(Clone, Copy, Debug, JsonSchema, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct Wall {
    pub seconds: f64,
    pub blocks_per_second: f64,
}

#[allow(clippy::cast_precision_loss)]
pub(crate) fn ratio(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

impl Counts {
    /// What happened from `before` to `after`.
    #[must_use]
    pub fn between(before: &Snapshot, after: &Snapshot) -> Counts {
        let (h0, h) = (&before.host, &after.host);
        let (d0, d) = (&before.disk, &after.disk);
        let (s0, s) = (&before.ssd, &after.ssd);
        let cached = s.written_blocks - s0.written_blocks;
        let programmed = s.pages_programmed - s0.pages_programmed;
        let span = |from: Nanos, to: Nanos| to.since(from).as_secs_f64();
        let accesses = h.read_blocks + h.write_blocks - h0.read_blocks - h0.write_blocks;
        let hits = (h.read_hits - h0.read_hits, h.write_hits - h0.write_hits);
        let received = (d.written_blocks - d0.written_blocks) * BLOCK_BYTES;
        let band_bytes = d.band_bytes_written - d0.band_bytes_written;
        let native_bytes = d.native_bytes_written - d0.native_bytes_written;
        let log_bytes = d.log_bytes_written - d0.log_bytes_written;
        let medium_bytes = band_bytes + native_bytes + log_bytes;
        let evicted = d.buffer_evicted_blocks - d0.buffer_evicted_blocks;
        let ssd_read = h.ssd_read_time.since(h0.ssd_read_time);
        let ssd_write = h.ssd_write_time.since(h0.ssd_write_time);
        let causes = [
            ssd_read + ssd_write,
            d.read_time.since(d0.read_time),
            d.log_time.since(d0.log_time),
            d.write_time.since(d0.write_time),
            d.clean_time.since(d0.clean_time),
        ];
        Counts {
            requests: Requests {
                read: h.read_requests - h0.read_requests,
                write: h.write_requests - h0.write_requests,
                trim: h.trim_requests - h0.trim_requests,
                flush: h.flush_requests - h0.flush_requests,
            },
            accesses: PerOp {
                read_blocks: h.read_blocks - h0.read_blocks,
                write_blocks: h.write_blocks - h0.write_blocks,
            },
            hits: Hits {
                read_blocks: hits.0,
                write_blocks: hits.1,
                ratio: ratio(hits.0 + hits.1, accesses),
            },
            bypass: PerOp {
                read_blocks: h.bypassed_reads - h0.bypassed_reads,
                write_blocks: h.bypassed_writes - h0.bypassed_writes,
            },
            fills: h.fills - h0.fills,
            evictions: Evictions {
                clean_blocks: h.evicted_clean - h0.evicted_clean,
                dirty_blocks: h.evicted_dirty - h0.evicted_dirty,
            },
            host_rmw: HostRmw {
                zones: h.host_rmw - h0.host_rmw,
                read_blocks: h.host_rmw_read_blocks - h0.host_rmw_read_blocks,
                written_blocks: h.host_rmw_written_blocks - h0.host_rmw_written_blocks,
            },
            ssd: Ssd {
                read_blocks: s.read_blocks - s0.read_blocks,
                written_blocks: cached,
                programmed_blocks: programmed,
                copied_blocks: s.pages_copied - s0.pages_copied,
                erases: s.flash_blocks_erased - s0.flash_blocks_erased,
            },
            drive_io: DriveIo {
                read_blocks: d.read_blocks - d0.read_blocks,
                written_blocks: d.written_blocks - d0.written_blocks,
                rmw: d.rmw - d0.rmw,
                rmw_free: d.rmw_free - d0.rmw_free,
                rmw_read_bytes: d.rmw_read_bytes - d0.rmw_read_bytes,
                band_bytes_written: band_bytes,
                truncated: d.truncated - d0.truncated,
                native_bytes_written: native_bytes,
                log_bytes_written: log_bytes,
                synthesized_blocks: d.synthesized_blocks - d0.synthesized_blocks,
                beyond_pointer_blocks: d.beyond_pointer_blocks - d0.beyond_pointer_blocks,
                zone_resets: d.zone_resets - d0.zone_resets,
                zone_closes: d.zone_closes - d0.zone_closes,
            },
            pb: Buffer {
                read_blocks: d.buffer_read_blocks - d0.buffer_read_blocks,
                written_blocks: d.buffer_written_blocks - d0.buffer_written_blocks,
                native_read_blocks: d.native_read_blocks - d0.native_read_blocks,
                write_hits: d.buffer_write_hits - d0.buffer_write_hits,
                evicted_blocks: evicted,
                moved_blocks: d.buffer_moved_blocks - d0.buffer_moved_blocks,
            },
            wa_band: ratio(band_bytes, evicted * BLOCK_BYTES),
            wa_drive: ratio(medium_bytes, received),
            wa_host: ratio(medium_bytes, (h.write_blocks - h0.write_blocks) * BLOCK_BYTES),
            wa_flash: ratio(programmed, cached).filter(|_| programmed > 0),
            seconds: Seconds {
                total: causes.iter().copied().sum::<Nanos>().as_secs_f64(),
                by_call: ByCall {
                    ssd_read: ssd_read.as_secs_f64(),
                    ssd_write: ssd_write.as_secs_f64(),
                    drive_read: span(h0.drive_read_time, h.drive_read_time),
                    drive_write: span(h0.drive_write_time, h.drive_write_time),
                },
                by_cause: ByCause {
                    ssd: causes[0].as_secs_f64(),
                    read: causes[1].as_secs_f64(),
                    log: causes[2].as_secs_f64(),
                    write: causes[3].as_secs_f64(),
                    clean: causes[4].as_secs_f64(),
                    idle_clean: span(d0.idle_clean_time, d.idle_clean_time),
                },
            },
        }
    }
}
