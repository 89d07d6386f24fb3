//! Recovery of SSDs with hand-made contents. Tests with crashes check that no crash loses anything
//! (`tests/all/journal.rs`).

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};

use super::*;
use crate::format::journal::sequence;
use crate::format::layout::{Copy, Layout, SUPERBLOCKS};
use crate::format::superblock::Superblock;
use crate::format::table::{ENTRIES, Entry, TablePage};
use crate::format::{PAGE_BYTES, seal};
use crate::journal::{PageKind, Write};

#[derive(Debug, Error, PartialEq)]
#[error("it does not answer")]
struct Broken;

/// An SSD: unwritten pages are zeros.
#[derive(Clone)]
struct Ssd {
    superblock: Superblock,
    pages: BTreeMap<u64, Page>,
    unreadable: BTreeSet<u64>,
    /// How many other readers there can be.
    others: Cell<usize>,
}

impl Pages for Ssd {
    type Error = Broken;

    fn read(&mut self, first: u64, out: &mut [Page]) -> Result<(), Broken> {
        let end = first + out.len() as u64;
        assert!(end <= self.superblock.layout.pages(), "page {end} is behind the last");
        if self.unreadable.range(first..end).next().is_some() {
            return Err(Broken);
        }
        for (page, out) in (first..).zip(out) {
            *out = self.pages.get(&page).copied().unwrap_or([0; PAGE_BYTES]);
        }
        Ok(())
    }

    fn another(&self) -> Option<Ssd> {
        self.others.set(self.others.get().checked_sub(1)?);
        Some(self.clone())
    }
}

/// A superblock of this edition; otherwise that of a new cache of 64 slots, in use.
fn superblock(edition: u64) -> Superblock {
    let new = Superblock::new(*b"a cache for test", Layout::for_slots(64), 1 << 30, 1 << 40);
    Superblock { edition, clean: false, ..new }
}

/// The superblock of a cache with a complete table: pages of the journal count from the third on.
fn at_rest() -> Superblock {
    Superblock { journal_from: 3, ..superblock(1) }
}

/// Block 5 is in frame 0 by its table, and pages of the journal count from the second on.
fn block_5_in_frame_0() -> Ssd {
    let mut ssd = Ssd::new(superblock(1));
    ssd.tables(0, 1, &[(0, entry(1, 5, State::Dirty))]);
    ssd.frame(0, 5);
    ssd.put_superblock(Superblock { journal_from: 2, ..superblock(1) });
    ssd
}

/// The corrections of frames, in order.
fn corrected(found: &Recovered) -> Vec<(u32, State)> {
    found.corrections.iter().map(|one| (one.frame.0, one.state)).collect()
}

fn data(block: u64) -> Page {
    [(block as u8).wrapping_add(1); PAGE_BYTES]
}

/// A record of a frame with the right data.
fn record(frame: u32, block: u64, state: State) -> Record {
    Record { frame: Frame(frame), crc: crc32c::crc32c(&data(block)), block: Block(block), state }
}

impl Ssd {
    /// With this superblock in both places.
    fn new(superblock: Superblock) -> Ssd {
        let (pages, unreadable, others) = (BTreeMap::new(), BTreeSet::new(), Cell::new(0));
        let mut ssd = Ssd { superblock: superblock.clone(), pages, unreadable, others };
        ssd.put_superblock(superblock);
        ssd
    }

    fn put_superblock(&mut self, superblock: Superblock) {
        let page = superblock.encode();
        self.pages.extend([(0, page), (1, page)]);
        self.superblock = superblock;
    }

    /// Writes a page of the journal in both places; its predecessor has the previous number.
    fn journal(&mut self, number: u64, durable: u64, records: &[Record]) {
        let (previous, session) = (number - 1, self.superblock.session);
        let page = JournalPage { number, previous, durable, session, records: records.to_vec() };
        let bytes = page.encode(self.superblock.owner());
        for copy in Copy::BOTH {
            self.pages.insert(self.superblock.layout.journal_page(number, copy), bytes);
        }
    }

    /// Writes one copy of a page of the table with these entries, all others unused.
    fn table(&mut self, place: u32, copy: Copy, edition: u64, entries: &[(usize, Entry)]) {
        let mut page = TablePage { edition, ..TablePage::unused(place) };
        entries.iter().for_each(|(at, entry)| page.entries[*at] = *entry);
        let at = self.superblock.layout.table_page(place, copy);
        self.pages.insert(at, page.encode(self.superblock.owner()));
    }

