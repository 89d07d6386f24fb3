//! `shingle sweep`: runs a grid of configurations, in a folder that survives a kill.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::bail;
use clap::{Args, Subcommand};
use shingle_core::registry::Registry;
use shingle_result::Report;
use shingle_sim::experiment::Options;
use shingle_sweep::{Order, Plan, PlanTrace, Shard, merge};

use super::setup::{check_files, check_pacing, check_store, deliver, options, pool};
use super::traces::{DEFAULT_TRACE, Traces};
use crate::Usage;
use crate::cli::{Global, SetupArgs, TraceArgs};
use crate::config::Config;
use crate::lines;
use crate::listener::Listener;
use crate::output::{self, Tried, note};
use crate::progress::Progress;
use crate::table;

#[derive(Debug, Default, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Sweep {
    #[command(subcommand)]
    command: Option<SweepCommand>,
    #[command(flatten)]
    setup: SetupArgs,
    /// Policies; `all` for all that work with the drives. [default: those of
    /// none,lru,lru-band,most,sac that do]
    #[arg(short, long, value_delimiter = ',', value_name = "NAME,…")]
    policies: Vec<String>,
    /// What else is varied: trace, seed, pacing, drive, translation, ssd, cache, policy, or OWNER.NAME
    /// as for --set. Values are lists and ranges: 1%,2%,5%; 1%..8% doubles; 1%..10%/5 is five in
    /// equal factors; 0.2..1+0.2 goes in steps.
    #[arg(long, value_name = "NAME=VALUES,…")]
    vary: Vec<String>,
    /// Folder that keeps finished cells; the same command resumes there. [default: sweep-TRACE]
    #[arg(long, short, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Start over, and discard what the folder holds.
    #[arg(long)]
    fresh: bool,
    /// Compute one shard of several, as in 2/8; `shingle sweep merge` merges them.
    #[arg(long, value_name = "I/N")]
    shard: Option<String>,
}

#[derive(Debug, Subcommand)]
enum SweepCommand {
    /// Merge the shards of a sweep.
    #[command(
        after_help = "Example: shingle sweep merge share-1 share-2 --out whole --csv whole.csv"
    )]
    Merge(Merge),
}

#[derive(Debug, Args)]
struct Merge {
    /// Folders of all shards.
    #[arg(required = true, value_name = "DIR")]
    folders: Vec<PathBuf>,
    /// Folder for the whole sweep.
    #[arg(long, short, value_name = "DIR")]
    out: PathBuf,
    /// Overwrite another sweep there.
    #[arg(long)]
    fresh: bool,
    /// Write the results as JSON; `-` for stdout, in place of the table.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Write the results as CSV; `-` for stdout, in place of the table.
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,
}

pub(crate) fn execute(args: &Sweep, global: &Global, registry: &Registry) -> anyhow::Result<()> {
    if let Some(SweepCommand::Merge(args)) = &args.command {
        return put_together(args, global);
    }
    let config = args.setup.config.as_deref().map(Config::read).transpose()?;
    let grid = Grid::new(args, config.as_ref())?;
    let setup = &grid.setup;
    let shard = match &args.shard {
        None => Shard::default(),
        Some(text) => Shard::parse(text).map_err(|error| Usage(format!("--shard {error}")))?,
    };
    if shard.count > 1 && (setup.json.is_some() || setup.csv.is_some()) {
        bail!(Usage(
            "--shard: a share has no results of its own; `shingle sweep merge` takes \
                     --json and --csv"
                .into()
        ));
    }
    check_files(setup)?;
    let (plan, options) =
        grid.plan(registry, global, &mut |setup| Traces::Named.for_runs(setup, global))?;
    let plan = Arc::new(plan);
    let out = args.out.clone().unwrap_or_else(|| default_folder(&plan, shard));
    let pool = pool(setup.threads)?;
    let mut sweep = shingle_sweep::Sweep::open(plan.clone(), &options, shard, &out, args.fresh)?;
    let folder = out.display();
    if sweep.done() > 0 {
        let text = format!("{folder}: {} of {} cells are done already", sweep.done(), plan.len());
        note(&text, global.quiet);
    }
    {
        let progress = Progress::new("sweeping", sweep.requests(), global.quiet);
        let add = |done| progress.add(done);
        pool.install(|| sweep.run(&add))?;
    }
    let done = sweep.done();
    match sweep.finish(output::program())? {
        Some(report) => show(&report, &out, setup, global),
        None => {
            let text = format!(
                "{folder}: share {shard} is done, {done} of {} cells; `shingle sweep merge` puts all \
                 shares together",
                plan.len()
            );
            note(&text, global.quiet);
            Ok(())
        }
    }
}

