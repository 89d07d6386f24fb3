//! Caches created, inspected and ended on real files.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use shingle_core::registry::Registry;
use shingle_core::units::Block;
use shingle_device::{Device, DeviceError, Fingerprint, Mark, Medium, signature};
use shingle_engine::format::layout::{Copy, Layout};
use shingle_engine::format::superblock::Superblock;
use shingle_engine::format::table::{ENTRIES, Entry, TablePage};
use shingle_engine::format::{Page, State};
use shingle_engine::recover::recover;
use shingle_engine::settings::Settings;
use shingle_store::backend::Disk;
use shingle_store::store::check::check;
use shingle_store::store::create::{
    Consent, CreateError, EndError, Occupant, create, destroy, occupant,
};
use shingle_store::store::unserved::status;
use shingle_testbed::{Loop, root_or_skip};
use uuid::Uuid;

struct Files {
    folder: tempfile::TempDir,
}

impl Files {
    fn new(ssd_bytes: u64, disk_bytes: u64) -> Files {
        let files = Files { folder: tempfile::tempdir().expect("a folder") };
        files.make("ssd", ssd_bytes);
        files.make("disk", disk_bytes);
        files
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn make(&self, name: &str, bytes: u64) {
        File::create(self.path(name)).and_then(|file| file.set_len(bytes)).expect("made");
    }

    fn pair(&self) -> (Device, Device) {
        Device::open_pair(&self.path("ssd"), &self.path("disk")).expect("opened")
    }
}

const MIB: u64 = 1 << 20;
const NO: Consent<'_> = Consent { destroy: &[], overwrite: false };

/// The cache that a disk belongs to.
fn cache_of(disk: &Device) -> Option<Uuid> {
    Mark::of(disk).expect("told")?.cache(None)
}

#[test]
fn a_new_cache_is_empty_and_sound() {
    let files = Files::new(32 * MIB, 100 * MIB);
    let (ssd, disk) = files.pair();
    let raw = File::options().read(true).write(true).open(files.path("disk")).expect("there");
    raw.write_all_at(b"data from before", 0).expect("written");
    let made = create(&ssd, &disk, &Settings::new("sac"), &Registry::default(), NO).expect("made");
    let found = recover(&mut &ssd).expect("sound");
    assert!(found.clean && found.live().next().is_none());
    assert_eq!(*found.journal.superblock(), made);
    let mut frames = 0;
    let findings = check(&ssd, Some(&disk), &mut |done, _| frames = done).expect("sound");
    assert!(findings.is_sound() && findings.clean && findings.disk_changed() == Some(false));
    assert_eq!(findings.settings, Some(Settings::new("sac")));
    assert_eq!((frames, findings.mendable_pages), (0, 0));
    let mut kept = [0; 16];
    raw.read_exact_at(&mut kept, 0).expect("read");
    assert_eq!(&kept, b"data from before", "the disk is adopted as it is");
    raw.write_all_at(b"x", 70 * 4096).expect("written");
    raw.write_all_at(b"x", 4096).expect("written");
    let findings = check(&ssd, Some(&disk), &mut |_, _| {}).expect("sound");
    assert!(findings.disk_changed() == Some(true) && !findings.is_sound());
    // One superblock is enough.
    ssd.write(Copy::One.superblock_page(), &[7; 4096]).expect("written");
    assert_eq!(check(&ssd, None, &mut |_, _| {}).expect("sound").mendable_pages, 1);
    let other = destroy(&ssd, &disk, Uuid::from_bytes([9; 16]));
    assert!(matches!(other, Err(EndError::Another { .. })));
    destroy(&ssd, &disk, Uuid::from_bytes(made.uuid)).expect("it is this one");
    assert_eq!(cache_of(&disk), None, "the disk belongs to no cache");
    assert_eq!(occupant(&ssd).expect("read"), None);
}

/// Blocks without metadata would be served from the disk, with old contents.
#[test]
fn a_cache_that_has_lost_a_page_of_its_table_is_refused() {
    let files = Files::new(32 * MIB, 100 * MIB);
    let (ssd, disk) = files.pair();
    let made = create(&ssd, &disk, &Settings::new("sac"), &Registry::default(), NO).expect("made");
    let last = made.layout.table_pages as u32 - 1;
    for (copy, damaged) in Copy::BOTH.into_iter().zip([Some(1), None]) {
        ssd.write(made.layout.table_page(last, copy), &[0; 4096]).expect("written");
        let found = check(&ssd, Some(&disk), &mut |_, _| {}).ok();
        assert_eq!(found.map(|found| found.mendable_pages), damaged);
    }
}

/// A cache that cannot be served is not sound.
#[test]
fn a_cache_that_contradicts_itself_is_told() {
    let files = Files::new(32 * MIB, 100 * MIB);
    let (ssd, disk) = files.pair();
    let made = create(&ssd, &disk, &Settings::new("sac"), &Registry::default(), NO).expect("made");
    let entry = |block| Entry { block: Block(block), state: State::Dirty, ..Entry::UNUSED };
    for (blocks, told) in
        [([5, 5], "two frames hold block 5"), ([5, 100 * 256], "block 25600 of a disk that has")]
    {
        let mut page = TablePage { edition: 1, ..TablePage::unused(0) };
        page.entries.iter_mut().zip(blocks).for_each(|(at, block)| *at = entry(block));
        for copy in Copy::BOTH {
            let at = made.layout.table_page(0, copy);
            ssd.write(at, &page.encode(made.owner())).expect("written");
        }
        let error = check(&ssd, Some(&disk), &mut |_, _| {}).expect_err(told).to_string();
        assert!(error.contains(told), "{error}");
    }
}

/// A disk whose end fails before its mark is removed.
#[derive(Debug)]
struct Marked<'a>(&'a Device);