    /// Writes both copies.
    fn tables(&mut self, place: u32, edition: u64, entries: &[(usize, Entry)]) {
        Copy::BOTH.into_iter().for_each(|copy| self.table(place, copy, edition, entries));
    }

    fn frame(&mut self, frame: u32, block: u64) {
        self.pages.insert(self.superblock.layout.frame_page(Frame(frame)), data(block));
    }

    fn recovered(&mut self) -> Recovered {
        recover(self).expect("it can be opened")
    }
}

/// An entry of the table, made by this page of the journal.
fn entry(number: u64, block: u64, state: State) -> Entry {
    let sequence = sequence(number, 0);
    Entry { block: Block(block), state, hint: 0, sequence, crc: crc32c::crc32c(&data(block)) }
}

fn blocks(found: &Recovered) -> Vec<(u64, u32)> {
    found.live().map(|(block, frame)| (block.0, frame.0)).collect()
}

fn first_copy(writes: [Write; 2]) -> PageKind {
    writes[0].what
}

#[test]
fn an_unused_cache_is_empty() {
    let mut found = Ssd::new(superblock(1)).recovered();
    assert!(found.live().next().is_none() && found.corrections.is_empty());
    assert_eq!((found.replayed_pages, found.findings), (0, Findings::default()));
    assert!(found.journal.write_superblock().is_none() && found.journal.write_table().is_none());
    assert!(found.journal.seal().expect("there is room").is_none(), "nothing is to be confirmed");
}

/// Before anything else is found that is wrong.
#[test]
fn of_the_superblock_is_told_once_if_there_is_one() {
    let told = |ssd: &mut Ssd| {
        let mut told = Vec::new();
        let found = recover_telling(ssd, |superblock| told.push(superblock.clone()));
        (told, found.is_ok())
    };
    let mut ssd = Ssd::new(Superblock { table_written: true, ..at_rest() });
    assert_eq!(told(&mut ssd), (vec![ssd.superblock.clone()], false), "the table is zeros");
    ssd.pages.insert(0, superblock(7).encode());
    assert_eq!(told(&mut ssd), (vec![superblock(7)], true));
    ssd.pages.clear();
    assert_eq!(told(&mut ssd), (vec![], false));
}

/// Threads read parts of it, or this one does where there is none.
#[test]
fn a_table_is_the_same_whoever_reads_it() {
    // Each of eight threads has three parts, but for the last one.
    let layout = Layout::for_slots(23 * 64 * ENTRIES as u64 - 100);
    let mut ssd = Ssd::new(Superblock { layout, table_written: true, ..at_rest() });
    let pages = 0..layout.table_pages as u32;
    for (place, number) in pages.zip(5..) {
        ssd.tables(place, 7, &[(3, entry(number, number, State::Dirty))]);
    }
    for part in 0..23 {
        let first = part * 64;
        ssd.table(first + part, Copy::Two, 6, &[]);
        ssd.pages.remove(&layout.table_page(first + 30, Copy::One));
        ssd.unreadable.insert(layout.table_page(first + 40, Copy::One));
    }
    for copy in Copy::BOTH {
        ssd.unreadable.insert(layout.table_page(11 * 64, copy));
        ssd.unreadable.insert(layout.table_page(3 * 64 + 63, copy));
    }
    let mut table = |others| {
        ssd.others.set(others);
        let mut findings = Findings::default();
        let superblock = ssd.superblock.clone();
        let found = read::table(&mut ssd, &superblock, &mut findings);
        assert_eq!(ssd.others.get(), others.saturating_sub(8), "there are eight");
        (found, findings)
    };
    let (alone, findings) = table(0);
    let lost: Vec<u32> = alone.lost.iter().map(|page| page.place).collect();
    assert_eq!(lost, [3 * 64 + 63, 11 * 64]);
    assert_eq!(alone.uneven.len(), 3 * 23 + 2);
    assert_eq!(findings.damaged_pages, 2 * 23 + 4);
    assert_eq!((alone.entries.len() as u64, alone.known), (layout.frames, layout.table_pages + 4));
    for others in [1, 7, 100] {
        assert!(table(others) == (alone.clone(), findings), "{others}");
    }
}

