//! What a simulation of the store foretells of a replay.

use anyhow::bail;
use shingle_core::registry::Registry;
use shingle_result::{Pacing, RunResult};
use shingle_sim::experiment::{self, Assignment, Assignments, Job, Options, StoreOptions, Trace};

use super::Replay;
use crate::Usage;
use crate::cli;
use crate::commands::setup::{mode, seed};
use crate::progress::Progress;

/// A run of the store over models for each policy of the replay, whose cache has so many `slots`. None without
/// `--predict`.
///
/// # Errors
/// If something that the replay is set to cannot be simulated.
pub(super) fn jobs(
    args: &Replay,
    registry: &Registry,
    trace: &Trace,
    slots: u64,
) -> anyhow::Result<Vec<Job>> {
    let Some(drive) = &args.predict else { return Ok(Vec::new()) };
    let mode_of = |text: &&String| text.starts_with("mode=") && *text != "mode=write-back";
    if let Some(text) = args.set.iter().find(mode_of) {
        bail!(Usage(format!(
            "--set {text}: what is simulated is a write-back cache; drop --predict"
        )));
    }
    let own = args.set.iter().filter(|text| text.contains('.'));
    let sets = own.map(|text| Assignment::parse(text).map_err(Usage));
    let options = Options {
        seed: seed(&args.trace),
        policies: args.policies.clone(),
        drives: vec![drive.clone()],
        caches: vec![format!("{slots}b")],
        sets: sets.collect::<Result<Assignments, _>>()?,
        mode: mode(&args.trace),
        pacing: match args.pacing {
            cli::Pacing::Closed => Pacing::Closed,
            cli::Pacing::Trace => Pacing::Open,
        },
        speed_thousandths: args.speed,
        store: Some(StoreOptions { depth: args.depth, ..StoreOptions::default() }),
        drain: args.drain,
        check: args.verify,
        points: args.points(),
        ..Options::default()
    };
    let options = match &args.ssd {
        Some(ssd) => Options { ssd: ssd.clone(), ..options },
        None => options,
    };
    Ok(experiment::plan(&options, registry, trace)?.0)
}

/// Runs them.
///
/// # Errors
/// If one fails.
pub(super) fn run(jobs: &[Job], trace: &Trace, quiet: bool) -> anyhow::Result<Vec<RunResult>> {
    let progress = Progress::new("simulating", (trace.requests.len() * jobs.len()) as u64, quiet);
    Ok(experiment::run_all(jobs, trace, &|done| progress.add(done))?)
}
