//! Failures while a disk is in use, which need no action of the operator.

use std::sync::atomic::Ordering;

use crate::common::{Held, drills, formatted, geometry, read, wanted, write};
use shingle_core::units::{Block, Zone};
use shingle_engine::Buffer;
use shingle_translated::{Format, LiveDisk, LiveErrorKind, format, inspect};
use shingle_translation::translations::ALL;
use shingle_zoned::{Condition, Fault, Faults, Geometry, Operation, ZonedDisk as _};

/// Writes all blocks, each with its own version.
fn fill(live: &LiveDisk, version: u64) {
    for block in (0..live.blocks()).step_by(4) {
        write(live, block, 4.min(live.blocks() - block), version).expect("room");
    }
}

/// A disk whose blocks are all written once, and flushed.
fn filled(translation: &str) -> (Held, LiveDisk) {
    let disk = formatted(translation);
    let live = disk.open();
    fill(&live, 1);
    live.flush().expect("no faults");
    (disk, live)
}

fn is_full_of(live: &LiveDisk, version: u64, what: &str) {
    for block in 0..live.blocks() {
        assert_eq!(read(live, block).ok(), Some(version), "{what}: block {block}");
    }
}

fn restarted(disk: &Held) -> LiveDisk {
    disk.0.cut_power();
    disk.0.restart();
    disk.open()
}

#[test]
fn one_io_that_fails_loses_nothing() {
    for entry in ALL {
        for operation in [Operation::Write, Operation::Read, Operation::Reset] {
            for after in [0, 1, 5, 9] {
                let disk = formatted(entry.name);
                let live = disk.open();
                fill(&live, 1);
                disk.fail(operation, after, 1);
                fill(&live, 2);
                disk.go_on();
                let what = format!("{}, {operation:?} {after}", entry.name);
                is_full_of(&live, 2, &what);
                live.flush().expect("it was put right");
                assert_eq!(live.status().failed, None, "{what}");
                drop(live);
                is_full_of(&restarted(&disk), 2, &what);
            }
        }
    }
}

#[test]
fn a_disk_that_fails_all_the_time_loses_nothing_that_was_flushed() {
    for entry in ALL {
        drills::of_many_failures(None, entry.name, 0..4);
    }
    // A zone was appended to, and then the map was rolled back: the appended blocks belong to
    // nothing.
    drills::of_many_failures(None, "skylight-sa", 782..783);
}

#[test]
fn what_goes_bad_as_soon_as_it_is_written_is_written_again_or_an_error() {
    for entry in ALL {
        drills::of_spoilt_blocks(None, entry.name);
    }
}

#[test]
fn what_goes_bad_and_is_moved_is_never_zeros_after_a_power_cut() {
    for entry in ALL {
        drills::of_spoilt_blocks_and_a_cut(None, entry.name, 0..40);
    }
    // Amphisbaena moves blocks of its buffer back to where the durable map has their older copies.
    drills::of_spoilt_blocks_and_a_cut(None, "amphisbaena", 960..980);
}

#[test]
fn nothing_is_left_of_a_commit_that_fails() {
    drills::of_a_commit_that_fails(None);
}

#[test]
fn readers_are_sent_to_what_is_durable() {
    drills::of_a_repair(None);
}

#[test]
fn a_disk_that_was_away_for_a_while_goes_on() {
    for entry in ALL {
        let (disk, live) = filled(entry.name);
        // Not flushed.
        write(&live, 3, 2, 2).expect("no faults");
        disk.2.all.store(true, Ordering::Relaxed);
        for _ in 0..3 {
            let error = write(&live, 30, 2, 3).expect_err("it is away");
            assert!(matches!(error.kind, LiveErrorKind::Disk | LiveErrorKind::Failed), "{error}");
            live.idle().expect_err("it is away");
        }
        assert!(live.status().failed.is_some() && live.status().failures > 0);
        disk.2.all.store(false, Ordering::Relaxed);
        write(&live, 31, 1, 4).expect("it is back");
        assert_eq!(live.status().failed, None);
        for (block, version) in [(2, 1), (3, 2), (4, 2), (31, 4)] {
            assert_eq!(read(&live, block).ok(), Some(version), "{}: {block}", entry.name);
        }
        live.flush().expect("nothing was lost");
        drop(live);
        let live = restarted(&disk);
        for (block, version) in [(2, 1), (3, 2), (4, 2), (31, 4)] {
            assert_eq!(read(&live, block).ok(), Some(version), "{}: {block}", entry.name);
        }
    }
}

