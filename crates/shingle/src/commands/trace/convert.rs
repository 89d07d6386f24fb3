//! `shingle trace convert`: a trace in another format.

use clap::Args;

use super::output::{OutArgs, save_of};
use crate::cli::{Arguments, TraceArgs};
use crate::commands::setup::read_trace;

#[derive(Debug, Args)]
pub(crate) struct Convert {
    #[command(flatten)]
    trace: TraceArgs,
    #[command(flatten)]
    out: OutArgs,
}

pub(crate) fn execute(args: &Convert, global: &Arguments) -> anyhow::Result<()> {
    let trace = read_trace(&args.trace, global.quiet)?;
    save_of(&trace.name, &trace.requests, &args.out, global.quiet)
}
