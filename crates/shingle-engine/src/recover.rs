//! Recovery: reads the state of a cache from its SSD. Writes nothing.
//!
//! Pages of the journal up to the highest `durable` number found are valid: the data that they
//! describe was flushed. Later pages may describe data that was never written. So each of their
//! frames is read and its checksum compared; where it does not match, the block returns to its
//! previous version.

mod read;
mod replay;
#[cfg(test)]
mod tests;

use shingle_core::units::Block;
use thiserror::Error;

use crate::format::journal::{JournalPage, RECORDS_MAX, Record};
use crate::format::superblock::Superblock;
use crate::format::table::ENTRIES;
use crate::format::{Frame, Page, State, Unusable};
use crate::journal::Journal;
use crate::table::Table;

use read::{FoundJournal, FoundTable};
use replay::Replay;

/// Reads pages of an SSD.
pub trait Pages {
    /// The error of a failed read.
    type Error: std::error::Error + 'static;

    /// Reads the pages from `first` on.
    ///
    /// # Errors
    /// If the SSD cannot read them.
    fn read(&mut self, first: u64, out: &mut [Page]) -> Result<(), Self::Error>;

    /// Another reader of the same SSD, for another thread: parts of the frame table are read at the
    /// same time. `None` if there is only this one.
    fn another(&self) -> Option<Self>
    where
        Self: Sized,
    {
        None
    }
}

/// Why an SSD cannot be used that has no cache. It may be the wrong one: a new cache knows nothing of
/// what only another SSD has.
pub const NO_CACHE: &str = "it holds no cache: is it the right SSD? `shingle store create` makes a new one, which is empty";

/// What to do with a cache of which a part is lost.
const SALVAGE: &str = "; so it is refused, and `shingle store export --salvage` writes to the disk what is left: that lacks what was \
                       dirty there, so check the file systems on it";

/// What to do with a cache that cannot be served any more.
const GIVE_UP: &str = "; so it is refused, and `shingle store create` says how to give it up: the disk then lacks what was dirty, \
                       so check the file systems on it";

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
        Unusable::Foreign => NO_CACHE.to_owned(),
        why => format!("neither superblock can be used: {why}"),
    })]
    Superblock(Unusable),
    /// Both copies of a flushed page of the journal are damaged.
    #[error(
        "page {number} of the journal is damaged (both copies): what changed since is lost{}",
        GIVE_UP
    )]
    Journal {
        /// Its number.
        number: u64,
    },
    /// Both copies of a page of the table are damaged.
    #[error(
        "page {} of the frame table: {} (both copies): what {} frames hold is lost{}",
        .0.place, .0.why, .0.frames, SALVAGE
    )]
    Table(LostPage),
}

/// A page of the frame table of which both copies are damaged.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LostPage {
    /// The place of the page in the table.
    pub place: u32,
    /// Why the newer copy cannot be used.
    pub why: Unusable,
    /// How many frames it describes.
    pub frames: usize,
    /// Of how many of them the journal does not say what they hold, either.
    pub unknown_frames: usize,
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
pub fn recover<P: Pages + Send>(ssd: &mut P) -> Result<Recovered, RecoverError<P::Error>> {
    recover_telling(ssd, |_| ())
}

/// As [`recover`]. Tells of the superblock before all else is read, which may take seconds: what the
/// cache needs besides can be made meanwhile.
///
/// # Errors
/// The same. The superblock is told of nevertheless, unless that is what cannot be used.
pub fn recover_telling<P: Pages + Send>(
    ssd: &mut P,
    tell: impl FnOnce(&Superblock),
) -> Result<Recovered, RecoverError<P::Error>> {
    let (found, lost) = salvage_telling(ssd, tell)?;
    match lost.first() {
        Some(&page) => Err(RecoverError::Table(page)),
        None => Ok(found),
    }
}

/// As [`recover`], also if pages of the frame table are lost: their frames count as free, except
/// those that the journal describes. What is found of other frames is right, as each is described
/// by one page. Such a cache must not be continued: its table would be written again, and nothing
/// would tell what is missing.
///
/// # Errors
/// If the SSD cannot be read, or other metadata is damaged. (Without a page of the journal older
/// data could be taken for newer.)
pub fn salvage<P: Pages + Send>(
    ssd: &mut P,
) -> Result<(Recovered, Vec<LostPage>), RecoverError<P::Error>> {
    salvage_telling(ssd, |_| ())
}

fn salvage_telling<P: Pages + Send>(
    ssd: &mut P,
    tell: impl FnOnce(&Superblock),
) -> Result<(Recovered, Vec<LostPage>), RecoverError<P::Error>> {
    let mut findings = Findings::default();
    let (superblock, uneven) = read::superblock(ssd, &mut findings)?;
    tell(&superblock);
    let FoundTable { entries, editions, uneven: uneven_pages, known, mut lost, .. } =
        read::table(ssd, &superblock, &mut findings);
    let FoundJournal { pages, last, newest } = read::journal(ssd, &superblock, &mut findings)?;
    // A record in the table was flushed in the journal before.
    if known > last {
        return Err(RecoverError::Journal { number: last + 1 });
    }
    let durable = pages.iter().map(|page| page.durable).max().unwrap_or(0);
    let mut replay = Replay::new(ssd, superblock.layout, durable, entries);
    for page in &pages {
        replay.page(page).map_err(RecoverError::Superblock)?;
    }
    replay.keep_one_frame(split_move(&pages));
    replay.drop_invalidated(&superblock);
    let corrections = replay.corrections();
    let Replay { entries, touched, void_records, .. } = replay;
    for page in &mut lost {
        let first = page.place as usize * ENTRIES;
        let unknown = entries[first..][..page.frames].iter().filter(|it| it.sequence == 0);
        page.unknown_frames = unknown.count();
    }
    findings.void_records = void_records;
    let mut table = Table::new(&superblock.layout, Some((entries, editions)));
    for (place, worse) in uneven_pages {
        table.touch_page(place, superblock.journal_from);
        table.write_first(place, worse);
    }
    touched.iter().for_each(|&(frame, number)| table.touch(frame, number));
    let clean = superblock.clean && pages.is_empty();
    // The next page comes after what was invalidated.
    let next = (newest.max(last) + 1).max(superblock.clean_from).max(superblock.dirty_from);
    let journal = Journal::new(superblock, uneven, table, last, next);
    // No page records of itself that it was flushed.
    let journal = if pages.is_empty() { journal } else { journal.confirming(durable) };
    let replayed_pages = pages.len() as u64;
    Ok((Recovered { journal, clean, corrections, replayed_pages, findings }, lost))
}

/// The first record of a move whose second one a crash may have taken. Earlier versions could split
/// the two, if the first was the last on its page.
fn split_move(pages: &[JournalPage]) -> Option<&Record> {
    let last = pages.last()?.records.get(RECORDS_MAX - 1)?;
    matches!(last.state, State::Clean | State::Dirty).then_some(last)
}
