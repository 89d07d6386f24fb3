//! Formats that are refused, one that is interrupted, and those that leave out conventional zones.

use std::path::{Path, PathBuf};

use crate::common::{formatted, read, wanted, write};
use shingle_core::units::{Block, Zone};
use shingle_device::Mark;
use shingle_engine::Buffer;
use shingle_translated::{Format, LiveDisk, OpenError, format, inspect};
use shingle_translation::translations::ALL;
use shingle_zoned::Condition::{self, Offline, ReadOnly};
use shingle_zoned::{Geometry, Operation, ZonedDisk};

/// The newest data is on the SSD of its cache.
#[test]
fn the_disk_of_a_cache_is_given_up_only_by_the_name_of_the_cache() {
    let disk = formatted("log");
    let live = disk.open();
    live.set_mark(Some(Mark { uuid: [9; 16], edition: 3 })).expect("no faults");
    write(&live, 5, 1, 1).expect("room");
    live.close().expect("no faults");
    let with = |destroy, force| format(&disk, &Format { destroy, force, ..wanted("log") });
    let refused = |destroy, force, told: &str| {
        let error = with(destroy, force).expect_err(told).to_string();
        assert!(error.contains(told), "{error}");
    };
    for force in [false, true] {
        refused(None, force, "is the disk of cache 09090909-0909-0909-0909-090909090909");
        refused(Some([8; 16]), force, "is not a cache that this disk belongs to");
    }
    assert_eq!(read(&disk.open(), 5).ok(), Some(1));
    with(Some([9; 16]), false).expect("it was named");
    // It no longer belongs to any cache, and not to one that was served without its SSD.
    refused(Some([9; 16]), true, "is not a cache that this disk belongs to");
    let live = disk.open();
    live.set_mark(Some(Mark::without_cache(Some(live.uuid())))).expect("no faults");
    refused(None, false, "has a map already");
    with(None, true).expect("it was forced");
}

/// A zoned file of sixteen conventional zones, of which some have failed.
fn with_failed(failed: &[(u32, Condition)]) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("disk.zoned");
    let geometry = Geometry { conventional_zones: 16, ..Geometry::new(30, 16) };
    let failed: Vec<_> = failed.iter().map(|&(zone, how)| (Zone(zone), how)).collect();
    shingle_zoned::create_failed(&path, &geometry, &failed).expect("room");
    (folder, path)
}

fn opened(path: &Path) -> Box<dyn ZonedDisk> {
    shingle_zoned::open(path).expect("a zoned file")
}

#[test]
fn conventional_zones_that_have_failed_are_left_out() {
    for entry in ALL {
        for (failed, left_out) in [
            (vec![(0, Offline)], 1),
            (vec![(0, ReadOnly)], 1),
            (vec![(15, Offline)], 1),
            (vec![(2, ReadOnly)], 3),
            (vec![(7, Offline), (8, ReadOnly)], 9),
        ] {
            let (_folder, path) = with_failed(&failed);
            let made = format(&*opened(&path), &wanted(entry.name)).expect("enough are left");
            let what = format!("{}, {failed:?}", entry.name);
            assert_eq!(made.left_out_zones, left_out, "{what}");
            for version in 1..4 {
                let live = LiveDisk::open(opened(&path)).expect("it was formatted");
                for block in (0..live.blocks()).step_by(3) {
                    write(&live, block, 1, version).expect("room");
                }
                live.flush().expect("no faults");
                drop(live);
                let found = inspect(&*opened(&path)).expect("there is a map");
                assert!(found.is_sound() && found.is_whole(), "{what}: {found:?}");
                assert_eq!(found.failed_conventional_zones, [0; 0], "{what}");
            }
            let live = LiveDisk::open(opened(&path)).expect("it was formatted");
            for block in 0..live.blocks() {
                let version = if block % 3 == 0 { 3 } else { 0 };
                assert_eq!(read(&live, block).ok(), Some(version), "{what}: {block}");
            }
        }
    }
    let refused = |failed: &[u32], told: &str| {
        let failed: Vec<_> = failed.iter().map(|zone| (*zone, Offline)).collect();
        let (_folder, path) = with_failed(&failed);
        let error = format(&*opened(&path), &wanted("log")).expect_err(told).to_string();
        assert!(error.contains(told), "{error}");
    };
    refused(&(0..16).collect::<Vec<_>>(), "all its 16 conventional zones have failed");
    refused(&[2, 5, 8, 11, 13], "its 2 conventional zones from zone 0 on");
}

