//! The client of a simulated store: gives it requests at their times, or so many at a time, flushes as it is
//! told to, and looks at what it reads.

use std::cell::Cell;

use shingle_core::cache::{LOOKAHEAD, LOOKAHEAD_SHOWN};
use shingle_core::observer::{Event, Observer as _};
use shingle_core::units::{BLOCK_BYTES, Nanos, Op, Request};
use shingle_drive::Stamp;
use shingle_engine::{Command, CommandOp, Reply};
use shingle_result::{Counts, Pacing, Parts, Point, Queue, ResponseTimes, Snapshot};
use slab::Slab;

use super::Serving;
use super::stamps::{Stamped, Stamps};
use super::world::World;
use crate::backlog::Backlog;
use crate::check::Check;
use crate::requests::RequestList;
use crate::run::{Course, PROGRESS_EVERY, RunError};

const TOGETHER_BLOCKS_MAX: u64 = 1024;

/// Whether a request goes alone, as one of more than 1,024 blocks does: of one that long a store works at a part at a time, and what comes
/// next may overtake the rest.
#[must_use]
pub fn goes_alone(request: &Request) -> bool {
    // (Few are as long in bytes, and how many blocks it touches need not be known of others.)
    request.bytes > (TOGETHER_BLOCKS_MAX - 2) * BLOCK_BYTES
        && request.blocks() > TOGETHER_BLOCKS_MAX
}

/// A request that is not answered.
struct Asked {
    /// Of all requests and flushes, from 0.
    number: u64,
    /// When it came.
    at: Nanos,
    request: Request,
    /// Which of the trace it is; `None` for a flush of the client's own.
    place: Option<u64>,
    /// What its blocks must read as, if that is checked and known.
    expected: Vec<Option<Stamp>>,
}

/// The queue in open loop.
pub(super) struct Waiting {
    longest: usize,
    backlog: Backlog,
}

impl Waiting {
    #[allow(clippy::cast_precision_loss)]
    pub(super) fn result(&self, world: &World) -> Queue {
        Queue {
            disk_utilisation: world.disk().utilisation(world.finished()),
            ssd_utilisation: world.ssd().utilisation(world.finished()),
            longest: self.longest as u64,
            overloaded: self.backlog.is_overloaded(),
        }
    }
}

/// A client.
pub(super) struct Client<'a> {
    pub(super) world: World,
    pub(super) times: ResponseTimes,
    pub(super) queue: Option<Waiting>,
    pub(super) points: Vec<Point>,
    /// The request of the trace from which on the cache was full, and the counters before it.
    pub(super) warm: Option<(u64, Snapshot)>,
    serving: &'a Serving,
    course: &'a Course,
    check: Option<Check>,
    /// Requests and flushes that are not answered, by what the store calls them.
    asked: Slab<Asked>,
    /// Flushes of its own that are not answered are among them, and no requests of the trace.
    flushes: u64,
    numbers: u64,
    /// Requests of the trace that have been given to the store.
    submitted: u64,
    /// Requests of the trace that it has answered.
    answered: u64,
    next_flush: Nanos,
    /// Closed loop: no request comes before.
    next_request: Nanos,
    /// Of the trace.
    requests: u64,
    parts: Parts,
    /// The counters when the last part ended.
    before: Snapshot,
}

impl<'a> Client<'a> {
    pub(super) fn new(
        mut world: World,
        serving: &'a Serving,
        course: &'a Course,
        requests: usize,
    ) -> Client<'a> {
        let open = course.pacing == Pacing::Open;
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
            course,
            check: serving.check.then(Check::default),
            asked: Slab::new(),
            flushes: 0,
            numbers: 0,
            submitted: 0,
            answered: 0,
            next_flush: serving.flush_every.map_or(Nanos::NEVER, |every| now + every),
            next_request: now,
            requests: requests as u64,
            parts: Parts::new(requests, course.points),
            before,
        }
    }

    /// All counters now.
    pub(super) fn snapshot(&mut self) -> Snapshot {
        let host = self.world.meter().host;
        self.world.snapshot(&host)
    }

    /// Reads of blocks that were checked, in a checked run.
    pub(super) fn checked_reads(&self) -> Option<u64> {
        self.check.as_ref().map(Check::reads)
    }

    /// Has `requests` served.
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
            // Who comes now, and finds a place.
            let mut coming = Nanos::NEVER;
            while next < requests.len() && self.has_place() {
                if next == expected {
                    self.world.prefetch(requests.part(next, LOOKAHEAD_SHOWN, &mut scratch));
                    expected += LOOKAHEAD;
                }
                let Some(request) = requests.part(next, 1, &mut scratch).first() else {
                    let why = requests.failure().expect("there are more");
                    return Err(why.clone().into());
                };
                let request = self.course.paced(request);
                let at = match self.course.pacing {
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
                continue; // there is room for more
            }
            if next == requests.len() && self.asked.is_empty() {
                break;
            }
            let until = coming.min(self.next_flush);
            assert!(self.world.pass(until), "requests wait, and nothing is under way");
        }
        // (With what the store did of its own when the last was answered.)
        self.record_part(requests.len() as u64);
        progress((requests.len() % PROGRESS_EVERY) as u64);
        Ok(())
    }

    /// Requests of the trace that are not answered.
    #[inline]
    fn under_way(&self) -> usize {
        self.asked.len() - self.flushes as usize
    }

    /// Whether a request may be given to the store now, if it goes with others.
    #[inline]
    fn has_place(&self) -> bool {
        let under_way = self.under_way();
        let few = self.course.pacing == Pacing::Open || under_way < self.serving.depth;
        under_way == 0 || few && self.world.engine.accepts()
    }

    /// Whether this one does.
    #[inline]
    fn goes_with_others(&self, request: &Request) -> bool {
        // What goes alone came when nothing was under way, and of several nothing does.
        let one_alone = || self.asked.iter().any(|(_, asked)| goes_alone(&asked.request));
        match self.under_way() {
            0 => true,
            under_way => !(goes_alone(request) || under_way == 1 && one_alone()),
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
            queue.longest = queue.longest.max(self.asked.len() + 1);
            queue.backlog.record(at, || self.world.disk().last_io().since(at));
        }
        let place = Some(self.submitted);
        self.submitted += 1;
        self.ask(command, Asked { number: self.numbers, at, request, place, expected });
    }

    fn ask(&mut self, command: Command<Stamped>, asked: Asked) {
        self.world.meter().event(&Event::Request(asked.request));
        self.numbers += 1;
        let id = self.asked.insert(asked) as u64;
        self.world.submit(Command { id, ..command });
    }

    /// Flushes of its own.
    fn flush_in_time(&mut self) {
        let Some(every) = self.serving.flush_every else { return };
        if self.world.now() < self.next_flush {
            return;
        }
        self.next_flush = self.world.now() + every;
        // One that is not done says as much as the next would.
        if self.flushes == 0 {
            let at = self.world.now();
            let request = Request { at, offset: 0, bytes: 0, op: Op::Flush };
            self.flushes += 1;
            let (number, place, expected) = (self.numbers, None, Vec::new());
            let command = Command::new(0, CommandOp::Flush, 0, 0);
            self.ask(command, Asked { number, at, request, place, expected });
        }
    }

    fn answered(&mut self, reply: Reply<Stamped>) -> Result<(), RunError> {
        let Reply { id, result } = reply;
        let asked = self.asked.remove(id as usize);
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

    /// The course of the run, in equal parts of its requests.
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
