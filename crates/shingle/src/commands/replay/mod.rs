//! `shingle replay`: runs a trace through the store, on real files or devices, and optionally the
//! prediction of a simulation.

mod beside;
mod files;
mod page;
mod predict;
mod unmeasured;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow, bail};
use clap::Args;
use shingle_core::policy::Zoning;
use shingle_core::registry::Registry;
use shingle_core::units::BLOCK_BYTES;
use shingle_device::Device;
use shingle_engine::BAND_BLOCKS_MAX;
use shingle_engine::settings::Settings;
use shingle_live::{Emulation, ReplayError};
use shingle_result::{Labels, Notes, Pacing, Report, RunResult, TraceInfo};
use shingle_sim::experiment::{self, Assignment, DEFAULT_CACHE, Job, Options, Trace};
use shingle_store::backend::{Tell, open_pair};
use shingle_store::store::create::{Consent, CreateError, create, destroy, occupant};
use shingle_store::store::format::read_superblock;
use uuid::Uuid;

use self::files::{Made, Wanted};
use super::setup::{check_pacing, report};
use super::traces::{mode, read_trace, seed};
use crate::cli::{self, Global, TraceArgs};
use crate::output::{self, Tried, note, print};
use crate::progress::Progress;
use crate::{Usage, table};

#[derive(Debug, Args)]
pub(crate) struct Replay {
    #[command(flatten)]
    trace: TraceArgs,
    /// The SSD: a file or block device. A missing file is created.
    #[arg(long, value_name = "FILE|DEV")]
    cache: PathBuf,
    /// The disk, which is written: a file or block device, or a zoned disk that is formatted. A missing
    /// file is created.
    #[arg(long, value_name = "FILE|DEV")]
    disk: PathBuf,
    /// Policies, one after the other, each with a cache of its own.
    #[arg(short, long, value_delimiter = ',', value_name = "NAME,…", default_value = "sac")]
    policies: Vec<String>,
    /// Size of the cache, as in `run`, for an SSD that is made: at least 16 MiB of SSD.
    /// [default: 15%]
    #[arg(short, long, value_name = "SIZE")]
    cache_size: Option<String>,
    /// Set a parameter, as in sac.zone=40M or cache.batch=64, the mode of the cache, as in
    /// mode=write-through, or a parameter of the drive of --emulate or --predict, as in drive.pb=1G. Without these
    /// drive.NAME=VALUE is what the store plans with, as in `store create`.
    #[arg(long, value_name = "NAME=VALUE")]
    set: Vec<String>,
    /// When requests arrive: a number at a time, or at their timestamps.
    #[arg(long, value_enum, default_value_t = cli::Pacing::Closed)]
    pacing: cli::Pacing,
    /// With --pacing trace: how many times faster than the trace. [default: 1]
    #[arg(long, value_name = "FACTOR", value_parser = cli::factor)]
    speed: Option<u64>,
    /// With --pacing closed: requests in flight at a time. [default: 1]
    #[arg(long, value_name = "N", value_parser = cli::whole::<usize>)]
    depth: Option<usize>,
    /// Emulate a shingled drive on the disk: the internal I/O of its model is done there as real
    /// I/O.
    #[arg(long, value_name = "DRIVE")]
    emulate: Option<String>,
    /// Check the data of every read, and at the end all that was written.
    #[arg(long)]
    verify: bool,
    /// Destage everything at the end (and empty the buffer of an emulated drive), and include that
    /// in the results.
    #[arg(long)]
    drain: bool,
    /// Write over a disk that is not empty, and an SSD with a file system.
    #[arg(long)]
    overwrite: bool,
    /// Destroy the cache with this UUID, which is on the SSD or to which the disk belongs, and its dirty
    /// data. May be repeated.
    #[arg(long, value_name = "UUID")]
    destroy: Vec<Uuid>,
    /// Record the replay, as `store serve --record` does.
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
    /// Also run it in virtual time, as `run --as store` does, over a model of this drive, and show
    /// both.
    #[arg(long, value_name = "DRIVE")]
    predict: Option<String>,
    /// With --predict: the model of the SSD. [default: pcie-ssd]
    #[arg(long, value_name = "NAME", requires = "predict")]
    ssd: Option<String>,
    /// Write the results as JSON; `-` for stdout, in place of the table.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Write a page: the results, and for each policy a chart of the dirty blocks in the cache over time.
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
}

