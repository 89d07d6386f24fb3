//! What a comparison says: sentences worked out by hand from a few figures, and that work left undone
//! counts as much as it takes when it is done.

use std::collections::BTreeMap;

use crate::common::read;
use shingle_core::policy::Memory;
use shingle_core::registry::Registry;
use shingle_core::units::{BLOCK_BYTES, Block, Nanos, Op, Request};
use shingle_result::{
    Axis, ByCause, Counts, Labels, Left, Pacing, Place, Queue, RunResult, Said, SaidKind, Snapshot,
    Swept, Target, Translating,
    verdict::{done_and_left, groups, measure, ranking, said, said_of_sweep},
};
use shingle_sim::experiment::{Assignment, DEFAULT_CACHE, Options, Trace, plan, run_all, share};
use shingle_trace::Summary;

/// A run in closed loop that was busy cleaning for `done` seconds and leaves `left` seconds of that,
/// with an RMW for each second.
fn run(policy: &str, done: f64, left: f64) -> RunResult {
    let mut all = Counts::between(&Snapshot::default(), &Snapshot::default());
    (all.seconds.total, all.seconds.by_cause.clean) = (done, done);
    all.drive_io.rmw = done as u64;
    let labels = Labels {
        seed: 1,
        policy: policy.into(),
        parameters: BTreeMap::new(),
        drive: "disk".into(),
        drive_parameters: BTreeMap::from([("pb".into(), "100b".into())]),
        pb_blocks: Some(100),
        ssd: "ssd".into(),
        translation: None,
        translation_parameters: None,
        cache_blocks: if policy == "none" { 0 } else { 1000 },
        mode: "rw".into(),
        pacing: "closed".into(),
        knows_bands: false,
    };
    let nothing = RunResult::without_counts(&labels, Memory::default());
    RunResult { warm: all, all, warm_from: Some(5), left: work(left), ..nothing }
}

fn work(seconds: f64) -> Left {
    let by_cause = ByCause { clean: seconds, ..ByCause::default() };
    Left { seconds, by_cause, rmw: seconds as u64, ..Left::default() }
}

/// The same in open loop, with a mean response time.
fn answered(policy: &str, mean_us: f64, done: f64, left: f64) -> RunResult {
    let mut run = run(policy, done, left);
    run.latency.mean_us = mean_us;
    run.queue =
        Some(Queue { disk_utilisation: 0.5, ssd_utilisation: 0.1, longest: 3, overloaded: false });
    run
}

fn texts(said: &[Said]) -> Vec<&str> {
    said.iter().map(|said| said.text.as_str()).collect()
}

#[test]
fn deferred_work_counts_in_the_ranking() {
    let runs = [run("lru", 300.0, 0.0), run("most", 80.0, 120.0), run("sac", 118.0, 10.0)];
    let order = ranking(&runs.iter().collect::<Vec<_>>());
    assert_eq!(order, [2, 1, 0], "128 s, 200 s, 300 s");
    let told = said(&runs);
    // 200 ÷ 128 and 80 ÷ 118; 300 ÷ 128, which 300 ÷ 118 is near to.
    assert_eq!(
        texts(&told),
        [
            "sac needs the least I/O time, with the work it leaves undone: 1.56 times better than \
             most (0.68 without that work), 2.34 times better than lru. Against lru, 100% of the \
             time saved is because fewer bands had to be cleaned (RMWs 128 against 300, with those \
             still to come). Fewest RMWs: sac (128, with those still to come); fewest blocks read: \
             lru (0).",
            "By what is done alone most would be first, with 80.0 s against 118.0 s; but it leaves \
             work of 2 min, sac of 10.0 s.",
        ]
    );
    assert_eq!((told[0].kind, &told[0].runs[..]), (SaidKind::Verdict, &[0, 1, 2][..]));
    assert_eq!((told[1].kind, &told[1].runs[..]), (SaidKind::Verdict, &[2, 1][..]));
}

