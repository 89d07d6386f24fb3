//! What serving costs in real time: `cargo bench -p shingle-drive`.
//!
//! Each line is a drive under one load, in nanoseconds a block, cleaning included; the least of a
//! few runs. Run as a test it only goes through the motions.

use shingle_core::units::{Block, Nanos, Op, Zone};
use shingle_drive::{Buffer, Io, Rng, Settings, Timing, make, make_ssd};
use std::time::Instant;

struct Case {
    name: &'static str,
    drive: &'static str,
    timing: Timing,
    /// Buffer in blocks; range of the load in blocks.
    buffer: u64,
    range: u64,
    count: u64,
    reads_of_ten: u64,
}

const fn case(name: &'static str, drive: &'static str, timing: Timing) -> Case {
    Case { name, drive, timing, buffer: 16_384, range: 269_210, count: 1, reads_of_ten: 0 }
}

/// The middle range has the footprint of the cloudPhysics trace that the known answers use.
static CASES: [Case; 16] = [
    case("writes, 1 GB", "sac-emulator", Timing::Cost),
    Case { reads_of_ten: 4, ..case("4 reads in 10, 1 GB", "sac-emulator", Timing::Cost) },
    Case {
        buffer: 150_000,
        range: 60_000_000,
        ..case("writes, 246 GB", "sac-emulator", Timing::Cost)
    },
    case("writes, 1 GB", "pore-emulator", Timing::Cost),
    case("writes, 1 GB", "st8000as0002", Timing::Mechanics),
    Case { reads_of_ten: 4, ..case("4 reads in 10, 1 GB", "st8000as0002", Timing::Mechanics) },
    Case { reads_of_ten: 10, ..case("reads, 1 GB", "st8000as0002", Timing::Mechanics) },
    Case { count: 64, ..case("writes of 256 KiB, 1 GB", "st8000as0002", Timing::Mechanics) },
    case("writes, 1 GB", "ha-roco", Timing::Mechanics),
    Case { reads_of_ten: 4, ..case("4 reads in 10, 1 GB", "ha-roco", Timing::Mechanics) },
    case("writes, 1 GB", "ha-256m", Timing::Mechanics),
    Case { count: 64, ..case("writes of 256 KiB, 1 GB", "ha-256m", Timing::Mechanics) },
    case("writes, 1 GB", "cmr5900", Timing::Mechanics),
    case("writes, 1 GB", "ssd-slc", Timing::Cost),
    Case { range: 891_289, ..case("writes, all of it", "ssd-slc", Timing::Cost) },
    Case { reads_of_ten: 10, ..case("reads, 1 GB", "ssd-slc", Timing::Cost) },
];

/// Seconds for `ios` I/O.
fn run(case: &Case, ios: u64) -> f64 {
    let plain = case.drive.starts_with("cmr") || case.drive.starts_with("ssd");
    let buffer = if plain { Buffer::Real } else { Buffer::Bytes(case.buffer * 4096) };
    let settings = Settings { timing: Some(case.timing), buffer, ..Settings::default() };
    let made = make(case.drive, &settings).or_else(|_| make_ssd(case.drive, &settings));
    let mut drive = made.expect("a drive of the registry");
    // Conventional zones, which are never cleaned, come first.
    let description = drive.description();
    let zones = description.exposed.map_or(0, |exposed| exposed.conventional_zones);
    let first = description.bands.as_ref().map_or(0, |map| map.first_block(Zone(zones)).0);
    let mut rng = Rng::new(1);
    let mut now = Nanos::ZERO;
    let start = Instant::now();
    for _ in 0..ios {
        let op = if rng.below(10) < case.reads_of_ten { Op::Read } else { Op::Write };
        let block = Block(first + rng.below(case.range / case.count) * case.count);
        now = drive.serve(now, &Io { op, block, count: case.count }, &mut []).done;
    }
    start.elapsed().as_secs_f64()
}

fn main() {
    let bench = std::env::args().any(|arg| arg == "--bench");
    for case in &CASES {
        let slow = if case.drive.starts_with("cmr") { 20 } else { 1 };
        let ios = if bench { 5_000_000 } else { 2_000 } / slow / case.count;
        let least = (0..3).map(|_| run(case, ios)).fold(f64::INFINITY, f64::min);
        let each = least * 1e9 / (ios * case.count) as f64;
        println!("{:14} {:26} {each:8.1} ns a block", case.drive, case.name);
    }
}
