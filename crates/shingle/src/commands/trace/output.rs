//! The output of commands that write a trace.

use std::path::Path;

use clap::{Arg, Args};
use shingle_core::units::Request;
use shingle_trace::write::{self, Sink};
use shingle_trace::{Opened, Shaped, Source};

use crate::cli::{Global, TraceArgs};
use crate::commands::traces::{note_reading, open_trace, read, shape};
use crate::output::{self, note};
use crate::progress::Progress;

#[derive(Debug, Args)]
pub(crate) struct OutArgs {
    /// File to write, or - for stdout. The extension selects the format, and .gz or .zst
    /// compression.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) out: String,
    /// Format to write, if the extension does not select it.
    #[arg(long, value_name = "FORMAT")]
    pub(crate) to: Option<String>,
}

impl OutArgs {
    /// Fails if the output would overwrite one of the input traces.
    pub(crate) fn check_apart<'a>(
        &self,
        traces: impl IntoIterator<Item = &'a str>,
    ) -> anyhow::Result<()> {
        let read: Vec<&Path> = traces.into_iter().map(Path::new).collect();
        match self.out.as_str() {
            "-" => Ok(()),
            out => Ok(output::check_apart(Path::new(out), &read)?),
        }
    }
}

/// Makes the trace argument required: a default workload would only surprise here.
pub(super) fn must_be_named(trace: Arg) -> Arg {
    trace.required(true).help("A file (compressed or not), - for stdin, or a workload synth:NAME")
}

/// Writes the trace that `trace` describes. It streams, and holds requests in memory only where the
/// shape needs all of them.
pub(crate) fn save_trace(trace: &TraceArgs, args: &OutArgs, global: &Global) -> anyhow::Result<()> {
    args.check_apart(trace.trace.as_deref())?;
    let shape = shape(trace)?;
    if !shape.is_of_single_requests() {
        let (name, requests) = read(trace, global)?;
        return save(&name, &requests, args, global.quiet);
    }
    let Opened { name, recognised, mut source } = open_trace(trace)?;
    let mut shaped = Shaped::new(source.as_mut(), shape);
    let sink = copy(&mut shaped, &name, args, global.quiet)?;
    note_reading(&name, &recognised, &shaped, global);
    finish(sink, args, global.quiet)
}

/// Writes `requests`, which are from the trace `source`.
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

/// Writes the requests of `source`, which is called `name`, as they arrive.
pub(crate) fn save_source(
    source: &mut dyn Source,
    name: &str,
    args: &OutArgs,
    quiet: bool,
) -> anyhow::Result<()> {
    finish(copy(source, name, args, quiet)?, args, quiet)
}

/// Copies all requests of `source` to the output; [`finish`] must follow.
fn copy(
    source: &mut dyn Source,
    name: &str,
    args: &OutArgs,
    quiet: bool,
) -> anyhow::Result<Box<dyn Sink>> {
    let mut sink = write::create(&args.out, args.to.as_deref())?;
    sink.name_source(name);
    let progress = Progress::new("writing", source.length_hint().unwrap_or(0), quiet);
    let mut batch = Vec::new();
    while source.fill(&mut batch)? {
        sink.put(&batch)?;
        match source.progress() {
            Some((done, all)) => progress.set(done, all),
            None => progress.add(batch.len() as u64),
        }
    }
    Ok(sink)
}

/// Completes the file, and reports what the format could not store.
fn finish(sink: Box<dyn Sink>, args: &OutArgs, quiet: bool) -> anyhow::Result<()> {
    for told in sink.finish()? {
        note(&format!("{}: {told}", args.out), quiet);
    }
    Ok(())
}
