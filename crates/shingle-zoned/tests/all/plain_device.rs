//! A block device without zones that is made a zoned disk: it behaves like the one in memory, also after
//! it is opened again, shows none of its old data, and flushes reach it. As root, over loop devices
//! (`SHINGLE_ROOT_TESTS=1`).

use std::collections::BTreeSet;
use std::fs::OpenOptions;
use std::os::unix::fs::FileExt;

use crate::common::{
    Step, at_pointer, blocks, carry_out, folder, plain_device, read, report, settled, steps,
};
use proptest::strategy::{Strategy as _, ValueTree as _};
use proptest::test_runner::TestRunner;
use shingle_core::units::{Block, Zone};
use shingle_device::Device;
use shingle_testbed::{Loop, skip_if};
use shingle_zoned::{
    Faults, Geometry, MemoryDisk, OpenError, ZonedDisk as _, create_on, geometry_on, is_zoned,
    open, open_read_only, open_with_head,
};
use tempfile::TempDir;

const MIB: u64 = 1 << 20;

fn geometry() -> Geometry {
    Geometry { conventional_zones: 2, max_open: 3, ..Geometry::new(8, 5) }
}

/// A device with room for [`geometry`], and a little more.
fn plain(test: &str) -> Option<(TempDir, Loop)> {
    let folder = folder();
    let made = plain_device(folder.path(), 2 * MIB);
    skip_if(test, made.as_ref().map(drop).map_err(Clone::clone))
        .then(|| (folder, made.expect("a device")))
}

fn device(plain: &Loop) -> Device {
    Device::open(plain.path()).expect("opened")
}

#[test]
fn a_device_is_as_memory_also_after_it_was_opened_again() {
    let Some((_folder, plain)) = plain("a device as memory") else { return };
    let mut runner = TestRunner::deterministic();
    for _ in 0..15 {
        create_on(&device(&plain), &geometry(), &[]).expect("made");
        let memory = MemoryDisk::new(geometry(), Faults::none());
        let (mut here, mut there) = (0, 0);
        for _ in 0..3 {
            let disk = open(plain.path()).expect("opened");
            for step in steps(&geometry(), 40).new_tree(&mut runner).expect("steps").current() {
                let ours = carry_out(&*disk, &step, &mut here);
                assert_eq!(ours, carry_out(&memory, &step, &mut there), "{step:?}");
                assert_eq!(report(&*disk), report(&memory), "{step:?}");
            }
            disk.flush().expect("flushed");
            memory.flush().expect("flushed");
            drop(disk);
            memory.cut_power();
            memory.restart();
            let found = open_read_only(plain.path()).expect("read");
            assert!(found.has_head() && !found.is_file());
            assert_eq!((*found.geometry(), report(&found)), (geometry(), report(&memory)));
            assert_eq!(read(&found, 0, 40).ok(), read(&memory, 0, 40).ok());
        }
    }
}

#[test]
fn without_a_flush_write_pointers_are_those_of_the_last() {
    let Some((_folder, plain)) = plain("write pointers of a device") else { return };
    let mut runner = TestRunner::deterministic();
    for _ in 0..15 {
        create_on(&device(&plain), &geometry(), &[]).expect("made");
        let disk = open(plain.path()).expect("opened");
        let (mut versions, mut flushed) = (0, settled(report(&*disk)));
        for step in steps(&geometry(), 60).new_tree(&mut runner).expect("steps").current() {
            if carry_out(&*disk, &step, &mut versions).is_ok() {
                match step {
                    Step::Flush => flushed = settled(report(&*disk)),
                    Step::Reset(zone) => {
                        flushed[zone as usize] = settled(report(&*disk))[zone as usize];
                    }
                    _ => {}
                }
            }
        }
        drop(disk);
        assert_eq!(report(&open_read_only(plain.path()).expect("read")), flushed);
    }
}

#[test]
fn a_power_cut_leaves_what_was_flushed_and_perhaps_more() {
    let Some((_folder, plain)) = plain("a power cut of a device") else { return };
    let mut pointers = BTreeSet::new();
    for seed in 0..40 {
        create_on(&device(&plain), &geometry(), &[]).expect("made");
        let disk = open_with_head(plain.path()).expect("opened");
        at_pointer(&disk, Zone(3), &blocks(&[1, 2])).expect("written");
        disk.flush().expect("flushed");
        at_pointer(&disk, Zone(3), &blocks(&[3, 4])).expect("written");
        disk.cut_power(seed).expect("cut");
        drop(disk);
        let disk = open(plain.path()).expect("opened");
        let pointer = disk.report(Zone(3), 1).expect("a report")[0].write_pointer;
        let pointer = pointer.expect("a pointer");
        pointers.insert(pointer);
        // What was written beyond the pointer is not there any more.
        let all: Vec<u64> = (1..6).map(|at| if at <= pointer { at } else { 0 }).collect();
        assert_eq!(read(&*disk, 15, 5).expect("read"), all);
    }
    assert_eq!(pointers.into_iter().collect::<Vec<_>>(), [2, 3, 4]);
}

