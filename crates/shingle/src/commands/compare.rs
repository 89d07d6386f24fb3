//! `shingle compare`: policies side by side.

use anyhow::bail;
use clap::Args;
use shingle_core::registry::Registry;
use shingle_result::{Notes, Report, Target};
use shingle_sim::experiment::{self, Job};

use super::setup::{
    Asked, check_files, check_pacing, check_store, deliver, info, options, report, run_jobs,
    setting_without_effect,
};
use super::traces::{DEFAULT_TRACE, Traces, seed};
use crate::Usage;
use crate::cli::{Global, SetupArgs, whole};
use crate::config::Config;
use crate::{output, table};

#[derive(Debug, Default, Args)]
pub(crate) struct Compare {
    #[command(flatten)]
    pub(crate) setup: SetupArgs,
    /// Policies; `all` for all that go with the drive. [default: those of none,lru,lru-band,most,sac that do]
    #[arg(short, long, value_delimiter = ',', value_name = "NAME,…")]
    pub(crate) policies: Vec<String>,
    /// Repeat a synthetic trace with N seeds, from --seed on, and show minimum and maximum.
    /// [default: 1]
    #[arg(long, value_name = "N", value_parser = whole::<u64>)]
    pub(crate) seeds: Option<u64>,
    /// Policy that is run too, shown dimmed; `none` for no baseline. [default: lru; none when only
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
    let config = args.setup.config.as_deref().map(Config::read).transpose()?;
    let comparison = Comparison::new(args, config.as_ref())?;
    let setup = &comparison.setup;
    check_files(setup)?;
    let asked = Asked { registry, listener: global, program: output::program() };
    let Compared { report, baselines, runs_each } = comparison.run(Traces::Named, asked)?;
    deliver(&report, setup, global.quiet, || {
        let text = match comparison.seeds {
            1 => table::comparison(&report, &baselines, global.color),
            _ => table::over_seeds(&report, runs_each, global.color),
        };
        text + &table::targets(&report, global.color)
    })
}

/// A comparison to run, with defaults filled in.
pub(crate) struct Comparison {
    setup: SetupArgs,
    policies: Vec<String>,
    baseline: Option<String>,
    seeds: u64,
    targets: Vec<Target>,
}

/// The result of a comparison.
pub(crate) struct Compared {
    pub(crate) report: Report,
    /// Which runs of the first seed are baselines only.
    baselines: Vec<bool>,
    /// Number of runs per seed.
    runs_each: usize,
}

impl Comparison {
    /// Creates it from options, and from `config` where these are not given.
    pub(crate) fn new(args: &Compare, config: Option<&Config>) -> anyhow::Result<Comparison> {
        let mut setup = args.setup.clone();
        let mut policies = args.policies.clone();
        let mut baseline = args.baseline.clone();
        let mut seeds = args.seeds;
        if let Some(config) = config {
            config.complete(&mut setup);
            if policies.is_empty() {
                policies.extend(config.policies.iter().flatten().cloned());
            }
            baseline = baseline.or_else(|| config.baseline.clone());
            seeds = seeds.or(config.seeds);
        }
        // Translations alone are compared with each other, without a baseline.
        let alone = policies == ["none"] && setup.translations.len() > 1;
        let baseline = baseline.unwrap_or_else(|| if alone { "none" } else { "lru" }.into());
        let baseline = Some(baseline).filter(|name| name != "none");
        let seeds = check_seeds(seeds, &setup)?;
        let targets = targets(args)?;
        Ok(Comparison { setup, policies, baseline, seeds, targets })
    }

    /// Runs the comparison.
    pub(crate) fn run(&self, traces: Traces, asked: Asked) -> anyhow::Result<Compared> {
        let Asked { registry, listener, program } = asked;
        check_store(&self.setup)?;
        check_pacing(self.setup.pacing, self.setup.speed, self.setup.depth)?;
        if let (Traces::Held(_), 2..) = (traces, self.seeds) {
            let seeds = self.seeds;
            let why =
                format!("--seeds {seeds}: requests in memory have no seed; name the workload");
            return Err(Usage(why).into());
        }
        let mut setup = self.setup.clone();
        let first_seed = seed(&setup.trace);
        let mut all_notes = Notes::default();
        let (mut first, mut runs, mut baselines) = (None, Vec::new(), Vec::new());
        for seed in first_seed..first_seed + self.seeds {
            setup.trace.seed = Some(seed);
            let options = options(&setup, self.policies.clone(), self.baseline.clone(), 0)?;
            experiment::check_options(&options, registry)?;
            let trace = traces.for_runs(&setup, listener)?;
            let (jobs, notes) = experiment::plan(&options, registry, &trace)?;
            let (same, other) = (jobs.len(), runs.len() / (seed - first_seed).max(1) as usize);
            if first.is_some() && same != other {
                let why = format!(
                    "--seeds: with seed {seed} there are {same} runs to do, with seed {first_seed} {other}: two \
                     sizes of -c come to the same with one of them; give all sizes as shares, or none"
                );
                return Err(Usage(why).into());
            }
            if first.is_none() {
                setting_without_effect(&setup.set, &jobs)
                    .iter()
                    .for_each(|told| listener.note(told));
                notes.0.iter().for_each(|told| listener.note(&told.text));
                baselines.extend(jobs.iter().map(Job::is_baseline));
            }
            let done = run_jobs(&jobs, &trace, &setup, listener)?;
            // Each seed has its own trace, and so its own sizes.
            notes.0.into_iter().for_each(|told| {
                all_notes.add(told.text, told.jobs.iter().map(|job| runs.len() + job));
            });
            runs.extend(done);
            first.get_or_insert(trace);
        }
        let trace = first.expect("at least one seed was run");
        setup.trace.seed = Some(first_seed);
        let runs_each = runs.len() / self.seeds as usize;
        let mut report = report(program, info(&trace), &setup.trace, runs, all_notes);
        let targets = self.targets.iter();
        report.targets = targets.flat_map(|target| target.smallest(&report.runs)).collect();
        if self.targets.iter().any(Target::is_response_time)
            && report.runs.iter().all(|run| run.queue.is_none())
        {
            listener.note(SERVICE_TIMES);
        }
        Ok(Compared { report, baselines, runs_each })
    }
}

/// A remark on response times without queueing.
const SERVICE_TIMES: &str = "--target: in closed loop nothing queues, so these are times of service; \
                             --pacing trace has response times";

fn targets(args: &Compare) -> anyhow::Result<Vec<Target>> {
    let parse = |text: &String| {
        Target::parse(text).map_err(|error| Usage(format!("--target: {error}")).into())
    };
    args.targets.iter().map(parse).collect()
}

/// Checks that several seeds are requested only for a synthetic trace.
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
