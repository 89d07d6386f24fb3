//! `shingle store serve` as a service: several exports of a file, what a service manager is told, what Prometheus
//! fetches, and the log.

mod common;

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Lines, Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::FileExt;
use std::os::unix::net::{UnixDatagram, UnixStream};
use std::path::Path;
use std::process::{ChildStderr, Command, Stdio};
use std::time::Instant;

use common::{Folder, MIB, PATIENCE, Served, never_idle, text, write};
use rustix::fs::{FlockOperation, flock};
use shingle_nbd::client::{Client, ClientOptions};
use shingle_testbed::{Mount, skip_if};

const TWO: &str = r#"
listen = ["unix:nbd.sock"]
metrics = "tcp:127.0.0.1:0"
counters = "counters"
[export.one]
cache = "one.ssd"
disk = "one.disk"
[export.two]
cache = "two.ssd"
disk = "two.disk"
"#;

/// Three caches, and a file that says what is served.
struct Bed(Folder);

/// A server, and what it says from now on.
struct Server {
    served: Served,
    lines: Lines<BufReader<ChildStderr>>,
}

impl Bed {
    fn new() -> Bed {
        let bed = Bed(Folder::new());
        for name in ["one", "two", "three"] {
            for (kind, bytes) in [("ssd", 24 * MIB), ("disk", 64 * MIB)] {
                let file = File::create(bed.0.path(&format!("{name}.{kind}"))).expect("made");
                file.set_len(bytes).expect("as long");
            }
            let idle = never_idle();
            bed.0.done(&format!("store create --cache {name}.ssd --disk {name}.disk --set {idle}"));
        }
        bed.write("store.toml", TWO);
        bed
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.0.path(name), text).expect("written");
    }

    fn command(&self, more: &str) -> Command {
        self.0.command(&format!("store serve --config store.toml {more}"))
    }

    fn start(&self, mut command: Command) -> Server {
        let mut served = Served(command.stderr(Stdio::piped()).spawn().expect("started"));
        let lines = BufReader::new(served.0.stderr.take().expect("piped")).lines();
        Server { served, lines }
    }

    fn client(&self, export: &str) -> Result<Client<UnixStream>, String> {
        let stream = UnixStream::connect(self.0.path("nbd.sock")).expect("connected");
        stream.set_read_timeout(Some(PATIENCE)).expect("a time");
        let options = ClientOptions { export, structured: true, contexts: &[] };
        Client::connect(stream, &options).map_err(|error| error.to_string())
    }
}

impl Server {
    /// The next line with this in it.
    fn told(&mut self, wanted: &str) -> String {
        let lines = self.lines.by_ref().map(|line| line.expect("text"));
        let mut seen = Vec::new();
        for line in lines {
            if line.contains(wanted) {
                return line;
            }
            seen.push(line);
        }
        panic!("{wanted:?} was not told: {seen:#?}");
    }

    fn signal(&self, name: &str) {
        let id = self.served.0.id().to_string();
        assert!(Command::new("kill").args([name, &id]).status().expect("started").success());
    }

    fn reloaded(&mut self, wanted: &str) -> String {
        self.signal("-HUP");
        self.told(wanted)
    }

    fn end(mut self) {
        self.signal("-TERM");
        self.lines.by_ref().for_each(drop);
        assert_eq!(self.served.0.wait().expect("ended").code(), Some(0));
    }
}

fn fetch(address: &str) -> String {
    let mut stream = TcpStream::connect(address).expect("connected");
    stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n").expect("sent");
    let mut reply = String::new();
    stream.read_to_string(&mut reply).expect("text");
    assert!(reply.starts_with("HTTP/1.1 200 OK\r\n"), "{reply}");
    reply
}

fn value(metrics: &str, of: &str) -> f64 {
    let line = metrics.lines().find_map(|line| line.strip_prefix(of)?.strip_prefix(' '));
    let line = line.unwrap_or_else(|| panic!("{of} is not in {metrics}"));
    line.parse().expect("a number")
}

