//! `shingle trace mix`: combines several traces into one.

use clap::Args;
use shingle_core::size::show_bytes;
use shingle_trace::mix::{Mixing, Order};

use super::output::{OutArgs, save_source};
use crate::Usage;
use crate::cli::{AssumedOp, Global, Mode, TraceArgs, bytes, copies, factor, number, whole};
use crate::commands::traces::read;
use crate::output::note;

#[derive(Debug, Args)]
pub(crate) struct Mix {
    /// Files, or workloads synth:NAME; the same one may be named several times.
    #[arg(value_name = "TRACE", required = true)]
    traces: Vec<String>,
    #[command(flatten)]
    out: OutArgs,
    /// Number of copies of all traces.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = copies)]
    copies: u32,
    /// Move each trace, and each copy, this far behind the one before; 0 lays them on top of each
    /// other. [default: side by side, each at the 5,000-block zone behind the one before]
    #[arg(long, value_name = "SIZE", value_parser = bytes)]
    shift: Option<u64>,
    /// Interleave the traces in random order, instead of by time; each trace keeps its own order,
    /// and the times of all are assigned anew.
    #[arg(long)]
    shuffle: bool,
    /// Multiply all times: 0.5 is twice as fast.
    #[arg(long, value_name = "FACTOR", value_parser = factor, default_value = "1")]
    time_scale: u64,
    /// Pack the zones that each trace touches together.
    #[arg(long)]
    remap: bool,
    /// Format of the traces, if it cannot be found from the content.
    #[arg(long, value_name = "FORMAT")]
    format: Option<String>,
    /// Which volumes to read of traces that hold several: NAME, NAME,NAME or '*'.
    #[arg(long, value_name = "VOLUME")]
    volume: Option<String>,
    /// Sort requests that are out of order within this time, or `keep` their places. [default: 10s]
    #[arg(long, value_name = "TIME|keep")]
    reorder: Option<String>,
    /// Treat all requests as reads or as writes, in formats that do not record the operation.
    #[arg(long, value_enum)]
    assume_op: Option<AssumedOp>,
    /// Requests to use: all, writes, reads. [default: rw]
    #[arg(long, value_enum)]
    mode: Option<Mode>,
    /// Use only the first N requests of each trace. [default: all]
    #[arg(long, value_name = "N", value_parser = number)]
    requests: Option<u64>,
    /// Seed of --shuffle and of workloads.
    #[arg(long, value_name = "N", value_parser = whole::<u64>, default_value_t = 1)]
    seed: u64,
}

impl Mix {
    /// Returns the options for reading one of the traces.
    fn one(&self, trace: &str) -> TraceArgs {
        TraceArgs {
            trace: Some(trace.to_owned()),
            format: self.format.clone(),
            volume: self.volume.clone(),
            reorder: self.reorder.clone(),
            assume_op: self.assume_op,
            mode: self.mode,
            requests: self.requests,
            offset: None,
            copies: None,
            remap: self.remap,
            seed: Some(self.seed),
        }
    }
}

pub(crate) fn execute(args: &Mix, global: &Global) -> anyhow::Result<()> {
    if args.traces.iter().filter(|trace| *trace == "-").count() > 1 {
        return Err(Usage("stdin can be read once; name - once, and use --copies".into()).into());
    }
    args.out.check_apart(args.traces.iter().map(String::as_str))?;
    let mixing = Mixing {
        copies: args.copies,
        shift_bytes: args.shift,
        order: if args.shuffle { Order::Shuffled { seed: args.seed } } else { Order::Time },
        time_thousandths: args.time_scale,
    };
    let (mut names, mut traces) = (Vec::new(), Vec::new());
    for trace in &args.traces {
        let (name, requests) = read(&args.one(trace), global)?;
        names.push(name);
        traces.push(requests);
    }
    let mut mixed = mixing.of(traces)?;
    for (trace, start) in args.traces.iter().zip(mixed.starts()) {
        let told = format!("{trace}: begins at byte {start} ({})", show_bytes(start));
        note(&told, global.quiet || args.traces.len() == 1);
    }
    save_source(&mut mixed, &names.join(" + "), &args.out, global.quiet)
}
