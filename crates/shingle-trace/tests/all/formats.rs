//! Files that are written here and read back: every format returns exactly what was written.

use std::io::Write as _;

use proptest::prelude::*;
use shingle_core::units::{BLOCK_BYTES, Nanos, Op, Request};
use shingle_trace::input::Input;
use shingle_trace::{Kind, OpenOptions, TraceError, format, read_all};

/// Reads bytes in a format, or in the recognised one.
fn read(bytes: impl Into<Vec<u8>>, format: Option<&str>) -> Result<Vec<Request>, TraceError> {
    read_volume(bytes, format, None)
}

fn read_volume(
    bytes: impl Into<Vec<u8>>,
    format: Option<&str>,
    volume: Option<&str>,
) -> Result<Vec<Request>, TraceError> {
    let input = Input::from_bytes("test", bytes)?;
    let (_, mut source) = format::open(input, &OpenOptions::of(format, volume))?;
    read_all(&mut *source, &mut |_| {})
}

fn request(at: u64, op: Op, offset: u64, bytes: u64) -> Request {
    Request { at: Nanos(at), offset, bytes, op }
}

#[test]
fn msr_lines_are_requests() {
    let text = "128166372003061629,hm,1,Read,8110592,4096,1331\n\
                128166372003061639,hm,1,Write,0,512,10\r\n\
                128166372003061634,hm,1,Write,1024,65536,10";
    let expected = [
        request(0, Op::Read, 8_110_592, 4_096),
        request(500, Op::Write, 1_024, 65_536),
        request(1_000, Op::Write, 0, 512),
    ];
    assert_eq!(read(text, None).expect("valid"), expected);
    let headed =
        format!("# a copy\nTimestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime\n{text}");
    assert_eq!(read(headed, None).expect("valid"), expected);
}

#[test]
fn one_volume_of_several_is_chosen() {
    let text = "128166372003061629,hm,0,Read,0,512,1\n128166372003061630,hm,1,Write,0,512,1\n";
    let error = read(text, None).expect_err("two volumes");
    assert_eq!(error.kind, Kind::Volume);
    assert!(
        error.to_string().contains("holds 2 volumes, by requests hm.0 (1), hm.1 (1):"),
        "{error}"
    );
    let one = read_volume(text, None, Some("hm.1")).expect("one volume");
    assert_eq!(one, [request(0, Op::Write, 0, 512)]);
    let error = read_volume(text, None, Some("hm.2")).expect_err("no such volume").to_string();
    assert!(error.contains("no request of volume 'hm.2'; there are: hm.0, hm.1"), "{error}");
}

#[test]
fn the_volumes_of_a_compressed_file_are_counted_to_its_end() {
    let line = |volume: u32| format!("128166372003061629,hm,{volume},Read,0,512,1\n");
    let text: String = [0, 1, 2, 2, 2].map(line).concat();
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(text.as_bytes()).expect("memory");
    let mut packed = gzip.finish().expect("memory");
    let error = read(&packed[..], None).expect_err("three volumes");
    let counted = "holds 3 volumes, by requests hm.2 (3), hm.0 (1), hm.1 (1):";
    assert!(error.to_string().contains(counted), "{error}");
    // The checksum of the content: a line that was damaged may name a volume that is none.
    let checksum = packed.len() - 8;
    packed[checksum] ^= 1;
    assert_eq!(read(&packed[..], None).expect_err("damaged").kind, Kind::Corrupt);
}

#[test]
fn a_csv_maps_itself_by_its_header() {
    let text = "time_us,op,offset_bytes,size_bytes\n\n# a comment\n89,W,4096,512\n\
                \"90\",\"r\", 0 ,4096\n91,D,8192,4096\n92,F,,\n";
    let expected = [
        request(0, Op::Write, 4_096, 512),
        request(1_000, Op::Read, 0, 4_096),
        request(2_000, Op::Trim, 8_192, 4_096),
        request(3_000, Op::Flush, 0, 0),
    ];
    assert_eq!(read(text, None).expect("valid"), expected);
    let unit = read("time,op,offset,size\n5.5,R,0,512", None).expect("a fraction is of a second");
    assert_eq!(unit, [request(0, Op::Read, 0, 512)]);
    let marked = [b"\xef\xbb\xbf", text.as_bytes()].concat();
    assert_eq!(read(marked, None).expect("a byte order mark is no part of it"), expected);
}

