//! Destages: dirty blocks are read from their frames, checked, and written to the disk in the order
//! of their addresses, neighbours in one I/O. A block is clean, or gone, when the disk was flushed.
//!
//! Blocks that follow each other are a run; a run is written when all of it was read.

use std::collections::VecDeque;

use shingle_core::cache::CacheCore;
use shingle_core::plan::{Destage, Manner, WriteOrder};
use shingle_core::units::{Block, Nanos, Slot};
use shingle_core::witness::Event;
use slab::Slab;

use super::bugs::Bug;
use super::command::Errno;
use super::errors::Damage;
use super::io::{Device, Failed, IO_PAGES_MAX, Kind, Then};
use super::pace::Pace;
use super::{Engine, OpKey};
use crate::buffer::Buffer;
use crate::format::State;

/// Names a destage.
pub(super) type JobKey = usize;

struct Job {
    slot: Slot,
    block: Block,
    /// Of the slot, when the destage was planned.
    version: u32,
    run: u64,
    /// Of the record that has to be committed first.
    number: u64,
    /// It makes room.
    leaves: bool,
    buffer: Option<Buffer>,
    /// The request that waits for it.
    through: Option<OpKey>,
    /// It was planned under another policy: the cache knows only that its slot is in use.
    moved: bool,
}

/// Neighbours.
struct Run {
    jobs: Vec<JobKey>,
    /// Not read yet.
    left: usize,
}

/// Blocks in memory at a time: 8 MiB.
const IN_MEMORY_MAX: usize = 2048;
/// Blocks on their way to the disk at a time, so that readers need not wait long.
const WRITING_MAX: usize = 512;

/// All destages.
#[derive(Default)]
pub(super) struct Destager {
    jobs: Slab<Job>,
    /// To be read.
    queued: VecDeque<JobKey>,
    runs: VecDeque<Run>,
    /// The number of the run in front.
    first_run: u64,
    in_memory: usize,
    writing: usize,
    pace: Pace,
    leaving: u32,
    /// What the disk did not take, until when it is left alone.
    sulking: VecDeque<(Nanos, Slot)>,
    /// Requests that wait until a slot is no longer being destaged.
    pub(super) through_waiting: Vec<(Slot, OpKey)>,
}

impl Destager {
    /// Something is to be read or written.
    pub(super) fn is_busy(&self) -> bool {
        !self.queued.is_empty() || self.in_memory > 0
    }

    /// Nothing is planned, under way, or waiting for a flush.
    pub(super) fn is_empty(&self) -> bool {
        self.jobs.is_empty()
    }

    pub(super) fn count(&self) -> usize {
        self.jobs.len()
    }

    /// Slots that will be free.
    pub(super) fn leaving(&self) -> u32 {
        self.leaving
    }

    /// Slots have other numbers, in another cache.
    pub(super) fn move_slots(&mut self, new_of: impl Fn(&mut Slot), cache: &mut dyn CacheCore) {
        for (_, job) in &mut self.jobs {
            new_of(&mut job.slot);
            cache.pin(job.slot);
            (job.moved, job.leaves) = (true, false);
        }
        self.leaving = 0;
        for (_, slot) in &mut self.sulking {
            new_of(slot);
            cache.pin(*slot);
        }
        self.through_waiting.iter_mut().for_each(|(slot, _)| new_of(slot));
    }

    fn run(&mut self, number: u64) -> &mut Run {
        &mut self.runs[(number - self.first_run) as usize]
    }
}

impl Engine {
    /// Destages are planned: a group of those that leave.
    pub(super) fn plan_destages(&mut self, group: &mut [Destage], manner: Manner) {
        self.plan_group(group, manner != Manner::Write(WriteOrder::AsGiven), true);
    }

    pub(super) fn plan_group(&mut self, group: &mut [Destage], sorted: bool, leaves: bool) {
        if sorted {
            group.sort_unstable_by_key(|destage| destage.block);
        }
        let mut before: Option<Block> = None;
        for &Destage { slot, block } in &*group {
            let destager = &mut self.destager;
            let joins = before.is_some_and(|before| before.after(1) == block)
                && destager.runs.back().is_some_and(|run| run.jobs.len() < IO_PAGES_MAX);
            before = Some(block);
            if !joins {
                destager.runs.push_back(Run { jobs: Vec::new(), left: 0 });
            }
            let run = destager.first_run + destager.runs.len() as u64 - 1;
            let version = self.frames.held(slot).version;
            let (buffer, through) = (None, None);
            let (number, moved) = (0, false);
            let job = Job { slot, block, version, run, number, leaves, buffer, through, moved };
            let key = destager.jobs.insert(job);
            destager.leaving += u32::from(leaves);
            destager.queued.push_back(key);
            let run = destager.runs.back_mut().expect("just there");
            run.jobs.push(key);
            run.left += 1;
        }
    }

