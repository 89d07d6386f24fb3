//! Drills: failures that an operator may meet. Each ends with every flushed block intact, or an
//! error that names the lost ones.

use crate::common::drills::{damage, failing, log_page, three_commits};
use crate::common::{Held, drills, formatted, geometry, read, wanted, write};
use shingle_core::units::{Block, Zone};
use shingle_device::Mark;
use shingle_translated::{
    Format, FormatError, LiveDisk, LiveErrorKind, MapStatus, OpenError, format, inspect,
};
use shingle_translation::translations::ALL;
use shingle_zoned::{Fault, Faults, Geometry, Operation, ZonedDisk as _};

fn are(live: &LiveDisk, wanted: &[(u64, u64)]) {
    for &(block, version) in wanted {
        assert_eq!(read(live, block).expect("it is there"), version, "block {block}");
    }
}

#[test]
fn one_bad_page_of_either_copy_costs_nothing() {
    let copy: Vec<u64> = (0..21).collect();
    let other: Vec<u64> = (75..96).collect();
    for page in copy.iter().chain(&other) {
        let (disk, generation) = three_commits();
        damage(&disk, *page);
        let found = inspect(&disk).expect("there is a map");
        assert_eq!((found.commits, &found.damage), (3, &None), "block {page}");
        let is_used = |copy: usize| {
            let bad = &found.copies[copy];
            bad.bad_pages > 0 || !bad.superblock
        };
        let used =
            [(0, 0), (1, 95), (0, log_page(0, generation, 2)), (1, log_page(1, generation, 3))];
        for (copy, at) in used {
            assert!(at != *page || is_used(copy), "block {page}: {found:?}");
        }
        are(&disk.open(), &[(10, 3), (20, 2), (30, 3), (36, 3), (31, 0)]);
        // Opening has repaired both copies.
        let healed = inspect(&disk).expect("there is a map");
        assert!(
            healed.copies.iter().all(|copy| copy.superblock && copy.bad_pages == 0),
            "{healed:?}"
        );
    }
}

#[test]
fn a_log_ends_where_it_ends() {
    drills::of_a_log(None);
}

#[test]
fn a_whole_copy_may_go() {
    for range in [0..21, 75..96] {
        let (disk, _) = three_commits();
        range.for_each(|page| damage(&disk, page));
        are(&disk.open(), &[(10, 3), (20, 2), (30, 3), (36, 3)]);
    }
}

#[test]
fn both_superblocks_gone_are_damage_and_not_an_empty_disk() {
    let (disk, _) = three_commits();
    damage(&disk, 0);
    damage(&disk, 95);
    let none = LiveDisk::open(disk.boxed()).err().expect("nothing can be known");
    assert!(matches!(none, OpenError::NotFormatted { .. }), "{none}");
    // A flipped bit does not make an empty disk.
    let (disk, _) = three_commits();
    for at in [0, 95] {
        let mut buffers = [shingle_engine::Buffer::default()];
        disk.read(Block(at), &mut buffers).expect("no faults");
        buffers[0].0[33] ^= 1;
        disk.write(Block(at), &buffers).expect("no faults");
    }
    let error = LiveDisk::open(disk.boxed()).err().expect("both are damaged");
    assert!(matches!(error, OpenError::Damaged { .. }), "{error}");
    assert!(
        error.to_string().contains("block 0") && error.to_string().contains("block 95"),
        "{error}"
    );
    let again = format(&disk, &wanted("fluid")).expect_err("there is something");
    assert!(matches!(again, FormatError::HasMap { .. }), "{again}");
}

/// If the write of the good one was torn, none would be left.
#[test]
fn the_bad_superblock_is_written_before_the_good_one() {
    for bad in [0, 95] {
        let disk = formatted("fluid");
        damage(&disk, bad);
        let good = || inspect(&disk).expect("a map").copies.map(|copy| copy.superblock);
        assert_eq!(good(), [bad != 0, bad == 0]);
        // Only one superblock is written while it is opened.
        disk.fail(Operation::Write, 1, 1000);
        drop(disk.open());
        disk.go_on();
        assert_eq!(good(), [true, true], "block {bad} was bad");
    }
}

