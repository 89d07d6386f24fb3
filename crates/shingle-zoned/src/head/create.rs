//! Makes new zoned disks: in a new file, or on a block device without zones.

use std::fs::{File, OpenOptions};
use std::io;
use std::path::Path;

use shingle_core::size::{show_blocks, show_bytes};
use shingle_core::units::{BLOCK_BYTES, Zone};
use shingle_device::{Device, erase_end};
use uuid::Uuid;

use super::OpenError;
use super::format::{ALIGNMENT_PAGES, HEADERS, Header, Layout};
use super::table::Table;
use crate::geometry::{Geometry, ReadsBeyond};
use crate::kernel;
use crate::zone::Condition;
use crate::zones::Zones;

/// Creates a file that is a new zoned disk. It is sparse.
///
/// # Errors
/// If the file exists, the geometry is not possible, or the system refuses.
pub fn create(path: &Path, geometry: &Geometry) -> Result<(), OpenError> {
    create_failed(path, geometry, &[])
}

/// Creates one with zones that have failed: they are read-only or offline.
///
/// # Panics
/// If a zone does not exist, or the condition is another one.
pub fn create_failed(
    path: &Path,
    geometry: &Geometry,
    failed: &[(Zone, Condition)],
) -> Result<(), OpenError> {
    let zones = zones(path, geometry, failed)?;
    let file = OpenOptions::new().write(true).create_new(true).open(path);
    let file = file.map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => OpenError::There(path.to_owned()),
        _ => OpenError::system(path, "make")(error),
    })?;
    fill_file(path, &file, &zones).inspect_err(|_| {
        // What is left cannot be used, and would be in the way of the next attempt.
        let _ = std::fs::remove_file(path);
    })
}

/// The geometry that [`create_on`] gives a block device without zones of its own unless told
/// otherwise: as many zones of `zone_blocks` blocks as fit, none of them conventional, one of them
/// open at a time. A drive-managed disk takes one stream of writes in order past its buffer.
///
/// # Errors
/// If it is a host-managed device or a part of one, is too small for a zone, or the system does not
/// tell its block sizes.
pub fn geometry_on(device: &Device, zone_blocks: u64) -> Result<Geometry, OpenError> {
    let (path, file) = (device.path(), device.direct());
    kernel::check_without_zones(file).map_err(|why| OpenError::unusable(path, why))?;
    let (logical, physical) =
        kernel::block_bytes(file).map_err(OpenError::system(path, "measure"))?;
    let zones = zones_for(device.bytes(), zone_blocks);
    if zones == 0 {
        let (found, zone) = (show_bytes(device.bytes()), show_blocks(zone_blocks));
        let why = format!("it has {found}, too little for a head and one zone of {zone}");
        return Err(OpenError::unusable(path, why));
    }
    Ok(Geometry {
        logical_block_bytes: logical,
        // (A larger one tears no block of 4 KiB.)
        physical_block_bytes: physical.min(BLOCK_BYTES as u32),
        max_open: 1,
        ..Geometry::new(zones, zone_blocks)
    })
}

/// Makes a new zoned disk of a block device that has no zones of its own. All that is on it is given
/// up; the caller has made sure that it may be. `failed` is as for [`create_failed`].
///
/// # Errors
/// If it is a file, or a host-managed device or a part of one, if the zones do not fit, or the
/// geometry is not possible: then nothing was changed. Or if the device fails.
pub fn create_on(
    device: &Device,
    geometry: &Geometry,
    failed: &[(Zone, Condition)],
) -> Result<(), OpenError> {
    let path = device.path();
    if device.is_regular() {
        return Err(OpenError::There(path.to_owned()));
    }
    kernel::check_without_zones(device.direct()).map_err(|why| OpenError::unusable(path, why))?;
    let zones = zones(path, geometry, failed)?;
    let (found, needed) = (device.bytes(), Layout::of(geometry).pages * BLOCK_BYTES);
    if found < needed {
        let most = zones_for(found, geometry.zone_blocks);
        return Err(OpenError::unusable(
            path,
            format!(
                "it has {found} bytes, and its head and the zones need {needed}: {most} zones fit"
            ),
        ));
    }
    erase(device, geometry)?;
    fill(device, &zones)
}