/// Each map is found, whichever zones have failed since, and no older one in its place.
#[test]
fn a_map_is_found_after_more_conventional_zones_have_failed() {
    let fails = |path: &Path, zone, how| {
        let file = shingle_zoned::open_with_head(path).expect("a zoned file");
        file.fail(Zone(zone), how).expect("it can be written");
    };
    for (failed, later) in [
        (vec![(0, Offline)], 1),
        (vec![(0, ReadOnly)], 1),
        (vec![(5, Offline)], 6),
        (vec![(10, Offline)], 0),
        (vec![(15, ReadOnly)], 0),
        // Then the older map stays where it was.
        (vec![(0, ReadOnly), (15, ReadOnly)], 1),
    ] {
        let what = format!("{failed:?}");
        let (_folder, path) = with_failed(&[]);
        format(&*opened(&path), &wanted("log")).expect("room");
        let old = inspect(&*opened(&path)).expect("there is a map").uuid;
        // A map that uses the zones is not given up without being asked, and is found.
        failed.iter().for_each(|&(zone, how)| fails(&path, zone, how));
        let found = inspect(&*opened(&path)).expect("there is a map");
        let zones: Vec<u32> = failed.iter().map(|(zone, _)| *zone).collect();
        assert_eq!((&found.uuid, &found.failed_conventional_zones), (&old, &zones), "{what}");
        format(&*opened(&path), &wanted("log")).expect_err("there is a map");
        let new = Format { uuid: Some([7; 16]), force: true, ..wanted("log") };
        format(&*opened(&path), &new).expect("enough are left");
        let live = LiveDisk::open(opened(&path)).expect("it was formatted");
        assert_eq!(live.uuid(), [7; 16], "{what}");
        write(&live, 5, 1, 1).expect("room");
        live.close().expect("no faults");
        drop(live);
        // Where the older map can be erased it is.
        for at in
            [(5, 0), (10, 255)].iter().filter(|(zone, _)| zones.contains(zone)).map(|two| two.1)
        {
            let mut buffers = [Buffer::default()];
            opened(&path).read(Block(at), &mut buffers).expect("it is readable");
            assert!(buffers[0].0 == [0; 4096], "{what}");
        }
        // A zone of the new map.
        fails(&path, later, ReadOnly);
        let found = inspect(&*opened(&path)).expect("there is a map");
        assert_ne!(found.uuid, old, "{what}");
        assert_eq!(found.failed_conventional_zones, [later], "{what}");
        let live = LiveDisk::open(opened(&path)).expect("it can be read");
        assert_eq!(read(&live, 5).ok(), Some(1), "{what}");
    }
}

/// A disk that had other zones before: of its map one superblock is in a zone that cannot be written any more.
#[test]
fn a_new_map_counts_beside_one_that_is_of_no_use_and_cannot_be_erased() {
    let (_larger_folder, larger) = with_failed(&[]);
    let geometry = Geometry { conventional_zones: 16, ..Geometry::new(28, 16) };
    format(&*opened(&larger), &wanted("log")).expect("room");
    for _ in 0..5 {
        drop(LiveDisk::open(opened(&larger)).expect("it was formatted"));
    }
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("disk.zoned");
    shingle_zoned::create(&path, &geometry).expect("room");
    let mut buffers = [Buffer::default()];
    opened(&larger).read(Block(0), &mut buffers).expect("no faults");
    opened(&path).write(Block(0), &buffers).expect("no faults");
    let file = shingle_zoned::open_with_head(&path).expect("a zoned file");
    file.fail(Zone(0), ReadOnly).expect("it can be written");
    drop(file);
    let error = inspect(&*opened(&path)).expect_err("it has fewer zones");
    assert!(matches!(error, OpenError::Unusable { .. }), "{error}");
    let new = Format { uuid: Some([7; 16]), force: true, ..wanted("log") };
    format(&*opened(&path), &new).expect("enough zones are left");
    let live = LiveDisk::open(opened(&path)).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(live.uuid(), [7; 16]);
}

/// The old map, or none, or the new and empty one, whichever write or flush was the last.
#[test]
fn a_format_that_ends_half_way_leaves_one_map_or_none() {
    let new = Format { uuid: Some([7; 16]), force: true, ..wanted("fluid") };
    for operation in [Operation::Write, Operation::Flush] {
        let mut seen = [0; 3];
        for after in 0.. {
            let disk = formatted("log");
            let live = disk.open();
            (0..60).for_each(|block| write(&live, block, 1, 1).expect("room"));
            live.close().expect("no faults");
            disk.fail(operation, after, u64::MAX);
            let done = format(&disk, &new);
            disk.go_on();
            disk.0.cut_power();
            disk.0.restart();
            let found = inspect(&disk);
            match &found {
                Ok(found) => assert_eq!(found.damage, None, "{operation:?} {after}"),
                Err(OpenError::NotFormatted { .. }) => {}
                Err(error) => panic!("{operation:?} {after}: {error}"),
            }
            match found {
                Ok(found) if found.translation == "log" => {
                    seen[0] += 1;
                    let live = disk.open();
                    (0..60).for_each(|block| assert_eq!(read(&live, block).ok(), Some(1)));
                    drop(live);
                }
                Ok(_) => {
                    seen[2] += 1;
                    let live = disk.open();
                    (0..60).for_each(|block| assert_eq!(read(&live, block).ok(), Some(0)));
                }
                Err(_) => {
                    seen[1] += 1;
                    // The next format is not refused.
                    format(&disk, &Format { force: false, ..new.clone() }).expect("there is none");
                }
            }
            if done.is_ok() {
                break;
            }
        }
        assert!(seen.iter().all(|count| *count > 0), "{operation:?}: {seen:?}");
    }
}
