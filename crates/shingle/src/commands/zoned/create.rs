//! `shingle zoned create`: creates files that behave as zoned disks.

use std::path::PathBuf;

use clap::Args;
use shingle_core::units::{BLOCK_BYTES, Zone};
use shingle_zoned::{Condition, Geometry, ReadsBeyond, create_failed};

use super::about;
use crate::Usage;
use crate::cli::{self, Global};
use crate::output::note;

#[derive(Debug, Args)]
pub(crate) struct Create {
    /// The file; it must not exist yet.
    file: PathBuf,
    /// Number of zones, conventional ones included.
    #[arg(long, value_name = "N", value_parser = cli::whole::<u32>)]
    zones: u32,
    /// Distance from the start of a zone to the start of the next.
    #[arg(long, value_name = "SIZE", default_value = "256M", value_parser = cli::bytes)]
    zone_size: u64,
    /// Number of conventional zones (writable anywhere), at the start of the disk. [default: 1 of
    /// 100]
    #[arg(long, value_name = "N", value_parser = cli::whole::<u32>)]
    conventional: Option<u32>,
    /// Writable part of a sequential zone. [default: all]
    #[arg(long, value_name = "SIZE", value_parser = cli::bytes)]
    zone_capacity: Option<u64>,
    /// Most zones that can be open at a time; 0 for any number. [default: 128, or --max-active
    /// where that is less]
    #[arg(long, value_name = "N", value_parser = cli::whole::<u32>)]
    max_open: Option<u32>,
    /// Most zones that can be active (open or closed) at a time; 0 for any number.
    #[arg(long, value_name = "N", value_parser = cli::whole::<u32>, default_value_t = 0)]
    max_active: u32,
    /// Bytes that are written atomically at a power cut: 512 to 4096.
    #[arg(long, value_name = "BYTES", value_parser = cli::whole::<u32>, default_value_t = 4096)]
    physical_block: u32,
    /// Refuse reads beyond a write pointer; otherwise they return zeros.
    #[arg(long)]
    refuse_reads_beyond: bool,
    /// Zones that have failed and can only be read.
    #[arg(long, value_delimiter = ',', value_name = "ZONE,…", value_parser = cli::whole::<u32>)]
    read_only: Vec<u32>,
    /// Zones that have failed and are lost.
    #[arg(long, value_delimiter = ',', value_name = "ZONE,…", value_parser = cli::whole::<u32>)]
    offline: Vec<u32>,
}

pub(super) fn execute(args: &Create, global: &Global) -> anyhow::Result<()> {
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
        if let Some(zone) = self.read_only.iter().find(|zone| self.offline.contains(zone)) {
            let what = "a zone that can be read is not lost; name it in one of them";
            return Err(Usage(format!("--read-only and --offline both name zone {zone}: {what}")));
        }
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
