//! What the disk has taken, and what of that is durable.
//!
//! Each completed write to the disk gets a number. A flush covers the numbers given before it
//! began.
//!
//! A failed flush may lose everything that was not flushed before: the system drops what it could
//! not write, and later flushes succeed. Until then reads may still return the lost data. So
//! destaged blocks stay dirty and are written again, and writes in flight are repeated. Writes of
//! clients count as lost, which their FLUSH reports, and nothing of it may be cached as clean.

#[cfg(feature = "bugs")]
mod state;

use std::collections::VecDeque;

use hashbrown::{HashMap, HashSet};
use shingle_core::units::{Block, Nanos};

use super::keys::JobKey;
use super::port::{Completion, Device, Failed, Port};
use crate::bugs::{Bug, Seeded};
use crate::data::Data;

#[derive(Clone, Default)]
pub(super) struct Disk {
    written: u64,
    flushed: u64,
    /// The number up to which the flush in flight covers.
    flushing: Option<u64>,
    /// The last write that a FLUSH of a client has to wait for.
    for_clients: u64,
    wanted: u64,
    /// Blocks that clients wrote to the disk, with the number of the write; `u64::MAX` while it is
    /// in flight.
    unflushed: HashMap<Block, u64>,
    unflushed_order: VecDeque<(u64, Block)>,
    /// Blocks that a failed flush may have lost, or whose write failed. A read may return data that
    /// the disk will lose, until they are written again and flushed.
    doubted: HashSet<Block>,
    /// Every block may be in doubt.
    doubts_all: bool,
    /// Destaged blocks with the number of their write.
    destaged: VecDeque<(u64, JobKey)>,
    /// Since when the first of them waits.
    destaged_since: Nanos,
    /// No flush has succeeded since the start: what was written before may still be lost.
    fresh: bool,
    /// Failed flushes in a row, since the last success or since the end began.
    failures: u32,
    bugs: Seeded,
}

/// Other causes for a flush.
#[derive(Clone, Copy, Debug)]
pub(super) struct Demand {
    /// More destages are about to be written, so the flush can wait.
    pub(super) destages: bool,
    /// A request waits for room.
    pub(super) room: bool,
    /// Everything is to be flushed: the store is ending.
    pub(super) all: bool,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct FailedFlush {
    /// Writes up to this number are durable.
    pub(super) durable: u64,
    /// Writes up to this number may be lost.
    pub(super) lost: u64,
    /// Writes of clients are among them.
    pub(super) of_clients: bool,
}

/// The highest number of destaged blocks that wait for a flush.
const DESTAGED_MAX: usize = 1024;
/// While requests wait for room, destaged blocks wait no longer than this for the flush that frees
/// it.
const ROOM_WITHIN: Nanos = Nanos::from_millis(100);
/// The highest number of blocks of clients that wait for a flush.
const UNFLUSHED_MAX: usize = 16 << 10;
/// With more blocks in doubt, which take 16 MiB of memory, every block counts as in doubt.
const DOUBTED_MAX: usize = 1 << 20;
/// How often a flush is tried at the end.
const TRIES: u32 = 5;

impl Disk {
    pub(super) fn new(bugs: Seeded) -> Disk {
        // Number 1 stands for everything that was written before the start.
        Disk { fresh: true, written: 1, wanted: 1, for_clients: 1, bugs, ..Disk::default() }
    }

    pub(super) fn flushed(&self) -> u64 {
        self.flushed
    }

    /// Wants a flush for a FLUSH of a client. Returns the number that it waits for.
    pub(super) fn wanted_by_clients(&mut self) -> u64 {
        if self.bugs.has(Bug::FlushWithoutDisk) {
            return 0;
        }
        self.wanted = self.wanted.max(self.for_clients);
        self.for_clients
    }

    /// Wants a flush for a write with FUA, which waits for its own last write to the disk only.
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

    /// Forgets earlier failures when the end begins: the disk may work again.
    pub(super) fn reset_failures(&mut self) {
        self.failures = 0;
    }

    /// Whether everything that can be flushed is flushed.
    pub(super) fn is_clean(&self) -> bool {
        let flushed = self.flushed == self.written || self.failures >= TRIES;
        flushed && self.flushing.is_none()
    }

    /// Whether the disk may still lose what it has of `block`, or has lost it.
    #[inline]
    pub(super) fn is_unflushed(&self, block: Block) -> bool {
        let doubted = self.doubts_all || self.doubted.contains(&block);
        self.fresh || doubted || self.unflushed.contains_key(&block)
    }

    #[inline]
    pub(super) fn mark_durable(&mut self, block: Block) {
        if !self.doubted.is_empty() {
            self.doubted.remove(&block);
        }
    }

    fn put_in_doubt(&mut self, block: Block) {
        self.doubted.insert(block);
        if self.doubted.len() > DOUBTED_MAX {
            (self.doubts_all, self.doubted) = (true, HashSet::new());
        }
    }

