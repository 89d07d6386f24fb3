//! Measures how fast formats are decoded from memory, in lines or records a second, and how fast
//! requests are generated and counted.
//!
//! The budgets are 5 million lines of CSV a second, and 40 million requests of the native format;
//! `memcpy` copies the same requests in memory for comparison. `csv_crate` splits and parses the
//! same lines with the csv crate, as evidence for the decision not to use it. Under `cargo test`
//! the input is small and everything runs once.

use divan::Bencher;
use divan::counter::{BytesCount, ItemsCount};
use shingle_core::units::Request;
use shingle_trace::analysis::Analysis;
use shingle_trace::format;
use shingle_trace::input::Input;
use shingle_trace::source::{BATCH_REQUESTS, Source};
use shingle_trace::{OpenOptions, Summary, read_all, write};

fn main() {
    divan::main();
}

fn requests() -> u64 {
    // Cargo passes this to benchmarks and not to tests.
    if std::env::args().any(|arg| arg == "--bench") { 1_000_000 } else { 1_000 }
}

/// Offset and size of a request, similar to those of a real volume.
fn place(request: u64) -> (u64, u64) {
    let mixed = request.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    ((mixed >> 27) / 4096 * 4096, 4096 << (mixed % 5))
}

/// Returns a million lines, or a thousand. `line` writes one, given number, time in µs, offset,
/// bytes and whether it reads.
fn lines(header: &str, line: impl Fn(u64, u64, u64, u64, bool) -> String) -> Vec<u8> {
    let mut text = String::from(header);
    for request in 0..requests() {
        let (offset, bytes) = place(request);
        text += &line(request, request * 791, offset, bytes, request % 3 == 0);
        text.push('\n');
    }
    text.into_bytes()
}

fn text_of(format: &str) -> Vec<u8> {
    match format {
        "spc" => spc(),
        "systor" => systor(),
        "alibaba" => alibaba(),
        "fiu" => fiu(),
        "blkparse" => blkparse(),
        "disksim" => disksim(),
        "mqsim" => mqsim(),
        "emmc" => emmc(),
        other => unreachable!("{other} has no lines here"),
    }
}

fn letter(read: bool) -> char {
    if read { 'R' } else { 'W' }
}

/// Returns seconds with `digits` after the point.
fn seconds(us: u64, digits: usize) -> String {
    let (s, us) = (us / 1_000_000, us % 1_000_000);
    format!("{s}.{us:06}{:0<rest$}", "", rest = digits - 6)
}

fn msr() -> Vec<u8> {
    lines("", |n, _, offset, bytes, read| {
        let (time, op) = (128_166_372_003_061_629 + n * 7_919, if read { "Read" } else { "Write" });
        format!("{time},prxy,1,{op},{offset},{bytes},{}", n % 50_000)
    })
}

fn csv() -> Vec<u8> {
    lines("time_us,op,offset_bytes,size_bytes\n", |_, us, offset, bytes, read| {
        format!("{us},{},{offset},{bytes}", letter(read))
    })
}

fn spc() -> Vec<u8> {
    lines("", |_, us, offset, bytes, read| {
        format!("0,{},{bytes},{},{}", offset / 512, letter(read), seconds(us, 6))
    })
}

fn systor() -> Vec<u8> {
    lines("Timestamp,Response,IOType,LUN,Offset,Size\n", |_, us, offset, bytes, read| {
        let time = seconds(1_456_095_145_000_000 + us, 9);
        format!("{time},0.000806000,{},0,{offset},{bytes}", letter(read))
    })
}

fn alibaba() -> Vec<u8> {
    lines("", |_, us, offset, bytes, read| {
        format!("419,{},{offset},{bytes},{}", letter(read), 1_577_808_000_000_626 + us)
    })
}

/// Lines of sixteen volumes.
fn tencent() -> Vec<u8> {
    lines("", |n, us, offset, bytes, read| {
        let (s, offset, sectors) = (1_538_323_200 + us / 1_000_000, offset / 512, bytes / 512);
        format!("{s},{offset},{sectors},{},{}", u8::from(!read), 1058 + n % 16)
    })
}

fn fiu() -> Vec<u8> {
    lines("", |_, us, offset, bytes, read| {
        let (ns, sector, sectors) = (89_968_195_792_462 + us * 1_000, offset / 512, bytes / 512);
        let digest = "56f11b711d91a065a2b6458eca924523";
        format!("{ns} 20782 gzip {sector} {sectors} {} 6 0 {digest}", letter(read))
    })
}

