//! What a cache was when it stopped: read, never written.
//!
//! Pages of the journal up to the highest `durable` that any of them names are taken at their word:
//! what they speak of was flushed. What follows may speak of data that never arrived, so each such
//! frame is read and its checksum compared; where it does not fit, the block is what it was before.

mod read;
#[cfg(test)]
mod tests;

use std::collections::HashMap;

use shingle_core::units::Block;
use thiserror::Error;

use crate::format::journal::{RECORDS_MAX, Record, page_of, sequence};
use crate::format::layout::{Copy, Layout, SUPERBLOCKS};
use crate::format::superblock::Superblock;
use crate::format::table::Entry;
use crate::format::{Frame, PAGE_BYTES, Page, State, Unusable};
use crate::journal::Journal;
use crate::table::{Table, set};

use read::{Found, UNREADABLE, read_what_can_be};

/// Reads pages of an SSD.
pub trait Pages {
    /// Why it could not.
    type Error: std::error::Error + 'static;

    /// Reads the pages from `first` on.
    ///
    /// # Errors
    /// If the SSD does not give them.
    fn read(&mut self, first: u64, out: &mut [Page]) -> Result<(), Self::Error>;

    /// So many pages from `first` on are what is read next but for what was expected before: whoever can
    /// reads them meanwhile.
    fn expect(&mut self, _first: u64, _count: usize) {}
}

/// Why a cache cannot be recovered.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum RecoverError<E: std::error::Error + 'static> {
    /// The SSD cannot be read.
    #[error("cannot read page {page} of the SSD: {error}")]
    Read {
        /// Where.
        page: u64,
        /// Why.
        error: E,
    },
    /// Neither superblock is good.
    #[error("{}", match .0 {
        Unusable::Foreign => "it holds no cache; `shingle store create` makes one".to_owned(),
        why => format!("neither superblock can be used: {why}"),
    })]
    Superblock(Unusable),
    /// Both copies of a page of the journal are bad that was flushed.
    #[error("page {number} of the journal is damaged (both copies): what changed since is lost")]
    Journal {
        /// Its number.
        number: u64,
    },
    /// Both copies of a page of the table are bad.
    #[error(
        "page {place} of the frame table: {why} (both copies): what {frames} frames hold is lost"
    )]
    Table {
        /// Which page of the table.
        place: u32,
        /// Why the newer copy is bad.
        why: Unusable,
        /// How many frames it describes.
        frames: usize,
    },
}

/// A cache as it was.
#[derive(Clone, Debug)]
pub struct Recovered {
    /// Goes on from there.
    pub journal: Journal,
    /// It was shut down in order.
    pub clean: bool,
    /// Records that take back what did not arrive. They come first in the journal, before any frame is
    /// used again.
    pub corrections: Vec<Record>,
    /// Pages of the journal that counted.
    pub replayed_pages: u64,
    /// What was damaged, and did no harm.
    pub findings: Findings,
}

/// Damage that recovery met. All of it was made good, or taken back.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Findings {
    /// Pages of metadata that were damaged and stood elsewhere, too.
    pub damaged_pages: u64,
    /// Pages at the end of the journal, of which it is not known that they were flushed, with one good
    /// copy of two: after a crash nothing unusual.
    pub torn_pages: u64,
    /// Records there whose data does not fit: their blocks are what they were before. After a power cut
    /// nothing unusual; after anything else, damage.
    pub void_records: u64,
}

impl Recovered {
    /// Blocks and where they are, in the order of their frames.
    pub fn live(&self) -> impl Iterator<Item = (Block, Frame)> + '_ {
        self.journal.table.live().map(|(frame, entry)| (entry.block, frame))
    }

    /// Blocks that the disk does not have.
    #[must_use]
    pub fn dirty_blocks(&self) -> u64 {
        self.journal.table.live().filter(|(_, entry)| entry.state == State::Dirty).count() as u64
    }
}

