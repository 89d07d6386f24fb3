//! `shingle reproduce`: a paper's tables and figures, computed values beside published ones.

mod on;
mod own;

use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use anyhow::{Context, anyhow, bail};
use clap::Args;
use shingle_core::registry::Registry;
use shingle_drive::measure;
use shingle_papers::experiment::Figure;
use shingle_papers::kept::Kept;
use shingle_papers::page;
use shingle_papers::papers;
use shingle_papers::result::Reproduction;
use shingle_papers::runner::{Order, reproduce};
use shingle_papers::scale::Scale;
use shingle_papers::sensitivity::{Sensitivity, sensitivity};
use shingle_papers::traces::Traces;
use shingle_papers::turned::Before;
use shingle_trace::Choice;

use crate::cli::{self, Global};
use crate::commands::setup::pool;
use crate::output::{self, note, print};
use crate::progress::Progress;
use crate::{Usage, table};

#[derive(Debug, Args)]
pub(crate) struct Reproduce {
    /// The paper: sac, pore, roco, amphisbaena or mcm; or own, for this project's policy against
    /// all published ones.
    paper: String,
    /// Only these figures and tables: 14, table-5. [default: all]
    #[arg(long = "figure", value_delimiter = ',', value_name = "ID,…")]
    figures: Vec<String>,
    /// Directory with the MSR Cambridge traces as SNIA distributes them (prn_0.csv.gz …). Without
    /// it, synthetic workloads with the published figures of each volume are used.
    #[arg(long, value_name = "DIR")]
    traces: Option<PathBuf>,
    /// Run the paper's main comparison over these traces instead of its figures: files of any
    /// format, or workloads such as synth:zipf. Caches and buffers are those of the paper, or
    /// smaller so that they are used up.
    #[arg(long, value_delimiter = ',', value_name = "TRACE,…", conflicts_with_all = [
        "traces", "free", "full", "every_zone", "drive", "write", "fresh", "before",
    ])]
    on: Vec<String>,
    /// With --on: which volume of each trace, or several, or '*' for all.
    #[arg(long, value_name = "NAME,…", requires = "on")]
    volume: Option<String>,
    /// With --on: the format of the traces, where it is not recognised.
    #[arg(long, value_name = "NAME", requires = "on")]
    format: Option<String>,
    /// Set a free parameter of the synthetic workloads, as in cold=0.1, or cold=x2 for twice its
    /// default; `shingle list workloads msr-NAME` lists them.
    #[arg(long, value_name = "NAME=VALUE", value_parser = cli::assignment)]
    free: Vec<(String, String)>,
    /// Part of the paper's work, above 0 up to 1: fewer copies and requests. [default: each figure
    /// has its own]
    #[arg(long, value_name = "PART")]
    scale: Option<f64>,
    /// Do all of the paper's work.
    #[arg(long, conflicts_with = "scale")]
    full: bool,
    /// Keep one zone in N, and shrink cache and buffer to match. Refused where fewer than 30 zones
    /// would fit the buffer. [default: 1]
    #[arg(long, value_name = "N", value_parser = cli::whole::<u64>)]
    every_zone: Option<u64>,
    /// Number of seeds to repeat everything with; a statement agrees if it does with each.
    /// [default: 1]
    #[arg(long, value_name = "N", value_parser = cli::whole::<u64>)]
    seeds: Option<u64>,
    /// The first seed. [default: 1]
    #[arg(long, value_name = "N", value_parser = cli::whole::<u64>)]
    seed: Option<u64>,
    /// With --figure 10 of sac: the drive whose R(x) is measured. [default: st8000as0002]
    #[arg(short, long, value_name = "NAME")]
    drive: Option<String>,
    /// With --figure 10 of sac: write the measurement into the drive's sheet,
    /// crates/shingle-drive/data/NAME.toml of the checkout this is run in.
    #[arg(long)]
    write: bool,
    /// Repeat everything with each free parameter of the synthetic workloads halved and doubled, on
    /// less work, and show how the verdicts change. For own: with other buffers, caches, zones,
    /// costs and batches, on as much work.
    #[arg(long, conflicts_with = "traces")]
    sensitivity: bool,
    /// With own: leave out the lower bounds. On drive-managed disks they take most of the time.
    #[arg(long)]
    no_bound: bool,
    /// An earlier --json result of this paper: show which statements agree now and did not then,
    /// and the other way round.
    #[arg(long, value_name = "FILE")]
    before: Option<PathBuf>,
    /// Do all runs again. Otherwise runs that the same program has completed in the folder before
    /// are reused, so that an interrupted reproduction continues.
    #[arg(long)]
    fresh: bool,
    /// Folder for the page and its pictures. [default: reproduce-PAPER]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Write verdicts and numbers as JSON; `-` for stdout, in place of the table.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Runs in parallel. [default: one a core]
    #[arg(long, value_name = "N", value_parser = cli::whole::<usize>)]
    threads: Option<usize>,
}

