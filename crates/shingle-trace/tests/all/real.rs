//! Real traces, if they are at hand. They are not part of the project; without them these tests
//! pass and say so.

use shingle_core::units::{BLOCK_BYTES, Nanos, Request};
use shingle_trace::analysis::Analysis;
use shingle_trace::analysis::histogram::Histogram;
use shingle_trace::analysis::periods::Parts;
use shingle_trace::{OpenOptions, Summary, open, read_all};

/// Returns the path of a sample, if it exists.
fn path(file: &str) -> Option<String> {
    Some(shingle_testbed::text(&shingle_testbed::trace(file)?).to_owned())
}

/// Returns the recognised format of a sample, and its requests.
fn requests(file: &str, volume: Option<&str>) -> Option<(&'static str, Vec<Request>)> {
    let mut opened = open(&path(file)?, &OpenOptions::of(None, volume))
        .unwrap_or_else(|error| panic!("{error}"));
    let requests = read_all(&mut *opened.source, &mut |_| {});
    let requests = requests.unwrap_or_else(|error| panic!("{error}"));
    let warnings = opened.source.warnings();
    println!("{file} as {}: {warnings:?}", opened.recognised.name);
    assert!(!warnings.iter().any(|told| told.contains("as if they were")), "{file}: {warnings:?}");
    Some((opened.recognised.name, requests))
}

/// Returns the recognised format of a sample, and its summary.
fn read(file: &str, volume: Option<&str>) -> Option<(&'static str, Summary)> {
    let (format, requests) = requests(file, volume)?;
    Some((format, Summary::of(&requests)))
}

#[test]
fn a_virtual_disk_splits_into_the_known_blocks() {
    let Some((_, summary)) = read("cloudphysics_sample.vscsi.zst", None) else { return };
    assert_eq!(summary.requests.total(), 113_872);
    assert_eq!(summary.blocks(), 1_141_869);
    assert_eq!(summary.write_blocks, 656_169);
    assert_eq!(summary.distinct_blocks, 269_210);
}

/// The known properties of a sample: its format, the volume to read, the number of requests, the
/// share of writes in per cent, and the gigabytes (10⁹) of 4 KiB blocks that are accessed and
/// written, with as many digits as were published with it; empty where nothing was published.
type Known = (
    &'static str,
    &'static str,
    Option<&'static str>,
    u64,
    &'static str,
    &'static str,
    &'static str,
);

const ALL: Option<&str> = Some("*");

#[rustfmt::skip]
const KNOWN: &[Known] = &[
    // Published as 0.86 GB written; counted in distinct blocks it is this.
    ("cloudphysics_sample.vscsi.zst", "vscsi", None, 113_872, "58.7", "1.10", "0.85"),
    ("alibaba_replaylog_52k.csv.zst", "csv", None, 52_208, "89.6", "0.18", "0.12"),
    ("hadoop_eternity10_sdb.csv.gz", "csv", None, 137_309, "1.4", "40.7", "0.03"),
    ("umass_financial1_50k.flashsim.txt.zst", "flashsim", None, 50_000, "41.6", "0.13", "0.04"),
    ("umass_financial1_snippet10k.spc", "spc", ALL, 10_000, "59.2", "0.03", "0.015"),
    ("msr_rsrch_1.csv", "msr", None, 13_780, "99.7", "", "0.12"),
    ("msr_wdev_1.csv", "msr", None, 1_055, "100", "", "0.0015"),
    ("msr_mds_0_head1000.csv", "msr", None, 1_000, "100", "", "0.002"),
    ("systor17_sample1000.csv.gz", "systor", None, 999, "17", "", ""),
    ("tencent_cbs_50k_multivolume.csv.bz2", "tencent", ALL, 50_000, "51", "1.4", "0.86"),
    ("msrssd_iozone100k.disksim.txt.zst", "disksim", None, 100_000, "100", "1.1", "1.1"),
    ("emmc_Installing_log181.txt.zst", "emmc", None, 17_952, "98.3", "1.1", "1.09"),
    ("mqsim_tpcc_small.txt", "mqsim", ALL, 6_999, "37", "0.08", "0.03"),
    ("disksim/ajw.1week.srt.zst", "srt", ALL, 44_519, "70.7", "", ""),
];