/// Finds out what a cache was.
///
/// # Errors
/// If the SSD cannot be read, or what must be there is damaged.
pub fn recover<P: Pages>(ssd: &mut P) -> Result<Recovered, RecoverError<P::Error>> {
    let mut copies = [[0; PAGE_BYTES]; SUPERBLOCKS as usize];
    let superblocks = read_what_can_be(ssd, Copy::One.superblock_page(), &mut copies);
    if let Some(error) = superblocks.filter(|_| copies == [UNREADABLE; 2]) {
        return Err(RecoverError::Read { page: Copy::One.superblock_page(), error });
    }
    let superblock = Superblock::newer(&copies).map_err(RecoverError::Superblock)?;
    let bad = |page: &&Page| Superblock::decode(page).is_err();
    let mut findings = Findings::default();
    findings.damaged_pages += copies.iter().filter(bad).count() as u64;
    // The better copy stays until the other one is good.
    let worse = if copies[0] == superblock.encode() { Copy::Two } else { Copy::One };
    let uneven = (copies[0] != copies[1]).then_some(worse);
    let Found { mut entries, editions, uneven: pages_uneven, known } =
        read::table(ssd, &superblock, &mut findings)?;
    let (pages, newest) = read::journal(ssd, &superblock, &mut findings)?;
    let last = pages.last().map_or(superblock.journal_from - 1, |page| page.number);
    // What the table has of a page was flushed there before.
    if known > last {
        return Err(RecoverError::Journal { number: last + 1 });
    }
    let durable = pages.iter().map(|page| page.durable).max().unwrap_or(0);
    let layout = superblock.layout;
    let mut touched = Vec::new();
    let mut corrections = Vec::new();
    // By block, the last record of the tail that says where it is.
    let mut last_of = HashMap::new();
    // Blocks that have left since, or are on the disk.
    let mut left = Vec::new();
    for page in &pages {
        for (place, record) in page.records.iter().enumerate() {
            if u64::from(record.frame.0) >= layout.frames {
                return Err(RecoverError::Superblock(Unusable::Nonsense));
            }
            let sequence = sequence(page.number, place);
            let is_left = |last: &Last| record.state == State::Free && last.frame == record.frame;
            if last_of.get(&record.block).is_some_and(is_left) {
                left.push((record.block, sequence));
            }
            if page.number > durable && !counts(ssd, &layout, record, &mut last_of) {
                findings.void_records +=
                    u64::from(matches!(record.state, State::Clean | State::Dirty));
                if record.state == State::Clean {
                    // The disk has it: what another frame has of it is older, and this one need not be missed.
                    left.push((record.block, sequence));
                    let entry = &mut entries[record.frame.0 as usize];
                    if entry.block == record.block {
                        entry.state = State::Free;
                    }
                }
                corrections.push(*record);
                continue;
            }
            let entry = &mut entries[record.frame.0 as usize];
            if sequence > entry.sequence {
                set(entry, record, sequence);
            }
            touched.push((record.frame, page.number));
        }
    }
    // Earlier versions parted the two records of a move where the first was the last that a page has room for.
    let parted = pages.last().and_then(|page| page.records.get(RECORDS_MAX - 1));
    let parted = parted.filter(|record| matches!(record.state, State::Clean | State::Dirty));
    one_frame_a_block(&mut corrections, parted, &left, &mut entries);
    without_invalidated(&superblock, &mut entries);
    let corrections = corrected(&corrections, &entries);
    let mut table = Table::new(&layout, Some((entries, editions)));
    for &(place, worse) in &pages_uneven {
        table.touch_page(place, superblock.journal_from);
        table.write_first(place, worse);
    }
    touched.iter().for_each(|&(frame, number)| table.touch(frame, number));
    let clean = superblock.clean && pages.is_empty();
    let replayed_pages = pages.len() as u64;
    // What was written off ends before the page that comes next.
    let next = (newest.max(last) + 1).max(superblock.clean_from).max(superblock.dirty_from);
    let journal = Journal::new(superblock, uneven, table, last, next);
    // (No page says of itself that it was flushed.)
    let journal = if pages.is_empty() { journal } else { journal.confirming(durable) };
    Ok(Recovered { journal, clean, corrections, replayed_pages, findings })
}

