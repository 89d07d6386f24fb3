//! A volume served as a block device: an export of NBD over blocks that something keeps elsewhere.
//!
//! What changes it is carried out one after the other, reads beside that. What covers a block in part is merged
//! here. A long trim is carried out piece by piece, and what comes meanwhile goes between. What has to be durable waits for
//! what came with it, and one flush is for all of them.

mod blocks;
mod failures;

use std::collections::{HashMap, VecDeque};
use std::io;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use shingle_core::units::{BLOCK_BYTES, Block};
use shingle_device::{Lanes, MainLane, READERS, ReadLane, Volume};
use shingle_nbd::export::{Answer, Command, Completion, Export, Extent, Failure};
use shingle_nbd::replies::ErrorCode;

use self::blocks::{read, whole, write, zero};
use self::failures::Failures;
pub use self::failures::Tell;

/// Blocks of a trim that are given up at a time: while that lasts a write has to wait.
const TRIM_BLOCKS: u64 = 64 << 20 >> 12;

/// Jobs between one that has to be durable and the flush for it, at most.
const JOBS_BEFORE_FLUSH: usize = 64;

/// A volume that is served.
pub struct ServedVolume {
    volume: Arc<dyn Volume>,
    /// None after the end.
    lanes: Mutex<Option<Lanes<Job>>>,
    losses: Arc<Mutex<Losses>>,
}

/// Flushes that failed: what was written before may be lost, whoever wrote it, and the next FLUSH on each connection says so.
#[derive(Default)]
struct Losses {
    count: u64,
    /// Somebody was told of losses up to this one.
    known: u64,
    /// Of so many each open connection was told, or they came before it.
    told: HashMap<u64, u64>,
}

impl Losses {
    /// A loss that nobody was told of is told to whoever comes next.
    fn opened(&mut self, connection: u64) {
        let first = if self.known < self.count { self.count - 1 } else { self.count };
        self.told.insert(connection, first);
    }

    /// What a FLUSH is answered, which went well by itself or not.
    fn answer(&mut self, connection: u64, flushed: Result<(), Failure>) -> Result<Answer, Failure> {
        // (One that was cut off hears nothing: somebody else has to be told.)
        let Some(told) = self.told.get_mut(&connection) else {
            return flushed.map(|()| Answer::Done);
        };
        let knew = std::mem::replace(told, self.count);
        self.known = self.count;
        flushed?;
        if knew < self.count {
            let what = "a flush failed before: what was written until then may be lost";
            return Err(Failure::new(ErrorCode::Io, what));
        }
        Ok(Answer::Done)
    }
}

type Job = (Command, Completion);

impl ServedVolume {
    /// Begins, with threads of its own, which also use idle time. `tell` gets a line about what failed; of failures that
    /// are alike one a second at most.
    ///
    /// # Errors
    /// If the system gives no threads.
    pub fn start(volume: Arc<dyn Volume>, tell: Tell) -> io::Result<ServedVolume> {
        let failures = Arc::new(Failures::new(tell));
        let reader = |_| {
            let (volume, failures) = (volume.clone(), failures.clone());
            let read = move |(command, done): Job| {
                // (No other comes here.)
                let Command::Read { offset, length } = command else { return };
                let read = failures.seen(read(&*volume, offset, length));
                done.done(read.map(Answer::Data).map_err(|error| failure(&error)));
            };
            Box::new(read) as ReadLane<Job>
        };
        let readers = (0..READERS).map(reader).collect();
        let losses = Arc::<Mutex<Losses>>::default();
        let main = Main {
            volume: volume.clone(),
            trims: VecDeque::new(),
            to_flush: Vec::new(),
            since: 0,
            failures,
            losses: losses.clone(),
        };
        let lanes = Lanes::start("shingle-volume", "the disk", main, readers)?;
        Ok(ServedVolume { volume, lanes: Mutex::new(Some(lanes)), losses })
    }

    /// Waits until all that was asked for is done, and makes it durable. What is asked for later is an error.
    ///
    /// # Errors
    /// If it cannot be made durable.
    pub fn end(&self) -> io::Result<()> {
        let lanes = self.lanes.lock().unwrap_or_else(PoisonError::into_inner).take();
        lanes.map_or(Ok(()), Lanes::end)
    }
}

impl Export for ServedVolume {
    fn size_bytes(&self) -> u64 {
        self.volume.blocks() * BLOCK_BYTES
    }

    fn submit(&self, command: Command, done: Completion) {
        let lanes = self.lanes.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(lanes) = &*lanes else {
            return done.done(Err(Failure::new(ErrorCode::Shutdown, "it is not served any more")));
        };
        match command {
            Command::Cache { .. } => done.done(Ok(Answer::Done)),
            Command::WriteZeroes { fast: true, .. } => {
                done.done(Err(Failure::no_fast_zeroes()));
            }
            // It tells nothing of holes: all of it counts as allocated.
            Command::BlockStatus { length, .. } => {
                let all = || vec![Extent { length_bytes: length.into(), flags: 0 }];
                done.done(Ok(Answer::Status { allocation: all(), dirty: all() }));
            }
            Command::Read { .. } => lanes.begin_read((command, done)),
            Command::Write { .. }
            | Command::Flush
            | Command::Trim { .. }
            | Command::WriteZeroes { .. } => lanes.begin((command, done)),
        }
    }

