//! A real run, counted from what its witness sees, and told in the words of a simulated one.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use shingle_core::cache::Outcome;
use shingle_core::policy;
use shingle_core::units::{Block, Nanos, Op, Request};
use shingle_core::witness::{Asked, Event, Witness};
use shingle_drive::drive::Counters;

use crate::counters::{HostCounters, Snapshot};
use crate::device::Responses;
use crate::response::ResponseTimes;
use crate::result::{Counts, DriveLatency, Left, Measured, Memory, RunResult, Wall};
use crate::run::Labels;
use crate::system::Pacing;

/// What an emulated disk counts, as its thread goes along.
pub type Model = Arc<Mutex<Counters>>;

/// Counts what happens.
#[derive(Default)]
pub struct Meter {
    host: HostCounters,
    ssd: Counters,
    disk: Counters,
    model: Option<Model>,
    responses: Responses,
    /// Requests that are not answered, and how many of their blocks the cache was asked for.
    open: BTreeMap<u64, (Request, u64)>,
    requests: u64,
    warm: Option<(u64, Snapshot)>,
    failed_requests: u64,
    failed_ios: u64,
}

/// What is told beside the counts.
pub struct Course<'a> {
    /// What the run is called.
    pub labels: &'a Labels,
    /// Slots of the cache.
    pub cache_blocks: u64,
    /// What cache and policy take.
    pub memory: policy::Memory,
    /// When requests came.
    pub pacing: Pacing,
    /// Requests under way at a time, in closed loop.
    pub depth: u64,
    /// Response times.
    pub times: &'a ResponseTimes,
    /// How long all took.
    pub seconds: f64,
    /// Dirty blocks at the end.
    pub dirty_blocks: u64,
    /// What an emulated disk has in its buffer at the end: blocks, and bands they belong to.
    pub buffered: (u64, u64),
    /// The time that destaging and cleaning what was left took, if it was done.
    pub left_seconds: f64,
}

impl Meter {
    /// Of a run whose disk is emulated.
    #[must_use]
    pub fn of_model(model: Model) -> Meter {
        Meter { model: Some(model), ..Meter::default() }
    }

    fn snapshot(&self) -> Snapshot {
        let disk = match &self.model {
            Some(model) => *model.lock().unwrap_or_else(PoisonError::into_inner),
            None => self.disk,
        };
        Snapshot { host: self.host, ssd: self.ssd, disk }
    }

    fn access(&mut self, asked: Asked, number: u64, block: Block, outcome: Outcome) {
        let Some((request, blocks)) = self.open.get_mut(&number) else { return };
        *blocks += u64::from(asked == Asked::Access);
        let write = request.op == Op::Write;
        let partial = request.partial(block);
        let host = &mut self.host;
        match (outcome, write) {
            (Outcome::Hit(_), false) => host.read_hits += 1,
            (Outcome::Hit(_), true) => host.write_hits += 1,
            (Outcome::Miss(_), _) => host.fills += u64::from(write && partial),
            // Reading needs no room: it goes round the cache.
            (Outcome::Bypass | Outcome::NoRoom, false) => host.bypassed_reads += 1,
            (Outcome::Bypass, true) => {
                host.bypassed_writes += 1;
                host.fills += u64::from(partial);
            }
            (Outcome::NoRoom, true) => {}
        }
    }

    fn victim(&mut self) {
        if self.warm.is_none() {
            self.warm = Some((self.requests, self.snapshot()));
        }
    }

    fn io(&mut self, ssd: bool, op: Op, blocks: u64, took: Nanos) {
        let (counters, host) = (if ssd { &mut self.ssd } else { &mut self.disk }, &mut self.host);
        match op {
            Op::Read => counters.read_blocks += blocks,
            _ => counters.written_blocks += blocks,
        }
        *(match (ssd, op) {
            (true, Op::Read) => &mut host.ssd_read_time,
            (true, _) => &mut host.ssd_write_time,
            (false, Op::Read) => &mut host.drive_read_time,
            (false, _) => &mut host.drive_write_time,
        }) += took;
        if ssd {
            return;
        }
        *(match op {
            Op::Read => &mut self.disk.read_time,
            _ => &mut self.disk.write_time,
        }) += took;
        self.responses.count += 1;
        self.responses.sum += took;
        self.responses.max = self.responses.max.max(took);
    }

