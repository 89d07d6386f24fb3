//! The table of `trace info`.

use shingle_core::duration::show_duration;
use shingle_core::size::{show_blocks, show_bytes};
use shingle_core::units::BLOCK_BYTES;
use shingle_result::verdict::count;
use shingle_trace::analysis::idle::GAPS_MS;
use shingle_trace::analysis::sequential::{Runs, STREAMS};
use shingle_trace::analysis::starts::{Again, SOON_WRITES, WINDOW_WRITES};

use super::{About, ratio};
use crate::cli::Color;
use crate::table;

pub(super) fn table(about: &About, color: Color) -> String {
    let pairs: Vec<(&str, String)> = pairs(about);
    let mut text = format!("{}\n{}\n", about.name, table::pairs(&pairs, color));
    let caches = caches(about);
    if !caches.is_empty() {
        let header =
            ["LRU cache", "of the footprint", "misses", "of reads", "of writes", "writes only"];
        text += &format!("\n{}\n", table::figure_rows(header, &caches, color));
    }
    let sizes = sizes(about);
    let header = ["size", "reads", "", "writes", ""];
    text + &format!("\n{}\n", table::figure_rows(header, &sizes, color))
}

pub(super) fn percent(ratio: Option<f64>) -> String {
    ratio.map_or("-".into(), |ratio| format!("{:.1} %", 100.0 * ratio))
}

fn blocks(blocks: u64) -> String {
    let bytes = blocks * BLOCK_BYTES;
    format!("{} = {} bytes ({})", count(blocks), count(bytes), show_bytes(bytes))
}

