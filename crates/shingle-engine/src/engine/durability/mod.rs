//! What survives: records of what is where, given in as it changes and committed in groups; the frames that
//! this makes free; and whose leaving the SSD does not say yet.
//!
//! Whoever gives in a record gets its number, and may wait for the commit that covers it. A commit ends
//! with [`Progress`], which says who goes on.

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
use crate::journal::{Journal, MayHold, Write};

/// Stands for all records that were found at the start: they are committed when the SSD was flushed.
pub(super) const FOUND: u64 = 1;

/// Journal, table, and free frames.
#[derive(Clone)]
pub(super) struct Durability {
    journal: Journal,
    frames: frames::FreeFrames,
    invalidations: invalidations::Pending,
    /// Records given in, and of those committed, since the start.
    added: u64,
    committed: u64,
    /// Commits that ended.
    commits: u64,
    wanted: u64,
    /// When the oldest record was given in that is in no page.
    oldest: Option<Nanos>,
    commit: Option<commit::GroupCommit>,
    /// A commit may have become due, beside for who waits for a frame or as time has passed. (In doubt it may: it is not
    /// hashed.)
    may_be_due: bool,
    /// When the last one ended.
    ended: Nanos,
    /// Second copies, for the next commit.
    next: Vec<Write>,
    /// Operations that wait until a record is committed.
    waiting: Vec<(u64, OpKey)>,
    /// Those of them that go on.
    released: Vec<OpKey>,
    /// After a crash: free frames, not to be used before the first commit.
    withheld: Option<Vec<Frame>>,
    /// What was found at the start survives a power cut. A process that was killed leaves what only
    /// its successor's flush makes safe, and pages of the journal would call it durable.
    settled: bool,
    /// Metadata can no longer be written: nothing more can be committed.
    failed: bool,
    commit_after: Nanos,
    bugs: Seeded,
}

/// What has come of a step of a commit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[must_use]
pub(super) enum Progress {
    /// It goes on, or there is none.
    Nothing,
    /// It is done: those go on whom [`Durability::take_released`] gives.
    Committed,
    /// It failed, and none will go well any more.
    SsdFailed,
}

/// What others want of commits, beside those who wait for a record.
#[derive(Clone, Copy, Debug)]
pub(super) struct Demand {
    /// Somebody waits for a free frame.
    pub(super) frames: bool,
    /// All of journal and table is to be written: it is the end.
    pub(super) all: bool,
}

