//! A run of one configuration over one trace.

use std::cell::Cell;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::mem;
use std::sync::Arc;
use std::time::Instant;

use shingle_core::ahead::{LOOKAHEAD, PREFETCH_REQUESTS};
use shingle_core::units::{Nanos, Op, Request};
use shingle_drive::BufferState;
use shingle_result::{
    Counts, DriveLatency, Flash, Labels, Left, Pacing, Parts, Point, Queue, ResponseTimes,
    RunResult, Snapshot, Wall,
};
use shingle_trace::TraceError;
use thiserror::Error;

use crate::backlog::Backlog;
use crate::check::StaleRead;
use crate::future::next_uses;
use crate::guard::{Stopped, guarded};
use crate::requests::{RequestList, all};
use crate::system::System;
use crate::watch::{Heating, Rows};

/// Options of a run, apart from its system.
#[derive(Clone, Debug)]
pub struct RunOptions {
    /// When requests arrive; the system must have been created with the same.
    pub pacing: Pacing,
    /// Open loop: speed of the trace, in thousandths of its own.
    pub speed_thousandths: u64,
    /// Drain at the end and include that.
    pub drain: bool,
    /// Number of points of the time series to record, with the histogram of response times; 0 for
    /// neither.
    pub points: u32,
    /// Rows of the heat map of writes to record.
    pub rows: Option<Arc<Rows>>,
}

/// The reason why a run has no result.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum RunError {
    /// Data stamps differ: a bug, never the user's fault.
    #[error(
        "block {} read as version {} and should have been {}: this is a bug in shingle; \
         please report it with the command that shows it",
        .0.block.0, .0.found, .0.expected
    )]
    Stale(StaleRead),
    /// A panic: the policy broke its contract, or there is another bug.
    #[error(
        "the run of policy `{policy}` ended at request {request}: {what}; this is a bug, in the policy \
         if it is your own, else in shingle. RUST_BACKTRACE=1 shows where"
    )]
    Panicked {
        /// The policy.
        policy: String,
        /// The request that was served, counted from 0.
        request: usize,
        /// The message of the panic, and its place in the source.
        what: String,
    },
    /// The trace can no longer be read to its end.
    #[error(transparent)]
    Trace(#[from] TraceError),
    /// Its progress callback cancelled it ([`crate::cancel`]).
    #[error("the run was cancelled")]
    Cancelled,
}

/// Number of requests announced ahead to a disk without a cache, so that it knows what waits in its
/// queue. Deeper queues are not seen.
const ANNOUNCED: usize = 256;

/// Requests between two reports of progress: a multiple of [`LOOKAHEAD`].
pub(crate) const PROGRESS_EVERY: usize = 1 << 14;

/// Runs `requests` through `system`. `progress` gets the number of requests served since its last
/// call.
///
/// # Errors
/// If the system is checked and a read was stale, or if it panicked: policies may come from
/// anywhere.
pub fn run(
    system: System,
    requests: &(impl RequestList + ?Sized),
    labels: &Labels,
    run_options: &RunOptions,
    progress: &(dyn Fn(u64) + Sync),
) -> Result<RunResult, RunError> {
    guarded_run(labels, |served| serve_all(system, requests, labels, run_options, progress, served))
}

/// Runs an executor under guard: a panic ends the run with one line that names the policy and the
/// request. `serve` gets a counter for the requests served.
pub(crate) fn guarded_run(
    labels: &Labels,
    serve: impl FnOnce(&Cell<usize>) -> Result<RunResult, RunError>,
) -> Result<RunResult, RunError> {
    let served = Cell::new(0);
    guarded(|| serve(&served)).unwrap_or_else(|stopped| match stopped {
        Stopped::Cancelled => Err(RunError::Cancelled),
        Stopped::Panicked(what) => {
            let policy = labels.policy.clone();
            Err(RunError::Panicked { policy, request: served.get(), what })
        }
    })
}

/// Serves all `requests`, counting them in `served`.
fn serve_all(
    mut system: System,
    requests: &(impl RequestList + ?Sized),
    labels: &Labels,
    run_options: &RunOptions,
    progress: &(dyn Fn(u64) + Sync),
    served: &Cell<usize>,
) -> Result<RunResult, RunError> {
    if system.wants_future() {
        system.set_future(next_uses(all(requests)));
    }
    let begun = Instant::now();
    let mut run = Run::new(system, run_options, requests.len());
    run.serve(requests, progress, served)?;
    run.end(labels, begun.elapsed().as_secs_f64())
}

