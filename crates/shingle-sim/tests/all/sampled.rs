//! Estimates from a sample of bands, against full runs of the same requests: hits within a point, bands rewritten
//! within a tenth, in a hundredth of the memory; and error bars that hold.

use std::time::Instant;

use crate::common::{read, real};
use shingle_core::registry::Registry;
use shingle_core::units::{Nanos, Op, Request};
use shingle_core::zones::ZoneMap;
use shingle_drive::{Buffer, Rng, Settings};
use shingle_engine::settings::Settings as Told;
use shingle_sim::experiment::{Assignment, Job, Options, Trace, plan, run_all};
use shingle_sim::sample::curve::{SampleOptions, sample};
use shingle_sim::sample::{Estimate, SampledTrace, Sampling, Shadow, WHOLE, change, scaled_drive};
use shingle_trace::{Shape, Summary};

/// A cache of so many slots under a policy, sampled by so many millionths.
fn shadow(policy: &str, slots: u64, buffer_blocks: u64, millionths: u64, seed: u64) -> Shadow {
    let settings = Settings { buffer: Buffer::Bytes(buffer_blocks << 12), ..Settings::default() };
    let (drive, bands) = scaled_drive("st8000as0002", &settings, millionths).expect("a drive");
    let disk_blocks = drive.description().disk_blocks;
    let sampling = Sampling::new(bands, millionths, seed);
    let sampled = sampling.part_of(slots);
    let cache = Told::new(policy).cache(&Registry::default(), sampled as u32, disk_blocks);
    Shadow::new(cache.expect("a policy for stores"), drive, sampling, slots).expect("an SSD")
}

/// Whether `estimate` is within its own error, or within this of the truth.
fn told(what: &str, policy: &str, full: f64, (value, error): (f64, f64)) {
    println!("{policy}: {what} {value:.1} ± {error:.1}, in full {full:.1}");
}

const POLICIES: [&str; 2] = ["most", "sac"];

const SLOTS: u64 = 200_000;
const BUFFER_BLOCKS: u64 = 60_000;

/// A disk of a terabyte in use: 60,000 zones, the hottest asked for several times as often as most, and in each some
/// blocks again and again. (The workloads that are built in touch too few bands, or have their heat in a few of them:
/// what a hundredth of those tells has error bars as wide as that.)
fn volume() -> Vec<Request> {
    let mut random = 1_u64;
    let mut unit = move || {
        random =
            random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (random >> 11) as f64 / (1_u64 << 53) as f64
    };
    let request = |_| {
        let zone = (libm::pow(unit(), 1.3) * 60_000.0) as u64 * 7_919 % 60_000;
        let block = (libm::pow(unit(), 6.0) * 5_000.0) as u64 * 1_231 % 5_000;
        let op = if unit() < 0.7 { Op::Write } else { Op::Read };
        Request { at: Nanos::ZERO, offset: (zone * 5_000 + block) << 12, bytes: 4096, op }
    };
    (0..1_500_000).map(request).collect()
}

#[test]
#[ignore = "takes minutes"]
fn a_sample_of_one_percent_predicts_the_full_run() {
    let requests = volume();
    for policy in POLICIES {
        let mut all = shadow(policy, SLOTS, BUFFER_BLOCKS, WHOLE, 1);
        let mut part = shadow(policy, SLOTS, BUFFER_BLOCKS, WHOLE / 100, 1);
        for request in &requests {
            all.request(request);
            part.request(request);
        }
        assert!(
            all.was_full() && part.was_full(),
            "{policy}: a cache that was never full shows nothing"
        );
        assert_eq!(part.sizes().sampled_slots, SLOTS / 100);
        let [full, hits] = [&all, &part].map(|shadow| shadow.hits_percent().expect("accesses"));
        told("hits in percent", policy, full.value, (hits.value, hits.error));
        assert!((hits.value - full.value).abs() < 1.0, "{policy}: {hits:?} {full:?}");
        let [full, rmws] = [&all, &part].map(|shadow| shadow.rmws().expect("accesses"));
        told("RMWs", policy, full.value, (rmws.value, rmws.error));
        assert!(full.value > 1_000.0 && full.error == 0.0, "{full:?}");
        assert!((rmws.value / full.value - 1.0).abs() < 0.10, "{policy}: {rmws:?} {full:?}");
    }
}

