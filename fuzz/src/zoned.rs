//! What fuzzers of zoned disks do: the head of a zoned file, and reports of devices.

use shingle_core::units::Zone;
use shingle_zoned::head::format::{ENTRIES, Header, Page, TablePage};
use shingle_zoned::{Condition, Geometry, Zones, kernel};

/// The bytes as a page: what is missing is zeros.
fn page(bytes: &[u8]) -> Page {
    let mut page = [0; 4096];
    let bytes = &bytes[..bytes.len().min(page.len())];
    page[..bytes.len()].copy_from_slice(bytes);
    page
}

/// The page with magic number and checksum put right.
fn sealed(mut page: Page, magic: &[u8], crc_at: usize) -> Page {
    page[..magic.len()].copy_from_slice(magic);
    page[crc_at..crc_at + 4].fill(0);
    let crc = crc32c::crc32c(&page[..]);
    page[crc_at..crc_at + 4].copy_from_slice(&crc.to_le_bytes());
    page
}

/// A header, and behind it a page of the table of that disk.
pub fn file(bytes: &[u8]) {
    let (head, rest) = bytes.split_at(bytes.len().min(76));
    for head in [page(head), sealed(page(head), b"SHZONED\0", 12)] {
        let Ok(header) = Header::decode(&head) else { continue };
        let again = Header::decode(&header.encode());
        assert_eq!(again, Ok(header), "a header is written as it was read");
        table(&header.geometry, rest);
    }
    table(&Geometry { conventional_zones: 2, ..Geometry::new(400, 9) }, bytes);
}

fn table(geometry: &Geometry, bytes: &[u8]) {
    let owner = u64::from_le_bytes(*b"of whom?");
    for page in [page(bytes), sealed(page(bytes), b"SZTB", 4)] {
        let mut ours = page;
        ours[8..16].copy_from_slice(b"of whom?");
        ours[16..20].fill(0);
        let ours = sealed(ours, b"SZTB", 4);
        for page in [page, ours] {
            let Ok(table) = TablePage::decode(&page, owner, 0, geometry) else { continue };
            let again = TablePage::decode(&table.encode(owner), owner, 0, geometry);
            assert_eq!(again.as_ref(), Ok(&table), "a page is written as it was read");
            if geometry.zones as usize > ENTRIES {
                continue;
            }
            // Zones that can be are zones of a disk that works.
            let mut zones = Zones::restore(*geometry, table.zones).expect("zones can be so");
            for zone in (0..geometry.zones).map(Zone) {
                let before = zones.report(zone);
                let block = before.first.after(before.write_pointer.unwrap_or(0));
                let admitted = zones.admit(block, 1).is_ok();
                assert!(!admitted || zones.advance(block, 1), "zone {zone:?}");
                let failed = matches!(before.condition, Condition::ReadOnly | Condition::Offline);
                assert!(!(admitted && failed), "zone {zone:?}");
            }
            zones.validate();
        }
    }
}

/// A report of a device whose first bytes say how large zones are.
pub fn report(bytes: &[u8]) {
    let Some((size, bytes)) = bytes.split_first_chunk() else { return };
    let zone_blocks = u64::from_le_bytes(*size);
    let Ok(zones) = kernel::report::parse(bytes, 0, zone_blocks) else { return };
    for zone in zones {
        let geometry = Geometry {
            zone_capacity_blocks: zone.capacity_blocks,
            physical_block_bytes: 512,
            ..Geometry::new(1, zone_blocks)
        };
        assert_eq!(zone.state.check(&geometry), Ok(()));
    }
}
