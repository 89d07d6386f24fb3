//! Maps with both copies damaged.

use crate::common::{Held, data, drills, formatted, read, wanted, write};
use shingle_core::units::Block;
use shingle_engine::Buffer;
use shingle_translated::{LiveDisk, LiveErrorKind, OpenError, format, inspect, repair};
use shingle_zoned::{Faults, Geometry, Operation, ZonedDisk as _};

/// A disk whose checkpoint has several pages: zones, then runs. Every third block is written, so
/// that each is a run.
fn large(translation: &str) -> Held {
    let geometry = Geometry { conventional_zones: 80, ..Geometry::new(400, 16) };
    let disk = Held::new(geometry, Faults::none());
    format(&disk, &wanted(translation)).unwrap_or_else(|error| panic!("{error}"));
    let live = disk.open();
    for block in (0..2400).step_by(3) {
        write(&live, block, 1, 1).expect("room");
    }
    live.close().expect("no faults");
    disk
}

/// The blocks with the pages of the current checkpoint, both copies of each.
fn checkpoint(disk: &Held) -> Vec<Vec<u64>> {
    let geometry = *disk.geometry();
    let generation = inspect(disk).expect("there is a map").generation;
    let mut pages: Vec<Vec<u64>> = Vec::new();
    for at in 0..u64::from(geometry.conventional_zones) * geometry.zone_blocks {
        let mut buffers = [Buffer::default()];
        disk.read(Block(at), &mut buffers).expect("no faults");
        let page = &buffers[0].0;
        if page.starts_with(b"SHTP") && page[44] == 1 && page[32] == generation as u8 {
            let sequence = usize::from(page[40]);
            pages.resize_with(pages.len().max(sequence + 1), Vec::new);
            pages[sequence].push(at);
        }
    }
    pages
}

fn copy(disk: &Held) -> Vec<Buffer> {
    let blocks = u64::from(disk.geometry().conventional_zones) * disk.geometry().zone_blocks;
    let mut buffers = vec![Buffer::default(); blocks as usize];
    disk.read(Block(0), &mut buffers).expect("no faults");
    buffers
}

#[test]
fn a_page_that_is_gone_in_both_copies_costs_what_it_knew_and_no_more() {
    for translation in ["log", "fluid", "dm-zoned"] {
        let pages = checkpoint(&large(translation)).len();
        assert!(pages >= 3, "{translation}: {pages}");
        for page in 0..pages {
            let disk = large(translation);
            let places = checkpoint(&disk).swap_remove(page);
            assert_eq!(places.len(), 2);
            let before: Vec<Buffer> = copy(&disk);
            places.iter().for_each(|at| drills::damage(&disk, *at));
            let damaged = copy(&disk);
            let error = LiveDisk::open(disk.boxed()).err().expect("it is damaged");
            assert!(matches!(error, OpenError::Damaged { .. }), "{error}");

            // Inspection, and a repair without consent, change nothing.
            let found = inspect(&disk).expect("there is a map");
            let what = format!("{translation}, page {page}");
            assert!(found.damage.is_some(), "{what}");
            let gone = found.given_up_ranges.clone().expect("it can be repaired");
            assert_eq!(repair(disk.boxed(), false).expect("nothing is done"), found);
            assert!(copy(&disk).iter().zip(&damaged).all(|(one, other)| one.0 == other.0));

            repair(disk.boxed(), true).unwrap_or_else(|error| panic!("{what}: {error}"));
            let healed = inspect(&disk).expect("there is a map");
            assert_eq!((&healed.damage, &healed.lost_ranges), (&None, &gone), "{what}");
            let live = disk.open();
            let is_gone =
                |block: u64| gone.iter().any(|(at, count)| (*at..at + count).contains(&block));
            let (mut there, mut lost) = (0, 0);
            for block in 0..live.blocks() {
                let wanted = u64::from(block < 2400 && block % 3 == 0);
                match read(&live, block) {
                    Ok(version) => {
                        assert!(version == wanted && !is_gone(block), "{what}: {block}");
                        there += wanted;
                    }
                    Err(error) => {
                        assert!(error.kind == LiveErrorKind::Lost && is_gone(block), "{error}");
                        lost += wanted;
                    }
                }
            }
            // A page has 252 records: 320 zones come first, and losing one of these records loses
            // the blocks of the zone.
            let few = page < 2 || lost <= 252 && there >= 500;
            assert!(few && lost + there == 800, "{translation}, page {page}: {there}, {lost} lost");
            // It works like any other disk.
            for block in 0..live.blocks() {
                write(&live, block, 1, 2).unwrap_or_else(|error| panic!("{what}: {error}"));
            }
            live.close().expect("no faults");
            let live = disk.open();
            for block in 0..live.blocks() {
                assert_eq!(read(&live, block).ok(), Some(2), "{what}: {block}");
            }
            drop(before);
        }
    }
}

#[test]
fn what_one_copy_has_is_never_given_up() {
    let disk = large("fluid");
    for (page, places) in checkpoint(&disk).into_iter().enumerate() {
        drills::damage(&disk, places[page % 2]);
    }
    // Each page is bad in one copy only, in different copies: `give_up` makes no difference.
    let found = repair(disk.boxed(), true).expect("every page is there once");
    assert_eq!((found.damage, found.given_up_ranges), (None, None));
    let healed = inspect(&disk).expect("there is a map");
    assert!(healed.copies.iter().all(|copy| copy.superblock && copy.bad_pages == 0), "{healed:?}");
    let live = disk.open();
    for block in 0..live.blocks() {
        assert_eq!(read(&live, block).ok(), Some(u64::from(block < 2400 && block % 3 == 0)));
    }
}

#[test]
fn a_commit_that_is_gone_cannot_be_repaired_and_nothing_is_changed() {
    let (disk, generation) = drills::three_commits();
    (0..2).for_each(|copy| drills::damage(&disk, drills::log_page(copy, generation, 1)));
    let damaged = copy(&disk);
    let error = repair(disk.boxed(), true).expect_err("its content is unknown");
    assert!(matches!(error, OpenError::Damaged { .. }), "{error}");
    assert!(copy(&disk).iter().zip(&damaged).all(|(one, other)| one.0 == other.0));
    let found = inspect(&disk).expect("there is a map");
    assert_eq!((&found.given_up_ranges, found.spares_left), (&None, None));
    assert!(found.damage.expect("it is damaged").starts_with("the log: page 1 at block "));
    // Both superblocks are good, and this is reported.
    assert!(found.copies.iter().all(|copy| copy.superblock && copy.what.is_none()));
    // Without a map there is nothing to repair.
    let (empty, _) = (Held::new(crate::common::geometry(), Faults::none()), data(0, 0));
    let error = repair(empty.boxed(), true).expect_err("it is empty");
    assert!(matches!(error, OpenError::NotFormatted { .. }), "{error}");
    drop(formatted("fluid"));
}

#[test]
fn a_repair_that_the_disk_does_not_take_names_it_once() {
    for operation in [Operation::Write, Operation::Flush] {
        let disk = formatted("log");
        disk.fail(operation, 0, 100);
        let error = repair(disk.boxed(), false).expect_err("it fails").to_string();
        assert_eq!(error.matches(disk.name()).count(), 1, "{error}");
    }
}