/// The number of zones of `zone_blocks` blocks, at least one, that fit behind their head into
/// `bytes`.
pub(crate) fn zones_for(bytes: u64, zone_blocks: u64) -> u32 {
    let pages = bytes / BLOCK_BYTES;
    let fits = |zones: &u32| Layout::of(&Geometry::new(*zones, zone_blocks)).pages <= pages;
    let most = pages.saturating_sub(ALIGNMENT_PAGES) / zone_blocks;
    let mut zones = u32::try_from(most).unwrap_or(u32::MAX);
    // The table takes two pages for 338 zones: this ends soon.
    while zones > 0 && !fits(&zones) {
        zones -= 1;
    }
    zones
}

/// The zones of a new disk.
fn zones(
    path: &Path,
    geometry: &Geometry,
    failed: &[(Zone, Condition)],
) -> Result<Zones, OpenError> {
    let checked = match geometry.reads_beyond {
        ReadsBeyond::Unknown => {
            return Err(OpenError::unusable(path, "reads beyond pointers are not said"));
        }
        _ => geometry.check(),
    };
    checked.map_err(|error| OpenError::Geometry { path: path.to_owned(), error })?;
    let mut zones = Zones::new(*geometry);
    for &(zone, condition) in failed {
        zones.put(zone, zones.state(zone).failed(condition, geometry));
    }
    Ok(zones)
}

fn fill_file(path: &Path, file: &File, zones: &Zones) -> Result<(), OpenError> {
    let sized = file.set_len(Layout::of(zones.geometry()).pages * BLOCK_BYTES);
    sized.map_err(OpenError::system(path, "hold all zones in"))?;
    fill(&Device::open(path)?, zones)?;
    file.sync_all().and_then(|()| settle_name(path)).map_err(OpenError::system(path, "write"))
}

/// Writes the head of a new zoned disk; the header is written last.
fn fill(device: &Device, zones: &Zones) -> Result<(), OpenError> {
    let (system, geometry) = (OpenError::system(device.path(), "write"), zones.geometry());
    let header = Header { uuid: Uuid::new_v4().into_bytes(), geometry: *geometry };
    let direct = device.again().map_err(&system)?;
    let states = (0..geometry.zones).map(|zone| zones.state(Zone(zone))).collect();
    let mut table = Table::new(&header, states);
    table.write(&direct).map_err(&system)?;
    direct.flush().map_err(&system)?;
    for copy in 0..HEADERS {
        device.write(copy, &header.encode())?;
    }
    Ok(device.flush()?)
}

/// Erases what a file system, a partition table, a RAID, a cache or a map of before is known by: all of
/// the head, beginning and end of each conventional zone, and the end of the device. Sequential zones
/// have only what is written from now on.
fn erase(device: &Device, geometry: &Geometry) -> Result<(), OpenError> {
    let zeros = vec![0; (ALIGNMENT_PAGES * BLOCK_BYTES) as usize];
    let blank = |first: u64, end: u64| {
        let mut at = first;
        while at < end {
            let pages = (end - at).min(ALIGNMENT_PAGES);
            device.write(at, &zeros[..(pages * BLOCK_BYTES) as usize])?;
            at += pages;
        }
        Ok::<_, OpenError>(())
    };
    let Layout { first_page, .. } = Layout::of(geometry);
    blank(0, first_page)?;
    let (zone_blocks, part) = (geometry.zone_blocks, geometry.zone_blocks.min(ALIGNMENT_PAGES));
    for zone in 0..u64::from(geometry.conventional_zones) {
        let (first, end) = (first_page + zone * zone_blocks, first_page + (zone + 1) * zone_blocks);
        blank(first, first + part)?;
        blank(end - part, end)?;
    }
    erase_end(device, first_page)?;
    Ok(device.flush()?)
}

/// Makes the name of a file durable.
fn settle_name(path: &Path) -> io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    File::open(folder.unwrap_or(Path::new(".")))?.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_zones_as_fit_and_no_more() {
        for zone_blocks in [1, 5, 256, 65_536] {
            for bytes in
                [0, 4096, 1 << 20, (1 << 20) + 4096, 5 << 20, (5 << 20) - 1, 8 << 30, 8 << 40]
            {
                // (Of one block there are more than any disk has.)
                if bytes / BLOCK_BYTES / zone_blocks > 1 << 22 {
                    continue;
                }
                let zones = zones_for(bytes, zone_blocks);
                let needed =
                    |zones| Layout::of(&Geometry::new(zones, zone_blocks)).pages * BLOCK_BYTES;
                let what = format!("{zones} zones of {zone_blocks} in {bytes}");
                assert!(zones == 0 || needed(zones) <= bytes, "{what}");
                assert!(needed(zones + 1) > bytes, "{what}");
            }
        }
    }
}
