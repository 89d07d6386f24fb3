//! Destages: dirty blocks are read from their frames, checked, and written to the disk by address,
//! neighbours in one I/O. A block is clean, or gone, after the next flush of the disk.
//!
//! Consecutive blocks are a run; a run is written when all of it was read. Blocks that the disk
//! does not take stay dirty, and back off.

mod back_off;
mod band_done;
mod band_steps;
mod bands;
mod done;
#[cfg(feature = "bugs")]
mod state;

use std::collections::{BTreeSet, VecDeque};

use hashbrown::HashMap;
use shingle_core::plan::Destage;
use shingle_core::service::{Pace, Service};
use shingle_core::units::{Block, Nanos, Slot};
use slab::Slab;

use super::contents::{Contents, Mapping};
use super::durability::Durability;
use super::failure::Failure;
use super::keys::{JobKey, OpKey};
use super::port::{Completion, Device, IO_PAGES_MAX, Port};
use crate::bugs::{Bug, Seeded};
use crate::data::Data;
use back_off::BackOff;
use done::not_destaged;

pub(super) use bands::{BAND_BLOCKS_MAX, BandContext};
pub(super) use done::Read;

/// The destage of one block.
#[derive(Clone)]
struct Job<D> {
    slot: Slot,
    block: Block,
    /// The version of the slot's mapping when the destage was planned.
    version: u32,
    run: u64,
    /// The number of the record that has to be committed first.
    number: u64,
    /// The block leaves the cache with it.
    leaves: bool,
    buffer: Option<D>,
    /// The request that waits for the destage.
    through: Option<OpKey>,
    /// It was planned under another policy: in the new cache its slot is pinned, not being
    /// destaged.
    moved: bool,
}

/// Consecutive blocks, written as one I/O.
#[derive(Clone)]
struct Run {
    jobs: Vec<JobKey>,
    /// The number of jobs not read yet.
    left: usize,
    /// The highest number of a record that has to be committed before the run is written, of those
    /// jobs whose read has begun.
    number: u64,
}

/// The highest number of blocks in memory: 8 MiB.
const IN_MEMORY_MAX: usize = 2048;
/// The highest number of blocks in flight to the disk, so that reads need not wait long.
const WRITING_MAX: usize = 512;

/// The highest number of empty lists that are kept.
const LISTS_MAX: usize = 1024;
/// How many destages ahead the slot is prefetched.
const EXPECTED: usize = 8;

#[derive(Clone)]
pub(super) struct Destages<D> {
    jobs: Slab<Job<D>>,
    /// Jobs whose read has not begun.
    queued: VecDeque<JobKey>,
    runs: VecDeque<Run>,
    bands: bands::Bands<D>,
    /// Empty lists of runs that were written, kept for reuse.
    lists: Vec<Vec<JobKey>>,
    /// The number of the first run.
    first_run: u64,
    in_memory: usize,
    writing: usize,
    pace: Pace,
    leaving: u32,
    disk: BackOff,
    /// The number of failures in a row of each block that failed.
    failures: HashMap<Block, u32>,
    /// The end of the pause of each of these blocks. Their slots are pinned.
    backing_off: BTreeSet<(Nanos, Slot)>,
    /// Requests that wait until a slot is no longer being destaged.
    through_waiting: Vec<(Slot, OpKey)>,
    /// Requests whose wait is over, and whether they resume or fail.
    woken: VecDeque<(OpKey, bool)>,
    /// Blocks that the disk has taken.
    taken_blocks: u64,
    bugs: Seeded,
}

impl<D: Data> Destages<D> {
    /// A band that is written whole is read, and written, in pieces of `piece_blocks`.
    pub(super) fn new(piece_blocks: usize, bugs: Seeded) -> Destages<D> {
        Destages {
            jobs: Slab::new(),
            queued: VecDeque::new(),
            runs: VecDeque::new(),
            bands: bands::Bands::new(piece_blocks.max(1)),
            lists: Vec::new(),
            first_run: 0,
            in_memory: 0,
            writing: 0,
            pace: Pace::default(),
            leaving: 0,
            disk: BackOff::default(),
            failures: HashMap::new(),
            backing_off: BTreeSet::new(),
            through_waiting: Vec::new(),
            woken: VecDeque::new(),
            taken_blocks: 0,
            bugs,
        }
    }

    /// Whether anything is to be read or written without a pause first.
    pub(super) fn is_busy(&self, now: Nanos) -> bool {
        match self.disk.allows(now) {
            _ if self.bands.is_settling() => false,
            true => !self.queued.is_empty() || self.in_memory > 0 || self.bands.is_busy(),
            false => self.writing > 0,
        }
    }

    /// Whether nothing is planned, in flight, or waiting for a flush.
    pub(super) fn is_empty(&self) -> bool {
        // A band in progress may have no jobs left, if all its blocks were written again.
        self.jobs.is_empty() && !self.has_bands()
    }

    /// Whether, in addition, no slot is pinned by a back-off.
    pub(super) fn holds_nothing(&self) -> bool {
        self.is_empty() && self.backing_off.is_empty()
    }

