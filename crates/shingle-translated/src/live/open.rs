//! Opening a disk: reads the map, compares it with the zones, and opens the translation from it. Then the superblock gets the
//! epoch of this process, and the map is written anew, which repairs a damaged copy.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Mutex, RwLock};

use shingle_core::params::Params;
use shingle_core::ranges::Ranges;
use shingle_core::units::{Block, Zone};
use shingle_translation::{Entry, Layout, Piece, Place, SavedMap, Translation, translations};
use shingle_zoned::{Condition, Geometry, ZoneReport, ZonedDisk};

use super::commit::records_of;
use super::reading::Map;
use super::telling::sum;
use super::watched::Watched;
use super::worker::{Since, Stop, Worker, executor};
use super::{LiveDisk, Plan, Shared, Waiting};
use crate::bugs::{Bug, Seeded};
use crate::error::OpenError;
use crate::lost::{COPIES_MAX, Lost};
use crate::saved::{Chosen, Reading, Recovered, Saver, Superblock, recover, superblocks};
use crate::whereabouts::Whereabouts;
use crate::zones::{Shape, Survey, ends, in_zones, survey};

/// The state of a disk, before anything is written.
pub(crate) struct Found {
    pub(crate) superblock: Superblock,
    /// The damage of each copy of the superblock.
    pub(crate) wrong: [Option<String>; 2],
    /// The copy of the superblock to write first.
    worse: usize,
    pub(crate) recovered: Recovered,
    pub(crate) survey: Survey,
    /// Blocks that are lost by the map, and those that the zones do not have.
    pub(crate) lost: Lost,
    /// Those of them whose places neither copy of the map has.
    pub(crate) given_up: Ranges,
    pub(crate) entry: &'static Entry,
    pub(crate) translation: Box<dyn Translation>,
}

/// Reads the map, compares it with the zones, and opens the translation.
pub(crate) fn find(
    disk: &dyn ZonedDisk,
    reading: Reading,
    bugs: Seeded,
) -> Result<Found, OpenError> {
    let Chosen { superblock, wrong, worse } = superblocks(disk)?;
    let mut recovered = recover(disk, &superblock, reading, bugs)?;
    let reports = disk.report(Zone(0), superblock.zones)?;
    let given_up = give_up_unknown(&mut recovered, &superblock, &reports);
    let shape = Shape::new(&superblock, disk.geometry());
    let mut survey = survey(&recovered.whereabouts, &recovered.zones, &reports, &shape);
    if bugs.has(Bug::PointerBehindIgnored) {
        survey.lost = Ranges::default();
    }
    let (entry, translation) = translation(disk, &superblock, &recovered.whereabouts, &survey)?;
    let mut lost = recovered.lost.clone();
    survey.lost.iter().for_each(|range| lost.insert(range));
    lost.keep_copies(|copy| is_there(&reports, &superblock, copy));
    survey.table.hold(lost.zones(superblock.zone_blocks));
    Ok(Found { superblock, wrong, worse, recovered, survey, lost, given_up, entry, translation })
}

/// Whether a zone still has the data of a block in it.
fn is_there(reports: &[ZoneReport], superblock: &Superblock, at: Block) -> bool {
    let (zone, offset) = (at.0 / superblock.zone_blocks, at.0 % superblock.zone_blocks);
    let report = &reports[zone as usize];
    report.condition != Condition::Offline && report.write_pointer.is_none_or(|end| offset < end)
}

/// Gives up blocks and logical zones whose places neither copy of the map has: the blocks, and all blocks in those zones, are
/// lost, and the zones get other physical ones, empty.
fn give_up_unknown(
    recovered: &mut Recovered,
    superblock: &Superblock,
    reports: &[ZoneReport],
) -> Ranges {
    let Recovered { whereabouts, zones, lost, unknown, .. } = recovered;
    let capacity = superblock.zone_capacity_blocks;
    let mut gone = unknown.blocks.clone();
    for (block, piece) in whereabouts.all() {
        let Place::Native(at) = piece.place else { continue };
        for (zone, _, part) in in_zones(at, piece.count, capacity) {
            if unknown.zones.contains(&zone) {
                gone.insert(block.0 + part.start..block.0 + part.end);
            }
        }
    }
    for range in gone.iter() {
        let piece = Piece { place: Place::Nowhere, count: range.end - range.start };
        whereabouts.set(Block(range.start), piece);
        lost.insert(range);
    }
    let named: HashSet<u32> = zones.iter().map(|(physical, _)| *physical).collect();
    let can_be_used = |report: &&ZoneReport| {
        report.zone.0 >= superblock.conventional_zones && !named.contains(&report.zone.0)
    };
    // (Writable zones first. There are at least as many as unknown ones.)
    let mut free: Vec<&ZoneReport> = reports.iter().filter(can_be_used).collect();
    free.sort_by_key(|report| report.condition.has_failed());
    for (logical, report) in unknown.zones.iter().zip(free) {
        zones[*logical as usize] = (report.zone.0, 0);
    }
    gone
}

