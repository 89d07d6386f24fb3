//! The journal step by step: which writes are due when, and their contents. Tests with crashes
//! check that nothing is lost (`tests/all/journal.rs`); these tests check everything else.

use shingle_core::units::Block;

use super::{FlushCoverage, Journal, JournalFull, PageKind, Write};
use crate::format::journal::{JournalPage, Record};
use crate::format::layout::{Copy, Layout};
use crate::format::superblock::{SUCCESSOR_AHEAD, Superblock};
use crate::format::table::TablePage;
use crate::format::{Frame, State};
use crate::table::Table;

/// The journal of a cache of 64 slots that was shut down in order.
fn journal() -> Journal {
    let layout = Layout::for_slots(64);
    let superblock = Superblock::new(*b"a cache for test", layout, 1 << 30, 1 << 40);
    Journal::new(superblock, None, Table::new(&layout, None), 0, 1)
}

fn record(frame: u32, block: u64, state: State) -> Record {
    Record { frame: Frame(frame), crc: 7, block: Block(block), state }
}

/// Writes both copies of the next page, without a flush.
fn seal(journal: &mut Journal) -> JournalPage {
    let writes = journal.seal().expect("there is room").expect("there is something");
    let page = JournalPage::decode(&writes[0].bytes, journal.superblock.owner()).expect("a page");
    writes.iter().for_each(|write| journal.written(write.what));
    page
}

/// A complete flush: the frames that are free after it, and the next writes.
fn flush(journal: &mut Journal) -> (Vec<Frame>, Vec<Write>) {
    let covered = journal.begin_flush();
    flushed(journal, covered)
}

fn flushed(journal: &mut Journal, covered: FlushCoverage) -> (Vec<Frame>, Vec<Write>) {
    let (mut freed, mut next) = (Vec::new(), Vec::new());
    journal.flushed(covered, &mut freed, &mut next);
    (freed, next)
}

/// Completes the write of both copies of a page of the table or a superblock.
fn pairs(journal: &mut Journal, first: &Write) {
    journal.written(first.what);
    let (_, next) = flush(journal);
    let [second] = &next[..] else { panic!("the second copy is next") };
    assert_eq!(second.bytes, first.bytes);
    assert_ne!(second.page, first.page);
    journal.written(second.what);
    assert!(flush(journal).1.is_empty());
}

/// Block 5 is in frame 0, and this is committed.
fn with_a_block() -> Journal {
    let mut journal = journal();
    journal.add(record(0, 5, State::Dirty));
    seal(&mut journal);
    flush(&mut journal);
    journal
}

fn superblock(write: &Write) -> Superblock {
    Superblock::decode(&write.bytes).expect("a superblock")
}

#[test]
fn a_cache_that_rests_has_nothing_to_write() {
    let mut journal = journal();
    assert!(journal.seal().expect("there is room").is_none());
    assert!(journal.write_table().is_none() && journal.write_superblock().is_none());
    assert!(journal.is_committed() && !journal.is_unconfirmed() && !journal.has_new_settings());
    assert_eq!((journal.open(), journal.used_pages(), journal.frames_to_free()), (0, 0, 0));
}

#[test]
fn the_last_page_is_the_one_sealed_last() {
    let mut journal = with_a_block();
    assert_eq!(journal.last_page(), 1);
    journal.add(record(1, 6, State::Clean));
    assert_eq!(journal.last_page(), 1, "the next one is still open");
    assert_eq!(seal(&mut journal).number, 2);
    assert_eq!(journal.last_page(), 2);
}

#[test]
fn use_is_not_an_orderly_end() {
    let mut journal = journal();
    let [one, two] = journal.mark_in_use_with([9; 32]);
    let written = superblock(&one);
    assert_eq!((written.clean, written.fingerprint), (false, [9; 32]));
    assert_eq!((written.edition, written.session, written.session_from), (2, 2, 1));
    assert_eq!((one.page, two.page), (0, 1));
    assert_eq!(one.bytes, two.bytes);
    assert_eq!(journal.superblock(), &written);
}

