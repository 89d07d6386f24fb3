//! The frame table in memory: the committed state, and which of its pages have to be written to the
//! SSD.

use std::collections::VecDeque;

use prefetch_index::prefetch_index;

use crate::format::journal::{Record, sequence};
use crate::format::layout::{Copy, Layout};
use crate::format::table::{ENTRIES, Entry, TablePage};
use crate::format::{Frame, Owner, Page, State};

/// The frame table.
#[derive(Clone, Hash, Debug)]
pub struct Table {
    entries: Vec<Entry>,
    pages: Vec<TableState>,
    /// Changed pages, with the number of the journal page that changed them first.
    changed: VecDeque<(u64, u32)>,
    /// Pages being written, with the same number.
    writing: Vec<(u64, u32)>,
}

#[derive(Clone, Copy, Debug, Default, Hash)]
struct TableState {
    /// The edition of the copies written last.
    edition: u64,
    /// The page is in `changed`.
    changed: bool,
    /// The page is in `writing`.
    writing: bool,
    /// Hints have changed since the page was written.
    hinted: bool,
    /// The second copy is the worse one, and is written first.
    two_first: bool,
}

impl Table {
    /// The table of a new SSD, or the one found on an SSD: entries by frame, and editions by page.
    #[must_use]
    pub fn new(layout: &Layout, found: Option<(Vec<Entry>, Vec<u64>)>) -> Table {
        let (frames, pages) = (layout.frames as usize, layout.table_pages as usize);
        let (entries, editions) =
            found.unwrap_or_else(|| (vec![Entry::UNUSED; frames], vec![0; pages]));
        assert_eq!((entries.len(), editions.len()), (frames, pages), "all of the table");
        let state = |edition| TableState { edition, ..TableState::default() };
        let pages = editions.into_iter().map(state).collect();
        Table { entries, pages, changed: VecDeque::new(), writing: Vec::new() }
    }

    /// Prefetches the entry of a frame.
    #[inline]
    pub(crate) fn prefetch(&self, frame: Frame) {
        prefetch_index(&self.entries, frame.0 as usize);
    }

    /// The entry of a frame.
    #[must_use]
    pub fn entry(&self, frame: Frame) -> &Entry {
        &self.entries[frame.0 as usize]
    }

    /// The entries of all frames, by number.
    pub(crate) fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// The frames that hold a block, by number.
    pub(crate) fn live(&self) -> impl Iterator<Item = (Frame, &Entry)> {
        let frames = (0..).map(Frame).zip(&self.entries);
        frames.filter(|(_, entry)| entry.state != State::Free)
    }

    /// Sets when a frame was last used. It is written to the SSD only with its page, for another
    /// reason or at the end.
    #[inline]
    pub(crate) fn set_hint(&mut self, frame: Frame, hint: u16) {
        let entry = &mut self.entries[frame.0 as usize];
        if entry.hint != hint {
            entry.hint = hint;
            self.pages[Layout::entry(frame).0 as usize].hinted = true;
        }
    }

    /// Marks pages as changed of which only the hints have changed.
    pub(crate) fn touch_hinted(&mut self, number: u64) {
        for place in 0..self.pages.len() {
            if std::mem::take(&mut self.pages[place].hinted) {
                self.touch_page(place as u32, number);
            }
        }
    }

    /// Applies a committed record.
    pub fn apply(&mut self, record: &Record, number: u64, place: usize) {
        let sequence = sequence(number, place);
        let entry = &mut self.entries[record.frame.0 as usize];
        assert!(sequence > entry.sequence, "records are applied in their order");
        set(entry, record, sequence);
        self.touch(record.frame, number);
    }

    /// Notes that journal page `number` has changed the page of a frame. Numbers never decrease.
    pub fn touch(&mut self, frame: Frame, number: u64) {
        self.touch_page(Layout::entry(frame).0, number);
    }

    /// As [`Table::touch`], by the place of the page.
    pub(crate) fn touch_page(&mut self, place: u32, number: u64) {
        let state = &mut self.pages[place as usize];
        if !state.changed {
            state.changed = true;
            self.changed.push_back((number, place));
        }
    }

    /// The first page of the journal that the table still needs; `None` if the SSD has all of the
    /// table.
    #[must_use]
    pub fn first_needed_page(&self) -> Option<u64> {
        self.needs_from_where(true, |_| true)
    }

