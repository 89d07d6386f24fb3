//! `shingle probe agree`: a model and the profile that probing it gave, simulated side by side.

use std::path::{Path, PathBuf};

use anyhow::bail;
use clap::Args;
use shingle_core::registry::Registry;
use shingle_probe::model::{Model, Noise};
use shingle_probe::plan::plan;
use shingle_probe::probe::probe;
use shingle_probe::session::Session;
use shingle_probe::target::Target;
use shingle_result::{
    Pacing, RunResult,
    verdict::{measure, ranking},
};
use shingle_sim::experiment::{self, Options, Trace};
use shingle_trace::{OpenOptions, Shape, Summary};

use super::super::setup::assigned;
use super::{Watch, render};
use crate::cli::{self, Global};
use crate::output::{self, note, print};
use crate::progress::Progress;

/// Largest accepted difference of the I/O times of model and profile, as a part of the model's.
const IO_TIME_OFF: f64 = 0.25;
/// Policies whose times differ by less than this part count as equal.
const LEVEL: f64 = 0.005;
/// A trace of real requests, used if available.
const REAL: &str = "cloudphysics_sample.vscsi.zst";

/// Runs the same experiments on a drive model and on the profile that probing it gave. Fails if an I/O
/// time differs by more than a quarter, or another policy wins.
#[derive(Debug, Args)]
pub(crate) struct Agree {
    /// The drive model that was probed.
    #[arg(long, value_name = "NAME")]
    model: String,
    /// The parameters it was probed with.
    #[arg(long, value_name = "drive.NAME=VALUE", value_parser = cli::assignment)]
    set: Vec<(String, String)>,
    /// The profile that the probe wrote. [default: the model is probed first]
    #[arg(long, value_name = "FILE")]
    profile: Option<PathBuf>,
    /// Traces and workloads, several with commas. [default: synth:mixed and synth:zipf, and
    /// cloudphysics_sample.vscsi.zst of the folder SHINGLE_TRACES]
    #[arg(long, value_name = "TRACE,…", value_delimiter = ',')]
    traces: Vec<String>,
    /// Only the first N requests of each. [default: all]
    #[arg(long, value_name = "N", value_parser = cli::number)]
    requests: Option<u64>,
    /// Policies to compare.
    #[arg(long, value_name = "NAME,…", value_delimiter = ',',
        default_values = ["none", "lru", "most", "sac"])]
    policies: Vec<String>,
    /// Size of the cache.
    #[arg(long, short, value_name = "SIZE", default_value = "5%")]
    cache: String,
}

pub(crate) fn execute(args: &Agree, global: &Global, registry: &Registry) -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let profile = match &args.profile {
        Some(path) => path.clone(),
        None => args.probe(folder.path(), global)?,
    };
    let mut rows = render::table(&[
        "trace",
        "loop",
        "policy",
        "model s",
        "profile s",
        "ratio",
        "mean ms",
        "profile ms",
        "RMWs",
        "profile",
    ]);
    let (mut worst, mut missed, mut flips) = (0.0_f64, 0, Vec::new());
    for spec in args.traces(global) {
        let trace = read(&spec, args.requests)?;
        for pacing in [Pacing::Closed, Pacing::Open] {
            let name = format!("profile:{}", profile.display());
            let model = (args.model.as_str(), args.set.as_slice());
            let truth = runs(args, registry, &trace, pacing, model, global)?;
            let own = (name.as_str(), [].as_slice());
            let probed = runs(args, registry, &trace, pacing, own, global)?;
            for (truth, probed) in truth.iter().zip(&probed) {
                let row = Row::new(&trace.name, pacing, truth, probed);
                worst = worst.max(row.off());
                missed += usize::from(row.off() > IO_TIME_OFF);
                rows.add_row(row.cells());
            }
            if let Some((model, profile)) = flip(&truth, &probed) {
                let told = format!(
                    "{}, {}: {model} wins on the model, {profile} on the profile",
                    trace.name,
                    pacing_name(pacing)
                );
                flips.push(told);
            }
        }
    }
    let count = rows.row_count();
    print(&render::lines(&rows))?;
    print(&format!(
        "\nI/O time within {:.0} % in {} of {count} runs, {:.1} % off at most. {}",
        100.0 * IO_TIME_OFF,
        count - missed,
        100.0 * worst,
        if flips.is_empty() { "The same policy wins everywhere." } else { "Winners differ:" },
    ))?;
    for flip in &flips {
        print(flip)?;
    }
    if missed > 0 || !flips.is_empty() {
        bail!(
            "policies differ on {} and on its profile, see above: the profile does not represent it",
            args.model
        );
    }
    Ok(())
}

