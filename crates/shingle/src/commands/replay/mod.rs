//! `shingle replay`: a trace through the store itself, on real files or devices.

mod client;
mod emulate;
mod files;
mod stamps;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use anyhow::{Context, bail};
use clap::Args;
use serde_json::Value;
use shingle_core::policy::Memory;
use shingle_core::registry::Registry;
use shingle_core::units::BLOCK_BYTES;
use shingle_core::witness::Shared;
use shingle_device::{Device, Medium};
use shingle_engine::Config;
use shingle_engine::settings::Settings;
use shingle_sim::experiment::{self, DEFAULT_CACHE, Options, Trace};
use shingle_sim::measured::{Course, Meter};
use shingle_sim::result::Report;
use shingle_sim::run::Labels;
use shingle_sim::said::Notes;
use shingle_sim::system::Pacing;
use shingle_store::backend::{Beside, Ready, Tell};
use shingle_store::store::create::{Consent, CreateError, create, destroy, occupant};
use shingle_store::store::drain::drain;
use shingle_store::store::format::read_superblock;
use shingle_trace::Mode;
use shingle_trace::record::{About, Recording};
use uuid::Uuid;

use super::setup::{mode, read_trace, report, seed};
use crate::cli::{self, Arguments, TraceArgs};
use crate::output::{self, Tried, note, print};
use crate::progress::Progress;
use crate::{Usage, table};
use client::{Client, Pace};
use emulate::{Plan, Told};
use stamps::Stamps;

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

pub(crate) fn execute(
    args: &Replay,
    global: &Arguments,
    registry: &Registry,
) -> anyhow::Result<()> {
    if args.depth == 0 {
        bail!(Usage("--depth 0: give at least 1".into()));
    }
    args.json.iter().try_for_each(|path| output::check_writable(path))?;
    let trace = read_trace(&args.trace, global.quiet)?;
    let settings = settings(args)?;
    let plan = args.emulate.as_ref().map(|name| emulated(args, name, &trace)).transpose()?;
    let extent = trace.summary.end_bytes.next_multiple_of(BLOCK_BYTES).max(BLOCK_BYTES);
    let needed = plan.as_ref().map_or(extent, |(plan, _)| plan.end * BLOCK_BYTES);
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
    let run = Run { args, settings, trace: &trace, labels, plan: plan.map(|(plan, _)| plan) };
    let done = run.go(global, registry);
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
) -> anyhow::Result<(Plan, BTreeMap<String, String>)> {
    let sets = args.set.iter().filter(|text| text.starts_with("drive."));
    let sets = sets.filter_map(|text| text.split_once('='));
    let options = Options {
        seed: seed(&args.trace),
        policies: vec!["none".into()],
        drives: vec![name.to_owned()],
        sets: sets.map(|(key, value)| (key.to_owned(), value.to_owned())).collect(),
        ..Options::default()
    };
    let (jobs, _) = experiment::plan(&options, &Registry::default(), trace)?;
    let drive = jobs[0].disk()?;
    let end = trace.summary.end_bytes.div_ceil(BLOCK_BYTES);
    Ok((Plan::new(name, drive, end)?, jobs[0].labels().drive_parameters.clone()))
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
        translation: None,
        ssd: args.cache.display().to_string(),
        mode: match mode(&args.trace) {
            Mode::ReadWrite => "rw",
            Mode::Write => "w",
            Mode::Read => "r",
        },
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

/// A replay whose files are ready.
struct Run<'a> {
    args: &'a Replay,
    settings: Settings,
    trace: &'a Trace,
    labels: Labels,
    plan: Option<Plan>,
}

