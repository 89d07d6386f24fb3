//! Reads the metadata of an SSD, and picks the valid copy of each page.

use std::collections::{HashMap, HashSet};

use super::{Findings, Pages, RecoverError};
use crate::format::journal::{JournalPage, page_of};
use crate::format::layout::Copy;
use crate::format::superblock::Superblock;
use crate::format::table::{ENTRIES, Entry, TablePage};
use crate::format::{PAGE_BYTES, Page, Unusable};

/// The number of pages read at a time.
const PAGES_AT_ONCE: usize = 256;

/// The table as it was found.
pub(super) struct Found {
    pub(super) entries: Vec<Entry>,
    /// The edition of each page.
    pub(super) editions: Vec<u64>,
    /// Pages whose copies differ, and the worse copy: they are written again before the journal
    /// releases the records that changed them.
    pub(super) uneven: Vec<(u32, Copy)>,
    /// The number of the last journal page that an entry stems from; 0 if none does.
    pub(super) known: u64,
}

/// Reads the table, the better copy of each page.
pub(super) fn table<P: Pages>(
    ssd: &mut P,
    superblock: &Superblock,
    findings: &mut Findings,
) -> Result<Found, RecoverError<P::Error>> {
    let layout = superblock.layout;
    let mut entries = Vec::with_capacity(layout.table_pages as usize * ENTRIES);
    let (mut editions, mut uneven, mut known) = (Vec::new(), Vec::new(), 0);
    let mut copies = two_buffers(layout.table_pages);
    let total = layout.table_pages as u32;
    let count_from = |first: u32| total.saturating_sub(first).min(PAGES_AT_ONCE as u32) as usize;
    let read_ahead = |ssd: &mut P, first| {
        let parts = Copy::BOTH.map(|copy| layout.table_page(first, copy));
        parts.into_iter().for_each(|part| ssd.read_ahead(part, count_from(first)));
    };
    read_ahead(ssd, 0);
    // An SSD that has lost its map returns zeros.
    let is_lost = |page: &Page| superblock.table_written && *page == [0; PAGE_BYTES];
    for first in (0..total).step_by(PAGES_AT_ONCE) {
        let count = count_from(first);
        for (copy, pages) in Copy::BOTH.into_iter().zip(&mut copies) {
            read_tolerant(ssd, layout.table_page(first, copy), &mut pages[..count]);
        }
        // The next part is read while this one is decoded.
        let next = first + count as u32;
        if next < total {
            read_ahead(ssd, next);
        }
        for ((one, two), place) in copies[0].iter().zip(&copies[1]).take(count).zip(first..) {
            let frames = (layout.frames as usize - place as usize * ENTRIES).min(ENTRIES);
            // Normally both copies are equal.
            let begin = entries.len();
            let mut decode_here =
                || TablePage::decode_into(one, superblock.owner(), place, &mut entries);
            let alike = one == two && !is_lost(one);
            if let Some(Ok(edition)) = alike.then(&mut decode_here) {
                editions.push(edition);
                entries.truncate(begin + frames);
                continue;
            }
            let decode = |page| match is_lost(page) {
                true => Err(Unusable::Foreign),
                false => TablePage::decode(page, superblock.owner(), place),
            };
            let found = [one, two].map(decode);
            if superblock.table_counts() {
                findings.damaged_pages += found.iter().filter(|page| page.is_err()).count() as u64;
            }
            let (page, worse) = match found {
                [Ok(one), Ok(two)] if one.edition > two.edition => (one, Copy::Two),
                [_, Ok(two)] => (two, Copy::One),
                [Ok(one), _] => (one, Copy::Two),
                // If nothing in the table is valid, after a format or a failure, losing it does no
                // harm.
                [Err(_), Err(_)] if !superblock.table_counts() => {
                    (TablePage::unused(place), Copy::One)
                }
                [Err(why), Err(_)] => return Err(RecoverError::Table { place, why, frames }),
            };
            uneven.push((place, worse));
            editions.push(page.edition);
            entries.extend_from_slice(&page.entries[..frames]);
        }
        // While they are in the processor's cache.
        let read = &entries[first as usize * ENTRIES..];
        known = read.iter().map(|entry| page_of(entry.sequence)).fold(known, u64::max);
    }
    Ok(Found { entries, editions, uneven, known })
}

