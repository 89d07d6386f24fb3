//! Serving allocates nothing once a drive is made.

use shingle_core::units::{Block, Nanos, Op, Zone};
use shingle_drive::{Buffer, Io, Overrides, Rng, Settings, drives, make, make_ssd, ssds};

#[test]
fn serving_allocates_nothing() {
    for entry in drives().iter().chain(ssds()) {
        let managed = make(entry.name, &Settings::default()).is_ok_and(|drive| {
            drive.description().exposed.is_some_and(|zones| zones.sequential_required)
        });
        let buffer =
            if entry.shingled && !managed { Buffer::Bytes(4096 * 5000) } else { Buffer::Real };
        let flash = entry.name == "ssd-slc";
        // Small enough to collect garbage.
        let overrides = Overrides::new();
        let inside = entry.name.contains('+');
        let overrides = match entry.name {
            _ if flash => overrides.with("blocks_per_unit", "256"),
            _ if inside => overrides.with("flash_bytes", "67108864"),
            _ if managed => overrides.with("open_zones", "8"),
            _ => overrides,
        };
        let settings = Settings { buffer, overrides, ..Settings::default() };
        let made = make(entry.name, &settings).or_else(|_| make_ssd(entry.name, &settings));
        let mut drive = made.expect(entry.name).copy();
        // Conventional zones, which are never cleaned, come first.
        let description = drive.description();
        let zones = description.exposed.map_or(0, |exposed| exposed.conventional_zones);
        let first = description.bands.as_ref().map_or(0, |map| map.first_block(Zone(zones)).0);
        let blocks = (drive.description().disk_blocks - first).min(2_000_000) - 128;
        let mut rng = Rng::new(5);
        let mut now = Nanos::ZERO;
        let measured = allocation_counter::measure(|| {
            for turn in 0u64..30_000 {
                let op = match rng.below(20) {
                    0 => Op::Flush,
                    1 => Op::Trim,
                    2..8 => Op::Read,
                    _ => Op::Write,
                };
                // Runs in order too, over whole bands.
                let block =
                    if turn % 3000 < 500 { turn % 3000 * 128 % blocks } else { rng.below(blocks) };
                let count = if turn % 3000 < 500 { 128 } else { 1 + rng.below(16) };
                let io = Io { op, block: Block(first + block), count };
                now = match drive.zoned().filter(|_| managed && op == Op::Write) {
                    Some(zoned) => {
                        let zone = Zone(zones + rng.below(100) as u32);
                        match zoned.append(now, zone, 64, &mut []) {
                            Ok((_, served)) => served.done,
                            Err(_) => zoned.reset(now, zone).expect("it was full").done,
                        }
                    }
                    None => drive.serve(now, &io, &mut []).done,
                };
                if let Some(end) = drive.background(now, now, &[]) {
                    now = end;
                }
            }
        });
        assert_eq!(measured.count_total, 0, "{}", entry.name);
        let work = if managed { drive.counters().zone_closes } else { drive.counters().rmw };
        assert!(!entry.shingled || work > 0, "{} has closed zones or cleaned", entry.name);
        assert!(!inside || drive.counters().flash_blocks_erased > 64, "{} has erased", entry.name);
        assert!(!flash || drive.counters().pages_copied > 0, "{} has collected", entry.name);
    }
}
