//! One page: what was aimed at, every cell, every system in it.

use std::fmt::Write;

use shingle_report::chart::escaped;
use shingle_report::page::{self, Making};

use super::{Cell, DISKS, Kind, Own};

/// The page.
#[must_use]
pub fn page(own: &Own, making: &Making) -> String {
    let mut html = page::head("disk-time and the published policies", "");
    let seeds: Vec<String> = own.seeds.iter().map(u64::to_string).collect();
    let _ = write!(
        html,
        "<p>Done + left of every policy, in seconds of I/O. Published policies run with <code>cache.batch</code> \
         1 and 64, and the better counts. Workloads have up to {} requests; seeds {}. Cells in which next to \
         nothing is cleaned are marked and do not count, nor do workloads that constants were tuned on.</p>",
        own.requests,
        seeds.join(", ")
    );
    goals(&mut html, own);
    for disk in DISKS {
        let cells: Vec<&Cell> = own.cells.iter().filter(|cell| cell.disk == disk.name).collect();
        if cells.is_empty() {
            continue;
        }
        let _ = write!(html, "<h2>{}</h2><p>{}.</p>", disk.name, escaped(disk.about));
        table(&mut html, &cells);
    }
    page::foot(&mut html, making);
    html
}

fn goals(html: &mut String, own: &Own) {
    html.push_str(
        "<h2>Aims</h2><table><thead><tr><th>Aim</th><th>Cells</th><th>Reach it</th><th>Met</th></tr></thead><tbody>",
    );
    for goal in &own.goals {
        let (class, word) = if goal.met { ("yes", "yes") } else { ("no", "no") };
        let _ = write!(
            html,
            "<tr><td>{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"{class}\">{word}</td></tr>",
            escaped(goal.aim),
            goal.cells,
            goal.reached,
        );
    }
    html.push_str("</tbody></table>");
}

fn table(html: &mut String, cells: &[&Cell]) {
    let labels: Vec<&str> = cells[0].systems.iter().map(|system| system.system).collect();
    html.push_str(
        "<div class=\"wide\"><table><thead><tr><th>Workload</th><th>Mode</th><th>Cache</th>",
    );
    html.push_str(
        "<th>÷ best published</th><th>which</th><th>best published ÷ least possible</th>",
    );
    for label in &labels {
        let _ = write!(html, "<th>{}</th>", escaped(label));
    }
    html.push_str("</tr></thead><tbody>");
    for cell in cells {
        let few = if cell.too_little { ", little is cleaned" } else { "" };
        let _ = write!(
            html,
            "<tr><td>{} ({}{few})</td><td>{}</td><td>{}</td><td class=\"n\">{}</td><td>{}</td><td class=\"n\">{}</td>",
            escaped(&cell.workload),
            cell.role.words(),
            cell.mode,
            cell.cache,
            spread(&cell.ahead_of(Kind::Published), 2),
            cell.best_name(Kind::Published),
            spread_or_none(&cell.possible()),
        );
        for system in &cell.systems {
            let _ = write!(html, "<td class=\"n\">{}</td>", spread(&system.seconds, 0));
        }
        html.push_str("</tr>");
    }
    html.push_str("</tbody></table></div>");
}

/// The same, or nothing.
#[must_use]
pub fn spread_or_none(values: &[f64]) -> String {
    if values.is_empty() { String::new() } else { spread(values, 2) }
}

/// Least and most of some figures.
#[must_use]
pub fn spread(values: &[f64], digits: usize) -> String {
    let least = values.iter().copied().fold(f64::INFINITY, f64::min);
    let most = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let [low, high] = [least, most].map(|value| format!("{value:.digits$}"));
    if low == high { low } else { format!("{low}–{high}") }
}