#[test]
fn samples_are_recognised_and_hold_what_is_known() {
    for &(file, format, volume, requests, writes_percent, accessed_gb, written_gb) in KNOWN {
        let Some((found, summary)) = read(file, volume) else { continue };
        assert_eq!(found, format, "{file}");
        assert_eq!(summary.requests.total(), requests, "{file}");
        let gb = |blocks: u64| blocks as f64 * BLOCK_BYTES as f64 / 1e9;
        for (value, known) in [
            (summary.requests.write as f64 * 100.0 / requests as f64, writes_percent),
            (gb(summary.distinct_blocks), accessed_gb),
            (gb(summary.distinct_written_blocks), written_gb),
        ] {
            let digits = known.split_once('.').map_or(0, |(_, digits)| digits.len());
            let value = format!("{value:.digits$}");
            assert!(known.is_empty() || value == known, "{file}: {value}, and known is {known}");
        }
    }
}

#[test]
fn several_volumes_are_refused_until_some_are_chosen() {
    for file in ["umass_financial1_snippet10k.spc", "tencent_cbs_50k_multivolume.csv.bz2"] {
        let Some(path) = path(file) else { continue };
        let mut opened = open(&path, &OpenOptions::default()).expect("recognised");
        let error = read_all(&mut *opened.source, &mut |_| {}).expect_err("several volumes");
        assert!(error.to_string().contains("--volume '*'"), "{error}");
    }
    let Some((_, one)) = read("umass_financial1_snippet10k.spc", Some("0")) else { return };
    let Some((_, two)) = read("umass_financial1_snippet10k.spc", Some("0,1")) else { return };
    assert!(0 < one.requests.total() && one.requests.total() < two.requests.total());
}

/// The figures come from an independent program that simulates LRU caches one by one, without
/// distances.
#[test]
fn a_virtual_disk_has_the_known_figures() {
    let Some((_, requests)) = requests("cloudphysics_sample.vscsi.zst", None) else { return };
    let analysis = Analysis::of(&requests, &mut |_| {});
    let sizes = &analysis.sizes;
    assert_eq!(
        (sizes.off_sectors, sizes.off_blocks, sizes.writes_off_blocks),
        (0, 113_768, 66_822)
    );
    assert_eq!(sizes.partial_writes, 126_566);
    let counts = |histogram: &Histogram| histogram.bins().map(|bin| bin.count).collect::<Vec<_>>();
    assert_eq!(counts(&sizes.read), [364, 75, 56, 3_599, 16_736, 756, 3_503, 21_885]);
    assert_eq!(counts(&sizes.write), [4_663, 2_254, 4_643, 13_806, 3_559, 3_629, 6_613, 27_731]);

    let reuse = &analysis.reuse;
    assert_eq!((reuse.reuse.count(), reuse.update.count()), (872_659, 447_473));
    for (cache, read, write, writes_only) in [
        (1, 475_557, 636_565, 620_988),
        (64, 458_021, 594_496, 594_024),
        (1_920, 449_347, 576_573, 576_731),
        (8_192, 443_994, 572_983, 573_815),
        (65_536, 317_181, 540_171, 482_391),
        (147_456, 129_981, 384_620, 374_802),
        (262_144, 60_691, 208_548, 208_696),
        (524_288, 60_689, 208_521, 208_696),
    ] {
        let point = reuse.all.at(cache);
        assert_eq!((point.read_misses, point.write_misses), (read, write), "{cache}");
        assert_eq!(reuse.writes.at(cache).write_misses, writes_only, "{cache}");
    }
    let parts = Parts { short: 9_839, short_once: 3_782, long: 172_264, long_often: 71_978 };
    assert_eq!(reuse.periods.parts(56_360), parts);
    assert_eq!(analysis.range.part_zones(), Some(49.9 / 86.0));

    let (read, write) = (&analysis.sequential.read, &analysis.sequential.write);
    assert_eq!((read.requests, read.bytes), (24_614, 1_376_468_992));
    assert_eq!((read.count(), read.longest_bytes), (22_360, 112_132_096));
    assert_eq!((write.requests, write.bytes), (41_872, 2_110_471_168));
    assert_eq!((write.count(), write.longest_bytes), (25_026, 170_065_920));

    let idle = &analysis.idle;
    assert_eq!(idle.count, [9_480, 2_215, 0, 0, 0]);
    assert_eq!(idle.time[0], Nanos(6_877_169_703_000));
    let load = &analysis.load;
    assert_eq!((load.unit(), load.steps.len(), load.busiest()), ("10 min", 13, Some(9)));
    assert_eq!(load.steps[9].requests, 44_659);
    assert_eq!(load.steps[9].written_bytes, 1_123_642_368);
}
