//! The output of `run` and `replay`.

use shingle_core::duration::{show_duration as seconds, show_micros as micros};
use shingle_core::size::{show_blocks, show_bytes};
use shingle_result::verdict::{self, count, counted};
use shingle_result::{Counts, Measured, Report, RunResult};

use super::counters::{WITHIN_THE_DISK, counters, has_zones, of_flash, of_zones};
use super::course::{histogram, series};
use super::fit::wrapped;
use super::layers::{inside, logged, translated};
use super::plain::rows;
use super::words::{heading, said, title};
use crate::cli::Color;

/// Formats the result of `run`.
pub(crate) fn run(report: &Report, color: Color) -> String {
    let mut text = heading(report);
    for run in &report.runs {
        text += &one_run(run, color);
    }
    for group in verdict::groups(&report.runs) {
        text += &said(report, &group.runs);
    }
    text
}

fn one_run(run: &RunResult, color: Color) -> String {
    let settings = |of: &std::collections::BTreeMap<String, String>| {
        of.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(" ")
    };
    // (A real drive has none.)
    let line = |of: &str, set| match settings(set) {
        none if none.is_empty() => none,
        some => format!("  {of}: {some}\n"),
    };
    let mut text = wrapped(&format!(
        "{} on {}, cache {} of {}, {} loop\n  {}\n{}{}\n",
        run.labels.policy,
        title(run),
        show_blocks(run.labels.cache_blocks),
        run.labels.ssd,
        if run.labels.pacing == "closed" { "closed" } else { "open" },
        settings(&run.labels.parameters),
        line("drive", &run.labels.drive_parameters),
        run.labels
            .translation_parameters
            .as_ref()
            .map_or(String::new(), |set| line("translation", set)),
    ));
    let (zones, flash) = (has_zones(&run.all), run.all.wa_flash.is_some());
    let modelled = run.measured.as_ref().is_none_or(|measured| measured.emulated);
    let shown = |c: &Counts| {
        let mut lines = counters(c);
        if !modelled {
            lines.retain(|(name, _)| !WITHIN_THE_DISK.contains(name));
        }
        lines.extend(if zones { of_zones(c) } else { Vec::new() });
        lines.extend(if flash { of_flash(c) } else { Vec::new() });
        lines
    };
    let all = shown(&run.all);
    let warm = run.warm_from.map(|_| shown(&run.warm));
    let filled: Vec<[String; 3]> = all
        .iter()
        .enumerate()
        .map(|(at, (name, value))| {
            let warm = warm.as_ref().map_or("-".into(), |warm| warm[at].1.clone());
            [(*name).to_owned(), value.clone(), warm]
        })
        .collect();
    text += &rows(["counter", "all", "since the cache was full"], &filled, color);
    text += "\n\n";
    text += &wrapped(&in_words(run, modelled));
    text += &format!("\n{}\n", histogram(run, color));
    if run.series.is_empty() { text } else { text + "\n" + &series(run, color) + "\n" }
}

/// Formats remaining work, response times, and what else is not a counter.
fn in_words(run: &RunResult, modelled: bool) -> String {
    let mut text =
        format!("left undone: {} dirty blocks in the cache", count(run.left.dirty_blocks));
    if modelled {
        let (blocks, bands) = (count(run.left.buffer_blocks), count(run.left.buffer_bands));
        text += &format!(", {blocks} blocks of {bands} bands in the buffer");
    }
    if run.measured.is_none() || run.left.seconds > 0.0 {
        text += &format!("; {}", seconds(run.left.seconds));
    }
    text.push('\n');
    if let Some(bytes) = run.memory.bytes_per_slot {
        text += &format!(
            "memory: {bytes:.0} bytes a slot, {} for zones\n",
            show_bytes(run.memory.zone_bytes)
        );
    }
    let l = &run.latency;
    text += &format!(
        "response times: mean {}, 50 % {}, 99 % {}, 99.9 % {}, longest {}\n",
        micros(l.mean_us),
        micros(l.p50_us),
        micros(l.p99_us),
        micros(l.p999_us),
        micros(l.max_us),
    );
    if let Some(measured) = &run.measured {
        text += &measured_in(run, measured);
    }
    if let Some(queue) = run.queue {
        text += &format!(
            "disk busy {:.1} %, SSD busy {:.1} %, longest queue {}{}\n",
            100.0 * queue.disk_utilisation,
            100.0 * queue.ssd_utilisation,
            count(queue.longest),
            if queue.overloaded { ", OVERLOADED: the queue still grew at the end" } else { "" },
        );
    }
    if let Some(flash) = &run.flash {
        text += &inside(flash);
    }
    if let Some(did) = &run.translation_counters {
        text += &match run.labels.translation.as_deref() {
            Some("log") => logged(did),
            _ => translated(did),
        };
    }
    if let Some(reads) = run.checked_reads {
        text += &format!("{} blocks read were checked: each was the last written\n", count(reads));
    }
    text
}

/// Formats what only a run on real devices has.
fn measured_in(run: &RunResult, measured: &Measured) -> String {
    let mut text = format!("measured: {} in all", seconds(run.wall.seconds));
    if let Some(depth) = measured.depth {
        text += &format!(", {} under way at a time", counted(depth, "request", "requests"));
    }
    if measured.failed_requests + measured.failed_ios > 0 {
        let (requests, ios) = (count(measured.failed_requests), count(measured.failed_ios));
        text += &format!("; {requests} requests and {ios} I/Os failed");
    }
    text + "\n"
}
