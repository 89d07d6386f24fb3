//! `shingle list disks`: real disks, how they record, and the model nearest to each.

use serde_json::{Value, json};
use shingle_drive::disks::{Disk, disks, with_prefix};

use crate::cli::Global;
use crate::output::print;
use crate::{Usage, table};

pub(crate) fn execute(prefix: Option<&str>, as_json: bool, global: &Global) -> anyhow::Result<()> {
    let found = prefix.map_or_else(|| disks().iter().collect(), with_prefix);
    if let (Some(prefix), true) = (prefix, found.is_empty()) {
        return Err(Usage(format!(
            "no disk here begins with `{prefix}`; `shingle list disks` has those there are, and what a disk hides \
             `shingle probe` finds out"
        ))
        .into());
    }
    if as_json {
        let rows: Vec<Value> = found.iter().map(|disk| value(disk)).collect();
        return print(&serde_json::to_string_pretty(&rows)?);
    }
    let rows: Vec<[String; 6]> = found.iter().map(|disk| cells(disk)).collect();
    let header = ["disk", "maker, line", "TB", "kind", "nearest model", "measured by"];
    let table = table::rows(header, &rows, global.color);
    print(&format!("{table}\n{}{LEGEND}", sources(&found)))
}

const LEGEND: &str = "CMR: conventional. Shingled: DM drive-managed, HA host-aware, HM host-managed, SMR not said \
                      which.\nThe nearest model is no model of the disk unless its sheet says so: \
                      `shingle list drives NAME`.";

fn cells(disk: &Disk) -> [String; 6] {
    [
        disk.number.clone(),
        format!("{} {}", disk.maker, disk.line).trim().to_owned(),
        disk.terabytes.to_string(),
        disk.recording.short().to_owned(),
        disk.nearest.clone(),
        disk.probed.clone().unwrap_or_default(),
    ]
}

/// Formats the sources, each once, with the disks they are about if these are few.
fn sources(found: &[&Disk]) -> String {
    let mut text = String::new();
    let mut said: Vec<&str> = Vec::new();
    for disk in found.iter().filter(|_| found.len() > 1) {
        if !said.contains(&disk.source.as_str()) {
            said.push(&disk.source);
            let same = found.iter().filter(|other| other.source == disk.source);
            let numbers: Vec<&str> = same.map(|other| other.number.as_str()).collect();
            text += &format!("{}: {}\n", numbers.join(", "), disk.source);
        }
    }
    match found {
        [disk] => format!("{}\n", disk.source),
        _ => text,
    }
}

fn value(disk: &Disk) -> Value {
    json!({
        "number": disk.number, "maker": disk.maker, "line": disk.line, "terabytes": disk.terabytes,
        "shingled": disk.recording.shingled(), "kind": disk.recording.short(), "nearest": disk.nearest,
        "measured_by": disk.probed, "source": disk.source,
    })
}