#[test]
fn a_cache_is_clean_if_it_says_so_and_nothing_came_after() {
    let clean = Superblock { clean: true, ..superblock(1) };
    assert!(Ssd::new(clean.clone()).recovered().clean);
    assert!(!Ssd::new(superblock(1)).recovered().clean);
    let mut ssd = Ssd::new(clean);
    ssd.frame(0, 5);
    ssd.journal(1, 0, &[record(0, 5, State::Dirty)]);
    assert!(!ssd.recovered().clean);
}

#[test]
fn dirty_blocks_are_counted_and_no_others() {
    let mut ssd = Ssd::new(superblock(1));
    (0..4).for_each(|frame| ssd.frame(frame, frame.into()));
    let states = [State::Dirty, State::Clean, State::Dirty, State::Clean];
    let records: Vec<_> =
        (0..4).zip(states).map(|(at, state)| record(at, at.into(), state)).collect();
    ssd.journal(1, 0, &records[..3]);
    let found = ssd.recovered();
    assert_eq!((found.dirty_blocks(), found.live().count()), (2, 3));
    ssd.journal(1, 0, &records[1..2]);
    assert_eq!(ssd.recovered().dirty_blocks(), 0);
}

#[test]
fn the_better_superblock_stays_until_the_other_is_written() {
    for (editions, first, settings) in
        [([3, 3], Copy::One, "3"), ([4, 3], Copy::Two, "4"), ([3, 4], Copy::One, "4")]
    {
        let mut ssd = Ssd::new(superblock(3));
        for (at, edition) in (0..).zip(editions) {
            let settings = edition.to_string();
            ssd.pages.insert(at, Superblock { settings, ..superblock(edition) }.encode());
        }
        let mut found = ssd.recovered();
        assert_eq!(found.journal.superblock().settings, settings);
        // Different copies are made equal.
        let due = found.journal.clone().write_superblock();
        assert_eq!(
            due.map(|write| write.what),
            (editions[0] != editions[1]).then_some(PageKind::Superblock(first))
        );
        assert_eq!(first_copy(found.journal.mark_in_use()), PageKind::Superblock(first));
    }
}

/// Such a superblock would be encoded otherwise today.
#[test]
fn a_good_superblock_of_an_earlier_version_stays_likewise() {
    let mut old = superblock(3).encode();
    old[8..12].copy_from_slice(&1_u32.to_le_bytes());
    seal(&mut old, 12);
    for (good, first) in [(0, Copy::Two), (1, Copy::One)] {
        let mut ssd = Ssd::new(superblock(3));
        ssd.pages.extend([(good, old), (1 - good, [7; PAGE_BYTES])]);
        let mut found = ssd.recovered();
        assert_eq!(first_copy(found.journal.mark_in_use()), PageKind::Superblock(first));
    }
}

#[test]
fn a_superblock_that_cannot_be_read_is_no_foreign_one() {
    let mut ssd = Ssd::new(superblock(1));
    ssd.unreadable.insert(0);
    let found = ssd.recovered();
    assert_eq!(found.findings.damaged_pages, 1);
    ssd.unreadable.insert(1);
    assert!(matches!(recover(&mut ssd), Err(RecoverError::Read { page: 0, error: Broken })));
    ssd.unreadable.remove(&1);
    ssd.pages.insert(1, [0; PAGE_BYTES]);
    assert!(matches!(recover(&mut ssd), Err(RecoverError::Superblock(_))));
}

#[test]
fn a_record_of_a_frame_that_is_not_there_makes_no_sense() {
    let mut ssd = Ssd::new(superblock(1));
    let frames = ssd.superblock.layout.frames as u32;
    ssd.frame(frames - 1, 5);
    ssd.journal(1, 0, &[record(frames - 1, 5, State::Dirty)]);
    assert_eq!(blocks(&ssd.recovered()), [(5, frames - 1)]);
    ssd.journal(1, 0, &[record(frames, 5, State::Dirty)]);
    let told = recover(&mut ssd).map(|_| ());
    assert!(matches!(told, Err(RecoverError::Superblock(Unusable::Nonsense))), "{told:?}");
}

#[test]
fn what_the_table_knows_already_is_not_replayed_over_it() {
    let mut ssd = Ssd::new(superblock(1));
    // Page 2 is in the table; page 1 has a record for the same frame.
    ssd.tables(0, 1, &[(0, entry(2, 6, State::Dirty))]);
    ssd.journal(1, 0, &[record(0, 5, State::Dirty)]);
    ssd.journal(2, 1, &[record(0, 6, State::Dirty)]);
    ssd.frame(0, 6);
    assert_eq!(blocks(&ssd.recovered()), [(6, 0)]);
}

