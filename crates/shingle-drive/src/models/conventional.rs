//! A conventional disk: writes go to their place, through a write cache.
//!
//! A write is acknowledged after command and bus time. The drive writes acknowledged blocks in the
//! order in which the head reaches them soonest, whenever no read needs the head. When the write
//! cache is full, a write waits until the head takes the next one. A read waits for the write in
//! progress, then goes first. FLUSH waits until the write cache is empty.
//!
//! Stamps of checking runs are kept at their native place from the moment of acceptance: the write
//! cache is coherent by construction, and a power cut is not modelled here.

use crate::counters::Counters;
use crate::drive::{Description, Drive};
use crate::io::{Io, Served, Stamp};
use crate::parts::contents::Contents;
use crate::parts::cost::{CostValues, MeasuredValues};
use crate::parts::mech::{Mech, MechValues};
use crate::sheet::{Buffer, DriveError, Recipe, Timing};
use serde::Deserialize;
use shingle_core::units::{BLOCK_BYTES, Nanos, Op};

#[derive(Deserialize)]
struct Values {
    write_cache: bool,
    write_cache_entries: u64,
    write_cache_entry_bytes: u64,
}

/// A run of accepted blocks.
#[derive(Clone, Copy, Debug)]
struct Accepted {
    at: Nanos,
    place: u64,
    count: u64,
}

#[derive(Clone)]
pub(crate) struct Conventional {
    timing: Timing,
    costs: CostValues,
    mech: Mech,
    queue: Vec<Accepted>,
    queue_max: usize,
    entry_blocks: u64,
    /// Time at which the head is free, and the work that it is doing.
    free: Nanos,
    doing: Served,
    description: Description,
    counters: Counters,
    contents: Contents,
}

impl Conventional {
    pub(crate) fn make(recipe: &Recipe) -> Result<Box<dyn Drive>, DriveError> {
        if recipe.settings.buffer != Buffer::Real {
            return Err(recipe.refuse("a conventional disk has no buffer to size"));
        }
        let (values, mech): (Values, MechValues) = (recipe.sheet.values(), recipe.sheet.values());
        let (costs, measured): (CostValues, MeasuredValues) =
            (recipe.sheet.values(), recipe.sheet.values());
        let timing = recipe.settings.timing.unwrap_or(Timing::Mechanics);
        let disk_blocks = mech.capacity_bytes / BLOCK_BYTES;
        let description = Description::new(disk_blocks, measured.plan(costs.plan(), timing));
        let entries = if values.write_cache { values.write_cache_entries } else { 0 };
        let queue_max = usize::try_from(entries).unwrap_or(usize::MAX);
        Ok(Box::new(Conventional {
            timing,
            costs,
            mech: Mech::new(&mech, 0, disk_blocks),
            queue: Vec::with_capacity(queue_max),
            queue_max,
            entry_blocks: values.write_cache_entry_bytes / BLOCK_BYTES,
            free: Nanos::ZERO,
            doing: Served::default(),
            description,
            counters: Counters::default(),
            contents: Contents::default(),
        }))
    }

    /// Creates a disk of these mechanics with a write cache, for timing alone. It counts in the
    /// places of `mech`.
    pub(crate) fn bare(mech: Mech, places: u64, entries: usize, entry_places: u64) -> Conventional {
        Conventional {
            timing: Timing::Mechanics,
            costs: CostValues::default(),
            mech,
            queue: Vec::with_capacity(entries),
            queue_max: entries,
            entry_blocks: entry_places,
            free: Nanos::ZERO,
            doing: Served::default(),
            description: Description::new(places, CostValues::default().plan()),
            counters: Counters::default(),
            contents: Contents::default(),
        }
    }

    /// Lets the head write acknowledged blocks, until it is busy at `now` or nothing is left.
    fn catch_up(&mut self, now: Nanos) {
        // Terminates: each turn takes one from the queue or advances to the first acknowledgement.
        while self.free < now && !self.queue.is_empty() {
            let first = self.queue.iter().map(|write| write.at).min().unwrap_or(now);
            if first >= now {
                return;
            }
            self.free = self.free.max(first);
            self.write_nearest();
        }
    }

