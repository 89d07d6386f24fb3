//! What fuzzers of the SSD's format do: pages as they may stand on an SSD, and whole SSDs.
//!
//! A page of random bytes ends at its checksum, so pages are tried as they are and *sealed*: with magic
//! number, owner and checksum put right, as a newer version or a bug may have left them.

use std::io;

use shingle_core::registry::Registry;
use shingle_core::units::{BLOCK_BYTES, Block};
use shingle_engine::format::journal::{JournalPage, Record};
use shingle_engine::format::layout::{Copy, Layout};
use shingle_engine::format::superblock::Superblock;
use shingle_engine::format::table::{ENTRIES, Entry, TablePage};
use shingle_engine::format::{BLOCKS_MAX, Frame, Owner, PAGE_BYTES, Page, State};
use shingle_engine::recover::{Pages, recover};
use shingle_engine::settings::Settings;
use shingle_engine::{Config, Engine};

const UUID: [u8; 16] = *b"fuzzed, all of i";
const OWNER: Owner = Owner(u64::from_le_bytes(*b"fuzzed, "));

/// The kinds of pages of metadata.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Superblock,
    Journal,
    Table,
}

/// Puts right what says whose page it is, and that it is whole.
fn seal(page: &mut Page, kind: Kind) {
    let crc_at = match kind {
        Kind::Superblock => {
            page[..8].copy_from_slice(b"SHINGLE\0");
            12
        }
        Kind::Journal | Kind::Table => {
            page[..4].copy_from_slice(if kind == Kind::Journal { b"SJRN" } else { b"STBL" });
            page[8..16].copy_from_slice(&OWNER.0.to_le_bytes());
            4
        }
    };
    page[crc_at..crc_at + 4].fill(0);
    let crc = crc32c::crc32c(&page[..]);
    page[crc_at..crc_at + 4].copy_from_slice(&crc.to_le_bytes());
}

/// The bytes as a page: what is missing is zeros.
fn page(bytes: &[u8]) -> Page {
    let mut page = [0; PAGE_BYTES];
    let bytes = &bytes[..bytes.len().min(PAGE_BYTES)];
    page[..bytes.len()].copy_from_slice(bytes);
    page
}

/// The page as it is, and sealed.
fn both(bytes: &[u8], kind: Kind) -> [Page; 2] {
    let mut sealed = page(bytes);
    seal(&mut sealed, kind);
    [page(bytes), sealed]
}

/// What is read can be written, and is the same again.
pub fn superblock(bytes: &[u8]) {
    for page in both(bytes, Kind::Superblock) {
        let Ok(found) = Superblock::decode(&page) else { continue };
        assert!(found.layout.is_sound(found.ssd_bytes));
        let _ = crate::store::settings(&found.settings);
        assert_eq!(Superblock::decode(&found.encode()), Ok(found));
    }
}

/// As [`superblock`].
pub fn journal_page(bytes: &[u8]) {
    for page in both(bytes, Kind::Journal) {
        let Ok(found) = JournalPage::decode(&page, OWNER) else { continue };
        assert_eq!(JournalPage::decode(&found.encode(OWNER), OWNER), Ok(found));
    }
}

/// As [`superblock`].
pub fn table_page(bytes: &[u8]) {
    for page in both(bytes, Kind::Table) {
        let place = u32::from_le_bytes(page[16..20].try_into().expect("four bytes"));
        let Ok(found) = TablePage::decode(&page, OWNER, place) else { continue };
        assert!(found.place == place && found.entries.len() == ENTRIES);
        assert_eq!(TablePage::decode(&found.encode(OWNER), OWNER, place), Ok(found));
    }
}

const LAYOUT: Layout = Layout { journal_pages: 4, table_pages: 2, frames: 300, slots: 200 };
const DISK_BLOCKS: u64 = 1 << 20;

/// A small SSD in memory. Frames beyond those that its cache uses are zeros.
struct Ssd {
    pages: Vec<Page>,
    /// Pages that are not given.
    unreadable: Vec<u64>,
}

impl Pages for Ssd {
    type Error = io::Error;

    fn read(&mut self, first: u64, out: &mut [Page]) -> io::Result<()> {
        for (page, at) in out.iter_mut().zip(first..) {
            let found = usize::try_from(at).ok().and_then(|at| self.pages.get(at));
            let found = found.filter(|_| !self.unreadable.contains(&at));
            *page = *found.ok_or_else(|| io::Error::other("the SSD does not give this page"))?;
        }
        Ok(())
    }
}

