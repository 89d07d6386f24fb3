//! The published text formats: a few hand-written lines of each, and their exact requests.

use shingle_core::units::{Nanos, Op, Request};
use shingle_trace::input::Input;
use shingle_trace::{Kind, OpenOptions, TraceError, format, read_all};

fn read(
    text: &str,
    format: Option<&str>,
    volume: Option<&str>,
) -> Result<Vec<Request>, TraceError> {
    told(text, format, volume).map(|(requests, _)| requests)
}

/// Returns the requests and the warnings.
fn told(
    text: &str,
    format: Option<&str>,
    volume: Option<&str>,
) -> Result<(Vec<Request>, Vec<String>), TraceError> {
    let input = Input::from_bytes("test", text)?;
    let (_, mut source) = format::open(input, &OpenOptions::of(format, volume))?;
    let requests = read_all(&mut *source, &mut |_| {})?;
    Ok((requests, source.warnings()))
}

fn request(at: u64, op: Op, offset: u64, bytes: u64) -> Request {
    Request { at: Nanos(at), offset, bytes, op }
}

/// A write of a page at byte 8192, and half a millisecond later a read of the page behind it.
fn two() -> [Request; 2] {
    [request(0, Op::Write, 8_192, 4_096), request(500_000, Op::Read, 12_288, 4_096)]
}

#[test]
fn of_two_columns_for_one_thing_the_first_is_taken_and_that_is_told() {
    let text = "time_us,time_ms,op,offset_bytes,lba_sectors,size_bytes\n\
                1000,9,W,8192,7,4096\n1500,9,R,12288,7,4096\n";
    let (requests, warnings) = told(text, None, None).expect("read");
    assert_eq!(requests, two());
    let wanted = "and not 'time_ms' (time), 'lba_sectors' (offset); --format csv:";
    assert!(warnings.len() == 1 && warnings[0].contains(wanted), "{warnings:?}");
}

const MSR: &str = "128166372003061629,hm,1,Write,8192,4096,1331\n\
                   128166372003066629,hm,1,Read,12288,4096,10\n";
const SPC: &str = "7,16,4096,w,0.026214\n7,24,4096,R,0.026714\n";
const SYSTOR: &str = "Timestamp,Response,IOType,LUN,Offset,Size\n\
                      1456095145.133576000,0.000806000,R,2,12288,4096\n\
                      1456095145.133076000,,W,2,8192,4096\n";
const ALIBABA: &str = "419,W,8192,4096,1577808000000626\n419,R,12288,4096,1577808000001126\n";
const TENCENT: &str = "1538323200,16,8,1,1063\n1538323200,24,8,0,1063\n";
const FIU: &str = "89968195792462 20782 gzip 16 8 W 6 0 56f11b711d91a065a2b6458eca924523\n\
                   89968196292462 4 Web Content 24 8 R 6 0 56f11b711d91a065a2b6458eca924523\n";
const BLKPARSE: &str = "\
  8,0    3        1     0.000000000   697  Q   W 16 + 8 [kjournald]
  8,0    3        2     0.000000829   697  G   W 16 + 8 [kjournald]
  8,0    3        3     0.000001000   697  P   N [kjournald]
  8,0    3        4     0.000002000   697  I   W 16 + 8 [kjournald]
  8,0    3        0     0.000003000     0  m   N cfq697 insert_request
  8,0    3        5     0.000004000   697  D   W 16 + 8 [kjournald]
  8,0    3        6     0.000500000     3  Q  RA 24 + 8 [cat]
  8,0    1        7     0.009507758     0  C   W 16 + 8 [0]
CPU3 (8,0):
 Reads Queued:           1,        4KiB\t Writes Queued:           1,        4KiB
Throughput (R/W): 8KiB/s / 8KiB/s
Skips: 0 forward (0 -   0.0%)
";
const EMMC: &str = "\
24 8 4096 4 1398396860.168565791 1398396860.16859 1398396860.16860 1398396860.17000
16\t\t8\t\t4096\t\t5\t\t1398396860.168065791\t\t1398396860.16860\t\t1398396860.16870\t\t1398396860.1717
";
const REQ: &str = "1 0 2\n0 0 3\n";
const CSV: &str = "time_us,op,offset_bytes,size_bytes\n89,W,8192,4096\n589,R,12288,4096\n";

