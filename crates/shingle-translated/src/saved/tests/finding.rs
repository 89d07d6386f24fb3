//! Where superblocks are looked for, if conventional zones have failed.

use super::*;
use crate::bugs::Seeded;
use crate::error::OpenError;
use crate::saved::{Saver, longest_run, superblocks};

/// The disk of `example`, four conventional zones of 64 blocks, of which these have failed.
fn disk(failed: &[u32]) -> Disk {
    let disk = Disk::new(&example());
    disk.inside().failed.extend(failed);
    disk
}

/// A map in so many conventional zones, from this one on.
fn of(first: u64, zones: u64, epoch: u64) -> Superblock {
    let areas =
        Areas { first_block: first * 64, conventional_blocks: zones * 64, ..example().areas };
    Superblock { areas, epoch, buffer_blocks: 1, blocks: 10, ..example() }
}

fn put(disk: &Disk, superblock: &Superblock, copies: &[usize]) {
    for &copy in copies {
        disk.put(superblock.areas.superblocks()[copy], superblock.encode());
    }
}

fn chosen(disk: &Disk) -> Result<Superblock, OpenError> {
    superblocks(disk).map(|chosen| chosen.superblock)
}

#[test]
fn the_longest_run_of_zones_is_used() {
    let run = |failed: &[u32]| {
        let reports = disk(failed).report(Zone(0), 4).expect("no faults");
        longest_run(&reports)
    };
    assert_eq!(run(&[]), 0..4);
    assert_eq!([run(&[0]), run(&[1]), run(&[2]), run(&[3])], [1..4, 2..4, 0..2, 0..3]);
    // The first of those that are as long.
    assert_eq!([run(&[1, 2]), run(&[0, 3]), run(&[0, 2])], [0..1, 1..3, 1..2]);
    assert!(run(&[0, 1, 2, 3]).is_empty());
}

#[test]
fn a_map_beside_a_zone_that_has_failed_is_found() {
    for (failed, map) in [(0, of(1, 3, 1)), (1, of(2, 2, 1)), (2, of(0, 2, 1)), (3, of(0, 3, 1))] {
        for copies in [&[0, 1][..], &[0], &[1]] {
            let disk = disk(&[failed]);
            put(&disk, &map, copies);
            assert_eq!(chosen(&disk).expect("one is there"), map, "{failed}, {copies:?}");
            // Another zone has failed since.
            for later in 0..4 {
                disk.inside().failed.insert(later);
                assert_eq!(chosen(&disk).expect("one is there"), map, "{failed}, {later}");
                disk.inside().failed.remove(&later);
                disk.inside().failed.insert(failed);
            }
        }
    }
}

#[test]
fn the_map_of_the_latest_epoch_counts() {
    let disk = disk(&[0, 3]);
    let (older, newer) = (of(0, 4, 5), of(1, 2, 6));
    put(&disk, &older, &[0, 1]);
    put(&disk, &newer, &[0]);
    assert_eq!(chosen(&disk).expect("one is there"), newer);
    // One that was copied elsewhere does not.
    disk.put(Block(192), of(0, 4, 9).encode());
    assert_eq!(chosen(&disk).expect("one is there"), newer);
}

#[test]
fn where_none_is_known_there_is_none_or_it_is_unknown() {
    let none = |disk: &Disk| matches!(chosen(disk), Err(OpenError::NotFormatted { .. }));
    let unknown = |disk: &Disk| matches!(chosen(disk), Err(OpenError::Damaged { .. }));
    let there = disk(&[0]);
    assert!(none(&there));
    there.inside().unreadable.insert(0);
    assert!(none(&there), "the last block is none");
    there.inside().unreadable.insert(255);
    assert!(unknown(&there), "both could be");
    let there = disk(&[0]);
    let mut flipped = of(0, 4, 1).encode();
    flipped[50] ^= 1;
    there.put(Block(0), flipped);
    assert!(unknown(&there), "it was one");
}

#[test]
fn an_older_map_is_erased_where_it_can_be() {
    for (failed, erased) in
        [(vec![], [true, true]), (vec![0], [false, true]), (vec![0, 3], [false; 2])]
    {
        let disk = disk(&failed);
        let old = of(0, 4, 1);
        put(&disk, &old, &[0, 1]);
        let mut saver = Saver::new(of(1, 2, 2), 0, Seeded::default());
        saver.erase_old(&disk, old.areas.superblocks()).expect("no faults");
        let is_blank = old.areas.superblocks().map(|at| disk.page(at) == [0; 4096]);
        assert_eq!(is_blank, erased, "{failed:?}");
    }
}
