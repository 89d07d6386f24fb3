//! What survives a crash: records of where each block is, added as that changes and committed in
//! groups; the frames that commits free; and the blocks that left by a record not committed yet.
//!
//! Adding a record returns its number, and operations may wait for the commit that covers it. Each
//! step of a commit returns [`Progress`], which tells the caller what to resume.

mod commit;
mod frames;
mod invalidations;
#[cfg(feature = "bugs")]
mod state;

use std::ops::Range;

use shingle_core::units::{Block, Nanos};

use super::keys::OpKey;
use super::port::Port;
use super::status::JournalStatus;
use crate::bugs::{Bug, Seeded};
use crate::data::Data;
use crate::format::journal::Record;
use crate::format::table::Entry;
use crate::format::{Frame, State};
use crate::journal::{Journal, PossibleContents, Write};

/// The number of all records that were found at the start: they are committed after the first flush
/// of the SSD.
pub(super) const FOUND: u64 = 1;

/// The journal, the frame table, and the free frames.
#[derive(Clone)]
pub(super) struct Durability {
    journal: Journal,
    frames: frames::FreeFrames,
    invalidations: invalidations::Pending,
    /// The number of the last record added, and of the last one committed.
    added: u64,
    committed: u64,
    /// The number of completed commits, and of records on earlier SSDs.
    commits: u64,
    earlier_records: u64,
    wanted: u64,
    /// When the oldest record was added that is in no page yet.
    oldest: Option<Nanos>,
    commit: Option<commit::GroupCommit>,
    /// Whether a commit may have become due for another reason than time, or an operation that
    /// waits for a frame. It may be set in doubt, so it is not hashed.
    may_be_due: bool,
    /// When the last commit ended.
    ended: Nanos,
    /// Second copies of pages, for the next commit.
    next: Vec<Write>,
    /// Operations that wait until a record is committed.
    waiting: Vec<(u64, OpKey)>,
    /// Operations whose record is committed: to be resumed.
    released: Vec<OpKey>,
    /// After a crash: free frames that may not be used before the first commit.
    withheld: Option<Vec<Frame>>,
    /// What was found at the start is durable. A process that was killed leaves data that only the
    /// flush of its successor makes durable, and pages of the journal would call it durable.
    settled: bool,
    /// Metadata cannot be written any more: nothing more can be committed.
    failed: bool,
    commit_after: Nanos,
    bugs: Seeded,
}

/// The result of a step of a commit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[must_use]
pub(super) enum Progress {
    /// The commit is in flight, or there is none.
    Nothing,
    /// The commit is done: [`Durability::take_released`] returns the operations to resume.
    Committed,
    /// The commit failed, and no later one can succeed.
    SsdFailed,
}

/// Other causes for a commit, besides operations that wait for a record.
#[derive(Clone, Copy, Debug)]
pub(super) struct Demand {
    /// An operation waits for a free frame.
    pub(super) frames: bool,
    /// All of journal and table is to be written: the store is ending.
    pub(super) all: bool,
}

impl Durability {
    /// Continues a journal. `corrections` are recorded before anything else.
    pub(super) fn open(
        mut journal: Journal,
        corrections: &[Record],
        commit_after: Nanos,
        bugs: Seeded,
    ) -> Durability {
        journal.make(bugs);
        let layout = *journal.layout();
        let holds = |entry: &Entry| entry.state != State::Free;
        let mut used: Vec<bool> = journal.table.entries().iter().map(holds).collect();
        let mut durability = Durability {
            journal,
            frames: frames::FreeFrames::new(layout.slots as usize, layout.frames as usize),
            invalidations: invalidations::Pending::default(),
            added: FOUND,
            committed: 0,
            commits: 0,
            earlier_records: 0,
            wanted: 0,
            oldest: None,
            commit: None,
            may_be_due: true,
            ended: Nanos::ZERO,
            next: Vec::new(),
            waiting: Vec::new(),
            released: Vec::new(),
            withheld: None,
            settled: false,
            failed: false,
            commit_after,
            bugs,
        };
        for record in corrections {
            // A frame that a correction releases becomes free when the correction is committed.
            used[record.frame.0 as usize] = true;
            if !bugs.has(Bug::CorrectionsForgotten) {
                durability.record(*record, Nanos::ZERO);
            }
        }
        let free = (0..layout.frames as u32).rev().map(Frame);
        let mut free: Vec<Frame> = free.filter(|frame| !used[frame.0 as usize]).collect();
        if bugs.has(Bug::FramesUsedBeforeCorrections) {
            durability.frames.free(&mut free);
        } else {
            // What was found has to be durable, and recorded as such, before any frame is written.
            durability.withheld = Some(free);
        }
        durability
    }

