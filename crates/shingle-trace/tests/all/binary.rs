//! Binary formats, and fio's log: known answers on tiny files that are written here.

use std::collections::HashMap;

use shingle_core::units::{Nanos, Op, Request};
use shingle_trace::input::Input;
use shingle_trace::{OpenOptions, TraceError, format, open, read_all};

/// Reads `bytes`, and returns the format, the requests and the warnings.
fn read(
    bytes: &[u8],
    options: &OpenOptions,
) -> Result<(&'static str, Vec<Request>, Vec<String>), TraceError> {
    let (format, mut source) = format::open(Input::from_bytes("made", bytes)?, options)?;
    let requests = read_all(&mut *source, &mut |_| {})?;
    Ok((format.name, requests, source.warnings()))
}

fn refusal(bytes: &[u8], options: &OpenOptions) -> String {
    match read(bytes, options) {
        Err(error) => error.to_string(),
        Ok(_) => panic!("is read"),
    }
}

fn request(at: u64, op: Op, offset: u64, bytes: u64) -> Request {
    Request { at: Nanos(at), offset, bytes, op }
}

fn of(format: &str) -> OpenOptions {
    OpenOptions::of(Some(format), None)
}

fn assuming(op: Op) -> OpenOptions {
    OpenOptions { assume_op: Some(op), ..OpenOptions::default() }
}

const READ: u32 = 1 << 16;
const WRITE: u32 = 1 << 17;
const FLUSH: u32 = 1 << 18;
const NOTIFY: u32 = 1 << 26;
const DISCARD: u32 = 1 << 29;
const FUA: u32 = 1 << 31;
const QUEUE: u32 = 1;
const ISSUE: u32 = 7;

/// A record of blktrace, followed by two bytes.
fn event(big: bool, ns: u64, sector: u64, bytes: u32, action: u32, device: u32) -> Vec<u8> {
    let mut out = Vec::new();
    let mut put = |number: u64, size: usize| {
        let all = number.to_le_bytes();
        let mut part = all[..size].to_vec();
        if big {
            part.reverse();
        }
        out.extend(part);
    };
    put(0x6561_7407, 4);
    put(0, 4);
    put(ns, 8);
    put(sector, 8);
    for word in [bytes, action, 17, device, 0] {
        put(u64::from(word), 4);
    }
    put(0, 2);
    put(2, 2);
    out.extend(b"xy");
    out
}

const SDA: u32 = 8 << 20;
const SDB: u32 = 8 << 20 | 16;

fn events(big: bool, device: u32) -> Vec<u8> {
    [
        event(big, 5, 0, 0, NOTIFY, device),
        event(big, 1000, 8, 4096, QUEUE | WRITE, device),
        event(big, 1100, 8, 4096, ISSUE | WRITE, device),
        event(big, 1500, 0, 512, QUEUE | 1 << 8 | READ, device),
        event(big, 2000, 16, 8192, QUEUE | WRITE | FLUSH | FUA, device),
        event(big, 2000, 100, 1 << 20, QUEUE | WRITE | DISCARD, device),
        event(big, 2500, 0, 0, QUEUE | WRITE | FLUSH, device),
        event(big, 2600, 0, 0, QUEUE | WRITE, device),
    ]
    .concat()
}

