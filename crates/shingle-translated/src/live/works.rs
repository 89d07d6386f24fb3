//! Works: actions of the executor as I/O on zones that move.

use std::ops::Range;

use shingle_core::units::{Block, Zone};
use shingle_engine::{Buffer, IO_PAGES_MAX};
use shingle_translation::{Action, Executor, Place, Queue, Step, Work};
use shingle_zoned::{Condition, Reason, ZonedError};

use super::{Plan, Shared};
use crate::bugs::{Bug, Seeded};
use crate::ranges::Ranges;
use crate::saved::Saver;
use crate::status::WrittenStatus;
use crate::zones::Table;

/// What makes works: one at a time has it.
pub(super) struct Works {
    pub(super) executor: Executor<Buffer>,
    pub(super) table: Table,
    pub(super) saver: Saver,
    /// Whether the translation gives a zone up only after a commit.
    pub(super) survives_power_cuts: bool,
    /// Host blocks whose place may be another one since readers were told.
    pub(super) touched: Ranges,
    /// Host blocks that were moved or written since the last commit: a flush that fails leaves open what they are.
    pub(super) unflushed: Ranges,
    /// Host blocks that lie elsewhere than the durable map has them.
    pub(super) unlogged: Ranges,
    /// Blocks lost in the work under way: readers have not been told.
    pub(super) lost: Ranges,
    /// The durable map has other lost blocks.
    pub(super) loss_unlogged: bool,
    pub(super) written: WrittenStatus,
    pub(super) commits: u64,
    pub(super) checkpoints: u64,
    pub(super) failed: Option<String>,
    pub(super) bugs: Seeded,
}

/// Why a work cannot go on.
#[derive(Debug, thiserror::Error)]
pub(super) enum Stop {
    #[error(transparent)]
    Disk(#[from] ZonedError),
    #[error("no spare zone is left to write logical zone {0} to")]
    NoSpare(u32),
    #[error("the map has {runs} runs and room for {room}")]
    MapFull { runs: u64, room: u64 },
}

impl Works {
    /// Sees to it that there are more spares than flawed zones that a work may append to: within a work none that leave
    /// become spare.
    pub(super) fn prepare(&mut self, shared: &Shared) -> Result<(), Stop> {
        let capacity = shared.plan.capacity as u32;
        loop {
            let Table { pointers, flawed, spares, .. } = &self.table;
            let written = |logical: u32| (1..capacity).contains(&pointers[logical as usize]);
            let mut open = flawed.keys().copied().filter(|logical| written(*logical));
            let (first, count) = (open.next(), 1 + open.count());
            match first.filter(|_| !spares.is_empty() && spares.len() <= count) {
                Some(logical) => self.repair(shared, logical)?,
                None => return Ok(()),
            }
            self.commit(shared)?;
        }
    }

    /// Does a work. If it stops half-way, the translation is ahead of the disk, and nothing may follow.
    pub(super) fn work(
        &mut self,
        shared: &Shared,
        work: Work,
        data: &[Buffer],
        queue: &dyn Queue,
    ) -> Result<(), Stop> {
        self.prepare(shared)?;
        self.executor.begin(work, data);
        while let Some(action) = self.executor.next(queue) {
            self.carry_out(shared, action)?;
            self.executor.done();
        }
        if let Work::Write { block, count } | Work::Trim { block, count } = work {
            self.touch(block.0..block.0 + count);
            self.publish(shared, Some(block.0..block.0 + count));
        } else {
            self.publish(shared, None);
        }
        Ok(())
    }

    fn touch(&mut self, range: Range<u64>) {
        self.touched.insert(range.clone());
        self.unflushed.insert(range);
    }

    fn carry_out(&mut self, shared: &Shared, action: Action) -> Result<(), Stop> {
        match action {
            Action::Read { from, .. } => self.read(shared, from)?,
            Action::Write { at, count, .. } => {
                self.touch_steps();
                let (first, data) = (shared.plan.buffer_first.after(at), self.executor.data());
                for (piece, ahead) in pieces(data) {
                    shared.disk.write(first.after(ahead), piece)?;
                }
                self.written.buffer_blocks += count;
            }
            Action::Append { zone, .. } => {
                self.touch_steps();
                self.append(shared, zone)?;
            }
            Action::Reset { zone } => self.reset(shared, zone.0)?,
            Action::Commit => self.commit(shared)?,
        }
        Ok(())
    }

