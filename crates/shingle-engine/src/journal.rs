//! The journal: what changes is written down before it counts.
//!
//! A record is given in once the data it speaks of is written. [`Journal::seal`] makes pages of
//! records. What a flush that began later covers is committed. Frames that were given up are free
//! again one commit later still: until the SSD itself says that a page was flushed, recovery asks the
//! frames whether to believe it, and goes back to what was before where they disagree.
//!
//! Pages of the table and the superblock are written twice, one copy after the other with a flush
//! between, and count as written when both are safe: at no time does one damaged place lose anything.
//!
//! Nothing here does I/O: whoever owns a journal carries out its [`Write`]s and tells what is done.

mod flushed;
mod invalidate;
#[cfg(feature = "bugs")]
mod state;
#[cfg(test)]
mod tests;

pub(crate) use invalidate::MayHold;

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
    /// To be given back when it is written.
    pub what: PageKind,
    /// Page of the SSD.
    pub page: u64,
    /// The bytes: both copies of a page share them.
    pub bytes: Arc<Page>,
}

/// What a page of metadata is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum PageKind {
    /// A copy of a page of the journal, by its number.
    Journal(u64, Copy),
    /// A copy of a page of the table, by its place.
    Table(u32, Copy),
    /// A copy of the superblock.
    Superblock(Copy),
}

/// There is no room: the table has to be brought up to date before the journal can go on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Full;

/// The journal of a cache, and the table it leads to.
#[derive(Clone, Debug)]
pub struct Journal {
    /// As both copies are.
    superblock: Superblock,
    /// What is committed.
    pub table: Table,
    /// In no page yet.
    open: Vec<Record>,
    /// In a page that is not committed yet, in their order.
    sealed: VecDeque<Sealed>,
    /// Of the next page.
    next: u64,
    /// Of the page sealed last.
    last: u64,
    /// Of the last page that is committed.
    durable: u64,
    /// Frames given up by committed pages, by the number of the page.
    given_up: VecDeque<(u64, Frame)>,
    /// Pages on their way to both their places.
    twice: Vec<Twice>,
    /// Which of them is likely to be written next.
    written_next: usize,
    /// The superblock that is on its way.
    coming: Option<Superblock>,
    /// It has other settings than the SSD.
    new_settings: bool,
    /// Size of the disk that the next superblock says.
    disk_bytes: u64,
    /// Its copies are not alike: a crash came between them, or one is damaged; this is the worse one.
    uneven: Option<Copy>,
    /// Pages from before a crash were believed, and the SSD does not say yet that they count. The page with the last of
    /// the corrections does, and before it is committed no frame may be used again.
    must_confirm: bool,
    /// The last page that has records.
    last_records: u64,
    /// The SSD is told that all pages up to this one were flushed.
    confirmed: u64,
    /// What all pages are, where nobody reads their bytes.
    unread: Option<Arc<Page>>,
    bugs: Seeded,
}

#[derive(Clone, Hash, Debug)]
struct Sealed {
    number: u64,
    /// What it says was durable.
    durable: u64,
    records: Vec<Record>,
    /// Copies that are written.
    written: u8,
}

/// A page on its way to both its places.
#[derive(Clone, Debug)]
struct Twice {
    what: PageKind,
    bytes: Arc<Page>,
    /// The other copy is safe.
    second: bool,
    /// Written and not yet flushed.
    written: bool,
    /// A flush that covers it is under way.
    covered: bool,
}

/// What a flush of the SSD covers, if it begins now.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Covered {
    /// All pages of the journal up to this number.
    number: u64,
}

