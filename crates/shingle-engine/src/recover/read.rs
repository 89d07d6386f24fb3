//! Reads the metadata of an SSD, and picks the valid copy of each page.

use std::collections::{HashMap, HashSet};
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread::{self, Builder};

use super::{Findings, LostPage, Pages, RecoverError};
use crate::format::journal::{JournalPage, page_of};
use crate::format::layout::{Copy, Layout, SUPERBLOCKS};
use crate::format::superblock::Superblock;
use crate::format::table::{ENTRIES, Entry, TablePage};
use crate::format::{PAGE_BYTES, Page, Unusable};

/// The number of pages read at a time.
const PAGES_AT_ONCE: usize = 64;

/// Threads that read parts of the table, and decode them: a fast SSD has to be asked for several at
/// a time, and waits for none of them to be decoded. Each takes 2 MiB of memory.
const READERS: usize = 8;

/// Reads the superblock, the better copy of it. If the copies differ, returns the worse one: the
/// better one stays until the other one is written.
pub(super) fn superblock<P: Pages>(
    ssd: &mut P,
    findings: &mut Findings,
) -> Result<(Superblock, Option<Copy>), RecoverError<P::Error>> {
    let mut copies = [[0; PAGE_BYTES]; SUPERBLOCKS as usize];
    let failed = read_tolerant(ssd, Copy::One.superblock_page(), &mut copies);
    if let Some(error) = failed.filter(|_| copies == [UNREADABLE; 2]) {
        return Err(RecoverError::Read { page: Copy::One.superblock_page(), error });
    }
    let superblock = Superblock::newer(&copies).map_err(RecoverError::Superblock)?;
    let bad = |page: &&Page| Superblock::decode(page).is_err();
    findings.damaged_pages += copies.iter().filter(bad).count() as u64;
    // (By what it says: an earlier version encoded it otherwise.)
    let is_good = |page: &Page| Superblock::decode(page).as_ref() == Ok(&superblock);
    let worse = if is_good(&copies[0]) { Copy::Two } else { Copy::One };
    Ok((superblock, (copies[0] != copies[1]).then_some(worse)))
}

/// The table as it was found, or a part of it.
#[derive(Clone, PartialEq, Default, Debug)]
pub(super) struct FoundTable {
    pub(super) entries: Vec<Entry>,
    /// The edition of each page.
    pub(super) editions: Vec<u64>,
    /// Pages whose copies differ, and the worse copy: they are written again before the journal
    /// releases the records that changed them.
    pub(super) uneven: Vec<(u32, Copy)>,
    /// The number of the last journal page that an entry stems from; 0 if none does.
    pub(super) known: u64,
    /// Pages of which no copy is valid.
    pub(super) lost: Vec<LostPage>,
    /// Damaged pages, as in [`Findings`].
    damaged_pages: u64,
}

/// Reads the table, the better copy of each page.
pub(super) fn table<P: Pages + Send>(
    ssd: &mut P,
    superblock: &Superblock,
    findings: &mut Findings,
) -> FoundTable {
    let layout = superblock.layout;
    let parts = layout.table_pages.div_ceil(PAGES_AT_ONCE as u64) as usize;
    let mut found = FoundTable {
        entries: Vec::with_capacity(layout.frames as usize),
        editions: Vec::with_capacity(layout.table_pages as usize),
        ..FoundTable::default()
    };
    thread::scope(|scope| {
        let readers: Vec<Option<Receiver<FoundTable>>> = (0..READERS.min(parts))
            .map(|first| {
                let mut ssd = ssd.another()?;
                let (to, from) = sync_channel(1);
                let read = move || {
                    let mut copies = Copies::new(layout.table_pages);
                    let mut parts = (first..parts).step_by(READERS);
                    // (Who receives goes early only if this process ends.)
                    parts.try_for_each(|nth| to.send(part(&mut ssd, superblock, nth, &mut copies)))
                };
                let thread = Builder::new().name("shingle-read".to_owned());
                thread.spawn_scoped(scope, read).ok().map(|_| from)
            })
            .collect();
        let mut copies = Copies::new(layout.table_pages);
        for nth in 0..parts {
            // What no other thread reads, this one does.
            found.append(match &readers[nth % READERS] {
                Some(from) => from.recv().expect("it sends all of its parts"),
                None => part(ssd, superblock, nth, &mut copies),
            });
        }
    });
    findings.damaged_pages += found.damaged_pages;
    found
}