#[test]
fn pages_that_were_believed_are_confirmed_first() {
    let mut ssd = Ssd::new(superblock(1));
    ssd.frame(0, 5);
    ssd.journal(1, 0, &[record(0, 5, State::Dirty)]);
    let mut found = ssd.recovered();
    assert_eq!((found.replayed_pages, found.journal.used_pages()), (1, 1));
    let [page, _] = found.journal.seal().expect("there is room").expect("it is due");
    assert_eq!(page.what, PageKind::Journal(2, Copy::One));
    // An SSD with a complete table has none, wherever its journal continues.
    let mut found = Ssd::new(Superblock { journal_from: 5, ..superblock(1) }).recovered();
    assert!(found.journal.seal().expect("there is room").is_none());
}

#[test]
fn copies_of_a_page_of_the_table_that_differ_are_made_alike() {
    for (editions, worse) in [([2, 1], Copy::Two), ([1, 2], Copy::One)] {
        let mut ssd = Ssd::new(at_rest());
        for (copy, edition) in Copy::BOTH.into_iter().zip(editions) {
            ssd.table(0, copy, edition, &[(3, entry(edition, edition, State::Clean))]);
        }
        let mut found = ssd.recovered();
        assert_eq!(blocks(&found), [(2, 3)], "the newer one counts");
        assert_eq!(found.findings, Findings::default(), "a crash may part them");
        let write = found.journal.write_table().expect("it is due");
        assert_eq!(write.what, PageKind::Table(0, worse));
        let owner = ssd.superblock.owner();
        assert_eq!(TablePage::decode(&write.bytes, owner, 0).expect("a page").edition, 3);
    }
}

/// Later changes are lost, and what the table has of them may contradict the rest.
#[test]
fn pages_of_the_journal_that_the_table_knows_are_there() {
    let mut ssd = Ssd::new(superblock(1));
    ssd.frame(0, 5);
    ssd.frame(1, 6);
    ssd.journal(1, 0, &[record(0, 5, State::Dirty)]);
    ssd.journal(2, 1, &[record(1, 6, State::Dirty)]);
    ssd.tables(0, 1, &[(1, entry(2, 6, State::Dirty))]);
    assert_eq!(blocks(&ssd.recovered()), [(5, 0), (6, 1)]);
    let layout = ssd.superblock.layout;
    for number in [2, 1] {
        for copy in Copy::BOTH {
            ssd.pages.remove(&layout.journal_page(number, copy));
        }
        let refused = recover(&mut ssd).expect_err("it is gone");
        assert!(
            matches!(refused, RecoverError::Journal { number: at } if at == number),
            "{refused}"
        );
    }
    // Once they do not count any more, they are not needed.
    ssd.put_superblock(Superblock { journal_from: 3, ..superblock(2) });
    assert_eq!(blocks(&ssd.recovered()), [(6, 1)]);
}

/// An SSD that has lost its mapping returns zeros.
#[test]
fn a_page_of_the_table_that_is_zeros_is_damaged_where_all_were_written() {
    let mut ssd = Ssd::new(Superblock { table_written: true, ..at_rest() });
    let layout = ssd.superblock.layout;
    (0..layout.table_pages as u32).for_each(|place| ssd.tables(place, 0, &[]));
    assert_eq!(ssd.recovered().findings, Findings::default(), "none was changed yet");
    ssd.tables(0, 7, &[(3, entry(1, 9, State::Dirty))]);
    ssd.pages.remove(&layout.table_page(0, Copy::One));
    let found = ssd.recovered();
    assert_eq!((blocks(&found), found.findings.damaged_pages), (vec![(9, 3)], 1));
    ssd.pages.remove(&layout.table_page(0, Copy::Two));
    let refused = recover(&mut ssd).expect_err("both are gone");
    assert!(matches!(refused, RecoverError::Table(LostPage { place: 0, .. })), "{refused}");
}

