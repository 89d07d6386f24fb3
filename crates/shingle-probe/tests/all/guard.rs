//! A disk that may not be overwritten is refused in one line, and stays unchanged, byte for byte.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::common::content;
use shingle_core::registry::Registry;
use shingle_device::{Device, Mark};
use shingle_engine::settings::Settings;
use shingle_probe::guard::{Allowed, BYTES_MIN, Refusal, allow};
use shingle_store::store::create::{Consent, create};
use shingle_testbed::{Loop, Mount, root_or_skip, run, skip_if, text};
use tempfile::TempDir;

/// The least size for all mkfs tools.
const BYTES: u64 = 320 << 20;

struct Bed(TempDir);

impl Bed {
    fn new() -> Bed {
        Bed(shingle_testbed::folder())
    }

    fn file(&self, name: &str, bytes: u64) -> PathBuf {
        let path = self.0.path().join(name);
        File::create(&path).and_then(|file| file.set_len(bytes)).expect("made");
        path
    }
}

/// Runs a tool of the system. Prints a line and returns false if it is missing or fails.
fn tool(line: &str, path: &Path) -> bool {
    let mut words = line.split_whitespace();
    let mut command = Command::new(words.next().expect("a program"));
    match command.args(words).arg(path).output() {
        Ok(output) if output.status.success() => true,
        Ok(output) => {
            eprintln!("SKIPPED: {line}: {}", String::from_utf8_lossy(&output.stderr));
            false
        }
        Err(error) => {
            eprintln!("SKIPPED: {line}: {error}");
            false
        }
    }
}

/// Checks that a disk is refused in one line that contains `told`, and is not changed.
fn refused(path: &Path, destroy: Option<&str>, told: &str) -> Refusal {
    let held = || path.metadata().is_ok_and(|m| m.is_file()).then(|| content(path));
    let before = held();
    let refusal = allow(path, destroy).expect_err("refused");
    let text = refusal.to_string();
    assert_eq!(text.lines().count(), 1, "{text}");
    assert!(text.contains(told) && text.contains(&path.display().to_string()), "{text}");
    assert!(held() == before, "{told}: something was written");
    refusal
}

fn is_occupied(path: &Path, what: &str) {
    let refusal = refused(path, None, what);
    assert!(matches!(refusal, Refusal::Occupied { .. }), "{refusal:?}");
    let name = path.file_name().expect("a name").to_str().expect("UTF-8");
    assert!(refusal.to_string().ends_with(&format!("say --destroy {name}")), "{refusal}");
    let refusal = refused(path, Some("disk-of-another"), name);
    assert!(matches!(refusal, Refusal::Another { .. }), "{refusal:?}");
    let before = content(path);
    let Allowed { facts, .. } = allow(path, Some(name)).expect("allowed");
    assert_eq!((facts.serial.as_str(), facts.zones), (name, None));
    assert_eq!(facts.blocks, path.metadata().expect("there").len() / 4096);
    assert!(content(path) == before, "allowing wrote something");
}

#[test]
fn file_systems_and_swap_are_occupied() {
    let bed = Bed::new();
    for (line, what) in [
        ("mkfs.ext4 -q -F", "ext4 file system"),
        ("mkfs.xfs -q -f", "XFS file system"),
        ("mkfs.btrfs -q -f", "btrfs file system"),
        ("mkswap", "swap space"),
    ] {
        let path = bed.file("disk.img", BYTES);
        if tool(line, &path) {
            is_occupied(&path, what);
        }
    }
}

#[test]
fn partition_tables_are_occupied() {
    let bed = Bed::new();
    let mbr: (u64, &[u8]) = (0x1fe, &[0x55, 0xaa]);
    let gpt: (u64, &[u8]) = (0x200, b"EFI PART");
    // The second copy is in the last sector; everything before it may have been cleared.
    let second: (u64, &[u8]) = (BYTES - 512, b"EFI PART");
    for (marks, what) in [
        (&[mbr][..], "a partition table or a boot sector"),
        (&[mbr, gpt, second], "a partition table (GPT)"),
        (&[second], &format!("data, at byte {}", BYTES - 4096)),
    ] {
        let path = bed.file("disk.img", BYTES);
        let file = File::options().write(true).open(&path).expect("opened");
        marks.iter().for_each(|(place, mark)| file.write_all_at(mark, *place).expect("written"));
        is_occupied(&path, what);
    }
}