#[test]
fn blktrace_is_read_in_both_byte_orders() {
    for big in [false, true] {
        let bytes = events(big, SDA);
        let (format, requests, told) = read(&bytes, &OpenOptions::default()).expect("valid");
        assert_eq!(format, "blktrace");
        let expected = [
            request(0, Op::Write, 4096, 4096),
            request(500, Op::Read, 0, 512),
            request(1000, Op::Flush, 0, 0),
            request(1000, Op::Write, 8192, 8192),
            request(1000, Op::Trim, 51_200, 1 << 20),
            request(1500, Op::Flush, 0, 0),
        ];
        assert_eq!(requests, expected);
        assert!(told[0].starts_with("1 writes were to be durable"), "{told:?}");
        assert!(told[1].starts_with("1 events without bytes"), "{told:?}");
        let issued = read(&bytes, &of("blktrace:D")).expect("valid").1;
        assert_eq!(issued, [request(0, Op::Write, 4096, 4096)]);
        assert!(refusal(&bytes, &of("blktrace:C")).contains("none of 8 events is C"));
        assert!(refusal(&bytes, &of("blktrace:X")).contains("names no event"));
        let cut = &bytes[..bytes.len() - 1];
        assert!(
            refusal(cut, &OpenOptions::default())
                .contains("byte 350: the last record has 49 of 50")
        );
        let mut other = bytes.clone();
        other[50 + if big { 3 } else { 0 }] = 8;
        assert!(
            refusal(&other, &OpenOptions::default())
                .contains("byte 50: the record is of blktrace version 8")
        );
        other[51] = 1;
        assert!(
            refusal(&other, &OpenOptions::default()).contains("byte 50: the record begins with 0x")
        );
    }
}

#[test]
fn devices_of_a_stream_are_volumes() {
    let bytes = [events(false, SDA), events(false, SDB)].concat();
    let options = |volume: &str| OpenOptions::of(None, Some(volume));
    assert!(refusal(&bytes, &OpenOptions::default()).contains("--volume 8:0"));
    // A comma also separates names.
    assert_eq!(read(&bytes, &options("*")).expect("both").1.len(), 12);
}

#[test]
fn files_of_all_cpus_are_merged() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name);
    let write = |ns, sector| event(false, ns, sector, 512, QUEUE | WRITE, SDA);
    let put = |cpu: u32, bytes: Vec<u8>| {
        std::fs::write(path(&format!("sda.blktrace.{cpu}")), bytes).expect("written");
    };
    put(0, [write(10, 0), write(40, 3)].concat());
    put(1, Vec::new());
    put(2, [write(20, 1), write(30, 2), write(50, 4)].concat());
    for named in ["sda", "sda.blktrace.0", "sda.blktrace.1", "sda.blktrace.2"] {
        let spec = path(named);
        let mut opened = open(spec.to_str().expect("text"), &OpenOptions::default()).expect(named);
        let requests = read_all(&mut *opened.source, &mut |_| {}).expect("valid");
        let expected = (0..5).map(|n| request(10 * n, Op::Write, 512 * n, 512));
        assert_eq!(requests, expected.collect::<Vec<_>>(), "{named}");
        assert_eq!(opened.source.warnings(), ["the files of 2 CPUs are merged by time"]);
    }
    put(2, b"no events".to_vec());
    let error = open(path("sda").to_str().expect("text"), &OpenOptions::default()).err();
    assert!(error.expect("damaged").to_string().contains("sda.blktrace.2: byte 0: "));
}

fn oracle(records: &[(u32, u64, u32, i64)]) -> Vec<u8> {
    let bytes = |&(time, id, size, next): &(u32, u64, u32, i64)| {
        let mut record = time.to_le_bytes().to_vec();
        record.extend(id.to_le_bytes());
        record.extend(size.to_le_bytes());
        record.extend(next.to_le_bytes());
        record
    };
    records.iter().flat_map(bytes).collect()
}

