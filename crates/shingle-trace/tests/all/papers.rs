//! The papers' traces as the user of the crate sees them.

use std::collections::BTreeMap;
use std::path::Path;

use shingle_core::units::Op;
use shingle_testbed::times;
use shingle_trace::papers::{self, LONG, MIX, Packed, Papers, Trace, Volume, packed};
use shingle_trace::synth::ParameterKind;
use shingle_trace::volumes::VOLUMES;
use shingle_trace::{Mode, OpenOptions, Source, open};

const ZONE_BLOCKS: u64 = 5_000;

fn read(papers: &Papers, trace: Trace, mode: Mode, accesses: u64) -> Packed {
    papers.read(trace, mode, accesses).expect("a trace that is described")
}

#[test]
fn less_of_a_trace_is_its_beginning() {
    let papers = Papers::generated(7, &[]).expect("defaults");
    let long = Trace::Long { copies: 2 };
    for trace in [Trace::Volume("wdev_0"), long, Trace::Mix { copies: 2 }] {
        let whole = read(&papers, trace, Mode::ReadWrite, 50_000);
        assert_eq!(whole.blocks.len(), 50_000);
        for accesses in [1, 4_095, 4_097, 20_000] {
            let cut = read(&papers, trace, Mode::ReadWrite, accesses);
            assert!(cut.blocks == whole.blocks[..accesses as usize], "{trace:?} {accesses}");
        }
        let writes = read(&papers, trace, Mode::Write, 10_000);
        let expected = whole.blocks.iter().copied().filter(|access| access & 1 == 1);
        assert!(writes.blocks.iter().copied().eq(expected.take(10_000)), "{trace:?}");
        let other =
            read(&Papers::generated(8, &[]).expect("defaults"), trace, Mode::ReadWrite, 50_000);
        assert!(other != whole, "{trace:?}: another seed");
    }
}

#[test]
fn requests_with_times_are_those_of_the_workload() {
    let first = |mut source: Box<dyn Source>| {
        let mut batch = Vec::with_capacity(5_000);
        assert!(source.fill(&mut batch).expect("valid requests"));
        batch
    };
    // A parameter that a volume does not have changes nothing; a factor refers to the volume's own
    // default.
    let set = [("idle", "0.5"), ("density", "x0.5"), ("neighbours", "4"), ("dwell", "x2")];
    let papers = Papers::generated(4, &set).expect("parameters of volumes");
    for (name, spec) in [
        ("src2_2", "synth:msr-src2_2?idle=0.5&density=0.45&neighbours=4&dwell=4"),
        ("proj_0", "synth:msr-proj_0?idle=0.5&density=0.08&dwell=4"),
        ("stg_0", "synth:msr-stg_0?idle=0.5&dwell=4"),
    ] {
        let options = OpenOptions { seed: 4, ..OpenOptions::default() };
        let workload = first(open(spec, &options).expect("a workload").source);
        assert!(first(papers.requests(name).expect("a volume")) == workload, "{name}");
    }
}

#[test]
fn packed_accesses_are_the_blocks_of_the_workload() {
    for (spec, trace) in [
        ("synth:msr-stg_0?requests=5k", Trace::Volume("stg_0")),
        ("synth:msr-long?requests=5k&copies=3", Trace::Long { copies: 3 }),
        ("synth:msr-mix?requests=5k&copies=3", Trace::Mix { copies: 3 }),
    ] {
        let options = OpenOptions { seed: 4, ..OpenOptions::default() };
        let mut source = open(spec, &options).expect("a workload").source;
        let requests = shingle_trace::read_all(&mut *source, &mut |_| {}).expect("valid requests");
        let blocks: Vec<u64> = requests
            .iter()
            .flat_map(|r| {
                let first = r.first().0;
                (first..first + r.blocks()).map(|block| packed(block, r.op == Op::Write))
            })
            .collect();
        let papers = Papers::generated(4, &[]).expect("defaults");
        let same = read(&papers, trace, Mode::ReadWrite, blocks.len() as u64);
        assert!(same.blocks == blocks, "{spec}");
    }
}

#[test]
fn a_workload_of_all_requests_ends() {
    let spec = "synth:msr-mix?copies=1&requests=10G";
    let source = open(spec, &OpenOptions::default()).expect("a workload").source;
    // The sum of PORE's Table I.
    assert_eq!(source.length_hint(), Some(79_048_395));
}

