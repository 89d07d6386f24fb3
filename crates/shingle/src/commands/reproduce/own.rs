//! `shingle reproduce own`: the policy of this project against all published ones.

use std::path::Path;

use anyhow::bail;
use shingle_core::registry::Registry;
use shingle_papers::own::{self, Order, page};

use super::Reproduce;
use crate::cli::Global;
use crate::commands::setup::pool;
use crate::output::{self, note, print};
use crate::progress::Progress;
use crate::{Usage, table};

/// The name given instead of a paper.
pub(super) const NAME: &str = "own";

pub(super) fn run(
    args: &Reproduce,
    folder: &Path,
    global: &Global,
    registry: &Registry,
) -> anyhow::Result<()> {
    if args.traces.is_some()
        || args.full
        || args.every_zone.is_some()
        || args.drive.is_some()
        || args.before.is_some()
        || !args.free.is_empty()
        || args.write
        || args.fresh
    {
        bail!(Usage(
            "reproduce own takes --figure, --on, --volume, --format, --scale, --seeds, --seed, --sensitivity, \
             --no-bound, --threads, --json and --out alone"
                .into()
        ));
    }
    let known = || own::DISKS.iter().map(|disk| disk.name);
    if let Some(disk) = args.figures.iter().find(|name| known().all(|other| other != name.as_str()))
    {
        let names: Vec<&str> = known().collect();
        bail!(Usage(format!("there is no part `{disk}` of it; there are {}", names.join(", "))));
    }
    let scale = args.scale.unwrap_or(1.0);
    if !(scale > 0.0 && scale <= 1.0) {
        bail!(Usage(format!("--scale {scale}: give a part of the work, above 0 up to 1")));
    }
    let order = Order {
        seeds: super::seeds(args)?,
        scale,
        on: args.on.clone(),
        alone: !args.on.is_empty(),
        disks: args.figures.clone(),
        format: args.format.clone(),
        volume: super::volume(args),
        sensitivity: args.sensitivity,
        bounds: !args.no_bound,
        registry,
    };
    super::prepare(args, folder)?;
    let result = {
        let progress = Progress::new("comparing", own::work(&order), global.quiet);
        pool(args.threads)?.install(|| own::run(&order, &|cells| progress.add(cells)))?
    };
    let index = folder.join("index.html");
    output::text(&page::page(&result, &crate::report::making()), &index)?;
    if let Some(path) = &args.json {
        output::json(&result, path)?;
        if path == Path::new("-") {
            return Ok(());
        }
    }
    print(&table::own(&result, global.color))?;
    result.left_out.iter().for_each(|left_out| note(left_out, global.quiet));
    note(&format!("the page with every policy: {}", index.display()), global.quiet);
    Ok(())
}
