//! A cache served over real sockets: clients, operators, restarts, and ends.

mod changes;

use std::cell::RefCell;
use std::fs::File;
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{SystemTime, UNIX_EPOCH};

use rustix::fs::{CWD, FileType, Mode};
use rustix::fs::{FallocateFlags, FlockOperation, MemfdFlags, SealFlags};
use rustix::fs::{fallocate, fcntl_add_seals, flock, memfd_create, mknodat};
use shingle_core::observer::{Event, Observer, Shared};
use shingle_core::registry::Registry;
use shingle_core::units::Block;
use shingle_device::{Device, Mark};
use shingle_engine::format::Frame;
use shingle_engine::format::layout::Copy;
use shingle_engine::format::superblock::Superblock;
use shingle_engine::format::table::ENTRIES;
use shingle_engine::recover::recover;
use shingle_engine::settings::Settings;
use shingle_nbd::client::{Client, ClientOptions};
use shingle_nbd::listen::{Address, Listener};
use shingle_nbd::replies::Descriptor;
use shingle_nbd::tls::{Rights, Tls};
use shingle_nbd::wire::command;
use shingle_store::backend::open_pair;
use shingle_store::store::check::check;
use shingle_store::store::control::{Answer, ControlError, Request, ask, watch};
use shingle_store::store::create::{Consent, create};
use shingle_store::store::format::{NewCache, read_superblock, write_superblock};
use shingle_store::store::leave::{Offline, detach, export};
use shingle_store::store::salvage::salvage;
use shingle_store::store::serve::{
    CacheOptions, Notice, Options, ServeError, ServeOptions, Serving,
};
use shingle_store::store::status::{Recording, Status};
use shingle_store::store::trust::{Distrusted, Doubt, Known};
use shingle_store::store::unserved::{self, UnservedError};
use shingle_testbed::{Loop, Mount, root_or_skip, run, text};
use shingle_translated::{Format, format, inspect};
use shingle_zoned::Geometry;
use uuid::Uuid;

const MIB: u64 = 1 << 20;

/// The settings of a cache whose idle time writes nothing to the disk today: however slow a test is, what is dirty stays so.
fn never_idle() -> Settings {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970");
    let hour = (now.as_secs() / 3_600 + 12) % 24;
    let mut settings = Settings::new("sac");
    settings.set(&format!("limit.hours={hour}-{}", hour + 1)).expect("a setting");
    settings
}

/// A folder with an SSD, a disk and sockets.
struct Bed {
    folder: tempfile::TempDir,
    uuid: Uuid,
}

impl Bed {
    fn new() -> Bed {
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder");
        let mut bed = Bed { folder, uuid: Uuid::nil() };
        for (name, bytes) in [("ssd", 24 * MIB), ("disk", 64 * MIB)] {
            File::create(bed.path(name)).and_then(|file| file.set_len(bytes)).expect("made");
        }
        let (ssd, disk) = bed.devices();
        let (settings, registry) = (never_idle(), Registry::default());
        let made = create(&ssd, &disk, &settings, &registry, Consent::default()).expect("made");
        bed.uuid = Uuid::from_bytes(made.uuid);
        bed
    }