impl Durability {
    /// Goes on with a journal. `corrections` come before anything else.
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
            // Those that a correction gives up come back when it is committed.
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
            // What was found has to be safe, and said, before any frame is written.
            durability.withheld = Some(free);
        }
        durability
    }

    /// Gives in a record; returns its number.
    #[inline]
    pub(super) fn record(&mut self, record: Record, now: Nanos) -> u64 {
        self.added += 1;
        if !self.failed {
            self.oldest.get_or_insert(now);
            self.journal.add(record);
            self.may_be_due |= self.may_make_one_due();
        }
        self.added
    }

    /// Gives in the record of a block's new frame, then that of the one that is `superseded`. Returns the number
    /// of the first.
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

    /// The block of `frame` has left.
    pub(super) fn invalidate(&mut self, block: Block, frame: Frame, now: Nanos) {
        if self.bugs.has(Bug::DroppedForgotten) {
            return;
        }
        let number = self.record(Record { frame, crc: 0, block, state: State::Free }, now);
        self.invalidations.add(block, number);
        self.reuse_too_early(frame);
    }

    /// The record that has to be committed before the disk may get something newer of `block`, which
    /// is not cached.
    pub(super) fn invalidation_of(&self, block: Block) -> u64 {
        self.invalidations.of(block)
    }

    /// Whether the disk may get something newer of all these blocks, none of which is cached.
    pub(super) fn gave_up(&self, blocks: Range<u64>) -> bool {
        self.committed >= FOUND && !self.invalidations.any_in(blocks)
    }

    /// Takes an invalidation for committed: a seeded bug only.
    pub(super) fn forget_invalidation(&mut self, block: Block) {
        self.invalidations.forget(block);
    }

    /// Seeded bugs only.
    fn reuse_too_early(&mut self, frame: Frame) {
        if self.bugs.has(Bug::FrameReusedAtOnce) {
            self.frames.free_at_once(frame);
        } else if self.bugs.has(Bug::FrameReusedAtCommit) {
            self.frames.free_at_commit(frame);
        }
    }

    /// Records given in.
    pub(super) fn added(&self) -> u64 {
        self.added
    }

    /// Of those committed.
    #[inline]
    pub(super) fn committed(&self) -> u64 {
        self.committed
    }

    /// What the journal is doing.
    pub(super) fn status(&self) -> JournalStatus {
        JournalStatus {
            records: self.added - FOUND,
            commits: self.commits,
            used_pages: self.journal.used_pages(),
            pages: self.journal.layout().journal_pages,
            has_settings: self.journal.has_settings(),
        }
    }

    /// A commit is due that covers this record.
    pub(super) fn want(&mut self, number: u64) {
        if number > self.wanted {
            (self.wanted, self.may_be_due) = (number, true);
        }
    }

    /// Whether a commit may have become due.
    #[inline]
    pub(super) fn may_be_due(&self) -> bool {
        self.may_be_due
    }

    /// `op` goes on when this record is committed.
    pub(super) fn wait(&mut self, number: u64, op: OpKey) {
        self.want(number);
        self.waiting.push((number, op));
    }

    /// Those who waited, and go on now.
    pub(super) fn take_released(&mut self) -> impl Iterator<Item = OpKey> {
        self.released.drain(..)
    }

    /// Nothing can be committed any more.
    #[inline]
    pub(super) fn has_failed(&self) -> bool {
        self.failed
    }

    /// What was found at the start is known to be on the SSD.
    pub(super) fn is_settled(&self) -> bool {
        self.settled
    }

    /// No commit is under way, nor one due that was begun.
    pub(super) fn is_idle(&self) -> bool {
        self.commit.is_none() && self.next.is_empty()
    }

    /// The SSD has all records and all of the table.
    pub(super) fn is_emptied(&self) -> bool {
        self.journal.is_committed() && self.journal.table.needs_from().is_none()
    }

    /// The end begins: hints go to the SSD, too.
    pub(super) fn write_hints(&mut self) {
        self.journal.touch_hinted();
    }

    /// The superblock that says that nothing is left to replay.
    pub(super) fn write_last_superblock<D: Data>(
        &mut self,
        now: Nanos,
        port: &mut Port<D>,
    ) -> Progress {
        let write = self.journal.write_last_superblock().expect("no other is on its way");
        self.begin(vec![write], now, port)
    }

    /// The size of the disk that the superblock is to say.
    pub(super) fn set_disk_bytes(&mut self, bytes: u64) {
        self.journal.set_disk_bytes(bytes);
        self.may_be_due = true;
    }

    /// What both copies say.
    pub(super) fn disk_bytes(&self) -> u64 {
        self.journal.superblock().disk_bytes
    }

    /// No commit is under way, and none will be.
    pub(super) fn end(&mut self) {
        assert!(self.is_idle(), "nothing is on its way to the SSD");
        self.failed = true;
    }

    pub(super) fn commit_after(&self) -> Nanos {
        self.commit_after
    }

    /// What the superblock says of policy and parameters.
    pub(super) fn set_settings(&mut self, settings: String) {
        self.journal.set_settings(settings);
        self.may_be_due = true;
    }

    /// A frame that holds nothing.
    #[inline]
    pub(super) fn take_frame(&mut self) -> Option<Frame> {
        let frame = self.frames.take();
        self.may_be_due |= self.frames.few();
        frame
    }

    /// The SSD did not take a write to `frame`.
    pub(super) fn put_back_last(&mut self, frame: Frame) {
        self.frames.put_back_last(frame);
    }

    /// Frames that hold nothing.
    #[inline]
    pub(super) fn free_frames(&self) -> usize {
        self.frames.count()
    }

    /// The page of the SSD where `frame` is.
    #[inline]
    pub(super) fn frame_page(&self, frame: Frame) -> u64 {
        self.journal.layout().frame_page(frame)
    }

    /// Has the memory bring what the SSD says of `frame`.
    #[inline]
    pub(super) fn expect(&self, frame: Frame) {
        self.journal.table.expect(frame);
    }

    /// What the SSD says of `frame`.
    pub(super) fn entry(&self, frame: Frame) -> &Entry {
        self.journal.table.entry(frame)
    }

    /// How late the block of `frame` was used. It is written when the page is, and not for its own sake.
    #[inline]
    pub(super) fn hint(&mut self, frame: Frame, hint: u16) {
        self.journal.table.hint(frame, hint);
    }

    /// What the SSD may hold at the next start.
    pub(super) fn may_hold(&self) -> MayHold {
        self.journal.may_hold()
    }

    /// Copies of a superblock that says that what is clean does not count, or nothing at all. The journal has
    /// ended.
    pub(super) fn invalidate_ssd(&mut self, dirty_too: bool) -> [Write; 2] {
        self.journal.invalidate(dirty_too)
    }

    /// All who wait for a commit: there will be none.
    pub(super) fn take_waiting(&mut self) -> impl Iterator<Item = OpKey> {
        self.waiting.drain(..).map(|(_, op)| op)
    }
}