#[test]
fn whole_numbers_may_have_a_point() {
    let text = "time_us,op,offset_bytes,size_bytes\n89.0,W,4096.0,512.00\n";
    assert_eq!(read(text, None).expect("valid"), [request(0, Op::Write, 4_096, 512)]);
}

/// pandas and R write numbers below 0.0001 like this. A large number may have been rounded.
#[test]
fn small_times_may_have_an_exponent() {
    let expected = [request(0, Op::Write, 0, 512), request(25_000, Op::Read, 512, 512)];
    for header in ["time_s", "time"] {
        let text =
            format!("{header},op,offset_bytes,size_bytes\n5e-06,W,0,512\n3.0e-05,R,512,512\n");
        assert_eq!(read(text.as_str(), None).expect("valid"), expected);
    }
    for line in ["1e+05,W,0,512", "0.5,W,5.12e+02,512", "0.5,W,0,5.12e-02"] {
        let text = format!("time_s,op,offset_bytes,size_bytes\n{line}\n");
        let told = read(text.as_str(), None).expect_err("an exponent").to_string();
        assert!(told.contains("may have been rounded; write it with all its digits"), "{told}");
    }
}

#[test]
fn units_that_do_not_fit_the_numbers_are_told() {
    // Sizes in sectors: mostly small, sometimes large.
    let requests = |factor: (u64, u64), size: fn(u64) -> u64| {
        let line = |n: u64| {
            format!("{n},W,{},{}\n", (n * 7919 % 100_000 * 8 + 3) * factor.0, size(n) * factor.1)
        };
        (0..200).map(line).collect::<String>()
    };
    let mixed = |n: u64| if n.is_multiple_of(20) { 1_024 } else { 1 + n % 8 };
    let told = |text: &str, offset: &str, size: &str| {
        let map = format!("csv:time=1/us,op=2,offset=3/{offset},size=4/{size}");
        let input = Input::from_bytes("t", text).expect("text");
        let opened = format::open(input, &OpenOptions::of(Some(&map), None));
        let (_, mut source) = opened.expect("a map");
        read_all(&mut *source, &mut |_| {}).expect("valid");
        let told = |part: &str| source.warnings().iter().any(|line| line.contains(part));
        let parts =
            ["offset=3/sectors", "offset=3/bytes", "size=4/sectors", "size=4/bytes"].map(told);
        parts.map(u8::from)
    };
    let (sectors, bytes) = (requests((1, 1), mixed), requests((512, 512), mixed));
    assert_eq!(told(&sectors, "sectors", "sectors"), [0, 0, 0, 0]);
    assert_eq!(told(&sectors, "bytes", "bytes"), [1, 0, 1, 0]);
    assert_eq!(told(&bytes, "bytes", "bytes"), [0, 0, 0, 0]);
    assert_eq!(told(&bytes, "sectors", "sectors"), [0, 1, 0, 1]);
    let spc = requests((1, 512), mixed);
    assert_eq!(told(&spc, "sectors", "bytes"), [0, 0, 0, 0]);
    assert_eq!(told(&spc, "bytes", "bytes"), [1, 0, 0, 0]);
    assert_eq!(told(&bytes, "sectors", "bytes"), [0, 1, 0, 0]);
    // A file, which can be read at any place; and large requests at aligned addresses.
    assert_eq!(told(&requests((37, 1), |n| 100 + n * 50), "bytes", "bytes"), [0, 0, 0, 0]);
    let large = requests((2_048, 2_048), |_| 1);
    assert_eq!(told(&large, "sectors", "sectors"), [0, 0, 0, 0]);
}

#[test]
fn a_delimiter_in_quotes_is_no_delimiter() {
    let text = "\"time, us\",op,note,offset,size\n1,W,\"a, \"\"b\"\", c\",\"4096\",512\n";
    let map = "csv:time=1/us,op=op,offset=offset,size=size";
    assert_eq!(read(text, Some(map)).expect("valid"), [request(0, Op::Write, 4_096, 512)]);
}