/// Points of the time series of each run; more if they are drawn.
const POINTS: u32 = 20;
const PICTURE_POINTS: u32 = 200;

impl Replay {
    fn depth(&self) -> usize {
        self.depth.unwrap_or(1)
    }

    /// Returns the speed in thousandths.
    fn speed(&self) -> u64 {
        self.speed.unwrap_or(1_000)
    }

    fn points(&self) -> u32 {
        if self.html.is_some() { PICTURE_POINTS } else { POINTS }
    }
}

pub(crate) fn execute(args: &Replay, global: &Global, registry: &Registry) -> anyhow::Result<()> {
    check(args)?;
    check_names(args, registry)?;
    let trace = read_trace(&args.trace, global)?;
    let slots = |text: &str| experiment::share(text, &trace.summary);
    let wanted = args.cache_size.as_deref().map(slots).transpose()?;
    let default = if wanted.is_none() { slots(DEFAULT_CACHE)? } else { 0 };

    // All checks come before any change.
    let known = known(args, &trace)?;
    let real: Vec<Real> = args
        .policies
        .iter()
        .map(|policy| Real::new(args, policy, &known, registry, &trace))
        .collect::<Result<_, _>>()?;
    let needed = real.iter().map(|real| real.disk_bytes).max().unwrap_or(0);
    let disk = files::disk(&args.disk, needed, args.overwrite)?;
    check_models(args, &disk)?;
    let ssd = files::ssd(&args.cache, wanted, default)?;
    if ssd.is_there() {
        is_free(args)?;
    }
    let modes = real.iter().map(|real| real.settings.mode);
    let foretold = predict::jobs(args, registry, &trace, ssd.slots(), modes)?;
    let mut made = [disk.make()?, ssd.make()?];
    let mut runs = Vec::new();
    for (nth, real) in real.into_iter().enumerate() {
        // Leftovers of the previous run may be overwritten.
        let settings = real.create(args, registry, args.overwrite || nth > 0)?;
        made.iter_mut().flatten().for_each(Made::keep);
        runs.push(real.run(&settings, args, global, registry, &trace)?);
    }
    let predicted = predict::run(&foretold, &trace, global.quiet)?;
    deliver(args, global, &trace, runs, predicted)
}

/// Checks the options by themselves.
fn check(args: &Replay) -> anyhow::Result<()> {
    if args.depth == Some(0) {
        bail!(Usage("--depth 0: give at least 1".into()));
    }
    check_pacing(Some(args.pacing), args.speed, args.depth)?;
    if args.policies.len() > 1 && args.record.is_some() {
        bail!(Usage("--record: a recording has one policy; give one with -p".into()));
    }
    let sets_policy = |text: &&String| text.starts_with("policy=");
    if let Some(text) = args.set.iter().find(sets_policy).filter(|_| args.policies.len() > 1) {
        bail!(Usage(format!("--set {text}: the policies are given with -p; leave this out")));
    }
    if args.html.as_deref() == Some(Path::new("-")) {
        bail!(Usage("--html takes a file, not `-`".into()));
    }
    let used = [args.cache.as_path(), args.disk.as_path()];
    let mut written = args.json.iter().chain(&args.html).chain(&args.record);
    written.try_for_each(|path| output::check_apart(path, &used))?;
    args.json.iter().chain(&args.html).try_for_each(|path| output::check_writable(path))
}