fn blkparse() -> Vec<u8> {
    lines("", |n, us, offset, bytes, read| {
        let (time, sector, sectors) = (seconds(us, 9), offset / 512, bytes / 512);
        let op = letter(read);
        format!("  8,0    3 {n:>8} {time:>15}   697  Q   {op} {sector} + {sectors} [kjournald]")
    })
}

fn disksim() -> Vec<u8> {
    lines("", |_, us, offset, bytes, read| {
        let (ms, us) = (us / 1_000, us % 1_000);
        format!("{ms}.{us:03}000 0 {} {} {}", offset / 512, bytes / 512, u8::from(read))
    })
}

fn mqsim() -> Vec<u8> {
    lines("", |_, us, offset, bytes, read| {
        format!("{} 0 {} {} {}", us * 1_000, offset / 512, bytes / 512, u8::from(read))
    })
}

fn emmc() -> Vec<u8> {
    lines("", |_, us, offset, bytes, read| {
        let time = seconds(1_398_396_860_000_000 + us, 9);
        let (sector, sectors, kind) = (offset / 512, bytes / 512, if read { 4 } else { 5 });
        format!(
            "{sector}\t\t{sectors}\t\t{bytes}\t\t{kind}\t\t{time}\t\t{time}\t\t{time}\t\t{time}"
        )
    })
}

fn vscsi() -> Vec<u8> {
    let mut bytes = Vec::new();
    for request in 0..requests() {
        let (offset, size) = place(request);
        bytes.extend_from_slice(&(request as u32).to_le_bytes());
        bytes.extend_from_slice(&(size as u32).to_le_bytes());
        bytes.extend_from_slice(&1_u32.to_le_bytes());
        bytes.extend_from_slice(&(if request % 3 == 0 { 0x28_u16 } else { 0x2a }).to_le_bytes());
        bytes.extend_from_slice(&0x0100_u16.to_le_bytes());
        bytes.extend_from_slice(&(offset / 512).to_le_bytes());
        bytes.extend_from_slice(&(request * 791).to_le_bytes());
    }
    bytes
}

fn native() -> Vec<u8> {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("a.shingle");
    let mut sink = write::create(path.to_str().expect("text"), None).expect("made");
    sink.put(&all(csv(), "csv")).expect("written");
    sink.finish().expect("whole");
    std::fs::read(path).expect("there")
}

fn opened(bytes: Vec<u8>, format: &str, volume: Option<&str>) -> Box<dyn Source> {
    let input = Input::from_bytes("bench", bytes).expect("not empty");
    format::open(input, &OpenOptions::of(Some(format), volume)).expect("its own format").1
}

fn all(bytes: Vec<u8>, format: &str) -> Vec<Request> {
    read_all(&mut *opened(bytes, format, None), &mut |_| {}).expect("valid")
}

fn synthetic() -> Vec<Request> {
    let spec = format!("synth:mixed?requests={}", requests());
    let (_, mut source) = shingle_trace::synth::open(&spec, 1).expect("built in");
    read_all(&mut *source, &mut |_| {}).expect("valid")
}

/// Reads everything, and returns a checksum so that nothing can be optimised away.
fn decode(bytes: Vec<u8>, format: &str) -> u64 {
    decode_volumes(bytes, format, None)
}

fn decode_volumes(bytes: Vec<u8>, format: &str, volume: Option<&str>) -> u64 {
    let mut source = opened(bytes, format, volume);
    let mut batch = Vec::with_capacity(BATCH_REQUESTS);
    let mut sum = 0_u64;
    while source.fill(&mut batch).expect("valid") {
        for request in &batch {
            sum = sum
                .wrapping_add(request.at.0)
                .wrapping_add(request.offset ^ request.bytes)
                .rotate_left(request.op as u32);
        }
    }
    sum
}

fn bench(bencher: Bencher<'_, '_>, bytes: &[u8], decode: impl Fn(Vec<u8>) -> u64 + Sync) {
    let size = bytes.len();
    bencher
        .with_inputs(|| bytes.to_vec())
        .input_counter(move |_| BytesCount::new(size))
        .counter(ItemsCount::new(requests()))
        .bench_values(decode);
}

#[divan::bench]
fn msr_lines(bencher: Bencher<'_, '_>) {
    bench(bencher, &msr(), |bytes| decode(bytes, "msr"));
}