/// What a run of all counts is what the drive counts.
#[test]
fn a_sample_of_all_bands_has_all_requests() {
    let trace = read("synth:mixed?requests=40000");
    let mut all = shadow("sac", 4_000, 2_000, WHOLE, 7);
    trace.requests.iter().for_each(|request| all.request(request));
    assert_eq!(all.accesses(), all.sampled_accesses());
    let counted: u64 = all.rmws_by_group().iter().sum();
    assert!(counted > 0 && all.drive_counters().rmw == counted, "{counted}");
}

/// Error bars of a comparison hold: with other seeds, the truth is within them as often as they say.
#[test]
#[ignore = "takes minutes"]
fn errors_are_as_large_as_they_say() {
    let trace = read("synth:zipf?range=400GB&theta=0.5&requests=300000&size=4KiB");
    let (slots, buffer) = (40_000, 20_000);
    let mut all = ["most", "lru"].map(|policy| shadow(policy, slots, buffer, WHOLE, 1));
    let requests = &trace.requests;
    all.iter_mut().for_each(|all| requests.iter().for_each(|request| all.request(request)));
    let truth = change(all[0].rmws_by_group(), all[1].rmws_by_group(), WHOLE).expect("rewrites");
    assert!(truth.value < -5.0, "they differ: {truth:?}");
    let (mut within, seeds) = (0, 20);
    for seed in 0..seeds {
        let mut part =
            ["most", "lru"].map(|policy| shadow(policy, slots, buffer, WHOLE / 10, seed));
        part.iter_mut().for_each(|part| requests.iter().for_each(|request| part.request(request)));
        let [most, lru] = [&part[0], &part[1]].map(Shadow::rmws_by_group);
        let told = change(most, lru, WHOLE / 10).expect("rewrites");
        println!("seed {seed}: {:.1} ± {:.1}, in full {:.1}", told.value, told.error, truth.value);
        within += usize::from((told.value - truth.value).abs() <= told.error);
    }
    // (95 % of 20 are 19.)
    assert!(within >= 19, "{within} of {seeds}");
}

/// Real traces are short and touch few bands: the error bars have to say so.
#[test]
#[ignore = "takes minutes"]
fn real_traces_are_within_their_errors() {
    for file in ["alibaba_replaylog_52k.csv.zst", "cloudphysics_sample.vscsi.zst"] {
        let Some(trace) = real(file) else { continue };
        let slots = (trace.summary.distinct_blocks / 10).max(2_000);
        let buffer = slots / 4;
        for policy in POLICIES {
            let mut all = shadow(policy, slots, buffer, WHOLE, 1);
            let mut part = shadow(policy, slots, buffer, WHOLE / 5, 1);
            for request in &trace.requests {
                all.request(request);
                part.request(request);
            }
            let [full, hits] = [&all, &part].map(|shadow| shadow.hits_percent().expect("accesses"));
            told(&format!("{file}: hits in percent"), policy, full.value, (hits.value, hits.error));
        }
    }
}

/// The runs of `compare` for these policies and sizes.
fn jobs(trace: &Trace, policies: &[&str], caches: &[&str], sets: &[(&str, &str)]) -> Vec<Job> {
    let owned = |list: &[&str]| list.iter().map(|&text| text.to_owned()).collect();
    let sets = sets.iter().map(|(name, value)| Assignment::new(name, value).expect("a name"));
    let options = Options {
        policies: owned(policies),
        caches: owned(caches),
        sets: sets.collect(),
        ..Options::default()
    };
    plan(&options, &Registry::default(), trace).expect("a plan").0
}

/// Of all bands, what comes out is what the runs themselves say.
#[test]
fn a_curve_of_all_bands_equals_full_runs() {
    let trace = read("synth:mixed?requests=20000");
    let jobs = jobs(&trace, &["none", "lru", "sac"], &["5%", "20%"], &[]);
    let choice = SampleOptions { millionths: Some(WHOLE), seed: 1 };
    let sampled = sample(&trace, &jobs, choice).expect("a sample");
    let points = sampled.points(&jobs, &trace, &|_| {}).expect("runs");
    let runs = run_all(&jobs, &trace, &|_| {}).expect("runs");
    assert_eq!(points.len(), 5, "without a cache there is one size");
    for (point, run) in points.iter().zip(&runs) {
        let exact = |value: f64| Estimate { value, error: 0.0 };
        assert_eq!(point.policy, run.labels.policy);
        assert_eq!(point.hits_percent, exact(100.0 * run.all.hits.ratio.expect("accesses")));
        assert_eq!(point.rmws, exact(run.all.drive_io.rmw as f64));
        assert_eq!(point.done_seconds, exact(run.all.seconds.total));
        assert_eq!(point.left_seconds, exact(run.left.seconds));
    }
}

