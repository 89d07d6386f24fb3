//! A disk that hangs: reads of what is cached do not wait for it.
//!
//! SSD and disk are block devices, as they are for users. Behind the disk's loop device is a file of FUSE
//! (`nbdfuse`), and behind that an export in this process, which holds writes back for as long as the
//! test wants. Or that file is the disk, and `nbdfuse` is stopped.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use shingle_nbd::client::{Client, ClientOptions};
use shingle_nbd::export::{Command as Asked, Completion, Export};
use shingle_nbd::listen::Address;
use shingle_nbd::memory::Memory;
use shingle_nbd::server::{Limits, Served, Server};
use shingle_testbed::{Loop, root_or_skip, run, skip_if, text};
use tempfile::TempDir;

const MIB: u64 = 1 << 20;
const BLOCK: u64 = 4096;
const DISK_BYTES: u64 = 64 * MIB;
/// How long the disk hangs.
const HANG: Duration = Duration::from_secs(6);
/// A read that waits for what hangs takes longer. What the SSD itself takes is printed, and decides nothing:
/// a machine may be busy, or its files slow.
const READ_MAX: Duration = Duration::from_secs(3);
/// What the kernel knows of a file of FUSE is old after that.
const KNOWN: Duration = Duration::from_millis(1500);
/// Longer than anything here takes, on a machine that is busy.
const PATIENCE: Duration = Duration::from_secs(60);

/// Memory whose writes hang while it is told so.
struct Hanging {
    memory: Memory,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    Well,
    /// It hangs from the next write on.
    Hangs,
    /// A write is there and hangs.
    Held,
}

impl Hanging {
    fn set(&self, state: State) {
        *self.state.lock().expect("no panic") = state;
        self.changed.notify_all();
    }

    /// Waits until it is in such a state.
    fn wait(&self, wanted: State) {
        let state = self.state.lock().expect("no panic");
        let waited = self.changed.wait_timeout_while(state, PATIENCE, |state| *state != wanted);
        assert_eq!(*waited.expect("no panic").0, wanted);
    }

    fn is(&self, state: State) -> bool {
        *self.state.lock().expect("no panic") == state
    }
}

impl Export for Hanging {
    fn size_bytes(&self) -> u64 {
        self.memory.size_bytes()
    }

    fn submit(&self, command: Asked, done: Completion) {
        if matches!(command, Asked::Write { .. }) {
            let mut state = self.state.lock().expect("no panic");
            while *state != State::Well {
                *state = State::Held;
                self.changed.notify_all();
                state = self.changed.wait(state).expect("no panic");
            }
        }
        done.done(self.memory.execute(command));
    }
}

/// Ended from the first to the last.
struct Bed {
    disk: Arc<Hanging>,
    server: Option<Child>,
    loops: Vec<Loop>,
    fuse: Option<Child>,
    _export: Server,
    folder: TempDir,
}

impl Bed {
    /// With a store, which is served.
    fn new(looped: bool) -> Bed {
        let mut bed = Bed::unserved(looped);
        let made = bed.store("create").args(["--policy", "lru"]).status().expect("started");
        assert!(made.success(), "no cache was made");
        let serve = bed.store("serve");
        bed.serve(serve);
        bed
    }

    fn unserved(looped: bool) -> Bed {
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder");
        let (state, changed) = (Mutex::new(State::Well), Condvar::new());
        let memory = Memory::new(usize::try_from(DISK_BYTES).expect("small"));
        let disk = Arc::new(Hanging { memory, state, changed });
        let served = Served {
            name: String::new(),
            description: String::new(),
            minimum_block: 1,
            export: Arc::clone(&disk) as _,
        };
        let address = Address::Unix(folder.path().join("behind"));
        let export = Server::start(&[address], vec![served], Limits::default(), |_| {});
        let export = export.expect("it is served");
        let mut bed =
            Bed { disk, server: None, loops: Vec::new(), fuse: None, _export: export, folder };
        let (file, pid) = (bed.path("file"), bed.path("fuse.pid"));
        File::create(&file).expect("made");
        let url = format!("nbd+unix:///?socket={}", bed.path("behind").display());
        let fuse = Command::new("nbdfuse").arg("-P").arg(&pid).arg(&file).arg(url).spawn();
        bed.fuse = Some(fuse.expect("started"));
        wait_for(|| pid.metadata().is_ok_and(|pid| pid.len() > 0));
        let cache = bed.path("cache");
        File::create(&cache).and_then(|file| file.set_len(24 * MIB)).expect("made");
        let count = if looped { 2 } else { 1 };
        let files = [&cache, &file].into_iter().take(count);
        bed.loops = files.map(|file| Loop::new(file, &[]).expect("made")).collect();
        bed
    }