impl Run<'_> {
    fn go(
        self,
        global: &Arguments,
        registry: &Registry,
    ) -> anyhow::Result<shingle_sim::result::RunResult> {
        let args = self.args;
        let ready = Ready::open(&args.cache, &args.disk)?;
        let slots = ready.superblock().layout.slots;
        let disk_blocks = ready.disk().blocks();
        let told = Told::default();
        let medium = match self.plan {
            Some(plan) => {
                let emulated = plan.on(ready.direct_disk()?, told.clone());
                Some(Box::new(emulated) as Box<dyn Medium>)
            }
            None => None,
        };
        let meter = match &medium {
            Some(_) => Meter::of_model(told.counters.clone()),
            None => Meter::default(),
        };
        let meter = Arc::new(Mutex::new(meter));
        let words = self.settings.to_text()?;
        let about = About { slots: slots as u32, disk_blocks, words };
        let recording = args.record.as_ref().map(|path| {
            let path = path.to_str().context("--record: a name that is no UTF-8")?;
            Ok::<_, anyhow::Error>(Recording::begin(path, &about)?)
        });
        let (recorder, recording) = recording.transpose()?.unzip();
        let cache = self.settings.cache(registry, slots as u32, disk_blocks)?;
        let memory: Memory = cache.memory();
        let config = Config::in_mode(self.settings.mode, slots);
        let witness = Shared::new((meter.clone(), recorder));
        // (Whoever wants no remarks wants to know of these.)
        let tell: Tell = Box::new(|line| note(&line, false));
        let beside = Beside { witness: Some(witness), medium, tell: Some(tell) };
        let store = ready.start_with(cache, config, beside)?;

        let (pacing, pace) = match args.pacing {
            cli::Pacing::Closed => (Pacing::Closed, Pace::Closed(args.depth)),
            cli::Pacing::Trace => (Pacing::Open, Pace::Open(args.speed)),
        };
        let progress = Progress::new("replaying", self.trace.requests.len() as u64, global.quiet);
        let handle = store.handle().clone();
        let mut client = Client::new(&handle, args.verify);
        let took = client.serve(&self.trace.requests, pace, &|done| progress.add(done))?;
        drop(progress);
        let dirty_blocks = handle.status().map_or(0, |status| status.dirty_blocks);
        let buffer = *told.buffer.lock().unwrap_or_else(PoisonError::into_inner);
        let begun = Instant::now();
        if args.drain {
            drain(&handle, &mut |_| Ok(()))?;
        }
        let result = |client: &Client<'_>, drained_seconds: Option<f64>| {
            let seconds = took.as_secs_f64() + drained_seconds.unwrap_or(0.0);
            let course = Course {
                labels: &self.labels,
                cache_blocks: slots,
                memory,
                pacing,
                depth: args.depth as u64,
                times: &client.times,
                seconds,
                dirty_blocks,
                buffered: (buffer.blocks, buffer.bands),
                drained_seconds,
            };
            meter.lock().unwrap_or_else(PoisonError::into_inner).result(&course)
        };
        // The end of the store counts only if all that is left was to be written.
        let mut counted = result(&client, None);
        store.shut_down()?;
        if args.emulate.is_some() && args.disk.metadata().is_ok_and(|found| found.is_file()) {
            // What of the emulated drive lay behind the disk.
            let file = std::fs::OpenOptions::new().write(true).open(&args.disk)?;
            file.set_len(disk_blocks * BLOCK_BYTES)?;
        }
        if let Some(recording) = recording {
            recording.finish()?.iter().for_each(|text| note(text, global.quiet));
        }
        if args.drain {
            counted = result(&client, Some(begun.elapsed().as_secs_f64()));
            look_at_disk(&args.disk, &mut client)?;
        } else if let Some(stamps) = &mut client.stamps {
            read_all(args, &self.settings, registry, stamps)?;
        }
        counted.checked_reads = client.stamps.map(|stamps| stamps.checked);
        Ok(counted)
    }
}

/// Everything that is known must be there after a restart, which nobody counts or records.
fn read_all(
    args: &Replay,
    settings: &Settings,
    registry: &Registry,
    stamps: &mut Stamps,
) -> anyhow::Result<()> {
    let ready = Ready::open(&args.cache, &args.disk)?;
    let slots = ready.superblock().layout.slots;
    let cache = settings.cache(registry, slots as u32, ready.disk().blocks())?;
    let config = Config::in_mode(settings.mode, slots);
    let store = ready.start(cache, config)?;
    let outcome = client::read_all(store.handle(), stamps);
    store.shut_down()?;
    outcome
}

/// Everything that is known must be on the disk.
fn look_at_disk(path: &Path, client: &mut Client<'_>) -> anyhow::Result<()> {
    let Some(stamps) = &mut client.stamps else { return Ok(()) };
    let disk = Device::open(path)?;
    let mut page = [0; BLOCK_BYTES as usize];
    for block in stamps.blocks() {
        disk.read_block(shingle_core::units::Block(block), &mut page)?;
        stamps.check_block(block, &page).with_context(|| path.display().to_string())?;
    }
    Ok(())
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
