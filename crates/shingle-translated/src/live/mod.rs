//! A translated disk in use.
//!
//! # Locks
//!
//! `turn`, then `works`, then `map`, never the other way. A work has the first two until it ends, but `turn` only until it has
//! the second: so those who wait get in between the pieces of a long trim. `map` is shared by readers, each for one I/O of
//! at most 512 KiB, and had alone for moments, when readers are told of a change (`reading.rs`).

mod active;
mod commit;
mod failing;
mod losing;
mod mending;
mod open;
mod reading;
mod rewriting;
mod source;
mod telling;
mod waiting;
mod watched;
mod works;

use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{
    LockResult, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard,
};

use shingle_core::units::Block;
use shingle_device::Mark;
use shingle_engine::Buffer;
use shingle_translation::{Queue, Work};
use shingle_zoned::ZonedDisk;

pub(crate) use self::open::{Found, find, open};
use self::reading::Map;
use self::waiting::Waiting;
use self::watched::Watched;
use self::works::{Stop, Works};
#[cfg(feature = "bugs")]
use crate::bugs::Bug;
use crate::bugs::Seeded;
use crate::error::{LiveError, LiveErrorKind, OpenError};
use crate::saved::Reading;

/// A zoned disk that takes writes anywhere. Calls block, and may come from many threads.
///
/// Writes, trims, flushes and idle time are works, one after another. Reads go beside them: one waits for a single I/O of a
/// work at most, and may meet a write of the same blocks half-way.
///
/// What was written is durable after the next [`LiveDisk::flush`]. What was trimmed may read as anything.
///
/// An error of the disk ends one work at most: the next one puts right what it left, or tries to ([`Status::failed`](crate::Status::failed)). Reads
/// go on meanwhile. After a flush that failed, blocks that were written since the last one are errors until they are written
/// anew ([`Status::doubtful_ranges`](crate::Status::doubtful_ranges)).
pub struct LiveDisk {
    shared: Shared,
    turn: Mutex<()>,
    works: Mutex<Works>,
    /// Writes that wait for their turn: a translation may ask.
    waiting: Waiting,
    /// Writes, trims and flushes that ended with an error.
    refused: AtomicU64,
}

/// What works and readers both use.
struct Shared {
    disk: Watched,
    plan: Plan,
    map: RwLock<Map>,
    /// Somebody has read the old copy of a block that was lost.
    reads_again: AtomicBool,
}

/// Where what is on the disk, and other things that never change.
#[derive(Clone, Debug)]
struct Plan {
    uuid: [u8; 16],
    translation: String,
    params: Vec<(String, String)>,
    blocks: u64,
    zones: u32,
    conventional_zones: u32,
    conventional_blocks: u64,
    buffer_first: Block,
    buffer_blocks: u64,
    zone_blocks: u64,
    /// Blocks of a zone that can be written: the translation's zones have so many.
    capacity: u64,
    /// Zones that may be begun and not full; 0: any number.
    max_active: u32,
    runs_max: u64,
    /// Old copies of lost blocks that the map may name.
    copies_max: u64,
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

impl LiveDisk {
    /// Opens a formatted disk, and recovers it if need be. If the disk can be read and not written, it is open and
    /// [`Status::failed`](crate::Status::failed) says so.
    ///
    /// # Errors
    /// If it has no map, if the map is damaged, or if it cannot be read.
    pub fn open(disk: Box<dyn ZonedDisk>) -> Result<LiveDisk, OpenError> {
        open(disk, Reading::Whole, Seeded::default())
    }

    /// The same, with a mistake.
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

    /// Of the map. It is another one after each format.
    #[must_use]
    pub fn uuid(&self) -> [u8; 16] {
        self.shared.plan.uuid
    }

    /// Which cache used it last, if one has said so.
    #[must_use]
    pub fn mark(&self) -> Option<Mark> {
        let works = self.in_turn().unwrap_or_else(PoisonError::into_inner);
        works.saver.superblock().mark
    }