#[test]
fn a_csv_is_told_what_its_columns_are() {
    for (text, map) in [
        (
            "0.5;x;7;2;1\n0.75;x;8;1;0\n",
            "csv:time=1/s,offset=3/blocks,size=4/blocks,op=5,read=1,write=0",
        ),
        (
            "  500 x 56 16 1 \n 750\tx  64 8 0\n",
            "csv:time=1/ms,offset=3/sectors,size=4/sectors,op=5,read=1,write=0,delim=space",
        ),
        (
            "junk\nt|dev|a|n|o\n500000|x|28|8|rd\n750000|x|32|4|wr\n",
            "csv:header=2,time=t/us,offset=a/KiB,size=n/1KiB,op=o,read=rd,write=wr,device=dev:x",
        ),
    ] {
        let expected =
            [request(0, Op::Read, 28_672, 8_192), request(250_000_000, Op::Write, 32_768, 4_096)];
        assert_eq!(read(text, Some(map)).unwrap_or_else(|e| panic!("{map}: {e}")), expected);
    }
    let fixed =
        read("1 0\n2 1\n", Some("csv:time=none,op=1,offset=2/blocks,bytes=8K,read=1,write=2"));
    let expected = [request(0, Op::Read, 0, 8_192), request(0, Op::Write, 4_096, 8_192)];
    assert_eq!(fixed.expect("valid"), expected);
}

#[test]
fn req_lines_are_single_blocks() {
    let expected = [request(0, Op::Write, 5 * BLOCK_BYTES, 4_096), request(0, Op::Read, 0, 4_096)];
    assert_eq!(read("1 0 5\n0 17 0\n", None).expect("valid"), expected);
}

/// A record of version 1 or 2.
fn vscsi(version: u8, cmd: u16, sector: u64, bytes: u32, micros: u64) -> Vec<u8> {
    let ver = u16::from(version) << 8;
    let (sn, segments) = (7_u32.to_le_bytes(), 1_u32.to_le_bytes());
    let (len, cmd, ver) = (bytes.to_le_bytes(), cmd.to_le_bytes(), ver.to_le_bytes());
    let (sector, micros) = (sector.to_le_bytes(), micros.to_le_bytes());
    if version == 1 {
        [&sn[..], &len, &segments, &cmd, &ver, &sector, &micros].concat()
    } else {
        let response = 99_u64.to_le_bytes();
        [&cmd[..], &ver, &sn, &len, &segments, &sector, &micros, &response].concat()
    }
}

#[test]
fn vscsi_records_of_both_versions_are_requests() {
    for version in [1, 2] {
        let bytes = [
            vscsi(version, 0x28, 8, 4_096, 1_000),
            vscsi(version, 0x12, 0, 36, 1_001),
            vscsi(version, 0x42, 0, 24, 1_001),
            vscsi(version, 0x2a, 3, 512, 1_002),
            vscsi(version, 0x35, 0, 0, 1_003),
        ]
        .concat();
        let expected = [
            request(0, Op::Read, 4_096, 4_096),
            request(2_000, Op::Write, 1_536, 512),
            request(3_000, Op::Flush, 0, 0),
        ];
        assert_eq!(read(bytes.clone(), None).expect("valid"), expected);
        let input = Input::from_bytes("test", bytes).expect("valid");
        let (_, mut source) =
            format::open(input, &OpenOptions::of(Some("vscsi"), None)).expect("valid");
        assert_eq!(source.length_hint(), Some(5));
        read_all(&mut *source, &mut |_| {}).expect("valid");
        assert!(source.warnings()[0].starts_with("1 UNMAP or WRITE SAME"));
    }
}

/// The header of an srt trace of two disks, one of which has sectors of 256 bytes.
pub(crate) const SRT_HEADER: &str = "$$TR_IOREC-1.3 (IOAdaptor)\n\0version = 1.3;\ntracedate = \"Sat May 30 00:03:06 1992\";\n\
    disks = {\n 0 -> {\n  nspt = 113,\n  sectorsize = 256,\n  sections = { 8 -> { \"/\", blocksize = 8192 } }\n },\n \
    1 -> {\n  sectorsize = 512\n }\n};\n\x0c";

