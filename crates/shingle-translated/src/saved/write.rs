//! Writing the map: claims, checkpoints, commits. See the head of the folder for what lies where.
//!
//! Who calls has flushed what the map is to name. When a call returns without error, what it wrote is durable; a call that
//! fails leaves open what is on the disk, and nothing may be written after it.

use shingle_engine::format::Page;
use shingle_engine::{Buffer, IO_PAGES_MAX};
use shingle_zoned::{ZonedDisk, ZonedError};

use super::areas::Areas;
use super::page::{self, Kind, RECORDS, Record, Stand};
use super::superblock::Superblock;
use crate::bugs::{Bug, Seeded};

/// Pages of a commit in the log at most; a larger one is a checkpoint. So it is known how far a log must be looked
/// through for a later commit.
pub(super) const COMMIT_PAGES: u32 = 256;

/// See the module.
pub(crate) struct Saver {
    superblock: Superblock,
    /// Pages of the log in use.
    log_used: u32,
    /// The last commit of the log.
    commit: u64,
    /// Records of a page of the log.
    log_records: u64,
    /// Blocks written, in both copies.
    pub(crate) written_blocks: u64,
    bugs: Seeded,
}

impl Saver {
    /// Goes on after `superblock`. Before anything else there is to be a [`Saver::claim`] and a checkpoint.
    pub(crate) fn new(superblock: Superblock, bugs: Seeded) -> Saver {
        // (In test builds commits have several pages though disks are small.)
        let log_records = if cfg!(feature = "bugs") { RECORDS.min(3) } else { RECORDS };
        let (log_used, commit, written_blocks) = (u32::MAX, 0, 0);
        Saver { superblock, log_used, commit, log_records, written_blocks, bugs }
    }

    pub(crate) fn superblock(&self) -> &Superblock {
        &self.superblock
    }

    /// Pages of the log in use.
    pub(crate) fn log_used(&self) -> u32 {
        self.log_used.min(self.superblock.areas.log_pages)
    }

    /// Says that a new process has the disk: its pages are told from those of the one before. What a superblock says here
    /// follows from the one before alone, so it does no harm if a killed process's claim lands late.
    pub(crate) fn claim(&mut self, disk: &dyn ZonedDisk) -> Result<(), ZonedError> {
        self.log_used = u32::MAX;
        if self.bugs.has(Bug::EpochNotSaid) {
            return Ok(());
        }
        self.superblock.epoch += 1;
        self.write_superblocks(disk)
    }

    /// No map is on the disk from now on.
    pub(crate) fn erase(&mut self, disk: &dyn ZonedDisk) -> Result<(), ZonedError> {
        for copy in 0..2 {
            self.put_superblock(disk, copy, [0; 4096])?;
        }
        Ok(())
    }

    fn write_superblocks(&mut self, disk: &dyn ZonedDisk) -> Result<(), ZonedError> {
        let page = self.superblock.encode();
        (0..2).try_for_each(|copy| self.put_superblock(disk, copy, page))
    }

    /// One after the other: a write that is torn leaves the other copy.
    fn put_superblock(
        &mut self,
        disk: &dyn ZonedDisk,
        copy: usize,
        page: Page,
    ) -> Result<(), ZonedError> {
        let mut buffer = Buffer::default();
        buffer.0 = page;
        let at = Areas::superblocks(self.superblock.areas.conventional_blocks)[copy];
        disk.write(at, &[buffer])?;
        self.written_blocks += 1;
        disk.flush()
    }

    /// Writes the whole map into the slot that does not count, and makes it count. `records` are
    /// [`Areas::records_max`] at most.
    pub(crate) fn checkpoint(
        &mut self,
        disk: &dyn ZonedDisk,
        records: impl Iterator<Item = Record>,
    ) -> Result<(), ZonedError> {
        let superblock = &mut self.superblock;
        superblock.generation += 1;
        superblock.checkpoint_epoch = superblock.epoch;
        let areas = superblock.areas;
        let mut records = records.peekable();
        let (mut sequence, mut pages, mut of_page) = (0, Vec::new(), Vec::new());
        loop {
            of_page.clear();
            of_page.extend(records.by_ref().take(RECORDS as usize));
            let last = records.peek().is_none();
            pages.push(
                self.page(Stand { kind: Kind::Checkpoint, sequence, commit: 0, last }, &of_page),
            );
            sequence += 1;
            assert!(sequence <= areas.checkpoint_pages, "who calls has counted the records");
            if last || pages.len() == IO_PAGES_MAX {
                let ahead = u64::from(sequence) - pages.len() as u64;
                for copy in 0..2 {
                    let at = areas.checkpoint(copy, self.superblock.generation).after(ahead);
                    disk.write(at, &pages)?;
                }
                self.written_blocks += 2 * pages.len() as u64;
                pages.clear();
            }
            if last {
                break;
            }
        }
        self.superblock.checkpoint_pages = sequence;
        if !self.bugs.has(Bug::NamedBeforeCheckpoint) {
            disk.flush()?;
        }
        self.write_superblocks(disk)?;
        (self.log_used, self.commit) = (0, 0);
        Ok(())
    }

    /// Whether a commit of so many records has room in the log.
    pub(crate) fn has_room(&self, records: u64) -> bool {
        let pages = records.div_ceil(self.log_records).max(1);
        let rest = self.superblock.areas.log_pages.saturating_sub(self.log_used);
        pages <= u64::from(rest.min(COMMIT_PAGES))
    }

    /// Writes a commit, which has room, to the log.
    pub(crate) fn commit(
        &mut self,
        disk: &dyn ZonedDisk,
        records: &[Record],
    ) -> Result<(), ZonedError> {
        assert!(self.has_room(records.len() as u64), "who calls has asked");
        self.commit += 1;
        let mut pages = Vec::new();
        let (groups, commit) = (records.chunks(self.log_records as usize), self.commit);
        let count = groups.len();
        for (at, group) in groups.enumerate() {
            let (sequence, last) = (self.log_used + at as u32, at + 1 == count);
            pages.push(self.page(Stand { kind: Kind::Log, sequence, commit, last }, group));
        }
        let copies = if self.bugs.has(Bug::OneCopyOfLog) { 1 } else { 2 };
        for copy in 0..copies {
            let at = self.superblock.areas.log(copy, self.superblock.generation);
            let at = at.after(self.log_used.into());
            for (piece, ahead) in pages.chunks(IO_PAGES_MAX).zip((0..).step_by(IO_PAGES_MAX)) {
                disk.write(at.after(ahead), piece)?;
            }
        }
        self.written_blocks += 2 * pages.len() as u64;
        self.log_used += pages.len() as u32;
        if self.bugs.has(Bug::AnsweredBeforeLog) {
            return Ok(());
        }
        disk.flush()
    }

    fn page(&self, stand: Stand, records: &[Record]) -> Buffer {
        let mut buffer = Buffer::default();
        page::encode(&mut buffer.0, self.superblock.owner(), stand, records);
        buffer
    }
}
