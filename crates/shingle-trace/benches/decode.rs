//! Decoding speed: lines and records a second, from memory; and how fast requests are made and
//! counted.
//!
//! The budget is 5 million lines of CSV a second. `csv_crate` splits and parses the same lines
//! with the csv crate, for the decision to split lines with own code. Under `cargo test` the input
//! is small and everything runs once.

use std::fmt::Write as _;

use divan::Bencher;
use divan::counter::{BytesCount, ItemsCount};
use shingle_trace::analysis::Analysis;
use shingle_trace::format;
use shingle_trace::input::Input;
use shingle_trace::source::BATCH_REQUESTS;
use shingle_trace::{OpenOptions, Summary, read_all};

fn main() {
    divan::main();
}

fn requests() -> u64 {
    // Cargo passes this to benchmarks and not to tests.
    if std::env::args().any(|arg| arg == "--bench") { 1_000_000 } else { 1_000 }
}

/// Offset and size of a request that look like those of a real volume.
fn place(request: u64) -> (u64, u64) {
    let mixed = request.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    ((mixed >> 27) / 4096 * 4096, 4096 << (mixed % 5))
}

fn msr() -> Vec<u8> {
    let mut text = String::new();
    for request in 0..requests() {
        let (offset, bytes) = place(request);
        let time = 128_166_372_003_061_629 + request * 7_919;
        let op = if request % 3 == 0 { "Read" } else { "Write" };
        writeln!(text, "{time},prxy,1,{op},{offset},{bytes},{}", request % 50_000).expect("memory");
    }
    text.into_bytes()
}

fn csv() -> Vec<u8> {
    let mut text = String::from("time_us,op,offset_bytes,size_bytes\n");
    for request in 0..requests() {
        let (offset, bytes) = place(request);
        let op = if request % 3 == 0 { "R" } else { "W" };
        writeln!(text, "{},{op},{offset},{bytes}", request * 791).expect("memory");
    }
    text.into_bytes()
}

fn blanks() -> Vec<u8> {
    let mut text = String::new();
    for request in 0..requests() {
        let (offset, bytes) = place(request);
        let time = request * 791;
        let (ms, us) = (time / 1_000, time % 1_000);
        let flag = u8::from(request % 3 == 0);
        writeln!(text, "{ms}.{us:03}000 0 {} {} {flag}", offset / 512, bytes / 512)
            .expect("memory");
    }
    text.into_bytes()
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

/// Reads all of it, and sums up what was read so that nothing can be left out.
fn decode(bytes: Vec<u8>, format: &str) -> u64 {
    let input = Input::from_bytes("bench", bytes).expect("not empty");
    let (_, mut source) =
        format::open(input, &OpenOptions::of(Some(format), None)).expect("its own format");
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
    bench(bencher, &blanks(), |bytes| decode(bytes, "csv:disksim"));
}

#[divan::bench]
fn vscsi_records(bencher: Bencher<'_, '_>) {
    bench(bencher, &vscsi(), |bytes| decode(bytes, "vscsi"));
}

#[divan::bench]
fn synthetic_requests(bencher: Bencher<'_, '_>) {
    let spec = format!("synth:mixed?requests={}", requests());
    bencher.counter(ItemsCount::new(requests())).bench(|| {
        let (_, mut source) = shingle_trace::synth::open(&spec, 1).expect("built in");
        read_all(&mut *source, &mut |_| {}).expect("valid").len()
    });
}

#[divan::bench]
fn summary_of_requests(bencher: Bencher<'_, '_>) {
    let spec = format!("synth:mixed?requests={}", requests());
    let (_, mut source) = shingle_trace::synth::open(&spec, 1).expect("built in");
    let all = read_all(&mut *source, &mut |_| {}).expect("valid");
    bencher
        .counter(ItemsCount::new(requests()))
        .bench(|| Summary::of(divan::black_box(&all)).distinct_blocks);
}

/// All of `trace info` but the summary, most of it for distances.
#[divan::bench]
fn analysis_of_requests(bencher: Bencher<'_, '_>) {
    let spec = format!("synth:mixed?requests={}", requests());
    let (_, mut source) = shingle_trace::synth::open(&spec, 1).expect("built in");
    let all = read_all(&mut *source, &mut |_| {}).expect("valid");
    bencher
        .counter(ItemsCount::new(requests()))
        .bench(|| Analysis::of(divan::black_box(&all), &mut |_| {}).reuse.all.accesses());
}

/// The same numbers as `csv_lines`, without any checks.
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
