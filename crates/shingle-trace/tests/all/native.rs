//! The native format: damage is detected, blocks are found by time, and files of version 1 can be
//! read.

use std::path::{Path, PathBuf};

use proptest::prelude::*;
use shingle_core::units::{Nanos, Op, Request};
use shingle_trace::hash::hash;
use shingle_trace::input::Input;
use shingle_trace::native::{Indexed, Reading, Streamed};
use shingle_trace::{Mode, OpenOptions, Shape, Summary, TraceError, format, open, read_all, write};

/// Ten blocks, the last of which is not full.
fn many() -> Vec<Request> {
    let op = |n: u64| match n % 97 {
        0 => Op::Flush,
        1 => Op::Trim,
        n if n % 3 == 0 => Op::Read,
        _ => Op::Write,
    };
    let request = |n: u64| {
        let mixed = n.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let op = op(n);
        let (offset, bytes) = ((mixed >> 27) / 512 * 512, 512 << (mixed % 8));
        let (offset, bytes) = if op == Op::Flush { (0, 0) } else { (offset, bytes) };
        Request { at: Nanos(n / 3 * 1_000), offset, bytes, op }
    };
    (0..40_000).map(request).collect()
}

/// The few requests of the fixture.
fn few() -> Vec<Request> {
    let request = |at, op, offset, bytes| Request { at: Nanos(at), offset, bytes, op };
    vec![
        request(0, Op::Write, 4096, 8192),
        request(7, Op::Read, 512, 1536),
        request(7, Op::Flush, 0, 0),
        request(1_000_000_001, Op::Trim, 1 << 40, 1 << 33),
        request(1_000_000_002, Op::Write, (1 << 56) - 512, 512),
    ]
}

fn write(path: &Path, requests: &[Request]) {
    let mut sink = write::create(path.to_str().expect("text"), None).expect("made");
    sink.name_source("tests/native.rs");
    sink.put(requests).expect("written");
    assert!(sink.finish().expect("whole").is_empty());
}

fn bytes_of(requests: &[Request]) -> Vec<u8> {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("a.shingle");
    write(&path, requests);
    std::fs::read(path).expect("there")
}

fn read(bytes: &[u8]) -> Result<Vec<Request>, TraceError> {
    let (_, mut source) =
        format::open(Input::from_bytes("made", bytes)?, &OpenOptions::of(Some("native"), None))?;
    let requests = read_all(&mut *source, &mut |_| {})?;
    assert_eq!(source.length_hint(), Some(requests.len() as u64));
    Ok(requests)
}

fn fixture() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/v1.shingle")
}

/// `SHINGLE_FIXTURE=write` writes it again, which only a new version may need.
#[test]
fn files_of_version_1_are_read() {
    if std::env::var_os("SHINGLE_FIXTURE").is_some_and(|value| value == "write") {
        write(&fixture(), &few());
    }
    let bytes = std::fs::read(fixture()).expect("the fixture is checked in");
    assert_eq!(read(&bytes).expect("valid"), few());
    assert_eq!(bytes[..12], *b"\x89shingle\x01\0\0\0");
    let indexed = Indexed::open(fixture().to_str().expect("text")).expect("valid");
    assert!(indexed.recorded().agrees(&Summary::of(&few())));
    assert_eq!(indexed.recorded().source, "tests/native.rs");
    assert_eq!(indexed.recorded().tool, "shingle 0.1.0");
    assert_eq!(indexed.recorded().last_ns, 1_000_000_002);
}

#[test]
fn batches_of_any_size_hold_the_same() {
    let requests = many();
    let bytes = bytes_of(&requests);
    for capacity in [1, 7, 1_000, 4_095, 4_096, 5_000, 10_000] {
        let input = Input::from_bytes("made", &bytes[..]).expect("not empty");
        let (format, mut source) = format::open(input, &OpenOptions::default()).expect("valid");
        assert_eq!(format.name, "native");
        let (mut batch, mut all) = (Vec::with_capacity(capacity), Vec::new());
        while source.fill(&mut batch).expect("valid") {
            assert_eq!(batch.capacity(), capacity);
            all.extend_from_slice(&batch);
        }
        assert!(all == requests, "batches of {capacity}");
    }
}

