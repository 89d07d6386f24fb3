//! `shingle trace convert`: a trace in another format.

use clap::Args;

use super::output::{OutArgs, save};
use crate::cli::{Global, TraceArgs};
use crate::commands::setup::read;

#[derive(Debug, Args)]
pub(crate) struct Convert {
    #[command(flatten)]
    trace: TraceArgs,
    #[command(flatten)]
    out: OutArgs,
}

pub(crate) fn execute(args: &Convert, global: &Global) -> anyhow::Result<()> {
    let (name, requests) = read(&args.trace, global)?;
    save(&name, &requests, &args.out, global.quiet)
}
