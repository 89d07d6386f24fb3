//! The table of zones: the physical zone of each logical zone, and the spares.
//!
//! A translation rewrites a zone in place: it is reset, then written again. Below it the zone moves
//! instead: a reset takes a spare, and the old zone is *leaving* until a map that no longer refers
//! to it is durable. So what the durable map refers to is never given up, whatever the translation
//! itself promises. A zone that fails is replaced in the same way.
//!
//! A logical zone that cannot be appended to is *flawed*: the write pointer of the disk is not
//! where the map has it, or the zone has failed. Some of its first blocks can be read, and are
//! copied to a spare before an append. The same is done with a zone that was *finished* because the
//! disk has a limit on active zones (`live/active.rs`): all of it can be read, and the copy is not
//! urgent.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use shingle_core::ranges::Ranges;
use shingle_core::units::Block;
use shingle_translation::{Piece, Place};
use shingle_zoned::{Condition, Geometry, ZoneReport};

use crate::saved::{Record, Superblock};
use crate::whereabouts::Whereabouts;

/// The table of zones; see the module.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Table {
    /// The physical zone of each logical zone.
    pub(crate) physical: Vec<u32>,
    /// The write pointer of each logical zone, in blocks from its start.
    pub(crate) pointers: Vec<u32>,
    /// Flawed logical zones, and how many of their first blocks can be read.
    pub(crate) flawed: BTreeMap<u32, u32>,
    /// Flawed zones that are neither empty nor full: an append takes a spare. After a format of a
    /// used disk nearly all zones are flawed, and empty.
    pub(crate) flawed_in_part: BTreeSet<u32>,
    /// Logical zones that were finished, are not full, and are not flawed.
    pub(crate) finished: BTreeSet<u32>,
    /// Physical zones that are open or closed, by the time of the last append. Used only on disks
    /// with a limit.
    pub(crate) active: Vec<u32>,
    /// Unused physical zones. They are reset before they are used.
    pub(crate) spares: BTreeSet<u32>,
    /// Physical zones with old copies of lost blocks, by the durable map ([`crate::lost`]): they are neither spare nor reset.
    /// Some of them may still be in use by logical zones. Failed zones are not among them.
    pub(crate) holding: BTreeSet<u32>,
    /// Physical zones that only the durable map refers to.
    pub(crate) leaving: Vec<u32>,
    /// Physical zones that are or were in use and take no more writes: they become bad, not spare.
    pub(crate) failed: BTreeSet<u32>,
    /// Physical zones that were appended to since write pointers were compared, and their write pointers.
    pub(crate) appended: BTreeMap<u32, u32>,
    /// Physical zones that were reset since the last flush.
    pub(crate) reset_unflushed: BTreeSet<u32>,
    /// The number of unused physical zones that have failed.
    pub(crate) bad: u32,
    /// Logical zones that differ from the durable map.
    pub(crate) unlogged: BTreeSet<u32>,
    /// Logical zones that have moved and are not yet known to readers.
    pub(crate) unpublished: Vec<u32>,
}

impl Table {
    /// The record of a logical zone.
    pub(crate) fn record(&self, logical: u32) -> Record {
        let (physical, pointer) =
            (self.physical[logical as usize], self.pointers[logical as usize]);
        Record::Zone { logical, physical, pointer }
    }

    /// Moves a logical zone to another physical one.
    pub(crate) fn move_to(&mut self, logical: u32, physical: u32, pointer: u32) {
        let old = std::mem::replace(&mut self.physical[logical as usize], physical);
        self.leaving.push(old);
        self.is_whole(logical);
        self.unpublished.push(logical);
        self.set_pointer(logical, pointer);
    }

    /// Marks a logical zone, whose write pointer is known and stays, as flawed: its first
    /// `readable` blocks can be read.
    pub(crate) fn is_flawed(&mut self, logical: u32, readable: u32, capacity: u64) {
        self.flawed.insert(logical, readable);
        if (1..capacity as u32).contains(&self.pointers[logical as usize]) {
            self.flawed_in_part.insert(logical);
        }
    }

