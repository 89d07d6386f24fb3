//! `shingle zoned`: files that are zoned disks, and what a zoned disk says of its zones.

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use serde_json::{Value, json};
use shingle_core::size::show_bytes;
use shingle_core::units::{BLOCK_BYTES, Zone};
use shingle_zoned::{
    Condition, Geometry, Inspected, ReadsBeyond, ZoneReport, create_failed, inspect,
};

use crate::cli::{self, Global};
use crate::output::{note, print};
use crate::{Usage, table};

#[derive(Debug, Subcommand)]
pub(crate) enum Zoned {
    /// Make a file that behaves as a host-managed disk. It takes as much room as is written to it.
    #[command(after_help = "Example: shingle zoned create disk.zoned --zones 100 --zone-size 256M")]
    Create(Create),
    /// What a zoned disk says of its zones: conditions and write pointers. Changes nothing; a file that is in use tells
    /// how it was at the last flush.
    #[command(after_help = "Example: shingle zoned report disk.zoned")]
    Report(Report),
}

#[derive(Debug, Args)]
pub(crate) struct Create {
    /// The file; there must be none yet.
    file: PathBuf,
    /// Zones, conventional ones included.
    #[arg(long, value_name = "N")]
    zones: u32,
    /// From the start of a zone to the start of the next.
    #[arg(long, value_name = "SIZE", default_value = "256M", value_parser = cli::bytes)]
    zone_size: u64,
    /// Zones from the first on that are written anywhere. [default: 1 of 100]
    #[arg(long, value_name = "N")]
    conventional: Option<u32>,
    /// How much of a sequential zone can be written. [default: all]
    #[arg(long, value_name = "SIZE", value_parser = cli::bytes)]
    zone_capacity: Option<u64>,
    /// Zones that can be open at a time; 0 for any number. [default: 128, or --max-active where that is less]
    #[arg(long, value_name = "N")]
    max_open: Option<u32>,
    /// Zones that can be open or closed at a time; 0 for any number.
    #[arg(long, value_name = "N", default_value_t = 0)]
    max_active: u32,
    /// What a power cut tears a write at: 512 to 4096.
    #[arg(long, value_name = "BYTES", default_value_t = 4096)]
    physical_block: u32,
    /// Refuse reads beyond a write pointer; otherwise they are zeros.
    #[arg(long)]
    refuse_reads_beyond: bool,
    /// Zones that have failed and can only be read.
    #[arg(long, value_delimiter = ',', value_name = "ZONE,…")]
    read_only: Vec<u32>,
    /// Zones that have failed and are lost.
    #[arg(long, value_delimiter = ',', value_name = "ZONE,…")]
    offline: Vec<u32>,
}

#[derive(Debug, Args)]
pub(crate) struct Report {
    /// The disk: a file made by `zoned create`, or a host-managed block device.
    #[arg(value_name = "FILE|DEV")]
    disk: PathBuf,
    /// As JSON, a zone an entry.
    #[arg(long)]
    json: bool,
}

pub(crate) fn execute(command: &Zoned, global: &Global) -> anyhow::Result<()> {
    match command {
        Zoned::Create(args) => make(args, global),
        Zoned::Report(args) => report(args, global),
    }
}

fn make(args: &Create, global: &Global) -> anyhow::Result<()> {
    let geometry = args.geometry()?;
    let failed = args.failed()?;
    create_failed(&args.file, &geometry, &failed)?;
    note(&format!("{}: {}", args.file.display(), about(&geometry)), global.quiet);
    Ok(())
}

impl Create {
    fn geometry(&self) -> Result<Geometry, Usage> {
        let blocks = |option: &str, bytes: u64| match bytes % BLOCK_BYTES {
            0 => Ok(bytes / BLOCK_BYTES),
            _ => Err(Usage(format!("{option} {bytes}: not a multiple of 4096 bytes"))),
        };
        let zone_blocks = blocks("--zone-size", self.zone_size)?;
        let capacity =
            self.zone_capacity.map(|bytes| blocks("--zone-capacity", bytes)).transpose()?;
        let some = self.zones.div_ceil(100).min(self.zones.saturating_sub(1));
        let geometry = Geometry {
            conventional_zones: self.conventional.unwrap_or(some),
            zone_capacity_blocks: capacity.unwrap_or(zone_blocks),
            physical_block_bytes: self.physical_block,
            max_open: self.max_open.unwrap_or(match self.max_active {
                0 => 128,
                active => active.min(128),
            }),
            max_active: self.max_active,
            reads_beyond: match self.refuse_reads_beyond {
                true => ReadsBeyond::Refused,
                false => ReadsBeyond::Zeros,
            },
            ..Geometry::new(self.zones, zone_blocks)
        };
        geometry.check().map_err(|error| Usage(error.to_string()))?;
        Ok(geometry)
    }

    fn failed(&self) -> Result<Vec<(Zone, Condition)>, Usage> {
        let named = |zones: &[u32], condition| {
            let zone = move |&zone: &u32| (Zone(zone), condition);
            zones.iter().map(zone).collect::<Vec<_>>()
        };
        let mut failed = named(&self.read_only, Condition::ReadOnly);
        failed.extend(named(&self.offline, Condition::Offline));
        match failed.iter().find(|(zone, _)| zone.0 >= self.zones) {
            Some((Zone(zone), condition)) => {
                let (name, all) = (condition.name(), self.zones);
                Err(Usage(format!("--{name} {zone}: there are {all} zones, counted from 0")))
            }
            None => Ok(failed),
        }
    }
}

/// A disk in a line.
fn about(geometry: &Geometry) -> String {
    let (zones, zone_bytes) = (geometry.zones, geometry.zone_blocks * BLOCK_BYTES);
    let limit = |count: u32| if count == 0 { "any number".to_owned() } else { count.to_string() };
    let mut text = format!(
        "{zones} zones of {}, {} in all; {} conventional; {} open at a time",
        show_bytes(zone_bytes),
        show_bytes(geometry.blocks() * BLOCK_BYTES),
        geometry.conventional_zones,
        limit(geometry.max_open),
    );
    if geometry.max_active != 0 {
        text += &format!(", {} open or closed", limit(geometry.max_active));
    }
    if geometry.zone_capacity_blocks != geometry.zone_blocks {
        text += &format!("; capacity {}", show_bytes(geometry.zone_capacity_blocks * BLOCK_BYTES));
    }
    text
}

fn report(args: &Report, global: &Global) -> anyhow::Result<()> {
    let found = inspect(&args.disk)?;
    if args.json {
        return print(&serde_json::to_string_pretty(&as_json(&args.disk, &found))?);
    }
    let geometry = &found.geometry;
    let count = |condition| found.zones.iter().filter(|zone| zone.condition == condition).count();
    let counts = Condition::ALL.map(|condition| (condition.name(), count(condition)));
    let counts = counts.into_iter().filter(|(_, count)| *count > 0);
    let counts: Vec<String> = counts.map(|(name, count)| format!("{count} {name}")).collect();
    let rows: Vec<[String; 4]> = alike(&found.zones).map(row).collect();
    let header = ["zones", "condition", "first block", "written"];
    let table = table::figure_rows(header, &rows, global.color);
    print(&format!("{}: {}\n{}\n{table}", args.disk.display(), about(geometry), counts.join(", ")))
}

/// Neighbours that differ in nothing but their place.
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

fn as_json(path: &Path, found: &Inspected) -> Value {
    let geometry = &found.geometry;
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
        "file": found.is_file,
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
        "zones": found.zones.iter().map(zone).collect::<Vec<_>>(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use shingle_core::units::Block;

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
