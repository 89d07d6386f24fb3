//! Translations on the command line: what is refused and how, and what the results say of them.

use assert_cmd::Command;
use serde_json::Value;

/// Fits the smallest host-managed disk, and makes its buffer clean.
const SMALL: &str = "synth:zipf?requests=3000&range=64MiB";

/// Exit code, stdout and stderr.
fn shingle(args: &[&str]) -> (i32, String, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_shingle")).args(args).output().expect("started");
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).expect("text");
    (output.status.code().expect("an exit code"), text(&output.stdout), text(&output.stderr))
}

fn done(args: &[&str]) -> (String, String) {
    let (code, out, err) = shingle(args);
    assert_eq!(code, 0, "{args:?}: {err}");
    (out, err)
}

fn json(args: &[&str]) -> Value {
    let args: Vec<&str> = args.iter().copied().chain(["--json", "-", "--quiet"]).collect();
    serde_json::from_str(&done(&args).0).expect("JSON")
}

#[test]
fn what_makes_no_sense_is_refused_in_a_line_that_says_what_to_do() {
    let managed = ["-d", "hm-tiny", "-t", "fluid"];
    let cases: &[(&[&str], &[&str])] = &[
        (
            &["-d", "exos-x18z"],
            &["write pointers", "writes anywhere", "translation between them with -t"],
        ),
        (&["-d", "hm-tiny", "-p", "roco"], &["`roco` writes anywhere"]),
        (&["-t", "fluid"], &["st8000as0002", "exposes no zones"]),
        (&["-d", "cmr7200", "-t", "fluid"], &["exposes no zones"]),
        (
            &["-d", "hm-tiny", "-t", "fluid-lop"],
            &["no translation `fluid-lop`; there are fluid-loop"],
        ),
        (&[&managed[..], &["--set", "drive.conventional_zones=0"]].concat(), &["no conventional"]),
        (&[&managed[..], &["--set", "drive.pb=1G"]].concat(), &["2048 blocks", "262144"]),
        (&[&managed[..], &["--set", "drive.pb=much"]].concat(), &["drive.pb", "real"]),
        (&[&managed[..], &["--set", "drive.extents=3"]].concat(), &["drive.extents"]),
        (&[&managed[..], &["--set", "translation.idle_dely_ms=3"]].concat(), &["idle_delay_ms"]),
        (&[&managed[..], &["--set", "translation.idle_delay_ms=x"]].concat(), &["whole number"]),
        (&[&managed[..], &["--set", "fluid.size=3"]].concat(), &["fluid", "size"]),
        (&[&managed[..], &["-p", "sac", "--set", "sac.rule4=exact"]].concat(), &["sac.rule4"]),
        (&["-d", "hm-tiny", "--set", "drive.pb=1M", "-p", "none"], &["no buffer of its own"]),
    ];
    for (args, told) in cases {
        let all: Vec<&str> = ["compare", SMALL].iter().chain(*args).copied().collect();
        let (code, out, err) = shingle(&all);
        assert_eq!((code, out.as_str()), (2, ""), "{all:?}: {err}");
        assert!(told.iter().all(|words| err.contains(words)), "{all:?}: {err}");
        assert_eq!(err.lines().count(), 1, "{all:?}: {err}");
    }
    let (code, _, err) = shingle(&["run", SMALL, "-d", "hm-tiny", "-t", "fluid,fluid-loop"]);
    assert!(code == 2 && err.contains("one translation"), "{err}");
    // The host's addresses end where the translation's do: 120 of 128 MiB.
    let beyond = ["compare", SMALL, "--offset", "100MiB", "-d", "hm-tiny", "-t", "fluid"];
    let (code, _, err) = shingle(&beyond);
    assert!(code == 1 && err.contains("beyond fluid over hm-tiny with its 125829120"), "{err}");
}

