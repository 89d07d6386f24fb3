//! The output of `compare` with one seed.

use comfy_table::{Attribute, Cell, CellAlignment};
use shingle_core::duration::{show_duration as seconds, show_micros as micros};
use shingle_core::size::show_blocks;
use shingle_result::verdict::{self, Group, count};
use shingle_result::{Report, RunResult};

use super::fit::{Figures, wrapped};
use super::words::{heading, ratio, said, title};
use crate::cli::Color;

/// Formats the result of `compare`: a table for each drive and cache size, and its remarks.
pub(crate) fn comparison(report: &Report, baselines: &[bool], color: Color) -> String {
    let mut text = heading(report);
    for group in verdict::groups(&report.runs) {
        text += &one_group(report, &group, baselines, color);
    }
    text
}

/// Columns that are left out on narrow lines, in this order.
const DISPENSABLE: &[&str] =
    &["written", "blocks read", "wa_host", "disk busy", "cleaning", "hits", "RMWs"];

fn one_group(report: &Report, group: &Group, baselines: &[bool], color: Color) -> String {
    let runs: Vec<&RunResult> = group.runs.iter().map(|&i| &report.runs[i]).collect();
    let first = runs[0];
    let open = first.queue.is_some();
    let translations = runs.iter().any(|run| run.labels.translation != first.labels.translation);
    let over = if translations { first.labels.drive.clone() } else { title(first) };
    let mut text = format!("\n{over}, cache {}", show_blocks(group.cache_blocks));
    let pb = runs.iter().find_map(|run| run.labels.drive_parameters.get("pb"));
    match pb.map(String::as_str) {
        Some("real") => text += ", buffer as built",
        Some(blocks) => {
            let blocks: u64 = blocks.trim_end_matches('b').parse().unwrap_or(0);
            text += &format!(", buffer {}", show_blocks(blocks));
        }
        None => {}
    }
    // (A disk without a cache, in the same table, is served one request at a time.)
    let depth = runs.iter().find_map(|run| run.labels.parameters.get("depth"));
    let stores = runs.iter().any(|run| run.labels.parameters.contains_key("as"));
    text += if stores { ", as a store" } else { "" };
    text += &match depth {
        _ if open => ", at the trace's own pace\n".to_owned(),
        Some(depth) if depth == "1" => ", 1 request at a time\n".to_owned(),
        Some(depth) => format!(", {depth} requests at a time\n"),
        None => ", one request after another\n".to_owned(),
    };

    text = wrapped(&text);

    let mut table = Figures::new(color, DISPENSABLE);
    let mut header = vec!["policy"];
    header.extend(translations.then_some("translation"));
    header.extend(["hits", "blocks read", "written", "RMWs", "wa_host"]);
    header.extend(if open {
        ["mean", "99 %", "disk busy", "left"]
    } else {
        ["cleaning", "done", "left", "done + left"]
    });
    table.set_header(header);
    for at in verdict::ranking(&runs) {
        let run = runs[at];
        let bands = if run.labels.knows_bands { " †" } else { "" };
        let mut cells = vec![Cell::new(format!("{}{bands}", run.labels.policy))];
        if translations {
            cells.push(Cell::new(run.labels.translation.as_deref().unwrap_or("-")));
        }
        let figures = figures(run);
        cells.extend(figures.into_iter().map(|f| Cell::new(f).set_alignment(CellAlignment::Right)));
        if baselines.get(group.runs[at]).copied().unwrap_or(false) {
            cells = cells.into_iter().map(|cell| cell.add_attribute(Attribute::Dim)).collect();
        }
        table.add_row(cells);
    }
    text += &table.to_string();
    text.push('\n');
    if runs.iter().any(|run| run.labels.knows_bands) {
        text += "† knows the bands of the drive, which no host does\n";
    }
    text + &said(report, &group.runs)
}

fn figures(run: &RunResult) -> Vec<String> {
    let c = &run.all;
    let mut figures = vec![
        c.hits.ratio.map_or("-".into(), |ratio| format!("{:.1} %", 100.0 * ratio)),
        count(c.drive_io.read_blocks),
        count(c.drive_io.written_blocks),
        count(c.drive_io.rmw),
        ratio(c.wa_host),
    ];
    match run.queue {
        Some(queue) => figures.extend([
            micros(run.latency.mean_us) + if queue.overloaded { " !" } else { "" },
            micros(run.latency.p99_us),
            format!("{:.1} %", 100.0 * queue.disk_utilisation),
            seconds(run.left.seconds),
        ]),
        None => figures.extend([
            seconds(c.seconds.by_cause.clean),
            seconds(c.seconds.total),
            seconds(run.left.seconds),
            seconds(verdict::done_and_left(run)),
        ]),
    }
    figures
}
