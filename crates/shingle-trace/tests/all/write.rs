//! A written trace reads back unchanged, in every format and converted through every other.

use std::path::Path;

use proptest::prelude::*;
use shingle_core::units::{Nanos, Op, Request};
use shingle_trace::{OpenOptions, open, read_all, write};

fn request(at: u64, op: Op, offset: u64, bytes: u64) -> Request {
    Request { at: Nanos(at), offset, bytes, op }
}

fn requests() -> Vec<Request> {
    vec![
        request(0, Op::Write, 4096, 8192),
        request(7, Op::Read, 512, 1536),
        request(7, Op::Flush, 0, 0),
        request(1_000_000_001, Op::Trim, 1 << 40, 1 << 33),
        request(1_000_000_002, Op::Write, (1 << 56) - 512, 512),
    ]
}

/// Writes to a file, and returns what the format could not represent.
fn written(path: &Path, requests: &[Request]) -> Vec<String> {
    let path = path.to_str().expect("text");
    let mut sink = write::create(path, None).expect("made");
    sink.name_source("a trace");
    for part in requests.chunks(1_000) {
        sink.put(part).expect("written");
    }
    assert!(!Path::new(path).exists(), "seen before it is whole");
    sink.finish().expect("whole")
}

fn read(path: &Path) -> Vec<Request> {
    let spc = path.to_str().is_some_and(|path| path.contains(".spc")).then_some("spc");
    let options = OpenOptions::of(spc, None);
    let mut opened = open(path.to_str().expect("text"), &options).expect("read");
    read_all(&mut *opened.source, &mut |_| {}).expect("valid")
}

/// What a format can represent: trims and flushes, its time step, its unit of offsets.
struct Carries {
    name: &'static str,
    all_ops: bool,
    step_ns: u64,
    sector_bytes: u64,
}

const FORMATS: &[Carries] = &[
    Carries { name: "shingle", all_ops: true, step_ns: 1, sector_bytes: 1 },
    Carries { name: "csv", all_ops: true, step_ns: 1, sector_bytes: 1 },
    Carries { name: "parquet", all_ops: true, step_ns: 1, sector_bytes: 1 },
    Carries { name: "iolog", all_ops: true, step_ns: 1_000, sector_bytes: 1 },
    Carries { name: "msr", all_ops: false, step_ns: 100, sector_bytes: 1 },
    Carries { name: "spc", all_ops: false, step_ns: 1, sector_bytes: 512 },
];

fn carried() -> impl Iterator<Item = &'static Carries> {
    FORMATS
        .iter()
        .filter(|format| write::WRITERS.iter().any(|w| w.extensions.contains(&format.name)))
}

/// Returns `requests` as `format` can represent them.
fn after(format: &Carries, requests: &[Request]) -> Vec<Request> {
    let kept = requests.iter().filter(|r| format.all_ops || matches!(r.op, Op::Read | Op::Write));
    let carried: Vec<Request> = kept
        .map(|r| Request {
            at: Nanos(r.at.0 / format.step_ns * format.step_ns),
            offset: r.offset / format.sector_bytes * format.sector_bytes,
            ..*r
        })
        .collect();
    // Time counts from the first request that is left.
    let first = carried.first().map_or(0, |r| r.at.0);
    carried.iter().map(|r| Request { at: Nanos(r.at.0 - first), ..*r }).collect()
}

#[test]
fn a_format_carries_all_there_is_packed_or_not() {
    let folder = tempfile::tempdir().expect("a folder for the test");
    let mut files = 0;
    for format in carried().filter(|format| format.step_ns == 1 && format.all_ops) {
        for packing in ["", ".gz", ".zst"] {
            let path = folder.path().join(format!("a.{}{packing}", format.name));
            assert!(written(&path, &requests()).is_empty(), "all is carried");
            assert_eq!(read(&path), requests(), "{}", path.display());
            files += 1;
        }
    }
    let left = std::fs::read_dir(folder.path()).expect("a folder").count();
    assert_eq!(left, files, "nothing but the files");
}