    pub(super) fn count(&self) -> usize {
        self.jobs.len()
    }

    /// The number of slots that destages will free.
    pub(super) fn leaving(&self) -> u32 {
        self.leaving
    }

    /// The number of blocks that the disk has taken since the start.
    pub(super) fn taken_blocks(&self) -> u64 {
        self.taken_blocks
    }

    /// Whether the disk may be tried now: it is not in a pause.
    pub(super) fn may_try(&self, now: Nanos) -> bool {
        self.disk.allows(now)
    }

    /// Whether the last try failed: the next one depends on the time.
    #[inline]
    pub(super) fn is_disk_failing(&self) -> bool {
        self.disk.is_failing()
    }

    /// The rest of the pause of the disk; `None` if its last try succeeded.
    pub(super) fn pause(&self, now: Nanos) -> Option<Nanos> {
        self.disk.pause(now)
    }

    /// How many more candidates than needed there should be.
    pub(super) fn choice_blocks(&self) -> u32 {
        if self.disk.is_failing() { back_off::CHOICE_BLOCKS } else { 0 }
    }

    /// Backs off from the disk after a failed flush.
    pub(super) fn disk_failed(&mut self, now: Nanos) {
        self.disk.failed(now);
        // What was written of a band is not flushed, and may be lost with the rest.
        if !self.bugs.has(Bug::BandOvertakenKept) {
            self.bands.give_up();
        }
    }

    /// Renumbers the slots for another cache.
    pub(super) fn move_slots(&mut self, new_of: &[Slot], contents: &mut Contents) {
        let moved = |slot: &mut Slot| *slot = new_of[slot.index()];
        for (_, job) in &mut self.jobs {
            moved(&mut job.slot);
            contents.pin(job.slot);
            (job.moved, job.leaves) = (true, false);
        }
        self.leaving = 0;
        let backing_off = std::mem::take(&mut self.backing_off).into_iter();
        self.backing_off = backing_off
            .map(|(until, mut slot)| {
                moved(&mut slot);
                contents.pin(slot);
                (until, slot)
            })
            .collect();
        self.through_waiting.iter_mut().for_each(|(slot, _)| moved(slot));
    }

    /// Plans a group of destages, by address if `sorted`, otherwise in the given order. Those that
    /// leave free their slots.
    pub(super) fn plan(&mut self, group: &mut [Destage], sorted: bool, contents: &Contents) {
        if sorted {
            group.sort_unstable_by_key(|destage| destage.block);
        }
        let mut before: Option<Block> = None;
        for (place, &Destage { slot, block, leaves }) in group.iter().enumerate() {
            if let Some(later) = group.get(place + EXPECTED) {
                contents.prefetch_mapping(later.slot);
            }
            let joins = before.is_some_and(|before| before.after(1) == block)
                && self.runs.back().is_some_and(|run| run.jobs.len() < IO_PAGES_MAX);
            before = Some(block);
            if !joins {
                let jobs = self.lists.pop().unwrap_or_default();
                self.runs.push_back(Run { jobs, left: 0, number: 0 });
            }
            let run = self.first_run + self.runs.len() as u64 - 1;
            let version = contents.mapping(slot).version;
            let (buffer, through) = (None, None);
            let (number, moved) = (0, false);
            let job = Job { slot, block, version, run, number, leaves, buffer, through, moved };
            let key = self.jobs.insert(job);
            self.leaving += u32::from(leaves);
            self.queued.push_back(key);
            let run = self.runs.back_mut().expect("just there");
            run.jobs.push(key);
            run.left += 1;
        }
    }

    /// Writes a block, whose data is in `buffer`, to the disk for a request that waits for it.
    pub(super) fn write_through(
        &mut self,
        op: OpKey,
        slot: Slot,
        mapping: Mapping,
        buffer: D,
        port: &mut Port<D>,
    ) {
        let Mapping { block, version, number, .. } = mapping;
        let key = self.jobs.insert(Job {
            slot,
            block,
            version,
            run: 0,
            number,
            leaves: false,
            buffer: None,
            through: Some(op),
            moved: false,
        });
        self.in_memory += 1;
        self.writing += 1;
        port.write(Device::Disk, block.0, buffer, Completion::Destaged(key));
    }

    /// Lets a request wait until `slot` is no longer being destaged.
    pub(super) fn wait(&mut self, slot: Slot, op: OpKey) {
        self.through_waiting.push((slot, op));
    }

    pub(super) fn slot(&self, key: JobKey) -> Slot {
        self.jobs[key].slot
    }

    /// The next request whose wait is over, and whether it resumes or fails.
    #[inline]
    pub(super) fn next_woken(&mut self) -> Option<(OpKey, bool)> {
        self.woken.pop_front()
    }

    /// Whether the block of `slot` is in a back-off.
    pub(super) fn backs_off(&self, slot: Slot) -> bool {
        self.backing_off.iter().any(|&(_, other)| other == slot)
    }