    /// Adds a record; returns its number.
    #[inline]
    pub(super) fn record(&mut self, record: Record, now: Nanos) -> u64 {
        self.added += 1;
        if !self.failed {
            self.oldest.get_or_insert(now);
            self.journal.add(record);
            self.may_be_due |= self.may_make_commit_due();
        }
        self.added
    }

    /// Adds the record of a block's new frame, then the record of the one that is `superseded`.
    /// Returns the number of the first.
    pub(super) fn record_move(
        &mut self,
        record: Record,
        superseded: Option<Frame>,
        now: Nanos,
    ) -> u64 {
        if let Some(frame) = superseded.filter(|_| self.bugs.has(Bug::SupersededBeforeNew)) {
            self.supersede(record.block, frame, now);
            return self.record(record, now);
        }
        let number = self.record(record, now);
        if let Some(frame) = superseded {
            self.supersede(record.block, frame, now);
        }
        number
    }

    fn supersede(&mut self, block: Block, frame: Frame, now: Nanos) {
        if !self.bugs.has(Bug::SupersededForgotten) {
            self.record(Record { frame, crc: 0, block, state: State::Superseded }, now);
        }
        self.reuse_too_early(frame);
    }

    /// Records that the block of `frame` has left.
    pub(super) fn invalidate(&mut self, block: Block, frame: Frame, now: Nanos) {
        if self.bugs.has(Bug::DroppedForgotten) {
            return;
        }
        let number = self.record(Record { frame, crc: 0, block, state: State::Free }, now);
        self.invalidations.add(block, number);
        self.reuse_too_early(frame);
    }

    /// The number of the record that has to be committed before the disk may get newer data of
    /// `block`, which is not cached.
    pub(super) fn invalidation_of(&self, block: Block) -> u64 {
        self.invalidations.of(block)
    }

    /// Whether the disk may get newer data of all these blocks, none of which is cached.
    pub(super) fn has_committed_invalidations(&self, blocks: Range<u64>) -> bool {
        self.committed >= FOUND && !self.invalidations.any_in(blocks)
    }

    /// For a seeded bug: takes an invalidation for committed.
    pub(super) fn forget_invalidation(&mut self, block: Block) {
        self.invalidations.forget(block);
    }

    /// For seeded bugs.
    fn reuse_too_early(&mut self, frame: Frame) {
        if self.bugs.has(Bug::FrameReusedAtOnce) {
            self.frames.free_at_once(frame);
        } else if self.bugs.has(Bug::FrameReusedAtCommit) {
            self.frames.free_at_commit(frame);
        }
    }

    /// The number of the last record added.
    pub(super) fn added(&self) -> u64 {
        self.added
    }

    /// The number of the last record committed.
    #[inline]
    pub(super) fn committed(&self) -> u64 {
        self.committed
    }

    pub(super) fn status(&self) -> JournalStatus {
        JournalStatus {
            records: self.earlier_records + self.added - FOUND,
            commits: self.commits,
            used_pages: self.journal.used_pages(),
            pages: self.journal.layout().journal_pages,
            has_settings: self.journal.has_settings(),
        }
    }

    /// Continues the counters of a predecessor.
    pub(super) fn count_on(&mut self, before: &JournalStatus) {
        (self.commits, self.earlier_records) = (before.commits, before.records);
    }

    /// Wants a commit that covers this record.
    pub(super) fn want(&mut self, number: u64) {
        if number > self.wanted {
            (self.wanted, self.may_be_due) = (number, true);
        }
    }

    #[inline]
    pub(super) fn may_be_due(&self) -> bool {
        self.may_be_due
    }

