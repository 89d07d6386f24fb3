//! `shingle trace info`, `convert`, `mix` and `cut` as a user meets them.

mod common;

use std::path::Path;

use common::Folder;
use serde_json::{Value, json};

/// Bytes of a 5,000-block zone.
const ZONE: u64 = 20_480_000;

fn write(folder: &Folder, name: &str, lines: &[&str]) {
    let text = format!("time_ns,op,offset_bytes,size_bytes\n{}\n", lines.join("\n"));
    std::fs::write(folder.path(name), text).expect("written");
}

/// Is refused with this code and a line that says `told`.
fn refused(folder: &Folder, code: i32, args: &[&str], told: &str) {
    let (found, _, err) = folder.run(args);
    assert_eq!(found, code, "{args:?}: {err}");
    assert!(err.contains(told), "{args:?}: {told:?} is not in {err}");
}

/// 256 MiB of requests do not fit into 300 MB.
#[test]
#[cfg(target_os = "linux")]
fn a_trace_that_does_not_fit_into_memory_is_told() {
    let info = "ulimit -v 300000; exec \"$0\" trace info 'synth:uniform?requests=100M'";
    let mut shell = std::process::Command::new("sh");
    let done = shell.args(["-c", info, env!("CARGO_BIN_EXE_shingle")]).output().expect("started");
    let told = String::from_utf8_lossy(&done.stderr);
    assert_eq!(done.status.code(), Some(2), "{told}");
    let room =
        "memory has no room for more than 4194304 requests; `shingle trace convert TRACE -o ";
    assert!(told.contains(room), "{told}");
}

fn info(folder: &Folder, args: &[&str]) -> Value {
    let args = [&["trace", "info", "--json", "-", "--quiet"], args].concat();
    serde_json::from_str(&folder.said(&args).0).expect("JSON")
}

/// The requests of a CSV on stdout.
fn requests(text: &str) -> Vec<&str> {
    text.lines().skip(1).collect()
}

// ── info ─────────────────────────────────────────────────────────────────────────────────────

#[test]
fn a_trace_by_hand() {
    let folder = Folder::new();
    write(
        &folder,
        "hand.csv",
        &[
            "0,W,0,8192",                  // blocks 0 1
            "1000,W,8192,4096",            // 2, continues
            "2000,R,0,4096",               // 0, distance 2
            "300000000,W,4608,4096",       // 1 and 2 in part: distances 2 and 2, updates at 1 and 1
            "1300000000,F,0,0",            // after a second
            "1300000000,W,4096000000,512", // far away
        ],
    );
    let found = info(&folder, &["hand.csv"]);
    let expected = json!({
        "requests": { "read": 1, "write": 4, "trim": 0, "flush": 1 },
        "distinct_blocks": 4,
        "alignment": { "off_sectors": 0, "off_blocks": 2, "writes_off_blocks": 2,
                       "partial_write_blocks": 3 },
        "size_bytes": {
            "read": [{ "from": 4096, "to": 8191, "count": 1 }],
            "write": [{ "from": 512, "to": 1023, "count": 1 },
                      { "from": 4096, "to": 8191, "count": 2 },
                      { "from": 8192, "to": 16383, "count": 1 }],
        },
        "reuse_distance": [{ "from": 2, "to": 3, "count": 3 }],
        "update_distance": [{ "from": 1, "to": 1, "count": 2 }],
        "update_periods": { "buffer_blocks": 1310, "short_blocks": 2, "short_updated_once_blocks": 2,
                            "long_blocks": 0, "long_updated_often_blocks": 0 },
    });
    for (name, value) in expected.as_object().expect("an object") {
        assert_eq!(&found[name], value, "{name}");
    }
    assert_eq!(found["lru"]["all"][2]["cache_blocks"], 3);
    assert_eq!(found["lru"]["all"][2]["miss_ratio"], 4.0 / 7.0);
    assert_eq!(found["lru"]["writes"][1]["write_misses"], 4);
    assert_eq!(found["sequential"]["write"]["continuing_requests"], 1);
    assert_eq!(found["sequential"]["write"]["longest_bytes"], 12_288);
    assert_eq!(found["sequential"]["write"]["runs"], 3);
    let longer: Vec<_> = found["idle"]["longer"].as_array().expect("a list")[..2].to_vec();
    assert_eq!((&longer[0]["gaps"], &longer[1]["gaps"]), (&json!(2), &json!(1)));
    assert_eq!(longer[1]["seconds"], 1.0);
    assert_eq!(found["load"]["step_seconds"], 0.1);
    assert_eq!(found["load"]["steps"].as_array().map(Vec::len), Some(14));
    let (table, _) = folder.said(&["trace", "info", "hand.csv"]);
    // One of four writes continues another.
    for told in
        ["25.0 % of requests", "updated over twice", "LRU cache", "from 4 KiB", "time in pauses"]
    {
        assert!(table.contains(told), "{told}: {table}");
    }
}

