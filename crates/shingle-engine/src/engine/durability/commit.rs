//! Group commit: the records added in the meantime are sealed into pages of the journal together.
//! The pages are written to the SSD, and one flush serves everything that waits. When the journal
//! fills, pages of the table are written along.
//!
//! The steps of a commit: pages sealed ► all written ► SSD flushed. One commit at a time.

use shingle_core::units::Nanos;

use super::super::port::{Completion, Device, Failed, Port};
use super::{Demand, Durability, Progress};
use crate::bugs::Bug;
use crate::data::Data;
use crate::format::Frame;
use crate::format::journal::RECORDS_MAX;
use crate::journal::{FlushCoverage, JournalFull, PageKind, Write};

/// The commit in flight.
#[derive(Clone)]
pub(super) struct GroupCommit {
    /// It commits the records up to this number.
    pub(super) upto: u64,
    pub(super) writing: usize,
    pub(super) tries: u32,
    /// A page could not be written.
    pub(super) failed: bool,
    pub(super) covered: Option<FlushCoverage>,
}

/// How often a page of metadata is tried.
const TRIES: u32 = 3;
/// The number of pages of the table that are written along with one commit.
const TABLE_PAGES: usize = 256;
/// With this many records a commit begins though nothing waits for it.
const OPEN_MAX: usize = 8 * RECORDS_MAX;

impl Durability {
    /// Whether a commit is due.
    fn is_due(&self, demand: Demand, now: Nanos) -> bool {
        let open = self.journal.open();
        let frees = open > 0 || self.journal.frames_to_free() > 0;
        self.wanted > self.committed
            || self.withheld.is_some()
            || !self.next.is_empty()
            || frees && (self.frames.is_low() || demand.frames)
            || open >= OPEN_MAX
            || self.is_time(now)
            || self.checkpoint_due()
            || self.journal.has_new_settings()
            || demand.all
    }

    /// Whether a record that was added may make a commit due: because it frees frames, fills a
    /// page, or is the first one of a checkpoint.
    #[inline]
    pub(super) fn may_make_commit_due(&self) -> bool {
        self.frames.is_low() || self.journal.open() >= OPEN_MAX || self.checkpoint_due()
    }

    /// Whether a commit is due because time has passed.
    #[inline]
    pub(in super::super) fn is_time(&self, now: Nanos) -> bool {
        let old = |since| now.since(since) >= self.commit_after;
        self.oldest.is_some_and(old) || self.confirmation_due(now)
    }

    /// Whether an empty page is due: the SSD does not yet record that the last commit was flushed,
    /// and no next one comes that would.
    fn confirmation_due(&self, now: Nanos) -> bool {
        let quiet = now.since(self.ended) >= self.commit_after;
        quiet && self.journal.is_unconfirmed()
    }

    /// Whether the journal is a quarter full.
    fn checkpoint_due(&self) -> bool {
        self.journal.used_pages() * 4 >= self.journal.layout().journal_pages
    }

    /// Begins a commit, if one is due and none is in flight.
    pub(in super::super) fn commit_if_due<D: Data>(
        &mut self,
        demand: Demand,
        now: Nanos,
        port: &mut Port<D>,
    ) -> Progress {
        if self.commit.is_some() || self.failed {
            return Progress::Nothing;
        }
        if !self.settled {
            // What an earlier process wrote is durable only after this flush. The first page
            // records that.
            let begun = self.begin(Vec::new(), now, port);
            debug_assert_eq!(begun, Progress::Nothing);
            if self.bugs.has(Bug::NoSsdFlushAtStart) {
                self.cover_written();
                return self.finish_commit(now);
            }
            return self.flush_ssd(now, port);
        }
        self.may_be_due = false;
        if !self.is_due(demand, now) {
            return Progress::Nothing;
        }
        if self.confirmation_due(now) {
            self.journal.confirm();
        }
        let mut writes = std::mem::take(&mut self.next);
        let full = loop {
            match self.journal.seal() {
                Ok(Some(pages)) => writes.extend(pages),
                Ok(None) => break false,
                Err(JournalFull) => break true,
            }
        };
        if self.journal.has_new_settings() {
            writes.extend(self.journal.write_superblock());
        }
        if self.checkpoint_due() || full || demand.all {
            writes.extend((0..TABLE_PAGES).map_while(|_| self.journal.write_table()));
            // After the pages of the table were taken: the journal is needed from the oldest record
            // among those in flight.
            writes.extend(self.journal.write_superblock());
        }
        if !writes.is_empty() {
            return self.begin(writes, now, port);
        }
        if let Some(mut withheld) = self.withheld.take() {
            // The SSD has recorded everything.
            self.frames.free(&mut withheld);
        }
        Progress::Nothing
    }