#[test]
fn a_damaged_copy_of_a_page_of_the_table_is_told_and_the_other_counts() {
    for bad in Copy::BOTH {
        let mut ssd = Ssd::new(at_rest());
        ssd.tables(0, 7, &[(3, entry(1, 9, State::Clean))]);
        let at = ssd.superblock.layout.table_page(0, bad);
        ssd.pages.get_mut(&at).expect("there")[100] ^= 1;
        let mut found = ssd.recovered();
        assert_eq!((blocks(&found), found.findings.damaged_pages), (vec![(9, 3)], 1));
        assert_eq!(found.journal.write_table().expect("it is due").what, PageKind::Table(0, bad));
        // An unreadable copy counts as damaged.
        ssd.unreadable.insert(at);
        assert_eq!(blocks(&ssd.recovered()), [(9, 3)]);
        ssd.unreadable.insert(ssd.superblock.layout.table_page(0, bad.other()));
        let told = recover(&mut ssd).map(|_| ());
        let RecoverError::Table(page) = told.expect_err("both are damaged") else {
            panic!("another page");
        };
        let LostPage { place, frames, .. } = page;
        assert_eq!((place, frames), (0, ENTRIES));
    }
}

/// What a page says of its frames is all that is known of them, but for the journal.
#[test]
fn without_a_page_of_the_table_the_others_and_the_journal_count() {
    let layout = Layout::for_slots(3 * ENTRIES as u64);
    let mut ssd = Ssd::new(Superblock { layout, ..at_rest() });
    (0..layout.table_pages as u32).for_each(|place| ssd.tables(place, 1, &[]));
    ssd.tables(0, 2, &[(3, entry(1, 9, State::Dirty)), (4, entry(1, 8, State::Clean))]);
    ssd.tables(1, 2, &[(3, entry(1, 7, State::Dirty))]);
    let first = ENTRIES as u32;
    assert_eq!(blocks(&ssd.recovered()), [(9, 3), (8, 4), (7, first + 3)]);
    for copy in Copy::BOTH {
        ssd.pages.get_mut(&layout.table_page(1, copy)).expect("there")[100] ^= 1;
    }
    let (found, lost) = salvage(&mut ssd).expect("there is more");
    assert_eq!((blocks(&found), found.dirty_blocks()), (vec![(9, 3), (8, 4)], 1));
    let told = |lost: &[LostPage]| -> Vec<_> {
        lost.iter().map(|page| (page.place, page.frames, page.unknown_frames)).collect()
    };
    assert_eq!(told(&lost), [(1, ENTRIES, ENTRIES)]);
    let refused = recover(&mut ssd).map(|_| ());
    assert!(matches!(refused, Err(RecoverError::Table(page)) if page == lost[0]));
    // The journal knows of one of its frames.
    let number = ssd.superblock.journal_from;
    ssd.frame(first + 5, 6);
    ssd.journal(number, number - 1, &[record(first + 5, 6, State::Dirty)]);
    let (found, lost) = salvage(&mut ssd).expect("there is more");
    assert_eq!(blocks(&found), [(9, 3), (8, 4), (6, first + 5)]);
    assert_eq!(told(&lost), [(1, ENTRIES, ENTRIES - 1)]);
    // The pages of the journal are needed: a block of an older one may be older than what the disk has.
    ssd.tables(0, 3, &[(3, entry(number + 1, 9, State::Dirty))]);
    assert!(matches!(salvage(&mut ssd), Err(RecoverError::Journal { .. })));
}

#[test]
fn a_table_of_many_pages_is_read_to_its_end() {
    // More pages than are read at a time.
    let layout = Layout::for_slots(60_000);
    assert!(layout.table_pages > 256);
    let mut ssd = Ssd::new(Superblock { layout, ..at_rest() });
    let place = layout.table_pages as u32 - 1;
    let last = layout.frames as u32 - 1;
    let at = last as usize - place as usize * ENTRIES;
    ssd.tables(place, 1, &[(at, entry(1, 5, State::Clean))]);
    ssd.tables(255, 1, &[(ENTRIES - 1, entry(1, 6, State::Dirty))]);
    let other = 256 * ENTRIES as u32 - 1;
    assert_eq!(blocks(&ssd.recovered()), [(6, other), (5, last)]);
    // The last page is not full of entries.
    for copy in Copy::BOTH {
        ssd.pages.get_mut(&layout.table_page(place, copy)).expect("there")[100] ^= 1;
    }
    let told = recover(&mut ssd).map(|_| ());
    let RecoverError::Table(page) = told.expect_err("both are damaged") else {
        panic!("another page");
    };
    assert_eq!((page.place, page.frames), (place, at + 1));
}