/// A record of srt: version, kind, time in seconds and microseconds, bytes, sector, disk, flags.
pub(crate) fn srt(
    version: u16,
    kind: u16,
    at: (u32, u32),
    to: (u32, u32, u8),
    flags: u32,
) -> Vec<u8> {
    let (bytes, sector, disk) = to;
    let more = u32::from(version == 4) + u32::from(kind == 4);
    let mut record = (52 + 4 * more).to_be_bytes().to_vec();
    record.extend([version, kind].iter().flat_map(|half| half.to_be_bytes()));
    let device = 0x0800_0007 | u32::from(disk) << 8;
    for field in [at.0, at.1, 174, 19_687, bytes, sector, device, 4, 1, flags, 1] {
        record.extend(field.to_be_bytes());
    }
    record.resize(record.len() + 4 * more as usize, 0);
    record
}

#[test]
fn srt_records_are_requests_of_their_disks() {
    let bytes = [
        SRT_HEADER.as_bytes(),
        &srt(4, 1, (3, 500_000), (8_192, 16, 0), 0x001b),
        &srt(3, 1, (3, 500_010), (2_048, 16, 1), 0x0108_810a),
        &srt(4, 4, (3, 500_011), (2_048, 0, 0), 0),
        &srt(4, 1, (4, 0), (256, 1, 0), 0),
    ]
    .concat();
    let of = |volume| read_volume(bytes.clone(), None, Some(volume)).expect("valid");
    let first = [request(0, Op::Read, 4_096, 8_192), request(500_000_000, Op::Write, 256, 256)];
    assert_eq!(of("0"), first);
    assert_eq!(of("1"), [request(0, Op::Write, 8_192, 2_048)]);
    assert_eq!(of("*").len(), 3);
    let input = Input::from_bytes("test", bytes).expect("valid");
    let (recognised, mut source) =
        format::open(input, &OpenOptions::of(None, Some("0"))).expect("valid");
    assert_eq!(recognised.name, "srt");
    read_all(&mut *source, &mut |_| {}).expect("valid");
    assert!(source.warnings()[0].starts_with("1 requests that the tracer doubts"));
    // If the header does not give the sector size, the user does.
    let none = [&b"$$TR_IOREC-1.0\n\x0c"[..], &srt(1, 1, (0, 0), (1_024, 3, 5), 1)].concat();
    let told = read_volume(none, Some("srt:1024"), None).expect("valid");
    assert_eq!(told, [request(0, Op::Read, 3_072, 1_024)]);
}

/// The same bytes in every compression, in one piece and in two.
pub(crate) fn compressed(plain: &[u8]) -> Vec<(&'static str, Vec<u8>)> {
    let gzip = |bytes: &[u8]| {
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gzip.write_all(bytes).expect("memory");
        gzip.finish().expect("memory")
    };
    let bzip2 = |bytes: &[u8]| {
        let mut bzip2 = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
        bzip2.write_all(bytes).expect("memory");
        bzip2.finish().expect("memory")
    };
    let xz = |bytes: &[u8]| {
        let mut xz = liblzma::write::XzEncoder::new(Vec::new(), 1);
        xz.write_all(bytes).expect("memory");
        xz.finish().expect("memory")
    };
    let zstd = |bytes: &[u8]| zstd::encode_all(bytes, 1).expect("memory");
    let (head, tail) = plain.split_at(plain.len() / 2);
    vec![
        ("gzip", gzip(plain)),
        ("gzip", [gzip(head), gzip(tail)].concat()),
        ("zstd", zstd(plain)),
        ("zstd", [zstd(head), zstd(tail)].concat()),
        ("bzip2", bzip2(plain)),
        ("bzip2", [bzip2(head), bzip2(tail)].concat()),
        ("xz", xz(plain)),
        ("xz", [xz(head), xz(tail)].concat()),
    ]
}

fn many_lines() -> Vec<u8> {
    let mut text = String::from("time_us,op,offset_bytes,size_bytes\n");
    for line in 0..20_000_u64 {
        let offset = line.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 30;
        text.push_str(&format!("{line},W,{offset},4096\n"));
    }
    text.into_bytes()
}

