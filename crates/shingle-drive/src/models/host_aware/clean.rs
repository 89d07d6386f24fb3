//! Making room in the disk cache: cleaning of zones, garbage collection of log zones (ROCO §2.1).
//!
//! *Cleaning* moves the blocks of a zone from the disk cache to the zone; zones are cleaned in the
//! order of their first non-sequential write since they were last cleaned. If all of these blocks
//! lie at or beyond the write pointer they are appended, else the zone is rewritten from its first
//! block. Never-written blocks below the new write pointer are synthesized (Fig. 2):
//!
//! ```text
//!            A B C D E│                 │ write pointer; in the disk cache A' B' C' F G H K M
//!   read           D E
//!   write    A'B'C'D E F G H i j K l M│    i, j, l: synthesized
//! ```
//! A cleaning goes through the zone in phases as large as the drive's memory: read what is kept,
//! collect from the log, write. The map changes at the end of the last phase, and only for copies
//! that are older than the first, so that writes that come between phases win. A write at the
//! pointer or a reset comes before a cleaning that waits between phases: it is given up.
//!
//! *Garbage collection* copies what is live in one log zone to the end of the log.

use super::HostAware;
use super::cache::Victim;
use crate::io::Served;
use crate::sheet::Timing;
use shingle_core::units::{BLOCK_BYTES, Nanos};
use std::ops::Range;

/// A cleaning in progress. Offsets are relative to the first block of the zone.
#[derive(Clone, Copy, Debug)]
pub(super) struct Job {
    pub(super) zone: usize,
    /// Number of blocks that the host had written when the zone joined the queue.
    pub(super) joined: u64,
    pointer: u64,
    /// The range to write, and the progress in it.
    from: u64,
    end: u64,
    written: u64,
    phase_blocks: u64,
    /// Blocks to collect from the log.
    collected: u64,
    /// Whether nothing native is read.
    free: bool,
}

impl HostAware {
    /// Cleans a zone, or completes the cleaning in progress. Returns the time taken; `None` if
    /// there is nothing to clean.
    pub(super) fn clean_zone(&mut self, now: Nanos) -> Option<Nanos> {
        let mut took = self.clean_step(now)?;
        // Terminates: each step does a phase, of which a cleaning has a bounded number.
        while self.job.is_some() {
            took += self.clean_step(now + took)?;
        }
        Some(took)
    }

    /// Does one phase of cleaning. Returns its time; `None` if there is nothing to clean.
    pub(super) fn clean_step(&mut self, now: Nanos) -> Option<Nanos> {
        let mut job = match self.job.take() {
            Some(job) => job,
            None => self.plan()?,
        };
        let end = job.end.min(job.written + job.phase_blocks);
        let time = self.phase(&job, job.written..end, now);
        job.written = end;
        if end < job.end {
            self.job = Some(job);
        } else {
            self.finish(&job);
        }
        Some(time)
    }

    /// Plans the cleaning of the next zone.
    fn plan(&mut self) -> Option<Job> {
        let zone = self.turns.pop_front()?;
        self.cache.mark(zone);
        self.replaced.clear();
        let pointer = self.zones.pointer(zone);
        let (mut lowest, mut end, mut collected) = (u64::MAX, pointer, 0);
        let mut next = self.cache.map().first_marked(zone);
        while let Some(slot) = next {
            let (_, offset) = self.zones.place(self.cache.map().block(slot));
            self.replaced.set(offset);
            lowest = lowest.min(offset);
            end = end.max(offset + 1);
            collected += 1;
            next = self.cache.map().next_marked(zone, slot);
        }
        assert!(collected > 0, "a zone waits for cleaning with something to clean");
        let from = if lowest >= pointer { pointer } else { 0 };
        let free = self.kept(from, from..pointer).0 == 0;
        let phase_blocks = match self.timing {
            Timing::Mechanics => (self.values.merge_bytes / BLOCK_BYTES).max(1),
            Timing::Cost => end - from,
        };
        let joined = self.joined[zone];
        let written = from;
        Some(Job { zone, joined, pointer, from, end, written, phase_blocks, collected, free })
    }

    /// Returns the native blocks of `range`, which is below the pointer, that a rewrite from `from`
    /// on has to read: their number, and the stretch that contains them.
    fn kept(&self, from: u64, range: Range<u64>) -> (u64, Range<u64>) {
        if from > 0 || range.is_empty() {
            return (0, 0..0);
        }
        if self.values.clean_reads_whole {
            return (range.end - range.start, range);
        }
        self.replaced.gaps(range)
    }

    /// Cleans `range` of the zone; counts its bytes and returns its time.
    fn phase(&mut self, job: &Job, range: Range<u64>, now: Nanos) -> Nanos {
        let (kept, stretch) = self.kept(job.from, range.start..range.end.min(job.pointer));
        self.counters.rmw_read_bytes += kept * BLOCK_BYTES;
        self.counters.band_bytes_written += (range.end - range.start) * BLOCK_BYTES;
        if self.timing == Timing::Cost {
            return self.costs.rmw(job.collected);
        }
        let mut served = Served { done: now, ..Served::default() };
        let place = self.native + self.zones.first(job.zone).0;
        if kept > 0 {
            let blocks = stretch.end - stretch.start;
            self.mech.collect(&mut served, place + stretch.start, blocks);
        }
        self.collect(&mut served, job.zone, &range);
        self.mech.write(&mut served, place + range.start, range.end - range.start);
        served.done.since(now)
    }

