//! Estimates from a sample of bands, against full runs of the same requests: hits within a point, bands rewritten
//! within a tenth, in a hundredth of the memory; and error bars that hold.

use crate::common::{read, real};
use shingle_core::registry::Registry;
use shingle_core::units::{Nanos, Op, Request};
use shingle_core::zones::ZoneMap;
use shingle_drive::{Buffer, Settings};
use shingle_engine::settings::Settings as Told;
use shingle_sim::sample::{Sampling, Shadow, WHOLE, change, scaled_drive};

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
        let zone = (unit().powf(1.3) * 60_000.0) as u64 * 7_919 % 60_000;
        let block = (unit().powi(6) * 5_000.0) as u64 * 1_231 % 5_000;
        let op = if unit() < 0.7 { Op::Write } else { Op::Read };
        Request { at: Nanos::ZERO, offset: (zone * 5_000 + block) << 12, bytes: 4096, op }
    };
    (0..1_500_000).map(request).collect()
}

#[test]
#[ignore = "takes minutes"]
fn a_hundredth_tells_what_all_would() {
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
fn all_bands_are_all_requests() {
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
