//! From options to an experiment: the first steps of `compare` and `run`.

use std::path::Path;

use shingle_core::registry::Registry;
use shingle_core::units::Nanos;
use shingle_result::{
    Notes, Pacing, Program, Report, RunResult, SCHEMA, Said, SaidKind, TraceInfo, verdict,
};
use shingle_sim::experiment::{self, Assignment, Assignments, Job, Options, StoreOptions, Trace};
use shingle_sim::requests::{RequestList, Requests};

use super::traces::{mode, seed};
use crate::Usage;
use crate::cli::{self, SetupArgs, TraceArgs};
use crate::lines;
use crate::listener::Listener;
use crate::output::{self, Tried, note};

/// The context of a command.
#[derive(Clone)]
pub struct Asked<'a> {
    /// The registered policies.
    pub registry: &'a Registry,
    /// Receives remarks and progress, and may cancel the work ([`shingle_sim::cancel`]).
    pub listener: &'a dyn Listener,
    /// The program named in results.
    pub program: Program,
}

/// Returns the experiment that `args` describe, with defaults filled in.
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

/// Parses the settings of `--set` and of a configuration.
pub(crate) fn assigned(sets: &[(String, String)]) -> Result<Assignments, Usage> {
    let assigned = |(key, value): &(String, String)| Assignment::new(key, value).map_err(Usage);
    sets.iter().map(assigned).collect()
}

/// Checks `--as store` and the options that need it.
pub(crate) fn check_store(args: &SetupArgs) -> anyhow::Result<()> {
    let said = [("--depth", args.depth.is_some()), ("--flush-every", args.flush_every.is_some())];
    let said = said.into_iter().find(|(_, is_said)| *is_said);
    if let (Some((option, _)), None | Some(cli::Executor::Papers)) = (said, args.executor) {
        return Err(
            Usage(format!("{option} is for --as store only; add that, or leave it out")).into()
        );
    }
    Ok(())
}

/// Returns notes on settings that have no effect in `jobs`.
pub(crate) fn setting_without_effect(sets: &[(String, String)], jobs: &[Job]) -> Vec<String> {
    let keys = sets.iter().map(|(key, _)| key);
    keys.filter_map(|key| experiment::setting_without_effect("--set", key, jobs.iter())).collect()
}

/// Checks options of one pacing, where every run has this pacing.
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

/// Points of the time series of each run, if pictures are drawn of it.
const PICTURE_POINTS: u32 = 100;

const HEAT_ROWS: u16 = 64;

/// Runs `jobs` in parallel and returns their results.
pub(crate) fn run_jobs<R: RequestList>(
    jobs: &[Job],
    trace: &Trace<R>,
    args: &SetupArgs,
    listener: &dyn Listener,
) -> anyhow::Result<Vec<RunResult>> {
    let total = (trace.requests.len() * jobs.len()) as u64;
    let progress = listener.begin("running", total);
    let add = |done| progress.add(done);
    Ok(pool(args.threads)?.install(|| experiment::run_all(jobs, trace, &add))?)
}

const THREADS_MAX: usize = 1024;

/// Creates the threads that runs are spread over.
pub(crate) fn pool(threads: Option<usize>) -> anyhow::Result<rayon::ThreadPool> {
    if threads == Some(0) {
        return Err(Usage("--threads 0: give at least 1".into()).into());
    }
    // More threads take long to start and make nothing faster.
    let threads = threads.unwrap_or(0).min(THREADS_MAX);
    Ok(rayon::ThreadPoolBuilder::new().num_threads(threads).build()?)
}

/// Returns the description of a trace in results.
pub(crate) fn info(trace: &Trace<Requests>) -> TraceInfo {
    TraceInfo::with_hash(&trace.name, trace.format.as_ref(), trace.requests.hash(), &trace.summary)
}

/// Returns the report of a comparison or run by `program`, with the notes on its runs.
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

/// Checks that the results can be written, now, not after the work is done.
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

/// Fails if one of the files to be `written` is the trace, or one of the other files that are
/// `read`, or is written twice.
pub(crate) fn check_written(
    written: &[(&str, Option<&Path>)],
    trace: &TraceArgs,
    read: &[&Path],
) -> anyhow::Result<()> {
    let named = trace.trace.as_deref().map(Path::new);
    let mut used: Vec<&Path> = read.iter().copied().chain(named).collect();
    for (option, path) in written.iter().filter_map(|(option, path)| Some((option, (*path)?))) {
        // stdout and devices are not replaced.
        if path == Path::new("-") || path.metadata().is_ok_and(|there| !there.is_file()) {
            continue;
        }
        output::check_apart(path, &used)?;
        used.push(path);
        // As in `--csv trace.csv`, probably meant to read that file.
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

/// Prints the table, and then writes the requested files; a failure of one does not prevent the
/// others. If one of the files is stdout, no table is printed.
pub(crate) fn deliver(
    report: &Report,
    args: &SetupArgs,
    quiet: bool,
    table: impl FnOnce() -> String,
) -> anyhow::Result<()> {
    let mut tried = Tried::default();
    if [&args.json, &args.csv].into_iter().flatten().any(|path| path == Path::new("-")) {
        // A program reads stdout; warnings go to stderr for the user.
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