/// Zones of a disk, each with blocks that are asked for again and again, some zones more often than others.
fn made(zones: u64, requests: u64) -> Trace {
    let mut random = Rng::new(3);
    let mut unit = move || random.below(1 << 40) as f64 / (1_u64 << 40) as f64;
    let request = |_| {
        let zone = (libm::pow(unit(), 1.3) * zones as f64) as u64 * 7_919 % zones;
        let block = (libm::pow(unit(), 4.0) * 600.0) as u64 * 1_231 % 5_000;
        let op = if unit() < 0.7 { Op::Write } else { Op::Read };
        Request { at: Nanos::ZERO, offset: (zone * 5_000 + block) << 12, bytes: 4096, op }
    };
    let requests: Vec<Request> = (0..requests).map(request).collect();
    let summary = Summary::of(&requests);
    Trace { name: "made".into(), format: None, requests, summary }
}

/// A fifth of the bands tells what all do, within what it says of itself.
#[test]
fn a_curve_of_a_sample_is_within_its_errors() {
    let trace = made(2_000, 150_000);
    let jobs = jobs(&trace, &["lru", "most"], &["5%", "25%"], &[("drive.pb", "100M")]);
    let of = |millionths| {
        let choice = SampleOptions { millionths: Some(millionths), seed: 1 };
        let sampled = sample(&trace, &jobs, choice).expect("a sample");
        (sampled.about.clone(), sampled.points(&jobs, &trace, &|_| {}).expect("runs"))
    };
    let ((_, all), (about, part)) = (of(WHOLE), of(WHOLE / 5));
    assert!((about.sampled_requests as f64 / 30_000.0 - 1.0).abs() < 0.1, "{about:?}");
    for (all, part) in all.iter().zip(&part) {
        assert!(all.rmws.value > 500.0, "{all:?}");
        assert_eq!((&all.policy, all.cache_blocks), (&part.policy, part.cache_blocks));
        for (what, all, part, within) in [
            ("misses", all.misses, part.misses, 0.05),
            ("RMWs", all.rmws, part.rmws, 0.10),
            ("I/O time", all.done_and_left_seconds, part.done_and_left_seconds, 0.15),
        ] {
            let off = (part.value - all.value).abs();
            assert!(off <= part.error, "{what}: {part:?}, in full {}", all.value);
            assert!(off <= within * all.value, "{what}: {part:?}, in full {}", all.value);
            assert!(part.error < 3.0 * within * all.value, "{what}: {part:?} says nothing");
        }
    }
}

/// What a sample leaves out takes time of the disk from reads that follow, and counts as nothing itself.
#[test]
fn what_is_left_out_moves_the_head_and_is_not_counted() {
    let trace = made(500, 20_000);
    let jobs = jobs(&trace, &["lru"], &["5%"], &[]);
    let bands = jobs[0].disk().expect("a disk").drive().description().bands.clone();
    let sampling = Sampling::new(bands.expect("bands"), WHOLE / 5, 2).with_row_bands(1);
    let thinned = SampledTrace::parts(&trace.requests, &sampling);
    let thinned = &thinned[0];
    let job = jobs[0].scaled(WHOLE / 5).expect("a smaller one");
    let alone = job.run(&thinned.requests[..], &|_| {}).expect("a run");
    let among = job.run_sampled(thinned, &|_| {}).expect("a run");
    let (alone, among) = (alone.all, among.all);
    let [seconds_alone, seconds_among] = [alone, among].map(|all| all.seconds.by_cause.read);
    assert!(seconds_among > 1.01 * seconds_alone, "{seconds_among} {seconds_alone}");
    let counts = |all: shingle_result::Counts| (all.drive_io, all.pb, all.hits, all.accesses);
    assert_eq!(counts(alone), counts(among));
}