impl Disk for Marked<'_> {
    fn path(&self) -> &Path {
        self.0.path()
    }

    fn bytes(&self) -> u64 {
        self.0.bytes()
    }

    fn read_blocks(&self, first: Block, out: &mut [Page]) -> Result<(), DeviceError> {
        self.0.read_blocks(first, out)
    }

    fn samples(&self) -> Result<Fingerprint, DeviceError> {
        self.0.samples()
    }

    fn mark(&self) -> Result<Option<Mark>, DeviceError> {
        self.0.mark()
    }

    fn leave_mark(&self, mark: &Mark) -> Result<bool, DeviceError> {
        self.0.leave_mark(mark)
    }

    fn belong_to_none(&self) -> Result<(), DeviceError> {
        let error = std::io::Error::other("cut off");
        Err(DeviceError::System { what: "clear the mark of", path: self.path().to_owned(), error })
    }

    fn device(&self) -> Option<&Device> {
        Some(self.0)
    }

    fn medium(&self) -> Option<Box<dyn Medium>> {
        None
    }

    fn share(&self) -> Box<dyn Disk> {
        Box::new(self.0.clone())
    }
}

#[test]
fn an_end_that_is_cut_off_can_be_done_again() {
    let files = Files::new(32 * MIB, 100 * MIB);
    let (ssd, disk) = files.pair();
    let made = create(&ssd, &disk, &Settings::new("sac"), &Registry::default(), NO).expect("made");
    let uuid = Uuid::from_bytes(made.uuid);
    destroy(&ssd, &Marked(&disk), uuid).expect_err("cut off");
    // The disk belongs to an existing, empty cache.
    let found = recover(&mut &ssd).expect("sound");
    assert_eq!(found.journal.superblock().uuid, made.uuid);
    assert_eq!((found.dirty_blocks(), found.live().count()), (0, 0));
    destroy(&ssd, &disk, uuid).expect("nothing is in the way");
    assert_eq!((cache_of(&disk), occupant(&ssd).expect("read")), (None, None));
}

/// The system opens it for writing nevertheless.
#[test]
fn a_write_protected_disk_is_refused() {
    let files = Files::new(32 * MIB, 100 * MIB);
    if !root_or_skip("a write-protected device") {
        return;
    }
    let disk = Loop::new(&files.path("disk"), &["--read-only"]).expect("made");
    let refused =
        Device::open_pair(&files.path("ssd"), disk.path()).expect_err("it takes no writes");
    assert!(matches!(refused, DeviceError::Protected(_)), "{refused}");
    assert!(refused.to_string().starts_with("/dev/loop"), "{refused}");
    Device::open_pair_read_only(&files.path("ssd"), disk.path()).expect("it is only looked at");
    // The readable contents of an SSD can be saved.
    drop(disk);
    let ssd = Loop::new(&files.path("ssd"), &["--read-only"]).expect("made");
    Device::open_pair(ssd.path(), &files.path("disk")).expect("the SSD may be old");
}

