//! `shingle trace info`: shows what a trace contains.

mod json;
#[cfg(feature = "pictures")]
mod pictures;
mod text;

use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::Value;
use shingle_sim::experiment::Trace;
use shingle_trace::analysis::Analysis;
use shingle_trace::summary::ratio;
use shingle_trace::{Recognised, Summary};

use crate::cli::{Global, TraceArgs};
use crate::commands::setup::check_written;
use crate::commands::traces::read_trace;
use crate::listener::Listener;
use crate::output::{self, Tried, check_writable, print};

#[derive(Debug, Args)]
pub(crate) struct Info {
    #[command(flatten)]
    trace: TraceArgs,
    /// Write all figures as JSON; `-` for stdout, in place of the table.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Write the table and pictures as a page; one file that works offline.
    #[cfg(feature = "pictures")]
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Write each picture as SVG into this folder.
    #[cfg(feature = "pictures")]
    #[arg(long, value_name = "DIR")]
    svg: Option<PathBuf>,
}

/// All that the command shows of a trace.
struct About<'a> {
    name: &'a str,
    format: Option<&'a Recognised>,
    summary: &'a Summary,
    analysis: &'a Analysis,
}

/// Amphisbaena's buffer is this fraction of the 256 MiB zones written (its §6.1).
const BUFFER_PART: u64 = 100;

impl<'a> About<'a> {
    fn new(trace: &'a Trace, analysis: &'a Analysis) -> About<'a> {
        let Trace { name, format, summary, .. } = trace;
        About { name, format: format.as_ref(), summary, analysis }
    }

    /// Returns the number of reads and writes.
    fn transfers(&self) -> u64 {
        self.summary.requests.read + self.summary.requests.write
    }

    /// Returns the buffer size that separates long update periods from short ones.
    fn buffer_blocks(&self) -> u64 {
        let bytes = self.summary.written_large_zone_bytes() / BUFFER_PART;
        bytes / shingle_core::units::BLOCK_BYTES
    }
}

/// Returns the JSON for `trace`.
pub(crate) fn value(trace: &Trace, listener: &dyn Listener) -> Value {
    let analysis = analysed(trace, listener);
    json::value(&About::new(trace, &analysis))
}

fn analysed(trace: &Trace, listener: &dyn Listener) -> Analysis {
    let progress = listener.begin("counting", trace.requests.len() as u64);
    Analysis::of(&trace.requests, &mut |done| progress.add(done))
}

pub(crate) fn execute(args: &Info, global: &Global) -> anyhow::Result<()> {
    check_written(&[("--json", args.json.as_deref())], &args.trace, &[])?;
    #[cfg(feature = "pictures")]
    args.html.as_deref().map_or(Ok(()), check_writable)?;
    args.json.as_deref().map_or(Ok(()), check_writable)?;
    let trace = read_trace(&args.trace, global)?;
    let analysis = analysed(&trace, global);
    let about = About::new(&trace, &analysis);
    // An output that cannot be written does not prevent the others.
    let mut tried = Tried::default();
    if args.json.as_deref() != Some(Path::new("-")) {
        tried.add(print(&text::table(&about, global.color)));
    }
    if let Some(path) = &args.json {
        tried.add(output::json(&json::value(&about), path));
    }
    #[cfg(feature = "pictures")]
    {
        if let Some(path) = &args.html {
            let page = pictures::page(&about, &crate::report::making());
            tried.add(page.and_then(|page| output::text(&page, path)));
        }
        if let Some(folder) = &args.svg {
            tried.add(pictures::save(&about, folder));
        }
    }
    tried.end()
}
