//! `shingle reproduce PAPER --on TRACE,…`: the paper's main comparison over any traces.

use std::path::Path;

use anyhow::bail;
use shingle_core::registry::Registry;
use shingle_papers::experiment::Paper;
use shingle_papers::on::{self, Done, page};
use shingle_papers::papers;
use shingle_trace::{OpenOptions, Shape};

use super::Reproduce;
use crate::cli::Global;
use crate::commands::setup::pool;
use crate::commands::traces;
use crate::output::{self, note, print};
use crate::progress::Progress;
use crate::{Usage, table};

pub(super) fn run(
    args: &Reproduce,
    folder: &Path,
    global: &Global,
    registry: &Registry,
) -> anyhow::Result<()> {
    let paper = papers::named(&args.paper).map_err(Usage)?;
    if !args.figures.is_empty() || args.scale.is_some() || args.seeds.is_some() || args.sensitivity
    {
        bail!(Usage(
            "--figure, --scale, --seeds and --sensitivity cannot be used with --on, but for `reproduce own`"
                .into()
        ));
    }
    super::prepare(args, folder)?;
    let (pool, seed) = (pool(args.threads)?, args.seed.unwrap_or(1));
    let (mut done, mut failed) = (Vec::new(), Vec::new());
    // One after the other: a trace may be large.
    for trace in &args.on {
        match pool.install(|| over(paper, trace, seed, args, global, registry)) {
            Ok(over) => done.push(over),
            // The other traces may succeed.
            Err(error) if args.on.len() > 1 => failed.push(format!("{error:#}")),
            Err(error) => return Err(error),
        }
    }
    let result = on::together(paper, seed, done);
    if !result.traces.is_empty() {
        let index = folder.join("index.html");
        output::text(&page::page(&result, &crate::report::making())?, &index)?;
        match args.json.as_deref() {
            Some(path) if path == Path::new("-") => output::json(&result, path)?,
            json => {
                json.map_or(Ok(()), |path| output::json(&result, path))?;
                print(&table::on_traces(&result, global.color))?;
                note(&format!("the page with pictures: {}", index.display()), global.quiet);
            }
        }
    }
    match failed.len() {
        0 => Ok(()),
        count => bail!("{count} of {} traces were not run:\n{}", args.on.len(), failed.join("\n")),
    }
}

fn over(
    paper: &'static Paper,
    trace: &str,
    seed: u64,
    args: &Reproduce,
    global: &Global,
    registry: &Registry,
) -> anyhow::Result<Done> {
    let (format, volume) = (args.format.clone(), super::volume(args));
    let options = OpenOptions { format, volume, seed, ..OpenOptions::default() };
    let mut opened = shingle_trace::open(trace, &options)?;
    let shape = Shape { mode: paper.comparison.grid.mode, ..Shape::default() };
    let requests = traces::read_requests(&shape, &mut opened, global)?;
    let progress = Progress::new("running", on::work(paper, requests.len() as u64), global.quiet);
    let served = |count| progress.add(count);
    Ok(on::run(paper, &opened.name, requests, seed, registry, &served)?)
}
