//! Compares the policy of this project with the best published one of each cell.

use shingle_papers::own::page::{COLUMNS, by_disk, spread};
use shingle_papers::own::{DISKS, Kind, Own, Varied, Without};

use super::{figure_rows, rows};
use crate::cli::Color;

/// Formats cells and aims.
pub(crate) fn own(own: &Own, color: Color) -> String {
    let cell = |cell: &shingle_papers::own::Cell| {
        let named = |kind| {
            let name = cell.best_name(kind);
            match cell.ahead_of(kind).as_slice() {
                [] => String::new(),
                ahead => format!("{} {name}", spread(ahead, 2)),
            }
        };
        let note = if cell.too_little { "too little is cleaned" } else { cell.role.words() };
        let place = format!("{} {} {} {}", cell.disk, cell.workload, cell.mode, cell.cache);
        let possible = spread(&cell.possible(), 2);
        let times = |figure| spread(&cell.less_than(Kind::Published, figure), 2);
        let (p99, p999) = (times(|one| &one.p99_us), times(|one| &one.p999_us));
        let tails = format!("{p99}, {p999}");
        [place, named(Kind::Published), possible, named(Kind::Widened), tails, note.to_owned()]
    };
    let cells: Vec<[String; 6]> = own.cells.iter().map(cell).collect();
    let header = [
        "disk, workload, mode, cache",
        "best published ÷ ours",
        "÷ least possible",
        "with whole bands or log ÷ ours",
        "p99, p99.9 of reads ÷ ours",
        "",
    ];
    let mut text = figure_rows(header, &cells, color);
    let goals: Vec<[String; 4]> = own
        .goals
        .iter()
        .map(|goal| {
            let met = if goal.met { "yes" } else { "no" };
            [goal.aim.to_owned(), goal.cells.to_string(), goal.reached.to_string(), met.to_owned()]
        })
        .collect();
    text += "\nOver what was not tuned on:\n";
    text += &rows(["aim", "cells", "reach it", "met"], &goals, color);
    text +=
        &by_disk_table("time without it ÷ with it", own.without().iter().map(Without::row), color);
    if !own.sensitivity.is_empty() {
        let varied = own.sensitivity.iter().map(Varied::row);
        text += &by_disk_table("best published ÷ ours, with another", varied, color);
    }
    text.push('\n');
    text
}

/// Formats the median over all places, with minimum and maximum, in one column per disk.
fn by_disk_table(what: &str, all: impl Iterator<Item = [String; 3]>, color: Color) -> String {
    let disks = DISKS.iter().map(|disk| disk.name);
    let header: Vec<&str> = std::iter::once(what).chain(disks).collect();
    let header: [&str; COLUMNS] = header.try_into().expect("a column for each disk");
    format!("\n{}", figure_rows(header, &by_disk(all), color))
}