/// Checks names and values before the trace is read, which may take long.
fn check_names(args: &Replay, registry: &Registry) -> anyhow::Result<()> {
    for policy in &args.policies {
        settings(args, policy, &Known::new())?
            .params(registry)
            .map_err(|error| Usage(error.to_string()))?;
    }
    args.cache_size.as_deref().map_or(Ok(()), experiment::check_size)?;
    for name in args.emulate.iter().chain(&args.predict) {
        experiment::check_options(&drive_alone(args, name)?, &Registry::default())?;
    }
    let foretold =
        args.predict.as_deref().map(|drive| predict::options(args, drive, DEFAULT_CACHE));
    foretold
        .transpose()?
        .map_or(Ok(()), |options| experiment::check_options(&options, registry))?;
    Ok(())
}

/// Prints and writes the results.
fn deliver(
    args: &Replay,
    global: &Global,
    trace: &Trace,
    mut runs: Vec<RunResult>,
    predicted: Vec<RunResult>,
) -> anyhow::Result<()> {
    let mut tried = Tried::default();
    let real = runs.len();
    runs.extend(predicted);
    let format = trace.format.as_ref();
    let info = TraceInfo::new(&trace.name, format, &trace.requests, &trace.summary);
    let mut report = report(output::program(), info, &args.trace, runs, Notes::default());
    let several = report.runs.len() > 1;
    if several {
        // Verdicts are about runs over one model.
        report.said.clear();
    }
    let rows = beside::rows(&report.runs, real);
    if args.json.as_deref() != Some(Path::new("-")) {
        if real == 1 {
            let measured = Report { runs: report.runs[..1].to_vec(), ..report.clone() };
            tried.add(print(&table::run(&measured, global.color)));
        }
        if several {
            let heading = if real > 1 { table::heading(&report) } else { String::new() };
            tried.add(print(&(heading + &beside::table(&rows, global.color))));
        }
    }
    if let Some(path) = &args.json {
        tried.add(output::json(&unmeasured::left_out(&report, args.drain)?, path));
    }
    if let Some(path) = &args.html {
        tried.add(page::page(&report, &rows).and_then(|page| output::text(&page, path)));
    }
    tried.end()
}

/// A replay with one policy, checked.
struct Real {
    /// What is asked of the cache; the disk may add to that.
    settings: Settings,
    emulation: Option<Emulation>,
    /// Parameters of the emulated drive.
    shown: Option<BTreeMap<String, String>>,
    /// Required size of the disk.
    disk_bytes: u64,
}

impl Real {
    fn new(
        args: &Replay,
        policy: &str,
        known: &Known,
        registry: &Registry,
        trace: &Trace,
    ) -> anyhow::Result<Real> {
        let settings = settings(args, policy, known)?;
        let emulated = args.emulate.as_ref().map(|name| emulated(args, name, trace)).transpose()?;
        let extent = trace.summary.end_bytes.next_multiple_of(BLOCK_BYTES).max(BLOCK_BYTES);
        let disk_bytes = emulated.as_ref().map_or(extent, |(it, _)| it.disk_blocks() * BLOCK_BYTES);
        let made = settings.cache(registry, 1000, disk_bytes / BLOCK_BYTES);
        made.map_err(|error| Usage(error.to_string()))?;
        let (emulation, shown) = emulated.unzip();
        Ok(Real { settings, emulation, shown, disk_bytes })
    }

    /// Creates the cache. Returns its settings.
    fn create(
        &self,
        args: &Replay,
        registry: &Registry,
        overwrite: bool,
    ) -> anyhow::Result<Settings> {
        let (ssd, disk) = open_pair(&args.cache, &args.disk)?;
        let consent = Consent { destroy: &args.destroy, overwrite };
        let made = create(&ssd, &*disk, &self.settings, registry, consent);
        let made = made.map_err(|error| match error {
            CreateError::Settings(_) => anyhow!(Usage(error.to_string())),
            _ => anyhow!(error),
        })?;
        disk.close()?;
        Ok(Settings::from_text(&made.settings)?)
    }

