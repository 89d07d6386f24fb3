//! `shingle curve`: the effect of larger caches, from a sample of the bands.

use std::path::{Path, PathBuf};

use clap::Args;
use shingle_core::registry::Registry;
use shingle_result::{CURVES_SCHEMA, CurvePoint, CurveSample, Curves, CurvesOfDrive, TraceInfo};
use shingle_sim::experiment::{self, Job, Options, Trace};
use shingle_sim::sample::curve::{SampleInfo, SampleOptions, sample};

use super::setup::{assigned, check_written, pool, setting_without_effect};
use super::traces::{mode, read_trace, seed};
use crate::Usage;
use crate::cli::{self, Global, TraceArgs};
use crate::output::{self, Tried, note};
use crate::progress::Progress;
use crate::report::CurveArgs;
use crate::table;

/// Policies drawn when none are named.
const DEFAULT_POLICIES: [&str; 3] = ["lru", "most", "sac"];

/// Sizes when none are named: parts of the footprint, each twice the one before.
const DEFAULT_SIZES: &str = "1%..64%";

#[derive(Debug, Args)]
pub(crate) struct Curve {
    #[command(flatten)]
    trace: TraceArgs,
    /// Policies. [default: lru,most,sac]
    #[arg(short, long, value_delimiter = ',', value_name = "NAME,…")]
    policies: Vec<String>,
    /// Drives, as in `compare`. [default: st8000as0002]
    #[arg(short, long, value_delimiter = ',', value_name = "NAME,…")]
    drives: Vec<String>,
    /// Cache sizes, as in `compare`, and ranges of them: 1%..64% doubles, 1G..16G/9 is nine in equal factors.
    /// [default: 1%..64%]
    #[arg(short, long, value_delimiter = ',', value_name = "SIZE,…")]
    cache: Vec<String>,
    /// Sampled part of the bands, in percent; 100 runs all. --seed chooses the bands. [default: as
    /// much as is needed; all if the trace has too few bands]
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    sample: Option<u64>,
    /// SSD the cache is on. [default: pcie-ssd]
    #[arg(short, long, value_name = "NAME")]
    ssd: Option<String>,
    /// Set a parameter, as in `compare`: drive.pb=1G, most.zone=bands.
    #[arg(long, value_name = "OWNER.NAME=VALUE", value_parser = cli::assignment)]
    set: Vec<(String, String)>,
    /// Send each block by itself, as in `compare`. [default: off]
    #[arg(long, value_enum)]
    split: Option<cli::Split>,
    /// Blocks that are written only in part, as in `compare`. [default: fill]
    #[arg(long, value_enum)]
    partial: Option<cli::Partial>,
    /// Timing of drives. [default: as each drive prefers]
    #[arg(long, value_enum)]
    drive_timing: Option<cli::DriveTiming>,
    /// Runs in parallel. [default: one a core]
    #[arg(long, value_name = "N", value_parser = cli::whole::<usize>)]
    threads: Option<usize>,
    /// Write the curves as JSON; `-` for stdout, in place of the table.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Write them as CSV, a line for each policy and size; `-` for stdout, in place of the table.
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,
    #[command(flatten)]
    pictures: CurveArgs,
}

pub(crate) fn execute(args: &Curve, global: &Global, registry: &Registry) -> anyhow::Result<()> {
    let files = [args.json.as_deref(), args.csv.as_deref()];
    if files == [Some(Path::new("-")); 2] {
        return Err(Usage("--json - and --csv -: stdout takes one of them".into()).into());
    }
    let written = [("--json", args.json.as_deref()), ("--csv", args.csv.as_deref())];
    check_written(&written, &args.trace, &[])?;
    files.into_iter().flatten().try_for_each(output::check_writable)?;
    args.pictures.check()?;
    let options = options(args)?;
    experiment::check_options(&options, registry)?;
    let threads = pool(args.threads)?;
    let trace = read_trace(&args.trace, global)?;
    let mut curves = Vec::new();
    for drive in &options.drives {
        let options = Options { drives: vec![drive.clone()], ..options.clone() };
        let (jobs, notes) = experiment::plan(&options, registry, &trace)?;
        if curves.is_empty() {
            setting_without_effect(&args.set, &jobs)
                .iter()
                .for_each(|told| note(told, global.quiet));
        }
        notes.0.iter().for_each(|told| note(&told.text, global.quiet));
        let choice = SampleOptions { millionths: args.sample, seed: options.seed };
        curves.push(threads.install(|| of_drive(drive, &jobs, &trace, choice, global))?);
    }
    let all = Curves {
        schema: CURVES_SCHEMA,
        shingle: output::program(),
        seed: options.seed,
        trace: TraceInfo::new(&trace.name, trace.format.as_ref(), &trace.requests, &trace.summary),
        curves,
    };
    deliver(args, &all, global)
}

