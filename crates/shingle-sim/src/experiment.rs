//! From names and settings to runs: what `compare` and `run` do behind their options.

mod drives;
mod names;
mod policies;
mod served;
mod translations;

use std::collections::BTreeMap;
use std::sync::Arc;

use rayon::prelude::*;
use shingle_core::cache::CacheCore;
use shingle_core::params::{Params, nearest};
use shingle_core::policies::none::NoCache;
use shingle_core::policy::{Policy as _, Zoning};
use shingle_core::registry::{Entry, Registry, Setup};
use shingle_core::size;
use shingle_core::units::{BLOCK_BYTES, Request};
use shingle_drive::drive::{Description, Drive};
use shingle_drive::registry::{Timing, make_ssd};
use shingle_result::{Labels, Notes, Pacing, RunResult};
use shingle_trace::{Mode, Recognised, Summary};
use thiserror::Error;

use crate::requests::RequestList;
use crate::run::{Course, RunError, run};
use crate::store::{self, Devices};
use crate::system::{Rules, System};
use crate::watch::{Log, Rows};
pub use drives::timing_name;
use drives::{DriveChoice, check_capacity, drive_choice, make_drive, ssd_choice, unused_zones};
pub use names::{check_names, takes};
use policies::{cache_params, check_owners, chosen, policy_params};
pub use served::StoreOptions;
pub use translations::PARAMS as TRANSLATION_PARAMS;
use translations::Translator;

/// A decoded trace.
#[derive(Clone, Debug)]
pub struct Trace {
    /// File name or workload.
    pub name: String,
    /// Its format and how that is known; `None` if it was not read.
    pub format: Option<Recognised>,
    /// Its requests, filtered and shaped.
    pub requests: Vec<Request>,
    /// What they amount to.
    pub summary: Summary,
}

/// The cache if nothing is asked for: a part of the different blocks accessed, so that it fills
/// however thinly the trace is spread over the disk.
pub const DEFAULT_CACHE: &str = "15%";

/// What the user asked for. Names are checked by [`plan`].
#[derive(Clone, Debug)]
pub struct Options {
    /// Seed of a synthetic trace, for the result.
    pub seed: u64,
    /// Policies.
    pub policies: Vec<String>,
    /// Policy to run along for comparison.
    pub baseline: Option<String>,
    /// Drives.
    pub drives: Vec<String>,
    /// Translations, each over each drive; `none` for the drive by itself.
    pub translations: Vec<String>,
    /// Cache sizes: `5%` of the different blocks accessed, `2%zones`, `2%written`, or a size.
    pub caches: Vec<String>,
    /// SSD the cache is on.
    pub ssd: String,
    /// Settings, `OWNER.NAME` and value.
    pub sets: Vec<(String, String)>,
    /// The requests that count; the trace has been filtered already.
    pub mode: Mode,
    /// When requests come.
    pub pacing: Pacing,
    /// Open loop: speed of the trace in thousandths.
    pub speed_thousandths: u64,
    /// Runs are runs of the store, and not of the papers' executor.
    pub store: Option<StoreOptions>,
    /// Every block by itself, as the prototypes do.
    pub split: bool,
    /// Read the rest of partly written blocks.
    pub fill_partial: bool,
    /// Count the work left at the end in.
    pub drain: bool,
    /// Keep data stamps and check every read.
    pub check: bool,
    /// Points of the course of each run to record.
    pub points: u32,
    /// Rows of a heat map to record, with as many columns as points; 0 for none.
    pub heat_rows: u16,
    /// How drives are timed; `None`: as each prefers.
    pub timing: Option<Timing>,
}

/// What is done if nothing is asked for, but for the policies, of which there are none.
impl Default for Options {
    fn default() -> Options {
        Options {
            seed: 1,
            policies: Vec::new(),
            baseline: None,
            drives: vec!["st8000as0002".into()],
            translations: vec!["none".into()],
            caches: vec![DEFAULT_CACHE.into()],
            ssd: "pcie-ssd".into(),
            sets: Vec::new(),
            mode: Mode::ReadWrite,
            pacing: Pacing::Closed,
            speed_thousandths: 1000,
            store: None,
            split: false,
            fill_partial: true,
            drain: false,
            check: false,
            points: 0,
            heat_rows: 0,
            timing: None,
        }
    }
}

/// Why something cannot be run. Displays as one line.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ExperimentError {
    /// A name, value or combination is wrong.
    #[error("{0}")]
    Usage(String),
    /// The trace does not fit the drive.
    #[error("{0}")]
    Data(String),
    /// A run failed.
    #[error(transparent)]
    Run(#[from] RunError),
}