#[test]
fn data_that_never_arrived_leaves_a_block_as_it_was() {
    let mut ssd = block_5_in_frame_0();
    // It moves to frame 1, whose data has not arrived.
    ssd.journal(2, 1, &[record(1, 5, State::Dirty), record(0, 5, State::Superseded)]);
    let found = ssd.recovered();
    assert_eq!(blocks(&found), [(5, 0)]);
    assert_eq!(found.findings, Findings { void_records: 1, ..Findings::default() });
    // Both frames are corrected, in order.
    assert_eq!(corrected(&found), [(0, State::Dirty), (1, State::Free)]);
    // And it moves again to frame 2, whose data has arrived: the other two frames are free.
    ssd.journal(3, 1, &[record(2, 5, State::Dirty), record(1, 5, State::Superseded)]);
    ssd.frame(2, 5);
    let found = ssd.recovered();
    assert_eq!((blocks(&found), found.findings.void_records), (vec![(5, 2)], 1));
    assert_eq!(corrected(&found), [(0, State::Free), (1, State::Free)]);
}

/// It was dropped after the move, and its slot may be in use again: with both there would be more
/// blocks than slots.
#[test]
fn a_block_that_left_is_not_there_again_as_its_data_never_arrived() {
    let mut ssd = block_5_in_frame_0();
    let moved = [record(1, 5, State::Dirty), record(0, 5, State::Superseded)];
    let left = |frame| record(frame, 5, State::Free);
    let (another, back) = (record(2, 6, State::Dirty), record(3, 5, State::Clean));
    ssd.frame(2, 6);
    ssd.journal(2, 1, &[&moved[..], &[left(1), another]].concat());
    let found = ssd.recovered();
    assert_eq!(blocks(&found), [(6, 2)]);
    // The journal gets the corrections before frame 0 is reused.
    assert_eq!(corrected(&found), [(0, State::Free), (1, State::Free)]);
    // It moved once more before it was dropped, to a frame with the right data.
    let again = [record(3, 5, State::Dirty), record(1, 5, State::Superseded)];
    ssd.frame(3, 5);
    ssd.journal(2, 1, &[&moved[..], &again, &[left(3), another]].concat());
    assert_eq!(blocks(&ssd.recovered()), [(6, 2)]);
    // And it is cached again.
    ssd.journal(2, 1, &[&moved[..], &[left(1), another, back]].concat());
    assert_eq!(blocks(&ssd.recovered()), [(6, 2), (5, 3)]);
}

/// A clean record was added when the disk had the data: the contents before the move are older.
#[test]
fn a_block_that_the_disk_has_is_not_what_it_was_before() {
    let mut ssd = block_5_in_frame_0();
    ssd.journal(2, 1, &[record(1, 5, State::Dirty), record(0, 5, State::Superseded)]);
    assert_eq!(blocks(&ssd.recovered()), [(5, 0)], "the data is not there");
    ssd.journal(3, 1, &[record(1, 5, State::Clean)]);
    let found = ssd.recovered();
    assert_eq!((blocks(&found), found.findings.void_records), (vec![], 2), "nor is it any more");
    assert_eq!(corrected(&found), [(0, State::Free), (1, State::Free)]);
    // Nor is it lost if it was known before.
    let mut known = Ssd::new(Superblock { journal_from: 2, ..superblock(1) });
    known.tables(0, 1, &[(0, entry(1, 5, State::Dirty))]);
    known.journal(2, 1, &[record(0, 5, State::Clean)]);
    assert_eq!(blocks(&known.recovered()), [], "dirty, and damaged");
    // Later writes count.
    ssd.journal(4, 1, &[record(2, 5, State::Dirty), record(1, 5, State::Superseded)]);
    ssd.frame(2, 5);
    assert_eq!(blocks(&ssd.recovered()), [(5, 2)]);
}

#[test]
fn of_a_move_over_two_pages_the_second_record_counts_as_the_first_did() {
    let mut ssd = Ssd::new(superblock(1));
    ssd.journal(1, 0, &[record(0, 5, State::Dirty)]);
    ssd.journal(2, 1, &[record(1, 5, State::Dirty)]);
    ssd.journal(3, 2, &[record(0, 5, State::Superseded)]);
    ssd.frame(1, 5);
    let found = ssd.recovered();
    assert_eq!((blocks(&found), found.corrections.len()), (vec![(5, 1)], 0));
}

