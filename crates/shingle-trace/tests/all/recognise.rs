//! A trace is never silently read in a wrong format: any part of a trace is recognised in the
//! format of the whole, or refused with that format among the choices.

use proptest::prelude::*;
use proptest::sample::select;
use shingle_trace::input::Input;
use shingle_trace::{Evidence, OpenOptions, Recognised, TraceError, format};

/// A request, in sectors and milliseconds; each format writes it in its own units.
#[derive(Clone, Copy, Debug)]
struct Made {
    ms: u64,
    write: bool,
    sector: u64,
    sectors: u64,
}

/// Text formats, and how each writes a request. FlashSim's rounds up to pages.
type Line = fn(&Made) -> String;
const FORMATS: &[(&str, &str, Line)] = &[
    ("msr", "", |r| {
        let (op, ticks) = (if r.write { "Write" } else { "Read" }, r.ms * 10_000);
        format!(
            "{},hm,1,{op},{},{},9",
            128_166_372_003_061_629 + ticks,
            r.sector * 512,
            r.sectors * 512
        )
    }),
    ("spc", "", |r| {
        let op = if r.write { 'w' } else { 'r' };
        format!("0,{},{},{op},{}.{:03}000", r.sector, r.sectors * 512, r.ms / 1_000, r.ms % 1_000)
    }),
    ("systor", "Timestamp,Response,IOType,LUN,Offset,Size\n", |r| {
        let op = if r.write { 'W' } else { 'R' };
        let (s, ms) = (1_456_095_145 + r.ms / 1_000, r.ms % 1_000);
        format!("{s}.{ms:03}000000,0.0008,{op},0,{},{}", r.sector * 512, r.sectors * 512)
    }),
    ("alibaba", "", |r| {
        let op = if r.write { 'W' } else { 'R' };
        let us = 1_577_808_000_000_626 + r.ms * 1_000;
        format!("419,{op},{},{},{us}", r.sector * 512, r.sectors * 512)
    }),
    ("tencent", "", |r| {
        let op = u8::from(r.write);
        format!("{},{},{},{op},1063", 1_538_323_200 + r.ms / 1_000, r.sector, r.sectors)
    }),
    ("fiu", "", |r| {
        let op = if r.write { 'W' } else { 'R' };
        let ns = 89_968_195_792_462 + r.ms * 1_000_000;
        format!(
            "{ns} 20782 gzip {} {} {op} 6 0 56f11b711d91a065a2b6458eca924523",
            r.sector, r.sectors
        )
    }),
    ("blkparse", "", |r| {
        let op = if r.write { 'W' } else { 'R' };
        let (s, ms) = (r.ms / 1_000, r.ms % 1_000);
        format!("  8,0 3 1 {s}.{ms:03}000000 697 Q {op} {} + {} [cp]", r.sector, r.sectors)
    }),
    ("emmc", "", |r| {
        let (s, ms) = (1_398_396_860 + r.ms / 1_000, r.ms % 1_000);
        let time = format!("{s}.{ms:03}000000");
        let kind = 4 + u8::from(r.write);
        format!("{} {} {} {kind} {time} {time} {time} {time}", r.sector, r.sectors, r.sectors * 512)
    }),
    ("req", "", |r| format!("{} 0 {}", u8::from(r.write), r.sector / 8)),
    ("csv", "time_ms,op,sector,sectors\n", |r| {
        let op = if r.write { 'W' } else { 'R' };
        format!("{},{op},{},{}", r.ms, r.sector, r.sectors)
    }),
    ("disksim", "", |r| {
        format!("{}.{:03} 0 {} {} {}", r.ms, 0, r.sector, r.sectors, u8::from(!r.write))
    }),
    // As written by tools that cut fractions off.
    ("disksim", "", |r| format!("{} 0 {} {} {}", r.ms, r.sector, r.sectors, u8::from(!r.write))),
    ("flashsim", "", |r| {
        let pages = r.sectors.div_ceil(8);
        format!("{}.{:03} 0 {} {pages} {}", r.ms, 0, r.sector, u8::from(!r.write))
    }),
    ("flashsim", "", |r| {
        format!("{} 0 {} {} {}", r.ms, r.sector, r.sectors.div_ceil(8), u8::from(!r.write))
    }),
    ("mqsim", "", |r| {
        let ns = 938_513_000 + r.ms * 315_000;
        format!("{ns} 0 {} {} {}", r.sector, r.sectors, u8::from(!r.write))
    }),
];

