//! `shingle replay`: a trace through the store itself, on real files or devices.

mod files;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow, bail};
use clap::Args;
use serde_json::Value;
use shingle_core::registry::Registry;
use shingle_core::units::BLOCK_BYTES;
use shingle_device::Device;
use shingle_engine::settings::Settings;
use shingle_live::{Emulation, ReplayError};
use shingle_result::{Labels, Notes, Pacing, Report, RunResult};
use shingle_sim::experiment::{self, Assignment, DEFAULT_CACHE, Options, Trace};
use shingle_store::backend::Tell;
use shingle_store::store::create::{Consent, CreateError, create, destroy, occupant};
use shingle_store::store::format::read_superblock;
use shingle_trace::Mode;
use uuid::Uuid;

use super::setup::{mode, read_trace, report, seed};
use crate::cli::{self, Global, TraceArgs};
use crate::output::{self, Tried, note, print};
use crate::progress::Progress;
use crate::{Usage, table};

#[derive(Debug, Args)]
pub(crate) struct Replay {
    #[command(flatten)]
    trace: TraceArgs,
    /// The SSD: a file or block device. A file that is not there is made.
    #[arg(long, value_name = "FILE|DEV")]
    cache: PathBuf,
    /// The disk, which is written: a file or block device. A file that is not there is made.
    #[arg(long, value_name = "FILE|DEV")]
    disk: PathBuf,
    /// Policy.
    #[arg(short, long, value_name = "NAME", default_value = "sac")]
    policy: String,
    /// Size of the cache, as in `run`, for an SSD that is made: at least 16 MiB of SSD.
    /// [default: 15%]
    #[arg(short, long, value_name = "SIZE")]
    cache_size: Option<String>,
    /// Set a parameter, as in sac.zone=40M or cache.batch=64, the mode of the cache, as in
    /// mode=write-through, or a parameter of the emulated drive, as in drive.pb=1G.
    #[arg(long, value_name = "NAME=VALUE")]
    set: Vec<String>,
    /// When requests come: so many at a time, or at their timestamps.
    #[arg(long, value_enum, default_value_t = cli::Pacing::Closed)]
    pacing: cli::Pacing,
    /// With --pacing trace: how many times faster than the trace.
    #[arg(long, value_name = "FACTOR", value_parser = cli::factor, default_value = "1")]
    speed: u64,
    /// Requests under way at a time, in closed loop.
    #[arg(long, value_name = "N", default_value_t = 1)]
    depth: usize,
    /// Emulate a shingled drive on the disk: what its model does is done there as real I/O.
    #[arg(long, value_name = "DRIVE")]
    emulate: Option<String>,
    /// Check the data of every read, and at the end all that was written.
    #[arg(long)]
    verify: bool,
    /// Destage everything at the end (and empty the buffer of an emulated drive), and count that in.
    #[arg(long)]
    drain: bool,
    /// Write over a disk that is not empty, and an SSD with a file system.
    #[arg(long)]
    overwrite: bool,
    /// Destroy the cache of this name, that is on the SSD or that the disk belongs to, with all dirty data
    /// that it may hold. May be repeated.
    #[arg(long, value_name = "UUID")]
    destroy: Vec<Uuid>,
    /// Record the replay, as `store serve --record` does.
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
    /// Write the results as JSON; `-` for stdout, in place of the table.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

pub(crate) fn execute(args: &Replay, global: &Global, registry: &Registry) -> anyhow::Result<()> {
    if args.depth == 0 {
        bail!(Usage("--depth 0: give at least 1".into()));
    }
    args.json.iter().try_for_each(|path| output::check_writable(path))?;
    let trace = read_trace(&args.trace, global.quiet)?;
    let settings = settings(args)?;
    let plan = args.emulate.as_ref().map(|name| emulated(args, name, &trace)).transpose()?;
    let extent = trace.summary.end_bytes.next_multiple_of(BLOCK_BYTES).max(BLOCK_BYTES);
    let needed = plan.as_ref().map_or(extent, |(plan, _)| plan.disk_blocks() * BLOCK_BYTES);
    let labels = labels(args, &settings, registry, plan.as_ref().map(|(_, shown)| shown))?;
    let slots = |text: &str| experiment::share(text, &trace.summary);
    let wanted = args.cache_size.as_deref().map(slots).transpose()?;
    let default = if wanted.is_none() { slots(DEFAULT_CACHE)? } else { 0 };

    // Whatever is wrong is found before anything is changed.
    settings.cache(registry, 1000, needed / BLOCK_BYTES).map_err(|e| Usage(e.to_string()))?;
    let disk = files::disk(&args.disk, needed, args.overwrite)?;
    let ssd = files::ssd(&args.cache, wanted, default)?;
    if ssd.is_there() {
        is_free(args)?;
    }
    disk.make()?;
    ssd.make()?;
    make(args, &settings, registry)?;
    let emulation = plan.map(|(plan, _)| plan);
    let done = replayed(args, global, registry, &settings, &trace, &labels, emulation);
    // Its data is of no use to anybody.
    let (ssd, disk) = Device::pair(&args.cache, &args.disk)?;
    destroy(&ssd, &disk, Uuid::from_bytes(read_superblock(&ssd)?.0.uuid))?;
    let result = done?;
    let report = report(&trace, &args.trace, vec![result], Notes::default());
    let mut tried = Tried::default();
    if args.json.as_deref() != Some(Path::new("-")) {
        tried.add(print(&table::run(&report, global.color)));
    }
    if let Some(path) = &args.json {
        tried.add(output::json(&without_the_unmeasured(&report, args)?, path));
    }
    tried.end()
}

/// What the store is told; parameters of drives are not its affair.
fn settings(args: &Replay) -> anyhow::Result<Settings> {
    let mut settings = Settings::new(&args.policy);
    let mut own = args.set.iter().filter(|text| !text.starts_with("drive."));
    own.try_for_each(|text| settings.set(text)).map_err(|error| Usage(error.to_string()))?;
    Ok(settings)
}

/// The drive that is emulated, and what was set on it.
fn emulated(
    args: &Replay,
    name: &str,
    trace: &Trace,
) -> anyhow::Result<(Emulation, BTreeMap<String, String>)> {
    let sets = args.set.iter().filter(|text| text.starts_with("drive."));
    let sets = sets.map(|text| Assignment::parse(text).map_err(Usage));
    let options = Options {
        seed: seed(&args.trace),
        policies: vec!["none".into()],
        drives: vec![name.to_owned()],
        sets: sets.collect::<Result<_, _>>()?,
        ..Options::default()
    };
    let (jobs, _) = experiment::plan(&options, &Registry::default(), trace)?;
    let drive = jobs[0].disk()?.into_drive();
    let end = trace.summary.end_bytes.div_ceil(BLOCK_BYTES);
    let emulation = Emulation::new(drive, end);
    let emulation = emulation.map_err(|error| Usage(format!("--emulate {name}: {error}")))?;
    Ok((emulation, jobs[0].labels().drive_parameters.clone()))
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
        cache_blocks: 0, // until the cache is there
        mode: match mode(&args.trace) {
            Mode::ReadWrite => "rw",
            Mode::Write => "w",
            Mode::Read => "r",
        }
        .into(),
        pacing: match args.pacing {
            cli::Pacing::Closed => Pacing::Closed,
            cli::Pacing::Trace => Pacing::Open,
        }
        .name()
        .into(),
        knows_bands: false,
    })
}

