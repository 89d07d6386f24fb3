//! Works: actions of the executor as I/O on zones that move.

use std::collections::BTreeSet;
use std::ops::Range;

use shingle_core::ranges::Ranges;
use shingle_core::units::{Block, Zone};
use shingle_engine::{Buffer, IO_PAGES_MAX};
use shingle_translation::{Action, Counters, Executor, Place, Queue, Work};
use shingle_zoned::{Condition, Operation, Reason, ZonedDisk as _, ZonedError};

use super::rewriting::Rewriting;
use super::{Plan, Shared};
use crate::bugs::{Bug, Seeded};
use crate::lost::Lost;
use crate::saved::Saver;
use crate::status::WrittenStatus;
use crate::zones::Table;

/// What makes works: one at a time has it.
pub(super) struct Works {
    pub(super) executor: Executor<Source>,
    pub(super) table: Table,
    pub(super) saver: Saver,
    /// The next checkpoint, as far as it is written.
    pub(super) rewriting: Option<Rewriting>,
    /// Whether the translation gives a zone up only after a commit.
    pub(super) survives_power_cuts: bool,
    /// Host blocks whose place may be another one since readers were told.
    pub(super) touched: Ranges,
    /// Host blocks that were moved or written since the last commit: a flush that fails leaves open what they are.
    pub(super) unflushed: Ranges,
    /// Of these, those that the host has written: the durable map has older ones.
    pub(super) hosts: Ranges,
    /// What the host is writing.
    pub(super) writing: Range<u64>,
    /// What the host had written when a flush failed, and has not written anew: the disk has older ones.
    pub(super) gone_back: Ranges,
    /// The host has not been told of that: its next flush fails.
    pub(super) owed: bool,
    /// Host blocks that lie elsewhere than the durable map has them.
    pub(super) unlogged: Ranges,
    /// Blocks of the disk that were written since readers were told: the map does not say whose they are.
    pub(super) fresh: Ranges,
    /// Blocks lost in the work under way: readers have not been told.
    pub(super) lost: Lost,
    /// Blocks lost in the work under way that the host has not written since: that it has written them before is no help.
    pub(super) lost_now: Ranges,
    /// The durable map has other lost blocks, or other old copies of them.
    pub(super) loss_unlogged: bool,
    /// Lost blocks whose old copies are to be read once more in idle time.
    pub(super) to_read_again: BTreeSet<u64>,
    pub(super) written: WrittenStatus,
    pub(super) commits: u64,
    /// How often what was moved before became durable: from then on it may be given up.
    pub(super) points: u64,
    pub(super) checkpoints: u64,
    /// Of these, those that were written while works went on.
    pub(super) beside_works: u64,
    /// What failed, until it is put right.
    pub(super) failed: Option<Failure>,
    /// How often something failed, and what did last.
    pub(super) failures: u64,
    pub(super) last_failure: Option<String>,
    /// What translations before this one have done, since the disk was opened.
    pub(super) done_before: Counters,
    /// Blocks on their way from one place of the disk to another, 512 KiB at most.
    pub(super) on_the_way: Vec<Buffer>,
    pub(super) bugs: Seeded,
}

/// What the memory of the executor holds of a block: where its data are, as long as the work lasts.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) enum Source {
    /// Nothing: zeros.
    #[default]
    Zeros,
    /// What a zone that has failed did not have. It was lost then.
    Gone,
    /// So many blocks into what the host writes.
    Host(u32),
    /// A block of the disk, what place of the translation's that was, and how often the map had become durable then.
    Disk { at: Block, place: Place, point: u64 },
}

/// Why a work cannot go on.
#[derive(Debug, thiserror::Error)]
pub(super) enum Stop {
    #[error(transparent)]
    Disk(#[from] ZonedError),
    #[error("no spare zone is left to write logical zone {0} to")]
    NoSpare(u32),
    #[error("{0}; and no spare zone is left to take its place")]
    NoSpareAfter(ZonedError),
    #[error("{0}; and no spare zone took it either")]
    SparesFailed(ZonedError),
    #[error("the map has {runs} runs and room for {room}")]
    MapFull { runs: u64, room: u64 },
    #[error("{0}")]
    Map(String),
    #[error("block {} of the disk was written a moment ago and cannot be read", .0.0)]
    FreshUnread(Block),
}

impl Stop {
    /// Whether another zone was needed, and there was none.
    pub(super) fn lacks_spare(&self) -> bool {
        matches!(self, Stop::NoSpare(_) | Stop::NoSpareAfter(_))
    }