impl Journal {
    /// Goes on where `last` was the last page that counts and no page has a number of `next` or more.
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
            twice: Vec::new(),
            written_next: 0,
            coming: None,
            new_settings: false,
            uneven,
            must_confirm: false,
            last_records: last,
            confirmed: last,
            unread: None,
            bugs: Seeded::default(),
        }
    }

    /// What was found behind page `flushed`, the last that is known to have been flushed, counts, but for what the
    /// records that are given in first take back.
    #[must_use]
    pub(crate) fn confirming(self, flushed: u64) -> Journal {
        Journal { must_confirm: true, confirmed: flushed, ..self }
    }

    /// It makes this mistake, if any.
    pub(crate) fn make(&mut self, bugs: Seeded) {
        self.bugs = bugs;
    }

    /// Nobody will read what is written: pages are numbered, ordered and timed as ever, but have no bytes.
    pub(crate) fn without_bytes(&mut self) {
        self.unread = Some(Arc::new([0; PAGE_BYTES]));
    }

    fn bytes(&self, encode: impl FnOnce() -> Page) -> Arc<Page> {
        self.unread.clone().unwrap_or_else(|| Arc::new(encode()))
    }

    /// What the SSD says of itself.
    #[must_use]
    pub fn superblock(&self) -> &Superblock {
        &self.superblock
    }

    /// Number of the page that was sealed last, or found to be the last that counts.
    #[must_use]
    pub fn last_page(&self) -> u64 {
        self.last
    }

    /// The superblock of a cache that is used from now on: it says nothing of the disk's content, which
    /// is about to change, nor that it was shut down in order. It begins a session: no page of the journal
    /// behind the last that counts can come back from now on. Both copies are to be written, in this order
    /// and each flushed, before there is any other I/O.
    pub fn put_into_use(&mut self) -> [Write; 2] {
        self.put_into_use_over([0; 32])
    }

    /// As [`Journal::put_into_use`], where something is known of the disk though it changes: it stands in the place of
    /// the fingerprint.
    pub fn put_into_use_over(&mut self, disk: [u8; 32]) -> [Write; 2] {
        // An SSD that was emptied may have a successor, which has been put into use once at most. If this one is used all
        // the same, that one is an older copy from now on.
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
        // The copy that is known to be good stays until the other one is.
        let first = self.uneven.take().unwrap_or(Copy::One);
        [first, first.other()].map(|copy| {
            let what = PageKind::Superblock(copy);
            Write { what, page: self.page_of(what), bytes: bytes.clone() }
        })
    }

    /// Sets what the superblock says of policy and parameters. The next one carries it.
    ///
    /// # Panics
    /// If it is too long for a superblock.
    pub fn set_settings(&mut self, settings: String) {
        assert!(settings.len() <= SETTINGS_BYTES_MAX, "the settings do not fit");
        if let Some(coming) = &mut self.coming {
            coming.settings.clone_from(&settings);
        }
        self.superblock.settings = settings;
        self.new_settings = true;
    }

    /// Sets the size of the disk. The next superblock says it, and [`Journal::superblock`] when both copies do.
    pub(crate) fn set_disk_bytes(&mut self, bytes: u64) {
        self.disk_bytes = bytes;
    }

    fn has_news(&self) -> bool {
        self.new_settings || self.disk_bytes != self.superblock.disk_bytes
    }

    /// Whether a superblock is due because of [`Journal::set_settings`] or [`Journal::set_disk_bytes`].
    #[must_use]
    pub(crate) fn has_new_settings(&self) -> bool {
        self.has_news() && self.coming.is_none()
    }

    /// Whether the SSD says in both copies what was set last.
    pub(crate) fn has_settings(&self) -> bool {
        !self.has_news() && self.coming.is_none()
    }

    /// Whether a page was sealed that says of what was found that it counts, if anything was.
    pub(crate) fn has_confirmed(&self) -> bool {
        !self.must_confirm
    }

    /// Where things stand.
    #[must_use]
    pub fn layout(&self) -> &Layout {
        &self.superblock.layout
    }

    /// Gives in a record. Of a block that moves the new frame comes first, then the old one as
    /// superseded.
    pub fn add(&mut self, record: Record) {
        self.open.push(record);
    }

    /// Records that are in no page yet.
    #[must_use]
    pub fn open(&self) -> usize {
        self.open.len()
    }

    /// Whether everything given in is committed.
    #[must_use]
    pub fn is_committed(&self) -> bool {
        self.open.is_empty() && self.sealed.is_empty()
    }

    /// Part of the journal in use, in pages.
    #[must_use]
    pub fn used_pages(&self) -> u64 {
        self.next - self.superblock.journal_from
    }

    /// Frames that are free once the next page is committed.
    #[must_use]
    pub fn given_up(&self) -> usize {
        self.given_up.len()
    }

    /// Whether the SSD has records, and does not say that they were flushed: should a bit of their data
    /// flip, recovery would take it for data that never arrived.
    #[must_use]
    pub(crate) fn is_unconfirmed(&self) -> bool {
        self.is_committed() && self.last_records > self.confirmed
    }

    /// The next page, though it may have no records, says what was flushed.
    pub(crate) fn confirm(&mut self) {
        self.must_confirm = true;
    }

    /// A page of the records given in longest ago, to be written to both its places, or one without
    /// records if that frees frames; nothing if it would do neither.
    ///
    /// # Errors
    /// If it would overwrite a page that still counts.
    pub fn seal(&mut self) -> Result<Option<[Write; 2]>, Full> {
        let frees = !self.given_up.is_empty() && self.sealed.is_empty();
        if self.open.is_empty() && !frees && !self.must_confirm {
            return Ok(None);
        }
        let number = self.next;
        let full = self.used_pages() >= self.layout().journal_pages;
        if full && !self.bugs.has(Bug::JournalWrapsOver) {
            return Err(Full);
        }
        let records = self.open.drain(..self.records_of_a_page()).collect();
        // Corrections of many pages count together: who finds some of them asks the frames again.
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

    /// How many records the next page has. Both of a block that moves are on one page: a crash that lets only the
    /// first of two arrive would leave the block in two frames, and a cache that cannot be opened.
    fn records_of_a_page(&self) -> usize {
        let full = self.open.len().min(RECORDS_MAX);
        let next = self.open.get(full).filter(|next| next.state == State::Superseded);
        let parts = next.is_some_and(|next| self.open[full - 1].block == next.block);
        full - usize::from(parts)
    }

    /// The table page that was changed longest ago, as far as it is committed.
    pub fn write_table(&mut self) -> Option<Write> {
        let (place, copy) = self.table.leave()?;
        let bytes = self.bytes(|| self.table.encode(place, self.superblock.owner()));
        Some(self.begin(PageKind::Table(place, copy), bytes, false))
    }

    /// What of the table is out of date only in how late frames were used is to be written, too.
    pub(crate) fn touch_hinted(&mut self) {
        self.table.touch_hinted(self.next);
    }

    /// A superblock that lets go of what the table no longer needs, or mends the copies. Nothing if
    /// there is nothing to do, or one is on its way.
    pub fn write_superblock(&mut self) -> Option<Write> {
        let needed = if self.bugs.has(Bug::FirstTablePageUnheld) {
            let several = self.layout().table_pages > 1;
            self.table.needs_from_where(true, |place| !several || place > 0)
        } else if self.bugs.has(Bug::TablePageLeavingUnheld) {
            self.table.needs_from_where(false, |_| true)
        } else {
            self.table.needs_from()
        };
        // (Not the one behind the last that is committed: a crash can leave pages there that do not count and are in the way.)
        let uncommitted = self.sealed.front().map_or(self.next, |page| page.number);
        let from = needed.unwrap_or(uncommitted).min(uncommitted);
        let due = self.uneven.is_some() || self.has_news() || from > self.superblock.journal_from;
        due.then(|| self.supersede(from, false)).flatten()
    }

    /// The superblock of a cache that is shut down in order.
    ///
    /// # Panics
    /// If something is not committed, or the SSD does not have all of the table.
    pub fn write_last_superblock(&mut self) -> Option<Write> {
        assert!(self.is_committed() && self.table.needs_from().is_none(), "all is written");
        self.supersede(self.next, true)
    }

    fn supersede(&mut self, journal_from: u64, clean: bool) -> Option<Write> {
        if self.coming.is_some() {
            return None;
        }
        let edition = self.superblock.edition + 1;
        let disk_bytes = self.disk_bytes;
        let before = self.superblock.clone();
        let superblock = Superblock { edition, journal_from, clean, disk_bytes, ..before };
        let bytes = self.bytes(|| superblock.encode());
        self.coming = Some(superblock);
        self.new_settings = false;
        let first = self.uneven.unwrap_or(Copy::One);
        Some(self.begin(PageKind::Superblock(first), bytes, false))
    }

    fn begin(&mut self, what: PageKind, bytes: Arc<Page>, second: bool) -> Write {
        self.twice.push(Twice {
            what,
            bytes: bytes.clone(),
            second,
            written: false,
            covered: false,
        });
        Write { what, page: self.page_of(what), bytes }
    }

    /// The page of the SSD where it stands.
    #[must_use]
    pub fn page_of(&self, what: PageKind) -> u64 {
        match what {
            PageKind::Journal(number, copy) => self.layout().journal_page(number, copy),
            PageKind::Table(place, copy) => self.layout().table_page(place, copy),
            PageKind::Superblock(copy) => copy.superblock_page(),
        }
    }
}
