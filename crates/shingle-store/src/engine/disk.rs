//! What the disk has got, and what of that it keeps when the power goes.
//!
//! Each write to the disk has a number, given when it is done; a flush covers the numbers given before
//! it began.

use std::collections::VecDeque;

use hashbrown::HashMap;
use shingle_core::units::{Block, Nanos};

use super::Engine;
use super::bugs::Bug;
use super::destage::JobKey;
use super::io::{Device, Failed, Then};

/// The disk.
#[derive(Default)]
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
    /// Destaged blocks, by the number of their write.
    destaged: VecDeque<(u64, JobKey)>,
    /// Since when the first of them waits.
    destaged_since: Nanos,
    /// It was not flushed since the start: what was written before the start may be lost yet.
    fresh: bool,
    /// A flush failed that a client relied upon, and no client was told.
    lost: bool,
    /// Flushes that failed, one after the other.
    failures: u32,
}

/// Destaged blocks wait for a flush at most in such numbers.
const DESTAGED_MAX: usize = 1024;
/// When requests wait for room, destaged blocks wait no longer than this for the flush that gives it.
const ROOM_WITHIN: Nanos = Nanos::from_millis(100);
/// Likewise blocks that clients wrote.
const UNFLUSHED_MAX: usize = 16 << 10;
/// At the end a flush is tried so often.
const TRIES: u32 = 5;

impl Disk {
    pub(super) fn new() -> Disk {
        // The first number stands for what was written before the start.
        Disk { fresh: true, written: 1, wanted: 1, for_clients: 1, ..Disk::default() }
    }

    pub(super) fn flushed(&self) -> u64 {
        self.flushed
    }

    /// What a client's flush waits for.
    pub(super) fn wanted_by_clients(&mut self) -> u64 {
        self.wanted = self.wanted.max(self.for_clients);
        self.for_clients
    }

    pub(super) fn want_all(&mut self) {
        self.wanted = self.written;
    }

    /// All that can be flushed is.
    pub(super) fn is_clean(&self) -> bool {
        let flushed = self.flushed == self.written || self.failures >= TRIES;
        flushed && self.flushing.is_none()
    }

    /// Whether the disk may yet lose what it has of `block`.
    pub(super) fn is_unflushed(&self, block: Block) -> bool {
        self.fresh || self.unflushed.contains_key(&block)
    }

    /// A client's write of `block` is on its way.
    pub(super) fn will_write(&mut self, block: Block) {
        self.unflushed.insert(block, u64::MAX);
    }

    /// It is there.
    pub(super) fn wrote(&mut self, block: Block) {
        self.written += 1;
        self.for_clients = self.written;
        self.unflushed.insert(block, self.written);
        self.unflushed_order.push_back((self.written, block));
    }

    /// A destaged block is there; `through` if a client waits for it.
    pub(super) fn destaged(&mut self, job: JobKey, through: bool, now: Nanos) {
        if self.destaged.is_empty() {
            self.destaged_since = now;
        }
        self.written += 1;
        if through {
            self.for_clients = self.written;
        }
        self.destaged.push_back((self.written, job));
    }

    /// Until the first flush nothing that is read counts as clean.
    pub(super) fn want_first(&mut self) {
        if self.fresh {
            self.want_all();
        }
    }

    /// Whether a client has to be told that data is lost.
    pub(super) fn take_lost(&mut self) -> bool {
        std::mem::take(&mut self.lost)
    }
}

impl Engine {
    /// Flushes the disk if somebody waits for it, or a batch of destages is complete.
    pub(super) fn maybe_flush_disk(&mut self) {
        if self.bug(Bug::CleanBeforeDiskFlush) {
            while let Some((_, job)) = self.disk.destaged.pop_front() {
                self.destage_kept(job, Ok(()));
            }
        }
        let disk = &self.disk;
        let batch = disk.destaged.len() >= DESTAGED_MAX
            || !disk.destaged.is_empty() && !self.destager.is_busy();
        let room = !self.no_room.is_empty()
            && !disk.destaged.is_empty()
            && self.now.since(disk.destaged_since) >= ROOM_WITHIN;
        let due = disk.wanted > disk.flushed
            || batch
            || room
            || disk.unflushed_order.len() >= UNFLUSHED_MAX
            || self.stopping.begun() && !disk.is_clean();
        if disk.fresh && self.bug(Bug::NoFlushAtStart) {
            (self.disk.fresh, self.disk.flushed) = (false, 1);
        } else if disk.flushing.is_none() && due {
            self.disk.flushing = Some(self.disk.written);
            self.ios.flush(Device::Disk, Then::DiskFlushed, self.now);
        }
    }

    /// The disk was flushed, or not: then what was destaged is written again, and clients are told.
    pub(super) fn disk_flushed(&mut self, result: Result<(), Failed>) {
        let covered = self.disk.flushing.take().expect("one was under way");
        if result.is_ok() {
            let disk = &mut self.disk;
            (disk.flushed, disk.fresh, disk.failures) = (covered, false, 0);
            while let Some(&(number, block)) = disk.unflushed_order.front()
                && number <= covered
            {
                disk.unflushed_order.pop_front();
                if disk.unflushed.get(&block) == Some(&number) {
                    disk.unflushed.remove(&block);
                }
            }
        } else {
            self.disk_flush_failed(covered);
        }
        while let Some(&(number, job)) = self.disk.destaged.front()
            && number <= covered
        {
            self.disk.destaged.pop_front();
            self.destage_kept(job, result);
        }
        // (What is left was written while the flush was under way.)
        self.disk.destaged_since = self.now;
    }

    /// Who waited for it is told; if nobody did, the next one who asks is. It is tried again when
    /// somebody needs it.
    fn disk_flush_failed(&mut self, covered: u64) {
        self.errors.disk_flush_failed();
        let disk = &mut self.disk;
        disk.failures += 1;
        disk.wanted = disk.flushed;
        let before = disk.flushed;
        // (If no client relied upon it, none has to be.)
        let mut told = disk.for_clients <= before;
        for at in 0..self.commands.durable.len() {
            let key = self.commands.durable[at];
            let running = self.commands.get(key);
            let Some((_, number)) = running.needs.filter(|&(_, number)| number > before) else {
                continue;
            };
            if number <= covered {
                running.error = Some(super::Errno::IO);
                told = true;
            } else {
                self.disk.wanted = self.disk.wanted.max(number);
            }
        }
        self.disk.lost |= !told;
    }
}