    /// Says which cache uses it; none, if it is to be anybody's. That is in the map, and durable when this is done.
    ///
    /// # Errors
    /// If the disk fails.
    pub fn set_mark(&self, mark: Option<Mark>) -> Result<(), LiveError> {
        let mut works = self.begin(&(0..0))?;
        self.run(&mut works, 0..0, |works, shared, _| {
            Ok(works.saver.set_mark(&shared.disk, mark)?)
        })
    }

    /// The disk, as it was named.
    #[must_use]
    pub fn name(&self) -> &str {
        self.shared.disk.name()
    }

    /// Whether the disk is a file without a name: what it holds goes when nobody has it open any more.
    #[must_use]
    pub fn is_deleted(&self) -> bool {
        self.shared.disk.is_deleted()
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
            done += map.read_some(&self.shared, at, rest)?;
        }
        Ok(())
    }

    /// Writes blocks from `block` on.
    ///
    /// # Errors
    /// If they are beyond the end, there is no room for the map, or the disk fails. Some of the blocks may have been
    /// written.
    pub fn write(&self, block: Block, buffers: &[Buffer]) -> Result<(), LiveError> {
        self.counted(self.write_all(block, buffers))
    }

    fn write_all(&self, block: Block, buffers: &[Buffer]) -> Result<(), LiveError> {
        let count = buffers.len() as u64;
        let range = self.in_range(block, count)?;
        if count == 0 {
            return Ok(());
        }
        self.waiting.begin(block, count);
        let works = self.begin(&range);
        self.waiting.end(block, count);
        let mut works = works?;
        if let Err(what) = self.has_room(count) {
            return Err(LiveError::new(range, LiveErrorKind::Full, what));
        }
        works.written.host_blocks += count;
        // (Each zone that was finished takes a spare, and no work gives one back before it ends.)
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
            self.run(&mut works, range.clone(), |works, shared, queue| {
                let (block, count) = (Block(piece.start), piece.end - piece.start);
                works.work(shared, Work::Write { block, count }, data, queue)
            })?;
        }
        Ok(())
    }

    /// Whether the map has room for it that so many blocks are written; if not, why.
    fn has_room(&self, count: u64) -> Result<(), String> {
        let runs = self.shared.map().whereabouts.runs();
        let room = self.shared.plan.runs_max;
        // (Cleaning may take some, too. Where each block may be a run of its own there is always room.)
        if room < self.blocks() && runs + count + 2 > room - room / 16 {
            return Err(format!(
                "the map has {runs} runs of blocks that lie together, and room for {room}; trim some"
            ));
        }
        Ok(())
    }

    /// Gives blocks up: they may read as anything. Long trims let other works in between.
    ///
    /// # Errors
    /// If they are beyond the end, or the disk fails.
    pub fn trim(&self, block: Block, count: u64) -> Result<(), LiveError> {
        self.counted(self.trim_all(block, count))
    }

    fn trim_all(&self, block: Block, count: u64) -> Result<(), LiveError> {
        let Range { start: mut next, end } = self.in_range(block, count)?;
        while next < end {
            let chunk = self.shared.plan.capacity;
            let until = (next / chunk + 1).saturating_mul(chunk).min(end);
            let range = next..until;
            next = until;
            // Where nothing is there is nothing to give up.
            let is_empty = |map: &Map| {
                map.whereabouts.first_somewhere(range.clone()).is_none()
                    && map.lost.blocks().first_in(range.clone()).is_none()
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
    /// If that is not so of something that was written since the last flush that was without error.
    pub fn flush(&self) -> Result<(), LiveError> {
        self.counted(self.flush_all())
    }

    fn flush_all(&self) -> Result<(), LiveError> {
        let mut works = self.begin(&(0..0))?;
        let done = self.run(&mut works, 0..0, |works, shared, _| works.commit(shared));
        // (Whoever asked is told now.)
        if std::mem::take(&mut works.owed) && done.is_ok() {
            let last = works.last_failure.clone().unwrap_or_default();
            let what = format!("blocks that were written before are not durable, after: {last}");
            return Err(LiveError::new(0..0, LiveErrorKind::Disk, what));
        }
        done
    }

    /// One work of idle time: of the translation, the repair of a zone, or one more try to read a block that was lost. Whether
    /// there is more to do.
    ///
    /// # Errors
    /// If the disk fails.
    pub fn idle(&self) -> Result<bool, LiveError> {
        let mut works = self.begin(&(0..0))?;
        if works.executor.translation().wants_idle() {
            self.run(&mut works, 0..0, |works, shared, queue| {
                works.work(shared, Work::Idle, &[], queue)
            })?;
        } else if !works.table.flawed.is_empty() && !works.table.spares.is_empty() {
            self.run(&mut works, 0..0, |works, shared, queue| works.mend(shared, queue))?;
        } else if works.is_to_read_again(&self.shared) {
            match self.has_room(1) {
                Ok(()) => self.run(&mut works, 0..0, |works, shared, queue| {
                    works.read_one_again(shared, queue)
                })?,
                Err(_) => works.to_read_again.clear(),
            }
        }
        let mends = !works.table.flawed.is_empty() && !works.table.spares.is_empty();
        let tries = works.is_to_read_again(&self.shared);
        Ok(works.executor.translation().wants_idle() || mends || tries)
    }

    /// Flushes, and leaves a checkpoint, so that the next opening reads no log: the last call in order. (What is written
    /// behind it is no worse off than otherwise.)
    ///
    /// # Errors
    /// If what was written is not durable.
    pub fn close(&self) -> Result<(), LiveError> {
        let mut works = self.begin(&(0..0))?;
        self.run(&mut works, 0..0, |works, shared, _| {
            works.commit(shared)?;
            if works.saver.log_used() > 0 { works.checkpoint(shared) } else { Ok(()) }
        })
    }

    /// Counts what the host is refused, but for its own mistakes.
    fn counted(&self, outcome: Result<(), LiveError>) -> Result<(), LiveError> {
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

    /// Waits for its turn to work, and puts right what a work before has left.
    fn begin(&self, range: &Range<u64>) -> Result<MutexGuard<'_, Works>, LiveError> {
        let failed = |what: String| Err(LiveError::new(range.clone(), LiveErrorKind::Failed, what));
        let Ok(mut works) = self.in_turn() else {
            return failed(
                "nothing is written until the disk is opened again, after a panic".into(),
            );
        };
        match works.put_right(&self.shared) {
            Ok(()) => Ok(works),
            Err(stop) => {
                let first = works.failed.as_ref().map_or("", |failed| &failed.what);
                failed(format!("nothing can be written, after: {first}; now: {stop}"))
            }
        }
    }

    /// Waits until it is its turn.
    fn in_turn(&self) -> LockResult<MutexGuard<'_, Works>> {
        let _until_it_has_works = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        self.works.lock()
    }

    /// Works, once more if it stops half-way and that can be put right.
    fn run(
        &self,
        works: &mut Works,
        range: Range<u64>,
        work: impl Fn(&mut Works, &Shared, &dyn Queue) -> Result<(), Stop>,
    ) -> Result<(), LiveError> {
        let (shared, queue) = (&self.shared, &self.waiting);
        let mut again = true;
        loop {
            let done = work(works, shared, queue)
                .and_then(|()| if works.is_to_commit() { works.commit(shared) } else { Ok(()) });
            let Err(stop) = done else { return Ok(()) };
            works.fail(shared, &stop);
            let is_right = works.put_right(shared).is_ok();
            // (What a flush that failed has taken with it does not come back.)
            if !is_right || !again || stop.forgets() || works.owed {
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
}
