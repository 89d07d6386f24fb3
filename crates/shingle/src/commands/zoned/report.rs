//! `shingle zoned report`: shows the zones of a zoned disk.

use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::{Value, json};
use shingle_core::size::show_bytes;
use shingle_core::units::{BLOCK_BYTES, Zone};
use shingle_zoned::{
    Condition, ReadOnlyDisk, ReadsBeyond, ZoneReport, ZonedDisk as _, open_read_only,
};

use super::about;
use super::check::in_head;
use crate::cli::Global;
use crate::output::print;
use crate::table;

#[derive(Debug, Args)]
pub(crate) struct Report {
    /// The disk: a file or block device made by `zoned create`, or a host-managed device.
    #[arg(value_name = "FILE|DEV")]
    disk: PathBuf,
    /// Print JSON, one entry per zone.
    #[arg(long)]
    json: bool,
}

pub(super) fn execute(args: &Report, global: &Global) -> anyhow::Result<()> {
    let disk = open_read_only(&args.disk)?;
    let zones = disk.report(Zone(0), disk.geometry().zones)?;
    if args.json {
        return print(&serde_json::to_string_pretty(&as_json(&args.disk, &disk, &zones))?);
    }
    let count = |condition| zones.iter().filter(|zone| zone.condition == condition).count();
    let counts = Condition::ALL.map(|condition| (condition.name(), count(condition)));
    let counts = counts.into_iter().filter(|(_, count)| *count > 0);
    let counts: Vec<String> = counts.map(|(name, count)| format!("{count} {name}")).collect();
    let rows: Vec<[String; 4]> = alike(&zones).map(row).collect();
    let header = ["zones", "condition", "first block", "written"];
    let table = table::figure_rows(header, &rows, global.color);
    let about = format!("{}: {}", args.disk.display(), about(disk.geometry()));
    let lines = [about, counts.join(", ")].into_iter().chain(in_head(disk.damaged()));
    print(&lines.chain([table]).collect::<Vec<_>>().join("\n"))
}

/// Groups neighbours that differ only in their address.
fn alike(zones: &[ZoneReport]) -> impl Iterator<Item = &[ZoneReport]> {
    let same = |one: &ZoneReport, other: &ZoneReport| {
        (one.condition, one.write_pointer, one.torn_bytes)
            == (other.condition, other.write_pointer, other.torn_bytes)
    };
    zones.chunk_by(same)
}

fn row(zones: &[ZoneReport]) -> [String; 4] {
    let first = zones[0];
    let last = zones[zones.len() - 1];
    [
        match zones.len() {
            1 => first.zone.0.to_string(),
            _ => format!("{}-{}", first.zone.0, last.zone.0),
        },
        first.condition.name().to_owned(),
        first.first.0.to_string(),
        match first.write_pointer {
            None => "-".to_owned(),
            Some(blocks) => show_bytes(blocks * BLOCK_BYTES + u64::from(first.torn_bytes)),
        },
    ]
}

fn as_json(path: &Path, disk: &ReadOnlyDisk, zones: &[ZoneReport]) -> Value {
    let geometry = disk.geometry();
    let zone = |zone: &ZoneReport| {
        json!({
            "zone": zone.zone.0,
            "condition": zone.condition.name(),
            "first_block": zone.first.0,
            "capacity_blocks": zone.capacity_blocks,
            "write_pointer_blocks": zone.write_pointer,
            "torn_bytes": zone.torn_bytes,
        })
    };
    json!({
        "schema": "shingle.zones/1",
        "disk": path.display().to_string(),
        "file": disk.is_file(),
        "head": disk.has_head(),
        "damaged_head": disk.damaged(),
        "block_bytes": BLOCK_BYTES,
        "zone_blocks": geometry.zone_blocks,
        "conventional_zones": geometry.conventional_zones,
        "logical_block_bytes": geometry.logical_block_bytes,
        "physical_block_bytes": geometry.physical_block_bytes,
        "max_open": geometry.max_open,
        "max_active": geometry.max_active,
        "reads_beyond": match geometry.reads_beyond {
            ReadsBeyond::Zeros => Some("zeros"),
            ReadsBeyond::Refused => Some("refused"),
            ReadsBeyond::Unknown => None,
        },
        "zones": zones.iter().map(zone).collect::<Vec<_>>(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use shingle_core::units::{Block, Zone};

    #[test]
    fn zones_that_are_alike_are_one_row() {
        let zone = |zone: u32, condition, write_pointer| ZoneReport {
            zone: Zone(zone),
            first: Block(u64::from(zone) * 100),
            blocks: 100,
            capacity_blocks: 100,
            condition,
            write_pointer,
            torn_bytes: 0,
        };
        let zones = [
            zone(0, Condition::Conventional, None),
            zone(1, Condition::Conventional, None),
            zone(2, Condition::Closed, Some(3)),
            zone(3, Condition::Closed, Some(4)),
            zone(4, Condition::Empty, Some(0)),
        ];
        let rows: Vec<[String; 4]> = alike(&zones).map(row).collect();
        assert_eq!(
            rows,
            [
                ["0-1", "conventional", "0", "-"],
                ["2", "closed", "200", "12 KiB"],
                ["3", "closed", "300", "16 KiB"],
                ["4", "empty", "400", "0 B"],
            ]
        );
    }
}
