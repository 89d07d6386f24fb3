//! `shingle store` as an operator meets it: two files, one process that serves them, and what it says.

mod common;

use std::fs::{self, File, Permissions};
use std::io::{BufRead, BufReader};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::{FileExt, MetadataExt, PermissionsExt, symlink};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use common::{Folder, MIB, PATIENCE, Served, never_idle, text, write};
use serde_json::Value;
use shingle_nbd::client::{Client, ClientOptions};
use shingle_testbed::root_or_skip;

/// A folder with an SSD of 24 MiB and a disk of 64, and where operators ask: lines are those after `shingle store`.
struct Bed(Folder);

impl Bed {
    fn new() -> Bed {
        let bed = Bed(Folder::new());
        bed.make("cache.img", 24 * MIB);
        bed.make("disk.img", 64 * MIB);
        bed
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path(name)
    }

    fn make(&self, name: &str, bytes: u64) {
        File::create(self.path(name)).and_then(|file| file.set_len(bytes)).expect("made");
    }

    fn command(&self, line: &str) -> Command {
        self.0.command(&format!("store {line}"))
    }

    fn output(&self, line: &str) -> Output {
        self.0.output(&format!("store {line}"))
    }

    fn done(&self, line: &str) -> String {
        self.0.done(&format!("store {line}"))
    }

    fn json(&self, line: &str) -> Value {
        self.0.json(&format!("store {line}"))
    }

    /// What all files hold.
    fn content(&self) -> Vec<(PathBuf, Vec<u8>)> {
        let entries = fs::read_dir(self.0.0.path()).expect("a folder");
        let files = entries.map(|entry| entry.expect("an entry").path());
        let mut files: Vec<PathBuf> = files.filter(|path| path.is_file()).collect();
        files.sort();
        files.into_iter().map(|path| (path.clone(), fs::read(path).expect("read"))).collect()
    }

    /// Is refused, and changes nothing.
    fn refused(&self, code: i32, line: &str, told: &str) {
        let before = self.content();
        self.0.refused(code, &format!("store {line}"), told);
        assert!(self.content() == before, "{line}: something was changed");
    }

    fn create(&self, more: &str) -> String {
        let made = self.done(&format!("create --cache cache.img --disk disk.img {more}"));
        made.trim().to_owned()
    }

    fn serve(&self, more: &str) -> Served {
        let line = format!("store serve --cache cache.img --disk disk.img {more}");
        self.0.serve(&line, "store status --cache cache.img")
    }

    /// Serves a disk that takes nothing behind its first 32 MiB: files end there.
    fn serve_limited(&self) -> Served {
        let serve = self.command("-q serve --cache cache.img --disk disk.img --nbd unix:nbd.sock");
        // In units of 512 bytes. Whoever ignores the signal gets an error instead.
        let limited = ["-c", "trap '' XFSZ; ulimit -f 65536; exec \"$@\"", "sh"];
        let mut command = Command::new("sh");
        command.args(limited).arg(serve.get_program()).args(serve.get_args());
        command.current_dir(self.0.0.path()).env("XDG_RUNTIME_DIR", self.0.0.path());
        let mut served = Served(command.stderr(Stdio::piped()).spawn().expect("started"));
        let begun = Instant::now();
        while UnixStream::connect(self.path("nbd.sock")).is_err() {
            assert!(begun.elapsed() < PATIENCE, "{}", served.end());
            std::thread::sleep(Duration::from_millis(10));
        }
        served
    }

    fn client(&self) -> Client<UnixStream> {
        self.0.client()
    }

    fn disk(&self, offset: u64, bytes: usize) -> Vec<u8> {
        let mut out = vec![0; bytes];
        let file = File::open(self.path("disk.img")).expect("there");
        file.read_exact_at(&mut out, offset).expect("read");
        out
    }
}