/// Where a block is, by a record of the tail.
struct Last {
    frame: Frame,
    counts: bool,
}

/// Whether a record counts of which it is not known that it was flushed.
fn counts<P: Pages>(
    ssd: &mut P,
    layout: &Layout,
    record: &Record,
    last_of: &mut HashMap<Block, Last>,
) -> bool {
    let counts = match record.state {
        State::Free => true,
        State::Superseded => last_of.get(&record.block).is_none_or(|last| last.counts),
        State::Clean | State::Dirty => {
            let mut data = [[0; PAGE_BYTES]];
            let read = ssd.read(layout.frame_page(record.frame), &mut data);
            read.is_ok() && crc32c::crc32c(&data[0]) == record.crc
        }
    };
    if matches!(record.state, State::Clean | State::Dirty) {
        last_of.insert(record.block, Last { frame: record.frame, counts });
    }
    counts
}

/// A block that moved twice, of which only the second move counts, is no longer where it was before
/// the first; nor is one whose move was `parted` by the crash, which took the second record of it. One that has
/// `left` since is nowhere: another may have its slot, and the disk something newer.
fn one_frame_a_block(
    void: &mut Vec<Record>,
    parted: Option<&Record>,
    left: &[(Block, u64)],
    entries: &mut [Entry],
) {
    let moved = void.iter().filter(|record| record.state == State::Superseded);
    let mut newest: HashMap<Block, u64> =
        moved.chain(parted).map(|record| (record.block, 0)).collect();
    if newest.is_empty() {
        return;
    }
    for &(block, at) in left {
        newest.entry(block).and_modify(|sequence| *sequence = at.max(*sequence));
    }
    for entry in entries.iter().filter(|entry| entry.state != State::Free) {
        if let Some(sequence) = newest.get_mut(&entry.block) {
            *sequence = entry.sequence.max(*sequence);
        }
    }
    let live = entries.iter_mut().zip(0..).filter(|(entry, _)| entry.state != State::Free);
    for (entry, frame) in live {
        if newest.get(&entry.block).is_some_and(|&newest| entry.sequence < newest) {
            entry.state = State::Free;
            let (frame, block) = (Frame(frame), entry.block);
            void.push(Record { frame, crc: 0, block, state: State::Superseded });
        }
    }
}

/// Blocks that were written past an SSD that failed are not here any more.
fn without_invalidated(superblock: &Superblock, entries: &mut [Entry]) {
    if superblock.clean_from.max(superblock.dirty_from) == 0 {
        return;
    }
    for entry in entries {
        let from = match entry.state {
            State::Clean => superblock.clean_from,
            State::Dirty => superblock.dirty_from,
            State::Free | State::Superseded => continue,
        };
        if page_of(entry.sequence) < from {
            entry.state = State::Free;
        }
    }
}

/// Records that say of the frames of those that did not count what they are. Those that hold something come first: where
/// a block is that a frame has held stands before that frame's record, which else could be taken for its leaving.
fn corrected(void: &[Record], entries: &[Entry]) -> Vec<Record> {
    let mut frames: Vec<Frame> = void.iter().map(|record| record.frame).collect();
    let is_free = |frame: &Frame| entries[frame.0 as usize].state == State::Free;
    frames.sort_unstable_by_key(|frame| (is_free(frame), *frame));
    frames.dedup();
    let of = |frame: Frame| {
        let entry = &entries[frame.0 as usize];
        Record { frame, crc: entry.crc, block: entry.block, state: entry.state }
    };
    frames.into_iter().map(of).collect()
}
