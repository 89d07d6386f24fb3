//! The policy of this project beside the best published one of each cell.

use shingle_papers::own::page::{spread, spread_or_none};
use shingle_papers::own::{Kind, Own};

use super::{figure_rows, rows};
use crate::cli::Color;

/// Cells, and aims.
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
        let possible = spread_or_none(&cell.possible());
        let p999 = spread_or_none(&cell.less_than(Kind::Published, |measured| &measured.p999_us));
        [place, named(Kind::Published), possible, named(Kind::Widened), p999, note.to_owned()]
    };
    let cells: Vec<[String; 6]> = own.cells.iter().map(cell).collect();
    let header = [
        "disk, workload, mode, cache",
        "best published ÷ ours",
        "÷ least possible",
        "with whole bands ÷ ours",
        "its p99.9 ÷ ours",
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
    text.push('\n');
    text
}
