//! Every error of a trace, and its one-line message.

use shingle_trace::input::Input;
use shingle_trace::{Kind, OpenOptions, TraceError, format, open, read_all};

use crate::formats::{SRT_HEADER, srt};

fn error_of(bytes: &[u8], format: Option<&str>, volume: Option<&str>) -> TraceError {
    let options = OpenOptions::of(format, volume);
    let opened = Input::from_bytes("t.csv", bytes).and_then(|i| format::open(i, &options));
    let read = opened.and_then(|(_, mut source)| read_all(&mut *source, &mut |_| {}));
    read.err().unwrap_or_else(|| panic!("{bytes:?} is accepted"))
}

/// Checks that the error has this kind, is one line, and says both where it is and what to do.
fn check(bytes: &[u8], format: Option<&str>, kind: Kind, told: &[&str]) {
    let error = error_of(bytes, format, None);
    let text = error.to_string();
    assert_eq!(error.kind, kind, "{text}");
    assert_eq!(text.lines().count(), 1, "{text}");
    assert!(text.starts_with("t.csv: "), "{text}");
    for told in told {
        assert!(text.contains(told), "{told}: {text}");
    }
}

const HEADER: &str = "time_us,op,offset_bytes,size_bytes\n";

#[test]
fn bad_lines_are_named() {
    for (line, kind, told) in [
        ("1,W,4o96,512", Kind::Syntax, "line 3: the offset (column 3) is '4o96', not a number"),
        ("1,W,-1,512", Kind::Syntax, "the offset (column 3) is '-1'"),
        ("x,W,0,512", Kind::Syntax, "the time (column 1) is 'x'"),
        ("1,W,0,", Kind::Syntax, "the size (column 4) is ''"),
        (
            "1,W,0,512.5",
            Kind::Syntax,
            "the size (column 4) is '512.5', and a number is read that is whole",
        ),
        (
            "1,W,4e3,512",
            Kind::Syntax,
            "the offset (column 3) is '4e3', which may have been rounded",
        ),
        ("1e3,W,0,512", Kind::Syntax, "the time (column 1) is '1e3', which may have been rounded"),
        ("23/11/2026 08:15,W,0,512", Kind::Syntax, "a time is a number (time=COLUMN/s, ms, us, ns"),
        ("1,X,0,512", Kind::Syntax, "line 3: the operation 'X' is unknown"),
        ("1,W,0", Kind::Syntax, "line 3: there are 3 columns and column 4 is needed"),
        ("1,W,0,0", Kind::Range, "line 3: the size is 0"),
        ("1,W,0,1073741825", Kind::Range, "line 3: the size of 1073741825 bytes is over"),
        ("1,W,18446744073709551615,512", Kind::Range, "is past 64 PiB"),
        ("1,W,99999999999999999999,512", Kind::Range, "out of range"),
        ("99999999999999999999,W,0,512", Kind::Range, "the time (column 1) is"),
        ("9999999999999999,W,0,512", Kind::Range, "146 years"),
        ("1,\u{7},0,512", Kind::Format, "line 3: byte 0x07 in what should be text"),
    ] {
        let text = format!("{HEADER}0,R,0,512\n{line}\n");
        check(text.as_bytes(), None, kind, &[told]);
        assert!(error_of(text.as_bytes(), None, None).to_string().contains("--format"), "{line}");
    }
}

#[test]
fn bad_msr_and_req_lines_are_named() {
    let good = "128166372003061629,hm,1,Read,0,4096,1331\n";
    for (line, kind, told) in [
        ("128166372003061629,hm,1,Erase,0,4096,1", Kind::Syntax, "line 2: the operation 'Erase'"),
        ("128166372003061629,hm,1,Read,0x,4096,1", Kind::Syntax, "the offset (column 5) is '0x'"),
        ("128166372003061629,hm,1,Read", Kind::Syntax, "line 2: there are fewer than 6 columns"),
        ("918166372003061629,hm,1,Read,0,1,1", Kind::Range, "no FILETIME"),
    ] {
        check(format!("{good}{line}\n").as_bytes(), Some("msr"), kind, &[told]);
    }
    check(b"1 0 5\n2 0 5\n", Some("req"), Kind::Syntax, &["line 2: the operation '2' is unknown"]);
    check(b"1 0 5 6\n", Some("req"), Kind::Syntax, &["there are not 3 columns"]);
    check(b"1 0 99999999999999999\n", Some("req"), Kind::Range, &["past 64 PiB"]);
}

