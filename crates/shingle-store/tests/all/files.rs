//! The store over real files: reads return what was written, with many threads and after every kind
//! of end; a pair that does not fit is refused and stays unchanged.

use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use shingle_core::cache::CacheCore;
use shingle_core::params::Params;
use shingle_core::registry::{CACHE_PARAMS, Registry, Setup};
use shingle_core::service::Mode;
use shingle_core::units::{BLOCK_BYTES, Block, Nanos};
use shingle_device::{Device, DeviceError, IoMethod, Medium};
use shingle_engine::buffer::Buffer;
use shingle_engine::format::PAGE_BYTES;
use shingle_engine::format::superblock::Superblock;
use shingle_engine::{Command, CommandOp, Config, Errno, Kind};
use shingle_store::backend::{Handle, Ready, StartOptions, Store, StoreError, Tell};
use shingle_store::store::check::check;
use shingle_store::store::create::CreateError;
use shingle_store::store::drain::drain;
use shingle_store::store::format::{NewCache, format};

const SSD_BYTES: u64 = 20 << 20;
const DISK_BYTES: u64 = 64 << 20;

struct Beds {
    _folder: tempfile::TempDir,
    ssd: PathBuf,
    disk: PathBuf,
}

fn sparse(path: &Path, bytes: u64) {
    std::fs::File::create(path).expect("a file").set_len(bytes).expect("its size");
}

fn new_cache() -> NewCache {
    NewCache {
        uuid: *b"a cache of files",
        edition: 1,
        fingerprint: [0; 32],
        settings: "policy = lru".into(),
    }
}

/// A disk whose blocks contain their numbers, and a new cache.
fn beds() -> Beds {
    // In the target directory: it may be on a file system with direct I/O.
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder");
    let (ssd, disk) = (folder.path().join("ssd"), folder.path().join("disk"));
    sparse(&ssd, SSD_BYTES);
    sparse(&disk, DISK_BYTES);
    let file = std::fs::OpenOptions::new().write(true).open(&disk).expect("there");
    for block in 0..DISK_BYTES / BLOCK_BYTES {
        file.write_all_at(&stamp(block, 0), block * BLOCK_BYTES).expect("written");
    }
    let (ssd_device, disk_device) = Device::open_pair(&ssd, &disk).expect("opened");
    format(&ssd_device, &disk_device, &new_cache()).expect("a new cache");
    Beds { _folder: folder, ssd, disk }
}

fn stamp(block: u64, version: u64) -> Vec<u8> {
    let words = [block.to_le_bytes(), version.to_le_bytes()].concat();
    words.repeat(BLOCK_BYTES as usize / 16)
}

fn cache(name: &str, slots: u64) -> Box<dyn CacheCore> {
    let registry = Registry::default();
    let entry = registry.get(name).expect("there is one");
    let defaults = Params::new(CACHE_PARAMS);
    let setup = Setup::new(slots as u32, DISK_BYTES / BLOCK_BYTES, &defaults);
    entry.make(&Params::new(entry.params), &setup).expect("it fits")
}

fn start(beds: &Beds, policy: &str, mode: Mode) -> Store {
    start_by(None, beds, policy, mode)
}

/// Starts a store whose I/O is done by this method.
fn start_by(io_method: Option<IoMethod>, beds: &Beds, policy: &str, mode: Mode) -> Store {
    let ready = Ready::open(&beds.ssd, &beds.disk).expect("they fit");
    let slots = ready.superblock().layout.slots;
    let config = Config::new(mode, slots);
    let options = StartOptions { io_method, ..StartOptions::default() };
    ready.start_with(cache(policy, slots), config, options).expect("it starts")
}

/// A store with this medium instead of the disk.
fn with(medium: Box<dyn Medium>) -> StartOptions {
    StartOptions { medium: Some(medium), ..StartOptions::default() }
}

