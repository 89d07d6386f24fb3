//! The report on this project's policy, as one HTML page: goals, and a table of all cells and
//! systems.

use std::fmt::Write;

use shingle_report::chart::escaped;
use shingle_report::page::{self, Making};

use super::{Cell, DISKS, Kind, Own, Varied, Without};

/// Makes the page.
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
    for left_out in &own.left_out {
        let _ = write!(html, "<p>{}.</p>", escaped(left_out));
    }
    goals(&mut html, own);
    for disk in DISKS {
        let cells: Vec<&Cell> = own.cells.iter().filter(|cell| cell.disk == disk.name).collect();
        if cells.is_empty() {
            continue;
        }
        let _ = write!(html, "<h2>{}</h2><p>{}.</p>", disk.name, escaped(disk.about));
        table(&mut html, &cells);
    }
    let without = by_disk(own.without().iter().map(Without::row));
    figures(&mut html, "Without a part of it", ("Part", "time, in that of all of it"), &without);
    if !own.sensitivity.is_empty() {
        let varied = by_disk(own.sensitivity.iter().map(Varied::row));
        let head = ("What differs", "best published ÷ ours");
        figures(&mut html, "Where something differs", head, &varied);
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

fn figures(
    html: &mut String,
    title: &str,
    (what, figure): (&str, &str),
    rows: &[[String; COLUMNS]],
) {
    let _ = write!(
        html,
        "<h2>{title}</h2><p>For each disk {figure}: median of all places and seeds, and least and most.</p>\
         <table><thead><tr><th>{what}</th>",
    );
    for disk in DISKS {
        let _ = write!(html, "<th>{}</th>", disk.name);
    }
    html.push_str("</tr></thead><tbody>");
    for [what, figures @ ..] in rows {
        let _ = write!(html, "<tr><td>{}</td>", escaped(what));
        for figure in figures {
            let _ = write!(html, "<td class=\"n\">{figure}</td>");
        }
        html.push_str("</tr>");
    }
    html.push_str("</tbody></table>");
}

/// Columns of a table: a name, and a figure for each disk.
pub const COLUMNS: usize = 1 + DISKS.len();

/// Makes rows of triples of name, disk and figure: a row for each name, with a column for each of
/// [`DISKS`].
#[must_use]
pub fn by_disk(all: impl Iterator<Item = [String; 3]>) -> Vec<[String; COLUMNS]> {
    let mut rows: Vec<[String; COLUMNS]> = Vec::new();
    for [name, of, figure] in all {
        let at = rows.iter().position(|row| row[0] == name).unwrap_or_else(|| {
            let mut row = [const { String::new() }; COLUMNS];
            row[0] = name;
            rows.push(row);
            rows.len() - 1
        });
        if let Some(disk) = DISKS.iter().position(|disk| disk.name == of) {
            rows[at][1 + disk] = figure;
        }
    }
    rows
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
            spread(&cell.possible(), 2),
        );
        for system in &cell.systems {
            let _ = write!(html, "<td class=\"n\">{}</td>", spread(&system.seconds, 0));
        }
        html.push_str("</tr>");
    }
    html.push_str("</tbody></table></div>");
}

/// Formats the median of some values, with the least and greatest if there are several.
#[must_use]
pub fn spread(values: &[f64], digits: usize) -> String {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let [Some(low), Some(high)] = [sorted.first(), sorted.last()] else { return String::new() };
    let median = (sorted[sorted.len() / 2] + sorted[(sorted.len() - 1) / 2]) / 2.0;
    match sorted.len() {
        1 => format!("{median:.digits$}"),
        _ => format!("{median:.digits$} ({low:.digits$}–{high:.digits$})"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spread_is_the_median_and_what_it_lies_between() {
        assert_eq!(spread(&[], 2), "");
        assert_eq!(spread(&[1.234], 2), "1.23");
        assert_eq!(spread(&[3.0, 1.0], 1), "2.0 (1.0–3.0)");
        assert_eq!(spread(&[9.0, 1.0, 2.0], 0), "2 (1–9)");
    }

    #[test]
    fn rows_of_disks_become_columns() {
        let of = |name: &str, disk: &str, figure: &str| [name, disk, figure].map(str::to_owned);
        let all = [of("a", "plain", "1"), of("b", "emulator", "2"), of("a", "streams", "3")];
        let rows = by_disk(all.into_iter());
        assert_eq!(rows, [["a", "3", "1", "", "", "", "", ""], ["b", "", "", "2", "", "", "", ""]]);
    }
}
