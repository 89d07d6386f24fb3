//! Where commands that make a trace write it.

use clap::Args;
use shingle_core::units::Request;
use shingle_trace::Source;
use shingle_trace::write::{self, Sink};

use crate::output::note;
use crate::progress::Progress;

#[derive(Debug, Args)]
pub(crate) struct OutArgs {
    /// File to write, or - for stdout. Its name says the format, and .gz or .zst packs it.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) out: String,
    /// Format to write, if the name is not to say it.
    #[arg(long, value_name = "FORMAT")]
    pub(crate) to: Option<String>,
}

/// Writes `requests`, which come from the trace `source`.
pub(crate) fn save(
    source: &str,
    requests: &[Request],
    args: &OutArgs,
    quiet: bool,
) -> anyhow::Result<()> {
    let mut sink = write::create(&args.out, args.to.as_deref())?;
    sink.name_source(source);
    sink.put(requests)?;
    finish(sink, args, quiet)
}

/// Writes the requests of a source as they come.
pub(crate) fn save_source(
    source: &mut dyn Source,
    args: &OutArgs,
    quiet: bool,
) -> anyhow::Result<()> {
    let total = source.length_hint().unwrap_or(0);
    let progress = Progress::new("writing", total, quiet);
    let mut sink = write::create(&args.out, args.to.as_deref())?;
    let mut batch = Vec::new();
    while source.fill(&mut batch)? {
        sink.put(&batch)?;
        progress.add(batch.len() as u64);
    }
    drop(progress);
    finish(sink, args, quiet)
}

/// Ends the file, and says what the format could not carry.
fn finish(sink: Box<dyn Sink>, args: &OutArgs, quiet: bool) -> anyhow::Result<()> {
    for told in sink.finish()? {
        note(&format!("{}: {told}", args.out), quiet);
    }
    Ok(())
}