#[test]
fn what_was_written_past_the_ssd_does_not_count() {
    let all = [(0, State::Clean), (1, State::Dirty)];
    // Frames 0 and 1 are from page 3, frames 2 and 3 from page 4.
    let entries: Vec<_> = [3, 4]
        .into_iter()
        .flat_map(|page| all.map(|(at, state)| entry(page, 10 * page + at, state)))
        .enumerate()
        .collect();
    for (clean_from, dirty_from, left) in [
        (0, 0, &[0, 1, 2, 3][..]),
        (3, 3, &[0, 1, 2, 3]),
        (4, 0, &[1, 2, 3]),
        (4, 4, &[2, 3]),
        (5, 4, &[3]),
        (5, 5, &[]),
    ] {
        let mut ssd =
            Ssd::new(Superblock { journal_from: 5, clean_from, dirty_from, ..superblock(1) });
        ssd.tables(0, 1, &entries);
        let found = ssd.recovered();
        let frames: Vec<_> = found.live().map(|(_, frame)| frame.0).collect();
        assert_eq!(frames, left, "clean from {clean_from}, dirty from {dirty_from}");
    }
}

#[test]
fn the_journal_goes_on_behind_all_that_was_written() {
    let next = |mut ssd: Ssd| {
        let mut journal = ssd.recovered().journal;
        journal.add(record(0, 5, State::Dirty));
        let [page, _] = journal.seal().expect("there is room").expect("it has a record");
        page.what
    };
    // A page without its predecessor, which never arrived.
    let mut ssd = Ssd::new(superblock(1));
    ssd.journal(3, 0, &[record(0, 5, State::Dirty)]);
    assert_eq!(next(ssd), PageKind::Journal(4, Copy::One));
    for (clean_from, dirty_from) in [(7, 0), (7, 6), (6, 7)] {
        let ssd = Ssd::new(Superblock { clean_from, dirty_from, ..superblock(1) });
        assert_eq!(next(ssd), PageKind::Journal(7, Copy::One));
    }
    let ssd = Ssd::new(Superblock { journal_from: 9, ..superblock(1) });
    assert_eq!(next(ssd), PageKind::Journal(9, Copy::One));
}

#[test]
fn a_page_that_was_flushed_and_is_damaged_is_missed() {
    let mut ssd = Ssd::new(superblock(1));
    (0..3).for_each(|frame| ssd.frame(frame, frame.into()));
    for number in 1..=3 {
        let frame = number as u32 - 1;
        ssd.journal(number, number - 1, &[record(frame, frame.into(), State::Dirty)]);
    }
    let layout = ssd.superblock.layout;
    let damage = |ssd: &mut Ssd, number, copy| {
        ssd.pages.get_mut(&layout.journal_page(number, copy)).expect("there")[100] ^= 1;
    };
    // One copy of page 2, which was flushed by the record of page 3, and one of page 3, of which it
    // is unknown.
    damage(&mut ssd, 2, Copy::One);
    damage(&mut ssd, 3, Copy::Two);
    let found = ssd.recovered();
    assert_eq!((found.live().count(), found.replayed_pages), (3, 3));
    assert_eq!(found.findings, Findings { damaged_pages: 1, torn_pages: 1, void_records: 0 });
    // Both copies of the last page: it may never have arrived.
    damage(&mut ssd, 3, Copy::One);
    let mut cut = ssd.recovered();
    assert_eq!((blocks(&cut), cut.replayed_pages), (vec![(0, 0), (1, 1)], 2));
    assert_eq!(cut.findings.torn_pages, 1, "page 2, of which page 3 was the only one to speak");
    assert!(cut.journal.seal().expect("there is room").is_some());
    // Both copies of a flushed page.
    damage(&mut ssd, 3, Copy::One);
    damage(&mut ssd, 2, Copy::Two);
    let told = recover(&mut ssd).map(|_| ());
    assert!(matches!(told, Err(RecoverError::Journal { number: 2 })), "{told:?}");
}

