//! Where commands that make a trace write it.

use clap::Args;
use shingle_core::units::Request;
use shingle_trace::write;

use crate::output::note;

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
    let mut sink = write::create(&args.out, args.to.as_deref())?;
    sink.put(requests)?;
    for told in sink.finish()? {
        note(&format!("{}: {told}", args.out), quiet);
    }
    Ok(())
}
