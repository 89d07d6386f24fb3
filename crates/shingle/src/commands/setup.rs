//! From options to an experiment: what `compare` and `run` do first.

use std::borrow::Cow;
use std::path::Path;

use shingle_core::registry::Registry;
use shingle_core::size::show_bytes;
use shingle_core::units::{Nanos, Op, Request};
use shingle_result::{
    Notes, Pacing, Program, Report, RunResult, SCHEMA, Said, SaidKind, TraceInfo, verdict,
};
use shingle_sim::experiment::{self, Assignment, Assignments, Job, Options, StoreOptions, Trace};
use shingle_sim::requests::{RequestList, Requests, Streamed};
use shingle_trace::native;
use shingle_trace::{
    Choice, Evidence, Mode, OpenOptions, Opened, Recognised, Reorder, Shape, Source, Summary,
};

use crate::Usage;
use crate::cli::{self, SetupArgs, TraceArgs};
use crate::lines;
use crate::listener::Listener;
use crate::output::{self, Tried, note};

/// What is run when no trace is named.
pub(crate) const DEFAULT_TRACE: &str = "synth:mixed";

/// Who asks for results.
pub(crate) struct Asked<'a> {
    /// The policies there are.
    pub(crate) registry: &'a Registry,
    /// Who hears of the work.
    pub(crate) listener: &'a dyn Listener,
    /// Whom results name as their maker.
    pub(crate) program: Program,
}

/// Where the trace of a run comes from.
#[derive(Clone, Copy)]
pub(crate) enum Traces<'a> {
    /// It is read by its name.
    Named,
    /// Whoever asks has it in memory.
    Held(&'a Trace),
}

impl<'a> Traces<'a> {
    /// The trace that `args` describe.
    pub(crate) fn get(
        self,
        args: &TraceArgs,
        listener: &dyn Listener,
    ) -> anyhow::Result<Cow<'a, Trace>> {
        let Traces::Held(held) = self else { return read_trace(args, listener).map(Cow::Owned) };
        let shape = shape(args)?;
        if shape == Shape::default() {
            return Ok(Cow::Borrowed(held));
        }
        let requests = shape.apply(held.requests.clone())?;
        let summary = Summary::of(&requests);
        let (name, format) = (held.name.clone(), held.format.clone());
        Ok(Cow::Owned(Trace { name, format, requests, summary }))
    }

    /// The same for runs, which need not have it in memory: a native trace that takes more than `--memory` stays in its
    /// file.
    pub(crate) fn for_runs(
        self,
        setup: &SetupArgs,
        listener: &dyn Listener,
    ) -> anyhow::Result<Trace<Requests<'a>>> {
        if matches!(self, Traces::Named)
            && let Some(streamed) = streamed(setup, listener)?
        {
            return Ok(streamed);
        }
        Ok(match self.get(&setup.trace, listener)? {
            Cow::Borrowed(Trace { name, format, requests, summary }) => Trace {
                name: name.clone(),
                format: format.clone(),
                requests: Requests::Held(Cow::Borrowed(requests)),
                summary: summary.clone(),
            },
            Cow::Owned(Trace { name, format, requests, summary }) => {
                Trace { name, format, requests: requests.into(), summary }
            }
        })
    }
}

/// How much of a native trace is held in memory, if nothing is said.
const MEMORY_BYTES: u64 = 1 << 30;

