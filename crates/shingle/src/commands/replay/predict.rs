//! The prediction of a replay by a simulation of the store.

use anyhow::bail;
use shingle_core::registry::Registry;
use shingle_core::service::Mode;
use shingle_result::RunResult;
use shingle_sim::experiment::{self, Assignment, Assignments, Job, Options, StoreOptions, Trace};

use super::Replay;
use crate::Usage;
use crate::commands::traces::{mode, seed};
use crate::progress::Progress;

/// Returns a run of the store over models for each policy of the replay, whose cache has `slots`
/// slots and one of `modes`. None without `--predict`.
pub(super) fn jobs(
    args: &Replay,
    registry: &Registry,
    trace: &Trace,
    slots: u64,
    modes: impl IntoIterator<Item = Mode>,
) -> anyhow::Result<Vec<Job>> {
    let Some(drive) = &args.predict else { return Ok(Vec::new()) };
    if let Some(mode) = modes.into_iter().find(|&mode| mode != Mode::WriteBack) {
        bail!(Usage(format!(
            "--set mode={}: what is simulated is a write-back cache; drop --predict",
            mode.name()
        )));
    }
    let options = options(args, drive, &format!("{slots}b"))?;
    Ok(experiment::plan(&options, registry, trace)?.0)
}

/// Returns the options of runs over a model of `drive`, with a cache of `size`.
pub(super) fn options(args: &Replay, drive: &str, size: &str) -> anyhow::Result<Options> {
    let own = args.set.iter().filter(|text| text.contains('.'));
    let sets = own.map(|text| Assignment::parse(text).map_err(Usage));
    let default = Options::default();
    Ok(Options {
        seed: seed(&args.trace),
        policies: args.policies.clone(),
        drives: vec![drive.to_owned()],
        caches: vec![size.to_owned()],
        sets: sets.collect::<Result<Assignments, _>>()?,
        mode: mode(&args.trace),
        pacing: args.pacing.into(),
        speed_thousandths: args.speed(),
        store: Some(StoreOptions { depth: args.depth(), ..StoreOptions::default() }),
        drain: args.drain,
        check: args.verify,
        points: args.points(),
        ssd: args.ssd.clone().unwrap_or(default.ssd),
        ..default
    })
}

/// Runs them.
pub(super) fn run(jobs: &[Job], trace: &Trace, quiet: bool) -> anyhow::Result<Vec<RunResult>> {
    let progress = Progress::new("simulating", (trace.requests.len() * jobs.len()) as u64, quiet);
    Ok(experiment::run_all(jobs, trace, &|done| progress.add(done))?)
}
