//! `shingle trace info`: what a trace holds.

use clap::Args;
use serde_json::json;
use shingle_core::size::show_bytes;
use shingle_core::units::BLOCK_BYTES;
use shingle_sim::verdict::count;

use crate::cli::{Arguments, TraceArgs};
use crate::commands::setup::read_trace;
use crate::output::print;
use crate::table;

#[derive(Debug, Args)]
pub(crate) struct Info {
    #[command(flatten)]
    trace: TraceArgs,
    /// As JSON on stdout.
    #[arg(long)]
    json: bool,
}

pub(crate) fn execute(args: &Info, global: &Arguments) -> anyhow::Result<()> {
    let trace = read_trace(&args.trace, global.quiet)?;
    let s = &trace.summary;
    let span = s.last.since(s.first);
    let requests = s.requests.read + s.requests.write;
    let write_requests = (requests > 0).then(|| s.requests.write as f64 / requests as f64);
    if args.json {
        let value = json!({
            "schema": "shingle.trace-info/1",
            "name": trace.name,
            "requests": { "read": s.requests.read, "write": s.requests.write,
                          "trim": s.requests.trim, "flush": s.requests.flush },
            "bytes": { "read": s.bytes.read, "write": s.bytes.write, "trim": s.bytes.trim },
            "blocks": s.blocks(),
            "read_blocks": s.read_blocks,
            "write_blocks": s.write_blocks,
            "distinct_blocks": s.distinct_blocks,
            "distinct_written_blocks": s.distinct_written_blocks,
            "accessed_zone_bytes": s.accessed_zone_bytes(),
            "written_zone_bytes": s.written_zone_bytes(),
            "end_bytes": s.end_bytes,
            "write_ratio": write_requests,
            "write_access_ratio": s.write_ratio(),
            "update_ratio": s.update_ratio(),
            "unaligned_ratio": s.unaligned_ratio(),
            "mean_bytes": s.mean_bytes(),
            "sizes": { "min": s.sizes.min, "p50": s.sizes.p50, "p90": s.sizes.p90,
                       "p99": s.sizes.p99, "max": s.sizes.max },
            "seconds": span.as_secs_f64(),
            "longest_idle_seconds": s.longest_idle.as_secs_f64(),
        });
        return print(&serde_json::to_string_pretty(&value)?);
    }
    let percent = |ratio: Option<f64>| ratio.map_or("-".into(), |r| format!("{:.1} %", 100.0 * r));
    let rows = vec![
        ("requests", count(s.requests.total())),
        ("reads, writes", format!("{}, {}", count(s.requests.read), count(s.requests.write))),
        ("trims, flushes", format!("{}, {}", count(s.requests.trim), count(s.requests.flush))),
        (
            "writes",
            format!(
                "{} of requests, {} of accesses",
                percent(write_requests),
                percent(s.write_ratio())
            ),
        ),
        ("block accesses", format!("{} ({} written)", count(s.blocks()), count(s.write_blocks))),
        (
            "different blocks",
            format!(
                "{} = {}",
                count(s.distinct_blocks),
                show_bytes(s.distinct_blocks * BLOCK_BYTES)
            ),
        ),
        (
            "different blocks written",
            format!(
                "{} = {}",
                count(s.distinct_written_blocks),
                show_bytes(s.distinct_written_blocks * BLOCK_BYTES)
            ),
        ),
        ("writes to blocks written before", percent(s.update_ratio())),
        (
            "zones of 20.48 MB touched",
            format!("{} = {}", count(s.accessed_zones), show_bytes(s.accessed_zone_bytes())),
        ),
        (
            "zones written",
            format!("{} = {}", count(s.written_zones), show_bytes(s.written_zone_bytes())),
        ),
        ("highest byte", format!("{} ({})", count(s.end_bytes), show_bytes(s.end_bytes))),
        ("mean request", s.mean_bytes().map_or("-".into(), |mean| show_bytes(mean as u64))),
        (
            "request sizes: min, 50 %, 90 %, 99 %, max",
            [s.sizes.min, s.sizes.p50, s.sizes.p90, s.sizes.p99, s.sizes.max]
                .map(show_bytes)
                .join(", "),
        ),
        ("not aligned to 4 KiB", percent(s.unaligned_ratio())),
        ("length", format!("{:.1} s", span.as_secs_f64())),
        ("longest pause", format!("{:.1} s", s.longest_idle.as_secs_f64())),
    ];
    print(&format!("{}\n{}", trace.name, table::pairs(&rows, global.color)))
}