/// A native trace that would take more memory than it may, in its file. `None` for all others, and for what cannot be
/// read so: what is packed, and shapes for which all of it has to be there.
fn streamed(
    setup: &SetupArgs,
    listener: &dyn Listener,
) -> anyhow::Result<Option<Trace<Requests<'static>>>> {
    let (args, shape) = (&setup.trace, shape(&setup.trace)?);
    let is_file = args.trace.as_deref().is_some_and(|name| Path::new(name).is_file());
    if !is_file || !shape.is_of_single_requests() {
        return Ok(None);
    }
    // (What is no native trace, or a bad one, is told of where it is read.)
    let Ok(file) = native::Indexed::open(spec(args)) else { return Ok(None) };
    let requests = file.recorded().requests.total().min(shape.requests.unwrap_or(u64::MAX));
    let (bytes, memory) = (
        requests.saturating_mul(size_of::<Request>() as u64),
        setup.memory.unwrap_or(MEMORY_BYTES),
    );
    if bytes <= memory {
        return Ok(None);
    }
    let Opened { name, recognised, .. } = open_trace(args)?;
    if recognised.name != "native" {
        return Ok(None); // somebody says so
    }
    let progress = listener.begin("reading", 0);
    let read = native::Streamed::new(file, &shape, &mut |done, all| progress.set(done, all));
    let (source, summary) = read?;
    drop(progress);
    listener.note(&format!("{name}: read as {recognised}"));
    listener.note(&format!(
        "{name}: stays in its file, and each run reads it again: in memory it would take {}, more than --memory {}",
        show_bytes(bytes),
        show_bytes(memory)
    ));
    let requests = Requests::Streamed(Box::new(Streamed::new(source)));
    Ok(Some(Trace { name, format: Some(recognised), requests, summary }))
}

/// Reads and shapes the trace, and counts what it holds.
pub(crate) fn read_trace(args: &TraceArgs, listener: &dyn Listener) -> anyhow::Result<Trace> {
    let mut opened = open_trace(args)?;
    let requests = read_requests(&shape(args)?, &mut opened, listener)?;
    let summary = Summary::of(&requests);
    Ok(Trace { name: opened.name, format: Some(opened.recognised), requests, summary })
}

/// Reads and shapes the trace: its name and its requests.
pub(crate) fn read(
    args: &TraceArgs,
    listener: &dyn Listener,
) -> anyhow::Result<(String, Vec<Request>)> {
    let mut opened = open_trace(args)?;
    let requests = read_requests(&shape(args)?, &mut opened, listener)?;
    Ok((opened.name, requests))
}

/// Opens the trace.
pub(crate) fn open_trace(args: &TraceArgs) -> anyhow::Result<Opened> {
    Ok(shingle_trace::open(spec(args), &open_options(args)?)?)
}

/// The trace as it was named.
pub(crate) fn spec(args: &TraceArgs) -> &str {
    args.trace.as_deref().unwrap_or(DEFAULT_TRACE)
}

