//! `shingle bound`: how few band rewrites any policy can do with, and how far from that some are.

use std::path::{Path, PathBuf};

use anyhow::bail;
use clap::Args;
use serde::Serialize;
use shingle_core::registry::Registry;
use shingle_core::size::show_bytes;
use shingle_core::units::{BLOCK_BYTES, Request};
use shingle_drive::Description;
use shingle_result::{RunResult, verdict};
use shingle_sim::bound::{Bound as Least, Writes};
use shingle_sim::experiment::{self, Job, Options};

use super::setup::{assigned, mode, read_trace, seed};
use crate::Usage;
use crate::cli::{self, Global, TraceArgs};
use crate::output::{self, note, print};
use crate::progress::Progress;
use crate::table;

#[derive(Debug, Args)]
pub(crate) struct Bound {
    #[command(flatten)]
    trace: TraceArgs,
    /// Policies to hold against the bound. [default: most,sac,disk-time]
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
    /// Write all of it as JSON; `-` for stdout, in place of the table.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

/// A policy beside the bound.
#[derive(Serialize)]
struct Held {
    policy: String,
    /// Bands rewritten by the disk and by the host, those left to do included.
    rewrites: u64,
    /// `None` where the bound is none.
    times_the_bound: Option<f64>,
}

/// The bound for a drive and a cache.
#[derive(Serialize)]
struct Found {
    drive: String,
    cache_blocks: u64,
    buffer_blocks: u64,
    /// No policy can do with fewer.
    rewrites: f64,
    /// Bands that are written at all.
    bands: u64,
    written_blocks: u64,
    policies: Vec<Held>,
}

/// All of it.
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
    let trace = read_trace(&args.trace, global)?;
    let (jobs, notes) = experiment::plan(&options, registry, &trace)?;
    notes.0.iter().for_each(|told| note(&told.text, global.quiet));
    let total = (trace.requests.len() * jobs.len()) as u64;
    let progress = Progress::new("running", total, global.quiet);
    let runs = experiment::run_all(&jobs, &trace, &|done| progress.add(done))?;
    drop(progress);
    let mut bounds: Vec<Found> = Vec::new();
    for (job, run) in jobs.iter().zip(&runs) {
        let same = |found: &Found| {
            (&found.drive, found.cache_blocks) == (&run.labels.drive, run.labels.cache_blocks)
        };
        let at = match bounds.iter().position(same) {
            Some(at) => at,
            None => {
                bounds.push(found(job, run, &trace.requests)?);
                bounds.len() - 1
            }
        };
        let rewrites = verdict::rewrites(run).iter().sum::<u64>();
        #[allow(clippy::cast_precision_loss)]
        let times_the_bound =
            (bounds[at].rewrites > 0.0).then(|| rewrites as f64 / bounds[at].rewrites);
        bounds[at].policies.push(Held {
            policy: verdict::name(run, &runs.iter().collect::<Vec<_>>()),
            rewrites,
            times_the_bound,
        });
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

fn found(job: &Job, run: &RunResult, requests: &[Request]) -> anyhow::Result<Found> {
    let disk = job.disk()?;
    let Description { bands, buffer_blocks, in_order, exposed, .. } = disk.drive().description();
    let (Some(bands), None) = (bands, exposed) else {
        bail!(Usage(format!(
            "-d {}: the bound is of disks with bands that their hosts do not see; choose one such as \
             st8000as0002 or sac-emulator",
            run.labels.drive
        )));
    };
    let buffer_blocks = in_order.log_blocks.max(*buffer_blocks);
    let places = buffer_blocks + run.labels.cache_blocks;
    let Least { rewrites, bands, written_blocks, .. } = Writes::new(requests, bands).bound(places);
    Ok(Found {
        drive: run.labels.drive.clone(),
        cache_blocks: run.labels.cache_blocks,
        buffer_blocks,
        rewrites,
        bands,
        written_blocks,
        policies: Vec::new(),
    })
}

fn shown(all: &All, global: &Global) -> String {
    let mut text = String::new();
    for found in &all.bounds {
        let size = |blocks: u64| show_bytes(blocks * BLOCK_BYTES);
        text += &format!(
            "{}, {}, cache {}, buffer {}: no policy can do with fewer than {} rewrites of its {} written \
             bands\n",
            all.trace,
            found.drive,
            size(found.cache_blocks),
            size(found.buffer_blocks),
            verdict::count(found.rewrites.ceil() as u64),
            verdict::count(found.bands),
        );
        let cells: Vec<[String; 3]> = found
            .policies
            .iter()
            .map(|held| {
                let times = held.times_the_bound.map_or("-".into(), |times| format!("{times:.2}"));
                [held.policy.clone(), verdict::count(held.rewrites), times]
            })
            .collect();
        text +=
            &table::figure_rows(["policy", "rewrites", "times the bound"], &cells, global.color);
        text.push('\n');
    }
    text
}