/// The number of flushes that the device has done.
fn flushes(plain: &Loop) -> u64 {
    let told = std::fs::read_to_string(format!("/sys/block/{}/stat", plain.name())).expect("told");
    told.split_whitespace().nth(15).expect("Linux 5.5 or newer").parse().expect("a number")
}

/// Data first, then one copy of the write pointers; for a reset the pointer alone.
#[test]
fn each_flush_and_each_reset_reaches_the_device() {
    let Some((_folder, plain)) = plain("flushes of a device") else { return };
    create_on(&device(&plain), &geometry(), &[]).expect("made");
    let disk = open(plain.path()).expect("opened");
    for turn in 0..5 {
        at_pointer(&*disk, Zone(4), &blocks(&[turn])).expect("written");
        let before = flushes(&plain);
        disk.flush().expect("flushed");
        assert_eq!(flushes(&plain) - before, 2, "with a new write pointer");
        disk.flush().expect("flushed");
        assert_eq!(flushes(&plain) - before, 3, "without");
    }
    let before = flushes(&plain);
    disk.reset(Zone(4)).expect("reset");
    assert_eq!(flushes(&plain) - before, 1);
}

/// What is on the device stays until nothing is wrong any more.
#[test]
fn what_cannot_be_is_refused_and_changes_nothing() {
    let Some((folder, plain)) = plain("what is refused on a device") else { return };
    let content = || std::fs::read(folder.path().join("device")).expect("read");
    let before = content();
    let all = device(&plain);
    assert!(!is_zoned(&all).expect("told"));
    let fits = geometry_on(&all, 5).expect("a device");
    assert_eq!((fits.zones, fits.max_open, fits.conventional_zones), (256 / 5, 1, 0));
    let more = Geometry { zones: fits.zones + 1, ..fits };
    let error = create_on(&all, &more, &[]).expect_err("too many").to_string();
    assert!(error.ends_with("and its head and the zones need 2113536: 51 zones fit"), "{error}");
    let error = geometry_on(&all, 257).expect_err("too large").to_string();
    assert!(error.contains("too little for a head and one zone"), "{error}");
    let none = Geometry { conventional_zones: 9, ..geometry() };
    assert!(matches!(create_on(&all, &none, &[]), Err(OpenError::Geometry { .. })));
    drop(all);
    let error = open(plain.path()).err().expect("not made yet").to_string();
    assert!(error.contains("there is no zoned disk; `shingle zoned create`"), "{error}");
    assert!(before == content());
    let file = folder.path().join("file");
    std::fs::write(&file, vec![1; 2 << 20]).expect("written");
    let file = Device::open(&file).expect("opened");
    assert!(matches!(create_on(&file, &geometry(), &[]), Err(OpenError::There(_))));
}

/// A RAID, and a partition table, of before would be found at the end of the device, in a sequential zone
/// or behind them all.
#[test]
fn nothing_is_left_at_the_end_of_the_device() {
    let Some((folder, plain)) = plain("the end of a device") else { return };
    let file = folder.path().join("device");
    let content = || std::fs::read(&file).expect("read");
    let bytes = content().len();
    for zones in [8, 51] {
        let device = device(&plain);
        device.write(device.blocks() - 1, &[0x5a; 4096]).expect("written");
        device.write(device.blocks() - 16, &[0x5a; 4096]).expect("written");
        device.flush().expect("flushed");
        create_on(&device, &Geometry { zones, ..geometry() }, &[]).expect("made");
        assert!(content()[bytes - 64 * 1024..].iter().all(|&byte| byte == 0), "{zones} zones");
    }
}

/// The last zone may end where the device does.
#[test]
fn a_device_may_be_no_larger_than_its_zones() {
    let Some((_folder, plain)) = plain("a device of just the size") else { return };
    let geometry = geometry_on(&device(&plain), 64).expect("a device");
    assert_eq!((256 + geometry.blocks()) * 4096, 2 * MIB);
    create_on(&device(&plain), &geometry, &[]).expect("made");
    open(plain.path()).expect("opened");
}

