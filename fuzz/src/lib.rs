//! What fuzzers of the trace formats have in common; and, in modules of their own, those of NBD, of pages on
//! the SSD, of the control socket, of drive profiles, of sheets and of zoned disks.

pub mod nbd;
pub mod pages;
pub mod profile;
pub mod sheet;
pub mod store;
pub mod zoned;

use shingle_core::units::{Nanos, Op, Request};
use shingle_trace::input::Input;
use shingle_trace::source::{DISK_BYTES_MAX, REQUEST_BYTES_MAX, TRACE_NANOS_MAX, TRIM_BYTES_MAX};
use shingle_trace::{OpenOptions, Shape, Summary, TraceError, format, read_all};

/// Reads `bytes` as `format`, or as what they look like, and checks what comes of it.
pub fn read(bytes: &[u8], format: Option<&str>, volume: Option<&str>) {
    read_with(bytes, &OpenOptions::of(format, volume));
}

fn read_with(bytes: &[u8], options: &OpenOptions) {
    let opened = Input::from_bytes("fuzz", bytes).and_then(|i| format::open(i, options));
    let read = opened.and_then(|(_, mut source)| {
        let requests = read_all(&mut *source, &mut |source| {
            let (done, total) = source.progress().expect("the size is known");
            assert!(done <= total);
        });
        let _ = source.warnings();
        requests
    });
    match read {
        Ok(requests) => accepted(requests),
        Err(error) => refused(&error),
    }
}

/// [`read`], with requests that do not say what they are taken for writes.
pub fn read_assuming(bytes: &[u8], format: &str) {
    let options = OpenOptions {
        format: Some(format.to_owned()),
        assume_op: Some(Op::Write),
        ..OpenOptions::default()
    };
    read_with(bytes, &options);
}

/// A native trace with checksums that are those of its bytes.
pub fn sealed(bytes: &[u8]) -> Vec<u8> {
    let mut out = bytes.to_vec();
    let word = |out: &[u8], at: usize| {
        out.get(at..at + 4).map(|b| u32::from_le_bytes(b.try_into().expect("4 bytes")) as usize)
    };
    let Some(header) = word(&out, 16).filter(|&bytes| bytes >= 16 && bytes <= out.len()) else {
        return out;
    };
    let checksum = crc32fast::hash(&out[16..header]);
    out[12..16].copy_from_slice(&checksum.to_le_bytes());
    let mut at = header;
    while let Some(bytes) = word(&out, at + 4) {
        if bytes < 24 || at + bytes > out.len() {
            break;
        }
        let checksum = crc32fast::hash(&out[at + 4..at + bytes]);
        out[at..at + 4].copy_from_slice(&checksum.to_le_bytes());
        at += bytes;
    }
    out
}

/// An error is one line.
pub fn refused(error: &TraceError) {
    one_line(error);
}

/// What is told is one line, and does nothing to a terminal.
pub fn one_line(error: &dyn std::fmt::Display) {
    let text = error.to_string();
    assert!(!text.contains(|c: char| c.is_control()), "{text:?}");
}

/// What is accepted keeps the promise of a source, and can be shaped and counted.
fn accepted(requests: Vec<Request>) {
    assert!(!requests.is_empty());
    let mut last = Nanos::ZERO;
    assert_eq!(requests[0].at, last);
    for request in &requests {
        assert!(request.at >= last && request.at.0 < TRACE_NANOS_MAX);
        last = request.at;
        match request.op {
            Op::Flush => assert_eq!((request.offset, request.bytes), (0, 0)),
            Op::Trim => assert!((1..=TRIM_BYTES_MAX).contains(&request.bytes)),
            Op::Read | Op::Write => assert!((1..=REQUEST_BYTES_MAX).contains(&request.bytes)),
        }
        assert!(request.offset + request.bytes <= DISK_BYTES_MAX);
    }
    let summary = Summary::of(&requests);
    assert!(summary.distinct_written_blocks <= summary.distinct_blocks);
    assert!(summary.distinct_blocks <= summary.blocks());
    let shape = Shape { remap: true, copies: 2, ..Shape::default() };
    if let Ok(shaped) = shape.apply(requests) {
        let twice = Summary::of(&shaped);
        assert_eq!(twice.blocks(), 2 * summary.blocks());
        assert_eq!(twice.distinct_blocks, 2 * summary.distinct_blocks);
        assert_eq!(twice.accessed_zones, 2 * summary.accessed_zones);
    }
}
