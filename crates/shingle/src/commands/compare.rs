//! `shingle compare`: policies side by side.

use std::path::Path;

use shingle_core::registry::Registry;
use shingle_sim::experiment;

use super::setup::{options, read_trace, report, run_jobs};
use crate::cli::{Arguments, Compare};
use crate::config::Config;
use crate::output::{check_writable, json, note, print};
use crate::table;

/// Policies compared when none are named.
const DEFAULT_POLICIES: [&str; 5] = ["none", "lru", "lru-band", "most", "sac"];

pub(crate) fn execute(
    args: &Compare,
    global: &Arguments,
    registry: &Registry,
) -> anyhow::Result<()> {
    let mut setup = args.setup.clone();
    let mut policies = args.policies.clone();
    let mut baseline = args.baseline.clone();
    if let Some(path) = &args.setup.config {
        let config = Config::read(path)?;
        config.complete(&mut setup);
        if policies.is_empty() {
            policies.extend(config.policies.iter().flatten().cloned());
        }
        baseline = baseline.or(config.baseline);
    }
    if policies.is_empty() {
        policies = DEFAULT_POLICIES.map(str::to_owned).to_vec();
    }
    let baseline = baseline.unwrap_or_else(|| "lru".into());
    let baseline = Some(baseline).filter(|name| name != "none");
    let options = options(&setup, policies, baseline, 0);
    check_writable(setup.json.as_deref())?;
    let trace = read_trace(&setup.trace, global.quiet)?;
    let (jobs, notes) = experiment::plan(&options, registry, &trace)?;
    notes.iter().for_each(|text| note(text, global.quiet));
    let runs = run_jobs(&jobs, &trace, &setup, global.quiet)?;
    let report = report(&trace, &setup.trace, runs);
    let to_stdout = setup.json.as_deref() == Some(Path::new("-"));
    if let Some(path) = &setup.json {
        json(&report, path)?;
    }
    if to_stdout {
        return Ok(());
    }
    let baselines: Vec<bool> = jobs.iter().map(|job| job.baseline).collect();
    print(&table::comparison(&report, &baselines, global.color))
}