#[test]
fn bad_records_are_named() {
    let mut record = [0_u8; 32];
    record[4] = 1;
    (record[12], record[15]) = (0x2a, 1);
    let two = [record, record].concat();
    check(&two[..50], None, Kind::Truncated, &["byte 32: the last record has 18 of 32 bytes"]);
    check(&record[..31], Some("vscsi"), Kind::Format, &["byte 0: 31 bytes are less than one"]);
    let mut unknown = two.clone();
    unknown[32 + 12] = 0xe5;
    check(&unknown, Some("vscsi"), Kind::Syntax, &["byte 32: the operation 0xe5 is unknown"]);
    let mut other = two.clone();
    other[32 + 15] = 9;
    check(&other, Some("vscsi"), Kind::Corrupt, &["byte 32: the record has another version"]);
    let mut far = two.clone();
    far[32 + 23] = 0xff;
    check(&far, None, Kind::Range, &["byte 32: sector", "beyond any disk"]);
    let mut empty = two;
    empty[32 + 4] = 0;
    check(&empty, None, Kind::Range, &["byte 32: the size is 0"]);
    record[12] = 0x12;
    check(&record, None, Kind::Empty, &["no record reads, writes or flushes"]);
}

#[test]
fn a_fault_near_the_beginning_is_told_by_the_format() {
    let good = "128166372003061629,hm,1,Read,0,4096,1331\n".repeat(3);
    check(format!("{good}1,hm,1,Read,x,1,1\n").as_bytes(), None, Kind::Syntax, &["line 4: "]);
    check(b"1 0 5\n1 0 6\n1 0 y\n", None, Kind::Syntax, &["line 3: the block (column 3) is 'y'"]);
    let mut record = [0_u8; 32];
    (record[5], record[12], record[15]) = (2, 0x2a, 1);
    let mut three = [record, record, record].concat();
    three[64 + 12] = 0xe5;
    check(&three, None, Kind::Syntax, &["byte 64: the operation 0xe5 is unknown"]);
}