impl Sweep {
    /// Creates a sweep with these options alone.
    pub(crate) fn of(setup: SetupArgs, vary: Vec<String>) -> Sweep {
        Sweep { setup, vary, ..Sweep::default() }
    }
}

/// The dimensions of a sweep, with defaults applied.
pub(crate) struct Grid {
    setup: SetupArgs,
    policies: Vec<String>,
    vary: Vec<String>,
}

impl Grid {
    /// Creates a grid from options, and from `config` where they are not given.
    pub(crate) fn new(args: &Sweep, config: Option<&Config>) -> anyhow::Result<Grid> {
        let mut setup = args.setup.clone();
        let mut policies = args.policies.clone();
        if let Some(config) = config {
            config.complete(&mut setup);
            if policies.is_empty() {
                policies.extend(config.policies.iter().flatten().cloned());
            }
        }
        check_given(&args.vary, &policies, &setup)?;
        Ok(Grid { setup, policies, vary: args.vary.clone() })
    }

    /// Plans the cells over the traces that `read` returns, and the options of all.
    pub(crate) fn plan(
        &self,
        registry: &Registry,
        listener: &dyn Listener,
        read: &mut dyn FnMut(&SetupArgs) -> anyhow::Result<PlanTrace>,
    ) -> anyhow::Result<(Plan, Options)> {
        check_store(&self.setup)?;
        let paced = |vary: &String| vary.split(',').any(|axis| axis.trim().starts_with("pacing="));
        if !self.vary.iter().any(paced) {
            check_pacing(self.setup.pacing, self.setup.speed, self.setup.depth)?;
        }
        // Time series and heat maps of all cells would fill the folder, and pages of sweeps draw
        // none.
        let options = options(&self.setup, self.policies.clone(), None, 0)?;
        let options = Options { points: 0, heat_rows: 0, ..options };
        let of_trace = &self.setup.trace;
        let order = Order {
            options: &options,
            trace: of_trace.trace.as_deref().unwrap_or(DEFAULT_TRACE),
            vary: &self.vary,
            registry,
        };
        let plan = Plan::new(&order, &mut |name, seed| {
            let trace =
                TraceArgs { trace: Some(name.into()), seed: Some(seed), ..of_trace.clone() };
            read(&SetupArgs { trace, ..self.setup.clone() })
        })?;
        plan.notes.iter().for_each(|text| listener.note(text));
        Ok((plan, options))
    }
}

fn put_together(args: &Merge, global: &Global) -> anyhow::Result<()> {
    let setup =
        SetupArgs { json: args.json.clone(), csv: args.csv.clone(), ..SetupArgs::default() };
    check_files(&setup)?;
    let report = merge(&args.folders, &args.out, args.fresh, output::program())?;
    show(&report, &args.out, &setup, global)
}

/// Prints the table and writes the files.
fn show(report: &Report, out: &Path, setup: &SetupArgs, global: &Global) -> anyhow::Result<()> {
    let mut tried = Tried::default();
    tried.add(deliver(report, setup, global.quiet, || table::sweep(report, global.color)));
    let csv = lines::csv(&lines::columns(report)?);
    tried.add(csv.and_then(|csv| output::text(&csv, &out.join("results.csv"))));
    tried.end()?;
    let text = format!("{}: results.json and results.csv have it all", out.display());
    note(&text, global.quiet);
    Ok(())
}

/// Checks that no option is both varied and given.
fn check_given(vary: &[String], policies: &[String], setup: &SetupArgs) -> anyhow::Result<()> {
    let given = [
        ("policy", "-p", !policies.is_empty()),
        ("drive", "-d", !setup.drives.is_empty()),
        ("translation", "-t", !setup.translations.is_empty()),
        ("cache", "-c", !setup.cache.is_empty()),
        ("ssd", "-s", setup.ssd.is_some()),
        ("pacing", "--pacing", setup.pacing.is_some()),
        ("seed", "--seed", setup.trace.seed.is_some()),
        ("trace", "a trace", setup.trace.trace.is_some()),
    ];
    for (axis, option, given) in given {
        let varied =
            |text: &String| text.split(',').any(|part| part.starts_with(&format!("{axis}=")));
        if given && vary.iter().any(varied) {
            bail!(Usage(format!("--vary {axis}: {option} is given as well; give one of them")));
        }
    }
    Ok(())
}

/// Returns `sweep-` and the name of the trace, in characters that every file system allows.
fn default_folder(plan: &Plan, shard: Shard) -> PathBuf {
    let name = plan.traces[0].name.chars();
    let name: String = name
        .map(|c| if c.is_ascii_alphanumeric() || "._-".contains(c) { c } else { '-' })
        .collect();
    let share = match shard.count {
        1 => String::new(),
        count => format!("-{}-of-{count}", shard.index),
    };
    format!("sweep-{name}{share}").into()
}
