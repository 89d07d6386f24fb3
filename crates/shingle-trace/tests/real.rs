//! Real traces, where they are at hand: in `SHINGLE_TRACES`, or beside the repository in
//! `shared/traces`. They are not part of the project, so without them these tests pass and say so.

use std::path::{Path, PathBuf};

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

/// The summary of a sample, or nothing if it is not there.
fn summary(file: &str, format: Option<&str>, volume: Option<&str>) -> Option<Summary> {
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
    let summary = Summary::of(&requests);
    println!("{file} as {}: {summary:?} {:?}", opened.format, opened.source.warnings());
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