    /// A request waits until the disk has the block, whose data is at hand.
    pub(super) fn destage_through(&mut self, op: OpKey, slot: Slot, buffer: Buffer) {
        let held = self.frames.held(slot);
        let (block, version) = (held.block, held.version);
        let key = self.destager.jobs.insert(Job {
            slot,
            block,
            version,
            run: 0,
            number: held.number,
            leaves: false,
            buffer: None,
            through: Some(op),
            moved: false,
        });
        self.destager.in_memory += 1;
        self.destager.writing += 1;
        self.ios.push(Device::Disk, Kind::Write, block.0, buffer, Then::Destaged(key));
    }

    /// Reads what is to be destaged, and writes runs that are complete.
    pub(super) fn feed_destages(&mut self) {
        while self.destager.in_memory < IN_MEMORY_MAX
            && let Some(key) = self.destager.queued.pop_front()
        {
            let job = &self.destager.jobs[key];
            let held = self.frames.held(job.slot);
            match held.frame.filter(|_| held.version == job.version) {
                Some(frame) => {
                    self.destager.in_memory += 1;
                    self.destager.jobs[key].number = held.number;
                    let page = self.journal.layout().frame_page(frame);
                    self.read_page(Device::Ssd, page, Then::DestageRead(key));
                }
                None => self.out_of_date(key),
            }
        }
        while self.destager.runs.front().is_some_and(|run| run.left == 0) {
            let jobs = &self.destager.runs[0].jobs;
            let length = jobs.len();
            let number = jobs.iter().map(|&key| self.destager.jobs[key].number).max().unwrap_or(0);
            if number > self.commits.committed() && !self.bug(Bug::DestageBeforeCommit) {
                let mut blocks = jobs.iter().map(|&key| self.destager.jobs[key].block);
                match &self.gone {
                    None => {
                        self.commits.want(number);
                        break;
                    }
                    Some(gone) if blocks.all(|block| gone.may_destage(block)) => {}
                    Some(gone) if gone.is_telling() => break,
                    Some(_) => {
                        self.drop_run();
                        continue;
                    }
                }
            }
            let many = self.destager.writing > 0 && self.destager.writing + length > WRITING_MAX;
            if many || !self.destager.pace.allows() {
                break;
            }
            let run = self.destager.runs.pop_front().expect("there is one");
            if length > 0 {
                self.destager.pace.begin(self.destager.first_run, length, self.now);
            }
            self.destager.first_run += 1;
            for key in run.jobs {
                let job = &mut self.destager.jobs[key];
                let buffer = job.buffer.take().expect("it was read");
                self.destager.writing += 1;
                let (page, then) = (job.block.0, Then::Destaged(key));
                self.ios.push(Device::Disk, Kind::Write, page, buffer, then);
            }
        }
    }

    /// The run in front can never be written.
    fn drop_run(&mut self) {
        let run = self.destager.runs.pop_front().expect("there is one");
        self.destager.first_run += 1;
        for key in run.jobs {
            let job = self.end_job(key);
            self.destager.in_memory -= 1;
            self.sulk(&job);
            self.pool.give(job.buffer.expect("it was read"));
        }
    }

    /// The block stays dirty, and no policy may name it for a while, or it would be tried again at
    /// once and for ever.
    fn sulk(&mut self, job: &Job) {
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
    fn leave_run(&mut self, key: JobKey) {
        let run = self.destager.jobs[key].run;
        let run = self.destager.run(run);
        run.jobs.retain(|&job| job != key);
        run.left -= 1;
    }

    /// The block was written again since: its destage is to be planned anew.
    fn out_of_date(&mut self, key: JobKey) {
        self.leave_run(key);
        let job = self.end_job(key);
        self.destaged(&job);
        self.wake_through(job.slot, true);
    }

    fn end_job(&mut self, key: JobKey) -> Job {
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
    fn wake_through(&mut self, slot: Slot, goes_on: bool) {
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

    /// Makes room before it is needed.
    pub(super) fn keep_room(&mut self) {
        let room = self.free_slots() + self.destager.leaving();
        let may = !self.commits.is_dead() && !self.stopping.begun();
        if room < self.config.room_slots && may {
            self.cache.evict(self.config.room_slots - room, &mut self.plan);
            self.carry_out();
        }
    }

    /// Nobody asks for anything: the policy may have something to write.
    pub(super) fn use_idle_time(&mut self) {
        const AT_A_TIME: u32 = 128;
        let idle = self.now.since(self.commands.last_at) >= self.config.idle_after;
        let may = !self.commits.is_dead() && !self.stopping.begun();
        if idle && self.destager.is_empty() && may {
            self.tell(|| Event::Time(self.now));
            let mut plan = std::mem::take(&mut self.plan);
            self.cache.idle(AT_A_TIME, &mut plan);
            for (group, manner) in plan.groups() {
                self.plan_group(group, manner != Manner::Write(WriteOrder::AsGiven), false);
            }
            plan.clear();
            self.plan = plan;
        }
    }
}