#[test]
fn any_block_is_read_by_itself() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("a.shingle");
    let requests = many();
    write(&path, &requests);
    let indexed = Indexed::open(path.to_str().expect("text")).expect("valid");
    assert!(indexed.recorded().agrees(&Summary::of(&requests)));
    assert_eq!(indexed.blocks(), 10);
    let (mut reading, mut block) = (Reading::default(), Vec::new());
    for number in [9, 0, 5] {
        block.clear();
        indexed.read(number, &mut reading, &mut block).expect("valid");
        let from = number * 4096;
        assert_eq!(block, requests[from..(from + 4096).min(requests.len())]);
    }
}

#[test]
fn a_trace_in_its_file_is_what_it_would_be_in_memory() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("a.shingle");
    write(&path, &many());
    let indexed = || Indexed::open(path.to_str().expect("text")).expect("valid");
    for mode in [Mode::ReadWrite, Mode::Write, Mode::Read] {
        for (requests, offset) in [(None, 0), (None, 4096), (Some(1), 0), (Some(20_000), 512)] {
            let shape = Shape { mode, requests, offset, ..Shape::default() };
            let held = shape.apply(many()).expect("requests are left");
            let (streamed, summary) =
                Streamed::new(indexed(), &shape, &mut |_, _| {}).expect("whole");
            assert_eq!(summary, Summary::of(&held), "{shape:?}");
            assert_eq!((streamed.requests(), streamed.hash()), (held.len() as u64, &*hash(&held)));
            let (mut reading, mut block, mut number) = (Reading::default(), Vec::new(), 0);
            while number < held.len() {
                let first = streamed.read(number as u64, &mut reading, &mut block).expect("whole");
                assert_eq!(block[..], held[first as usize..][..block.len()], "from {first}");
                number = first as usize + block.len();
            }
        }
    }
    // The errors are the same if nothing is left, or if the result does not fit.
    let far = many().iter().map(|request| request.offset).max().expect("many");
    for shape in [
        Shape { requests: Some(0), ..Shape::default() },
        Shape { offset: (1 << 56) - far, ..Shape::default() },
    ] {
        let error = Streamed::new(indexed(), &shape, &mut |_, _| {}).expect_err("refused");
        assert_eq!(error, shape.apply(many()).expect_err("refused"));
    }
}

#[test]
fn a_trace_that_is_damaged_or_changed_in_its_file_is_an_error() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("a.shingle");
    write(&path, &many());
    let good = std::fs::read(&path).expect("there");
    let indexed = || Indexed::open(path.to_str().expect("text")).expect("a header");
    let all = Shape::default();
    let mut bad = good.clone();
    let last = bad.len() - 100;
    bad[last] ^= 1;
    std::fs::write(&path, &bad).expect("written");
    let error = Streamed::new(indexed(), &all, &mut |_, _| {}).expect_err("damaged").to_string();
    assert!(error.contains("checksum") && error.contains("a.shingle"), "{error}");
    std::fs::write(&path, &good).expect("written");
    let (streamed, _) = Streamed::new(indexed(), &all, &mut |_, _| {}).expect("whole");
    std::fs::write(&path, &bad).expect("written");
    let (mut reading, mut block) = (Reading::default(), Vec::new());
    assert_eq!(streamed.read(0, &mut reading, &mut block), Ok(0));
    assert!(streamed.read(39_999, &mut reading, &mut block).is_err());
}

