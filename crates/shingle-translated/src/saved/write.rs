//! Writes the map: claims, checkpoints, commits. The head of the folder has the layout.
//!
//! The caller has flushed the data that the map refers to. When a call succeeds, what it wrote is
//! durable, and was read back (`read_back.rs`). After an error that is unknown; then the map has to
//! be written again, by a checkpoint. If a flush failed, the map on the disk has to be read first.

use std::collections::BTreeSet;

use shingle_core::units::Block;
use shingle_device::Mark;
use shingle_engine::format::Page;
use shingle_engine::{Buffer, IO_PAGES_MAX};
use shingle_zoned::{ZonedDisk, ZonedError};

use super::areas::Areas;
use super::page::{self, Kind, Owner, RECORDS, Record, Stand};
use super::read_back::Unproven;
use super::superblock::Superblock;
use crate::bugs::{Bug, Seeded};

/// The most pages of a commit in the log; a larger one becomes a checkpoint. So it is known how far
/// a log must be searched for a later commit.
pub(super) const COMMIT_PAGES: u32 = 256;

/// The state of a log that cannot be written.
const NO_LOG: Log = Log { used: u32::MAX, commit: 0 };

/// The writer of the map; see the module.
pub(crate) struct Saver {
    superblock: Superblock,
    /// The copy of the superblock that may be bad, which is written first.
    worse: usize,
    log: Log,
    portions: Portions,
    /// A durable checkpoint was being put into use, and it is unknown which superblocks refer to
    /// it.
    naming: bool,
    /// The next checkpoint, which is being written while the log continues.
    next: Option<Next>,
    /// Checkpoints that were given up since the last one in use: their pages may be on the disk.
    given_up: u64,
    unproven: Unproven,
    /// The number of blocks written, in both copies.
    pub(crate) written_blocks: u64,
    bugs: Seeded,
}

/// How many records are written at a time.
#[derive(Clone, Copy)]
pub(crate) struct Portions {
    /// Records on a page of the log.
    of_a_page: u64,
    /// Records of the next checkpoint for each page of the log: eight pages. A checkpoint has space
    /// for twice the pages of a log, so it is complete before a quarter of the log is written.
    pub(crate) for_a_page: usize,
    /// Records in a commit of the next log that only catches up.
    pub(crate) of_a_commit: usize,
    /// The most records left for the commit that completes the next checkpoint.
    pub(crate) few: usize,
}

impl Portions {
    fn of(areas: &Areas) -> Portions {
        let records = RECORDS as usize;
        if cfg!(feature = "bugs") && areas.log_pages <= 8 {
            // In test builds a commit has several pages, and a checkpoint takes several commits,
            // although disks are small.
            return Portions { of_a_page: 3, for_a_page: 20, of_a_commit: 6, few: 6 };
        }
        Portions {
            of_a_page: RECORDS,
            for_a_page: 8 * records,
            of_a_commit: 64 * records,
            few: 2 * records,
        }
    }
}

/// A checkpoint that is being written, and the log behind it.
struct Next {
    generation: u64,
    /// The pages of the checkpoint so far.
    pages: u32,
    log: Log,
}

/// The used part of a log.
#[derive(Clone, Copy)]
struct Log {
    /// The number of pages.
    used: u32,
    /// The number of the last commit.
    commit: u64,
}

impl Saver {
    /// Continues after `superblock`. A [`Saver::claim`] and a checkpoint have to come first.
    pub(crate) fn new(superblock: Superblock, worse: usize, bugs: Seeded) -> Saver {
        let portions = Portions::of(&superblock.areas);
        Saver {
            superblock,
            worse,
            log: NO_LOG,
            portions,
            naming: false,
            next: None,
            given_up: 0,
            unproven: Unproven::default(),
            written_blocks: 0,
            bugs,
        }
    }

    pub(crate) fn superblock(&self) -> &Superblock {
        &self.superblock
    }

    pub(crate) fn portions(&self) -> Portions {
        self.portions
    }

    /// The number of pages of the log in use.
    pub(crate) fn log_used(&self) -> u32 {
        self.log.used.min(self.superblock.areas.log_pages)
    }

    /// Records that a new process uses the disk, to distinguish its pages from those of the one
    /// before. The new superblock depends only on the one before, so it does no harm if the claim
    /// of a killed process is written late.
    pub(crate) fn claim(&mut self, disk: &dyn ZonedDisk) -> Result<(), ZonedError> {
        if self.bugs.has(Bug::EpochNotSaid) {
            return Ok(());
        }
        self.superblock.epoch += 1;
        self.write_superblocks(disk)
    }

