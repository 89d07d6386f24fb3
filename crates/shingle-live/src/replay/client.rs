//! The client of a replay: submits requests to a store, at their times or at a fixed depth, and
//! checks the data it reads.

use std::collections::HashMap;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use shingle_core::units::{BLOCK_BYTES, Nanos, Op, Request};
use shingle_engine::{Command, CommandOp, Errno};
use shingle_result::{Parts, ResponseTimes};
use shingle_sim::store::must_be_alone;
use shingle_store::backend::Handle;

use super::ReplayError;
use super::stamps::{Expected, StampError, Stamps};

/// When requests are submitted.
#[derive(Clone, Copy, Debug)]
pub(super) enum Pace {
    /// Closed loop: at most this number in flight.
    Closed(usize),
    /// Open loop: at the times of the trace, at this many thousandths of its speed.
    Open(u64),
}

struct Answer {
    number: u64,
    result: Result<Vec<u8>, Errno>,
    at: Instant,
}

/// A submitted request. It is answered exactly once: with an error, if the store fails and drops
/// it.
struct Submitted {
    number: u64,
    result: Option<Result<Vec<u8>, Errno>>,
    to: Sender<Answer>,
}

impl Submitted {
    fn complete(mut self, result: Result<Vec<u8>, Errno>) {
        self.result = Some(result);
    }
}

impl Drop for Submitted {
    fn drop(&mut self) {
        let (number, at) = (self.number, Instant::now());
        let result = self.result.take().unwrap_or(Err(Errno::SHUT_DOWN));
        // (The client may be gone.)
        let _ = self.to.send(Answer { number, result, at });
    }
}

/// A client of a store.
pub(super) struct Client<'a> {
    handle: &'a Handle,
    pub(super) times: ResponseTimes,
    /// The expected data, if reads are checked.
    pub(super) stamps: Option<Stamps>,
    answers: (Sender<Answer>, Receiver<Answer>),
    /// For each request in flight: its submission time, the request and the expected data.
    in_flight: HashMap<u64, (Instant, Request, Expected)>,
}

