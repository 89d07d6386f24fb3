//! The disk in a file: it behaves like the one in memory, also after it is opened again; damage to
//! the file; other processes and threads.

use std::fs::OpenOptions;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;

use crate::common::{
    Step, at_pointer, block, blocks, carry_out, folder, read, report, reset_all, rule, settled,
    steps,
};
use proptest::prelude::*;
use rustix::fs::FallocateFlags;
use shingle_core::units::{Block, Zone};
use shingle_zoned::head::format::{ENTRIES, Header, TablePage};
use shingle_zoned::{
    Condition, Faults, Geometry, MemoryDisk, OpenError, ReadsBeyond, Reason, ZoneState, ZonedDisk,
    create, create_failed, is_in_use, is_zoned, open, open_device, open_read_only, open_with_head,
};

fn geometry() -> Geometry {
    Geometry { conventional_zones: 2, max_open: 3, ..Geometry::new(8, 5) }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_file_is_as_memory_also_after_it_was_opened_again(
        parts in prop::collection::vec(steps(&geometry(), 40), 1..4),
        refuses in any::<bool>(),
    ) {
        let reads_beyond = if refuses { ReadsBeyond::Refused } else { ReadsBeyond::Zeros };
        let geometry = Geometry { reads_beyond, ..geometry() };
        let folder = folder();
        let path = folder.path().join("disk");
        create(&path, &geometry).expect("made");
        let memory = MemoryDisk::new(geometry, Faults::none());
        let (mut here, mut there) = (0, 0);
        for steps in &parts {
            let file = open(&path).expect("opened");
            for step in steps {
                let (ours, theirs) = (carry_out(&*file, step, &mut here), carry_out(&memory, step, &mut there));
                prop_assert_eq!(ours, theirs, "{:?}", step);
                prop_assert_eq!(report(&*file), report(&memory), "{:?}", step);
            }
            file.flush().expect("flushed");
            memory.flush().expect("flushed");
            drop(file);
            // A disk that is not in use has no open zones.
            memory.cut_power();
            memory.restart();
            let found = open_read_only(&path).expect("read");
            prop_assert_eq!((*found.geometry(), report(&found)), (geometry, report(&memory)));
        }
    }

    /// A kill is a power cut of the disk: flushed data and resets are there; nothing else has to
    /// be.
    #[test]
    fn without_a_flush_write_pointers_are_those_of_the_last(
        before in steps(&geometry(), 40),
        after in steps(&geometry(), 40),
    ) {
        let folder = folder();
        let path = folder.path().join("disk");
        create(&path, &geometry()).expect("made");
        let file = open(&path).expect("opened");
        let mut versions = 0;
        for step in &before {
            let _ = carry_out(&*file, step, &mut versions);
        }
        file.flush().expect("flushed");
        let mut flushed = settled(report(&*file));
        for step in &after {
            if carry_out(&*file, step, &mut versions).is_ok() {
                match *step {
                    Step::Flush => flushed = settled(report(&*file)),
                    Step::Reset(zone) => {
                        flushed[zone as usize] = settled(report(&*file))[zone as usize];
                    }
                    _ => {}
                }
            }
        }
        drop(file);
        prop_assert_eq!(report(&open_read_only(&path).expect("read")), flushed);
    }
}

#[test]
fn a_power_cut_leaves_what_was_flushed_and_perhaps_more() {
    let folder = folder();
    let mut pointers = std::collections::BTreeSet::new();
    for seed in 0..40 {
        let path = folder.path().join(format!("disk-{seed}"));
        create(&path, &geometry()).expect("made");
        let disk = open_with_head(&path).expect("opened");
        at_pointer(&disk, Zone(3), &blocks(&[1, 2])).expect("written");
        disk.flush().expect("flushed");
        at_pointer(&disk, Zone(3), &blocks(&[3, 4])).expect("written");
        disk.cut_power(seed).expect("cut");
        let zone = disk.report(Zone(3), 1).expect("a report")[0];
        let pointer = zone.write_pointer.expect("a pointer");
        pointers.insert(pointer);
        assert_eq!(
            read(&disk, 15, pointer).expect("what is below"),
            (1..=pointer).collect::<Vec<_>>()
        );
        drop(disk);
        assert_eq!(report(&open_read_only(&path).expect("read"))[3], zone);
        let disk = open(&path).expect("opened");
        at_pointer(&*disk, Zone(3), &[block(9)]).expect("it goes on there");
    }
    assert_eq!(pointers.into_iter().collect::<Vec<_>>(), [2, 3, 4]);
}