    /// What it all came to.
    #[must_use]
    #[allow(clippy::cast_precision_loss)]
    pub fn result(&self, course: &Course<'_>) -> RunResult {
        let Course { labels, cache_blocks, .. } = *course;
        let end = self.snapshot();
        let warm = self.warm.as_ref();
        let open = course.pacing == Pacing::Open;
        let wall = course.seconds.max(1e-9);
        RunResult {
            seed: labels.seed,
            policy: labels.policy.clone(),
            parameters: labels.parameters.clone(),
            drive: labels.drive.clone(),
            drive_parameters: labels.drive_parameters.clone(),
            ssd: labels.ssd.clone(),
            translation: None,
            translation_parameters: None,
            cache_blocks,
            mode: labels.mode.into(),
            pacing: course.pacing.name().into(),
            knows_bands: labels.knows_bands,
            memory: Memory {
                bytes_per_slot: crate::result::ratio(course.memory.by_slots as u64, cache_blocks),
                zone_bytes: course.memory.by_zones as u64,
            },
            all: Counts::between(&Snapshot::default(), &end),
            warm: Counts::between(warm.map_or(&end, |(_, before)| before), &end),
            warm_from: warm.map(|&(request, _)| request),
            left: Left {
                dirty_blocks: course.dirty_blocks,
                buffer_blocks: course.buffered.0,
                buffer_bands: course.buffered.1,
                seconds: course.left_seconds,
            },
            latency: course.times.latency(),
            drive_latency: DriveLatency::of(self.responses),
            flash: None,
            translation_counters: None,
            queue: None,
            series: Vec::new(),
            heat: None,
            histogram: course.times.bars(),
            checked_reads: None,
            measured: Some(Measured {
                depth: (!open).then_some(course.depth),
                failed_requests: self.failed_requests,
                failed_ios: self.failed_ios,
                emulated: self.model.is_some(),
            }),
            wall: Wall {
                seconds: wall,
                blocks_per_second: (end.host.read_blocks + end.host.write_blocks) as f64 / wall,
            },
        }
    }
}

impl Witness for Meter {
    fn see(&mut self, event: &Event) {
        match *event {
            Event::Request(request) => {
                let (host, blocks) = (&mut self.host, request.blocks());
                match request.op {
                    Op::Read => {
                        host.read_requests += 1;
                        host.read_blocks += blocks;
                    }
                    Op::Write => {
                        host.write_requests += 1;
                        host.write_blocks += blocks;
                    }
                    Op::Trim => host.trim_requests += 1,
                    Op::Flush => host.flush_requests += 1,
                }
                self.open.insert(self.requests, (request, 0));
                self.requests += 1;
            }
            Event::Answered { number, done, .. } => {
                self.failed_requests += u64::from(!done);
                let Some((request, asked)) = self.open.remove(&number) else { return };
                // The cache was not asked for the rest.
                let rest = request.blocks().saturating_sub(asked);
                match request.op {
                    Op::Read => self.host.bypassed_reads += rest,
                    Op::Write => self.host.bypassed_writes += rest,
                    Op::Trim | Op::Flush => {}
                }
            }
            Event::Access { asked, number, block, outcome } => {
                self.access(asked, number, block, outcome);
            }
            Event::Dropped(_) => {
                self.victim();
                self.host.evicted_clean += 1;
            }
            Event::Leaves(_) => self.victim(),
            Event::Destaged(_, freed) => self.host.evicted_dirty += u64::from(freed),
            Event::Io { ssd, op, blocks, took, done, .. } => {
                self.failed_ios += u64::from(!done);
                self.io(ssd, op, blocks, took);
            }
            _ => {}
        }
    }
}