#[test]
fn results_name_the_translation_and_what_it_did() {
    let set = ["--set", "drive.pb=1M", "--set", "translation.idle_delay_ms=7"];
    let common = ["compare", SMALL, "-d", "hm-tiny", "-p", "none,lru", "-c", "1MiB"];
    let args = [&common[..], &["-t", "fluid,amphisbaena", "--pacing", "trace"], &set].concat();
    let report = json(&args);
    let runs = report["runs"].as_array().expect("runs");
    let named: Vec<(&str, &str)> = runs
        .iter()
        .map(|run| {
            (run["policy"].as_str().expect("text"), run["translation"].as_str().expect("text"))
        })
        .collect();
    let (none, lru) = ("none", "lru");
    let (fluid, amphisbaena) = ("fluid", "amphisbaena");
    assert_eq!(named, [(none, fluid), (lru, fluid), (none, amphisbaena), (lru, amphisbaena)]);
    for run in runs {
        assert_eq!(run["drive_parameters"]["pb"], "256b");
        assert_eq!(run["translation_parameters"]["idle_delay_ms"], "7");
        assert_eq!(run["knows_bands"], false);
        let (did, all) = (&run["translation_counters"], &run["all"]);
        let number = |of: &Value| of.as_u64().expect("a count");
        assert_eq!(did["written_blocks"], all["drive_io"]["written_blocks"]);
        assert_eq!(did["write_hits"], all["pb"]["write_hits"]);
        assert_eq!(did["evicted_blocks"], all["pb"]["evicted_blocks"]);
        assert_eq!(did["padded_first_blocks"], all["drive_io"]["synthesized_blocks"]);
        let zones = number(&all["drive_io"]["rmw"]) + number(&all["drive_io"]["rmw_free"]);
        assert!(number(&did["victims"]) == zones && zones > 0);
        assert!(number(&did["padded_first_blocks"]) <= number(&did["padded_blocks"]));
        assert!(number(&did["memory_bytes"]) > 0);
        assert!(all["wa_host"].as_f64().expect("writes") >= 1.0);
    }
    assert_eq!(runs[2]["translation_parameters"]["chunk"], "16b");
    // Equal runs are equal, but for the time they took.
    let mut again = json(&args);
    let mut report = report.clone();
    for run in
        [&mut again, &mut report].into_iter().flat_map(|r| r["runs"].as_array_mut().expect("runs"))
    {
        run["wall"] = Value::Null;
    }
    assert_eq!(again, report);

    let plain = json(&["compare", SMALL, "-p", "none", "--baseline", "none"]);
    for field in ["translation", "translation_parameters", "translation_counters"] {
        assert!(plain["runs"][0][field].is_null());
    }
}

#[test]
fn checked_runs_move_the_right_data() {
    for pacing in ["closed", "trace"] {
        let args = [
            "compare",
            SMALL,
            "-d",
            "hm-tiny",
            "-t",
            "fluid,amphisbaena,skylight-sa",
            "-c",
            "2MiB",
        ];
        let more =
            ["-p", "none,sac", "--pacing", pacing, "--check", "--set", "drive.pb=1M", "--drain"];
        let report = json(&[&args[..], &more].concat());
        for run in report["runs"].as_array().expect("runs") {
            assert!(run["checked_reads"].as_u64() > Some(0));
            assert_eq!(run["left"].as_object().expect("fields").len(), 4);
        }
    }
}

#[test]
fn tables_tell_translations_apart() {
    let common = ["compare", SMALL, "-d", "hm-tiny", "-p", "none", "--set", "drive.pb=1M"];
    let (out, _) = done(&[&common[..], &["-t", "fluid,amphisbaena"]].concat());
    assert!(out.contains("hm-tiny, cache 0 B, buffer 1 MiB"), "{out}");
    assert!(out.contains("translation") && out.contains("needs the least I/O time"), "{out}");
    assert!(!out.contains("lru"), "translations alone need no baseline: {out}");
    let (out, err) =
        done(&["compare", SMALL, "-d", "hm-tiny", "-p", "lru", "-c", "1MiB", "-t", "fluid"]);
    assert!(out.contains("fluid over hm-tiny, cache 1 MiB, buffer as built"), "{out}");
    assert!(err.is_empty(), "{err}");
    let (out, err) = done(&["run", SMALL, "-d", "exos-x18z", "-p", "none", "-t", "amphisbaena"]);
    assert!(err.contains("scaled to 1%") && err.contains("256 MiB in all"), "{err}");
    assert!(out.contains("none on amphisbaena over exos-x18z"), "{out}");
    assert!(out.contains("translation: abort=victim") && out.contains("padding: "), "{out}");
}
