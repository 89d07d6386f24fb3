//! A translated disk in use.
//!
//! A *work* is a write, a trim, a flush, or one step of idle time.
//!
//! # Locks
//!
//! The order is `turn`, `worker`, `map`. A work takes `turn`, then `worker`, and then releases `turn`; it keeps `worker` until
//! it ends. Threads that wait for `turn` get it in order, so other works run between the pieces of a long trim. Readers share
//! `map`, each for one I/O of at most 512 KiB. A work takes it exclusively for moments only, to publish a change (`reading.rs`).

mod active;
mod commit;
mod failing;
mod gathering;
mod losing;
mod mending;
mod open;
mod reading;
mod rewriting;
mod source;
mod telling;
mod waiting;
mod watched;
mod worker;

use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{
    LockResult, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard,
};

use shingle_core::units::Block;
use shingle_device::{Device, Mark};
use shingle_engine::Buffer;
use shingle_translation::{Queue, Work, translations};
use shingle_zoned::ZonedDisk;

pub(crate) use self::open::{Found, find, open};
use self::reading::Map;
use self::waiting::Waiting;
use self::watched::Watched;
use self::worker::{Stop, Worker};
#[cfg(feature = "bugs")]
use crate::bugs::Bug;
use crate::bugs::Seeded;
use crate::error::{LiveError, LiveErrorKind, OpenError};
use crate::saved::Reading;

/// A zoned disk that takes writes anywhere. Calls block, and may come from many threads.
///
/// Writes, trims, flushes and steps of idle time run one after another. Reads run in parallel: a read waits for one I/O of a
/// write at most, and may return a part of a write of the same blocks.
///
/// Blocks that were written are durable after the next [`LiveDisk::flush`]. Trimmed blocks may read as anything.
///
/// An error of the disk fails one call at most: the next call recovers, or tries to ([`Status::failed`](crate::Status::failed)).
/// Reads go on meanwhile. After a flush that failed, blocks that were written since the last one are errors until they are
/// written anew ([`Status::doubtful_ranges`](crate::Status::doubtful_ranges)).
pub struct LiveDisk {
    shared: Shared,
    turn: Mutex<()>,
    worker: Mutex<Worker>,
    /// Writes that wait for their turn. Translations ask for them.
    waiting: Waiting,
    /// The number of writes, trims and flushes that failed.
    refused: AtomicU64,
    /// Why the last write failed; and of how many blocks it was, if the map had no room for them.
    last_refusal: Mutex<Option<(String, Option<u64>)>>,
}

/// What works and readers share.
struct Shared {
    disk: Watched,
    plan: Plan,
    map: RwLock<Map>,
    /// A client has read the old copy of a lost block.
    reads_again: AtomicBool,
}

/// The layout of the disk, and other constants.
#[derive(Clone, Debug)]
struct Plan {
    uuid: [u8; 16],
    translation: String,
    params: Vec<(String, String)>,
    blocks: u64,
    zones: u32,
    superblocks: [Block; 2],
    buffer_first: Block,
    buffer_blocks: u64,
    zone_blocks: u64,
    /// Blocks of a zone that can be written, which is the size of the translation's zones.
    capacity: u64,
    /// The limit on active zones; 0 if there is none.
    max_active: u32,
    runs_max: u64,
    /// The most old copies of lost blocks that the map may name.
    copies_max: u64,
}

impl Shared {
    // (A panic of a work that has the map leaves each entry as before or as after the change.)
    fn map(&self) -> RwLockReadGuard<'_, Map> {
        self.map.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn map_mut(&self) -> RwLockWriteGuard<'_, Map> {
        self.map.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads blocks of the host, as readers do.
    fn read(&self, block: Block, buffers: &mut [Buffer]) -> Result<(), LiveError> {
        let mut done = 0;
        while done < buffers.len() {
            // The lock is held for one I/O.
            let map = self.map();
            let (at, rest) = (block.after(done as u64), &mut buffers[done..]);
            done += map.read_some(self, at, rest)?;
        }
        Ok(())
    }
}