/// What another policy would have done is told of the requests of clients, and set. All bands are
/// looked at, so nothing is left to chance: `lru` rewrites many more than `most` where writes go anywhere.
#[test]
fn what_would_have_been_better_is_set() {
    /// After so many writes `most` is better without doubt.
    const ENOUGH: u64 = 300_000;
    let bed = Bed::new();
    bed.make("cache.img", 16 * MIB);
    bed.make("disk.img", 512 * MIB);
    bed.create("--policy lru");
    let served = bed.serve("");
    bed.refused(2, "whatif --cache cache.img --policy most --size 0", "is less than a block");
    let line = "whatif --cache cache.img --policy most,lru --sample 100 --buffer 1MiB --json --apply --seconds";
    let policy = || bed.json("status --cache cache.img --json")["policy"].clone();
    // For longer and longer: how much is written in a second depends on the machine.
    let mut seconds = 1;
    let (told, said) = loop {
        let mut looking = bed.command(&format!("{line} {seconds}"));
        let mut looking = looking.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
        let looking = looking.as_mut().expect("started");
        let mut client = bed.client();
        let mut place = 1_u64;
        while looking.try_wait().expect("asked").is_none() {
            place = place.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            write(&mut client, (place >> 47) * 4096, &[1; 4096]);
        }
        client.disconnect().expect("connected");
        let (mut told, mut said) = (String::new(), String::new());
        let (out, err) = (looking.stdout.take(), looking.stderr.take());
        std::io::Read::read_to_string(&mut out.expect("piped"), &mut told).expect("text");
        std::io::Read::read_to_string(&mut err.expect("piped"), &mut said).expect("text");
        assert!(looking.wait().expect("ended").success(), "{said}");
        let told: Value = serde_json::from_str(&told).expect("JSON");
        if policy() != "lru" {
            break (told, said);
        }
        assert!(told["accesses"].as_u64().expect("a number") < ENOUGH, "{told}{said}");
        seconds *= 2;
    };
    assert_eq!(policy(), "most");
    assert!(said.contains("set policy=most"), "{said}");
    let (now, most) = (&told["caches"][0], &told["caches"][1]);
    assert_eq!(
        (&now["now"], &now["policy"], &most["policy"]),
        (&true.into(), &"lru".into(), &"most".into())
    );
    assert!(most["rmws_change_percent"]["value"].as_f64().expect("a number") < 0.0, "{told}");
    // Once it is set, nothing is better.
    let again = bed.output("whatif --cache cache.img --policy lru --apply --seconds 0");
    assert!(text(&again.stderr).contains("nothing was changed"), "{}", text(&again.stderr));
    // Nor is anything set by a sample of too few bands.
    let few = bed.output("whatif --cache cache.img --policy lru --sample 50 --apply --seconds 0");
    assert!(text(&few.stdout).contains("only 0 bands were sampled"), "{}", text(&few.stdout));
    assert!(text(&few.stderr).contains("too few bands"), "{}", text(&few.stderr));
    assert_eq!(policy(), "most");
    bed.done("stop --cache cache.img");
    drop(served);
}

#[test]
fn a_cache_from_its_making_to_its_end() {
    let bed = Bed::new();
    fs::write(bed.path("old"), b"data from before").expect("written");
    let raw = File::options().write(true).open(bed.path("disk.img")).expect("there");
    raw.write_all_at(b"data from before", 3 * MIB).expect("written");
    let uuid = bed.create(&format!("--policy lru --set mode=write-through --set {}", never_idle()));
    let served = bed.serve("");
    let mut client = bed.client();
    assert_eq!(client.size_bytes(), 64 * MIB);
    let adopted = client.read(3 * MIB, 16).expect("connected").expect("read");
    assert_eq!(adopted, b"data from before");
    bed.done("set --cache cache.img mode=write-back");
    write(&mut client, MIB, &[7; 65_536]);
    client.flush().expect("connected").expect("flushed");
    assert_eq!(bed.disk(MIB, 8), [0; 8], "the disk does not have it yet");
    let status = bed.json("status --cache cache.img --json");
    assert_eq!(status["schema"], "shingle.store-status/1");
    assert_eq!(status["uuid"], uuid.as_str());
    assert_eq!((&status["dirty_blocks"], &status["connections"]), (&16.into(), &1.into()));
    let told = bed.done("status --cache cache.img");
    for told_of in [uuid.as_str(), "lru, write-back", "unix:nbd.sock", "64 KiB"] {
        assert!(told.contains(told_of), "{told_of:?} is not in {told}");
    }
    bed.done("flush --cache cache.img");
    assert_eq!(bed.disk(MIB, 65_536), [7; 65_536]);
    write(&mut client, 2 * MIB, &[8; 4096]);
    client.disconnect().expect("connected");
    bed.done("stop --cache cache.img");
    // Whoever was answered may use the files at once.
    let checked = bed.json("check --cache cache.img --disk disk.img --json");
    assert_eq!(checked["schema"], "shingle.store-check/1");
    assert_eq!((&checked["dirty_blocks"], &checked["sound"]), (&1.into(), &true.into()));
    drop(served);
    bed.done("export --cache cache.img --disk disk.img");
    assert_eq!(bed.disk(2 * MIB, 4096), [8; 4096]);
    assert_eq!(bed.json("check --cache cache.img --json")["dirty_blocks"], 0);

    let served = bed.serve("");
    let mut client = bed.client();
    let read = client.read(2 * MIB, 4096).expect("connected").expect("read");
    assert_eq!(read, [8; 4096]);
    write(&mut client, 4 * MIB, &[9; 4096]);
    client.disconnect().expect("connected");
    bed.done("detach --cache cache.img");
    assert_eq!(bed.disk(4 * MIB, 4096), [9; 4096]);
    bed.refused(1, "check --cache cache.img", "holds no cache");
    drop(served);
}

/// Where on the SSD the block is cached that is all 7.
fn place_of_7(ssd: &[u8]) -> usize {
    let at = ssd.windows(4096).step_by(4096).position(|page| page == [7; 4096]);
    at.expect("it is cached") * 4096
}