/// Work of the runs that vary free parameters, unless all is scaled smaller: half of one copy of a
/// large trace, and a sixteenth of single volumes.
const VARIED: Scale = Scale { work: 1.0 / 36.0, volumes: 1.0 / 16.0, every_zone: 1 };

pub(crate) fn execute(
    args: &Reproduce,
    global: &Global,
    registry: &Registry,
) -> anyhow::Result<()> {
    if args.no_bound && args.paper != own::NAME {
        bail!(Usage("--no-bound: only `reproduce own` computes bounds".into()));
    }
    let folder = match &args.out {
        Some(folder) => folder.clone(),
        None => format!("reproduce-{}", args.paper).into(),
    };
    let done = match (args.paper == own::NAME, args.on.is_empty()) {
        (true, _) => own::run(args, &folder, global, registry),
        (false, true) => run(args, &folder, global, registry),
        (false, false) => on::run(args, &folder, global, registry),
    };
    if done.is_err() {
        // An empty file is useless.
        let runs = folder.join(RUNS);
        if runs.metadata().is_ok_and(|runs| runs.len() == 0) {
            let _ = std::fs::remove_file(runs);
        }
        let _ = std::fs::remove_dir(&folder);
    }
    done
}

fn run(
    args: &Reproduce,
    folder: &Path,
    global: &Global,
    registry: &Registry,
) -> anyhow::Result<()> {
    let order = order(args, registry)?;
    let before = args.before.as_deref().map(|file| before(file, &order)).transpose()?;
    prepare(args, folder)?;
    let kept = kept(folder, args.fresh)?;
    match kept.runs() {
        0 => {}
        runs => {
            note(&format!("{runs} runs are done already; --fresh does them again"), global.quiet)
        }
    }
    let order = Order { kept: Some(&kept), ..order };
    let pool = pool(args.threads)?;
    let result = {
        let progress = Progress::new("running", 0, global.quiet);
        let (total, add) = (|total| progress.set(0, total), |done| progress.add(done));
        pool.install(|| reproduce(&order, &total, &add))?
    };
    let making = crate::report::making();
    let page = folder.join("index.html");
    // The results so far are saved, even if the rest fails.
    let save_page = |varied| output::text(&page::page(&result, varied, &making), &page);
    save_pictures(folder, &result)?;
    save_page(None)?;
    let varied = args.sensitivity.then(|| vary(&order, &pool, global)).transpose()?;
    if varied.is_some() {
        save_page(varied.as_ref())?;
    }
    if let Some(path) = &args.json {
        output::json(&serde_json::json!({ "result": &result, "sensitivity": varied }), path)?;
        if path == Path::new("-") {
            return Ok(());
        }
    }
    print(&table::reproduction(&result, global.color))?;
    if let Some(before) = &before {
        print(&table::differences(&before.differences(&result), global.color))?;
    }
    if args.write {
        write_sheet(args.drive.as_deref().unwrap_or(MEASURED_DRIVE), global.quiet)?;
    }
    note(&format!("the page with all pictures and numbers: {}", page.display()), global.quiet);
    Ok(())
}

/// Returns what is to be reproduced.
fn order<'a>(args: &Reproduce, registry: &'a Registry) -> anyhow::Result<Order<'a>> {
    let paper = papers::named(&args.paper).map_err(Usage)?;
    check_drive(args)?;
    let figures: Result<Vec<&'static Figure>, String> = match args.figures.as_slice() {
        [] => Ok(paper.figures.iter().collect()),
        ids => ids.iter().map(|id| paper.figure(id)).collect(),
    };
    Ok(Order {
        paper,
        figures: figures.map_err(Usage)?,
        seeds: seeds(args)?,
        scale: scale(args)?,
        traces: Traces { directory: args.traces.clone(), free: args.free.clone() },
        drive: args.drive.clone(),
        registry,
        kept: None,
    })
}

/// Runs with other values of what no paper fixes.
fn vary(order: &Order, pool: &rayon::ThreadPool, global: &Global) -> anyhow::Result<Sensitivity> {
    let scale = order.scale.map_or(VARIED, |scale| Scale {
        work: scale.work.min(VARIED.work),
        volumes: scale.volumes.min(VARIED.volumes),
        every_zone: 1,
    });
    let progress = Progress::new("what no paper fixes", 0, global.quiet);
    let (total, add) = (|total| progress.extend(total), |done| progress.add(done));
    Ok(pool.install(|| sensitivity(order, scale, &total, &add))?)
}