#[test]
fn oracle_general_needs_to_be_told_the_operation() {
    let bytes =
        oracle(&[(7, 8, 512, 2), (7, 16, 1024, -1), (9, 8, 512, -1), (9, 1, 512, i64::MAX)]);
    let error = refusal(&bytes, &OpenOptions::default());
    assert!(error.contains("--assume-op read or --assume-op write"), "{error}");
    let (format, requests, told) = read(&bytes, &assuming(Op::Write)).expect("valid");
    assert_eq!(format, "oracleGeneral");
    let expected = [
        request(0, Op::Write, 4096, 512),
        request(0, Op::Write, 8192, 1024),
        request(2_000_000_000, Op::Write, 4096, 512),
        request(2_000_000_000, Op::Write, 512, 512),
    ];
    assert_eq!(requests, expected);
    assert!(told[0].contains("all are taken for writes"), "{told:?}");
    let blocks = OpenOptions { format: Some("oracleGeneral:blocks".into()), ..assuming(Op::Read) };
    assert_eq!(read(&bytes, &blocks).expect("valid").1[0], request(0, Op::Read, 32_768, 512));
    let miles = OpenOptions { format: Some("oracleGeneral:miles".into()), ..assuming(Op::Read) };
    assert!(refusal(&bytes, &miles).contains("names no unit"));
    let hashes = oracle(&[(7, u64::MAX / 3, 512, -1)]);
    let options = OpenOptions { format: Some("oracleGeneral".into()), ..assuming(Op::Read) };
    assert!(refusal(&hashes, &options).contains("byte 0: id 6148914691236517205 × 512 bytes"));
}

/// Records of (time, id, size, operation, tenant).
fn lcs(version: u64, records: &[(u32, u64, u64, u8, u32)]) -> Vec<u8> {
    let mut out = vec![0; 8192];
    let magic = 0x1234_5678_9abc_def0_u64.to_le_bytes();
    out[..8].copy_from_slice(&magic);
    out[8..16].copy_from_slice(&version.to_le_bytes());
    out[8184..].copy_from_slice(&magic);
    for &(time, id, size, op, tenant) in records {
        out.extend(time.to_le_bytes());
        out.extend(id.to_le_bytes());
        out.extend(&size.to_le_bytes()[..if version < 3 { 4 } else { 8 }]);
        if version > 1 {
            out.extend((u32::from(op) | tenant << 8).to_le_bytes());
        }
        if version > 2 {
            out.extend([0; 4]);
        }
        out.extend((-1_i64).to_le_bytes());
        let features = if version > 3 { 1 << (version - 4) } else { 0 };
        out.extend(vec![0; 4 * features]);
    }
    out
}

#[test]
fn lcs_is_read_in_all_versions() {
    let records = [(3, 1, 512, 12, 0), (3, 2, 4096, 13, 0), (4, 9, 512, 9, 0), (5, 1, 1024, 3, 0)];
    let expected = [
        request(0, Op::Read, 512, 512),
        request(0, Op::Write, 1024, 4096),
        request(1_000_000_000, Op::Trim, 4608, 512),
        request(2_000_000_000, Op::Write, 512, 1024),
    ];
    for version in 2..=8 {
        let (format, requests, _) =
            read(&lcs(version, &records), &OpenOptions::default()).expect("valid");
        assert_eq!((format, &requests[..]), ("lcs", &expected[..]), "version {version}");
    }
    let one = lcs(1, &records);
    assert!(refusal(&one, &OpenOptions::default()).contains("--assume-op"));
    let reads = read(&one, &assuming(Op::Read)).expect("valid").1;
    assert!(reads.iter().all(|r| r.op == Op::Read) && reads.len() == 4);
    let unsaid = lcs(2, &[(0, 0, 512, 0, 0)]);
    assert!(
        refusal(&unsaid, &OpenOptions::default()).contains("byte 8192: the record does not say")
    );
    assert_eq!(read(&unsaid, &assuming(Op::Write)).expect("told").1[0].op, Op::Write);
    let tenants = lcs(3, &[(0, 0, 512, 12, 7), (1, 0, 512, 13, 300)]);
    assert!(refusal(&tenants, &OpenOptions::default()).contains("--volume 7"));
    let one = read(&tenants, &OpenOptions::of(None, Some("300"))).expect("one tenant").1;
    assert_eq!(one, [request(0, Op::Write, 0, 512)]);
    assert!(refusal(&lcs(9, &records), &OpenOptions::default()).contains("version 9"));
    let mut damaged = lcs(2, &records);
    damaged[8190] ^= 1;
    assert!(refusal(&damaged, &OpenOptions::default()).contains("does not end with the magic"));
    assert!(refusal(&damaged[..100], &of("lcs")).contains("100 of 8192 bytes"));
}