#[test]
fn a_disk_that_loses_its_power_for_a_moment_does_not_lose_writes_silently() {
    drills::of_a_moment_without_power(None);
}

#[test]
fn nor_does_it_when_a_zone_is_copied() {
    drills::of_a_zone_that_is_left(None);
}

#[test]
fn nor_does_it_when_a_zone_is_finished() {
    drills::of_a_zone_that_is_finished(None);
}

#[test]
fn nor_does_it_before_any_one_call() {
    drills::of_moments_without_power(None, 0..4);
}

#[test]
fn what_a_flush_forgets_is_an_error_until_it_is_written_anew() {
    for entry in ALL {
        for after in [0, 1] {
            let (disk, live) = filled(entry.name);
            write(&live, 8, 2, 2).expect("no faults");
            let before = live.status().map.commits;
            disk.fail(Operation::Flush, after, 1);
            let error = live.flush().expect_err("it forgets");
            let what = format!("{}, flush {after}", entry.name);
            assert!(error.to_string().contains("flush"), "{what}: {error}");
            if live.status().map.commits == before {
                // It was written in place: there was no second flush to fail.
                continue;
            }
            assert_eq!(live.status().doubtful_ranges, [(8, 2)], "{what}");
            let error = read(&live, 9).expect_err("it may be older");
            assert_eq!(error.kind, LiveErrorKind::Failed, "{what}");
            assert_eq!(read(&live, 10).ok(), Some(1), "{what}");
            // The failure was reported, so the next flush is a normal one.
            live.flush().expect("no more faults");
            write(&live, 8, 1, 3).expect("no more faults");
            assert_eq!(read(&live, 8).ok(), Some(3), "{what}");
            assert_eq!(live.status().doubtful_ranges, [(9, 1)], "{what}");
            live.trim(Block(9), 1).expect("no more faults");
            assert_eq!(live.status().doubtful_ranges, [], "{what}");
            live.flush().expect("no more faults");
            drop(live);
            let live = restarted(&disk);
            assert_eq!((read(&live, 8).ok(), read(&live, 10).ok()), (Some(3), Some(1)), "{what}");
        }
    }
}

/// What was flushed before is not in doubt, and can be read.
#[test]
fn as_long_as_flushes_fail_only_what_was_written_since_the_last_is_an_error() {
    for entry in ALL {
        let (disk, live) = filled(entry.name);
        write(&live, 8, 2, 2).expect("no faults");
        disk.fail(Operation::Flush, 0, u64::MAX);
        for _ in 0..2 {
            live.flush().expect_err("it fails");
            assert_eq!(live.status().doubtful_ranges, [(8, 2)], "{}", entry.name);
            assert_eq!(read(&live, 10).ok(), Some(1), "{}", entry.name);
        }
        disk.go_on();
        write(&live, 8, 2, 3).expect("no more faults");
        assert_eq!(live.status().doubtful_ranges, [], "{}", entry.name);
    }
}

#[test]
fn a_flush_that_fails_within_a_write_is_told_to_the_next_flush() {
    // `log` commits when it cleans: a full disk cleans all the time.
    let (disk, live) = filled("log");
    let mut version = 1;
    let failed = loop {
        version += 1;
        disk.fail(Operation::Flush, 0, 1);
        if let Err(error) = write(&live, version * 7 % live.blocks(), 1, version) {
            break error;
        }
        assert!(version < 1000, "it never cleans");
    };
    assert_eq!(failed.kind, LiveErrorKind::Disk, "{failed}");
    let told = live.flush().expect_err("what was written before is not durable");
    assert!(told.to_string().contains("not durable"), "{told}");
    assert!(!live.status().doubtful_ranges.is_empty());
    live.flush().expect("it was told of");
}

