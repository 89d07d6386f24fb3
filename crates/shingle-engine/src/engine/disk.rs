//! What the disk has got, and what of that it keeps when the power goes.
//!
//! Each write to the disk has a number, given when it is done; a flush covers the numbers given before
//! it began.
//!
//! A flush that fails may lose all that was not flushed before: the system drops what it could not write,
//! and later flushes go well. Until then reads may still give what is lost. So what was destaged stays dirty
//! and is written again, what is being written is written once more, what clients wrote is lost as
//! far as anybody knows, which FLUSH tells them, and none of it may be cached as clean.

#[cfg(feature = "bugs")]
mod state;

use std::collections::VecDeque;

use hashbrown::{HashMap, HashSet};
use shingle_core::units::{Block, Nanos};

use super::keys::JobKey;
use super::port::{Completion, Device, Failed, Port};
use crate::bugs::{Bug, Seeded};
use crate::data::Data;

/// The disk.
#[derive(Clone, Default)]
pub(super) struct Disk {
    written: u64,
    flushed: u64,
    /// What the flush under way covers.
    flushing: Option<u64>,
    /// The last write that a client's flush has to wait for.
    for_clients: u64,
    wanted: u64,
    /// Blocks that clients wrote there, by the number from which on they are kept.
    unflushed: HashMap<Block, u64>,
    unflushed_order: VecDeque<(u64, Block)>,
    /// Blocks that a failed flush may have lost, or whose write failed: what is read of them may not be
    /// what the disk keeps, until they are written anew and flushed.
    doubted: HashSet<Block>,
    /// It may be any block.
    doubts_all: bool,
    /// Destaged blocks, by the number of their write.
    destaged: VecDeque<(u64, JobKey)>,
    /// Since when the first of them waits.
    destaged_since: Nanos,
    /// It was not flushed since the start: what was written before the start may be lost yet.
    fresh: bool,
    /// Flushes that failed, one after the other, since the last went well or the end began.
    failures: u32,
    bugs: Seeded,
}

/// What else may make a flush due.
#[derive(Clone, Copy, Debug)]
pub(super) struct Demand {
    /// More destages are about to be written: they are waited for.
    pub(super) destages: bool,
    /// Somebody waits for room.
    pub(super) room: bool,
    /// All is to be flushed: it is the end.
    pub(super) all: bool,
}

/// A flush that failed.
#[derive(Clone, Copy, Debug)]
pub(super) struct FailedFlush {
    /// Writes up to this one are kept.
    pub(super) kept: u64,
    /// Those up to this one may be lost.
    pub(super) lost: u64,
    /// Some of what clients wrote is among them.
    pub(super) of_clients: bool,
}

/// Destaged blocks wait for a flush at most in such numbers.
const DESTAGED_MAX: usize = 1024;
/// When requests wait for room, destaged blocks wait no longer than this for the flush that gives it.
const ROOM_WITHIN: Nanos = Nanos::from_millis(100);
/// Likewise blocks that clients wrote.
const UNFLUSHED_MAX: usize = 16 << 10;
/// With more blocks in doubt, which take 16 MiB, all are.
const DOUBTED_MAX: usize = 1 << 20;
/// At the end a flush is tried so often.
const TRIES: u32 = 5;

impl Disk {
    pub(super) fn new(bugs: Seeded) -> Disk {
        // The first number stands for what was written before the start.
        Disk { fresh: true, written: 1, wanted: 1, for_clients: 1, bugs, ..Disk::default() }
    }

    pub(super) fn flushed(&self) -> u64 {
        self.flushed
    }

    /// What a client's flush waits for.
    pub(super) fn wanted_by_clients(&mut self) -> u64 {
        if self.bugs.has(Bug::FlushWithoutDisk) {
            return 0;
        }
        self.wanted = self.wanted.max(self.for_clients);
        self.for_clients
    }

    /// What a client's FUA waits for: its own last write to the disk.
    pub(super) fn wanted_by_one(&mut self, number: u64) -> u64 {
        if self.bugs.has(Bug::FuaWithoutDisk) {
            return 0;
        }
        self.wanted = self.wanted.max(number);
        number
    }

