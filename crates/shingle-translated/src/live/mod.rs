//! A translated disk in use.
//!
//! # Locks
//!
//! `turn`, then `works`, then `map`, never the other way. A work has the first two until it ends, but `turn` only until it has
//! the second: so those who wait get in between the pieces of a long trim. `map` is shared by readers, each for one I/O of
//! at most 512 KiB, and had alone for moments, when readers are told of a change (`reading.rs`).

mod commit;
mod open;
mod reading;
mod works;

use std::ops::Range;
use std::sync::{
    LockResult, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard,
};

use shingle_core::units::Block;
use shingle_engine::Buffer;
use shingle_translation::{Queue, Work};
use shingle_zoned::{Operation, ZonedDisk, ZonedError};
use uuid::Uuid;

pub(crate) use self::open::{Found, find};
use self::reading::Map;
use self::works::{Stop, Works};
use crate::bugs::{Bug, Seeded};
use crate::error::{LiveError, LiveErrorKind, OpenError};
use crate::status::{BufferStatus, MapStatus, Status, WrittenStatus, ZonesStatus};

/// A zoned disk that takes writes anywhere. Calls block, and may come from many threads.
///
/// Writes, trims, flushes and idle time are works, one after another. Reads go beside them: one waits for a single I/O of a
/// work at most, and may meet a write of the same blocks half-way.
///
/// What was written is durable after the next [`LiveDisk::flush`]. What was trimmed may read as anything.
///
/// After an error of the disk that leaves open what is on it, it takes no more writes until it is opened again; reads go on
/// ([`Status::failed`]).
pub struct LiveDisk {
    shared: Shared,
    turn: Mutex<()>,
    works: Mutex<Works>,
    /// Writes that wait for their turn: a translation may ask.
    waiting: Waiting,
}

/// What works and readers both use.
struct Shared {
    disk: Box<dyn ZonedDisk>,
    plan: Plan,
    map: RwLock<Map>,
}

/// Where what is on the disk, and other things that never change.
#[derive(Clone, Debug)]
struct Plan {
    uuid: [u8; 16],
    translation: String,
    params: Vec<(String, String)>,
    blocks: u64,
    buffer_first: Block,
    buffer_blocks: u64,
    zone_blocks: u64,
    /// Blocks of a zone that can be written: the translation's zones have so many.
    capacity: u64,
    runs_max: u64,
}

impl Shared {
    // (A panic while the map is had alone leaves it as it was or as it is to be: sets of single places.)
    fn map(&self) -> RwLockReadGuard<'_, Map> {
        self.map.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn map_mut(&self) -> RwLockWriteGuard<'_, Map> {
        self.map.write().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Writes that wait: the first block of each, and how many.
#[derive(Default)]
struct Waiting(Mutex<Vec<(Block, u64)>>);

impl Waiting {
    fn list(&self) -> MutexGuard<'_, Vec<(Block, u64)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Queue for Waiting {
    fn writes(&self, hits: &dyn Fn(Block, u64) -> bool) -> bool {
        self.list().iter().any(|&(block, count)| hits(block, count))
    }

    fn waits(&self) -> bool {
        !self.list().is_empty()
    }
}

impl LiveDisk {
    /// Opens a formatted disk, and recovers it if need be. If the disk can be read and not written, it is open and
    /// [`Status::failed`] says so.
    ///
    /// # Errors
    /// If it has no map, if the map is damaged, or if it cannot be read.
    pub fn open(disk: Box<dyn ZonedDisk>) -> Result<LiveDisk, OpenError> {
        open::open(disk, Seeded::default())
    }

    /// The same, with a mistake.
    ///
    /// # Errors
    /// As [`LiveDisk::open`].
    #[cfg(feature = "bugs")]
    pub fn open_with(disk: Box<dyn ZonedDisk>, bug: Option<Bug>) -> Result<LiveDisk, OpenError> {
        open::open(disk, Seeded::new(bug))
    }

    /// Blocks that the host may address.
    #[must_use]
    pub fn blocks(&self) -> u64 {
        self.shared.plan.blocks
    }

    /// Of the map. It is another one after each format.
    #[must_use]
    pub fn uuid(&self) -> [u8; 16] {
        self.shared.plan.uuid
    }

    /// The disk, as it was named.
    #[must_use]
    pub fn name(&self) -> &str {
        self.shared.disk.name()
    }

