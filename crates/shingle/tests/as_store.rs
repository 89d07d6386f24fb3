//! `--as store`: the store in virtual time, on the command line.

mod common;

use common::Folder;
use serde_json::Value;

/// Pauses of seconds between bursts, and dirty blocks that there is time to write.
const IDLE: &str = "time_ms,op,sector,sectors";

#[test]
fn what_no_store_does_is_refused() {
    let folder = Folder::new();
    let small = "synth:mixed?requests=2k";
    let cases: &[(&[&str], &str)] = &[
        (&["--as", "store", "--split", "4k"], "a store joins neighbouring blocks"),
        (&["--as", "store", "--partial", "ignore"], "--partial ignore"),
        (&["--as", "store", "--depth", "0"], "--depth 0"),
        (&["--as", "store", "-c", "16M", "--flush-every", "0"], "--flush-every 0"),
        (&["--as", "store", "-d", "exos-x18z"], "written in sequence"),
        (&["--as", "store", "-c", "16M", "-p", "belady"], "has to know the future, which no store"),
        (
            &["--as", "store", "-c", "16M", "--set", "sac.rule4=exact"],
            "how old its buffer is, which no store",
        ),
        (&["--as", "store", "-c", "1M"], "a store has 1024 at least, so say -c 4MiB or more"),
        (&["--depth", "4"], "--depth is for --as store only"),
        (&["--as", "papers", "--flush-every", "5"], "--flush-every is for --as store only"),
        (&["--as", "store", "-c", "16M", "--depth", "4", "--pacing", "trace"], "--depth: with"),
        (&["--speed", "2"], "--speed: in closed loop"),
    ];
    for (args, told) in cases {
        let (code, _, err) = folder.run(&[&["run", small], *args].concat());
        assert!(code == 2 && err.contains(told), "{args:?}: {code} {err}");
    }
}

/// Nothing goes through the buffer of a disk that takes bands past it, as long as bands are written whole.
#[test]
fn a_store_writes_whole_bands() {
    let folder = Folder::new();
    let run = ["run", "synth:mixed?requests=3k", "-p", "disk-time", "-d", "st8000as0002"];
    let told = ["-c", "16M", "--as", "store", "--set", "disk-time.zone=bands", "--check"];
    let written = |more: &[&str]| {
        let report = folder.results(&[&run[..], &told, more].concat());
        let run = &report["runs"][0];
        assert_eq!(run["knows_bands"], true);
        let io = &run["all"]["drive_io"];
        ["log_bytes_written", "native_bytes_written"].map(|name| io[name].as_u64().expect("bytes"))
    };
    let [log, native] = written(&["--set", "disk-time.whole_bands=always"]);
    assert!(log == 0 && native > 100 << 20, "{log} and {native} bytes");
    let [log, native] = written(&["--set", "disk-time.whole_bands=never"]);
    assert!(log > 0 && native == 0, "{log} and {native} bytes");
}

#[test]
fn a_store_is_a_function_of_its_input_and_loses_nothing() {
    let folder = Folder::new();
    let args = [
        "compare",
        "synth:mixed?requests=4k",
        "--as",
        "store",
        "-p",
        "lru,sac,most",
        "-c",
        "16M",
        "--check",
        "--flush-every",
        "1",
    ];
    let with_page = [&args[..], &["--html", "page.html"]].concat();
    let (first, second) = (folder.results(&args), folder.results(&with_page));
    let page = std::fs::read_to_string(folder.path("page.html")).expect("a page");
    assert_eq!(
        page.contains("Maps share one scale"),
        page.contains("id=\"heat"),
        "of maps that are there"
    );
    let runs = first["runs"].as_array().expect("runs");
    for (run, again) in runs.iter().zip(second["runs"].as_array().expect("runs")) {
        let counted = |run: &Value| [&run["all"], &run["left"], &run["latency"]].map(Value::clone);
        assert_eq!(counted(run), counted(again));
    }
    let stores: Vec<&Value> = runs.iter().filter(|run| run["policy"] != "none").collect();
    assert_eq!(stores.len(), 3);
    for run in stores {
        assert_eq!(run["parameters"]["as"], "store");
        assert!(run["checked_reads"].as_u64() > Some(1_000), "{run}");
        assert!(run["all"]["requests"]["flush"].as_u64() > Some(0), "the client flushes");
        // Journal and frames: the SSD gets more than the host's writes and what is read into the cache.
        let all = &run["all"];
        let count = |value: &Value| value.as_u64().expect("a count");
        let frames =
            count(&all["accesses"]["write_blocks"]) - count(&all["bypass"]["write_blocks"]);
        assert!(count(&all["ssd"]["written_blocks"]) > frames, "{all}");
    }
}

