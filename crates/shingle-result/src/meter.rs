//! Counts a real run from the events of its observer, with the counters of a simulated one.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use shingle_core::cache::Outcome;
use shingle_core::observer::{Attempt, Event, Observer};
use shingle_core::policy;
use shingle_core::units::{Block, Nanos, Op, Request};
use shingle_drive::{BufferState, Counters};

use crate::counters::{HostCounters, Snapshot};
use crate::counts::Counts;
use crate::labels::Labels;
use crate::latency::{DriveLatency, ResponseTimes, Responses};
use crate::left::Left;
use crate::run::{Measured, RunResult, Wall};
use crate::series::Point;

/// The counters of an emulated disk, which its thread updates.
pub type ModelCounters = Arc<Mutex<Counters>>;

/// Counts the host's requests and the cache's work.
#[derive(Default)]
pub struct HostMeter {
    /// The counters so far, without device times.
    pub host: HostCounters,
    /// Requests from the oldest unanswered one on, each with the number of its blocks that the
    /// cache was asked for; answered ones are `None`.
    open: VecDeque<Option<(Request, u64)>>,
    requests: u64,
    failed_requests: u64,
    /// Whether a block was evicted: the cache was full.
    has_evicted: bool,
}

impl HostMeter {
    /// Returns whether the cache has been full.
    #[must_use]
    #[inline]
    pub fn was_full(&self) -> bool {
        self.has_evicted
    }

    /// Returns an unanswered request.
    #[inline]
    fn open(&mut self, number: u64) -> Option<&mut Option<(Request, u64)>> {
        let first = self.requests - self.open.len() as u64;
        self.open.get_mut(number.checked_sub(first)? as usize)
    }

    #[inline]
    fn access(&mut self, asked: Attempt, number: u64, block: Block, outcome: Outcome) {
        let Some(Some((request, blocks))) = self.open(number) else { return };
        *blocks += u64::from(asked == Attempt::Access);
        let (write, partial) = (request.op == Op::Write, request.partial(block));
        let host = &mut self.host;
        match (outcome, write) {
            (Outcome::Hit(_), false) => host.read_hits += 1,
            (Outcome::Hit(_), true) => host.write_hits += 1,
            (Outcome::Miss(_), _) => host.fills += u64::from(write && partial),
            // A read needs no room: it bypasses the cache.
            (Outcome::Bypass | Outcome::NoRoom, false) => host.bypassed_reads += 1,
            (Outcome::Bypass, true) => {
                host.bypassed_writes += 1;
                host.fills += u64::from(partial);
            }
            (Outcome::NoRoom, true) => {}
        }
    }
}

impl Observer for HostMeter {
    // (Inlined: most callers know which event it is, so that the compiler removes the choice.)
    #[inline(always)]
    fn event(&mut self, event: &Event) {
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
                self.open.push_back(Some((request, 0)));
                self.requests += 1;
            }
            Event::Answered { number, done, .. } => {
                self.failed_requests += u64::from(!done);
                let Some((request, asked)) = self.open(number).and_then(Option::take) else {
                    return;
                };
                while matches!(self.open.front(), Some(None)) {
                    self.open.pop_front();
                }
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
                self.has_evicted = true;
                self.host.evicted_clean += 1;
            }
            Event::Leaves(_) => self.has_evicted = true,
            Event::Destaged(_, freed) => match freed {
                true => self.host.evicted_dirty += 1,
                false => self.host.cleaned += 1,
            },
            Event::Trimmed { dropped, .. } => self.host.trimmed += dropped,
            _ => {}
        }
    }

    fn follows(&self) -> bool {
        false
    }
}

/// Counts the events of a real run.
#[derive(Default)]
pub struct Meter {
    host: HostMeter,
    /// Device times, by the kind of I/O.
    times: HostCounters,
    ssd: Counters,
    disk: Counters,
    model: Option<ModelCounters>,
    responses: Responses,
    warm: Option<(u64, Snapshot)>,
    failed_ios: u64,
    points: Vec<Point>,
    /// The counters at the start of the current part.
    part_from: Snapshot,
    /// The counters when draining began.
    drain_from: Option<Snapshot>,
}

/// Figures of a real run besides its counters.
pub struct RealRun<'a> {
    /// The labels of the run.
    pub labels: &'a Labels,
    /// Memory of cache and policy.
    pub memory: policy::Memory,
    /// Most requests in flight; `None` if they came at the trace's own times.
    pub depth: Option<u64>,
    /// Response times.
    pub times: &'a ResponseTimes,
    /// The duration of the run.
    pub seconds: f64,
    /// Dirty blocks at the end.
    pub dirty_blocks: u64,
    /// The contents of an emulated disk's buffer at the end: blocks, and bands they belong to.
    pub buffered: (u64, u64),
    /// The time that destaging and cleaning it took, if that was done: then nothing is left.
    pub drained_seconds: Option<f64>,
}

