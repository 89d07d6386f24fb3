//! Answers that are known beforehand.
//!
//! The first part replays a virtual disk of CloudPhysics, if it is at hand, and expects the numbers
//! that the papers' prototypes print for it. The second part pins every policy on a small built-in
//! workload, so that the suite bites without the trace too. Its expectations are in
//! `golden/policies.txt`, a line a configuration; a change there is a change of behaviour and needs
//! a reason. After adding a policy, or with such a reason, write them anew:
//!
//! ```text
//! SHINGLE_GOLDEN=write cargo test -p shingle-sim --test all known_answers
//! ```

use std::path::Path;

use rayon::prelude::*;
use shingle_core::params::{Kind, Param, Params};
use shingle_core::policies::ORDER_NAMES;
use shingle_core::policy::Zoning;
use shingle_core::registry::{Entry, Registry};
use shingle_result::{Pacing, RunResult};
use shingle_sim::experiment::{Assignment, Options, Trace, plan, run_all};
use shingle_trace::Mode;

use crate::common::{prototypes, read, real, real_mode};

fn run(options: &Options, trace: &Trace) -> Vec<RunResult> {
    let (jobs, _) = plan(options, &Registry::default(), trace).expect("valid options");
    run_all(&jobs, trace, &|_| {}).expect("no stale read")
}

fn hits(counts: &shingle_result::Counts) -> u64 {
    counts.hits.read_blocks + counts.hits.write_blocks
}

#[test]
fn the_prototypes_numbers_for_a_virtual_disk() {
    let Some(trace) = real("cloudphysics_sample.vscsi.zst") else { return };
    let summary = &trace.summary;
    assert_eq!(summary.requests.total(), 113_872);
    assert_eq!((summary.blocks(), summary.write_blocks), (1_141_869, 656_169));
    assert_eq!(summary.distinct_blocks, 269_210);

    let sets = [
        ("drive.pb", "16384b"),
        ("cache.batch", "64"),
        ("most.score", "all"),
        ("most.clean", "evict"),
        ("most.step", "batch"),
        ("sac.rule2", "off"),
        ("sac.rule4", "skip"),
    ];
    let runs = run(&prototypes(&["lru", "most", "sac"], &["65536b"], &sets), &trace);
    let [lru, most, sac] = runs.as_slice() else { panic!("three runs") };
    let warm = |run: &RunResult| hits(&run.warm);

    assert_eq!((hits(&lru.all), warm(lru)), (284_437, 267_802));
    assert_eq!((lru.all.drive_io.rmw, lru.all.pb.evicted_blocks), (1_074, 508_270));
    let wa_band = lru.all.wa_band.expect("bands were written");
    assert_eq!(format!("{wa_band:.3}"), "10.565");

    assert_eq!((hits(&most.all), warm(most), most.all.drive_io.rmw), (236_849, 220_214, 197));
    assert_eq!((warm(sac), sac.all.drive_io.rmw), (253_663, 177));
}

/// PORE's prototype, write-only, on its emulator. Its runs of LRU and LRU-band needed one write more,
/// in front of the trace. Its MOST writes 152 bands: the cleaner is a thread of its own and shares the
/// table of the buffer without a lock, and what it has cleaned stays in that table.
#[test]
fn the_numbers_of_pores_prototype_for_a_virtual_disk() {
    let Some(trace) = real_mode("cloudphysics_sample.vscsi.zst", Mode::Write) else { return };
    let known = [
        // policy, hits, blocks destaged, bands written
        ("lru", 148_220, 452_657, 1_078),
        ("lru-band", 158_603, 443_788, 823),
        ("most", 125_980, 475_280, 150),
        ("pore-cf", 133_297, 467_580, 255),
        ("pore", 116_056, 484_821, 272),
    ];
    let sets = [
        ("drive.pb", "11058b"),
        ("most.zone", "bands"),
        ("most.score", "all"),
        ("pore.history", "forever"),
        ("pore.division", "prototype"),
        ("pore-cf.history", "forever"),
        ("pore-cf.division", "prototype"),
    ];
    let mut options = prototypes(&known.map(|(policy, ..)| policy), &["55292b"], &sets);
    options.drives = vec!["pore-emulator".into()];
    options.mode = Mode::Write;
    for (run, known) in run(&options, &trace).iter().zip(known) {
        let all = &run.all;
        let got = (all.hits.write_blocks, all.evictions.dirty_blocks, all.drive_io.rmw);
        assert_eq!((run.labels.policy.as_str(), got.0, got.1, got.2), known);
    }
}

/// 30,000 requests that keep the cleaner busy, some of them over the borders of zones and bands.
const WORKLOAD: &str = "synth:zipf?requests=30k&range=1GB&size=10KiB&theta=0.9";

/// Small zones, so that the same ones come to be cleaned again and again.
const ZONE: &str = "1000b";
/// Short cycles, so that their end matters.
const CYCLE: &str = "0.02";
/// Short periods, so that not all zones are open.
const PERIOD: &str = "0.1";

