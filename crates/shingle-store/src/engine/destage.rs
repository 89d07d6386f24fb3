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
use super::io::{Device, IO_PAGES_MAX, Kind, Then};
use super::pace::Pace;
use super::{Engine, OpKey};
use crate::buffer::Buffer;

/// Names a destage.
pub(super) type JobKey = usize;

pub(super) struct Job {
    pub(super) slot: Slot,
    pub(super) block: Block,
    /// Of the slot, when the destage was planned.
    pub(super) version: u32,
    pub(super) run: u64,
    /// Of the record that has to be committed first.
    pub(super) number: u64,
    /// It makes room.
    pub(super) leaves: bool,
    pub(super) buffer: Option<Buffer>,
    /// The request that waits for it.
    pub(super) through: Option<OpKey>,
    /// It was planned under another policy: the cache knows only that its slot is in use.
    pub(super) moved: bool,
}

/// Neighbours.
pub(super) struct Run {
    pub(super) jobs: Vec<JobKey>,
    /// Not read yet.
    pub(super) left: usize,
}

/// Blocks in memory at a time: 8 MiB.
const IN_MEMORY_MAX: usize = 2048;
/// Blocks on their way to the disk at a time, so that readers need not wait long.
const WRITING_MAX: usize = 512;

/// All destages.
#[derive(Default)]
pub(super) struct Destager {
    pub(super) jobs: Slab<Job>,
    /// To be read.
    pub(super) queued: VecDeque<JobKey>,
    pub(super) runs: VecDeque<Run>,
    /// The number of the run in front.
    pub(super) first_run: u64,
    pub(super) in_memory: usize,
    pub(super) writing: usize,
    pub(super) pace: Pace,
    pub(super) leaving: u32,
    /// What the disk did not take, until when it is left alone.
    pub(super) sulking: VecDeque<(Nanos, Slot)>,
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

    pub(super) fn run(&mut self, number: u64) -> &mut Run {
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
