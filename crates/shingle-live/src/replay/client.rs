//! The client of a replay: gives requests to a store at their times, or so many at a time, and looks at
//! what it reads.

use std::collections::HashMap;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use shingle_core::units::{BLOCK_BYTES, Nanos, Op, Request};
use shingle_engine::{Command, CommandOp, Errno};
use shingle_result::{Parts, ResponseTimes};
use shingle_store::backend::Handle;

use super::ReplayError;
use super::stamps::{Expected, StampError, Stamps};

/// When requests come.
#[derive(Clone, Copy, Debug)]
pub(super) enum Pace {
    /// So many under way at a time.
    Closed(usize),
    /// At their times, so many thousandths as fast.
    Open(u64),
}

/// A request of more blocks goes alone: of one that long, a store works at a part at a time, and what
/// comes next may overtake the rest.
const TOGETHER_BLOCKS_MAX: u64 = 1024;

struct Answer {
    number: u64,
    result: Result<Vec<u8>, Errno>,
    at: Instant,
}

/// A client.
pub(super) struct Client<'a> {
    handle: &'a Handle,
    pub(super) times: ResponseTimes,
    /// What data is checked against, if it is.
    pub(super) stamps: Option<Stamps>,
    answers: (Sender<Answer>, Receiver<Answer>),
    /// When requests under way came, and what they read.
    under_way: HashMap<u64, (Instant, Request, Expected)>,
}

impl<'a> Client<'a> {
    pub(super) fn new(handle: &'a Handle, verify: bool) -> Client<'a> {
        Client {
            handle,
            times: ResponseTimes::default(),
            stamps: verify.then(Stamps::default),
            answers: channel(),
            under_way: HashMap::new(),
        }
    }

    /// Has `requests` served, and returns how long that took. `part_ends` is told, at the end of each part, how many
    /// were submitted and how long that took.
    pub(super) fn serve(
        &mut self,
        requests: &[Request],
        pace: Pace,
        mut parts: Parts,
        part_ends: &mut dyn FnMut(usize, Duration),
        progress: &dyn Fn(u64),
    ) -> Result<Duration, StampError> {
        const PROGRESS_EVERY: u64 = 1 << 10;
        let start = Instant::now();
        for (number, request) in (0..).zip(requests) {
            if number % PROGRESS_EVERY == PROGRESS_EVERY - 1 {
                progress(PROGRESS_EVERY);
            }
            let alone = request.blocks() > TOGETHER_BLOCKS_MAX;
            if alone {
                self.wait_for(0)?;
            }
            let at = match pace {
                Pace::Closed(depth) => {
                    self.wait_for(depth - 1)?;
                    Instant::now()
                }
                Pace::Open(speed_thousandths) => {
                    let at = start + paced(request.at, speed_thousandths);
                    self.wait_until(at)?;
                    at
                }
            };
            self.submit(number, request, at);
            if alone {
                self.wait_for(0)?;
            }
            let submitted = number as usize + 1;
            if parts.ends(submitted) {
                part_ends(submitted, start.elapsed());
            }
        }
        self.wait_for(0)?;
        Ok(start.elapsed())
    }

    fn submit(&mut self, number: u64, request: &Request, at: Instant) {
        let expected = match &mut self.stamps {
            Some(stamps) => stamps.asked(number, request),
            None => Expected::default(),
        };
        let Request { offset, bytes, .. } = *request;
        let data = match request.op {
            Op::Write => Stamps::data(number, request),
            Op::Read | Op::Trim | Op::Flush => Vec::new(),
        };
        self.under_way.insert(number, (at, *request, expected));
        let sender = self.answers.0.clone();
        let answer = move |result| drop(sender.send(Answer { number, result, at: Instant::now() }));
        let command = Command { data, ..Command::new(0, request.op.into(), offset, bytes) };
        self.handle.submit(command, Box::new(answer));
    }

    /// Waits until not more than so many requests are under way.
    fn wait_for(&mut self, most: usize) -> Result<(), StampError> {
        while self.under_way.len() > most {
            let answer = self.answers.1.recv().expect("a sender is kept here");
            self.answered(answer)?;
        }
        Ok(())
    }

    fn wait_until(&mut self, at: Instant) -> Result<(), StampError> {
        loop {
            let left = at.saturating_duration_since(Instant::now());
            match self.answers.1.recv_timeout(left) {
                Ok(answer) => self.answered(answer)?,
                Err(_) if left.is_zero() => return Ok(()),
                Err(_) => {}
            }
        }
    }

    fn answered(&mut self, answer: Answer) -> Result<(), StampError> {
        let Some((at, request, expected)) = self.under_way.remove(&answer.number) else {
            return Ok(());
        };
        let took = answer.at.saturating_duration_since(at);
        self.times.record(took.into());
        let Some(stamps) = &mut self.stamps else { return Ok(()) };
        match answer.result {
            Ok(data) if request.op == Op::Read => stamps.check(&request, &expected, &data),
            Ok(_) => Ok(()),
            Err(_) => {
                stamps.failed(&request);
                Ok(())
            }
        }
    }
}

/// Reads every block whose data is known.
pub(super) fn read_all(handle: &Handle, stamps: &mut Stamps) -> Result<(), ReplayError> {
    for block in stamps.blocks() {
        let (at, offset, bytes) = (Nanos::ZERO, block * BLOCK_BYTES, BLOCK_BYTES);
        let request = Request { at, offset, bytes, op: Op::Read };
        let expected = stamps.asked(0, &request);
        let read = handle.call(Command::new(0, CommandOp::Read, offset, bytes));
        let read = read.map_err(|errno| ReplayError::Unread { block, errno })?;
        stamps.check(&request, &expected, &read)?;
    }
    Ok(())
}

/// When a request comes, from the start of the replay on.
fn paced(at: Nanos, speed_thousandths: u64) -> Duration {
    let scaled = u128::from(at.0) * 1000 / u128::from(speed_thousandths.max(1));
    Duration::from_nanos(u64::try_from(scaled).unwrap_or(u64::MAX))
}