    /// Writes the acknowledged write that the head reaches soonest, when the head is free.
    fn write_nearest(&mut self) {
        let ready = self.queue.iter().enumerate().filter(|(_, write)| write.at <= self.free);
        let nearest =
            ready.min_by_key(|&(_, write)| self.mech.until_under_head(self.free, write.place));
        let Some((at, _)) = nearest else { return };
        let write = self.queue.swap_remove(at);
        self.doing = Served { done: self.free, ..Served::default() };
        self.mech.write(&mut self.doing, write.place, write.count);
        self.free = self.doing.done;
    }

    /// Adds the wait until the head is free.
    fn wait_for_head(&self, served: &mut Served) {
        let mut left = self.free.since(served.done);
        served.done += left;
        for (span, done) in [
            (&mut served.transfer, self.doing.transfer),
            (&mut served.rotation, self.doing.rotation),
        ] {
            let part = left.min(done);
            *span += part;
            left = left.since(part);
        }
        served.seek += left;
    }

    fn read(&mut self, served: &mut Served, io: &Io) {
        let (from, to) = (io.block.0, io.block.0 + io.count);
        if self.queue.iter().any(|write| write.place <= from && to <= write.place + write.count) {
            self.mech.command(served);
            self.mech.bus(served, io.count);
            return;
        }
        self.wait_for_head(served);
        let started = *served;
        self.mech.command(served);
        self.mech.read(served, from, io.count);
        self.doing = Served {
            done: served.done,
            seek: served.seek.since(started.seek),
            rotation: served.rotation.since(started.rotation),
            transfer: served.transfer.since(started.transfer),
            ..Served::default()
        };
        self.free = served.done;
    }

    fn write(&mut self, served: &mut Served, io: &Io) {
        self.mech.command(served);
        self.mech.bus(served, io.count);
        if self.queue_max == 0 {
            self.wait_for_head(served);
            self.mech.write(served, io.block.0, io.count);
            self.free = served.done;
            return;
        }
        self.catch_up(served.done);
        if self.join(io) {
            return;
        }
        if self.queue.len() == self.queue_max {
            self.wait_for_head(served);
            self.write_nearest();
        }
        self.queue.push(Accepted { at: served.done, place: io.block.0, count: io.count });
    }

    /// Joins a write that continues or repeats an acknowledged one to its entry. Returns false if
    /// there is none.
    fn join(&mut self, io: &Io) -> bool {
        let (from, to) = (io.block.0, io.block.0 + io.count);
        for write in &mut self.queue {
            let end = write.place + write.count;
            if write.place <= from && from <= end && to.max(end) - write.place <= self.entry_blocks
            {
                write.count = to.max(end) - write.place;
                return true;
            }
        }
        false
    }

    /// Empties the write cache.
    fn flush(&mut self, served: &mut Served) {
        self.catch_up(served.done);
        // Terminates: each turn takes one from the queue.
        while !self.queue.is_empty() {
            self.wait_for_head(served);
            self.free = self.free.max(served.done);
            self.write_nearest();
        }
        self.wait_for_head(served);
    }
}

impl Drive for Conventional {
    fn serve(&mut self, now: Nanos, io: &Io, data: &mut [Stamp]) -> Served {
        self.contents.see(data);
        self.contents.serve_native(io, data);
        let mut served = Served { done: now, ..Served::default() };
        if self.timing == Timing::Cost {
            let cost = match io.op {
                Op::Read => self.costs.read(io.count),
                Op::Write => self.costs.rmw(io.count),
                Op::Trim | Op::Flush => Nanos::ZERO,
            };
            served.transfer = cost;
            served.done += cost;
        } else {
            self.catch_up(now);
            match io.op {
                Op::Read => self.read(&mut served, io),
                Op::Write => self.write(&mut served, io),
                Op::Flush => self.flush(&mut served),
                Op::Trim => self.mech.command(&mut served),
            }
        }
        self.counters.native(io, served.done.since(now));
        served
    }

    fn drain(&mut self, now: Nanos) -> Nanos {
        let mut served = Served { done: now, ..Served::default() };
        self.catch_up(now);
        self.flush(&mut served);
        self.counters.write_time += served.done.since(now);
        served.done
    }

    fn counters(&self) -> &Counters {
        &self.counters
    }

    fn description(&self) -> &Description {
        &self.description
    }

    fn copy(&self) -> Box<dyn Drive> {
        let mut copy = self.clone();
        copy.queue.reserve(self.queue_max - copy.queue.len());
        Box::new(copy)
    }

    fn check(&self) {
        assert!(self.queue.len() <= self.queue_max, "the write cache is bounded");
        assert!(self.queue.iter().all(|write| write.count > 0));
    }
}