    /// Marks a logical zone as neither flawed nor finished.
    pub(crate) fn is_whole(&mut self, logical: u32) {
        self.flawed.remove(&logical);
        self.flawed_in_part.remove(&logical);
        self.finished.remove(&logical);
    }

    /// Notes that a physical zone is not active any more: it is empty, full or lost.
    pub(crate) fn is_not_active(&mut self, physical: u32) {
        self.active.retain(|zone| *zone != physical);
    }

    pub(crate) fn set_pointer(&mut self, logical: u32, pointer: u32) {
        self.pointers[logical as usize] = pointer;
        self.unlogged.insert(logical);
    }

    /// Notes that the durable map is equal to this table, and that by it these zones have old copies of lost blocks.
    pub(crate) fn committed(&mut self, with_copies: BTreeSet<u32>) {
        for zone in self.leaving.drain(..) {
            match self.failed.remove(&zone) {
                true => self.bad += 1,
                false => drop(self.spares.insert(zone)),
            }
        }
        let before = std::mem::take(&mut self.holding).into_iter();
        self.spares.extend(before.filter(|zone| !self.physical.contains(zone)));
        self.unlogged.clear();
        self.hold(with_copies);
    }

    /// Sets the zones with old copies of lost blocks, by the durable map. (Failed zones are left out: they are never reset.)
    pub(crate) fn hold(&mut self, mut with_copies: BTreeSet<u32>) {
        with_copies.retain(|zone| self.spares.remove(zone) || self.physical.contains(zone));
        self.holding = with_copies;
    }

    /// The zones with old copies that are in no other use.
    pub(crate) fn kept(&self) -> impl Iterator<Item = u32> + '_ {
        let is_other = |zone: &u32| self.physical.contains(zone) || self.leaving.contains(zone);
        self.holding.iter().copied().filter(move |zone| !is_other(zone))
    }

    /// The memory in bytes, without small parts.
    pub(crate) fn memory_bytes(&self) -> u64 {
        4 * (self.physical.capacity() + self.pointers.capacity()) as u64
    }
}

/// The sizes that a survey needs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    pub(crate) conventional_zones: u32,
    pub(crate) zone_blocks: u64,
    /// Blocks of a sequential zone that can be written.
    pub(crate) capacity: u64,
    /// The first block of the buffer.
    pub(crate) buffer_first: Block,
    /// Whether the disk has a limit on active zones, so that zones are finished.
    pub(crate) finishes: bool,
}

impl Shape {
    pub(crate) fn new(superblock: &Superblock, geometry: &Geometry) -> Shape {
        Shape {
            conventional_zones: superblock.conventional_zones,
            zone_blocks: superblock.zone_blocks,
            capacity: superblock.zone_capacity_blocks,
            buffer_first: Block(superblock.areas.between().start),
            finishes: geometry.max_active != 0,
        }
    }
}

/// A disk compared with its map.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Survey {
    pub(crate) table: Table,
    /// Blocks of the host that are in the map, but not on the disk.
    pub(crate) lost: Ranges,
    /// Zones written further than the map says, without those that have no valid data.
    pub(crate) ahead: u32,
    /// Sequential zones that are read-only or offline, in use or not.
    pub(crate) failed: u32,
}

/// A zone of the disk beside its write pointer in the map.
enum Compared {
    AsInMap,
    /// Finished before it was full.
    Finished,
    /// Its first `readable` blocks can be read. `ahead`: it was written further.
    Flawed {
        readable: u32,
        ahead: bool,
    },
}