    fn serve(&mut self, mut command: Command) {
        let mut nbd = std::ffi::OsString::from("unix:");
        nbd.push(self.path("nbd"));
        let server = command.arg("--nbd").arg(nbd).stderr(Stdio::piped()).spawn();
        self.server = Some(server.expect("started"));
        wait_for(|| UnixStream::connect(self.path("nbd")).is_ok());
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn command(&self, of: &str, what: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_shingle"));
        command.env("XDG_RUNTIME_DIR", self.folder.path()).args([of, what, "--quiet"]);
        command
    }

    fn store(&self, what: &str) -> Command {
        let mut command = self.command("store", what);
        command.arg("--cache").arg(self.loops[0].path());
        if matches!(what, "create" | "serve") {
            let file = self.path("file");
            command.arg("--disk").arg(self.loops.get(1).map_or(&*file, Loop::path));
        }
        command.stderr(Stdio::null()).stdout(Stdio::null());
        command
    }

    fn signal_fuse(&self, signal: &str) {
        let fuse = self.fuse.as_ref().expect("it runs").id().to_string();
        run("kill", &[signal, &fuse]).expect("it runs");
    }

    fn client(&self) -> Client<UnixStream> {
        let stream = UnixStream::connect(self.path("nbd")).expect("connected");
        let options = ClientOptions { export: "", structured: true, contexts: &[] };
        Client::connect(stream, &options).expect("a handshake")
    }
}

impl Drop for Bed {
    fn drop(&mut self) {
        // Whatever waits for the disk would not end.
        self.disk.set(State::Well);
        self.signal_fuse("-CONT");
        let end = |child: &mut Option<Child>| {
            if let Some(mut child) = child.take() {
                let _ = child.kill().and_then(|()| child.wait());
            }
        };
        end(&mut self.server);
        self.loops.drain(..).for_each(|device| drop(device.detach()));
        let _ = run("umount", &[text(&self.path("file"))]);
        end(&mut self.fuse);
    }
}

fn wait_for(condition: impl Fn() -> bool) {
    let begun = Instant::now();
    while !condition() {
        assert!(begun.elapsed() < PATIENCE, "waited in vain");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Where the blocks are that are cached: with gaps, as what comes in order bypasses the cache.
fn places() -> impl Iterator<Item = u64> + Clone {
    (0..256).map(|nth| nth * 37 % 256 * 7 * BLOCK)
}

/// Reads cached blocks until `end`; the longest it took, and how many there were.
fn read(client: &mut Client<UnixStream>, end: impl Fn() -> bool) -> (Duration, u64) {
    let (mut longest, mut reads) = (Duration::ZERO, 0);
    for place in places().cycle() {
        if end() {
            break;
        }
        let begun = Instant::now();
        let data = client.read(place, BLOCK as u32).expect("connected").expect("read");
        longest = longest.max(begun.elapsed());
        reads += 1;
        assert_eq!(data[..8], place.to_le_bytes(), "the block at byte {place}");
        std::thread::sleep(Duration::from_millis(1));
    }
    (longest, reads)
}

/// All of it is dirty then.
fn write(client: &mut Client<UnixStream>) {
    for place in places() {
        let block = place.to_le_bytes().repeat(BLOCK as usize / 8);
        client.write(place, &block, 0).expect("connected").expect("written");
    }
}

/// The longest read of a cached block while a destage hangs.
fn hang(bed: &Bed, client: &mut Client<UnixStream>) -> Duration {
    write(client);
    let disk = Arc::clone(&bed.disk);
    disk.set(State::Hangs);
    let mut flush = bed.store("flush").spawn().expect("started");
    disk.wait(State::Held);
    let well = std::thread::spawn({
        let disk = Arc::clone(&disk);
        move || {
            std::thread::sleep(HANG);
            disk.set(State::Well);
        }
    });
    let (longest, reads) = read(client, || disk.is(State::Well));
    println!(
        "a destage hung for {} s: the longest of {reads} reads of cached blocks took {:.1} ms",
        HANG.as_secs(),
        longest.as_secs_f64() * 1000.0
    );
    well.join().expect("no panic");
    assert!(flush.wait().expect("ended").success(), "what hung is destaged in the end");
    longest
}

/// Whoever asks meanwhile is told what is waited for, and so is who reads the log.
fn stop_while_it_hangs(bed: &mut Bed, client: Client<UnixStream>) {
    let place = places().next().expect("a place");
    let mut client = client;
    client.write(place, &[1; BLOCK as usize], 0).expect("connected").expect("written");
    client.disconnect().expect("connected");
    bed.disk.set(State::Hangs);
    let flush = bed.store("flush").stderr(Stdio::piped()).spawn();
    let mut flush = flush.expect("started");
    bed.disk.wait(State::Held);
    let stop = bed.store("stop").stderr(Stdio::piped()).spawn();
    let mut stop = stop.expect("started");
    wait_for(|| {
        let status = bed.store("status").stderr(Stdio::piped()).output().expect("started");
        String::from_utf8_lossy(&status.stderr).contains("it is ending, and waits for I/O")
    });
    let server = bed.server.as_mut().expect("it runs");
    let lines = BufReader::new(server.stderr.take().expect("piped")).lines();
    let mut lines = lines.map(|line| line.expect("text"));
    let told = lines.find(|line| line.contains(" WARN ") && line.contains("waits for I/O"));
    let lines = BufReader::new(stop.stderr.take().expect("piped")).lines();
    let mut lines = lines.map(|line| line.expect("text"));
    let asker = lines.find(|line| line.contains("waits for I/O") && line.contains("disk: 1, "));
    let lines = BufReader::new(flush.stderr.take().expect("piped")).lines();
    let mut lines = lines.map(|line| line.expect("text"));
    let flushing = lines.find(|line| line.contains("the disk takes nothing: it does not answer"));
    bed.disk.set(State::Well);
    assert!(told.is_some(), "the log says so");
    assert!(flushing.is_some(), "who waits for a flush is told");
    assert!(asker.is_some(), "who asked is told");
    assert!(stop.wait().expect("ended").success(), "it ends in order when the disk goes on");
    assert_eq!(server.wait().expect("ended").code(), Some(0));
    let _ = flush.wait();
}

fn can_hang() -> bool {
    let tools =
        run("nbdfuse", &["--version"]).and_then(|_| match Path::new("/dev/fuse").exists() {
            true => Ok(()),
            false => Err("no /dev/fuse".to_owned()),
        });
    root_or_skip("a disk that hangs") && skip_if("a disk that hangs", tools)
}

#[test]
fn a_destage_that_hangs_delays_no_read_of_a_cached_block() {
    if !can_hang() {
        return;
    }
    let mut bed = Bed::new(true);
    let mut client = bed.client();
    let longest = hang(&bed, &mut client);
    assert!(longest <= READ_MAX, "a read of a cached block waited for the disk: {longest:?}");
    stop_while_it_hangs(&mut bed, client);
}

/// A file system that hangs before the first I/O of the ring answers nothing, not even what the kernel asks at that.
#[test]
fn nor_does_a_file_system_that_hangs_from_the_start() {
    if !can_hang() {
        return;
    }
    let bed = Bed::new(false);
    let mut client = bed.client();
    bed.signal_fuse("-STOP");
    write(&mut client);
    let mut flush = bed.store("flush").spawn().expect("started");
    let begun = Instant::now();
    let (longest, _) = std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(HANG);
            bed.signal_fuse("-CONT");
        });
        read(&mut client, || begun.elapsed() > HANG)
    });
    assert!(longest <= READ_MAX, "a read of a cached block waited for the disk: {longest:?}");
    assert!(flush.wait().expect("ended").success(), "it is destaged in the end");
}