    /// Reads blocks from `block` on, one to each buffer. Those never written are zeros.
    ///
    /// # Errors
    /// If some are lost or beyond the end, or the disk does not give them. The buffers may hold anything then.
    pub fn read(&self, block: Block, buffers: &mut [Buffer]) -> Result<(), LiveError> {
        self.in_range(block, buffers.len() as u64)?;
        let mut done = 0;
        while done < buffers.len() {
            // The lock is had for this one I/O.
            let map = self.shared.map();
            let (at, rest) = (block.after(done as u64), &mut buffers[done..]);
            done += map.read_some(&self.shared.plan, &*self.shared.disk, at, rest)?;
        }
        Ok(())
    }

    /// Writes blocks from `block` on.
    ///
    /// # Errors
    /// If they are beyond the end, there is no room for the map, or the disk fails. Some of the blocks may have been
    /// written.
    pub fn write(&self, block: Block, buffers: &[Buffer]) -> Result<(), LiveError> {
        let count = buffers.len() as u64;
        let range = self.in_range(block, count)?;
        if count == 0 {
            return Ok(());
        }
        self.waiting.list().push((block, count));
        let works = self.begin(&range);
        let mut list = self.waiting.list();
        if let Some(mine) = list.iter().position(|waits| *waits == (block, count)) {
            list.swap_remove(mine);
        }
        drop(list);
        let mut works = works?;
        let runs = self.shared.map().whereabouts.runs();
        let room = self.shared.plan.runs_max;
        // (Cleaning may take some, too. Where each block may be a run of its own there is always room.)
        if room < self.blocks() && runs + count + 2 > room - room / 16 {
            let what = format!(
                "the map has {runs} runs of blocks that lie together, and room for {room}; trim some"
            );
            return Err(LiveError::new(range, LiveErrorKind::Full, what));
        }
        works.written.host_blocks += count;
        self.run(&mut works, range, |works, shared, queue| {
            works.work(shared, Work::Write { block, count }, buffers, queue)
        })
    }

    /// Gives blocks up: they may read as anything. Long trims let other works in between.
    ///
    /// # Errors
    /// If they are beyond the end, or the disk fails.
    pub fn trim(&self, block: Block, count: u64) -> Result<(), LiveError> {
        let Range { start: mut next, end } = self.in_range(block, count)?;
        while next < end {
            let chunk = self.shared.plan.capacity;
            let until = (next / chunk + 1).saturating_mul(chunk).min(end);
            let range = next..until;
            next = until;
            // Where nothing is there is nothing to give up.
            let is_empty = |map: &Map| {
                map.whereabouts.first_somewhere(range.clone()).is_none()
                    && map.lost.first_in(range.clone()).is_none()
            };
            if is_empty(&self.shared.map()) {
                continue;
            }
            let mut works = self.begin(&range)?;
            let (block, count) = (Block(range.start), range.end - range.start);
            self.run(&mut works, range, |works, shared, queue| {
                works.work(shared, Work::Trim { block, count }, &[], queue)
            })?;
        }
        Ok(())
    }

    /// Makes durable what was written and trimmed before.
    ///
    /// # Errors
    /// If that is not so, and so it is for good until the disk is opened again.
    pub fn flush(&self) -> Result<(), LiveError> {
        let mut works = self.begin(&(0..0))?;
        self.run(&mut works, 0..0, |works, shared, _| works.commit(shared))
    }

    /// One work of idle time, or the repair of a zone. Whether there is more to do.
    ///
    /// # Errors
    /// If the disk fails.
    pub fn idle(&self) -> Result<bool, LiveError> {
        let mut works = self.begin(&(0..0))?;
        if works.executor.translation().wants_idle() {
            self.run(&mut works, 0..0, |works, shared, queue| {
                works.work(shared, Work::Idle, &[], queue)
            })?;
        } else if let Some(&logical) = works.table.flawed.keys().next()
            && !works.table.spares.is_empty()
        {
            self.run(&mut works, 0..0, |works, shared, _| {
                works.repair(shared, logical)?;
                works.commit(shared)
            })?;
        }
        let mends = !works.table.flawed.is_empty() && !works.table.spares.is_empty();
        Ok(works.executor.translation().wants_idle() || mends)
    }

