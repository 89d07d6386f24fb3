//! From options to an experiment: what `compare` and `run` do first.

use std::path::Path;

use serde_json::{Map, Value};
use shingle_core::units::{Op, Request};
use shingle_sim::experiment::{self, Job, Options, Trace};
use shingle_sim::result::{Report, RunResult, SCHEMA, TraceInfo};
use shingle_sim::swept::Place;
use shingle_sim::system::Pacing;
use shingle_trace::{Choice, Mode, OpenOptions, Opened, Reorder, Shape, Source, Summary};

use crate::Usage;
use crate::cli::{self, SetupArgs, TraceArgs};
use crate::output::{self, Line, note};
use crate::parquet;
use crate::progress::Progress;
use crate::report::{page, pictures};

/// What is run when no trace is named.
pub(crate) const DEFAULT_TRACE: &str = "synth:mixed";

/// Reads and shapes the trace, and counts what it holds.
pub(crate) fn read_trace(args: &TraceArgs, quiet: bool) -> anyhow::Result<Trace> {
    let (name, requests) = read(args, quiet)?;
    let summary = Summary::of(&requests);
    Ok(Trace { name, requests, summary })
}

/// Reads and shapes the trace: its name and its requests.
pub(crate) fn read(args: &TraceArgs, quiet: bool) -> anyhow::Result<(String, Vec<Request>)> {
    let mut opened = open_trace(args)?;
    let requests = read_requests(&shape(args)?, &opened.name, opened.source.as_mut(), quiet)?;
    Ok((opened.name, requests))
}

/// Opens the trace.
pub(crate) fn open_trace(args: &TraceArgs) -> anyhow::Result<Opened> {
    let spec = args.trace.as_deref().unwrap_or(DEFAULT_TRACE);
    let options = OpenOptions {
        format: args.format.clone(),
        volume: args.volume.as_deref().map_or(Choice::Only, Choice::parse),
        reorder: match &args.reorder {
            Some(text) => Reorder::parse(text)?,
            None => Reorder::default(),
        },
        assume_op: args.assume_op.map(|op| match op {
            cli::AssumedOp::Read => Op::Read,
            cli::AssumedOp::Write => Op::Write,
        }),
        seed: seed(args),
    };
    Ok(shingle_trace::open(spec, &options)?)
}

/// What is done to the trace.
pub(crate) fn shape(args: &TraceArgs) -> anyhow::Result<Shape> {
    Ok(Shape {
        mode: mode(args),
        requests: args.requests,
        remap: args.remap,
        copies: match args.copies {
            Some(0) => return Err(Usage("--copies 0: give at least 1".into()).into()),
            copies => copies.unwrap_or(1),
        },
        offset: args.offset.unwrap_or(0),
    })
}

/// Reads a source called `name`, and says what the user should know of it.
pub(crate) fn read_requests(
    shape: &Shape,
    name: &str,
    source: &mut dyn Source,
    quiet: bool,
) -> anyhow::Result<Vec<Request>> {
    let progress = Progress::new("reading", 0, quiet);
    let requests = shape.read(source, &mut |source| {
        if let Some((done, total)) = source.progress() {
            progress.set(done, total);
        }
    })?;
    drop(progress);
    for warning in source.warnings() {
        note(&format!("{name}: {warning}"), quiet);
    }
    Ok(requests)
}

pub(crate) fn seed(args: &TraceArgs) -> u64 {
    args.seed.unwrap_or(1)
}

pub(crate) fn mode(args: &TraceArgs) -> Mode {
    match args.mode {
        None | Some(cli::Mode::Rw) => Mode::ReadWrite,
        Some(cli::Mode::W) => Mode::Write,
        Some(cli::Mode::R) => Mode::Read,
    }
}

/// The experiment that `args` describe, with defaults in place.
pub(crate) fn options(
    args: &SetupArgs,
    policies: Vec<String>,
    baseline: Option<String>,
    points: u32,
) -> Options {
    let default = Options::default();
    let or = |given: &[String], default: Vec<String>| match given {
        [] => default,
        given => given.to_vec(),
    };
    Options {
        seed: seed(&args.trace),
        policies,
        baseline,
        drives: or(&args.drives, default.drives),
        translations: or(&args.translations, default.translations),
        caches: or(&args.cache, default.caches),
        ssd: args.ssd.clone().unwrap_or(default.ssd),
        sets: args.set.clone(),
        mode: mode(&args.trace),
        pacing: match args.pacing {
            None | Some(cli::Pacing::Closed) => Pacing::Closed,
            Some(cli::Pacing::Trace) => Pacing::Open,
        },
        speed_thousandths: args.speed.unwrap_or(default.speed_thousandths),
        split: args.split == Some(cli::Split::Block),
        fill_partial: args.partial != Some(cli::Partial::Ignore),
        drain: args.drain,
        check: args.check,
        points: if draws(args) { PICTURE_POINTS } else { points },
        heat_rows: if draws(args) { HEAT_ROWS } else { 0 },
        timing: args.drive_timing.map(Into::into),
    }
}