/// Enough lines to recognise the units: each has `size`, begins where the one before ended, and
/// comes `step` sectors later.
fn five(
    lines: u64,
    step: impl Fn(u64) -> u64,
    size: impl Fn(u64) -> u64,
    time: impl Fn(u64) -> String,
) -> String {
    let mut sector = 16;
    let mut line = |n| {
        let text = format!("{} 0 {sector} {} {}\n", time(n), size(n), n % 2);
        sector += step(n);
        text
    };
    (0..lines).map(&mut line).collect()
}

fn disksim() -> String {
    five(80, |_| 8, |_| 8, |n| format!("{n}.5"))
}

fn flashsim() -> String {
    five(80, |n| 7 + n % 4 * 8, |n| 1 + n % 4, |n| format!("{n}.5"))
}

fn mqsim() -> String {
    five(1_100, |_| 8, |_| 8, |n| (938_513_000 + n * 500_000).to_string())
}

fn samples() -> Vec<(&'static str, String)> {
    let mut samples: Vec<(&str, String)> = [
        ("msr", MSR),
        ("spc", SPC),
        ("systor", SYSTOR),
        ("alibaba", ALIBABA),
        ("tencent", TENCENT),
        ("fiu", FIU),
        ("blkparse", BLKPARSE),
        ("emmc", EMMC),
        ("req", REQ),
        ("csv", CSV),
    ]
    .map(|(name, text)| (name, text.to_owned()))
    .into();
    samples.extend([("disksim", disksim()), ("flashsim", flashsim()), ("mqsim", mqsim())]);
    samples
}

#[test]
fn every_format_is_recognised() {
    for (name, text) in samples() {
        let input = Input::from_bytes("test", text).expect("text");
        let (found, _) = format::open(input, &OpenOptions::default()).expect("recognised");
        assert_eq!(found.name, name);
    }
}

#[test]
fn every_format_holds_what_was_written() {
    for (name, text) in samples() {
        let requests = read(&text, None, None).unwrap_or_else(|error| panic!("{name}: {error}"));
        match name {
            // Requests, each of which begins where the one before ended.
            "disksim" | "flashsim" | "mqsim" => {
                let (tick, lines) =
                    if name == "mqsim" { (500_000, 1_100) } else { (1_000_000, 80) };
                let mut sector = 16;
                for (n, found) in (0..).zip(&requests) {
                    let op = if n % 2 == 1 { Op::Read } else { Op::Write };
                    let (step, pages) =
                        if name == "flashsim" { (7 + n % 4 * 8, 1 + n % 4) } else { (8, 1) };
                    let expected = request(n * tick, op, sector * 512, pages * 4_096);
                    assert_eq!(*found, expected, "{name}");
                    sector += step;
                }
                assert_eq!(requests.len(), lines);
            }
            "tencent" | "req" => {
                assert_eq!(requests, two().map(|r| Request { at: Nanos::ZERO, ..r }), "{name}");
            }
            _ => assert_eq!(requests, two(), "{name}"),
        }
    }
}

#[test]
fn volumes_are_chosen_or_lie_side_by_side() {
    let second = |text: &str, from: &str, to: &str| format!("{text}{}", text.replace(from, to));
    for (format, text, one, other) in [
        ("msr", second(MSR, "hm,1", "prn,0"), "hm.1", "prn.0"),
        ("spc", second(SPC, "7,", "9,"), "7", "9"),
        ("alibaba", second(ALIBABA, "419,", "7,"), "419", "7"),
        ("tencent", second(TENCENT, "1063", "1058"), "1063", "1058"),
        ("fiu", second(FIU, " 6 0 ", " 8 1 "), "6:0", "8:1"),
        ("blkparse", second(BLKPARSE, "8,0 ", "8,16"), "8:0", "8:16"),
        ("disksim", second(&disksim(), " 0 ", " 3 "), "0", "3"),
        ("mqsim", second(&mqsim(), " 0 ", " 3 "), "0", "3"),
    ] {
        let error = read(&text, Some(format), None).expect_err("two volumes");
        assert_eq!(error.kind, Kind::Volume, "{error}");
        assert!(error.to_string().contains(&format!("--volume {one}")), "{format}: {error}");
        let chosen = read(&text, Some(format), Some(other)).expect("one of them");
        let both = read(&text, Some(format), Some("*")).expect("both");
        let named = read(&text, Some(format), Some(&format!("{other},{one}"))).expect("both");
        assert_eq!(both.len(), 2 * chosen.len(), "{format}");
        assert_eq!(both, named, "{format}");
        let error = read(&text, Some(format), Some("17")).expect_err("no such volume").to_string();
        assert!(error.contains(&format!("there are: {one}, {other}")), "{format}: {error}");
    }
    for format in ["emmc", "req"] {
        let error = read(EMMC, Some(format), Some("1")).expect_err("no volumes");
        assert!(error.is_usage(), "{error}");
    }
}