#[test]
fn zones_that_fail_stay_so() {
    let folder = folder();
    let path = folder.path().join("disk");
    create(&path, &geometry()).expect("made");
    let disk = open_with_head(&path).expect("opened");
    disk.write(Block(1), &[block(5)]).expect("written");
    at_pointer(&disk, Zone(3), &[block(6)]).expect("written");
    disk.fail(Zone(0), Condition::ReadOnly).expect("failed");
    disk.fail(Zone(3), Condition::ReadOnly).expect("failed");
    disk.fail(Zone(4), Condition::Offline).expect("failed");
    let failed = [0, 3, 4].map(|zone: usize| report(&disk)[zone].condition);
    assert_eq!(failed, [Condition::ReadOnly, Condition::ReadOnly, Condition::Offline]);
    drop(disk);
    let disk = open(&path).expect("opened");
    assert_eq!(
        (read(&*disk, 1, 1).expect("read"), read(&*disk, 15, 2).expect("read")),
        (vec![5], vec![6, 0])
    );
    assert_eq!(rule(&at_pointer(&*disk, Zone(3), &[block(1)]).expect_err("failed")), "read-only");
    assert_eq!(rule(&read(&*disk, 20, 1).expect_err("failed")), "offline");
    assert_eq!(rule(&disk.write(Block(0), &[block(1)]).expect_err("failed")), "read-only");
}

/// Overwrites a page of the file.
fn put(path: &Path, page: u64, bytes: &[u8; 4096]) {
    let file = OpenOptions::new().write(true).open(path).expect("a file");
    file.write_all_at(bytes, page * 4096).expect("written");
}

#[test]
fn one_bad_page_costs_nothing() {
    let folder = folder();
    // More zones than a page of the table has.
    let geometry = Geometry::new(ENTRIES as u32 + 5, 1);
    for page in 0..6 {
        let path = folder.path().join(format!("disk-{page}"));
        create(&path, &geometry).expect("made");
        let disk = open(&path).expect("opened");
        at_pointer(&*disk, Zone(1), &[block(1)]).expect("written");
        at_pointer(&*disk, Zone(ENTRIES as u32 + 1), &[block(2)]).expect("written");
        disk.flush().expect("flushed");
        let known = settled(report(&*disk));
        drop(disk);
        assert!(open_read_only(&path).expect("read").damaged().is_empty());
        put(&path, page, &[0x5a; 4096]);
        let found = open_read_only(&path).expect("read");
        assert_eq!(report(&found), known, "page {page}");
        let [told] = found.damaged() else { panic!("{:?}", found.damaged()) };
        let place = format!("(page {page} of the file: something else is written there)");
        assert!(told.starts_with("one copy of ") && told.ends_with(&place), "{told}");
        // Opening repairs the damaged copy, so that the other may be damaged.
        drop(open(&path).expect("opened"));
        assert!(open_read_only(&path).expect("read").damaged().is_empty());
        let other = if page < 2 { 1 - page } else { 2 + (page - 2 + 2) % 4 };
        put(&path, other, &[0; 4096]);
        assert_eq!(
            report(&open_read_only(&path).expect("read")),
            known,
            "page {page}, then {other}"
        );
    }
}

fn damaged(page: &[u8; 4096]) -> [u8; 4096] {
    let mut page = *page;
    page[4000] ^= 1;
    page
}

