//! A map with valid checksums and wrong numbers, as another program or a bug might write it. It is
//! opened or refused, without a panic, an endless loop, or unbounded memory.

use crate::common::{Held, formatted, geometry, write};
use proptest::prelude::*;
use shingle_core::units::Block;
use shingle_engine::Buffer;
use shingle_engine::format::{Page, seal};
use shingle_translated::{LiveDisk, inspect};
use shingle_zoned::ZonedDisk as _;

const TRANSLATIONS: [&str; 7] =
    ["log", "fluid", "fluid-loop", "ucache", "dm-zoned", "skylight-sa", "amphisbaena"];

/// Fields of a superblock: offset and size.
const SUPERBLOCK: [(usize, usize); 14] = [
    (32, 8),
    (40, 8),
    (48, 8),
    (56, 4),
    (60, 4),
    (64, 4),
    (68, 8),
    (76, 8),
    (84, 4),
    (88, 4),
    (92, 4),
    (96, 8),
    (104, 8),
    (112, 2),
];

/// Fields of the header of a page of the map; its records begin at byte 56.
const PAGE: [(usize, usize); 6] = [(24, 8), (32, 8), (40, 4), (44, 1), (45, 1), (46, 2)];

/// A disk with data whose map is in a checkpoint and in the log after it.
fn written(translation: &str) -> Held {
    let disk = formatted(translation);
    let live = disk.open();
    for (block, version) in [(3, 1), (40, 2), (3, 3), (70, 4)] {
        write(&live, block, 2, version).expect("no faults");
        live.flush().expect("no faults");
    }
    live.close().expect("no faults");
    let live = disk.open();
    write(&live, 20, 5, 5).expect("no faults");
    live.flush().expect("no faults");
    // Without an orderly close: its log stays.
    drop(live);
    disk
}

/// Changes all pages that begin with `magic`, including copies, and corrects their checksums.
fn change(disk: &Held, magic: &[u8], crc_at: usize, change: impl Fn(&mut Page)) {
    let geometry = geometry();
    for block in 0..u64::from(geometry.conventional_zones) * geometry.zone_blocks {
        let mut buffers = [Buffer::default()];
        disk.0.read(Block(block), &mut buffers).expect("no faults");
        if buffers[0].0.starts_with(magic) {
            let mut page: Page = buffers[0].0[..].try_into().expect("4096 bytes");
            change(&mut page);
            seal(&mut page, crc_at);
            buffers[0].0.copy_from_slice(&page);
            disk.0.write(Block(block), &buffers).expect("no faults");
        }
    }
}

/// Uses the disk as users do.
fn use_it(disk: &Held) -> bool {
    let _ = inspect(disk);
    let Ok(live) = LiveDisk::open(disk.boxed()) else { return false };
    let blocks = live.status().blocks;
    let mut buffers = [Buffer::default()];
    for block in (0..blocks).step_by(1 + blocks as usize / 64) {
        let _ = live.read(Block(block), &mut buffers);
    }
    let _ = write(&live, 3, 40.min(blocks.saturating_sub(3)), 9);
    let _ = live.flush();
    let _ = live.trim(Block(0), blocks);
    let _ = live.close();
    true
}

/// Numbers near the limits of their types, or random ones.
fn number() -> impl Strategy<Value = u64> {
    prop_oneof![
        0..40u64,
        (0..3u64).prop_map(|below| u64::MAX - below),
        (0..64u32, 0..3u64)
            .prop_map(|(bit, beside)| (1u64 << bit).wrapping_add(beside).wrapping_sub(1)),
        any::<u64>(),
    ]
}

fn put(page: &mut Page, (at, bytes): (usize, usize), value: u64) {
    page[at..at + bytes].copy_from_slice(&value.to_le_bytes()[..bytes]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(shingle_testbed::number("SHINGLE_CASES").unwrap_or(400) as u32))]

    #[test]
    fn a_superblock_may_say_anything(
        translation in prop::sample::select(&TRANSLATIONS[..]),
        changes in prop::collection::vec((prop::sample::select(&SUPERBLOCK[..]), number()), 1..3),
    ) {
        let disk = written(translation);
        change(&disk, b"SHTRANS\0", 12, |page| {
            changes.iter().for_each(|(field, value)| put(page, *field, *value));
        });
        use_it(&disk);
    }

    #[test]
    fn a_page_of_the_map_may_say_anything(
        translation in prop::sample::select(&TRANSLATIONS[..]),
        head in prop::option::of((prop::sample::select(&PAGE[..]), number())),
        records in prop::collection::vec((0..20usize, 0..16u64, number(), number()), 0..4),
    ) {
        let disk = written(translation);
        change(&disk, b"SHTP", 4, |page| {
            if let Some((field, value)) = head {
                put(page, field, value);
            }
            for (record, tag, first, second) in &records {
                let at = 56 + 16 * record;
                put(page, (at, 8), tag << 60 | first >> 4);
                put(page, (at + 8, 8), *second);
            }
        });
        use_it(&disk);
    }
}

#[test]
fn what_is_not_changed_is_opened() {
    for translation in TRANSLATIONS {
        let disk = written(translation);
        change(&disk, b"SHTRANS\0", 12, |_| ());
        change(&disk, b"SHTP", 4, |_| ());
        assert!(use_it(&disk), "{translation}");
    }
}