/// A start may take long: here it waits for an SSD that another process has.
#[test]
fn who_is_told_to_read_again_while_it_starts_goes_on() {
    let bed = Bed::new();
    let ssd = File::open(bed.0.path("two.ssd")).expect("there");
    flock(&ssd, FlockOperation::LockExclusive).expect("nobody has it");
    let mut server = bed.start(bed.command(""));
    let id = server.served.0.id();
    // By the bits of /proc, from signal 1 on.
    let catches = || {
        let status = fs::read_to_string(format!("/proc/{id}/status")).expect("it runs");
        let line = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
        u64::from_str_radix(line.expect("told").trim(), 16).expect("bits") & 1 == 1
    };
    let begun = Instant::now();
    while !catches() {
        assert!(begun.elapsed() < PATIENCE, "it would be ended");
    }
    server.signal("-HUP");
    flock(&ssd, FlockOperation::Unlock).expect("it was ours");
    server.told("is read again: nothing has changed");
    server.end();
}

#[test]
fn several_exports_of_a_file_which_is_read_again() {
    let bed = Bed::new();
    let mut server = bed.start(bed.command(""));
    let metrics = server.told("metrics at ");
    let at = metrics.split("http://").nth(1).and_then(|at| at.split('/').next());
    let at = at.expect("an address").to_owned();
    let mut one = bed.client("one").expect("there");
    write(&mut one, 0, &[1; 8192]);
    one.flush().expect("connected").expect("flushed");
    write(&mut bed.client("two").expect("there"), 0, &[2; 4096]);
    assert!(bed.client("").is_err() && bed.client("three").is_err());
    let status = bed.0.json("store status --cache two.ssd --json");
    assert_eq!((&status["export"], &status["dirty_blocks"]), (&"two".into(), &1.into()));
    let told = fetch(&at);
    let of = |name: &str, labels: &str| value(&told, &format!("shingle_{name}{{{labels}}}"));
    assert_eq!(of("request_bytes_total", "export=\"one\",kind=\"write\""), 8192.0);
    assert_eq!(of("request_seconds_count", "export=\"one\",kind=\"flush\""), 1.0);
    assert_eq!(of("cached_bytes", "export=\"two\",state=\"dirty\""), 4096.0);
    assert_eq!((of("up", "export=\"one\""), of("clients", "export=\"one\"")), (1.0, 1.0));
    assert!(of("io_bytes_total", "export=\"one\",device=\"ssd\",kind=\"write\"") >= 8192.0);
    let top = bed.0.done("store top -n 1 --every 0.1");
    let names: Vec<&str> = top.lines().filter_map(|line| line.split(' ').next()).collect();
    assert_eq!(names, ["export", "one", "two"], "{top}");

    // Wrong files change nothing, and say what is wrong in one line.
    let third = "[export.three]\ncache = \"three.ssd\"\ndisk = \"three.disk\"\n";
    for (wrong, told) in [
        (
            format!("{TWO}{third}minimum-block = 5\n"),
            "store.toml: line 14: minimum-block = 5: a power of two",
        ),
        (format!("{TWO}{third}").replace("three.disk", "one.disk"), "both use one.disk"),
        (TWO.replace("unix:nbd.sock", "unix:/no/such/folder/x"), "/no/such/folder/x"),
        (
            TWO.replace("\"unix:nbd.sock\"", ""),
            "no client could connect: give an address with `listen`",
        ),
        (String::new(), "nothing is served; write [export.NAME]"),
    ] {
        bed.write("store.toml", &wrong);
        let line = server.reloaded("nothing is changed: ");
        assert!(line.contains(told), "{line}");
        one.flush().expect("connected").expect("still served");
    }
    // One comes, one goes; who uses the third notices nothing.
    let other = TWO.split("[export.two]").next().expect("a beginning");
    bed.write("store.toml", &format!("{other}{third}"));
    let line = server.reloaded("read again");
    assert!(line.contains("store.toml is read again: begun three; ended two"), "{line}");
    write(&mut bed.client("three").expect("there"), 0, &[3; 4096]);
    assert!(bed.client("two").is_err());
    let told = bed.0.done("store status --cache two.ssd");
    assert!(told.contains("not served; it was shut down in order"), "{told}");
    one.flush().expect("connected").expect("still served");
    // An operator ends one; the file brings it back.
    bed.0.done("store stop --cache three.ssd");
    assert!(bed.client("three").is_err());
    let line = server.reloaded("read again");
    assert!(line.contains("begun three"), "{line}");
    assert_eq!(bed.client("three").expect("there").read(0, 1).unwrap().unwrap(), [3]);
    server.end();
    // Counters go on.
    let mut server = bed.start(bed.command(""));
    let metrics = server.told("metrics at ");
    let at = metrics.split("http://").nth(1).and_then(|at| at.split('/').next());
    let told = fetch(at.expect("an address"));
    assert_eq!(value(&told, "shingle_request_bytes_total{export=\"one\",kind=\"write\"}"), 8192.0);
    assert_eq!(value(&told, "shingle_starts_total{export=\"one\"}"), 2.0);
    server.end();
}