#[test]
fn both_copies_gone_is_an_error_that_names_the_zones() {
    let folder = folder();
    let path = folder.path().join("disk");
    create(&path, &Geometry::new(ENTRIES as u32 + 5, 1)).expect("made");
    put(&path, 3, &[0; 4096]);
    put(&path, 5, &[1; 4096]);
    let error = open(&path).err().expect("lost").to_string();
    let zones = format!("zones {ENTRIES} to {}", ENTRIES + 4);
    assert!(error.contains("page 1 of its table") && error.contains(&zones), "{error}");
    assert!(
        error.contains(": it is damaged: ") && error.contains("; page 5: something else"),
        "{error}"
    );
    assert!(!error.contains("there is no zoned disk"), "{error}");
    // Without its header too: the rest of the table contains the geometry.
    let header = std::fs::read(&path).expect("read")[..4096].try_into().expect("a page");
    put(&path, 0, &damaged(&header));
    put(&path, 1, &[0; 4096]);
    let lost = "it is damaged: both copies of its header are lost";
    let error = open_read_only(&path).expect_err("lost").to_string();
    let pages =
        "(page 0 of the file: its checksum is wrong; page 1: something else is written there)";
    assert!(error.contains(lost) && error.contains(pages), "{error}");
    put(&path, 0, &[0; 4096]);
    let error = open(&path).err().expect("lost").to_string();
    assert!(error.contains(lost), "{error}");
    put(&path, 2, &[0; 4096]);
    let error = open_read_only(&path).expect_err("nothing").to_string();
    assert!(error.ends_with("there is no zoned disk; `shingle zoned create` makes one"), "{error}");
}

/// As by `dd`, to the wrong disk. The table tells whose a header is; the other disk may have other
/// zones, or more of them.
#[test]
fn the_header_of_another_disk_is_a_bad_page() {
    let folder = folder();
    let path = |name: &str| folder.path().join(name);
    let page = |name: &str| -> [u8; 4096] {
        std::fs::read(path(name)).expect("read")[..4096].try_into().expect("a page")
    };
    create(&path("larger"), &Geometry::new(300, 1)).expect("made");
    create(&path("alike"), &geometry()).expect("made");
    create(&path("disk"), &geometry()).expect("made");
    let disk = open(&path("disk")).expect("opened");
    at_pointer(&*disk, Zone(4), &blocks(&[8, 9])).expect("written");
    disk.flush().expect("flushed");
    let known = settled(report(&*disk));
    drop(disk);
    let own = page("disk");
    for (other, at) in [("larger", 0), ("alike", 0), ("larger", 1), ("alike", 1)] {
        put(&path("disk"), at, &page(other));
        let found = open_read_only(&path("disk")).expect("the other copy is good");
        assert_eq!(report(&found), known, "{other}, {at}");
        let [told] = found.damaged() else { panic!("{:?}", found.damaged()) };
        let what = format!("(page {at} of the file: it is of another zoned disk, ");
        assert!(told.contains(&what), "{told}");
        drop(open(&path("disk")).expect("opened"));
        assert!(open_read_only(&path("disk")).expect("read").damaged().is_empty());
        assert!(page("disk") == own);
    }
    // Where the table is of neither, it is lost.
    put(&path("disk"), 1, &page("alike"));
    [2, 3].iter().for_each(|&at| put(&path("disk"), at, &[0; 4096]));
    let error = open(&path("disk")).err().expect("lost").to_string();
    assert!(error.contains("both copies of page 0 of its table are lost"), "{error}");
}