    /// Reads the blocks of `range` that the cleaning of a zone collects from the log: neighbours in
    /// one read, the others as the platter brings them.
    fn collect(&mut self, served: &mut Served, zone: usize, range: &Range<u64>) {
        let first = self.zones.first(zone).0;
        let wanted = first + range.start..first + range.end;
        let mut run = 0..0;
        let mut next = self.cache.map().first_marked(zone);
        while let Some(slot) = next {
            next = self.cache.map().next_marked(zone, slot);
            if wanted.contains(&self.cache.map().block(slot)) {
                self.extend(served, &mut run, slot);
            }
        }
        self.read_run(served, &run);
    }

    /// Adds `slot` to a run of slots to read; if it is no neighbour, the run is read first.
    fn extend(&mut self, served: &mut Served, run: &mut Range<u32>, slot: u32) {
        if slot != run.end || run.start == run.end {
            self.read_run(served, run);
            run.start = slot;
        }
        run.end = slot + 1;
    }

    fn read_run(&mut self, served: &mut Served, run: &Range<u32>) {
        if !run.is_empty() {
            self.mech.collect(served, u64::from(run.start), u64::from(run.end - run.start));
        }
    }

    /// Moves the collected blocks to their native place in the map, and the write pointer.
    fn finish(&mut self, job: &Job) {
        let (zone, pointer) = (job.zone, job.pointer);
        assert_eq!(pointer, self.zones.pointer(zone), "zone {zone}: the pointer moved meanwhile");
        let first = self.zones.first(zone).0;
        self.contents.drop_native(first + pointer..first + job.end);
        let (mut moved, mut beyond, mut end) = (0, 0, pointer);
        while let Some(slot) = self.cache.map().first_marked(zone) {
            let block = self.cache.map().block(slot);
            self.contents.slot_to_native(slot, block);
            self.cache.remove(slot, zone);
            moved += 1;
            beyond += u64::from(block - first >= pointer);
            end = end.max(block - first + 1);
        }
        if self.cache.map().first_of(zone).is_none() {
            // Writes that arrived for it meanwhile were trimmed or replaced.
            self.turns.remove(zone);
        }
        // Blocks trimmed or rewritten meanwhile are not included: the pointer stays behind them.
        self.zones.cleaned(zone, job.from, end);
        let evicted = self.counters.buffer_evicted_blocks;
        let again = self.turnover.cleaned(zone, evicted, evicted + moved);
        let counters = &mut self.counters;
        counters.buffer_evicted_blocks += moved;
        counters.synthesized_blocks += end - pointer - beyond;
        counters.truncated += u64::from(again);
        counters.rmw += u64::from(!job.free);
        counters.rmw_free += u64::from(job.free);
    }

    /// Cancels the cleaning of `zone`, if in progress: the zone keeps its turn.
    pub(super) fn give_up(&mut self, zone: usize) {
        let Some(job) = self.job.take_if(|job| job.zone == zone) else { return };
        self.cache.unmark(zone);
        self.turns.remove(zone);
        if self.cache.map().first_of(zone).is_some() {
            self.turns.push_front(zone);
            self.joined[zone] = job.joined;
        }
    }

    /// Frees a log zone by garbage collection. Returns the time taken; `None` if cleaning a zone is
    /// better.
    pub(super) fn collect_garbage(&mut self, victim: &Victim, now: Nanos) -> Option<Nanos> {
        if victim.invalid_percent < self.values.gc_invalid_percent
            || victim.live > self.cache.spare()
        {
            return None;
        }
        let mut served = Served { done: now, ..Served::default() };
        self.copy_live(&mut served, self.cache.slots(victim.log));
        self.cache.reset(victim.log);
        self.counters.buffer_moved_blocks += victim.live;
        self.counters.log_bytes_written += victim.live * BLOCK_BYTES;
        if self.timing == Timing::Cost {
            return Some(self.costs.stream(victim.live) + self.costs.log(victim.live));
        }
        Some(served.done.since(now))
    }

    /// Copies the live slots among `slots` to the end of the log, as much at a time as the drive's
    /// memory holds.
    fn copy_live(&mut self, served: &mut Served, slots: Range<u32>) {
        let most = u32::try_from(self.values.merge_bytes / BLOCK_BYTES).unwrap_or(u32::MAX).max(1);
        let (mut last, mut read, mut write) = (None, 0..0, 0..0);
        for slot in slots {
            if !self.cache.map().is_live(slot) {
                continue;
            }
            let zone = self.zones.place(self.cache.map().block(slot)).0;
            let goes_on = last.is_some_and(|last: u32| last + 1 == slot);
            let to = self.cache.relocate(slot, zone, goes_on);
            self.contents.move_slot(slot, to);
            last = Some(slot);
            if self.timing == Timing::Cost {
                continue;
            }
            if to != write.end || write.end - write.start >= most {
                self.read_run(served, &read);
                self.append_run(served, &write);
                (read, write) = (0..0, to..to);
            }
            self.extend(served, &mut read, slot);
            write.end = to + 1;
        }
        self.read_run(served, &read);
        self.append_run(served, &write);
    }

    fn append_run(&mut self, served: &mut Served, run: &Range<u32>) {
        if !run.is_empty() {
            self.mech.write(served, u64::from(run.start), u64::from(run.end - run.start));
        }
    }
}