/// A map that was compared with the zones. It can have hundreds of millions of runs, so it is not copied.
struct Compared<'a> {
    whereabouts: &'a Whereabouts,
    pointers: Vec<u64>,
}

impl SavedMap for Compared<'_> {
    fn runs(&self) -> Box<dyn Iterator<Item = (Block, Piece)> + '_> {
        Box::new(self.whereabouts.all())
    }

    fn pointers(&self) -> &[u64] {
        &self.pointers
    }
}

/// Opens the translation that the superblock names, from a map that was compared with the zones.
fn translation(
    disk: &dyn ZonedDisk,
    superblock: &Superblock,
    whereabouts: &Whereabouts,
    survey: &Survey,
) -> Result<(&'static Entry, Box<dyn Translation>), OpenError> {
    let unusable = |what: String| OpenError::Unusable { disk: disk.name().to_owned(), what };
    let entry = translations::get(&superblock.translation).map_err(unusable)?;
    let mut params = Params::new(entry.params);
    for (name, value) in &superblock.params {
        params.set(name, value).map_err(|error| unusable(format!("{}: {error}", entry.name)))?;
    }
    let pointers = survey.table.pointers.iter().map(|pointer| (*pointer).into()).collect();
    let saved = Compared { whereabouts, pointers };
    let damaged = |what: String| OpenError::Damaged { disk: disk.name().to_owned(), what };
    let translation = entry.open(&params, layout(superblock), &saved).map_err(damaged)?;
    if translation.blocks() != superblock.blocks {
        let (now, then) = (translation.blocks(), superblock.blocks);
        return Err(unusable(format!(
            "{} gives it {now} blocks, and gave it {then} when it was formatted",
            entry.name
        )));
    }
    Ok((entry, translation))
}

/// The layout for the translation.
pub(crate) fn layout(superblock: &Superblock) -> Layout {
    Layout {
        zone_blocks: superblock.zone_capacity_blocks,
        buffer_blocks: superblock.buffer_blocks,
        zones: superblock.logical_zones,
    }
}

pub(crate) fn open(
    disk: Box<dyn ZonedDisk>,
    reading: Reading,
    bugs: Seeded,
) -> Result<LiveDisk, OpenError> {
    let found = find(&*disk, reading, bugs)?;
    let Found { superblock, worse, recovered, survey, lost, entry, translation, .. } = found;
    let lost_copies = lost.with_copies().collect();
    let map = Map::new(recovered.whereabouts, &survey.table, lost);
    let others = records_of(&map.whereabouts, &survey.table, &map.lost) - map.whereabouts.runs();
    let plan = Plan::new(&superblock, disk.geometry(), others);
    let mut worker = Worker {
        survives_power_cuts: entry.survives_power_cuts,
        to_read_again: lost_copies,
        ..Worker::new(translation, survey.table, Saver::new(superblock, worse, bugs), bugs)
    };
    let (map, reads_again) = (RwLock::new(map), AtomicBool::new(false));
    let shared = Shared { disk: Watched::new(disk), plan, map, reads_again };
    if let Err(stop) = worker.claim(&shared) {
        worker.record_failure(&stop, Since::Durable);
    }
    Ok(LiveDisk {
        shared,
        turn: Mutex::new(()),
        worker: Mutex::new(worker),
        waiting: Waiting::default(),
        refused: AtomicU64::new(0),
        last_refusal: Mutex::default(),
    })
}

impl Plan {
    /// `others` is how many records of the map are no runs of the host's blocks.
    fn new(superblock: &Superblock, geometry: &Geometry, others: u64) -> Plan {
        let records_max = superblock.areas.records_max();
        Plan {
            uuid: superblock.uuid,
            translation: superblock.translation.clone(),
            params: superblock.params.clone(),
            blocks: superblock.blocks,
            zones: superblock.zones,
            superblocks: superblock.areas.superblocks(),
            buffer_first: Block(superblock.areas.between().start),
            buffer_blocks: superblock.told_buffer_blocks(),
            zone_blocks: superblock.zone_blocks,
            capacity: superblock.zone_capacity_blocks,
            max_active: geometry.max_active,
            runs_max: records_max.saturating_sub(others),
            copies_max: COPIES_MAX.min(records_max / 64),
        }
    }
}

