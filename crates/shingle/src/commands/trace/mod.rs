//! `shingle trace`: one module per command.

mod convert;
mod cut;
pub(crate) mod info;
mod mix;
mod output;
mod synth;
mod targets;
mod volumes;

use clap::Subcommand;

use crate::cli::Global;

#[derive(Debug, Subcommand)]
pub(crate) enum Trace {
    /// Show what a trace contains: requests, sizes, footprints, how soon blocks are accessed again
    /// and what LRU would miss, sequential runs, pauses, load over time.
    #[command(after_help = "Example: shingle trace info trace.csv.gz")]
    Info(Box<info::Info>),
    /// List the volumes of a trace, those with the most requests first: the names for --volume.
    #[command(after_help = "Example: shingle trace volumes financial.spc")]
    Volumes(volumes::Volumes),
    /// Write a trace in another format, filtered and shaped.
    #[command(after_help = "Example: shingle trace convert trace.vscsi.zst -o trace.csv.zst")]
    Convert(convert::Convert),
    /// Combine several traces into one: side by side, in copies, by time or shuffled.
    #[command(
        after_help = "Example: shingle trace mix web.csv.gz db.csv.gz --copies 4 -o mix.csv.zst"
    )]
    Mix(Box<mix::Mix>),
    /// Extract a part of a trace: by time, by address, by number of requests, or one zone in N.
    #[command(
        after_help = "Example: shingle trace cut trace.csv.gz --from 1h --until 2h -o hour.csv"
    )]
    Cut(Box<cut::Cut>),
    /// Write a built-in workload as a trace file; or, with --like, a small description of a trace
    /// that can be shared where the trace cannot.
    #[command(after_help = "Example: shingle trace synth 'synth:zipf?requests=10k' -o zipf.csv\n\
                      Example: shingle trace synth --like trace.csv.gz -o like.toml")]
    Synth(synth::Synth),
    /// Compare the workloads that imitate published volumes with the figures that papers print.
    #[command(after_help = "Example: shingle trace targets wdev_0 hm_0")]
    Targets(targets::Targets),
}

pub(crate) fn execute(command: &Trace, global: &Global) -> anyhow::Result<()> {
    match command {
        Trace::Info(args) => info::execute(args, global),
        Trace::Volumes(args) => volumes::execute(args, global),
        Trace::Convert(args) => convert::execute(args, global),
        Trace::Mix(args) => mix::execute(args, global),
        Trace::Cut(args) => cut::execute(args, global),
        Trace::Synth(args) => synth::execute(args, global),
        Trace::Targets(args) => targets::execute(args, global),
    }
}