impl Ssd {
    /// After a crash: some blocks in the table, and three pages of journal, the last not known to be flushed.
    fn new() -> Ssd {
        let mut ssd = Ssd { pages: Vec::new(), unreadable: Vec::new() };
        let bytes = LAYOUT.pages() * PAGE_BYTES as u64;
        ssd.pages.resize(LAYOUT.pages() as usize, [0; PAGE_BYTES]);
        let superblock = Superblock {
            edition: 5,
            journal_from: 7,
            clean: false,
            session: 4,
            session_from: 7,
            settings: "policy=sac\nmode=write-back\n".to_owned(),
            ..Superblock::new(UUID, LAYOUT, bytes, DISK_BLOCKS * BLOCK_BYTES)
        };
        Copy::BOTH.iter().for_each(|copy| ssd.put(copy.superblock_page(), superblock.encode()));
        let states = [State::Free, State::Clean, State::Dirty];
        for place in 0..LAYOUT.table_pages as u32 {
            let entry = |n: u32| match n % 5 {
                kind @ 1..=2 => Entry {
                    block: Block(u64::from(n) * 1009),
                    state: states[kind as usize],
                    hint: n as u16,
                    sequence: 3 << 8 | u64::from(n % 200),
                    crc: crc32c::crc32c(&[0; PAGE_BYTES]),
                },
                _ => Entry::UNUSED,
            };
            let first = place * ENTRIES as u32;
            let entries = (first..first + ENTRIES as u32).map(entry).collect();
            let page = TablePage { place, edition: 2, entries }.encode(OWNER);
            Copy::BOTH.iter().for_each(|&copy| ssd.put(LAYOUT.table_page(place, copy), page));
        }
        for number in 7..10 {
            let of = |n: u32, state: State| Record {
                frame: Frame(n),
                crc: crc32c::crc32c(&[0; PAGE_BYTES]),
                block: Block(u64::from(n) * 1009),
                state,
            };
            let n = number as u32 * 5;
            // One new block, and one that moves.
            let moved = Record { block: Block(u64::from(n + 1) * 1009), ..of(n + 3, State::Dirty) };
            let records = vec![of(n, State::Clean), moved, of(n + 1, State::Superseded)];
            let (previous, session) = (number - 1, 4);
            let page = JournalPage { number, previous, durable: previous, session, records };
            let page = page.encode(OWNER);
            Copy::BOTH.iter().for_each(|&copy| ssd.put(LAYOUT.journal_page(number, copy), page));
        }
        ssd
    }

    fn put(&mut self, at: u64, page: Page) {
        self.pages[at as usize] = page;
    }

    /// What kind of page stands there, and where its other copy is; `None` for a frame.
    fn kind(at: u64) -> Option<(Kind, u64)> {
        let parts = [
            (Kind::Superblock, 1),
            (Kind::Journal, LAYOUT.journal_pages),
            (Kind::Table, LAYOUT.table_pages),
        ];
        let mut first = 0;
        for (kind, pages) in parts {
            if at < first + 2 * pages {
                return Some((kind, if at < first + pages { at + pages } else { at - pages }));
            }
            first += 2 * pages;
        }
        None
    }
}

/// A small SSD that is edited. An edit is the page, flags, the place within the page in units of two bytes
/// (and one bit), how many bytes, and these. Flags: 1 seals the page, 2 gives its other copy the same, 4
/// makes it unreadable.
pub fn recovery(mut bytes: &[u8]) {
    let mut ssd = Ssd::new();
    while let Some((&[at, flags, place, odd, length], rest)) = bytes.split_first_chunk() {
        let at = u64::from(at);
        let place =
            usize::from(place) * 2 + usize::from(odd & 1) + (usize::from(odd >> 1 & 7) << 9);
        let length = usize::from(length).min(rest.len()).min(PAGE_BYTES - place);
        let (new, rest) = rest.split_at(length);
        bytes = rest;
        let page = &mut ssd.pages[at as usize];
        page[place..place + length].copy_from_slice(new);
        if let Some((kind, other)) = Ssd::kind(at) {
            if flags & 1 != 0 {
                seal(page, kind);
            }
            if flags & 2 != 0 {
                let page = *page;
                ssd.put(other, page);
            }
        }
        if flags & 4 != 0 {
            ssd.unreadable.push(at);
        }
    }
    recovered(&mut ssd);
}

/// As a process that serves the cache begins.
fn recovered(ssd: &mut Ssd) {
    let copies = [Copy::One, Copy::Two].map(|copy| ssd.pages[copy.superblock_page() as usize]);
    // An SSD is as large as it was; one that is not costs memory before it is refused.
    if Superblock::newer(&copies).is_ok_and(|found| found.layout.pages() > LAYOUT.pages()) {
        return;
    }
    let mut found = match recover(ssd) {
        Ok(found) => found,
        Err(error) => return crate::one_line(&error),
    };
    let layout = *found.journal.layout();
    assert!(found.live().all(|(_, frame)| u64::from(frame.0) < layout.frames));
    assert!(found.corrections.iter().all(|record| u64::from(record.frame.0) < layout.frames));
    assert!(found.dirty_blocks() <= found.live().count() as u64);
    let superblock = found.journal.superblock().clone();
    let Some(settings) = crate::store::settings(&superblock.settings) else { return };
    let disk_blocks = (superblock.disk_bytes / BLOCK_BYTES).min(BLOCKS_MAX);
    let Some(cache) = cache(&settings, layout.slots as u32, disk_blocks) else { return };
    for write in found.journal.mark_in_use() {
        assert_eq!(Superblock::decode(&write.bytes).as_ref(), Ok(found.journal.superblock()));
    }
    match <Engine>::open(found, cache, disk_blocks, Config::for_slots(layout.slots)) {
        Ok(mut engine) => drop(engine.take_effects()),
        Err(error) => crate::one_line(&error),
    }
}

fn cache(
    settings: &Settings,
    slots: u32,
    disk_blocks: u64,
) -> Option<Box<dyn shingle_core::cache::CacheCore>> {
    let made = settings.cache(&Registry::default(), slots, disk_blocks);
    made.inspect_err(|error| crate::one_line(error)).ok()
}