/// Parses a part of the bands, in millionths.
fn percent(text: &str) -> Result<u64, String> {
    let wrong = || format!("`{text}` is no part of the bands; give percent, above 0 and up to 100");
    let percent: f64 = text.trim_end_matches('%').parse().map_err(|_| wrong())?;
    let millionths = (percent * 10_000.0).round() as u64;
    (percent <= 100.0 && millionths > 0).then_some(millionths).ok_or_else(wrong)
}

fn options(args: &Curve) -> anyhow::Result<Options> {
    let default = Options::default();
    let policies = match &args.policies[..] {
        [] => DEFAULT_POLICIES.map(str::to_owned).to_vec(),
        given => given.to_vec(),
    };
    let sizes = if args.cache.is_empty() { &[DEFAULT_SIZES.to_owned()][..] } else { &args.cache };
    let mut caches = Vec::new();
    for size in sizes {
        caches.extend(shingle_sweep::range(size).map_err(|error| Usage(format!("-c {error}")))?);
    }
    Ok(Options {
        seed: seed(&args.trace),
        policies,
        drives: if args.drives.is_empty() { default.drives.clone() } else { args.drives.clone() },
        caches,
        ssd: args.ssd.clone().unwrap_or_else(|| default.ssd.clone()),
        sets: assigned(&args.set)?,
        mode: mode(&args.trace),
        split: args.split == Some(cli::Split::Block),
        fill_partial: args.partial != Some(cli::Partial::Ignore),
        timing: args.drive_timing.map(Into::into),
        ..default
    })
}

fn of_drive(
    drive: &str,
    jobs: &[Job],
    trace: &Trace,
    choice: SampleOptions,
    global: &Global,
) -> anyhow::Result<CurvesOfDrive> {
    let sampled = sample(trace, jobs, choice)?;
    let total = sampled.requests(trace) * jobs.len() as u64;
    let progress = Progress::new("running", total, global.quiet);
    let mut points = sampled.points(jobs, trace, &|done| progress.add(done))?;
    drop(progress);
    // Points are sorted curve by curve; jobs are size by size.
    let first =
        |point: &CurvePoint| jobs.iter().position(|job| job.labels().policy == point.policy);
    points.sort_by_key(first);
    Ok(CurvesOfDrive { drive: drive.to_owned(), sample: told(&sampled.about, trace), points })
}

fn told(about: &SampleInfo, trace: &Trace) -> CurveSample {
    let percent = |millionths: u64| millionths as f64 / 10_000.0;
    CurveSample {
        in_full: about.is_all(),
        percent: percent(about.millionths),
        wanted_percent: percent(about.wanted_millionths),
        wanted_for: about.wanted_for,
        bands: about.bands,
        alike_bands: about.alike_bands,
        sampled_bands: about.sampled_bands,
        requests: trace.requests.len() as u64,
        sampled_requests: about.sampled_requests,
    }
}

/// Prints the table and writes the files. A failure of one does not prevent the others.
fn deliver(args: &Curve, all: &Curves, global: &Global) -> anyhow::Result<()> {
    let mut tried = Tried::default();
    if ![&args.json, &args.csv].into_iter().flatten().any(|path| path == Path::new("-")) {
        tried.add(output::print(&table::curves(all, global.color)));
    }
    if let Some(path) = &args.json {
        tried.add(output::json(all, path));
    }
    if let Some(path) = &args.csv {
        tried.add(csv(all).and_then(|csv| output::text(&csv, path)));
    }
    args.pictures.deliver(all, &mut tried)?;
    tried.end()
}

/// Formats a line for each point.
fn csv(all: &Curves) -> anyhow::Result<String> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    let mut header: Vec<String> = ["trace", "seed", "drive", "policy", "cache_blocks"]
        .into_iter()
        .chain(["simulated_blocks", "was_full", "few_cleanings", "sample_percent"])
        .map(str::to_owned)
        .collect();
    if let Some(point) = all.curves.iter().flat_map(|curve| &curve.points).next() {
        for (name, _) in point.estimates() {
            header.extend([name.to_owned(), format!("{name}_error")]);
        }
    }
    writer.write_record(&header)?;
    for curve in &all.curves {
        for point in &curve.points {
            let mut line = vec![
                all.trace.name.clone(),
                all.seed.to_string(),
                curve.drive.clone(),
                point.policy.clone(),
                point.cache_blocks.to_string(),
                point.simulated_blocks.to_string(),
                point.was_full.to_string(),
                point.few_cleanings.to_string(),
                curve.sample.percent.to_string(),
            ];
            for (_, figure) in point.estimates() {
                line.extend([figure.value.to_string(), figure.error.to_string()]);
            }
            writer.write_record(&line)?;
        }
    }
    Ok(String::from_utf8(writer.into_inner()?)?)
}