impl Worker {
    fn claim(&mut self, shared: &Shared) -> Result<(), Stop> {
        // The map that was read may name data that a killed process wrote and did not flush: it may be in the disk's cache only.
        shared.disk.flush()?;
        self.saver.claim(&shared.disk)?;
        self.checkpoint(shared)
    }

    /// Makes the map of the readers durable, and opens the translation from it. That undoes a work that failed half-way.
    pub(super) fn roll_back(&mut self, shared: &Shared) -> Result<(), Stop> {
        let plan = &shared.plan;
        let reports = shared.disk.report(Zone(0), plan.zones)?;
        for (logical, &physical) in (0..).zip(&self.table.physical) {
            self.has_acknowledged(logical, &reports[physical as usize])?;
        }
        let mut map = shared.map_mut();
        let zones = self.zones_of_readers(&map, &reports, plan);
        let superblock = self.saver.superblock();
        let shape = Shape::new(superblock, shared.disk.geometry());
        let survey = survey(&map.whereabouts, &zones, &reports, &shape);
        let opened = translation(&shared.disk, superblock, &map.whereabouts, &survey);
        let (_, translation) = opened.map_err(|error| Stop::Map(error.to_string()))?;
        let Survey { mut table, lost, .. } = survey;
        let moved = (0..)
            .zip(&zones)
            .filter(|&(logical, &(physical, _))| physical != self.table.physical[logical as usize]);
        table.unlogged.extend(moved.map(|(logical, _): (u32, _)| logical));
        table.unlogged.extend(&self.table.unlogged);
        table.appended = std::mem::take(&mut self.table.appended);
        let with_copies = map.lost.zones(plan.zone_blocks);
        table.hold(with_copies.union(&self.table.holding).copied().collect());
        for range in lost.iter() {
            self.lost_unlogged |= !map.lost.blocks().has(range.clone());
            map.lost.insert(range);
        }
        drop(map);
        self.restart(translation);
        self.table = table;
        if self.bugs.has(Bug::RolledBackInMemory) {
            return Ok(());
        }
        self.commit(shared)
    }

    /// The physical zones of the map of the readers, with their write pointers.
    fn zones_of_readers(&self, map: &Map, reports: &[ZoneReport], plan: &Plan) -> Vec<(u32, u32)> {
        let ends = ends(&map.whereabouts, map.physical.len(), plan.capacity);
        let zone = |(logical, end): (usize, u32)| {
            let physical = map.physical[logical];
            let pointer = match physical == self.table.physical[logical] {
                true => self.table.pointers[logical],
                // The logical zone has moved since; the old physical zone has not changed.
                false => reports[physical as usize].write_pointer.unwrap_or(0) as u32,
            };
            (physical, pointer.max(end).min(plan.capacity as u32))
        };
        ends.into_iter().enumerate().map(zone).collect()
    }

    /// Reverts to the map on the disk, as after a power cut: it is unknown which later writes the disk has.
    pub(super) fn revert(&mut self, shared: &Shared) -> Result<(), Stop> {
        // If flushes still fail, reading the map is of no use.
        shared.disk.flush()?;
        let damaged = |error: OpenError| match error {
            OpenError::Disk(error) => Stop::Disk(error),
            other => Stop::Map(other.to_string()),
        };
        let found = find(&shared.disk, Reading::Whole, self.bugs).map_err(damaged)?;
        let Found { superblock, worse, recovered, survey, lost, translation, .. } = found;
        {
            let mut map = shared.map_mut();
            self.to_read_again = lost.with_copies().collect();
            *map = Map::new(recovered.whereabouts, &survey.table, lost);
            self.unflushed_by_host.iter().for_each(|range| self.reverted.insert(range));
            map.doubtful = self.reverted.clone();
        }
        // (The host gets an error for the current write, but not yet for earlier ones.)
        if !self.bugs.has(Bug::FailedFlushForgiven) {
            self.owes_flush_error |= !self.unflushed_by_host.is_empty();
        }
        self.restart(translation);
        self.table = survey.table;
        self.lost_unlogged = false;
        let written_blocks = self.saver.written_blocks;
        self.saver = Saver::new(superblock, worse, self.bugs);
        self.saver.written_blocks = written_blocks;
        self.claim(shared)
    }

    /// Begins with another translation, and forgets the work that has failed.
    fn restart(&mut self, translation: Box<dyn Translation>) {
        self.done_before = sum(&self.done_before, self.executor.translation().counters());
        self.executor = executor(translation);
        self.touched.clear();
        self.unpublished_blocks.clear();
        self.lost.clear();
        self.lost_now.clear();
        self.writing = 0..0;
        self.rewriting = None;
        self.saver.give_up_next();
    }
}