#[test]
fn a_format_is_asked_for_twice_and_leaves_nothing_of_the_old_map() {
    let (disk, _) = three_commits();
    let refused = format(&disk, &wanted("log")).expect_err("there is a map");
    assert!(refused.to_string().contains("30313233-3435-3637-3839-616263646566"), "{refused}");
    are(&disk.open(), &[(10, 3)]);
    let forced = Format { force: true, uuid: None, ..wanted("log") };
    let made = format(&disk, &forced).expect("it is forced");
    assert_ne!(made.uuid, *b"0123456789abcdef");
    let live = disk.open();
    assert_eq!((live.uuid(), live.blocks()), (made.uuid, made.blocks));
    are(&live, &[(10, 0), (20, 0), (36, 0)]);
    for block in 0..made.blocks {
        write(&live, block, 1, 9).expect("zones of the old map are reset first");
    }
    live.close().expect("no faults");
    are(&disk.open(), &[(10, 9), (made.blocks - 1, 9)]);
}

#[test]
fn what_no_map_can_be_made_on_is_told() {
    let refused = |geometry: Geometry, format_: Format, part: &str| {
        let error =
            format(&Held::new(geometry, Faults::none()), &format_).expect_err(part).to_string();
        assert!(error.contains(part) && !error.contains('\n'), "{error}");
    };
    let set = |name: &str, value: &str| vec![(name.to_owned(), value.to_owned())];
    refused(Geometry::new(20, 16), wanted("fluid"), "no conventional zones");
    refused(
        Geometry { conventional_zones: 1, ..geometry() },
        wanted("log"),
        "its 1 conventional zones have 16 blocks, and the map takes ",
    );
    refused(geometry(), wanted("fluidd"), "there is no translation `fluidd`");
    refused(geometry(), Format { params: set("x", "1"), ..wanted("fluid") }, "no parameter `x`");
    refused(geometry(), Format { buffer_blocks: Some(8), ..wanted("dm-zoned") }, "dm-zoned");
    refused(geometry(), Format { buffer_blocks: Some(55), ..wanted("fluid") }, "buffer of 55");
    refused(geometry(), Format { spare_zones: Some(0), ..wanted("fluid") }, "at least one is");
    refused(geometry(), Format { spare_zones: Some(14), ..wanted("fluid") }, "14 sequential zones");
    let none = LiveDisk::open(Held::new(geometry(), Faults::none()).boxed()).err().expect("empty");
    assert!(none.to_string().contains("format it first"), "{none}");
}

#[test]
fn a_full_disk_can_be_written_again_and_idle_time_comes_to_an_end() {
    for entry in ALL {
        let disk = formatted(entry.name);
        let live = disk.open();
        for version in 1..4 {
            for block in (0..live.blocks()).rev().step_by(3) {
                write(&live, block.saturating_sub(2), 3.min(block + 1), version).expect("room");
            }
        }
        let mut works = 0;
        while live.idle().expect("no faults") {
            works += 1;
            assert!(works < 10_000, "{}: idle time never ends", entry.name);
        }
        // And then no work is left.
        let before = live.status().written;
        assert!(!live.idle().expect("no faults"));
        assert_eq!(live.status().written, before, "{}", entry.name);
        live.flush().expect("no faults");
        drop(live);
        let live = disk.open();
        (0..live.blocks())
            .for_each(|block| assert_eq!(read(&live, block).ok(), Some(3), "{}", entry.name));
        // Everything is trimmed, and there is room for everything again.
        live.trim(Block(0), live.blocks()).expect("no faults");
        (0..live.blocks()).for_each(|block| write(&live, block, 1, 5).expect("room"));
        (0..live.blocks())
            .for_each(|block| assert_eq!(read(&live, block).ok(), Some(5), "{}", entry.name));
    }
}