/// What `--drain` did stands among what was done, and nowhere else to be added to it.
#[test]
fn drained_work_counts_once() {
    let drained = |policy: &str, done: f64, left: f64| {
        let mut run = run(policy, done + left, 0.0);
        run.drained = Some(work(left));
        run
    };
    let runs = [drained("lru", 300.0, 40.0), drained("sac", 118.0, 82.0)];
    assert_eq!(runs.each_ref().map(measure), [340.0, 200.0]);
    let told = said(&runs);
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].text.starts_with(
        "sac needs the least I/O time: 1.70 times better than lru. Against lru, 100% of the time \
         saved is because fewer bands had to be cleaned (RMWs 200 against 340). "
    ));
    // The drain cleans whatever was put off: that is no sign of a trace that cleans much.
    let runs = [drained("lru", 20.0, 200.0), drained("sac", 31.0, 2.0)];
    let told = said(&runs);
    let warning = told.iter().find(|said| said.kind == SaidKind::Warning).expect("20 cleanings");
    assert!(warning.text.starts_with("Fewer than 30 bands were cleaned under lru: "));
    assert_eq!(warning.runs, [0]);
}

/// A run over a log that has cleaned this many of its zones; the disk below it may have cleaned bands.
fn logged(policy: &str, zones: u64, seconds: f64, rmw: u64) -> RunResult {
    let mut run = run(policy, seconds, 0.0);
    run.all.drive_io.rmw = rmw;
    run.labels.translation = Some("log".into());
    run.translation_counters = Some(Translating { cleanings: zones, ..Translating::default() });
    run
}

#[test]
fn a_log_cleans_zones_and_the_disk_below_it_bands() {
    let why = |runs: [RunResult; 2]| {
        let told = said(&runs)[0].text.clone();
        let from = told.find("is because ").expect("a reason") + 11;
        told[from..].split_once(").").expect("its end").0.to_owned()
    };
    let zones = "fewer zones had to be cleaned (all in all 100 against 300";
    assert_eq!(why([logged("lru", 300, 90.0, 0), logged("sac", 100, 40.0, 0)]), zones);
    let zones = "fewer zones had to be cleaned (all in all 101 against 303";
    assert_eq!(why([logged("lru", 300, 90.0, 3), logged("sac", 100, 40.0, 1)]), zones);
    let bands = "fewer bands had to be cleaned (RMWs 100 against 700";
    assert_eq!(why([logged("lru", 60, 90.0, 700), logged("sac", 40, 40.0, 100)]), bands);
    let time = "cleaning took less time (zones 300 against 100";
    assert_eq!(why([logged("lru", 100, 90.0, 0), logged("sac", 300, 40.0, 0)]), time);
    // The disk as it is, beside the log.
    let bands = "fewer bands had to be cleaned (RMWs 2 against 300";
    assert_eq!(why([run("lru", 300.0, 0.0), logged("sac", 100, 40.0, 2)]), bands);
    let either = "fewer bands or zones had to be cleaned (all in all 40 against 300";
    assert_eq!(why([run("lru", 40.0, 0.0), logged("sac", 300, 90.0, 0)]), either);
    // Other translations write zones back: their RMWs are these.
    let fluid = |policy, seconds: f64| {
        let mut run = logged(policy, seconds as u64, seconds, seconds as u64);
        run.translation_counters.as_mut().expect("there").victims = seconds as u64;
        run
    };
    let zones = "fewer zones had to be cleaned (RMWs 40 against 90";
    assert_eq!(why([fluid("lru", 90.0), fluid("sac", 40.0)]), zones);
}

#[test]
fn too_few_cleanings_are_told_of_what_was_cleaned() {
    let warned = |runs: &[RunResult]| {
        let told = said(runs);
        let warning = told.iter().find(|said| said.kind == SaidKind::Warning).expect("few");
        warning.text.clone()
    };
    let log = || logged("sac", 20, 40.0, 2);
    let told = warned(&[run("lru", 20.0, 0.0), log()]);
    let both = "Fewer than 30 bands or zones were cleaned under lru, sac over log: the drive's buffer hardly filled, and \
                the translation hardly ran out of room, so";
    assert!(told.starts_with(both), "{told}");
    let told = warned(&[log(), logged("lru", 300, 50.0, 0)]);
    assert!(told.starts_with("Fewer than 30 zones were cleaned under sac: the translation hardly"));
    let told = |runs: Vec<RunResult>| {
        let values = |run: &RunResult| run.labels.policy.clone();
        let place =
            |run: &RunResult| Place { trace: 0, at: [("policy".to_owned(), values(run))].into() };
        let sweep = Swept {
            axes: vec![Axis { name: "policy".into(), values: runs.iter().map(values).collect() }],
            traces: Vec::new(),
            cells: runs.iter().map(place).collect(),
            left_out: Vec::new(),
        };
        said_of_sweep(&runs, &sweep).last().expect("a warning").text.clone()
    };
    let zones = "2 of 2 runs cleaned fewer than 30 zones: they say little about shingling.";
    assert_eq!(told(vec![log(), logged("lru", 3, 9.0, 0)]), zones);
    let either =
        "2 of 2 runs cleaned fewer than 30 bands or zones: they say little about shingling.";
    assert_eq!(told(vec![log(), run("lru", 3.0, 0.0)]), either);
}