    /// How it is now. It waits for the work under way.
    #[must_use]
    pub fn status(&self) -> Status {
        let works = self.in_turn().unwrap_or_else(PoisonError::into_inner);
        let (plan, map) = (&self.shared.plan, self.shared.map());
        let (translation, table) = (works.executor.translation(), &works.table);
        let (held, counters) = (translation.held(), translation.counters());
        let zones = |wanted: &dyn Fn(u64) -> bool| {
            table.pointers.iter().filter(|pointer| wanted(u64::from(**pointer))).count() as u32
        };
        let log_pages = works.saver.superblock().areas.log_pages;
        Status {
            translation: plan.translation.clone(),
            params: plan.params.clone(),
            uuid: Uuid::from_bytes(plan.uuid).to_string(),
            blocks: plan.blocks,
            failed: works.failed.clone(),
            buffer: BufferStatus { blocks: plan.buffer_blocks, used: held.used, live: held.blocks },
            zones: ZonesStatus {
                empty: zones(&|pointer| pointer == 0),
                open: zones(&|pointer| pointer > 0 && pointer < plan.capacity),
                full: zones(&|pointer| pointer == plan.capacity),
                spare: table.spares.len() as u32,
                leaving: table.leaving.len() as u32,
                to_be_moved: table.flawed.len() as u32,
                bad: table.bad,
            },
            cleanings: counters.cleanings.max(counters.victims),
            cleaned_blocks: counters.evicted_blocks + counters.moved_blocks,
            wants_idle: translation.wants_idle(),
            written: WrittenStatus { map_blocks: works.saver.written_blocks, ..works.written },
            map: MapStatus {
                runs: map.whereabouts.runs(),
                runs_max: plan.runs_max,
                memory_bytes: map.whereabouts.memory_bytes()
                    + table.memory_bytes()
                    + 4 * map.physical.capacity() as u64,
                generation: works.saver.superblock().generation,
                log_pages: works.saver.log_used().into(),
                log_pages_max: log_pages.into(),
                commits: works.commits,
                checkpoints: works.checkpoints,
            },
            lost_ranges: map.lost.starts_and_counts(),
        }
    }

    /// Flushes, and leaves a checkpoint, so that the next opening reads no log.
    ///
    /// # Errors
    /// If what was written is not durable.
    pub fn close(self) -> Result<(), LiveError> {
        let mut works = self.begin(&(0..0))?;
        self.run(&mut works, 0..0, |works, shared, _| {
            works.commit(shared)?;
            if works.saver.log_used() > 0 { works.checkpoint(shared) } else { Ok(()) }
        })
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

    /// Waits for its turn to work.
    fn begin(&self, range: &Range<u64>) -> Result<MutexGuard<'_, Works>, LiveError> {
        let failed = |what: &str| {
            let what = format!("nothing is written until the disk is opened again, after: {what}");
            Err(LiveError::new(range.clone(), LiveErrorKind::Failed, what))
        };
        match self.in_turn() {
            Err(_) => failed("a panic"),
            Ok(works) => match &works.failed {
                Some(what) => failed(what),
                None => Ok(works),
            },
        }
    }

    /// Waits until it is its turn.
    fn in_turn(&self) -> LockResult<MutexGuard<'_, Works>> {
        let _until_it_has_works = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        self.works.lock()
    }

    /// Works. What stops it half-way ends all writing.
    fn run(
        &self,
        works: &mut Works,
        range: Range<u64>,
        work: impl FnOnce(&mut Works, &Shared, &dyn Queue) -> Result<(), Stop>,
    ) -> Result<(), LiveError> {
        let (shared, queue) = (&self.shared, &self.waiting);
        let done = work(works, shared, queue)
            .and_then(|()| if works.is_to_commit() { works.commit(shared) } else { Ok(()) });
        done.map_err(|stop| {
            let kind = match stop {
                Stop::Disk(_) | Stop::NoSpare(_) => LiveErrorKind::Disk,
                Stop::MapFull { .. } => LiveErrorKind::Full,
            };
            works.fail(shared, &stop);
            LiveError::new(range, kind, stop)
        })
    }
}

impl Works {
    /// Whether so much waits for a commit that it is not left to the host.
    fn is_to_commit(&self) -> bool {
        let (table, log) = (&self.table, u64::from(self.saver.superblock().areas.log_pages));
        let waits = self.unlogged.len() as u64 + table.unlogged.len() as u64;
        // (A page of the log has 252 records.)
        waits > log * 64
            || self.unflushed.len() > 1 << 16
            || table.spares.len() < 2 && !table.leaving.is_empty()
    }

    /// Nothing is written any more. What was not flushed is what it was, unless a flush failed: then it may be anything.
    fn fail(&mut self, shared: &Shared, stop: &Stop) {
        let flushes = |error: &ZonedError| error.operation == Operation::Flush;
        if matches!(stop, Stop::Disk(error) if flushes(error))
            && !self.bugs.has(Bug::FailedFlushServed)
        {
            let mut map = shared.map_mut();
            self.unflushed.iter().for_each(|range| map.doubtful.insert(range));
        }
        self.failed = Some(stop.to_string());
    }
}
