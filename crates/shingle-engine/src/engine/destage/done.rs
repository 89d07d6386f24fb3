//! The completions of a destage: its data was read, the disk has taken it, the disk has made it
//! durable; and the errors of each.

use shingle_core::units::{Block, Nanos, Slot};

use super::super::contents::Contents;
use super::super::durability::Durability;
use super::super::failure::Damage;
use super::super::keys::{JobKey, OpKey};
use super::super::port::{Failed, Port};
use super::{Destages, Job, back_off};
use crate::bugs::Bug;
use crate::data::Data;

/// The result of reading a block that is to be destaged.
pub(in super::super) enum Read {
    /// The data is in memory. `first_complete`: so is all of the first run now.
    Good { first_complete: bool },
    /// The block was written again in the meantime.
    OutOfDate,
    /// Its data is lost.
    Damaged(Damage),
}

/// The result of writing a destaged block to the disk.
pub(in super::super) struct Written {
    /// The request that waits for the destage.
    pub(in super::super) through: Option<OpKey>,
    /// The disk has taken it. If not, the caller passes the job to [`Destages::refused`].
    pub(in super::super) taken: bool,
}

impl<D: Data> Destages<D> {
    /// Handles the completed read of a block from its frame.
    #[must_use]
    pub(in super::super) fn read(
        &mut self,
        key: JobKey,
        result: Result<(), Failed>,
        buffer: D,
        contents: &mut Contents,
        port: &mut Port<D>,
    ) -> Read {
        let job = &mut self.jobs[key];
        let (slot, block) = (job.slot, job.block);
        let mapping = contents.mapping(slot);
        let current = mapping.version == job.version;
        let fits = self.bugs.has(Bug::DestageWithoutChecksum) || buffer.crc() == mapping.crc;
        if current && result.is_ok() && fits {
            let run = job.run;
            job.buffer = Some(buffer);
            let first = run == self.first_run;
            let run = self.run(run);
            run.left -= 1;
            return Read::Good { first_complete: first && run.left == 0 };
        }
        self.in_memory -= 1;
        port.give(buffer);
        if !current {
            // The frame may hold another block by now: a checksum that does not match means
            // nothing.
            self.out_of_date(key, contents);
            return Read::OutOfDate;
        }
        self.leave_run(key);
        let job = self.end(key);
        not_destaged(&job, contents);
        contents.mark_lost(block, slot);
        self.wake(slot, false);
        Read::Damaged(if result.is_err() { Damage::Unreadable } else { Damage::Checksum })
    }

    /// Handles the completed write of a block to the disk.
    pub(in super::super) fn written(
        &mut self,
        key: JobKey,
        result: Result<(), Failed>,
        now: Nanos,
    ) -> Written {
        self.in_memory -= 1;
        self.writing -= 1;
        let job = &mut self.jobs[key];
        let (run, through) = (job.run, job.through.take());
        if through.is_none() {
            self.pace.block_done(run, now);
        }
        let taken = result.is_ok() || self.bugs.has(Bug::DestageErrorIgnored);
        self.taken_blocks += u64::from(taken);
        Written { through, taken }
    }

    /// Ends a destage that the disk did not take, or may have lost: the block stays dirty.
    pub(in super::super) fn refused(&mut self, key: JobKey, contents: &mut Contents, now: Nanos) {
        let job = self.end(key);
        self.disk.failed(now);
        self.back_off(&job, contents, now);
    }

    /// Ends a destage that is durable on the disk: the block may be recorded as clean, or as gone.
    /// Returns the block.
    pub(in super::super) fn durable(
        &mut self,
        key: JobKey,
        contents: &mut Contents,
        durability: &mut Durability,
        now: Nanos,
    ) -> Block {
        let job = self.end(key);
        let slot = job.slot;
        self.disk.succeeded();
        if !self.failures.is_empty() {
            self.failures.remove(&job.block);
        }
        if contents.mapping(slot).version == job.version {
            // If the frame was found damaged in the meantime: the disk has its data.
            contents.clear_lost(job.block);
        }
        if destaged(&job, contents) {
            contents.unmap(slot, durability, now);
        } else if !contents.is_dirty(slot) || self.bugs.has(Bug::CleanThoughRewritten) {
            contents.map_clean(slot, durability, now);
        }
        self.wake(slot, true);
        job.block
    }

    /// Ends a destage of a block that was written again since. The block has to be planned again.
    pub(super) fn out_of_date(&mut self, key: JobKey, contents: &mut Contents) {
        self.leave_run(key);
        let job = self.end(key);
        destaged(&job, contents);
        self.wake(job.slot, true);
    }

    /// Backs off from a block that failed: it stays dirty, and no policy may choose it for a while.
    /// Otherwise it would be tried again at once and forever. Each failure makes the pause longer.
    pub(super) fn back_off(&mut self, job: &Job<D>, contents: &mut Contents, now: Nanos) {
        let slot = job.slot;
        not_destaged(job, contents);
        contents.pin(slot);
        let failures = self.failures.entry(job.block).or_insert(0);
        *failures = failures.saturating_add(1);
        let until = now + back_off::pause_of_block(*failures);
        self.backing_off.insert((until, slot));
        self.wake(slot, false);
    }

    fn leave_run(&mut self, key: JobKey) {
        let jobs = &self.jobs;
        let run = &mut self.runs[(jobs[key].run - self.first_run) as usize];
        run.jobs.retain(|&job| job != key);
        run.left -= 1;
        run.number = run.jobs.iter().map(|&job| jobs[job].number).max().unwrap_or(0);
    }

    pub(super) fn end(&mut self, key: JobKey) -> Job<D> {
        let job = self.jobs.remove(key);
        self.leaving -= u32::from(job.leaves);
        job
    }

    /// Wakes the requests that wait until `slot` is no longer being destaged. Without `resumes`
    /// they fail.
    pub(super) fn wake(&mut self, slot: Slot, resumes: bool) {
        let woken = &mut self.woken;
        self.through_waiting.retain(|&(waiting, op)| {
            if waiting == slot {
                woken.push_back((op, resumes));
            }
            waiting != slot
        });
    }
}

/// Tells the cache that the block was not destaged.
pub(super) fn not_destaged<D>(job: &Job<D>, contents: &mut Contents) {
    if job.moved {
        contents.unpin(job.slot);
    } else {
        contents.destage_failed(job.slot);
    }
}

/// Tells the cache that the block was destaged. Returns whether the block left.
pub(super) fn destaged<D>(job: &Job<D>, contents: &mut Contents) -> bool {
    if !job.moved {
        return contents.destaged(job.slot);
    }
    contents.unpin(job.slot);
    let current = contents.mapping(job.slot).version == job.version;
    // A request may have pinned it: then it stays dirty.
    current && contents.begin_destage(job.slot) && contents.destaged(job.slot)
}
