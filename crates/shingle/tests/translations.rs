//! Translations on the command line: what is refused and how, and what the results say of them.

mod common;

use common::Folder;
use serde_json::Value;

/// Fits the smallest host-managed disk, and makes its buffer clean.
const SMALL: &str = "synth:zipf?requests=3000&range=64MiB";

fn done(args: &[&str]) -> (String, String) {
    Folder::new().said(args)
}

#[test]
fn what_makes_no_sense_is_refused_in_a_line_that_says_what_to_do() {
    let managed = ["-d", "hm-tiny", "-t", "fluid"];
    let cases: &[(&[&str], &[&str])] = &[
        (
            &["-d", "exos-x18z"],
            &["write pointers", "writes anywhere", "translation between them (-t of"],
        ),
        (&["-d", "hm-tiny", "-p", "roco"], &["`roco` writes anywhere"]),
        (&["-t", "fluid"], &["st8000as0002 has no conventional zones", "-t log writes all"]),
        (&["-d", "cmr7200", "-t", "fluid"], &["cmr7200 has no conventional zones"]),
        (&["-d", "ha-roco", "-t", "fluid"], &["ha-roco has no conventional zones"]),
        (
            &["-t", "log", "--set", "translation.zone_size=3TiB"],
            &["-t log: log keeps at least 3 zones from the host"],
        ),
        (
            &["-d", "ha-roco", "-t", "log", "--set", "translation.zone_size=40M"],
            &["translation.zone_size", "zones of 16 MiB"],
        ),
        (
            &["-d", "ha-roco", "-t", "log", "--set", "translation.filled=on"],
            &["ha-roco begins with empty zones", "drive.filled=on"],
        ),
        (
            &["-t", "log", "--set", "translation.zone_size=8T"],
            &["translation.zone_size", "st8000as0002", "from 2 to"],
        ),
        (
            &[&managed[..], &["--set", "translation.filled=on"]].concat(),
            &["translation.filled", "fluid", "empty zones"],
        ),
        (
            &["-d", "hm-tiny", "-t", "fluid-lop"],
            &["no translation `fluid-lop`; there are fluid-loop"],
        ),
        (&[&managed[..], &["--set", "drive.conventional_zones=0"]].concat(), &["no conventional"]),
        (&[&managed[..], &["--set", "drive.pb=1G"]].concat(), &["2048 blocks", "262144"]),
        (&[&managed[..], &["--set", "drive.pb=much"]].concat(), &["drive.pb", "real"]),
        (&[&managed[..], &["--set", "drive.extents=3"]].concat(), &["drive.extents"]),
        (
            &["-d", "ha-256m", "-t", "fluid-loop", "--set", "drive.filled=on"],
            &["drive.filled: a translation begins with empty zones"],
        ),
        (
            &[&managed[..], &["--set", "drive.pb=1M", "--set", "translation.cache_zones=2"]]
                .concat(),
            &["drive.pb", "drop one"],
        ),
        (
            &[&managed[..], &["--set", "translation.cache_zones=99999999"]].concat(),
            &["cache_zones", "pcie-ssd", "do not fit"],
        ),
        (&[&managed[..], &["--set", "translation.idle_dely_ms=3"]].concat(), &["idle_delay_ms"]),
        (&[&managed[..], &["--set", "translation.idle_delay_ms=x"]].concat(), &["whole number"]),
        (&[&managed[..], &["--set", "fluid.size=3"]].concat(), &["fluid", "size"]),
        (&[&managed[..], &["-p", "sac", "--set", "sac.rule4=exact"]].concat(), &["sac.rule4"]),
        (&["-d", "hm-tiny", "--set", "drive.pb=1M", "-p", "none"], &["no buffer of its own"]),
    ];
    for (args, told) in cases {
        let all: Vec<&str> = ["compare", SMALL].iter().chain(*args).copied().collect();
        let (code, out, err) = Folder::new().run(&all);
        assert_eq!((code, out.as_str()), (2, ""), "{all:?}: {err}");
        assert!(told.iter().all(|words| err.contains(words)), "{all:?}: {err}");
        assert_eq!(err.lines().count(), 1, "{all:?}: {err}");
    }
    let (code, _, err) =
        Folder::new().run(&["run", SMALL, "-d", "hm-tiny", "-t", "fluid,fluid-loop"]);
    assert!(code == 2 && err.contains("one translation"), "{err}");
    // The host's addresses end where the translation's do: 120 of 128 MiB.
    let beyond = ["compare", SMALL, "--offset", "100MiB", "-d", "hm-tiny", "-t", "fluid"];
    let (code, _, err) = Folder::new().run(&beyond);
    assert!(code == 1 && err.contains("beyond fluid over hm-tiny with its 125829120"), "{err}");
}