#[test]
fn a_conventional_zone_that_fails_stays_conventional() {
    let folder = folder();
    let path = folder.path().join("disk");
    // The capacity of sequential zones is less than their size.
    let geometry =
        Geometry { zone_capacity_blocks: 3, reads_beyond: ReadsBeyond::Refused, ..geometry() };
    create_failed(
        &path,
        &geometry,
        &[(Zone(0), Condition::ReadOnly), (Zone(5), Condition::Offline)],
    )
    .expect("made");
    let disk = open(&path).expect("opened");
    let zones = report(&*disk);
    assert_eq!((zones[0].condition, zones[0].capacity_blocks), (Condition::ReadOnly, 5));
    assert_eq!((zones[5].condition, zones[5].capacity_blocks), (Condition::Offline, 3));
    assert_eq!(read(&*disk, 3, 2).expect("all of it can be read"), [0, 0]);
    // A write that crosses into another kind of zone ends at the boundary.
    let error = disk.write(Block(9), &blocks(&[1, 2])).expect_err("a sequential zone is behind");
    assert!(matches!(error.reason, Reason::Boundary { end: Block(10) }), "{error}");
    disk.write(Block(8), &blocks(&[1, 2])).expect("in zone 1");
}

/// Resets are in the file when they complete, even with concurrent flushes.
#[test]
fn a_flush_beside_resets_does_not_bring_pointers_back() {
    let folder = folder();
    let path = folder.path().join("disk");
    create(&path, &Geometry::new(400, 1)).expect("made");
    for turn in 0..8 {
        let disk: Arc<dyn ZonedDisk> = Arc::from(open(&path).expect("opened"));
        for zone in (0..400).step_by(7).map(Zone) {
            at_pointer(&*disk, zone, &[block(turn)]).expect("written");
        }
        let flusher = {
            let disk = Arc::clone(&disk);
            std::thread::spawn(move || disk.flush())
        };
        reset_all(&*disk);
        flusher.join().expect("ended").expect("flushed");
        drop(disk);
        let found = report(&open_read_only(&path).expect("read"));
        assert!(found.iter().all(|zone| zone.condition == Condition::Empty), "turn {turn}");
    }
}

#[test]
fn an_older_page_of_another_disk_does_not_count() {
    let folder = folder();
    let paths = ["one", "other"].map(|name| folder.path().join(name));
    for path in &paths {
        create(path, &Geometry::new(4, 4)).expect("made");
    }
    let disk = open(&paths[1]).expect("opened");
    for version in 1..4 {
        at_pointer(&*disk, Zone(0), &[block(version)]).expect("written");
        disk.flush().expect("flushed");
    }
    drop(disk);
    let mut page = [0; 4096];
    let other = std::fs::File::open(&paths[1]).expect("a file");
    other.read_exact_at(&mut page, 2 * 4096).expect("read");
    put(&paths[0], 2, &page);
    let found = report(&open_read_only(&paths[0]).expect("read"));
    assert_eq!(found[0].write_pointer, Some(0));
}

#[test]
fn a_file_is_refused_with_the_reason() {
    let folder = folder();
    let path = folder.path().join("disk");
    let refused = |path: &Path, part: &str| {
        let error = open(path).err().expect(part).to_string();
        assert!(error.contains(part) && error.contains("disk"), "{error}");
    };
    refused(&path, "cannot open");
    std::fs::write(&path, vec![0; 1 << 20]).expect("a file");
    refused(&path, "there is no zoned disk");
    assert!(matches!(create(&path, &Geometry::new(4, 4)), Err(OpenError::There(_))));
    std::fs::remove_file(&path).expect("removed");
    let none = create(&path, &Geometry::new(0, 4)).expect_err("no disk").to_string();
    assert!(none.contains("0 zones"), "{none}");
    assert!(!path.exists(), "nothing is left of it");
    create(&path, &Geometry::new(4, 4)).expect("made");
    let held = open(&path).expect("opened");
    refused(&path, "in use");
    assert_eq!(report(&open_read_only(&path).expect("it can be looked at")).len(), 4);
    drop(held);
    let file = OpenOptions::new().write(true).open(&path).expect("a file");
    let bytes = file.metadata().expect("its size").len();
    file.set_len(bytes - 4096).expect("cut");
    refused(&path, "it is a part of a copy: copy all of it");
    let part = folder.path().join("part-of-disk");
    for (pages, why) in [(2, "it is a part of a copy: copy all of it"), (1, "no zoned disk")] {
        std::fs::write(&part, &std::fs::read(&path).expect("read")[..pages * 4096])
            .expect("written");
        refused(&part, why);
    }
    file.set_len(bytes + 4096).expect("grown");
    refused(&path, &format!("`truncate -s {bytes}`"));
    file.set_len(bytes).expect("cut");
    drop(open(&path).expect("as it was"));
    let mut page = [0; 4096];
    std::fs::File::open(&path).expect("a file").read_exact_at(&mut page, 0).expect("read");
    page[8] = 2;
    put(&path, 0, &page);
    put(&path, 1, &page);
    refused(&path, "version 2");
}

