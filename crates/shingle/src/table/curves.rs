//! The output of `curve`.

use comfy_table::{Cell, CellAlignment};
use shingle_core::duration::show_duration as seconds;
use shingle_core::size::show_blocks;
use shingle_result::verdict::{count, counted};
use shingle_sim::sample::curve::{BUFFER_BLOCKS_MIN, CACHE_BLOCKS_MIN};

use super::fit::{Figures, wrapped};
use super::words::few_cleanings;
use crate::cli::Color;
use shingle_result::{CurveSample, Curves, CurvesOfDrive, Estimate};

/// Formats a table for each drive, and what was run for it.
pub(crate) fn curves(all: &Curves, color: Color) -> String {
    let mut text = String::new();
    for curve in &all.curves {
        if !text.is_empty() {
            text.push('\n');
        }
        text +=
            &wrapped(&format!("{} on {}: {}\n", all.trace.name, curve.drive, said(&curve.sample)));
        text += &table(curve, color);
        text.push('\n');
    }
    let points = || all.curves.iter().flat_map(|curve| &curve.points);
    if points().any(|point| !point.was_full && point.cache_blocks > 0) {
        text += "* the cache was never full: a larger one brings nothing\n";
    }
    if points().any(|point| point.few_cleanings) {
        text += &few_cleanings("bands", "in what was run");
    }
    if all.curves.iter().any(|curve| !curve.sample.in_full) {
        text += &wrapped(
            "± is how far a figure may be off by the choice of bands, at 95 %. The time of I/O is the least certain: \
             docs/curve.md says why.\n",
        );
    }
    text
}

/// Says what was run.
fn said(sample: &CurveSample) -> String {
    let why = match sample.wanted_for {
        "bands" => format!(
            "as they count for no more than {} equally busy ones",
            count(sample.alike_bands)
        ),
        "cache" => format!("to have {} blocks of the smallest cache", count(CACHE_BLOCKS_MIN)),
        _ => format!("to have {} blocks of the disk's buffer", count(BUFFER_BLOCKS_MIN)),
    };
    let wanted = format!(
        "a sample needs {:.0} % of the {} bands, {why}",
        sample.wanted_percent.ceil(),
        count(sample.bands),
    );
    if sample.in_full {
        let all = format!("run in full, {}", counted(sample.requests, "request", "requests"));
        return match sample.wanted_for {
            "disk" => format!("{all}, as no part of such a disk is like all of it"),
            _ => format!("{all}; {wanted}"),
        };
    }
    let mut text = format!(
        "{} of {} bands sampled, {} of {}",
        count(sample.sampled_bands),
        count(sample.bands),
        count(sample.sampled_requests),
        counted(sample.requests, "request", "requests"),
    );
    if sample.percent < sample.wanted_percent {
        text += &format!("; {wanted}");
    }
    text
}

fn table(curve: &CurvesOfDrive, color: Color) -> String {
    let mut table = Figures::new(color, &["left"]);
    table.set_header(["policy", "cache", "hits", "RMWs", "done", "left", "done + left"]);
    for point in &curve.points {
        let mark = if point.was_full || point.cache_blocks == 0 { "" } else { " *" };
        let few = if point.few_cleanings { " ~" } else { "" };
        let mut cells = vec![Cell::new(format!("{}{mark}{few}", point.policy))];
        let figures = [
            show_blocks(point.cache_blocks),
            with_error(point.hits_percent, |value| format!("{value:.1}")) + " %",
            with_error(point.rmws, |value| count(value.round() as u64)),
            time(point.done_seconds),
            time(point.left_seconds),
            time(point.done_and_left_seconds),
        ];
        cells.extend(figures.map(|text| Cell::new(text).set_alignment(CellAlignment::Right)));
        table.add_row(cells);
    }
    table.to_string()
}

fn with_error(figure: Estimate, shown: impl Fn(f64) -> String) -> String {
    match figure.error {
        0.0 => shown(figure.value),
        error => format!("{} ± {}", shown(figure.value), shown(error)),
    }
}

/// Formats a time, and its error in percent.
fn time(figure: Estimate) -> String {
    let part = 100.0 * figure.error / figure.value;
    match figure.error {
        0.0 => seconds(figure.value),
        // A percentage of zero does not exist.
        error if figure.value == 0.0 => format!("{} ± {}", seconds(figure.value), seconds(error)),
        _ => format!("{} ± {part:.0} %", seconds(figure.value)),
    }
}