/// A run under way.
struct Run<'a> {
    system: System,
    options: &'a RunOptions,
    times: Times,
    series: Series,
}

impl Run<'_> {
    fn new(mut system: System, options: &RunOptions, requests: usize) -> Run<'_> {
        if let Some(rows) = &options.rows {
            system.watch().heating = Some(Heating::new(rows.clone()));
        }
        let times = Times::new(options.pacing);
        Run { system, options, times, series: Series::new(options.points, requests) }
    }

    fn serve<R: RequestList + ?Sized>(
        &mut self,
        requests: &R,
        progress: &(dyn Fn(u64) + Sync),
        served: &Cell<usize>,
    ) -> Result<(), RunError> {
        let mut scratch = Default::default();
        let mut ahead = Announcer::new(self.options);
        let mut number = 0;
        loop {
            ahead.announce(number + ANNOUNCED + LOOKAHEAD, requests, &mut self.system);
            let shown = requests.part(number, PREFETCH_REQUESTS, &mut scratch);
            if shown.is_empty() {
                break;
            }
            self.system.prefetch(shown);
            for request in shown.iter().take(LOOKAHEAD) {
                let (start, done) = self.system.request(&self.options.paced(request));
                self.times.record(request.op, start, done, &self.system);
                number += 1;
                served.set(number);
                if self.series.parts.ends(number) {
                    // The next request arrives no earlier than this one.
                    let last = number == requests.len();
                    self.system.catch_up(if last { self.system.finished() } else { start });
                    self.series.record(number, &mut self.system);
                }
            }
            if number % PROGRESS_EVERY == 0 {
                progress(PROGRESS_EVERY as u64);
            }
        }
        if let Some(why) = requests.failure() {
            return Err(why.clone().into());
        }
        progress((requests.len() % PROGRESS_EVERY) as u64);
        Ok(())
    }

    /// Returns the result of a run that took `seconds` of real time, with the work that it leaves.
    fn end(mut self, labels: &Labels, seconds: f64) -> Result<RunResult, RunError> {
        self.system.catch_up(self.system.finished());
        let undone = Undone::of(&self.system);
        // Response times and the queue are those of the requests, without a drain.
        let drive_latency = DriveLatency::of(self.system.drive_responses());
        let queue = self.times.queue(&self.system);
        if self.options.drain {
            self.system.drain_all();
        }
        if let Some((_, Some(stale))) = self.system.checked() {
            return Err(RunError::Stale(stale));
        }
        let end = self.system.snapshot();
        let mut result = RunResult { drive_latency, queue, ..self.counted(labels, seconds, &end) };
        if self.options.drain {
            result.drained = Some(undone.done_by(&end));
        } else {
            // Drains the system itself, not a copy, which would copy every map of a disk. What is
            // recorded of the disk is only what the run did.
            self.system.unwatch();
            self.system.drain_all();
            result.left = undone.done_by(&self.system.snapshot());
        }
        Ok(result)
    }

    /// Returns what was counted up to `end`. Takes the time series.
    fn counted(&mut self, labels: &Labels, seconds: f64, end: &Snapshot) -> RunResult {
        let system = &mut self.system;
        let warm = system.warm();
        let all = Counts::between(&Snapshot::default(), end);
        RunResult {
            wall: Wall::new(seconds, &all),
            all,
            warm: Counts::between(warm.map_or(end, |(_, before)| before), end),
            warm_from: warm.map(|(request, _)| request),
            latency: self.times.responses.latency(),
            read_latency: self.times.responses.read_latency(),
            flash: system.disk().wear().map(|wear| Flash::new(&wear, &end.disk)),
            translation_counters: system.translating(),
            series: mem::take(&mut self.series.points),
            heat: system.watched().and_then(|watch| watch.heating.as_ref()).map(Heating::heat),
            histogram: if self.options.points > 0 {
                self.times.responses.bars()
            } else {
                Vec::new()
            },
            checked_reads: system.checked().map(|(reads, _)| reads),
            ..RunResult::without_counts(labels, system.cache().memory())
        }
    }
}

impl RunOptions {
    /// Returns `request` with its arrival time scaled.
    #[inline]
    pub(crate) fn paced(&self, request: &Request) -> Request {
        let at = match self.pacing {
            Pacing::Closed => return *request,
            Pacing::Open => {
                let speed = u128::from(self.speed_thousandths.max(1));
                let scaled = u128::from(request.at.0) * 1000 / speed;
                Nanos(u64::try_from(scaled).unwrap_or(u64::MAX / 2))
            }
        };
        Request { at, ..*request }
    }
}