#[test]
fn room_of_a_zone_that_was_reset_is_given_back() {
    use std::os::unix::fs::MetadataExt;
    let folder = folder();
    let path = folder.path().join("disk");
    create(&path, &Geometry::new(4, 256)).expect("made");
    let sectors = || std::fs::metadata(&path).expect("a file").blocks();
    if !makes_holes(&folder.path().join("other")) {
        return println!("SKIPPED: this file system makes no holes");
    }
    let disk = open(&path).expect("opened");
    let data: Vec<_> = (0..256).map(block).collect();
    at_pointer(&*disk, Zone(1), &data).expect("written");
    disk.flush().expect("flushed");
    let before = sectors();
    disk.reset(Zone(1)).expect("reset");
    assert!(before - sectors() >= 2048, "{before} sectors, now {}", sectors());
}

/// Whether a file system gives back the room of a hole in a file.
fn makes_holes(path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    std::fs::write(path, vec![1; 2 << 20]).expect("written");
    let file = OpenOptions::new().write(true).open(path).expect("opened");
    file.sync_all().expect("durable");
    let sectors = || file.metadata().expect("told").blocks();
    let (before, flags) = (sectors(), FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE);
    rustix::fs::fallocate(&file, flags, 0, 1 << 20).is_ok() && sectors() < before
}

#[test]
fn threads_write_side_by_side() {
    let folder = folder();
    let path = folder.path().join("disk");
    create(&path, &Geometry { max_open: 4, ..Geometry::new(6, 400) }).expect("made");
    let disk: Arc<dyn ZonedDisk> = Arc::from(open(&path).expect("opened"));
    let threads = (0..6_u64).map(|zone| {
        let disk = Arc::clone(&disk);
        std::thread::spawn(move || {
            for turn in 0..50 {
                let at = zone * 400 + 2 * turn;
                disk.write(Block(at), &[block(at), block(at + 1)]).expect("at its pointer");
                if turn % 10 == zone {
                    disk.flush().expect("flushed");
                }
            }
        })
    });
    let threads: Vec<_> = threads.collect();
    threads.into_iter().for_each(|thread| thread.join().expect("ended"));
    for zone in report(&*disk) {
        assert_eq!(zone.write_pointer, Some(100));
        let written: Vec<u64> = (zone.first.0..zone.first.0 + 100).collect();
        assert_eq!(read(&*disk, zone.first.0, 100).expect("read"), written);
    }
}