/// The good ones are served, and everything that an operator looks at says which are not.
#[test]
fn an_export_that_cannot_be_served_is_told_everywhere_and_others_are_served() {
    let bed = Bed::new();
    let socket = UnixDatagram::bind(bed.0.path("notify")).expect("bound");
    socket.set_read_timeout(Some(PATIENCE)).expect("a time");
    let notified = |wanted: &str| loop {
        let mut bytes = [0; 512];
        let length = socket.recv(&mut bytes).unwrap_or_else(|e| panic!("{wanted}: {e}"));
        if text(&bytes[..length]).contains(wanted) {
            return;
        }
    };
    fs::write(bed.0.path("two.ssd"), vec![7; 1 << 20]).expect("spoilt");
    let mut command = bed.command("");
    command.env("NOTIFY_SOCKET", bed.0.path("notify"));
    let mut server = bed.start(command);
    let line = server.told("not served: ");
    assert!(line.contains("ERROR") && line.contains("two.ssd"), "{line}");
    assert!(line.contains("; a reload (SIGHUP) tries it again"), "{line}");
    let metrics = server.told("metrics at ");
    let at = metrics.split("http://").nth(1).and_then(|at| at.split('/').next());
    let at = at.expect("an address").to_owned();
    notified("STATUS=serving 1 export; not served: two");
    bed.client("one").expect("there").disconnect().expect("connected");
    bed.client("two").map(drop).expect_err("not there");
    let told = fetch(&at);
    let served = |told: &str, name| value(told, &format!("shingle_served{{export=\"{name}\"}}"));
    assert_eq!((served(&told, "one"), served(&told, "two")), (1.0, 0.0));
    let top = bed.0.done("store top -n 1 --every 0.1");
    assert!(top.contains("two: not served: ") && top.contains("two.ssd"), "{top}");
    // A reload tries again, and begins others. One whose disk is missing says so in its status, too.
    let third = "[export.three]\ncache = \"three.ssd\"\ndisk = \"no.disk\"\n";
    bed.write("store.toml", &format!("{TWO}{third}"));
    let line = server.reloaded("is read again");
    assert!(line.ends_with("is read again: not served (see above) three, two"), "{line}");
    notified("STATUS=serving 1 export; not served: three, two");
    let status = bed.0.done("store status --cache three.ssd");
    let told = "export `three`: not served: cannot open no.disk: there is no such file";
    assert!(status.contains(told) && status.contains("it is tried again every 10 s"), "{status}");
    // What is served ends in order, whatever else was to be.
    server.signal("-TERM");
    server.lines.by_ref().for_each(drop);
    assert_eq!(server.served.0.wait().expect("ended").code(), Some(0));
    // If none can be, the server ends at once. If the file contradicts itself, nothing is tried.
    let [one, two] = ["one.ssd", "two.ssd"];
    bed.write("store.toml", &TWO.replace(one, "a/no.ssd").replace(two, "b/no.ssd"));
    let none = bed.0.output("store serve --config store.toml");
    let err = text(&none.stderr);
    assert_eq!(none.status.code(), Some(1), "{err}");
    assert_eq!(err.matches("/no.ssd: there is no such file").count(), 2, "{err}");
    assert!(err.ends_with("shingle: no export can be served: see above\n"), "{err}");
    bed.write("store.toml", &TWO.replace("two.disk", "one.disk"));
    let twice = "store.toml: exports `one` and `two` both use one.disk";
    bed.0.refused(2, "store serve --config store.toml", twice);
}