/// Reads an earlier reproduction. Errors are reported now, not after half an hour.
fn before(file: &Path, order: &Order) -> anyhow::Result<Before> {
    let text = std::fs::read_to_string(file)
        .with_context(|| format!("{}: cannot be read", file.display()))?;
    Before::read(&text, order.paper.name).map_err(|wrong| anyhow!("{}: {wrong}", file.display()))
}

/// Checks that all files can be written, now, not after half an hour.
fn prepare(args: &Reproduce, folder: &Path) -> anyhow::Result<()> {
    std::fs::create_dir_all(folder)
        .with_context(|| format!("{}: cannot make the folder for the page", folder.display()))?;
    args.json.as_deref().map_or(Ok(()), output::check_writable)
}

/// Finished runs in the folder of a reproduction.
const RUNS: &str = "runs.jsonl";

/// Returns the runs that this same program has completed for this folder.
fn kept(folder: &Path, fresh: bool) -> anyhow::Result<Kept> {
    let path = folder.join(RUNS);
    if fresh && path.exists() {
        std::fs::remove_file(&path)
            .with_context(|| format!("{}: cannot remove it", path.display()))?;
    }
    // The version alone is not enough: it does not change with each build during work on a policy.
    let program = std::env::current_exe().and_then(std::fs::metadata);
    let program = program.context("cannot find this program itself")?;
    let changed = program.modified().ok().and_then(|at| at.duration_since(UNIX_EPOCH).ok());
    let changed = changed.unwrap_or_default().as_nanos();
    let build = format!("{} {} {changed}", env!("CARGO_PKG_VERSION"), program.len());
    Ok(Kept::open(&path, build)?)
}

/// The drive that Figure 10 of SAC measures.
const MEASURED_DRIVE: &str = "st8000as0002";

/// Checks that a drive is given only with the figure that is about one.
fn check_drive(args: &Reproduce) -> anyhow::Result<()> {
    let only = args.paper == "sac" && args.figures == ["10"];
    if (args.write || args.drive.is_some()) && !only {
        bail!(Usage("-d and --write go with `reproduce sac --figure 10` alone".into()));
    }
    if let Some(name) = &args.drive {
        shingle_drive::entry(name).map_err(|error| Usage(error.to_string()))?;
    }
    Ok(())
}

/// Writes the measurement into the sheet of a checkout.
fn write_sheet(drive: &str, quiet: bool) -> anyhow::Result<()> {
    let sheet = match drive.strip_prefix(shingle_drive::SHEET) {
        Some(file) => PathBuf::from(file),
        None => Path::new("crates/shingle-drive/data").join(format!("{drive}.toml")),
    };
    if !sheet.exists() {
        bail!(
            "{}: there is no such sheet here; run this in a checkout of shingle",
            sheet.display()
        );
    }
    let changed = measure::rewrite_file(&sheet, drive, &measure::measure(drive)?)?;
    let what = if changed { "now holds what was measured" } else { "held it already" };
    note(&format!("{} {what}", sheet.display()), quiet);
    Ok(())
}

fn seeds(args: &Reproduce) -> anyhow::Result<Vec<u64>> {
    let (first, count) = (args.seed.unwrap_or(1), args.seeds.unwrap_or(1));
    if !(1..=100).contains(&count) {
        bail!(Usage(format!("--seeds {count}: give a number from 1 to 100")));
    }
    Ok((first..first.saturating_add(count)).collect())
}

fn volume(args: &Reproduce) -> Choice {
    args.volume.as_deref().map_or(Choice::Only, Choice::parse)
}

fn scale(args: &Reproduce) -> anyhow::Result<Option<Scale>> {
    let every_zone = args.every_zone.unwrap_or(1);
    if every_zone == 0 {
        bail!(Usage("--every-zone 0: give at least 1".into()));
    }
    let work = match (args.full, args.scale) {
        (true, _) => Some(1.0),
        (false, Some(scale)) if scale > 0.0 && scale <= 1.0 => Some(scale),
        (false, Some(scale)) => {
            bail!(Usage(format!(
                "--scale {scale}: give a part of the paper's work, above 0 up to 1"
            )))
        }
        (false, None) if every_zone > 1 => Some(1.0),
        (false, None) => None,
    };
    Ok(work.map(|work| Scale { every_zone, ..Scale::of(work) }))
}

/// Saves each picture as SVG and as PNG.
fn save_pictures(folder: &Path, result: &Reproduction) -> anyhow::Result<()> {
    for figure in &result.figures {
        for (nth, (_, svg)) in figure.pictures.iter().enumerate() {
            let letter = char::from(b'a' + u8::try_from(nth).unwrap_or(25).min(25));
            let name = format!("{}{letter}", figure.id);
            crate::report::save(svg, folder, &name, false)?;
            crate::report::save(svg, folder, &name, true)?;
        }
    }
    Ok(())
}
