//! Host-managed block devices, through the kernel.
//!
//! Rules are checked here before the kernel is called, against what the device reported when it was
//! opened and what was done since, so that the error names the broken rule. After an error the
//! device reports the new state of the zone.
//!
//! Not supported: a last zone that is smaller than the others, zones of different capacities, and
//! partitions.

mod ioctl;
mod kind;
mod queue;
pub mod report;

use std::fs::File;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use rustix::fs::{ioctl_blkpbszget, ioctl_blksszget, major, minor};
use shingle_core::units::{BLOCK_BYTES, SECTOR_BYTES, Zone};
use shingle_device::{Device, Direct};

use self::kind::{Kind, kind};
use self::report::Reported;
use crate::disk::ZoneCommand;
use crate::geometry::Geometry;
use crate::head::OpenError;
use crate::on_device::{Backing, OnDevice};
use crate::zones::{ZoneState, Zones};

/// A block device of the kernel.
#[derive(Debug)]
pub struct Kernel {
    zone_blocks: u64,
}

/// A host-managed block device that is locked by this process.
pub type BlockDisk = OnDevice<Kernel>;

/// Opens a host-managed block device.
pub(crate) fn open(device: Device) -> Result<BlockDisk, OpenError> {
    let path = device.path().to_owned();
    let zones = inspect(&path, device.direct(), device.bytes())?;
    let kernel = Kernel { zone_blocks: zones.geometry().zone_blocks };
    let direct = device.again().map_err(OpenError::system(&path, "open"))?;
    Ok(OnDevice::new(device, direct, 0, zones, kernel))
}

/// Reads the zones of a block device of `bytes` bytes. Changes nothing.
pub(crate) fn inspect(path: &Path, device: &File, bytes: u64) -> Result<Zones, OpenError> {
    let number = device.metadata().map_err(OpenError::system(path, "measure"))?.rdev();
    let attribute = |name: &str| said(number, &format!("queue/{name}"));
    let unusable = |why| OpenError::unusable(path, why);
    let geometry = queue::geometry(bytes, attribute).map_err(unusable)?;
    let reported = reported(device, Zone(0), geometry.zones, geometry.zone_blocks);
    let reported = reported.map_err(OpenError::system(path, "report zones of"))?;
    zones(geometry, &reported).map_err(unusable)
}

/// The zones of a device, by its report of all of them.
fn zones(mut geometry: Geometry, reported: &[Reported]) -> Result<Zones, String> {
    // By type: a conventional zone that has failed is in its place still, and so is the map behind it.
    let conventional = reported.iter().take_while(|zone| zone.is_conventional);
    geometry.conventional_zones = conventional.count() as u32;
    let mut sequential = reported.iter().filter(|zone| !zone.is_conventional);
    if let Some(first) = sequential.next() {
        geometry.zone_capacity_blocks = first.capacity_blocks;
        if sequential.any(|zone| zone.capacity_blocks != first.capacity_blocks) {
            return Err("its zones differ in capacity, which is not known here".to_owned());
        }
    }
    let state = |zone: &Reported| match zone.state.condition {
        failed if zone.is_conventional && failed.has_failed() => {
            ZoneState::CONVENTIONAL.failed(failed, &geometry)
        }
        _ => zone.state,
    };
    Zones::restore(geometry, reported.iter().map(state).collect())
}

/// Whether a block device is host-managed.
///
/// # Errors
/// If nothing says it.
pub(crate) fn is_zoned(device: &File) -> Result<bool, String> {
    Ok(kind(device)? == Kind::HostManaged)
}

/// Checks that a block device has no zones of its own.
///
/// # Errors
/// If it has, is a part of a device that has, or nothing says it.
pub(crate) fn check_without_zones(device: &File) -> Result<(), String> {
    let refused = match kind(device)? {
        Kind::Plain => return Ok(()),
        Kind::HostManaged => {
            "it is host-managed, so it has zones already: `shingle zoned format` makes a map on it"
        }
        Kind::PartOfHostManaged => "it is a partition of a host-managed disk; use the whole disk",
    };
    Err(refused.to_owned())
}