/// Nothing is lost, but an SSD that gives other data than it was given is not sound.
#[test]
fn a_cached_block_that_is_damaged_is_told_though_the_disk_has_it() {
    let bed = Bed::new();
    bed.create(&format!("--set {}", never_idle()));
    let served = bed.serve("");
    write(&mut bed.client(), MIB, &[7; 4096]);
    bed.done("flush --cache cache.img");
    bed.done("stop --cache cache.img");
    drop(served);
    bed.done("check --cache cache.img --disk disk.img");
    let mut bytes = fs::read(bed.path("cache.img")).expect("there");
    let at = place_of_7(&bytes);
    bytes[at] ^= 1;
    fs::write(bed.path("cache.img"), bytes).expect("written");
    bed.refused(1, "check --cache cache.img --disk disk.img", "clean blocks are damaged");
}

/// Neither what is missing nor the exit code says that all is well.
#[test]
fn what_is_salvaged_is_said_with_what_is_missing() {
    let bed = Bed::new();
    bed.create(&format!("--set {}", never_idle()));
    let served = bed.serve("");
    let mut client = bed.client();
    write(&mut client, MIB, &[7; 4096]);
    write(&mut client, 2 * MIB, &[8; 4096]);
    client.disconnect().expect("connected");
    bed.done("stop --cache cache.img");
    drop(served);
    let export = "export --cache cache.img --disk disk.img --salvage";
    let at = place_of_7(&fs::read(bed.path("cache.img")).expect("there"));
    let ssd = File::options().write(true).open(bed.path("cache.img")).expect("there");
    ssd.write_all_at(&[9], at as u64).expect("damaged");
    let output = bed.output(export);
    assert_eq!(output.status.code(), Some(1));
    let told = "written to the disk: 4 KiB\nthe dirty block at byte 1048576 is damaged: its data is lost\n";
    assert_eq!(text(&output.stdout), told);
    assert!(text(&output.stderr).contains("check the file systems"), "{}", text(&output.stderr));
    assert_eq!(bed.disk(2 * MIB, 4096), [8; 4096]);
    // (The disk has changed since the cache was shut down. Its fingerprint may tell so, or not.)
    ssd.write_all_at(&[7], at as u64).expect("as it was");
    let told = bed.done(&format!("{export} --trust-disk"));
    assert_eq!(told, "written to the disk: 8 KiB\n");
    assert_eq!(bed.disk(MIB, 4096), [7; 4096]);
}

/// Data that the SSD has damaged is lost: the end does not say that all that is dirty is there.
#[test]
fn the_end_tells_how_many_dirty_blocks_are_lost() {
    let bed = Bed::new();
    bed.create(&format!("--set {}", never_idle()));
    let mut served = bed.serve("");
    let mut client = bed.client();
    write(&mut client, MIB, &[7; 4096]);
    write(&mut client, 2 * MIB, &[8; 4096]);
    client.flush().expect("connected").expect("flushed");
    let at = place_of_7(&fs::read(bed.path("cache.img")).expect("there"));
    let ssd = File::options().write(true).open(bed.path("cache.img")).expect("there");
    ssd.write_all_at(&[9], at as u64).expect("damaged");
    client.read(MIB, 4096).expect("connected").expect_err("its checksum is another");
    drop(client);
    bed.done("stop --cache cache.img");
    let said = served.end();
    let told = "2 dirty blocks are on the SSD (blocks of which the data is lost: 1)";
    assert!(said.contains(told), "{said}");
}

/// What a probe found out is in the cache from then on, and a recording knows it.
#[test]
fn a_cache_plans_with_a_profile() {
    let bed = Bed::new();
    let page = include_str!("../../../docs/profile.md");
    let example = page.split("```toml\n").nth(1).and_then(|rest| rest.split("```").next());
    let example = example.expect("an example");
    fs::write(bed.path("disk.toml"), example).expect("written");
    fs::write(bed.path("bad.toml"), example.replace("16036.0", "-1.0")).expect("written");
    let create = "create --cache cache.img --disk disk.img --policy sac";
    bed.refused(1, &format!("{create} --profile no.toml"), "no.toml: there is no such file");
    bed.refused(1, &format!("{create} --profile bad.toml"), "bad.toml: read.random_us is -1");
    // Zones of 1,600 blocks, so that this disk has several.
    let output = bed.output(&format!(
        "{create} --profile disk.toml --set drive.zone_blocks=1600 --set cache.batch=8"
    ));
    assert!(output.status.success(), "{}", text(&output.stderr));
    let noted = text(&output.stderr);
    assert!(noted.contains("the profile is of a disk of 7.3 TiB"), "{noted}");
    fs::remove_file(bed.path("disk.toml")).expect("it is not needed any more");
    let words = |told: &str| {
        let ssd = fs::read(bed.path("cache.img")).expect("read");
        ssd.windows(told.len()).any(|bytes| bytes == told.as_bytes())
    };
    for told in [
        "buffer_blocks=184000",
        "log_blocks=7397460",
        "zone_blocks=1600",
        "read_us=16036",
        "rmw_base_us=613742",
    ] {
        assert!(words(&format!("\ndrive.{told}\n")), "{told}");
    }
    let served = bed.serve("--record live.shingle");
    let mut client = bed.client();
    // More than the SSD holds, so that something leaves.
    for turn in 0..8000_u64 {
        write(&mut client, turn * 7919 % 16_384 * 4096, &[7; 4096]);
    }
    client.disconnect().expect("connected");
    bed.done("stop --cache cache.img");
    drop(served);
    let mut follow = Command::new(env!("CARGO_BIN_EXE_shingle"));
    let output = follow.current_dir(bed.0.0.path()).args(["follow", "live.shingle"]).output();
    let output = output.expect("started");
    let followed = text(&output.stdout);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(followed.contains("all as recorded"), "{followed}");
    assert!(!followed.contains("destaged            0\n"), "something left: {followed}");
}