    /// Lets `op` wait until this record is committed.
    pub(super) fn wait(&mut self, number: u64, op: OpKey) {
        self.want(number);
        self.waiting.push((number, op));
    }

    /// Takes the operations whose record is committed.
    pub(super) fn take_released(&mut self) -> impl Iterator<Item = OpKey> {
        self.released.drain(..)
    }

    /// Whether nothing can be committed any more.
    #[inline]
    pub(super) fn has_failed(&self) -> bool {
        self.failed
    }

    /// Whether what was found at the start is durable.
    pub(super) fn is_settled(&self) -> bool {
        self.settled
    }

    /// Whether no commit is in flight, nor due to write second copies.
    pub(super) fn is_idle(&self) -> bool {
        self.commit.is_none() && self.next.is_empty()
    }

    /// Whether the SSD has all records and all of the table.
    pub(super) fn is_emptied(&self) -> bool {
        self.journal.is_committed() && self.journal.table.first_needed_page().is_none()
    }

    /// Lets the hints be written to the SSD, too, at the end.
    pub(super) fn write_hints(&mut self) {
        self.journal.touch_hinted();
    }

    /// Writes the superblock that says that nothing is left to replay.
    pub(super) fn write_last_superblock<D: Data>(
        &mut self,
        now: Nanos,
        port: &mut Port<D>,
    ) -> Progress {
        let write = self.journal.write_last_superblock().expect("no other is on its way");
        self.begin(vec![write], now, port)
    }

    /// Sets the size of the disk for the superblock.
    pub(super) fn set_disk_bytes(&mut self, bytes: u64) {
        self.journal.set_disk_bytes(bytes);
        self.may_be_due = true;
    }

    /// The size of the disk in the superblock.
    pub(super) fn disk_bytes(&self) -> u64 {
        self.journal.superblock().disk_bytes
    }

    /// Ends all commits. None is in flight.
    pub(super) fn end(&mut self) {
        assert!(self.is_idle(), "nothing is on its way to the SSD");
        self.failed = true;
    }

    pub(super) fn commit_after(&self) -> Nanos {
        self.commit_after
    }

    /// Sets policy and parameters for the superblock.
    pub(super) fn set_settings(&mut self, settings: String) {
        self.journal.set_settings(settings);
        self.may_be_due = true;
    }

    /// Takes a free frame, if there is one.
    #[inline]
    pub(super) fn take_frame(&mut self) -> Option<Frame> {
        let frame = self.frames.take();
        self.may_be_due |= self.frames.is_low();
        frame
    }

    /// Returns a frame to which a write failed.
    pub(super) fn put_back_last(&mut self, frame: Frame) {
        self.frames.put_back_last(frame);
    }

    /// The number of free frames.
    #[inline]
    pub(super) fn free_frames(&self) -> usize {
        self.frames.count()
    }

    /// The page of the SSD where `frame` is.
    #[inline]
    pub(super) fn frame_page(&self, frame: Frame) -> u64 {
        self.journal.layout().frame_page(frame)
    }

    /// Prefetches the entry of `frame`.
    #[inline]
    pub(super) fn prefetch(&self, frame: Frame) {
        self.journal.table.prefetch(frame);
    }

    /// The entry of `frame` in the table.
    pub(super) fn entry(&self, frame: Frame) -> &Entry {
        self.journal.table.entry(frame)
    }

    /// Sets when the block of `frame` was last used. It is written with its page, but does not make
    /// a write due.
    #[inline]
    pub(super) fn set_hint(&mut self, frame: Frame, hint: u16) {
        self.journal.table.set_hint(frame, hint);
    }

    /// What the SSD may hold at the next start.
    pub(super) fn possible_contents(&self) -> PossibleContents {
        self.journal.possible_contents()
    }

    /// Returns the copies of a superblock that invalidates the clean blocks, or everything if
    /// `dirty_too`. The journal has ended.
    pub(super) fn invalidate_ssd(&mut self, dirty_too: bool) -> [Write; 2] {
        self.journal.invalidate(dirty_too)
    }

    /// Takes all operations that wait for a commit: there will be none.
    pub(super) fn take_waiting(&mut self) -> impl Iterator<Item = OpKey> {
        self.waiting.drain(..).map(|(_, op)| op)
    }
}
