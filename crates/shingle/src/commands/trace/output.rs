//! Where commands that make a trace write it.

use clap::Args;
use shingle_core::units::Request;
use shingle_trace::{Source, write};

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

/// Writes `requests`, and says what the format could not carry.
pub(crate) fn save(requests: &[Request], args: &OutArgs, quiet: bool) -> anyhow::Result<()> {
    save_of("", requests, args, quiet)
}

/// [`save`], of the trace `source`: formats that record where they come from say so.
pub(crate) fn save_of(
    source: &str,
    requests: &[Request],
    args: &OutArgs,
    quiet: bool,
) -> anyhow::Result<()> {
    let mut sink = write::create(&args.out, args.to.as_deref())?;
    sink.name_source(source);
    sink.put(requests)?;
    for told in sink.finish()? {
        note(&format!("{}: {told}", args.out), quiet);
    }
    Ok(())
}

/// Writes the requests of a source as they come, and says what the format could not carry.
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
    for told in sink.finish()? {
        note(&format!("{}: {told}", args.out), quiet);
    }
    Ok(())
}