/// No cache is in the way, unless it may be destroyed.
fn is_free(args: &Replay) -> anyhow::Result<()> {
    match occupant(&Device::open(&args.cache)?)? {
        Some(found) if !args.destroy.contains(&found.uuid) => {
            bail!(CreateError::Occupied { path: args.cache.clone(), found })
        }
        _ => {}
    }
    Ok(())
}

/// Makes the cache.
fn make(args: &Replay, settings: &Settings, registry: &Registry) -> anyhow::Result<()> {
    let (ssd, disk) = Device::pair(&args.cache, &args.disk)?;
    let consent = Consent { destroy: &args.destroy, overwrite: args.overwrite };
    create(&ssd, &disk, settings, registry, consent)?;
    Ok(())
}

/// Runs it. All files are ready.
fn replayed(
    args: &Replay,
    global: &Global,
    registry: &Registry,
    settings: &Settings,
    trace: &Trace,
    labels: &Labels,
    emulation: Option<Emulation>,
) -> anyhow::Result<RunResult> {
    let utf8 = |path: &'_ Path| {
        path.to_str().context("--record: a name that is no UTF-8").map(str::to_owned)
    };
    let record = args.record.as_deref().map(utf8).transpose()?;
    // (Whoever wants no remarks wants to know of these.)
    let tell: Tell = Box::new(|line| note(&line, false));
    let replay = shingle_live::Replay {
        ssd: &args.cache,
        disk: &args.disk,
        settings,
        registry,
        labels,
        emulation,
        depth: args.depth,
        speed_thousandths: match args.pacing {
            cli::Pacing::Closed => None,
            cli::Pacing::Trace => Some(args.speed),
        },
        verify: args.verify,
        drain: args.drain,
        record: record.as_deref(),
        tell: Some(tell),
    };
    let progress = Progress::new("replaying", trace.requests.len() as u64, global.quiet);
    let done = replay.run(&trace.requests, &|done| progress.add(done));
    drop(progress);
    let done = done.map_err(|error| match error {
        // (Which tells a wrong option from a failure.)
        ReplayError::Recording(error) => anyhow!(error),
        other => anyhow!(other),
    })?;
    done.notes.iter().for_each(|text| note(text, global.quiet));
    Ok(done.result)
}