/// A zoned disk has nothing to read where nothing was written, which makes reads look cheap.
#[test]
fn reads_of_blocks_never_written_are_reported() {
    let reads = |policy: &str, beyond| {
        let mut run = run(policy, 200.0, 0.0);
        (run.all.drive_io.read_blocks, run.all.drive_io.beyond_pointer_blocks) = (1000, beyond);
        run
    };
    let told = said(&[reads("lru", 50), reads("sac", 51), reads("most", 640)]);
    let warnings: Vec<_> = told.iter().filter(|said| said.kind == SaidKind::Warning).collect();
    assert_eq!(warnings.len(), 1, "{told:?}");
    let start =
        "Up to 64% of the blocks read from the disk were never written before (sac, most). ";
    assert!(warnings[0].text.starts_with(start), "{}", warnings[0].text);
    assert_eq!(warnings[0].runs, [1, 2], "one in twenty is no matter");
}

#[test]
fn a_run_without_time_has_no_factor() {
    let told = said(&[run("lru", 300.0, 0.0), run("sac", 0.0, 0.0), run("most", 0.0, 40.0)]);
    let start = "sac needs the least I/O time, with the work it leaves undone: it takes no time, and most \
                 does, it takes no time, and lru does. ";
    assert!(told[0].text.starts_with(start), "{}", told[0].text);
}

#[test]
fn no_policy_wins_if_no_cache_filled() {
    let cold = |policy: &str, done| RunResult { warm_from: None, ..run(policy, done, 0.0) };
    let none = RunResult { warm_from: None, ..run("none", 1396.0, 0.0) };
    let runs = [none.clone(), cold("lru", 50.0), cold("sac", 40.0)];
    let told = said(&runs);
    assert_eq!(
        texts(&told),
        [
            "This comparison says nothing about policies: the cache never filled, so nothing had \
             to leave it.",
            "The cache never filled under lru, sac: choose a smaller one with -c.",
        ]
    );
    assert_eq!((told[1].kind, &told[1].runs[..]), (SaidKind::Warning, &[1, 2][..]));

    // Where only some never filled, this is said before any factor.
    let runs = [none, cold("lru", 50.0), run("sac", 40.0, 0.0)];
    let told = said(&runs);
    assert_eq!(told[0].text, "The cache never filled under lru: choose a smaller one with -c.");
    assert!(told[1].text.starts_with("sac needs the least I/O time: 1.25 times better than lru, "));
}

#[test]
fn policies_with_equal_results_are_not_ranked() {
    let level = [run("none", 360.0, 0.0), run("lru", 100.1, 0.0), run("sac", 100.0, 0.0)];
    let told = said(&level);
    let start = "All policies with a cache are level: 3.60 times better than none. ";
    assert!(told[0].text.starts_with(start), "{told:?}");
    assert_eq!(said(&level[1..])[0].text, "All are level.");
    let nothing = [run("lru", 0.0, 0.0), run("sac", 0.0, 0.0)];
    assert_eq!(said(&nothing)[0].text, "All are level.", "no time at all");
}

/// As many blocks in fewer pieces are not "less".
#[test]
fn the_reason_agrees_with_the_figures() {
    let reading = |policy: &str, seconds: f64, blocks| {
        let mut run = run(policy, 0.0, 0.0);
        (run.all.seconds.total, run.all.seconds.by_cause.read) = (seconds, seconds);
        run.all.drive_io.read_blocks = blocks;
        run.labels.drive_parameters.clear();
        run
    };
    let why = |few| said(&[reading("lru", 100.0, 9000), reading("sac", 50.0, few)])[0].text.clone();
    let told = why(4000);
    assert!(told.contains("is because less was read from the disk (4,000 blocks against 9,000)."));
    let told = why(9001);
    let wanted = "is because it took less time to serve what was read from the disk (9,001 blocks against 9,000).";
    assert!(told.contains(wanted), "{told}");
    assert!(why(9000).contains("what was read from the disk (9,000 blocks each)."));
}