/// What the curve says is what the policy does.
#[test]
fn the_curve_of_lru_is_that_of_the_policy() {
    let folder = Folder::new();
    let trace = "synth:mixed?requests=5k";
    let found = info(&folder, &[trace]);
    let curve = found["lru"]["all"].as_array().expect("a list");
    let mut compared = 0;
    for point in curve
        .iter()
        .filter(|point| point["cache_blocks"].as_u64().is_some_and(u64::is_power_of_two))
    {
        let blocks = point["cache_blocks"].as_u64().expect("a number");
        if blocks < 256 {
            continue;
        }
        let cache = format!("{blocks}b");
        let args =
            ["run", trace, "-p", "lru", "-c", &cache, "--split", "4k", "--partial", "ignore"];
        let (out, _) = folder.said(&[&args[..], &["--json", "-", "--quiet"]].concat());
        let run: Value = serde_json::from_str(&out).expect("JSON");
        let hits = run["runs"][0]["all"]["hits"]["ratio"].as_f64().expect("a ratio");
        let misses = point["miss_ratio"].as_f64().expect("a ratio");
        assert!((1.0 - hits - misses).abs() < 1e-12, "{cache}: {hits} {misses}");
        compared += 1;
    }
    assert!(compared > 3, "{curve:?}");
}

#[test]
fn pictures_stand_alone() {
    let folder = Folder::new();
    let args =
        ["trace", "info", "synth:mixed?requests=2k", "--html", "page.html", "--svg", "pictures"];
    folder.said(&args);
    let read = |path: &Path| std::fs::read_to_string(path).expect("written");
    let page = read(&folder.path("page.html"));
    assert!(page.starts_with("<!DOCTYPE html>") && page.matches("<svg").count() == 7, "{page}");
    let command = "shingle trace info 'synth:mixed?requests=2k' --html page.html --svg pictures";
    assert!(page.contains(command), "names the command as a shell takes it");
    // An icon of nothing keeps browsers from asking for one.
    let asks = page.replace("href=\"data:,\"", "");
    for asked in ["src=", "href=", "url(", "<script", "@import", "NaN"] {
        assert!(!asks.contains(asked), "{asked}");
    }
    let pictures = folder.path("pictures");
    for name in ["miss-ratio", "distances", "sizes", "runs", "load", "periods", "range"] {
        assert!(read(&pictures.join(format!("{name}.svg"))).starts_with("<svg"), "{name}");
    }
}

/// As what a trace was read, and how sure that is, stands wherever its figures do.
#[test]
fn the_format_is_told() {
    let folder = Folder::new();
    write(&folder, "hand.csv", &["0,W,0,8192", "1000,R,8192,4096"]);
    let told = "csv, text columns (by its header; 2 of the first 2 lines fit)";
    let (table, _) = folder.said(&["trace", "info", "hand.csv", "--html", "page.html"]);
    let page = std::fs::read_to_string(folder.path("page.html")).expect("written");
    // The table breaks what is longer than its line.
    let table = table.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(table.contains(told) && page.contains(told), "{table}");
    let format = &info(&folder, &["hand.csv"])["format"];
    assert_eq!((&format["name"], &format["by"]), (&json!("csv"), &json!("header")));
    let args = ["run", "hand.csv", "-p", "none", "--json", "-"];
    let (out, err) = folder.said(&args);
    assert!(err.contains(&format!("hand.csv: read as {told}")), "{err}");
    let run: Value = serde_json::from_str(&out).expect("JSON");
    assert_eq!(&run["trace"]["format"], format);
    let map = "csv:time=1/ns,op=2,offset=3,size=4";
    let (_, err) = folder.said(&[&args[..], &["--format", map]].concat());
    assert!(err.contains("(as --format says)"), "{err}");
    let (_, err) = folder.said(&["run", "synth:uniform?requests=100", "-p", "none"]);
    assert!(!err.contains("read as"), "{err}");
}

