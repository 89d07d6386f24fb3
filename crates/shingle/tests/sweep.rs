//! `shingle sweep`, `compare --target`, `completions` and `man`, as a user meets them.

mod common;

use std::path::Path;
use std::process::Child;
use std::time::{Duration, Instant};

use common::{Folder, without_wall};
use serde_json::Value;

/// Small, and yet large enough that a cache of 1 % is filled.
const SMALL: &str = "synth:mixed?requests=20k";

impl Folder {
    fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    /// The JSON of a file.
    fn kept(&self, name: &str) -> Value {
        serde_json::from_str(&self.read(name)).expect("JSON")
    }

    /// Is refused with `code` and one line.
    fn refuses(&self, code: i32, args: &[&str], told: &[&str]) {
        let (found, _, err) = self.run(args);
        assert_eq!(found, code, "{args:?}: {err}");
        let last = err.lines().last().unwrap_or_default();
        for told in told {
            assert!(last.contains(told), "{args:?}: `{told}` is not in {err}");
        }
    }

    /// Results without the time that runs took.
    fn swept(&self, folder: &str) -> Value {
        without_wall(self.kept(&format!("{folder}/results.json")))
    }

    fn journal(&self, folder: &str) -> Vec<String> {
        let text =
            std::fs::read_to_string(self.path(folder).join("cells.jsonl")).unwrap_or_default();
        text.split_inclusive('\n').filter(|l| l.ends_with('\n')).map(str::to_owned).collect()
    }
}