#[test]
fn limits_on_open_and_active_zones_are_kept_to() {
    for (max_open, max_active) in [(1, 0), (1, 1), (1, 2), (2, 3), (4, 5)] {
        for entry in ALL {
            let limited = Geometry { max_open, max_active, ..geometry() };
            let disk = Held::new(limited, Faults::none());
            let format_ = wanted(entry.name);
            if (entry.name, max_active) == ("log", 1) {
                let params = vec![("open".to_owned(), "2".to_owned())];
                let refused = format(&disk, &Format { params, ..format_.clone() });
                let refused = refused.expect_err("it has two groups").to_string();
                assert!(refused.contains("appends to 2 by turns"), "{refused}");
            }
            format(&disk, &format_).unwrap_or_else(|error| panic!("{error}"));
            let what = format!("{}, {max_open} open, {max_active} active", entry.name);
            let mut live = disk.open();
            let mut versions = vec![0; live.blocks() as usize];
            for version in 1..400_u64 {
                let most = if version % 7 == 0 { 40 } else { 5 };
                let (at, count) = (version * 7919 % (live.blocks() - most), 1 + version % most);
                write(&live, at, count, version).unwrap_or_else(|why| panic!("{what}: {why}"));
                versions[at as usize..(at + count) as usize].fill(version);
                match version % 20 {
                    3 | 11 => live.flush().unwrap_or_else(|why| panic!("{what}: {why}")),
                    17 => drop(live.idle().unwrap_or_else(|why| panic!("{what}: {why}"))),
                    _ => {}
                }
                if version % 100 == 0 {
                    live.flush().expect("no faults");
                    assert_eq!(live.status().failures, 0, "{what}: {:?}", live.status());
                    drop(live);
                    disk.0.cut_power();
                    disk.0.restart();
                    live = disk.open();
                }
            }
            assert_eq!(live.status().failures, 0, "{what}: {:?}", live.status());
            for (block, version) in (0..).zip(&versions) {
                assert_eq!(read(&live, block).ok(), Some(*version), "{what}: block {block}");
            }
            // Idle work ends.
            (0..1000).take_while(|_| live.idle().expect("no faults")).for_each(drop);
            assert!(!live.idle().expect("no faults"), "{what}");
        }
    }
}

#[test]
fn which_cache_used_it_last_stands_in_the_map() {
    let (disk, _) = three_commits();
    let mark = Mark { uuid: [7; 16], edition: 3 };
    let live = disk.open();
    assert_eq!(live.mark(), None);
    live.set_mark(Some(mark)).expect("no faults");
    write(&live, 10, 1, 4).expect("room");
    live.flush().expect("no faults");
    disk.0.cut_power();
    drop(live);
    disk.0.restart();
    assert_eq!(inspect(&disk).expect("there is a map").mark, Some(mark));
    // One copy of it is enough.
    damage(&disk, 0);
    let live = disk.open();
    assert_eq!((live.mark(), read(&live, 10).ok()), (Some(mark), Some(4)));
    let later = Mark { edition: 4, ..mark };
    disk.fail(Operation::Write, 1, 1);
    live.set_mark(Some(later)).expect("it is tried again");
    live.close().expect("no faults");
    assert_eq!(inspect(&disk).expect("there is a map").mark, Some(later));
    let live = disk.open();
    live.set_mark(None).expect("no faults");
    drop(live);
    assert_eq!(disk.open().mark(), None);
}

#[test]
fn a_trim_of_an_empty_disk_does_nothing() {
    let disk = formatted("fluid");
    let live = disk.open();
    let before = live.status();
    live.trim(Block(0), live.blocks()).expect("no faults");
    live.flush().expect("no faults");
    assert_eq!(live.status(), before);
    let error = live.trim(Block(5), live.blocks()).expect_err("beyond the end");
    assert_eq!(error.kind, LiveErrorKind::OutOfRange);
}