    /// Runs the trace through the cache and destroys it.
    fn run(
        self,
        settings: &Settings,
        args: &Replay,
        global: &Global,
        registry: &Registry,
        trace: &Trace,
    ) -> anyhow::Result<RunResult> {
        let labels = labels(args, settings, registry, self.shown.as_ref())?;
        let done = replayed(args, global, registry, trace, &labels, self.emulation);
        // Its data is no longer needed.
        let (ssd, disk) = open_pair(&args.cache, &args.disk)?;
        destroy(&ssd, &*disk, Uuid::from_bytes(read_superblock(&ssd)?.0.uuid))?;
        disk.close()?;
        done
    }
}

/// Returns the settings of the store: what it plans with for the drive, without parameters of a
/// drive model or of other policies.
fn settings(args: &Replay, policy: &str, known: &Known) -> anyhow::Result<Settings> {
    let mut settings = Settings::new(policy);
    for (name, value) in known {
        let told = settings.set(&format!("drive.{name}={value}"));
        told.map_err(|error| Usage(format!("{name} of the drive: {error}")))?;
    }
    let modelled = args.emulate.is_some() || args.predict.is_some();
    for text in &args.set {
        let owner = text.split_once('.').map(|(owner, _)| owner);
        let others =
            |owner: &str| owner != policy && args.policies.iter().any(|name| name == owner);
        if owner.is_some_and(|owner| modelled && owner == "drive" || others(owner)) {
            continue;
        }
        settings.set(text).map_err(|error| Usage(error.to_string()))?;
    }
    Ok(settings)
}

/// Most bytes of the description of bands in the settings.
const BANDS_BYTES_MAX: usize = 3_000;