/// A trace that has too few bands to choose from is run in full, and says what it is short of.
#[test]
fn a_small_trace_is_run_in_full() {
    let trace = read("synth:mixed?requests=5000");
    let jobs_of = |sets: &[(&str, &str)]| jobs(&trace, &["lru"], &["5%"], sets);
    let any = SampleOptions { millionths: None, seed: 1 };
    let sampled = sample(&trace, &jobs_of(&[]), any).expect("a sample");
    assert!(sampled.about.is_all() && !sampled.about.is_small(), "{:?}", sampled.about);
    assert_eq!(sampled.about.sampled_requests, 5_000);
    // Asked for, it is sampled all the same; a sample without anything in it is refused.
    let asked = |millionths| {
        sample(&trace, &jobs_of(&[]), SampleOptions { millionths: Some(millionths), seed: 1 })
    };
    assert!(asked(WHOLE / 5).expect("a sample").about.is_small());
    let error = asked(1).err().expect("nothing is in it").to_string();
    assert!(error.starts_with("--sample: ") && error.contains("no request"), "{error}");
}

/// Traces of `SHINGLE_TRACES`, each as it is and so many copies side by side, which are a volume of the size that
/// samples are for: full runs, estimates, how far these are off, and how much faster.
#[test]
#[ignore = "takes minutes to hours"]
fn curves_beside_full_runs() {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("a thread");
    pool.install(|| {
        let samples = [WHOLE / 50, WHOLE / 10];
        for (file, copies, samples) in [
            ("alibaba_replaylog_52k.csv.zst", 1, &[][..]),
            ("alibaba_replaylog_52k.csv.zst", 64, &samples),
            ("alibaba_replaylog_52k.csv.zst", 160, &[WHOLE / 25]),
            ("cloudphysics_sample.vscsi.zst", 16, &samples),
            ("umass_financial1_50k.flashsim.txt.zst", 64, &samples),
            ("msrssd_iozone100k.disksim.txt.zst", 16, &samples),
            ("hadoop_eternity10_sdb.csv.gz", 1, &samples),
        ] {
            let Some(trace) = real(file) else { continue };
            let shape = Shape { copies, ..Shape::default() };
            let requests = shape.apply(trace.requests).expect("they fit the disk");
            let summary = Summary::of(&requests);
            let trace =
                Trace { name: format!("{copies} of {file}"), format: None, requests, summary };
            if samples.is_empty() {
                beside(&trace, None);
            }
            samples.iter().for_each(|&millionths| beside(&trace, Some(millionths)));
        }
    });
}

/// Prints what a curve says beside full runs.
fn beside(trace: &Trace, millionths: Option<u64>) {
    let jobs = jobs(trace, &["lru", "most", "sac"], &["2%", "5%", "20%"], &[]);
    let begun = Instant::now();
    let sampled = sample(trace, &jobs, SampleOptions { millionths, seed: 1 });
    let sampled = match sampled {
        Ok(sampled) => sampled,
        Err(error) => return println!("{}: {error}", trace.name),
    };
    println!("\n{}: {:?}", trace.name, sampled.about);
    if sampled.about.is_all() {
        return;
    }
    let part = sampled.points(&jobs, trace, &|_| {}).expect("runs");
    let of_part = begun.elapsed().as_secs_f64();
    let begun = Instant::now();
    let full =
        sample(trace, &jobs, SampleOptions { millionths: Some(WHOLE), seed: 1 }).expect("all");
    let full = full.points(&jobs, trace, &|_| {}).expect("runs");
    let of_full = begun.elapsed().as_secs_f64();
    println!(
        "{of_part:.2} s in the place of {of_full:.2} s: {:.1} times faster",
        of_full / of_part
    );
    println!("| policy | blocks | misses, off % ± | RMWs, off % ± | done + left, off % ± |");
    let (mut most_off, mut within, mut count) = ([0.0_f64; 3], 0, 0);
    for (full, part) in full.iter().zip(&part) {
        let figures = [
            (full.misses, part.misses),
            (full.rmws, part.rmws),
            (full.done_and_left_seconds, part.done_and_left_seconds),
        ];
        let cells = figures.iter().zip(&mut most_off).map(|((full, part), most_off)| {
            let percent = |value: f64| 100.0 * value / full.value;
            let off = percent(part.value - full.value);
            // (Of no RMWs there is no percentage.)
            *most_off = most_off.max(off.abs());
            within += u32::from((part.value - full.value).abs() <= part.error);
            count += 1;
            format!("{:.0}, {off:+.1} ± {:.1}", full.value, percent(part.error))
        });
        let cells: Vec<String> = cells.collect();
        println!("| {} | {} | {} |", full.policy, full.cache_blocks, cells.join(" | "));
    }
    let [misses, rmws, time] = most_off;
    println!(
        "off by at most: misses {misses:.1} %, RMWs {rmws:.1} %, time {time:.1} %; within ± in {within} of {count}"
    );
}