/// Compares a map, with `zones` as physical zones and write pointers, with the zones of the disk.
pub(crate) fn survey(
    whereabouts: &Whereabouts,
    zones: &[(u32, u32)],
    reports: &[ZoneReport],
    shape: &Shape,
) -> Survey {
    let mut survey = Survey::default();
    let ends = ends(whereabouts, zones.len(), shape.capacity);
    for (&(physical, pointer), end) in zones.iter().zip(ends) {
        survey.add_logical(&reports[physical as usize], pointer, end > 0, shape);
    }
    let mut named = vec![false; reports.len()];
    zones.iter().for_each(|&(physical, _)| named[physical as usize] = true);
    let first = shape.conventional_zones as usize;
    for (report, named) in reports.iter().zip(named).skip(first) {
        if report.condition != Condition::Conventional {
            survey.add_sequential(report, named, shape);
        }
    }
    for (block, piece) in whereabouts.all() {
        for (ahead, count) in survey.missing(piece, reports, shape) {
            survey.lost.insert(block.0 + ahead..block.0 + ahead + count);
        }
    }
    survey
}

impl Survey {
    /// Adds the next logical zone, which is in the zone of this report.
    fn add_logical(&mut self, report: &ZoneReport, pointer: u32, has_data: bool, shape: &Shape) {
        let table = &mut self.table;
        let logical = table.physical.len() as u32;
        table.physical.push(report.zone.0);
        table.pointers.push(pointer);
        // Nothing in it is valid: it is empty, once it is reset.
        let pointer = if has_data { pointer } else { 0 };
        if table.pointers[logical as usize] != pointer {
            table.set_pointer(logical, pointer);
        }
        if report.condition.has_failed() {
            table.failed.insert(report.zone.0);
        }
        match compare(report, pointer, shape) {
            Compared::AsInMap => {}
            Compared::Finished => drop(table.finished.insert(logical)),
            Compared::Flawed { readable, ahead } => {
                table.is_flawed(logical, readable, shape.capacity);
                self.ahead += u32::from(has_data && ahead);
            }
        }
    }

    /// Adds a sequential zone of the disk. `named`: it is a logical zone.
    fn add_sequential(&mut self, report: &ZoneReport, named: bool, shape: &Shape) {
        let (table, has_failed) = (&mut self.table, report.condition.has_failed());
        if shape.finishes && report.condition.is_active() {
            table.active.push(report.zone.0);
        }
        self.failed += u32::from(has_failed);
        match (named, has_failed) {
            (true, _) => {}
            (false, true) => table.bad += 1,
            (false, false) => drop(table.spares.insert(report.zone.0)),
        }
    }

    /// The parts of a piece that the disk does not have: the offset, and the number of blocks.
    fn missing(&self, piece: Piece, reports: &[ZoneReport], shape: &Shape) -> Vec<(u64, u64)> {
        match piece.place {
            Place::Nowhere => Vec::new(),
            Place::Native(at) => {
                let missing = |(zone, offset, part): (u32, u64, Range<u64>)| {
                    let readable = u64::from(*self.table.flawed.get(&zone)?);
                    let first = part.start + readable.saturating_sub(offset);
                    (first < part.end).then(|| (first, part.end - first))
                };
                in_zones(at, piece.count, shape.capacity).filter_map(missing).collect()
            }
            Place::Buffer(at) => {
                let is_offline = |zone: u32| reports[zone as usize].condition == Condition::Offline;
                in_zones(shape.buffer_first.0 + at, piece.count, shape.zone_blocks)
                    .filter(|(zone, ..)| is_offline(*zone))
                    .map(|(.., part)| (part.start, part.end - part.start))
                    .collect()
            }
        }
    }
}

fn compare(report: &ZoneReport, pointer: u32, shape: &Shape) -> Compared {
    match (report.condition, report.write_pointer) {
        (Condition::Full, _) if shape.finishes && (1..shape.capacity as u32).contains(&pointer) => {
            Compared::Finished
        }
        (Condition::ReadOnly, _) => Compared::Flawed { readable: pointer, ahead: false },
        (Condition::Offline | Condition::Conventional, _) | (_, None) => {
            Compared::Flawed { readable: 0, ahead: false }
        }
        (_, Some(at)) => {
            let (at, torn) = (at as u32, report.torn_bytes > 0);
            match at != pointer || torn {
                true => Compared::Flawed { readable: at.min(pointer), ahead: at >= pointer },
                false => Compared::AsInMap,
            }
        }
    }
}