/// Known values of a drive, as `drive.NAME` and value.
type Known = Vec<(&'static str, String)>;

/// Returns what the store plans with, from the model of the emulated or predicted drive.
fn known(args: &Replay, trace: &Trace) -> anyhow::Result<Known> {
    let Some(name) = args.emulate.as_ref().or(args.predict.as_ref()) else {
        return Ok(Vec::new());
    };
    let disk = job_over(args, name, trace)?.disk()?;
    let description = disk.drive().description();
    let plan = description.plan();
    let mut known: Known = plan.known().map(|(name, value)| (name, value.to_string())).collect();
    // As in the simulation: exposed zones are not bands that can be written whole.
    if let Some(bands) = description.bands.as_ref().filter(|_| description.exposed.is_none()) {
        let runs = bands.pairs();
        if runs.iter().all(|&(blocks, _)| blocks <= BAND_BLOCKS_MAX) {
            let runs = runs.iter().map(|(blocks, count)| format!("{blocks}bx{count}"));
            let text = runs.collect::<Vec<_>>().join(",");
            // Settings have to fit into a page, which the bands do not if each was drawn by itself.
            if text.len() <= BANDS_BYTES_MAX {
                let pass = description.in_order.band_pass;
                known.push(("bands", text));
                known.extend(pass.map(|pass| ("band_pass_us", pass.0.div_ceil(1_000).to_string())));
            }
        }
    }
    Ok(known)
}

/// Returns the emulated drive with its settings.
fn emulated(
    args: &Replay,
    name: &str,
    trace: &Trace,
) -> anyhow::Result<(Emulation, BTreeMap<String, String>)> {
    let job = job_over(args, name, trace)?;
    let drive = job.disk()?.into_drive();
    let end = trace.summary.end_bytes.div_ceil(BLOCK_BYTES);
    let emulation = Emulation::new(drive, end);
    let emulation = emulation.map_err(|error| Usage(format!("--emulate {name}: {error}")))?;
    Ok((emulation, job.labels().drive_parameters.clone()))
}

/// Returns a run over a drive with its settings.
fn job_over(args: &Replay, name: &str, trace: &Trace) -> anyhow::Result<Job> {
    let (mut jobs, _) = experiment::plan(&drive_alone(args, name)?, &Registry::default(), trace)?;
    Ok(jobs.remove(0))
}

fn drive_alone(args: &Replay, name: &str) -> anyhow::Result<Options> {
    let sets = args.set.iter().filter(|text| text.starts_with("drive."));
    let sets = sets.map(|text| Assignment::parse(text).map_err(Usage));
    Ok(Options {
        seed: seed(&args.trace),
        policies: vec!["none".into()],
        drives: vec![name.to_owned()],
        sets: sets.collect::<Result<_, _>>()?,
        ..Options::default()
    })
}

fn labels(
    args: &Replay,
    settings: &Settings,
    registry: &Registry,
    shown: Option<&BTreeMap<String, String>>,
) -> anyhow::Result<Labels> {
    let (own, cache) = settings.params(registry).map_err(|error| Usage(error.to_string()))?;
    let mut parameters: BTreeMap<String, String> =
        own.iter().map(|(name, value)| (name.to_owned(), value)).collect();
    parameters.extend(cache.iter().map(|(name, value)| (format!("cache.{name}"), value)));
    parameters.insert("mode".into(), settings.mode.name().to_owned());
    Ok(Labels {
        seed: seed(&args.trace),
        policy: settings.policy.clone(),
        parameters,
        drive: args.emulate.clone().unwrap_or_else(|| args.disk.display().to_string()),
        drive_parameters: shown.cloned().unwrap_or_default(),
        pb_blocks: None,
        ssd: args.cache.display().to_string(),
        translation: None,
        translation_parameters: None,
        cache_blocks: 0, // until the cache exists
        mode: mode(&args.trace).name().into(),
        pacing: Pacing::from(args.pacing).name().into(),
        knows_bands: registry
            .get(&settings.policy)
            .is_ok_and(|entry| entry.zoning(&own) == Zoning::Bands),
    })
}

/// Checks that models are of the disk that is there: none is of what a translation writes.
fn check_models(args: &Replay, disk: &Wanted<'_>) -> anyhow::Result<()> {
    let emulate = args.emulate.as_ref().map(|name| format!("--emulate {name}"));
    let predict = args.predict.as_ref().map(|name| format!("--predict {name}"));
    match emulate.or(predict) {
        Some(option) if disk.is_translated() => bail!(Usage(format!(
            "{option}: {} is a zoned disk under a translation, and that is the model of another disk; leave it out (`shingle \
             run TRACE --as store -t …` simulates translations)",
            args.disk.display()
        ))),
        _ => Ok(()),
    }
}

/// Checks that no cache is in the way, unless it may be destroyed.
fn is_free(args: &Replay) -> anyhow::Result<()> {
    match occupant(&Device::open(&args.cache)?)? {
        Some(found) if !args.destroy.contains(&found.uuid) => {
            bail!(CreateError::Occupied { path: args.cache.clone(), found })
        }
        _ => {}
    }
    Ok(())
}

/// Runs the replay. All files are ready.
fn replayed(
    args: &Replay,
    global: &Global,
    registry: &Registry,
    trace: &Trace,
    labels: &Labels,
    emulation: Option<Emulation>,
) -> anyhow::Result<RunResult> {
    let utf8 = |path: &'_ Path| {
        path.to_str().context("--record: the name is not UTF-8; give another").map(str::to_owned)
    };
    let record = args.record.as_deref().map(utf8).transpose()?;
    // Shown with --quiet, too.
    let tell: Tell = Box::new(|failed| note(&failed.to_string(), false));
    let replay = shingle_live::Replay {
        ssd: &args.cache,
        disk: &args.disk,
        registry,
        labels,
        emulation,
        depth: args.depth(),
        speed_thousandths: match args.pacing {
            cli::Pacing::Closed => None,
            cli::Pacing::Trace => Some(args.speed()),
        },
        verify: args.verify,
        drain: args.drain,
        record: record.as_deref(),
        parts: args.points(),
        tell: Some(tell),
    };
    let progress = Progress::new("replaying", trace.requests.len() as u64, global.quiet);
    let done = replay.run(&trace.requests, &|done| progress.add(done));
    drop(progress);
    let done = done.map_err(|error| match error {
        // The cause distinguishes a wrong option from a failure.
        ReplayError::Recording(error) => anyhow!(error),
        other => anyhow!(other),
    })?;
    done.notes.iter().for_each(|text| note(text, global.quiet));
    Ok(done.result)
}