    /// Records which cache uses the disk.
    pub(crate) fn set_mark(
        &mut self,
        disk: &dyn ZonedDisk,
        mark: Option<Mark>,
    ) -> Result<(), ZonedError> {
        self.superblock.mark = mark;
        self.write_superblocks(disk)
    }

    /// Erases the map.
    pub(crate) fn erase(&mut self, disk: &dyn ZonedDisk) -> Result<(), ZonedError> {
        let mut unread = BTreeSet::new();
        for copy in 0..2 {
            self.put_superblock(disk, copy, [0; 4096], &mut unread)?;
        }
        Ok(())
    }

    /// Erases the superblocks of an older map that was in other blocks. Those in zones that have
    /// failed stay: the new map is of a later epoch.
    pub(crate) fn erase_old(
        &mut self,
        disk: &dyn ZonedDisk,
        places: [Block; 2],
    ) -> Result<(), ZonedError> {
        for at in places {
            let zone = disk.geometry().place(at).map(|(zone, _)| zone);
            let reports = zone.map_or(Ok(Vec::new()), |zone| disk.report(zone, 1))?;
            if reports.iter().all(|report| !report.condition.has_failed()) {
                self.put(disk, at, &[Buffer::default()])?;
                self.flush(disk)?;
            }
        }
        Ok(())
    }