impl LiveDisk {
    /// Opens a formatted disk, and recovers it if needed. A disk that can be read but not written is opened, with
    /// [`Status::failed`](crate::Status::failed) set.
    ///
    /// # Errors
    /// If it has no map, if the map is damaged, or if it cannot be read.
    pub fn open(disk: Box<dyn ZonedDisk>) -> Result<LiveDisk, OpenError> {
        open(disk, Reading::Whole, Seeded::default())
    }

    /// As [`LiveDisk::open`], with a seeded bug.
    ///
    /// # Errors
    /// As [`LiveDisk::open`].
    #[cfg(feature = "bugs")]
    pub fn open_with(disk: Box<dyn ZonedDisk>, bug: Option<Bug>) -> Result<LiveDisk, OpenError> {
        open(disk, Reading::Whole, Seeded::new(bug))
    }

    /// Blocks that the host may address.
    #[must_use]
    pub fn blocks(&self) -> u64 {
        self.shared.plan.blocks
    }

    /// Whether the translation has no buffer, and appends everything to a log.
    #[must_use]
    pub fn is_log(&self) -> bool {
        translations::get(&self.shared.plan.translation).is_ok_and(|entry| !entry.has_buffer)
    }

    /// The UUID of the map, which each format makes anew.
    #[must_use]
    pub fn uuid(&self) -> [u8; 16] {
        self.shared.plan.uuid
    }

    /// The mark of the cache that used the disk last, if there is one.
    #[must_use]
    pub fn mark(&self) -> Option<Mark> {
        let worker = self.lock_worker().unwrap_or_else(PoisonError::into_inner);
        worker.saver.superblock().mark
    }

    /// Sets the mark of the cache that uses the disk, or removes it. The mark is durable when this returns.
    ///
    /// # Errors
    /// If the disk fails.
    pub fn set_mark(&self, mark: Option<Mark>) -> Result<(), LiveError> {
        let mut worker = self.begin(&(0..0))?;
        self.run(&mut worker, 0..0, |worker, shared, _| {
            Ok(worker.saver.set_mark(&shared.disk, mark)?)
        })
    }

    /// The name of the disk, as it was opened.
    #[must_use]
    pub fn name(&self) -> &str {
        self.shared.disk.name()
    }

    /// The file or block device that the disk is on, if any.
    #[must_use]
    pub fn backing(&self) -> Option<&Device> {
        self.shared.disk.backing()
    }

    /// Reads blocks from `block` on, one to each buffer. Blocks that were never written are zeros.
    ///
    /// # Errors
    /// If some are lost or beyond the end, or the disk cannot read them. The content of the buffers is undefined then.
    pub fn read(&self, block: Block, buffers: &mut [Buffer]) -> Result<(), LiveError> {
        self.in_range(block, buffers.len() as u64)?;
        self.shared.read(block, buffers)
    }

    /// Writes blocks from `block` on.
    ///
    /// # Errors
    /// If they are beyond the end, the map has no room, or the disk fails. Some of the blocks may have been written then.
    pub fn write(&self, block: Block, buffers: &[Buffer]) -> Result<(), LiveError> {
        let written = self.count_refusal(self.write_all(block, buffers));
        let last = match &written {
            Ok(()) => None,
            Err(error) => match error.kind {
                LiveErrorKind::OutOfRange => return written,
                LiveErrorKind::Full => Some((error.to_string(), Some(buffers.len() as u64))),
                _ => Some((error.to_string(), None)),
            },
        };
        *self.last_refusal.lock().unwrap_or_else(PoisonError::into_inner) = last;
        written
    }

    fn write_all(&self, block: Block, buffers: &[Buffer]) -> Result<(), LiveError> {
        let count = buffers.len() as u64;
        let range = self.in_range(block, count)?;
        if count == 0 {
            return Ok(());
        }
        self.waiting.begin(block, count);
        let worker = self.begin(&range);
        self.waiting.end(block, count);
        let mut worker = worker?;
        self.make_room(&mut worker, count)
            .map_err(|error| LiveError { range: range.clone(), ..error })?;
        worker.written.host_blocks += count;
        // (With a limit on active zones: each finished zone needs a spare, and spares come back at the end of a work only.)
        let most = match self.shared.plan.max_active {
            0 => count,
            _ => self.shared.plan.capacity,
        };
        let mut next = range.start;
        while next < range.end {
            let until = if most == count { range.end } else { (next / most + 1) * most };
            let piece = next..until.min(range.end);
            let data = &buffers[(piece.start - block.0) as usize..(piece.end - block.0) as usize];
            next = piece.end;
            self.run(&mut worker, range.clone(), |worker, shared, queue| {
                let (block, count) = (Block(piece.start), piece.end - piece.start);
                worker.work(shared, Work::Write { block, count }, data, queue)
            })?;
        }
        Ok(())
    }