/// A mounted file system and the store would both write it.
#[test]
fn a_file_behind_a_loop_device_is_refused() {
    let files = Files::new(32 * MIB, 100 * MIB);
    if !root_or_skip("a loop device") {
        return;
    }
    for name in ["ssd", "disk"] {
        let device = Loop::new(&files.path(name), &[]).expect("made");
        let refused = Device::open(&files.path(name)).expect_err("it is in use").to_string();
        let told = format!("is in use as {}", device.path().display());
        assert!(refused.contains(&told), "{refused}");
        Device::open_read_only(&files.path(name)).expect("it is only looked at");
        Device::open(device.path()).expect("it is the one to be named");
    }
    Device::open_pair(&files.path("ssd"), &files.path("disk")).expect("they are free again");
    // Nor can a file in use be used again through a new loop device.
    let used = Device::open(&files.path("disk")).expect("it is free");
    let device = Loop::new(&files.path("disk"), &[]).expect("made");
    let refused = Device::open(device.path()).expect_err("it is in use").to_string();
    assert!(refused.contains("/disk is in use by another process"), "{refused}");
    drop(used);
    Device::open(device.path()).expect("not in use");
    device.detach().expect("not in use");
    // (Not a separate test: a concurrent test that starts a command keeps its files open for a
    // moment.)
    two_loop_devices_of_one_file_are_refused(&files);
}

/// Each loop device has its own lock, so a served cache could be ended or overwritten through the
/// other.
fn two_loop_devices_of_one_file_are_refused(files: &Files) {
    let [one, two] = [(); 2].map(|()| Loop::new(&files.path("ssd"), &[]).expect("made"));
    for (named, other) in [(&one, &two), (&two, &one)] {
        let refused = Device::open(named.path()).expect_err("there are two").to_string();
        let told = format!("is in use as {}", other.path().display());
        assert!(refused.contains(&told), "{refused}");
        Device::open_read_only(named.path()).expect("it is only looked at");
    }
    two.detach().expect("not in use");
    Device::open(one.path()).expect("it is the only one");
    // Different parts of a file are different devices.
    let [first, second] = [["--sizelimit", "16777216"], ["--offset", "16777216"]]
        .map(|part| Loop::new(&files.path("disk"), &part).expect("made"));
    Device::open_pair(first.path(), second.path()).expect("they have no byte together");
}

#[test]
fn a_cache_that_its_file_system_cannot_hold_is_not_made() {
    let files = Files::new(32 * MIB, 100 * MIB);
    let system = rustix::fs::fstatvfs(File::open(files.path("ssd")).expect("there")).expect("told");
    let more = (system.f_blocks * system.f_frsize + (1 << 30)).next_multiple_of(4096);
    let longer = File::options().write(true).open(files.path("ssd"));
    if longer.and_then(|file| file.set_len(more)).is_err() {
        return println!("SKIPPED: no file of {more} bytes here");
    }
    let (ssd, disk) = files.pair();
    let refused = create(&ssd, &disk, &Settings::new("lru"), &Registry::default(), NO);
    let told = refused.expect_err("no room").to_string();
    assert!(told.contains("ssd needs") && told.contains("free some"), "{told}");
    assert_eq!(Mark::of(&disk).expect("told"), None, "the disk belongs to no cache");
}

#[test]
fn what_is_wrong_with_places_is_told() {
    let files = Files::new(32 * MIB, 100 * MIB);
    let open = |ssd: &str, disk: &str| {
        Device::open_pair(&files.path(ssd), &files.path(disk)).map(drop).map_err(|e| e.to_string())
    };
    assert!(open("none", "disk").expect_err("none").contains("cannot open"));
    assert!(open("ssd", "ssd").expect_err("same").contains("cache and disk at once"));
    std::fs::create_dir(files.path("folder")).expect("made");
    assert!(open("folder", "disk").is_err());
    let held = files.pair();
    assert!(matches!(Device::open(&files.path("ssd")), Err(DeviceError::Busy(_))));
    drop(held);
    assert_eq!(open("ssd", "disk"), Ok(()));
}

