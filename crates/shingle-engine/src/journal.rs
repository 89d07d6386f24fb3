//! The journal: each change is recorded before it takes effect.
//!
//! A record is added after the data that it describes is written. [`Journal::seal`] makes pages of
//! the records. Pages are committed by a flush that begins after they are written. Released frames
//! are free one commit later: until the SSD itself records that a page was flushed, recovery reads
//! the frames to check the records, and returns to the older version where they do not match.
//!
//! Pages of the table and the superblock are written twice, one copy after the other with a flush
//! between. They count as written when both are durable: at no time can one damaged place lose
//! anything.
//!
//! The journal does no I/O: its owner carries out its [`Write`]s and reports their completion.

mod flushed;
mod invalidate;
#[cfg(feature = "bugs")]
mod state;
#[cfg(test)]
mod tests;

pub(crate) use invalidate::PossibleContents;

use std::collections::VecDeque;
use std::sync::Arc;

use crate::bugs::{Bug, Seeded};
use crate::format::journal::{JournalPage, RECORDS_MAX, Record};
use crate::format::layout::{Copy, Layout};
use crate::format::superblock::{SETTINGS_BYTES_MAX, SUCCESSOR_AHEAD, Superblock};
use crate::format::{Frame, PAGE_BYTES, Page, State};
use crate::table::Table;

/// A page to be written to the SSD.
#[derive(Clone, Debug)]
pub struct Write {
    /// Passed back when the page is written.
    pub what: PageKind,
    /// The page of the SSD.
    pub page: u64,
    /// The bytes: both copies of a page share them.
    pub bytes: Arc<Page>,
}

/// The kind of a page of metadata.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum PageKind {
    /// A copy of a page of the journal, by its number.
    Journal(u64, Copy),
    /// A copy of a page of the table, by its place.
    Table(u32, Copy),
    /// A copy of the superblock.
    Superblock(Copy),
}

/// The journal is full: pages of the table have to be written before it can continue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct JournalFull;

/// The journal of a cache, and the table that it updates.
#[derive(Clone, Debug)]
pub struct Journal {
    /// The superblock, as both copies are.
    superblock: Superblock,
    /// The committed state of the frames.
    pub table: Table,
    /// Records that are on no page yet.
    open: Vec<Record>,
    /// Pages that are not committed yet, in order.
    sealed: VecDeque<Sealed>,
    /// The number of the next page.
    next: u64,
    /// The number of the page sealed last.
    last: u64,
    /// The number of the last committed page.
    durable: u64,
    /// Frames released by committed pages, with the number of the page.
    given_up: VecDeque<(u64, Frame)>,
    /// Pages whose two copies are being written.
    pairs: Vec<Pair>,
    /// The index in `pairs` of the page that is likely to be written next.
    written_next: usize,
    /// The superblock that is being written.
    next_superblock: Option<Superblock>,
    /// The settings differ from those on the SSD.
    new_settings: bool,
    /// The size of the disk for the next superblock.
    disk_bytes: u64,
    /// The worse copy of the superblock, if the two differ: a crash came between them, or one is
    /// damaged.
    uneven: Option<Copy>,
    /// Pages from before a crash were taken as valid, and the SSD has not recorded that yet. The
    /// page with the last correction does, and before its commit no frame may be reused.
    must_confirm: bool,
    /// The last page that has records.
    last_records: u64,
    /// The SSD has recorded that all pages up to this number were flushed.
    confirmed: u64,
    /// One page used for all, if pages are never read back.
    unread: Option<Arc<Page>>,
    bugs: Seeded,
}

#[derive(Clone, Hash, Debug)]
struct Sealed {
    number: u64,
    /// The page number that it records as durable.
    durable: u64,
    records: Vec<Record>,
    /// The number of copies written.
    written: u8,
}

/// A page whose two copies are being written, one after the other.
#[derive(Clone, Debug)]
struct Pair {
    what: PageKind,
    bytes: Arc<Page>,
    /// The other copy is durable.
    second: bool,
    /// Written and not flushed yet.
    written: bool,
    /// A flush that covers it is in flight.
    covered: bool,
}