/// The end of the last block of the host in each logical zone; 0 if there is none.
pub(crate) fn ends(whereabouts: &Whereabouts, zones: usize, capacity: u64) -> Vec<u32> {
    let mut ends = vec![0; zones];
    for (_, piece) in whereabouts.all() {
        if let Place::Native(at) = piece.place {
            for (zone, offset, part) in in_zones(at, piece.count, capacity) {
                let end: &mut u32 = &mut ends[zone as usize];
                *end = (*end).max((offset + part.end - part.start) as u32);
            }
        }
    }
    ends
}

/// Splits `count` blocks from `at` on at borders of sequential zones: the zone, the offset in it,
/// and which of the blocks these are.
pub(crate) fn in_zones(
    at: u64,
    count: u64,
    capacity: u64,
) -> impl Iterator<Item = (u32, u64, Range<u64>)> {
    let mut next = 0;
    std::iter::from_fn(move || {
        let (zone, offset) = ((at + next) / capacity, (at + next) % capacity);
        let part = next..count.min(next + capacity - offset);
        next = part.end;
        (!part.is_empty()).then_some((zone as u32, offset, part))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::saved::Recovered;
    use shingle_core::units::Zone;

    const CAPACITY: u64 = 10;

    /// A run of any length is processed zone by zone: disks have billions of blocks.
    #[test]
    fn places_are_taken_zone_by_zone() {
        let parts = |at, count| in_zones(at, count, CAPACITY).collect::<Vec<_>>();
        assert_eq!(parts(8, 15), [(0, 8, 0..2), (1, 0, 2..12), (2, 0, 12..15)]);
        assert_eq!(parts(10, 10), [(1, 0, 0..10)]);
        assert_eq!(parts(3, 0), []);
        assert_eq!(in_zones(0, 104_000 << 16, 1 << 16).count(), 104_000);
    }

    fn zone(at: u32, condition: Condition, write_pointer: Option<u64>) -> ZoneReport {
        let (zone, first) = (Zone(at), Block(u64::from(at) * 12));
        ZoneReport {
            zone,
            first,
            blocks: 12,
            capacity_blocks: CAPACITY,
            condition,
            write_pointer,
            torn_bytes: 0,
        }
    }

    /// Two conventional zones, six logical ones in zones 2 to 7, and three more.
    fn disk() -> Vec<ZoneReport> {
        let conventional = (0..2).map(|at| zone(at, Condition::Conventional, None));
        conventional.chain((2..11).map(|at| zone(at, Condition::Closed, Some(4)))).collect()
    }

    fn map(runs: &[(u64, u64, Place)]) -> Recovered {
        let mut whereabouts = Whereabouts::new(60, CAPACITY);
        for &(block, count, place) in runs {
            whereabouts.set(Block(block), Piece { place, count });
        }
        Recovered {
            whereabouts,
            zones: (2..8).map(|physical| (physical, 4)).collect(),
            lost: Default::default(),
            commits: 0,
            torn: false,
            bad: Default::default(),
            damaged: [false; 2],
            unknown: Default::default(),
        }
    }

    /// The survey, the flawed zones, and the lost ranges.
    type Looked = (Survey, Vec<(u32, u32)>, Vec<(u64, u64)>);

    fn look(recovered: &Recovered, disk: &[ZoneReport]) -> Looked {
        let shape = Shape {
            conventional_zones: 2,
            zone_blocks: 12,
            capacity: CAPACITY,
            buffer_first: Block(5),
            finishes: false,
        };
        let survey = survey(&recovered.whereabouts, &recovered.zones, disk, &shape);
        let flawed =
            survey.table.flawed.iter().map(|(zone, readable)| (*zone, *readable)).collect();
        let lost = survey.lost.iter().map(|range| (range.start, range.end)).collect();
        (survey, flawed, lost)
    }

    #[test]
    fn pointers_are_held_against_the_map() {
        let native = |zone: u64, block| (block, 4, Place::Native(zone * CAPACITY));
        let runs = [native(0, 0), native(1, 10), native(2, 20), native(3, 30), native(4, 40)];
        let (recovered, mut disk) = (map(&runs), disk());
        let (survey, flawed, lost) = look(&recovered, &disk);
        // The last one has no data: it is only to be reset.
        assert_eq!((flawed, lost), (vec![(5, 0)], vec![]));
        assert_eq!(survey.table.pointers, [4, 4, 4, 4, 4, 0]);
        assert_eq!(survey.table.unlogged, BTreeSet::from([5]));
        assert_eq!((survey.table.spares, survey.table.bad), (BTreeSet::from([8, 9, 10]), 0));
        disk[2].write_pointer = Some(7);
        disk[3].write_pointer = Some(1);
        disk[4] = zone(4, Condition::ReadOnly, None);
        disk[5] = zone(5, Condition::Offline, None);
        disk[6].torn_bytes = 512;
        disk[9] = zone(9, Condition::Offline, None);
        let (survey, flawed, lost) = look(&recovered, &disk);
        assert_eq!(flawed, [(0, 4), (1, 1), (2, 4), (3, 0), (4, 4), (5, 0)]);
        // Zone 5 is empty.
        assert_eq!(survey.table.flawed_in_part, BTreeSet::from([0, 1, 2, 3, 4]));
        assert_eq!(lost, [(11, 14), (30, 34)]);
        // Zone 7 does not count, as it is to be reset whatever is in it.
        assert_eq!((survey.ahead, survey.failed, survey.table.bad), (2, 3, 1));
        assert_eq!(survey.table.spares, BTreeSet::from([8, 10]));
    }

    #[test]
    fn a_zone_with_old_copies_is_not_spare_before_they_are_given_up() {
        let (physical, pointers) = (vec![2, 3], vec![4, 4]);
        let (spares, leaving) = (BTreeSet::from([5]), vec![4]);
        let mut table = Table { physical, pointers, spares, leaving, ..Table::default() };
        let state = |table: &Table| {
            let spares: Vec<u32> = table.spares.iter().copied().collect();
            (spares, table.kept().collect::<Vec<_>>())
        };
        // Zone 3 is a logical one, and zone 9 has failed.
        table.committed(BTreeSet::from([3, 4, 9]));
        assert_eq!((state(&table), &table.holding), ((vec![5], vec![4]), &BTreeSet::from([3, 4])));
        table.spares.remove(&5);
        table.move_to(1, 5, 0);
        assert_eq!(state(&table), (vec![], vec![4]));
        table.committed(BTreeSet::from([3]));
        assert_eq!(state(&table), (vec![4], vec![3]));
        table.committed(BTreeSet::new());
        assert_eq!(state(&table), (vec![3, 4], vec![]));
    }

    #[test]
    fn a_run_over_several_zones_is_lost_in_part() {
        let mut disk = disk();
        disk[2].write_pointer = Some(CAPACITY);
        disk[3].write_pointer = Some(3);
        disk[0] = zone(0, Condition::Offline, None);
        // Buffer block 7 is the first block of zone 1.
        let mut recovered =
            map(&[(3, 5, Place::Native(8)), (20, 4, Place::Buffer(5)), (30, 2, Place::Native(2))]);
        recovered.zones[0].1 = 10;
        recovered.zones[1].1 = 5;
        let (_, flawed, lost) = look(&recovered, &disk);
        assert_eq!(flawed.first(), Some(&(1, 3)));
        // A full zone is not appended to.
        disk[2].write_pointer = Some(2);
        let table = look(&recovered, &disk).0.table;
        assert_eq!(table.flawed.get(&0), Some(&2));
        assert_eq!(table.flawed_in_part.first(), Some(&1));
        disk[2].write_pointer = Some(CAPACITY);
        // Blocks 3 and 4 are in the zone before, 5 to 7 in the one that ends at its third block.
        assert_eq!(lost, [(20, 22)]);
        disk[3].write_pointer = Some(1);
        assert_eq!(look(&recovered, &disk).2, [(6, 8), (20, 22)]);
    }
}