fn recognised(text: &str) -> Result<Recognised, TraceError> {
    let input = Input::from_bytes("t", text)?;
    format::open(input, &OpenOptions::default()).map(|(recognised, _)| recognised)
}

/// Checks that it is recognised, or refused with its format among the choices.
fn check(name: &str, text: &str) {
    match recognised(text) {
        Ok(found) => assert_eq!(found.name, name, "silently read as another:\n{text}"),
        Err(error) => {
            let told = error.to_string();
            let offered = told.contains(&format!("--format {name}"))
                || told.split("for one of ").nth(1).is_some_and(|list| list.contains(name));
            assert!(offered, "{name} is not among the choices: {told}\n{text}");
        }
    }
}

/// The shape of a workload: its random parts, and its alignment.
#[derive(Clone, Debug)]
struct Workload {
    requests: Vec<(u64, bool, bool, u64, u64)>,
    /// Milliseconds between bursts.
    pace_ms: u64,
    align: u64,
    constant: Option<u64>,
}

impl Workload {
    fn made(&self) -> Vec<Made> {
        let (mut ms, mut next) = (0, 64 * self.align);
        let mut made = Vec::new();
        for &(pause, write, goes_on, at, size) in &self.requests {
            ms += match pause {
                0..4 => pause,
                pause => pause * self.pace_ms,
            };
            let sectors = self.constant.unwrap_or(size) * self.align;
            let sector = if goes_on { next } else { at * self.align };
            next = sector + sectors;
            made.push(Made { ms, write, sector, sectors });
        }
        made
    }
}

fn workload() -> impl Strategy<Value = Workload> {
    let request = (0_u64..12, any::<bool>(), any::<bool>(), 0_u64..1 << 24, 1_u64..40);
    (
        prop::collection::vec(request, 1..300),
        select(vec![1_u64, 5, 60, 10_000, 600_000]),
        select(vec![1_u64, 8, 64]),
        prop::option::of(1_u64..64),
    )
        .prop_map(|(requests, pace_ms, align, constant)| Workload {
            requests,
            pace_ms,
            align,
            constant,
        })
}

/// The part of a trace that is kept.
#[derive(Clone, Copy, Debug)]
enum Kept {
    All,
    Reads,
    Writes,
    First(usize),
    Every(usize),
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn no_part_of_a_trace_is_taken_for_another_format(
        workload in workload(),
        kept in select(vec![
            Kept::All, Kept::Reads, Kept::Writes, Kept::First(1), Kept::First(10), Kept::Every(2),
            Kept::Every(7),
        ]),
    ) {
        let made = workload.made();
        let kept: Vec<&Made> = made.iter().enumerate().filter(|(at, made)| match kept {
            Kept::All => true,
            Kept::Reads => !made.write,
            Kept::Writes => made.write,
            Kept::First(count) => *at < count,
            Kept::Every(count) => at % count == 0,
        }).map(|(_, made)| made).collect();
        if !kept.is_empty() {
            for (name, header, line) in FORMATS {
                let lines: Vec<String> = kept.iter().map(|made| line(made)).collect();
                check(name, &format!("{header}{}\n", lines.join("\n")));
            }
        }
    }
}

/// A run with one operation left out has requests at equal distances, which fit pages and sectors
/// equally well.
#[test]
fn half_of_a_run_is_not_taken_for_another_format() {
    for size in 1..70 {
        for step in 1..9 {
            let lines = |name: &str, ms: u64| -> String {
                let line = FORMATS.iter().find(|format| format.0 == name).expect("listed").2;
                let made =
                    |n| Made { ms: n * ms, write: true, sector: n * size * step, sectors: size };
                (0..200).map(|n| line(&made(n)) + "\n").collect()
            };
            for ms in [1, 300, 20_000] {
                for name in ["disksim", "flashsim", "mqsim"] {
                    check(name, &lines(name, ms));
                }
            }
        }
    }
}

