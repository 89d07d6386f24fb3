//! What became of a destage: its data is read, the disk has it, the disk keeps it; or one of these was
//! not to be.

use shingle_core::units::Slot;

use super::Engine;
use super::bugs::Bug;
use super::command::Errno;
use super::destage::{Job, JobKey};
use super::errors::Damage;
use super::io::Failed;
use crate::buffer::Buffer;
use crate::format::State;

impl Engine {
    /// The block stays dirty, and no policy may name it for a while, or it would be tried again at
    /// once and for ever.
    pub(super) fn sulk(&mut self, job: &Job) {
        let slot = job.slot;
        self.not_destaged(job);
        self.pin(slot);
        let until = self.now + self.config.retry_after;
        self.destager.sulking.push_back((until, slot));
        self.wake_through(slot, false);
    }

    /// The cache hears that the disk did not take what it was to.
    fn not_destaged(&mut self, job: &Job) {
        if job.moved {
            self.unpin(job.slot);
        } else {
            self.cache.destage_failed(job.slot);
        }
    }

    /// And that it did. Returns whether the block left.
    fn destaged(&mut self, job: &Job) -> bool {
        if !job.moved {
            return self.cache.destaged(job.slot);
        }
        self.unpin(job.slot);
        let current = self.frames.held(job.slot).version == job.version;
        // (A request may be at work on it: then it stays dirty.)
        current && self.cache.begin_destage(job.slot) && self.cache.destaged(job.slot)
    }

    /// It takes no part in its run.
    pub(super) fn leave_run(&mut self, key: JobKey) {
        let run = self.destager.jobs[key].run;
        let run = self.destager.run(run);
        run.jobs.retain(|&job| job != key);
        run.left -= 1;
    }

    /// The block was written again since: its destage is to be planned anew.
    pub(super) fn out_of_date(&mut self, key: JobKey) {
        self.leave_run(key);
        let job = self.end_job(key);
        self.destaged(&job);
        self.wake_through(job.slot, true);
    }

    pub(super) fn end_job(&mut self, key: JobKey) -> Job {
        let job = self.destager.jobs.remove(key);
        self.destager.leaving -= u32::from(job.leaves);
        job
    }

    /// A block that is to be destaged was read from its frame.
    pub(super) fn destage_read(&mut self, key: JobKey, result: Result<(), Failed>, buffer: Buffer) {
        let job = &self.destager.jobs[key];
        let (slot, block) = (job.slot, job.block);
        let held = self.frames.held(slot);
        let current = held.version == job.version;
        let fits = self.bug(Bug::DestageWithoutChecksum) || crc32c::crc32c(&buffer.0) == held.crc;
        if current && result.is_ok() && fits {
            let run = job.run;
            self.destager.jobs[key].buffer = Some(buffer);
            self.destager.run(run).left -= 1;
            return;
        }
        self.destager.in_memory -= 1;
        self.pool.give(buffer);
        if !current {
            // The frame may hold something else by now.
            return self.out_of_date(key);
        }
        self.leave_run(key);
        let job = self.end_job(key);
        let damage = if result.is_err() { Damage::Unreadable } else { Damage::Checksum };
        self.errors.damaged(damage);
        self.not_destaged(&job);
        self.lose(block, slot);
        self.wake_through(slot, false);
    }

    /// A destaged block is on the disk, or not.
    pub(super) fn destage_written(
        &mut self,
        key: JobKey,
        result: Result<(), Failed>,
        buffer: Buffer,
    ) {
        self.pool.give(buffer);
        self.destager.in_memory -= 1;
        self.destager.writing -= 1;
        let (run, through) = (self.destager.jobs[key].run, self.destager.jobs[key].through.take());
        if through.is_none() {
            self.destager.pace.block_done(run, self.now);
        }
        if result.is_err() && !self.bug(Bug::DestageErrorIgnored) {
            if let Some(op) = through {
                self.fail(op, Errno::IO);
            }
            return self.destage_kept(key, result);
        }
        self.errors.status.destaged_blocks += 1;
        self.disk.destaged(key, through.is_some(), self.now);
        if let Some(op) = through {
            self.finish(op);
        }
    }

    /// The disk keeps the block, whatever happens; or it did not take it.
    pub(super) fn destage_kept(&mut self, key: JobKey, result: Result<(), Failed>) {
        let job = self.end_job(key);
        let slot = job.slot;
        if result.is_err() {
            self.errors.disk_write_failed();
            return self.sulk(&job);
        }
        let held = self.frames.held(slot);
        if held.version == job.version {
            // Should the frame have turned out damaged meanwhile: the disk has its data.
            self.found_again(job.block);
        }
        if self.destaged(&job) {
            self.give_up(slot);
        } else if let Some(frame) = held.frame
            && (!self.cache.slots().dirty(slot) || self.bug(Bug::CleanThoughRewritten))
        {
            self.hold(slot, job.block, frame, held.crc, State::Clean);
        }
        self.wake_through(slot, true);
    }

    /// Requests that waited until `slot` is not being destaged go on, or fail.
    pub(super) fn wake_through(&mut self, slot: Slot, goes_on: bool) {
        for (waiting, key) in std::mem::take(&mut self.destager.through_waiting) {
            if waiting != slot {
                self.destager.through_waiting.push((waiting, key));
            } else if goes_on {
                self.ready.push_back(key);
            } else {
                self.fail(key, Errno::IO);
            }
        }
    }

    pub(super) fn is_sulking(&self, slot: Slot) -> bool {
        self.destager.sulking.iter().any(|&(_, sulking)| sulking == slot)
    }

    /// What the disk did not take may be tried again.
    pub(super) fn end_of_sulking(&mut self) {
        while let Some(&(until, slot)) = self.destager.sulking.front()
            && until <= self.now
        {
            self.destager.sulking.pop_front();
            self.unpin(slot);
        }
    }
}