#[test]
fn a_block_that_cannot_be_read_is_lost_and_cleaning_goes_on() {
    for entry in ALL {
        let (disk, live) = filled(entry.name);
        let (bad, _) = drills::spoil_one_in_a_zone(&disk, &live);
        // All blocks around it are written, until its zone is rewritten.
        let mut version = 1;
        while live.status().lost_ranges.is_empty() && version < 60 {
            version += 1;
            for block in (0..live.blocks()).filter(|block| *block != bad).step_by(2) {
                write(&live, block, 1, version)
                    .unwrap_or_else(|error| panic!("{}: {error}", entry.name));
            }
            while live.idle().expect("cleaning goes on") {}
        }
        live.flush().expect("no more faults");
        // (Only what was written a moment ago is done again.)
        assert_eq!((live.status().failed, live.status().failures), (None, 0), "{}", entry.name);
        for block in (0..live.blocks()).filter(|block| *block != bad) {
            read(&live, block).unwrap_or_else(|error| panic!("{}: {error}", entry.name));
        }
        let error = read(&live, bad).expect_err("it cannot be read");
        if error.kind == LiveErrorKind::Lost {
            assert_eq!(live.status().lost_ranges, [(bad, 1)], "{}", entry.name);
        }
        write(&live, bad, 1, 99).expect("there is room");
        assert_eq!(read(&live, bad).ok(), Some(99), "{}", entry.name);
    }
}

/// Its place is overwritten soon, so it keeps no old copy. Nor is it ever what it was before, or zeros.
#[test]
fn a_block_of_the_buffer_that_cannot_be_read_is_an_error_until_it_is_written_anew() {
    let mut moved = Vec::new();
    for entry in ALL {
        let disk = formatted(entry.name);
        let live = disk.open();
        fill(&live, 1);
        for block in (0..live.blocks()).step_by(7) {
            write(&live, block, 1, 2).expect("room");
        }
        live.flush().expect("no faults");
        let Some((bad, at)) = drills::spoil_one_in_the_buffer(&disk, &live) else { continue };
        // It is not moved yet: the disk may still give it.
        disk.1.lock().expect("no panic").remove(&at);
        assert!(read(&live, bad).is_ok(), "{}", entry.name);
        disk.1.lock().expect("no panic").insert(at);
        let mut version = 2;
        while live.status().lost_ranges.is_empty() && version < 60 {
            version += 1;
            for block in (0..live.blocks()).filter(|block| *block != bad) {
                write(&live, block, 1, version)
                    .unwrap_or_else(|error| panic!("{}: {error}", entry.name));
            }
            while live.idle().expect("cleaning goes on") {}
            read(&live, bad).expect_err("it cannot be read");
        }
        // (Not every translation moves what is in its buffer.)
        let lost = !live.status().lost_ranges.is_empty();
        if lost {
            assert_eq!(live.status().lost_ranges, [(bad, 1)], "{}", entry.name);
            moved.push(entry.name);
        }
        live.flush().expect("no more faults");
        assert_eq!(live.status().failed, None, "{}", entry.name);
        drop(live);
        let live = restarted(&disk);
        while live.idle().expect("nothing fails") {}
        let error = read(&live, bad).expect_err("it cannot be read");
        assert_eq!(error.kind == LiveErrorKind::Lost, lost, "{}: {error}", entry.name);
        for block in (0..live.blocks()).filter(|block| *block != bad) {
            assert_eq!(read(&live, block).ok(), Some(version), "{}: block {block}", entry.name);
        }
        write(&live, bad, 1, 99).expect("there is room");
        assert_eq!(read(&live, bad).ok(), Some(99), "{}", entry.name);
        assert!(live.status().lost_ranges.is_empty(), "{}", entry.name);
    }
    assert!(moved.contains(&"dm-zoned"), "{moved:?}");
}

