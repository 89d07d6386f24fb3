//! The client of a simulated store: it submits requests at their times, or a number at a time,
//! flushes at intervals, and checks what it reads.

use std::cell::Cell;
use std::mem;

use shingle_core::ahead::{LOOKAHEAD, PREFETCH_REQUESTS};
use shingle_core::observer::{Event, Observer as _};
use shingle_core::units::{BLOCK_BYTES, Nanos, Op, Request};
use shingle_drive::Stamp;
use shingle_engine::{Command, CommandOp, Reply};
use shingle_result::{
    Counts, DriveLatency, Flash, Pacing, Parts, Point, Queue, ResponseTimes, RunResult, Snapshot,
};
use slab::Slab;

use super::ServingOptions;
use super::stamps::{Stamped, Stamps};
use super::world::World;
use crate::backlog::Backlog;
use crate::check::Check;
use crate::requests::RequestList;
use crate::run::{PROGRESS_EVERY, RunError, RunOptions, Undone};
use crate::translated::Translated;

const TOGETHER_BLOCKS_MAX: u64 = 1024;

/// Returns whether a request must be in flight alone: one of more than 1,024 blocks. The store
/// serves such a request part by part, so later requests could overtake the rest of it.
#[must_use]
pub fn must_be_alone(request: &Request) -> bool {
    // The test of bytes comes first, as it is cheaper and mostly decides.
    request.bytes > (TOGETHER_BLOCKS_MAX - 2) * BLOCK_BYTES
        && request.blocks() > TOGETHER_BLOCKS_MAX
}

/// A request in flight.
struct Pending {
    /// Sequence number among all requests and flushes, from 0.
    number: u64,
    /// Arrival time.
    at: Nanos,
    request: Request,
    /// Number in the trace; `None` for a flush of the client's own.
    place: Option<u64>,
    /// Expected contents of its blocks, if checked and known.
    expected: Vec<Option<Stamp>>,
}

/// The queue in open loop.
struct Waiting {
    longest: usize,
    backlog: Backlog,
}

impl Waiting {
    fn result(&self, world: &World) -> Queue {
        Queue {
            disk_utilisation: world.disk().utilisation(world.finished()),
            ssd_utilisation: world.ssd().utilisation(world.finished()),
            longest: self.longest as u64,
            overloaded: self.backlog.is_overloaded(),
        }
    }
}

pub(super) struct Client<'a> {
    world: World,
    times: ResponseTimes,
    queue: Option<Waiting>,
    points: Vec<Point>,
    /// The request from which on the cache was full, and the counters before it.
    warm: Option<(u64, Snapshot)>,
    serving: &'a ServingOptions,
    run_options: &'a RunOptions,
    check: Option<Check>,
    /// Requests and flushes in flight, by the ids that the store uses.
    pending: Slab<Pending>,
    /// Number of the client's own flushes in flight; they are in `pending`, too.
    flushes: u64,
    numbers: u64,
    /// Requests of the trace submitted so far.
    submitted: u64,
    /// Requests of the trace completed so far.
    answered: u64,
    next_flush: Nanos,
    /// Closed loop: earliest time of the next request.
    next_request: Nanos,
    requests: u64,
    parts: Parts,
    /// The counters at the end of the last part.
    before: Snapshot,
}