/// Names and figures.
pub(super) fn pairs(about: &About) -> Vec<(&'static str, String)> {
    let format = about.format.map(|format| ("format", format.to_string()));
    let mut rows: Vec<(&'static str, String)> = format.into_iter().collect();
    rows.extend(amounts(about));
    rows.extend(footprint(about));
    rows.extend(shapes(about));
    rows.extend(periods(about));
    rows.extend(starts(about));
    rows.push(("zones of 256 MiB written", large_zones(about)));
    rows.extend(times(about));
    rows
}

/// How many requests and accesses there are.
fn amounts(about: &About) -> [(&'static str, String); 5] {
    let s = about.summary;
    let of_requests = percent(ratio(s.requests.write, about.transfers()));
    let of_accesses = percent(s.write_ratio());
    [
        ("requests", count(s.requests.total())),
        ("reads, writes", format!("{}, {}", count(s.requests.read), count(s.requests.write))),
        ("trims, flushes", format!("{}, {}", count(s.requests.trim), count(s.requests.flush))),
        ("writes", format!("{of_requests} of requests, {of_accesses} of accesses")),
        ("block accesses", format!("{} ({} written)", count(s.blocks()), count(s.write_blocks))),
    ]
}

/// Which blocks and zones are touched.
fn footprint(about: &About) -> [(&'static str, String); 6] {
    let s = about.summary;
    let zones = |zones, bytes| format!("{} = {}", count(zones), show_bytes(bytes));
    [
        ("different blocks", blocks(s.distinct_blocks)),
        ("different blocks written", blocks(s.distinct_written_blocks)),
        ("writes to blocks written before", percent(s.update_ratio())),
        ("zones of 20.48 MB touched", zones(s.accessed_zones, s.accessed_zone_bytes())),
        ("zones written", zones(s.written_zones, s.written_zone_bytes())),
        ("highest byte", format!("{} ({})", count(s.end_bytes), show_bytes(s.end_bytes))),
    ]
}

/// How large requests are, how they lie on blocks, and which follow others.
fn shapes(about: &About) -> [(&'static str, String); 6] {
    let (s, a) = (about.summary, about.analysis);
    let sizes = [s.sizes.min, s.sizes.p50, s.sizes.p90, s.sizes.p99, s.sizes.max].map(show_bytes);
    let off_sectors = percent(ratio(a.sizes.off_sectors, about.transfers()));
    let off_blocks = percent(s.unaligned_ratio());
    [
        ("mean request", s.mean_bytes().map_or("-".into(), |mean| show_bytes(mean as u64))),
        ("sizes: min, 50, 90, 99 %, max", sizes.join(", ")),
        ("not aligned to 512 B, to 4 KiB", format!("{off_sectors}, {off_blocks}")),
        (
            "written blocks covered only in part",
            percent(ratio(a.sizes.partial_writes, s.write_blocks)),
        ),
        ("reads that continue a stream", runs(&a.sequential.read, s.requests.read, s.bytes.read)),
        (
            "writes that continue a stream",
            runs(&a.sequential.write, s.requests.write, s.bytes.write),
        ),
    ]
}

fn large_zones(about: &About) -> String {
    let zones = count(about.summary.written_large_zones);
    let touched = percent(about.analysis.range.part_zones());
    format!("{zones}; each tenth of the writes touches {touched} of them")
}

fn times(about: &About) -> [(&'static str, String); 4] {
    let (s, a) = (about.summary, about.analysis);
    let span = s.last.since(s.first);
    let part = |at: usize| percent(ratio(a.idle.time[at].0, span.0));
    let at = |ms: u64| GAPS_MS.iter().position(|&gap| gap == ms).unwrap_or(0);
    let pauses = [100, 1_000, 10_000].map(|ms| part(at(ms)));
    let busiest = a.load.busiest().map_or("-".into(), |at| {
        let step = a.load.steps[at];
        format!(
            "the {} from {} on: {} requests, {} read, {} written",
            a.load.unit(),
            show_duration(a.load.step.as_secs_f64() * at as f64),
            count(step.requests),
            show_bytes(step.read_bytes),
            show_bytes(step.written_bytes)
        )
    });
    [
        ("length", show_duration(span.as_secs_f64())),
        ("busiest", busiest),
        ("longest pause", show_duration(s.longest_idle.as_secs_f64())),
        ("time in pauses over 100 ms, 1 s, 10 s", pauses.join(", ")),
    ]
}

fn runs(runs: &Runs, requests: u64, bytes: u64) -> String {
    if requests == 0 {
        return "-".into();
    }
    format!(
        "{} of requests, {} of bytes (of {STREAMS} streams); runs: mean {}, longest {}",
        percent(ratio(runs.requests, requests)),
        percent(ratio(runs.bytes, bytes)),
        show_bytes(bytes / runs.count().max(1)),
        show_bytes(runs.longest_bytes)
    )
}

/// Update periods and counts of the blocks that are written more than once.
fn periods(about: &About) -> [(&'static str, String); 3] {
    let buffer = about.buffer_blocks();
    let parts = about.analysis.reuse.periods.parts(buffer);
    let short = percent(ratio(parts.short, parts.short + parts.long));
    [
        ("updated blocks, short period", format!("{short} (below {} blocks)", count(buffer))),
        ("  updated once, of these", percent(ratio(parts.short_once, parts.short))),
        ("  updated over twice, of others", percent(ratio(parts.long_often, parts.long))),
    ]
}

/// Reuse of requests, by the page in which they start.
fn starts(about: &About) -> [(&'static str, String); 4] {
    let starts = &about.analysis.starts;
    let some = |text: String| if starts.reuses() == 0 { "-".into() } else { text };
    let within = [70, 80, 90].map(|part| count(starts.holds(part))).join(", ");
    let part = |again: Again| percent(ratio(again.soon, again.writes));
    [
        ("pages in which requests start", count(starts.pages())),
        (
            "  reuses: mean distance, 70, 80, 90 %",
            some(format!("{}, {within}", count(starts.mean().round() as u64))),
        ),
        ("  reuses in the old order", some(percent(Some(starts.in_order())))),
        (
            "  short, long writes rewritten soon",
            format!(
                "{}, {} (below the mean of the last {} or not; within {} writes)",
                part(starts.short),
                part(starts.long),
                count(WINDOW_WRITES as u64),
                count(SOON_WRITES)
            ),
        ),
    ]
}

/// The table of caches begins with this fraction of the footprint: powers of two are exact on the
/// curve.
const LEAST_CACHE: u64 = 512;

/// Misses of LRU in caches of growing size, up to the first that holds the whole footprint.
fn caches(about: &About) -> Vec<[String; 6]> {
    let (s, reuse) = (about.summary, &about.analysis.reuse);
    let footprint = s.distinct_blocks;
    if footprint == 0 {
        return Vec::new();
    }
    let mut cache = (footprint / LEAST_CACHE).next_power_of_two();
    let mut rows = Vec::new();
    loop {
        let (all, writes) = (reuse.all.at(cache), reuse.writes.at(cache));
        rows.push([
            show_blocks(cache),
            percent(ratio(cache.min(footprint), footprint)),
            percent(ratio(all.misses(), reuse.all.accesses())),
            percent(ratio(all.read_misses, s.read_blocks)),
            percent(ratio(all.write_misses, s.write_blocks)),
            percent(ratio(writes.misses(), reuse.writes.accesses())),
        ]);
        if cache >= footprint {
            return rows;
        }
        cache *= 2;
    }
}

/// Requests by size.
fn sizes(about: &About) -> Vec<[String; 5]> {
    let a = &about.analysis.sizes;
    let (reads, writes): (Vec<_>, Vec<_>) = (a.read.bins().collect(), a.write.bins().collect());
    let mut starts: Vec<u64> = reads.iter().chain(&writes).map(|bin| bin.from).collect();
    starts.sort_unstable();
    starts.dedup();
    let of = |bins: &[shingle_trace::analysis::histogram::Bin], from: u64| {
        bins.iter().find(|bin| bin.from == from).map_or(0, |bin| bin.count)
    };
    let row = |from: u64| {
        let (read, write) = (of(&reads, from), of(&writes, from));
        [
            format!("from {}", show_bytes(from)),
            count(read),
            percent(ratio(read, about.summary.requests.read)),
            count(write),
            percent(ratio(write, about.summary.requests.write)),
        ]
    };
    starts.into_iter().map(row).collect()
}
