//! The commands as functions, for front ends that are no command line; the Python package is one.
//!
//! Options have the same names, values and defaults as in a `--config` file, and results are what
//! `--json` writes: each function runs what its command runs. Errors are those with which the
//! command would end; [`is_usage`] tells which of them are wrong options.

use std::borrow::Cow;
use std::ffi::OsStr;
use std::path::Path;

use serde_json::{Map, Value};
use shingle_core::registry::Registry;
use shingle_result::Report;
use shingle_sim::experiment::Trace;
use shingle_sweep::Plan;
use shingle_trace::Summary;

use crate::cli::{SetupArgs, TraceArgs};
use crate::commands::compare::{Compare, Comparison};
use crate::commands::list::{self, Listed};
use crate::commands::run::{One, Run};
pub use crate::commands::setup::Asked;
use crate::commands::sweep::{Grid, Sweep};
use crate::commands::trace::info;
use crate::commands::traces::{self, Traces};
use crate::config::Config;
pub use crate::lines::{Column, Holds, columns, csv};
pub use crate::listener::{Bar, Listener};
use crate::output;
pub use shingle_sim::experiment::Options as Experiment;

/// Options by their names in a `--config` file.
pub struct Options(Config, Settings);

/// Options that a `--config` file does not have.
#[derive(Default, serde::Deserialize)]
struct Settings {
    /// Record the time series of each run, as for `--html`.
    #[serde(default)]
    course: bool,
    /// `--target` of `compare`.
    #[serde(default)]
    targets: Vec<String>,
    /// `--vary` of `sweep`.
    #[serde(default)]
    vary: Vec<String>,
}

/// Names of the options in [`Settings`].
const BESIDE: [&str; 3] = ["course", "targets", "vary"];

impl Options {
    /// Creates options from names and values.
    ///
    /// # Errors
    /// If there is no such option, or a value is not of its kind: a line that names it.
    pub fn new(given: Map<String, Value>) -> anyhow::Result<Options> {
        let (beside, of_file): (Vec<_>, Vec<_>) =
            given.into_iter().partition(|(name, _)| BESIDE.contains(&name.as_str()));
        let beside = Value::Object(beside.into_iter().collect());
        let settings = serde_json::from_value(beside)
            .map_err(|error| crate::Usage(format!("targets, vary, course: {error}")))?;
        Ok(Options(Config::of(of_file.into_iter().collect())?, settings))
    }

    /// Returns the names of all options.
    #[must_use]
    pub fn names() -> Vec<String> {
        Config::names().into_iter().chain(BESIDE.map(str::to_owned)).collect()
    }

    fn setup(&self) -> SetupArgs {
        SetupArgs { course: self.1.course, ..SetupArgs::default() }
    }

    fn trace(&self) -> TraceArgs {
        let mut setup = self.setup();
        self.0.complete(&mut setup);
        setup.trace
    }
}

fn traces(held: Option<&Trace>) -> Traces<'_> {
    held.map_or(Traces::Named, Traces::Held)
}

/// Runs `shingle compare` over the trace `held`, or else the one that the options name.
///
/// # Errors
/// Those of the command.
pub fn compare(options: &Options, held: Option<&Trace>, asked: &Asked) -> anyhow::Result<Report> {
    let targets = options.1.targets.clone();
    let args = Compare { setup: options.setup(), targets, ..Compare::default() };
    let comparison = Comparison::new(&args, Some(&options.0))?;
    Ok(comparison.run(traces(held), asked.clone())?.report)
}

/// Runs `shingle run` over the trace `held`, or else the one that the options name.
///
/// # Errors
/// Those of the command.
pub fn run(options: &Options, held: Option<&Trace>, asked: &Asked) -> anyhow::Result<Report> {
    let args = Run { setup: options.setup(), ..Run::default() };
    let one = One::new(&args, Some(&options.0))?;
    one.run(traces(held), asked.clone(), |_, _| Ok(None))
}