    pub(super) fn want_all(&mut self) {
        self.wanted = self.written;
    }

    /// What failed before says nothing of the end, when the disk may be well again.
    pub(super) fn begins_last_tries(&mut self) {
        self.failures = 0;
    }

    /// All that can be flushed is.
    pub(super) fn is_clean(&self) -> bool {
        let flushed = self.flushed == self.written || self.failures >= TRIES;
        flushed && self.flushing.is_none()
    }

    /// Whether the disk may yet lose what it has of `block`, or has lost it.
    #[inline]
    pub(super) fn is_unflushed(&self, block: Block) -> bool {
        let doubted = self.doubts_all || self.doubted.contains(&block);
        self.fresh || doubted || self.unflushed.contains_key(&block)
    }

    /// It has kept `block`.
    #[inline]
    pub(super) fn trusts(&mut self, block: Block) {
        if !self.doubted.is_empty() {
            self.doubted.remove(&block);
        }
    }

    fn doubts(&mut self, block: Block) {
        self.doubted.insert(block);
        if self.doubted.len() > DOUBTED_MAX {
            (self.doubts_all, self.doubted) = (true, HashSet::new());
        }
    }

    /// What the disk has of `block` is in doubt from now on.
    pub(super) fn doubt(&mut self, block: u64) {
        self.doubts(Block(block));
    }

    /// A client's write of `block` is on its way, and not done.
    #[inline]
    pub(super) fn is_being_written(&self, block: u64) -> bool {
        !self.unflushed.is_empty() && self.unflushed.get(&Block(block)) == Some(&u64::MAX)
    }

    /// Destaged blocks wait for a flush.
    pub(super) fn has_destaged(&self) -> bool {
        !self.destaged.is_empty()
    }

    /// A client's write of `block` is on its way.
    pub(super) fn will_write(&mut self, block: Block) {
        self.unflushed.insert(block, u64::MAX);
    }

    /// It is there, or perhaps some of it. Returns the number of the write.
    pub(super) fn wrote(&mut self, block: Block, result: Result<(), Failed>) -> u64 {
        if result.is_err() {
            self.unflushed.remove(&block);
            self.doubts(block);
            return self.written;
        }
        self.written += 1;
        self.for_clients = self.written;
        self.unflushed.insert(block, self.written);
        self.unflushed_order.push_back((self.written, block));
        self.written
    }

    /// A destaged block is there; `through` if a client waits for it. Returns the number of the write.
    pub(super) fn destaged(&mut self, job: JobKey, through: bool, now: Nanos) -> u64 {
        if self.destaged.is_empty() {
            self.destaged_since = now;
        }
        self.written += 1;
        if through {
            self.for_clients = self.written;
        }
        self.destaged.push_back((self.written, job));
        self.written
    }

    /// A block of a band was written, or tried to be: a flush is to follow before the end, whatever becomes of the band.
    pub(super) fn band_written(&mut self) {
        self.written += 1;
    }

    /// It was told of something that nobody needs. Returns the number of that.
    pub(super) fn trimmed(&mut self) -> u64 {
        self.written += 1;
        self.written
    }

    /// What clients wrote since the last flush may be lost.
    fn doubts_unflushed(&mut self) {
        self.doubts_all |= self.fresh;
        for (number, block) in std::mem::take(&mut self.unflushed_order) {
            // (If it is being written anew, that will count.)
            if self.unflushed.get(&block) == Some(&number) {
                self.unflushed.remove(&block);
                self.doubts(block);
            }
        }
    }

    /// Nothing that is read counts as clean before the first flush. Returns whether that is still to come.
    pub(super) fn want_first_flush(&mut self) -> bool {
        if self.fresh {
            self.want_all();
        }
        self.fresh
    }

    /// A flush is due that covers this write.
    pub(super) fn want(&mut self, number: u64) {
        self.wanted = self.wanted.max(number);
    }