#[test]
fn the_table_fits_a_narrow_terminal_and_its_times_read_well() {
    let folder = Folder::new();
    let day = 86_400_000_000_000_u64;
    let lines: Vec<String> = (0..40_u64)
        .map(|n| format!("{},{},{},4096", n * day / 4, ["W", "R"][n as usize % 2], n % 7 * ZONE))
        .collect();
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    write(&folder, "week.csv", &lines);
    let (table, _) = folder.said(&["trace", "info", "week.csv"]);
    assert!(table.contains("9 d 18 h") && table.contains("longest pause"), "{table}");
    assert!(table.contains("each tenth of the writes touches"), "{table}");
    for line in table.lines().filter(|line| line.contains(['│', '┌', '└', '╞'])) {
        assert!(line.chars().count() <= 80, "{line}");
    }
}

/// A name behind --json is a file to write, and never the trace that was meant to be read.
#[test]
fn a_trace_behind_json_is_not_written_over() {
    let folder = Folder::new();
    write(&folder, "hand.csv", &["0,W,0,8192"]);
    refused(&folder, 2, &["trace", "info", "--json", "hand.csv"], "--json - hand.csv");
    let (out, _) = folder.said(&["trace", "info", "hand.csv", "--json", "info.json"]);
    assert!(out.contains("LRU cache"), "the table is printed, too: {out}");
    let text = std::fs::read_to_string(folder.path("info.json")).expect("written");
    let value: Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(value["schema"], "shingle.trace-info/1");
}

#[test]
fn volumes_are_listed_with_what_they_hold() {
    let folder = Folder::new();
    let text = "1538323200,4247200,128,1,1058\n\
                1538323199,13896880,128,0,1063\n\
                1538323201,16,8,1,1063\n\
                1538323205,16,8,1,7\n\
                1538323209,16,8,1,1063\n";
    std::fs::write(folder.path("cloud.csv"), text).expect("written");
    let (table, _) = folder.said(&["trace", "volumes", "cloud.csv", "--top", "1"]);
    assert!(table.contains("requests: 5, volumes: 3") && table.contains("60.0 %"), "{table}");
    assert!(table.contains("1063") && !table.contains("1058"), "{table}");
    assert!(table.contains("and 2 more"), "{table}");
    let (out, _) = folder.said(&["trace", "volumes", "cloud.csv", "--json", "-"]);
    let value: Value = serde_json::from_str(&out).expect("JSON");
    assert_eq!(
        value["volumes"][0],
        json!({ "name": "1063", "requests": 3, "reads": 1, "writes": 2, "others": 0,
                "read_bytes": 65_536, "written_bytes": 8_192, "end_bytes": 13_897_008_u64 * 512 })
    );
    assert_eq!(value["volumes"][1]["name"], "1058");
    assert_eq!(value["format"]["name"], "tencent");
    let told = "3 volumes, by requests 1063 (3), 1058 (1), 7 (1)";
    refused(&folder, 1, &["compare", "cloud.csv"], told);
    refused(&folder, 1, &["compare", "cloud.csv", "--requests", "2"], "--volume 1063");
    let (table, _) = folder.said(&["trace", "volumes", "synth:uniform?requests=100"]);
    assert!(table.contains("requests: 100, volumes: 1"), "{table}");
}

/// Nothing read, nothing written, one moment: no division by zero shows.
#[test]
fn a_trace_of_one_flush_is_told() {
    let folder = Folder::new();
    write(&folder, "flush.csv", &["5,F,0,0"]);
    let (table, _) = folder.said(&["trace", "info", "flush.csv", "--html", "page.html"]);
    assert!(!table.contains("NaN") && !table.contains("inf"), "{table}");
    let found = info(&folder, &["flush.csv"]);
    assert_eq!(found["lru"], json!({ "all": [], "writes": [] }));
    assert_eq!(found["write_range"]["tenth_ratio"], Value::Null);
}