#[test]
fn a_cache_is_not_made_over_another_by_mistake() {
    let files = Files::new(32 * MIB, 100 * MIB);
    let (ssd, disk) = files.pair();
    let make_on = |ssd: &Device, destroy: &[Uuid]| {
        create(ssd, &disk, &Settings::new("lru"), &Registry::default(), Consent { destroy, ..NO })
    };
    let make = |destroy: Option<Uuid>| make_on(&ssd, destroy.as_slice());
    let first = make(None).expect("made");
    let uuid = Uuid::from_bytes(first.uuid);
    let second = make(None).expect("the first is empty");
    assert_ne!(first.uuid, second.uuid);
    assert!(matches!(make(Some(uuid)), Err(CreateError::Another { .. })), "it is gone");
    // The contents of a damaged cache are unknown.
    let mut table = [9; 4096];
    for copy in Copy::BOTH {
        ssd.write(second.layout.table_page(0, copy), &table).expect("written");
    }
    let error = make(None).expect_err("damaged").to_string();
    assert!(error.contains("is damaged and may hold data"), "{error}");
    assert!(error.contains(&format!("--destroy {}", Uuid::from_bytes(second.uuid))), "{error}");
    make(Some(Uuid::from_bytes(second.uuid))).expect("typed");
    table.fill(0);
    assert!(recover(&mut &ssd).expect("sound").live().next().is_none());
    // The contents of a cache on another SSD are unknown: it may have the only copy.
    if let Some(mark) = Mark::of(&disk).expect("told") {
        files.make("another", 32 * MIB);
        let another = Device::open(&files.path("another")).expect("opened");
        let here = Uuid::from_bytes(mark.uuid);
        let error = make_on(&another, &[]).expect_err("the disk is taken");
        assert!(matches!(error, CreateError::Taken { uuid, .. } if uuid == here), "{error}");
        assert!(error.to_string().contains(&format!("--destroy {here}")), "{error}");
        let there = Uuid::from_bytes(make_on(&another, &[here]).expect("typed").uuid);
        make(Some(there)).expect("typed");
    }
    files.make("small", 4 * MIB);
    let small = Device::open(&files.path("small")).expect("opened");
    let here = Mark::of(&disk).expect("told").map(|mark| Uuid::from_bytes(mark.uuid));
    let error = make_on(&small, here.as_slice()).expect_err("too small");
    assert!(matches!(error, CreateError::TooSmall { .. }), "{error}");
    let told = "has 4 MiB: too small for a cache, which needs at least 8.6 MiB";
    assert!(error.to_string().ends_with(told), "{error}");
    for bytes in [0, 10_000] {
        files.make("odd", bytes);
        let odd = Device::open(&files.path("odd")).expect("opened");
        let error =
            create(&ssd, &odd, &Settings::new("lru"), &Registry::default(), NO).expect_err("odd");
        assert!(matches!(error, CreateError::Uneven { .. }), "{error}");
    }
    let error = create(&ssd, &disk, &Settings::new("belady"), &Registry::default(), NO)
        .expect_err("the future");
    assert!(error.to_string().contains("future"), "{error}");
    let there = recover(&mut &ssd).expect("nothing was changed");
    assert!(Superblock::decode(&there.journal.superblock().encode()).is_ok());
}

#[test]
fn what_holds_data_is_not_overwritten() {
    let files = Files::new(32 * MIB, 100 * MIB);
    let (ssd, disk) = files.pair();
    let make = |consent| create(&ssd, &disk, &Settings::new("lru"), &Registry::default(), consent);
    let raw = File::options().read(true).write(true).open(files.path("ssd")).expect("there");
    raw.write_all_at(&[0x53, 0xef], 0x438).expect("written");
    let error = make(NO).expect_err("a file system").to_string();
    assert!(error.contains("there is an ext2, ext3 or ext4 file system"), "{error}");
    let mut page = [1; 4096];
    raw.read_exact_at(&mut page, 0).expect("read");
    assert!(page[..0x438].iter().all(|byte| *byte == 0), "nothing was written");
    // Data of an unknown kind.
    raw.write_all_at(&[0, 0], 0x438).expect("written");
    raw.write_all_at(b"rows of a table", 8).expect("written");
    let error = make(NO).expect_err("data").to_string();
    assert!(error.contains("this file holds data"), "{error}");
    make(Consent { overwrite: true, ..NO }).expect("it may be");
    // Cache and disk swapped: the disk of the new cache would be the SSD of the existing one.
    let error = create(&disk, &ssd, &Settings::new("lru"), &Registry::default(), NO)
        .expect_err("swapped")
        .to_string();
    assert!(error.contains("are --cache and --disk swapped?"), "{error}");
    assert!(occupant(&disk).expect("read").is_none());
}

