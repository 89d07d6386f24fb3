//! From a policy's plan to a record that says clean: what is destaged, when the disk is flushed, and what
//! follows.

use shingle_core::cache::Ahead;
use shingle_core::observer::Event;

use super::destage::Read;
use super::failure::Failure;
use super::keys::{JobKey, OpKey};
use super::looks::Part;
use super::port::Failed;
use super::requests::Errno;
use super::{Engine, disk};
use crate::bugs::Bug;
use crate::data::Data;

impl<D: Data> Engine<D> {
    /// Carries out the cache's plan: who was dropped is written down, who is dirty goes to the disk.
    #[inline]
    pub(super) fn carry_out(&mut self) {
        if self.contents.has_plan() {
            self.carry_out_plan();
        }
    }

    fn carry_out_plan(&mut self) {
        let Some(mut plan) = self.contents.take_plan(&mut self.durability, self.now) else {
            return;
        };
        for (group, manner) in plan.groups() {
            self.looks.at(Part::Destages);
            self.plan_group(group, manner);
        }
        self.look_at_commit();
        self.contents.put_back(plan);
    }

    /// What leaves could not be written down any more, or the end has begun.
    fn may_plan(&self) -> bool {
        !self.durability.has_failed() && !self.life.is_ending()
    }

    /// Makes room before it is needed.
    pub(super) fn keep_room(&mut self) {
        let coming = self.contents.free_slots() + self.destages.leaving();
        let wanted = self.service.room_wanted(coming, self.destages.choice_blocks());
        if wanted > 0 && self.may_plan() {
            self.contents.evict(wanted);
            self.carry_out();
        }
    }

    /// Nobody asks for anything: the policy may have something to write.
    pub(super) fn use_idle_time(&mut self) {
        let blocks = self.service.idle_blocks(self.now);
        if blocks > 0 && self.destages.is_empty() && self.may_plan() {
            self.looks.again();
            self.trace(|| Event::Time(self.now));
            let mut plan = self.contents.plan_idle(blocks);
            for (group, manner) in plan.groups() {
                self.plan_group(group, manner);
            }
            self.contents.put_back(plan);
        }
    }

    /// Everything has to go.
    #[inline]
    pub(super) fn drains(&self) -> bool {
        self.drain.is_wanted()
            || self.service.mode().writes_through()
            || self.failure.has_ssd_failed()
    }

    /// Everything has to go, and some more destages may be planned for it now.
    pub(super) fn may_drain(&self) -> bool {
        self.drains()
            && !self.failure.is_invalidating()
            && !self.life.is_ending()
            && self.drain.may_go_on(&self.contents, self.destages.count(), self.now)
    }

    /// Plans some more destages, if everything has to go.
    pub(super) fn drain_some(&mut self) {
        if !self.may_drain() {
            return;
        }
        let none_under_way = self.destages.is_empty();
        let failure = &self.failure;
        let may = |block| Failure::may_destage(failure, block);
        self.drain.find(&self.contents, none_under_way, self.now, may);
        while let Some(mut group) = self.drain.next_group(&mut self.contents, self.destages.count())
        {
            self.destages.plan(&mut group, true, &self.contents);
        }
    }

    /// Reads what is to be destaged, and writes what was read.
    pub(super) fn feed_destages(&mut self) {
        if self.life.is_ending() && self.requests.is_empty() && self.requests.has_no_ops() {
            self.destages.keep_dirty(&mut self.contents, &mut self.port);
        }
        self.write_bands();
        // (Everything has to go, whoever has set limits.)
        let urgent = self.drain.is_wanted() || self.failure.has_ssd_failed();
        self.destages.feed(
            (&mut self.contents, &mut self.durability, &self.failure),
            &mut self.port,
            &mut self.service,
            self.now,
            urgent,
            self.life.is_ending(),
        );
        self.look_at_commit();
        self.wake();
    }

    /// Requests that waited for a destage go on, or fail with it.
    #[inline]
    pub(super) fn wake(&mut self) {
        while let Some((op, goes_on)) = self.destages.next_woken() {
            if goes_on {
                self.requests.go_on(op);
            } else {
                self.fail(op, Errno::IO);
            }
        }
    }

