//! Reads the map, after an orderly shutdown or a crash. Nothing is written.
//!
//! Of each page the valid copy is used. The log ends with the last complete commit. The pages after
//! it may be a commit that a crash has torn, which was never acknowledged. But if pages of a
//! *later* commit follow, the one before was durable, and the disk has lost it: that is damage, not
//! a shorter log. The same holds for a page that cannot be read in either copy, or that is in
//! neither copy what it was before the commit. Where physical blocks are smaller than a page, a
//! crash can leave the latter, too: it is taken for that.

use std::collections::BTreeSet;

use shingle_core::ranges::Ranges;
use shingle_core::units::{BLOCK_BYTES, Block};
use shingle_engine::{Buffer, IO_PAGES_MAX};
use shingle_zoned::ZonedDisk;

use super::areas::Areas;
use super::fetch::{read_page, read_pages};
use super::find;
use super::page::{self, Bad, Kind, Owner, Record, Stand};
use super::superblock::{Chosen, NoSuperblock, Superblock};
use super::write::COMMIT_PAGES;
use crate::bugs::{Bug, Seeded};
use crate::error::OpenError;
use crate::lost::{COPIES_MAX, Lost};
use crate::whereabouts::Whereabouts;

/// The map as recovered.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Recovered {
    pub(crate) whereabouts: Whereabouts,
    /// The physical zone and the write pointer of each logical zone.
    pub(crate) zones: Vec<(u32, u32)>,
    pub(crate) lost: Lost,
    /// The number of commits in the log.
    pub(crate) commits: u64,
    /// Whether a further commit was torn.
    pub(crate) torn: bool,
    /// For each copy the number of missing or bad pages, and a description of the first one.
    pub(crate) bad: [(u64, Option<String>); 2],
    /// For each copy whether some of these pages cannot be the result of a crash.
    pub(crate) damaged: [bool; 2],
    /// What neither copy has, if that was to be skipped: the places of these blocks are unknown.
    pub(crate) unknown: Unknown,
}

/// The contents of pages of a checkpoint that neither copy has.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Unknown {
    /// Blocks of the host.
    pub(crate) blocks: Ranges,
    /// Logical zones.
    pub(crate) zones: BTreeSet<u32>,
    /// The first such page, and what is wrong with it.
    pub(crate) what: Option<String>,
}

/// How the map is read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Reading {
    /// As a whole: each page from either copy.
    Whole,
    /// Both copies of everything, to compare them.
    Compared,
    /// Without pages of the checkpoint that neither copy has.
    WithHoles,
}

