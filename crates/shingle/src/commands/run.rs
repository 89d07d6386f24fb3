//! `shingle run`: one configuration, in full.

use std::path::PathBuf;

use anyhow::bail;
use clap::Args;
use shingle_core::registry::Registry;
use shingle_result::{Report, RunResult};
use shingle_sim::experiment::{self, Job, Trace};
use shingle_sim::requests::{RequestList as _, Requests};

use super::setup::{
    Asked, check_files, check_pacing, check_store, check_written, deliver, info, options, report,
    run_jobs, setting_without_effect,
};
use super::traces::Traces;
use crate::Usage;
use crate::cli::{Global, SetupArgs};
use crate::config::Config;
use crate::listener::Listener;
use crate::output::{self, Tried};
use crate::table;
use crate::trace_out::TraceOut;

/// Points of the time series.
const POINTS: u32 = 20;

#[derive(Debug, Default, Args)]
pub(crate) struct Run {
    #[command(flatten)]
    pub(crate) setup: SetupArgs,
    /// Policy. [default: sac]
    #[arg(short, long, value_name = "NAME")]
    pub(crate) policy: Option<String>,
    /// Write the commands of the disk as a trace in CSV, each with its cause.
    #[arg(long, value_name = "FILE")]
    pub(crate) trace_out: Option<PathBuf>,
}

pub(crate) fn execute(args: &Run, global: &Global, registry: &Registry) -> anyhow::Result<()> {
    let config = args.setup.config.as_deref().map(Config::read).transpose()?;
    let one = One::new(args, config.as_ref())?;
    check_files(&one.setup)?;
    if let Some(path) = &args.trace_out {
        check_written(&[("--trace-out", Some(path))], &one.setup.trace, &[])?;
        TraceOut::check(path)?;
    }
    let asked = Asked { registry, listener: global, program: output::program() };
    let mut tried = Tried::default();
    let report = one.run(Traces::Named, asked, |job, trace| {
        let Some(path) = &args.trace_out else { return Ok(None) };
        let out = TraceOut::new(path)?;
        let progress = global.begin("running", trace.requests.len() as u64);
        let run = job.run_logged(&trace.requests, out.log(), &|done| progress.add(done))?;
        tried.add(out.finish());
        Ok(Some(run))
    })?;
    tried.add(deliver(&report, &one.setup, global.quiet, || table::run(&report, global.color)));
    tried.end()
}

/// A run, with defaults filled in.
pub(crate) struct One {
    setup: SetupArgs,
    policy: String,
}

impl One {
    /// Creates it from options, and from `config` where these are not given.
    pub(crate) fn new(args: &Run, config: Option<&Config>) -> anyhow::Result<One> {
        let mut setup = args.setup.clone();
        let mut policy = args.policy.clone();
        if let Some(config) = config {
            config.complete(&mut setup);
            policy = policy.or_else(|| config.policies.iter().flatten().next().cloned());
        }
        if [&setup.drives, &setup.translations, &setup.cache].iter().any(|list| list.len() > 1) {
            bail!(Usage(
                "run takes one drive, one translation and one cache size; compare takes several"
                    .into()
            ));
        }
        if let Some(several) = policy.as_deref().filter(|policy| policy.contains(',')) {
            let why = format!("-p {several}: run takes one policy; compare takes several");
            bail!(Usage(why));
        }
        Ok(One { setup, policy: policy.unwrap_or_else(|| "sac".into()) })
    }

    /// Runs it; `otherwise` may replace the usual way.
    pub(crate) fn run(
        &self,
        traces: Traces,
        asked: Asked,
        otherwise: impl FnOnce(&Job, &Trace<Requests>) -> anyhow::Result<Option<RunResult>>,
    ) -> anyhow::Result<Report> {
        let Asked { registry, listener, program } = asked;
        check_store(&self.setup)?;
        check_pacing(self.setup.pacing, self.setup.speed, self.setup.depth)?;
        let options = options(&self.setup, vec![self.policy.clone()], None, POINTS)?;
        experiment::check_options(&options, registry)?;
        let trace = traces.for_runs(&self.setup, listener)?;
        let (jobs, notes) = experiment::plan(&options, registry, &trace)?;
        setting_without_effect(&self.setup.set, &jobs).iter().for_each(|told| listener.note(told));
        notes.0.iter().for_each(|told| listener.note(&told.text));
        let runs = match otherwise(&jobs[0], &trace)? {
            Some(run) => vec![run],
            None => run_jobs(&jobs, &trace, &self.setup, listener)?,
        };
        Ok(report(program, info(&trace), &self.setup.trace, runs, notes))
    }
}