#[test]
fn what_is_no_trace_is_told() {
    check(b"", None, Kind::Empty, &["is empty"]);
    check(HEADER.as_bytes(), None, Kind::Empty, &["no request below the header"]);
    check(b"\n# only this\n", Some("req"), Kind::Empty, &["only blank lines"]);
    check(
        b"hello world\n",
        None,
        Kind::Format,
        &["begins 'hello world'", "--format csv:time=1/us"],
    );
    check(b"\x00\x01\x02\x03", None, Kind::Format, &["is binary"]);
    check(b"\x00\x01\x02\x03", Some("csv"), Kind::Format, &["byte 0x00", "binary file"]);
    check(b"\x00\x01\x02\x03", Some("msr"), Kind::Format, &["line 1: byte 0x00", "binary file"]);
    check(b"PK\x03\x04....", None, Kind::Format, &["a zip archive", "unzip -p"]);
    check(&[b'1'; 70_000], Some("req"), Kind::Syntax, &["line 1: is longer than 64 KiB"]);
    check(b"\n\n# 1\n", None, Kind::Format, &["empty lines and comments alone, and no request"]);
    // A file whose end was lost in a power cut.
    let zeros = [HEADER.as_bytes(), b"0,R,0,512\n", &[0; 512]].concat();
    check(&zeros, None, Kind::Format, &["line 3: byte 0x00", "damaged here; copy it again"]);
    check(b"a,b,c\n1,2,3\n", Some("csv"), Kind::Format, &["no header with a clear op"]);
    let tar = [&[b'a'; 257][..], b"ustar", &[0; 300]].concat();
    check(&tar, None, Kind::Format, &["a tar archive"]);
    let mut gzip = flate2::read::GzEncoder::new(&b"1 0 5\n"[..], flate2::Compression::fast());
    let mut bytes = Vec::new();
    std::io::Read::read_to_end(&mut gzip, &mut bytes).expect("memory");
    bytes[12] ^= 0xff;
    check(&bytes, None, Kind::Corrupt, &["of the stored file: the gzip data is damaged"]);
    // If decompressed data is not valid and the checksum is wrong, the line is not the fault of the
    // file's writer.
    let packed = |text: &str| {
        let mut gzip = flate2::read::GzEncoder::new(text.as_bytes(), flate2::Compression::none());
        let mut bytes = Vec::new();
        std::io::Read::read_to_end(&mut gzip, &mut bytes).expect("memory");
        bytes
    };
    let (good, bad) = ("1 0 5\n".repeat(400_000), "1 0 y\n1 0 5\n");
    check(&packed(&(good.clone() + bad)), None, Kind::Syntax, &["line 400001: the block"]);
    let mut damaged = packed(&(good.clone() + &good));
    let at = damaged.len() / 2;
    let digit = damaged[at..].iter().position(|&byte| byte == b'5').expect("one") + at;
    damaged[digit] = b'y';
    check(&damaged, None, Kind::Corrupt, &["of the stored file: the gzip data is damaged"]);
    check(&[0x1f, 0x8b], None, Kind::Truncated, &["byte 2 of the stored file"]);
}

#[test]
fn wrong_options_are_told() {
    let text = format!("{HEADER}0,R,0,512\n");
    for (format, volume, told) in [
        (Some("mrs"), None, "there is no format 'mrs'; --format takes msr"),
        (Some("msr:x"), None, "takes no columns"),
        (Some("req"), Some("0"), "knows no volumes"),
        (Some("csv"), Some("0"), "needs the column that tells volumes apart"),
        (Some("csv:time=t/us,op=2,offset=3,size=4"), None, "the header has no column 't'"),
        (Some("csv:time=1/us,op=2,offset=3,size=3"), None, "cannot be both"),
    ] {
        let error = error_of(text.as_bytes(), format, volume);
        assert!(error.is_usage() && error.to_string().contains(told), "{error}");
    }
    for (text, told) in [
        (
            "time,op,lba,size\n5.5,R,0,512\n",
            "the column 'lba' does not say its unit: call it lba_bytes, lba_sectors",
        ),
        ("time,op,offset,bytes\n5.5,R,0,512\n", "no column is called size"),
        (
            "time,op,offset,size\n23/11/2026,R,0,512\n",
            "(below the header) is '23/11/2026', and a time is a number",
        ),
    ] {
        for format in [None, Some("csv")] {
            let error = error_of(text.as_bytes(), format, None).to_string();
            assert!(error.contains(told) && error.contains("--format csv:time="), "{error}");
        }
    }
    let open_time = error_of(b"time,op,offset,size\n5,R,0,512\n", None, None).to_string();
    assert!(open_time.contains("--format csv:time=time/us"), "{open_time}");
}

#[test]
fn a_volume_that_never_comes_is_told_even_if_others_do() {
    let error = error_of(b"0,8,512,w,0.5\n1,8,512,w,1.5\n", Some("spc"), Some("1,7"));
    assert!(error.is_usage(), "{error}");
    assert!(error.to_string().contains("no request of volume '7'; there are: 1"), "{error}");
}