/// How the trace is to be opened.
pub(crate) fn open_options(args: &TraceArgs) -> anyhow::Result<OpenOptions> {
    Ok(OpenOptions {
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
    })
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

/// Reads what was opened, and says what the user should know of it: first of all as what it was read.
pub(crate) fn read_requests(
    shape: &Shape,
    opened: &mut Opened,
    listener: &dyn Listener,
) -> anyhow::Result<Vec<Request>> {
    let Opened { name, recognised, source } = opened;
    let source = source.as_mut();
    let progress = listener.begin("reading", 0);
    let requests = shape.read(source, &mut |source| {
        if let Some((done, total)) = source.progress() {
            progress.set(done, total);
        }
    })?;
    drop(progress);
    note_reading(name, recognised, source, listener);
    Ok(requests)
}

/// Says what the user should know of a trace that was read: where reading fails the error is all there is to say.
pub(crate) fn note_reading(
    name: &str,
    recognised: &Recognised,
    source: &dyn Source,
    listener: &dyn Listener,
) {
    if recognised.evidence != Evidence::Workload {
        listener.note(&format!("{name}: read as {recognised}"));
    }
    for warning in source.warnings() {
        listener.note(&format!("{name}: {warning}"));
    }
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
) -> anyhow::Result<Options> {
    let pictures = args.course || args.pictures.wanted();
    let default = Options::default();
    let or = |given: &[String], default: Vec<String>| match given {
        [] => default,
        given => given.to_vec(),
    };
    Ok(Options {
        seed: seed(&args.trace),
        policies,
        baseline,
        drives: or(&args.drives, default.drives),
        translations: or(&args.translations, default.translations),
        caches: or(&args.cache, default.caches),
        ssd: args.ssd.clone().unwrap_or(default.ssd),
        sets: assigned(&args.set)?,
        mode: mode(&args.trace),
        pacing: args.pacing.map_or(Pacing::Closed, Into::into),
        speed_thousandths: args.speed.unwrap_or(default.speed_thousandths),
        store: store(args),
        split: args.split == Some(cli::Split::Block),
        fill_partial: args.partial != Some(cli::Partial::Ignore),
        drain: args.drain,
        check: args.check,
        points: if pictures { PICTURE_POINTS } else { points },
        heat_rows: if pictures { HEAT_ROWS } else { 0 },
        timing: args.drive_timing.map(Into::into),
    })
}

/// What `--set` and a configuration set, taken apart.
///
/// # Errors
/// If the owner of a parameter is not named.
pub(crate) fn assigned(sets: &[(String, String)]) -> Result<Assignments, Usage> {
    let assigned = |(key, value): &(String, String)| Assignment::new(key, value).map_err(Usage);
    sets.iter().map(assigned).collect()
}

/// `--as store`, and what is said of it.
///
/// # Errors
/// If something is said of it that does not run.
pub(crate) fn check_store(args: &SetupArgs) -> anyhow::Result<()> {
    let said = [("--depth", args.depth.is_some()), ("--flush-every", args.flush_every.is_some())];
    let said = said.into_iter().find(|(_, is_said)| *is_said);
    if let (Some((option, _)), None | Some(cli::Executor::Papers)) = (said, args.executor) {
        return Err(Usage(format!("{option}: of a store only, --as store")).into());
    }
    Ok(())
}

/// What was set and changes nothing in `jobs`.
pub(crate) fn unheard(sets: &[(String, String)], jobs: &[Job]) -> Vec<String> {
    let keys = sets.iter().map(|(key, _)| key);
    keys.filter_map(|key| experiment::unheard("--set", key, jobs.iter())).collect()
}

/// What is said of one pacing only, where every run has this pacing.
///
/// # Errors
/// If it would do nothing.
pub(crate) fn check_pacing(
    pacing: Option<cli::Pacing>,
    speed: Option<u64>,
    depth: Option<usize>,
) -> anyhow::Result<()> {
    let open = pacing == Some(cli::Pacing::Trace);
    if speed.is_some() && !open {
        let why = "--speed: in closed loop requests have no times; --pacing trace keeps them";
        return Err(Usage(why.into()).into());
    }
    if depth.is_some() && open {
        let why =
            "--depth: with --pacing trace as many requests are under way as come; leave it out";
        return Err(Usage(why.into()).into());
    }
    Ok(())
}

fn store(args: &SetupArgs) -> Option<StoreOptions> {
    let default = StoreOptions::default();
    (args.executor == Some(cli::Executor::Store)).then(|| StoreOptions {
        depth: args.depth.unwrap_or(default.depth),
        flush_every: args
            .flush_every
            .map(|seconds| Nanos::from_millis(seconds.saturating_mul(1_000))),
    })
}

/// Points of the course of each run, when pictures are drawn of it.
const PICTURE_POINTS: u32 = 100;

/// Rows of a heat map.
const HEAT_ROWS: u16 = 64;

/// Runs `jobs` side by side and reports what they come to.
pub(crate) fn run_jobs<R: RequestList>(
    jobs: &[Job],
    trace: &Trace<R>,
    args: &SetupArgs,
    listener: &dyn Listener,
) -> anyhow::Result<Vec<RunResult>> {
    let total = (trace.requests.len() * jobs.len()) as u64;
    let progress = listener.begin("running", total);
    let add = |done| progress.add(done);
    Ok(pool(args)?.install(|| experiment::run_all(jobs, trace, &add))?)
}

const THREADS_MAX: usize = 1024;

/// The threads that runs are spread over.
pub(crate) fn pool(args: &SetupArgs) -> anyhow::Result<rayon::ThreadPool> {
    if args.threads == Some(0) {
        return Err(Usage("--threads 0: give at least 1".into()).into());
    }
    // (More take long to start, and do nothing faster.)
    let threads = args.threads.unwrap_or(0).min(THREADS_MAX);
    Ok(rayon::ThreadPoolBuilder::new().num_threads(threads).build()?)
}

/// What results say of a trace.
pub(crate) fn info(trace: &Trace<Requests>) -> TraceInfo {
    TraceInfo::with_hash(&trace.name, trace.format.as_ref(), trace.requests.hash(), &trace.summary)
}

/// The results of a comparison or run by `program`, with what `notes` tell of its runs.
pub(crate) fn report(
    program: Program,
    trace: TraceInfo,
    args: &TraceArgs,
    runs: Vec<RunResult>,
    notes: Notes,
) -> Report {
    let mut said = verdict::said(&runs);
    said.extend(notes.0.into_iter().map(Said::from));
    Report {
        schema: SCHEMA,
        shingle: program,
        seed: seed(args),
        trace,
        runs,
        sweep: None,
        targets: Vec::new(),
        said,
    }
}

/// Fails now, not after the work is done, if the results cannot be written.
pub(crate) fn check_files(args: &SetupArgs) -> anyhow::Result<()> {
    check_store(args)?;
    let files = [args.json.as_deref(), args.csv.as_deref()];
    if files == [Some(Path::new("-")); 2] {
        return Err(Usage("--json - and --csv -: stdout takes one of them".into()).into());
    }
    let described = args.drives.iter().filter_map(|drive| {
        drive.strip_prefix("sheet:").or_else(|| drive.strip_prefix("profile:")).map(Path::new)
    });
    let read: Vec<&Path> = described.chain(args.config.as_deref()).collect();
    let written = [
        ("--json", args.json.as_deref()),
        ("--csv", args.csv.as_deref()),
        ("--parquet", args.parquet.path()),
        ("--html", args.pictures.page()),
    ];
    check_written(&written, &args.trace, &read)?;
    files.into_iter().flatten().try_for_each(output::check_writable)?;
    args.parquet.check()?;
    args.pictures.check()
}

/// Fails if one of the files that options name to be `written` is the trace, or one of the other files that are `read`, or is written
/// twice.
pub(crate) fn check_written(
    written: &[(&str, Option<&Path>)],
    trace: &TraceArgs,
    read: &[&Path],
) -> anyhow::Result<()> {
    let named = trace.trace.as_deref().map(Path::new);
    let mut used: Vec<&Path> = read.iter().copied().chain(named).collect();
    for (option, path) in written.iter().filter_map(|(option, path)| Some((option, (*path)?))) {
        // (Nothing takes the place of stdout or a device.)
        if path == Path::new("-") || path.metadata().is_ok_and(|there| !there.is_file()) {
            continue;
        }
        output::check_apart(path, &used)?;
        used.push(path);
        // As in `--csv trace.csv`, which means to read that file.
        if named.is_none() && path.is_file() && !output::are_results(path) {
            let path = path.display();
            let message = format!(
                "{option} {path}: that file is there, it holds no results, and no trace is named; write {option} - \
                 {path} to read it, with the results on stdout"
            );
            return Err(Usage(message).into());
        }
    }
    Ok(())
}

/// Prints the table, and then writes the files that were asked for: what cannot be written takes
/// nothing else with it. Where one of the files is stdout, that has no room for a table.
pub(crate) fn deliver(
    report: &Report,
    args: &SetupArgs,
    quiet: bool,
    table: impl FnOnce() -> String,
) -> anyhow::Result<()> {
    let mut tried = Tried::default();
    if [&args.json, &args.csv].into_iter().flatten().any(|path| path == Path::new("-")) {
        // A program reads stdout; whoever started it should know what to take with care.
        let warnings = report.said.iter().filter(|said| said.kind == SaidKind::Warning);
        warnings.for_each(|said| note(&said.text, quiet));
    } else {
        tried.add(output::print(&table()));
    }
    if let Some(path) = &args.json {
        tried.add(output::json(report, path));
    }
    if args.csv.is_some() || args.parquet.wanted() {
        let columns = lines::columns(report)?;
        if let Some(path) = &args.csv {
            tried.add(lines::csv(&columns).and_then(|csv| output::text(&csv, path)));
        }
        args.parquet.deliver(&columns, &mut tried);
    }
    args.pictures.deliver(report, &mut tried)?;
    tried.end()
}