    /// Fills all pages of the logs with zeros: a page that is neither blank nor valid later is
    /// damaged.
    pub(crate) fn blank_logs(&mut self, disk: &dyn ZonedDisk) -> Result<(), ZonedError> {
        let areas = self.superblock.areas;
        let mut read = vec![Buffer::default(); IO_PAGES_MAX];
        let zeros = read.clone();
        for (copy, generation) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
            let first = areas.log(copy, generation);
            for ahead in (0..areas.log_pages).step_by(IO_PAGES_MAX) {
                let at = first.after(ahead.into());
                let count = IO_PAGES_MAX.min((areas.log_pages - ahead) as usize);
                // Pages that are zeros are not written, so files keep their holes.
                let blank = disk.read(at, &mut read[..count]).is_ok()
                    && read[..count].iter().all(|page| page.0 == zeros[0].0);
                if !blank {
                    self.put(disk, at, &zeros[..count])?;
                }
            }
        }
        self.flush(disk)
    }

    fn write_superblocks(&mut self, disk: &dyn ZonedDisk) -> Result<(), ZonedError> {
        let page = self.superblock.encode();
        // (Without one that can be read the next start would find no map.)
        let mut unread = BTreeSet::new();
        for copy in [self.worse, 1 - self.worse] {
            // If this fails, it may be torn.
            self.worse = copy;
            self.put_superblock(disk, copy, page, &mut unread)?;
        }
        self.worse = 0;
        Ok(())
    }

    /// One after the other: a torn write leaves the other copy.
    fn put_superblock(
        &mut self,
        disk: &dyn ZonedDisk,
        copy: usize,
        page: Page,
        unread: &mut BTreeSet<u32>,
    ) -> Result<(), ZonedError> {
        let mut buffer = Buffer::default();
        buffer.0 = page;
        let at = self.superblock.areas.superblocks()[copy];
        self.put(disk, at, &[buffer])?;
        self.flush_beside(disk, unread)
    }

    /// Writes the whole map to the slot that is not in use, and puts it into use. `records` are at
    /// most [`Areas::records_max`].
    pub(crate) fn checkpoint(
        &mut self,
        disk: &dyn ZonedDisk,
        records: impl Iterator<Item = Record>,
    ) -> Result<(), ZonedError> {
        self.log = NO_LOG;
        if self.naming {
            // Neither slot may be overwritten before both superblocks refer to the other one.
            self.name(disk)?;
        }
        self.give_up_next();
        // A checkpoint that failed before it was in use is written again in the same place.
        let before = self.superblock.clone();
        self.superblock.generation = self.next_generation();
        self.superblock.checkpoint_epoch = before.epoch;
        let done = self.write_checkpoint(disk, records);
        if done.is_err() && !self.bugs.has(Bug::CheckpointOverOld) {
            self.superblock = before;
        }
        self.superblock.checkpoint_pages = done?;
        self.naming = true;
        self.name(disk)?;
        self.log = Log { used: 0, commit: 0 };
        Ok(())
    }

    fn name(&mut self, disk: &dyn ZonedDisk) -> Result<(), ZonedError> {
        self.write_superblocks(disk)?;
        (self.naming, self.given_up) = (false, 0);
        Ok(())
    }

    /// The generation of the next checkpoint, which goes to the other slot. No page of one that was
    /// given up is taken for it.
    fn next_generation(&self) -> u64 {
        let given_up = if self.bugs.has(Bug::GivenUpTaken) { 0 } else { self.given_up };
        self.superblock.generation + 1 + 2 * given_up
    }

    /// Writes the pages of a checkpoint, and returns their number.
    fn write_checkpoint(
        &mut self,
        disk: &dyn ZonedDisk,
        records: impl Iterator<Item = Record>,
    ) -> Result<u32, ZonedError> {
        let mut records = records.peekable();
        let (mut sequence, mut pages) = (0, Vec::new());
        loop {
            let of_pages = RECORDS as usize * IO_PAGES_MAX;
            pages.clear();
            pages.extend(records.by_ref().take(of_pages));
            let last = records.peek().is_none();
            sequence = self.put_pages(disk, self.superblock.generation, sequence, &pages, last)?;
            if last {
                break;
            }
        }
        if !self.bugs.has(Bug::NamedBeforeCheckpoint) {
            self.flush(disk)?;
        }
        Ok(sequence)
    }

    /// Writes pages of a checkpoint from `sequence` on, all full except the last, and returns the
    /// next sequence.
    fn put_pages(
        &mut self,
        disk: &dyn ZonedDisk,
        generation: u64,
        sequence: u32,
        records: &[Record],
        last: bool,
    ) -> Result<u32, ZonedError> {
        let areas = self.superblock.areas;
        let groups = records.chunks(RECORDS as usize);
        // A map always has zones.
        let end = sequence + groups.len() as u32;
        assert!(end <= areas.checkpoint_pages, "who calls has counted the records");
        let pages: Vec<Buffer> = (sequence..)
            .zip(groups)
            .map(|(sequence, group)| {
                let last = last && sequence + 1 == end;
                let stand = Stand { kind: Kind::Checkpoint, sequence, commit: 0, last };
                self.page(generation, stand, group)
            })
            .collect();
        for copy in 0..2 {
            let at = areas.checkpoint(copy, generation).after(sequence.into());
            self.put(disk, at, &pages)?;
        }
        Ok(end)
    }

    fn put(&mut self, disk: &dyn ZonedDisk, at: Block, pages: &[Buffer]) -> Result<(), ZonedError> {
        for (piece, ahead) in pages.chunks(IO_PAGES_MAX).zip((0..).step_by(IO_PAGES_MAX)) {
            let at = at.after(ahead);
            disk.write(at, piece)?;
            self.written_blocks += piece.len() as u64;
            self.unproven.wrote(at, piece);
        }
        Ok(())
    }

    /// Makes durable what was written.
    fn flush(&mut self, disk: &dyn ZonedDisk) -> Result<(), ZonedError> {
        self.flush_beside(disk, &mut BTreeSet::new())
    }

    /// Makes durable what was written, beside copies that were flushed before and of which these could not be read.
    fn flush_beside(
        &mut self,
        disk: &dyn ZonedDisk,
        unread: &mut BTreeSet<u32>,
    ) -> Result<(), ZonedError> {
        let unproven = std::mem::take(&mut self.unproven);
        disk.flush()?;
        if self.bugs.has(Bug::MapNotReadBack) { Ok(()) } else { unproven.read_back(disk, unread) }
    }

    /// Whether a commit of `records` records fits into the log.
    pub(crate) fn has_room(&self, records: u64) -> bool {
        self.has_room_in(self.log, records)
    }

    fn has_room_in(&self, log: Log, records: u64) -> bool {
        let pages = records.div_ceil(self.portions.of_a_page).max(1);
        let rest = self.superblock.areas.log_pages.saturating_sub(log.used);
        pages <= u64::from(rest.min(COMMIT_PAGES))
    }

    /// Writes a commit, which fits, to the log.
    pub(crate) fn commit(
        &mut self,
        disk: &dyn ZonedDisk,
        records: &[Record],
    ) -> Result<(), ZonedError> {
        let log = self.log;
        // A part of a failed commit may be on the disk: nothing is written behind it, or over it.
        if !self.bugs.has(Bug::LogGoesOn) {
            self.log = NO_LOG;
        }
        let log = self.put_commit(disk, self.superblock.generation, log, records)?;
        if !self.bugs.has(Bug::AnsweredBeforeLog) {
            self.flush(disk)?;
        }
        self.log = log;
        Ok(())
    }

    fn put_commit(
        &mut self,
        disk: &dyn ZonedDisk,
        generation: u64,
        log: Log,
        records: &[Record],
    ) -> Result<Log, ZonedError> {
        assert!(self.has_room_in(log, records.len() as u64), "who calls has asked");
        let (groups, commit) = (records.chunks(self.portions.of_a_page as usize), log.commit + 1);
        let used = log.used + groups.len() as u32;
        let pages: Vec<Buffer> = (log.used..)
            .zip(groups)
            .map(|(sequence, group)| {
                let last = sequence + 1 == used;
                self.page(generation, Stand { kind: Kind::Log, sequence, commit, last }, group)
            })
            .collect();
        let copies = if self.bugs.has(Bug::OneCopyOfLog) { 1 } else { 2 };
        for copy in 0..copies {
            let at = self.superblock.areas.log(copy, generation).after(log.used.into());
            self.put(disk, at, &pages)?;
        }
        Ok(Log { used, commit })
    }

    fn page(&self, generation: u64, stand: Stand, records: &[Record]) -> Buffer {
        let mut buffer = Buffer::default();
        let Superblock { uuid, epoch, .. } = self.superblock;
        page::encode(&mut buffer.0, Owner { uuid, epoch, generation }, stand, records);
        buffer
    }
}