#[test]
fn what_cannot_be_opened_is_told() {
    let folder = tempfile::tempdir().expect("a folder for the test");
    let path = |name: &str| folder.path().join(name).to_str().expect("text").to_owned();
    let error = |spec: &str, options: &OpenOptions| match open(spec, options) {
        Err(error) => error.to_string(),
        Ok(_) => panic!("{spec} is opened"),
    };
    let plain = OpenOptions::default();
    assert!(error(&path(""), &plain).contains("is a directory"));
    let missing = error(&path("none"), &plain);
    assert!(missing.contains("none: cannot be opened: No such file"), "{missing}");
    assert!(missing.contains("synth:NAME") && !missing.contains("os error"), "{missing}");
    assert!(error("zipf", &plain).contains("the built-in workload is synth:zipf"));
    let forced = OpenOptions { format: Some("msr".to_owned()), ..OpenOptions::default() };
    assert!(error("synth:zipf", &forced).contains("leave out --format"));
    std::fs::write(path("empty"), b"").expect("written");
    assert!(error(&path("empty"), &plain).contains("is empty"));
    std::fs::write(path("one.txt"), b"1 0 5\n").expect("written");
    let opened = open(&path("one.txt"), &plain).expect("valid");
    assert_eq!((opened.name.as_str(), opened.recognised.name), ("one.txt", "req"));
}

#[test]
fn text_of_two_bytes_a_character_is_told() {
    let text = "time_us,op,offset_bytes,size_bytes\n0,R,0,512\n";
    let wide = |bytes: fn(u16) -> [u8; 2]| text.encode_utf16().flat_map(bytes).collect::<Vec<u8>>();
    let (little, big) = (wide(u16::to_le_bytes), wide(u16::to_be_bytes));
    for bytes in [
        [&[0xff, 0xfe][..], &little[..]].concat(),
        [&[0xfe, 0xff][..], &big[..]].concat(),
        little,
        big,
    ] {
        for format in [None, Some("csv"), Some("csv:time=1/us,op=2,offset=3,size=4"), Some("spc")] {
            check(&bytes, format, Kind::Format, &["UTF-16", "iconv -f UTF-16 -t UTF-8"]);
        }
    }
}

#[test]
fn lines_that_end_with_a_carriage_return_alone_are_told() {
    let of_a_mac = format!("{HEADER}0,R,0,512\n").replace('\n', "\r");
    for (text, format) in [(of_a_mac.clone(), None), (of_a_mac.repeat(4_000), Some("csv"))] {
        check(text.as_bytes(), format, Kind::Format, &["carriage return alone"]);
    }
    let text = of_a_mac.as_bytes();
    for format in [None, Some("csv"), Some("csv:time=1/us,op=2,offset=3,size=4"), Some("req")] {
        check(text, format, Kind::Format, &["carriage return alone", "tr '\\r' '\\n'"]);
    }
}

#[test]
fn a_line_with_more_columns_than_names_is_told() {
    let header = "time_us,op,offset_bytes,size_bytes\n";
    // Read by position this would be 96 bytes at 4.
    let shifted = format!("{header}0,R,4,096,512\n");
    for format in
        [None, Some("csv"), Some("csv:time=time_us/us,op=op,offset=offset_bytes,size=size_bytes")]
    {
        let told = ["line 2", "5 columns", "names 4", "quotes"];
        check(shifted.as_bytes(), format, Kind::Syntax, &told);
    }
    // An empty extra field at the end is harmless, and a comma in quotes does not separate.
    let quoted = format!("{header}0,R,4096,512,\n1,W,\"8,192\",512\n");
    check(quoted.as_bytes(), None, Kind::Syntax, &["line 3: the offset (column 3) is '8,192'"]);
    // Columns given by numbers may be followed by anything.
    let (map, line) = ("csv:time=1/us,op=2,offset=3,size=4,header=1", "1,W,x,512,more\n");
    let numbered = format!("{header}0,R,4096,512,more\n{line}");
    check(numbered.as_bytes(), Some(map), Kind::Syntax, &["line 3: the offset (column 3) is 'x'"]);
}