#[test]
fn a_block_that_can_be_read_again_is_what_it_was() {
    for entry in ALL {
        for (spares, rounds) in [(1, 0), (2, 0), (2, 4), (3, 12)] {
            let had = drills::of_a_block_that_can_be_read_again(None, entry.name, spares, rounds);
            // With one spare zone the other has to be it.
            assert_eq!(had, spares > 1, "{} with {spares} spare zones", entry.name);
        }
    }
}

/// Nobody has read it meanwhile.
#[test]
fn idle_time_tries_a_block_that_was_lost() {
    let disk = Held::new(geometry(), Faults::none());
    format(&disk, &Format { spare_zones: Some(3), ..wanted("log") }).expect("room");
    let live = disk.open();
    fill(&live, 1);
    live.flush().expect("no faults");
    let (bad, at) = drills::spoil_one_in_a_zone(&disk, &live);
    let lost = (2..60).find(|version| {
        for block in (0..live.blocks()).filter(|block| *block != bad).step_by(2) {
            write(&live, block, 1, *version).expect("room");
        }
        !live.status().lost_ranges.is_empty()
    });
    assert!(lost.is_some(), "its zone was never cleaned");
    live.flush().expect("no more faults");
    disk.1.lock().expect("no panic").remove(&at);
    while live.idle().expect("nothing fails") {}
    assert_eq!(live.status().lost_ranges, []);
    assert_eq!(read(&live, bad).ok(), Some(1));
}

/// That they cannot be reset now does not mean that no spare zones are left: then old copies would be given up.
#[test]
fn old_copies_are_kept_while_the_disk_resets_no_zones() {
    let disk = Held::new(geometry(), Faults::none());
    format(&disk, &Format { spare_zones: Some(3), ..wanted("log") }).expect("room");
    let live = disk.open();
    fill(&live, 1);
    live.flush().expect("no faults");
    let (bad, at) = drills::spoil_one_in_a_zone(&disk, &live);
    let others = |live: &LiveDisk, version| {
        let blocks = (0..live.blocks()).filter(|block| *block != bad).step_by(2);
        blocks.map(|block| write(live, block, 1, version)).filter(Result::is_err).count()
    };
    let lost = (2..60).find(|version| {
        assert_eq!(others(&live, *version), 0);
        !live.status().lost_ranges.is_empty()
    });
    assert!(lost.is_some(), "its zone was never cleaned");
    live.flush().expect("no more faults");
    disk.fail(Operation::Reset, 0, u64::MAX);
    assert!(others(&live, 60) > 0, "none needed a zone");
    disk.go_on();
    disk.1.lock().expect("no panic").remove(&at);
    assert_eq!(read(&live, bad).ok(), Some(1));
    assert_eq!(others(&live, 61), 0);
    assert_eq!((live.status().failed, live.status().zones.bad), (None, 0));
}

/// What durability.md says.
#[test]
fn a_flush_is_so_many_commands() {
    let disk = formatted("log");
    let live = disk.open();
    let ios = || live.progress().ios;
    write(&live, 0, 1, 1).expect("room");
    live.flush().expect("no faults");
    // Two flushes, a report of the zone, and for each copy of the map a write and a read.
    write(&live, 0, 1, 2).expect("room");
    let before = ios();
    live.flush().expect("no faults");
    assert_eq!(ios() - before, 7);
    let before = ios();
    live.flush().expect("no faults");
    assert_eq!(ios() - before, 1);
}

#[test]
fn a_checkpoint_that_fails_anywhere_leaves_a_map_and_the_next_one_succeeds() {
    for operation in [Operation::Write, Operation::Flush] {
        for after in 0..8 {
            let (disk, live) = filled("fluid");
            disk.fail(operation, after, 1);
            // (It flushes, and writes a checkpoint if there is a log.)
            write(&live, 5, 1, 2).expect("it is tried again");
            let flushed = live.flush();
            let closed = live.close();
            let found = inspect(&disk).expect("there is a map");
            assert_eq!(found.damage, None, "{operation:?} {after}");
            let live = restarted(&disk);
            let five = read(&live, 5).expect("it is there");
            let durable = flushed.is_ok() || closed.is_ok() && operation == Operation::Write;
            assert!(five == 2 || !durable && five == 1, "{operation:?} {after}: {five}");
            for block in (0..live.blocks()).filter(|block| *block != 5) {
                assert_eq!(read(&live, block).ok(), Some(1), "{operation:?} {after}: {block}");
            }
        }
    }
}