/// A store with a written block, whose file system hangs when the kernel has to ask it for the size of the file again. None if
/// this system cannot try it.
fn hung() -> Option<(Bed, Client<UnixStream>)> {
    if !can_hang() {
        return None;
    }
    let bed = Bed::new(false);
    let mut client = bed.client();
    write(&mut client);
    std::thread::sleep(KNOWN);
    bed.signal_fuse("-STOP");
    Some((bed, client))
}

/// What operators want to know of such a file the thread of the store does not ask.
#[test]
fn nor_does_an_operator_who_asks_for_its_size() {
    let Some((bed, mut client)) = hung() else { return };
    let mut grow = bed.store("grow").stderr(Stdio::piped()).spawn().expect("started");
    let begun = Instant::now();
    let (longest, _) = read(&mut client, || begun.elapsed() > HANG);
    assert!(longest <= READ_MAX, "a read of a cached block waited for the disk: {longest:?}");
    assert!(bed.store("status").status().expect("started").code().is_some_and(|code| code < 2));
    let mut told = String::new();
    grow.stderr.take().expect("piped").read_to_string(&mut told).expect("text");
    assert_eq!(grow.wait().expect("ended").code(), Some(1));
    assert!(told.contains("how large they are: one of them hangs"), "{told}");
    bed.signal_fuse("-CONT");
}