    /// Whether the map has room for a write of so many blocks; if not, why.
    fn has_room(&self, count: u64) -> Result<(), String> {
        let runs = self.shared.map().whereabouts.runs();
        let room = self.shared.plan.runs_max;
        // (Cleaning may need room, too. If there is room for each block as a run of its own, there is always room.)
        if room < self.blocks() && runs + count + 2 > room - room / 16 {
            return Err(format!(
                "the map has {runs} runs of blocks that lie together, and room for {room}; trim some"
            ));
        }
        Ok(())
    }

    /// Trims blocks: they may read as anything. Other works run between the pieces of a long trim.
    ///
    /// # Errors
    /// If they are beyond the end, or the disk fails.
    pub fn trim(&self, block: Block, count: u64) -> Result<(), LiveError> {
        self.count_refusal(self.trim_all(block, count))
    }

    fn trim_all(&self, block: Block, count: u64) -> Result<(), LiveError> {
        let Range { start: mut next, end } = self.in_range(block, count)?;
        while next < end {
            let chunk = self.shared.plan.capacity;
            let until = (next / chunk + 1).saturating_mul(chunk).min(end);
            let range = next..until;
            next = until;
            // (Blocks that are nowhere need no trim.)
            let is_empty = |map: &Map| {
                map.whereabouts.first_somewhere(range.clone()).is_none()
                    && map.lost.blocks().first_in(range.clone()).is_none()
            };
            if is_empty(&self.shared.map()) {
                continue;
            }
            let mut worker = self.begin(&range)?;
            let (block, count) = (Block(range.start), range.end - range.start);
            self.run(&mut worker, range, |worker, shared, queue| {
                worker.work(shared, Work::Trim { block, count }, &[], queue)
            })?;
        }
        Ok(())
    }

    /// Makes all earlier writes and trims durable.
    ///
    /// # Errors
    /// If a write since the last successful flush is not durable.
    pub fn flush(&self) -> Result<(), LiveError> {
        self.count_refusal(self.flush_all())
    }

    fn flush_all(&self) -> Result<(), LiveError> {
        let mut worker = self.begin(&(0..0))?;
        let done = self.run(&mut worker, 0..0, |worker, shared, _| worker.commit(shared));
        // (The flush itself went well, but the host has to learn of an earlier one that failed.)
        if std::mem::take(&mut worker.owes_flush_error) && done.is_ok() {
            let last = worker.last_failure.clone().unwrap_or_default();
            let what = format!("blocks that were written before are not durable, after: {last}");
            return Err(LiveError::new(0..0, LiveErrorKind::Disk, what));
        }
        done
    }

    /// One step of idle time: of the translation, the repair of a zone, one more try to read a lost block, or of gathering.
    /// Returns whether there is more to do.
    ///
    /// # Errors
    /// If the disk fails.
    pub fn idle(&self) -> Result<bool, LiveError> {
        let mut worker = self.begin(&(0..0))?;
        if worker.executor.translation().wants_idle() {
            self.run(&mut worker, 0..0, |worker, shared, queue| {
                worker.work(shared, Work::Idle, &[], queue)
            })?;
        } else if !worker.table.flawed.is_empty() && !worker.table.spares.is_empty() {
            self.run(&mut worker, 0..0, |worker, shared, queue| worker.mend(shared, queue))?;
        } else if worker.is_to_read_again(&self.shared) {
            match self.has_room(1) {
                Ok(()) => self.run(&mut worker, 0..0, |worker, shared, queue| {
                    worker.read_one_again(shared, queue)
                })?,
                Err(_) => worker.to_read_again.clear(),
            }
        } else if self.is_to_gather(&worker) {
            self.gather(&mut worker)?;
        }
        let mends = !worker.table.flawed.is_empty() && !worker.table.spares.is_empty();
        let tries = worker.is_to_read_again(&self.shared);
        let gathers = self.is_to_gather(&worker);
        Ok(worker.executor.translation().wants_idle() || mends || tries || gathers)
    }