/// What a flush of the SSD covers that begins now.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct FlushCoverage {
    /// The pages of the journal up to this number.
    number: u64,
}

impl Journal {
    /// Continues a journal: `last` is the last valid page, and no page has a number of `next` or
    /// higher.
    #[must_use]
    pub fn new(
        superblock: Superblock,
        uneven: Option<Copy>,
        table: Table,
        last: u64,
        next: u64,
    ) -> Journal {
        assert!(last < next && superblock.journal_from <= last + 1, "pages follow");
        Journal {
            disk_bytes: superblock.disk_bytes,
            superblock,
            table,
            open: Vec::new(),
            sealed: VecDeque::new(),
            next,
            last,
            durable: last,
            given_up: VecDeque::new(),
            pairs: Vec::new(),
            written_next: 0,
            next_superblock: None,
            new_settings: false,
            uneven,
            must_confirm: false,
            last_records: last,
            confirmed: last,
            unread: None,
            bugs: Seeded::default(),
        }
    }

    /// Lets the next pages record that what was found after page `flushed`, the last one known to
    /// be flushed, is valid, except for the corrections added first.
    #[must_use]
    pub(crate) fn confirming(self, flushed: u64) -> Journal {
        Journal { must_confirm: true, confirmed: flushed, ..self }
    }

    /// Sets the seeded bug, if any.
    pub(crate) fn make(&mut self, bugs: Seeded) {
        self.bugs = bugs;
    }

    /// Saves the encoding of pages that are never read back: their numbers, order and times stay
    /// the same.
    pub(crate) fn skip_encoding(&mut self) {
        self.unread = Some(Arc::new([0; PAGE_BYTES]));
    }

    fn bytes(&self, encode: impl FnOnce() -> Page) -> Arc<Page> {
        self.unread.clone().unwrap_or_else(|| Arc::new(encode()))
    }

    /// The superblock, as both copies are.
    #[must_use]
    pub fn superblock(&self) -> &Superblock {
        &self.superblock
    }

    /// The number of the page sealed last, or of the last valid one found.
    #[must_use]
    pub fn last_page(&self) -> u64 {
        self.last
    }

    /// Puts the cache into use. Its superblock says nothing of the content of the disk, which is
    /// about to change, and is not marked as shut down in order. It begins a session, so that no
    /// page of the journal after the last valid one can become valid again. The caller writes both
    /// copies, in this order and each flushed, before any other I/O.
    pub fn mark_in_use(&mut self) -> [Write; 2] {
        self.mark_in_use_with([0; 32])
    }

    /// As [`Journal::mark_in_use`], with `disk` in place of the fingerprint: something that is
    /// known of the disk even while it changes.
    pub fn mark_in_use_with(&mut self, disk: [u8; 32]) -> [Write; 2] {
        // An emptied SSD may have a successor, which has been put into use at most once. If this
        // one is used all the same, its edition must be higher, so that the successor counts as an
        // older copy.
        let was_given_up = self.superblock.dirty_from > 0 && self.table.live().next().is_none();
        let ahead = if was_given_up { SUCCESSOR_AHEAD + 2 } else { 1 };
        let edition = self.superblock.edition + ahead;
        let before = self.superblock.clone();
        let (session, session_from) = (edition, self.last + 1);
        self.superblock = Superblock {
            edition,
            fingerprint: disk,
            clean: false,
            session,
            session_from,
            ..before
        };
        let bytes = self.bytes(|| self.superblock.encode());
        // The copy known to be good stays until the other one is written.
        let first = self.uneven.take().unwrap_or(Copy::One);
        [first, first.other()].map(|copy| {
            let what = PageKind::Superblock(copy);
            Write { what, page: self.page_of(what), bytes: bytes.clone() }
        })
    }