#[test]
fn a_cache_is_occupied_and_what_holds_unmarked_data_too() {
    let bed = Bed::new();
    let (ssd, disk) = (bed.file("cache.img", BYTES), bed.file("disk.img", BYTES));
    let data = vec![7; 64 << 10];
    File::options().write(true).open(&disk).expect("opened").write_all_at(&data, 0).expect("made");
    let (cache, behind) = Device::open_pair(&ssd, &disk).expect("free");
    let made =
        create(&cache, &behind, &Settings::new("lru"), &Registry::default(), Consent::default());
    let name = uuid::Uuid::from_bytes(made.expect("made").uuid).to_string();
    // (Some file systems keep no attributes.)
    let is_marked = Mark::of(&behind).expect("told").is_some();
    // A served store has both devices open.
    for path in [&ssd, &disk] {
        let refusal = refused(path, Some("disk.img"), "in use");
        assert!(matches!(refusal, Refusal::Busy { .. }), "{refusal:?}");
    }
    drop((cache, behind));
    is_occupied(&ssd, &format!("{name}, a cache of `shingle store`"));
    is_occupied(&disk, if is_marked { &name } else { "data, at byte 0" });
    // What clients wrote may be on the SSD only.
    File::options()
        .write(true)
        .open(&disk)
        .expect("opened")
        .write_all_at(&[0; 64 << 10], 0)
        .expect("emptied");
    if is_marked {
        is_occupied(&disk, &format!("the data of cache {name}"));
    }
    // With one damaged superblock it is still a cache. With two it is still protected.
    let file = File::options().write(true).open(&ssd).expect("opened");
    file.write_all_at(&[1], 100).expect("damaged");
    is_occupied(&ssd, &name);
    file.write_all_at(&[1], 4096 + 100).expect("damaged");
    is_occupied(&ssd, "a damaged cache");
}

#[test]
fn what_is_no_disk_is_refused() {
    let bed = Bed::new();
    let missing = bed.0.path().join("missing");
    assert!(matches!(refused(&missing, None, "cannot be opened"), Refusal::Open { .. }));
    assert!(matches!(refused(bed.0.path(), None, "neither"), Refusal::Kind(_)));
    assert!(matches!(refused(Path::new("/dev/null"), None, "neither"), Refusal::Kind(_)));

    // A file below one block has no block, and is not called empty.
    for bytes in [BYTES_MIN - 4096, 1000] {
        let small = bed.file("small.img", bytes);
        let refusal = refused(&small, Some("small.img"), "it is smaller than 256 MiB");
        assert!(matches!(refusal, Refusal::TooSmall { .. }), "{refusal:?}");
    }
    allow(&bed.file("enough.img", BYTES_MIN), None).expect("an empty file may go");

    let path = bed.file("kept.img", BYTES);
    let mut permissions = path.metadata().expect("there").permissions();
    permissions.set_readonly(true);
    fs::set_permissions(&path, permissions).expect("set");
    let refusal = refused(&path, Some("kept.img"), "read-only");
    assert!(matches!(refusal, Refusal::ReadOnly(_)), "{refusal:?}");

    let path = bed.file("mine.img", BYTES);
    let allowed = allow(&path, None).expect("an empty file may go");
    assert!(matches!(refused(&path, Some("mine.img"), "in use"), Refusal::Busy { .. }));
    drop(allowed);
    allow(&path, None).expect("it is free again");
    // A wrong serial is refused even if the disk is empty.
    assert!(matches!(refused(&path, Some("mine"), "mine.img"), Refusal::Another { .. }));
}