#[test]
fn what_is_wrong_with_a_file_is_told_with_its_byte() {
    let bytes = bytes_of(&many());
    let error = |bytes: &[u8]| read(bytes).expect_err("damaged").to_string();
    let header = u64::from_le_bytes(bytes[16..24].try_into().expect("8 bytes")) as usize;
    assert!(error(&bytes[..100]).contains("byte 100: the file ends in the header"));
    assert!(error(&bytes[..header - 9]).contains("the file ends in the header"));
    let there = header + 1000;
    let cut = error(&bytes[..there]);
    assert!(cut.contains(&format!("byte {there}: the file ends in block 0 of 10")), "{cut}");
    let cut = error(&bytes[..bytes.len() - 1]);
    assert!(cut.contains("in block 9 of 10"), "{cut}");
    let more = error(&[&bytes[..], b"x"].concat());
    assert!(more.contains(&format!("byte {}: there is more", bytes.len())), "{more}");
    let mut flipped = bytes.clone();
    flipped[header + 500] ^= 4;
    let told = error(&flipped);
    assert!(
        told.contains(&format!("byte {header}: the block does not have the checksum")),
        "{told}"
    );
    let mut newer = bytes.clone();
    newer[8] = 3;
    assert!(error(&newer).contains("version 3, and those up to 2 are known"));
    // Two blocks that are swapped are each valid.
    let second =
        header + u32::from_le_bytes(bytes[header + 4..header + 8].try_into().expect("4")) as usize;
    let third =
        second + u32::from_le_bytes(bytes[second + 4..second + 8].try_into().expect("4")) as usize;
    let swapped =
        [&bytes[..header], &bytes[second..third], &bytes[header..second], &bytes[third..]];
    assert!(error(&swapped.concat()).contains("the block begins before the end"));
    let empty = bytes_of(&[]);
    assert!(error(&empty).contains("holds no request"));
}

#[test]
fn every_bit_of_a_small_file_counts() {
    let bytes = bytes_of(&few());
    for bit in 0..8 * bytes.len() {
        let mut flipped = bytes.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        assert!(read(&flipped).is_err(), "bit {bit} may be any");
    }
    for length in 0..bytes.len() {
        assert!(read(&bytes[..length]).is_err(), "{length} bytes are enough");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Damage is an error, also in a large file.
    #[test]
    fn damage_is_an_error(
        flips in prop::collection::vec((any::<prop::sample::Index>(), 1_u8..), 1..4),
        cut in prop::option::of(any::<prop::sample::Index>()),
    ) {
        let good = bytes_of(&many()[..9_000]);
        let mut bytes = good.clone();
        for (place, flip) in flips {
            bytes[place.index(good.len())] ^= flip;
        }
        if let Some(cut) = cut {
            bytes.truncate(cut.index(good.len()));
        }
        match read(&bytes) {
            Err(error) => prop_assert_eq!(error.to_string().lines().count(), 1),
            Ok(_) => prop_assert!(bytes == good),
        }
    }
}

#[test]
fn a_packed_file_is_read_by_its_name() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("a.shingle.zst");
    write(&path, &many());
    let mut opened = open(path.to_str().expect("text"), &OpenOptions::default()).expect("read");
    assert_eq!(read_all(&mut *opened.source, &mut |_| {}).expect("valid").len(), 40_000);
}

#[test]
fn bytes_in_memory_are_those_of_the_file() {
    let requests = many();
    let bytes = write::native_bytes("tests/native.rs", &requests);
    assert_eq!(bytes, bytes_of(&requests));
    let mut opened =
        shingle_trace::open_bytes("packed", bytes, &OpenOptions::default()).expect("opened");
    assert_eq!(opened.name, "packed");
    assert_eq!(read_all(opened.source.as_mut(), &mut |_| {}).expect("read"), requests);
    let nothing = shingle_trace::open_bytes("packed", Vec::new(), &OpenOptions::default());
    assert!(nothing.err().expect("an error").to_string().starts_with("packed: is empty"));
}