    /// Flushes the disk if somebody waits for it, or a batch of destages is complete. Returns whether it begins.
    pub(super) fn flush_if_due<D: Data>(
        &mut self,
        demand: Demand,
        now: Nanos,
        port: &mut Port<D>,
    ) -> bool {
        if self.fresh && self.bugs.has(Bug::NoFlushAtStart) {
            (self.fresh, self.flushed) = (false, 1);
        } else if self.flushing.is_none() && self.is_due(demand, now) {
            self.flushing = Some(self.written);
            let astray = self.bugs.has(Bug::DiskFlushToSsd);
            let device = if astray { Device::Ssd } else { Device::Disk };
            port.flush(device, Completion::DiskFlushed, now);
            return true;
        }
        false
    }

    fn is_due(&self, demand: Demand, now: Nanos) -> bool {
        let some_destaged = !self.destaged.is_empty();
        let batch = self.destaged.len() >= DESTAGED_MAX || some_destaged && !demand.destages;
        self.wanted > self.flushed
            || batch
            || demand.room && self.is_time_for_room(now)
            || self.unflushed_order.len() >= UNFLUSHED_MAX
            || demand.all && !self.is_clean()
    }

    /// Destaged blocks have waited long enough for the flush that gives room.
    pub(super) fn is_time_for_room(&self, now: Nanos) -> bool {
        !self.destaged.is_empty() && now.since(self.destaged_since) >= ROOM_WITHIN
    }

    /// The disk was flushed, or not. Which destages it keeps, [`Disk::next_kept`] says; if the flush failed,
    /// [`Disk::next_destaged`] says which it may have lost.
    pub(super) fn flush_done(
        &mut self,
        result: Result<(), Failed>,
        now: Nanos,
    ) -> Result<(), FailedFlush> {
        let mut covered = self.flushing.take().expect("one was under way");
        if self.bugs.has(Bug::DiskFlushCoversLater) {
            covered = self.written;
        }
        if result.is_err() && !self.bugs.has(Bug::DiskFlushErrorIgnored) {
            return Err(self.flush_failed(covered));
        }
        (self.flushed, self.fresh, self.failures) = (covered, false, 0);
        while let Some(&(number, block)) = self.unflushed_order.front()
            && number <= covered
        {
            self.unflushed_order.pop_front();
            if self.unflushed.get(&block) == Some(&number) {
                self.unflushed.remove(&block);
                self.trusts(block);
            }
        }
        // (What is left was written while the flush was under way.)
        self.destaged_since = now;
        Ok(())
    }

    /// It is tried again when somebody needs it. What was written while it was under way is in doubt, too: the
    /// system may have tried to write that with the rest.
    fn flush_failed(&mut self, covered: u64) -> FailedFlush {
        let lost = if self.bugs.has(Bug::FailureCoversFlushed) { covered } else { u64::MAX };
        self.failures += 1;
        self.wanted = self.flushed;
        // (Destaged blocks are on the SSD still: if there is nothing else, nothing is lost.)
        let of_clients = self.for_clients > self.flushed;
        let kept = self.flushed;
        if self.bugs.has(Bug::UnflushedForgotten) {
            self.unflushed.retain(|_, number| *number == u64::MAX);
            self.unflushed_order.clear();
        } else if !self.bugs.has(Bug::DoubtForgotten) {
            self.doubts_unflushed();
        }
        FailedFlush { kept, lost, of_clients }
    }

    /// The next destage that the disk keeps whatever happens.
    pub(super) fn next_kept(&mut self) -> Option<JobKey> {
        let &(number, job) = self.destaged.front()?;
        (number <= self.flushed).then(|| self.destaged.pop_front())?;
        Some(job)
    }

    /// The one that comes so many later.
    pub(super) fn later_kept(&self, later: usize) -> Option<JobKey> {
        self.destaged.get(later).map(|&(_, job)| job)
    }

    /// The next destage of those that were not flushed.
    pub(super) fn next_destaged(&mut self) -> Option<JobKey> {
        self.destaged.pop_front().map(|(_, job)| job)
    }
}
