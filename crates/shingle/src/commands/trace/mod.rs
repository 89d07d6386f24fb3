//! `shingle trace`: one file a command.

mod convert;
mod info;
mod output;
mod targets;

use clap::Subcommand;

use crate::cli::Arguments;

#[derive(Debug, Subcommand)]
pub(crate) enum Trace {
    /// What a trace holds: requests, sizes, footprints, idle time.
    #[command(after_help = "Example: shingle trace info trace.vscsi.zst")]
    Info(info::Info),
    /// Write a trace in another format, filtered and shaped.
    #[command(after_help = "Example: shingle trace convert trace.vscsi.zst -o trace.csv.zst")]
    Convert(convert::Convert),
    /// The workloads of published volumes beside the figures that papers print of them.
    #[command(after_help = "Example: shingle trace targets wdev_0 hm_0")]
    Targets(targets::Targets),
}

pub(crate) fn execute(command: &Trace, global: &Arguments) -> anyhow::Result<()> {
    match command {
        Trace::Info(args) => info::execute(args, global),
        Trace::Convert(args) => convert::execute(args, global),
        Trace::Targets(args) => targets::execute(args, global),
    }
}
