//! `shingle run`: one configuration, in full.

use std::path::PathBuf;

use anyhow::bail;
use clap::Args;
use shingle_core::registry::Registry;
use shingle_sim::experiment;

use super::setup::{check_files, deliver, options, read_trace, report, run_jobs};
use crate::Usage;
use crate::cli::{Global, SetupArgs};
use crate::config::Config;
use crate::output::{Tried, note};
use crate::progress::Progress;
use crate::table;
use crate::trace_out::TraceOut;

/// Points of the time series.
const POINTS: u32 = 20;

#[derive(Debug, Args)]
pub(crate) struct Run {
    #[command(flatten)]
    pub(crate) setup: SetupArgs,
    /// Policy. [default: sac]
    #[arg(short, long, value_name = "NAME")]
    pub(crate) policy: Option<String>,
    /// Write the commands that the disk got as a trace in CSV, each with its cause.
    #[arg(long, value_name = "FILE")]
    pub(crate) trace_out: Option<PathBuf>,
}

pub(crate) fn execute(args: &Run, global: &Global, registry: &Registry) -> anyhow::Result<()> {
    let mut setup = args.setup.clone();
    let mut policy = args.policy.clone();
    if let Some(path) = &args.setup.config {
        let config = Config::read(path)?;
        config.complete(&mut setup);
        policy = policy.or_else(|| config.policies.into_iter().flatten().next());
    }
    if [&setup.drives, &setup.translations, &setup.cache].iter().any(|list| list.len() > 1) {
        bail!(Usage(
            "run takes one drive, one translation and one cache size; compare takes several".into()
        ));
    }
    let policy = policy.unwrap_or_else(|| "sac".into());
    let options = options(&setup, vec![policy], None, POINTS)?;
    check_files(&setup)?;
    if let Some(path) = &args.trace_out {
        TraceOut::check(path)?;
    }
    let trace = read_trace(&setup.trace, global.quiet)?;
    let (jobs, notes) = experiment::plan(&options, registry, &trace)?;
    notes.0.iter().for_each(|told| note(&told.text, global.quiet));
    let mut tried = Tried::default();
    let runs = match &args.trace_out {
        None => run_jobs(&jobs, &trace, &setup, global.quiet)?,
        Some(path) => {
            let out = TraceOut::new(path)?;
            let progress = Progress::new("running", trace.requests.len() as u64, global.quiet);
            let add = |done| progress.add(done);
            let run = jobs[0].run_logged(&trace.requests[..], out.log(), &add)?;
            tried.add(out.finish());
            vec![run]
        }
    };
    let report = report(&trace, &setup.trace, runs, notes);
    tried.add(deliver(&report, &setup, global.quiet, || table::run(&report, global.color)));
    tried.end()
}
