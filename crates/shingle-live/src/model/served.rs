//! A drive model in real time, as an NBD export: each request is completed at the time that the
//! model determines.
//!
//! Only the model's time matters. Requests are stamped when they arrive, and the drive serves and
//! cleans at the times of its model. The thread only sleeps until these times. So on a machine that
//! wakes up slowly, replies are late, but never early.

use std::collections::VecDeque;
use std::io;
use std::num::NonZeroU64;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use shingle_core::units::{BLOCK_BYTES, Block, Nanos, Op};
use shingle_drive::{Counters, Drive, Io};
use shingle_nbd::export::{Answer, Command, Completion, Export, Extent, Failure};
use shingle_nbd::replies::ErrorCode;
use shingle_nbd::wire::PAYLOAD_BYTES_MAX;

use super::clock::DriveClock;
use super::contents::Contents;
use super::drive_queue::DriveQueue;

/// A drive model that is served over NBD.
pub struct ServedModel {
    shared: Arc<Shared>,
    size_bytes: u64,
    thread: Option<JoinHandle<()>>,
}

struct Shared {
    queue: Mutex<Queue>,
    /// Signals a new command, or the stop.
    changed: Condvar,
    clock: DriveClock,
}

#[derive(Default)]
struct Queue {
    /// Commands with their arrival times.
    commands: VecDeque<(Nanos, Command, Completion)>,
    /// The drive's counters.
    counters: Counters,
    stopped: bool,
}

impl ServedModel {
    /// Starts to serve the first `size_bytes` of `drive`.
    pub fn start(
        drive: Box<dyn Drive>,
        contents: Contents,
        size_bytes: u64,
        clock: DriveClock,
    ) -> io::Result<ServedModel> {
        let shared = Shared { queue: Mutex::default(), changed: Condvar::new(), clock };
        let shared = Arc::new(shared);
        let worker =
            Worker { shared: Arc::clone(&shared), drive: DriveQueue::new(drive), contents };
        let thread = std::thread::Builder::new().name("shingle-model".to_owned());
        let thread = Some(thread.spawn(move || worker.run())?);
        Ok(ServedModel { shared, size_bytes, thread })
    }

    /// The drive's counters so far.
    #[must_use]
    pub fn counters(&self) -> Counters {
        self.shared.lock().counters
    }
}

impl Drop for ServedModel {
    /// Stops the thread. Unanswered commands fail.
    fn drop(&mut self) {
        self.shared.lock().stopped = true;
        self.shared.changed.notify_all();
        if let Some(thread) = self.thread.take() {
            // A thread that has panicked has ended, too.
            let _ = thread.join();
        }
    }
}

impl Export for ServedModel {
    fn size_bytes(&self) -> u64 {
        self.size_bytes
    }

    fn submit(&self, command: Command, done: Completion) {
        let mut queue = self.shared.lock();
        if queue.stopped {
            // (A dropped completion replies with an error, which must not happen under the lock.)
            drop(queue);
            return;
        }
        let arrived = self.shared.clock.now();
        queue.commands.push_back((arrived, command, done));
        drop(queue);
        self.shared.changed.notify_all();
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until something changes, or the drive's time is `at`.
    fn wait<'a>(&self, queue: MutexGuard<'a, Queue>, at: Option<Nanos>) -> MutexGuard<'a, Queue> {
        let span = at.map_or(Duration::MAX, |at| self.clock.until(at));
        match self.changed.wait_timeout(queue, span) {
            Ok((queue, _)) => queue,
            Err(poisoned) => poisoned.into_inner().0,
        }
    }
}

/// Runs the drive in a thread.
struct Worker {
    shared: Arc<Shared>,
    drive: DriveQueue,
    contents: Contents,
}

impl Drop for Worker {
    /// Fails all pending and later commands, also after a panic.
    fn drop(&mut self) {
        let mut queue = self.shared.lock();
        queue.stopped = true;
        let unanswered = std::mem::take(&mut queue.commands);
        drop(queue);
        drop(unanswered);
    }
}