fn usage(error: impl ToString) -> ExperimentError {
    ExperimentError::Usage(error.to_string())
}

/// One run, ready to start.
pub struct Job {
    entry: Entry,
    params: Params,
    cache_params: Params,
    cache_blocks: u32,
    drive: DriveChoice,
    ssd: DriveChoice,
    rules: Rules,
    course: Course,
    /// How the store is asked, if this is a run of the store.
    store: Option<StoreOptions>,
    check: bool,
    labels: Labels,
    /// Runs along for comparison only.
    pub baseline: bool,
}

/// All policies, or translations, that go with the rest.
const ALL: &str = "all";

/// Checks everything that can be checked without running: names, values, sizes.
///
/// # Errors
/// The first thing that is wrong, in a line, with a way out.
pub fn plan(
    options: &Options,
    registry: &Registry,
    trace: &Trace,
) -> Result<(Vec<Job>, Notes), ExperimentError> {
    let mut notes = Notes::default();
    let policies = chosen(options, registry)?;
    served::check(options)?;
    let cache_params = cache_params(options)?;
    let ssd = ssd_choice(options)?;
    check_owners(options, &policies, registry)?;
    let mut jobs: Vec<Job> = Vec::new();
    let rows = (options.heat_rows > 0 && options.points > 0)
        .then(|| Arc::new(Rows::new(&trace.requests[..], options.heat_rows, options.points)));
    let translations = translations::chosen(options)?;
    let pairs = options.drives.iter().flat_map(|name| translations.iter().map(move |t| (name, *t)));
    for (name, translation) in pairs {
        let all = options.translations.iter().any(|name| name == ALL);
        let mut of_drive = Vec::new();
        let drive = match drive_choice(name, translation, options, trace, &mut of_drive) {
            Err(ExperimentError::Usage(why)) if all => {
                notes.add(left_out(&why), []);
                continue;
            }
            drive => drive?,
        };
        check_capacity(&drive, trace)?;
        of_drive.extend(unused_zones(&drive, &policies, options)?);
        let first = jobs.len();
        for cache in &options.caches {
            let cache_blocks = cache_blocks(cache, &drive, &ssd, trace)?;
            for &(entry, baseline) in &policies {
                let params = policy_params(&entry, options)?;
                let cached = entry.name != NoCache::NAME;
                let slots = if cached { cache_blocks } else { 0 };
                // (A disk without a cache is no store: it runs by itself, for comparison.)
                let store = options.store.clone().filter(|_| cached);
                if store.is_some() {
                    served::check_devices(&drive, &ssd, slots)?;
                }
                let same = |job: &Job| {
                    job.entry.name == entry.name
                        && job.drive.title() == drive.title()
                        && job.cache_blocks == slots
                };
                if jobs.iter().any(same) {
                    continue;
                }
                let job = Job {
                    labels: labels(&entry, &params, &cache_params, &drive, &ssd, options, slots),
                    entry,
                    params,
                    cache_params: cache_params.clone(),
                    cache_blocks: slots,
                    drive: drive.clone(),
                    ssd: ssd.clone(),
                    rules: Rules {
                        pacing: options.pacing,
                        split: options.split,
                        fill_partial: options.fill_partial,
                    },
                    course: Course {
                        pacing: options.pacing,
                        speed_thousandths: options.speed_thousandths,
                        drain: options.drain,
                        points: options.points,
                        rows: rows.clone(),
                    },
                    store,
                    check: options.check,
                    baseline,
                };
                match job.check_makes() {
                    Err(ExperimentError::Usage(why))
                        if baseline || options.policies.iter().any(|name| name == ALL) =>
                    {
                        notes.add(left_out(&why), []);
                    }
                    made => {
                        made?;
                        jobs.push(job);
                    }
                }
            }
        }
        of_drive.into_iter().for_each(|text| notes.add(text, first..jobs.len()));
    }
    if jobs.is_empty() {
        return Err(usage("nothing of what was chosen goes together; choose by name to see why"));
    }
    Ok((jobs, notes))
}

/// Why one of `all`, or the baseline, is not there.
fn left_out(why: &str) -> String {
    format!("left out: {why}")
}

/// Runs `jobs` over `trace` on all threads of the pool in force; results come in the order of jobs.
///
/// # Errors
/// The first run that failed, in the order of jobs.
pub fn run_all(
    jobs: &[Job],
    trace: &Trace,
    progress: &(dyn Fn(u64) + Sync),
) -> Result<Vec<RunResult>, ExperimentError> {
    let results: Vec<Result<RunResult, ExperimentError>> =
        jobs.par_iter().map(|job| job.run(&trace.requests[..], progress)).collect();
    results.into_iter().collect()
}

