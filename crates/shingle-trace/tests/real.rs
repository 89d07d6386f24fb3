//! Real traces, where they are at hand: in `SHINGLE_TRACES`, or beside the repository in
//! `shared/traces`. They are not part of the project, so without them these tests pass and say so.

use std::path::{Path, PathBuf};

use shingle_core::units::{Nanos, Request};
use shingle_trace::analysis::Analysis;
use shingle_trace::analysis::histogram::Histogram;
use shingle_trace::analysis::periods::Parts;
use shingle_trace::{OpenOptions, Summary, open, read_all};

fn traces() -> Option<PathBuf> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/traces");
    let folder = std::env::var_os("SHINGLE_TRACES").map_or(beside, PathBuf::from);
    if !folder.is_dir() {
        println!("skipped: no traces in {} (set SHINGLE_TRACES)", folder.display());
        return None;
    }
    Some(folder)
}

/// The requests of a sample, or nothing if it is not there.
fn requests(file: &str, format: Option<&str>, volume: Option<&str>) -> Option<Vec<Request>> {
    let path = traces()?.join(file);
    if !path.is_file() {
        println!("skipped: no {}", path.display());
        return None;
    }
    let options = OpenOptions::of(format, volume);
    let path = path.to_str().expect("the path is text");
    let mut opened = open(path, &options).unwrap_or_else(|error| panic!("{error}"));
    let requests = read_all(&mut *opened.source, &mut |_| {});
    let requests = requests.unwrap_or_else(|error| panic!("{error}"));
    println!("{file} as {}: {:?}", opened.format, opened.source.warnings());
    Some(requests)
}

/// The summary of a sample, or nothing if it is not there.
fn summary(file: &str, format: Option<&str>, volume: Option<&str>) -> Option<Summary> {
    let summary = Summary::of(&requests(file, format, volume)?);
    println!("{file}: {summary:?}");
    Some(summary)
}

#[test]
fn a_virtual_disk_splits_into_the_known_blocks() {
    let Some(summary) = summary("cloudphysics_sample.vscsi.zst", None, None) else { return };
    assert_eq!(summary.requests.total(), 113_872);
    assert_eq!(summary.blocks(), 1_141_869);
    assert_eq!(summary.write_blocks, 656_169);
    assert_eq!(summary.distinct_blocks, 269_210);
}

#[test]
fn samples_are_recognised_by_their_content() {
    for (file, requests, writes) in [
        ("alibaba_replaylog_52k.csv.zst", 52_208, 89.6),
        ("hadoop_eternity10_sdb.csv.gz", 137_309, 1.4),
        ("systor17_sample1000.csv.gz", 999, 17.3),
        ("msr_rsrch_1.csv", 13_780, 99.7),
        ("msr_wdev_1.csv", 1_055, 100.0),
        ("msr_mds_0_head1000.csv", 1_000, 100.0),
    ] {
        check(file, None, None, requests, writes);
    }
}

#[test]
fn samples_without_a_header_open_with_a_map() {
    for (file, map, volume, requests, writes) in [
        ("umass_financial1_50k.flashsim.txt.zst", "csv:flashsim", None, 50_000, 41.6),
        (
            "umass_financial1_snippet10k.spc",
            "csv:device=1:*,offset=2/sectors,size=3/bytes,op=4,time=5/s",
            None,
            10_000,
            59.2,
        ),
        ("umass_financial1_snippet10k.spc", "csv:spc", Some("0"), 0, 0.0),
        ("tencent_cbs_50k_multivolume.csv.bz2", "csv:tencent", Some("1063"), 0, 0.0),
        ("msrssd_iozone100k.disksim.txt.zst", "csv:disksim", None, 100_000, 100.0),
        (
            "emmc_Installing_log181.txt.zst",
            "csv:offset=1/sectors,size=3/bytes,op=4,time=5/s,write=1|3|5|7|13,read=0|2|4|6|12,\
             delim=space",
            None,
            17_952,
            98.3,
        ),
    ] {
        check(file, Some(map), volume, requests, writes);
    }
}

/// With 0 requests expected, any number will do.
fn check(file: &str, format: Option<&str>, volume: Option<&str>, requests: u64, writes: f64) {
    let Some(summary) = summary(file, format, volume) else { return };
    if requests == 0 {
        assert!(summary.requests.total() > 0, "{file}");
        return;
    }
    assert_eq!(summary.requests.total(), requests, "{file}");
    let percent = summary.requests.write as f64 * 100.0 / requests as f64;
    assert!((percent - writes).abs() < 0.1, "{file}: {percent} % writes");
}

/// As counted by a program of its own that simulates LRU caches one by one and knows no distances.
#[test]
fn a_virtual_disk_has_the_known_figures() {
    let Some(requests) = requests("cloudphysics_sample.vscsi.zst", None, None) else { return };
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
    assert_eq!((read.count(), read.longest_bytes), (22_360, 111_616_000));
    assert_eq!((write.requests, write.bytes), (41_871, 2_110_468_096));
    assert_eq!((write.count(), write.longest_bytes), (25_027, 170_065_920));

    let idle = &analysis.idle;
    assert_eq!(idle.count, [9_480, 2_215, 0, 0, 0]);
    assert_eq!(idle.time[0], Nanos(6_877_169_703_000));
    let load = &analysis.load;
    assert_eq!((load.unit(), load.steps.len(), load.busiest()), ("10 min", 13, Some(9)));
    assert_eq!(load.steps[9].requests, 44_659);
    assert_eq!(load.steps[9].written_bytes, 1_123_642_368);
}