#[test]
fn a_killed_server_leaves_what_was_flushed_and_a_stale_socket() {
    let bed = Bed::new();
    bed.create(&format!("--set {}", never_idle()));
    let served = bed.serve("");
    let mut client = bed.client();
    write(&mut client, 0, &[5; 8192]);
    client.flush().expect("connected").expect("flushed");
    served.kill();
    assert!(bed.path("nbd.sock").exists(), "nobody took it away");
    let status = bed.json("status --cache cache.img --json");
    assert_eq!((&status["served"], &status["dirty_blocks"]), (&false.into(), &2.into()));
    assert_eq!(status["clean_shutdown"], false);
    let told = bed.done("status --cache cache.img");
    assert!(told.contains("not served; it was not shut down in order"), "{told}");
    let checked = bed.json("check --cache cache.img --json");
    assert_eq!((&checked["clean_shutdown"], &checked["dirty_blocks"]), (&false.into(), &2.into()));
    let mut served = bed.serve("");
    let mut client = bed.client();
    assert_eq!(client.read(0, 8192).expect("connected").expect("read"), [5; 8192]);
    client.disconnect().expect("connected");
    bed.done("stop --cache cache.img");
    assert!(served.end().contains("served at unix:nbd.sock"));
    assert!(!bed.path("nbd.sock").exists(), "it took it away");
    bed.done("detach --cache cache.img --disk disk.img");
    assert_eq!(bed.disk(0, 8192), [5; 8192]);
}