#[test]
fn open_loop_ranks_by_response_times_and_reports_deferred_work() {
    let runs = [answered("sac", 900.0, 80.0, 166.0), answered("lru", 1800.0, 150.0, 12.0)];
    let told = said(&runs);
    assert!(told[0].text.starts_with("sac responds fastest: 2.00 times better than lru. "));
    assert!(told[0].text.contains("(RMWs 80 against 150)"), "as done: {}", told[0].text);
    assert_eq!(
        told[1].text,
        "Response times say nothing of work put off: sac did 80.0 s of I/O and leaves 2 min 46 s to \
         do, lru leaves 12.0 s."
    );
    assert_eq!((told[1].kind, &told[1].runs[..]), (SaidKind::Warning, &[0][..]));
    let runs = [answered("sac", 900.0, 80.0, 19.0), answered("lru", 1800.0, 150.0, 12.0)];
    assert_eq!(said(&runs).len(), 1, "7 s more than lru are less than a tenth of 80 s");
}

#[test]
fn none_is_best_by_response_time_where_all_are_overloaded() {
    let mut runs = [answered("sac", 9e8, 80.0, 12.0), answered("lru", 18e8, 150.0, 12.0)];
    runs[1].queue.as_mut().expect("open loop").overloaded = true;
    assert!(said(&runs)[0].text.starts_with("sac responds fastest: lru cannot keep up. "));
    runs[0].queue.as_mut().expect("open loop").overloaded = true;
    let told = said(&runs);
    assert_eq!(
        told[0].text,
        "None of them keeps up with the trace, so response times do not say which is best."
    );
    assert!(told[1].text.starts_with("Overloaded (!): sac, lru. "), "{told:?}");
    assert_eq!(told.len(), 2);
}

#[test]
fn runs_of_one_seed_drive_and_size_are_compared() {
    let sized = |policy: &str, cache_blocks: u64, seed| {
        let mut run = run(policy, cache_blocks as f64 + 40.0, 0.0);
        (run.labels.cache_blocks, run.labels.seed) = (cache_blocks, seed);
        run
    };
    let runs: Vec<RunResult> = [1, 2]
        .into_iter()
        .flat_map(|seed| [sized("none", 0, seed), sized("lru", 10, seed), sized("lru", 20, seed)])
        .collect();
    let found: Vec<(u64, Vec<usize>)> =
        groups(&runs).into_iter().map(|group| (group.cache_blocks, group.runs)).collect();
    assert_eq!(
        found,
        [(10, vec![0, 1]), (20, vec![0, 2]), (10, vec![3, 4]), (20, vec![3, 5])],
        "a run without a cache belongs to each size"
    );
    let told = said(&runs);
    let over_seeds: Vec<&Said> = told.iter().filter(|said| said.compared.len() == 4).collect();
    assert_eq!(over_seeds.len(), 2, "{told:?}");
    assert_eq!(over_seeds[0].text, "Best of 2 seeds: none in 2.");
    assert_eq!(over_seeds[0].compared, [0, 1, 3, 4]);
}

#[test]
fn sweeps_rank_by_done_and_left() {
    let runs = [
        run("most", 80.0, 120.0),
        run("sac", 118.0, 10.0),
        run("most", 80.0, 20.0),
        run("sac", 118.0, 10.0),
        RunResult { warm_from: None, ..run("most", 70.0, 0.0) },
        RunResult { warm_from: None, ..run("sac", 20.0, 0.0) },
    ];
    let at = |cache: &str, policy: &str| Place {
        trace: 0,
        at: [("cache", cache), ("policy", policy)].map(|(k, v)| (k.into(), v.into())).into(),
    };
    let caches = ["1%", "2%", "90%"];
    let axis = |name: &str, values: &[&str]| Axis {
        name: name.into(),
        values: values.iter().map(|&value| value.into()).collect(),
    };
    let sweep = Swept {
        axes: vec![axis("cache", &caches), axis("policy", &["most", "sac"])],
        traces: Vec::new(),
        cells: caches.iter().flat_map(|cache| [at(cache, "most"), at(cache, "sac")]).collect(),
        left_out: Vec::new(),
    };
    let told = said_of_sweep(&runs, &sweep);
    assert_eq!(
        texts(&told),
        [
            "Best of 2 places: most in 1, sac in 1.",
            "The cache never filled in 2 of 6 runs; places where it filled in none count for no \
             policy.",
            "1 of 6 runs cleaned fewer than 30 bands: they say little about shingling.",
        ]
    );
    assert_eq!((&told[1].runs[..], &told[2].runs[..]), (&[4, 5][..], &[5][..]));

    let mut late = [answered("most", 9e9, 90.0, 0.0), answered("sac", 1e3, 60.0, 0.0)];
    late[0].queue.as_mut().expect("open loop").overloaded = true;
    let sweep = Swept { cells: sweep.cells[..2].to_vec(), ..sweep };
    let told = said_of_sweep(&late, &sweep);
    assert!(told[1].text.starts_with("1 of 2 runs are overloaded (!): "), "{told:?}");
    assert_eq!((told[1].kind, &told[1].runs[..]), (SaidKind::Warning, &[0][..]));
}