/// Waits until `ready`, and fails if that takes a minute.
fn wait(ready: impl Fn() -> bool, what: &str) {
    let begun = Instant::now();
    while !ready() {
        assert!(begun.elapsed() < Duration::from_secs(60), "{what}: nothing in a minute");
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn ended(mut child: Child) {
    child.kill().expect("killed");
    child.wait().expect("gone");
}

#[test]
fn a_killed_sweep_goes_on_where_it_was_and_ends_as_if_nothing_had_been() {
    let folder = Folder::new();
    let sweep = |out| {
        [
            "sweep",
            "synth:mixed?requests=100k",
            "-p",
            "lru,sac",
            "--vary",
            "cache=1%..8%",
            "--threads",
            "1",
            "--out",
            out,
        ]
    };
    folder.said(&sweep("whole"));
    let child = folder.command("").args(sweep("killed")).spawn().expect("started");
    wait(|| folder.journal("killed").len() >= 2, "the journal");
    // The folder is taken.
    folder.refuses(1, &sweep("killed"), &["killed", "another process is at work"]);
    ended(child); // SIGKILL
    let before = folder.journal("killed");
    assert!((2..8).contains(&before.len()), "{} cells before the kill", before.len());
    assert!(!folder.path("killed/results.json").exists());

    let (_, err) = folder.said(&sweep("killed"));
    assert!(err.contains(&format!("{} of 8 cells are done already", before.len())), "{err}");
    // What was done is there byte for byte, real times included: it was not done again.
    let after = folder.journal("killed");
    assert_eq!(after.len(), 8);
    assert_eq!(after[..before.len()], before);
    assert_eq!(folder.swept("killed"), folder.swept("whole"));
    // Once more, nothing is left to do.
    let (_, err) = folder.said(&sweep("killed"));
    assert!(err.contains("8 of 8 cells"), "{err}");
    assert_eq!(folder.journal("killed"), after);
}

#[test]
fn shares_put_together_are_the_whole() {
    let folder = Folder::new();
    let sweep = |more: &[&str]| {
        let all =
            ["sweep", SMALL, "-p", "none,lru,most", "--vary", "cache=1%,3%,most.score=dirty,all"];
        folder.said(&[&all[..], more].concat())
    };
    sweep(&["--out", "whole", "--csv", "whole.csv"]);
    let shares = ["1/3", "2/3", "3/3"].map(|share| {
        let out = format!("share-{}", &share[..1]);
        let (shown, err) = sweep(&["--shard", share, "--out", &out]);
        assert!(shown.is_empty() && err.contains("is done"), "{shown}{err}");
        assert!(!folder.path(&out).join("results.json").exists());
        out
    });
    let [one, two, three] = shares.each_ref().map(String::as_str);
    let incomplete = ["sweep", "merge", one, three, "--out", "merged"];
    folder.refuses(1, &incomplete, &["cells are missing", "shards not given: 2/3"]);
    folder.said(&["sweep", "merge", three, one, two, "--out", "merged", "--csv", "merged.csv"]);
    assert_eq!(folder.swept("merged"), folder.swept("whole"));
    // Apart from the times that runs took and the commands, the files are the same byte for byte.
    let bytes = |name: &str| {
        let text = folder.read(name);
        let same = |line: &&str| {
            let differs = ["\"blocks_per_second\"", "\"command\": \"shingle sweep "];
            !differs.iter().any(|name| line.contains(name)) && !is_wall_seconds(line)
        };
        text.lines().filter(same).collect::<Vec<_>>().join("\n")
    };
    assert_eq!(bytes("merged/results.json"), bytes("whole/results.json"));
    assert_eq!(folder.read("merged/sweep.json"), folder.read("whole/sweep.json"));
    // Of none there is one cell, of lru two, of most four.
    let sizes = shares.each_ref().map(|share| folder.journal(share).len());
    assert_eq!((sizes.iter().sum::<usize>(), sizes.iter().max()), (7, Some(&3)));
    let elsewhere = ["sweep", SMALL, "-p", "lru", "--out", "other"];
    folder.said(&elsewhere);
    folder.refuses(2, &["sweep", "merge", one, "other", "--out", "m"], &["not of one sweep"]);
}

/// `wall.seconds`, the only figure of that name that is six spaces in and no counter.
fn is_wall_seconds(line: &str) -> bool {
    line.starts_with("        \"seconds\": ") && line.ends_with(',') && !line.contains('{')
}

#[test]
fn threads_change_nothing_and_cells_are_what_compare_computes() {
    let folder = Folder::new();
    for threads in ["1", "4"] {
        folder.said(&[
            "sweep",
            SMALL,
            "-p",
            "lru,sac",
            "-c",
            "1%,5%",
            "--threads",
            threads,
            "--out",
            threads,
        ]);
    }
    assert_eq!(folder.swept("1"), folder.swept("4"));
    let (compared, _) =
        folder.said(&["compare", SMALL, "-p", "lru,sac", "-c", "1%,5%", "--json", "-"]);
    let compared = without_wall(serde_json::from_str(&compared).expect("JSON"));
    assert_eq!(folder.swept("1")["runs"], compared["runs"]);
}

#[test]
fn another_sweep_is_refused_with_what_differs_unless_it_starts_over() {
    let folder = Folder::new();
    let sweep = |cache, more: &[&'static str]| {
        [&["sweep", SMALL, "-p", "lru", "--out", "o", "--vary", cache], more].concat()
    };
    folder.said(&sweep("cache=1%,2%", &[]));
    let differs =
        ["o: it holds another sweep", "values is 1%,2% there and 1%,2%,4% here", "--fresh"];
    folder.refuses(2, &sweep("cache=1%..4%", &[]), &differs);
    folder.refuses(
        2,
        &sweep("cache=1%,2%", &["--drain"]),
        &["rules.drain is false there and true"],
    );
    folder.refuses(2, &sweep("cache=1%,2%", &["--mode", "w"]), &["another sweep"]);
    folder.refuses(2, &sweep("cache=1%,2%", &["--requests", "2k"]), &["hash is "]);
    let (_, err) = folder.said(&sweep("cache=1%..4%", &["--fresh"]));
    assert!(!err.contains("done already"), "{err}");
    assert_eq!(folder.journal("o").len(), 3);
    // A journal without the plan of its sweep.
    std::fs::remove_file(folder.path("o/sweep.json")).expect("there");
    folder.refuses(2, &sweep("cache=1%..4%", &[]), &["cells.jsonl is there, and no sweep.json"]);
    folder.said(&sweep("cache=1%..4%", &["--fresh"]));
}

#[test]
fn a_torn_line_is_dropped_and_a_damaged_one_is_named() {
    let folder = Folder::new();
    let sweep =
        ["sweep", SMALL, "-p", "lru", "--vary", "cache=1%..4%", "--out", "o", "--threads", "1"];
    folder.said(&sweep);
    let (whole, results) = (folder.journal("o"), folder.swept("o"));
    let journal = folder.path("o/cells.jsonl");
    // The last line breaks off, at any place.
    for torn in [1, 20, whole[2].len() / 2, whole[2].len() - 1] {
        let text = whole[..2].concat() + &whole[2][..torn];
        std::fs::write(&journal, text).expect("written");
        let (_, err) = folder.said(&sweep);
        assert!(err.contains("2 of 3 cells"), "{err}");
        assert_eq!(folder.swept("o"), results);
        assert_eq!(folder.journal("o")[..2], whole[..2]);
    }
    // A figure in the midst changes: the checksum knows.
    let damaged = whole[0].replacen("\"cell\":0", "\"cell\":1", 1) + &whole[1] + &whole[2];
    std::fs::write(&journal, damaged).expect("written");
    folder.refuses(1, &sweep, &["cells.jsonl", "line 1 is damaged"]);
}

#[test]
fn what_makes_no_difference_is_run_once_and_what_goes_with_nothing_is_refused() {
    let folder = Folder::new();
    let (shown, _) = folder.said(&[
        "sweep",
        SMALL,
        "-p",
        "none,lru,most",
        "--out",
        "o",
        "--vary",
        "cache=1%,3%,policy.zone=10M..40M",
    ]);
    // most has 2 · 3 cells, lru 2 and none 1.
    let sweep = folder.kept("o/results.json")["sweep"].clone();
    let places = sweep["cells"].as_array().expect("cells");
    let of = |policy: &str| {
        let at = places.iter().map(|place| &place["at"]);
        at.filter(|at| at["policy"] == policy).cloned().collect::<Vec<_>>()
    };
    assert_eq!((of("most").len(), of("lru").len(), of("none").len()), (6, 2, 1));
    assert_eq!(of("none")[0], serde_json::json!({"policy": "none"}));
    assert_eq!(of("lru")[1], serde_json::json!({"policy": "lru", "cache": "3%"}));
    assert!(shown.contains("Best of 6 places"), "{shown}");

    let two = "drive=st8000as0002,ha-roco";
    let (_, err) = folder.said(&["sweep", SMALL, "-p", "lru,roco", "--out", "d", "--vary", two]);
    assert!(err.contains("left out: 1 cell at drive=st8000as0002 policy=roco"), "{err}");
    assert_eq!(folder.kept("d/results.json")["runs"].as_array().map(Vec::len), Some(3));

    // What was not named is left out, even if it goes with nothing.
    let (_, err) = folder.said(&["sweep", SMALL, "-d", "cmr7200", "--out", "e"]);
    assert!(err.contains("left out: 1 cell at policy=lru-band"), "{err}");
    assert_eq!(folder.kept("e/results.json")["runs"].as_array().map(Vec::len), Some(4));
    let (_, err) = folder.said(&["sweep", SMALL, "-p", "all", "--out", "f"]);
    assert!(err.contains("left out: 1 cell at policy=roco"), "{err}");
    let hm = ["-p", "none", "-t", "all", "-d", "exos-x18z"];
    let (_, err) = folder.said(&[&["sweep", SMALL, "--out", "g"], &hm[..]].concat());
    assert!(err.contains("left out: 1 cell at translation=dm-zoned"), "{err}");
    folder.refuses(2, &["sweep", SMALL, "-d", "exos-x18z", "--out", "x"], &["policy `none`"]);

    // Wrong names are found before the trace is read, which there is not.
    for (vary, told) in [
        ("policy=lru,sca", "sac"),
        ("cahce=1%", "there are cache"),
        ("drive.bp=1%", "there are pb"),
        ("sac.windw=0.5..0.9/3", "window"),
        ("cache=10%..1%", "A..B"),
    ] {
        folder.refuses(2, &["sweep", "none.csv", "--vary", vary, "--out", "x"], &[told]);
    }
    for (vary, told) in [("cache=1%,many", "many"), ("drive.pb=1%,many", "many")] {
        folder.refuses(2, &["sweep", SMALL, "--vary", vary, "--out", "x"], &[told]);
    }
    assert!(!folder.path("x").exists(), "a folder was left");
    folder.refuses(
        2,
        &["sweep", SMALL, "-c", "1%", "--vary", "cache=2%"],
        &["-c is given as well"],
    );
    folder.refuses(2, &["sweep", SMALL, "--shard", "3/2"], &["--shard", "I/N"]);
    folder.refuses(2, &["sweep", SMALL, "--shard", "1/2", "--json", "-"], &["merge"]);
}

#[test]
fn traces_seeds_and_pacings_are_axes_too() {
    let folder = Folder::new();
    std::fs::write(folder.path("a.csv"), "time_us,op,offset,size\n1,W,0,4096\n2,R,8192,4096\n")
        .unwrap();
    let vary = "trace=synth:zipf?requests=1k,a.csv,seed=1..2,pacing=closed,trace";
    folder.said(&[
        "sweep", "-p", "lru", "-c", "1000b", "--vary", vary, "--out", "o", "--csv", "o.csv",
    ]);
    let report = folder.kept("o/results.json");
    // The file is the same with each seed.
    let traces = report["sweep"]["traces"].as_array().expect("traces");
    let names: Vec<&Value> = traces.iter().map(|trace| &trace["name"]).collect();
    assert_eq!(
        names,
        ["synth:zipf?requests=1k", "synth:zipf?requests=1k", "a.csv"]
            .map(Value::from)
            .iter()
            .collect::<Vec<_>>()
    );
    assert!(traces[0]["hash"] != traces[1]["hash"]);
    assert_eq!(report["runs"].as_array().map(Vec::len), Some(6));
    let csv = folder.read("o.csv");
    let header: Vec<&str> = csv.lines().next().unwrap().split(',').take(4).collect();
    assert_eq!(header, ["at.trace", "at.seed", "at.pacing", "trace.name"]);
    assert_eq!(csv.lines().count(), 7);
    assert_eq!(csv, folder.read("o/results.csv"));
}

#[test]
fn compare_ends_with_the_smallest_cache_that_meets_the_target() {
    let folder = Folder::new();
    let compare = |targets: &str| {
        let base = ["compare", SMALL, "-p", "lru,most", "--baseline", "none", "-c", "1%,4%,16%"];
        folder.said(&[&base[..], &["--target", targets, "--json", "r.json"]].concat())
    };
    let (_, _) = compare("hits=0%");
    let report = folder.kept("r.json");
    let hits = |policy: &str| -> Vec<(u64, f64)> {
        let runs = report["runs"].as_array().expect("runs").iter();
        let runs = runs.filter(|run| run["policy"] == policy);
        let of = |run: &Value| {
            (run["cache_blocks"].as_u64().unwrap(), run["all"]["hits"]["ratio"].as_f64().unwrap())
        };
        runs.map(of).collect()
    };
    let lru = hits("lru");
    assert!(lru[0].1 < lru[1].1 && lru[1].1 <= lru[2].1, "{lru:?}");
    // Between the first two sizes: the second is the smallest for lru.
    let limit = format!("hits={}%", 100.0 * (lru[0].1 + lru[1].1) / 2.0);
    let (shown, err) = compare(&format!("{limit},hits=100%,p99=1000s"));
    let targets = folder.kept("r.json")["targets"].clone();
    assert_eq!(targets.as_array().map(Vec::len), Some(6), "three targets, two policies");
    assert_eq!(targets[0]["policy"], "lru");
    assert_eq!(targets[0]["cache_blocks"], lru[1].0);
    assert_eq!(targets[0]["cache_bytes"], lru[1].0 * 4096);
    let met: Vec<&Value> =
        targets[0]["tried"].as_array().unwrap().iter().map(|tried| &tried["meets"]).collect();
    assert_eq!(met, [&Value::from(false), &Value::from(true), &Value::from(true)]);
    assert_eq!(targets[2]["cache_blocks"], Value::Null);
    assert!(shown.contains("none of these sizes does"), "{shown}");
    assert!(!shown.contains('~'), "hundreds of bands were cleaned: {shown}");
    assert_eq!(targets[4]["cache_blocks"], lru[0].0);
    assert!(err.contains("in closed loop nothing queues"), "{err}");
    // An overloaded run meets no response time.
    let fast = "synth:zipf?requests=3000&iops=20000";
    let line =
        ["compare", fast, "-p", "lru", "--baseline", "none", "--pacing", "trace", "-c", "1%"];
    folder.said(&[&line[..], &["--target", "mean=1000s,hits=0%", "--json", "r.json"]].concat());
    let report = folder.kept("r.json");
    assert_eq!(report["runs"][0]["queue"]["overloaded"], true);
    assert_eq!(report["targets"][0]["cache_blocks"], Value::Null);
    assert!(report["targets"][1]["cache_blocks"].is_u64(), "hits do not queue");
    // Where few bands were cleaned, only hits say something.
    let short =
        ["compare", "synth:mixed?requests=1k", "-p", "lru", "--baseline", "none", "-c", "16%"];
    let (shown, _) = folder.said(&[&short[..], &["--target", "seconds=9999,hits=0%"]].concat());
    let marked: Vec<&str> = shown.lines().filter(|line| line.contains(" ~ ")).collect();
    assert!(marked.len() == 1 && marked[0].contains("seconds=9999"), "{shown}");
    assert!(shown.contains("~ fewer than 30 bands were cleaned with that cache: "), "{shown}");
    let log = ["-t", "log", "--target", "seconds=9999"];
    let (shown, _) = folder.said(&[&short[..], &log[..]].concat());
    assert!(shown.contains("~ fewer than 30 zones were cleaned with that cache: "), "{shown}");
    for (target, told) in [("p98=1ms", "p99"), ("p99=5", "50ms"), ("hits", "NAME=VALUE")] {
        folder.refuses(2, &["compare", SMALL, "--target", target], &["--target", told]);
    }
}

#[test]
fn completions_and_manual_pages_know_every_command() {
    let folder = Folder::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let (script, _) = folder.said(&["completions", shell]);
        for word in ["compare", "sweep", "merge", "reproduce", "shard"] {
            assert!(script.contains(word), "{shell}: {word}");
        }
    }
    let (page, _) = folder.said(&["man"]);
    assert!(page.contains(".TH shingle 1") && page.contains("compare"), "{page}");
    folder.said(&["man", "--out", "man1"]);
    let pages =
        ["shingle-compare.1", "shingle-sweep.1", "shingle-sweep-merge.1", "shingle-trace-info.1"];
    for page in pages.map(|page| Path::new("man1").join(page)) {
        let page = folder.read(page.to_str().unwrap());
        assert!(page.contains(".TH shingle") && page.contains("Example"), "{page}");
    }
}
