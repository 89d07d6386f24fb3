//! `shingle bound`: lower bounds on band rewrites and time for any policy, and the distance of some
//! policies from them.

use std::path::{Path, PathBuf};

use anyhow::bail;
use clap::Args;
use serde::Serialize;
use shingle_core::duration::show_duration;
use shingle_core::registry::Registry;
use shingle_core::size::show_blocks;
use shingle_result::{RunResult, verdict};
use shingle_sim::bound::{self, Accesses, Prices, Room};
use shingle_sim::experiment::{self, Job, Options, Trace};

use super::setup::{assigned, setting_without_effect};
use super::traces::{mode, read_trace, seed};
use crate::Usage;
use crate::cli::{self, Global, TraceArgs};
use crate::output::{self, note, print};
use crate::progress::Progress;
use crate::table;

#[derive(Debug, Args)]
pub(crate) struct Bound {
    #[command(flatten)]
    trace: TraceArgs,
    /// Policies to compare with the bound. [default: most,sac,disk-time]
    #[arg(short, long, value_delimiter = ',', value_name = "NAME,…")]
    policies: Vec<String>,
    /// Shingled drives. [default: st8000as0002]
    #[arg(short, long, value_delimiter = ',', value_name = "NAME,…")]
    drive: Vec<String>,
    /// Cache sizes, as in `compare`. [default: 15%]
    #[arg(short, long, value_delimiter = ',', value_name = "SIZE,…")]
    cache: Vec<String>,
    /// Set a parameter, as in `compare`: drive.pb=1G, most.zone=bands.
    #[arg(long, value_name = "OWNER.NAME=VALUE", value_parser = cli::assignment)]
    set: Vec<(String, String)>,
    /// Write the results as JSON; `-` for stdout, in place of the table.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

/// A policy beside the bound.
#[derive(Serialize)]
struct Held {
    policy: String,
    /// Bands rewritten by the disk and by the host, or written in order past the buffer; those left to do included.
    rewrites: u64,
    /// Rewrites ÷ bound; `None` if the bound is 0.
    times_the_bound: Option<f64>,
    /// Done + left.
    seconds: f64,
    /// Seconds ÷ least time; `None` without a bound of time.
    times_the_least_time: Option<f64>,
}

/// The least time of any policy, if reads and rewrites take as long as in the fastest run.
#[derive(Serialize)]
struct LeastTime {
    seconds: f64,
    /// Part of it for rewriting each written band once, and reading each block once whose first
    /// access is a read.
    once_each_seconds: f64,
    rewrite_ms: f64,
    read_block_ms: f64,
}

/// The bound for a drive and a cache.
#[derive(Serialize)]
struct Found {
    drive: String,
    cache_blocks: u64,
    /// Blocks of log in the disk's buffer, and entries of its map if these are fewer.
    buffer_blocks: u64,
    buffer_entries: u64,
    /// The least rewrites of any policy.
    rewrites: f64,
    /// Bands that are written.
    bands: u64,
    written_blocks: u64,
    /// `None` if the fastest rewrote nothing.
    time: Option<LeastTime>,
    policies: Vec<Held>,
}

/// The whole result.
#[derive(Serialize)]
struct All {
    schema: &'static str,
    trace: String,
    seed: u64,
    bounds: Vec<Found>,
}

pub(crate) fn execute(args: &Bound, global: &Global, registry: &Registry) -> anyhow::Result<()> {
    let default = Options::default();
    let or = |given: &[String], default: Vec<String>| match given {
        [] => default,
        given => given.to_vec(),
    };
    let options = Options {
        seed: seed(&args.trace),
        policies: or(&args.policies, ["most", "sac", "disk-time"].map(str::to_owned).into()),
        drives: or(&args.drive, default.drives.clone()),
        caches: or(&args.cache, default.caches.clone()),
        sets: assigned(&args.set)?,
        mode: mode(&args.trace),
        ..default
    };
    args.json.as_deref().map_or(Ok(()), output::check_writable)?;
    experiment::check_options(&options, registry)?;
    let trace = read_trace(&args.trace, global)?;
    let (jobs, notes) = experiment::plan(&options, registry, &trace)?;
    setting_without_effect(&args.set, &jobs).iter().for_each(|told| note(told, global.quiet));
    notes.0.iter().for_each(|told| note(&told.text, global.quiet));
    let total = (trace.requests.len() * jobs.len()) as u64;
    let progress = Progress::new("running", total, global.quiet);
    let runs = experiment::run_all(&jobs, &trace, &|done| progress.add(done))?;
    drop(progress);
    let mut bounds: Vec<Found> = Vec::new();
    let all: Vec<&RunResult> = runs.iter().collect();
    for place in jobs.iter().zip(&runs).collect::<Vec<Ran>>().chunk_by(same_place) {
        bounds.push(found(place, &trace, &all)?);
    }
    let all = All { schema: "shingle.bound/1", trace: trace.name, seed: options.seed, bounds };
    if let Some(path) = &args.json {
        output::json(&all, path)?;
        if path == Path::new("-") {
            return Ok(());
        }
    }
    print(&shown(&all, global))
}

type Ran<'a> = (&'a Job, &'a RunResult);

fn same_place((_, a): &Ran, (_, b): &Ran) -> bool {
    (&a.labels.drive, a.labels.cache_blocks) == (&b.labels.drive, b.labels.cache_blocks)
}

/// Computes the bound for a drive and a cache, and compares the policies that were run there.
fn found(place: &[Ran], trace: &Trace, all: &[&RunResult]) -> anyhow::Result<Found> {
    let (job, run) = place[0];
    let disk = job.disk()?;
    let description = disk.drive().description();
    let (Some(bands), None) = (&description.bands, &description.exposed) else {
        bail!(Usage(format!(
            "-d {}: the bound is of disks with bands that their hosts do not see; choose one such as \
             st8000as0002 or sac-emulator",
            run.labels.drive
        )));
    };
    let room = Room::of(description, run.labels.cache_blocks);
    let accesses = Accesses::new(&trace.requests, bands, room.run_max);
    let rewrites = accesses.bound(&room, &Prices::REWRITES).cost;
    let zones_are_bands =
        |(_, run): &Ran| run.labels.parameters.get("zone").is_some_and(|zone| zone == "bands");
    let whole_bands = place.iter().any(zones_are_bands);
    let prices = Prices::of_fastest(place.iter().map(|(_, run)| *run), description, whole_bands);
    let time = prices.map(|prices| {
        let least = accesses.bound(&room, &prices);
        LeastTime {
            seconds: least.cost,
            once_each_seconds: least.at_least,
            rewrite_ms: prices.rewrite * 1e3,
            read_block_ms: prices.read * 1e3,
        }
    });
    let held = |(_, run): &Ran| {
        let (rewrites_done, seconds) = (bound::rewrites(run), verdict::done_and_left(run));
        let times_the_bound = (rewrites > 0.0).then(|| rewrites_done as f64 / rewrites);
        let times_the_least_time = time.as_ref().map(|least| seconds / least.seconds);
        let policy = verdict::name(run, all);
        Held { policy, rewrites: rewrites_done, times_the_bound, seconds, times_the_least_time }
    };
    let policies = place.iter().map(held).collect();
    Ok(Found {
        drive: run.labels.drive.clone(),
        cache_blocks: room.cache,
        buffer_blocks: room.log,
        buffer_entries: room.entries,
        rewrites,
        bands: accesses.bands(),
        written_blocks: accesses.written_blocks,
        time,
        policies,
    })
}

fn shown(all: &All, global: &Global) -> String {
    let mut text = String::new();
    for found in &all.bounds {
        let entries = match found.buffer_entries {
            entries if entries < found.buffer_blocks => {
                format!(" with {} map entries", verdict::count(entries))
            }
            _ => String::new(),
        };
        let mut told = format!(
            "{}, {}, cache {}, buffer {}{entries}: no policy can do with fewer than {} rewrites of its {} written \
             bands",
            all.trace,
            found.drive,
            show_blocks(found.cache_blocks),
            show_blocks(found.buffer_blocks),
            verdict::count(found.rewrites.ceil() as u64),
            verdict::count(found.bands),
        );
        if let Some(time) = &found.time {
            told += &format!(
                ", or in less than {} with rewrites of {:.0} ms and reads of {:.2} ms a block as the fastest here has \
                 them ({} if each is done once)",
                show_duration(time.seconds),
                time.rewrite_ms,
                time.read_block_ms,
                show_duration(time.once_each_seconds)
            );
        }
        text += &table::wrapped(&format!("{told}\n"));
        let times = |times: Option<f64>| times.map_or("-".into(), |times| format!("{times:.2}"));
        let cells: Vec<[String; 5]> = found
            .policies
            .iter()
            .map(|held| {
                let seconds = show_duration(held.seconds);
                let (rewrites, least) =
                    (times(held.times_the_bound), times(held.times_the_least_time));
                [held.policy.clone(), verdict::count(held.rewrites), rewrites, seconds, least]
            })
            .collect();
        let header =
            ["policy", "rewrites", "times the bound", "done + left", "times the least time"];
        text += &table::figure_rows(header, &cells, global.color);
        text.push('\n');
    }
    text
}
