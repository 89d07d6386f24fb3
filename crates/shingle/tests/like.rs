//! How like a trace the workloads of its description are: the figures in `docs/workloads.md`.
//!
//! Without the real traces this says so and passes. It takes a minute, so it is run by name:
//! `cargo test -p shingle --test like -- --ignored --nocapture`.

use std::process::Command;

use serde_json::Value;
use tempfile::TempDir;

const TRACES: [(&str, &str); 4] = [
    ("cloudphysics", "cloudphysics_sample.vscsi.zst"),
    ("financial1", "umass_financial1_50k.flashsim.txt.zst"),
    ("alibaba", "alibaba_replaylog_52k.csv.zst"),
    ("rsrch_1", "msr_rsrch_1.csv"),
];

/// Neither these sizes nor these seeds were in view when the model was made.
const CACHES: &str = "0.7%zones,1.5%zones,3%zones,7%zones,14%zones";
const SEEDS: [&str; 2] = ["3", "4"];
const RUNS: usize = 3 * 5;

/// The trace and seed of which every figure is printed, that of the trace first.
const SHOWN: (&str, &str) = ("cloudphysics", "3");

/// A figure is met within so much of the trace's own.
const TOLERANCE: f64 = 0.15;

fn run(args: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_shingle")).args(args).output().expect("started");
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{args:?}: {told}");
    String::from_utf8(output.stdout).expect("text")
}

/// Of each run what it is, its hit ratio and its RMWs.
fn figures(trace: &str, others: &[&str]) -> Vec<(String, [f64; 2])> {
    let common = ["-p", "lru,most,sac", "-d", "st8000as0002", "-c", CACHES, "--json", "-", "-q"];
    let told = run(&[&["compare", trace], others, &common].concat());
    let told: Value = serde_json::from_str(&told).expect("JSON");
    let runs = told["runs"].as_array().expect("runs").iter().map(|run| {
        let all = &run["all"];
        let number = |value: &Value| value.as_f64().expect("a number");
        let figures = [number(&all["hits"]["ratio"]), number(&all["drive_io"]["rmw"])];
        let blocks = run["cache_blocks"].as_u64().expect("a number");
        (format!("{} | {blocks}", run["policy"].as_str().expect("a name")), figures)
    });
    runs.collect()
}

#[test]
#[ignore = "takes a minute"]
fn figures_of_a_trace_and_of_workloads_like_it() {
    let temporary = TempDir::new().expect("a folder for the test");
    let (mut all, mut all_met) = (0, 0);
    let mut shown = Vec::new();
    println!("trace | seed | hit ratios met | RMWs met, some | RMWs 0 in both | description");
    for (name, file) in TRACES {
        let Some(path) = shingle_testbed::trace(file) else { continue };
        let path = shingle_testbed::text(&path);
        let description = temporary.path().join(format!("{name}.toml"));
        let description = description.to_str().expect("text");
        run(&["trace", "synth", "--like", path, "-o", description]);
        let bytes = std::fs::metadata(description).expect("it was written").len();
        let own = figures(path, &[]);
        assert_eq!(own.len(), RUNS);
        for seed in SEEDS {
            let made = figures(&format!("synth:like?from={description}"), &["--seed", seed]);
            let (mut hits, mut some, mut met, mut none) = (0, 0, 0, 0);
            let mut each = Vec::new();
            for ((what, own), (same, made)) in own.iter().zip(&made) {
                assert_eq!(what, same);
                let near = |at: usize| (made[at] - own[at]).abs() <= TOLERANCE * own[at];
                hits += u32::from(near(0));
                let figure = |at: usize, told: [String; 2]| {
                    let bold = if near(at) { "" } else { "**" };
                    format!("{}, {bold}{}{bold}", told[0], told[1])
                };
                let ratios = figure(0, [own[0], made[0]].map(|ratio| format!("{ratio:.3}")));
                let rmws = figure(1, [own[1], made[1]].map(|rmws| format!("{rmws:.0}")));
                each.push(format!("| {what} | {ratios} | {rmws} |"));
                if own[1] == 0.0 && made[1] == 0.0 {
                    none += 1;
                } else {
                    some += 1;
                    met += u32::from(near(1));
                }
            }
            println!("{name} | {seed} | {hits} of {RUNS} | {met} of {some} | {none} | {bytes}");
            if name == SHOWN.0 && seed == SHOWN.1 {
                shown = each;
            }
            (all, all_met) = (all + RUNS as u32, all_met + hits);
        }
    }
    shown.iter().for_each(|line| println!("{line}"));
    // All are met; far fewer mean that something broke.
    assert!(all_met * 10 >= all * 9, "{all_met} of {all} hit ratios are met");
}