// ── mix ──────────────────────────────────────────────────────────────────────────────────────

fn two(folder: &Folder) {
    write(folder, "a.csv", &["0,W,0,512", "100,R,20480000,512"]);
    write(folder, "b.csv", &["0,W,512,512", "60,F,0,0", "70,T,0,4096"]);
}

#[test]
fn traces_are_mixed_by_time() {
    let folder = Folder::new();
    two(&folder);
    let args = ["trace", "mix", "a.csv", "b.csv", "--copies", "2", "--time-scale", "10"];
    let out = ["--to", "csv", "-o", "-"];
    let (text, told) = folder.said(&[&args[..], &out].concat());
    let at = |zones: u64| zones * ZONE;
    let expected = [
        "0,W,0,512".to_owned(),
        format!("0,W,{},512", at(2) + 512),
        format!("0,W,{},512", at(3)),
        format!("0,W,{},512", at(5) + 512),
        "600,F,0,0".to_owned(),
        "600,F,0,0".to_owned(),
        format!("700,T,{},4096", at(2)),
        format!("700,T,{},4096", at(5)),
        format!("1000,R,{},512", at(1)),
        format!("1000,R,{},512", at(4)),
    ];
    assert_eq!(requests(&text), expected);
    assert!(told.contains("b.csv: begins at byte 40960000"), "{told}");
    let (text, _) =
        folder.said(&[&["trace", "mix", "a.csv", "b.csv", "--shift", "0"][..], &out].concat());
    assert_eq!(requests(&text)[1], "0,W,512,512", "on top of each other");
}

#[test]
fn a_seed_shuffles() {
    let folder = Folder::new();
    let shuffled = |seed: &str, name: &str| {
        let args = ["trace", "mix", "synth:uniform?requests=500", "--copies", "3", "--shuffle"];
        folder.said(&[&args[..], &["--seed", seed, "-o", name]].concat());
        std::fs::read(folder.path(name)).expect("written")
    };
    let one = shuffled("1", "one.csv");
    assert_eq!(one, shuffled("1", "again.csv"));
    assert_ne!(one, shuffled("2", "two.csv"));
    let found = info(&folder, &["one.csv"]);
    let copies = info(&folder, &["synth:uniform?requests=500", "--copies", "3"]);
    for same in ["requests", "distinct_blocks", "accessed_zone_bytes", "sizes", "idle"] {
        assert_eq!(found[same], copies[same], "{same}");
    }
}

#[test]
fn what_cannot_be_mixed_is_refused() {
    let folder = Folder::new();
    two(&folder);
    refused(&folder, 2, &["trace", "mix", "-o", "x.csv"], "TRACE");
    refused(&folder, 2, &["trace", "mix", "a.csv", "--copies", "0", "-o", "x.csv"], "at least 1");
    refused(&folder, 2, &["trace", "mix", "-", "-", "-o", "x.csv"], "stdin");
    refused(
        &folder,
        2,
        &["trace", "mix", "a.csv", "b.csv", "--shift", "64P", "-o", "x.csv"],
        "64P",
    );
    refused(&folder, 1, &["trace", "mix", "a.csv", "none.csv", "-o", "x.csv"], "none.csv");
    assert!(!folder.path("x.csv").exists());
}

// ── cut ──────────────────────────────────────────────────────────────────────────────────────