/// Finds the valid superblock.
pub(crate) fn superblocks(disk: &dyn ZonedDisk) -> Result<Chosen, OpenError> {
    let name = || disk.name().to_owned();
    let geometry = disk.geometry();
    if geometry.conventional_zones == 0 {
        return Err(OpenError::NotFormatted { disk: name() });
    }
    let places = find::places(disk)?;
    let copies = places.map(|at| {
        let page = read_page(disk, at).map_err(|error| NoSuperblock::Unread(error.to_string()))?;
        Superblock::decode(&page)
    });
    if copies.iter().all(|copy| matches!(copy, Err(NoSuperblock::Foreign))) {
        return Err(OpenError::NotFormatted { disk: name() });
    }
    let wrong = copies.each_ref().map(|copy| copy.as_ref().err().map(ToString::to_string));
    let [one, other] = copies.each_ref().map(|copy| copy.as_ref().ok().map(Superblock::age));
    // (A bad one has no age, which is less than any.)
    let worse = usize::from(one > other);
    let superblock = match copies {
        [Ok(one), Ok(other)] if one.uuid != other.uuid => {
            let what = "its two superblocks are of different maps; format it anew".to_owned();
            return Err(OpenError::Unusable { disk: name(), what });
        }
        [Ok(one), Ok(other)] => {
            if one.age() >= other.age() {
                one
            } else {
                other
            }
        }
        [Err(NoSuperblock::Version(version)), _] | [_, Err(NoSuperblock::Version(version))] => {
            let what = NoSuperblock::Version(version).to_string();
            return Err(OpenError::Unusable { disk: name(), what: format!("the map: {what}") });
        }
        [Ok(good), Err(_)] | [Err(_), Ok(good)] => good,
        [Err(one), Err(other)] => {
            let [first, second] = places.map(|at| place(disk, at));
            let what =
                format!("neither superblock is good: at {first}: {one}; at {second}: {other}");
            return Err(OpenError::Damaged { disk: name(), what });
        }
    };
    // (Zones that the disk has got since then are not used.)
    let made_for = (
        superblock.zones,
        superblock.conventional_zones,
        superblock.zone_blocks,
        superblock.zone_capacity_blocks,
    );
    let found = (
        geometry.zones.min(superblock.zones),
        geometry.conventional_zones,
        geometry.zone_blocks,
        geometry.zone_capacity_blocks,
    );
    if made_for != found {
        let what = format!(
            "the map was made for {} zones ({} conventional) of {} blocks, {} of them to be written, and the disk has {} \
             ({}) of {}, {}; give the disk its old size and zones again, or format it anew",
            made_for.0,
            made_for.1,
            made_for.2,
            made_for.3,
            geometry.zones,
            found.1,
            found.2,
            found.3
        );
        return Err(OpenError::Unusable { disk: name(), what });
    }
    Ok(Chosen { superblock, wrong, worse })
}

/// Describes the place of a block, for users who look for it on the disk.
fn place(disk: &dyn ZonedDisk, at: Block) -> String {
    let zone = at.0 / disk.geometry().zone_blocks;
    format!("block {} (zone {zone}, byte {} of the disk)", at.0, at.0 * BLOCK_BYTES)
}

/// Reads the map of `superblock`.
pub(crate) fn recover(
    disk: &dyn ZonedDisk,
    superblock: &Superblock,
    reading: Reading,
    bugs: Seeded,
) -> Result<Recovered, OpenError> {
    let none = (u32::MAX, 0);
    let mut reader = Reader {
        disk,
        areas: superblock.areas,
        owner: superblock.owner(),
        reading,
        bugs,
        ahead: [const { Vec::new() }; 2],
        found: Recovered {
            whereabouts: Whereabouts::new(superblock.blocks, superblock.zone_capacity_blocks),
            zones: vec![none; superblock.logical_zones as usize],
            lost: Lost::default(),
            commits: 0,
            torn: false,
            bad: Default::default(),
            damaged: [false; 2],
            unknown: Unknown::default(),
        },
        superblock,
    };
    reader.checkpoint()?;
    reader.log()?;
    let mut found = reader.found;
    let damaged = |what| Err(OpenError::Damaged { disk: disk.name().to_owned(), what });
    found.unknown.zones.retain(|logical| found.zones[*logical as usize] == none);
    let mut named = vec![false; superblock.zones as usize];
    for (logical, &(physical, _)) in found.zones.iter().enumerate() {
        match named.get_mut(physical as usize) {
            None if found.unknown.zones.contains(&(logical as u32)) => {}
            None => return damaged(format!("nothing says where logical zone {logical} is")),
            Some(true) => return damaged(format!("two logical zones are zone {physical}")),
            Some(named) => *named = true,
        }
    }
    Ok(found)
}

struct Reader<'a> {
    disk: &'a dyn ZonedDisk,
    superblock: &'a Superblock,
    areas: Areas,
    owner: Owner,
    reading: Reading,
    bugs: Seeded,
    /// Pages of each copy that were read in one I/O and not used yet.
    ahead: [Vec<(Block, Result<Buffer, String>)>; 2],
    found: Recovered,
}

/// The position after the last record of a checkpoint, where zones and then runs are in order.
#[derive(Default)]
struct Next {
    zone: u32,
    block: u64,
}