    /// The same for some of the pages only: for seeded bugs.
    pub(crate) fn needs_from_where(
        &self,
        writing: bool,
        some: impl Fn(u32) -> bool,
    ) -> Option<u64> {
        let some = |&&(_, place): &&(u64, u32)| some(place);
        // They are in order.
        let changed = self.changed.iter().find(some);
        let writing = self.writing.iter().filter(|_| writing).filter(some);
        writing.chain(changed).map(|&(since, _)| since).min()
    }

    /// Notes that copy `worse` of a page may be damaged: the other one is kept until this one is
    /// written.
    pub(crate) fn write_first(&mut self, place: u32, worse: Copy) {
        self.pages[place as usize].two_first = worse == Copy::Two;
    }

    /// Begins to write the page that was changed longest ago, in its current state. Returns its
    /// place, and the copy to write first.
    pub(crate) fn begin_write(&mut self) -> Option<(u32, Copy)> {
        let ready = |&(_, place): &(u64, u32)| !self.pages[place as usize].writing;
        let at = self.changed.iter().position(ready)?;
        let (since, place) = self.changed.remove(at).expect("found");
        self.writing.push((since, place));
        let state = &mut self.pages[place as usize];
        (state.changed, state.writing, state.hinted) = (false, true, false);
        state.edition += 1;
        Some((place, if state.two_first { Copy::Two } else { Copy::One }))
    }

    /// Encodes a page of the table in its current state.
    #[must_use]
    pub fn encode(&self, place: u32, owner: Owner) -> Page {
        let first = place as usize * ENTRIES;
        let mut entries = self.entries[first..(first + ENTRIES).min(self.entries.len())].to_vec();
        entries.resize(ENTRIES, Entry::UNUSED);
        TablePage { place, edition: self.pages[place as usize].edition, entries }.encode(owner)
    }

    /// Notes that both copies of a page from [`Table::begin_write`] are durable.
    pub(crate) fn end_write(&mut self, place: u32) {
        let at = self.writing.iter().position(|&(_, writing)| writing == place);
        self.writing.swap_remove(at.expect("a page that leaves"));
        self.pages[place as usize].writing = false;
    }
}

/// Updates an entry by a record.
pub(crate) fn set(entry: &mut Entry, record: &Record, sequence: u64) {
    let state = match record.state {
        State::Superseded | State::Free => State::Free,
        live => live,
    };
    *entry = Entry { block: record.block, state, sequence, crc: record.crc, hint: entry.hint };
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        Table::new(&Layout::for_slots(1_000), None)
    }

    #[test]
    fn a_page_that_leaves_does_not_leave_again_before_it_has_left() {
        let mut table = table();
        table.touch(Frame(0), 1);
        assert_eq!(table.begin_write(), Some((0, Copy::One)));
        table.touch(Frame(1), 2);
        assert_eq!((table.begin_write(), table.first_needed_page()), (None, Some(1)));
        table.end_write(0);
        assert_eq!(table.first_needed_page(), Some(2));
        assert_eq!(table.begin_write(), Some((0, Copy::One)));
        table.end_write(0);
        assert_eq!((table.begin_write(), table.first_needed_page()), (None, None));
    }

    #[test]
    fn pages_leave_in_the_order_in_which_they_were_changed() {
        let mut table = table();
        let second = Frame(ENTRIES as u32);
        table.touch(second, 3);
        table.touch(Frame(0), 4);
        // The page is about to be written anyway.
        table.touch(second, 5);
        assert_eq!(table.begin_write(), Some((1, Copy::One)));
        assert_eq!(table.first_needed_page(), Some(3));
        assert_eq!(table.begin_write(), Some((0, Copy::One)));
        table.end_write(1);
        assert_eq!(table.first_needed_page(), Some(4));
        table.end_write(0);
        assert_eq!((table.begin_write(), table.first_needed_page()), (None, None));
    }

    #[test]
    fn the_worse_copy_is_written_first() {
        let mut table = table();
        for (worse, first) in [(Copy::Two, Copy::Two), (Copy::One, Copy::One)] {
            table.write_first(1, worse);
            table.touch_page(1, 1);
            assert_eq!(table.begin_write(), Some((1, first)));
            table.end_write(1);
        }
    }

    #[test]
    fn each_time_a_page_leaves_is_an_edition() {
        let mut table = table();
        for edition in 1..4 {
            table.touch_page(0, edition);
            table.begin_write().expect("it was touched");
            let page = TablePage::decode(&table.encode(0, Owner(5)), Owner(5), 0).expect("a page");
            assert_eq!(page.edition, edition);
            table.end_write(0);
        }
    }
}