/// A disk that is written completely and closed, and a zone of it fails while it is not in use.
fn with_a_zone_that_fails(
    translation: &str,
    fault: impl Fn(u64, Zone) -> Fault,
    zone: u32,
) -> Held {
    // (The call that makes it fail is later than any of a disk without faults.)
    let calls = 100_000;
    let disk =
        failing(translation, Faults { faults: vec![fault(calls, Zone(zone))], ..Faults::none() });
    let live = disk.open();
    (0..live.blocks()).for_each(|block| write(&live, block, 1, 1).expect("room"));
    live.close().expect("no faults");
    (0..=calls).for_each(|_| drop(disk.report(Zone(0), 1)));
    disk
}

#[test]
fn a_zone_that_is_gone_loses_its_blocks_and_no_others() {
    for entry in ALL {
        let disk =
            with_a_zone_that_fails(entry.name, |call, zone| Fault::Offline { call, zone }, 9);
        let told = inspect(&disk).expect("there is a map").lost_ranges;
        let live = disk.open();
        let lost = live.status().lost_ranges;
        assert_eq!(lost, told, "{}", entry.name);
        let is_lost =
            |block: u64| lost.iter().any(|(start, count)| (*start..start + count).contains(&block));
        let count: u64 = lost.iter().map(|(_, count)| count).sum();
        assert!((1..=16).contains(&count), "{}: {lost:?}", entry.name);
        for block in 0..live.blocks() {
            match read(&live, block) {
                Ok(version) => assert!(version == 1 && !is_lost(block), "{}: {block}", entry.name),
                Err(error) => {
                    assert!(error.kind == LiveErrorKind::Lost && is_lost(block), "{error}")
                }
            }
        }
        // They stay lost while others are written around them, also after a crash, until they are
        // written themselves.
        let first = lost[0].0;
        for block in (0..live.blocks()).filter(|block| !is_lost(*block)) {
            write(&live, block, 1, 2).expect("there are spares");
        }
        live.flush().expect("no faults");
        disk.0.cut_power();
        disk.0.restart();
        let live = disk.open();
        assert_eq!(live.status().lost_ranges, lost, "{}", entry.name);
        write(&live, first, 1, 3).expect("there are spares");
        are(&live, &[(first, 3)]);
        live.flush().expect("no faults");
        disk.0.cut_power();
        disk.0.restart();
        let live = disk.open();
        assert_eq!(
            live.status().lost_ranges.iter().map(|(_, count)| count).sum::<u64>(),
            count - 1
        );
        are(&live, &[(first, 3)]);
    }
}

#[test]
fn a_zone_that_can_only_be_read_is_replaced_without_a_word() {
    for entry in ALL {
        let disk =
            with_a_zone_that_fails(entry.name, |call, zone| Fault::ReadOnly { call, zone }, 9);
        let live = disk.open();
        for version in 2..5 {
            (0..live.blocks()).for_each(|block| write(&live, block, 1, version).expect("a spare"));
        }
        live.close().expect("no faults");
        let live = disk.open();
        (0..live.blocks())
            .for_each(|block| assert_eq!(read(&live, block).ok(), Some(4), "{}", entry.name));
        assert_eq!(live.status().lost_ranges, []);
    }
}

#[test]
fn a_disk_that_takes_no_writes_is_read() {
    let (disk, _) = three_commits();
    let calls = 1000;
    // The zone of the first superblock becomes read-only.
    let faults =
        Faults { faults: vec![Fault::ReadOnly { call: calls, zone: Zone(0) }], ..Faults::none() };
    let failing = failing("fluid", faults);
    let live = failing.open();
    write(&live, 10, 5, 1).expect("room");
    live.flush().expect("no faults");
    (0..=calls).for_each(|_| drop(failing.report(Zone(0), 1)));
    drop(live);
    let live = failing.open();
    are(&live, &[(10, 1), (14, 1)]);
    let failed = live.status().failed.expect("it cannot be claimed");
    let error = write(&live, 10, 1, 2).expect_err("it takes nothing");
    assert!(error.kind == LiveErrorKind::Failed && error.to_string().contains(&failed), "{error}");
    drop(disk);
}