/// It cannot be repaired, and must not be reported as repaired.
#[test]
fn without_a_spare_zone_writes_are_refused_and_counted() {
    for entry in ALL {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("disk.zoned");
        shingle_zoned::create(&path, &geometry()).expect("room");
        let open = || shingle_zoned::open(&path).expect("a zoned file");
        format(&*open(), &Format { spare_zones: Some(2), ..wanted(entry.name) }).expect("room");
        let found = || inspect(&*open()).expect("there is a map");
        assert_eq!((found().spares_left, found().failed_zones), (Some(2), 0), "{}", entry.name);
        assert!(found().is_sound(), "{}", entry.name);
        let live = LiveDisk::open(open()).expect("it was formatted");
        fill(&live, 1);
        live.close().expect("no faults");
        assert!(!live.status().lacks_spares(), "{}", entry.name);
        drop(live);
        let file = shingle_zoned::open_with_head(&path).expect("a zoned file");
        for zone in geometry().conventional_zones..geometry().zones {
            file.fail(Zone(zone), Condition::ReadOnly).expect("it can be written");
        }
        drop(file);
        assert_eq!((found().spares_left, found().failed_zones), (Some(0), 14), "{}", entry.name);
        assert!(!found().is_sound() && found().is_whole(), "{}", entry.name);
        let live = LiveDisk::open(open()).expect("it can be read");
        write(&live, live.blocks(), 1, 2).expect_err("it is beyond the end");
        assert_eq!((live.status().refused, live.status().lacks_spares()), (0, true));
        let mut refused = Vec::new();
        for turn in 0..3 * live.blocks() {
            // (The buffer of some still takes a block now and then.)
            let error = write(&live, turn % live.blocks(), 1, 2).err();
            let told = live.status().writes_refused;
            assert_eq!(told, error.as_ref().map(ToString::to_string), "{}", entry.name);
            refused.extend(error);
        }
        let status = live.status();
        assert_eq!((status.failed, status.refused), (None, refused.len() as u64), "{}", entry.name);
        let last = refused.last().unwrap_or_else(|| panic!("{}: all is taken", entry.name));
        assert!(last.to_string().contains("no spare zone is left"), "{}: {last}", entry.name);
        assert!((0..live.blocks()).all(|block| read(&live, block).is_ok()), "{}", entry.name);
    }
}

/// As on a full file system: the zones themselves are good.
/// Who watches the spare zones has to know of the last one before it is used.
#[test]
fn a_zone_that_has_failed_is_not_counted_as_spare() {
    let call = 20_000;
    let mut bad = 0;
    for (zone, offline) in (6..14).flat_map(|zone| [(zone, false), (zone, true)]) {
        let fault = match offline {
            true => Fault::Offline { call, zone: Zone(zone) },
            false => Fault::ReadOnly { call, zone: Zone(zone) },
        };
        let disk = Held::new(geometry(), Faults { faults: vec![fault], ..Faults::none() });
        let wanted = Format { spare_zones: Some(3), ..wanted("log") };
        format(&disk, &wanted).expect("room");
        let live = disk.open();
        fill(&live, 1);
        live.flush().expect("no faults");
        (0..call).for_each(|_| drop(disk.report(Zone(0), 1)));
        for version in 2..6 {
            for block in 0..live.blocks() {
                let _ = write(&live, block, 1, version);
            }
            let _ = live.flush();
        }
        live.flush().expect("there are spare zones");
        let zones = live.status().zones;
        let found = inspect(&disk).expect("there is a map");
        assert_eq!((zones.leaving, Some(zones.spare)), (0, found.spares_left), "{fault:?}");
        bad += zones.bad;
    }
    assert!(bad > 10, "{bad}");
}