impl<'a> Client<'a> {
    pub(super) fn new(handle: &'a Handle, verify: bool) -> Client<'a> {
        Client {
            handle,
            times: ResponseTimes::default(),
            stamps: verify.then(Stamps::default),
            answers: channel(),
            in_flight: HashMap::new(),
        }
    }

    /// Submits `requests`, waits for all replies, and returns the duration. `part_ends` is called
    /// at the end of each part with the number of submitted requests and the time so far.
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
            let alone = must_be_alone(request);
            if alone {
                self.wait_for_depth(0)?;
            }
            let at = match pace {
                Pace::Closed(depth) => {
                    self.wait_for_depth(depth - 1)?;
                    Instant::now()
                }
                Pace::Open(speed_thousandths) => {
                    let at = start + submission_time(request.at, speed_thousandths);
                    self.wait_until(at)?;
                    at
                }
            };
            self.submit(number, request, at);
            if alone {
                self.wait_for_depth(0)?;
            }
            let submitted = number as usize + 1;
            if parts.ends(submitted) {
                part_ends(submitted, start.elapsed());
            }
        }
        self.wait_for_depth(0)?;
        Ok(start.elapsed())
    }

    fn submit(&mut self, number: u64, request: &Request, at: Instant) {
        let expected = match &mut self.stamps {
            Some(stamps) => stamps.submitted(number, request),
            None => Expected::default(),
        };
        let Request { offset, bytes, .. } = *request;
        let data = match request.op {
            Op::Write => Stamps::data(number, request),
            Op::Read | Op::Trim | Op::Flush => Vec::new(),
        };
        self.in_flight.insert(number, (at, *request, expected));
        let submitted = Submitted { number, result: None, to: self.answers.0.clone() };
        let answer = move |result| submitted.complete(result);
        let command = Command { data, ..Command::new(0, request.op.into(), offset, bytes) };
        self.handle.submit(command, answer);
    }

    /// Waits until at most this number of requests are in flight.
    fn wait_for_depth(&mut self, most: usize) -> Result<(), StampError> {
        while self.in_flight.len() > most {
            let answer = self.answers.1.recv().expect("a sender is kept here");
            self.complete(answer)?;
        }
        Ok(())
    }

    fn wait_until(&mut self, at: Instant) -> Result<(), StampError> {
        loop {
            let left = at.saturating_duration_since(Instant::now());
            match self.answers.1.recv_timeout(left) {
                Ok(answer) => self.complete(answer)?,
                Err(_) if left.is_zero() => return Ok(()),
                Err(_) => {}
            }
        }
    }

    fn complete(&mut self, answer: Answer) -> Result<(), StampError> {
        let Some((at, request, expected)) = self.in_flight.remove(&answer.number) else {
            return Ok(());
        };
        let took = answer.at.saturating_duration_since(at);
        self.times.record(request.op, took.into());
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

/// Reads and checks every block whose data is known.
pub(super) fn check_all(handle: &Handle, stamps: &mut Stamps) -> Result<(), ReplayError> {
    for block in stamps.blocks() {
        let (at, offset, bytes) = (Nanos::ZERO, block * BLOCK_BYTES, BLOCK_BYTES);
        let request = Request { at, offset, bytes, op: Op::Read };
        let expected = stamps.submitted(0, &request);
        let read = handle.call(Command::new(0, CommandOp::Read, offset, bytes));
        let read = read.map_err(|errno| ReplayError::Unread { block, errno })?;
        stamps.check(&request, &expected, &read)?;
    }
    Ok(())
}

/// The submission time of a request, relative to the start of the replay.
fn submission_time(at: Nanos, speed_thousandths: u64) -> Duration {
    let scaled = u128::from(at.0) * 1000 / u128::from(speed_thousandths.max(1));
    Duration::from_nanos(u64::try_from(scaled).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use shingle_core::registry::Registry;
    use shingle_device::{Device, Medium};
    use shingle_engine::buffer::Buffer;
    use shingle_engine::settings::Settings;
    use shingle_engine::{Config, Kind};
    use shingle_store::backend::{Ready, StartOptions};
    use shingle_store::store::create::{Consent, create};

    use super::*;

    /// A disk whose thread panics at its first I/O.
    struct Broken;

    impl Medium for Broken {
        fn serve(&mut self, _: Kind, _: u64, _: &mut [Buffer]) -> std::io::Result<()> {
            panic!("a bug");
        }

        fn end(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    /// The store accepts requests that it never answers.
    #[test]
    fn a_store_that_has_failed_ends_a_replay() {
        let folder = tempfile::tempdir().expect("a folder");
        let [ssd, disk] = [("ssd", 24 << 20), ("disk", 64 << 20)].map(|(name, bytes)| {
            let path = folder.path().join(name);
            let made = std::fs::File::create(&path).and_then(|file| file.set_len(bytes));
            made.map(|()| path).expect("made")
        });
        let (settings, registry) = (Settings::new("lru"), Registry::default());
        {
            let (ssd, disk) = Device::open_pair(&ssd, &disk).expect("opened");
            create(&ssd, &disk, &settings, &registry, Consent::default()).expect("made");
        }
        let ready = Ready::open(&ssd, &disk).expect("they fit");
        let (slots, blocks) = (ready.superblock().layout.slots, ready.disk().blocks());
        let cache = settings.cache(&registry, slots as u32, blocks).expect("lru");
        let options = StartOptions { medium: Some(Box::new(Broken)), ..StartOptions::default() };
        let store = ready.start_with(cache, Config::for_slots(slots), options).expect("it starts");
        let handle = store.handle().clone();
        let (to, outcome) = channel();
        std::thread::spawn(move || {
            let read = |block: u64| Request {
                at: Nanos::ZERO,
                offset: block * BLOCK_BYTES,
                bytes: BLOCK_BYTES,
                op: Op::Read,
            };
            let requests: Vec<Request> = (0..100).map(read).collect();
            let mut client = Client::new(&handle, false);
            let (parts, part_ends) = (Parts::new(requests.len(), 0), &mut |_, _| {});
            let served = client.serve(&requests, Pace::Closed(32), parts, part_ends, &|_| {});
            let _ = to.send(served.is_ok());
        });
        assert_eq!(outcome.recv_timeout(Duration::from_secs(30)), Ok(true));
        store.shut_down().expect_err("it has failed");
    }
}
