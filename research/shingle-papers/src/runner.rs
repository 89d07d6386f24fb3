//! Runs the experiments of a paper: plans the runs of all figures, makes each trace once, runs each
//! configuration once even if several figures need it, and judges the results.

use std::collections::BTreeMap;

use rayon::prelude::*;
use shingle_core::registry::Registry;
use shingle_core::units::BLOCK_BYTES;
use shingle_core::zones::ZoneMap;
use shingle_drive::{self as drives, Settings, Timing};
use shingle_result::{Pacing, RunResult};
use shingle_sim::experiment::{
    Assignment, Assignments, ExperimentError, Job, Options, Trace, plan,
};
use shingle_sweep::SweepError;
use shingle_trace::papers::Papers;
use shingle_trace::zones::ZONE_BLOCKS;
use shingle_trace::{Mode, TraceError};
use thiserror::Error;

use crate::cells::Cells;
use crate::experiment::{Figure, Paper, Source};
use crate::grid::{Grid, Point, System};
use crate::kept::{self, Kept};
use crate::measured::{Bench, MeasureError};
use crate::result::{Reproduction, SCHEMA};
use crate::scale::{Scale, Scaled, ZONES_MIN};
use crate::show::judge;
use crate::traces::{Held, Traces, Wanted, hold, length};
use shingle_report::chart::DrawError;

/// The parameters of a reproduction.
#[derive(Debug)]
pub struct Order<'a> {
    /// The paper.
    pub paper: &'static Paper,
    /// The figures to be reproduced.
    pub figures: Vec<&'static Figure>,
    /// Seeds, at least one.
    pub seeds: Vec<u64>,
    /// Scale of all figures; `None` for the default of each.
    pub scale: Option<Scale>,
    /// The source of traces.
    pub traces: Traces,
    /// The drive to measure instead of the paper's, for figures about a single drive.
    pub drive: Option<String>,
    /// The available policies.
    pub registry: &'a Registry,
    /// Finished runs, to which others are added.
    pub kept: Option<&'a Kept>,
}