    /// Flushes and writes a checkpoint, so that the next start reads no log: the last call of an end in order. (Later writes are
    /// still allowed.)
    ///
    /// # Errors
    /// If the writes are not durable.
    pub fn close(&self) -> Result<(), LiveError> {
        let mut worker = self.begin(&(0..0))?;
        self.run(&mut worker, 0..0, |worker, shared, _| {
            worker.commit(shared)?;
            if worker.saver.log_used() > 0 { worker.checkpoint(shared) } else { Ok(()) }
        })
    }

    /// Counts failed calls of the host, except those beyond the end of the disk.
    fn count_refusal(&self, outcome: Result<(), LiveError>) -> Result<(), LiveError> {
        if outcome.as_ref().is_err_and(|error| error.kind != LiveErrorKind::OutOfRange) {
            self.refused.fetch_add(1, Ordering::Relaxed);
        }
        outcome
    }

    fn in_range(&self, block: Block, count: u64) -> Result<Range<u64>, LiveError> {
        let end = block.0.checked_add(count);
        match end.filter(|end| *end <= self.blocks()) {
            Some(end) => Ok(block.0..end),
            None => {
                let range = block.0..block.0.saturating_add(count);
                let what = format!("it has {} blocks", self.blocks());
                Err(LiveError::new(range, LiveErrorKind::OutOfRange, what))
            }
        }
    }

    /// Waits for the turn of a work, and recovers from an earlier failure.
    fn begin(&self, range: &Range<u64>) -> Result<MutexGuard<'_, Worker>, LiveError> {
        let failed = |what: String| Err(LiveError::new(range.clone(), LiveErrorKind::Failed, what));
        let Ok(mut worker) = self.lock_worker() else {
            return failed(
                "nothing is written until the disk is opened again, after a panic".into(),
            );
        };
        match worker.recover(&self.shared) {
            Ok(()) => Ok(worker),
            Err(stop) => {
                let first = worker.failed.as_ref().map_or("", |failed| &failed.what);
                failed(format!("nothing can be written, after: {first}; now: {stop}"))
            }
        }
    }

    /// Waits for the turn of a work.
    fn lock_worker(&self) -> LockResult<MutexGuard<'_, Worker>> {
        let _until_it_has_works = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        self.worker.lock()
    }

    /// Runs a work; once more, if it fails half-way and the disk recovers.
    fn run(
        &self,
        worker: &mut Worker,
        range: Range<u64>,
        work: impl Fn(&mut Worker, &Shared, &dyn Queue) -> Result<(), Stop>,
    ) -> Result<(), LiveError> {
        let (shared, queue) = (&self.shared, &self.waiting);
        let mut again = true;
        loop {
            let done = work(worker, shared, queue)
                .and_then(|()| if worker.is_to_commit() { worker.commit(shared) } else { Ok(()) });
            let Err(stop) = done else { return Ok(()) };
            worker.fail(shared, &stop);
            let recovered = worker.recover(shared).is_ok();
            // (After a failed flush there is no second try: writes that the disk has dropped do not come back.)
            if !recovered || !again || stop.may_lose_writes() || worker.owes_flush_error {
                let kind = match stop {
                    Stop::MapFull { .. } => LiveErrorKind::Full,
                    _ => LiveErrorKind::Disk,
                };
                return Err(LiveError::new(range, kind, stop));
            }
            again = false;
        }
    }
}

impl Worker {
    /// Whether so much is uncommitted that the next flush of the host is not waited for.
    fn is_to_commit(&self) -> bool {
        let (table, log) = (&self.table, u64::from(self.saver.superblock().areas.log_pages));
        let waits = self.unlogged.len() as u64 + table.unlogged.len() as u64;
        // (A page of the log has 252 records.)
        waits > log * 64
            || self.unflushed.len() > 1 << 16
            || table.spares.len() < 2 && !table.leaving.is_empty()
    }
}