fn command(op: CommandOp, offset: u64, bytes: u64, data: Vec<u8>) -> Command {
    Command { data, ..Command::new(0, op, offset, bytes) }
}

fn write(handle: &Handle, offset: u64, data: Vec<u8>) {
    let command = command(CommandOp::Write, offset, data.len() as u64, data);
    assert_eq!(handle.call(command), Ok(Vec::new()));
}

fn read(handle: &Handle, offset: u64, bytes: u64) -> Vec<u8> {
    handle.call(command(CommandOp::Read, offset, bytes, Vec::new())).expect("read")
}

fn flush(handle: &Handle) {
    assert_eq!(handle.call(command(CommandOp::Flush, 0, 0, Vec::new())), Ok(Vec::new()));
}

/// Asks for the dirty blocks, again and again.
fn ask_on(handle: &Handle, goes_on: Arc<AtomicBool>) {
    let again = handle.clone();
    handle.dirty(Block(0), DISK_BYTES / BLOCK_BYTES, move |_| {
        if goes_on.load(Ordering::SeqCst) {
            ask_on(&again, goes_on);
        }
    });
}

#[test]
fn repeated_queries_for_dirty_blocks_hold_up_no_client() {
    let beds = beds();
    let store = start(&beds, "lru", Mode::WriteBack);
    let handle = store.handle();
    let goes_on = Arc::new(AtomicBool::new(true));
    ask_on(handle, goes_on.clone());
    let (to, answered) = channel();
    let read = command(CommandOp::Read, 0, BLOCK_BYTES, Vec::new());
    handle.submit(read, move |result| drop(to.send(result)));
    let told = handle.status_within(Duration::from_secs(20));
    let read = answered.recv_timeout(Duration::from_secs(20));
    goes_on.store(false, Ordering::SeqCst);
    assert!(told.is_some(), "an operator waits");
    assert!(read == Ok(Ok(stamp(0, 0))), "a client waits");
    store.shut_down().expect("in order");
}