/// Reads the journal: its valid pages, in order, and the highest number of any page.
pub(super) fn journal<P: Pages>(
    ssd: &mut P,
    superblock: &Superblock,
    findings: &mut Findings,
) -> Result<(Vec<JournalPage>, u64), RecoverError<P::Error>> {
    let layout = superblock.layout;
    let mut by_previous = HashMap::new();
    // Pages with one good copy.
    let mut halves = HashSet::new();
    let (mut newest, mut durable) = (superblock.journal_from - 1, 0);
    let mut copies = two_buffers(layout.journal_pages);
    for first in (1..=layout.journal_pages).step_by(PAGES_AT_ONCE) {
        let count = (layout.journal_pages - first + 1).min(PAGES_AT_ONCE as u64) as usize;
        for (copy, pages) in Copy::BOTH.into_iter().zip(&mut copies) {
            read_tolerant(ssd, layout.journal_page(first, copy), &mut pages[..count]);
        }
        for (one, two) in copies[0].iter().zip(&copies[1]).take(count) {
            let mut half = |page: JournalPage| {
                halves.insert(page.number);
                page
            };
            let found = [one, two].map(|page| {
                let page = JournalPage::decode(page, superblock.owner())?;
                if page.is_of(superblock) { Ok(page) } else { Err(Unusable::Foreign) }
            });
            let page =
                match found {
                    // A torn write can have completed one copy of a page of an earlier session.
                    [Ok(one), Ok(two)] if one.number == two.number => {
                        if one.session >= two.session { one } else { two }
                    }
                    // A newer page was being written to one of them.
                    [Ok(one), Ok(two)] => half(if one.number > two.number { one } else { two }),
                    [Ok(page), Err(_)] | [Err(_), Ok(page)] => half(page),
                    [Err(_), Err(_)] => continue,
                };
            durable = durable.max(page.durable);
            newest = newest.max(page.number);
            if page.number >= superblock.journal_from {
                by_previous.insert(page.previous.max(superblock.journal_from - 1), page);
            }
        }
    }
    let mut pages = Vec::new();
    let mut last = superblock.journal_from - 1;
    while let Some(page) = by_previous.remove(&last) {
        last = page.number;
        pages.push(page);
    }
    if durable > last {
        return Err(RecoverError::Journal { number: last + 1 });
    }
    let halves = pages.iter().filter(|page| halves.contains(&page.number));
    let (flushed, torn): (Vec<_>, Vec<_>) = halves.partition(|page| page.number <= durable);
    findings.damaged_pages += flushed.len() as u64;
    findings.torn_pages += torn.len() as u64;
    Ok((pages, newest))
}

/// Buffers for parts of both copies of `pages`.
fn two_buffers(pages: u64) -> [Vec<Page>; 2] {
    [(); 2].map(|()| vec![[0; PAGE_BYTES]; pages.min(PAGES_AT_ONCE as u64) as usize])
}

/// Stands for a page that cannot be read: it is not valid metadata, so the other copy is used.
pub(super) const UNREADABLE: Page = [0xFF; PAGE_BYTES];

/// Reads these pages. If that fails, reads them one by one, and returns an error if there was any.
pub(super) fn read_tolerant<P: Pages>(
    ssd: &mut P,
    first: u64,
    out: &mut [Page],
) -> Option<P::Error> {
    let mut error = ssd.read(first, out).err()?;
    for (page, at) in out.iter_mut().zip(first..) {
        if let Err(why) = ssd.read(at, std::slice::from_mut(page)) {
            (*page, error) = (UNREADABLE, why);
        }
    }
    Some(error)
}