    /// The blocks of the action under way may lie elsewhere from now on.
    fn touch_steps(&mut self) {
        let Works { executor, touched, unflushed, .. } = self;
        for range in executor.steps().iter().map(|step| step.blocks()) {
            touched.insert(range.clone());
            unflushed.insert(range);
        }
    }

    fn read(&mut self, shared: &Shared, from: Place) -> Result<(), Stop> {
        let mut gone = Vec::new();
        let data = self.executor.data();
        let mut ahead = 0;
        while ahead < data.len() {
            let rest = (data.len() - ahead).min(IO_PAGES_MAX) as u64;
            let (place, count, there) = match from.after(ahead as u64) {
                Place::Nowhere => return Ok(()),
                Place::Buffer(at) => (shared.plan.buffer_first.after(at), rest, rest),
                Place::Native(at) => {
                    let (zone, offset) = shared.plan.split(at);
                    let count = rest.min(shared.plan.capacity - offset);
                    // What a flawed zone does not have was lost when it was found to be so: zeros are as good as anything.
                    let readable = self.table.flawed.get(&zone).copied().map(u64::from);
                    let there = readable.map_or(count, |end| end.saturating_sub(offset).min(count));
                    (shared.plan.on_disk(self.table.physical[zone as usize], offset), count, there)
                }
            };
            let buffers = &mut data[ahead..ahead + count as usize];
            let there = &mut buffers[..there as usize];
            let read = if there.is_empty() { Ok(()) } else { shared.disk.read(place, there) };
            match read {
                Ok(()) => {}
                Err(error) if matches!(error.reason, Reason::Offline) => {
                    buffers.iter_mut().for_each(|buffer| buffer.0.fill(0));
                    gone.push(ahead as u64..ahead as u64 + count);
                }
                Err(error) => return Err(error.into()),
            }
            ahead += count as usize;
        }
        gone.into_iter().for_each(|part| self.lose(shared, from, part));
        Ok(())
    }

    /// A part of the read under way meets a zone that is gone: the host's blocks whose newest copies were there are lost.
    fn lose(&mut self, shared: &Shared, from: Place, part: Range<u64>) {
        let map = shared.map();
        let mut ahead = 0;
        for step in self.executor.steps() {
            let (block, count) = match *step {
                Step::Read { block, count, .. } => (Some(block), count),
                Step::Over { count, .. } => (None, count),
                _ => continue,
            };
            for at in ahead.max(part.start)..(ahead + count).min(part.end) {
                let Some(block) = block.map(|block| block.after(at - ahead)) else { continue };
                if map.whereabouts.first(block, 1).place == from.after(at) {
                    self.lost.insert(block.0..block.0 + 1);
                }
            }
            ahead += count;
        }
    }