#[test]
fn an_ssd_that_was_emptied_and_is_used_all_the_same_goes_beyond_its_successor() {
    let (mut old, mut new) = (journal(), journal());
    new.superblock.edition = old.superblock.edition + SUCCESSOR_AHEAD;
    new.mark_in_use();
    old.invalidate(true);
    old.mark_in_use();
    assert_eq!((old.superblock.edition, new.superblock.edition), (6, 4));
    // But not if it has a block: then nothing has replaced it.
    let mut used = with_a_block();
    used.mark_in_use();
    assert_eq!(used.superblock.edition, 2);
}

#[test]
fn settings_are_in_the_next_superblock_and_in_one_only() {
    let mut journal = journal();
    assert!(journal.has_settings());
    journal.set_settings("policy lru".to_owned());
    assert!(journal.has_new_settings() && !journal.has_settings());
    let write = journal.write_superblock().expect("it is due");
    let written = superblock(&write);
    assert_eq!((written.settings.as_str(), written.clean), ("policy lru", false));
    assert!(!journal.has_new_settings() && journal.write_superblock().is_none());
    assert!(!journal.has_settings(), "it is on its way");
    pairs(&mut journal, &write);
    assert_eq!(journal.superblock(), &written);
    assert!(
        journal.has_settings()
            && !journal.has_new_settings()
            && journal.write_superblock().is_none()
    );
}

#[test]
fn settings_that_come_while_a_superblock_is_on_its_way_are_in_the_one_after_it() {
    let mut journal = journal();
    journal.set_settings("policy lru".to_owned());
    let first = journal.write_superblock().expect("it is due");
    journal.set_settings("policy most".to_owned());
    // One superblock at a time.
    assert!(!journal.has_new_settings() && journal.write_superblock().is_none());
    pairs(&mut journal, &first);
    assert_eq!(superblock(&first).settings, "policy lru");
    assert_eq!(journal.superblock().settings, "policy most");
    assert!(journal.has_new_settings());
    let second = journal.write_superblock().expect("it is due");
    assert_eq!(
        (superblock(&second).settings.as_str(), superblock(&second).edition),
        ("policy most", 3)
    );
    pairs(&mut journal, &second);
    assert!(!journal.has_new_settings());
}

#[test]
fn a_record_is_committed_when_its_page_was_flushed() {
    let mut journal = journal();
    journal.add(record(0, 5, State::Dirty));
    assert_eq!((journal.is_committed(), journal.open()), (false, 1));
    let page = seal(&mut journal);
    assert_eq!((page.number, page.previous, page.durable, page.records.len()), (1, 0, 0, 1));
    assert_eq!((journal.is_committed(), journal.open()), (false, 0));
    flush(&mut journal);
    assert!(journal.is_committed());
    assert_eq!(journal.table.entry(Frame(0)).block, Block(5));
}

#[test]
fn the_ssd_is_told_at_rest_that_the_last_records_were_flushed() {
    let mut journal = journal();
    journal.add(record(0, 5, State::Dirty));
    assert!(!journal.is_unconfirmed(), "nothing is committed yet");
    seal(&mut journal);
    assert!(!journal.is_unconfirmed());
    flush(&mut journal);
    assert!(journal.is_unconfirmed());
    // (Nothing was given up: without the request no page is due.)
    assert!(journal.seal().expect("there is room").is_none());
    journal.confirm();
    let page = seal(&mut journal);
    assert_eq!((page.durable, page.records.len()), (1, 0));
    flush(&mut journal);
    assert!(!journal.is_unconfirmed());
    assert!(journal.seal().expect("there is room").is_none(), "once is enough");
}

#[test]
fn a_frame_is_free_when_the_page_that_gives_it_up_is_known_to_be_flushed() {
    let mut journal = with_a_block();
    journal.add(record(1, 5, State::Dirty));
    journal.add(record(0, 5, State::Superseded));
    seal(&mut journal);
    assert_eq!(flush(&mut journal).0, [], "the SSD does not say yet that page 2 was flushed");
    assert_eq!(journal.frames_to_free(), 1);
    // A page without records confirms it.
    assert_eq!(seal(&mut journal).durable, 2);
    assert_eq!(flush(&mut journal).0, [Frame(0)]);
    assert_eq!(journal.frames_to_free(), 0);
    assert!(journal.seal().expect("there is room").is_none());
}