    /// Notes that the content of `block` on the disk is in doubt.
    pub(super) fn doubt(&mut self, block: u64) {
        self.put_in_doubt(Block(block));
    }

    /// Whether a client's write of `block` is in flight.
    #[inline]
    pub(super) fn is_being_written(&self, block: u64) -> bool {
        !self.unflushed.is_empty() && self.unflushed.get(&Block(block)) == Some(&u64::MAX)
    }

    /// Whether destaged blocks wait for a flush.
    pub(super) fn has_destaged(&self) -> bool {
        !self.destaged.is_empty()
    }

    /// Notes that a client's write of `block` is submitted.
    pub(super) fn write_submitted(&mut self, block: Block) {
        self.unflushed.insert(block, u64::MAX);
    }

    /// Notes that a client's write has completed, or failed and may have written a part. Returns
    /// its number.
    pub(super) fn write_done(&mut self, block: Block, result: Result<(), Failed>) -> u64 {
        if result.is_err() {
            self.unflushed.remove(&block);
            self.put_in_doubt(block);
            return self.written;
        }
        self.written += 1;
        self.for_clients = self.written;
        self.unflushed.insert(block, self.written);
        self.unflushed_order.push_back((self.written, block));
        self.written
    }

    /// Notes that the disk has taken a destaged block; `through` if a client waits for it. Returns
    /// the number of the write.
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

    /// Notes the completed write of a block of a band. It may have been written even if it failed:
    /// a flush has to follow before the end.
    pub(super) fn band_written(&mut self) {
        self.written += 1;
    }

    /// Notes a completed trim of the disk. Returns its number.
    pub(super) fn trimmed(&mut self) -> u64 {
        self.written += 1;
        self.written
    }

    /// Puts all unflushed writes of clients in doubt.
    fn doubt_unflushed(&mut self) {
        self.doubts_all |= self.fresh;
        for (number, block) in std::mem::take(&mut self.unflushed_order) {
            // A block that is being written again gets a new number.
            if self.unflushed.get(&block) == Some(&number) {
                self.unflushed.remove(&block);
                self.put_in_doubt(block);
            }
        }
    }

    /// Wants the first flush: before it nothing that is read counts as clean. Returns whether it is
    /// still to come.
    pub(super) fn want_first_flush(&mut self) -> bool {
        if self.fresh {
            self.want_all();
        }
        self.fresh
    }

    /// Wants a flush that covers this write.
    pub(super) fn want(&mut self, number: u64) {
        self.wanted = self.wanted.max(number);
    }

    /// Flushes the disk, if something waits for it or a batch of destages is complete. Returns
    /// whether a flush was submitted.
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

    /// Whether destaged blocks have waited long enough for the flush that frees their slots.
    pub(super) fn is_time_for_room(&self, now: Nanos) -> bool {
        !self.destaged.is_empty() && now.since(self.destaged_since) >= ROOM_WITHIN
    }

    /// Handles a completed flush. [`Disk::next_durable`] then returns the destages that are durable;
    /// after a failure [`Disk::next_destaged`] returns those that may be lost.
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
                self.mark_durable(block);
            }
        }
        // What is left was written while the flush was in flight.
        self.destaged_since = now;
        Ok(())
    }

    /// Handles a failed flush. It is tried again when something needs it. Writes that completed
    /// while it was in flight are in doubt, too: the system may have tried to write them with the
    /// rest.
    fn flush_failed(&mut self, covered: u64) -> FailedFlush {
        let lost = if self.bugs.has(Bug::FailureCoversFlushed) { covered } else { u64::MAX };
        self.failures += 1;
        self.wanted = self.flushed;
        // Destaged blocks are still on the SSD: if there is nothing else, nothing is lost.
        let of_clients = self.for_clients > self.flushed;
        let durable = self.flushed;
        if self.bugs.has(Bug::UnflushedForgotten) {
            self.unflushed.retain(|_, number| *number == u64::MAX);
            self.unflushed_order.clear();
        } else if !self.bugs.has(Bug::DoubtForgotten) {
            self.doubt_unflushed();
        }
        FailedFlush { durable, lost, of_clients }
    }

    /// The next destage that is durable on the disk.
    pub(super) fn next_durable(&mut self) -> Option<JobKey> {
        let &(number, job) = self.destaged.front()?;
        (number <= self.flushed).then(|| self.destaged.pop_front())?;
        Some(job)
    }

    /// The destage `later` places after the next one.
    pub(super) fn durable_ahead(&self, later: usize) -> Option<JobKey> {
        self.destaged.get(later).map(|&(_, job)| job)
    }

    /// The next destage that was not flushed.
    pub(super) fn next_destaged(&mut self) -> Option<JobKey> {
        self.destaged.pop_front().map(|(_, job)| job)
    }
}