/// Points of the course of each run, when pictures are drawn of it.
const PICTURE_POINTS: u32 = 100;

/// Rows of a heat map.
const HEAT_ROWS: u16 = 64;

/// Whether pictures are drawn, which want the course of each run.
pub(crate) fn draws(args: &SetupArgs) -> bool {
    [&args.html, &args.svg, &args.png].into_iter().any(Option::is_some)
}

/// Runs `jobs` side by side and reports what they come to.
pub(crate) fn run_jobs(
    jobs: &[Job],
    trace: &Trace,
    args: &SetupArgs,
    quiet: bool,
) -> anyhow::Result<Vec<RunResult>> {
    let total = (trace.requests.len() * jobs.len()) as u64;
    let progress = Progress::new("running", total, quiet);
    let add = |done| progress.add(done);
    Ok(pool(args)?.install(|| experiment::run_all(jobs, trace, &add))?)
}

/// The threads that runs are spread over.
pub(crate) fn pool(args: &SetupArgs) -> anyhow::Result<rayon::ThreadPool> {
    if args.threads == Some(0) {
        return Err(Usage("--threads 0: give at least 1".into()).into());
    }
    Ok(rayon::ThreadPoolBuilder::new().num_threads(args.threads.unwrap_or(0)).build()?)
}

/// Writes the page and the pictures that were asked for.
fn draw(report: &Report, args: &SetupArgs) -> anyhow::Result<()> {
    let pictures = pictures(report)?;
    if let Some(path) = &args.html {
        output::text(&page(report, &pictures, &output::making())?, path)?;
    }
    for (folder, png) in [(&args.svg, false), (&args.png, true)] {
        let Some(folder) = folder else { continue };
        for picture in &pictures {
            output::picture(&picture.svg, folder, picture.file, png)?;
        }
    }
    Ok(())
}

/// The results of a comparison or run.
pub(crate) fn report(trace: &Trace, args: &TraceArgs, runs: Vec<RunResult>) -> Report {
    let trace = TraceInfo::new(&trace.name, &trace.requests, &trace.summary);
    Report { schema: SCHEMA, seed: seed(args), trace, runs, sweep: None, targets: Vec::new() }
}

/// Fails now, not after the work is done, if the results cannot be written.
pub(crate) fn check_files(args: &SetupArgs) -> anyhow::Result<()> {
    let files = [args.json.as_deref(), args.csv.as_deref()];
    if files == [Some(Path::new("-")); 2] {
        return Err(Usage("--json - and --csv -: stdout takes one of them".into()).into());
    }
    let whole = [args.parquet.as_deref(), args.html.as_deref()];
    if whole.contains(&Some(Path::new("-"))) {
        return Err(Usage("--parquet and --html take a file, not `-`".into()).into());
    }
    files.into_iter().chain(whole).flatten().try_for_each(output::check_writable)?;
    [&args.svg, &args.png].into_iter().flatten().try_for_each(|folder| output::folder(folder))
}

/// Writes the files that were asked for. Returns whether one of them was stdout, which then has no
/// room for a table.
pub(crate) fn save(report: &Report, args: &SetupArgs) -> anyhow::Result<bool> {
    if let Some(path) = &args.json {
        output::json(report, path)?;
    }
    if let Some(path) = &args.csv {
        output::csv(&lines(report)?, path)?;
    }
    if let Some(path) = &args.parquet {
        output::bytes(&parquet::parquet(&lines(report)?)?, path)?;
    }
    if draws(args) {
        draw(report, args)?;
    }
    Ok([&args.json, &args.csv].into_iter().flatten().any(|path| path == Path::new("-")))
}

/// A line a run. Those of a sweep begin with their place in the grid.
pub(crate) fn lines(report: &Report) -> anyhow::Result<Vec<Line>> {
    let Some(sweep) = &report.sweep else { return output::lines(&report.runs) };
    let place = |place: &Place| {
        let axes = sweep.axes.iter().map(|axis| axis.name.as_str());
        let at = axes.map(|axis| (axis.to_owned(), place.at.get(axis).cloned().into()));
        Map::from_iter(
            at.chain([("trace".into(), sweep.traces[place.trace].info.name.clone().into())]),
        )
    };
    let line = |(at, run)| -> anyhow::Result<Value> {
        let mut line = Map::from_iter([("at".to_owned(), Value::Object(place(at)))]);
        if let Value::Object(run) = serde_json::to_value::<&RunResult>(run)? {
            line.extend(run);
        }
        Ok(Value::Object(line))
    };
    let lines: Vec<Value> =
        sweep.cells.iter().zip(&report.runs).map(line).collect::<anyhow::Result<_>>()?;
    output::lines(&lines)
}