#[test]
fn a_part_of_a_trace() {
    let folder = Folder::new();
    write(
        &folder,
        "trace.csv",
        &["0,W,0,4096", "5000000000,R,2048,4096", "6000000000,W,8192,512", "7000000000,W,0,16384"],
    );
    let cut = |args: &[&str]| {
        let all = [&["trace", "cut", "trace.csv"], args, &["-o", "-", "--to", "csv"]].concat();
        let (text, told) = folder.said(&all);
        (requests(&text).iter().map(|line| (*line).to_owned()).collect::<Vec<_>>(), told)
    };
    let (kept, _) = cut(&["--from", "5s"]);
    assert_eq!(kept[0], "0,R,2048,4096");
    assert_eq!(kept.len(), 3);
    assert_eq!(cut(&["--from", "5s", "--until", "6s"]).0, ["0,R,2048,4096"]);
    let (kept, told) = cut(&["--range", "4096..8192"]);
    assert_eq!(kept, ["0,R,4096,2048", "2000000000,W,4096,4096"]);
    assert!(told.contains("2 requests lay across a border"), "{told}");
    let (kept, _) = cut(&["--skip", "1", "--requests", "1", "--mode", "w"]);
    assert_eq!(kept, ["0,W,8192,512"]);
    refused(
        &folder,
        1,
        &["trace", "cut", "trace.csv", "--from", "1h", "-o", "x.csv"],
        "no request",
    );
    refused(&folder, 2, &["trace", "cut", "trace.csv", "--from", "soon", "-o", "x.csv"], "`soon`");
    let never = ["trace", "cut", "trace.csv", "--from", "2s", "--until", "1s", "-o", "x.csv"];
    refused(&folder, 2, &never, "--until");
    refused(&folder, 2, &["trace", "cut", "trace.csv", "--range", "9..3", "-o", "x.csv"], "empty");
}

/// A sample keeps some zones with all that happens in them, and others not at all.
#[test]
fn one_zone_in_some() {
    let folder = Folder::new();
    let trace = "synth:uniform?requests=5k";
    let all = info(&folder, &[trace]);
    folder.said(&["trace", "cut", trace, "--every-zone", "4", "-o", "cut.csv"]);
    let cut = info(&folder, &["cut.csv"]);
    let figure = |info: &Value, name: &str| info[name].as_u64().expect("a number") as f64;
    for name in ["accessed_zone_bytes", "distinct_blocks", "blocks"] {
        let part = figure(&cut, name) / figure(&all, name);
        assert!((0.2..0.3).contains(&part), "{name}: {part}");
    }
    assert_eq!(figure(&cut, "accessed_zone_bytes") as u64 % ZONE, 0);
}

// ── in its file ──────────────────────────────────────────────────────────────────────────────

#[test]
fn a_trace_is_written_as_it_comes() {
    let folder = Folder::new();
    write(
        &folder,
        "a.csv",
        &["5,R,8192,512", "7,W,4096,512", "9,F,0,0", "12,W,0,1024", "20,W,0,512"],
    );
    let shaped = ["--mode", "w", "--requests", "3", "--offset", "1MiB", "-o", "-", "--to", "csv"];
    let (out, told) = folder.said(&[&["trace", "convert", "a.csv"], &shaped[..]].concat());
    assert_eq!(requests(&out), ["0,W,1052672,512", "2,F,0,0", "5,W,1048576,1024"]);
    assert!(told.contains("a.csv: read as"), "{told}");
    // What ends in a fault is not there, and neither is the half of it.
    write(&folder, "bad.csv", &["5,R,8192,512", "7,W,x,512"]);
    for (trace, told) in [("bad.csv", "bad.csv: line 3"), ("absent.csv", "absent.csv: ")] {
        refused(&folder, 1, &["trace", "convert", trace, "-o", "made.shingle"], told);
    }
    write(&folder, "writes.csv", &["5,W,0,512"]);
    let none = ["trace", "convert", "writes.csv", "--mode", "r", "-o", "made.shingle"];
    refused(&folder, 1, &none, "--mode r leaves no request: the trace only writes");
    let left = std::fs::read_dir(folder.0.path()).expect("there").count();
    assert_eq!(left, 3, "only the traces are left");
}

/// All that a run says but what differs from run to run.
fn results(folder: &Folder, line: &str) -> (Value, String) {
    let args: Vec<&str> = line.split(' ').collect();
    let (out, err) = folder.said(&[&args[..], &["--json", "-"]].concat());
    let mut found: Value = serde_json::from_str(&out).expect("JSON");
    found["shingle"] = Value::Null;
    for run in found["runs"].as_array_mut().expect("runs") {
        run["wall"] = Value::Null;
    }
    (found, err)
}