impl Next {
    fn is_behind(&mut self, record: &Record) {
        match *record {
            Record::Zone { logical, .. } => self.zone = logical + 1,
            Record::Run(block, piece) => self.block = block.0 + piece.count,
            Record::Lost { .. } | Record::NoneLost => {}
        }
    }
}

/// The result of reading the copies of a page.
struct Looked {
    /// Its contents, if a copy is valid.
    stand: Option<Stand>,
    /// What is wrong with each copy.
    wrong: [Option<Wrong>; 2],
    /// It is unknown whether the page was written: no copy is the page from before.
    maybe: bool,
}

impl Looked {
    fn why(&self) -> String {
        self.wrong.iter().flatten().map(|wrong| wrong.what.as_str()).collect::<Vec<_>>().join("; ")
    }
}

/// What is wrong with a copy of a page.
struct Wrong {
    what: String,
    /// A crash cannot leave such a page.
    is_damage: bool,
}

/// Why a copy of a page is not valid.
enum Not {
    Unread(String),
    Bad(Bad),
}

impl Reader<'_> {
    fn checkpoint(&mut self) -> Result<(), OpenError> {
        let mut records = Vec::new();
        // The position where records continue after a hole.
        let (mut next, mut hole) = (Next::default(), false);
        for sequence in 0..self.superblock.checkpoint_pages {
            let looked = self.page(Kind::Checkpoint, sequence, &mut records);
            // It was durable in both copies before a superblock referred to it.
            self.count(&looked.wrong, true);
            let Some(stand) = looked.stand else {
                let what = format!("the checkpoint: {}", looked.why());
                if self.reading != Reading::WithHoles {
                    return Err(self.damaged(&what));
                }
                self.found.unknown.what.get_or_insert(what);
                hole = true;
                continue;
            };
            if stand.last != (sequence + 1 == self.superblock.checkpoint_pages) {
                return Err(self.damaged(&format!(
                    "page {sequence} of the checkpoint is not where it belongs"
                )));
            }
            // Losses come first and last: they do not show the end of a hole.
            let then =
                records.iter().find(|one| matches!(one, Record::Zone { .. } | Record::Run(..)));
            if hole && then.is_some() {
                self.leave_out(&next, then);
                hole = false;
            }
            self.apply(&records)?;
            records.iter().for_each(|record| next.is_behind(record));
        }
        if hole {
            self.leave_out(&next, None);
        }
        Ok(())
    }

    /// Notes that the records between `next` and the record `then` of a checkpoint, or its end, are
    /// unknown.
    fn leave_out(&mut self, next: &Next, then: Option<&Record>) {
        let (zones, blocks) = match then {
            Some(&Record::Zone { logical, .. }) => (logical, 0),
            Some(&Record::Run(block, _)) => (self.superblock.logical_zones, block.0),
            _ => (self.superblock.logical_zones, self.superblock.blocks),
        };
        let unknown = &mut self.found.unknown;
        unknown.zones.extend(next.zone..zones);
        unknown.blocks.insert(next.block..blocks.max(next.block));
    }

    fn log(&mut self) -> Result<(), OpenError> {
        // The records of a commit whose last page is to come, and what is wrong with each page.
        let (mut of_commit, mut wrong) = (Vec::new(), Vec::new());
        // What is wrong with the pages of the last commit.
        let mut of_last: Vec<[Option<Wrong>; 2]> = Vec::new();
        let mut records = Vec::new();
        for sequence in 0..self.areas.log_pages {
            let looked = self.page(Kind::Log, sequence, &mut records);
            let expected = self.found.commits + 1;
            match looked.stand {
                Some(stand) if stand.commit == expected => {
                    of_commit.extend_from_slice(&records);
                    wrong.push(looked.wrong);
                    if stand.last {
                        self.apply(&std::mem::take(&mut of_commit))?;
                        // The one before was durable in both copies when this one was begun.
                        of_last.iter().for_each(|wrong| self.count(wrong, true));
                        of_last = std::mem::take(&mut wrong);
                        self.found.commits += 1;
                    } else if self.bugs.has(Bug::TornCommitTaken) {
                        self.apply(&records)?;
                    }
                }
                Some(stand) => {
                    let what = format!(
                        "page {sequence} of the log is of commit {}, and commit {expected} is not whole",
                        stand.commit
                    );
                    return Err(self.damaged(&what));
                }
                None if looked.maybe => {
                    return Err(self.damaged(&format!("the log: {}", looked.why())));
                }
                None => {
                    self.end_of_log(sequence, &looked.why())?;
                    break;
                }
            }
        }
        of_last.iter().for_each(|wrong| self.count(wrong, false));
        self.found.torn |= !wrong.is_empty();
        Ok(())
    }

    /// Handles a missing page `sequence` of the log. If there are later commits, it is damage.
    fn end_of_log(&mut self, sequence: u32, what: &str) -> Result<(), OpenError> {
        let (last, mut records) = (self.found.commits, Vec::new());
        let end = self.areas.log_pages.min(sequence.saturating_add(2 * COMMIT_PAGES));
        for later in sequence + 1..end {
            let Some(stand) = self.page(Kind::Log, later, &mut records).stand else { continue };
            self.found.torn = true;
            if stand.commit > last + 1 {
                let what = format!("the log: {what}, and a later commit follows on page {later}");
                return Err(self.damaged(&what));
            }
        }
        Ok(())
    }

    /// Reads a page from the copy that has it.
    fn page(&mut self, kind: Kind, sequence: u32, records: &mut Vec<Record>) -> Looked {
        let (mut stand, mut wrong, mut maybe) = (None, [None, None], true);
        let mut other = Vec::new();
        for (copy, wrong) in wrong.iter_mut().enumerate() {
            if stand.is_some() && self.reading == Reading::Whole {
                break;
            }
            let into = if stand.is_none() { &mut *records } else { &mut other };
            let at = self.at(kind, copy, sequence);
            match self.read(copy, at, kind, sequence, into) {
                Ok(found) => stand = stand.or(Some(found)),
                Err(not) => {
                    let (what, is_damage) = match not {
                        Not::Unread(error) => (error, !self.bugs.has(Bug::UnreadTakenForEnd)),
                        Not::Bad(bad) => (bad.to_string(), self.is_damage(bad)),
                    };
                    maybe &= is_damage;
                    let what = format!("page {sequence} at {}: {what}", place(self.disk, at));
                    *wrong = Some(Wrong { what, is_damage });
                }
            }
        }
        Looked { stand, wrong, maybe }
    }

    /// Counts the bad copies of a page in use. `durable`: both copies were written completely.
    fn count(&mut self, wrong: &[Option<Wrong>; 2], durable: bool) {
        let Recovered { bad, damaged, .. } = &mut self.found;
        for (((count, first), damaged), wrong) in bad.iter_mut().zip(damaged).zip(wrong) {
            if let Some(Wrong { what, is_damage }) = wrong {
                *count += 1;
                *damaged |= durable || *is_damage;
                first.get_or_insert_with(|| what.clone());
            }
        }
    }

    /// Whether a crash cannot leave such a page.
    fn is_damage(&self, bad: Bad) -> bool {
        match bad {
            Bad::Blank | Bad::Stale => false,
            Bad::Foreign | Bad::Checksum | Bad::Nonsense => {
                u64::from(self.disk.geometry().physical_block_bytes) >= BLOCK_BYTES
                    && !self.bugs.has(Bug::DamageTakenForEnd)
            }
        }
    }

    fn at(&self, kind: Kind, copy: usize, sequence: u32) -> Block {
        let first = match kind {
            Kind::Checkpoint => self.areas.checkpoint(copy, self.owner.generation),
            Kind::Log => self.areas.log(copy, self.owner.generation),
        };
        first.after(sequence.into())
    }

    /// Reads one copy of a page, together with those behind it.
    fn read(
        &mut self,
        copy: usize,
        at: Block,
        kind: Kind,
        sequence: u32,
        records: &mut Vec<Record>,
    ) -> Result<Stand, Not> {
        if !self.ahead[copy].iter().any(|(block, _)| *block == at) {
            let end = match kind {
                Kind::Checkpoint => self.superblock.checkpoint_pages,
                Kind::Log => self.areas.log_pages,
            };
            let count = ((end - sequence) as usize).min(IO_PAGES_MAX);
            let pages = read_pages(self.disk, at, count).into_iter();
            let pages = pages.map(|page| page.map_err(|error| error.to_string()));
            self.ahead[copy] = (0..).map(|ahead| at.after(ahead)).zip(pages).collect();
        }
        let held = self.ahead[copy].iter().find(|(block, _)| *block == at).expect("it was read");
        let page = held.1.as_ref().map_err(|error| Not::Unread(error.clone()))?;
        let mut owner = self.owner;
        if self.bugs.has(Bug::StalePagesTaken)
            && let Some(other) = page::owner(&page.0)
        {
            owner = other;
        }
        page::decode(&page.0, owner, kind, sequence, records).map_err(Not::Bad)
    }

    fn apply(&mut self, records: &[Record]) -> Result<(), OpenError> {
        for &record in records {
            if !self.fits(record) {
                return Err(self.damaged(&format!("{record:?} is outside of the disk")));
            }
            let found = &mut self.found;
            match record {
                Record::Run(block, piece) => {
                    found.unknown.blocks.remove(block.0..block.0 + piece.count);
                    found.whereabouts.set(block, piece);
                }
                Record::Zone { logical, physical, pointer } => {
                    found.zones[logical as usize] = (physical, pointer);
                }
                Record::Lost { block, count, first_copy } => {
                    // (Each copy takes memory, and a record may stand for 65,536. A map names `COPIES_MAX`; one that was
                    // written beside works may have had others at its beginning.)
                    let has_room = found.lost.copies() + count <= 4 * COPIES_MAX;
                    found.lost.set(block.0..block.0 + count, first_copy.filter(|_| has_room));
                }
                Record::NoneLost => found.lost.clear(),
            }
        }
        Ok(())
    }

    fn fits(&self, record: Record) -> bool {
        use shingle_translation::Place::{Buffer, Native, Nowhere};
        let superblock = self.superblock;
        let capacity = superblock.zone_capacity_blocks;
        let native = u64::from(superblock.logical_zones) * capacity;
        match record {
            Record::Run(block, piece) => {
                block.0 + piece.count <= superblock.blocks
                    && match piece.place {
                        Nowhere => true,
                        Buffer(at) => at.saturating_add(piece.count) <= superblock.buffer_blocks,
                        Native(at) => at.saturating_add(piece.count) <= native,
                    }
            }
            Record::Zone { logical, physical, pointer } => {
                logical < superblock.logical_zones
                    && (superblock.conventional_zones..superblock.zones).contains(&physical)
                    && u64::from(pointer) <= capacity
            }
            Record::Lost { block, count, first_copy } => {
                let blocks = |zones: u32| u64::from(zones) * superblock.zone_blocks;
                let sequential = blocks(superblock.conventional_zones)..blocks(superblock.zones);
                let is_in_zones =
                    |copy: Block| sequential.contains(&copy.0) && copy.0 + count <= sequential.end;
                block.0 + count <= superblock.blocks && first_copy.is_none_or(is_in_zones)
            }
            Record::NoneLost => true,
        }
    }

    fn damaged(&self, what: &str) -> OpenError {
        OpenError::Damaged { disk: self.disk.name().to_owned(), what: what.to_owned() }
    }
}