    /// Sets policy and parameters for the next superblock.
    ///
    /// # Panics
    /// If it is too long for a superblock.
    pub fn set_settings(&mut self, settings: String) {
        assert!(settings.len() <= SETTINGS_BYTES_MAX, "the settings do not fit");
        if let Some(next_superblock) = &mut self.next_superblock {
            next_superblock.settings.clone_from(&settings);
        }
        self.superblock.settings = settings;
        self.new_settings = true;
    }

    /// Sets the size of the disk for the next superblock. [`Journal::superblock`] has it when both
    /// copies do.
    pub(crate) fn set_disk_bytes(&mut self, bytes: u64) {
        self.disk_bytes = bytes;
    }

    fn has_changes(&self) -> bool {
        self.new_settings || self.disk_bytes != self.superblock.disk_bytes
    }

    /// Whether a superblock is due because of [`Journal::set_settings`] or [`Journal::set_disk_bytes`].
    #[must_use]
    pub(crate) fn has_new_settings(&self) -> bool {
        self.has_changes() && self.next_superblock.is_none()
    }

    /// Whether both superblocks have the last settings.
    pub(crate) fn has_settings(&self) -> bool {
        !self.has_changes() && self.next_superblock.is_none()
    }

    /// Whether a page was sealed that records what was found as valid, if anything was found.
    pub(crate) fn has_confirmed(&self) -> bool {
        !self.must_confirm
    }

    /// The layout of the SSD.
    #[must_use]
    pub fn layout(&self) -> &Layout {
        &self.superblock.layout
    }

    /// Adds a record. If a block moves, the record of its new frame comes first, then that of the
    /// old one as superseded.
    pub fn add(&mut self, record: Record) {
        self.open.push(record);
    }

    /// The number of records that are on no page yet.
    #[must_use]
    pub fn open(&self) -> usize {
        self.open.len()
    }

    /// Whether every record is committed.
    #[must_use]
    pub fn is_committed(&self) -> bool {
        self.open.is_empty() && self.sealed.is_empty()
    }

    /// The number of journal pages in use.
    #[must_use]
    pub fn used_pages(&self) -> u64 {
        self.next - self.superblock.journal_from
    }

    /// The number of frames that become free when the next page is committed.
    #[must_use]
    pub fn frames_to_free(&self) -> usize {
        self.given_up.len()
    }

    /// Whether the SSD has records that are not recorded as flushed: if a bit of their data flips,
    /// recovery would take the data for never written.
    #[must_use]
    pub(crate) fn is_unconfirmed(&self) -> bool {
        self.is_committed() && self.last_records > self.confirmed
    }

    /// Lets the next page record what was flushed, even if it has no records.
    pub(crate) fn confirm(&mut self) {
        self.must_confirm = true;
    }

    /// Seals a page of the oldest records, to be written to both its places. Without open records
    /// it seals an empty page if that frees frames, otherwise nothing.
    ///
    /// # Errors
    /// If the page would overwrite one that is still needed.
    pub fn seal(&mut self) -> Result<Option<[Write; 2]>, JournalFull> {
        let frees = !self.given_up.is_empty() && self.sealed.is_empty();
        if self.open.is_empty() && !frees && !self.must_confirm {
            return Ok(None);
        }
        let number = self.next;
        let full = self.used_pages() >= self.layout().journal_pages;
        if full && !self.bugs.has(Bug::JournalWrapsOver) {
            return Err(JournalFull);
        }
        let records = self.open.drain(..self.records_of_a_page()).collect();
        // Corrections on several pages are valid together: a recovery that finds only some of them
        // reads the frames again.
        let some_left = self.must_confirm && !self.open.is_empty();
        let durable = if some_left { self.confirmed } else { self.durable };
        let (previous, session) = (self.last, self.superblock.session);
        let mut page = JournalPage { number, previous, durable, session, records };
        if page.records.len() == RECORDS_MAX && self.bugs.has(Bug::FullPageDropsLast) {
            page.records.pop();
        }
        let bytes = self.bytes(|| page.encode(self.superblock.owner()));
        self.sealed.push_back(Sealed {
            number,
            durable: page.durable,
            records: page.records,
            written: 0,
        });
        (self.last, self.next) = (number, number + 1);
        self.confirmed = page.durable;
        if self.sealed.back().is_some_and(|page| !page.records.is_empty()) {
            self.last_records = number;
        }
        self.must_confirm = some_left;
        Ok(Some(Copy::BOTH.map(|copy| Write {
            what: PageKind::Journal(number, copy),
            page: self.layout().journal_page(number, copy),
            bytes: bytes.clone(),
        })))
    }