#[test]
fn a_map_without_room_takes_no_writes_until_something_is_trimmed() {
    // More blocks than the map has runs for; of the log so many that no part has more than three.
    let many = Geometry { zones: 200, ..geometry() };
    let large = Geometry { conventional_zones: 1, ..Geometry::new(800, 256) };
    for (name, geometry) in [("log", large), ("dm-zoned", many), ("ucache", many)] {
        let disk = drills::disk_of(geometry, name);
        let mut live = disk.open();
        let (mut full, mut version) = (0, 0);
        let apart = if name == "log" { 43 } else { 2 };
        for round in 0..6000_u64 {
            // Single blocks that are no neighbours.
            let at = round * 7919 % (live.blocks() / apart) * apart;
            version += 1;
            match write(&live, at, 1, version) {
                Ok(()) => are(&live, &[(at, version)]),
                Err(error) => {
                    assert_eq!(error.kind, LiveErrorKind::Full, "{name}: {error}");
                    full += 1;
                    let why = live.status().writes_refused.expect("it has no room");
                    assert!(error.to_string().contains(&why), "{name}: {why}");
                    let quarter = live.blocks() / 4;
                    live.trim(Block(full % 4 * quarter), quarter).expect("no faults");
                    live.flush().expect("no faults");
                    assert_eq!(live.status().writes_refused, None, "{name}");
                }
            }
            let status = live.status();
            assert!(
                status.failed.is_none() && status.map.runs <= status.map.runs_max,
                "{name}: {status:?}"
            );
            if round % 1000 == 999 {
                live.close().expect("no faults");
                live = disk.open();
            }
        }
        assert!(full > 0, "{name}: {:?}", live.status().map);
    }
}

/// Blocks that came to lie apart are written one behind the other again.
#[test]
fn a_log_makes_room_in_its_map() {
    let many = Geometry { zones: 200, ..geometry() };
    let disk = drills::disk_of(many, "log");
    let mut live = disk.open();
    let mut versions = vec![0; live.blocks() as usize];
    let mut gathered = 0;
    for version in 1..6000_u64 {
        // One block, but now and then many.
        let (at, count) = match version % 500 {
            0 => (version % (live.blocks() - 40), 40),
            _ => (version * 7919 % live.blocks(), 1),
        };
        write(&live, at, count, version).expect("there is always room");
        versions[at as usize..(at + count) as usize].fill(version);
        let status = live.status();
        assert!(status.map.runs <= status.map.runs_max - status.map.runs_max / 16, "{status:?}");
        assert_eq!((status.writes_refused, status.refused), (None, 0));
        if version % 1000 == 999 {
            gathered += status.map.gathered_blocks;
            live.flush().expect("no faults");
            drop(live);
            disk.0.cut_power();
            disk.0.restart();
            live = disk.open();
        }
    }
    assert!(gathered > 0, "{:?}", live.status().map);
    for (block, version) in (0..).zip(&versions) {
        assert_eq!(read(&live, block).ok(), Some(*version), "block {block}");
    }
    // Idle time leaves a quarter of the room, so that writes need not wait.
    (0..1000).take_while(|_| live.idle().expect("no faults")).for_each(drop);
    let map = live.status().map;
    assert!(map.runs < map.runs_max * 3 / 4 && map.runs > map.runs_max / 2, "{map:?}");
    for (block, version) in (0..).zip(&versions) {
        assert_eq!(read(&live, block).ok(), Some(*version), "block {block}");
    }
}