impl<'a> Client<'a> {
    pub(super) fn new(
        mut world: World,
        serving: &'a ServingOptions,
        run_options: &'a RunOptions,
        requests: usize,
    ) -> Client<'a> {
        let open = run_options.pacing == Pacing::Open;
        let now = world.now();
        let host = world.meter().host;
        let before = world.snapshot(&host);
        Client {
            world,
            times: ResponseTimes::default(),
            queue: open.then(|| Waiting { longest: 0, backlog: Backlog::default() }),
            points: Vec::new(),
            warm: None,
            serving,
            run_options,
            check: serving.check.then(Check::default),
            pending: Slab::new(),
            flushes: 0,
            numbers: 0,
            submitted: 0,
            answered: 0,
            next_flush: serving.flush_every.map_or(Nanos::NEVER, |every| now + every),
            next_request: now,
            requests: requests as u64,
            parts: Parts::new(requests, run_options.points),
            before,
        }
    }

    fn snapshot(&mut self) -> Snapshot {
        let host = self.world.meter().host;
        self.world.snapshot(&host)
    }

    /// Serves `requests`.
    pub(super) fn serve(
        &mut self,
        requests: &(impl RequestList + ?Sized),
        progress: &(dyn Fn(u64) + Sync),
        served: &Cell<usize>,
    ) -> Result<(), RunError> {
        let start = self.world.now();
        let (mut scratch, mut replies) = (Default::default(), Vec::new());
        let (mut next, mut expected) = (0, 0);
        loop {
            // Submits the requests that have arrived and may be in flight.
            let mut coming = Nanos::NEVER;
            while next < requests.len() && self.has_place() {
                if next == expected {
                    self.world.prefetch(requests.part(next, PREFETCH_REQUESTS, &mut scratch));
                    expected += LOOKAHEAD;
                }
                let Some(request) = requests.part(next, 1, &mut scratch).first() else {
                    let why = requests.failure().expect("there are more");
                    return Err(why.clone().into());
                };
                let request = self.run_options.paced(request);
                let at = match self.run_options.pacing {
                    Pacing::Closed => self.next_request.max(self.world.now()),
                    Pacing::Open => start + request.at,
                };
                if !self.goes_with_others(&request) {
                    break;
                }
                if at > self.world.now() {
                    coming = at;
                    break;
                }
                self.next_request = at + self.serving.request_time;
                self.submit(Request { at, ..request });
                next += 1;
                served.set(next);
                if next % PROGRESS_EVERY == 0 {
                    progress(PROGRESS_EVERY as u64);
                }
            }
            self.flush_in_time();
            self.world.carry_out(&mut replies);
            if !replies.is_empty() {
                replies.drain(..).try_for_each(|reply| self.answered(reply))?;
                continue; // more may be submitted
            }
            if next == requests.len() && self.pending.is_empty() {
                break;
            }
            let until = coming.min(self.next_flush);
            assert!(self.world.pass(until), "requests wait, and nothing is under way");
        }
        // Includes what the store did by itself after the last completion.
        self.record_part(requests.len() as u64);
        progress((requests.len() % PROGRESS_EVERY) as u64);
        Ok(())
    }

    /// Returns the number of requests of the trace in flight.
    #[inline]
    fn in_flight(&self) -> usize {
        self.pending.len() - self.flushes as usize
    }

    /// Returns whether another request may be submitted now, unless it must be alone.
    #[inline]
    fn has_place(&self) -> bool {
        let in_flight = self.in_flight();
        let few = self.run_options.pacing == Pacing::Open || in_flight < self.serving.depth;
        in_flight == 0 || few && self.world.engine.can_submit()
    }

    /// Returns whether this request may be in flight with the others.
    #[inline]
    fn goes_with_others(&self, request: &Request) -> bool {
        // A request that must be alone was submitted when nothing was in flight, and if several are
        // in flight none of them is such a request.
        let one_alone = || self.pending.iter().any(|(_, asked)| must_be_alone(&asked.request));
        match self.in_flight() {
            0 => true,
            in_flight => !(must_be_alone(request) || in_flight == 1 && one_alone()),
        }
    }

    fn submit(&mut self, request: Request) {
        let Request { at, offset, bytes, op } = request;
        let mut command = Command::new(0, op.into(), offset, bytes);
        let mut expected = Vec::new();
        if let Some(check) = &mut self.check {
            let blocks = (0..request.blocks()).map(|place| request.first().after(place));
            match op {
                Op::Read => expected.extend(blocks.map(|block| check.expected(block))),
                Op::Write => command.data = blocks.map(|block| check.write(block)).collect(),
                Op::Trim => {
                    let (first, count) = request.whole_blocks();
                    check.trim(first, count);
                }
                Op::Flush => {}
            }
        }
        if let Some(queue) = &mut self.queue {
            queue.longest = queue.longest.max(self.pending.len() + 1);
            queue.backlog.record(at, || self.world.disk().last_io().since(at));
        }
        let place = Some(self.submitted);
        self.submitted += 1;
        self.ask(command, Pending { number: self.numbers, at, request, place, expected });
    }

    fn ask(&mut self, command: Command<Stamped>, asked: Pending) {
        self.world.meter().event(&Event::Request(asked.request));
        self.numbers += 1;
        let id = self.pending.insert(asked) as u64;
        self.world.submit(Command { id, ..command });
    }

    /// Submits the client's own flush if it is due.
    fn flush_in_time(&mut self) {
        let Some(every) = self.serving.flush_every else { return };
        if self.world.now() < self.next_flush {
            return;
        }
        self.next_flush = self.world.now() + every;
        // A flush still in flight makes another one unnecessary.
        if self.flushes == 0 {
            let at = self.world.now();
            let request = Request { at, offset: 0, bytes: 0, op: Op::Flush };
            self.flushes += 1;
            let (number, place, expected) = (self.numbers, None, Vec::new());
            let command = Command::new(0, CommandOp::Flush, 0, 0);
            self.ask(command, Pending { number, at, request, place, expected });
        }
    }

    fn answered(&mut self, reply: Reply<Stamped>) -> Result<(), RunError> {
        let Reply { id, result } = reply;
        let asked = self.pending.remove(id as usize);
        let (number, at, done) = (asked.number, self.world.now(), result.is_ok());
        self.world.meter().event(&Event::Answered { number, at, done });
        let Some(place) = asked.place else {
            self.flushes -= 1;
            return Ok(());
        };
        self.times.record(asked.request.op, self.world.now().since(asked.at));
        if self.warm.is_none() && self.world.meter().was_full() {
            self.warm = Some((place, self.snapshot()));
        }
        self.answered += 1;
        if self.answered < self.requests {
            self.record_part(self.answered);
        }
        let data: Stamps = result.unwrap_or_default();
        let Some(check) = &mut self.check else { return Ok(()) };
        if asked.request.op == Op::Read && done {
            for (place, expected) in (0..).zip(asked.expected) {
                let found = data.get(place as usize).copied().unwrap_or(0);
                check.compare(asked.request.first().after(place), expected, found);
            }
        }
        check.stale().map_or(Ok(()), |stale| Err(RunError::Stale(stale)))
    }

    /// Returns what was counted since `started`, with the work that is left. `none` is a result
    /// without counts.
    pub(super) fn end(mut self, started: &Snapshot, none: RunResult) -> RunResult {
        let undone = Undone {
            dirty_blocks: self.world.engine.dirty_blocks(),
            buffer: self.world.disk().drive().buffer(),
            before: self.snapshot(),
        };
        // Response times and the queue are those of the requests, without a drain.
        let drive_latency = DriveLatency::of(self.world.disk().responses());
        let queue = self.queue.as_ref().map(|queue| queue.result(&self.world));
        if self.run_options.drain {
            self.world.drain();
        }
        let end = self.snapshot();
        let counted = self.counted(started, &end, none);
        let mut result = RunResult { drive_latency, queue, ..counted };
        if self.run_options.drain {
            result.drained = Some(undone.done_by(&end));
        } else {
            self.world.drain();
            result.left = undone.done_by(&self.snapshot());
        }
        result
    }

    /// Returns what was counted from `started` to `end`. Takes the time series.
    fn counted(&mut self, started: &Snapshot, end: &Snapshot, none: RunResult) -> RunResult {
        let warm = self.warm.as_ref();
        let disk = self.world.disk();
        RunResult {
            all: Counts::between(started, end),
            warm: Counts::between(warm.map_or(end, |(_, before)| before), end),
            warm_from: warm.map(|(request, _)| *request),
            latency: self.times.latency(),
            read_latency: self.times.read_latency(),
            translation_counters: disk.disk().translated().map(Translated::translating),
            flash: disk.wear().map(|wear| Flash::new(&wear, &end.disk)),
            series: mem::take(&mut self.points),
            histogram: if self.run_options.points > 0 { self.times.bars() } else { Vec::new() },
            checked_reads: self.check.as_ref().map(Check::reads),
            ..none
        }
    }

    /// Records a point of the time series, at equal parts of the requests.
    fn record_part(&mut self, answered: u64) {
        let requests = answered as usize;
        if !self.parts.ends(requests) {
            return;
        }
        let now = self.snapshot();
        let part = Counts::between(&self.before, &now);
        let dirty_blocks = self.world.engine.dirty_blocks();
        let buffer = self.world.disk().drive().buffer();
        self.points.push(Point::of(requests, self.world.now(), &part, dirty_blocks, &buffer));
        self.before = now;
    }
}