    /// Whether a flush failed: what was to be durable may be gone.
    pub(super) fn forgets(&self) -> bool {
        matches!(self, Stop::Disk(error) if error.operation == Operation::Flush)
    }
}

/// From where works can go on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Since {
    /// From what readers know.
    Published,
    /// From the durable map.
    Durable,
}

/// What failed and is not put right.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Failure {
    pub(super) what: String,
    pub(super) since: Since,
}

impl Works {
    /// Does a work. If it stops half-way, the translation is ahead of the disk: see `failing.rs`.
    pub(super) fn work(
        &mut self,
        shared: &Shared,
        work: Work,
        data: &[Buffer],
        queue: &dyn Queue,
    ) -> Result<(), Stop> {
        self.prepare(shared)?;
        self.lost_now.clear();
        self.writing = work.writes();
        self.hosts.insert(work.writes());
        let sources: Vec<Source> = (0..data.len() as u32).map(Source::Host).collect();
        self.executor.begin(work, &sources);
        while let Some(action) = self.executor.next(queue) {
            self.carry_out(shared, action, data)?;
            self.executor.done();
        }
        self.writing = 0..0;
        match work {
            Work::Write { block, count } | Work::Trim { block, count } => {
                let range = block.0..block.0 + count;
                self.touch(range.clone());
                if let Work::Trim { .. } = work {
                    self.hosts.remove(range.clone());
                }
                self.publish(shared, Some(range));
            }
            Work::Idle | Work::Drain => self.publish(shared, None),
        }
        Ok(())
    }

    fn touch(&mut self, range: Range<u64>) {
        self.touched.insert(range.clone());
        self.unflushed.insert(range);
    }