impl Worker {
    fn run(mut self) {
        // By default the kernel delays a wake-up by up to 50 microseconds.
        let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
        while let Some((arrived, command, done)) = self.next() {
            let (ready, result) = self.serve(arrived, command);
            if !self.sleep(ready) {
                return;
            }
            done.done(result);
        }
    }

    /// Returns the next command, and lets the drive work in idle time until it arrives. `None`
    /// after a stop.
    fn next(&mut self) -> Option<(Nanos, Command, Completion)> {
        let shared = Arc::clone(&self.shared);
        let mut queue = shared.lock();
        loop {
            queue.counters = *self.drive.counters();
            if queue.stopped {
                return None;
            }
            if let Some(next) = queue.commands.pop_front() {
                return Some(next);
            }
            // No command can arrive meanwhile: the queue is locked.
            let now = shared.clock.now();
            self.drive.idle_until(now);
            queue.counters = *self.drive.counters();
            let from = self.drive.background_from().filter(|&from| from >= now);
            // One tick later, so that the start lies within the elapsed time and not at its end.
            queue = shared.wait(queue, from.map(|from| from + Nanos(1)));
        }
    }

    /// Waits until the drive's time is `ready`. Returns false after a stop.
    fn sleep(&self, ready: Nanos) -> bool {
        let mut queue = self.shared.lock();
        queue.counters = *self.drive.counters();
        while !queue.stopped && self.shared.clock.now() < ready {
            queue = self.shared.wait(queue, Some(ready));
        }
        !queue.stopped
    }

    /// Serves a command, and returns its completion time and its result.
    fn serve(&mut self, arrived: Nanos, command: Command) -> (Nanos, Result<Answer, Failure>) {
        let at_once = |result| (arrived, result);
        let durable = |fua: bool| fua.then_some(Io { op: Op::Flush, block: Block(0), count: 0 });
        match command {
            Command::Read { offset, length } => {
                let io = split_io(Op::Read, offset, length);
                self.execute(arrived, io, |contents| contents.read(offset, length))
            }
            Command::Write { offset, data, fua } => {
                let io = split_io(Op::Write, offset, data.len() as u32).chain(durable(fua));
                self.execute(arrived, io, |contents| {
                    contents.write(offset, &data).map(|()| Answer::Done)
                })
            }
            Command::Flush => self.execute(arrived, durable(true), |_| Ok(Answer::Done)),
            Command::Trim { offset, length, fua } => {
                let io = split_io(Op::Trim, offset, length).chain(durable(fua));
                self.execute(arrived, io, |contents| {
                    contents.clear(offset, length).map(|()| Answer::Done)
                })
            }
            Command::WriteZeroes { fast: true, .. } => at_once(Err(Failure::no_fast_zeroes())),
            Command::WriteZeroes { offset, length, fua, no_hole, .. } => {
                let io = split_io(Op::Write, offset, length).chain(durable(fua));
                let clear = if no_hole { Contents::write_zeroes } else { Contents::clear };
                self.execute(arrived, io, |contents| {
                    clear(contents, offset, length).map(|()| Answer::Done)
                })
            }
            Command::Cache { .. } => at_once(Ok(Answer::Done)),
            Command::BlockStatus { offset, length, .. } => {
                let dirty = vec![Extent { length_bytes: length.into(), flags: 0 }];
                let status = self.contents.extents(offset, length);
                let status = status.map(|allocation| Answer::Status { allocation, dirty });
                at_once(status.map_err(|error| storage_failed(&error)))
            }
        }
    }