#[test]
fn what_is_wrong_is_told_and_nothing_is_changed() {
    let bed = Bed::new();
    let create = "create --cache cache.img --disk disk.img";
    bed.refused(
        1,
        "create --cache none --disk disk.img",
        "cannot open none: there is no such file",
    );
    bed.make("small", MIB);
    bed.refused(1, "create --cache small --disk disk.img", "needs at least 8.6 MiB");
    bed.make("empty", 0);
    bed.refused(1, "create --cache empty --disk disk.img", "needs at least 8.6 MiB");
    bed.make("odd", 10_000);
    bed.refused(1, "create --cache cache.img --disk odd", "whole blocks of 4096 bytes");
    bed.refused(1, "create --cache cache.img --disk cache.img", "cache and disk at once");
    symlink("cache.img", bed.path("link")).expect("made");
    bed.refused(1, "create --cache link --disk cache.img", "cache and disk at once");
    bed.refused(1, "create --cache . --disk disk.img", "neither a file nor a block device");
    bed.refused(1, "create --cache cache.img --disk /dev/null", "neither a file nor");
    bed.refused(2, &format!("{create} --policy scan"), "no policy `scan`; there are sac,");
    bed.refused(2, &format!("{create} --policy belady"), "future");
    bed.refused(2, &format!("{create} --set sac.zne=1"), "no parameter `zne`; there are zone,");
    bed.refused(2, &format!("{create} --set mode=back"), "no mode `back`; there are write-back,");
    bed.refused(2, &format!("{create} --set speed=1"), "speed");

    let uuid = bed.create("");
    let serve = "serve --cache cache.img --disk disk.img --nbd";
    bed.make("other", 32 * MIB);
    bed.refused(1, "serve --cache cache.img --disk other --nbd unix:a", "is it the right one?");
    // A recording is put in the place of what is there.
    for over in ["disk.img", "./disk.img", "cache.img"] {
        let words = format!("{serve} unix:a --record {over}");
        bed.refused(2, &words, "that file is used by this command");
    }
    let swapped = "serve --cache disk.img --disk cache.img --nbd unix:a";
    bed.refused(
        1,
        swapped,
        "disk.img holds no cache, and cache.img does: are --cache and --disk swapped?",
    );
    bed.refused(1, "create --cache disk.img --disk cache.img", "are --cache and --disk swapped?");
    bed.refused(2, &format!("{serve} tcp:0.0.0.0:1"), "loopback addresses only");
    bed.refused(2, &format!("{serve} disk"), "write unix:PATH or tcp:ADDR:PORT");
    bed.refused(2, &format!("{serve} unix:a --metrics tcp:0.0.0.0:1"), "--metrics: 0.0.0.0:1 is");
    bed.refused(1, &format!("{serve} unix:none/a"), "none/a: cannot listen: No such file");
    bed.refused(1, &format!("{serve} unix:disk.img"), "it is no socket");
    bed.refused(2, &format!("{serve} unix:a --minimum-block 3"), "a power of two");
    let no_device = match cfg!(feature = "ublk") {
        true if Path::new("/dev/ublk-control").exists() => None,
        true => Some("the kernel has no ublk driver"),
        false => Some("build it with `--features ublk`"),
    };
    if let Some(told) = no_device {
        bed.refused(1, "serve --cache cache.img --disk disk.img --ublk 0", told);
    }
    bed.refused(
        2,
        &format!("{serve} tcp:localhost:0 --allow-users a-b-c,root"),
        "no user \"a-b-c\"",
    );
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    bed.refused(1, &format!("{serve} tcp:{address}"), "the port is in use");
    bed.refused(1, "flush --cache cache.img", "this cache is not served");
    bed.refused(1, "status --cache other", "holds no cache");
    bed.refused(1, "check --cache other", "other: it holds no cache");
    bed.refused(
        1,
        "detach --cache cache.img",
        "this cache is not served: give its disk with --disk",
    );

    let served = bed.serve("");
    bed.refused(1, &format!("{serve} unix:b"), "is in use by another process");
    bed.refused(1, "check --cache cache.img", "is in use by another process");
    for asked in ["status", "stop"] {
        let mut elsewhere = bed.command(&format!("{asked} --cache cache.img"));
        let output = elsewhere.env("XDG_RUNTIME_DIR", bed.path("none")).output().expect("started");
        let (err, code) = (text(&output.stderr), output.status.code());
        assert!(err.contains("another process uses it") && code == Some(1), "{err}");
    }
    bed.refused(1, create, "is in use by another process");
    bed.refused(2, "set --cache cache.img mode=fast", "no mode `fast`");
    bed.refused(2, "set --cache cache.img sac.zne=1", "no parameter `zne`");
    bed.make("cache2", 24 * MIB);
    bed.make("disk2", 64 * MIB);
    bed.done("create --cache cache2 --disk disk2");
    bed.refused(
        1,
        "serve --cache cache2 --disk disk2 --nbd unix:nbd.sock",
        "another server listens",
    );
    // The last of what is served: soon it destages by itself, which changes files.
    let mut client = bed.client();
    write(&mut client, 0, &[5; 4096]);
    client.flush().expect("connected").expect("flushed");
    served.kill();

    bed.refused(1, create, &format!("to destroy it, say --destroy {uuid}"));
    let typed = format!("{create} --destroy 6f1d7b81-7184-4930-94c8-04de79cd700a");
    bed.refused(1, &typed, "is not the cache that is there");
    fs::copy(bed.path("cache.img"), bed.path("cut")).expect("copied");
    File::options()
        .write(true)
        .open(bed.path("cut"))
        .and_then(|f| f.set_len(20 * MIB))
        .expect("cut");
    bed.refused(1, "serve --cache cut --disk disk.img --nbd unix:a", "is it the right one?");
    bed.refused(1, "check --cache cut", "is it the right one?");
    bed.refused(1, "check --cache cut", "shingle: cut has 20971520 bytes, but ");
    let lost = File::options().write(true).open(bed.path("cut")).expect("there");
    lost.write_all_at(&[9; 65_536], 0).expect("written");
    bed.refused(1, "serve --cache cut --disk disk.img --nbd unix:a", "it holds no cache");
    // What else was written to the disk meanwhile is noticed.
    bed.done("export --cache cache.img --disk disk.img");
    let raw = File::options().write(true).open(bed.path("disk.img")).expect("there");
    raw.write_all_at(b"written without its cache", 8192).expect("written");
    bed.refused(1, &format!("{serve} unix:a"), "was written without its cache");
    let mut trusting = bed.serve("--trust-disk");
    bed.done("stop --cache cache.img");
    trusting.end();
}

/// Every user of the machine reaches a port of the loopback.
#[test]
fn who_may_connect_over_tcp_is_told() {
    let bed = Bed::new();
    bed.create("");
    for (more, told) in [
        ("", "you and root may connect to tcp:127.0.0.1:"),
        ("--allow-users 1,root", "you and root, user 1, user 0 may connect to tcp:127.0.0.1:"),
        ("--allow-users any", " WARN every user of this machine may read and write at tcp:127"),
    ] {
        let line = format!("serve --cache cache.img --disk disk.img --nbd tcp:localhost:0 {more}");
        let child = bed.command(&line).stderr(Stdio::piped()).spawn().expect("started");
        let mut served = Served(child);
        let stderr = served.0.stderr.take().expect("piped");
        let mut lines = BufReader::new(stderr).lines().map(|line| line.expect("text"));
        let at = lines.find_map(|line| {
            let address = line.split_once("served at tcp:")?.1.split(' ').next();
            Some(address.expect("an address").to_owned())
        });
        let who = lines.next().expect("a second line");
        assert!(who.contains(told), "{who}");
        let stream = TcpStream::connect(at.expect("it is served")).expect("connected");
        let options = ClientOptions { export: "", structured: true, contexts: &[] };
        let mut client = Client::connect(stream, &options).expect("a handshake");
        client.flush().expect("connected").expect("flushed");
        client.disconnect().expect("connected");
        bed.done("stop --cache cache.img");
    }
}

