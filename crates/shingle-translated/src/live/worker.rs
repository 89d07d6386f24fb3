//! Carrying out works: the actions of the executor become I/O on physical zones.

use std::collections::BTreeSet;
use std::ops::Range;

use shingle_core::ranges::Ranges;
use shingle_core::units::{Block, Zone};
use shingle_engine::{Buffer, IO_PAGES_MAX};
use shingle_translation::{Action, Counters, Executor, Place, Queue, Translation, Work};
use shingle_zoned::{Condition, Operation, Reason, ZoneReport, ZonedDisk as _, ZonedError};

use super::rewriting::Rewriting;
use super::{Plan, Shared};
use crate::bugs::{Bug, Seeded};
use crate::lost::Lost;
use crate::saved::Saver;
use crate::status::WrittenStatus;
use crate::zones::Table;

/// The state of works, behind a lock: one work at a time.
pub(super) struct Worker {
    pub(super) executor: Executor<Source>,
    pub(super) table: Table,
    pub(super) saver: Saver,
    /// The next checkpoint, while it is being written.
    pub(super) rewriting: Option<Rewriting>,
    /// Whether the translation itself gives a zone up only after a commit.
    pub(super) survives_power_cuts: bool,
    /// Host blocks whose place may have changed since the map of the readers was changed.
    pub(super) touched: Ranges,
    /// Host blocks that were moved or written since the last commit. If a flush fails, it is unknown what they hold.
    pub(super) unflushed: Ranges,
    /// Those of them that the host has written: the durable map has older data.
    pub(super) unflushed_by_host: Ranges,
    /// The blocks that the host is writing.
    pub(super) writing: Range<u64>,
    /// Blocks that the host had written when a flush failed, and has not written anew: the disk has older data.
    pub(super) reverted: Ranges,
    /// The host has not got an error for them yet, so its next flush fails.
    pub(super) owes_flush_error: bool,
    /// Host blocks whose place differs from that in the durable map.
    pub(super) unlogged: Ranges,
    /// Blocks of the disk that were written since the map of the readers was changed, so the map does not name them.
    pub(super) unpublished_blocks: Ranges,
    /// Blocks lost in the current work, which the map of the readers does not say yet.
    pub(super) lost: Lost,
    /// Blocks lost in the current work and not written by the host since they were lost. (A write before does not help.)
    pub(super) lost_now: Ranges,
    /// Whether lost blocks or their old copies have changed since the last commit.
    pub(super) lost_unlogged: bool,
    /// Lost blocks whose old copies are to be tried in idle time.
    pub(super) to_read_again: BTreeSet<u64>,
    pub(super) written: WrittenStatus,
    pub(super) commits: u64,
    /// The number of commits. At each, moved blocks become durable, and their old places may be overwritten from then on.
    pub(super) commit_count: u64,
    pub(super) checkpoints: u64,
    /// Those of them that were written in the background.
    pub(super) background_checkpoints: u64,
    /// Blocks that were gathered, and those that cannot be.
    pub(super) gathered_blocks: u64,
    pub(super) ungathered: Ranges,
    /// The failure from which the disk has not recovered yet.
    pub(super) failed: Option<Failure>,
    /// The number of failures, and the last one.
    pub(super) failures: u64,
    pub(super) last_failure: Option<String>,
    /// The counters of earlier translations since the disk was opened.
    pub(super) done_before: Counters,
    /// Memory for blocks that are moved, 512 KiB at most.
    pub(super) buffers: Vec<Buffer>,
    pub(super) bugs: Seeded,
}

/// The executor of a translation, with the data of blocks that it moves.
pub(super) fn executor(translation: Box<dyn Translation>) -> Executor<Source> {
    let mut executor = Executor::new(translation);
    executor.keep_data();
    executor
}

impl Worker {
    /// A worker that has done nothing.
    pub(super) fn new(
        translation: Box<dyn Translation>,
        table: Table,
        saver: Saver,
        bugs: Seeded,
    ) -> Worker {
        Worker {
            executor: executor(translation),
            table,
            saver,
            rewriting: None,
            survives_power_cuts: false,
            touched: Ranges::default(),
            unflushed: Ranges::default(),
            unflushed_by_host: Ranges::default(),
            writing: 0..0,
            reverted: Ranges::default(),
            owes_flush_error: false,
            unlogged: Ranges::default(),
            unpublished_blocks: Ranges::default(),
            lost: Lost::default(),
            lost_now: Ranges::default(),
            lost_unlogged: false,
            to_read_again: BTreeSet::new(),
            written: WrittenStatus::default(),
            commits: 0,
            commit_count: 0,
            checkpoints: 0,
            background_checkpoints: 0,
            gathered_blocks: 0,
            ungathered: Ranges::default(),
            failed: None,
            failures: 0,
            last_failure: None,
            done_before: Counters::default(),
            buffers: Vec::new(),
            bugs,
        }
    }
}

