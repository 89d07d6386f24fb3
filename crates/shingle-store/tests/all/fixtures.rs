//! Caches written by earlier versions, kept as files: they open, and have their old contents.
//!
//! Each is an SSD of 16 MiB and its disk of 1 MiB, after an orderly end (`clean`) and as a killed
//! process left them (`crash`). `cargo test -p shingle-store --test all fixtures -- --ignored`
//! makes those of the version that is built. This is only for a new version of the format: existing
//! files stay.

use std::path::{Path, PathBuf};
use std::time::Duration;

use shingle_core::registry::Registry;
use shingle_core::units::BLOCK_BYTES;
use shingle_device::Device;
use shingle_engine::format::State;
use shingle_engine::format::superblock::VERSION;
use shingle_engine::settings::Settings;
use shingle_engine::{Command, CommandOp, Config};
use shingle_store::backend::{Handle, Ready, Store};
use shingle_store::store::check::check;
use shingle_store::store::format::{NewCache, format};

const SSD_BYTES: u64 = 16 << 20;
const DISK_BYTES: u64 = 1 << 20;
const WORDS: &str = "policy=sac\nmode=write-back\nsac.zone=20M\n";

/// The contents of the caches: block, version, and state. The first 100 bytes of block 9 are those
/// of the disk, version 0.
const HELD: [(u64, u64, State); 4] =
    [(3, 1, State::Dirty), (5, 0, State::Clean), (7, 1, State::Clean), (9, 1, State::Dirty)];
/// On the disk these blocks have version 1, all others version 0.
const DESTAGED: [u64; 1] = [7];

fn stamp(block: u64, version: u64) -> Vec<u8> {
    let words = [block.to_le_bytes(), version.to_le_bytes()].concat();
    words.repeat(BLOCK_BYTES as usize / 16)
}

/// The data that a client reads.
fn content(block: u64) -> Vec<u8> {
    let version = HELD.iter().find(|held| held.0 == block).map_or(0, |held| held.1);
    let mut bytes = stamp(block, version);
    if block == 9 {
        bytes[..100].copy_from_slice(&stamp(9, 0)[..100]);
    }
    bytes
}

fn call(handle: &Handle, op: CommandOp, offset: u64, bytes: u64, data: Vec<u8>) -> Vec<u8> {
    handle.call(Command { data, ..Command::new(0, op, offset, bytes) }).expect("no error")
}

fn write(handle: &Handle, offset: u64, data: &[u8]) {
    call(handle, CommandOp::Write, offset, data.len() as u64, data.to_vec());
}

fn read(handle: &Handle, block: u64) -> Vec<u8> {
    call(handle, CommandOp::Read, block * BLOCK_BYTES, BLOCK_BYTES, Vec::new())
}

fn start(ready: Ready) -> Store {
    let superblock = ready.superblock().clone();
    let settings = Settings::from_text(&superblock.settings).expect("settings");
    let slots = superblock.layout.slots;
    let cache = settings.cache(&Registry::default(), slots as u32, ready.disk().blocks());
    ready.start(cache.expect("a policy"), Config::for_slots(slots)).expect("started")
}

fn fixture(version: u32, kind: &str, device: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    folder.join(format!("v{version}-{kind}.{device}.zst"))
}

/// The unpacked files of a fixture.
fn unpacked(version: u32, kind: &str) -> (tempfile::TempDir, PathBuf, PathBuf) {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder");
    let [ssd, disk] = ["ssd", "disk"].map(|device| {
        let packed = std::fs::read(fixture(version, kind, device)).expect("it is kept");
        let path = folder.path().join(device);
        std::fs::write(&path, zstd::decode_all(&packed[..]).expect("whole")).expect("written");
        path
    });
    (folder, ssd, disk)
}