/// It has all of it elsewhere, so that a flush that fails loses none of it.
#[test]
fn what_is_gathered_is_not_in_doubt() {
    let disk = formatted("log");
    let live = disk.open();
    (0..112).for_each(|n| write(&live, n * 5 % 112, 1, 1).expect("room"));
    live.flush().expect("no faults");
    let MapStatus { runs, commits, .. } = live.status().map;
    write(&live, 1, 1, 2).expect("room");
    assert!(live.gather_now().expect("no faults"), "there is something to gather");
    assert!(live.status().map.runs + 10 < runs, "{:?}", live.status().map);
    assert_eq!(live.status().map.commits, commits, "it is not durable yet");
    disk.fail(Operation::Flush, 0, 1);
    live.flush().expect_err("it fails");
    assert_eq!(live.status().doubtful_ranges, [(1, 1)], "what the host has written");
    (2..112).for_each(|block| assert_eq!(read(&live, block).ok(), Some(1), "block {block}"));
    // What is in doubt is not gathered, and what lies beside it is.
    live.flush().expect("no more faults");
    while live.gather_now().expect("no faults") {}
    assert_eq!(live.status().doubtful_ranges, [(1, 1)]);
    assert_eq!(live.status().map.gathered_blocks, 16 + 96);
    (2..112).for_each(|block| assert_eq!(read(&live, block).ok(), Some(1), "block {block}"));
}

/// What cannot be read stays as it is, and all else is gathered.
#[test]
fn what_cannot_be_read_is_not_gathered() {
    let disk = formatted("log");
    let live = disk.open();
    (0..48).for_each(|n| write(&live, n * 7 % 48, 1, 1).expect("room"));
    live.flush().expect("no faults");
    // The first block that was written is the first one of the first zone after the conventional ones.
    disk.1.lock().expect("no panic").insert(6 * 16);
    read(&live, 0).expect_err("it cannot be read");
    while live.gather_now().expect("no faults") {}
    assert_eq!((live.status().map.gathered_blocks, live.status().failures), (32, 0));
    disk.can_be_read_again();
    (0..48).for_each(|block| assert_eq!(read(&live, block).ok(), Some(1), "block {block}"));
}

#[test]
fn a_file_is_such_a_disk() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("disk.zoned");
    shingle_zoned::create(&path, &geometry()).expect("room");
    let open = || shingle_zoned::open(&path).expect("a zoned file");
    format(&*open(), &wanted("fluid")).expect("room");
    let live = LiveDisk::open(open()).expect("it was formatted");
    for version in 1..4 {
        for block in (0..live.blocks()).step_by(4) {
            write(&live, block, 3.min(live.blocks() - block), version).expect("room");
        }
        live.flush().expect("no faults");
    }
    write(&live, 1, 1, 9).expect("room");
    // Without an orderly close.
    drop(live);
    let found = inspect(&*open()).expect("there is a map");
    assert_eq!((found.damage, found.lost_ranges), (None, vec![]));
    let live = LiveDisk::open(open()).expect("it recovers");
    assert!(matches!(read(&live, 1), Ok(3 | 9)));
    are(&live, &[(0, 3), (2, 3), (3, 0), (100, 3), (live.blocks() - 2, 3)]);
    live.close().expect("no faults");
    drop(live);
    assert_eq!(inspect(&*open()).expect("there is a map").commits, 0);
}

/// All zones of a used disk must be reset before they are written: a large one has 100,000 of them.
#[test]
fn after_a_format_idle_time_resets_many_zones_at_a_time() {
    let disk = formatted("log");
    let live = disk.open();
    for block in 0..live.blocks() {
        write(&live, block, 1, 1).expect("room");
    }
    live.close().expect("no faults");
    format(&disk, &Format { force: true, ..wanted("log") }).expect("by force");
    let live = disk.open();
    assert_eq!(live.status().zones.to_be_moved, 8);
    assert!(!live.idle().expect("no faults"), "one step for all");
    assert_eq!(live.status().zones.to_be_moved, 0);
    let reports = disk.report(Zone(0), 20).expect("no faults");
    let written = reports.iter().filter(|zone| zone.write_pointer.is_some_and(|at| at > 0));
    assert!(written.count() <= 3, "but spare ones: {reports:?}");
    write(&live, 5, 20, 2).expect("room");
    are(&live, &[(4, 0), (5, 2), (24, 2), (25, 0)]);
}