#[divan::bench]
fn csv_lines(bencher: Bencher<'_, '_>) {
    bench(bencher, &csv(), |bytes| decode(bytes, "csv"));
}

#[divan::bench]
fn csv_lines_of_blanks_and_fractions(bencher: Bencher<'_, '_>) {
    let map = "csv:time=1/ms,offset=3/sectors,size=4/sectors,op=5,read=1,write=0,delim=space";
    bench(bencher, &disksim(), |bytes| decode(bytes, map));
}

#[divan::bench(args = ["spc", "systor", "alibaba", "fiu", "blkparse", "disksim", "mqsim", "emmc"])]
fn text_lines(bencher: Bencher<'_, '_>, format: &str) {
    bench(bencher, &text_of(format), |bytes| decode(bytes, format));
}

#[divan::bench]
fn tencent_lines_of_all_volumes(bencher: Bencher<'_, '_>) {
    bench(bencher, &tencent(), |bytes| decode_volumes(bytes, "tencent", Some("*")));
}

/// Only finds line ends and commas, which every reader has to do.
#[divan::bench]
fn msr_lines_split(bencher: Bencher<'_, '_>) {
    bench(bencher, &msr(), |bytes| {
        memchr::memchr2_iter(b',', b'\n', &bytes).fold(0, |sum, at| sum ^ at as u64)
    });
}

#[divan::bench]
fn vscsi_records(bencher: Bencher<'_, '_>) {
    bench(bencher, &vscsi(), |bytes| decode(bytes, "vscsi"));
}

#[divan::bench]
fn native_requests(bencher: Bencher<'_, '_>) {
    bench(bencher, &native(), |bytes| decode(bytes, "native"));
}

/// Copies as many requests as `native_requests` decodes, batch by batch, in memory.
#[divan::bench]
fn memcpy(bencher: Bencher<'_, '_>) {
    let all = all(csv(), "csv");
    let size = size_of_val(&all[..]);
    bencher.counter(BytesCount::new(size)).counter(ItemsCount::new(requests())).bench(|| {
        let mut batch = Vec::with_capacity(BATCH_REQUESTS);
        for part in divan::black_box(&all).chunks(BATCH_REQUESTS) {
            batch.clear();
            batch.extend_from_slice(part);
            divan::black_box(&batch);
        }
    });
}

#[divan::bench]
fn csv_written(bencher: Bencher<'_, '_>) {
    written(bencher, "csv");
}

#[divan::bench]
fn native_written(bencher: Bencher<'_, '_>) {
    written(bencher, "native");
}

fn written(bencher: Bencher<'_, '_>, format: &str) {
    let all = all(csv(), "csv");
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("a");
    bencher.counter(ItemsCount::new(requests())).bench(|| {
        let path = path.to_str().expect("text");
        let mut sink = write::create(path, Some(format)).expect("made");
        sink.put(&all).expect("written");
        sink.finish().expect("whole");
    });
}

#[divan::bench]
fn synthetic_requests(bencher: Bencher<'_, '_>) {
    bencher.counter(ItemsCount::new(requests())).bench(|| synthetic().len());
}

#[divan::bench]
fn summary_of_requests(bencher: Bencher<'_, '_>) {
    let all = synthetic();
    bencher
        .counter(ItemsCount::new(requests()))
        .bench(|| Summary::of(divan::black_box(&all)).distinct_blocks);
}

/// Everything in `trace info` except the summary; mostly distances.
#[divan::bench]
fn analysis_of_requests(bencher: Bencher<'_, '_>) {
    let all = synthetic();
    bencher
        .counter(ItemsCount::new(requests()))
        .bench(|| Analysis::of(divan::black_box(&all), &mut |_| {}).reuse.all.accesses());
}

/// Parses the same numbers as `csv_lines`, without checks.
#[divan::bench]
fn csv_crate(bencher: Bencher<'_, '_>) {
    bench(bencher, &csv(), |bytes| {
        let mut reader = csv::ReaderBuilder::new().from_reader(&bytes[..]);
        let mut record = csv::ByteRecord::new();
        let mut sum = 0_u64;
        while reader.read_byte_record(&mut record).expect("valid") {
            let number = |column: usize| -> u64 {
                let text = std::str::from_utf8(&record[column]).expect("digits");
                text.parse().expect("digits")
            };
            let op = u64::from(&record[1] == b"W");
            sum = sum.wrapping_add(number(0)).wrapping_add(number(2) ^ number(3)).wrapping_add(op);
        }
        sum
    });
}