/// A limit on the size of files stands for a disk that refuses a part of what it gets.
#[test]
fn why_a_disk_fails_is_on_stderr_and_in_the_status() {
    let bed = Bed::new();
    bed.create("--policy lru --set mode=write-around");
    let mut served = bed.serve_limited();
    let before = bed.json("status --cache cache.img --json");
    assert_eq!(before["errors"]["last"], serde_json::json!([]));
    let mut client = bed.client();
    write(&mut client, 8 * MIB, &[7; 8192]);
    let refused = client.write(40 * MIB, &[7; 8192], 0).expect("connected");
    assert!(refused.is_err(), "the disk did not take it");
    let lines = BufReader::new(served.0.stderr.take().expect("piped")).lines();
    // (Who only looked whether somebody listens is a line, too.)
    let mut lines = lines.map(|line| line.expect("text"));
    let line = lines.find(|line| line.contains(" ERROR ")).expect("a line");
    let told = "ERROR disk: write of 8 KiB at block 10240 failed: File too large (EFBIG); its blocks are tried \
                one by one";
    assert!(line.contains(told), "{line}");
    // What a collector of logs looks for, without reading sentences.
    let fields = "device=\"disk\" kind=\"write\" offset=41943040 bytes=8192 errno=27";
    assert!(line.contains(fields), "{line}");
    let last = &bed.json("status --cache cache.img --json")["errors"]["last"][0];
    assert_eq!((&last["device"], &last["operation"]), (&"disk".into(), &"write".into()));
    assert_eq!((&last["error"], &last["blocks"]), (&"File too large (EFBIG)".into(), &1.into()));
    let block = last["block"].as_u64().expect("a number");
    assert!((10_240..10_242).contains(&block), "{last}");
    let told = bed.done("status --cache cache.img");
    let told_of =
        format!("last disk error     write of 4 KiB at block {block}: File too large (EFBIG), ");
    assert!(told.contains(&told_of), "{told}");
    client.disconnect().expect("connected");
    bed.done("stop --cache cache.img");
}

/// An SSD that is dead does not say which cache it holds; whoever serves that does.
#[test]
fn who_serves_an_ssd_that_is_gone_is_asked() {
    let truncate = |bed: &Bed| {
        let ssd = File::options().write(true).open(bed.path("cache.img")).expect("there");
        ssd.set_len(0).expect("cut");
    };
    let remove = |bed: &Bed| fs::remove_file(bed.path("cache.img")).expect("removed");
    for (gone, with) in [(&truncate as &dyn Fn(&Bed), false), (&remove, false), (&remove, true)] {
        let bed = Bed::new();
        let uuid = bed.create(&format!("--set {}", never_idle()));
        let served = bed.serve("");
        gone(&bed);
        assert!(bed.done("status --cache cache.img").contains(&uuid), "by its path");
        let path = bed.path("cache.img").display().to_string();
        assert_eq!(bed.json(&format!("status --json --cache {path}"))["uuid"], uuid.as_str());
        assert_eq!(bed.json(&format!("status --json --cache {uuid}"))["uuid"], uuid.as_str());
        assert!(bed.done("get --cache cache.img policy").contains("sac"));
        let other = bed.output("status --cache other.img");
        assert!(text(&other.stderr).contains("other.img: No such file"), "{other:?}");
        match with {
            true => {
                bed.make("new.img", 24 * MIB);
                bed.done("replace --cache cache.img --with new.img");
                bed.done("stop --cache new.img");
            }
            // (What a cut SSD says at its end is another matter.)
            false => drop(bed.output("stop --cache cache.img")),
        }
        let begun = Instant::now();
        while !text(&bed.output(&format!("status --cache {uuid}")).stderr).contains("is not served")
        {
            assert!(begun.elapsed() < PATIENCE, "it has not stopped");
        }
        drop(served);
    }
}

/// A cache with dirty data makes room for a new SSD if that is what the operator says, and not before.
#[test]
fn a_cache_on_the_new_ssd_is_destroyed_by_its_name_only() {
    let bed = Bed::new();
    bed.make("new.img", 24 * MIB);
    bed.make("disk2.img", 64 * MIB);
    let other =
        bed.done(&format!("create --cache new.img --disk disk2.img --set {}", never_idle()));
    let other = other.trim();
    let line = "store serve --cache new.img --disk disk2.img";
    let mut served = bed.0.serve(line, "store status --cache new.img");
    write(&mut bed.client(), MIB, &[7; 4096]);
    bed.done("stop --cache new.img");
    served.end();
    let uuid = bed.create("");
    let served = bed.serve("");
    let replace = "replace --cache cache.img --with new.img";
    bed.refused(1, replace, &format!("to destroy it, say --destroy {other}"));
    bed.refused(1, &format!("{replace} --destroy {uuid}"), "is not the cache that is there");
    let replaced = bed.output(&format!("{replace} --destroy {other}"));
    let told = text(&replaced.stderr);
    assert!(replaced.status.success() && told.contains("from now on name"), "{told}");
    // Who comes back with the old SSD is not to give up anything.
    let moved = format!("its cache {uuid} moved to {}", bed.path("new.img").display());
    let serve = "serve --cache cache.img --disk disk2.img --nbd unix:a";
    for line in [serve, "status --cache cache.img", "check --cache cache.img"] {
        bed.refused(1, line, &moved);
    }
    let create = "create --cache cache.img --disk disk2.img";
    bed.refused(1, create, &format!("{moved} by `shingle store replace`; to make another one"));
    bed.done(&format!("{create} --overwrite --destroy {other}"));
    assert_eq!(bed.json("status --cache new.img --json")["uuid"], uuid.as_str());
    bed.done("stop --cache new.img");
    drop(served);
}

