//! Commits: records given in meanwhile go into pages of the journal together, the pages to the SSD,
//! then one flush serves all who wait. When the journal fills, pages of the table go along.
//!
//! A round is: pages sealed ► all written ► SSD flushed. One round at a time.

use shingle_core::units::Nanos;

use super::bugs::Bug;
use super::io::{Device, Failed, Kind, Then};
use super::{Engine, OpKey};
use crate::buffer::Buffer;
use crate::format::Frame;
use crate::format::journal::{RECORDS_MAX, Record};
use crate::journal::{Covered, Full, What, Write};

/// Stands for all records that were found at the start: they are committed when the SSD was flushed.
pub(super) const FOUND: u64 = 1;

/// All commits.
#[derive(Default)]
pub(super) struct Commits {
    /// Records given in, and of those committed, since the start.
    added: u64,
    committed: u64,
    wanted: u64,
    /// When the oldest record was given in that is in no page.
    oldest: Option<Nanos>,
    round: Option<Round>,
    /// When the last one ended.
    ended: Nanos,
    /// Second copies, for the next round.
    next: Vec<Write>,
    /// Operations that wait until a record is committed.
    waiting: Vec<(u64, OpKey)>,
    /// After a crash: free frames, not to be used before the first commit.
    withheld: Option<Vec<Frame>>,
    /// What was found at the start survives a power cut. A process that was killed leaves what only
    /// its successor's flush makes safe, and pages of the journal would call it durable.
    settled: bool,
    /// Metadata can no longer be written: nothing more can be committed.
    dead: bool,
}

struct Round {
    /// Records up to this one are committed with it.
    upto: u64,
    writing: usize,
    tries: u32,
    /// A page could not be written.
    failed: bool,
    covered: Option<Covered>,
}

/// Pages of metadata are tried so often.
const TRIES: u32 = 3;
/// Pages of the table that go along with a commit.
const TABLE_PAGES: usize = 256;
/// With so many records a commit begins though nobody waits.
const OPEN_MAX: usize = 8 * RECORDS_MAX;

impl Commits {
    pub(super) fn new() -> Commits {
        Commits { added: FOUND, ..Commits::default() }
    }

    pub(super) fn withhold(&mut self, free: Vec<Frame>) {
        self.withheld = Some(free);
    }

    pub(super) fn added(&self) -> u64 {
        self.added
    }

    pub(super) fn committed(&self) -> u64 {
        self.committed
    }

    pub(super) fn want(&mut self, number: u64) {
        self.wanted = self.wanted.max(number);
    }

    /// `op` goes on when this record is committed.
    pub(super) fn wait(&mut self, number: u64, op: OpKey) {
        self.want(number);
        self.waiting.push((number, op));
    }

    pub(super) fn is_dead(&self) -> bool {
        self.dead
    }

    pub(super) fn is_idle(&self) -> bool {
        self.round.is_none() && self.next.is_empty()
    }
}

impl Engine {
    /// Gives in a record; returns its number.
    pub(super) fn record(&mut self, record: Record) -> u64 {
        let commits = &mut self.commits;
        commits.added += 1;
        if !commits.dead {
            commits.oldest.get_or_insert(self.now);
            self.journal.add(record);
        }
        commits.added
    }

    /// Whether a round is due.
    fn commit_due(&self) -> bool {
        let commits = &self.commits;
        let open = self.journal.open();
        let frees = open > 0 || self.journal.given_up() > 0;
        let old = |since| self.now.since(since) >= self.config.commit_after;
        commits.wanted > commits.committed
            || commits.withheld.is_some()
            || !commits.next.is_empty()
            || frees && (self.frames.few() || !self.no_frame.is_empty())
            || open >= OPEN_MAX
            || commits.oldest.is_some_and(old)
            || self.checkpoint_due()
            || self.confirmation_due()
            || self.journal.is_reworded()
            || self.stopping.wants_commits()
    }

    /// Nothing was committed for a while, and the SSD does not say of the last records that they were
    /// flushed: the next page would, and none comes.
    fn confirmation_due(&self) -> bool {
        let quiet = self.now.since(self.commits.ended) >= self.config.commit_after;
        quiet && self.journal.is_unconfirmed()
    }

    /// The journal is a quarter full.
    fn checkpoint_due(&self) -> bool {
        self.journal.used_pages() * 4 >= self.journal.layout().journal_pages
    }