/// Reads a part of the table, by its number.
fn part<P: Pages>(
    ssd: &mut P,
    superblock: &Superblock,
    nth: usize,
    copies: &mut Copies,
) -> FoundTable {
    let layout = superblock.layout;
    let first = (nth * PAGES_AT_ONCE) as u32;
    let part = Part {
        pages: Copy::BOTH.map(|copy| layout.table_page(first, copy)),
        count: (layout.table_pages as usize - first as usize).min(PAGES_AT_ONCE),
    };
    copies.read(ssd, &part);
    let mut found =
        FoundTable { entries: Vec::with_capacity(part.count * ENTRIES), ..FoundTable::default() };
    for (both, place) in copies.pages(&part).zip(first..) {
        found.add(place, both, superblock);
    }
    // While they are in the processor's cache.
    found.known = found.entries.iter().map(|entry| page_of(entry.sequence)).fold(0, u64::max);
    found
}

impl FoundTable {
    /// Adds the part that comes next.
    fn append(&mut self, mut part: FoundTable) {
        self.entries.append(&mut part.entries);
        self.editions.append(&mut part.editions);
        self.uneven.append(&mut part.uneven);
        self.known = self.known.max(part.known);
        self.lost.append(&mut part.lost);
        self.damaged_pages += part.damaged_pages;
    }

    /// Adds the next page.
    fn add(&mut self, place: u32, [one, two]: [&Page; 2], superblock: &Superblock) {
        let frames = frames_on(place, &superblock.layout);
        // An SSD that has lost its map returns zeros.
        let is_lost = |page: &Page| superblock.table_written && *page == [0; PAGE_BYTES];
        // Normally both copies are equal.
        let end = self.entries.len() + frames;
        if one == two
            && !is_lost(one)
            && let Ok(edition) =
                TablePage::decode_into(one, superblock.owner(), place, &mut self.entries)
        {
            self.editions.push(edition);
            self.entries.truncate(end);
            return;
        }
        let decoded = [one, two].map(|page| match is_lost(page) {
            true => Err(Unusable::Foreign),
            false => TablePage::decode(page, superblock.owner(), place),
        });
        if superblock.table_counts() {
            self.damaged_pages += decoded.iter().filter(|page| page.is_err()).count() as u64;
        }
        let (page, worse) = match decoded {
            [Ok(one), Ok(two)] if one.edition > two.edition => (one, Copy::Two),
            [_, Ok(two)] => (two, Copy::One),
            [Ok(one), _] => (one, Copy::Two),
            // If nothing in the table is valid, after a format or a failure, losing it does no harm.
            [Err(_), Err(_)] if !superblock.table_counts() => (TablePage::unused(place), Copy::One),
            [Err(why), Err(_)] => {
                self.lost.push(LostPage { place, why, frames, unknown_frames: frames });
                (TablePage::unused(place), Copy::One)
            }
        };
        self.uneven.push((place, worse));
        self.editions.push(page.edition);
        self.entries.extend_from_slice(&page.entries[..frames]);
    }
}

/// The number of frames that a page of the table describes: the last one has fewer.
fn frames_on(place: u32, layout: &Layout) -> usize {
    (layout.frames as usize - place as usize * ENTRIES).min(ENTRIES)
}

/// The journal as it was found.
pub(super) struct FoundJournal {
    /// The valid pages, in order.
    pub(super) pages: Vec<JournalPage>,
    /// The number of the last of them, or the one before the journal if there is none.
    pub(super) last: u64,
    /// The highest number of any page.
    pub(super) newest: u64,
}

/// Reads the journal.
pub(super) fn journal<P: Pages>(
    ssd: &mut P,
    superblock: &Superblock,
    findings: &mut Findings,
) -> Result<FoundJournal, RecoverError<P::Error>> {
    let layout = superblock.layout;
    let before = superblock.journal_from - 1;
    let (by_previous, halves) = (HashMap::new(), HashSet::new());
    let mut loose = LoosePages { by_previous, halves, newest: before, durable: 0 };
    let mut copies = Copies::new(layout.journal_pages);
    for first in (1..=layout.journal_pages).step_by(PAGES_AT_ONCE) {
        let part = Part {
            pages: Copy::BOTH.map(|copy| layout.journal_page(first, copy)),
            count: (layout.journal_pages - first + 1).min(PAGES_AT_ONCE as u64) as usize,
        };
        copies.read(ssd, &part);
        for both in copies.pages(&part) {
            loose.add(both, superblock);
        }
    }
    loose.in_order(before, findings)
}