#[test]
fn a_target_in_seconds_counts_what_is_left() {
    let smallest = |limit: &str| {
        let target = Target::parse(limit).expect("a target");
        target.smallest(&[run("most", 80.0, 120.0)])[0].cache_blocks
    };
    assert_eq!((smallest("seconds=199"), smallest("seconds=200")), (None, Some(1000)));
}

#[test]
fn a_share_is_of_the_footprint_unless_it_says_of_what() {
    // One block in each of 100 zones of 5,000, half of them written.
    let text: String =
        (0..100).map(|i| format!("{i},{},{},4096\n", ["R", "W"][i % 2], i * 20_480_000)).collect();
    let folder = std::env::temp_dir().join(format!("shingle-share-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let path = folder.join("sparse.csv");
    std::fs::write(&path, format!("time_us,op,offset_bytes,size_bytes\n{text}")).expect("a file");
    let trace = read(path.to_str().expect("the path is text"));
    std::fs::remove_dir_all(&folder).expect("it is there");
    let share = |text: &str| share(text, &trace.summary).map_err(|error| error.to_string());
    assert_eq!((share("5%"), share("5%footprint")), (Ok(5), Ok(5)));
    assert_eq!((share("5%zones"), share("5%written")), (Ok(25_000), Ok(12_500)));
    assert_eq!(share(DEFAULT_CACHE), Ok(15), "it fills, however sparse the trace is");
    let told = share("5%accessed").expect_err("a former name");
    assert!(["footprint", "zones", "written"].iter().all(|of| told.contains(of)), "{told}");
}

/// Draining for real costs what was said to be left, so that both ways rank alike.
#[test]
fn done_and_left_is_what_a_drained_run_takes() {
    for workload in ["synth:mixed?requests=6k", "synth:zipf?requests=6k&range=1GB"] {
        let trace = read(workload);
        for (drive, pacing) in [
            ("st8000as0002", Pacing::Closed),
            ("sac-emulator", Pacing::Closed),
            ("cmr5900", Pacing::Closed),
            ("st8000as0002", Pacing::Open),
        ] {
            let runs = |drain: bool| {
                let options = Options {
                    policies: ["none", "lru", "most", "sac"].map(str::to_owned).to_vec(),
                    drives: vec![drive.into()],
                    caches: vec!["5%".into()],
                    pacing,
                    drain,
                    ..Options::default()
                };
                let (jobs, _) = plan(&options, &Registry::default(), &trace).expect("it is one");
                run_all(&jobs, &trace, &|_| {}).expect("no stale read")
            };
            let (as_is, drained) = (runs(false), runs(true));
            for (a, b) in as_is.iter().zip(&drained) {
                let what = format!("{workload} {drive} {} {pacing:?}", a.labels.policy);
                let (sum, real) = (done_and_left(a), b.all.seconds.total);
                assert!((sum - real).abs() <= 0.01 * real, "{what}: {sum} s, drained {real} s");
                assert_eq!(b.left, Left::default(), "{what}");
                assert_eq!(b.drained, Some(a.left), "{what}");
                let done = |run: &RunResult| run.all.drive_io.written_blocks;
                assert_eq!(done(b), done(a) + a.left.written_blocks, "{what}");
                if pacing == Pacing::Closed {
                    assert!((a.left.seconds - total(&a.left.by_cause)).abs() < 1e-6, "{what}");
                }
            }
            let order = |runs: &[RunResult]| ranking(&runs.iter().collect::<Vec<_>>());
            assert_eq!(order(&as_is), order(&drained), "{workload} {drive} {pacing:?}");
        }
    }
}

/// A trace of these.
fn made(name: &str, requests: Vec<Request>) -> Trace {
    Trace { name: name.into(), format: None, summary: Summary::of(&requests), requests }
}

/// What is left is destaged by address, as the store drains: it costs the same whatever the policy was whose
/// cache holds it.
#[test]
fn what_is_left_costs_the_same_in_whatever_order_a_policy_names_it() {
    let requests: Vec<Request> = (0..3000)
        .map(|i: u64| Request {
            at: Nanos::ZERO,
            offset: (i * 7919 % 3001) * 50 * BLOCK_BYTES,
            bytes: BLOCK_BYTES,
            op: Op::Write,
        })
        .collect();
    let trace = made("scattered", requests);
    let options = Options {
        policies: ["lru", "lru+cdc", "lirs", "sac-ad", "sieve", "fifo"].map(str::to_owned).to_vec(),
        drives: vec!["cmr5900".into()],
        caches: vec!["4000b".into()],
        ..Options::default()
    };
    let (jobs, _) = plan(&options, &Registry::default(), &trace).expect("it is one");
    let runs = run_all(&jobs, &trace, &|_| {}).expect("no stale read");
    for run in &runs {
        assert_eq!(run.left.dirty_blocks, 3000, "{}", run.labels.policy);
        assert_eq!(run.left, runs[0].left, "{}", run.labels.policy);
    }
}

/// Where a policy cannot do what it is named for, this is said before its figures are believed.
#[test]
fn policies_say_where_they_cannot_do_what_they_are_named_for() {
    let requests: Vec<Request> = (0..100)
        .map(|i: u64| Request {
            at: Nanos::ZERO,
            offset: i * BLOCK_BYTES,
            bytes: BLOCK_BYTES,
            op: Op::Write,
        })
        .collect();
    let trace = made("few", requests);
    let remarks = |pb: &str, period: &str| {
        let set = |key, value| Assignment::new(key, value).expect("a key");
        let options = Options {
            policies: ["lru", "sac", "pore-cf"].map(str::to_owned).to_vec(),
            drives: vec!["st8000as0002".into()],
            caches: vec!["1000b".into()],
            sets: [set("drive.pb", pb), set("pore-cf.period", period)].into_iter().collect(),
            ..Options::default()
        };
        let (_, notes) = plan(&options, &Registry::default(), &trace).expect("it can be planned");
        notes.0
    };
    assert_eq!(remarks("5000b", "0.1"), [], "a zone is 5,000 blocks, two periods are 1,000");
    let told = remarks("4999b", "0.11");
    assert!(
        told[0].text.starts_with("sac over st8000as0002: a zone of 19.5 MiB is larger"),
        "{told:?}"
    );
    assert!(told[1].text.contains("the cache is smaller than two of its periods"), "{told:?}");
    assert_eq!(told.iter().map(|note| &note.jobs[..]).collect::<Vec<_>>(), [[1], [2]]);
}

fn total(by_cause: &ByCause) -> f64 {
    let ByCause { ssd, read, log, write, clean, .. } = by_cause;
    ssd + read + log + write + clean
}

/// One written block a zone: 0.4% of the zones has room for all of them.
#[test]
fn a_scaled_buffer_that_holds_all_writes_is_reported() {
    let notes = |zone_blocks: u64| {
        let requests: Vec<Request> = (0..100)
            .map(|i| Request {
                at: Nanos(i),
                offset: Block(i * zone_blocks).bytes(),
                bytes: BLOCK_BYTES,
                op: Op::Write,
            })
            .collect();
        let trace = made("sparse", requests);
        let options = Options {
            policies: ["lru", "most"].map(str::to_owned).to_vec(),
            drives: ["st8000as0002", "cmr5900"].map(str::to_owned).to_vec(),
            ..Options::default()
        };
        plan(&options, &Registry::default(), &trace).expect("it can be planned").1.0
    };
    let sparse = notes(5000);
    assert_eq!(sparse.len(), 2, "{sparse:?}");
    assert!(sparse[0].text.contains("the drive's buffer is scaled to 0.4% of that, 7.8 MiB"));
    assert!(sparse[1].text.contains("room for all 400 KiB it writes"), "{}", sparse[1].text);
    assert_eq!(sparse[1].jobs, [0, 1], "a conventional disk has no buffer");
    assert_eq!(notes(1).len(), 1, "100 blocks next to each other, a buffer of 20");
}