/// Checks that a block device takes writes anywhere.
///
/// # Errors
/// If it does not, or nothing says it.
pub(crate) fn check_written_anywhere(device: &File) -> Result<(), String> {
    written_anywhere(kind(device)?)
}

fn written_anywhere(kind: Kind) -> Result<(), String> {
    match kind {
        Kind::Plain => Ok(()),
        Kind::HostManaged | Kind::PartOfHostManaged => {
            Err("it is host-managed, and takes writes at write pointers of zones only; it can be the disk of a cache, not its SSD"
                .to_owned())
        }
    }
}

/// Logical and physical block size of a block device in bytes. Where physical blocks do not begin at
/// multiples of their size, as on some partitions, a power cut can tear at any logical block.
pub(crate) fn block_bytes(device: &File) -> io::Result<(u32, u32)> {
    let (logical, physical) = (ioctl_blksszget(device)?, ioctl_blkpbszget(device)?);
    let is_aligned = said(device.metadata()?.rdev(), "alignment_offset").as_deref() == Some("0");
    Ok((logical, if is_aligned { physical.max(logical) } else { logical }))
}

/// What the system says of the block device with this number.
fn said(number: u64, place: &str) -> Option<String> {
    let text = std::fs::read_to_string(folder(number).join(place)).ok()?;
    Some(text.trim().to_owned())
}

/// Where the system tells of the block device with this number.
fn folder(number: u64) -> PathBuf {
    format!("/sys/dev/block/{}:{}", major(number), minor(number)).into()
}

/// The report of `count` zones, from `first` on.
fn reported(device: &File, first: Zone, count: u32, zone_blocks: u64) -> io::Result<Vec<Reported>> {
    let mut zones = Vec::with_capacity(count as usize);
    // Terminates: each iteration adds zones.
    while (zones.len() as u32) < count {
        let next = first.0 + zones.len() as u32;
        let sector = u64::from(next) * zone_blocks * (BLOCK_BYTES / SECTOR_BYTES);
        let report = ioctl::report(device, sector, count - zones.len() as u32)?;
        let more = report::parse(&report.0, next, zone_blocks).map_err(io::Error::other)?;
        if more.is_empty() {
            return Err(io::Error::other(format!("the report ends before zone {next}")));
        }
        zones.extend(more);
    }
    zones.truncate(count as usize);
    Ok(zones)
}

impl Kernel {
    fn sectors(&self, zones: u64) -> u64 {
        zones * self.zone_blocks * (BLOCK_BYTES / SECTOR_BYTES)
    }
}

impl Backing for Kernel {
    fn command(
        &self,
        device: &Device,
        _: &Direct,
        command: ZoneCommand,
        zone: Zone,
    ) -> io::Result<()> {
        let (sector, sectors) = (self.sectors(zone.0.into()), self.sectors(1));
        ioctl::command(device.direct(), command, sector, sectors)
    }

    fn flush(&self, direct: &Direct, _: &Mutex<Zones>) -> io::Result<()> {
        direct.flush()
    }

    fn report_states(
        &self,
        device: &Device,
        first: Zone,
        count: u32,
    ) -> io::Result<Option<Vec<ZoneState>>> {
        let zones = reported(device.direct(), first, count, self.zone_blocks)?;
        Ok(Some(zones.into_iter().map(|zone| zone.state).collect()))
    }

    fn reads_beyond(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ssd_takes_writes_anywhere() {
        assert_eq!(written_anywhere(Kind::Plain), Ok(()));
        for kind in [Kind::HostManaged, Kind::PartOfHostManaged] {
            let why = written_anywhere(kind).expect_err("write pointers");
            assert!(why.starts_with("it is host-managed") && why.ends_with("not its SSD"), "{why}");
        }
    }
}