proptest! {
    /// Random bytes cause no panic, and accepted pages are written and read back unchanged.
    #[test]
    fn any_bytes_are_a_page_or_an_error(
        random in prop::collection::vec(any::<u8>(), 4096),
        edits in prop::collection::vec((0..200_usize, any::<u8>()), 0..6),
        plain in any::<bool>(),
        zones in 1_u32..400,
    ) {
        let geometry = Geometry { conventional_zones: zones / 3, ..Geometry::new(zones, 7) };
        let header = Header { uuid: *b"sixteen letters.", geometry };
        let owner = u64::from_le_bytes(*b"sixteen ");
        let states = |zone| if zone < zones / 3 { ZoneState::CONVENTIONAL } else { ZoneState::written(zone % 8, 0, &geometry) };
        let table = TablePage { place: 0, edition: 3, zones: (0..zones.min(ENTRIES as u32)).map(states).collect() };
        let (mut one, mut other) = (header.encode(), table.encode(owner));
        prop_assert_eq!(Header::decode(&one), Ok(header));
        prop_assert_eq!(TablePage::decode(&other, owner, 0, &geometry), Ok(table));
        if plain {
            one.copy_from_slice(&random);
            other.copy_from_slice(&random);
        }
        for (at, byte) in edits {
            one[at] = byte;
            other[at] = byte;
        }
        // With corrected checksums, so that the checks behind them are reached.
        for (page, at) in [(&mut one, 12), (&mut other, 4)] {
            page[at..at + 4].fill(0);
            let crc = crc32c::crc32c(&page[..]);
            page[at..at + 4].copy_from_slice(&crc.to_le_bytes());
        }
        if let Ok(header) = Header::decode(&one) {
            prop_assert_eq!(Header::decode(&header.encode()), Ok(header));
        }
        if let Ok(table) = TablePage::decode(&other, owner, 0, &geometry) {
            prop_assert!(table.zones.len() <= ENTRIES);
            prop_assert_eq!(TablePage::decode(&table.encode(owner), owner, 0, &geometry), Ok(table));
        }
    }
}

/// It reads what an open for writing would read, and changes nothing, not even a damaged header.
#[test]
fn a_disk_that_is_only_looked_at_stays_as_it_is() {
    let folder = folder();
    let path = folder.path().join("disk");
    create(&path, &geometry()).expect("made");
    let disk = open(&path).expect("opened");
    disk.write(Block(3), &blocks(&[7])).expect("written");
    at_pointer(&*disk, Zone(4), &blocks(&[8, 9])).expect("written");
    disk.flush().expect("flushed");
    assert!(is_in_use(&path).expect("told"));
    let (zones, all) = (report(&*disk), read(&*disk, 0, 40).expect("read"));
    drop(disk);
    assert!(!is_in_use(&path).expect("told"));
    let file = OpenOptions::new().write(true).open(&path).expect("opened");
    file.write_all_at(&[1; 100], 4096).expect("written");
    let before = std::fs::read(&path).expect("read");
    let disk = open_read_only(&path).expect("opened");
    assert_eq!((report(&disk), read(&disk, 0, 40).expect("read")), (settled(zones), all));
    let refused = [
        disk.write(Block(3), &blocks(&[1])).err(),
        at_pointer(&disk, Zone(4), &blocks(&[1])).err(),
        disk.finish(Zone(4)).err(),
        disk.reset(Zone(4)).err(),
        disk.flush().err(),
    ];
    for error in refused {
        let error = error.expect("it is only looked at").to_string();
        assert!(error.contains("EROFS"), "{error}");
    }
    drop(disk);
    assert!(std::fs::read(&path).expect("read") == before);
}

#[test]
fn a_zoned_disk_is_known_by_its_head() {
    let folder = folder();
    let path = folder.path().join("disk");
    create(&path, &geometry()).expect("made");
    let device = || shingle_device::Device::open(&path).expect("opened");
    assert!(is_zoned(&device()).expect("told"));
    open_device(device()).expect("opened");
    // A damaged one is still recognized.
    let file = OpenOptions::new().write(true).open(&path).expect("opened");
    file.write_all_at(&[1; 10], 100).expect("written");
    file.write_all_at(&[0; 4096], 4096).expect("written");
    assert!(is_zoned(&device()).expect("told"));
    // Also without a header, by either page of its table.
    file.write_all_at(&[0; 4096], 0).expect("written");
    assert!(is_zoned(&device()).expect("told"));
    file.write_all_at(&[0; 4096], 2 * 4096).expect("written");
    assert!(is_zoned(&device()).expect("told"));
    // A damaged page may belong to something else.
    file.write_all_at(&[1; 10], 3 * 4096 + 4000).expect("written");
    assert!(!is_zoned(&device()).expect("told"));
    file.set_len(0).expect("cut");
    assert!(!is_zoned(&device()).expect("told"));
}