    /// Serves the parts one after another, then transfers the data.
    fn execute(
        &mut self,
        arrived: Nanos,
        parts: impl IntoIterator<Item = Io>,
        data: impl FnOnce(&Contents) -> io::Result<Answer>,
    ) -> (Nanos, Result<Answer, Failure>) {
        let mut done = arrived;
        for io in parts {
            match self.drive.serve(done, &io) {
                Ok(end) => done = end,
                Err(refused) => {
                    let failure = Failure::new(ErrorCode::Io, refused.to_string());
                    return (done, Err(failure.at(io.block.bytes())));
                }
            }
        }
        (done, data(&self.contents).map_err(|error| storage_failed(&error)))
    }
}

/// Splits a range into I/O of the drive, none longer than the largest payload.
fn split_io(op: Op, offset: u64, length: u32) -> impl Iterator<Item = Io> {
    const MOST: u64 = PAYLOAD_BYTES_MAX as u64 / BLOCK_BYTES;
    let (first, blocks) = (offset / BLOCK_BYTES, u64::from(length) / BLOCK_BYTES);
    (0..blocks).step_by(MOST as usize).map(move |from| {
        let count = MOST.min(blocks - from);
        Io { op, block: Block(first + from), count }
    })
}

fn storage_failed(error: &io::Error) -> Failure {
    Failure::new(ErrorCode::Io, format!("the file that keeps what is written: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::{Receiver, channel};
    use std::time::Instant;

    use shingle_drive::{Buffer, Settings, make};

    /// A timeout that is never reached, even on a busy machine.
    const PATIENCE: Duration = Duration::from_secs(60);

    fn live(name: &str, settings: &Settings, speed: u64) -> ServedModel {
        let drive = make(name, settings).expect("made");
        let size = drive.description().disk_blocks * BLOCK_BYTES;
        let contents = Contents::with_data(size).expect("made");
        ServedModel::start(drive, contents, size, DriveClock::new(speed * 1000)).expect("started")
    }

    type Answered = Receiver<Result<Answer, Failure>>;

    fn submit(live: &ServedModel, command: Command) -> Answered {
        let (sender, answered) = channel();
        live.submit(command, Completion::new(move |result| drop(sender.send(result))));
        answered
    }

    fn answer(answered: &Answered) -> Result<Answer, Failure> {
        answered.recv_timeout(PATIENCE).expect("an answer")
    }

    fn write(block: u64, byte: u8) -> Command {
        let data = vec![byte; BLOCK_BYTES as usize];
        Command::Write { offset: block * BLOCK_BYTES, data, fua: false }
    }

    #[test]
    fn a_model_that_has_failed_answers_with_errors() {
        let drive = make("sac-emulator", &Settings::default()).expect("made");
        let size_bytes = drive.description().disk_blocks * BLOCK_BYTES;
        let contents = Contents::with_data(size_bytes).expect("made");
        let clock = DriveClock::new(1_000);
        let shared = Arc::new(Shared { queue: Mutex::default(), changed: Condvar::new(), clock });
        let worker =
            Worker { shared: Arc::clone(&shared), drive: DriveQueue::new(drive), contents };
        let live = ServedModel { shared, size_bytes, thread: None };
        let before = submit(&live, write(0, 1));
        let fails = std::thread::spawn(move || {
            let _at_work = worker;
            panic!("a bug");
        });
        fails.join().expect_err("it has failed");
        assert!(answer(&before).is_err() && answer(&submit(&live, write(1, 1))).is_err());
    }

    /// The costs of this emulator do not depend on the arrival times, so their sum is a bound.
    #[test]
    fn no_answer_comes_before_its_time() {
        const SPEED: u64 = 20;
        let settings = Settings::default();
        let mut drive = make("sac-emulator", &settings).expect("made");
        let live = live("sac-emulator", &settings, SPEED);
        for together in [false, true] {
            let begun = Instant::now();
            let mut sum = Nanos::ZERO;
            let mut waiting = Vec::new();
            for block in [0, 90_000, 5, 70_000] {
                let io = Io { op: Op::Read, block: Block(block), count: 2 };
                sum = drive.serve(sum, &io, &mut []).done;
                let offset = block * BLOCK_BYTES;
                let answered = submit(&live, Command::Read { offset, length: 8192 });
                match together {
                    true => waiting.push(answered),
                    false => drop(answer(&answered).expect("read")),
                }
            }
            waiting.iter().for_each(|answered| drop(answer(answered).expect("read")));
            let least = Duration::from_nanos(sum.0 / SPEED);
            assert!(begun.elapsed() >= least, "{:?}, at least {least:?}", begun.elapsed());
            assert!(least > Duration::from_millis(1), "the bound says something");
        }
    }

    #[test]
    fn answers_come_in_the_order_of_requests() {
        let live = live("sac-emulator", &Settings::default(), 1000);
        let (sender, order) = channel();
        for number in 0..20_u8 {
            let sender = sender.clone();
            let command = match number % 4 {
                0 => Command::Flush,
                1 => Command::Read { offset: 0, length: 4096 },
                2 => Command::Cache { offset: 0, length: 4096 },
                _ => write(number.into(), number),
            };
            let done = Completion::new(move |result| drop(sender.send((number, result))));
            live.submit(command, done);
        }
        for number in 0..20 {
            let (came, result) = order.recv_timeout(PATIENCE).expect("an answer");
            assert_eq!(came, number);
            result.expect("done");
        }
    }

    #[test]
    fn bands_are_cleaned_while_no_request_comes() {
        let settings = Settings {
            idle_cleaning: Some(true),
            buffer: Buffer::Bytes(1 << 20),
            ..Settings::default()
        };
        let live = live("st8000as0002", &settings, 100_000);
        for n in 0..30 {
            answer(&submit(&live, write(n * 1_000_003, 1))).expect("written");
        }
        let begun = Instant::now();
        while live.counters().idle_clean_time == Nanos::ZERO {
            assert!(begun.elapsed() < PATIENCE, "nothing was cleaned");
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    #[test]
    fn a_write_that_breaks_a_rule_fails_with_the_rule_and_changes_nothing() {
        let live = live("hm-tiny", &Settings::default(), 1000);
        let zone = 100 * 256;
        let failure = answer(&submit(&live, write(zone + 1, 7))).expect_err("refused");
        assert_eq!(failure.code, ErrorCode::Io);
        assert_eq!(failure.offset, Some((zone + 1) * BLOCK_BYTES));
        assert!(failure.message.contains("a write must begin at the write pointer"), "{failure:?}");
        answer(&submit(&live, write(zone, 8))).expect("at the pointer");
        let read = Command::Read { offset: zone * BLOCK_BYTES, length: 8192 };
        let expected = [8_u8, 0].map(|byte| vec![byte; 4096]).concat();
        match answer(&submit(&live, read)).expect("read") {
            Answer::Pieces(pieces) => {
                let bytes = pieces.into_iter().flat_map(|piece| match piece {
                    shingle_nbd::export::Piece::Data(data) => data,
                    shingle_nbd::export::Piece::Zeroes(bytes) => vec![0; bytes as usize],
                });
                assert!(bytes.eq(expected));
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn commands_in_a_model_that_ends_are_answered() {
        let live = live("sac-emulator", &Settings::default(), 1);
        let waiting: Vec<Answered> = (0..50).map(|n| submit(&live, write(n, 1))).collect();
        let begun = Instant::now();
        drop(live);
        assert!(begun.elapsed() < PATIENCE);
        assert!(waiting.iter().any(|answered| answer(answered).is_err()));
    }

    #[test]
    fn long_ranges_are_cut() {
        let parts: Vec<Io> = split_io(Op::Trim, 8192, (20_000 * BLOCK_BYTES) as u32).collect();
        let counts: Vec<(u64, u64)> = parts.iter().map(|io| (io.block.0, io.count)).collect();
        assert_eq!(counts, [(2, 8192), (8194, 8192), (16386, 3616)]);
    }
}