#[test]
fn evidence_is_told() {
    let told = |text: &str| recognised(text).expect("recognised").to_string();
    let msr = "128166372003061629,hm,1,Read,8110592,4096,1331\n";
    assert_eq!(
        told(&msr.repeat(3)),
        "msr, MSR Cambridge CSV (3 of the first 3 lines fit this format and no other)"
    );
    assert_eq!(
        told(&format!(
            "Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime\n{msr}{msr}broken\n"
        )),
        "msr, MSR Cambridge CSV (by its header; only 2 of the first 3 lines fit)"
    );
    assert_eq!(
        told("time_us,op,offset_bytes,size_bytes\n1,R,0,512\n"),
        "csv, text columns (by its header; the only line fits)"
    );
    let iolog = recognised("fio version 3 iolog\n0 /dev/sdb add\n5 /dev/sdb write 0 4096\n");
    assert_eq!(iolog.expect("recognised").evidence, Evidence::Magic);
    let input = Input::from_bytes("t", msr).expect("text");
    let (named, _) = format::open(input, &OpenOptions::of(Some("msr"), None)).expect("msr");
    assert_eq!(named.evidence, Evidence::Explicit);
}

/// The start is aligned and of one size, which fits both formats; a later part decides.
#[test]
fn more_than_the_head_of_a_file_decides() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut text: String =
        (0..20_000).map(|n| format!("{n}.5 0 {} 8 1\n", n * 7_919 % 100_000 * 64)).collect();
    let head = recognised(&text).expect_err("8 pages or 8 sectors").to_string();
    assert!(head.contains("--format disksim") && head.contains("--format flashsim"), "{head}");
    let mut sector = 3;
    for n in 20_000..100_000 {
        let sectors = 1 + n % 29;
        text += &format!("{n}.5 0 {sector} {sectors} 1\n");
        sector += sectors;
    }
    let path = folder.path().join("long.txt");
    std::fs::write(&path, &text).expect("written");
    let path = path.to_str().expect("text");
    let opened = shingle_trace::open(path, &OpenOptions::default()).expect("told further on");
    assert_eq!(opened.recognised.name, "disksim");
    assert_eq!(recognised(&text).expect("told in the first MiB").name, "disksim");
}

/// The columns of a known format in other units are not read in its own units.
#[test]
fn odd_units_are_refused_with_the_map_that_reads_them() {
    let lines = |line: &dyn Fn(u64) -> String| (0..40).map(|n| line(n) + "\n").collect::<String>();
    for (name, text, map) in [
        ("spc", lines(&|n| format!("0,{},4096,w,{}", n * 77, n * 13)), "time=5/ms"),
        ("spc", lines(&|n| format!("0,{},8,w,{n}.5", n * 77)), "size=3/sectors"),
        ("spc", lines(&|n| format!("0,{},4096,w,{n}.5", n * 7 * 4_096)), "offset=2/bytes"),
        (
            "tencent",
            lines(&|n| format!("{},{},4096,1,1063", 1_538_323_200 + n, n * 7 * 4_096)),
            "offset=2/bytes,size=3/bytes",
        ),
    ] {
        let error = recognised(&text).expect_err(name).to_string();
        assert!(error.contains(&format!("--format {name}")) && error.contains(map), "{error}");
        // The suggested option can be used as it is, without the remarks behind it.
        let offered = error.rsplit("--format ").next().expect("a map").split(' ').next();
        let input = Input::from_bytes("t", text.clone()).expect("text");
        format::open(input, &OpenOptions::of(offered, None)).expect("a map");
        let input = Input::from_bytes("t", text).expect("text");
        format::open(input, &OpenOptions::of(Some(name), None)).expect("as told");
    }
}
