//! What is written reads back as it was.

use shingle_core::units::{Nanos, Op, Request};
use shingle_trace::{OpenOptions, open, read_all, write};

fn requests() -> Vec<Request> {
    let request = |at, op, offset, bytes| Request { at: Nanos(at), offset, bytes, op };
    vec![
        request(0, Op::Write, 4096, 8192),
        request(7, Op::Read, 512, 1536),
        request(7, Op::Flush, 0, 0),
        request(1_000_000_001, Op::Trim, 1 << 40, 1 << 33),
        request(1_000_000_002, Op::Write, (1 << 56) - 512, 512),
    ]
}

#[test]
fn csv_carries_all_there_is_packed_or_not() {
    let folder = tempfile::tempdir().expect("a folder for the test");
    for name in ["a.csv", "a.csv.gz", "a.csv.zst"] {
        let path = folder.path().join(name);
        let path = path.to_str().expect("text");
        let mut sink = write::create(path, None).expect("made");
        for request in requests() {
            sink.put(&[request]).expect("written");
        }
        assert!(!std::path::Path::new(path).exists(), "seen before it is whole");
        assert!(sink.finish().expect("whole").is_empty(), "all is carried");
        let mut opened = open(path, &OpenOptions::default()).expect("read");
        let read = read_all(&mut *opened.source, &mut |_| {}).expect("valid");
        assert_eq!(read, requests(), "{name}");
    }
    let left = std::fs::read_dir(folder.path()).expect("a folder").count();
    assert_eq!(left, 3, "nothing but the files");
}

#[test]
fn what_cannot_be_written_is_told() {
    let error = |path: &str, format| match write::create(path, format) {
        Err(error) => error.to_string(),
        Ok(_) => panic!("{path} is made"),
    };
    assert!(error("a.txt", None).contains("end it in .csv"));
    assert!(error("a.txt", Some("cvs")).contains("those that can are csv"));
    assert!(error("/none/a.csv", None).contains("cannot be written: No such file"));
}