/// How often the full run is within what a sample says, over seeds.
#[test]
#[ignore = "takes minutes"]
fn errors_of_curves_are_as_large_as_they_say() {
    let mut traces = vec![made(20_000, 1_000_000)];
    if let Some(trace) = real("alibaba_replaylog_52k.csv.zst") {
        let shape = Shape { copies: 32, ..Shape::default() };
        let requests = shape.apply(trace.requests).expect("they fit the disk");
        let summary = Summary::of(&requests);
        traces.push(Trace { name: trace.name, format: None, requests, summary });
    }
    for trace in &traces {
        let jobs = jobs(trace, &["lru", "most", "sac"], &["5%", "20%"], &[]);
        let of = |millionths, seed| {
            let sampled =
                sample(trace, &jobs, SampleOptions { millionths: Some(millionths), seed });
            sampled.expect("a sample").points(&jobs, trace, &|_| {}).expect("runs")
        };
        let full = of(WHOLE, 1);
        let (seeds, mut within) = (20, [0_usize; 3]);
        // Of each point, in percent: how far its figures are off on average, and what they say of that.
        let mut means = vec![[0.0_f64; 6]; full.len()];
        for seed in 0..seeds {
            for (at, (full, part)) in full.iter().zip(&of(WHOLE / 10, seed)).enumerate() {
                let figures = [
                    (full.misses, part.misses),
                    (full.rmws, part.rmws),
                    (full.done_and_left_seconds, part.done_and_left_seconds),
                ];
                let mean = |value: f64, full: f64| 100.0 * value / full / seeds as f64;
                for (means, (full, part)) in means[at].chunks_exact_mut(2).zip(figures) {
                    means[0] += mean(part.value - full.value, full.value);
                    means[1] += mean(part.error, full.value);
                }
                for (within, (full, part)) in within.iter_mut().zip(figures) {
                    *within += usize::from((part.value - full.value).abs() <= part.error);
                }
            }
        }
        let all = seeds as usize * jobs.len();
        println!("| policy | blocks | misses, mean off % ± | RMWs | done + left |");
        for (full, [misses, misses_error, rmws, rmws_error, time, time_error]) in
            full.iter().zip(&means)
        {
            println!(
                "| {} | {} | {misses:+.2} ± {misses_error:.2} | {rmws:+.1} ± {rmws_error:.1} \
                 | {time:+.1} ± {time_error:.1} |",
                full.policy, full.cache_blocks
            );
        }
        println!(
            "{}: of {all} each, misses {}, RMWs {}, I/O time {} within",
            trace.name, within[0], within[1], within[2]
        );
        assert!(within[0] * 100 >= 90 * all && within[1] * 100 >= 90 * all, "{within:?}");
    }
}

#[test]
fn requests_are_cut_at_bands() {
    let bands = ZoneMap::runs(&[(10, 3), (7, 100)], 700);
    let sampling = Sampling::new(bands.clone(), WHOLE / 2, 3);
    for (first, count) in [(0, 700), (5, 1), (9, 2), (28, 60), (699, 1)] {
        for op in [Op::Read, Op::Write, Op::Trim] {
            let request = Request { at: Nanos::ZERO, offset: first << 12, bytes: count << 12, op };
            let mut seen = Vec::new();
            sampling.pieces(&request, |piece, group| {
                let (from, blocks) = (piece.first(), piece.blocks());
                let band = bands.zone(from);
                assert_eq!(bands.zone(from.after(blocks - 1)), band, "one band");
                assert_eq!(sampling.group(band), Some(group));
                seen.extend((0..blocks).map(|n| from.after(n)));
            });
            let asked = (first..first + count).map(shingle_core::units::Block);
            let sampled: Vec<_> =
                asked.filter(|&block| sampling.group_of(block).is_some()).collect();
            assert_eq!(seen, sampled);
        }
    }
}