    /// A block that is to be destaged was read from its frame.
    pub(super) fn destage_read(&mut self, key: JobKey, result: Result<(), Failed>, buffer: D) {
        let (contents, port) = (&mut self.contents, &mut self.port);
        match self.destages.read(key, result, buffer, contents, port) {
            Read::Good { first_complete: false } => {}
            Read::Good { first_complete: true } => self.looks.at(Part::Destages),
            Read::OutOfDate => self.looks.again(),
            Read::Damaged(damage) => {
                self.looks.again();
                self.failure.count_damaged(damage);
            }
        }
        self.wake();
    }

    /// A destaged block is on the disk, or not.
    pub(super) fn destage_written(&mut self, key: JobKey, result: Result<(), Failed>, buffer: D) {
        self.port.give(buffer);
        let written = self.destages.written(key, result, self.now);
        if !written.taken {
            if let Some(op) = written.through {
                self.fail(op, Errno::IO);
            }
            return self.destage_refused(key);
        }
        self.looks.at(Part::Destages);
        let number = self.disk.destaged(key, written.through.is_some(), self.now);
        if let Some(op) = written.through {
            self.through(op, number);
        }
    }

    /// In a mode in which the disk gets everything: it has what the client wrote.
    fn through(&mut self, op: OpKey, number: u64) {
        self.requests.is_on_disk(op, number);
        self.finish(op);
    }

    /// The disk did not take a block, or not keep it.
    fn destage_refused(&mut self, key: JobKey) {
        self.looks.again();
        self.failure.counts().disk_writes += 1;
        self.destages.refused(key, &mut self.contents, self.now);
        self.wake();
    }

    /// It keeps it.
    fn destage_kept(&mut self, key: JobKey) {
        let (contents, durability) = (&mut self.contents, &mut self.durability);
        let block = self.destages.kept(key, contents, durability, self.now);
        self.disk.trusts(block);
        self.trims.trusts(block);
        self.wake();
    }

    /// Flushes the disk if somebody waits for it, or a batch of destages is complete.
    pub(super) fn flush_disk_if_due(&mut self) {
        if self.bugs.has(Bug::CleanBeforeDiskFlush) {
            while let Some(job) = self.disk.next_destaged() {
                self.destage_kept(job);
            }
        }
        let demand = disk::Demand {
            destages: self.destages.is_busy(self.now),
            room: self.requests.waiting_for_room() > 0,
            all: self.life.is_ending(),
        };
        if self.disk.flush_if_due(demand, self.now, &mut self.port) {
            self.trims.flush_begins();
        }
    }

    /// The disk was flushed, or not. Only now does a record say clean, or that a block left.
    pub(super) fn disk_flushed(&mut self, result: Result<(), Failed>) {
        let done = self.disk.flush_done(result, self.now);
        self.trims.flushed(done.is_ok());
        match done {
            Ok(()) => {
                while let Some(job) = self.disk.next_kept() {
                    self.expect_kept();
                    self.destage_kept(job);
                }
            }
            Err(failed) => self.disk_flush_failed(failed),
        }
    }

    /// Slots of one destage after the other lie anywhere: those that come are asked of the memory ahead.
    fn expect_kept(&self) {
        for (later, step) in [(12, Ahead::First), (8, Ahead::Second), (4, Ahead::Third)] {
            if let Some(job) = self.disk.later_kept(later) {
                let slot = self.destages.slot(job);
                self.contents.expect_destaged(slot, step, &self.durability);
            }
        }
    }

    /// What it covered may be lost: destaged blocks stay dirty, what is being written is written once more,
    /// and clients are told.
    fn disk_flush_failed(&mut self, failed: disk::FailedFlush) {
        self.failure.counts().disk_flushes += 1;
        self.port.write_again();
        let unflushed = self.requests.fail_unflushed(failed.kept, failed.lost);
        self.disk.want(unflushed.wanted);
        let untold = self.bugs.has(Bug::FailureUntold)
            || unflushed.failed_some && self.bugs.has(Bug::FuaCountsAsTold);
        if failed.of_clients && !untold {
            self.requests.lost();
        }
        if self.bugs.has(Bug::FlushedNotRewritten) {
            return self.disk.want_all();
        }
        self.destages.disk_failed(self.now);
        while let Some(job) = self.disk.next_destaged() {
            self.destage_refused(job);
        }
    }
}