/// Announces requests to a system ahead of their time.
struct Announcer<R: RequestList + ?Sized> {
    run_options: RunOptions,
    /// Number of requests announced so far.
    told: usize,
    part: Vec<Request>,
    scratch: R::Scratch,
}

impl<R: RequestList + ?Sized> Announcer<R> {
    fn new(run_options: &RunOptions) -> Announcer<R> {
        Announcer {
            run_options: run_options.clone(),
            told: 0,
            part: Vec::new(),
            scratch: R::Scratch::default(),
        }
    }

    /// Announces all requests up to `to`, if the system uses it.
    fn announce(&mut self, to: usize, requests: &R, system: &mut System) {
        while system.uses_announcements() && self.told < to.min(requests.len()) {
            let part = requests.part(self.told, to - self.told, &mut self.scratch);
            if part.is_empty() {
                return; // reading failed
            }
            self.told += part.len();
            self.part.clear();
            self.part.extend(part.iter().map(|request| self.run_options.paced(request)));
            system.announce(&self.part);
        }
    }
}

/// The work left at the end of the requests.
pub(crate) struct Undone {
    pub(crate) dirty_blocks: u64,
    pub(crate) buffer: BufferState,
    /// The counters then.
    pub(crate) before: Snapshot,
}

impl Undone {
    fn of(system: &System) -> Undone {
        Undone {
            dirty_blocks: u64::from(system.cache().slots().dirty_blocks()),
            buffer: system.disk().buffer(),
            before: system.snapshot(),
        }
    }

    /// Returns the cost of this work, done by `after`.
    pub(crate) fn done_by(&self, after: &Snapshot) -> Left {
        let done = Counts::between(&self.before, after);
        Left {
            dirty_blocks: self.dirty_blocks,
            buffer_blocks: self.buffer.pending_blocks(),
            buffer_bands: self.buffer.bands,
            ..Left::of_drain(&done)
        }
    }
}

struct Series {
    points: Vec<Point>,
    parts: Parts,
    before: Snapshot,
}

impl Series {
    fn new(points: u32, requests: usize) -> Series {
        let parts = Parts::new(requests, points);
        Series { points: Vec::with_capacity(points as usize), parts, before: Snapshot::default() }
    }

    fn record(&mut self, requests: usize, system: &mut System) {
        let now = system.snapshot();
        let part = Counts::between(&self.before, &now);
        let buffer = system.disk().buffer();
        let dirty_blocks = u64::from(system.cache().slots().dirty_blocks());
        self.points.push(Point::of(requests, system.finished(), &part, dirty_blocks, &buffer));
        self.before = now;
        if let Some(heating) = system.watched().and_then(|watch| watch.heating.as_mut()) {
            heating.end_part();
        }
    }
}

/// Response times, and in open loop the state of the queue.
struct Times {
    responses: ResponseTimes,
    open: bool,
    /// Completion times of requests not yet done.
    waiting: BinaryHeap<Reverse<Nanos>>,
    longest: usize,
    backlog: Backlog,
}

impl Times {
    fn new(pacing: Pacing) -> Times {
        Times {
            responses: ResponseTimes::default(),
            open: pacing == Pacing::Open,
            waiting: BinaryHeap::new(),
            longest: 0,
            backlog: Backlog::default(),
        }
    }

    #[inline]
    fn record(&mut self, op: Op, start: Nanos, done: Nanos, system: &System) {
        self.responses.record(op, done.since(start));
        if self.open {
            self.enqueue(start, done, system);
        }
    }

    fn enqueue(&mut self, start: Nanos, done: Nanos, system: &System) {
        while self.waiting.peek().is_some_and(|&Reverse(first)| first <= start) {
            self.waiting.pop();
        }
        self.waiting.push(Reverse(done));
        self.longest = self.longest.max(self.waiting.len());
        self.backlog.record(start, || system.backlog(start));
    }

    /// Returns the state of the queue, in open loop.
    fn queue(&self, system: &System) -> Option<Queue> {
        let [disk_utilisation, ssd_utilisation] = system.utilisation();
        self.open.then(|| Queue {
            disk_utilisation,
            ssd_utilisation,
            longest: self.longest as u64,
            overloaded: self.backlog.is_overloaded(),
        })
    }
}
