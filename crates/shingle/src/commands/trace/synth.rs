//! `shingle trace synth`: writes a workload as a file, or the description of a trace that generates
//! similar ones.

use std::path::Path;

use anyhow::Context;
use clap::Args;
use shingle_core::units::Request;
use shingle_trace::like::{Description, Fit, Survey};
use shingle_trace::synth::{DEFAULT, PREFIX};

use super::output::{OutArgs, save_trace};
use crate::Usage;
use crate::cli::{Global, TraceArgs};
use crate::commands::traces::{open_trace, read};
use crate::output::{note, text};

#[derive(Debug, Args)]
pub(crate) struct Synth {
    #[command(flatten)]
    trace: TraceArgs,
    #[command(flatten)]
    out: OutArgs,
    /// Write a description of this trace without its block addresses; synth:like?from=FILE
    /// generates requests from it. The trace is read twice.
    #[arg(long, value_name = "TRACE", conflicts_with_all = ["trace", "to"])]
    like: Option<String>,
}

pub(crate) fn execute(args: &Synth, global: &Global) -> anyhow::Result<()> {
    if let Some(trace) = &args.like {
        args.out.check_apart([trace.as_str()])?;
        let trace = TraceArgs { trace: Some(trace.clone()), ..args.trace.clone() };
        return describe(&trace, &args.out, global);
    }
    let name = args.trace.trace.as_deref().unwrap_or(DEFAULT);
    if !name.starts_with(PREFIX) {
        let message = format!(
            "{name} is no workload such as synth:zipf; shingle trace convert writes a trace, --like \
             {name} its description"
        );
        return Err(Usage(message).into());
    }
    save_trace(&args.trace, &args.out, global)
}

/// Returns whether the options drop or move requests, for which the trace is held in memory.
fn is_shaped(args: &TraceArgs) -> bool {
    let moved = args.offset.is_some() || args.copies.is_some() || args.remap;
    moved || args.mode.is_some() || args.requests.is_some()
}

fn describe(args: &TraceArgs, out: &OutArgs, global: &Global) -> anyhow::Result<()> {
    // A shaped trace, or one that can be read only once, is held in memory.
    let held = is_shaped(args) || args.trace.as_deref() == Some("-");
    let held = if held { Some(read(args, global)?.1) } else { None };
    let mut survey = Survey::default();
    each(args, held.as_deref(), |request| survey.add(request))?;
    let mut fit = Fit::new(survey);
    each(args, held.as_deref(), |request| fit.add(request))?;
    if fit.left_out() > 0 {
        let told =
            format!("{} flushes and trims are left out: descriptions have none", fit.left_out());
        note(&told, global.quiet);
    }
    let described = fit.finish();
    let described = described.ok_or_else(|| anyhow::anyhow!("there is nothing to describe"))?;
    let description = described.to_text();
    // The description of a trace of very many zones would be refused later: fail now, before it is
    // shared.
    Description::from_text(&out.out, &description)
        .context("the trace is too large to be described; take a part of it (trace cut)")?;
    text(description.trim_end(), Path::new(&out.out))
}

/// Calls a function for each request of a trace, which is in memory or read once more.
fn each(
    args: &TraceArgs,
    held: Option<&[Request]>,
    mut then: impl FnMut(&Request),
) -> anyhow::Result<()> {
    if let Some(requests) = held {
        requests.iter().for_each(then);
        return Ok(());
    }
    let mut source = open_trace(args)?.source;
    let mut batch = Vec::new();
    while source.fill(&mut batch)? {
        batch.iter().for_each(&mut then);
    }
    Ok(())
}
