//! `shingle trace`: one file a command.

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
    /// What a trace holds: requests, sizes, footprints, how soon blocks come again and what LRU
    /// would miss, sequential runs, pauses, load over time.
    #[command(after_help = "Example: shingle trace info trace.csv.gz")]
    Info(Box<info::Info>),
    /// The volumes of a trace, those with the most requests first: which to choose with --volume.
    #[command(after_help = "Example: shingle trace volumes financial.spc")]
    Volumes(volumes::Volumes),
    /// Write a trace in another format, filtered and shaped.
    #[command(after_help = "Example: shingle trace convert trace.vscsi.zst -o trace.csv.zst")]
    Convert(convert::Convert),
    /// Several traces made into one: side by side, in copies, by time or shuffled.
    #[command(
        after_help = "Example: shingle trace mix web.csv.gz db.csv.gz --copies 4 -o mix.csv.zst"
    )]
    Mix(Box<mix::Mix>),
    /// A part of a trace: of its time, of the disk, of its requests, or one zone in so many.
    #[command(
        after_help = "Example: shingle trace cut trace.csv.gz --from 1h --until 2h -o hour.csv"
    )]
    Cut(Box<cut::Cut>),
    /// A built-in workload as a trace file; or, with --like, a small description of a trace that can be
    /// shared where the trace cannot.
    #[command(after_help = "Example: shingle trace synth 'synth:zipf?requests=10k' -o zipf.csv\n\
                      Example: shingle trace synth --like trace.csv.gz -o like.toml")]
    Synth(synth::Synth),
    /// The workloads of published volumes beside the figures that papers print of them.
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
