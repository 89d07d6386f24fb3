//! `shingle list anchors`: the drive models beside published measurements.

use serde_json::{Value, json};
use shingle_drive::measure::{Role, Row, anchors};

use crate::cli::Global;
use crate::output::{note, print};
use crate::table;

pub(crate) fn execute(as_json: bool, global: &Global) -> anyhow::Result<()> {
    let rows = anchors(&mut |next| note(&format!("running: {next}"), global.quiet));
    if as_json {
        let rows: Vec<Value> = rows.iter().map(value).collect();
        return print(&serde_json::to_string_pretty(&rows)?);
    }
    let mut text = String::new();
    for group in rows.chunk_by(|a, b| (a.anchor, a.drive) == (b.anchor, b.drive)) {
        text += &one_group(group, global);
    }
    print(&(text + &summary(&rows)))
}

/// The rows of one source on one drive, and the remarks on them.
fn one_group(rows: &[Row], global: &Global) -> String {
    let cells: Vec<[String; 6]> = rows.iter().map(cells).collect();
    let header = ["", "published", "model", "deviation", "aim", "role"];
    let table = table::rows(header, &cells, global.color);
    let mut text = format!("{}, {}\n{table}\n", rows[0].anchor, rows[0].drive);
    let mut said: Vec<&str> = Vec::new();
    for row in rows.iter().filter(|row| !row.note.is_empty()) {
        if !said.contains(&row.note) {
            said.push(row.note);
            text += &format!("  {}: {}\n", row.quantity, row.note);
        }
    }
    text + "\n"
}

fn summary(rows: &[Row]) -> String {
    let held = |of: &dyn Fn(&&Row) -> bool| {
        let aimed = rows.iter().filter(of).filter(|row| row.holds().is_some());
        let held = aimed.clone().filter(|row| row.holds() == Some(true)).count();
        format!("{held} of {}", aimed.count())
    };
    format!(
        "Within their aim: {} rows, of them {} predictions.\n\
         fit: something was inferred from the row. taken over: a parameter is this measurement.\n\
         prediction: nothing was adjusted to it. not aimed at: the source is contradictory or says \
         too little.",
        held(&|_| true),
        held(&|row| row.role == Role::Prediction),
    )
}

fn cells(row: &Row) -> [String; 6] {
    let aim = match (row.aim, row.holds()) {
        (Some(aim), Some(true)) => format!("{:.0} %", aim * 100.0),
        (Some(aim), _) => format!("{:.0} % MISSED", aim * 100.0),
        _ => String::new(),
    };
    [
        row.quantity.clone(),
        format!("{} {}", figure(row.measured), row.unit),
        figure(row.model),
        format!("{:+.0} %", row.deviation() * 100.0),
        aim,
        row.role.to_string(),
    ]
}

/// Three digits or so.
fn figure(value: f64) -> String {
    match value {
        value if value >= 100.0 => format!("{value:.0}"),
        value => format!("{value:.2}"),
    }
}

fn value(row: &Row) -> Value {
    json!({
        "anchor": row.anchor, "drive": row.drive, "quantity": row.quantity, "unit": row.unit,
        "measured": row.measured, "model": row.model, "deviation": row.deviation(),
        "role": row.role.to_string(), "aim": row.aim, "holds": row.holds(), "note": row.note,
    })
}