impl Agree {
    /// Probes the model and writes the profile to `folder`.
    fn probe(&self, folder: &Path, global: &Global) -> anyhow::Result<PathBuf> {
        let options = shingle_probe::options::Options::default();
        let drive = super::super::model::drive(&self.model, &self.set, None, true)?;
        let mut target = Model::new(&self.model, drive, Noise::default(), options.seed);
        let facts = target.facts().clone();
        let steps = plan(&facts, &options);
        let mut watch = Watch::new(&steps, global.quiet);
        let mut session = Session::in_memory();
        let found =
            probe(Some(&mut target), facts, &mut session, &options, &mut |name| watch.at(name))?;
        let path = folder.join("probed.toml");
        output::text(&found.profile(options.zone_blocks).to_text(), &path)?;
        Ok(path)
    }

    fn traces(&self, global: &Global) -> Vec<String> {
        if !self.traces.is_empty() {
            return self.traces.clone();
        }
        let mut traces: Vec<String> = vec!["synth:mixed".into(), "synth:zipf".into()];
        let folder = std::env::var_os("SHINGLE_TRACES").map(PathBuf::from);
        match folder.map(|folder| folder.join(REAL)).filter(|path| path.exists()) {
            Some(path) => traces.push(path.display().to_string()),
            None => note(&format!("{REAL} left out: it is not in SHINGLE_TRACES"), global.quiet),
        }
        traces
    }
}

fn read(spec: &str, requests: Option<u64>) -> anyhow::Result<Trace> {
    let mut opened = shingle_trace::open(spec, &OpenOptions { seed: 1, ..OpenOptions::default() })?;
    let shape = Shape { requests, ..Shape::default() };
    let requests = shape.read(opened.source.as_mut(), &mut |_| ())?;
    let summary = Summary::of(&requests);
    let path = Path::new(spec).file_name().map(|name| name.to_string_lossy().into_owned());
    let name = path.unwrap_or(opened.name);
    Ok(Trace { name, format: Some(opened.recognised), requests, summary })
}

/// Runs all policies on one drive.
fn runs(
    args: &Agree,
    registry: &Registry,
    trace: &Trace,
    pacing: Pacing,
    (drive, sets): (&str, &[(String, String)]),
    global: &Global,
) -> anyhow::Result<Vec<RunResult>> {
    let options = Options {
        policies: args.policies.clone(),
        drives: vec![drive.to_owned()],
        caches: vec![args.cache.clone()],
        sets: assigned(sets)?,
        pacing,
        ..Options::default()
    };
    let (jobs, _notes) = experiment::plan(&options, registry, trace)?;
    let total = (trace.requests.len() * jobs.len()) as u64;
    let progress = Progress::new("running", total, global.quiet);
    Ok(experiment::run_all(&jobs, trace, &|done| progress.add(done))?)
}

/// Returns the winning policies on the model and on the profile, if they differ by more than a
/// rounding.
fn flip<'a>(truth: &'a [RunResult], probed: &'a [RunResult]) -> Option<(&'a str, &'a str)> {
    let first = |runs: &[RunResult]| ranking(&runs.iter().collect::<Vec<_>>())[0];
    let (model, profile) = (first(truth), first(probed));
    let level = measure(&truth[profile]) <= measure(&truth[model]) * (1.0 + LEVEL);
    (!level).then(|| (truth[model].labels.policy.as_str(), probed[profile].labels.policy.as_str()))
}

fn pacing_name(pacing: Pacing) -> &'static str {
    match pacing {
        Pacing::Closed => "closed",
        Pacing::Open => "open",
    }
}

/// A run on the model and the same run on the profile.
struct Row<'a> {
    trace: &'a str,
    pacing: Pacing,
    truth: &'a RunResult,
    probed: &'a RunResult,
}

impl<'a> Row<'a> {
    fn new(trace: &'a str, pacing: Pacing, truth: &'a RunResult, probed: &'a RunResult) -> Row<'a> {
        Row { trace, pacing, truth, probed }
    }

    /// Returns the difference of the I/O times, as a part of the model's.
    fn off(&self) -> f64 {
        (self.ratio() - 1.0).abs()
    }

    fn ratio(&self) -> f64 {
        self.probed.all.seconds.total / self.truth.all.seconds.total.max(1e-9)
    }

    fn cells(&self) -> [String; 10] {
        let seconds = |run: &RunResult| format!("{:.1}", run.all.seconds.total);
        let mean = |run: &RunResult| format!("{:.2}", run.latency.mean_us / 1e3);
        let rmws = |run: &RunResult| run.all.drive_io.rmw.to_string();
        [
            self.trace.to_owned(),
            pacing_name(self.pacing).to_owned(),
            self.truth.labels.policy.clone(),
            seconds(self.truth),
            seconds(self.probed),
            format!("{:.2}{}", self.ratio(), if self.off() > IO_TIME_OFF { " ✗" } else { "" }),
            mean(self.truth),
            mean(self.probed),
            rmws(self.truth),
            rmws(self.probed),
        ]
    }
}
