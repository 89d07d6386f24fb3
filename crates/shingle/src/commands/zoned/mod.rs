//! `shingle zoned`: creates zoned disks in files and on block devices without zones, reports zones,
//! and makes zoned disks writable anywhere.

pub(crate) mod check;
mod create;
mod format;
mod repair;
mod report;
mod serve;
mod status;
mod used;

use std::path::PathBuf;

use clap::{Args, Subcommand};
use shingle_core::size::{show_blocks, show_bytes};
use shingle_core::units::BLOCK_BYTES;
use shingle_zoned::Geometry;

pub(crate) use self::status::{end, lines};
use crate::cli::Global;

#[derive(Debug, Subcommand)]
pub(crate) enum Zoned {
    /// Create a zoned disk: a file that behaves as a host-managed one (sparse: it takes the space that
    /// is written), or a block device without zones, such as a drive-managed disk. What is on the
    /// device is lost.
    #[command(after_help = "Example: shingle zoned create disk.zoned --zones 100 --zone-size 256M")]
    Create(create::Create),
    /// Show the zones of a disk: conditions and write pointers. Changes nothing; of a disk in
    /// use that is no host-managed device it shows the state at the last flush.
    #[command(after_help = "Example: shingle zoned report disk.zoned")]
    Report(report::Report),
    /// Make a zoned disk writable anywhere, by a translation. All that is on it is lost.
    #[command(after_help = "Example: shingle zoned format disk.zoned --translation fluid")]
    Format(format::Format),
    /// Read the map of a disk that is not in use, and compare its two copies. Changes nothing.
    /// Exits with 1 if something is damaged, even in one copy only, or no spare zone is left.
    #[command(after_help = "Example: shingle zoned check disk.zoned")]
    Check(check::Check),
    /// Repair both copies of the map of a disk that is not in use. Pages intact in one copy are
    /// kept; those damaged in both are lost, and given up only with --give-up.
    #[command(after_help = "Example: shingle zoned repair disk.zoned")]
    Repair(repair::Repair),
    /// Serve a formatted disk as a block device, over NBD, without an SSD (with one: `shingle store`).
    #[command(after_help = "Example: shingle zoned serve disk.zoned --nbd unix:zoned.sock")]
    Serve(serve::Serve),
    /// Show the state of a formatted disk: its buffer, its zones, cleaning, and what was written.
    /// If it is not served, what its map says; changes nothing. Exits with 1 if something is wrong.
    #[command(after_help = "Example: shingle zoned status disk.zoned")]
    Status(status::AskStatus),
    /// Stop serving a disk.
    #[command(after_help = "Example: shingle zoned stop disk.zoned")]
    Stop(Asked),
}

#[derive(Debug, Args)]
pub(crate) struct Which {
    /// The disk: a file or block device made by `zoned create`, or a host-managed device.
    #[arg(value_name = "FILE|DEV")]
    disk: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct Asked {
    /// The disk: a file or block device made by `zoned create`, or a host-managed device; or, if it is
    /// served, the UUID of its map, which needs nothing of the disk.
    #[arg(value_name = "FILE|DEV|UUID")]
    disk: PathBuf,
}

pub(crate) fn execute(command: &Zoned, global: &Global) -> anyhow::Result<()> {
    match command {
        Zoned::Create(args) => create::execute(args, global),
        Zoned::Report(args) => report::execute(args, global),
        Zoned::Format(args) => format::execute(args, global),
        Zoned::Check(args) => check::execute(args),
        Zoned::Repair(args) => repair::execute(args),
        Zoned::Serve(args) => serve::execute(args, global),
        Zoned::Status(args) => status::execute(args),
        Zoned::Stop(args) => status::stop(args),
    }
}

/// Describes a disk in one line.
fn about(geometry: &Geometry) -> String {
    let (zones, zone_bytes) = (geometry.zones, geometry.zone_blocks * BLOCK_BYTES);
    let limit = |count: u32| if count == 0 { "any number".to_owned() } else { count.to_string() };
    let mut text = format!(
        "{zones} zones of {}, {} in all; {} conventional; {} open at a time",
        show_bytes(zone_bytes),
        show_blocks(geometry.blocks()),
        geometry.conventional_zones,
        limit(geometry.max_open),
    );
    if geometry.max_active != 0 {
        text += &format!(", {} open or closed", limit(geometry.max_active));
    }
    if geometry.zone_capacity_blocks != geometry.zone_blocks {
        text += &format!("; capacity {}", show_blocks(geometry.zone_capacity_blocks));
    }
    text
}
