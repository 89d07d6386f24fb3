//! `shingle list anchors`: the drive models beside published measurements, and the mechanics beside measured disks.

use std::path::Path;

use serde_json::{Value, json};
use shingle_drive::measure::disksim::{Disk, Replay, Request, Times, of_disksim};
use shingle_drive::measure::{Role, Row, anchors};
use shingle_trace::format::validation::{Timed, read};

use crate::cli::Global;
use crate::output::{note, print};
use crate::table;

pub(crate) fn execute(
    as_json: bool,
    disksim: Option<&Path>,
    global: &Global,
) -> anyhow::Result<()> {
    // First, so that a wrong folder is reported at once.
    let disks = disksim.map(|folder| replays(folder, global)).transpose()?;
    let rows = anchors(&mut |next| note(&format!("running: {next}"), global.quiet));
    if as_json {
        let mut rows: Vec<Value> = rows.iter().map(value).collect();
        rows.extend(disks.iter().flatten().flat_map(|(name, replay)| disk_values(name, replay)));
        return print(&serde_json::to_string_pretty(&rows)?);
    }
    let mut text = String::new();
    for group in rows.chunk_by(|a, b| (a.anchor, a.drive) == (b.anchor, b.drive)) {
        text += &one_group(group, global);
    }
    text += &match &disks {
        Some(disks) => disk_table(disks, global),
        None => WITHOUT_DISKS.to_owned(),
    };
    print(&(text + &summary(&rows)))
}

const WITHOUT_DISKS: &str = "Measured disks: the validation set of DiskSim 4.0, which is not part of the project, is \
    replayed with\n--disksim DIR: a folder with NAME.model, NAME.diskspecs, NAME.seek and NAME.trace (or NAME.trace.zst) \
    for each disk.\n\n";

const ABOUT_DISKS: &str = "  demerit: root of the mean square of the distance between the distributions of response \
    times (Ruemmler and Wilkes 1994);\n  beside it that of DiskSim 4.0, as its validation script states it. From the \
    files: layout, seeks, head switch, settling,\n  rotation, bus, cache segments, read-ahead, and the mean of eight times \
    of a command. Ours: skews, the write cache. Nothing\n  was adjusted to the traces.\n\n";

/// Replays the traces of a folder, by disk.
fn replays(folder: &Path, global: &Global) -> anyhow::Result<Vec<(String, Replay)>> {
    let replay = |name: String| {
        note(&format!("running: {name}"), global.quiet);
        let disk = Disk::read(folder, &name)?;
        let packed = folder.join(format!("{name}.trace.zst"));
        let plain = folder.join(format!("{name}.trace"));
        let file = if packed.is_file() { packed } else { plain };
        let path = file.to_string_lossy();
        let request = |timed: Timed| {
            let Timed { op, sector, sectors, response, pause } = timed;
            Request { op, sector, sectors, response, pause }
        };
        let trace: Vec<Request> = read(&path)?.into_iter().map(request).collect();
        let replay = disk.replay(&trace).map_err(|what| anyhow::anyhow!("{path}: {what}"))?;
        Ok((name, replay))
    };
    Disk::names(folder)?.into_iter().map(replay).collect()
}

/// Returns the times of all requests, of reads and of writes, as far as there are any.
fn parts(replay: &Replay) -> impl Iterator<Item = (&'static str, Times)> {
    let parts = [("", Some(replay.all)), ("reads", replay.reads), ("writes", replay.writes)];
    parts.into_iter().filter_map(|(what, times)| times.map(|times| (what, times)))
}

fn disk_table(disks: &[(String, Replay)], global: &Global) -> String {
    let cells = |(name, replay): &(String, Replay)| -> Vec<[String; 7]> {
        let row = |(what, times): (&str, Times)| {
            let (name, own) = match what {
                "" => (
                    name.clone(),
                    of_disksim(name).map_or("unknown".into(), |ms| format!("{ms:.3} ms")),
                ),
                what => (format!("  {what}"), String::new()),
            };
            [
                name,
                times.requests.to_string(),
                format!("{:.2} ms", times.measured_ms),
                format!("{:.2} ms", times.model_ms),
                format!("{:+.1} %", times.deviation() * 100.0),
                format!("{:.3} ms", times.demerit_ms),
                own,
            ]
        };
        parts(replay).map(row).collect()
    };
    let rows: Vec<[String; 7]> = disks.iter().flat_map(cells).collect();
    let header =
        ["disk", "requests", "measured mean", "model", "deviation", "demerit", "DiskSim's"];
    let table = table::figure_rows(header, &rows, global.color);
    format!("Measured disks, response times\n{table}\n{ABOUT_DISKS}")
}

fn disk_values(name: &str, replay: &Replay) -> Vec<Value> {
    let row = |(what, times): (&str, Times)| {
        let own = of_disksim(name).filter(|_| what.is_empty());
        json!({
            "anchor": "DiskSim validation set", "drive": name,
            "quantity": format!("mean response time {what}").trim(), "unit": "ms",
            "measured": times.measured_ms, "model": times.model_ms, "deviation": times.deviation(),
            "role": Role::Prediction.to_string(), "aim": null, "holds": null, "note": "",
            "requests": times.requests, "demerit_ms": times.demerit_ms, "demerit_of_disksim_ms": own,
        })
    };
    parts(replay).map(row).collect()
}

/// Formats the rows of one source on one drive, with its remarks.
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

/// Formats a figure with about three digits.
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
