//! `shingle compare`: policies side by side.

use anyhow::bail;
use clap::Args;
use shingle_core::registry::Registry;
use shingle_result::{Notes, Target};
use shingle_sim::experiment::{self, Job};

use super::setup::{
    DEFAULT_TRACE, check_files, deliver, options, read_trace, report, run_jobs, seed,
};
use crate::Usage;
use crate::cli::{Executor, Global, SetupArgs};
use crate::config::Config;
use crate::output::note;
use crate::table;

/// Policies compared when none are named.
pub(super) const DEFAULT_POLICIES: [&str; 5] = ["none", "lru", "lru-band", "most", "sac"];

/// Of these, those that know more than a store can.
const ONLY_SIMULATED: [&str; 1] = ["lru-band"];

#[derive(Debug, Args)]
pub(crate) struct Compare {
    #[command(flatten)]
    pub(crate) setup: SetupArgs,
    /// Policies; `all` for all that go with the drive. [default: none,lru,lru-band,most,sac]
    #[arg(short, long, value_delimiter = ',', value_name = "NAME,…")]
    pub(crate) policies: Vec<String>,
    /// Repeat a synthetic trace with so many seeds, from --seed on, and show least and most.
    /// [default: 1]
    #[arg(long, value_name = "N")]
    pub(crate) seeds: Option<u64>,
    /// Policy to run along, shown dimmed; `none` for no baseline. [default: lru; none when only
    /// translations are compared, with -p none]
    #[arg(long, value_name = "NAME")]
    pub(crate) baseline: Option<String>,
    /// End with the smallest cache of -c that meets a target, for each policy and drive: mean, p50, p99,
    /// p999 or max response time, hits, rmw, seconds of I/O done and left. As in p99=50ms or hits=80%;
    /// each of several by itself.
    #[arg(long = "target", value_delimiter = ',', value_name = "NAME=VALUE,…")]
    pub(crate) targets: Vec<String>,
}

pub(crate) fn execute(args: &Compare, global: &Global, registry: &Registry) -> anyhow::Result<()> {
    let mut setup = args.setup.clone();
    let mut policies = args.policies.clone();
    let mut baseline = args.baseline.clone();
    let mut seeds = args.seeds;
    if let Some(path) = &args.setup.config {
        let config = Config::read(path)?;
        config.complete(&mut setup);
        if policies.is_empty() {
            policies.extend(config.policies.iter().flatten().cloned());
        }
        baseline = baseline.or(config.baseline);
        seeds = seeds.or(config.seeds);
    }
    if policies.is_empty() {
        policies = DEFAULT_POLICIES.map(str::to_owned).to_vec();
        if setup.executor == Some(Executor::Store) {
            policies.retain(|name| !ONLY_SIMULATED.contains(&name.as_str()));
        }
    }
    // Translations alone are compared with each other.
    let alone = policies == ["none"] && setup.translations.len() > 1;
    let baseline = baseline.unwrap_or_else(|| if alone { "none" } else { "lru" }.into());
    let baseline = Some(baseline).filter(|name| name != "none");
    let seeds = check_seeds(seeds, &setup)?;
    let targets = targets(args)?;
    check_files(&setup)?;
    let first_seed = seed(&setup.trace);
    let mut all_notes = Notes::default();
    let (mut first, mut runs, mut baselines) = (None, Vec::new(), Vec::new());
    for seed in first_seed..first_seed + seeds {
        setup.trace.seed = Some(seed);
        let options = options(&setup, policies.clone(), baseline.clone(), 0)?;
        let trace = read_trace(&setup.trace, global.quiet)?;
        let (jobs, notes) = experiment::plan(&options, registry, &trace)?;
        if first.is_none() {
            notes.0.iter().for_each(|told| note(&told.text, global.quiet));
            baselines.extend(jobs.iter().map(Job::is_baseline));
        }
        let done = run_jobs(&jobs, &trace, &setup, global.quiet)?;
        // Each seed has a trace of its own, and so sizes of its own.
        notes.0.into_iter().for_each(|told| {
            all_notes.add(told.text, told.jobs.iter().map(|job| runs.len() + job));
        });
        runs.extend(done);
        first.get_or_insert(trace);
    }
    let trace = first.expect("at least one seed was run");
    setup.trace.seed = Some(first_seed);
    let runs_each = runs.len() / seeds as usize;
    let mut report = report(&trace, &setup.trace, runs, all_notes);
    report.targets = targets.iter().flat_map(|target| target.smallest(&report.runs)).collect();
    if targets.iter().any(Target::is_response_time)
        && report.runs.iter().all(|run| run.queue.is_none())
    {
        note(SERVICE_TIMES, global.quiet);
    }
    deliver(&report, &setup, global.quiet, || {
        let text = match seeds {
            1 => table::comparison(&report, &baselines, global.color),
            _ => table::over_seeds(&report, runs_each, global.color),
        };
        text + &table::targets(&report.targets, global.color)
    })
}

/// What response times are without queueing.
const SERVICE_TIMES: &str = "--target: in closed loop nothing queues, so these are times of service; \
                             --pacing trace has response times";

fn targets(args: &Compare) -> anyhow::Result<Vec<Target>> {
    let parse = |text: &String| {
        Target::parse(text).map_err(|error| Usage(format!("--target {error}")).into())
    };
    args.targets.iter().map(parse).collect()
}

/// Several seeds make sense for a trace that is made from one.
fn check_seeds(seeds: Option<u64>, setup: &SetupArgs) -> anyhow::Result<u64> {
    let seeds = seeds.unwrap_or(1);
    let trace = setup.trace.trace.as_deref().unwrap_or(DEFAULT_TRACE);
    if !(1..=1000).contains(&seeds) {
        bail!(Usage(format!("--seeds {seeds}: give a number from 1 to 1000")));
    }
    if seeds > 1 && !trace.starts_with("synth:") {
        bail!(Usage(format!("--seeds {seeds}: {trace} is no synthetic trace and has no seed")));
    }
    Ok(seeds)
}
