//! Formats that are refused, and one that is interrupted.

use crate::common::{formatted, geometry, read, wanted, write};
use shingle_core::units::Zone;
use shingle_device::Mark;
use shingle_translated::{Format, OpenError, format, inspect};
use shingle_zoned::{Condition, Operation};

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

/// Then it cannot be read whether there is a map.
#[test]
fn a_conventional_zone_that_is_lost_is_told() {
    for (zone, condition) in [(0, Condition::Offline), (5, Condition::ReadOnly)] {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("disk.zoned");
        shingle_zoned::create_failed(&path, &geometry(), &[(Zone(zone), condition)]).expect("room");
        let disk = shingle_zoned::open(&path).expect("a zoned file");
        let error = format(&*disk, &wanted("log")).expect_err("it needs them all").to_string();
        let told = format!("conventional zone {zone} is {}", condition.name());
        assert!(error.contains(&told), "{error}");
    }
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