/// Where the data of a block is during a work.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) enum Source {
    /// Nowhere: the data is zeros.
    #[default]
    Zeros,
    /// In the unreadable part of a failed zone: the block was lost before.
    Gone,
    /// In the data that the host writes, at this index.
    Host(u32),
    /// On the disk, with the place of the translation and the number of commits at that time.
    Disk { at: Block, place: Place, commit: u64 },
}

/// Why a work failed.
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
    #[error(
        "zone {zone}: its write pointer is at block {} of the disk, and was at block {} when the last write was acknowledged: \
         the disk has lost writes, as it does when its power fails for a moment; what was written since the last flush is an \
         error until it is written anew", .found.0, .pointer.0
    )]
    LostWrites { zone: u32, found: Block, pointer: Block },
}

impl Stop {
    /// The disk reports a zone to be written up to `found`, and has acknowledged blocks up to `pointer` of it.
    fn lost_writes(report: &ZoneReport, found: u64, pointer: u32) -> Stop {
        let (found, pointer) = (report.first.after(found), report.first.after(pointer.into()));
        Stop::LostWrites { zone: report.zone.0, found, pointer }
    }

    /// Whether a spare zone was needed, and there was none.
    pub(super) fn lacks_spare(&self) -> bool {
        matches!(self, Stop::NoSpare(_) | Stop::NoSpareAfter(_))
    }

    /// Whether acknowledged writes may be lost: a flush failed, or a write pointer shows it.
    pub(super) fn may_lose_writes(&self) -> bool {
        match self {
            Stop::Disk(error) => error.operation == Operation::Flush,
            Stop::LostWrites { .. } => true,
            _ => false,
        }
    }
}

/// The state that recovery begins with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Since {
    /// The map of the readers.
    Published,
    /// The durable map.
    Durable,
}

/// A failure from which the disk has not recovered.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Failure {
    pub(super) what: String,
    pub(super) since: Since,
}

impl Worker {
    /// Carries out a work. If it fails half-way, the translation is ahead of the disk: see `failing.rs`.
    pub(super) fn work(
        &mut self,
        shared: &Shared,
        work: Work,
        data: &[Buffer],
        queue: &dyn Queue,
    ) -> Result<(), Stop> {
        self.work_of(shared, work, data, work.writes(), queue)
    }