#[test]
fn results_name_the_translation_and_what_it_did() {
    let set = ["--set", "drive.pb=1M", "--set", "translation.idle_delay_ms=7"];
    let common = ["compare", SMALL, "-d", "hm-tiny", "-p", "none,lru", "-c", "1MiB"];
    let args = [&common[..], &["-t", "fluid,amphisbaena", "--pacing", "trace"], &set].concat();
    let report = Folder::new().results(&args);
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
    let mut again = Folder::new().results(&args);
    let mut report = report.clone();
    for run in
        [&mut again, &mut report].into_iter().flat_map(|r| r["runs"].as_array_mut().expect("runs"))
    {
        run["wall"] = Value::Null;
    }
    assert_eq!(again, report);

    let plain = Folder::new().results(&["compare", SMALL, "-p", "none", "--baseline", "none"]);
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
        let report = Folder::new().results(&[&args[..], &more].concat());
        for run in report["runs"].as_array().expect("runs") {
            assert!(run["checked_reads"].as_u64() > Some(0));
            assert_eq!(run["left"].as_object().expect("fields").len(), 11);
        }
    }
}

#[test]
fn the_buffer_of_dm_zoned_may_be_a_cache_device() {
    let args = ["compare", SMALL, "-d", "hm-tiny", "-t", "dm-zoned", "-p", "none", "--check"];
    let run = |more: &[&str]| Folder::new().results(&[&args[..], more].concat())["runs"][0].clone();
    let disk = run(&["--set", "drive.pb=8MiB"]);
    let ssd = run(&["--set", "translation.cache_zones=8"]);
    assert_eq!(ssd["translation_parameters"]["cache_zones"], "8");
    assert!(disk["translation_parameters"]["cache_zones"].is_null());
    assert_eq!(ssd["drive_parameters"]["pb"], "2048b");
    // The same decisions; what goes to the buffer takes next to no time.
    assert_eq!(ssd["translation_counters"], disk["translation_counters"]);
    let log = |run: &Value| run["all"]["seconds"]["by_cause"]["log"].as_f64().expect("seconds");
    assert!(log(&ssd) > 0.0 && log(&ssd) * 10.0 < log(&disk), "{} {}", log(&ssd), log(&disk));
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

#[test]
fn of_a_translation_without_a_buffer_none_is_told() {
    let log = ["compare", SMALL, "-p", "none,lru", "-c", "1MiB", "-t", "log", "-d"];
    let (out, err) = done(&[&log[..], &["exos-x18z"]].concat());
    assert!(!err.contains("scaled") && !out.contains("drive's buffer"), "{err}{out}");
    assert!(out.contains("the translation hardly ran out of"), "{out}");
    assert!(!out.contains("drive.filled"), "it begins with empty zones: {out}");
    let (_, err) = done(&[&log[..], &["hm-tiny", "--set", "drive.pb=1M"]].concat());
    assert!(err.contains("log has no buffer: drive.pb changes nothing there"), "{err}");
    let zones = [&log[..], &["hm-tiny", "--set", "translation.cache_zones=8"]].concat();
    let (_, err) = done(&zones);
    assert!(
        err.contains("log has no buffer: translation.cache_zones changes nothing there"),
        "{err}"
    );
}

/// Nor is any told to a policy: these plan with the buffer of a disk.
/// A host-aware disk reads what its zones do not hold in no time, and then a log over it does, too.
#[test]
fn a_log_is_filled_if_the_disk_is() {
    let holds = |drive: &str, filled: &[&str]| {
        let run = ["run", SMALL, "-p", "none", "-d", drive, "-t", "log", "--json", "-"];
        let (out, _) = done(&[&run[..], filled].concat());
        let run: Value = serde_json::from_str(&out).expect("JSON");
        let run = &run["runs"][0];
        let beyond = run["all"]["drive_io"]["beyond_pointer_blocks"].as_u64().expect("a count");
        (run["translation_parameters"]["filled"].clone(), beyond > 0)
    };
    assert_eq!(holds("st8000as0002", &[]), ("on".into(), false));
    assert_eq!(holds("ha-roco", &[]), ("off".into(), true));
    assert_eq!(holds("ha-roco", &["--set", "drive.filled=on"]), ("on".into(), false));
}

#[test]
fn what_leaves_out_reads_of_empty_zones_is_an_option_that_there_is() {
    let run = ["run", SMALL, "-p", "none", "-d", "ha-roco", "-t", "log"];
    let (out, err) = done(&run);
    let advice = (out + &err).split_whitespace().collect::<Vec<_>>().join(" ");
    let mode =
        advice.split(" leaves reads out").next().and_then(|told| told.rsplit_once("--mode "));
    let (_, mode) = mode.expect("advice");
    done(&[&run[..], &["--mode", mode]].concat());
}

#[test]
fn of_a_translation_without_a_buffer_policies_know_none() {
    let args =
        ["compare", SMALL, "-d", "hm-tiny", "-t", "log", "-p", "none,sac,most,pore,disk-time"];
    let run = |pb: &str| {
        let set = ["-c", "1MiB", "--set", pb];
        let mut report = Folder::new().results(&[&args[..], &set].concat());
        let runs = report["runs"].as_array_mut().expect("runs");
        runs.iter_mut().for_each(|run| run["wall"] = Value::Null);
        runs.clone()
    };
    let runs = run("drive.pb=64k");
    for run in &runs {
        assert_eq!(run["pb_blocks"], Value::Null);
        assert_eq!(run["drive_parameters"].get("pb"), None);
    }
    assert_eq!(runs, run("drive.pb=4M"));
}

#[test]
fn every_policy_is_compared_over_every_translation_by_one_command() {
    let args =
        ["compare", "synth:zipf?requests=300&range=64MiB", "-d", "hm-tiny", "-p", "all", "-t"];
    let args: Vec<&str> = args.into_iter().chain(["all", "--json", "-"]).collect();
    let (out, err) = done(&args);
    let result: Value = serde_json::from_str(&out).expect("JSON");
    let runs = result["runs"].as_array().expect("runs");
    let pairs: std::collections::BTreeSet<(&str, &str)> = runs
        .iter()
        .map(|run| {
            let name = |field: &str| run[field].as_str().expect("a name");
            (name("policy"), name("translation"))
        })
        .collect();
    assert_eq!(pairs.len(), runs.len(), "none twice");
    for translation in ["amphisbaena", "fluid", "fluid-loop", "skylight-sa", "ucache", "log"] {
        for policy in ["none", "lru", "most", "sac", "pore", "lru+cdc", "sac-plus", "belady"] {
            assert!(pairs.contains(&(policy, translation)), "{policy} over {translation}: {err}");
        }
    }
    // What needs write pointers does not go with a translation, which has none to show.
    assert!(!pairs.iter().any(|pair| pair.0 == "roco"));
    let told = err.lines().filter(|line| line.contains("left out: ")).collect::<Vec<_>>();
    assert!(told.iter().any(|line| line.contains("`roco`")), "{err}");
    assert!(
        told.iter().any(|line| line.contains("dm-zoned"))
            != pairs.iter().any(|p| p.1 == "dm-zoned")
    );
}

#[test]
fn a_baseline_that_does_not_go_with_the_drive_is_left_out() {
    let args = ["compare", SMALL, "-d", "hm-tiny", "-p", "sac-plus", "--json", "-"];
    let (out, err) = done(&args);
    let result: Value = serde_json::from_str(&out).expect("JSON");
    let runs = result["runs"].as_array().expect("runs");
    assert!(runs.len() == 1 && runs[0]["policy"] == "sac-plus", "{out}");
    assert!(err.contains("left out: policy `lru` writes anywhere"), "{err}");
}

#[test]
fn no_buffer_is_told_of_a_translation_that_has_none() {
    for (translation, buffered) in [("log", false), ("fluid", true)] {
        let args = ["compare", SMALL, "-d", "hm-tiny", "-t", translation, "-p", "lru,sac", "-q"];
        let (shown, _) = done(&args);
        assert_eq!(shown.contains(", buffer "), buffered, "{shown}");
        let (shown, _) =
            done(&["run", SMALL, "-d", "hm-tiny", "-t", translation, "-p", "lru", "-q"]);
        assert_eq!(shown.contains(" zones back, "), buffered, "{shown}");
        assert_eq!(shown.contains(" zones cleaned, "), !buffered, "{shown}");
    }
}

#[test]
fn policies_that_were_not_named_and_do_not_go_with_the_drive_are_left_out() {
    let (out, err) = done(&["compare", SMALL, "-d", "cmr7200", "--json", "-"]);
    let result: Value = serde_json::from_str(&out).expect("JSON");
    let run = result["runs"].as_array().expect("runs").iter().map(|run| &run["policy"]);
    assert_eq!(run.collect::<Vec<_>>(), ["none", "lru", "most", "sac"]);
    assert!(err.contains("left out: policy `lru-band` works with the bands"), "{err}");
}

/// All but `others`: dm-zoned needs a larger buffer than such traces get.
const FIGURES: &str =
    "table-3,2,3,12,13,14,15,16,17,18,19,20,21,22,23,24,25,small,decisions,history";

/// Statements of Amphisbaena's figures, so that each refers to runs there are; over short traces, as
/// the workloads are made whole however little is run of them.
#[test]
fn translations_are_compared_over_the_traces_themselves() {
    let folder = Folder::new();
    let volumes = ["hm_0", "prn_0", "prxy_0", "ts_0", "web_0", "src2_2", "src2_0", "usr_0"];
    // 8 KiB to each of 3,000 places, in one zone after another, and again.
    folder.msr(&volumes, 6_000, 8192, |_, i| i * 7919 % 3000 * 100 * 4096);
    let reproduce = "reproduce amphisbaena --seeds 1 --traces msr --json a.json --scale 1 --figure";
    let out = folder.done(&format!("{reproduce} {FIGURES}"));
    assert!(out.contains("Figure 12: Response times"));
    let result = std::fs::read_to_string(folder.path("a.json")).expect("results");
    let result: Value = serde_json::from_str(&result).expect("JSON");
    let figures = result["result"]["figures"].as_array().expect("figures");
    let numbers = |id: &str| {
        let figure = figures.iter().find(|figure| figure["id"] == id).expect(id);
        figure["numbers"].as_array().expect("numbers").clone()
    };
    let values = |line: &Value, name: &str| {
        let values = line["values"].as_array().expect("values");
        let value = values.iter().find(|value| value[0] == name).expect(name);
        value[1][0].as_f64().expect("a number")
    };
    // Half of the blocks are updates; 3,000 places 100 blocks apart lie in five zones.
    let table = &numbers("table-3")[0];
    assert_eq!(values(table, "hm_0: update ratio (%)"), 50.0);
    assert_eq!(values(table, "hm_0: write range (zones)"), 5.0);
    // Two blocks of each other place are written between two writes of a block, and its neighbour: 5,999.
    // The buffer, 1 % of five zones, has 3,276.
    let figure = &numbers("2")[0];
    assert_eq!(values(figure, "hm_0: buffer (blocks)"), 3_276.0);
    assert_eq!(values(figure, "hm_0: short periods (% of updated blocks)"), 0.0);
    for line in numbers("16") {
        let (each, once) = (
            values(&line, "padded in all write-backs (GB)"),
            values(&line, "padded for the first time (GB)"),
        );
        assert!(each >= once && once > 0.0, "{line}");
    }
    let points = numbers("18").iter().filter(|line| line["trace"] == "hm_0").count();
    assert_eq!(points, 5, "a line for each size of chunk");
}

/// What the comparison rests on is in the result: the disk is full, and its map is saved on it.
#[test]
fn a_disk_without_zones_is_written_as_a_log_and_cleans_next_to_nothing() {
    let trace = "synth:uniform?requests=20k&range=1GiB&size=4KiB";
    let args = ["compare", trace, "-p", "none", "--baseline", "none", "-t", "none,log"];
    let report = Folder::new().results(&args);
    let runs = report["runs"].as_array().expect("runs");
    let of = |translation: &Value| {
        let run = runs.iter().find(|run| run["translation"] == *translation);
        run.unwrap_or_else(|| panic!("a run with {translation}"))
    };
    let (plain, log) = (of(&Value::Null), of(&"log".into()));
    let rmws = |run: &Value| run["all"]["drive_io"]["rmw"].as_u64().expect("a count");
    assert!(rmws(plain) > 300 && rmws(log) < 10, "{} and {}", rmws(plain), rmws(log));
    let parameters = &log["translation_parameters"];
    assert_eq!(parameters["filled"], "on");
    assert_eq!(parameters["map"], "on");
    assert_eq!((&parameters["open"], &parameters["zone_size"]), (&"1".into(), &"65536b".into()));
    // No read is answered from nothing, as of a disk that is empty.
    assert_eq!(log["all"]["drive_io"]["beyond_pointer_blocks"], 0);
}