#[test]
fn a_service_manager_is_told_how_it_is() {
    let bed = Bed::new();
    let socket = UnixDatagram::bind(bed.0.path("notify")).expect("bound");
    socket.set_read_timeout(Some(PATIENCE)).expect("a time");
    let next = |wanted: &str| loop {
        let mut bytes = [0; 512];
        let length = socket.recv(&mut bytes).unwrap_or_else(|e| panic!("{wanted}: {e}"));
        let told = text(&bytes[..length]);
        if told.contains(wanted) {
            return told;
        }
    };
    let mut command = bed.command("");
    command.env("NOTIFY_SOCKET", bed.0.path("notify")).env("WATCHDOG_USEC", "100000");
    let mut server = bed.start(command);
    let ready = next("READY=1");
    assert!(ready.contains("STATUS=serving 2 exports"), "{ready}");
    // When it is told, clients may come.
    bed.client("one").expect("there");
    next("WATCHDOG=1");
    server.reloaded("nothing has changed");
    assert!(next("RELOADING=1").contains("MONOTONIC_USEC="));
    next("READY=1");
    server.signal("-TERM");
    next("STOPPING=1");
    server.lines.by_ref().for_each(drop);
    assert_eq!(server.served.0.wait().expect("ended").code(), Some(0));
}

/// A store goes on without who looks on at it.
#[test]
fn a_record_ends_where_the_file_system_is_full_and_serving_goes_on() {
    let bed = Bed::new();
    let small = bed.0.path("small");
    fs::create_dir(&small).expect("made");
    // (4 MiB are kept for the end.)
    let mounted = Mount::in_memory(&small, 4 * MIB + (512 << 10));
    if !skip_if("a file system that is full", mounted.as_ref().map_err(Clone::clone)) {
        return;
    }
    let serve =
        "store serve --cache one.ssd --disk one.disk --nbd unix:nbd.sock --record small/w.rec";
    let mut server = bed.start(bed.0.command(serve));
    server.told("served at");
    let mut client = bed.client("").expect("there");
    write(&mut client, 0, &[7; 4096]);
    for n in 0..60_000 {
        client.read(n % 1000 * 4096, 1).expect("connected").expect("read");
    }
    let line = server.told("small/w.rec: cannot be written: No space left on device");
    assert!(line.contains("ERROR") && line.contains("serving goes on"), "{line}");
    client.flush().expect("connected").expect("flushed");
    let status = bed.0.done("store status --cache one.ssd");
    assert!(
        status.contains("small/w.rec; it has ended: small/w.rec: cannot be written"),
        "{status}"
    );
    server.signal("-TERM");
    server.told("stopping: SIGTERM");
    server.told("is served no longer: 1 dirty block is on the SSD");
    server.told("the recording ends after ");
    server.end();
    let told = bed.0.done("trace info small/w.rec");
    assert!(told.contains("requests"), "{told}");
}

/// Copies have holes where the file has zeros, and a file system need not have room for them.
#[test]
fn a_cache_that_may_not_get_its_room_is_served_with_a_warning() {
    let bed = Bed::new();
    let small = bed.0.path("small");
    fs::create_dir(&small).expect("made");
    let mounted = Mount::in_memory(&small, 8 * MIB);
    if !skip_if("a file system that is full", mounted.as_ref().map_err(Clone::clone)) {
        return;
    }
    let ssd = fs::read(bed.0.path("one.ssd")).expect("read");
    let copy = File::create(small.join("copy.ssd")).expect("made");
    copy.set_len(ssd.len() as u64).expect("made");
    for (at, page) in ssd.chunks(4096).enumerate() {
        if page.iter().any(|&byte| byte != 0) {
            copy.write_all_at(page, at as u64 * 4096).expect("written");
        }
    }
    let serve = "store serve --cache small/copy.ssd --disk one.disk --nbd unix:nbd.sock";
    let mut server = bed.start(bed.0.command(serve));
    let line = server.told("small/copy.ssd needs ");
    assert!(line.contains("WARN") && line.contains("free some"), "{line}");
    server.told("served at");
    server.end();
}

/// Each client is two lines: far more than a pipe takes.
#[test]
fn nobody_has_to_read_the_log() {
    let bed = Bed::new();
    let mut server = bed.start(bed.command(""));
    server.told("metrics at ");
    for _ in 0..1_000 {
        bed.client("one").expect("there").disconnect().expect("connected");
    }
    server.signal("-TERM");
    let begun = Instant::now();
    let ended = loop {
        if let Some(ended) = server.served.0.try_wait().expect("asked") {
            break ended;
        }
        assert!(begun.elapsed() < PATIENCE, "it waits for who does not read");
        std::thread::sleep(std::time::Duration::from_millis(20));
    };
    assert_eq!(ended.code(), Some(0));
}

