//! `shingle trace convert`: writes a trace in another format.

use clap::Args;

use super::output::{OutArgs, must_be_named, save_trace};
use crate::cli::{Global, TraceArgs};

#[derive(Debug, Args)]
#[command(mut_arg("trace", must_be_named))]
pub(crate) struct Convert {
    #[command(flatten)]
    trace: TraceArgs,
    #[command(flatten)]
    out: OutArgs,
}

pub(crate) fn execute(args: &Convert, global: &Global) -> anyhow::Result<()> {
    save_trace(&args.trace, &args.out, global)
}
