//! A volume served as an NBD export.
//!
//! Commands that change it are executed one after another, and reads run in parallel. Partly
//! covered blocks are merged here. A long trim is executed in pieces, and other commands run in
//! between. Commands that must be durable are collected, and one flush completes them all.

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

use self::blocks::{read, whole_blocks, write, zero};
use self::failures::Failures;
pub use self::failures::Tell;

/// Blocks of a piece of a trim: writes wait while a piece is trimmed.
const TRIM_BLOCKS: u64 = 64 << 20 >> 12;

/// The most jobs between a command that must be durable and its flush.
const JOBS_BEFORE_FLUSH: usize = 64;

/// A volume that is served over NBD.
pub struct ServedVolume {
    volume: Arc<dyn Volume>,
    /// `None` after the end.
    lanes: Mutex<Option<Lanes<Job>>>,
    losses: Arc<Mutex<Losses>>,
}

/// Failed flushes: data that any connection wrote before may be lost, so the next FLUSH on each
/// connection fails.
#[derive(Default)]
struct Losses {
    /// Number of failed flushes.
    count: u64,
    /// Number of losses that were reported on some connection.
    reported: u64,
    /// For each open connection: the number of losses that were reported on it, or happened before
    /// it.
    reported_to: HashMap<u64, u64>,
}

impl Losses {
    /// Registers a connection. If the last loss was reported to no connection, it is reported on
    /// this one.
    fn opened(&mut self, connection: u64) {
        let first = if self.reported < self.count { self.count - 1 } else { self.count };
        self.reported_to.insert(connection, first);
    }

    /// Makes the answer to a FLUSH, whether it succeeded itself or not.
    fn answer(&mut self, connection: u64, flushed: Result<(), Failure>) -> Result<Answer, Failure> {
        // (A closed connection gets no reply: the loss has to be reported on another one.)
        let Some(reported) = self.reported_to.get_mut(&connection) else {
            return flushed.map(|()| Answer::Done);
        };
        let before = std::mem::replace(reported, self.count);
        self.reported = self.count;
        flushed?;
        if before < self.count {
            let what = "a flush failed before: what was written until then may be lost";
            return Err(Failure::new(ErrorCode::Io, what));
        }
        Ok(Answer::Done)
    }
}

type Job = (Command, Completion);

impl ServedVolume {
    /// Starts the threads, which also use idle time. `tell` receives lines about failures, those
    /// about similar ones ever more rarely.
    pub fn start(volume: Arc<dyn Volume>, tell: Tell) -> io::Result<ServedVolume> {
        let failures = Arc::new(Failures::new(tell));
        let reader = |_| {
            let (volume, failures) = (volume.clone(), failures.clone());
            let read = move |(command, done): Job| {
                // (Only reads are sent to this lane.)
                let Command::Read { offset, length } = command else { return };
                let read = failures.report(read(&*volume, offset, length));
                done.done(read.map(Answer::Data).map_err(|error| failure(&error)));
            };
            Box::new(read) as ReadLane<Job>
        };
        let readers = (0..READERS).map(reader).collect();
        let losses = Arc::<Mutex<Losses>>::default();
        let main = Main {
            volume: volume.clone(),
            trims: VecDeque::new(),
            awaiting_flush: Vec::new(),
            jobs_since: 0,
            failures,
            losses: losses.clone(),
        };
        let lanes = Lanes::start("shingle-volume", "the disk", main, readers)?;
        Ok(ServedVolume { volume, lanes: Mutex::new(Some(lanes)), losses })
    }

    /// Completes all submitted commands, and flushes the volume. Later commands fail.
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
            // A volume reports no holes: everything counts as allocated.
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
        lock(&self.losses).opened(connection);
    }

    fn closed(&self, connection: u64) {
        lock(&self.losses).reported_to.remove(&connection);
    }
}

fn lock(losses: &Mutex<Losses>) -> MutexGuard<'_, Losses> {
    losses.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A trim that is not finished.
struct Trim {
    left: Range<u64>,
    fua: bool,
    done: Completion,
}

struct Main {
    volume: Arc<dyn Volume>,
    trims: VecDeque<Trim>,
    /// Completions after the next flush, and whether each is of a FLUSH.
    awaiting_flush: Vec<(Completion, bool)>,
    /// Jobs since the first of these.
    jobs_since: usize,
    failures: Arc<Failures>,
    losses: Arc<Mutex<Losses>>,
}

impl Main {
    /// Flushes the volume, and completes all commands that wait for it.
    fn flush(&mut self) {
        self.jobs_since = 0;
        if self.awaiting_flush.is_empty() {
            return;
        }
        let flushed = self.failures.report(self.volume.flush());
        lock(&self.losses).count += u64::from(flushed.is_err());
        for (done, is_flush) in self.awaiting_flush.drain(..) {
            let flushed = flushed.as_ref().map(drop).map_err(failure);
            // (A write with FUA reports only its own loss.)
            let answer = match is_flush {
                true => lock(&self.losses).answer(done.connection(), flushed),
                false => flushed.map(|()| Answer::Done),
            };
            done.done(answer);
        }
    }

    /// Completes a command: at once, or after the next flush if it must be durable.
    fn complete(&mut self, outcome: io::Result<()>, durable: bool, done: Completion) {
        match self.failures.report(outcome) {
            Ok(()) if durable => self.awaiting_flush.push((done, false)),
            Ok(()) => done.done(Ok(Answer::Done)),
            Err(error) => done.done(Err(failure(&error))),
        }
    }

    /// Trims the next piece of the first trim.
    fn trim_piece(&mut self) {
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
            self.complete(outcome, fua, done);
        }
    }
}

impl MainLane<Job> for Main {
    fn carry_out(&mut self, (command, done): Job) {
        if let Command::Trim { offset, length, fua } = command {
            let left = whole_blocks(offset, length.into());
            return self.trims.push_back(Trim { left, fua, done });
        }
        // A pending trim must not destroy a later write that is already answered.
        while self.trims.iter().any(|trim| overlaps(&trim.left, &command)) {
            self.trim_piece();
        }
        let volume = &*self.volume;
        match command {
            Command::Write { offset, ref data, fua } => {
                let outcome = write(volume, offset, data);
                self.complete(outcome, fua, done);
            }
            Command::WriteZeroes { offset, length, fua, .. } => {
                let outcome = zero(volume, offset, length);
                self.complete(outcome, fua, done);
            }
            _ => self.awaiting_flush.push((done, true)),
        }
        // Trims and flushes must progress under any load.
        self.trim_piece();
        self.jobs_since += usize::from(!self.awaiting_flush.is_empty());
        if self.jobs_since > JOBS_BEFORE_FLUSH {
            self.flush();
        }
    }

    fn is_busy(&self) -> bool {
        !self.trims.is_empty() || !self.awaiting_flush.is_empty()
    }

    fn go_on(&mut self) {
        self.flush();
        self.trim_piece();
    }

    fn idle(&mut self) -> bool {
        self.failures.tick(Instant::now());
        self.failures.report(self.volume.idle()).unwrap_or(false)
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