/// What is dirty is safe, so a disk that is not there any more is no failure of the end; but nothing is known of it then.
#[test]
fn a_stop_goes_well_though_the_disk_cannot_be_read() {
    let bed = Bed::new();
    bed.create(&format!("--policy lru --set {}", never_idle()));
    let mut served = bed.serve("");
    let mut client = bed.client();
    client.read(2 * MIB, 4096).expect("connected").expect("read");
    write(&mut client, MIB, &[7; 4096]);
    client.disconnect().expect("connected");
    let disk = File::options().write(true).open(bed.path("disk.img")).expect("there");
    disk.set_len(60 * MIB).expect("cut");
    bed.done("stop --cache cache.img");
    let said = served.end();
    let told = " WARN what the disk is like could not be read (";
    assert!(said.contains(told) && said.contains("what is dirty is safe on the SSD"), "{said}");
    assert_eq!(served.0.wait().expect("ended").code(), Some(0));
    disk.set_len(64 * MIB).expect("as before");
    let status = bed.json("status --cache cache.img --json");
    let known = [&status["clean_shutdown"], &status["fingerprint_known"], &status["dirty_blocks"]];
    assert_eq!(known, [&Value::from(true), &false.into(), &1.into()]);
    // It is compared with what is cached, as after a crash: another disk is not taken for it.
    disk.write_all_at(&[9; 4096], 2 * MIB).expect("written");
    let line = "serve --cache cache.img --disk disk.img --nbd unix:nbd.sock";
    bed.refused(1, line, "was written without its cache");
    disk.write_all_at(&[0; 4096], 2 * MIB).expect("written");
    bed.done("detach --cache cache.img --disk disk.img");
    assert_eq!(bed.disk(MIB, 4096), [7; 4096]);
}

/// What changes nothing needs no right to write.
#[test]
fn a_check_only_reads() {
    let bed = Bed::new();
    bed.create("");
    for name in ["cache.img", "disk.img"] {
        let path = bed.path(name);
        fs::set_permissions(path, Permissions::from_mode(0o444)).expect("set");
    }
    // (Root needs no right, unless that is taken away.)
    let is_root = fs::metadata(bed.path("disk.img")).expect("there").uid() == 0;
    let run = |line: &str| {
        let asked = bed.command(line);
        if !is_root {
            return { asked }.output().expect("started");
        }
        let mut bare = Command::new("setpriv");
        bare.args(["--bounding-set", "-dac_override"]).arg(asked.get_program());
        let environment = asked.get_envs().filter_map(|(name, value)| Some((name, value?)));
        bare.args(asked.get_args()).envs(environment);
        bare.current_dir(asked.get_current_dir().expect("the folder")).output().expect("started")
    };
    for disk in ["", "--disk disk.img"] {
        let checked = run(&format!("check --cache cache.img {disk}"));
        assert!(checked.status.success(), "{}", text(&checked.stderr));
    }
    let told = run("export --cache cache.img --disk disk.img");
    let told = text(&told.stderr);
    assert!(told.contains("cannot open cache.img for writing: Permission denied"), "{told}");
}

/// Whoever waits for a disk that takes nothing hears what it says, and who gives up is called so in the log.
#[test]
fn who_waits_for_a_disk_that_refuses_is_told_why() {
    let bed = Bed::new();
    bed.create(&format!("--policy lru --set {}", never_idle()));
    let mut served = bed.serve_limited();
    write(&mut bed.client(), 40 * MIB, &[7; 4096]);
    let mut log = BufReader::new(served.0.stderr.take().expect("piped")).lines();
    for what in ["flush", "detach"] {
        let mut asked = bed.command(&format!("-q {what} --cache cache.img"));
        let asked = asked.stderr(Stdio::piped()).spawn().expect("started");
        let mut asked = Served(asked);
        let stderr = asked.0.stderr.take().expect("piped");
        let line = BufReader::new(stderr).lines().next().expect("a line").expect("text");
        let told =
            "the disk takes nothing: disk: write of 4 KiB at block 10240 failed: File too large";
        assert!(line.contains(told), "{line}");
        asked.kill();
        let told =
            format!("`{what}`: failed: given up: whoever asked has gone; 1 blocks are still dirty");
        assert!(log.any(|line| line.expect("text").contains(&told)), "{told}");
    }
    bed.done("stop --cache cache.img");
}