    /// Ends the back-offs whose pause is over. Returns whether there was any.
    pub(super) fn end_back_offs(&mut self, contents: &mut Contents, now: Nanos) -> bool {
        let mut ended = false;
        while let Some(&(until, slot)) = self.backing_off.first()
            && until <= now
        {
            self.backing_off.pop_first();
            contents.unpin(slot);
            ended = true;
        }
        ended
    }

    /// Forgets the failures of a block that do not matter any more.
    pub(super) fn forget_failures(&mut self, block: Block) {
        self.failures.remove(&block);
    }

    /// Reads queued blocks, and writes complete runs, as fast as `service` allows. If `urgent`, its
    /// limits do not count. At the `end` each run is tried once, and what fails stays dirty.
    pub(super) fn feed(
        &mut self,
        (contents, durability, failure): (&mut Contents, &mut Durability, &Failure),
        port: &mut Port<D>,
        service: &mut Service,
        now: Nanos,
        urgent: bool,
        end: bool,
    ) {
        self.read_queued(contents, durability, port);
        if let Some(first) = self.disk.pick_trial(now, self.runs.len()) {
            self.bring_forward(first);
        }
        while let Some(run) = self.runs.front().filter(|run| run.left == 0) {
            if self.bands.precede(self.first_run) {
                break;
            }
            let (length, number) = (run.jobs.len(), run.number);
            let jobs = || run.jobs.iter().map(|&key| &self.jobs[key]);
            if number > durability.committed() && !self.bugs.has(Bug::DestageBeforeCommit) {
                // As with any destage, the record is committed first. Otherwise a crash could leave
                // an older version on the SSD, recorded as clean.
                if !failure.has_ssd_failed() {
                    durability.want(number);
                    break;
                }
                // There will be no commit: whether the disk may get it depends on the invalidation
                // of the SSD instead.
                if !jobs().all(|job| failure.may_destage(job.block)) {
                    if failure.is_invalidating() {
                        break;
                    }
                    self.drop_run(contents, port, now);
                    continue;
                }
            }
            let many = self.writing > 0 && self.writing + length > WRITING_MAX;
            if many || !(self.disk.allows(now) || end) || !self.pace.allows() {
                break;
            }
            if !(urgent || end || service.may_destage(now)) {
                break;
            }
            let mut run = self.runs.pop_front().expect("there is one");
            if length > 0 {
                self.pace.begin(self.first_run, length, now);
                self.disk.begin();
                service.destages(length as u64, now);
            }
            self.first_run += 1;
            for key in run.jobs.drain(..) {
                let job = &mut self.jobs[key];
                let buffer = job.buffer.take().expect("it was read");
                self.writing += 1;
                port.write(Device::Disk, job.block.0, buffer, Completion::Destaged(key));
            }
            if self.lists.len() < LISTS_MAX {
                self.lists.push(run.jobs);
            }
        }
    }

    fn read_queued(
        &mut self,
        contents: &mut Contents,
        durability: &Durability,
        port: &mut Port<D>,
    ) {
        while self.in_memory < IN_MEMORY_MAX
            && let Some(key) = self.queued.pop_front()
        {
            let job = &mut self.jobs[key];
            let mapping = contents.mapping(job.slot);
            match mapping.frame.filter(|_| mapping.version == job.version) {
                Some(frame) => {
                    job.number = mapping.number;
                    let run = &mut self.runs[(job.run - self.first_run) as usize];
                    run.number = run.number.max(mapping.number);
                    self.in_memory += 1;
                    let page = durability.frame_page(frame);
                    port.read(Device::Ssd, page, Completion::DestageRead(key));
                }
                None => self.out_of_date(key, contents),
            }
        }
    }

    /// Swaps run `at` with the first one, if all of it was read.
    fn bring_forward(&mut self, at: usize) {
        if self.runs[at].left > 0 {
            return;
        }
        self.runs.swap(0, at);
        for place in [0, at] {
            for &job in &self.runs[place].jobs {
                self.jobs[job].run = self.first_run + place as u64;
            }
        }
    }

    fn run(&mut self, number: u64) -> &mut Run {
        &mut self.runs[(number - self.first_run) as usize]
    }

    /// Drops the runs that were read but not submitted, when the store is ending and nothing waits
    /// for room: their blocks are safe on the SSD, and a slow disk would take long.
    pub(super) fn drop_unsubmitted(&mut self, contents: &mut Contents, port: &mut Port<D>) {
        while self.runs.front().is_some_and(|run| run.left == 0)
            && !self.bands.precede(self.first_run)
        {
            let run = self.runs.pop_front().expect("there is one");
            self.first_run += 1;
            for key in run.jobs {
                let job = self.end(key);
                self.in_memory -= 1;
                not_destaged(&job, contents);
                port.give(job.buffer.expect("it was read"));
            }
        }
    }

    /// Drops the first run, which may never be written.
    fn drop_run(&mut self, contents: &mut Contents, port: &mut Port<D>, now: Nanos) {
        let run = self.runs.pop_front().expect("there is one");
        self.first_run += 1;
        for key in run.jobs {
            let job = self.end(key);
            self.in_memory -= 1;
            self.back_off(&job, contents, now);
            port.give(job.buffer.expect("it was read"));
        }
    }
}
