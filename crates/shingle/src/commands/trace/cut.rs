//! `shingle trace cut`: extracts a part of a trace.

use clap::Args;
use shingle_core::units::Nanos;
use shingle_trace::cut::{self, Part};
use shingle_trace::reorder::parse_time;
use shingle_trace::sample::ZoneSample;
use shingle_trace::{Mode, Opened, Shape};

use super::output::{OutArgs, must_be_named, save};
use crate::Usage;
use crate::cli::{Global, TraceArgs, bytes, number};
use crate::commands::traces::{mode, open_trace, read_requests, seed, shape};

#[derive(Debug, Args)]
#[command(mut_arg("trace", must_be_named))]
pub(crate) struct Cut {
    #[command(flatten)]
    trace: TraceArgs,
    #[command(flatten)]
    out: OutArgs,
    /// Keep requests that arrive this long after the first, or later: 90s, 1.5h, 2d.
    #[arg(long, value_name = "TIME", value_parser = time)]
    from: Option<Nanos>,
    /// Keep requests that arrive before this time.
    #[arg(long, value_name = "TIME", value_parser = time)]
    until: Option<Nanos>,
    /// Keep addresses from A up to B, as in 10G..20G, 10G.. or ..20G; requests across a border are
    /// trimmed to it. They keep their addresses, unless --remap packs them.
    #[arg(long, value_name = "A..B", value_parser = range)]
    range: Option<(u64, u64)>,
    /// Keep one of N neighbouring 5,000-block zones, drawn by --seed.
    #[arg(long, value_name = "N", value_parser = number)]
    every_zone: Option<u64>,
    /// Skip the first N of the remaining requests; --requests counts those after them.
    /// [default: 0]
    #[arg(long, value_name = "N", value_parser = number)]
    skip: Option<u64>,
}

fn time(text: &str) -> Result<Nanos, String> {
    parse_time(text).ok_or_else(|| format!("`{text}` is no time such as 90s, 500ms or 1.5h"))
}

fn range(text: &str) -> Result<(u64, u64), String> {
    let (begin, end) = text.split_once("..").ok_or("write A..B, as in 10G..20G")?;
    let or = |side: &str, default| if side.is_empty() { Ok(default) } else { bytes(side) };
    let (begin, end) = (or(begin, 0)?, or(end, u64::MAX)?);
    if begin >= end {
        return Err("the range is empty; write the lower address first".into());
    }
    Ok((begin, end))
}

pub(crate) fn execute(args: &Cut, global: &Global) -> anyhow::Result<()> {
    if let (Some(from), Some(until)) = (args.from, args.until)
        && from >= until
    {
        return Err(Usage(
            "--from is not before --until, so nothing would be left; give an earlier --from".into(),
        )
        .into());
    }
    args.out.check_apart(args.trace.trace.as_deref())?;
    let part = Part {
        mode: mode(&args.trace),
        from: args.from,
        to: args.until,
        begin_bytes: args.range.map(|range| range.0),
        end_bytes: args.range.map(|range| range.1),
        zones: args.every_zone.map(|every| ZoneSample::new(every, seed(&args.trace))),
        skip: args.skip.unwrap_or(0),
        requests: args.trace.requests,
    };
    // `Cut` has selected and counted requests; the shape only has to move them.
    let shape = Shape { mode: Mode::ReadWrite, requests: None, ..shape(&args.trace)? };
    let opened = open_trace(&args.trace)?;
    let mut opened = Opened { source: Box::new(cut::Cut::new(opened.source, part)), ..opened };
    let requests = read_requests(&shape, &mut opened, global)?;
    save(&opened.name, &requests, &args.out, global.quiet)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges() {
        assert_eq!(range("1G..2G"), Ok((1 << 30, 2 << 30)));
        assert_eq!(range("5000b.."), Ok((20_480_000, u64::MAX)));
        assert_eq!(range("..4096"), Ok((0, 4096)));
        assert!(range("2G..1G").is_err() && range("1G").is_err() && range("..x").is_err());
    }
}