#[test]
fn no_command_writes_over_what_it_reads() {
    let folder = Folder::new();
    write(&folder, "t.csv", &["0,R,4096,4096", "1000,W,8192,4096"]);
    let before = std::fs::read(folder.path("t.csv")).expect("there");
    let used = "that file is used by this command";
    let no_trace = "no trace is named";
    for (line, told) in [
        ("compare t.csv --csv t.csv", used),
        ("compare t.csv --json ./t.csv", used),
        ("compare t.csv --json r --csv r", used),
        ("compare --csv t.csv", no_trace),
        ("run --csv t.csv", no_trace),
        ("run t.csv --trace-out t.csv", used),
        ("curve t.csv --csv t.csv", used),
        ("curve --json t.csv", no_trace),
        ("sweep t.csv --json t.csv", used),
        ("trace info t.csv --json t.csv", used),
        ("trace info --json t.csv", no_trace),
        ("trace cut t.csv --until 10s -o t.csv", used),
        ("trace convert t.csv -o t.csv", used),
        ("trace mix t.csv t.csv -o t.csv", used),
        ("trace synth --like t.csv -o t.csv", used),
        // Nor is a workload taken for a trace that was forgotten.
        ("trace cut -o t.csv", "<TRACE>"),
        ("trace convert -o t.csv", "<TRACE>"),
    ] {
        refused(&folder, 2, &line.split(' ').collect::<Vec<_>>(), told);
        assert_eq!(std::fs::read(folder.path("t.csv")).expect("there"), before, "{line}");
    }
    // Results may be written again.
    for _ in 0..2 {
        let line = ["run", "synth:mixed?requests=500", "--csv", "r.csv", "--json", "r.json", "-q"];
        folder.said(&line);
    }
    for option in ["--csv", "--json"] {
        let file = format!("r.{}", &option[2..]);
        folder.said(&["run", "-p", "none", "--requests", "500", option, &file, "-q"]);
    }
}

#[test]
fn a_trace_that_stays_in_its_file_gives_the_same_results() {
    const STAYS: &str = "stays in its file";
    let folder = Folder::new();
    let made = ["trace", "convert", "synth:mixed?requests=20000", "-o", "a.shingle"];
    folder.said(&made);
    for line in [
        "compare a.shingle -p lru,most,sac -c 5%",
        "compare a.shingle -p belady,none -d st8000as0002 --mode w --requests 9000 --offset 1MiB",
        "compare a.shingle -p lru --pacing trace --speed 2 --drain",
        "compare a.shingle -p none -d exos-x18z -t log --requests 5000 --baseline none",
        "compare a.shingle -p lru --as store --requests 10000 --svg pictures",
        "run a.shingle -p sac --trace-out out.csv",
    ] {
        let (held, told) = results(&folder, line);
        assert!(!told.contains(STAYS), "{line}: {told}");
        let (streamed, told) = results(&folder, &format!("{line} --memory 64K"));
        assert!(told.contains(STAYS) && told.contains("64 KiB"), "{line}: {told}");
        assert_eq!(streamed, held, "{line}");
    }
    // What needs all of it has it in memory.
    let (_, told) = results(&folder, "compare a.shingle -p lru --copies 2 --memory 64K");
    assert!(!told.contains(STAYS), "{told}");
    // A sweep over one of each kind.
    let sweep = "sweep -p lru,most --vary trace=a.shingle,synth:mixed?requests=5000,cache=1%..4%";
    let (held, _) = results(&folder, &format!("{sweep} --out held"));
    let (streamed, told) = results(&folder, &format!("{sweep} --memory 200K --out streamed"));
    assert_eq!(told.matches(STAYS).count(), 1, "{told}");
    assert_eq!(streamed, held);
    // A damaged one is told before anything is run.
    let mut bytes = std::fs::read(folder.path("a.shingle")).expect("there");
    let last = bytes.len() - 100;
    bytes[last] ^= 1;
    std::fs::write(folder.path("b.shingle"), bytes).expect("written");
    refused(&folder, 1, &["compare", "b.shingle", "--memory", "0"], "b.shingle: byte ");
}
