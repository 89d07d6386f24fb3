//! Replays of traces through the store, on sparse files: what is read is what was written, what cannot
//! be measured is null, an emulated drive does what its model does, and nothing is overwritten silently.

mod common;

use common::Folder;
use serde_json::Value;
use shingle_core::observer::Event;
use shingle_core::units::{Block, Nanos, Op};
use shingle_drive::{Buffer, Io, Settings, make};
use shingle_trace::record::Events;

const TRACE: &str = "synth:mixed?requests=3000&range=400MB";

fn refused(folder: &Folder, words: &str, told: &str) {
    let output = folder.output(words);
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && error.contains(told), "{words}: {error}");
    assert_eq!(error.trim().lines().count(), 1, "{error}");
}

fn json(folder: &Folder, words: &str) -> Value {
    let result = folder.json(&format!("{words} --json - --quiet"));
    let schema = serde_json::to_value(shingle_result::schema()).expect("it is JSON");
    let validator = jsonschema::validator_for(&schema).expect("it is a schema");
    let errors: Vec<String> = validator.iter_errors(&result).map(|e| e.to_string()).collect();
    assert!(errors.is_empty(), "{words}: {errors:?}");
    result["runs"][0].clone()
}

/// Beside the build: a file system with direct I/O, if there is one.
fn folder() -> Folder {
    Folder(tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder"))
}

fn count(run: &Value, path: &str) -> u64 {
    run.pointer(path).and_then(Value::as_u64).unwrap_or_else(|| panic!("{path} in {run}"))
}

#[test]
fn a_replay_reads_what_it_wrote_and_says_null_where_nothing_is_measured() {
    let folder = folder();
    let places = "--cache ssd.img --disk hdd.img";
    let words = format!("replay {TRACE} {places} -p lru --depth 8 --verify --record live.shingle");
    let result = json(&folder, &words);
    assert!(count(&result, "/checked_reads") > 1_000, "{result}");
    assert_eq!(count(&result, "/measured/failed_requests"), 0);
    assert_eq!(count(&result, "/measured/depth"), 8);
    for path in ["/all/drive_io/rmw", "/all/wa_host", "/all/pb/read_blocks", "/left/seconds"] {
        assert_eq!(result.pointer(path), Some(&Value::Null), "{path}");
    }
    // Every block is a hit, entered, or bypassed it.
    let all = |of: &str| {
        count(&result, &format!("/all/{of}/read_blocks"))
            + count(&result, &format!("/all/{of}/write_blocks"))
    };
    assert!(all("bypass") + all("hits") < all("accesses") && all("hits") > 0);
    assert!(count(&result, "/all/drive_io/read_blocks") > 0);
    assert!(count(&result, "/all/ssd/written_blocks") > 0);
    let seconds = |path: &str| result.pointer(path).and_then(Value::as_f64).expect("a number");
    assert!(seconds("/latency/p99_us") >= seconds("/latency/p50_us"));
    assert!(seconds("/all/seconds/by_call/ssd_write") > 0.0 && seconds("/wall/seconds") > 0.0);

    // The recording is a trace, and the simulator decides as it says.
    let text = folder.done("follow live.shingle");
    assert!(text.contains("all as recorded") && text.contains("3000"), "{text}");
    let info = folder.json("trace info live.shingle --json -");
    assert!(info.to_string().contains("3000"), "{info}");
    let simulated = json(&folder, "run live.shingle -p lru -c 3000b -d cmr7200");
    assert_eq!(
        count(&simulated, "/all/accesses/write_blocks"),
        count(&result, "/all/accesses/write_blocks")
    );
    // Without events it is no recording.
    folder.done("trace convert live.shingle -o plain.shingle");
    refused(&folder, "follow plain.shingle", "holds no events");
}

#[test]
fn nothing_is_overwritten_unless_it_is_said() {
    let folder = folder();
    let path = |name: &str| folder.path(name);
    std::fs::write(path("hdd.img"), vec![7; 1 << 20]).expect("written");
    let words = format!("replay {TRACE} --cache ssd.img --disk hdd.img");
    refused(&folder, &words, "--overwrite");
    assert_eq!(std::fs::read(path("hdd.img")).expect("there"), vec![7; 1 << 20]);
    assert!(!path("ssd.img").exists());
    // A cache that is served.
    std::fs::File::create(path("other.img")).expect("a file").set_len(32 << 20).expect("long");
    std::fs::File::create(path("cache.img")).expect("a file").set_len(16 << 20).expect("long");
    folder.done("store create --cache cache.img --disk other.img");
    let before = std::fs::read(path("cache.img")).expect("there");
    let words = format!("replay {TRACE} --cache cache.img --disk hdd.img --overwrite");
    refused(&folder, &words, "--destroy");
    assert!(std::fs::read(path("cache.img")).expect("there") == before);
    refused(&folder, &format!("{words} -c 1G"), "leave out -c");
    // A zoned disk is none at another length.
    folder.done("zoned create z.img --zones 20 --zone-size 1M --conventional 8");
    let length = || path("z.img").metadata().expect("there").len();
    let made = length();
    let words = format!("replay {TRACE} --cache new.img --disk z.img --overwrite");
    refused(&folder, &words, "format it first");
    folder.done("zoned format z.img --translation log -q");
    refused(&folder, &words, "are needed");
    assert_eq!(length(), made);
    let words = format!("replay {TRACE} --cache new.img --disk new-disk.img");
    refused(&folder, &format!("{words} --emulate cmr7200"), "does not tell its steps");
    refused(&folder, &format!("{words} --depth 0"), "--depth 0");
    refused(&folder, &format!("{words} -p belady"), "belady");
    // The disk is made first.
    refused(&folder, &words.replace("new.img", "none/new.img"), "none/new.img");
    refused(&folder, &format!("{words} -c 1000000T"), "new.img");
    std::fs::File::create(path("empty.img")).expect("a file");
    let empty = "--cache none/new.img --disk empty.img";
    refused(&folder, &format!("replay {TRACE} {empty}"), "none/new.img");
    assert_eq!(path("empty.img").metadata().expect("there").len(), 0);
    assert!(!path("new.img").exists() && !path("new-disk.img").exists());
}

/// What it measures is the cache that `store create` makes, which plans as over a log.
#[test]
fn a_replay_over_a_zoned_disk_plans_as_store_create_does() {
    let folder = folder();
    folder.done("zoned create z.img --zones 600 --zone-size 1M --conventional 16 -q");
    folder.done("zoned format z.img --translation log -q");
    let set = "--set drive.read_us=9000";
    let places = "--cache ssd.img --disk z.img";
    let words = format!(
        "replay {TRACE} {places} --overwrite -p disk-time {set} --depth 8 --verify --record live.shingle"
    );
    for words in [&words, &format!("{words} --drain")] {
        let result = json(&folder, words);
        assert!(count(&result, "/checked_reads") > 1_000, "{result}");
        assert_eq!(count(&result, "/measured/failed_ios"), 0);
        assert!(folder.done("zoned check z.img").contains("sound"));
    }
    let path = folder.path("live.shingle").display().to_string();
    let recorded = Events::open(&path).expect("a recording").about().settings.clone();
    folder.done(&format!("store create {places} -p disk-time {set}"));
    for name in ["drive.log", "drive.rmw_base_us", "drive.rmw_us_per_block"] {
        let value = folder.done(&format!("store get --cache ssd.img {name}"));
        let created = format!("{name}={}", value.trim());
        assert!(recorded.lines().any(|line| line == created), "{created}: {recorded}");
    }
    // The cache is in the way, and no model is of such a disk.
    refused(&folder, &words, "--destroy");
    let words = format!("replay {TRACE} --cache new.img --disk z.img --overwrite");
    for option in ["--predict cmr7200", "--emulate st8000as0002"] {
        refused(&folder, &format!("{words} {option}"), "a zoned disk under a translation");
    }
    assert!(!folder.path("new.img").exists());
}

#[test]
fn a_replay_and_what_was_foretold_of_it_stand_side_by_side() {
    let folder = folder();
    let words = format!(
        "replay {TRACE} --cache ssd.img --disk hdd.img -p lru,sac --set sac.zone=40M --predict cmr7200 --json - \
         --html page.html --quiet"
    );
    let result: Value = folder.json(&words);
    let schema = serde_json::to_value(shingle_result::schema()).expect("it is JSON");
    let validator = jsonschema::validator_for(&schema).expect("it is a schema");
    let errors: Vec<String> = validator.iter_errors(&result).map(|e| e.to_string()).collect();
    assert!(errors.is_empty(), "{errors:?}");
    let runs = result["runs"].as_array().expect("runs");
    let policies: Vec<&str> =
        runs.iter().map(|run| run["policy"].as_str().expect("a name")).collect();
    assert_eq!(policies, ["lru", "sac", "lru", "sac"]);
    for (nth, run) in runs.iter().enumerate() {
        let real = nth < 2;
        assert_eq!(run.get("measured").is_some(), real, "the first two are real");
        assert_eq!(
            count(run, "/all/accesses/write_blocks"),
            count(&runs[0], "/all/accesses/write_blocks")
        );
        assert_eq!(run["cache_blocks"], runs[0]["cache_blocks"]);
        let series = run["series"].as_array().expect("its course");
        assert_eq!((series.len(), count(&series[199], "/requests")), (200, 3_000));
        assert!(series.iter().any(|point| count(point, "/dirty_blocks") > 0));
        assert_eq!(series[0]["rmw"].is_null(), real, "the RMWs of a real disk are not seen");
        assert!(series[0]["blocks"].is_u64());
    }
    let page = std::fs::read_to_string(folder.path("page.html")).expect("the page");
    assert_eq!(page.matches("<svg").count(), 2);
    assert_eq!(page.matches("--html page.html").count(), 1, "the command stands once, below");
    assert!(page.contains("sac: dirty in the cache") && page.contains("simulated"));
    let table = folder.done(&words.replace("--json - --html page.html", "--overwrite"));
    assert_eq!((table.matches("measured").count(), table.matches("simulated").count()), (2, 2));
    let rmws = |how: &str| {
        let lines = table.lines().filter(|line| line.contains(how));
        let fifth = |line: &str| line.split('┆').nth(4).expect("a cell").trim().to_owned();
        lines.map(fifth).collect::<Vec<_>>()
    };
    assert_eq!(rmws("policy"), ["RMWs"]);
    assert_eq!((rmws("measured"), rmws("simulated")), (vec!["-".into(); 2], vec!["0".into(); 2]));

    let words = format!("replay {TRACE} --cache a.img --disk b.img");
    let refuse = |more: &str, told: &str| refused(&folder, &format!("{words} {more}"), told);
    refuse("-p lru,sac --record live.shingle", "a recording has one policy");
    refuse("--record b.img", "b.img: that file is used by this command");
    refuse("--json a.img", "a.img: that file is used by this command");
    refuse("--predict cmr7200 --set mode=write-through", "drop --predict");
    refuse("--predict no-such-drive", "no-such-drive");
    refuse("-p lru,sac --set policy=fifo", "the policies are given with -p");
    assert!(!folder.path("a.img").exists());
}

/// Without --drain, what is in the cache at the end is read after a restart, from the disk as the
/// emulation has left it.
#[test]
fn an_emulated_drive_can_be_left_with_a_dirty_cache() {
    let folder = folder();
    let words = "replay synth:mixed?requests=5000&range=400MB --cache ssd.img --disk smr.img -p sac \
                 --depth 8 --verify --emulate st8000as0002 --set drive.pb=800b";
    let result = json(&folder, words);
    assert!(count(&result, "/left/dirty_blocks") > 0 && count(&result, "/all/drive_io/rmw") > 0);
}

/// SAC weighs reads against RMWs: told SAC's own costs, and not those of this drive, it has seven times as many.
#[test]
fn a_store_plans_with_the_costs_of_the_drive_that_is_emulated_or_foretold() {
    let folder = folder();
    let words = "replay synth:mixed --requests 3000 --cache ssd.img --disk smr.img -p sac -c 3900b \
                 --emulate st8000as0002 --set drive.pb=800b --predict st8000as0002 -q --json -";
    let report: Value = folder.json(words);
    let [measured, simulated] =
        [0, 1].map(|nth| count(&report, &format!("/runs/{nth}/all/drive_io/rmw")));
    assert!(simulated > 4 && measured <= 2 * simulated, "{measured}, foretold {simulated}");
}

#[test]
fn an_emulated_drive_does_what_its_model_does_and_leaves_the_disk_whole() {
    // Few blocks fit its buffer, so that it cleans a lot.
    const SLOTS: u64 = 400;
    for (name, depth) in [("st8000as0002", 1), ("sac-emulator", 8), ("pore-emulator", 1)] {
        let folder = folder();
        let words = format!(
            "replay synth:mixed?requests=1500&range=400MB --cache ssd.img --disk smr.img -p lru \
             -c 3900b --emulate {name} --set drive.pb={SLOTS}b --depth {depth} --drain --verify \
             --record live.shingle"
        );
        // (--verify with --drain compares the file itself with what was written.)
        let result = json(&folder, &words);
        assert!(count(&result, "/checked_reads") > 1_000, "{name}: {result}");
        assert_eq!(count(&result, "/measured/failed_ios"), 0);
        let rmws = count(&result, "/all/drive_io/rmw");
        assert!(rmws > 5, "{name}: {rmws} RMWs");
        // Some of them at the end, of what was left; each block that was dirty was written then.
        let drained = count(&result, "/drained/rmw");
        assert!(drained > 0 && drained <= rmws, "{name}: {drained} of {rmws} RMWs at the end");
        let (dirty, written) = ("/drained/dirty_blocks", "/drained/written_blocks");
        assert!(count(&result, dirty) > 0, "{name}: nothing was left");
        assert!(count(&result, written) >= count(&result, dirty), "{name}: {result}");
        assert_eq!(result.pointer("/drained/by_cause"), Some(&Value::Null));
        let cleaning = result.pointer("/all/seconds/by_cause/clean").and_then(Value::as_f64);
        assert!(cleaning.is_some_and(|seconds| seconds > 0.0), "{name}: {cleaning:?}");
        let whole = std::fs::metadata(folder.path("smr.img")).expect("there").len();
        assert!(whole < 500 << 20, "{name}: cut to the disk, {whole} bytes are left");
        // The model by itself, given the I/O that the disk got.
        let settings = Settings { buffer: Buffer::Bytes(SLOTS * 4096), ..Settings::default() };
        let mut drive = make(name, &settings).expect("it is there");
        let path = folder.path("live.shingle").display().to_string();
        let mut events = Events::open(&path).expect("a recording");
        let mut now = Nanos::ZERO;
        while let Some(event) = events.next().expect("whole") {
            if let Event::Io { ssd: false, op, first, blocks, .. } = event {
                let block = if op == Op::Flush { Block(0) } else { first };
                now = drive.serve(now, &Io { op, block, count: blocks }, &mut []).done;
            }
        }
        drive.drain(now);
        let counters = drive.counters();
        assert_eq!(counters.rmw, rmws, "{name}");
        assert_eq!(counters.written_blocks, count(&result, "/all/drive_io/written_blocks"));
        assert_eq!(counters.log_bytes_written, count(&result, "/all/drive_io/log_bytes_written"));
    }
}