/// Of large conventional zones both ends, and nothing else, as that could take long.
#[test]
fn the_ends_of_conventional_zones_are_erased() {
    let folder = folder();
    let made = plain_device(folder.path(), 16 * MIB);
    if !skip_if("the ends of conventional zones", made.as_ref().map(drop).map_err(Clone::clone)) {
        return;
    }
    let plain = made.expect("a device");
    let geometry = Geometry { conventional_zones: 3, ..Geometry::new(4, 600) };
    create_on(&device(&plain), &geometry, &[]).expect("made");
    let content = std::fs::read(folder.path().join("device")).expect("read");
    let (pages, _) = content.as_chunks::<4096>();
    let is_blank = |page: usize| pages[page].iter().all(|&byte| byte == 0);
    for zone in 0..3 {
        let first = 256 + zone * 600;
        let blank: Vec<_> = (0..600).filter(|at| is_blank(first + at)).collect();
        assert_eq!(blank, (0..256).chain(344..600).collect::<Vec<_>>(), "zone {zone}");
    }
}

/// What a reset gives up stays where it is: to take it away could take as long as to write zeros.
#[test]
fn a_reset_discards_nothing() {
    let Some((folder, plain)) = plain("a reset of a device") else { return };
    create_on(&device(&plain), &Geometry::new(3, 64), &[]).expect("made");
    let disk = open(plain.path()).expect("opened");
    at_pointer(&*disk, Zone(1), &blocks(&[7; 64])).expect("written");
    disk.flush().expect("flushed");
    let content = || {
        let all = std::fs::read(folder.path().join("device")).expect("read");
        all[(256 + 64) * 4096..][..64 * 4096].to_vec()
    };
    let before = content();
    disk.reset(Zone(1)).expect("reset");
    assert!(content() == before && before.iter().any(|&byte| byte != 0));
}

/// A map, or a file system, of before would be found in the first and the last blocks of a
/// conventional zone.
#[test]
fn nothing_is_left_where_a_map_or_a_file_system_would_be_found() {
    let Some((_folder, plain)) = plain("what is erased on a device") else { return };
    create_on(&device(&plain), &geometry(), &[]).expect("made");
    let disk = open(plain.path()).expect("opened");
    assert_eq!(read(&*disk, 0, 10).expect("conventional zones"), [0; 10]);
    disk.write(Block(3), &blocks(&[7])).expect("written");
    drop(disk);
    // Made anew: nothing of it is found, nor is its head.
    create_on(&device(&plain), &Geometry::new(30, 5), &[]).expect("made");
    let disk = open(plain.path()).expect("opened");
    assert_eq!(read(&*disk, 0, 150).expect("beyond all pointers"), [0; 150]);
}

#[test]
fn a_damaged_page_is_of_the_device() {
    let Some((_folder, plain)) = plain("a damaged page of a device") else { return };
    create_on(&device(&plain), &geometry(), &[]).expect("made");
    let put = |page: u64| {
        let device = OpenOptions::new().write(true).open(plain.path()).expect("opened");
        device.write_all_at(&[0x5a; 4096], page * 4096).expect("written");
        device.sync_all().expect("durable");
    };
    put(0);
    assert!(is_zoned(&device(&plain)).expect("told"), "by what is left of the head");
    let found = open_read_only(plain.path()).expect("one copy is left");
    let [told] = found.damaged() else { panic!("{:?}", found.damaged()) };
    assert!(told.contains("the device's header is damaged (page 0 of the device:"), "{told}");
    put(1);
    let error = open(plain.path()).err().expect("both are lost").to_string();
    assert!(error.contains("make a new disk of it by `shingle zoned create`"), "{error}");
}

#[test]
fn a_device_may_be_larger_and_not_smaller() {
    let Some((folder, plain)) = plain("a device of another size") else { return };
    create_on(&device(&plain), &geometry(), &[]).expect("made");
    drop(open(plain.path()).expect("there is more room than it needs"));
    let file = folder.path().join("device");
    plain.detach().expect("taken away");
    OpenOptions::new().write(true).open(&file).expect("opened").set_len(MIB).expect("cut");
    let plain = Loop::new(&file, &[]).expect("a device");
    let error = open(plain.path()).err().expect("zones are missing").to_string();
    assert!(error.contains("it has shrunk, or is a part of a copy"), "{error}");
}