#[test]
fn logs_of_fio_are_read_in_both_versions() {
    let two = b"fio version 2 iolog\n/dev/sdb add\n/dev/sdb open\n/dev/sdb write 4096 8192\n\
        /dev/sdb wait 100 0\n/dev/sdb read 0 512\n/dev/sdb sync 0 0\n/dev/sdb wait 50 0\n\
        /dev/sdb trim 0 1048576\n/dev/sdb close\n";
    let three =
        b"fio version 3 iolog\n0 /dev/sdb add\n1 /dev/sdb open\n7 /dev/sdb write 4096 8192\n\
        107 /dev/sdb read 0 512\n107 /dev/sdb datasync 0 0\n157 /dev/sdb trim 0 1048576\n\
        160 /dev/sdb close\n";
    let expected = [
        request(0, Op::Write, 4096, 8192),
        request(100_000, Op::Read, 0, 512),
        request(100_000, Op::Flush, 0, 0),
        request(150_000, Op::Trim, 0, 1 << 20),
    ];
    for bytes in [&two[..], three] {
        let (format, requests, told) = read(bytes, &OpenOptions::default()).expect("valid");
        assert_eq!((format, &requests[..]), ("iolog", &expected[..]));
        assert!(told.is_empty(), "{told:?}");
    }
    let no_waits =
        read(b"fio version 2 iolog\nf read 0 1\n", &OpenOptions::default()).expect("valid");
    assert!(no_waits.2[0].contains("no times"));
    let both = b"fio version 3 iolog\n1 a read 0 512\n2 b write 0 512\n";
    assert!(
        refusal(both, &OpenOptions::default())
            .contains("holds 2 volumes, by requests a (1), b (1)")
    );
    let b = read(both, &OpenOptions::of(None, Some("b"))).expect("chosen").1;
    assert_eq!(b, [request(0, Op::Write, 0, 512)]);
    for (line, told) in [
        ("1 a wait 0 0", "line 2: the action 'wait' is unknown"),
        ("1 a", "line 2: there are too few words"),
        ("x a read 0 1", "line 2: the time is 'x', not a whole number"),
        ("1 a write 0", "line 2: the length is ''"),
        ("1 a write 0 0", "line 2: the size is 0"),
        ("1 a open", "holds no request"),
    ] {
        let text = format!("fio version 3 iolog\n{line}\n");
        let error = refusal(text.as_bytes(), &OpenOptions::default());
        assert!(error.contains(told), "{error}");
    }
    assert!(refusal(b"fio version 4 iolog\n", &of("iolog")).contains("line 1: the first line"));
}

/// The same trace in two formats: each id is the sector of the record, and each size that of the
/// first request for the sector, because libCacheSim's objects have one size.
#[test]
fn ids_of_a_published_sample_are_sectors() {
    let read = |name: &str, options: &OpenOptions| {
        let path = shingle_testbed::trace(name)?;
        let mut opened = open(shingle_testbed::text(&path), options).expect("recognised");
        Some(read_all(&mut *opened.source, &mut |_| {}).expect("valid"))
    };
    let oracle = read("cloudphysics_sample.oracleGeneral.bin.zst", &assuming(Op::Read));
    let vscsi = read("cloudphysics_sample.vscsi.zst", &OpenOptions::default());
    let (Some(oracle), Some(vscsi)) = (oracle, vscsi) else { return };
    assert_eq!((oracle.len(), vscsi.len()), (113_872, 113_872));
    let mut sizes = HashMap::new();
    for (a, b) in oracle.iter().zip(&vscsi) {
        let first = *sizes.entry(b.offset).or_insert(b.bytes);
        assert_eq!((a.offset, a.bytes), (b.offset, first));
        assert!(a.at.0.abs_diff(b.at.0) <= 1_000_000_000);
    }
}
