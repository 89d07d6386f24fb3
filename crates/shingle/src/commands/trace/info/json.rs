//! The JSON of `trace info`, schema `shingle.trace-info/1`: docs/traces.md says what each field means.

use serde_json::{Value, json};
use shingle_result::TraceFormat;
use shingle_trace::analysis::curve::Curve;
use shingle_trace::analysis::histogram::Histogram;
use shingle_trace::analysis::idle::GAPS_MS;
use shingle_trace::analysis::sequential::{Runs, STREAMS};
use shingle_trace::analysis::starts::{Again, SOON_WRITES, Starts};

use super::{About, ratio};

pub(super) fn value(about: &About) -> Value {
    let (s, a) = (about.summary, about.analysis);
    let span = s.last.since(s.first);
    let mut value = json!({
        "schema": "shingle.trace-info/1",
        "name": about.name,
        "format": about.format.map(TraceFormat::new),
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
        "written_large_zone_bytes": s.written_large_zone_bytes(),
        "end_bytes": s.end_bytes,
        "write_ratio": ratio(s.requests.write, about.transfers()),
        "write_access_ratio": s.write_ratio(),
        "update_ratio": s.update_ratio(),
        "unaligned_ratio": s.unaligned_ratio(),
        "mean_bytes": s.mean_bytes(),
        "sizes": { "min": s.sizes.min, "p50": s.sizes.p50, "p90": s.sizes.p90,
                   "p99": s.sizes.p99, "max": s.sizes.max },
        "seconds": span.as_secs_f64(),
        "longest_idle_seconds": s.longest_idle.as_secs_f64(),
        "alignment": { "off_sectors": a.sizes.off_sectors, "off_blocks": a.sizes.off_blocks,
                       "writes_off_blocks": a.sizes.writes_off_blocks,
                       "partial_write_blocks": a.sizes.partial_writes },
        "size_bytes": { "read": histogram(&a.sizes.read), "write": histogram(&a.sizes.write) },
        "sequential": { "streams": STREAMS, "read": runs(&a.sequential.read),
                        "write": runs(&a.sequential.write) },
    });
    let more = json!({
        "reuse_distance": histogram(&a.reuse.reuse),
        "update_distance": histogram(&a.reuse.update),
        "lru": { "all": curve(&a.reuse.all), "writes": curve(&a.reuse.writes) },
        "update_periods": periods(about),
        "starts": starts(&a.starts),
        "write_range": { "tenth_ratio": a.range.part_zones() },
        "idle": { "gap_us": histogram(&a.idle.gaps_us), "longer": gaps(about) },
        "load": {
            "step_seconds": a.load.step.as_secs_f64(),
            "steps": a.load.steps.iter().map(|step| json!({
                "requests": step.requests, "read_bytes": step.read_bytes,
                "written_bytes": step.written_bytes,
            })).collect::<Vec<_>>(),
        },
    });
    if let (Value::Object(fields), Value::Object(more)) = (&mut value, more) {
        fields.extend(more);
    }
    value
}

fn histogram(histogram: &Histogram) -> Vec<Value> {
    let held = histogram.bins().filter(|bin| bin.count > 0);
    held.map(|bin| json!({ "from": bin.from, "to": bin.to, "count": bin.count })).collect()
}

fn runs(runs: &Runs) -> Value {
    json!({
        "continuing_requests": runs.requests, "continuing_bytes": runs.bytes,
        "runs": runs.count(), "longest_bytes": runs.longest_bytes,
        "run_bytes": histogram(&runs.lengths),
    })
}

fn curve(curve: &Curve) -> Vec<Value> {
    let accesses = curve.accesses();
    let points = curve.points().map(|point| {
        json!({
            "cache_blocks": point.cache_blocks, "miss_ratio": ratio(point.misses(), accesses),
            "read_misses": point.read_misses, "write_misses": point.write_misses,
        })
    });
    points.collect()
}

fn periods(about: &About) -> Value {
    let buffer_blocks = about.buffer_blocks();
    let parts = about.analysis.reuse.periods.parts(buffer_blocks);
    json!({
        "buffer_blocks": buffer_blocks,
        "short_blocks": parts.short, "short_updated_once_blocks": parts.short_once,
        "long_blocks": parts.long, "long_updated_often_blocks": parts.long_often,
    })
}

/// NaN becomes null.
fn starts(starts: &Starts) -> Value {
    let again = |again: Again| json!({ "writes": again.writes, "soon": again.soon });
    json!({
        "pages": starts.pages(), "reuses": starts.reuses(), "mean_distance": starts.mean(),
        "distance_70": starts.holds(70), "distance_80": starts.holds(80), "distance_90": starts.holds(90),
        "in_order_ratio": starts.in_order(),
        "soon_writes": SOON_WRITES, "short": again(starts.short), "long": again(starts.long),
    })
}

fn gaps(about: &About) -> Vec<Value> {
    let (idle, span) = (&about.analysis.idle, about.summary.last.since(about.summary.first));
    let gap = |(at, ms): (usize, &u64)| {
        json!({
            "than_seconds": *ms as f64 / 1e3, "gaps": idle.count[at],
            "seconds": idle.time[at].as_secs_f64(), "time_ratio": ratio(idle.time[at].0, span.0),
        })
    };
    GAPS_MS.iter().enumerate().map(gap).collect()
}