    fn opened(&self, connection: u64) {
        locked(&self.losses).opened(connection);
    }

    fn closed(&self, connection: u64) {
        locked(&self.losses).told.remove(&connection);
    }
}

fn locked(losses: &Mutex<Losses>) -> MutexGuard<'_, Losses> {
    losses.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A trim of which something is left.
struct Trim {
    left: Range<u64>,
    fua: bool,
    done: Completion,
}

struct Main {
    volume: Arc<dyn Volume>,
    trims: VecDeque<Trim>,
    /// What is answered after the next flush, and what of it is a FLUSH.
    to_flush: Vec<(Completion, bool)>,
    /// Jobs since the first of them came.
    since: usize,
    failures: Arc<Failures>,
    losses: Arc<Mutex<Losses>>,
}

impl Main {
    /// A flush, for all that wait for one.
    fn flush(&mut self) {
        self.since = 0;
        if self.to_flush.is_empty() {
            return;
        }
        let flushed = self.failures.seen(self.volume.flush());
        locked(&self.losses).count += u64::from(flushed.is_err());
        for (done, is_flush) in self.to_flush.drain(..) {
            let flushed = flushed.as_ref().map(drop).map_err(failure);
            // (Of a write with FUA it is only that one.)
            let answer = match is_flush {
                true => locked(&self.losses).answer(done.connection(), flushed),
                false => flushed.map(|()| Answer::Done),
            };
            done.done(answer);
        }
    }

    /// It is done, and is answered: at once, or when it is durable.
    fn end(&mut self, outcome: io::Result<()>, durable: bool, done: Completion) {
        match self.failures.seen(outcome) {
            Ok(()) if durable => self.to_flush.push((done, false)),
            Ok(()) => done.done(Ok(Answer::Done)),
            Err(error) => done.done(Err(failure(&error))),
        }
    }

    /// A piece of the first trim.
    fn trim(&mut self) {
        let Some(trim) = self.trims.front_mut() else { return };
        let next = trim.left.start..trim.left.end.min(trim.left.start + TRIM_BLOCKS);
        trim.left.start = next.end;
        let outcome = match next.is_empty() {
            true => Ok(()),
            false => self.volume.trim(Block(next.start), next.end - next.start),
        };
        if outcome.is_ok() && !trim.left.is_empty() {
            return;
        }
        if let Some(Trim { fua, done, .. }) = self.trims.pop_front() {
            self.end(outcome, fua, done);
        }
    }
}

impl MainLane<Job> for Main {
    fn carry_out(&mut self, (command, done): Job) {
        if let Command::Trim { offset, length, fua } = command {
            let left = whole(offset, length.into());
            return self.trims.push_back(Trim { left, fua, done });
        }
        // A write that is answered stays, though an earlier trim of the same blocks is not.
        while self.trims.iter().any(|trim| overlaps(&trim.left, &command)) {
            self.trim();
        }
        let volume = &*self.volume;
        match command {
            Command::Write { offset, ref data, fua } => {
                let outcome = write(volume, offset, data);
                self.end(outcome, fua, done);
            }
            Command::WriteZeroes { offset, length, fua, .. } => {
                let outcome = zero(volume, offset, length);
                self.end(outcome, fua, done);
            }
            _ => self.to_flush.push((done, true)),
        }
        // However much comes, a trim comes to its end, and so does what waits for a flush.
        self.trim();
        self.since += usize::from(!self.to_flush.is_empty());
        if self.since > JOBS_BEFORE_FLUSH {
            self.flush();
        }
    }

    fn is_busy(&self) -> bool {
        !self.trims.is_empty() || !self.to_flush.is_empty()
    }

    fn go_on(&mut self) {
        self.flush();
        self.trim();
    }

    fn idle(&mut self) -> bool {
        self.failures.tick(Instant::now());
        self.failures.seen(self.volume.idle()).unwrap_or(false)
    }

    fn end(&mut self) -> io::Result<()> {
        self.failures.end(Instant::now());
        self.volume.flush()
    }
}

fn overlaps(blocks: &Range<u64>, command: &Command) -> bool {
    let (offset, bytes) = match *command {
        Command::Write { offset, ref data, .. } => (offset, data.len() as u64),
        Command::WriteZeroes { offset, length, .. } => (offset, length.into()),
        _ => return false,
    };
    offset < blocks.end * BLOCK_BYTES && blocks.start * BLOCK_BYTES < offset + bytes
}

fn failure(error: &io::Error) -> Failure {
    let code = match error.kind() {
        io::ErrorKind::StorageFull => ErrorCode::NoSpc,
        _ => ErrorCode::Io,
    };
    Failure::new(code, error.to_string())
}

#[cfg(test)]
mod tests;