/// Every combination of a policy's switches and choices. What orders it is built on, of which there
/// are many, varies alone.
fn settings(entry: &Entry) -> Vec<Vec<(String, String)>> {
    let mut all = vec![Vec::new()];
    let (orders, others): (Vec<&Param>, Vec<&Param>) =
        entry.params.iter().partition(|param| param.kind == Kind::Choice(ORDER_NAMES));
    for param in others {
        let words: &[&str] = match param.kind {
            Kind::Switch => &["on", "off"],
            Kind::Choice(words) => words,
            Kind::Zones => &[ZONE],
            Kind::Ratio if param.name == "cycle" => &[CYCLE],
            Kind::Ratio if param.name == "period" => &[PERIOD],
            Kind::Count | Kind::Blocks | Kind::Ratio | Kind::Limit | Kind::Micros | Kind::Hours => {
                continue;
            }
        };
        let with = |set: &Vec<(String, String)>, word: &str| {
            let mut set = set.clone();
            set.push((format!("{}.{}", entry.name, param.name), word.to_owned()));
            set
        };
        all = all.iter().flat_map(|set| words.iter().map(move |word| with(set, word))).collect();
    }
    for param in orders {
        for name in ORDER_NAMES.iter().filter(|&&name| name != param.default) {
            let mut set = Vec::new();
            for (name, value) in [("zone", ZONE), ("period", PERIOD)] {
                if entry.params.iter().any(|param| param.name == name) {
                    set.push((format!("{}.{name}", entry.name), value.to_owned()));
                }
            }
            set.push((format!("{}.{}", entry.name, param.name), (*name).to_owned()));
            all.push(set);
        }
    }
    all
}

fn line(run: &RunResult) -> String {
    let c = &run.all;
    let warm = hits(&run.warm);
    format!(
        "hits {}+{} warm {warm} bypass {}+{} fills {} evicted {}+{} disk {}+{} rmw {} truncated {} \
         pb {}+{}",
        c.hits.read_blocks,
        c.hits.write_blocks,
        c.bypass.read_blocks,
        c.bypass.write_blocks,
        c.fills,
        c.evictions.clean_blocks,
        c.evictions.dirty_blocks,
        c.drive_io.read_blocks,
        c.drive_io.written_blocks,
        c.drive_io.rmw,
        c.drive_io.truncated,
        c.pb.write_hits,
        c.pb.evicted_blocks,
    )
}

/// One line for each policy, each of its settings, and both ways to make I/O of plans.
fn observed() -> String {
    let trace = read(WORKLOAD);
    let registry = Registry::default();
    let cases: Vec<_> = registry
        .entries()
        .iter()
        .flat_map(|entry| settings(entry).into_iter().map(move |set| (entry, set)))
        .flat_map(|(entry, set)| [true, false].map(|split| (entry, set.clone(), split)))
        .collect();
    let observed = |(entry, set, split): &(&Entry, Vec<(String, String)>, bool)| {
        let mut options = prototypes(&[entry.name], &["4000b"], &[("drive.pb", "4000b")]);
        let assigned = set.iter().map(|(key, value)| Assignment::new(key, value).expect("a key"));
        options.sets.extend(assigned);
        if entry.zoning(&Params::new(entry.params)) == Zoning::Exposed {
            options.drives = vec!["ha-roco".into()];
        }
        options.split = *split;
        options.fill_partial = !split;
        let batch = Assignment::new("cache.batch", if *split { "64" } else { "1" });
        options.sets.push(batch.expect("a key"));
        options.check = true;
        let runs = run(&options, &trace);
        let shown: Vec<_> = set.iter().map(|(key, value)| format!(" {key}={value}")).collect();
        let how = if *split { "4k" } else { "joined" };
        format!("{}{} {how}: {}\n", entry.name, shown.concat(), line(&runs[0]))
    };
    let lines: Vec<String> = cases.par_iter().map(observed).collect();
    format!("# {WORKLOAD}, seed 1\n{}", lines.concat())
}

#[test]
fn every_policy_on_a_built_in_workload() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/policies.txt");
    let observed = observed();
    if std::env::var_os("SHINGLE_GOLDEN").is_some_and(|value| value == "write") {
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        std::fs::write(&path, observed).expect("written");
        return;
    }
    let expected =
        std::fs::read_to_string(&path).expect("golden/policies.txt is in the repository");
    let differing: Vec<String> = observed
        .lines()
        .filter(|line| !expected.lines().any(|other| other == *line))
        .map(|line| {
            let name = line.split(':').next().expect("a name");
            let before = expected.lines().find(|other| other.split(':').next() == Some(name));
            format!("  now {line}\n  was {}", before.unwrap_or("not there"))
        })
        .collect();
    assert!(
        differing.is_empty() && observed.lines().count() == expected.lines().count(),
        "golden/policies.txt differs; the head of this file says how to write it anew\n{}",
        differing.join("\n")
    );
}

/// A run knows nothing of what ran before or beside it.
#[test]
fn a_run_is_a_function_of_its_input() {
    let trace = read("synth:mixed?requests=4k");
    for pacing in [Pacing::Closed, Pacing::Open] {
        let mut options = prototypes(&["lru", "most", "sac"], &["1%zones"], &[]);
        options.drives = vec!["st8000as0002".into(), "cmr5900".into()];
        (options.pacing, options.split, options.fill_partial) = (pacing, false, true);
        let shown = |runs: Vec<RunResult>| -> Vec<String> {
            let strip = |run: &RunResult| {
                let mut value = serde_json::to_value(run).expect("plain numbers");
                value.as_object_mut().expect("a run").remove("wall").expect("wall time");
                value.to_string()
            };
            runs.iter().map(strip).collect()
        };
        let together = shown(run(&options, &trace));
        let mut alone = Vec::new();
        for drive in ["st8000as0002", "cmr5900"] {
            for policy in ["lru", "most", "sac"] {
                let mut one = options.clone();
                one.drives = vec![drive.into()];
                one.policies = vec![policy.into()];
                alone.extend(shown(run(&one, &trace)));
            }
        }
        assert_eq!(together, alone, "{pacing:?}");
    }
}