#[test]
fn what_could_be_two_formats_is_refused_with_the_choice() {
    // Sizes that are no multiples of eight, and no request continues another.
    let scattered: String = (0..20).map(|n| format!("{n}.5 0 {} 3 1\n", n * 1_001)).collect();
    let error = read(&scattered, None, None).expect_err("sectors or pages").to_string();
    assert!(error.contains("--format disksim") && error.contains("--format flashsim"), "{error}");
    assert!(!error.contains("mqsim"), "a point excludes nanoseconds: {error}");
    let sectors = read(&scattered, Some("disksim"), None).expect("sectors");
    let pages = read(&scattered, Some("flashsim"), None).expect("pages");
    assert_eq!((sectors[0].bytes, pages[0].bytes), (1_536, 12_288));
    // A whole number every second, in milliseconds, or every microsecond.
    let whole = five(80, |_| 8, |_| 8, |n| (n * 1_000).to_string());
    let error = read(&whole, None, None).expect_err("ms or ns").to_string();
    assert!(error.contains("--format disksim") && error.contains("--format mqsim"), "{error}");
}

#[test]
fn steps_and_flags_of_blkparse_are_followed() {
    let text = "\
  8,0    0        1     0.000000000   697  Q FWFS 16 + 8 [jbd2]
  8,0    0        2     0.000001000   697  Q  FN [sync]
  8,0    0        3     0.000002000   697  Q   D 2048 + 1024 [fstrim]
  8,0    0        4     0.000003000   697  Q  DE 4096 + 8 [blkdiscard]
  8,0    0        5     0.000004000   697  Q   R [passthrough]
  8,0    0        6     0.000005000   697  Q  WM 24 + 8 [jbd2]
  8,0    0        7     0.000006000   697  D   W 16 + 16 [jbd2]
  8,0    0        8     0.000009000     0  C   W 16 + 16 [0]
";
    let queued = [
        request(0, Op::Flush, 0, 0),
        request(0, Op::Write, 8_192, 4_096),
        request(1_000, Op::Flush, 0, 0),
        request(2_000, Op::Trim, 2_048 * 512, 1_024 * 512),
        request(3_000, Op::Trim, 4_096 * 512, 4_096),
        request(5_000, Op::Write, 12_288, 4_096),
    ];
    assert_eq!(read(text, None, None).expect("queued"), queued);
    assert_eq!(read(text, Some("blkparse:Q"), None).expect("queued"), queued);
    let issued = [request(0, Op::Write, 8_192, 8_192)];
    assert_eq!(read(text, Some("blkparse:D"), None).expect("issued"), issued);
    assert_eq!(read(text, Some("blkparse:C"), None).expect("completed"), issued);
    let error = read(text, Some("blkparse:X"), None).expect_err("no step");
    assert!(error.is_usage() && error.to_string().contains("Q, D or C"), "{error}");
    let later: String =
        text.lines().filter(|l| !l.contains(" Q ")).fold(String::new(), |t, l| t + l + "\n");
    let (requests, warnings) = told(&later, None, None).expect("issued");
    assert_eq!(requests, issued);
    assert!(warnings[0].contains("blkparse:D"), "{warnings:?}");
    let error = read(&later, Some("blkparse:Q"), None).expect_err("nothing is queued");
    assert_eq!(error.kind, Kind::Empty, "{error}");
    let (offered, tried) = ("--format blkparse:D or blkparse:C", "--format blkparse:Q");
    assert!(error.to_string().contains(offered) && !error.to_string().contains(tried), "{error}");
}