impl Meter {
    /// Creates a meter for a run whose disk is emulated.
    #[must_use]
    pub fn of_model(model: ModelCounters) -> Meter {
        Meter { model: Some(model), ..Meter::default() }
    }

    fn snapshot(&self) -> Snapshot {
        let disk = match &self.model {
            Some(model) => *model.lock().unwrap_or_else(PoisonError::into_inner),
            None => self.disk,
        };
        Snapshot { host: self.host.host.timed(&self.times), ssd: self.ssd, disk }
    }

    fn io(&mut self, ssd: bool, op: Op, blocks: u64, took: Nanos) {
        let (counters, times) = (if ssd { &mut self.ssd } else { &mut self.disk }, &mut self.times);
        match op {
            Op::Read => counters.read_blocks += blocks,
            _ => counters.written_blocks += blocks,
        }
        *(match (ssd, op) {
            (true, Op::Read) => &mut times.ssd_read_time,
            (true, _) => &mut times.ssd_write_time,
            (false, Op::Read) => &mut times.drive_read_time,
            (false, _) => &mut times.drive_write_time,
        }) += took;
        if ssd {
            return;
        }
        *(match op {
            Op::Read => &mut self.disk.read_time,
            _ => &mut self.disk.write_time,
        }) += took;
        self.responses.record(took);
    }

    /// Ends a part of the run: `requests` were submitted so far, and the present contents of the
    /// cache and of an emulated disk's buffer are given.
    pub fn end_part(
        &mut self,
        requests: usize,
        at: Nanos,
        dirty_blocks: u64,
        buffer: &BufferState,
    ) {
        let now = self.snapshot();
        let part = Counts::between(&self.part_from, &now);
        self.points.push(Point::of(requests, at, &part, dirty_blocks, buffer));
        self.part_from = now;
    }

    /// Marks the start of draining: all requests are complete.
    pub fn drain_begins(&mut self) {
        self.drain_from = Some(self.snapshot());
    }

    /// Returns the result.
    #[must_use]
    pub fn result(&self, run: &RealRun<'_>) -> RunResult {
        let end = self.snapshot();
        let warm = self.warm.as_ref();
        // The time of deferred work can be measured only by doing it.
        let undone = Left {
            dirty_blocks: run.dirty_blocks,
            buffer_blocks: run.buffered.0,
            buffer_bands: run.buffered.1,
            ..Left::default()
        };
        let done = self.drain_from.as_ref().map(|before| Counts::between(before, &end));
        let done = done.as_ref().map(Left::of_drain).unwrap_or_default();
        let Left { dirty_blocks, buffer_blocks, buffer_bands, .. } = undone;
        let drained = run.drained_seconds.map(|seconds| Left {
            seconds,
            dirty_blocks,
            buffer_blocks,
            buffer_bands,
            ..done
        });
        let all = Counts::between(&Snapshot::default(), &end);
        RunResult {
            wall: Wall::new(run.seconds, &all),
            all,
            warm: Counts::between(warm.map_or(&end, |(_, before)| before), &end),
            warm_from: warm.map(|&(request, _)| request),
            left: if drained.is_some() { Left::default() } else { undone },
            drained,
            latency: run.times.latency(),
            read_latency: run.times.read_latency(),
            drive_latency: DriveLatency::of(self.responses),
            histogram: run.times.bars(),
            series: self.points.clone(),
            measured: Some(Measured {
                depth: run.depth,
                failed_requests: self.host.failed_requests,
                failed_ios: self.failed_ios,
                emulated: self.model.is_some(),
            }),
            // (This process has no translation.)
            ..RunResult::without_counts(run.labels, run.memory)
        }
    }
}

impl Observer for Meter {
    fn event(&mut self, event: &Event) {
        let was_full = self.host.was_full();
        if let Event::Io { ssd, op, blocks, took, done, .. } = *event {
            self.failed_ios += u64::from(!done);
            return self.io(ssd, op, blocks, took);
        }
        // The counters before the first victim.
        let leaves = matches!(event, Event::Dropped(_) | Event::Leaves(_));
        let before = (leaves && !was_full).then(|| (self.host.requests, self.snapshot()));
        self.host.event(event);
        if !was_full && self.host.was_full() {
            self.warm = before;
        }
    }

    fn follows(&self) -> bool {
        false
    }
}