/// All of them were in flight in one commit, and the first did not arrive.
#[test]
fn pages_that_a_crash_has_left_do_not_fill_the_journal_for_ever() {
    let layout = Layout::for_slots(64);
    let superblock_found = Superblock::new(*b"a cache for test", layout, 1 << 30, 1 << 40);
    let next = 1 + layout.journal_pages;
    let mut journal = Journal::new(superblock_found, None, Table::new(&layout, None), 0, next);
    journal.add(record(0, 5, State::Dirty));
    assert!(matches!(journal.seal(), Err(JournalFull)));
    let write = journal.write_superblock().expect("they are not needed");
    assert_eq!(superblock(&write).journal_from, next);
    pairs(&mut journal, &write);
    assert_eq!(seal(&mut journal).number, next);
}

#[test]
fn a_flush_covers_what_was_written_when_it_began() {
    let mut journal = with_a_block();
    let page = journal.write_table().expect("its page has changed");
    let covered = journal.begin_flush();
    journal.written(page.what);
    assert!(flushed(&mut journal, covered).1.is_empty(), "it was written while the flush ran");
    assert!(flush(&mut journal).1.len() == 1, "the next one covers it");
}

#[test]
fn how_late_frames_were_used_is_written_where_it_is_asked_for() {
    let mut journal = journal();
    journal.touch_hinted();
    assert!(journal.write_table().is_none(), "nothing was used");
    journal.table.set_hint(Frame(3), 9);
    assert!(journal.write_table().is_none());
    journal.touch_hinted();
    let write = journal.write_table().expect("a hint has changed");
    let owner = journal.superblock.owner();
    assert_eq!(TablePage::decode(&write.bytes, owner, 0).expect("a page").entries[3].hint, 9);
    pairs(&mut journal, &write);
    journal.table.set_hint(Frame(3), 9);
    journal.touch_hinted();
    assert!(journal.write_table().is_none(), "nothing new");
    // Pages written for other reasons contain their hints, too.
    journal.table.set_hint(Frame(3), 10);
    journal.table.touch(Frame(4), 1);
    let write = journal.write_table().expect("its page was touched");
    pairs(&mut journal, &write);
    journal.touch_hinted();
    assert!(journal.write_table().is_none());
}

#[test]
fn after_the_last_superblock_of_an_ssd_that_fails_nothing_follows() {
    let mut journal = journal();
    journal.set_settings("policy lru".to_owned());
    let on_its_way = journal.write_superblock().expect("it is due");
    journal.written(on_its_way.what);
    let covered = journal.begin_flush();
    let last = journal.invalidate(true);
    assert_eq!(last[0].what, PageKind::Superblock(Copy::One), "the other copy may be the good one");
    assert_eq!(last[1].what, PageKind::Superblock(Copy::Two));
    let written = superblock(&last[0]);
    assert_eq!(
        (written.edition, written.clean),
        (3, false),
        "it counts before what was on its way"
    );
    assert_eq!((written.clean_from, written.dirty_from), (1, 1));
    assert_eq!(journal.superblock(), &written);
    // The flush in flight ends.
    let (freed, next) = flushed(&mut journal, covered);
    assert!(freed.is_empty() && next.is_empty());
    assert_eq!(journal.superblock(), &written);
    assert!(journal.next_superblock.is_none());
}

#[test]
fn what_an_ssd_may_hold_is_what_is_committed_and_what_is_on_its_way() {
    let mut journal = journal();
    journal.add(record(0, 9, State::Clean));
    journal.add(record(1, 4, State::Dirty));
    journal.add(record(2, 3, State::Clean));
    seal(&mut journal);
    flush(&mut journal);
    journal.add(record(3, 2, State::Dirty));
    journal.add(record(2, 3, State::Free));
    seal(&mut journal);
    let held = journal.possible_contents();
    assert_eq!((held.clean, held.dirty), (vec![Block(3), Block(9)], vec![Block(2), Block(4)]));
}