#[test]
fn compression_is_found_by_content() {
    let plain = many_lines();
    let expected = read(plain.clone(), None).expect("valid");
    assert_eq!(expected.len(), 20_000);
    for (how, bytes) in compressed(&plain) {
        let size = bytes.len() as u64;
        let input = Input::from_bytes("test", bytes).expect("valid");
        let (_, mut source) = format::open(input, &OpenOptions::default()).expect("valid");
        let mut seen = Vec::new();
        let requests = read_all(&mut *source, &mut |source| seen.extend(source.progress()));
        assert_eq!(requests.unwrap_or_else(|e| panic!("{how}: {e}")), expected);
        assert!(seen.is_sorted(), "{how}");
        assert_eq!(seen.last(), Some(&(size, size)), "{how}");
    }
}

#[test]
fn cut_compressed_files_are_told_with_the_byte() {
    for (how, bytes) in compressed(&many_lines()) {
        for cut in [bytes.len() - 1, bytes.len() / 3, 12] {
            let Err(error) = read(&bytes[..cut], None) else {
                panic!("{how} cut at {cut} is read")
            };
            let text = error.to_string();
            assert_eq!(error.kind, Kind::Truncated, "{how}: {text}");
            assert!(text.contains(&format!("byte {cut} of the stored file: the {how} data stops")));
        }
    }
}

/// Requests that all formats can represent: whole sectors, and times in whole microseconds.
fn requests() -> impl Strategy<Value = Vec<Request>> {
    let one = (0..1_000_u64, any::<bool>(), 0..1_u64 << 40, 1..4_096_u64);
    prop::collection::vec(one, 1..50).prop_map(|drawn| {
        let mut at = 0;
        drawn
            .into_iter()
            .enumerate()
            .map(|(index, (wait, write, sector, sectors))| {
                at += if index == 0 { 0 } else { wait * 1_000 };
                let op = if write { Op::Write } else { Op::Read };
                request(at, op, sector * 512, sectors * 512)
            })
            .collect()
    })
}

/// Lines as long as an oracleGeneral record, with digits at the positions of its fields.
#[test]
fn text_is_no_binary_format() {
    let text = "1 0 1234567\n0 0 1234567\n".repeat(100);
    let requests = read(text, None).expect("valid");
    assert_eq!(requests.len(), 200);
    assert_eq!(requests[0], request(0, Op::Write, 1_234_567 * BLOCK_BYTES, BLOCK_BYTES));
}

proptest! {
    #[test]
    fn what_is_written_is_read(requests in requests(), start in 0..1_u64 << 50) {
        let (mut msr, mut csv) = (String::new(), String::from("offset,op,size,time_ns\n"));
        let (mut one, mut two, mut req) = (Vec::new(), Vec::new(), String::new());
        for r in &requests {
            let write = r.op == Op::Write;
            let word = if write { "Write" } else { "Read" };
            let time = 128_166_372_000_000_000 + r.at.0 / 100;
            msr += &format!("{time},h,0,{word},{},{},0\n", r.offset, r.bytes);
            csv += &format!("{},{word},{},{}\n", r.offset, r.bytes, start + r.at.0);
            let cmd = if write { 0x2a } else { 0x28 };
            let micros = start / 1_000 + r.at.0 / 1_000;
            one.extend(vscsi(1, cmd, r.offset / 512, r.bytes as u32, micros));
            two.extend(vscsi(2, cmd, r.offset / 512, r.bytes as u32, micros));
            req += &format!("{} 0 {}\n", u8::from(write), r.offset / 4_096);
        }
        prop_assert_eq!(&read(msr, None).expect("valid"), &requests);
        prop_assert_eq!(&read(csv, None).expect("valid"), &requests);
        prop_assert_eq!(&read(one, None).expect("valid"), &requests);
        prop_assert_eq!(&read(two, None).expect("valid"), &requests);
        let blocks: Vec<Request> = requests
            .iter()
            .map(|r| request(0, r.op, r.offset / 4_096 * 4_096, 4_096))
            .collect();
        prop_assert_eq!(&read(req, None).expect("valid"), &blocks);
    }
}