    /// The same with a zoned disk.
    fn over_zoned() -> Bed {
        let mut bed = Bed::new();
        std::fs::remove_file(bed.path("disk")).expect("removed");
        let geometry = Geometry { conventional_zones: 8, ..Geometry::new(64, 256) };
        shingle_zoned::create(&bed.path("disk"), &geometry).expect("made");
        let disk = shingle_zoned::open(&bed.path("disk")).expect("opened");
        let wanted = Format { translation: "log".to_owned(), ..Format::default() };
        format(&*disk, &wanted).expect("formatted");
        drop(disk);
        let (ssd, disk) = open_pair(&bed.path("ssd"), &bed.path("disk")).expect("opened");
        let (settings, registry) = (never_idle(), Registry::default());
        let made = create(&ssd, &*disk, &settings, &registry, Consent::default()).expect("made");
        bed.uuid = Uuid::from_bytes(made.uuid);
        bed
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn devices(&self) -> (Device, Device) {
        Device::open_pair(&self.path("ssd"), &self.path("disk")).expect("opened")
    }

    fn options(&self, trust_disk: bool) -> Options {
        let cache = CacheOptions {
            name: String::new(),
            ssd: self.path("ssd"),
            disk: self.path("disk"),
            minimum_block: 1,
            trust_disk,
            control: Some(self.path("control")),
            ublk: None,
        };
        let addresses = vec![Address::Unix(self.path("nbd"))];
        Options { caches: vec![cache], addresses, ..Options::default() }
    }

    fn try_serve(&self, trust_disk: bool) -> Result<Serving, ServeError> {
        Serving::start(self.options(trust_disk), &Registry::default(), |_| {})
    }

    fn serve(&self) -> JoinHandle<Result<(), ServeError>> {
        let serving = self.try_serve(false).expect("it is served");
        assert_eq!(serving.uuids(), [self.uuid]);
        std::thread::spawn(|| serving.wait(|| ()))
    }

    /// A failed store releases its devices when its last I/O is done.
    fn wait_until_free(&self) {
        while Device::open_pair(&self.path("ssd"), &self.path("disk")).is_err() {
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
    }

    fn client(&self) -> Client<UnixStream> {
        let stream = UnixStream::connect(self.path("nbd")).expect("connected");
        let options = ClientOptions { export: "", structured: true, contexts: &["shingle:dirty"] };
        Client::connect(stream, &options).expect("a handshake")
    }

    fn ask(&self, request: &Request) -> Answer {
        ask(&self.path("control"), &mut |_| {}, request).expect("answered")
    }

    fn status(&self) -> Status {
        match self.ask(&Request::Status) {
            Answer::Status(status) => *status,
            other => panic!("{other:?}"),
        }
    }

    /// Deletes the disk while it is served, so that an end would lose it: a short confirmation is
    /// not enough.
    fn disk_is_deleted(&self) {
        std::fs::remove_file(self.path("disk")).expect("removed");
        for request in [Request::Stop, Request::Detach] {
            let Answer::Failed(why) = self.ask(&request) else { panic!("it is lost") };
            assert!(why.contains("disk: it was deleted") && why.contains("nbdcopy"), "{why}");
        }
    }

    fn export(&self, trust_disk: bool) -> Result<(), ServeError> {
        self.emptied(trust_disk, export)
    }

    fn detach(&self, trust_disk: bool) -> Result<(), ServeError> {
        self.emptied(trust_disk, detach)
    }

    fn emptied(
        &self,
        trust_disk: bool,
        empty: impl FnOnce(Offline<'_>, &mut dyn FnMut(u64)) -> Result<(), ServeError>,
    ) -> Result<(), ServeError> {
        let (ssd, disk, registry) = (&self.path("ssd"), &self.path("disk"), &Registry::default());
        let warn = &|_: &str| {};
        empty(Offline { ssd, disk, trust_disk, registry, tell: None, warn }, &mut |_| {})
    }

    fn stop(&self, serving: JoinHandle<Result<(), ServeError>>) {
        assert_eq!(self.ask(&Request::Stop), Answer::Done(()));
        serving.join().expect("no panic").expect("in order");
    }

    /// What the disk has without the cache.
    fn disk(&self, offset: u64, bytes: usize) -> Vec<u8> {
        let mut out = vec![0; bytes];
        File::open(self.path("disk"))
            .expect("there")
            .read_exact_at(&mut out, offset)
            .expect("read");
        out
    }
}

fn write(client: &mut Client<UnixStream>, offset: u64, data: &[u8]) {
    client.write(offset, data, 0).expect("connected").expect("written");
}

fn read(client: &mut Client<UnixStream>, offset: u64, bytes: usize) -> Vec<u8> {
    client.read(offset, bytes as u32).expect("connected").expect("read")
}

#[test]
fn what_clients_write_survives_restarts_and_reaches_the_disk() {
    let bed = Bed::new();
    let serving = bed.serve();
    let mut client = bed.client();
    assert_eq!(client.size_bytes(), 64 * MIB);
    write(&mut client, 5000, b"hello, shingled world");
    client.flush().expect("connected").expect("flushed");
    assert_eq!(read(&mut client, 4998, 7), b"\0\0hello");
    let status = bed.status();
    assert_eq!((status.dirty_blocks, status.connections), (1, 1));
    assert_eq!((status.policy.as_str(), status.mode.as_str()), ("sac", "write-back"));
    assert_eq!(bed.disk(5000, 5), [0; 5], "the disk does not have it yet");
    // The block is dirty, its neighbours are not.
    let reply = client.call(command::BLOCK_STATUS, 0, 0, 16_384, &[]);
    let said = reply.expect("connected").expect("told");
    let extents: Vec<(u32, u32)> = said
        .status
        .iter()
        .flat_map(|(_, extents)| extents)
        .map(|&Descriptor { length, flags }| (length, flags))
        .collect();
    assert_eq!(extents, [(4096, 0), (4096, 1), (8192, 0)]);
    client.disconnect().expect("connected");
    bed.stop(serving);
    let (ssd, disk) = bed.devices();
    let findings = check(&ssd, Some(&disk), &mut |_, _| {}).expect("sound");
    assert!(findings.clean && findings.is_sound() && findings.disk_changed() == Some(false));
    assert_eq!(findings.dirty_blocks, 1);
    drop((ssd, disk));
    let serving = bed.serve();
    let mut client = bed.client();
    assert_eq!(read(&mut client, 5000, 5), b"hello");
    assert_eq!(bed.ask(&Request::Flush), Answer::Done(()));
    assert_eq!(bed.status().dirty_blocks, 0);
    assert_eq!(bed.disk(5000, 21), b"hello, shingled world");
    drop(client);
    bed.stop(serving);
}

/// Makes a device a file in memory, which can be sealed.
fn put_in_memory(bed: &Bed, name: &str, bytes: u64) -> File {
    let file = memfd_create(name, MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING);
    let file = File::from(file.expect("a file in memory"));
    fallocate(&file, FallocateFlags::empty(), 0, bytes).expect("its room");
    std::fs::remove_file(bed.path(name)).expect("removed");
    let target = format!("/proc/self/fd/{}", file.as_raw_fd());
    std::os::unix::fs::symlink(target, bed.path(name)).expect("linked");
    file
}

/// The bed with its SSD as a file in memory.
fn in_memory(mut bed: Bed) -> (Bed, File) {
    let ssd = put_in_memory(&bed, "ssd", 24 * MIB);
    {
        let registry = Registry::default();
        let (of_ssd, disk) = open_pair(&bed.path("ssd"), &bed.path("disk")).expect("opened");
        let consent = Consent { destroy: &[bed.uuid], ..Consent::default() };
        let made = create(&of_ssd, &*disk, &never_idle(), &registry, consent);
        bed.uuid = Uuid::from_bytes(made.expect("made").uuid);
    }
    (bed, ssd)
}

/// It can still be read, and the disk does not take what is dirty.
#[test]
fn the_end_of_a_cache_whose_ssd_takes_no_writes_is_no_end_in_order_while_blocks_are_dirty() {
    let bed = Bed::new();
    let disk = put_in_memory(&bed, "disk", 64 * MIB);
    let (bed, ssd) = in_memory(bed);
    let serving = bed.try_serve(false).expect("it is served");
    let stopper = serving.stopper();
    let serving = std::thread::spawn(|| serving.wait(|| ()));
    let mut client = bed.client();
    write(&mut client, 0, b"dirty");
    client.flush().expect("connected").expect("flushed");
    for file in [&ssd, &disk] {
        fcntl_add_seals(file, SealFlags::WRITE).expect("sealed");
    }
    let told = client.write(MIB, &[7; 4096], 0);
    assert!(told.expect("connected").is_err() || client.flush().expect("connected").is_err());
    while !bed.status().errors.counts.ssd_failed {}
    stopper.stop();
    let error = serving.join().expect("no panic").expect_err("only the SSD has a block");
    let kept = "the SSD has failed; keep the SSD: only it has what is dirty (blocks: 1)";
    assert_eq!(error.to_string(), kept);
}

/// What is dirty on an SSD that cannot be read at the end is told, and its disk is closed.
#[test]
fn the_end_of_a_cache_whose_ssd_has_failed_tells_what_only_the_ssd_has() {
    for bed in [Bed::new(), Bed::over_zoned()] {
        let (bed, ssd) = in_memory(bed);
        let (to, notices) = std::sync::mpsc::channel();
        let to = Mutex::new(to);
        let tell = move |notice: Notice| {
            drop(to.lock().expect("no panic").send(notice.to_string()));
        };
        let serving = Serving::start(bed.options(false), &Registry::default(), tell);
        let serving = serving.expect("it is served");
        let stopper = serving.stopper();
        let serving = std::thread::spawn(|| serving.wait(|| ()));
        let mut client = bed.client();
        write(&mut client, 0, b"on the disk");
        assert_eq!(bed.ask(&Request::Flush), Answer::Done(()));
        write(&mut client, 0, b"dirty");
        ssd.set_len(0).expect("cut short");
        fcntl_add_seals(&ssd, SealFlags::WRITE | SealFlags::GROW).expect("sealed");
        stopper.stop();
        let error = serving.join().expect("no panic").expect_err("it cannot be read").to_string();
        assert!(error.contains("cannot read page 0 of the SSD"), "{error}");
        assert!(error.ends_with("keep the SSD: only it has what is dirty (blocks: 1)"), "{error}");
        // (Here even that is gone: a file in memory is a deleted one.)
        let lost = "what was dirty on it is lost (blocks: 1)";
        assert!(notices.iter().any(|told| told.ends_with(lost)));
        if let Ok(disk) = shingle_zoned::open(&bed.path("disk")) {
            assert_eq!(inspect(&*disk).expect("a map").commits, 0, "it was closed");
        }
    }
}

/// The next start would ignore its journal, while the disk changes without a mark of that. Its
/// dirty blocks can be saved.
#[test]
fn an_ssd_that_takes_no_superblock_is_not_served_and_what_is_dirty_is_saved() {
    let (bed, sealed) = in_memory(Bed::new());
    let serving = bed.try_serve(false).expect("it is served");
    let stopper = serving.stopper();
    let serving = std::thread::spawn(|| serving.wait(|| ()));
    write(&mut bed.client(), 0, b"dirty");
    stopper.stop();
    serving.join().expect("no panic").expect("in order");
    fcntl_add_seals(&sealed, SealFlags::WRITE).expect("nothing is written there any more");
    for trust_disk in [false, true] {
        let refused = bed.try_serve(trust_disk).map(drop).expect_err("it takes no writes");
        assert!(refused.to_string().contains("with --trust-disk, `export` writes"), "{refused}");
    }
    assert_eq!(bed.disk(0, 5), [0; 5]);
    bed.export(true).expect("it can be read");
    assert_eq!(bed.disk(0, 5), *b"dirty");
}

/// Why policy `none` is not for stores.
const NONE: &str = "policy `none` caches nothing, and what is cached would never leave; set \
                    mode=pass-through instead";

#[test]
fn settings_are_set_while_it_runs_and_kept() {
    let bed = Bed::new();
    let serving = bed.serve();
    let set = |text: &str| bed.ask(&Request::Set { what: vec![text.to_owned()] });
    assert_eq!(set("mode=write-through"), Answer::Done(()));
    let mut client = bed.client();
    write(&mut client, 0, b"through");
    client.flush().expect("connected").expect("flushed");
    assert_eq!(bed.disk(0, 7), b"through");
    // Another policy takes over the cached blocks at once.
    let before = bed.status();
    assert_eq!(set("policy=most"), Answer::Done(()));
    assert_eq!(set("policy=none"), Answer::Failed(NONE.to_owned()));
    let after = bed.status();
    assert_eq!((before.policy.as_str(), after.policy.as_str()), ("sac", "most"));
    let cached = |status: &Status| status.clean_blocks + status.dirty_blocks;
    assert_eq!((cached(&before), cached(&after)), (1, 1));
    assert_eq!(&read(&mut client, 0, 7), b"through");
    assert_eq!(bed.status().counts.read_hits, before.counts.read_hits + 1);
    for (text, told) in
        [("mode=fast", "no mode"), ("policy=sacc", "no policy"), ("x", "NAME=VALUE")]
    {
        match set(text) {
            Answer::Failed(why) => assert!(why.contains(told), "{why}"),
            other => panic!("{text}: {other:?}"),
        }
    }
    drop(client);
    bed.stop(serving);
    let serving = bed.serve();
    let status = bed.status();
    assert_eq!((status.policy.as_str(), status.mode.as_str()), ("most", "write-through"));
    bed.stop(serving);
}

/// A mode that was set holds, even if the power fails a moment later.
#[test]
fn what_was_set_is_on_the_ssd_when_that_is_answered() {
    let bed = Bed::new();
    let serving = bed.serve();
    for batch in 2..40 {
        let what = vec![format!("cache.batch={batch}")];
        assert_eq!(bed.ask(&Request::Set { what: what.clone() }), Answer::Done(()));
        let kept = unserved::superblock(&bed.path("ssd")).expect("read").expect("a cache").settings;
        assert!(kept.lines().any(|line| line == what[0]), "{what:?} is not in {kept}");
    }
    bed.stop(serving);
}

/// It takes effect, but the next start may not know it.
#[test]
fn what_the_ssd_does_not_take_is_not_said_to_be_set() {
    if !root_or_skip("an SSD that takes no writes") {
        return;
    }
    let bed = Bed::new();
    let ssd = Loop::new(&bed.path("ssd"), &[]).expect("made");
    let writes = |how: &str| run("blockdev", &[how, text(ssd.path())]).expect("it is a device");
    let mut options = bed.options(false);
    options.caches[0].ssd = ssd.path().to_owned();
    let serving = Serving::start(options, &Registry::default(), |_| {}).expect("it is served");
    let serving = std::thread::spawn(|| serving.wait(|| ()));
    writes("--setro");
    for batch in [7, 9] {
        let answer = bed.ask(&Request::Set { what: vec![format!("cache.batch={batch}")] });
        assert!(
            matches!(&answer, Answer::Failed(why) if why.contains("the SSD has not taken it")),
            "{answer:?}"
        );
    }
    writes("--setrw");
    bed.ask(&Request::Stop);
    let _ = serving.join().expect("no panic");
}

#[test]
fn a_disk_that_was_written_without_its_cache_is_noticed() {
    let bed = Bed::new();
    let serving = bed.serve();
    write(&mut bed.client(), 40 * MIB, b"dirty");
    bed.stop(serving);
    let disk = File::options().write(true).open(bed.path("disk")).expect("there");
    disk.write_all_at(b"mounted elsewhere", 1024).expect("written");
    let error = bed.try_serve(false).map(drop).expect_err("changed").to_string();
    assert!(error.contains("without its cache"), "{error}");
    assert!(error.contains(&format!("--destroy {}", bed.uuid)), "{error}");
    let serving = bed.try_serve(true).expect("trusted");
    let stopper = serving.stopper();
    let serving = std::thread::spawn(|| serving.wait(|| ()));
    assert_eq!(read(&mut bed.client(), 40 * MIB, 5), b"dirty");
    stopper.stop();
    serving.join().expect("no panic").expect("in order");
}

/// The operator may use the files that are written last, too.
#[test]
fn who_asks_for_the_end_is_answered_after_the_last_word() {
    let bed = Bed::new();
    let serving = bed.try_serve(false).expect("served");
    let last = bed.path("last");
    let word = last.clone();
    let serving = std::thread::spawn(|| {
        serving.wait(move || {
            std::thread::sleep(std::time::Duration::from_millis(100));
            std::fs::write(word, "said").expect("written");
        })
    });
    assert_eq!(bed.ask(&Request::Stop), Answer::Done(()));
    assert!(last.exists());
    serving.join().expect("no panic").expect("in order");
    let (ssd, disk) = bed.devices();
    assert!(check(&ssd, Some(&disk), &mut |_, _| {}).expect("sound").clean);
}

#[test]
fn a_detached_disk_has_everything() {
    let bed = Bed::new();
    let serving = bed.serve();
    let mut client = bed.client();
    for block in 0..300_u64 {
        write(&mut client, block * 8192, &[(block % 255) as u8 + 1; 100]);
    }
    drop(client);
    assert_eq!(bed.ask(&Request::Detach), Answer::Done(()));
    serving.join().expect("no panic").expect("in order");
    assert_eq!(
        unserved::superblock(&bed.path("ssd")).expect("read"),
        None,
        "it is no cache any more"
    );
    for block in 0..300_u64 {
        assert_eq!(bed.disk(block * 8192, 100), [(block % 255) as u8 + 1; 100]);
    }
    let nobody = ask(&bed.path("control"), &mut |_| {}, &Request::Status);
    assert!(matches!(nobody, Err(ControlError::NotServed(_))));
}

/// Otherwise writing clients could prevent its end.
#[test]
fn a_mode_that_is_set_makes_nothing_dirty_of_a_cache_that_is_detached() {
    let bed = Bed::new();
    let serving = bed.serve();
    let mut client = bed.client();
    // Enough work for a while.
    for block in 0..4_000_u64 {
        write(&mut client, block * 16_384, &[1; 4096]);
    }
    let mut asked = 0;
    let mut set = |answer: &Answer| {
        if matches!(answer, Answer::DirtyBlocks(_)) {
            asked += 1;
        }
        if asked == 1 {
            let what = vec!["mode=write-back".to_owned()];
            assert_eq!(bed.ask(&Request::Set { what }), Answer::Done(()));
            write(&mut client, 63 * MIB + 4096, &[2; 4096]);
            assert_eq!(bed.disk(63 * MIB + 4096, 4096), [2; 4096]);
        }
    };
    let detached = ask(&bed.path("control"), &mut set, &Request::Detach).expect("answered");
    assert_eq!(detached, Answer::Done(()));
    serving.join().expect("no panic").expect("in order");
}

#[test]
fn export_empties_a_cache_that_is_not_served() {
    let bed = Bed::new();
    let serving = bed.serve();
    write(&mut bed.client(), 9 * MIB, b"only in the cache");
    bed.stop(serving);
    bed.export(false).expect("done");
    assert_eq!(bed.disk(9 * MIB, 17), b"only in the cache");
    let (ssd, disk) = bed.devices();
    let findings = check(&ssd, Some(&disk), &mut |_, _| {}).expect("sound");
    assert!(findings.dirty_blocks == 0 && findings.clean_blocks > 0 && findings.is_sound());
}

/// Another cache and its disk, with a block that only the cache has.
fn another(bed: &Bed) -> (PathBuf, Vec<u8>) {
    let other = Bed::new();
    let serving = other.serve();
    write(&mut other.client(), MIB, b"only this one has it");
    other.stop(serving);
    let (here, bytes) = (bed.path("other"), std::fs::read(other.path("ssd")).expect("read"));
    std::fs::write(&here, &bytes).expect("written");
    (here, bytes)
}

/// Whatever is at the paths now: the commands refer to the opened files.
#[test]
fn stop_and_detach_keep_to_the_files_that_are_served() {
    for request in [Request::Stop, Request::Detach] {
        let bed = Bed::new();
        let (other, bytes) = another(&bed);
        let serving = bed.serve();
        write(&mut bed.client(), MIB, b"mine");
        std::fs::rename(bed.path("ssd"), bed.path("moved")).expect("moved");
        std::fs::rename(&other, bed.path("ssd")).expect("moved");
        std::fs::rename(bed.path("disk"), bed.path("moved-disk")).expect("moved");
        std::fs::write(bed.path("disk"), vec![7; 64 << 20]).expect("written");
        assert_eq!(bed.ask(&request), Answer::Done(()), "{request:?}");
        serving.join().expect("no panic").expect("in order");
        assert!(std::fs::read(bed.path("ssd")).expect("read") == bytes, "the other is untouched");
        std::fs::rename(bed.path("moved"), bed.path("ssd")).expect("moved");
        std::fs::rename(bed.path("moved-disk"), bed.path("disk")).expect("moved");
        if request == Request::Detach {
            assert_eq!(
                unserved::superblock(&bed.path("ssd")).expect("read"),
                None,
                "this one is ended"
            );
            assert_eq!(bed.disk(MIB, 4), b"mine");
            continue;
        }
        let (ssd, disk) = bed.devices();
        let findings = check(&ssd, Some(&disk), &mut |_, _| {}).expect("sound");
        assert!(findings.clean && findings.disk_changed() == Some(false), "{findings:?}");
    }
}

#[test]
fn a_copy_of_a_cache_is_not_served_beside_it() {
    let bed = Bed::new();
    for (name, copy) in [("ssd", "ssd2"), ("disk", "disk2")] {
        std::fs::copy(bed.path(name), bed.path(copy)).expect("copied");
    }
    let serving = bed.serve();
    let mut options = bed.options(true);
    (options.caches[0].ssd, options.caches[0].disk) = (bed.path("ssd2"), bed.path("disk2"));
    let refused = Serving::start(options, &Registry::default(), |_| {}).err().expect("refused");
    let told = format!("cache {} is served already, on another SSD", bed.uuid);
    assert!(refused.to_string().starts_with(&told), "{refused}");
    bed.stop(serving);
}

/// What is missing is missing and told each time: nothing on the SSD is written.
#[test]
fn what_is_left_of_a_damaged_cache_is_salvaged() {
    const BLOCKS: u64 = 600;
    let newest = |block: u64| [block as u8 ^ 0x5A; 4096];
    for bed in [Bed::new(), Bed::over_zoned()] {
        let serving = bed.serve();
        // (Not one request: long runs bypass the cache.)
        let mut client = bed.client();
        (0..BLOCKS).rev().for_each(|block| write(&mut client, block * 4096, &newest(block)));
        drop(client);
        bed.stop(serving);
        let (ssd, disk) = open_pair(&bed.path("ssd"), &bed.path("disk")).expect("opened");
        let found = recover(&mut &ssd).expect("a cache");
        assert_eq!(found.dirty_blocks(), BLOCKS);
        let (layout, live) = (found.journal.layout(), found.live().collect::<Vec<_>>());
        // The last frame in use is damaged, and the page of the table that describes the first ones.
        let &(damaged, last) = live.iter().max_by_key(|(_, frame)| frame.0).expect("dirty");
        let place = live.iter().map(|(_, frame)| frame.0).min().expect("dirty") / ENTRIES as u32;
        let on_page = |frame: Frame| frame.0 / ENTRIES as u32 == place;
        assert!(!on_page(last), "several pages are in use");
        for copy in Copy::BOTH {
            ssd.write(layout.table_page(place, copy), &[9; 4096]).expect("written");
        }
        ssd.write(layout.frame_page(last), &[9; 4096]).expect("written");
        drop((ssd, disk));
        let before = std::fs::read(bed.path("ssd")).expect("read");
        let refused = bed.export(false).expect_err("it is damaged").to_string();
        assert!(refused.contains("`shingle store export --salvage`"), "{refused}");
        let salvaged = |trust_disk| {
            salvage(&bed.path("ssd"), &bed.path("disk"), trust_disk, &|_| {}, &mut |_| {})
        };
        let told = salvaged(false).expect("salvaged");
        assert_eq!(std::fs::read(bed.path("ssd")).expect("read"), before, "it is only read");
        let saved: Vec<Block> = live
            .iter()
            .filter(|(block, frame)| !on_page(*frame) && *block != damaged)
            .map(|(block, _)| *block)
            .collect();
        assert!(!told.is_complete());
        assert_eq!((told.written_blocks, &told.lost), (saved.len() as u64, &vec![damaged]));
        let [page] = told.lost_pages[..] else { panic!("one page: {told:?}") };
        assert_eq!((page.place, page.unknown_frames), (place, ENTRIES));
        let (_ssd, disk) = open_pair(&bed.path("ssd"), &bed.path("disk")).expect("opened");
        for block in (0..BLOCKS).map(Block) {
            let mut read = [[1; 4096]];
            disk.read_blocks(block, &mut read).expect("read");
            let has = if saved.contains(&block) { newest(block.0) } else { [0; 4096] };
            assert!(read[0] == has, "{block:?}");
        }
        drop((_ssd, disk));
        // The disk has changed since its cache was shut down.
        let refused = salvaged(false).expect_err("distrusted");
        assert!(matches!(refused, ServeError::Distrusted(_)), "{refused}");
        assert_eq!(salvaged(true).expect("salvaged"), told);
    }
}

/// A deleted file loses its contents when it is closed.
#[test]
fn what_would_go_with_a_deleted_file_is_said_before_the_end() {
    let bed = Bed::new();
    let serving = bed.serve();
    write(&mut bed.client(), MIB, b"only in the cache");
    std::fs::remove_file(bed.path("ssd")).expect("removed");
    let Answer::Failed(why) = bed.ask(&Request::Stop) else { panic!("it is lost") };
    assert!(why.contains("ssd: it was deleted") && why.contains("(blocks: 1)"), "{why}");
    assert_eq!(bed.ask(&Request::Flush), Answer::Done(()));
    bed.stop(serving);
    assert_eq!(bed.disk(MIB, 17), b"only in the cache");

    let bed = Bed::new();
    let (to, notices) = std::sync::mpsc::channel();
    let to = std::sync::Mutex::new(to);
    let tell = move |notice: Notice| drop(to.lock().expect("no panic").send(notice.to_string()));
    let serving = Serving::start(bed.options(false), &Registry::default(), tell);
    let serving = serving.expect("it is served");
    let stopper = serving.stopper();
    let serving = std::thread::spawn(|| serving.wait(|| ()));
    bed.disk_is_deleted();
    stopper.stop();
    serving.join().expect("no panic").expect("in order");
    let lost = "disk: it was deleted while it was served, and all that it held is lost";
    assert!(notices.iter().any(|told| told.ends_with(lost)));
}

/// What an operator sees at the name of a device is not what is served.
#[test]
fn devices_whose_names_lead_elsewhere_are_told() {
    for bed in [Bed::new(), Bed::over_zoned()] {
        let serving = bed.serve();
        let told = || -> Vec<String> {
            let told = bed.status().misplaced;
            told.iter().map(|one| format!("{} {}", one.device, one.state)).collect()
        };
        // (A device that does not answer at once is told as it was before.)
        let becomes = |wanted: &[&str]| while told() != wanted {};
        becomes(&[]);
        std::fs::rename(bed.path("ssd"), bed.path("old")).expect("renamed");
        becomes(&["SSD gone"]);
        File::create(bed.path("ssd")).expect("made");
        std::fs::rename(bed.path("disk"), bed.path("old disk")).expect("renamed");
        becomes(&["SSD taken", "disk gone"]);
        let Answer::Measures(measures) = bed.ask(&Request::Measures) else { panic!("asked") };
        assert_eq!(measures.misplaced, bed.status().misplaced);
        std::fs::rename(bed.path("old disk"), bed.path("disk")).expect("renamed");
        std::fs::remove_file(bed.path("old")).expect("removed");
        becomes(&["SSD deleted"]);
        let told = bed.status().misplaced[0].to_string();
        assert!(told.contains("ssd: ") && told.contains("`shingle store replace`"), "{told}");
        bed.stop(serving);
    }
}

#[test]
fn what_would_go_with_a_deleted_zoned_disk_is_said_likewise() {
    let bed = Bed::over_zoned();
    let serving = bed.try_serve(false).expect("it is served");
    let stopper = serving.stopper();
    let serving = std::thread::spawn(|| serving.wait(|| ()));
    bed.disk_is_deleted();
    stopper.stop();
    serving.join().expect("no panic").expect("in order");
}

/// The disk is marked first. If the SSD then fails or the power is cut, the cache is empty, and can
/// be ended again.
#[test]
fn a_zoned_disk_of_a_cache_does_not_become_an_ssd_by_mistake() {
    let bed = Bed::over_zoned();
    File::create(bed.path("other")).and_then(|file| file.set_len(MIB)).expect("made");
    let (disk, other) = Device::open_pair(&bed.path("disk"), &bed.path("other")).expect("opened");
    let make = |destroy: &[Uuid]| {
        let consent = Consent { destroy, overwrite: true };
        create(&disk, &other, &Settings::new("lru"), &Registry::default(), consent)
    };
    let error = make(&[]).expect_err("it is in the way").to_string();
    assert!(error.contains(&format!("--destroy {}", bed.uuid)), "{error}");
    make(&[bed.uuid]).expect("typed");
}

#[test]
fn an_end_that_was_cut_off_is_done_once_more() {
    for bed in [Bed::new(), Bed::over_zoned()] {
        cut_off_at_the_end(&bed);
        bed.detach(false).expect("ended");
        assert!(unserved::superblock(&bed.path("ssd")).expect("read").is_none());
    }
}

fn cut_off_at_the_end(bed: &Bed) {
    let (ssd, disk) = open_pair(&bed.path("ssd"), &bed.path("disk")).expect("opened");
    let (superblock, worse) = read_superblock(&ssd).expect("a cache");
    write_superblock(&ssd, &superblock.emptied(), worse).expect("written");
    disk.belong_to_none().expect("removed");
}

/// An SSD with other contents is not overwritten.
#[test]
fn a_cache_that_is_another_by_now_is_not_ended() {
    let bed = Bed::new();
    let (_, bytes) = another(&bed);
    let serving = bed.serve();
    let ssd = File::options().write(true).open(bed.path("ssd")).expect("there");
    ssd.write_all_at(&bytes[..8192], 0).expect("written");
    assert!(matches!(bed.ask(&Request::Detach), Answer::Failed(_)));
    serving.join().expect("no panic").expect_err("it is not the cache that was served");
    let now = std::fs::read(bed.path("ssd")).expect("read");
    assert!(now[..8192] == bytes[..8192], "the other cache's superblocks stand");
}

/// Panics on the store's thread when this byte is requested.
struct PanicsAt(u64);

impl Observer for PanicsAt {
    fn event(&mut self, event: &Event) {
        assert!(!matches!(event, Event::Request(request) if request.offset == self.0), "a bug");
    }
}

/// A recording has one policy and one cache. A recording that has ended because its disk was full
/// prevents nothing.
#[test]
fn what_is_recorded_changes_when_the_recording_has_ended() {
    let bed = Bed::new();
    let recording = Arc::new(Mutex::new(Recording::default()));
    let record = |_: &Settings, _: u32, _: u64| Ok(Shared::new(PanicsAt(END)));
    let extra = ServeOptions {
        record: Some(&record),
        recording: Some(recording.clone()),
        ..ServeOptions::default()
    };
    let serving = Serving::start_with(bed.options(false), &Registry::default(), extra, |_| {});
    let serving = serving.expect("it is served");
    let serving = std::thread::spawn(|| serving.wait(|| ()));
    File::create(bed.path("other")).and_then(|file| file.set_len(24 * MIB)).expect("made");
    let replace = Request::Replace {
        with: bed.path("other"),
        destroy: vec![],
        overwrite: false,
        accept_lost: false,
    };
    let requests = [Request::Set { what: vec!["policy=lru".to_owned()] }, replace];
    for request in &requests {
        let Answer::Failed(why) = bed.ask(request) else { panic!("it is recorded") };
        assert!(why.contains("it is being recorded"), "{why}");
    }
    recording.lock().expect("no panic").ended = Some("no room".to_owned());
    for request in &requests {
        let answer = bed.ask(request);
        assert!(matches!(answer, Answer::Done(()) | Answer::Said(_)), "{answer:?}");
    }
    assert_eq!(bed.status().policy, "lru");
    bed.stop(serving);
}

/// The offset at which a request ends the store.
const END: u64 = 60 * MIB;

/// A cache that is served until [`END`] is requested.
fn mortal(bed: &Bed) -> JoinHandle<Result<(), ServeError>> {
    let record = |_: &Settings, _: u32, _: u64| Ok(Shared::new(PanicsAt(END)));
    let options = bed.options(false);
    let extra = ServeOptions { record: Some(&record), ..ServeOptions::default() };
    let serving = Serving::start_with(options, &Registry::default(), extra, |_| {});
    let serving = serving.expect("it is served");
    std::thread::spawn(|| serving.wait(|| ()))
}

/// A cache as a killed process leaves it, with a clean block at 8 MiB and a dirty one at 9 MiB that
/// was intentionally not destaged.
fn killed(bed: &Bed) {
    let serving = mortal(bed);
    let mut client = bed.client();
    write(&mut client, 8 * MIB, b"on both");
    assert_eq!(bed.ask(&Request::Flush), Answer::Done(()));
    write(&mut client, 9 * MIB, b"only in the cache");
    // The commit of this record includes that of the clean block.
    client.flush().expect("connected").expect("flushed");
    drop(client.write(END, b"the end", 0));
    serving.join().expect("no panic").expect_err("it has failed");
    bed.wait_until_free();
}

fn write_raw(bed: &Bed, offset: u64, data: &[u8]) {
    let disk = File::options().write(true).open(bed.path("disk")).expect("there");
    disk.write_all_at(data, offset).expect("written");
}

fn refused(outcome: Result<impl Sized, ServeError>) -> Distrusted {
    match outcome.map(drop) {
        Err(ServeError::Distrusted(why)) => why,
        other => panic!("{other:?}"),
    }
}

/// Applies to every command that writes the contents of a cache to a disk.
#[test]
fn no_command_writes_to_a_disk_that_is_not_the_one_of_the_cache() {
    let bed = Bed::new();
    let serving = bed.serve();
    write(&mut bed.client(), 9 * MIB, b"only in the cache");
    bed.stop(serving);
    std::fs::rename(bed.path("disk"), bed.path("right")).expect("moved");
    std::fs::write(bed.path("disk"), vec![7; 64 << 20]).expect("written");
    let ssd = std::fs::read(bed.path("ssd")).expect("read");
    for outcome in [bed.try_serve(false).map(drop), bed.export(false), bed.detach(false)] {
        let why = refused(outcome);
        assert_eq!(why.doubt, Doubt::Changed);
    }
    assert!(std::fs::read(bed.path("ssd")).expect("read") == ssd, "nothing was changed");
    assert!(std::fs::read(bed.path("disk")).expect("read").iter().all(|&byte| byte == 7));
    std::fs::rename(bed.path("right"), bed.path("disk")).expect("moved");
    bed.detach(false).expect("the right one");
    assert_eq!(bed.disk(9 * MIB, 17), b"only in the cache");
    assert_eq!(unserved::superblock(&bed.path("ssd")).expect("read"), None);
    let mark = Mark::of(&bed.devices().1).expect("told");
    assert_eq!(mark.and_then(|mark| mark.cache(None)), None, "the disk belongs to no cache");
}

#[test]
fn after_a_crash_a_disk_that_was_written_without_its_cache_is_noticed() {
    let bed = Bed::new();
    killed(&bed);
    let serving = bed.serve();
    assert_eq!(read(&mut bed.client(), 8 * MIB, 7), b"on both");
    bed.stop(serving);

    let bed = Bed::new();
    killed(&bed);
    write_raw(&bed, 8 * MIB, b"mounted");
    for outcome in [bed.try_serve(false).map(drop), bed.export(false), bed.detach(false)] {
        let why = refused(outcome);
        let Doubt::Differs { blocks, .. } = &why.doubt else { panic!("{why}") };
        assert_eq!(blocks.as_slice(), [Block(2048)]);
        let said = why.to_string();
        let places = ["2048", "--trust-disk", "--destroy"].map(|word| said.find(word));
        assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{said}");
    }
    let (ssd, disk) = bed.devices();
    let findings = check(&ssd, Some(&disk), &mut |_, _| {}).expect("checked");
    assert!(findings.disk_changed() == Some(true) && !findings.is_sound());
    drop((ssd, disk));
    bed.export(true).expect("trusted");
    assert_eq!(bed.disk(9 * MIB, 17), b"only in the cache");
}

/// A crash, no clean blocks to compare, and a copy of the disk, which has no mark.
#[test]
fn who_cannot_be_told_which_disk_it_is_is_warned() {
    let bed = Bed::new();
    let serving = mortal(&bed);
    let mut client = bed.client();
    write(&mut client, 9 * MIB, b"only in the cache");
    client.flush().expect("connected").expect("flushed");
    drop(client.write(END, b"the end", 0));
    serving.join().expect("no panic").expect_err("it has failed");
    bed.wait_until_free();
    let known = |bed: &Bed| {
        let (ssd, disk) = bed.devices();
        check(&ssd, Some(&disk), &mut |_, _| {}).expect("checked").disk.expect("there is one")
    };
    let is_marked = Mark::of(&bed.devices().1).expect("told").is_some();
    let of_the_right_one = if is_marked { Known::Nothing { compared: 0 } } else { Known::Unproven };
    assert_eq!(known(&bed), of_the_right_one);
    std::fs::remove_file(bed.path("disk")).expect("removed");
    std::fs::write(bed.path("disk"), vec![7; 64 << 20]).expect("written");
    assert_eq!(known(&bed), Known::Unproven);
    let warned = RefCell::new(Vec::new());
    let warn = &|text: &str| warned.borrow_mut().push(text.to_owned());
    let (ssd, disk, registry) = (&bed.path("ssd"), &bed.path("disk"), &Registry::default());
    let offline = Offline { ssd, disk, trust_disk: false, registry, tell: None, warn };
    export(offline, &mut |_| {}).expect("done");
    let warned = warned.into_inner();
    assert_eq!(warned.len(), 1, "{warned:?}");
    assert!(warned[0].contains("dirty blocks that will be written to it: 1"), "{warned:?}");
}

#[test]
fn an_older_copy_of_a_cache_is_noticed_where_the_disk_can_say_so() {
    let bed = Bed::new();
    let serving = bed.serve();
    write(&mut bed.client(), 9 * MIB, b"older");
    bed.stop(serving);
    let older = std::fs::read(bed.path("ssd")).expect("read");
    let serving = bed.serve();
    write(&mut bed.client(), 9 * MIB, b"newer");
    bed.stop(serving);
    let newer = std::fs::read(bed.path("ssd")).expect("read");
    std::fs::write(bed.path("ssd"), older).expect("written");
    if Mark::of(&bed.devices().1).expect("told").is_none() {
        return println!("SKIPPED: this file system keeps no attributes of users");
    }
    let why = refused(bed.try_serve(false));
    assert!(matches!(why.doubt, Doubt::Later { disk, cache } if disk > cache), "{why}");
    std::fs::write(bed.path("ssd"), newer).expect("written");
    let serving = bed.serve();
    assert_eq!(read(&mut bed.client(), 9 * MIB, 5), b"newer");
    bed.stop(serving);
    // Another cache takes the disk over, and this one may no longer use it.
    std::fs::rename(bed.path("ssd"), bed.path("first")).expect("moved");
    File::create(bed.path("ssd")).and_then(|file| file.set_len(24 * MIB)).expect("made");
    let (ssd, disk) = bed.devices();
    let first = Uuid::from_bytes(Mark::of(&disk).expect("told").expect("it has one").uuid);
    let consent = Consent { destroy: &[first], ..Consent::default() };
    let made = create(&ssd, &disk, &Settings::new("lru"), &Registry::default(), consent);
    let uuid = Uuid::from_bytes(made.expect("made").uuid);
    drop((ssd, disk));
    std::fs::rename(bed.path("first"), bed.path("ssd")).expect("moved");
    assert_eq!(refused(bed.export(false)).doubt, Doubt::Another(uuid));
    bed.detach(true).expect("trusted");
    assert_eq!(bed.disk(9 * MIB, 5), b"newer");
}

/// Its dirty blocks have been destaged since, and are older than those of the disk.
#[test]
fn a_copy_of_a_cache_that_was_made_while_it_was_served_is_noticed_after_its_end() {
    for bed in [Bed::new(), Bed::over_zoned()] {
        let serving = bed.serve();
        let mut client = bed.client();
        write(&mut client, 9 * MIB, b"older");
        client.flush().expect("connected").expect("flushed");
        let copy = std::fs::read(bed.path("ssd")).expect("read");
        write(&mut client, 9 * MIB, b"newer");
        client.disconnect().expect("connected");
        assert!(matches!(bed.ask(&Request::Flush), Answer::Done(())));
        bed.stop(serving);
        let (ssd, disk) = open_pair(&bed.path("ssd"), &bed.path("disk")).expect("opened");
        if disk.mark().expect("told").is_none() {
            return println!("SKIPPED: this file system keeps no attributes of users");
        }
        drop((ssd, disk));
        let newer = std::fs::read(bed.path("ssd")).expect("read");
        std::fs::write(bed.path("ssd"), copy).expect("written");
        for outcome in [bed.try_serve(false).map(drop), bed.export(false), bed.detach(false)] {
            let why = refused(outcome);
            assert!(matches!(why.doubt, Doubt::Later { disk, cache } if disk > cache), "{why}");
        }
        std::fs::write(bed.path("ssd"), newer).expect("written");
        let serving = bed.serve();
        assert_eq!(read(&mut bed.client(), 9 * MIB, 5), b"newer");
        bed.stop(serving);
    }
}

/// The disk has everything, and may have been written alone since.
#[test]
fn a_copy_of_a_cache_that_was_detached_is_noticed() {
    let bed = Bed::new();
    let serving = bed.serve();
    write(&mut bed.client(), 9 * MIB, b"newest");
    bed.stop(serving);
    let copy = std::fs::read(bed.path("ssd")).expect("read");
    bed.detach(false).expect("nothing is in the way");
    let (ssd, disk) = bed.devices();
    if Mark::of(&disk).expect("told").is_none() {
        return println!("SKIPPED: this file system keeps no attributes of users");
    }
    drop((ssd, disk));
    std::fs::write(bed.path("ssd"), copy).expect("written");
    for outcome in [bed.try_serve(false).map(drop), bed.export(false), bed.detach(false)] {
        assert_eq!(refused(outcome).doubt, Doubt::Alone);
    }
    assert_eq!(bed.disk(9 * MIB, 6), b"newest");
    // A cache is created for it without further consent.
    File::create(bed.path("ssd")).and_then(|file| file.set_len(24 * MIB)).expect("made");
    let (ssd, disk) = bed.devices();
    let (registry, consent) = (Registry::default(), Consent::default());
    create(&ssd, &disk, &Settings::new("lru"), &registry, consent).expect("it belongs to none");
}

/// If all compared samples and blocks are equal, nothing else detects it.
#[test]
fn an_older_copy_of_the_disk_is_noticed_likewise() {
    let bed = Bed::new();
    bed.stop(bed.serve());
    let Some(older) = Mark::of(&bed.devices().1).expect("told") else {
        return println!("SKIPPED: this file system keeps no attributes of users");
    };
    let is_refused = || {
        let (ssd, disk) = bed.devices();
        let newer = Mark::of(&disk).expect("told").expect("it has one");
        let (superblock, _) = read_superblock(&ssd).expect("a cache");
        assert!(older.write_to(&disk).expect("left"));
        drop((ssd, disk));
        for why in [refused(bed.try_serve(false)), refused(bed.export(false))] {
            let Doubt::Earlier { disk, cache } = why.doubt else { panic!("{why}") };
            assert_eq!((disk, cache), (older.edition, superblock.session));
        }
        newer.write_to(&bed.devices().1).expect("left");
    };
    bed.stop(bed.serve());
    is_refused();
    killed(&bed);
    is_refused();
    bed.stop(bed.serve());
}

/// The server died after it had told the old SSD and made the new one, but before it used that.
#[test]
fn an_ssd_that_was_to_take_the_place_of_one_that_is_used_is_noticed_likewise() {
    let bed = Bed::new();
    let (ssd, disk) = bed.devices();
    let (superblock, worse) = read_superblock(&ssd).expect("there");
    let told = superblock.emptied();
    write_superblock(&ssd, &told, worse).expect("written");
    File::create(bed.path("new")).and_then(|file| file.set_len(40 * MIB)).expect("made");
    let new = Device::open(&bed.path("new")).expect("opened");
    let Superblock { uuid, fingerprint, settings, .. } = told;
    let cache = NewCache { uuid, edition: told.edition + 2, fingerprint, settings };
    shingle_store::store::format::format(&new, &disk, &cache).expect("made");
    let mut found = recover(&mut &new).expect("a cache");
    for write in found.journal.mark_in_use() {
        new.write(write.page, &write.bytes[..]).expect("written");
    }
    drop((ssd, disk, new));
    let serving = bed.serve();
    write(&mut bed.client(), 9 * MIB, b"newer");
    bed.stop(serving);
    if Mark::of(&bed.devices().1).expect("told").is_none() {
        return println!("SKIPPED: this file system keeps no attributes of users");
    }
    std::fs::rename(bed.path("ssd"), bed.path("old")).expect("moved");
    std::fs::rename(bed.path("new"), bed.path("ssd")).expect("moved");
    let why = refused(bed.try_serve(false));
    assert!(matches!(why.doubt, Doubt::Later { disk, cache } if disk > cache), "{why}");
}

/// Neither the server nor its clients wait for a store that has ended.
#[test]
fn a_store_that_fails_ends_the_server() {
    let bed = Bed::new();
    let serving = mortal(&bed);
    let mut client = bed.client();
    assert!(!matches!(client.write(END, b"the end", 0), Ok(Ok(()))), "it is not done");
    let error = serving.join().expect("no panic").expect_err("it has failed");
    assert!(matches!(error, ServeError::Failed(_)), "{error}");
    assert!(error.to_string().contains("panicked"), "{error}");
    assert!(client.flush().is_err(), "it is cut off");
    bed.wait_until_free();
    let serving = bed.serve();
    bed.stop(serving);
}

#[test]
fn a_cache_that_is_not_served_says_what_it_holds() {
    let bed = Bed::new();
    let serving = bed.serve();
    write(&mut bed.client(), 9 * MIB, b"only in the cache");
    let set = bed.ask(&Request::Set { what: vec!["sac.zone=40M".to_owned()] });
    assert_eq!(set, Answer::Done(()));
    let held = unserved::status(&bed.path("ssd"));
    assert!(matches!(held, Err(UnservedError::Held(_))), "{held:?}");
    let served = bed.status();
    assert!(served.served && served.clean_shutdown.is_none());
    bed.stop(serving);
    let before = std::fs::read(bed.path("ssd")).expect("read");
    let status = unserved::status(&bed.path("ssd")).expect("said");
    assert!(std::fs::read(bed.path("ssd")).expect("read") == before, "it is only read");
    assert!(!status.served && status.edition > served.edition);
    assert_eq!(status.dirty_blocks + status.clean_blocks, 1);
    assert_eq!((status.clean_shutdown, status.fingerprint_known), (Some(true), Some(true)));
    assert_eq!((status.disk_bytes, &status.uuid), (64 * MIB, &served.uuid));
    let settings =
        |status: &Status| (status.policy.clone(), status.mode.clone(), status.settings.clone());
    assert_eq!(settings(&status), settings(&served));
    let told = status.to_settings().expect("settings").all(&Registry::default()).expect("known");
    let zone = told.iter().find(|setting| setting.name == "sac.zone").expect("there");
    assert_eq!((zone.value.as_str(), zone.is_default), ("10240b", false));
}

/// Several caches in one process, as exports with their names.
mod several {
    use std::sync::Mutex;
    use std::sync::mpsc::{Receiver, Sender, channel};
    use std::time::{Duration, Instant};

    use shingle_store::store::serve::{Changes, Notice, Record, Roster, Stopper};

    use super::*;

    /// Several beds; the first has the socket of clients.
    struct Beds {
        beds: Vec<Bed>,
        notices: Mutex<Receiver<Notice>>,
        stopper: Stopper,
        roster: Roster,
        serving: Option<JoinHandle<Result<(), ServeError>>>,
    }

    fn cache(bed: &Bed, name: &str) -> CacheOptions {
        let [cache] = &bed.options(false).caches[..] else { unreachable!() };
        CacheOptions { name: name.to_owned(), ..cache.clone() }
    }

    impl Beds {
        /// `count` beds, of which the first two are served as `one` and `two`.
        fn new(count: usize) -> Beds {
            Beds::recorded(count, None)
        }

        /// The same; `record` supplies an observer for each of the two.
        fn recorded(count: usize, record: Option<Record<'_>>) -> Beds {
            let beds: Vec<Bed> = (0..count).map(|_| Bed::new()).collect();
            let (to, notices) = channel();
            let to = Mutex::new(to);
            let options = Options {
                caches: vec![cache(&beds[0], "one"), cache(&beds[1], "two")],
                addresses: vec![Address::Unix(beds[0].path("nbd"))],
                counters: Some(beds[0].path("counters")),
                ..Options::default()
            };
            let tell = move |notice| drop(to.lock().expect("no panic").send(notice));
            let extra = ServeOptions { record, ..ServeOptions::default() };
            let serving = Serving::start_with(options, &Registry::default(), extra, tell);
            let serving = serving.expect("they are served");
            let (stopper, roster) = (serving.stopper(), serving.roster());
            let serving = Some(std::thread::spawn(|| serving.wait(|| ())));
            Beds { beds, notices: Mutex::new(notices), stopper, roster, serving }
        }

        fn client(&self, export: &str) -> Result<Client<UnixStream>, String> {
            let stream = UnixStream::connect(self.beds[0].path("nbd")).expect("connected");
            let options = ClientOptions { export, structured: true, contexts: &[] };
            Client::connect(stream, &options).map_err(|error| error.to_string())
        }

        fn reload(&self, caches: &[CacheOptions]) -> Result<Changes, ServeError> {
            let addresses = vec![Address::Unix(self.beds[0].path("nbd"))];
            self.stopper.reload(Options {
                caches: caches.to_vec(),
                addresses,
                ..Options::default()
            })
        }

        fn told(&self, wanted: &str) {
            let notices = self.notices.lock().expect("no panic");
            while !notices.recv().expect("told").to_string().contains(wanted) {}
        }

        fn end(mut self) -> Result<(), ServeError> {
            self.stopper.stop();
            self.serving.take().expect("served").join().expect("no panic")
        }
    }

    /// Does not return from a request until the other end is dropped.
    struct Stuck(Receiver<()>);

    impl Observer for Stuck {
        fn event(&mut self, event: &Event) {
            if matches!(event, Event::Request(_)) {
                let _ = self.0.recv();
            }
        }
    }

    /// A client that requests the measurements gives up after some seconds, and so does a watchdog.
    #[test]
    fn the_time_that_stores_take_that_hang_does_not_add_up() {
        let names = ["a", "b", "c", "d", "e", "f"];
        let beds = names.map(|_| Bed::new());
        let holds = Mutex::new(Vec::new());
        let record = stuck_while_held(&holds);
        let caches = beds.iter().zip(names).map(|(bed, name)| cache(bed, name)).collect();
        let addresses = vec![Address::Unix(beds[0].path("nbd"))];
        let options = Options { caches, addresses, ..Options::default() };
        let extra = ServeOptions { record: Some(&record), ..ServeOptions::default() };
        let serving = Serving::start_with(options, &Registry::default(), extra, |_| {});
        let serving = serving.expect("they are served");
        let roster = serving.roster();
        assert!(roster.all_are_responsive(Duration::from_secs(20)));
        let clients = names.map(|export| {
            let stream = UnixStream::connect(beds[0].path("nbd")).expect("connected");
            let options = ClientOptions { export, structured: true, contexts: &[] };
            let mut client = Client::connect(stream, &options).expect("there");
            client.send(command::READ, 0, 0, 4096, &[]).expect("sent");
            client
        });
        while roster.all_are_responsive(Duration::from_millis(100)) {}
        while roster.measures().iter().any(|one| one.up) {}
        let begun = Instant::now();
        let told = roster.measures().len();
        let took = begun.elapsed();
        let status = ask(&beds[0].path("control"), &mut |_| {}, &Request::Status);
        holds.lock().expect("no panic").clear();
        drop(clients);
        serving.stopper().stop();
        serving.wait(|| ()).expect("in order");
        assert_eq!(told, names.len());
        assert!(took < Duration::from_secs(6), "{took:?}");
        // An operator gets this error, and the connection is closed.
        let Ok(Answer::Failed(why)) = &status else { panic!("{status:?}") };
        assert!(why.starts_with("its store does not answer"), "{why}");
    }

    /// Makes the observers of caches that are stuck, each until its sender is taken out of `holds`.
    fn stuck_while_held(
        holds: &Mutex<Vec<Sender<()>>>,
    ) -> impl Fn(&Settings, u32, u64) -> std::io::Result<Shared> + '_ {
        |_, _, _| {
            let (hold, stuck) = channel();
            holds.lock().expect("no panic").push(hold);
            Ok(Shared::new(Stuck(stuck)))
        }
    }

    /// Does not return from the first destage until the other end is dropped.
    struct StuckAtDestage(Receiver<()>);

    impl Observer for StuckAtDestage {
        fn event(&mut self, event: &Event) {
            if matches!(event, Event::Begun(..)) {
                let _ = self.0.recv();
            }
        }
    }

    /// The operator who requested the end gets what it waits for, and other requests are served meanwhile.
    #[test]
    fn a_store_that_hangs_at_its_end_holds_up_no_other() {
        let holds = Mutex::new(Vec::new());
        let record = |_: &Settings, _: u32, _: u64| {
            let (hold, stuck) = channel();
            holds.lock().expect("no panic").push(hold);
            Ok(Shared::new(StuckAtDestage(stuck)))
        };
        let beds = Beds::recorded(3, Some(&record));
        let control = beds.beds[0].path("control");
        holds.lock().expect("no panic").truncate(1);

        let mut client = beds.client("one").expect("there");
        write(&mut client, MIB, b"dirty");
        client.disconnect().expect("connected");
        let asks = |request: Request| {
            let (to, answers) = channel();
            let control = control.clone();
            let asked = std::thread::spawn(move || {
                ask(&control, &mut |answer| drop(to.send(answer.clone())), &request)
            });
            (asked, answers)
        };
        let (flush, _) = asks(Request::Flush);
        while !matches!(beds.beds[0].ask(&Request::Status), Answer::Failed(_)) {}
        let (stop, answers) = asks(Request::Stop);
        let first = answers.recv_timeout(Duration::from_secs(60)).expect("told");
        let Answer::Waits(why) = &first else { panic!("{first:?}") };
        assert!(why.starts_with("it is ending, and waits for I/O that is under way"), "{why}");
        let changes = beds.reload(&[cache(&beds.beds[1], "two"), cache(&beds.beds[2], "three")]);
        assert_eq!(changes.expect("it is done").begun, ["three"]);
        beds.stopper.stop();
        for _ in 0..2 {
            beds.told("is served no longer: all is on the disk");
        }
        assert!(!stop.is_finished(), "it hangs still");
        drop(holds);
        assert_eq!(stop.join().expect("no panic").expect("answered"), Answer::Done(()));
        let _ = flush.join();
        beds.end().expect("in order");
    }

    /// They have half a minute, and others who are ended meanwhile do not wait for that.
    #[test]
    fn a_cache_whose_clients_wait_for_answers_holds_up_no_other_end() {
        let holds = Mutex::new(Vec::new());
        let record = stuck_while_held(&holds);
        let beds = Beds::recorded(3, Some(&record));
        // The other one is not stuck.
        holds.lock().expect("no panic").truncate(1);
        let mut client = beds.client("one").expect("there");
        std::thread::scope(|scope| {
            let asked = scope.spawn(move || client.write(0, b"held", 0));
            while !matches!(beds.beds[0].ask(&Request::Status), Answer::Failed(_)) {}
            let stop = scope.spawn(|| beds.beds[0].ask(&Request::Stop));
            while beds.roster.measures().len() > 1 {}
            let wanted = [cache(&beds.beds[2], "three")];
            let changes = beds.reload(&wanted).expect("it is done");
            assert_eq!((changes.begun, changes.ended.len()), (vec!["three".to_owned()], 1));
            holds.lock().expect("no panic").clear();
            asked.join().expect("no panic").expect("not cut off").expect("written");
            assert_eq!(stop.join().expect("no panic"), Answer::Done(()));
        });
        beds.end().expect("in order");
    }

    /// The clients of both have the same half a minute.
    #[test]
    fn exports_that_get_other_names_wait_together_for_their_clients() {
        let holds = Mutex::new(Vec::new());
        let record = stuck_while_held(&holds);
        let beds = Beds::recorded(2, Some(&record));
        // The other one is not stuck.
        holds.lock().expect("no panic").truncate(1);
        let mut held = beds.client("one").expect("there");
        let mut idle = beds.client("two").expect("there");
        let wanted = [cache(&beds.beds[0], "uno"), cache(&beds.beds[1], "due")];
        std::thread::scope(|scope| {
            let asked = scope.spawn(move || held.write(0, b"held", 0));
            while !matches!(beds.beds[0].ask(&Request::Status), Answer::Failed(_)) {}
            let reload = scope.spawn(|| beds.reload(&wanted));
            while idle.flush().is_ok() {}
            holds.lock().expect("no panic").clear();
            asked.join().expect("no panic").expect("not cut off").expect("written");
            let changes = reload.join().expect("no panic").expect("it is done");
            assert_eq!(changes.changed, ["uno", "due"]);
        });
        for name in ["uno", "due"] {
            beds.client(name).expect("there");
        }
        beds.end().expect("in order");
    }

    /// It waits for a device, which another process has locked.
    #[test]
    fn a_reload_that_waits_holds_up_nothing_else() {
        let beds = Beds::new(3);
        let held = File::open(beds.beds[2].path("ssd")).expect("there");
        flock(&held, FlockOperation::LockShared).expect("not locked");
        let wanted = [cache(&beds.beds[0], "one"), cache(&beds.beds[2], "three")];
        std::thread::scope(|scope| {
            let reload = scope.spawn(|| beds.reload(&wanted));
            beds.told("is served no longer: all is on the disk");
            write(&mut beds.client("one").expect("there"), 0, b"goes on");
            flock(&held, FlockOperation::Unlock).expect("it was ours");
            let changes = reload.join().expect("no panic").expect("it is done");
            assert_eq!(changes.to_string(), "begun three; ended two");
        });
        beds.end().expect("in order");
    }

    /// Calls `meanwhile` while a reload hangs in the start of the third cache: its counters are a pipe. The second one is to
    /// end, and those after the third to begin. Returns the outcome of the reload.
    fn while_a_start_hangs(beds: &Beds, meanwhile: impl FnOnce()) -> Result<Changes, ServeError> {
        let [one, _, three, others @ ..] = &beds.beds[..] else { unreachable!() };
        let pipe = one.path("counters").join(format!("{}.json", three.uuid));
        mknodat(CWD, &pipe, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).expect("made");
        let mut wanted = vec![cache(one, "one"), cache(three, "three")];
        wanted.extend(others.iter().map(|bed| cache(bed, "four")));
        std::thread::scope(|scope| {
            let reload = scope.spawn(|| beds.reload(&wanted));
            // (This waits for the reader.)
            let hangs = File::options().write(true).open(&pipe).expect("there");
            meanwhile();
            drop(hangs);
            reload.join().expect("no panic")
        })
    }

    /// What is written at a start may hang, too.
    #[test]
    fn a_reload_that_hangs_as_it_begins_a_cache_holds_up_nothing_else() {
        let beds = Beds::new(4);
        let changes = while_a_start_hangs(&beds, || {
            beds.told("is served no longer: all is on the disk");
            write(&mut beds.client("one").expect("there"), 0, b"goes on");
            while beds.roster.measures().len() < 2 {}
            write(&mut beds.client("four").expect("there"), 0, b"begun");
            // Nor is it waited for by who ends another that has begun with it.
            assert_eq!(beds.beds[3].ask(&Request::Stop), Answer::Done(()));
        });
        assert_eq!(changes.expect("it is done").to_string(), "begun four, three; ended two");
        write(&mut beds.client("three").expect("there"), 0, b"begun");
        beds.end().expect("in order");
    }

    /// It is served by then, or it is told that it is not.
    #[test]
    fn who_ends_a_cache_that_is_about_to_be_served_waits_for_that() {
        let beds = Beds::new(3);
        std::thread::scope(|scope| {
            let mut stop = None;
            let changes = while_a_start_hangs(&beds, || {
                stop = Some(scope.spawn(|| beds.beds[2].ask(&Request::Stop)));
            });
            assert_eq!(changes.expect("it is done").begun, ["three"]);
            let stopped = stop.expect("begun").join().expect("no panic");
            assert_eq!(stopped, Answer::Done(()));
        });
        beds.end().expect("in order");
    }

    /// The next reload does not wait for it: that may be the one that takes it out of the file.
    #[test]
    fn an_export_that_hangs_as_it_begins_is_taken_out_again() {
        let beds = Beds::new(3);
        let changes = while_a_start_hangs(&beds, || {
            beds.told("is served no longer: all is on the disk");
            let changes = beds.reload(&[cache(&beds.beds[0], "one")]).expect("done");
            assert_eq!(changes.to_string(), "nothing has changed");
        });
        assert_eq!(changes.expect("it is done").begun, [""; 0]);
        beds.client("three").expect_err("not wanted any more");
        beds.beds[2].wait_until_free();
        beds.end().expect("in order");
    }

    #[test]
    fn what_a_reload_has_begun_at_the_end_is_ended_in_order() {
        let beds = Beds::new(3);
        let changes = while_a_start_hangs(&beds, || {
            beds.stopper.stop();
            for _ in 0..2 {
                beds.told("is served no longer: all is on the disk");
            }
        });
        changes.expect_err("it has left");
        beds.beds[2].wait_until_free();
        let status = unserved::status(&beds.beds[2].path("ssd")).expect("a cache");
        assert_eq!((status.clean_shutdown, status.fingerprint_known), (Some(true), Some(true)));
        beds.end().expect("in order");
    }

    #[test]
    fn each_export_is_its_own_cache() {
        let beds = Beds::new(2);
        let [mut one, mut two] = ["one", "two"].map(|name| beds.client(name).expect("there"));
        write(&mut one, 0, b"of one");
        write(&mut two, 0, b"of two");
        assert_eq!(one.read(0, 6).expect("connected").expect("read"), b"of one");
        assert!(beds.client("").is_err(), "which?");
        for (bed, name) in beds.beds.iter().zip(["one", "two"]) {
            let status = bed.status();
            assert_eq!((&*status.export, status.connections, status.dirty_blocks), (name, 1, 1));
        }
        // An operator ends one of them; the other continues as the only export.
        assert_eq!(beds.beds[1].ask(&Request::Stop), Answer::Done(()));
        two.flush().expect_err("sent away");
        beds.told("is served no longer");
        write(&mut beds.client("").expect("there is one"), MIB, b"still there");
        beds.beds[1].wait_until_free();
        let Beds { beds: ref found, .. } = beds;
        assert_eq!(found[0].ask(&Request::Detach), Answer::Done(()));
        assert_eq!(found[0].disk(MIB, 11), b"still there");
        let mut beds = beds;
        beds.serving.take().expect("served").join().expect("no panic").expect("in order");
    }

    #[test]
    fn a_reload_touches_what_has_changed_and_nothing_else() {
        let beds = Beds::new(3);
        let [a, b, c] = &beds.beds[..] else { unreachable!() };
        let [mut one, mut two] = ["one", "two"].map(|name| beds.client(name).expect("there"));
        let changes = beds.reload(&[cache(a, "one"), cache(b, "two")]).expect("nothing to do");
        assert_eq!(changes.to_string(), "nothing has changed");
        // Two is removed, three is new, and users of one notice nothing.
        let changes = beds.reload(&[cache(c, "three"), cache(a, "one")]).expect("done");
        assert_eq!(changes.to_string(), "begun three; ended two");
        write(&mut one, 0, b"1");
        two.flush().expect_err("sent away");
        write(&mut beds.client("three").expect("there"), 0, b"3");
        b.wait_until_free();
        // Names are exchanged.
        let changes = beds.reload(&[cache(a, "three"), cache(c, "one")]).expect("done");
        assert_eq!(changes.changed, ["three", "one"]);
        one.flush().expect_err("it has another name");
        let mut three = beds.client("three").expect("there");
        assert_eq!(three.read(0, 1).expect("connected").expect("read"), b"1");
        assert_eq!(a.status().export, "three");
        beds.end().expect("in order");
    }

    /// It may be named as it was when the process began, or as it is now.
    #[test]
    fn after_an_exchange_a_reload_knows_either_ssd() {
        let beds = Beds::new(2);
        let [a, b] = &beds.beds[..] else { unreachable!() };
        let mut one = beds.client("one").expect("there");
        File::create(a.path("other")).and_then(|file| file.set_len(40 * MIB)).expect("made");
        let with = a.path("other");
        let replace =
            Request::Replace { with, destroy: vec![], overwrite: false, accept_lost: false };
        assert!(matches!(a.ask(&replace), Answer::Said(_)));
        let by_now = CacheOptions { ssd: a.path("other"), ..cache(a, "one") };
        for named in [cache(a, "one"), by_now.clone(), by_now, cache(a, "one")] {
            let changes = beds.reload(&[named, cache(b, "two")]).expect("nothing to do");
            assert_eq!(changes.to_string(), "nothing has changed");
            write(&mut one, 0, b"1");
        }
        // The name of the old one leads to the new one from now on, and is that of the next start.
        std::fs::rename(a.path("other"), a.path("ssd")).expect("renamed");
        assert_eq!(a.status().misplaced, []);
        std::fs::rename(a.path("ssd"), a.path("third")).expect("renamed");
        while a.status().misplaced.is_empty() {}
        beds.end().expect("in order");
    }

    #[test]
    fn a_reload_that_cannot_be_changes_nothing() {
        let beds = Beds::new(3);
        let [a, b, c] = &beds.beds[..] else { unreachable!() };
        let mut two = beds.client("two").expect("there");
        let bad_address = Options {
            caches: vec![cache(a, "one")],
            addresses: vec![Address::Unix("/no/such/folder/nbd".into())],
            ..Options::default()
        };
        let other_disk = CacheOptions { disk: c.path("disk"), ..cache(a, "one") };
        for (outcome, told) in [
            (beds.reload(&[cache(a, "one"), cache(c, "one")]), "export `one` is there twice"),
            (beds.reload(&[other_disk]), "export `one`: "),
            (
                beds.reload(&[cache(c, "one")]),
                "export `one` is served, or being opened, with another SSD and disk",
            ),
            (beds.stopper.reload(bad_address), "/no/such/folder/nbd"),
        ] {
            let error = outcome.expect_err(told).to_string();
            assert!(error.contains(told) && !error.contains('\n'), "{error}");
        }
        // Nor are exports ended.
        write(&mut two, 0, b"goes on");
        write(&mut beds.client("one").expect("there"), 0, b"goes on");
        assert_eq!(b.status().connections, 1);
        beds.end().expect("in order");
    }

    /// The names of exports that are not served, and whether they are tried again.
    fn missing(roster: &Roster) -> Vec<(String, bool)> {
        roster.not_served().into_iter().map(|one| (one.export, one.is_tried_again)).collect()
    }

    /// One comes back by itself; of another nobody knows whether it is right by now.
    #[test]
    fn what_cannot_be_opened_is_not_served_and_all_else_is() {
        let mut beds = Beds::new(4);
        let [a, b, c, d] = &beds.beds[..] else { unreachable!() };
        let ssd = std::fs::read(c.path("ssd")).expect("read");
        std::fs::write(c.path("ssd"), vec![7; 1 << 20]).expect("spoilt");
        std::fs::rename(d.path("disk"), d.path("away")).expect("moved");
        let wanted = [cache(a, "one"), cache(b, "two"), cache(c, "three"), cache(d, "four")];
        let changes = beds.reload(&wanted).expect("done");
        assert_eq!(changes.to_string(), "not served (see above) four, three");
        let both = [("four".to_owned(), true), ("three".to_owned(), false)];
        assert_eq!(missing(&beds.roster), both);
        let told = a.ask(&Request::Measures);
        let Answer::Measures(measures) = told else { panic!("{told:?}") };
        assert_eq!(measures.not_served.len(), 2, "whoever asks for one of them is told of all");
        assert!(measures.not_served[0].why.contains("there is no such file"), "{measures:?}");
        // The same at a start.
        beds.stopper.stop();
        let ended = beds.serving.take().expect("served").join().expect("no panic");
        ended.expect("what was served has ended in order");
        let options = Options {
            caches: wanted.to_vec(),
            addresses: vec![Address::Unix(a.path("nbd"))],
            ..Options::default()
        };
        let (to, notices) = channel();
        let to = Mutex::new(to);
        let tell = move |notice| drop(to.lock().expect("no panic").send(notice));
        let serving = Serving::start(options, &Registry::default(), tell).expect("two are served");
        assert_eq!(serving.exports().len(), 2);
        let (stopper, roster) = (serving.stopper(), serving.roster());
        assert_eq!(missing(&roster), both);
        let serving = std::thread::spawn(|| serving.wait(|| ()));
        write(&mut beds.client("one").expect("there"), 0, b"served");
        // Both are as they were, but only a device that was missing is known to be.
        std::fs::write(c.path("ssd"), ssd).expect("mended");
        std::fs::rename(d.path("away"), d.path("disk")).expect("moved back");
        let begun = |name: &str| {
            let is = |notice: &Notice| matches!(notice, Notice::Begun(found, _) if found == name);
            while !is(&notices.recv().expect("told")) {}
        };
        begun("four");
        assert_eq!(missing(&roster), both[1..]);
        let again = Options {
            caches: wanted.to_vec(),
            addresses: vec![Address::Unix(a.path("nbd"))],
            ..Options::default()
        };
        let changes = stopper.reload(again).expect("done");
        assert_eq!(changes.to_string(), "begun three");
        assert_eq!(missing(&roster), []);
        stopper.stop();
        serving.join().expect("no panic").expect("all are served by now");
    }

    /// What was known of the name was of another cache.
    #[test]
    fn a_name_is_of_the_cache_that_is_served_under_it() {
        let beds = Beds::new(3);
        let [a, b, c] = &beds.beds[..] else { unreachable!() };
        std::fs::rename(c.path("disk"), c.path("away")).expect("moved");
        let with_c = [cache(a, "one"), cache(b, "two"), cache(c, "three")];
        beds.reload(&with_c).expect("done");
        assert_eq!(missing(&beds.roster), [("three".to_owned(), true)]);
        let changes = beds.reload(&[cache(a, "one"), cache(b, "three")]).expect("done");
        assert_eq!(changes.changed, ["three"]);
        assert_eq!(missing(&beds.roster), []);
        beds.end().expect("in order");
    }

    /// No operator could reach it.
    #[test]
    fn a_server_that_is_left_without_any_export_ends() {
        let mut beds = Beds::new(3);
        let c = &beds.beds[2];
        std::fs::rename(c.path("disk"), c.path("away")).expect("moved");
        let changes = beds.reload(&[cache(c, "three")]).expect("done");
        assert_eq!(changes.to_string(), "not served (see above) three; ended one, two");
        let ended = beds.serving.take().expect("served").join().expect("no panic");
        assert!(matches!(ended, Err(ServeError::NoneServed)), "{ended:?}");
    }

    #[test]
    fn a_server_of_which_no_export_can_be_opened_ends() {
        let beds = [Bed::new(), Bed::new()];
        let caches = beds.iter().zip(["one", "two"]).map(|(bed, name)| cache(bed, name));
        let options = Options { caches: caches.collect(), ..Options::default() };
        beds.iter().for_each(|bed| std::fs::remove_file(bed.path("ssd")).expect("removed"));
        let (to, notices) = channel();
        let to = Mutex::new(to);
        let tell =
            move |notice: Notice| drop(to.lock().expect("no panic").send(notice.to_string()));
        let error = Serving::start(options, &Registry::default(), tell).map(drop);
        assert!(matches!(error, Err(ServeError::NoneServed)), "{error:?}");
        let told: Vec<_> = notices.iter().collect();
        assert!(
            told.len() == 2 && told.iter().all(|line| line.contains("no such file")),
            "{told:?}"
        );
    }

    /// The lines of the log are found by the name that the file says.
    #[test]
    fn a_device_that_fails_is_told_under_the_name_that_its_export_has_by_now() {
        let (bed, ssd) = in_memory(Bed::new());
        let options = |name| Options {
            caches: vec![cache(&bed, name)],
            addresses: vec![Address::Unix(bed.path("nbd"))],
            ..Options::default()
        };
        let (to, notices) = channel();
        let to = Mutex::new(to);
        let tell = move |notice| drop(to.lock().expect("no panic").send(notice));
        let serving = Serving::start(options("one"), &Registry::default(), tell).expect("served");
        let stopper = serving.stopper();
        let serving = std::thread::spawn(|| serving.wait(|| ()));
        assert_eq!(stopper.reload(options("uno")).expect("done").changed, ["uno"]);
        fcntl_add_seals(&ssd, SealFlags::WRITE).expect("sealed");
        drop(bed.client().write(0, b"refused by the SSD", 0));
        let name = notices.iter().find_map(|notice| match notice {
            Notice::Device(name, _) => Some(name),
            _ => None,
        });
        assert_eq!(name.as_deref(), Some("uno"));
        stopper.stop();
        serving.join().expect("no panic").expect("nothing is dirty on it");
    }

    /// Nothing is changed then, also if one cache of several cannot be opened.
    #[test]
    fn an_address_that_is_taken_is_found_first() {
        let beds = Beds::new(4);
        let [_, _, c, d] = &beds.beds[..] else { unreachable!() };
        let before = std::fs::read(c.path("ssd")).expect("read");
        std::fs::remove_file(d.path("ssd")).expect("removed");
        let options = Options {
            caches: vec![cache(c, "three"), cache(d, "four")],
            addresses: vec![Address::Unix(beds.beds[0].path("nbd"))],
            ..Options::default()
        };
        let error = Serving::start(options, &Registry::default(), |_| {}).map(drop);
        let told = error.expect_err("refused").to_string();
        assert!(told.contains("another server listens there"), "{told}");
        assert!(std::fs::read(c.path("ssd")).expect("read") == before, "it was only read");
        beds.end().expect("in order");
    }

    #[test]
    fn one_that_fails_is_given_up_and_others_go_on() {
        let record = |_: &Settings, _: u32, _: u64| Ok(Shared::new(PanicsAt(END)));
        let beds = Beds::recorded(2, Some(&record));
        let (mut one, mut two) =
            (beds.client("one").expect("there"), beds.client("two").expect("there"));
        assert_eq!(beds.roster.measures().len(), 2);
        drop(one.write(END, b"the end", 0));
        beds.told("the store has failed");
        write(&mut two, 0, b"goes on");
        let left = beds.roster.measures();
        assert_eq!(left.iter().map(|one| &*one.export).collect::<Vec<_>>(), ["two"]);
        assert_eq!(missing(&beds.roster), [("one".to_owned(), false)]);
        let error = beds.end().expect_err("one had failed");
        assert!(matches!(error, ServeError::SomeFailed), "{error}");
    }

    /// Two exports whose SSDs cannot be read at the end.
    struct Spoilt {
        beds: [(Bed, File); 2],
        stopper: Stopper,
        serving: JoinHandle<Result<(), ServeError>>,
        notices: Receiver<Notice>,
    }

    fn spoilt() -> Spoilt {
        let beds = [Bed::new(), Bed::new()].map(in_memory);
        let caches = beds.iter().zip(["one", "two"]).map(|((bed, _), name)| cache(bed, name));
        let options = Options { caches: caches.collect(), ..Options::default() };
        let (to, notices) = channel();
        let to = Mutex::new(to);
        let tell = move |notice| drop(to.lock().expect("no panic").send(notice));
        let serving = Serving::start(options, &Registry::default(), tell).expect("served");
        let stopper = serving.stopper();
        let serving = std::thread::spawn(|| serving.wait(|| ()));
        for (_, ssd) in &beds {
            ssd.set_len(0).expect("cut short");
            fcntl_add_seals(ssd, SealFlags::WRITE | SealFlags::GROW).expect("sealed");
        }
        Spoilt { beds, stopper, serving, notices }
    }

    fn names_of_failed(notices: &Receiver<Notice>) -> Vec<String> {
        let failed = notices.iter().filter_map(|notice| match notice {
            Notice::Failed(name, ..) => Some(name),
            _ => None,
        });
        failed.collect()
    }

    #[test]
    fn each_export_that_does_not_end_in_order_is_named() {
        let Spoilt { beds: _beds, stopper, serving, notices } = spoilt();
        stopper.stop();
        let error = serving.join().expect("no panic").expect_err("they cannot be read");
        assert!(matches!(error, ServeError::SomeFailed), "{error}");
        assert_eq!(names_of_failed(&notices), ["one", "two"]);
    }

    /// By a reload, and by an operator.
    #[test]
    fn an_export_that_did_not_end_in_order_while_others_went_on_counts_at_the_end() {
        for by_reload in [true, false] {
            let Spoilt { beds: [_one, (two, _ssd)], stopper, serving, notices } = spoilt();
            let good = Bed::new();
            let both = [cache(&good, "good"), cache(&two, "two")];
            let wanted =
                |caches: &[CacheOptions]| Options { caches: caches.to_vec(), ..Options::default() };
            stopper.reload(wanted(&both)).expect("it ends in the background");
            if by_reload {
                stopper.reload(wanted(&both[..1])).expect("likewise");
            } else {
                assert!(matches!(two.ask(&Request::Stop), Answer::Failed(_)));
            }
            assert_eq!(good.ask(&Request::Stop), Answer::Done(()));
            let error = serving.join().expect("no panic").expect_err("two had failed");
            assert!(matches!(error, ServeError::SomeFailed), "{error}");
            assert_eq!(names_of_failed(&notices), ["one", "two"]);
        }
    }

    #[test]
    fn counters_go_on_over_restarts_and_never_back() {
        let bed = Bed::new();
        let folder = bed.path("counters");
        let serve = || {
            let options = Options { counters: Some(folder.clone()), ..bed.options(false) };
            let serving = Serving::start(options, &Registry::default(), |_| {});
            let serving = serving.expect("it is served");
            let (stopper, roster) = (serving.stopper(), serving.roster());
            (std::thread::spawn(|| serving.wait(|| ())), stopper, roster)
        };
        let (serving, stopper, roster) = serve();
        let mut client = bed.client();
        write(&mut client, 0, &[1; 8192]);
        client.read(0, 4096).expect("connected").expect("read");
        let [told] = &roster.measures()[..] else { panic!("one cache") };
        assert!(told.up);
        assert_eq!((told.totals.starts, told.totals.requests[1].bytes), (1, 8192));
        assert_eq!((told.totals.counts.read_hits, told.now.dirty_blocks), (1, 2));
        assert_eq!(told.totals.requests[0].times.count(), 1);
        // Reported counters were saved first: a copy of the file, as a process that dies now leaves
        // it.
        let file = folder.join(format!("{}.json", bed.uuid));
        let killed = std::fs::read(&file).expect("saved");
        write(&mut client, 0, &[1; 4096]);
        stopper.stop();
        serving.join().expect("no panic").expect("in order");
        // An orderly end saves everything.
        let (serving, stopper, roster) = serve();
        let totals = roster.measures().remove(0).totals;
        assert_eq!((totals.starts, totals.requests[1].bytes), (2, 8192 + 4096));
        stopper.stop();
        serving.join().expect("no panic").expect("in order");
        std::fs::write(&file, killed).expect("put back");
        let (serving, stopper, roster) = serve();
        let totals = roster.measures().remove(0).totals;
        assert_eq!((totals.starts, totals.requests[1].bytes), (2, 8192), "as was told");
        stopper.stop();
        serving.join().expect("no panic").expect("in order");
    }
}

/// The files that a server needs for TLS, with a self-signed certificate.
fn tls_files(bed: &Bed, name: &str) -> PathBuf {
    let folder = bed.path(name);
    std::fs::create_dir(&folder).expect("made");
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).expect("made");
    let (certificate, key) = (made.cert.pem(), made.signing_key.serialize_pem());
    for (name, text) in
        [("ca-cert.pem", &certificate), ("server-cert.pem", &certificate), ("server-key.pem", &key)]
    {
        std::fs::write(folder.join(name), text).expect("written");
        let mode = std::fs::Permissions::from_mode(0o600);
        std::fs::set_permissions(folder.join(name), mode).expect("set");
    }
    folder
}

/// As with sockets that are bound here: with TLS, everything over TCP is encrypted.
#[test]
fn a_socket_that_was_handed_over_is_encrypted_like_others() {
    let bed = Bed::new();
    let folder = tls_files(&bed, "tls");
    let tls = Tls::new(&folder, Rights::default()).expect("whole");
    let socket = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = socket.local_addr().expect("bound");
    let inherited = vec![Listener::inherit_tcp(socket).expect("of the loopback")];
    let options = Options { tls: Some(Arc::new(tls)), ..bed.options(false) };
    let extra = ServeOptions { inherited, ..ServeOptions::default() };
    let serving = Serving::start_with(options, &Registry::default(), extra, |_| {});
    let serving = serving.expect("it is served");
    let stream = TcpStream::connect(port).expect("connected");
    let options = ClientOptions { export: "", structured: false, contexts: &[] };
    let refused = Client::connect(stream, &options).expect_err("it is in plain text").to_string();
    assert!(refused.contains("TLS has to be begun first"), "{refused}");
    serving.stopper().stop();
    serving.wait(|| ()).expect("in order");
}

/// New or renamed exports must never exist without their new rules.
#[test]
fn a_reload_applies_who_may_open_what() {
    let bed = Bed::new();
    let (folder, other) = (tls_files(&bed, "tls"), tls_files(&bed, "other"));
    let rights = |export: &str| {
        let names = vec!["boss.example".parse().expect("a name")];
        Rights { of: [(export.to_owned(), names)].into(), ..Rights::default() }
    };
    let options = |name: &str, tls: Option<Arc<Tls>>| {
        let mut options = Options { tls, ..bed.options(false) };
        options.caches[0].name = name.to_owned();
        options
    };
    let new = |folder: &Path, rights| Some(Arc::new(Tls::new(folder, rights).expect("whole")));
    let first = new(&folder, rights("home"));
    let serving = Serving::start(options("home", first.clone()), &Registry::default(), |_| {})
        .expect("served");
    let stopper = serving.stopper();
    let waiting = std::thread::spawn(move || serving.wait(|| ()));
    let first = first.expect("given");
    let changes = stopper.reload(options("home", new(&folder, rights("home")))).expect("the same");
    assert!(!changes.certificates && changes.to_string() == "nothing has changed", "{changes}");
    let changes = stopper.reload(options("attic", new(&folder, rights("attic")))).expect("renamed");
    assert!(changes.certificates, "{changes}");
    assert_eq!(*first.rights(), rights("attic"));
    for wrong in [None, new(&other, rights("home"))] {
        let error = stopper.reload(options("attic", wrong)).expect_err("TLS stays").to_string();
        assert!(error.contains("restart"), "{error}");
        assert_eq!(*first.rights(), rights("attic"));
    }
    stopper.stop();
    waiting.join().expect("no panic").expect("in order");
}