#[test]
fn what_a_reload_leaves_as_it_is_is_told() {
    let bed = Bed::new();
    let mut server = bed.start(bed.command(""));
    server.told("metrics at ");
    for (text, told) in [
        (TWO.replace("tcp:127.0.0.1:0", "unix:m.sock"), "as before until a restart: `metrics`"),
        (TWO.replace("\"counters\"", "\"other\""), "as before until a restart: `counters`"),
        (
            format!("{TWO}[log]\nformat = \"json\"\n"),
            "as before until a restart: `format` of `[log]`",
        ),
        (TWO.to_owned(), "nothing has changed"),
    ] {
        bed.write("store.toml", &text);
        let line = server.reloaded("is read again: ");
        assert!(line.ends_with(&format!("is read again: {told}")), "{line}");
    }
    server.end();
    bed.write("store.toml", &format!("{TWO}[log]\nlevel = \"warn\"\n"));
    let mut server = bed.start(bed.command(""));
    let begun = Instant::now();
    while UnixStream::connect(bed.0.path("nbd.sock")).is_err() {
        assert!(begun.elapsed() < PATIENCE, "nobody listens");
    }
    bed.write("store.toml", TWO);
    let line = server.reloaded("is read again: ");
    assert!(line.ends_with("is read again: the log has lines of level info and above"), "{line}");
    server.end();
    let twice = "unix:./x is named twice: clients and metrics need an address each";
    let serve = "store serve --cache one.ssd --disk one.disk --nbd unix:x --metrics unix:./x";
    bed.0.refused(2, serve, twice);
}

#[test]
fn sockets_may_be_there_before() {
    const ACTIVATE: &str = "systemd-socket-activate";
    if Command::new(ACTIVATE).arg("--version").output().is_err() {
        return println!("SKIPPED: {ACTIVATE} is not installed");
    }
    let bed = Bed::new();
    bed.write("store.toml", &TWO.replace("listen = [\"unix:nbd.sock\"]\n", ""));
    let serve = bed.command("");
    let mut command = Command::new(ACTIVATE);
    let path = bed.0.path("nbd.sock");
    command.arg("--listen").arg(&path).args(["--setenv", "XDG_RUNTIME_DIR", "--"]);
    command.arg(serve.get_program()).args(serve.get_args());
    command.current_dir(bed.0.0.path()).env("XDG_RUNTIME_DIR", bed.0.0.path());
    let mut server = bed.start(command);
    let begun = std::time::Instant::now();
    while UnixStream::connect(&path).is_err() {
        assert!(begun.elapsed() < PATIENCE, "nobody listens");
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    // The first client has it started, and waits for it.
    write(&mut bed.client("one").expect("there"), 0, &[1; 4096]);
    server.signal("-TERM");
    server.lines.by_ref().for_each(drop);
    assert!(path.exists(), "it is not the server's to remove");
}

#[test]
fn a_log_is_text_or_json() {
    let bed = Bed::new();
    bed.write("store.toml", &format!("{TWO}[log]\nformat = \"json\"\n"));
    let mut server = bed.start(bed.command(""));
    let line = server.told("served at");
    let line: serde_json::Value = serde_json::from_str(&line).expect("JSON");
    assert_eq!((&line["level"], &line["export"]), (&"INFO".into(), &"one".into()), "{line}");
    assert!(line["timestamp"].as_str().is_some_and(|time| time.ends_with('Z')), "{line}");
    // From now on only what is wrong.
    bed.write("store.toml", &format!("{TWO}[log]\nlevel = \"error\"\n"));
    server.signal("-HUP");
    bed.write("store.toml", "");
    let line = server.reloaded("nothing is changed");
    assert!(line.contains("\"level\":\"ERROR\""), "{line}");
    server.end();
    // With a file nothing else is said, and somebody has to be able to connect.
    bed.0.refused(2, "store serve --config store.toml", "nothing is served; write [export.NAME]");
    let nobody = "no client could connect: give an address with --nbd, such as unix:PATH";
    bed.0.refused(2, "store serve --cache one.ssd --disk one.disk", nobody);
    let both = bed.0.output("store serve --config store.toml --cache one.ssd");
    assert_eq!(both.status.code(), Some(2));
    assert!(Path::new(&bed.0.path("counters")).is_dir());
}