    pub(super) fn begin<D: Data>(
        &mut self,
        writes: Vec<Write>,
        now: Nanos,
        port: &mut Port<D>,
    ) -> Progress {
        let open = self.journal.open() as u64;
        self.oldest = (open > 0).then_some(now);
        // The first commit has no pages, and commits what was found.
        let upto = self.added - open;
        let (writing, tries, failed, covered) = (writes.len(), 0, false, None);
        self.commit = Some(GroupCommit { upto, writing, tries, failed, covered });
        for write in writes {
            port.write_meta(write.page, &write.bytes, Completion::Meta(write.what));
            if self.bugs.has(Bug::FlushBeforePages) {
                self.journal.written(write.what);
            }
        }
        match self.bugs.has(Bug::FlushBeforePages) {
            true => self.flush_ssd(now, port),
            false => Progress::Nothing,
        }
    }

    /// Handles the completed write of a page of metadata.
    pub(in super::super) fn meta_written<D: Data>(
        &mut self,
        what: PageKind,
        result: Result<(), Failed>,
        buffer: D,
        now: Nanos,
        port: &mut Port<D>,
    ) -> Progress {
        let Some(commit) = &mut self.commit else {
            port.give(buffer); // the SSD has failed
            return Progress::Nothing;
        };
        if result.is_err() {
            commit.tries += 1;
            if commit.tries <= TRIES {
                let page = self.journal.page_of(what);
                port.write(Device::Ssd, page, buffer, Completion::Meta(what));
                return Progress::Nothing;
            }
            commit.failed = true;
        }
        port.give(buffer);
        commit.writing -= 1;
        if self.bugs.has(Bug::FlushBeforePages) {
            return Progress::Nothing;
        }
        let (last, failed) = (commit.writing == 0, commit.failed);
        if result.is_ok() {
            self.journal.written(what);
        }
        match (last, failed) {
            // Fails only when no page of metadata is in flight any more: none may overtake the
            // copies of the superblock that follow.
            (true, true) => self.fail(),
            (true, false) => self.flush_ssd(now, port),
            (false, _) => Progress::Nothing,
        }
    }

    /// Notes what the flush that begins now covers: the pages written so far, not those written
    /// while it is in flight.
    fn cover_written(&mut self) {
        let covered = self.journal.begin_flush();
        self.commit.as_mut().expect("a commit").covered = Some(covered);
    }

    fn flush_ssd<D: Data>(&mut self, now: Nanos, port: &mut Port<D>) -> Progress {
        self.cover_written();
        if self.bugs.has(Bug::CommitWithoutFlush) {
            return self.finish_commit(now);
        }
        port.flush(Device::Ssd, Completion::SsdFlushed, now);
        Progress::Nothing
    }

    /// Handles a completed flush of the SSD. If it failed, what the SSD holds is unknown.
    pub(in super::super) fn flushed(&mut self, result: Result<(), Failed>, now: Nanos) -> Progress {
        match result {
            Ok(()) => self.finish_commit(now),
            Err(Failed) => self.fail(),
        }
    }

    fn finish_commit(&mut self, now: Nanos) -> Progress {
        let mut commit = self.commit.take().expect("a commit");
        self.may_be_due = true;
        let covered = commit.covered.expect("its flush has begun");
        if self.bugs.has(Bug::CommitCoversLater) {
            commit.upto = self.added;
        }
        self.committed = commit.upto;
        self.commits += 1;
        self.ended = now;
        let released = &mut self.released;
        self.waiting.retain(|&(number, op)| {
            let covered = number <= commit.upto;
            if covered {
                released.push(op);
            }
            !covered
        });
        // The first flush makes durable what was found. It covers no pages of this process.
        if !std::mem::replace(&mut self.settled, true) {
            return Progress::Committed;
        }
        let mut freed = Vec::new();
        self.journal.flushed(covered, &mut freed, &mut self.next);
        self.free(freed);
        // If the journal was full, another commit comes first, which makes room in it.
        if self.journal.has_confirmed()
            && let Some(mut withheld) = self.withheld.take()
        {
            self.frames.free(&mut withheld);
        }
        self.invalidations.committed(commit.upto);
        Progress::Committed
    }

    /// Frees the frames that a commit released.
    fn free(&mut self, mut freed: Vec<Frame>) {
        if self.bugs.has(Bug::FrameReusedAtOnce) {
            return;
        }
        if self.bugs.has(Bug::FrameReusedAtCommit) {
            freed = self.frames.take_early();
        }
        self.frames.free(&mut freed);
    }

    /// Ends all commits after metadata could not be written.
    fn fail(&mut self) -> Progress {
        self.failed = true;
        self.commit = None;
        Progress::SsdFailed
    }
}