fn it_opens_and_holds_what_it_held(version: u32, kind: &str, in_order: bool) {
    let (_folder, ssd, disk) = unpacked(version, kind);
    {
        let (ssd, disk) = Device::open_pair(&ssd, &disk).expect("opened");
        let findings = check(&ssd, Some(&disk), &mut |_, _| {}).expect("checked");
        assert!(findings.is_sound(), "{findings:?}");
        assert_eq!((findings.clean, findings.replayed_pages == 0), (in_order, in_order));
        assert_eq!((findings.dirty_blocks, findings.clean_blocks), (2, 2));
        assert_eq!(findings.settings.expect("settings").to_text().expect("short"), WORDS);
        let mut found = vec![0; DISK_BYTES as usize];
        std::os::unix::fs::FileExt::read_exact_at(
            &std::fs::File::open(disk.path()).expect("there"),
            &mut found,
            0,
        )
        .expect("read");
        for (bytes, block) in found.chunks_exact(BLOCK_BYTES as usize).zip(0..) {
            assert_eq!(bytes, stamp(block, u64::from(DESTAGED.contains(&block))), "block {block}");
        }
    }
    let ready = Ready::open(&ssd, &disk).expect("opened");
    let found = ready.found();
    let mut held: Vec<_> = found
        .live()
        .map(|(block, frame)| (block.0, found.journal.table.entry(frame).state))
        .collect();
    held.sort_unstable_by_key(|&(block, _)| block);
    assert_eq!(held, HELD.map(|(block, _, state)| (block, state)));
    let store = start(ready);
    for block in 0..DISK_BYTES / BLOCK_BYTES {
        assert_eq!(read(store.handle(), block), content(block), "block {block}");
    }
    // And it works from there on.
    write(store.handle(), 0, &stamp(0, 2));
    call(store.handle(), CommandOp::Flush, 0, 0, Vec::new());
    store.shut_down().expect("in order");
    let store = start(Ready::open(&ssd, &disk).expect("opened"));
    assert_eq!(read(store.handle(), 0), stamp(0, 2));
    assert_eq!(read(store.handle(), 3), content(3));
}

#[test]
fn a_cache_that_was_shut_down_opens() {
    (1..=VERSION).for_each(|version| it_opens_and_holds_what_it_held(version, "clean", true));
}

#[test]
fn a_cache_that_was_killed_opens() {
    (1..=VERSION).for_each(|version| it_opens_and_holds_what_it_held(version, "crash", false));
}

#[test]
#[ignore = "makes the fixtures of this version"]
fn make_fixtures() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder");
    let (ssd, disk) = (folder.path().join("ssd"), folder.path().join("disk"));
    std::fs::File::create(&ssd).expect("a file").set_len(SSD_BYTES).expect("its size");
    let blocks: Vec<u8> = (0..DISK_BYTES / BLOCK_BYTES).flat_map(|block| stamp(block, 0)).collect();
    std::fs::write(&disk, blocks).expect("written");
    {
        let (ssd, disk) = Device::open_pair(&ssd, &disk).expect("opened");
        let uuid = *b"a fixture cache!";
        let new = NewCache { uuid, edition: 1, fingerprint: [0; 32], settings: WORDS.to_owned() };
        format(&ssd, &disk, &new).expect("a new cache");
    }
    let store = start(Ready::open(&ssd, &disk).expect("opened"));
    let handle = store.handle();
    let wait = |done: &dyn Fn() -> bool| {
        while !done() {
            std::thread::sleep(Duration::from_millis(10));
        }
    };
    let status = || handle.status().expect("it runs");
    // (Before the first flush of the disk, blocks that are read are not cached.)
    wait(&|| {
        read(handle, 5);
        status().clean_blocks == 1
    });
    write(handle, 7 * BLOCK_BYTES, &stamp(7, 1));
    handle.drain(true);
    wait(&|| status().dirty_blocks == 0);
    handle.drain(false);
    write(handle, 3 * BLOCK_BYTES, &stamp(3, 1));
    write(handle, 9 * BLOCK_BYTES + 100, &stamp(9, 1)[100..]);
    call(handle, CommandOp::Flush, 0, 0, Vec::new());
    let keep = |kind: &str| {
        for (path, device) in [(&ssd, "ssd"), (&disk, "disk")] {
            let bytes = std::fs::read(path).expect("read");
            let packed = zstd::encode_all(&bytes[..], 19).expect("packed");
            std::fs::write(fixture(VERSION, kind, device), packed).expect("kept");
        }
    };
    keep("crash");
    store.shut_down().expect("in order");
    keep("clean");
}
