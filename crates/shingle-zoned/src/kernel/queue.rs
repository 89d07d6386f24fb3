//! The attributes of a block device in `/sys/…/queue`.

use shingle_core::units::{BLOCK_BYTES, SECTOR_BYTES};

use crate::geometry::{Geometry, ReadsBeyond};

/// The geometry of a host-managed device of `bytes` bytes, except for what only a report shows.
/// `attribute` reads a file of its queue.
///
/// # Errors
/// One line, if it cannot be used.
pub(crate) fn geometry(
    bytes: u64,
    attribute: impl Fn(&str) -> Option<String>,
) -> Result<Geometry, String> {
    let number = |name: &str| -> Option<u64> { attribute(name)?.parse().ok() };
    let needed = |name: &str| {
        number(name)
            .ok_or_else(|| format!("the kernel does not say its {name}; is sysfs mounted at /sys?"))
    };
    let zone_bytes = needed("chunk_sectors")?.saturating_mul(SECTOR_BYTES);
    if zone_bytes == 0 || !zone_bytes.is_multiple_of(BLOCK_BYTES) {
        return Err(format!("its zones have {zone_bytes} bytes, no multiple of 4096"));
    }
    let physical = number("zone_write_granularity").filter(|&bytes| bytes > 0);
    let physical = match physical {
        Some(bytes) => bytes,
        None => needed("physical_block_size")?,
    };
    if physical > BLOCK_BYTES {
        return Err(format!(
            "it takes writes in units of {physical} bytes only, and blocks have 4096"
        ));
    }
    // A smaller zone at the end is not used.
    let zones =
        u32::try_from(bytes / zone_bytes).map_err(|_| "it has too many zones".to_owned())?;
    let limit = |name: &str| number(name).and_then(|limit| u32::try_from(limit).ok()).unwrap_or(0);
    let geometry = Geometry {
        zones,
        conventional_zones: 0,
        zone_blocks: zone_bytes / BLOCK_BYTES,
        zone_capacity_blocks: zone_bytes / BLOCK_BYTES,
        logical_block_bytes: needed("logical_block_size")? as u32,
        physical_block_bytes: physical as u32,
        max_open: limit("max_open_zones"),
        max_active: limit("max_active_zones"),
        reads_beyond: ReadsBeyond::Unknown,
    };
    geometry.check().map_err(|error| error.to_string())?;
    Ok(geometry)
}

#[cfg(test)]
mod tests {
    use super::*;

    const DISK: &[(&str, &str)] = &[
        ("chunk_sectors", "524288"),
        ("logical_block_size", "512"),
        ("physical_block_size", "4096"),
        ("zone_write_granularity", "4096"),
        ("max_open_zones", "128"),
        ("max_active_zones", "0"),
    ];

    fn with(changes: &[(&str, &str)]) -> Result<Geometry, String> {
        geometry(10 * (256 << 20) + (1 << 20), |name| {
            let all = changes.iter().chain(DISK);
            all.into_iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn a_disk_is_what_the_kernel_says() {
        let disk = with(&[]).expect("a disk");
        assert_eq!(
            (disk.zones, disk.zone_blocks, disk.max_open, disk.max_active),
            (10, 65536, 128, 0)
        );
        assert_eq!((disk.logical_block_bytes, disk.physical_block_bytes), (512, 4096));
        // A kernel before 5.9 reports neither the limits nor the granularity.
        let old = with(&[("zone_write_granularity", ""), ("max_open_zones", "")]).expect("a disk");
        assert_eq!((old.physical_block_bytes, old.max_open), (4096, 0));
    }

    #[test]
    fn what_cannot_be_used_is_told() {
        let refused = |name, value, part: &str| {
            let error = with(&[(name, value)]).expect_err(part);
            assert!(error.contains(part), "{error}");
        };
        refused("chunk_sectors", "0", "0 bytes");
        refused("chunk_sectors", "9", "4608 bytes");
        refused("chunk_sectors", "x", "does not say its chunk_sectors");
        refused("chunk_sectors", "18446744073709551615", "no multiple of 4096");
        refused("zone_write_granularity", "16384", "16384 bytes only");
    }
}