/// Pages of the journal, by place on the SSD.
struct LoosePages {
    /// By the number of the page before.
    by_previous: HashMap<u64, JournalPage>,
    /// The numbers of those with one good copy.
    halves: HashSet<u64>,
    /// The highest number of any page.
    newest: u64,
    /// The highest number that a page records as flushed.
    durable: u64,
}

impl LoosePages {
    /// Adds the better copy of a page, if there is one.
    fn add(&mut self, both: [&Page; 2], superblock: &Superblock) {
        let mut half = |page: JournalPage| {
            self.halves.insert(page.number);
            page
        };
        let decoded = both.map(|page| {
            let page = JournalPage::decode(page, superblock.owner())?;
            if page.is_of(superblock) { Ok(page) } else { Err(Unusable::Foreign) }
        });
        let page = match decoded {
            // A torn write can have completed one copy of a page of an earlier session.
            [Ok(one), Ok(two)] if one.number == two.number => {
                if one.session >= two.session {
                    one
                } else {
                    two
                }
            }
            // A newer page was being written to one of them.
            [Ok(one), Ok(two)] => half(if one.number > two.number { one } else { two }),
            [Ok(page), Err(_)] | [Err(_), Ok(page)] => half(page),
            [Err(_), Err(_)] => return,
        };
        self.durable = self.durable.max(page.durable);
        self.newest = self.newest.max(page.number);
        if page.number >= superblock.journal_from {
            self.by_previous.insert(page.previous.max(superblock.journal_from - 1), page);
        }
    }

    /// The pages that follow each other, from the first one after page `before` on.
    fn in_order<E: std::error::Error>(
        mut self,
        before: u64,
        findings: &mut Findings,
    ) -> Result<FoundJournal, RecoverError<E>> {
        let (mut pages, mut last) = (Vec::new(), before);
        while let Some(page) = self.by_previous.remove(&last) {
            last = page.number;
            pages.push(page);
        }
        if self.durable > last {
            return Err(RecoverError::Journal { number: last + 1 });
        }
        let halves = pages.iter().filter(|page| self.halves.contains(&page.number));
        let (flushed, torn): (Vec<_>, Vec<_>) =
            halves.partition(|page| page.number <= self.durable);
        findings.damaged_pages += flushed.len() as u64;
        findings.torn_pages += torn.len() as u64;
        Ok(FoundJournal { pages, last, newest: self.newest })
    }
}

/// A part of journal or table that is read at once.
struct Part {
    /// The first page of each copy.
    pages: [u64; 2],
    /// The number of pages.
    count: usize,
}

/// Buffers for a part, of both copies.
struct Copies([Vec<Page>; 2]);

impl Copies {
    /// Buffers for the largest part of this number of pages.
    fn new(pages: u64) -> Copies {
        let count = pages.min(PAGES_AT_ONCE as u64) as usize;
        Copies([(); 2].map(|()| vec![[0; PAGE_BYTES]; count]))
    }

    fn read<P: Pages>(&mut self, ssd: &mut P, part: &Part) {
        for (first, pages) in part.pages.into_iter().zip(&mut self.0) {
            read_tolerant(ssd, first, &mut pages[..part.count]);
        }
    }

    /// Both copies of each page of the part that was read.
    fn pages(&self, part: &Part) -> impl Iterator<Item = [&Page; 2]> {
        let [one, two] = &self.0;
        one.iter().zip(two).take(part.count).map(|(one, two)| [one, two])
    }
}

/// Stands for a page that cannot be read: it is not valid metadata, so the other copy is used.
const UNREADABLE: Page = [0xFF; PAGE_BYTES];

/// Reads these pages. If that fails, reads them one by one, and returns an error if there was any.
fn read_tolerant<P: Pages>(ssd: &mut P, first: u64, out: &mut [Page]) -> Option<P::Error> {
    let mut error = ssd.read(first, out).err()?;
    for (page, at) in out.iter_mut().zip(first..) {
        if let Err(why) = ssd.read(at, std::slice::from_mut(page)) {
            (*page, error) = (UNREADABLE, why);
        }
    }
    Some(error)
}