#[test]
fn variants_are_read() {
    let seconds = FIU
        .replace("89968195792462", "89968.195792462")
        .replace("89968196292462", "89968.196292462");
    assert_eq!(read(&seconds, None, None).expect("seconds"), two());
    let without_digest = "1000 7 nfsd 16 8 W 6 0\n501000 7 nfsd 24 8 R 6 0\n";
    assert_eq!(read(without_digest, None, None).expect("no digest"), two());
    let unknown = format!("{SYSTOR}1456095145.14,,,2,0,512\n");
    let (requests, warnings) = told(&unknown, None, None).expect("valid");
    assert_eq!(requests, two());
    assert!(warnings[0].ends_with("read or write: 1"), "{warnings:?}");
    let more = "7,16,4096,w,0.026214,further\n7,24,4096,R,0.026714,columns\n";
    assert_eq!(read(more, None, None).expect("further columns"), two());
    let flags = disksim().replace(" 1\n", " 81\n");
    assert_eq!(
        read(&flags, None, None).expect("hexadecimal"),
        read(&disksim(), None, None).expect("valid")
    );
}

#[test]
fn bad_lines_are_named() {
    for (format, line, kind, what) in [
        ("spc", "7,16,4096,x,0.5", Kind::Syntax, "line 2: the operation 'x'"),
        ("spc", "7,16,4096,w", Kind::Syntax, "line 2: a line is ASU,"),
        ("spc", "7,99999999999999999999,1,w,1.0", Kind::Syntax, "address (column 2)"),
        ("spc", "7,999999999999999999,1,w,1.0", Kind::Range, "past 64 PiB"),
        ("systor", "1,,X,2,0,512", Kind::Syntax, "the operation 'X'"),
        ("systor", "99999999999999,,R,2,0,512", Kind::Range, "the time (column 1)"),
        ("alibaba", "419,R,0,5x,1577808000000626", Kind::Syntax, "the length (column 4)"),
        ("tencent", "1538323200,0,8,2,1063", Kind::Syntax, "the operation '2'"),
        ("tencent", "1538323150,0,8,1,1063", Kind::Order, "within more with --reorder 50s"),
        // More than --reorder allows.
        ("tencent", "1438323150,0,8,1,1063", Kind::Order, "within 10 s; keep the order"),
        ("fiu", "1 2 gzip 16 8 X 6 0", Kind::Syntax, "line 2: a line is 'ns pid"),
        ("blkparse", "  8,0    3   2   0.5", Kind::Syntax, "line 2: an event is"),
        ("blkparse", "8,0 3 2 0.5 697 Q W 16 + x [k]", Kind::Syntax, "the length (behind the +)"),
        ("emmc", "16 8 4096 w 1.0 1.0 1.0 1.0", Kind::Syntax, "the type (column 4)"),
        ("disksim", "1.0 0 16 8 zz", Kind::Syntax, "the operation 'zz'"),
        ("mqsim", "938513000 0 16 8 2", Kind::Syntax, "the operation '2'"),
        ("flashsim", "1.0 0 16 99999999999999999 1", Kind::Range, "the size (column 4)"),
    ] {
        let (_, text) = samples().into_iter().find(|(name, _)| *name == format).expect("a sample");
        // SYSTOR's header is a line of its own.
        let first = text.lines().next().expect("a line");
        let second = text.lines().nth(1).expect("two lines");
        let good = if format == "systor" { format!("{first}\n{second}") } else { first.to_owned() };
        let what =
            if format == "systor" { what.replace("line 2", "line 3") } else { what.to_owned() };
        let error = read(&format!("{good}\n{line}\n"), Some(format), None).expect_err(line);
        assert_eq!(error.kind, kind, "{error}");
        assert!(error.to_string().contains(&what), "{what}: {error}");
    }
    let error = read(SPC, Some("csv:spc"), None).expect_err("a format of its own");
    assert!(error.is_usage() && error.to_string().contains("--format spc"), "{error}");
}
