//! Recovery: reads the state of a cache from its SSD. Writes nothing.
//!
//! Pages of the journal up to the highest `durable` number found are valid: the data that they
//! describe was flushed. Later pages may describe data that was never written. So each of their
//! frames is read and its checksum compared; where it does not match, the block returns to its
//! previous version.

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

use read::{Found, UNREADABLE, read_tolerant};

/// Reads pages of an SSD.
pub trait Pages {
    /// The error of a failed read.
    type Error: std::error::Error + 'static;

    /// Reads the pages from `first` on.
    ///
    /// # Errors
    /// If the SSD cannot read them.
    fn read(&mut self, first: u64, out: &mut [Page]) -> Result<(), Self::Error>;

    /// Announces that `count` pages from `first` on are read next, after those announced before, so
    /// that an implementation can read ahead.
    fn read_ahead(&mut self, _first: u64, _count: usize) {}
}

/// Why a cache cannot be recovered.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum RecoverError<E: std::error::Error + 'static> {
    /// The SSD cannot be read.
    #[error("cannot read page {page} of the SSD: {error}")]
    Read {
        /// The page.
        page: u64,
        /// The error.
        error: E,
    },
    /// Neither superblock is valid.
    #[error("{}", match .0 {
        Unusable::Foreign => "it holds no cache; `shingle store create` makes one".to_owned(),
        why => format!("neither superblock can be used: {why}"),
    })]
    Superblock(Unusable),
    /// Both copies of a flushed page of the journal are damaged.
    #[error("page {number} of the journal is damaged (both copies): what changed since is lost")]
    Journal {
        /// Its number.
        number: u64,
    },
    /// Both copies of a page of the table are damaged.
    #[error(
        "page {place} of the frame table: {why} (both copies): what {frames} frames hold is lost"
    )]
    Table {
        /// The place of the page in the table.
        place: u32,
        /// Why the newer copy cannot be used.
        why: Unusable,
        /// How many frames it describes.
        frames: usize,
    },
}

/// A cache as it was found.
#[derive(Clone, Debug)]
pub struct Recovered {
    /// The journal, to be continued.
    pub journal: Journal,
    /// It was shut down in order.
    pub clean: bool,
    /// Records that correct what did not arrive. They are added to the journal before any frame is
    /// used again.
    pub corrections: Vec<Record>,
    /// Pages of the journal that were valid.
    pub replayed_pages: u64,
    /// Damage that did no harm.
    pub findings: Findings,
}

/// Damage that recovery found. All of it was repaired, or taken back.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Findings {
    /// Damaged pages of metadata with a good second copy.
    pub damaged_pages: u64,
    /// Pages at the end of the journal, not known to be flushed, with one good copy of two. Nothing
    /// unusual after a crash.
    pub torn_pages: u64,
    /// Records on such pages whose data does not match: their blocks return to the previous
    /// version. Nothing unusual after a power cut; otherwise damage.
    pub void_records: u64,
}

impl Recovered {
    /// The cached blocks and their frames, in the order of the frames.
    pub fn live(&self) -> impl Iterator<Item = (Block, Frame)> + '_ {
        self.journal.table.live().map(|(frame, entry)| (entry.block, frame))
    }

    /// The number of dirty blocks.
    #[must_use]
    pub fn dirty_blocks(&self) -> u64 {
        self.journal.table.live().filter(|(_, entry)| entry.state == State::Dirty).count() as u64
    }
}