/// Clients may have taken all that there were.
#[test]
fn an_operator_ends_a_server_that_may_open_no_more_files() {
    use rustix::process::{Pid, Resource, getrlimit, prlimit};
    for how in ["stop", "detach"] {
        let bed = Bed::new();
        bed.create(&format!("--set {}", never_idle()));
        let mut served = bed.serve("");
        write(&mut bed.client(), 0, &[5; 4096]);
        // But the connection of the operator.
        let open = format!("/proc/{}/fd", served.0.id());
        let last = (0..).find(|number| !Path::new(&format!("{open}/{number}")).exists());
        let limit = rustix::process::Rlimit {
            current: last.map(|number| number + 1),
            ..getrlimit(Resource::Nofile)
        };
        prlimit(Pid::from_raw(served.0.id() as i32), Resource::Nofile, limit).expect("set");
        bed.done(&format!("{how} --cache cache.img"));
        let said = served.end();
        assert_eq!(served.0.wait().expect("ended").code(), Some(0), "{said}");
        assert_eq!(bed.disk(0, 1) == [5], how == "detach");
    }
}

#[test]
fn a_signal_ends_it_in_order() {
    let bed = Bed::new();
    bed.create(&format!("--set {}", never_idle()));
    let mut served = bed.serve("");
    let mut client = bed.client();
    write(&mut client, 0, &[5; 4096]);
    let process = served.0.id().to_string();
    let status = Command::new("kill").args(["-TERM", &process]).status().expect("started");
    assert!(status.success());
    client.disconnect().ok();
    served.end();
    assert_eq!(served.0.wait().expect("ended").code(), Some(0));
    let checked = bed.json("check --cache cache.img --disk disk.img --json");
    assert_eq!((&checked["clean_shutdown"], &checked["dirty_blocks"]), (&true.into(), &1.into()));
}

/// What was set is shown, by whoever serves the cache and by the SSD, and nothing is changed by asking.
#[test]
fn settings_can_be_read() {
    let bed = Bed::new();
    bed.create("--policy sac --set sac.zone=40M");
    let all = bed.done("get --cache cache.img");
    for line in ["policy=sac", "mode=write-back", "sac.zone=10240b", "drive.read_us=14000"] {
        assert!(all.lines().any(|other| other == line), "{line} is not in {all}");
    }
    assert_eq!(bed.done("get --cache cache.img sac.zone").trim(), "10240b");
    bed.refused(2, "get --cache cache.img sac.zne", "no `sac.zne` to get; there are sac.zone,");
    let served = bed.serve("");
    bed.done("set --cache cache.img mode=write-through cache.batch=7");
    let told = bed.done("status --cache cache.img");
    assert!(told.contains("sac.zone=10240b cache.batch=7"), "{told}");
    let json = bed.json("get --cache cache.img --json");
    assert_eq!(json["schema"], "shingle.store-settings/1");
    let settings = &json["settings"];
    assert_eq!(
        (&settings["mode"], &settings["cache.batch"]),
        (&"write-through".into(), &"7".into())
    );
    bed.done("stop --cache cache.img");
    drop(served);
    assert_eq!(bed.json("get --cache cache.img --json"), json, "the SSD says the same");
    let told = bed.done("status --cache cache.img");
    assert!(told.contains("not served; it was shut down in order"), "{told}");
}

/// In a container the server's process has no number, but its user is known.
#[test]
fn an_operator_in_another_pid_namespace_is_answered() {
    if !root_or_skip("a PID namespace") {
        return;
    }
    let bed = Bed::new();
    bed.create("");
    let served = bed.serve("");
    let inside = bed.command("stop --cache cache.img");
    let mut unshare = Command::new("unshare");
    unshare.args(["--pid", "--fork"]).arg(inside.get_program()).args(inside.get_args());
    let environment = inside.get_envs().filter_map(|(name, value)| Some((name, value?)));
    unshare.envs(environment).current_dir(inside.get_current_dir().expect("the folder"));
    let output = unshare.output().expect("started");
    assert!(output.status.success(), "{}", text(&output.stderr));
    drop(served);
}

/// Without serving, too, nothing is written to a disk that is not the right one.
#[test]
fn a_wrong_disk_is_refused_without_serving() {
    let bed = Bed::new();
    bed.create("");
    let mut served = bed.serve("");
    write(&mut bed.client(), MIB, &[7; 65_536]);
    bed.done("stop --cache cache.img");
    served.end();
    bed.make("wrong.img", 64 * MIB);
    let wrong = File::options().write(true).open(bed.path("wrong.img")).expect("there");
    wrong.write_all_at(&[9; 65_536], MIB).expect("written");
    wrong.write_all_at(&[9; 4096], 0).expect("written");
    for command in ["export", "detach"] {
        let line = format!("{command} --cache cache.img --disk wrong.img");
        bed.refused(1, &line, "was written without its cache");
    }
    bed.done("export --cache cache.img --disk wrong.img --trust-disk");
    // It knows that one now.
    let told = bed.0.refused(1, "store detach --cache cache.img --disk disk.img", "");
    // (Which it is depends on whether the file system keeps the mark.)
    let ways = ["was written without its cache", "not the one that this cache was used with last"];
    assert!(ways.iter().any(|way| told.contains(way)), "{told}");
}