/// The next checkpoint, written while the log continues. Changes of what is already written are in
/// the log; so the next log begins with all of these, and then the superblock refers to both.
impl Saver {
    /// Whether more than half of the log is in use.
    pub(crate) fn is_half_full(&self) -> bool {
        self.log_used() > self.superblock.areas.log_pages / 2
    }

    /// Begins the next checkpoint.
    pub(crate) fn begin_next(&mut self) {
        self.give_up_next();
        let generation = self.next_generation();
        self.next = Some(Next { generation, pages: 0, log: Log { used: 0, commit: 0 } });
    }

    /// Gives up the next checkpoint.
    pub(crate) fn give_up_next(&mut self) {
        self.unproven = Unproven::default();
        self.given_up += u64::from(self.next.take().is_some());
    }

    /// Writes pages of it, all full except the last one. False if there is not enough space: it was
    /// given up.
    pub(crate) fn go_on_with_next(
        &mut self,
        disk: &dyn ZonedDisk,
        records: &[Record],
        last: bool,
    ) -> Result<bool, ZonedError> {
        let Some(next) = &self.next else { return Ok(false) };
        let (generation, pages) = (next.generation, next.pages);
        let more = (records.len() as u64).div_ceil(RECORDS);
        if u64::from(pages) + more > self.superblock.areas.checkpoint_pages.into() {
            self.give_up_next();
            return Ok(false);
        }
        let pages = self.put_pages(disk, generation, pages, records, last)?;
        self.next.iter_mut().for_each(|next| next.pages = pages);
        Ok(true)
    }

    /// Writes the changes of its written part to its log. False if there is not enough space: it
    /// was given up.
    pub(crate) fn catch_up(
        &mut self,
        disk: &dyn ZonedDisk,
        records: &[Record],
    ) -> Result<bool, ZonedError> {
        let Some(next) = &self.next else { return Ok(false) };
        let (generation, log) = (next.generation, next.log);
        if !self.has_room_in(log, records.len() as u64) {
            self.give_up_next();
            return Ok(false);
        }
        let log = self.put_commit(disk, generation, log, records)?;
        self.next.iter_mut().for_each(|next| next.log = log);
        Ok(true)
    }

    /// Puts it into use: all of it is written, and its log has the last changes.
    pub(crate) fn name_next(&mut self, disk: &dyn ZonedDisk) -> Result<(), ZonedError> {
        let Some(next) = self.next.take() else { return Ok(()) };
        self.given_up += 1;
        if !self.bugs.has(Bug::NamedBeforeCheckpoint) {
            self.flush(disk)?;
        }
        self.superblock.generation = next.generation;
        self.superblock.checkpoint_pages = next.pages;
        (self.log, self.naming) = (NO_LOG, true);
        self.name(disk)?;
        self.log = next.log;
        Ok(())
    }
}
