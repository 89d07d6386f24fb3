//! `shingle zoned create`: creates zoned disks, in files or on block devices without zones.

use std::os::unix::fs::FileTypeExt as _;
use std::path::PathBuf;

use clap::Args;
use shingle_core::size::show_blocks;
use shingle_core::units::{BLOCK_BYTES, Zone};
use shingle_device::Device;
use shingle_store::store::create::{Consent, check_given_up};
use shingle_zoned::{Condition, Geometry, ReadsBeyond, create_failed, create_on, geometry_on};
use uuid::Uuid;

use super::about;
use crate::Usage;
use crate::cli::{self, Global};
use crate::output::note;

#[derive(Debug, Args)]
pub(crate) struct Create {
    /// The file, which must not exist yet; or a block device without zones.
    #[arg(value_name = "FILE|DEV")]
    disk: PathBuf,
    /// Number of zones, conventional ones included; needed for a file. [default: as many as fit on
    /// the device]
    #[arg(long, value_name = "N", value_parser = cli::whole::<u32>)]
    zones: Option<u32>,
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
    /// Most zones that can be open at a time; 0 for any number. [default: 128 in a file, 1 on a
    /// device; or --max-active where that is less]
    #[arg(long, value_name = "N", value_parser = cli::whole::<u32>)]
    max_open: Option<u32>,
    /// Most zones that can be active (open or closed) at a time; 0 for any number.
    #[arg(long, value_name = "N", value_parser = cli::whole::<u32>, default_value_t = 0)]
    max_active: u32,
    /// Bytes that are written atomically at a power cut: 512 to 4096. [default: 4096 in a file; what
    /// the device says]
    #[arg(long, value_name = "BYTES", value_parser = cli::whole::<u32>)]
    physical_block: Option<u32>,
    /// Refuse reads beyond a write pointer; otherwise they return zeros.
    #[arg(long)]
    refuse_reads_beyond: bool,
    /// Zones that have failed and can only be read.
    #[arg(long, value_delimiter = ',', value_name = "ZONE,…", value_parser = cli::whole::<u32>)]
    read_only: Vec<u32>,
    /// Zones that have failed and are lost.
    #[arg(long, value_delimiter = ',', value_name = "ZONE,…", value_parser = cli::whole::<u32>)]
    offline: Vec<u32>,
    /// Destroy a file system, partition table, zoned disk or the like on the device.
    #[arg(long)]
    overwrite: bool,
    /// Destroy the cache with this UUID, to which the device belongs, as its SSD or its disk, and its
    /// dirty data. May be repeated.
    #[arg(long, value_name = "UUID")]
    destroy: Vec<Uuid>,
}

/// Zones of a device, at least: one for the map, four of the translation `log`, and two spare ones.
const ZONES_MIN: u32 = 7;

pub(super) fn execute(args: &Create, global: &Global) -> anyhow::Result<()> {
    let is_device = args.disk.metadata().is_ok_and(|found| found.file_type().is_block_device());
    let geometry = if is_device { args.on_device()? } else { args.in_file()? };
    note(&format!("{}: {}", args.disk.display(), about(&geometry)), global.quiet);
    Ok(())
}

impl Create {
    fn in_file(&self) -> anyhow::Result<Geometry> {
        let disk = self.disk.display();
        if self.overwrite || !self.destroy.is_empty() {
            let what = "--overwrite and --destroy are for block devices, and this is none";
            return Err(Usage(format!("{disk}: {what}")).into());
        }
        let zones = self.zones.ok_or_else(|| {
            Usage(format!("{disk}: it is no block device; for a new file say --zones"))
        })?;
        let geometry = self.geometry(Geometry::new(zones, self.zone_blocks()?))?;
        create_failed(&self.disk, &geometry, &self.failed(zones)?)?;
        Ok(geometry)
    }

    fn on_device(&self) -> anyhow::Result<Geometry> {
        let zone_blocks = self.zone_blocks()?;
        let device = Device::open(&self.disk)?;
        let fits = geometry_on(&device, zone_blocks)?;
        let zones = self.zones.unwrap_or(fits.zones);
        if self.zones.is_none() && zones < ZONES_MIN {
            let (disk, size) = (self.disk.display(), show_blocks(zone_blocks));
            return Err(Usage(format!(
                "{disk}: {zones} zones of {size} fit on it, and a translation needs {ZONES_MIN} at least: choose smaller \
                 ones with --zone-size"
            ))
            .into());
        }
        let geometry = self.geometry(Geometry { zones, ..fits })?;
        let failed = self.failed(zones)?;
        let consent = Consent { destroy: &self.destroy, overwrite: self.overwrite };
        check_given_up(&device, consent)?;
        create_on(&device, &geometry, &failed)?;
        Ok(geometry)
    }

    fn zone_blocks(&self) -> Result<u64, Usage> {
        whole_blocks("--zone-size", self.zone_size)
    }

    /// The geometry that `plain` is with the options of the user.
    fn geometry(&self, plain: Geometry) -> Result<Geometry, Usage> {
        let capacity = self.zone_capacity.map(|bytes| whole_blocks("--zone-capacity", bytes));
        let some = plain.zones.div_ceil(100).min(plain.zones.saturating_sub(1));
        let geometry = Geometry {
            conventional_zones: self.conventional.unwrap_or(some),
            zone_capacity_blocks: capacity.transpose()?.unwrap_or(plain.zone_blocks),
            physical_block_bytes: self.physical_block.unwrap_or(plain.physical_block_bytes),
            max_open: self.max_open.unwrap_or(match self.max_active {
                0 => plain.max_open,
                active => active.min(plain.max_open),
            }),
            max_active: self.max_active,
            reads_beyond: match self.refuse_reads_beyond {
                true => ReadsBeyond::Refused,
                false => ReadsBeyond::Zeros,
            },
            ..plain
        };
        geometry.check().map_err(|error| Usage(error.to_string()))?;
        Ok(geometry)
    }

    fn failed(&self, zones: u32) -> Result<Vec<(Zone, Condition)>, Usage> {
        let named = |failed: &[u32], condition| {
            let zone = move |&zone: &u32| (Zone(zone), condition);
            failed.iter().map(zone).collect::<Vec<_>>()
        };
        if let Some(zone) = self.read_only.iter().find(|zone| self.offline.contains(zone)) {
            let what = "a zone that can be read is not lost; name it in one of them";
            return Err(Usage(format!("--read-only and --offline both name zone {zone}: {what}")));
        }
        let mut failed = named(&self.read_only, Condition::ReadOnly);
        failed.extend(named(&self.offline, Condition::Offline));
        match failed.iter().find(|(zone, _)| zone.0 >= zones) {
            Some((Zone(zone), condition)) => {
                let name = condition.name();
                Err(Usage(format!("--{name} {zone}: there are {zones} zones, counted from 0")))
            }
            None => Ok(failed),
        }
    }
}

fn whole_blocks(option: &str, bytes: u64) -> Result<u64, Usage> {
    match bytes % BLOCK_BYTES {
        0 if bytes > 0 => Ok(bytes / BLOCK_BYTES),
        _ => Err(Usage(format!("{option} {bytes}: not a multiple of 4096 bytes, or 0"))),
    }
}