/// Over a translation: what it counts is in the result, and no read is stale.
#[test]
fn a_store_stands_over_a_translation() {
    let folder = Folder::new();
    let mut trace = format!("{IDLE}\n");
    for n in 0..6000_u64 {
        trace +=
            &format!("{},{},{},8\n", n, ["W", "W", "R"][n as usize % 3], n * n * 7 % 9_001 * 8);
    }
    std::fs::write(folder.path("small.csv"), trace).expect("written");
    let args = ["run", "small.csv", "--as", "store", "-p", "lru", "-c", "4M", "-d", "hm-tiny"];
    for translation in ["fluid", "dm-zoned", "log"] {
        let buffer = ["--set", "drive.pb=4M", "-t", translation, "--check", "--drain"];
        let run = folder.results(&[&args[..], &buffer].concat())["runs"][0].take();
        assert_eq!(
            (&run["translation"], &run["parameters"]["as"]),
            (&translation.into(), &"store".into())
        );
        let (did, disk) = (&run["translation_counters"], &run["all"]["drive_io"]);
        assert!(did["written_blocks"].as_u64() > Some(1000), "{did}");
        assert_eq!(did["written_blocks"], disk["written_blocks"], "what left the cache");
        assert!(run["checked_reads"].as_u64() > Some(1000), "{run}");
    }
}

#[test]
fn idle_time_is_used() {
    let folder = Folder::new();
    let mut trace = format!("{IDLE}\n");
    for burst in 0..20_u64 {
        for n in 0..40 {
            let sector = (burst * 40 + n) * 7_919 % 100_000 * 8;
            trace += &format!("{},W,{sector},8\n", burst * 20_000 + n);
        }
    }
    std::fs::write(folder.path("idle.csv"), trace).expect("written");
    for policy in ["lru", "sac", "most", "cdc", "pore"] {
        let args = ["run", "idle.csv", "-p", policy, "-c", "16M", "--pacing", "trace"];
        let dirty = |executor: &str| {
            let run = folder.results(&[&args[..], &["--as", executor]].concat());
            run["runs"][0]["left"]["dirty_blocks"].as_u64().expect("a count")
        };
        assert_eq!(dirty("papers"), 800, "{policy}: nothing leaves a cache that is not full");
        // (The last burst ends with the trace.)
        assert!(dirty("store") <= 40, "{policy}: {} blocks are dirty", dirty("store"));
    }
}

/// The client's own flushes are no requests of the trace.
#[test]
fn a_cache_is_warm_from_a_request_of_the_trace_on() {
    let folder = Folder::new();
    let mut trace = format!("{IDLE}\n");
    for n in 0..1500_u64 {
        trace += &format!("{},W,{},32\n", n * 10, n * 7_919 % 100_000 * 32);
    }
    std::fs::write(folder.path("often.csv"), trace).expect("written");
    let run = |every: &str| {
        let args = ["run", "often.csv", "-p", "lru", "-c", "16M", "--pacing", "trace"];
        let store = ["--as", "store", "--flush-every", every];
        folder.results(&[&args[..], &store].concat())["runs"][0].take()
    };
    let (often, never) = (run("1"), run("1000"));
    assert!(often["all"]["requests"]["flush"].as_u64() > Some(20), "{}", often["all"]["requests"]);
    assert!(often["warm_from"].is_u64(), "the cache is full at some time");
    assert_eq!(often["warm_from"], never["warm_from"]);
}

/// The last answer comes while the disk is still written to.
#[test]
fn a_disk_is_not_busy_for_longer_than_the_run() {
    let folder = Folder::new();
    let args = ["run", "synth:uniform?requests=3k", "--mode", "w", "-p", "lru", "-c", "4M"];
    let paced = ["-d", "cmr7200", "--pacing", "trace", "--speed", "100000", "--as", "store"];
    let result = folder.results(&[&args[..], &paced].concat());
    let busy = result["runs"][0]["queue"]["disk_utilisation"].as_f64().expect("open loop");
    assert!((0.99..=1.0).contains(&busy), "{busy}");
}

#[test]
fn flash_inside_the_disk_is_reported() {
    let folder = Folder::new();
    let args =
        ["run", "synth:mixed?requests=4k", "-p", "lru", "-c", "16M", "-d", "st5000as0011+fc"];
    let small = ["--as", "store", "--set", "drive.flash_bytes=256MiB"];
    for drain in [&[][..], &["--drain"]] {
        let run = folder.results(&[&args[..], &small, drain].concat())["runs"][0].take();
        let flash = &run["flash"];
        assert!(flash["written_blocks"].as_u64() > Some(0), "{flash}");
        assert!(flash["programmed_blocks"].as_u64() >= flash["written_blocks"].as_u64());
        assert!(flash["regions"].as_array().is_some_and(|regions| !regions.is_empty()));
    }
}

/// What Dropbox saw: an SSD in front of over 100 disks is what they wait for.
#[test]
fn a_cache_is_worse_than_none_when_too_many_disks_share_the_ssd() {
    let folder = Folder::new();
    let said = |disks: &str| {
        let disks = format!("ssd.disks={disks}");
        let args = ["compare", "synth:zipf?requests=100k", "-p", "none,lru", "-d", "cmr7200"];
        let as_store = ["--baseline", "none", "--as", "store", "--set", &disks];
        let (code, out, err) = folder.run(&[&args[..], &as_store].concat());
        assert_eq!(code, 0, "{err}");
        out
    };
    let (few, many) = (said("1"), said("200"));
    assert!(few.contains("lru needs the least I/O time"), "{few}");
    assert!(many.contains("none needs the least I/O time"), "{many}");
}