#[test]
fn a_link_stays_one_and_the_file_that_it_leads_to_is_replaced() {
    let folder = tempfile::tempdir().expect("a folder for the test");
    let (there, link) = (folder.path().join("there.csv"), folder.path().join("link.csv"));
    std::fs::write(&there, "old").expect("written");
    std::os::unix::fs::symlink("there.csv", &link).expect("made");
    let mut sink = write::create(link.to_str().expect("text"), None).expect("made");
    sink.put(&requests()).expect("written");
    sink.finish().expect("whole");
    assert_eq!((read(&link), read(&there)), (requests(), requests()));
    assert!(link.symlink_metadata().expect("there").is_symlink());
}

#[test]
fn what_cannot_be_carried_is_counted() {
    let folder = tempfile::tempdir().expect("a folder for the test");
    let told = |name: &str| written(&folder.path().join(name), &requests()).join("\n");
    assert_eq!(told("a.iolog"), "iolog: 4 times were rounded down: the format has steps of 1 µs");
    assert_eq!(
        told("a.msr"),
        "msr: 1 trims were left out: the format has none\nmsr: 1 flushes were left out: the format \
         has none\nmsr: 2 times were rounded down: the format has steps of 100 ns"
    );
    let mut sink =
        write::create(folder.path().join("b.spc").to_str().expect("text"), None).expect("made");
    sink.put(&[request(0, Op::Read, 513, 7)]).expect("written");
    let told = sink.finish().expect("whole");
    assert_eq!(told, ["spc: 1 offsets were rounded down to a sector of 512 bytes"]);
}

#[test]
fn what_cannot_be_written_is_told() {
    let error = |path: &str, format| match write::create(path, format) {
        Err(error) => error.to_string(),
        Ok(_) => panic!("{path} is made"),
    };
    assert!(error("a.txt", None).contains("end it in .shingle, .csv"));
    assert!(error("a.txt", Some("cvs")).contains("those that can are csv"));
    assert!(error("/none/a.csv", None).contains("cannot be written: No such file"));
}

fn any_requests() -> impl Strategy<Value = Vec<Request>> {
    let one = (0_u64..3_000_000, 0..4_u8, 0_u64..1 << 40, 1_u64..1 << 25, any::<bool>());
    prop::collection::vec(one, 1..40).prop_map(|list| {
        let mut at = 0;
        let mut all: Vec<Request> = Vec::new();
        for (gap, op, offset, bytes, round) in list {
            at += if all.is_empty() { 0 } else { gap };
            let unit = if round { 4096 } else { 1 };
            let (offset, bytes) = (offset / unit * unit, bytes.next_multiple_of(unit));
            all.push(match op {
                0 => request(at, Op::Read, offset, bytes),
                1 => request(at, Op::Write, offset, bytes),
                2 => request(at, Op::Trim, offset, bytes),
                _ => request(at, Op::Flush, 0, 0),
            });
        }
        // Formats without trims and flushes must have at least one request.
        all.push(request(at, Op::Write, 0, 512));
        all
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    /// Converts from each format to each other: the result has what both can represent, and nothing
    /// else.
    #[test]
    fn each_format_converts_to_each_other(requests in any_requests()) {
        let folder = tempfile::tempdir().expect("a folder for the test");
        for from in carried() {
            let path = folder.path().join(format!("a.{}", from.name));
            let told = written(&path, &requests);
            let once = after(from, &requests);
            prop_assert_eq!(&read(&path), &once, "{}", from.name);
            let whole = once.len() == requests.len()
                && requests.iter().all(|r| {
                    r.at.0 % from.step_ns == 0 && r.offset % from.sector_bytes == 0
                });
            prop_assert_eq!(told.is_empty(), whole, "{} tells {:?}", from.name, told);
            for to in carried() {
                let path = folder.path().join(format!("{}.{}", from.name, to.name));
                written(&path, &once);
                prop_assert_eq!(read(&path), after(to, &once), "{} to {}", from.name, to.name);
            }
        }
    }
}