#[test]
fn what_is_written_is_read_after_a_restart() {
    let with_threads = |mode| [(mode, None), (mode, Some(IoMethod::Threads))];
    for (mode, io_method) in Mode::ALL.into_iter().flat_map(with_threads) {
        let beds = beds();
        let store = start_by(io_method, &beds, "sac", mode);
        let handle = store.handle();
        assert_eq!(read(handle, 5 * BLOCK_BYTES, BLOCK_BYTES), stamp(5, 0));
        write(handle, 7 * BLOCK_BYTES, [stamp(7, 1), stamp(8, 1)].concat());
        write(handle, 9 * BLOCK_BYTES + 100, b"a part of a block".to_vec());
        flush(handle);
        store.shut_down().expect("in order");
        let ready = Ready::open(&beds.ssd, &beds.disk).expect("they fit");
        assert!(ready.found().clean, "{}", mode.name());
        drop(ready);
        let store = start_by(io_method, &beds, "lru", mode);
        let handle = store.handle();
        assert_eq!(read(handle, 7 * BLOCK_BYTES, 8192), [stamp(7, 1), stamp(8, 1)].concat());
        let mut nine = stamp(9, 0);
        nine[100..117].copy_from_slice(b"a part of a block");
        assert_eq!(read(handle, 9 * BLOCK_BYTES, BLOCK_BYTES), nine);
        assert_eq!(read(handle, 5 * BLOCK_BYTES + 4000, 200).len(), 200);
        // After a drain the disk has everything.
        handle.drain(true);
        while handle.status().expect("it runs").dirty_blocks > 0 {
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        store.shut_down().expect("in order");
        let disk = std::fs::read(&beds.disk).expect("the disk");
        let block = |n: usize| &disk[n * 4096..][..4096];
        assert_eq!((block(7), block(8), block(9)), (&stamp(7, 1)[..], &stamp(8, 1)[..], &nine[..]));
    }
}

#[test]
fn many_threads_write_more_than_the_cache_holds() {
    write_more_than_the_cache_holds(None);
}

#[test]
fn many_threads_write_more_than_the_cache_holds_where_threads_do_the_io() {
    write_more_than_the_cache_holds(Some(IoMethod::Threads));
}

fn write_more_than_the_cache_holds(io_method: Option<IoMethod>) {
    let beds = beds();
    let store = start_by(io_method, &beds, "most", Mode::WriteBack);
    assert!(io_method.is_none_or(|method| store.io_method() == method));
    let threads: Vec<_> = (0..4_u64)
        .map(|thread| {
            let handle = store.handle().clone();
            std::thread::spawn(move || {
                // Each thread has a quarter of the disk, and reads what it wrote.
                let first = thread * 4096;
                for n in 0..4096 {
                    let block = first + n * 1021 % 4096;
                    write(&handle, block * BLOCK_BYTES, stamp(block, 1));
                    if n % 7 == 0 {
                        assert_eq!(read(&handle, block * BLOCK_BYTES, 4096), stamp(block, 1));
                    }
                    if n % 500 == 0 {
                        flush(&handle);
                    }
                }
            })
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().expect("no thread failed"));
    let status = store.handle().status().expect("it runs");
    assert!(status.destaged_blocks > 8_000, "more than the cache holds: {status:?}");
    for block in 0..16_384 {
        assert_eq!(read(store.handle(), block * BLOCK_BYTES, 4096), stamp(block, 1));
    }
    assert!(store.handle().status().expect("it runs").counts.read_hits > 1_000);
    store.shut_down().expect("in order");
}

#[test]
fn what_lies_beyond_the_end_is_refused() {
    let beds = beds();
    let store = start(&beds, "lru", Mode::WriteBack);
    let ask = |op, offset, bytes, data| store.handle().call(command(op, offset, bytes, data));
    let beyond = ask(CommandOp::Read, DISK_BYTES - 1, 2, Vec::new());
    assert_eq!(beyond, Err(Errno::INVALID));
    assert_eq!(ask(CommandOp::Write, 0, 4096, vec![0; 4095]), Err(Errno::INVALID));
    assert_eq!(ask(CommandOp::Trim, u64::MAX, 2, Vec::new()), Err(Errno::INVALID));
    assert_eq!(ask(CommandOp::Read, DISK_BYTES, 0, Vec::new()), Ok(Vec::new()));
}

/// The error, after checking that the attempt has changed nothing.
fn refused(beds: &Beds, ssd: &Path, disk: &Path) -> String {
    let before = std::fs::read(&beds.ssd).expect("there");
    let error = Ready::open(ssd, disk).err().expect("refused").to_string();
    assert!(std::fs::read(&beds.ssd).expect("there") == before, "nothing changed");
    assert!(!error.contains('\n') && error.len() < 400, "{error}");
    error
}

#[test]
fn what_does_not_fit_is_refused() {
    let beds = beds();
    let other = beds.disk.with_file_name("other");
    sparse(&other, DISK_BYTES - 4096);
    assert!(refused(&beds, &beds.ssd, &other).contains("is it the right one?"));
    assert!(refused(&beds, &beds.disk, &other).contains("it holds no cache"));
    assert!(refused(&beds, &beds.ssd, &beds.ssd).contains("cache and disk at once"));
    // If the SSD is too short, the error reports all missing bytes, beyond its metadata too.
    let cut = beds.disk.with_file_name("cut");
    std::fs::copy(&beds.ssd, &cut).expect("copied");
    let file = std::fs::File::options().write(true).open(&cut).expect("there");
    file.set_len(8192).expect("cut");
    let told = "cut has 8192 bytes, but ";
    assert!(refused(&beds, &cut, &beds.disk).contains(told));
    let checked = check(&Device::open(&cut).expect("opened"), None, &mut |_, _| {});
    assert!(checked.expect_err("cut").to_string().contains(told));
    let none = beds.disk.with_file_name("none");
    assert!(refused(&beds, &none, &beds.disk).contains("cannot open"));
    // A truncated file.
    let file = std::fs::OpenOptions::new().write(true).open(&beds.ssd).expect("there");
    file.set_len(SSD_BYTES - 4096).expect("cut");
    assert!(refused(&beds, &beds.ssd, &beds.disk).contains("when the cache was made"));
    file.set_len(SSD_BYTES).expect("as it was");
    // In use by another store.
    let store = start(&beds, "lru", Mode::WriteBack);
    let busy = Ready::open(&beds.ssd, &beds.disk);
    assert!(matches!(busy, Err(StoreError::Device(DeviceError::Busy(_)))));
    store.shut_down().expect("in order");
    // New caches.
    let small = beds.disk.with_file_name("small");
    sparse(&small, 1 << 20);
    let make = |ssd: &Path, disk: &Path, new: &NewCache| {
        let (ssd, disk) = Device::open_pair(ssd, disk)?;
        format(&ssd, &disk, new)
    };
    let error = make(&small, &beds.disk, &new_cache());
    assert!(matches!(error, Err(CreateError::TooSmall { .. })));
    sparse(&other, 4097);
    assert!(matches!(make(&beds.ssd, &other, &new_cache()), Err(CreateError::Uneven { .. })));
    let long = NewCache { settings: "x".repeat(5000), ..new_cache() };
    assert!(matches!(make(&beds.ssd, &beds.disk, &long), Err(CreateError::SettingsTooLong(5000))));
}

/// I/O of a killed process continues for a while: the file stays locked until it ends.
#[test]
fn the_lock_lasts_as_long_as_its_io() {
    let beds = beds();
    let device = Device::open(&beds.ssd).expect("opened");
    // As the kernel does for each I/O in flight.
    let under_way = device.direct().try_clone().expect("another reference");
    drop(device);
    assert!(matches!(Device::open(&beds.ssd), Err(DeviceError::Busy(_))));
    drop(under_way);
    Device::open(&beds.ssd).expect("nothing is under way any more");
}

/// Records what the superblocks on the SSD contain at each I/O of the disk.
struct Overheard {
    ssd: PathBuf,
    said: Arc<Mutex<Vec<Superblock>>>,
}

impl Medium for Overheard {
    fn serve(&mut self, _: Kind, _: u64, buffers: &mut [Buffer]) -> std::io::Result<()> {
        let mut copies = [[0; PAGE_BYTES]; 2];
        let ssd = std::fs::File::open(&self.ssd)?;
        ssd.read_exact_at(copies.as_flattened_mut(), 0)?;
        let read = copies.iter().map(|page| Superblock::decode(page).expect("both are good"));
        self.said.lock().expect("no panic").extend(read);
        buffers.iter_mut().for_each(|buffer| buffer.0.fill(0));
        Ok(())
    }

    fn end(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Otherwise a disk that its own cache has written would look like one written by something else.
#[test]
fn the_fingerprint_is_gone_before_the_disk_is_asked_for_anything() {
    let beds = beds();
    {
        let (ssd, disk) = Device::open_pair(&beds.ssd, &beds.disk).expect("opened");
        format(&ssd, &disk, &NewCache { fingerprint: [7; 32], ..new_cache() }).expect("a cache");
    }
    let ready = Ready::open(&beds.ssd, &beds.disk).expect("they fit");
    assert_eq!(ready.superblock().fingerprint, [7; 32]);
    let slots = ready.superblock().layout.slots;
    let said = Arc::default();
    let medium = Overheard { ssd: beds.ssd.clone(), said: Arc::clone(&said) };
    let config = Config::new(Mode::WriteAround, slots);
    let store = ready.start_with(cache("lru", slots), config, with(Box::new(medium)));
    let store = store.expect("it starts");
    write(store.handle(), 0, stamp(0, 1));
    drop(store);
    let said = said.lock().expect("no panic");
    assert!(!said.is_empty());
    assert!(said.iter().all(|superblock| superblock.fingerprint == [0; 32]));
    assert!(said.iter().all(|superblock| !superblock.clean), "nor that it was shut down");
}

/// A disk on which all I/O blocks until it is released.
struct Stuck(Receiver<()>);

impl Medium for Stuck {
    fn serve(&mut self, _: Kind, _: u64, buffers: &mut [Buffer]) -> std::io::Result<()> {
        // Released for good when the other end is dropped.
        let _ = self.0.recv();
        buffers.iter_mut().for_each(|buffer| buffer.0.fill(0));
        Ok(())
    }

    fn end(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[test]
fn operators_do_not_wait_behind_clients() {
    let beds = beds();
    let ready = Ready::open(&beds.ssd, &beds.disk).expect("they fit");
    let slots = ready.superblock().layout.slots;
    let (let_go, stuck) = std::sync::mpsc::channel();
    let config = Config { depth: 4, ..Config::for_slots(slots) };
    let medium = Box::new(Stuck(stuck));
    let store = ready.start_with(cache("lru", slots), config, with(medium));
    let store = store.expect("it starts");
    // More than are executed at a time, fewer than the queue holds.
    let (answered, answers) = std::sync::mpsc::channel();
    for block in 0..100 {
        let answered = answered.clone();
        let read = command(CommandOp::Read, block * BLOCK_BYTES, BLOCK_BYTES, Vec::new());
        store.handle().submit(read, move |result| {
            let _ = answered.send(result.is_ok());
        });
    }
    let handle = store.handle().clone();
    let (asked, heard) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        handle.set_mode(Mode::PassThrough);
        handle.drain(true);
        let _ = asked.send(handle.status().is_some());
    });
    // It never comes if it waits for the disk, which waits for this thread.
    let told = heard.recv_timeout(std::time::Duration::from_secs(30));
    drop(let_go);
    assert_eq!(told, Ok(true), "the status waited for the disk");
    for _ in 0..100 {
        assert!(answers.recv().expect("answered"));
    }
    store.shut_down().expect("in order");
}

/// With the limit that otherwise applies, the drain would take half an hour.
#[test]
fn who_gives_up_waiting_for_the_disk_leaves_others_what_they_wait_for() {
    let beds = beds();
    let ready = Ready::open(&beds.ssd, &beds.disk).expect("they fit");
    let slots = ready.superblock().layout.slots;
    let (let_go, stuck) = std::sync::mpsc::channel();
    let mut config = Config::for_slots(slots);
    config.rules.limits.destage_blocks_per_s = Some(1);
    let medium = Box::new(Stuck(stuck));
    let store = ready.start_with(cache("lru", slots), config, with(medium));
    let store = store.expect("it starts");
    // (Not sequential: such writes bypass the cache.)
    let blocks = (0..2_000).map(|block| block * 5);
    blocks.for_each(|block| write(store.handle(), block * BLOCK_BYTES, stamp(block, 1)));
    let handle = store.handle().clone();
    let (to, told) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let left = &mut |left| {
            let _ = to.send(Ok(left));
            Ok(())
        };
        let outcome = drain(&handle, left);
        let _ = to.send(Err(outcome.map_err(|error| error.to_string())));
    });
    told.recv().expect("told").expect("it waits");
    let gone = || std::io::Error::other("the operator has gone");
    drain(store.handle(), &mut |_| Err(gone())).expect_err("it gives up");
    drop(let_go);
    let begun = std::time::Instant::now();
    let outcome = loop {
        match told.recv_timeout(std::time::Duration::from_secs(30)).expect("told") {
            Ok(left) => assert!(begun.elapsed().as_secs() < 30, "{left:?}"),
            Err(outcome) => break outcome,
        }
    };
    assert_eq!(outcome, Ok(()));
    store.shut_down().expect("in order");
}

/// A disk whose thread panics at its first I/O.
struct Broken;

impl Medium for Broken {
    fn serve(&mut self, _: Kind, _: u64, _: &mut [Buffer]) -> std::io::Result<()> {
        panic!("a bug");
    }

    fn end(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_store_that_fails_says_so_and_answers_all() {
    let beds = beds();
    let ready = Ready::open(&beds.ssd, &beds.disk).expect("they fit");
    let slots = ready.superblock().layout.slots;
    let config = Config::for_slots(slots);
    let store = ready.start_with(cache("lru", slots), config, with(Box::new(Broken)));
    let mut store = store.expect("it starts");
    let failure = store.failure().expect("asked for once");
    let read = store.handle().call(command(CommandOp::Read, 0, BLOCK_BYTES, Vec::new()));
    assert_eq!(read, Err(Errno::SHUT_DOWN));
    assert_eq!(failure.recv().expect("said"), "the thread of the disk has panicked: this is a bug");
    assert!(store.handle().status().is_none());
    assert!(store.shut_down().is_err());
}

/// A disk that refuses all writes.
struct ReadOnly;

impl Medium for ReadOnly {
    fn serve(&mut self, kind: Kind, _: u64, buffers: &mut [Buffer]) -> std::io::Result<()> {
        const EROFS: i32 = 30;
        buffers.iter_mut().for_each(|buffer| buffer.0.fill(0));
        match kind {
            Kind::Write => Err(std::io::Error::from_raw_os_error(EROFS)),
            _ => Ok(()),
        }
    }

    fn end(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[test]
fn why_a_device_fails_is_said_and_known() {
    let beds = beds();
    let ready = Ready::open(&beds.ssd, &beds.disk).expect("they fit");
    let mut config = Config::for_slots(ready.superblock().layout.slots);
    // Idle time must not use the disk either, however slow this test is.
    config.rules.idle_after = Nanos::NEVER;
    let (to, lines) = std::sync::mpsc::channel();
    let tell: Tell = Box::new(move |line| to.send(line).expect("a receiver"));
    let options = StartOptions { tell: Some(tell), ..with(Box::new(ReadOnly)) };
    let slots = ready.superblock().layout.slots;
    let store = ready.start_with(cache("lru", slots), config, options).expect("it starts");
    let handle = store.handle();
    assert_eq!(handle.last_errors(), []);
    for block in 100..132 {
        write(handle, block * BLOCK_BYTES, stamp(block, 1));
    }
    flush(handle);
    assert_eq!(handle.last_errors(), [], "the disk was asked for nothing yet");
    handle.drain(true);
    let first = lines.recv_timeout(std::time::Duration::from_secs(30)).expect("a line");
    assert!(first.first && first.errno == Some(30), "{first:?}");
    assert_eq!(
        first.to_string(),
        "disk: write of 128 KiB at block 100 failed: Read-only file system (EROFS); its blocks are tried \
         one by one"
    );
    // Within a second all other failures make one line: each block is tried again and again.
    let second =
        lines.recv_timeout(std::time::Duration::from_secs(30)).expect("another line").to_string();
    assert!(second.starts_with("disk: write of 4 KiB at block 1"), "{second}");
    assert!(second.contains("(EROFS); destaging is tried again in "), "{second}");
    assert!(second.ends_with(" more like it"), "{second}");
    let last = handle.last_errors();
    assert_eq!(last.len(), 1, "{last:?}");
    assert_eq!(last[0].cause, "Read-only file system (EROFS)");
    // (They may just have been tried together once more, and are then tried one by one again.)
    let single = || {
        let last = handle.last_errors()[0].operation.to_string();
        last.split(" at ").next() == Some("disk: write of 4 KiB")
    };
    let mut tries = 0;
    while !single() {
        tries += 1;
        assert!(tries < 3_000, "{:?}", handle.last_errors());
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    store.shut_down().expect("in order");
}