    /// As [`Worker::work`], where the host writes these blocks only. Others that are written the disk has already: the durable
    /// map has them, too, unless the host has written them since.
    pub(super) fn work_of(
        &mut self,
        shared: &Shared,
        work: Work,
        data: &[Buffer],
        by_host: Range<u64>,
        queue: &dyn Queue,
    ) -> Result<(), Stop> {
        self.prepare(shared)?;
        self.lost_now.clear();
        self.unflushed_by_host.insert(by_host.clone());
        self.writing = by_host;
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
                    self.unflushed_by_host.remove(range.clone());
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
                self.host_data_is_written();
            }
            Action::Append { zone, .. } => {
                self.touch_steps();
                self.append(shared, zone, host)?;
                self.host_data_is_written();
            }
            Action::Reset { zone } => self.reset(shared, zone.0)?,
            Action::Commit => self.commit(shared)?,
        }
        Ok(())
    }

    /// The current action may change the places of its blocks.
    fn touch_steps(&mut self) {
        let Worker { executor, touched, unflushed, .. } = self;
        for range in executor.steps().iter().map(|step| step.blocks()) {
            touched.insert(range.clone());
            unflushed.insert(range);
        }
    }

    /// Writes the data of the current action into the buffer.
    fn put(&mut self, shared: &Shared, at: u64, host: &[Buffer]) -> Result<(), Stop> {
        let count = self.executor.data().len();
        let mut ahead = 0;
        while ahead < count {
            let range = ahead..count.min(ahead + IO_PAGES_MAX);
            let at = shared.plan.buffer_first.after(at + ahead as u64);
            ahead = range.end;
            self.with_data(shared, range, host, &mut |worker, data, gone| {
                // Unreadable blocks are not written: the durable map may name an older copy there, and does not say yet
                // that the block is lost.
                let gone = if worker.bugs.has(Bug::LostWrittenAsZeros) { &[] } else { gone };
                for part in without(data.len() as u64, gone) {
                    let (at, data) =
                        (at.after(part.start), &data[part.start as usize..part.end as usize]);
                    shared.disk.write(at, data)?;
                    worker.unpublished_blocks.insert(at.0..at.0 + data.len() as u64);
                    worker.written.buffer_blocks += data.len() as u64;
                }
                Ok(())
            })?;
        }
        Ok(())
    }

    /// Appends the data of the current action to a zone.
    fn append(&mut self, shared: &Shared, zone: Zone, host: &[Buffer]) -> Result<(), Stop> {
        let logical = zone.0;
        self.repair(shared, logical)?;
        let count = self.executor.data().len();
        let mut ahead = 0;
        while ahead < count {
            let range = ahead..count.min(ahead + IO_PAGES_MAX);
            ahead = range.end;
            self.with_data(shared, range, host, &mut |worker, data, _| {
                worker.append_piece(shared, logical, data)
            })?;
        }
        Ok(())
    }

    fn append_piece(&mut self, shared: &Shared, logical: u32, data: &[Buffer]) -> Result<(), Stop> {
        let mut again = true;
        loop {
            let pointer = self.table.pointers[logical as usize];
            let physical = self.table.physical[logical as usize];
            self.begin_zone(shared, physical)?;
            match shared.disk.write(shared.plan.on_disk(physical, pointer.into()), data) {
                Ok(()) => {
                    self.is_in_zone(shared, physical, pointer, data.len() as u32);
                    self.table.set_pointer(logical, pointer + data.len() as u32);
                    return Ok(());
                }
                // A part of the piece may have been written, or the zone has failed: another zone takes it.
                Err(error)
                    if again && !is_limit(&error) && self.is_readable(shared, logical)? =>
                {
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

    /// Notes that `count` blocks of a physical zone, from `first` on, were written.
    pub(super) fn is_in_zone(&mut self, shared: &Shared, physical: u32, first: u32, count: u32) {
        let at = shared.plan.on_disk(physical, first.into());
        self.unpublished_blocks.insert(at.0..at.0 + u64::from(count));
        self.written.zone_blocks += u64::from(count);
        self.table.appended.insert(physical, first + count);
        if u64::from(first + count) == shared.plan.capacity {
            self.table.is_not_active(physical);
        }
    }

    /// Whether what was appended to a logical zone can still be read.
    fn is_readable(&mut self, shared: &Shared, logical: u32) -> Result<bool, Stop> {
        let zone = Zone(self.table.physical[logical as usize]);
        let Ok(reports) = shared.disk.report(zone, 1) else { return Ok(false) };
        let Some(report) = reports.first() else { return Ok(false) };
        self.has_acknowledged(logical, report)?;
        if report.condition.has_failed() {
            self.table.failed.insert(report.zone.0);
        }
        Ok(report.condition != Condition::Offline)
    }

    /// Checks that the disk has what it has acknowledged of a logical zone, by the report of its physical one.
    pub(super) fn has_acknowledged(&self, logical: u32, report: &ZoneReport) -> Result<(), Stop> {
        let pointer = match self.table.flawed.get(&logical) {
            Some(&readable) => readable,
            None => self.table.pointers[logical as usize],
        };
        match report.write_pointer {
            Some(at) if at < pointer.into() && !self.bugs.has(Bug::PointersNotCompared) => {
                Err(Stop::lost_writes(report, at, pointer))
            }
            _ => Ok(()),
        }
    }

    /// Checks that the disk has all that was appended since the last commit, also in zones that logical ones have left: what was
    /// moved was read there. A disk whose power fails for a moment loses it, and acknowledges the next flush.
    pub(super) fn has_appended(&mut self, shared: &Shared) -> Result<(), Stop> {
        for &physical in self.table.appended.keys() {
            self.has_appended_to(shared, physical)?;
        }
        self.table.appended.clear();
        Ok(())
    }

    /// The same of one physical zone.
    fn has_appended_to(&self, shared: &Shared, physical: u32) -> Result<(), Stop> {
        let Some(&pointer) = self.table.appended.get(&physical) else { return Ok(()) };
        if self.bugs.has(Bug::ZonesLeftNotCompared) && !self.table.physical.contains(&physical) {
            return Ok(());
        }
        for report in shared.disk.report(Zone(physical), 1)? {
            if let Some(at) = report.write_pointer
                && at < u64::from(pointer)
                && !self.bugs.has(Bug::PointersNotCompared)
            {
                return Err(Stop::lost_writes(&report, at, pointer));
            }
        }
        Ok(())
    }

    /// Makes durable what was appended to a physical zone, and checks that the disk has it, before a command that moves the write
    /// pointer: later the pointer would not show what was lost. (Without the flush, it could be lost between report and command.)
    pub(super) fn keep_appended(&mut self, shared: &Shared, physical: u32) -> Result<(), Stop> {
        if !self.table.appended.contains_key(&physical) || self.bugs.has(Bug::FinishedNotCompared) {
            return Ok(());
        }
        self.flush(shared)?;
        self.has_appended_to(shared, physical)
    }

    /// Flushes the disk.
    pub(super) fn flush(&mut self, shared: &Shared) -> Result<(), ZonedError> {
        shared.disk.flush()?;
        self.table.reset_unflushed.clear();
        Ok(())
    }

    /// Makes sure that a zone may be written. If its reset is not durable, it is made so first: a disk that loses both the reset
    /// and what was then written could have its write pointer where it ought to be, with the old data below it.
    pub(super) fn begin_zone(&mut self, shared: &Shared, physical: u32) -> Result<(), Stop> {
        if self.table.reset_unflushed.contains(&physical) && !self.bugs.has(Bug::ResetUnflushed) {
            self.flush(shared)?;
        }
        self.make_active(shared, physical)
    }

    /// Resets a logical zone: it gets another physical zone. If there is no spare, the same one is reset, but only if the durable
    /// map needs nothing in it, which the translation makes sure of.
    fn reset(&mut self, shared: &Shared, logical: u32) -> Result<(), Stop> {
        let physical = self.table.physical[logical as usize];
        let in_place = self.bugs.has(Bug::ZoneRewrittenInPlace);
        let spare = if in_place { None } else { self.take_spare(shared)? };
        match spare {
            Some(spare) => self.table.move_to(logical, spare, 0),
            None if in_place
                || self.survives_power_cuts && !self.has_old_copies(shared, physical) =>
            {
                self.keep_appended(shared, physical)?;
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

    /// Takes a spare zone and resets it. Those that cannot be reset are bad, if the disk says that they have failed, or can reset
    /// another one.
    pub(super) fn take_spare(&mut self, shared: &Shared) -> Result<Option<u32>, Stop> {
        let (mut refused, mut last) = (Vec::new(), None);
        while let Some(spare) = self.table.spares.pop_first() {
            match self.reset_zone(shared, spare).or_else(|_| self.reset_zone(shared, spare)) {
                Ok(()) => {
                    self.table.bad += refused.len() as u32;
                    return Ok(Some(spare));
                }
                Err(_) if shared.has_failed(spare) => self.table.bad += 1,
                Err(error) => {
                    refused.push(spare);
                    last = Some(error);
                }
            }
        }
        self.table.spares.extend(refused);
        last.map_or(Ok(None), |error| Err(error.into()))
    }
}

impl Shared {
    /// Whether the disk says that a zone has failed.
    fn has_failed(&self, zone: u32) -> bool {
        let reports = self.disk.report(Zone(zone), 1);
        reports.is_ok_and(|reports| reports.iter().any(|report| report.condition.has_failed()))
    }
}

/// The ranges of `count` blocks without those that are `gone`.
fn without(count: u64, gone: &[Range<u64>]) -> impl Iterator<Item = Range<u64>> {
    let starts = std::iter::once(0).chain(gone.iter().map(|part| part.end));
    let ends = gone.iter().map(|part| part.start).chain(std::iter::once(count));
    starts.zip(ends).map(|(start, end)| start..end).filter(|part| !part.is_empty())
}

/// Whether a write failed only because of the limit on open or active zones: the zone is not damaged.
pub(super) fn is_limit(error: &ZonedError) -> bool {
    matches!(error.reason, Reason::TooManyActive { .. } | Reason::TooManyOpen { .. })
}

impl Plan {
    /// The logical zone of a native place, and the offset in it.
    pub(super) fn split(&self, at: u64) -> (u32, u64) {
        ((at / self.capacity) as u32, at % self.capacity)
    }

    /// A block of a physical zone.
    pub(super) fn on_disk(&self, physical: u32, offset: u64) -> Block {
        Block(u64::from(physical) * self.zone_blocks + offset)
    }
}