#[test]
fn hexadecimal_numbers_and_dates_are_read_or_told() {
    let read = |text: &str, format: Option<&str>| {
        let input = Input::from_bytes("t", text)?;
        let (_, mut source) = format::open(input, &OpenOptions::of(format, None))?;
        read_all(&mut *source, &mut |_| {})
            .map(|all| all.iter().map(|r| (r.at.0, r.offset, r.bytes)).collect::<Vec<_>>())
    };
    let expected = [(0, 4_096, 512), (250_000_000, 8_192, 1_024)];
    for (text, format) in [
        ("0,R,0x1000,0x200\n250,R,0x2000,0x400\n", Some("csv:time=1/ms,op=2,offset=3,size=4")),
        (
            "0,R,8,1\n250,R,10,2\n",
            Some("csv:time=1/ms,op=2,offset=3/sectors/hex,size=4/sectors/hex"),
        ),
        (
            "2026-11-23T08:15:00Z,R,4096,512\n2026-11-23T08:15:00.25Z,R,8192,1024\n",
            Some("csv:time=1/iso,op=2,offset=3,size=4"),
        ),
        (
            "time,op,offset,size\n2026-11-23 08:15:00,R,4096,512\n\
             2026-11-23 08:15:00.25,R,8192,1024\n",
            None,
        ),
    ] {
        assert_eq!(
            read(text, format).unwrap_or_else(|error| panic!("{error}")),
            expected,
            "{text}"
        );
    }
    let dates = b"2026-11-23T08:15:00Z,R,4096,512\n";
    check(
        dates,
        Some("csv:time=1/us,op=2,offset=3,size=4,header=0"),
        Kind::Syntax,
        &["time=1/iso"],
    );
    check(
        b"0,R,4096,512\n",
        Some("csv:time=1/iso,op=2,offset=3,size=4"),
        Kind::Syntax,
        &["line 1: the time (column 1) is '0', and a time is", "or a date from 1970"],
    );
    check(
        b"0,R,1g,512\n",
        Some("csv:time=1/s,op=2,offset=3/hex,size=4"),
        Kind::Syntax,
        &["the offset (column 3) is '1g'"],
    );
}

#[test]
fn bad_srt_files_are_named() {
    let whole = srt(4, 1, (0, 0), (512, 0, 0), 0);
    let behind = |record: &[u8]| [SRT_HEADER.as_bytes(), &whole[..], record].concat();
    let at = format!("byte {}: ", SRT_HEADER.len() + whole.len());
    let mut date = srt(4, 1, (0, 1_000_000), (512, 0, 0), 0);
    for (record, kind, told) in [
        (&whole[..55], Kind::Truncated, "the last record has 55 of 56 bytes"),
        (&whole[..2], Kind::Truncated, "cut short"),
        (&[0, 0, 0, 9, 0], Kind::Corrupt, "a record of 9 bytes"),
        (&srt(5, 1, (0, 0), (512, 0, 0), 0), Kind::Corrupt, "version 5; 1 to 4"),
        (&srt(2, 3, (0, 0), (512, 0, 0), 0), Kind::Corrupt, "kind 3; only"),
        (&date, Kind::Corrupt, "1000000 µs within a second"),
        (&srt(4, 1, (0, 0), (512, 0, 7), 0), Kind::Format, "no sectorsize of disk 7"),
        (&srt(4, 1, (0, 0), (0, 0, 0), 0), Kind::Range, "the size is 0"),
    ] {
        let error = error_of(&behind(record), Some("srt"), Some("*"));
        assert!(error.kind == kind && error.to_string().contains(&at), "{error}");
        assert!(error.to_string().contains(told), "{error}");
    }
    date[3] = 52;
    check(&behind(&date), Some("srt"), Kind::Corrupt, &["of version 4 and kind 1 has 56"]);
    check(b"$$TR_IOREC-1.3 without an end", None, Kind::Format, &["the header does not end"]);
    check(b"1 0 5\n", Some("srt"), Kind::Format, &["does not begin as an srt trace does"]);
    check(SRT_HEADER.as_bytes(), None, Kind::Empty, &["holds no request"]);
    check(&behind(b""), Some("srt:0"), Kind::Usage, &["is no size of a sector"]);
}
