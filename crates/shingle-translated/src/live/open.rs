//! Opening: the map is read, held against the disk's zones, and the translation opened from it. Then the disk is told that
//! there is a new process, and the map is written anew: that makes whole what one of the copies lacked.

use std::sync::{Mutex, RwLock};

use shingle_core::params::Params;
use shingle_core::units::{Block, Zone};
use shingle_engine::Buffer;
use shingle_translation::{Entry, Executor, Layout, Saved, Translation, translations};
use shingle_zoned::ZonedDisk;

use super::commit::records_of;
use super::reading::Map;
use super::works::{Stop, Works};
use super::{LiveDisk, Plan, Shared, Waiting};
use crate::bugs::{Bug, Seeded};
use crate::error::OpenError;
use crate::ranges::Ranges;
use crate::saved::{Recovered, Saver, Superblock, recover, superblocks};
use crate::status::WrittenStatus;
use crate::zones::{Survey, survey};

/// What is on a disk. Nothing was written.
pub(crate) struct Found {
    pub(crate) superblock: Superblock,
    /// What is wrong with each copy of the superblock.
    pub(crate) wrong: [Option<String>; 2],
    pub(crate) recovered: Recovered,
    pub(crate) survey: Survey,
    /// What the map says is lost, and what the disk turned out not to have.
    pub(crate) lost: Ranges,
    pub(crate) entry: &'static Entry,
    pub(crate) translation: Box<dyn Translation>,
}

/// Reads a map, holds it against the disk, and opens the translation. `both`: looks at both copies of everything.
pub(crate) fn find(disk: &dyn ZonedDisk, both: bool, bugs: Seeded) -> Result<Found, OpenError> {
    let chosen = superblocks(disk)?;
    let superblock = chosen.superblock;
    let recovered = recover(disk, &superblock, both, bugs)?;
    let reports = disk.report(Zone(0), superblock.zones)?;
    let buffer_first = Block(superblock.areas.between().start);
    let mut survey = survey(
        &recovered,
        &reports,
        superblock.conventional_zones,
        superblock.zone_capacity_blocks,
        buffer_first,
    );
    if bugs.has(Bug::PointerBehindIgnored) {
        survey.lost = Ranges::default();
    }
    let unusable = |what: String| OpenError::Unusable { disk: disk.name().to_owned(), what };
    let entry = translations::get(&superblock.translation).map_err(unusable)?;
    let mut params = Params::new(entry.params);
    for (name, value) in &superblock.params {
        params.set(name, value).map_err(|error| unusable(format!("{}: {error}", entry.name)))?;
    }
    let saved = Saved {
        runs: recovered.whereabouts.all().collect(),
        pointers: survey.table.pointers.iter().map(|pointer| (*pointer).into()).collect(),
    };
    let damaged = |what: String| OpenError::Damaged { disk: disk.name().to_owned(), what };
    let translation = entry.open(&params, layout(&superblock), &saved).map_err(damaged)?;
    if translation.blocks() != superblock.blocks {
        let (now, then) = (translation.blocks(), superblock.blocks);
        return Err(unusable(format!(
            "{} gives it {now} blocks, and gave it {then} when it was formatted",
            entry.name
        )));
    }
    let mut lost = recovered.lost.clone();
    survey.lost.iter().for_each(|range| lost.insert(range));
    Ok(Found { superblock, wrong: chosen.wrong, recovered, survey, lost, entry, translation })
}

/// What the translation has to work with.
pub(crate) fn layout(superblock: &Superblock) -> Layout {
    Layout {
        zone_blocks: superblock.zone_capacity_blocks,
        buffer_blocks: superblock.buffer_blocks,
        zones: superblock.logical_zones,
    }
}

pub(super) fn open(disk: Box<dyn ZonedDisk>, bugs: Seeded) -> Result<LiveDisk, OpenError> {
    let found = find(&*disk, false, bugs)?;
    let Found { superblock, recovered, survey, lost, entry, translation, .. } = found;
    let mut executor: Executor<Buffer> = Executor::new(translation);
    executor.keep_data();
    let map = Map {
        whereabouts: recovered.whereabouts,
        physical: survey.table.physical.clone(),
        lost,
        doubtful: Ranges::default(),
    };
    let others = records_of(&map.whereabouts, &survey.table, &map.lost) - map.whereabouts.runs();
    let plan = Plan {
        uuid: superblock.uuid,
        translation: superblock.translation.clone(),
        params: superblock.params.clone(),
        blocks: superblock.blocks,
        buffer_first: Block(superblock.areas.between().start),
        buffer_blocks: superblock.buffer_blocks,
        zone_blocks: superblock.zone_blocks,
        capacity: superblock.zone_capacity_blocks,
        runs_max: superblock.areas.records_max().saturating_sub(others),
    };
    let mut works = Works {
        executor,
        table: survey.table,
        saver: Saver::new(superblock, bugs),
        survives_power_cuts: entry.survives_power_cuts,
        touched: Ranges::default(),
        unflushed: Ranges::default(),
        unlogged: Ranges::default(),
        lost: Ranges::default(),
        loss_unlogged: false,
        written: WrittenStatus::default(),
        commits: 0,
        checkpoints: 0,
        failed: None,
        bugs,
    };
    let shared = Shared { disk, plan, map: RwLock::new(map) };
    if let Err(stop) = works.take_over(&shared) {
        works.failed = Some(stop.to_string());
    }
    Ok(LiveDisk {
        shared,
        turn: Mutex::new(()),
        works: Mutex::new(works),
        waiting: Waiting::default(),
    })
}

impl Works {
    fn take_over(&mut self, shared: &Shared) -> Result<(), Stop> {
        // What a killed process wrote and did not flush may be in the disk's cache: the map that was read may name it.
        shared.disk.flush()?;
        self.saver.claim(&*shared.disk)?;
        self.checkpoint(shared)
    }
}