/// What only a model knows, or nobody: by its place in a run.
const UNMEASURED: &[&str] = &[
    "drive_io.rmw",
    "drive_io.rmw_free",
    "drive_io.rmw_read_bytes",
    "drive_io.band_bytes_written",
    "drive_io.truncated",
    "drive_io.native_bytes_written",
    "drive_io.log_bytes_written",
    "drive_io.synthesized_blocks",
    "drive_io.beyond_pointer_blocks",
    "drive_io.zone_resets",
    "drive_io.zone_closes",
    "pb.read_blocks",
    "pb.written_blocks",
    "pb.native_read_blocks",
    "pb.write_hits",
    "pb.evicted_blocks",
    "pb.moved_blocks",
    "wa_band",
    "wa_drive",
    "wa_host",
    "seconds.by_cause.log",
    "seconds.by_cause.clean",
    "seconds.by_cause.idle_clean",
];

/// Likewise, of the SSD.
const UNMEASURED_SSD: &[&str] = &["ssd.programmed_blocks", "ssd.copied_blocks", "ssd.erases"];

/// The report, with null where nothing was measured.
fn without_the_unmeasured(report: &Report, args: &Replay) -> anyhow::Result<Value> {
    let mut value = serde_json::to_value(report)?;
    let mut forget = |path: String| {
        if let Some(place) = value.pointer_mut(&format!("/runs/0/{}", path.replace('.', "/"))) {
            *place = Value::Null;
        }
    };
    let of_disk = if args.emulate.is_some() { &[][..] } else { UNMEASURED };
    for part in ["all", "warm"] {
        let names = of_disk.iter().chain(UNMEASURED_SSD);
        names.for_each(|name| forget(format!("{part}.{name}")));
    }
    // What is in a real disk's buffer nobody can tell, and what work takes only who has done it.
    if args.emulate.is_none() {
        let undone = ["left", "drained"].into_iter();
        undone.for_each(|of| {
            ["buffer_blocks", "buffer_bands"]
                .iter()
                .for_each(|name| forget(format!("{of}.{name}")));
        });
    }
    let undone = if args.drain { "drained" } else { "left" };
    let untold = ["by_cause", "rmw", "rmw_free", "read_blocks", "written_blocks"];
    let seconds = (!args.drain).then_some("seconds");
    untold.into_iter().chain(seconds).for_each(|name| forget(format!("{undone}.{name}")));
    Ok(value)
}