/// Else the system would start it at its next boot, and write to the cache.
#[test]
fn a_raid_that_was_given_up_is_not_found_at_the_end_of_the_ssd() {
    let files = Files::new(32 * MIB + 20 * 1024, 100 * MIB);
    let (ssd, disk) = files.pair();
    let make = |consent| create(&ssd, &disk, &Settings::new("lru"), &Registry::default(), consent);
    let raw = File::options().read(true).write(true).open(files.path("ssd")).expect("there");
    // As formats 1.0 and 0.90 have it.
    for place in [32 * MIB + 12 * 1024, 32 * MIB - 64 * 1024] {
        raw.write_all_at(&[0xfc, 0x4e, 0x2b, 0xa9], place).expect("written");
        let error = make(NO).expect_err("a RAID").to_string();
        assert!(error.contains("there is a part of a RAID (md)"), "{error}");
        make(Consent { overwrite: true, ..NO }).expect("it may be");
        assert_eq!(signature(&ssd).expect("read"), None, "at {place}");
        make(NO).expect("a cache without dirty blocks is there, and nothing else");
    }
}

/// The first writes to it may be on its SSD only, so that nothing on it identifies it.
#[test]
fn a_disk_of_a_cache_does_not_become_the_ssd_of_another_by_mistake() {
    let files = Files::new(32 * MIB, 100 * MIB);
    let (ssd, disk) = files.pair();
    let make = |ssd: &Device, disk: &Device, consent| {
        create(ssd, disk, &Settings::new("lru"), &Registry::default(), consent)
    };
    let uuid = Uuid::from_bytes(make(&ssd, &disk, NO).expect("made").uuid);
    let typed = Consent { destroy: &[uuid], ..NO };
    if Mark::of(&disk).expect("told").is_none() {
        return println!("SKIPPED: this file system keeps no attributes of users");
    }
    files.make("other", 64 * MIB);
    let other = Device::open(&files.path("other")).expect("opened");
    let error = make(&disk, &other, NO).expect_err("it is in the way").to_string();
    assert!(error.contains(&format!("--destroy {uuid}")), "{error}");
    assert!(occupant(&disk).expect("read").is_none() && Mark::of(&other).expect("told").is_none());
    // With consent it is overwritten, and can be again: it is no longer a disk of a cache.
    make(&disk, &other, typed).expect("typed");
    assert_eq!(Mark::of(&disk).expect("told"), None);
    make(&disk, &other, NO).expect("the cache is empty");
}

#[test]
fn a_truncated_cache_is_told() {
    let files = Files::new(32 * MIB, 100 * MIB);
    let (ssd, disk) = files.pair();
    create(&ssd, &disk, &Settings::new("lru"), &Registry::default(), NO).expect("made");
    drop((ssd, disk));
    File::options()
        .write(true)
        .open(files.path("ssd"))
        .and_then(|f| f.set_len(31 * MIB))
        .expect("cut");
    let (ssd, _disk) = files.pair();
    assert_eq!(
        occupant(&ssd).expect("read").expect("there").dirty_blocks,
        None,
        "what is missing?"
    );
    let checked = check(&ssd, None, &mut |_, _| {}).expect_err("cut").to_string();
    drop(ssd);
    let looked_at = status(&files.path("ssd")).expect_err("cut").to_string();
    for error in [checked, looked_at] {
        assert!(
            error.contains("has 32505856 bytes, but 33554432 when the cache was made"),
            "{error}"
        );
    }
}

/// What its superblock says of 4 billion frames would take 100 GB of memory.
#[test]
fn an_ssd_is_not_believed_to_be_larger_than_it_is() {
    let files = Files::new(32 * MIB, 100 * MIB);
    let (ssd, disk) = files.pair();
    let made = create(&ssd, &disk, &Settings::new("lru"), &Registry::default(), NO).expect("made");
    let frames = u64::from(u32::MAX);
    let table_pages = frames.div_ceil(ENTRIES as u64);
    let layout = Layout { frames, table_pages, ..made.layout };
    let vast = Superblock { ssd_bytes: 1 << 50, layout, ..made };
    for copy in Copy::BOTH {
        ssd.write(copy.superblock_page(), &vast.encode()).expect("written");
    }
    let expected = Occupant { uuid: Uuid::from_bytes(vast.uuid), dirty_blocks: None };
    assert_eq!(occupant(&ssd).expect("read"), Some(expected));
    let checked = check(&ssd, None, &mut |_, _| {}).expect_err("too small").to_string();
    drop(ssd);
    let looked_at = status(&files.path("ssd")).expect_err("too small").to_string();
    for error in [checked, looked_at] {
        assert!(error.contains("but 1125899906842624 when the cache was made"), "{error}");
    }
}