    pub(super) fn maybe_commit(&mut self) {
        if self.commits.round.is_some() || self.commits.dead {
            return;
        }
        if !self.commits.settled {
            self.begin_round(Vec::new());
            if self.bug(Bug::NoSsdFlushAtStart) {
                self.flush_covers();
                return self.round_done();
            }
            return self.flush_ssd();
        }
        if !self.commit_due() {
            return;
        }
        if self.confirmation_due() {
            self.journal.confirm();
        }
        let mut writes = std::mem::take(&mut self.commits.next);
        let full = loop {
            match self.journal.seal() {
                Ok(Some(pages)) => writes.extend(pages),
                Ok(None) => break false,
                Err(Full) => break true,
            }
        };
        if self.journal.is_reworded() {
            writes.extend(self.journal.write_superblock());
        }
        if self.checkpoint_due() || full || self.stopping.wants_commits() {
            writes.extend((0..TABLE_PAGES).map_while(|_| self.journal.write_table()));
            writes.extend(self.journal.write_superblock());
        }
        if !writes.is_empty() {
            self.begin_round(writes);
        } else if let Some(mut withheld) = self.commits.withheld.take() {
            // The SSD has said all there is to say.
            self.frames.freed(&mut withheld);
        }
    }

    pub(super) fn begin_round(&mut self, writes: Vec<Write>) {
        let open = self.journal.open() as u64;
        self.commits.oldest = (open > 0).then_some(self.now);
        // (The first round has no pages, and commits what was found.)
        let upto = self.commits.added - open;
        let round = Round { upto, writing: writes.len(), tries: 0, failed: false, covered: None };
        self.commits.round = Some(round);
        for write in writes {
            let mut buffer = self.pool.take();
            buffer.0 = write.bytes;
            let then = Then::Meta(write.what);
            self.ios.push(Device::Ssd, Kind::Write, write.page, buffer, then);
            if self.bug(Bug::FlushBeforePages) {
                self.journal.written(write.what);
            }
        }
        if self.bug(Bug::FlushBeforePages) {
            self.flush_ssd();
        }
    }

    /// A page of metadata is written, or not.
    pub(super) fn meta_written(&mut self, what: What, result: Result<(), Failed>, buffer: Buffer) {
        let told = self.bug(Bug::FlushBeforePages);
        let Some(round) = &mut self.commits.round else {
            return self.pool.give(buffer); // the SSD is dead
        };
        if result.is_err() {
            round.tries += 1;
            if round.tries <= TRIES {
                let page = self.journal.page_of(what);
                return self.ios.push(Device::Ssd, Kind::Write, page, buffer, Then::Meta(what));
            }
            round.failed = true;
        }
        self.pool.give(buffer);
        round.writing -= 1;
        if told {
            return;
        }
        let (last, failed) = (round.writing == 0, round.failed);
        if result.is_ok() {
            self.journal.written(what);
        }
        match (last, failed) {
            (true, true) => self.ssd_is_dead(),
            (true, false) => self.flush_ssd(),
            (false, _) => {}
        }
    }

    fn flush_covers(&mut self) {
        let covered = self.journal.covered();
        self.commits.round.as_mut().expect("a round").covered = Some(covered);
    }

    fn flush_ssd(&mut self) {
        self.flush_covers();
        if self.bug(Bug::CommitWithoutFlush) {
            return self.round_done();
        }
        self.ios.flush(Device::Ssd, Then::SsdFlushed, self.now);
    }

    /// The SSD was flushed, or not: then nobody knows what it holds.
    pub(super) fn ssd_flushed(&mut self, result: Result<(), Failed>) {
        match result {
            _ if self.commits.dead => self.written_off_flushed(result),
            Ok(()) => self.round_done(),
            Err(Failed) => self.ssd_is_dead(),
        }
    }

    fn round_done(&mut self) {
        let round = self.commits.round.take().expect("a round");
        let covered = round.covered.expect("its flush has begun");
        self.commits.committed = round.upto;
        self.commits.ended = self.now;
        for (number, op) in std::mem::take(&mut self.commits.waiting) {
            if number <= round.upto {
                self.ready.push_back(op);
            } else {
                self.commits.waiting.push((number, op));
            }
        }
        if !std::mem::replace(&mut self.commits.settled, true) {
            return;
        }
        let mut freed = Vec::new();
        self.journal.flushed(covered, &mut freed, &mut self.commits.next);
        self.take_freed(freed);
        if let Some(mut withheld) = self.commits.withheld.take() {
            self.frames.freed(&mut withheld);
        }
        self.frames.said(round.upto);
    }

    /// Metadata cannot be written: nothing can be committed any more.
    fn ssd_is_dead(&mut self) {
        self.commits.dead = true;
        self.commits.round = None;
        let waiting = std::mem::take(&mut self.commits.waiting);
        self.ssd_is_gone(self.commits.settled, waiting.into_iter().map(|(_, op)| op).collect());
    }
}
