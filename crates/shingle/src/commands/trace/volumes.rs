//! `shingle trace volumes`: shows what a trace contains of each volume.

use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::{Value, json};
use shingle_core::size::show_bytes;
use shingle_result::{TraceFormat, verdict::count};
use shingle_trace::tally::{self, Counted, Tally};

use crate::cli::{AssumedOp, Global, TraceArgs, number};
use crate::commands::traces::{open_options, spec};
use crate::output::{self, Tried, check_writable, print};
use crate::progress::Progress;
use crate::table;

#[derive(Debug, Args)]
pub(crate) struct Volumes {
    /// A file, or - for stdin.
    #[arg(value_name = "TRACE")]
    trace: String,
    /// Format of the trace, if it cannot be found from the content.
    #[arg(long, value_name = "FORMAT")]
    format: Option<String>,
    /// Treat all requests as reads or as writes, in formats that do not record the operation.
    #[arg(long, value_enum)]
    assume_op: Option<AssumedOp>,
    /// Show the N volumes with the most requests; JSON has all.
    #[arg(long, value_name = "N", value_parser = number, default_value = "20")]
    top: u64,
    /// Write all volumes as JSON; `-` for stdout, in place of the table.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

pub(crate) fn execute(args: &Volumes, global: &Global) -> anyhow::Result<()> {
    args.json.as_deref().map_or(Ok(()), check_writable)?;
    let trace = TraceArgs {
        trace: Some(args.trace.clone()),
        format: args.format.clone(),
        assume_op: args.assume_op,
        ..TraceArgs::default()
    };
    let progress = Progress::new("counting", 0, global.quiet);
    let counted = tally::count(spec(&trace), &open_options(&trace)?, &mut |done, total| {
        progress.set(done, total);
    })?;
    drop(progress);
    let mut tried = Tried::default();
    if args.json.as_deref() != Some(Path::new("-")) {
        tried.add(print(&text(&counted, args.top, global)));
    }
    if let Some(path) = &args.json {
        tried.add(output::json(&value(&counted), path));
    }
    tried.end()
}

fn value(counted: &Counted) -> Value {
    let volume = |tally: &Tally| {
        json!({
            "name": tally.name, "requests": tally.requests(), "reads": tally.reads,
            "writes": tally.writes, "others": tally.others, "read_bytes": tally.read_bytes,
            "written_bytes": tally.written_bytes, "end_bytes": tally.end_bytes,
        })
    };
    json!({
        "schema": "shingle.trace-volumes/1",
        "name": counted.name,
        "format": TraceFormat::new(&counted.recognised),
        "volumes": counted.volumes.iter().map(volume).collect::<Vec<_>>(),
    })
}

fn text(counted: &Counted, top: u64, global: &Global) -> String {
    let all: u64 = counted.volumes.iter().map(Tally::requests).sum();
    let shown = usize::try_from(top).unwrap_or(usize::MAX).min(counted.volumes.len());
    let row = |tally: &Tally| {
        let name = if tally.name.is_empty() { "(the only one)" } else { &tally.name };
        [
            name.to_owned(),
            count(tally.requests()),
            format!("{:.1} %", 100.0 * tally.requests() as f64 / all.max(1) as f64),
            count(tally.reads),
            count(tally.writes),
            show_bytes(tally.read_bytes),
            show_bytes(tally.written_bytes),
            show_bytes(tally.end_bytes),
        ]
    };
    let rows: Vec<[String; 8]> = counted.volumes[..shown].iter().map(row).collect();
    let header = ["volume", "requests", "", "reads", "writes", "read", "written", "reaches to"];
    let mut text = format!(
        "{}: {}\nrequests: {}, volumes: {}\n{}\n",
        counted.name,
        counted.recognised,
        count(all),
        count(counted.volumes.len() as u64),
        table::figure_rows(header, &rows, global.color)
    );
    let more = (counted.volumes.len() - shown) as u64;
    if more > 0 {
        text += &format!("and {} more; --top N shows more, --json FILE has all\n", count(more));
    }
    text
}