impl Job {
    /// What the run will be called in its result.
    #[must_use]
    pub fn labels(&self) -> &Labels {
        &self.labels
    }

    /// Slots of the cache.
    #[must_use]
    pub fn cache_blocks(&self) -> u32 {
        self.cache_blocks
    }

    /// A fresh disk.
    ///
    /// # Errors
    /// If it cannot be made.
    pub fn disk(&self) -> Result<Box<dyn Drive>, ExperimentError> {
        make_drive(&self.drive)
    }

    /// A fresh system.
    ///
    /// # Errors
    /// If it cannot be made.
    pub fn system(&self) -> Result<System, ExperimentError> {
        let disk = make_drive(&self.drive)?;
        Ok(System::new(self.cache()?, self.ssd()?, disk, self.rules, self.check))
    }

    fn ssd(&self) -> Result<Box<dyn Drive>, ExperimentError> {
        make_ssd(&self.ssd.name, &self.ssd.settings).map_err(usage)
    }

    fn cache(&self) -> Result<Box<dyn CacheCore>, ExperimentError> {
        self.entry.make(&self.params, &self.setup()).map_err(usage)
    }

    /// Runs over `requests`; `progress` is told how many have been served.
    ///
    /// # Errors
    /// If the system cannot be made, or a checked run reads stale data.
    pub fn run(
        &self,
        requests: &(impl RequestList + ?Sized),
        progress: &(dyn Fn(u64) + Sync),
    ) -> Result<RunResult, ExperimentError> {
        self.run_with(requests, None, progress)
    }

    fn run_with(
        &self,
        requests: &(impl RequestList + ?Sized),
        log: Option<Log>,
        progress: &(dyn Fn(u64) + Sync),
    ) -> Result<RunResult, ExperimentError> {
        let (labels, course) = (&self.labels, &self.course);
        if let Some(serving) = self.serving() {
            let devices = Devices { ssd: self.ssd()?, disk: self.disk()?, log };
            let cache = self.cache()?;
            return Ok(store::run(cache, devices, &serving, requests, labels, course, progress)?);
        }
        let mut system = self.system()?;
        if let Some(log) = log {
            system.watch().log = Some(log);
        }
        Ok(run(system, requests, labels, course, progress)?)
    }

    /// [`Job::run`], and `log` is told of each command that the disk gets.
    ///
    /// # Errors
    /// As there.
    pub fn run_logged(
        &self,
        requests: &(impl RequestList + ?Sized),
        log: Log,
        progress: &(dyn Fn(u64) + Sync),
    ) -> Result<RunResult, ExperimentError> {
        self.run_with(requests, Some(log), progress)
    }

    fn setup(&self) -> Setup<'_> {
        let Description { disk_blocks, bands, exposed, buffer_blocks, costs, .. } =
            &self.drive.description;
        self.as_a_store_knows(Setup {
            cache_blocks: self.cache_blocks,
            disk_blocks: *disk_blocks,
            bands: bands.as_ref(),
            conventional_zones: exposed.map(|zones| zones.conventional_zones),
            sequential_required: exposed.is_some_and(|zones| zones.sequential_required),
            buffer_blocks: *buffer_blocks,
            costs: *costs,
            cache: &self.cache_params,
        })
    }

    /// Fails now, not after the other runs, if the policy does not go with the drive.
    fn check_makes(&self) -> Result<(), ExperimentError> {
        let setup = Setup { cache_blocks: self.cache_blocks.min(1), ..self.setup() };
        let cache = self.entry.make(&self.params, &setup).map_err(usage)?;
        let only_simulated = [
            (cache.wants_future(), "has to know the future"),
            (cache.wants_horizon(), "asks the drive how old its buffer is"),
        ];
        if let (Some(_), Some((_, why))) =
            (&self.store, only_simulated.iter().find(|(wants, _)| *wants))
        {
            return Err(usage(format!("{} {why}, which no store can tell it", self.entry.name)));
        }
        if cache.wants_horizon() && self.drive.translator.is_some() {
            return Err(usage(format!(
                "{} asks the drive how old its buffer is, which no translation tells: drop \
                 {0}.rule4=exact",
                self.entry.name
            )));
        }
        Ok(())
    }
}

// ── Cache ────────────────────────────────────────────────────────────────────────────────────

/// `percent` (a decimal number) of `bytes`.
fn percent_of(percent: &str, bytes: u64) -> Option<u64> {
    let value: f64 = percent.trim().parse().ok()?;
    if !(value > 0.0 && value <= 100.0) {
        return None;
    }
    // Thousandths of a percent, so that no rounding of floats decides a size.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    let thousandths = (value * 1000.0).round() as u64;
    Some((u128::from(bytes) * u128::from(thousandths) / 100_000) as u64)
}

