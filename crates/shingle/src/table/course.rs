//! The course of a run: its response times, and its time series.

use shingle_core::duration::{show_duration as seconds, show_micros as micros};
use shingle_result::verdict::count;
use shingle_result::{Point, RunResult};

use super::plain::rows;
use crate::cli::Color;

/// Formats the histogram of response times.
pub(super) fn histogram(run: &RunResult, color: Color) -> String {
    let most = run.histogram.iter().map(|bar| bar.requests).max().unwrap_or(1);
    let bars: Vec<[String; 3]> = run
        .histogram
        .iter()
        .map(|bar| {
            let length = (bar.requests * 40).div_ceil(most) as usize;
            [micros(bar.up_to_us), count(bar.requests), "▒".repeat(length)]
        })
        .collect();
    rows(["up to", "requests", ""], &bars, color)
}

/// Most lines of a time series.
const COURSE_LINES: usize = 20;

/// Formats the time series of a run.
pub(super) fn series(run: &RunResult, color: Color) -> String {
    let several = run.series.chunks(run.series.len().div_ceil(COURSE_LINES).max(1));
    let points: Vec<[String; 7]> = several
        .filter_map(|several| {
            let end = several.last()?;
            let sum = |of: fn(&Point) -> f64| several.iter().map(of).sum::<f64>();
            let blocks = sum(|point| point.blocks as f64);
            let hits = sum(|point| point.hit_ratio.unwrap_or(0.0) * point.blocks as f64);
            Some([
                count(end.requests),
                seconds(sum(|point| point.seconds)),
                seconds(sum(|point| point.clean_seconds)),
                if blocks > 0.0 { format!("{:.1} %", 100.0 * hits / blocks) } else { "-".into() },
                count(several.iter().map(|point| point.rmw).sum()),
                count(end.dirty_blocks),
                count(end.buffer_blocks),
            ])
        })
        .collect();
    let header = [
        "requests so far",
        "I/O time",
        "cleaning",
        "hits",
        "RMWs",
        "dirty blocks",
        "in the buffer",
    ];
    rows(header, &points, color)
}