#[test]
fn a_loop_device_is_refused_while_it_is_mounted_whatever_is_said() {
    let bed = Bed::new();
    let file = bed.file("disk.img", BYTES);
    if !root_or_skip("a mounted loop device") || !tool("mkfs.ext4 -q -F", &file) {
        return;
    }
    let device = Loop::new(&file, &[]).expect("made");
    let name = device.name();
    // The backing file of a device in use is in use too, even if the kernel would allow writes.
    let by = format!("it is behind /dev/{name}");
    assert!(matches!(refused(&file, Some("disk.img"), &by), Refusal::Busy { .. }));
    let refusal = refused(device.path(), None, "ext4 file system");
    assert!(refusal.to_string().ends_with(&format!("--destroy {name}")), "{refusal}");
    drop(allow(device.path(), Some(name)).expect("allowed"));

    let folder = bed.0.path().join("mnt");
    fs::create_dir(&folder).expect("made");
    let mount = Mount::new(device.path(), &folder, None).expect("mounted");
    let before = content(&file);
    for destroy in [None, Some(name)] {
        let refusal = refused(device.path(), destroy, &format!("{name} is mounted at"));
        assert!(matches!(refusal, Refusal::Busy { .. }), "{refusal:?}");
    }
    assert!(content(&file) == before, "something was written");
    mount.unmount().expect("unmounted");
    drop(allow(device.path(), Some(name)).expect("allowed again"));
}

#[test]
fn a_device_that_is_read_only_is_refused() {
    let bed = Bed::new();
    let file = bed.file("disk.img", BYTES);
    if !root_or_skip("a read-only device") {
        return;
    }
    let device = Loop::new(&file, &["--read-only"]).expect("made");
    let refusal = refused(device.path(), Some(device.name()), "read-only");
    assert!(matches!(refusal, Refusal::ReadOnly(_)), "{refusal:?}");
}

#[test]
fn a_disk_with_a_mounted_partition_is_refused() {
    let bed = Bed::new();
    let file = bed.file("disk.img", BYTES);
    if !root_or_skip("a mounted partition") {
        return;
    }
    // One partition from 1 MiB on: type, start and length of the first entry of an MBR.
    let start = 2048_u32;
    let sectors = u32::try_from(BYTES / 512).expect("small") - start;
    let numbers = [start.to_le_bytes(), sectors.to_le_bytes()].concat();
    let table = File::options().write(true).open(&file).expect("opened");
    for (place, bytes) in [(450, &[0x83][..]), (454, &numbers), (0x1fe, &[0x55, 0xaa])] {
        table.write_all_at(bytes, place).expect("written");
    }
    let device = Loop::new(&file, &["--partscan"]).expect("made");
    let whole = device.name();
    let part = PathBuf::from(format!("{}p1", device.path().display()));
    let system = PathBuf::from(format!("/sys/class/block/{whole}p1"));
    let there = match system.exists() {
        false => Err("the system makes no partitions of loop devices".to_owned()),
        true if part.exists() => Ok(()),
        true => node(&system, &part),
    };
    if !skip_if("a mounted partition", there) {
        return;
    }
    assert!(matches!(refused(device.path(), None, "partition table"), Refusal::Occupied { .. }));
    let folder = bed.0.path().join("mnt");
    fs::create_dir(&folder).expect("made");
    if tool("mkfs.ext4 -q -F", &part) {
        let mount = Mount::new(&part, &folder, None).expect("mounted");
        let serial = format!("{whole}-part1");
        for (path, serial) in [(device.path(), whole), (part.as_path(), &serial)] {
            let refusal = refused(path, Some(serial), &format!("{whole}p1 is mounted at"));
            assert!(matches!(refusal, Refusal::Busy { .. }), "{refusal:?}");
        }
        mount.unmount().expect("unmounted");
        let allowed = allow(&part, Some(&serial)).expect("allowed");
        assert_eq!(allowed.facts.blocks, u64::from(sectors) / 8);
    }
    if part.metadata().is_ok() {
        let _ = fs::remove_file(&part);
    }
}

/// Makes a device node, for systems without a daemon that does so.
fn node(system: &Path, path: &Path) -> Result<(), String> {
    let number = fs::read_to_string(system.join("dev")).unwrap_or_default();
    let (major, minor) = number.trim().split_once(':').ok_or("the device has no number")?;
    run("mknod", &[text(path), "b", major, minor]).map(drop)
}