/// Recovers a cache.
///
/// # Errors
/// If the SSD cannot be read, or metadata that must be there is damaged.
pub fn recover<P: Pages>(ssd: &mut P) -> Result<Recovered, RecoverError<P::Error>> {
    let mut copies = [[0; PAGE_BYTES]; SUPERBLOCKS as usize];
    let superblocks = read_tolerant(ssd, Copy::One.superblock_page(), &mut copies);
    if let Some(error) = superblocks.filter(|_| copies == [UNREADABLE; 2]) {
        return Err(RecoverError::Read { page: Copy::One.superblock_page(), error });
    }
    let superblock = Superblock::newer(&copies).map_err(RecoverError::Superblock)?;
    let bad = |page: &&Page| Superblock::decode(page).is_err();
    let mut findings = Findings::default();
    findings.damaged_pages += copies.iter().filter(bad).count() as u64;
    // The better copy stays until the other one is written.
    let worse = if copies[0] == superblock.encode() { Copy::Two } else { Copy::One };
    let uneven = (copies[0] != copies[1]).then_some(worse);
    let Found { mut entries, editions, uneven: pages_uneven, known } =
        read::table(ssd, &superblock, &mut findings)?;
    let (pages, newest) = read::journal(ssd, &superblock, &mut findings)?;
    let last = pages.last().map_or(superblock.journal_from - 1, |page| page.number);
    // A record in the table was flushed in the journal before.
    if known > last {
        return Err(RecoverError::Journal { number: last + 1 });
    }
    let durable = pages.iter().map(|page| page.durable).max().unwrap_or(0);
    let layout = superblock.layout;
    let mut touched = Vec::new();
    let mut corrections = Vec::new();
    // For each block the last record, of pages not known to be flushed, that says where it is.
    let mut last_of = HashMap::new();
    // Blocks that have left since, or that the disk has.
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
            if page.number > durable && !is_valid(ssd, &layout, record, &mut last_of) {
                findings.void_records +=
                    u64::from(matches!(record.state, State::Clean | State::Dirty));
                if record.state == State::Clean {
                    // The disk has the block: another frame holds an older version at most, and
                    // this one can be missed.
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
    // Earlier versions could split the two records of a move, if the first was the last on its
    // page.
    let split_move = pages.last().and_then(|page| page.records.get(RECORDS_MAX - 1));
    let split_move =
        split_move.filter(|record| matches!(record.state, State::Clean | State::Dirty));
    keep_one_frame(&mut corrections, split_move, &left, &mut entries);
    drop_invalidated(&superblock, &mut entries);
    let corrections = correction_records(&corrections, &entries);
    let mut table = Table::new(&layout, Some((entries, editions)));
    for &(place, worse) in &pages_uneven {
        table.touch_page(place, superblock.journal_from);
        table.write_first(place, worse);
    }
    touched.iter().for_each(|&(frame, number)| table.touch(frame, number));
    let clean = superblock.clean && pages.is_empty();
    let replayed_pages = pages.len() as u64;
    // The next page comes after what was invalidated.
    let next = (newest.max(last) + 1).max(superblock.clean_from).max(superblock.dirty_from);
    let journal = Journal::new(superblock, uneven, table, last, next);
    // No page records of itself that it was flushed.
    let journal = if pages.is_empty() { journal } else { journal.confirming(durable) };
    Ok(Recovered { journal, clean, corrections, replayed_pages, findings })
}

/// The last record of a block on a page not known to be flushed.
struct Last {
    frame: Frame,
    valid: bool,
}

/// Whether a record on a page not known to be flushed is valid.
fn is_valid<P: Pages>(
    ssd: &mut P,
    layout: &Layout,
    record: &Record,
    last_of: &mut HashMap<Block, Last>,
) -> bool {
    let valid = match record.state {
        State::Free => true,
        State::Superseded => last_of.get(&record.block).is_none_or(|last| last.valid),
        State::Clean | State::Dirty => {
            let mut data = [[0; PAGE_BYTES]];
            let read = ssd.read(layout.frame_page(record.frame), &mut data);
            read.is_ok() && crc32c::crc32c(&data[0]) == record.crc
        }
    };
    if matches!(record.state, State::Clean | State::Dirty) {
        last_of.insert(record.block, Last { frame: record.frame, valid });
    }
    valid
}

/// Leaves each block in at most one frame. A block that moved twice, with only the second move
/// valid, is no longer in its first frame; nor is a block whose move was split (`split_move`) by the crash,
/// which took the second record. A block that has `left` since is in no frame: another may have its
/// slot, and the disk newer data.
fn keep_one_frame(
    void: &mut Vec<Record>,
    split_move: Option<&Record>,
    left: &[(Block, u64)],
    entries: &mut [Entry],
) {
    let moved = void.iter().filter(|record| record.state == State::Superseded);
    let mut newest: HashMap<Block, u64> =
        moved.chain(split_move).map(|record| (record.block, 0)).collect();
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

/// Removes blocks that were written past an SSD that failed.
fn drop_invalidated(superblock: &Superblock, entries: &mut [Entry]) {
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

/// The records that correct the frames of void records. Frames that hold a block come first: the
/// record of where a block is must stand before that of a frame that held it, which could otherwise
/// be taken for the block's leaving.
fn correction_records(void: &[Record], entries: &[Entry]) -> Vec<Record> {
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