#[test]
fn spare_zones_that_fail_likewise_are_not_said_to_be_missing() {
    let disk = formatted("log");
    let live = disk.open();
    fill(&live, 1);
    // (The contents of a zone are moved before it is appended to.)
    write(&live, 1, 1, 2).expect("no faults");
    disk.fail(Operation::Write, 0, u64::MAX);
    let told = write(&live, 0, 1, 2).expect_err("nothing is written").to_string();
    assert!(told.ends_with("and no spare zone took it either"), "{told}");
    disk.go_on();
    assert!(!live.status().lacks_spares());
    write(&live, 0, 1, 2).expect("it was put right");
}

/// It cannot be replaced, and the status must say so.
#[test]
fn a_conventional_zone_that_fails_is_told() {
    for entry in ALL {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("disk.zoned");
        shingle_zoned::create(&path, &geometry()).expect("room");
        let open = || shingle_zoned::open(&path).expect("a zoned file");
        format(&*open(), &wanted(entry.name)).expect("room");
        let live = LiveDisk::open(open()).expect("it was formatted");
        fill(&live, 1);
        live.close().expect("no faults");
        drop(live);
        let file = shingle_zoned::open_with_head(&path).expect("a zoned file");
        file.fail(Zone(0), Condition::ReadOnly).expect("it can be written");
        drop(file);
        let found = inspect(&*open()).expect("there is a map");
        assert_eq!(found.failed_conventional_zones, [0], "{}", entry.name);
        assert!(!found.is_sound() && found.is_whole(), "{}", entry.name);
        let live = LiveDisk::open(open()).expect("it can be read");
        write(&live, 0, 1, 2).expect_err("the map cannot be written");
        assert!((0..live.blocks()).all(|block| read(&live, block).is_ok()), "{}", entry.name);
        // (The error concerns no blocks, and names none.)
        let error = live.close().expect_err("nor then").to_string();
        assert!(error.starts_with("nothing can be written"), "{error}");
    }
}

/// A repair elsewhere leaves zones that are to be reset, which is no sign of a crash.
#[test]
fn after_an_end_in_order_no_zone_is_ahead_of_the_map() {
    for entry in ALL {
        let disk = formatted(entry.name);
        let live = disk.open();
        for version in 1..4 {
            fill(&live, version);
            live.flush().expect("no faults");
        }
        live.close().expect("no faults");
        drop(live);
        assert_eq!(inspect(&disk).expect("there is a map").zones_ahead, 0, "{}", entry.name);
        // Nor after a start that has not reset them yet.
        drop(disk.open());
        assert_eq!(inspect(&disk).expect("there is a map").zones_ahead, 0, "{}", entry.name);
    }
}

#[test]
fn a_zone_that_is_rewritten_is_not_in_memory() {
    // Zones of 16 MiB, in a file.
    let geometry = Geometry { conventional_zones: 2, ..Geometry::new(12, 4096) };
    for name in ["fluid", "skylight-sa", "amphisbaena"] {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("disk.zoned");
        shingle_zoned::create(&path, &geometry).expect("room");
        let open = || shingle_zoned::open(&path).expect("a zoned file");
        format(&*open(), &Format { buffer_blocks: Some(512), ..wanted(name) }).expect("room");
        let live = LiveDisk::open(open()).expect("it was formatted");
        let data = vec![Buffer::default(); 128];
        for block in (0..live.blocks() / 128 * 128).step_by(128) {
            live.write(Block(block), &data).expect("room");
        }
        while live.idle().expect("no faults") {}
        live.flush().expect("no faults");
        let cleanings = live.status().cleanings;
        let taken = allocation_counter::measure(|| {
            for block in (1..live.blocks()).step_by(31) {
                write(&live, block, 1, 2).expect("room");
                if live.status().cleanings > cleanings + 2 {
                    break;
                }
            }
            while live.idle().expect("no faults") {}
        });
        let cleaned = live.status().cleanings - cleanings;
        println!("{name}: {cleaned} cleanings, {} KiB at most", taken.bytes_max >> 10);
        assert!(cleaned > 0, "{name}: {:?}", live.status());
        assert!(taken.bytes_max < 4 << 20, "{name}: {taken:?}");
    }
}