/// Plans what `shingle sweep` would compute, over traces that `held` returns by name and seed, or
/// else traces that are read by name.
///
/// # Errors
/// Those of the command.
pub fn plan(
    options: &Options,
    held: &dyn Fn(&str, u64) -> Option<Trace>,
    asked: &Asked,
) -> anyhow::Result<(Plan, Experiment)> {
    let args = Sweep::of(options.setup(), options.1.vary.clone());
    let grid = Grid::new(&args, Some(&options.0))?;
    grid.plan(asked.registry, asked.listener, &mut |setup| {
        let (name, seed) = (setup.trace.trace.as_deref(), setup.trace.seed);
        let found = held(name.unwrap_or_default(), seed.unwrap_or(1));
        let Trace { name, format, requests, summary } =
            traces(found.as_ref()).for_runs(setup, asked.listener)?;
        Ok(Trace { name, format, requests: requests.into_owned(), summary })
    })
}

/// Reads the trace that the options name, and shapes it.
///
/// # Errors
/// Those of every command that reads a trace.
pub fn read(options: &Options, listener: &dyn Listener) -> anyhow::Result<Trace> {
    traces::read_trace(&options.trace(), listener)
}

/// Filters and shapes a trace in memory by the options.
///
/// # Errors
/// If nothing is left, or it does not fit a disk.
pub fn shaped<'a>(
    options: &Options,
    held: &'a Trace,
    listener: &dyn Listener,
) -> anyhow::Result<Cow<'a, Trace>> {
    Traces::Held(held).get(&options.trace(), listener)
}

/// Reads a trace called `name` from its bytes, as the options say, and shapes it.
///
/// # Errors
/// Those of every command that reads a trace.
pub fn read_bytes(
    options: &Options,
    name: &str,
    bytes: Vec<u8>,
    listener: &dyn Listener,
) -> anyhow::Result<Trace> {
    let args = options.trace();
    let mut opened = shingle_trace::open_bytes(name, bytes, &traces::open_options(&args)?)?;
    let requests = traces::read_requests(&traces::shape(&args)?, &mut opened, listener)?;
    let summary = Summary::of(&requests);
    Ok(Trace { name: opened.name, format: Some(opened.recognised), requests, summary })
}

/// Parses a factor above zero, in thousandths, as `--time-scale` does.
///
/// # Errors
/// If it is not such a number.
pub fn factor(text: &str) -> anyhow::Result<u64> {
    Ok(crate::cli::factor(text).map_err(crate::Usage)?)
}

/// Returns the output of `shingle trace info --json -`.
#[must_use]
pub fn describe(trace: &Trace, listener: &dyn Listener) -> Value {
    info::value(trace, listener)
}

/// Returns the output of `shingle list WHAT --json`: `policies`, `drives`, `translations`, `ssds`,
/// `formats` or `workloads`.
///
/// # Errors
/// If there is no such list.
pub fn list(what: &str, registry: &Registry) -> anyhow::Result<Vec<Value>> {
    let what = <Listed as clap::ValueEnum>::from_str(what, false).map_err(crate::Usage)?;
    list::all(what, registry)
}

/// Returns the pictures of the page about `report`, with the names of their files.
#[cfg(feature = "pictures")]
#[must_use]
pub fn pictures(report: &Report) -> Vec<(&'static str, shingle_report::chart::Picture)> {
    crate::report::pictures(report)
}

/// Returns the page that `--html` writes about `report`.
///
/// # Errors
/// If a picture cannot be drawn.
#[cfg(feature = "pictures")]
pub fn page(report: &Report) -> anyhow::Result<String> {
    crate::report::page(report)
}

/// Writes `report` to a file, as `--json`, `--csv`, `--parquet` or `--html` do. The extension of
/// the name decides.
///
/// # Errors
/// If the extension is unknown, or the file cannot be written.
pub fn save(report: &Report, path: &Path) -> anyhow::Result<()> {
    match path.extension().and_then(OsStr::to_str) {
        Some("json") => output::json(report, path),
        Some("csv") => output::text(&csv(&columns(report)?)?, path),
        #[cfg(feature = "parquet")]
        Some("parquet") => output::bytes(&crate::parquet::parquet(&columns(report)?)?, path),
        #[cfg(feature = "pictures")]
        Some("html") => output::text(&page(report)?, path),
        _ => {
            let path = path.display();
            let why = format!("{path}: end the name in .json, .csv, .parquet or .html");
            Err(crate::Usage(why).into())
        }
    }
}

/// Returns whether an error is about a wrong option, name or value (exit code 2), as opposed to bad
/// data or a failure.
#[must_use]
pub fn is_usage(error: &anyhow::Error) -> bool {
    crate::exit_code(error) == 2
}