    /// The number of records for the next page. Both records of a move go to the same page: if a
    /// crash kept only the first of two pages, the block would be in two frames, and the cache
    /// could not be opened.
    fn records_of_a_page(&self) -> usize {
        let full = self.open.len().min(RECORDS_MAX);
        let next = self.open.get(full).filter(|next| next.state == State::Superseded);
        let parts = next.is_some_and(|next| self.open[full - 1].block == next.block);
        full - usize::from(parts)
    }

    /// Begins to write the page of the table that was changed longest ago, as committed.
    pub fn write_table(&mut self) -> Option<Write> {
        let (place, copy) = self.table.begin_write()?;
        let bytes = self.bytes(|| self.table.encode(place, self.superblock.owner()));
        Some(self.begin(PageKind::Table(place, copy), bytes, false))
    }

    /// Marks pages of the table as changed that differ from the SSD only in their hints.
    pub(crate) fn touch_hinted(&mut self) {
        self.table.touch_hinted(self.next);
    }

    /// Begins to write a superblock that releases the pages of the journal that the table does not
    /// need, or repairs the copies. Nothing if that is not needed, or one is being written.
    pub fn write_superblock(&mut self) -> Option<Write> {
        let needed = if self.bugs.has(Bug::FirstTablePageUnheld) {
            let several = self.layout().table_pages > 1;
            self.table.needs_from_where(true, |place| !several || place > 0)
        } else if self.bugs.has(Bug::TablePageLeavingUnheld) {
            self.table.needs_from_where(false, |_| true)
        } else {
            self.table.first_needed_page()
        };
        // At most the first uncommitted page: after a crash, pages that are not valid can be behind
        // it, in the way of new ones.
        let uncommitted = self.sealed.front().map_or(self.next, |page| page.number);
        let from = needed.unwrap_or(uncommitted).min(uncommitted);
        let due =
            self.uneven.is_some() || self.has_changes() || from > self.superblock.journal_from;
        due.then(|| self.supersede(from, false)).flatten()
    }

    /// Begins to write the superblock of an orderly shutdown.
    ///
    /// # Panics
    /// If a record is not committed, or a page of the table not written.
    pub fn write_last_superblock(&mut self) -> Option<Write> {
        assert!(self.is_committed() && self.table.first_needed_page().is_none(), "all is written");
        self.supersede(self.next, true)
    }

    fn supersede(&mut self, journal_from: u64, clean: bool) -> Option<Write> {
        if self.next_superblock.is_some() {
            return None;
        }
        let edition = self.superblock.edition + 1;
        let disk_bytes = self.disk_bytes;
        let before = self.superblock.clone();
        let superblock = Superblock { edition, journal_from, clean, disk_bytes, ..before };
        let bytes = self.bytes(|| superblock.encode());
        self.next_superblock = Some(superblock);
        self.new_settings = false;
        let first = self.uneven.unwrap_or(Copy::One);
        Some(self.begin(PageKind::Superblock(first), bytes, false))
    }

    fn begin(&mut self, what: PageKind, bytes: Arc<Page>, second: bool) -> Write {
        self.pairs.push(Pair {
            what,
            bytes: bytes.clone(),
            second,
            written: false,
            covered: false,
        });
        Write { what, page: self.page_of(what), bytes }
    }

    /// The page of the SSD of a page of metadata.
    #[must_use]
    pub fn page_of(&self, what: PageKind) -> u64 {
        match what {
            PageKind::Journal(number, copy) => self.layout().journal_page(number, copy),
            PageKind::Table(place, copy) => self.layout().table_page(place, copy),
            PageKind::Superblock(copy) => copy.superblock_page(),
        }
    }
}