#[test]
fn large_traces_have_the_published_size() {
    let papers = Papers::generated(1, &[]).expect("defaults");
    let accesses = |trace| papers.stream(trace).expect("described").remaining();
    // SAC Table 4: 1481.4 million. PORE: 16 times its nine volumes.
    let long = accesses(Trace::Long { copies: papers::LONG_COPIES });
    assert!(long.abs_diff(1_481_400_000) < 1_500_000, "{long}");
    assert_eq!(accesses(Trace::Mix { copies: papers::MIX_COPIES }), 16 * 79_048_395);
    // The first few million accesses touch almost all zones of all copies.
    let part = read(&papers, Trace::Long { copies: 18 }, Mode::ReadWrite, 4_000_000);
    let writes = part.figures().write_blocks as f64 / 4e6;
    // Share of the whole; the start has more first writes, which are long.
    assert!((writes - 0.657).abs() < 0.02, "SAC Table 4: 65.7 % writes, not {writes}");
    let end = part.blocks.iter().max().expect("accesses") >> 1;
    let gib = end as f64 * 4096.0 / f64::from(1 << 30);
    assert!((4_250.0..4_333.0).contains(&gib), "SAC Table 4: 4332.8 GB, not {gib}");
}

/// Volumes of a few accesses: each volume has its own zone, so that its copies can be told apart.
fn tiny(names: &[&str]) -> Vec<Volume> {
    let volume = |(number, _): (usize, &&str)| {
        let accesses = (0..20 + 7 * number as u64).map(|i| packed(i * 31 % 4_000, i % 3 == 0));
        Volume::recorded(accesses.collect())
    };
    names.iter().enumerate().map(volume).collect()
}

fn drained(mut stream: impl papers::Blocks) -> Vec<u64> {
    let mut out = Vec::new();
    while stream.remaining() > 0 {
        stream.take(1_000, &mut out);
    }
    out
}

/// Returns the accesses of each zone, as if the zone were the first.
fn by_zone(accesses: &[u64]) -> BTreeMap<u64, Vec<u64>> {
    let mut zones: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
    for access in accesses {
        let zone = (access >> 1) / ZONE_BLOCKS;
        zones.entry(zone).or_default().push(access - packed(zone * ZONE_BLOCKS, false));
    }
    zones
}

fn whole(volume: &Volume) -> Vec<u64> {
    let mut out = Vec::new();
    volume.replay().take(usize::MAX, &mut out);
    out
}

#[test]
fn every_copy_in_long_is_the_shifted_volume() {
    let volumes = tiny(&LONG);
    let zones = by_zone(&drained(papers::long(&volumes, 3, 1)));
    assert_eq!(zones.len(), 30);
    let starts: Vec<u64> = zones.keys().copied().collect();
    for (number, (zone, accesses)) in zones.iter().enumerate() {
        assert!(*accesses == whole(&volumes[number % 10]), "zone {zone}");
        // Copies are at equal distances.
        assert_eq!(zone - starts[number % 10], (number / 10) as u64 * starts[10]);
    }
}

#[test]
fn every_copy_in_mix_is_the_same_shuffle() {
    let volumes = tiny(MIX);
    let all = drained(papers::mix(&volumes, 4, 1));
    let zones = by_zone(&all);
    assert_eq!(zones.len(), 36);
    for (number, accesses) in zones.values().enumerate() {
        assert!(*accesses == whole(&volumes[number % 9]), "zone {number}");
    }
    let copy = |copy: u64| -> Vec<u64> {
        let first = packed(copy * 9 * ZONE_BLOCKS, false);
        let end = packed((copy + 1) * 9 * ZONE_BLOCKS, false);
        all.iter().filter(|access| (first..end).contains(access)).map(|a| a - first).collect()
    };
    assert!((1..4).all(|number| copy(number) == copy(0)));
    // Shuffled, not one volume after the other.
    assert!(!copy(0).is_sorted_by_key(|access| (access >> 1) / ZONE_BLOCKS));
}

#[test]
fn parameters_change_what_they_should() {
    let zones_of_half = |set: &[(&str, &str)]| {
        let papers = Papers::generated(1, set).expect("valid");
        let writes = read(&papers, Trace::Volume("wdev_0"), Mode::Write, 400_000);
        let mut zones: Vec<usize> = by_zone(&writes.blocks).values().map(Vec::len).collect();
        zones.sort_unstable_by(|a, b| b.cmp(a));
        let mut sum = 0;
        zones
            .iter()
            .take_while(|&&count| {
                sum += count;
                sum < 200_000
            })
            .count()
    };
    let (even, skewed) =
        (zones_of_half(&[("zone-skew", "1")]), zones_of_half(&[("zone-skew", "6")]));
    // Recent blocks are written again, so few zones have half of the writes even if all are equally
    // full.
    assert!(even > skewed, "half of the writes are in {even} and in {skewed} zones");
    let names = |trace| -> Vec<&str> {
        let parameters = papers::free_parameters(trace).expect("described");
        parameters.iter().map(|parameter| parameter.name).collect()
    };
    // No reuse is published for hm_0, and no read amount for src2_0.
    assert_eq!(
        names(Trace::Volume("hm_0")),
        [
            "zone-skew",
            "cluster",
            "cold",
            "active",
            "dwell",
            "follow",
            "overlap",
            "first",
            "long-far",
            "once",
            "starts",
            "reuse"
        ]
    );
    assert!(names(Trace::Volume("src2_0")).contains(&"read-blocks"));
    assert!(names(Trace::Long { copies: 1 }).contains(&"starts"));
}