/// The reason why a paper cannot be reproduced. Displays as one line.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum PaperError {
    /// A trace cannot be read.
    #[error(transparent)]
    Trace(#[from] TraceError),
    /// A run cannot be planned, or failed.
    #[error(transparent)]
    Experiment(#[from] ExperimentError),
    /// A measurement failed.
    #[error(transparent)]
    Measure(#[from] MeasureError),
    /// A picture cannot be drawn.
    #[error(transparent)]
    Draw(#[from] DrawError),
    /// A finished run cannot be recorded.
    #[error(transparent)]
    Kept(#[from] SweepError),
    /// The scale is too small.
    #[error("{0}")]
    Scale(String),
}

impl PaperError {
    /// Whether the cause is a wrong option or name, as opposed to bad data.
    #[must_use]
    pub fn is_usage(&self) -> bool {
        match self {
            PaperError::Trace(error) => error.is_usage(),
            PaperError::Experiment(error) => matches!(error, ExperimentError::Usage(_)),
            PaperError::Scale(_) => true,
            PaperError::Measure(_) | PaperError::Draw(_) | PaperError::Kept(_) => false,
        }
    }
}

/// Identifies a run: runs with equal keys over a trace are the same.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Key {
    policy: &'static str,
    pub(crate) drive: &'static str,
    translation: Option<&'static str>,
    ssd: &'static str,
    timing: Option<Timing>,
    pub(crate) buffer_blocks: Option<u64>,
    pub(crate) cache_blocks: u64,
    /// The size of the flash inside the drive; `None` if it has none, or for the size in its sheet.
    pub(crate) flash_blocks: Option<u64>,
    accesses: usize,
    sets: Vec<(&'static str, &'static str)>,
}

/// Runs the experiments and judges them. `total` gets the approximate number of accesses in
/// advance, `progress` the number since its last call.
///
/// # Errors
/// The first error.
pub fn reproduce(
    order: &Order,
    total: &dyn Fn(u64),
    progress: &(dyn Fn(u64) + Sync),
) -> Result<Reproduction, PaperError> {
    let cells = run(order, total, progress)?;
    let judged = order.figures.iter().zip(&cells).map(|(f, cells)| judge(f, cells, order.scale));
    Ok(Reproduction {
        schema: SCHEMA,
        paper: order.paper.name,
        citation: order.paper.citation,
        about: order.paper.about.to_vec(),
        traces: order.traces.words(),
        seeds: order.seeds.clone(),
        figures: judged.collect::<Result<_, _>>()?,
    })
}

/// Runs the experiments. Returns the results of each figure, for each seed.
pub(crate) fn run(
    order: &Order,
    total: &dyn Fn(u64),
    progress: &(dyn Fn(u64) + Sync),
) -> Result<Vec<Vec<Cells>>, PaperError> {
    check_scale(order)?;
    total(total_accesses(order)?);
    let mut cells: Vec<Vec<Cells>> = order.figures.iter().map(|_| Vec::new()).collect();
    for &seed in &order.seeds {
        for (seeds, of_seed) in cells.iter_mut().zip(run_seed(order, seed, progress)?) {
            seeds.push(of_seed);
        }
    }
    Ok(cells)
}

fn wanted(grid: &Grid, scaled: &Scaled, trace: &'static str) -> Wanted {
    Wanted {
        name: trace,
        free: grid.free,
        mode: grid.mode,
        pacing: grid.pacing,
        disk: (grid.pacing == Pacing::Open).then_some(grid.drive),
        copies: scaled.copies,
        every_zone: scaled.every_zone,
    }
}

/// Refuses `every_zone` in open loop, where only the beginning of a trace can be taken.
fn check_scale(order: &Order) -> Result<(), PaperError> {
    let open = |grid: &Grid| grid.pacing == Pacing::Open;
    let every_zone = order.scale.map_or(1, |scale| scale.every_zone);
    if every_zone != 1 && order.figures.iter().flat_map(|figure| figure.grids()).any(open) {
        return Err(PaperError::Scale(format!(
            "--every-zone {every_zone}: {} replays requests at their times, which lie across zones; \
             run the beginning of each trace (--scale) instead",
            order.paper.name
        )));
    }
    Ok(())
}

/// Packs a trace that reaches beyond its disk. Returns whether that was needed.
pub(crate) fn pack_to_fit(held: &mut Held, disk: &str) -> Result<bool, PaperError> {
    let disk = drives::make(disk, &Settings::default()).map_err(MeasureError::from)?;
    let description = disk.description();
    let zone_bytes = description.bands.as_ref().map_or(ZONE_BLOCKS, ZoneMap::largest) * BLOCK_BYTES;
    Ok(held.fit(description.disk_blocks * BLOCK_BYTES, zone_bytes))
}

/// The approximate number of accesses of all runs.
fn total_accesses(order: &Order) -> Result<u64, TraceError> {
    let papers = order.traces.of_seed(order.seeds[0])?;
    let mut lengths: BTreeMap<(&str, Pacing), u64> = BTreeMap::new();
    let mut sum = 0;
    for grid in order.figures.iter().flat_map(|figure| figure.grids()) {
        let scaled = Scaled::new(grid, order.scale);
        for &trace in grid.traces {
            let accesses = match scaled.accesses {
                Some(accesses) => accesses,
                None => {
                    let whole = match lengths.get(&(trace, grid.pacing)) {
                        Some(&length) => length,
                        None => length(&papers, &wanted(grid, &scaled, trace))?,
                    };
                    lengths.insert((trace, grid.pacing), whole);
                    (whole as f64 * scaled.part) as u64
                }
            };
            sum += accesses * (grid.systems.len() * grid.points.len()) as u64;
        }
    }
    Ok(sum * order.seeds.len() as u64)
}

/// A place in a figure that is filled by a run.
struct Place {
    figure: usize,
    trace: &'static str,
    system: &'static str,
    point: &'static str,
}

/// The runs over a trace, with a remark on it.
struct TraceRuns {
    runs: Vec<(Place, RunResult)>,
    note: Option<String>,
}

fn run_seed(
    order: &Order,
    seed: u64,
    progress: &(dyn Fn(u64) + Sync),
) -> Result<Vec<Cells>, PaperError> {
    let papers = order.traces.of_seed(seed)?;
    let mut by_trace: BTreeMap<Wanted, Vec<(usize, &'static Grid)>> = BTreeMap::new();
    for (nth, figure) in order.figures.iter().enumerate() {
        for grid in figure.grids() {
            let scaled = Scaled::new(grid, order.scale);
            for &trace in grid.traces {
                by_trace.entry(wanted(grid, &scaled, trace)).or_default().push((nth, grid));
            }
        }
    }
    let filled: Vec<TraceRuns> = by_trace
        .into_par_iter()
        .map(|(wanted, users)| {
            let own = match wanted.free {
                [] => None,
                free => Some(order.traces.with(free).of_seed(seed)?),
            };
            let papers = own.as_ref().unwrap_or(&papers);
            run_trace(papers, &wanted, &users, order, seed, progress)
        })
        .collect::<Result<_, _>>()?;
    let mut cells: Vec<Cells> = order.figures.iter().map(|_| Cells::default()).collect();
    for TraceRuns { runs, note } in filled {
        for (place, result) in runs {
            let cells = &mut cells[place.figure];
            cells.insert(place.trace, place.system, place.point, result);
            cells.notes.extend(note.clone());
        }
    }
    let drive = order.drive.as_deref();
    let bench = Bench { seed, drive, papers: &papers, traces: &order.traces, progress };
    for (figure, cells) in order.figures.iter().zip(&mut cells) {
        if let Source::Measured(measure) = figure.source {
            cells.measured = measure(&bench)?;
        }
    }
    Ok(cells)
}

/// Runs all configurations that any figure needs over one trace, each once.
fn run_trace(
    papers: &Papers,
    wanted: &Wanted,
    users: &[(usize, &'static Grid)],
    order: &Order,
    seed: u64,
    progress: &(dyn Fn(u64) + Sync),
) -> Result<TraceRuns, PaperError> {
    let accesses = users.iter().map(|(_, grid)| Scaled::new(grid, order.scale).accesses);
    let most = accesses.max_by_key(|accesses| {
        accesses.unwrap_or(u64::MAX) // no limit is the largest
    });
    let mut held = hold(papers, wanted, most.flatten())?;
    let packed = wanted.disk.map_or(Ok(false), |disk| pack_to_fit(&mut held, disk))?;
    let note = packed.then(|| {
        format!("{} reaches beyond the drive: the zones it touches are packed", held.name)
    });
    let jobs = jobs(wanted, users, &held, order, seed)?;
    let hash = order.kept.map(|kept| (kept, kept::hash(&held)));
    let runs: Vec<(Vec<Place>, RunResult)> = jobs
        .into_iter()
        .collect::<Vec<_>>()
        .into_par_iter()
        .map(|(key, (job, places))| {
            let run = || job.run(&held.first(key.accesses), progress);
            let Some((kept, hash)) = &hash else { return Ok((places, run()?)) };
            let run_key = kept.key(hash, key.accesses, job.labels());
            if let Some(result) = kept.find(&run_key) {
                progress(key.accesses as u64);
                return Ok((places, result));
            }
            let result = run()?;
            kept.keep(&run_key, &result)?;
            Ok((places, result))
        })
        .collect::<Result<_, PaperError>>()?;
    let runs = runs
        .into_iter()
        .flat_map(|(places, result)| places.into_iter().map(move |place| (place, result.clone())));
    Ok(TraceRuns { runs: runs.collect(), note })
}

/// Returns the configurations that any figure needs over one trace, each with all its places.
fn jobs(
    wanted: &Wanted,
    users: &[(usize, &'static Grid)],
    held: &Held,
    order: &Order,
    seed: u64,
) -> Result<BTreeMap<Key, (Job, Vec<Place>)>, PaperError> {
    let mut jobs: BTreeMap<Key, (Job, Vec<Place>)> = BTreeMap::new();
    for &(figure, grid) in users {
        let scaled = Scaled::new(grid, order.scale);
        let length = held.len();
        let limit = scaled.accesses.map_or(length, |n| (n as usize).min(length));
        let accesses = (limit as f64 * scaled.part) as usize;
        for (point, system) in
            grid.points.iter().flat_map(|point| grid.systems.iter().map(move |s| (point, s)))
        {
            let key = key(grid, &scaled, system, point, held, accesses);
            check_buffer(grid, &scaled, &key)?;
            let (trace, system, point) = (wanted.name, system.label, point.label);
            let place = Place { figure, trace, system, point };
            if let Some((_, places)) = jobs.get_mut(&key) {
                places.push(place);
            } else {
                let job = job(&key, held, (wanted.mode, wanted.pacing), seed, order.registry)?;
                jobs.insert(key, (job, vec![place]));
            }
        }
    }
    Ok(jobs)
}

pub(crate) fn key(
    grid: &Grid,
    scaled: &Scaled,
    system: &System,
    point: &Point,
    held: &Held,
    accesses: usize,
) -> Key {
    let drive = system.drive.unwrap_or(grid.drive);
    let shingled = drives::entry(drive).is_ok_and(|entry| entry.shingled);
    let buffer_blocks = scaled.blocks(grid.buffer, &held.summary).filter(|_| shingled);
    let cache = scaled.blocks(point.cache.unwrap_or(grid.cache), &held.summary);
    let bare = system.policy == "none";
    Key {
        policy: system.policy,
        drive,
        translation: system.translation,
        ssd: grid.ssd,
        // The grid's timing is that of its drive, and does not apply to a system's own drive.
        timing: grid.timing.filter(|_| system.drive.is_none()),
        buffer_blocks,
        cache_blocks: if bare { 0 } else { cache.unwrap_or(0) },
        flash_blocks: cache.filter(|_| bare && has_flash(drive)).map(|n| n.max(FLASH_BLOCKS_MIN)),
        accesses,
        sets: [grid.sets, system.sets, point.sets].concat(),
    }
}

/// The least size of flash inside a drive, for any trace: 64 erase blocks of 256 pages, so that
/// each region of MCM has some.
const FLASH_BLOCKS_MIN: u64 = 64 * 256;

const FLASH: &str = "flash_bytes";

fn has_flash(drive: &str) -> bool {
    drives::entry(drive).is_ok_and(|entry| entry.has(FLASH))
}

fn check_buffer(grid: &Grid, scaled: &Scaled, key: &Key) -> Result<(), PaperError> {
    let buffer = key.buffer_blocks.unwrap_or(u64::MAX);
    if scaled.allowed(buffer) {
        return Ok(());
    }
    Err(PaperError::Scale(format!(
        "keeping one zone of {} leaves {} zones in the buffer of {}: at least {} are needed; scale \
         by fewer copies and requests (--scale) instead",
        scaled.every_zone,
        buffer / ZONE_BLOCKS,
        grid.drive,
        ZONES_MIN
    )))
}

pub(crate) fn job(
    key: &Key,
    held: &Held,
    (mode, pacing): (Mode, Pacing),
    seed: u64,
    registry: &Registry,
) -> Result<Job, PaperError> {
    let set = |key: &str, value: &str| Assignment::new(key, value).expect("each has an owner");
    let mut sets = Assignments::default();
    if let Some(blocks) = key.buffer_blocks {
        sets.push(set("drive.pb", &format!("{blocks}b")));
    } else if drives::entry(key.drive).is_ok_and(|entry| entry.shingled) {
        sets.push(set("drive.pb", "real"));
    }
    if let Some(blocks) = key.flash_blocks {
        sets.push(set(&format!("drive.{FLASH}"), &(blocks * BLOCK_BYTES).to_string()));
    }
    sets.extend(key.sets.iter().map(|(name, value)| set(name, value)));
    let options = Options {
        seed,
        policies: vec![key.policy.into()],
        drives: vec![key.drive.into()],
        translations: vec![key.translation.unwrap_or("none").into()],
        caches: vec![format!("{}b", key.cache_blocks.max(1))],
        ssd: key.ssd.into(),
        sets,
        mode,
        pacing,
        // The prototypes of SAC and PORE process each block separately. No paper has partial
        // writes.
        split: pacing == Pacing::Closed,
        fill_partial: false,
        timing: key.timing,
        ..Options::default()
    };
    let trace = Trace {
        name: held.name.clone(),
        format: None,
        requests: Vec::new(),
        summary: held.summary.clone(),
    };
    let (mut jobs, _) = plan(&options, registry, &trace)?;
    Ok(jobs.remove(0))
}
