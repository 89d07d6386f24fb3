//! A checkpoint of a large map is written while the disk is in use, and no request waits for all of
//! it.

use crate::common::{Held, read, wanted, write};
use shingle_core::units::Block;
use shingle_translated::{Format, Status, format, inspect};
use shingle_zoned::{Faults, Geometry};

/// 512 MiB in zones of 1 MiB, an eighth of which is conventional: the map has room for 88,000 runs.
fn geometry() -> Geometry {
    Geometry { conventional_zones: 64, ..Geometry::new(512, 256) }
}

#[test]
fn no_work_waits_for_the_whole_map() {
    let disk = Held::new(geometry(), Faults::none());
    let wanted = Format { buffer_blocks: Some(4096), ..wanted("log") };
    let made = format(&disk, &wanted).expect("room");
    assert!(made.runs_max > 60_000, "{made:?}");
    let live = disk.open();
    let mut versions = vec![0; 60_000];
    // Every second block of 60,000, in an order without adjacent neighbours: 30,000 runs, 119
    // pages.
    let order = |n: u64| n * 7919 % 30_000 * 2;
    for n in 0..30_000 {
        write(&live, order(n), 1, 1).expect("room");
        versions[order(n) as usize] = 1;
        if n % 100 == 0 {
            live.flush().expect("no faults");
        }
    }
    live.flush().expect("no faults");
    let before = live.status();
    let whole = before.map.runs / 252;
    assert!(whole > 100, "{:?}", before.map);
    let (mut longest, mut last) = (0, before.written.map_blocks);
    let seen = |status: &Status, longest: &mut u64, last: &mut u64| {
        let written = status.written.map_blocks;
        (*longest, *last) = ((*longest).max(written - *last), written);
    };
    let mut n = 0;
    // At least two checkpoints.
    while live.status().map.checkpoints_beside_works < before.map.checkpoints_beside_works + 2 {
        for _ in 0..100 {
            n += 1;
            write(&live, order(n * 31), 1, 1 + n).expect("room");
            versions[order(n * 31) as usize] = 1 + n;
            seen(&live.status(), &mut longest, &mut last);
        }
        live.flush().expect("no faults");
        seen(&live.status(), &mut longest, &mut last);
        assert!(n < 400_000, "{:?}", live.status().map);
    }
    let map = live.status().map;
    assert_eq!(
        map.checkpoints - before.map.checkpoints,
        map.checkpoints_beside_works - before.map.checkpoints_beside_works,
        "none had to be written at once: {map:?}"
    );
    println!("the map has {whole} pages, a commit at most {longest} blocks, in both copies");
    // Two copies of: pages of the log for a hundred writes and what is moved for them, eight pages
    // of the map and some to catch up, and the superblock.
    assert!(longest <= 2 * 32, "{longest} of {whole}");
    // After a power cut the map is the same.
    drop(live);
    disk.0.cut_power();
    disk.0.restart();
    let found = inspect(&disk).expect("there is a map");
    assert_eq!((found.damage, found.copies[0].bad_pages, found.copies[1].bad_pages), (None, 0, 0));
    let live = disk.open();
    for (block, version) in (0..).zip(&versions) {
        assert_eq!(read(&live, block).ok(), Some(*version), "block {block}");
    }
}

#[test]
fn a_trim_of_everything_delays_no_write_by_more_than_a_few_ios() {
    let disk = Held::new(geometry(), Faults::none());
    let wanted = Format { buffer_blocks: Some(4096), ..wanted("log") };
    format(&disk, &wanted).expect("room");
    let live = disk.open();
    for n in 0..30_000_u64 {
        write(&live, n * 7919 % 30_000 * 2, 1, 1).expect("room");
    }
    live.flush().expect("no faults");
    // In steps: a trim of the blocks of a zone, and its number of I/Os, for which a write after it
    // waits.
    let mut longest = 0;
    for block in (0..live.blocks()).step_by(256) {
        let before = live.progress().ios;
        live.trim(Block(block), 256.min(live.blocks() - block)).expect("no faults");
        longest = longest.max(live.progress().ios - before);
    }
    let before = live.progress().ios;
    live.flush().expect("no faults");
    longest = longest.max(live.progress().ios - before);
    println!("the longest had {longest} I/Os");
    assert!(longest <= 24, "{longest}");
    assert_eq!(live.status().map.runs, 0);
}