/// At both limits, and at half and twice the default: one of the four for each volume, so that each
/// occurs.
#[test]
fn no_value_of_a_parameter_brings_a_volume_down() {
    for (nth, volume) in VOLUMES.iter().enumerate() {
        let trace = Trace::Volume(volume.name);
        for (mth, parameter) in
            papers::free_parameters(trace).expect("described").iter().enumerate()
        {
            let default: f64 = parameter.default.parse().expect("a number");
            let (low, high) = match parameter.kind {
                ParameterKind::Share => (0.0, 1.0),
                ParameterKind::Number(low, high) => (low, high),
                kind => panic!("{}: {kind:?} is no number", parameter.name),
            };
            let values = [low, (default / 2.0).max(low), (default * 2.0).min(high), high];
            for value in
                values.into_iter().cycle().skip((nth + mth) % 4).take(times(1).min(4) as usize)
            {
                let set = [(parameter.name, value.to_string())];
                let set = set.each_ref().map(|(name, value)| (*name, value.as_str()));
                let papers = Papers::generated(1, &set).expect("a value it takes");
                let packed = read(&papers, trace, Mode::ReadWrite, 3_000);
                assert_eq!(packed.blocks.len(), 3_000, "{} {set:?}", volume.name);
                let span = papers.volume(volume.name).expect("described").span_zones();
                assert!(packed.blocks.iter().all(|access| (access >> 1) / ZONE_BLOCKS < span));
            }
        }
    }
}

#[test]
fn what_is_wrong_is_told_in_a_line() {
    let generated = |set: &[(&str, &str)]| Papers::generated(1, set).map(|_| ());
    let read = |trace| Papers::generated(1, &[]).and_then(|p| p.stream(trace)).map(|_| ());
    for (result, told) in [
        (generated(&[("skew", "3")]), "zone-skew"),
        (generated(&[("cold", "2")]), "cold=2 is out of range"),
        (read(Trace::Volume("wdev_1")), "described are wdev_0"),
        (read(Trace::Long { copies: 0 }), "1 to 1000"),
        (Papers::recorded(1, Path::new("/nowhere/at/all")).map(|_| ()), "--traces"),
    ] {
        let text = result.expect_err(told).to_string();
        assert!(text.contains(told) && text.lines().count() == 1, "{text}");
    }
}

/// Lines of a volume: four requests within an hour.
fn msr_csv(host: &str, disk: u32) -> String {
    let line = |i: u64| {
        let op = ["Write", "Read"][i as usize % 2];
        let (at, offset) = (128_166_372_000_000_000 + i * 10_000_000, i * 20_480_000 + 512);
        format!("{at},{host},{disk},{op},{offset},8192,1000\n")
    };
    (0..4).map(line).collect()
}

#[test]
fn traces_come_from_a_folder() {
    let folder = tempfile::tempdir().expect("a folder");
    let put = |name: &str, text: &str| {
        std::fs::write(folder.path().join(name), text).expect("a file");
    };
    put("WDEV_0.CSV", &msr_csv("wdev", 0));
    put("notes.txt", "no trace");
    let papers = Papers::recorded(1, folder.path()).expect("a folder");
    let packed = read(&papers, Trace::Volume("msr-wdev_0"), Mode::ReadWrite, 100);
    // 8 KiB from 512 on touch three blocks; four requests, a zone apart.
    let expected: Vec<u64> = (0..4)
        .flat_map(|i| (0..3).map(move |b| papers::packed(i * ZONE_BLOCKS + b, i % 2 == 0)))
        .collect();
    assert_eq!(packed.blocks, expected);

    let error =
        papers.read(Trace::Long { copies: 2 }, Mode::Write, 5).expect_err("nine are missing");
    let text = error.to_string();
    assert!(text.contains("src1_2.csv[.gz], prn_0.csv[.gz]") && !text.contains("wdev_0"), "{text}");

    for (number, name) in LONG.iter().enumerate() {
        put(&format!("{name}.csv"), &msr_csv("host", number as u32));
    }
    let papers = Papers::recorded(1, folder.path()).expect("a folder");
    let long = read(&papers, Trace::Long { copies: 2 }, Mode::ReadWrite, 1_000);
    let figures = long.figures();
    assert_eq!((figures.blocks(), figures.write_blocks), (240, 120));
    // Each copy of each volume has its own place.
    assert_eq!((figures.accessed_zones, figures.distinct_blocks), (80, 240));
    put("hm_0.csv", "not a trace\n");
    let papers = Papers::recorded(1, folder.path()).expect("a folder");
    let text = papers.volume("hm_0").map(|_| ()).expect_err("no trace").to_string();
    assert!(text.contains("hm_0.csv") && text.lines().count() == 1, "{text}");
}
