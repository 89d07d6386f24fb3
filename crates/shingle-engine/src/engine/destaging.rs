//! From the plan of a policy to a record that says clean: what is destaged, when the disk is
//! flushed, and what follows.

use shingle_core::ahead::PrefetchStep;
use shingle_core::observer::Event;

use super::destage::Read;
use super::due::Part;
use super::failure::Failure;
use super::keys::{JobKey, OpKey};
use super::port::Failed;
use super::requests::Errno;
use super::{Engine, disk};
use crate::bugs::Bug;
use crate::data::Data;

impl<D: Data> Engine<D> {
    /// Carries out the plan of the cache: dropped blocks are recorded, dirty ones destaged.
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
            self.due.mark(Part::Destages);
            self.plan_group(group, manner);
        }
        self.mark_commit();
        self.contents.put_back(plan);
    }

    /// Whether destages may be planned: not after the SSD has failed, as no record could follow,
    /// and not at the end.
    fn may_plan(&self) -> bool {
        !self.durability.has_failed() && !self.life.is_ending()
    }

    /// Frees slots before they are needed.
    pub(super) fn make_room(&mut self) {
        let coming = self.contents.free_slots() + self.destages.leaving();
        let wanted = self.service.slots_to_free(coming, self.destages.choice_blocks());
        if wanted > 0 && self.may_plan() {
            self.contents.evict(wanted);
            self.carry_out();
        }
    }

    /// Destages while the store is idle, if the policy has something for that.
    pub(super) fn use_idle_time(&mut self) {
        let blocks = self.service.idle_blocks(self.now);
        if blocks > 0 && self.destages.is_empty() && self.may_plan() {
            self.due.mark_all();
            self.trace(|| Event::Time(self.now));
            let mut plan = self.contents.plan_idle(blocks);
            for (group, manner) in plan.groups() {
                self.plan_group(group, manner);
            }
            self.contents.put_back(plan);
        }
    }

    /// Whether all dirty blocks are to be destaged.
    #[inline]
    pub(super) fn is_draining(&self) -> bool {
        self.drain.is_wanted()
            || self.service.mode().writes_through()
            || self.failure.has_ssd_failed()
    }

    /// Whether more destages may be planned now because all dirty blocks are to be destaged.
    pub(super) fn may_drain(&self) -> bool {
        self.is_draining()
            && !self.failure.is_invalidating()
            && !self.life.is_ending()
            && self.drain.may_continue(&self.contents, self.destages.count(), self.now)
    }

    /// Plans some more destages if all dirty blocks are to be destaged.
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

    /// Reads queued destages, and writes those that were read.
    pub(super) fn feed_destages(&mut self) {
        if self.life.is_ending() && self.requests.is_empty() && self.requests.has_no_ops() {
            self.destages.drop_unsubmitted(&mut self.contents, &mut self.port);
        }
        self.write_bands();
        // The limits of the operator do not apply when everything has to be destaged.
        let urgent = self.drain.is_wanted() || self.failure.has_ssd_failed();
        self.destages.feed(
            (&mut self.contents, &mut self.durability, &self.failure),
            &mut self.port,
            &mut self.service,
            self.now,
            urgent,
            self.life.is_ending(),
        );
        self.mark_commit();
        self.wake();
    }

    /// Resumes, or fails, the requests that waited for a destage.
    #[inline]
    pub(super) fn wake(&mut self) {
        while let Some((op, resumes)) = self.destages.next_woken() {
            if resumes {
                self.requests.resume(op);
            } else {
                self.fail(op, Errno::IO);
            }
        }
    }

    /// Handles the completed read of a block from its frame.
    pub(super) fn destage_read(&mut self, key: JobKey, result: Result<(), Failed>, buffer: D) {
        let (contents, port) = (&mut self.contents, &mut self.port);
        match self.destages.read(key, result, buffer, contents, port) {
            Read::Good { first_complete: false } => {}
            Read::Good { first_complete: true } => self.due.mark(Part::Destages),
            Read::OutOfDate => self.due.mark_all(),
            Read::Damaged(damage) => {
                self.due.mark_all();
                self.failure.count_damaged(damage);
            }
        }
        self.wake();
    }

    /// Handles the completed write of a destaged block.
    pub(super) fn destage_written(&mut self, key: JobKey, result: Result<(), Failed>, buffer: D) {
        self.port.give(buffer);
        let written = self.destages.written(key, result, self.now);
        if !written.taken {
            if let Some(op) = written.through {
                self.fail(op, Errno::IO);
            }
            return self.destage_refused(key);
        }
        self.due.mark(Part::Destages);
        let number = self.disk.destaged(key, written.through.is_some(), self.now);
        if let Some(op) = written.through {
            self.through(op, number);
        }
    }

    /// Ends the write of a client in a mode that writes through: the disk has taken it.
    fn through(&mut self, op: OpKey, number: u64) {
        self.requests.mark_on_disk(op, number);
        self.finish(op);
    }

    /// Handles a destage that the disk did not take, or may have lost.
    fn destage_refused(&mut self, key: JobKey) {
        self.due.mark_all();
        self.failure.counts().disk_writes += 1;
        self.destages.refused(key, &mut self.contents, self.now);
        self.wake();
    }

    fn destage_durable(&mut self, key: JobKey) {
        let (contents, durability) = (&mut self.contents, &mut self.durability);
        let block = self.destages.durable(key, contents, durability, self.now);
        self.disk.mark_durable(block);
        self.trims.mark_written(block);
        self.wake();
    }

    /// Flushes the disk, if something waits for it or a batch of destages is complete.
    pub(super) fn flush_disk_if_due(&mut self) {
        if self.bugs.has(Bug::CleanBeforeDiskFlush) {
            while let Some(job) = self.disk.next_destaged() {
                self.destage_durable(job);
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

    /// Handles a completed flush of the disk. Only now blocks are recorded as clean, or as gone.
    pub(super) fn disk_flushed(&mut self, result: Result<(), Failed>) {
        let done = self.disk.flush_done(result, self.now);
        self.trims.flushed(done.is_ok());
        match done {
            Ok(()) => {
                while let Some(job) = self.disk.next_durable() {
                    self.prefetch_durable();
                    self.destage_durable(job);
                }
            }
            Err(failed) => self.disk_flush_failed(failed),
        }
    }

    /// Prefetches the slots of the next durable destages, which are in random places of the memory.
    fn prefetch_durable(&self) {
        for (later, step) in
            [(12, PrefetchStep::First), (8, PrefetchStep::Second), (4, PrefetchStep::Third)]
        {
            if let Some(job) = self.disk.durable_ahead(later) {
                let slot = self.destages.slot(job);
                self.contents.prefetch_destaged(slot, step, &self.durability);
            }
        }
    }

    /// Handles a failed flush. What it covered may be lost: destaged blocks stay dirty, writes in
    /// flight are repeated, and the loss is reported to clients.
    fn disk_flush_failed(&mut self, failed: disk::FailedFlush) {
        self.failure.counts().disk_flushes += 1;
        self.port.repeat_writes();
        let unflushed = self.requests.fail_unflushed(failed.durable, failed.lost);
        self.disk.want(unflushed.wanted);
        let untold = self.bugs.has(Bug::FailureUntold)
            || unflushed.failed_some && self.bugs.has(Bug::FuaCountsAsTold);
        if failed.of_clients && !untold {
            self.requests.report_loss();
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