#[test]
fn of_two_copies_with_different_pages_the_newer_counts() {
    let layout = superblock(1).layout;
    let around = layout.journal_pages;
    for newer in Copy::BOTH {
        let mut ssd = Ssd::new(Superblock { journal_from: around + 1, ..superblock(1) });
        ssd.frame(0, 5);
        ssd.journal(1, 0, &[record(3, 8, State::Clean)]);
        let old = ssd.pages[&layout.journal_page(1, newer.other())];
        ssd.journal(around + 1, around, &[record(0, 5, State::Dirty)]);
        ssd.pages.insert(layout.journal_page(1, newer.other()), old);
        let found = ssd.recovered();
        assert_eq!((blocks(&found), found.replayed_pages), (vec![(5, 0)], 1));
        assert_eq!(found.findings, Findings { torn_pages: 1, ..Findings::default() });
    }
}

#[test]
fn of_two_sessions_the_page_of_the_later_one_counts() {
    // Both have the number 4; from this number on only pages of session 2 count, before it those of
    // any session.
    for later in Copy::BOTH {
        let mut ssd =
            Ssd::new(Superblock { session: 2, session_from: 5, journal_from: 4, ..superblock(3) });
        (0..2).for_each(|frame| ssd.frame(frame, frame.into()));
        for (copy, session) in [(later, 2), (later.other(), 1)] {
            let records = vec![record(session as u32 - 1, session - 1, State::Dirty)];
            let page = JournalPage { number: 4, previous: 3, durable: 3, session, records };
            let at = ssd.superblock.layout.journal_page(4, copy);
            ssd.pages.insert(at, page.encode(ssd.superblock.owner()));
        }
        assert_eq!(blocks(&ssd.recovered()), [(1, 1)]);
    }
    // A page of the other session with a number from there on does not count at all.
    let mut ssd =
        Ssd::new(Superblock { session: 1, session_from: 4, journal_from: 4, ..superblock(3) });
    ssd.frame(0, 5);
    ssd.journal(4, 3, &[record(0, 5, State::Dirty)]);
    ssd.put_superblock(Superblock { session: 2, ..ssd.superblock.clone() });
    assert_eq!(ssd.recovered().live().next(), None);
}

/// A crash while a cache is created again on an SSD that has grown.
#[test]
fn a_cache_that_was_emptied_is_empty_however_many_of_its_pages_are_gone() {
    let mut full = Ssd::new(superblock(3));
    for block in 0..4 {
        full.frame(block as u32, block);
    }
    let old = [(0, entry(1, 0, State::Dirty)), (1, entry(1, 1, State::Clean))];
    full.tables(0, 2, &old);
    full.journal(1, 0, &[record(2, 2, State::Dirty)]);
    full.journal(2, 1, &[record(3, 3, State::Clean)]);
    assert_eq!(full.recovered().live().count(), 4);
    let emptied = full.superblock.emptied();
    full.put_superblock(emptied);
    let first_frame = full.superblock.layout.frame_page(Frame(0));
    for end in SUPERBLOCKS..=first_frame {
        if end > SUPERBLOCKS {
            full.pages.remove(&(end - 1));
        }
        let found = full.recovered();
        assert_eq!((found.live().count(), found.findings), (0, Findings::default()), "{end}");
    }
    // A crash tore both copies of a page of the table.
    let (layout, owner) = (full.superblock.layout, full.superblock.owner());
    let mut torn = TablePage { edition: 2, ..TablePage::unused(0) };
    torn.entries[100] = old[0].1;
    let mut torn = torn.encode(owner);
    torn[..512].fill(0);
    full.pages.extend(Copy::BOTH.map(|copy| (layout.table_page(0, copy), torn)));
    let mut found = full.recovered();
    assert_eq!((found.live().count(), found.findings), (0, Findings::default()));
    // It is rewritten before the journal drops pages that it may contain by then.
    let write = found.journal.write_table().expect("it is due");
    assert_eq!(write.what, PageKind::Table(0, Copy::One));
    let from = full.superblock.journal_from;
    full.journal(from, 0, &[record(1, 7, State::Dirty)]);
    full.frame(1, 7);
    assert_eq!(blocks(&full.recovered()), [(7, 1)], "what came since is in the journal");
    // Once it may have valid entries, it must be undamaged.
    full.put_superblock(Superblock {
        edition: 9,
        journal_from: from + 1,
        ..full.superblock.clone()
    });
    let refused = recover(&mut full).expect_err("its content is unknown");
    assert!(matches!(refused, RecoverError::Table(LostPage { place: 0, .. })), "{refused}");
}