    fn carry_out(&mut self, shared: &Shared, action: Action, host: &[Buffer]) -> Result<(), Stop> {
        match action {
            Action::Read { from, .. } => self.find(shared, from),
            Action::Write { at, .. } => {
                self.touch_steps();
                self.put(shared, at, host)?;
                self.hosts_are_there();
            }
            Action::Append { zone, .. } => {
                self.touch_steps();
                self.append(shared, zone, host)?;
                self.hosts_are_there();
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

    /// Writes the data of the action under way into the buffer.
    fn put(&mut self, shared: &Shared, at: u64, host: &[Buffer]) -> Result<(), Stop> {
        let count = self.executor.data().len();
        let mut ahead = 0;
        while ahead < count {
            let range = ahead..count.min(ahead + IO_PAGES_MAX);
            let at = shared.plan.buffer_first.after(at + ahead as u64);
            ahead = range.end;
            self.give(shared, range, host, &mut |works, data, gone| {
                // What is gone is not written: the durable map may name an older copy there, and does not say yet that the
                // block is lost.
                let gone = if works.bugs.has(Bug::LostWrittenAsZeros) { &[] } else { gone };
                for part in without(data.len() as u64, gone) {
                    let (at, data) =
                        (at.after(part.start), &data[part.start as usize..part.end as usize]);
                    shared.disk.write(at, data)?;
                    works.fresh.insert(at.0..at.0 + data.len() as u64);
                    works.written.buffer_blocks += data.len() as u64;
                }
                Ok(())
            })?;
        }
        Ok(())
    }

    /// Appends the data of the action under way to a zone.
    fn append(&mut self, shared: &Shared, zone: Zone, host: &[Buffer]) -> Result<(), Stop> {
        let logical = zone.0;
        self.repair(shared, logical)?;
        let count = self.executor.data().len();
        let mut ahead = 0;
        while ahead < count {
            let range = ahead..count.min(ahead + IO_PAGES_MAX);
            ahead = range.end;
            self.give(shared, range, host, &mut |works, data, _| {
                works.append_piece(shared, logical, data)
            })?;
        }
        Ok(())
    }

    fn append_piece(&mut self, shared: &Shared, logical: u32, data: &[Buffer]) -> Result<(), Stop> {
        let mut again = true;
        loop {
            let pointer = self.table.pointers[logical as usize];
            let physical = self.table.physical[logical as usize];
            self.make_active(shared, physical)?;
            match shared.disk.write(shared.plan.on_disk(physical, pointer.into()), data) {
                Ok(()) => {
                    self.is_in_zone(shared, physical, pointer, data.len() as u32);
                    self.table.set_pointer(logical, pointer + data.len() as u32);
                    return Ok(());
                }
                // Something of the piece may have been written, or the zone has failed: it goes on elsewhere.
                Err(error) if again && !is_limit(&error) && self.is_readable(shared, logical) => {
                    again = false;
                    self.table.is_flawed(logical, pointer, shared.plan.capacity);
                    self.repair(shared, logical).map_err(|stop| match stop {
                        Stop::NoSpare(_) => Stop::NoSpareAfter(error),
                        other => other,
                    })?;
                }
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// `count` blocks of a physical zone, from `first` on, were written.
    pub(super) fn is_in_zone(&mut self, shared: &Shared, physical: u32, first: u32, count: u32) {
        let at = shared.plan.on_disk(physical, first.into());
        self.fresh.insert(at.0..at.0 + u64::from(count));
        self.written.zone_blocks += u64::from(count);
        if u64::from(first + count) == shared.plan.capacity {
            self.table.is_not_active(physical);
        }
    }

    fn is_readable(&self, shared: &Shared, logical: u32) -> bool {
        let zone = Zone(self.table.physical[logical as usize]);
        let report = shared.disk.report(zone, 1);
        report.is_ok_and(|zones| zones.iter().any(|zone| zone.condition != Condition::Offline))
    }

    /// Gives a logical zone that is reset another physical one. Without a spare, and only if the durable map needs nothing of
    /// it, as the translation has made sure, the same.
    fn reset(&mut self, shared: &Shared, logical: u32) -> Result<(), Stop> {
        let physical = self.table.physical[logical as usize];
        let in_place = self.bugs.has(Bug::ZoneRewrittenInPlace);
        let spare = if in_place { None } else { self.take_spare(shared) };
        match spare {
            Some(spare) => self.table.move_to(logical, spare, 0),
            None if in_place
                || self.survives_power_cuts && !self.has_old_copies(shared, physical) =>
            {
                self.reset_zone(shared, physical).map_err(Stop::NoSpareAfter)?;
                self.table.is_whole(logical);
                self.table.set_pointer(logical, 0);
            }
            None => return Err(Stop::NoSpare(logical)),
        }
        if self.bugs.has(Bug::ZoneFreedBeforeCommit) {
            for old in self.table.leaving.clone() {
                self.reset_zone(shared, old)?;
            }
        }
        Ok(())
    }

    /// A spare zone, empty. Those that cannot be reset are none.
    pub(super) fn take_spare(&mut self, shared: &Shared) -> Option<u32> {
        while let Some(spare) = self.table.spares.pop_first() {
            if self.reset_zone(shared, spare).is_ok() {
                return Some(spare);
            }
            self.table.bad += 1;
        }
        None
    }
}

/// What of `count` blocks is not `gone`.
fn without(count: u64, gone: &[Range<u64>]) -> impl Iterator<Item = Range<u64>> {
    let starts = std::iter::once(0).chain(gone.iter().map(|part| part.end));
    let ends = gone.iter().map(|part| part.start).chain(std::iter::once(count));
    starts.zip(ends).map(|(start, end)| start..end).filter(|part| !part.is_empty())
}

/// Whether a zone was not written because too many others are active: it is as good as before.
pub(super) fn is_limit(error: &ZonedError) -> bool {
    matches!(error.reason, Reason::TooManyActive { .. } | Reason::TooManyOpen { .. })
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