    /// Appends the data of the action under way to a zone.
    fn append(&mut self, shared: &Shared, zone: Zone) -> Result<(), Stop> {
        let logical = zone.0;
        self.repair(shared, logical)?;
        let mut ahead = 0;
        let mut again = true;
        while ahead < self.executor.data().len() {
            let data = &self.executor.data()[ahead..];
            let piece = &data[..data.len().min(IO_PAGES_MAX)];
            let pointer = self.table.pointers[logical as usize];
            let at = shared.plan.on_disk(self.table.physical[logical as usize], pointer.into());
            match shared.disk.write(at, piece) {
                Ok(()) => {
                    let count = piece.len();
                    ahead += count;
                    self.written.zone_blocks += count as u64;
                    self.table.set_pointer(logical, pointer + count as u32);
                }
                // Something of the piece may have been written, or the zone has failed: it goes on elsewhere.
                Err(error) if again && self.is_readable(shared, logical) => {
                    again = false;
                    self.table.flawed.insert(logical, pointer);
                    self.repair(shared, logical).map_err(|stop| match stop {
                        Stop::NoSpare(_) => Stop::Disk(error),
                        other => other,
                    })?;
                }
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    fn is_readable(&self, shared: &Shared, logical: u32) -> bool {
        let zone = Zone(self.table.physical[logical as usize]);
        let report = shared.disk.report(zone, 1);
        report.is_ok_and(|zones| zones.iter().any(|zone| zone.condition != Condition::Offline))
    }

    /// Gives a logical zone that is reset another physical one. Without a spare, and only if the translation has made sure
    /// that the durable map needs nothing of it, the same.
    fn reset(&mut self, shared: &Shared, logical: u32) -> Result<(), Stop> {
        let physical = self.table.physical[logical as usize];
        if self.bugs.has(Bug::ZoneRewrittenInPlace) {
            shared.disk.reset(Zone(physical))?;
            self.table.flawed.remove(&logical);
            self.table.set_pointer(logical, 0);
            return Ok(());
        }
        match self.take_spare(shared) {
            Some(spare) => self.table.move_to(logical, spare, 0),
            None if self.survives_power_cuts => {
                shared.disk.reset(Zone(physical))?;
                self.table.flawed.remove(&logical);
                self.table.set_pointer(logical, 0);
            }
            None => return Err(Stop::NoSpare(logical)),
        }
        if self.bugs.has(Bug::ZoneFreedBeforeCommit) {
            for &old in &self.table.leaving {
                shared.disk.reset(Zone(old))?;
            }
        }
        Ok(())
    }

    /// A spare zone, empty. Those that cannot be reset are none.
    fn take_spare(&mut self, shared: &Shared) -> Option<u32> {
        while let Some(spare) = self.table.spares.pop_first() {
            if shared.disk.reset(Zone(spare)).is_ok() {
                return Some(spare);
            }
            self.table.bad += 1;
        }
        None
    }

    /// Makes a flawed zone, if it is one, one that can be appended to: what can be read of it goes to a spare. What
    /// cannot be read was lost, and is zeros there.
    pub(super) fn repair(&mut self, shared: &Shared, logical: u32) -> Result<(), Stop> {
        let Some(&readable) = self.table.flawed.get(&logical) else { return Ok(()) };
        let old = self.table.physical[logical as usize];
        let pointer = self.table.pointers[logical as usize];
        if pointer == 0 && shared.disk.reset(Zone(old)).is_ok() {
            // Nobody, and no durable map, has anything in it.
            self.table.flawed.remove(&logical);
            return Ok(());
        }
        let spare = self.take_spare(shared).ok_or(Stop::NoSpare(logical))?;
        let mut buffers = vec![Buffer::default(); IO_PAGES_MAX.min(pointer as usize)];
        let mut at = 0;
        while at < pointer {
            let end = if at < readable { readable } else { pointer };
            let count = (end - at).min(IO_PAGES_MAX as u32);
            let buffers = &mut buffers[..count as usize];
            if at < readable {
                shared.disk.read(shared.plan.on_disk(old, at.into()), buffers)?;
            } else {
                buffers.iter_mut().for_each(|buffer| buffer.0.fill(0));
            }
            shared.disk.write(shared.plan.on_disk(spare, at.into()), buffers)?;
            self.written.zone_blocks += u64::from(count);
            at += count;
        }
        // Readers will look there, and what was durable stays so.
        if !self.bugs.has(Bug::RepairUnflushed) {
            shared.disk.flush()?;
        }
        self.table.move_to(logical, spare, pointer);
        Ok(())
    }
}

/// Parts of at most 512 KiB, and how far from the start each is.
fn pieces(data: &[Buffer]) -> impl Iterator<Item = (&[Buffer], u64)> {
    data.chunks(IO_PAGES_MAX).zip((0..).step_by(IO_PAGES_MAX))
}

impl Plan {
    /// The zone of a native place, and how far into it the place is.
    pub(super) fn split(&self, at: u64) -> (u32, u64) {
        ((at / self.capacity) as u32, at % self.capacity)
    }

    /// A block of a physical zone.
    pub(super) fn on_disk(&self, physical: u32, offset: u64) -> Block {
        Block(u64::from(physical) * self.zone_blocks + offset)
    }
}