/// Blocks of a cache of the size `text`, as in `-c`, for a trace.
///
/// # Errors
/// If it is no size.
pub fn share(text: &str, summary: &Summary) -> Result<u64, ExperimentError> {
    let wrong = |why: String| usage(format!("-c {text}: {why}"));
    let blocks = match text.split_once('%') {
        Some((percent, of)) => {
            let bytes = match of {
                "" | "footprint" => summary.distinct_blocks * BLOCK_BYTES,
                "zones" => summary.accessed_zone_bytes(),
                "written" => summary.written_zone_bytes(),
                _ => {
                    let known = ["footprint", "zones", "written"].into_iter();
                    let names = nearest(of, known).join(", ");
                    return Err(wrong(format!("percent of what? there are {names}")));
                }
            };
            let share = percent_of(percent, bytes)
                .ok_or_else(|| wrong("give a share above 0% and up to 100%".into()))?;
            share.div_ceil(BLOCK_BYTES)
        }
        None => size::parse_blocks(text)
            .map_err(|error| wrong(format!("{error}, or a share such as 5%")))?,
    };
    Ok(blocks)
}

fn cache_blocks(
    text: &str,
    drive: &DriveChoice,
    ssd: &DriveChoice,
    trace: &Trace,
) -> Result<u32, ExperimentError> {
    let wrong = |why: String| usage(format!("-c {text}: {why}"));
    let blocks = share(text, &trace.summary)?;
    let disk_blocks = drive.description.disk_blocks;
    if blocks == 0 {
        return Err(wrong("the cache is empty; use the policy `none` to run without one".into()));
    }
    if blocks > disk_blocks {
        return Err(wrong(format!(
            "the cache is larger than {} with its {}",
            drive.name,
            size::show_bytes(disk_blocks * BLOCK_BYTES)
        )));
    }
    if blocks > ssd.description.disk_blocks {
        return Err(wrong(format!(
            "the cache is larger than the SSD {} with its {}",
            ssd.name,
            size::show_bytes(ssd.description.disk_blocks * BLOCK_BYTES)
        )));
    }
    u32::try_from(blocks)
        .ok()
        .filter(|&blocks| blocks < u32::MAX)
        .ok_or_else(|| wrong("caches hold less than 16 TiB".into()))
}

fn labels(
    entry: &Entry,
    params: &Params,
    cache: &Params,
    drive: &DriveChoice,
    ssd: &DriveChoice,
    options: &Options,
    cache_blocks: u32,
) -> Labels {
    let mut parameters: BTreeMap<String, String> =
        params.iter().map(|(name, value)| (name.to_owned(), value)).collect();
    parameters.extend(cache.iter().map(|(name, value)| (format!("cache.{name}"), value)));
    parameters.insert("split".into(), if options.split { "4k" } else { "off" }.into());
    if let Some(store) = options.store.as_ref().filter(|_| entry.name != NoCache::NAME) {
        parameters.insert("as".into(), "store".into());
        if options.pacing == Pacing::Closed {
            parameters.insert("depth".into(), store.depth.to_string());
        }
        if let Some(every) = store.flush_every {
            parameters.insert("flush_every_ms".into(), (every.0 / 1_000_000).to_string());
        }
    }
    let partial = if options.fill_partial { "fill" } else { "ignore" };
    parameters.insert("partial".into(), partial.into());
    for (name, value) in &ssd.shown {
        parameters.insert(format!("ssd.{name}"), value.clone());
    }
    Labels {
        seed: options.seed,
        policy: entry.name.into(),
        parameters,
        drive: drive.name.clone(),
        drive_parameters: drive.shown.clone(),
        pb_blocks: Some(drive.description.buffer_blocks).filter(|&blocks| blocks > 0),
        ssd: ssd.name.clone(),
        translation: drive.translator.as_ref().map(|over| over.name().to_owned()),
        translation_parameters: drive.translator.as_ref().map(Translator::parameters),
        cache_blocks: cache_blocks.into(),
        mode: match options.mode {
            Mode::ReadWrite => "rw",
            Mode::Write => "w",
            Mode::Read => "r",
        }
        .into(),
        pacing: options.pacing.name().into(),
        // A host that translates knows the zones, as one to which the drive shows them does.
        knows_bands: entry.zoning(params) == Zoning::Bands
            && drive.description.exposed.is_none()
            && drive.translator.is_none(),
    }
}