/// The kernel asks the file system for the size of the file before it reads, if what it knows of that is old.
#[test]
fn nor_does_a_read_that_a_file_system_does_not_answer() {
    let Some((bed, mut client)) = hung() else { return };
    let mut other = bed.client();
    let begun = Instant::now();
    let (longest, _) = std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(HANG);
            bed.signal_fuse("-CONT");
        });
        let not_cached = scope.spawn(move || other.read(DISK_BYTES - BLOCK, BLOCK as u32));
        let read = read(&mut client, || begun.elapsed() > HANG);
        not_cached.join().expect("no panic").expect("connected").expect("it is read in the end");
        read
    });
    assert!(longest <= READ_MAX, "a read of a cached block waited for the disk: {longest:?}");
}

/// Without an SSD before it. Whoever asked can give up waiting, and who asks later is told likewise.
#[test]
fn who_stops_a_zoned_disk_that_hangs_is_told_what_is_waited_for() {
    use std::os::unix::process::ExitStatusExt as _;
    if !can_hang() {
        return;
    }
    let mut bed = Bed::unserved(true);
    let disk = bed.loops[1].path().to_owned();
    let mut made = bed.command("zoned", "create");
    made.arg(&disk).args(["--zone-size", "1M", "--conventional", "4"]);
    assert!(made.status().expect("started").success(), "it is not made");
    let mut made = bed.command("zoned", "format");
    let made = made.arg(&disk).args(["-t", "log"]).output().expect("started");
    let uuid = String::from_utf8(made.stdout).expect("text").trim().to_owned();
    let mut serve = bed.command("zoned", "serve");
    serve.arg(&disk);
    bed.serve(serve);
    let mut client = bed.client();
    write(&mut client);
    bed.disk.set(State::Hangs);
    // (It is cut off in the end.)
    let flush = std::thread::spawn(move || drop(client.flush()));
    bed.disk.wait(State::Held);
    let stop = || {
        let mut stop = bed.command("zoned", "stop");
        stop.arg(&uuid).stderr(Stdio::piped()).spawn().expect("started")
    };
    let told = |stop: &mut Child| {
        let lines = BufReader::new(stop.stderr.take().expect("piped")).lines();
        let mut lines = lines.map(|line| line.expect("text"));
        lines.find(|line| line.contains("it is ending, and waits for "))
    };
    let mut first = stop();
    let first_told = told(&mut first);
    // (Not SIGINT: who runs tests in the background may have it ignored.)
    run("kill", &["-TERM", &first.id().to_string()]).expect("it waits");
    let ended = first.wait().expect("ended").signal();
    let mut second = stop();
    let second_told = told(&mut second);
    let refused = second.wait().expect("ended").code();
    bed.disk.set(State::Well);
    flush.join().expect("no panic");
    assert!(first_told.is_some(), "who asked is told");
    assert!(second_told.is_some(), "who asks later is told");
    assert_eq!((ended, refused), (Some(15), Some(1)));
    let server = bed.server.as_mut().expect("it runs");
    let lines = BufReader::new(server.stderr.take().expect("piped")).lines();
    let told = lines.map(|line| line.expect("text")).find(|line| line.contains("waits for "));
    assert!(told.is_some_and(|told| told.contains("warning: it is ending")), "stderr says so");
    assert_eq!(server.wait().expect("ended").code(), Some(0));
}
