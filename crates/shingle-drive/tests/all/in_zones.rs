//! A disk without zones that is written in zones.

use shingle_core::units::{BLOCK_BYTES, Block, Nanos, Op, Zone};
use shingle_drive::{
    Buffer, Drive, Io, Overrides, Rule, Settings, Stamp, Zoned, costs_in_zones, in_zones, make,
};

/// Blocks of a zone of 256 MiB.
const ZONE: u64 = 65_536;

fn written_in_zones(name: &str) -> Box<dyn Drive> {
    let made = || make(name, &Settings::default()).expect("a drive");
    in_zones(made(), ZONE, 2, costs_in_zones(made(), ZONE))
}

fn zoned(drive: &mut dyn Drive) -> &mut dyn Zoned {
    drive.zoned().expect("it has zones")
}

/// Fills a zone in appends of 512 KiB. Returns when that is done.
fn fill(drive: &mut dyn Drive, zone: Zone, mut now: Nanos) -> Nanos {
    for _ in 0..ZONE / 128 {
        now = zoned(drive).append(now, zone, 128, &mut []).expect("room").1.done;
    }
    now
}

#[test]
fn a_zone_is_written_at_its_pointer_and_the_conventional_ones_anywhere() {
    let mut drive = written_in_zones("st8000as0002");
    let write = |block| Io { op: Op::Write, block: Block(block), count: 8 };
    let mut refused = |block| {
        let refused = zoned(drive.as_mut()).try_serve(Nanos::ZERO, &write(block), &mut []);
        refused.err().map(|refused| refused.rule)
    };
    assert_eq!(refused(ZONE), None, "a conventional zone");
    assert_eq!(refused(2 * ZONE), None, "the first block of a zone");
    assert_eq!(refused(2 * ZONE + 8), None, "behind that");
    assert_eq!(refused(2 * ZONE + 8), Some(Rule::AtPointer), "once more");
    assert_eq!(refused(3 * ZONE + 8), Some(Rule::AtPointer));
    assert_eq!(zoned(drive.as_mut()).zone(Zone(2)).write_pointer, 16);
    let disk_blocks = drive.description().disk_blocks;
    assert_eq!(disk_blocks % ZONE, 0);
    assert_eq!(disk_blocks / ZONE, 8_001_563_222_016 / BLOCK_BYTES / ZONE);
}

#[test]
fn beyond_its_pointer_a_zone_reads_as_zeros_whatever_the_disk_holds_there() {
    let mut drive = written_in_zones("cmr5900");
    let mut stamps: Vec<Stamp> = (1..=4).collect();
    let zone = Zone(5);
    let appended = zoned(drive.as_mut()).append(Nanos::ZERO, zone, 4, &mut stamps).expect("room");
    let (first, mut now) = (appended.0, appended.1.done);
    assert_eq!(first, Block(5 * ZONE));
    let read = Io { op: Op::Read, block: Block(first.0 - 1), count: 6 };
    let mut found = [Stamp::MAX; 6];
    now = drive.serve(now, &read, &mut found).done;
    assert_eq!(found, [0, 1, 2, 3, 4, 0]);
    // The old data is still on the disk after a reset, and behind a write that replaces part of it.
    now = zoned(drive.as_mut()).reset(now, zone).expect("sequential").done;
    now = zoned(drive.as_mut()).append(now, zone, 1, &mut [9]).expect("room").1.done;
    drive.serve(now, &read, &mut found);
    assert_eq!(found, [0, 9, 0, 0, 0, 0]);
    let beyond = Io { op: Op::Read, block: Block(first.0 + 100), count: 50 };
    assert_eq!(drive.serve(now, &beyond, &mut []).done, now, "the disk is not asked");
}

/// Seven zones of 256 MiB lie over some 47 bands of 40 MB. The first and last band of each zone are
/// shared with its neighbours, where the run goes on.
#[test]
fn a_drive_managed_disk_that_is_written_so_cleans_nothing() {
    let mut drive = written_in_zones("st8000as0002");
    let mut now = Nanos::ZERO;
    for zone in 2..9 {
        now = fill(drive.as_mut(), Zone(zone), now);
    }
    let counters = *drive.counters();
    assert_eq!((counters.rmw, counters.rmw_free), (0, 0));
    assert!((44..=48).contains(&counters.in_order_bands), "{}", counters.in_order_bands);
    // What is not in its band yet is part of the first band and of the last.
    let pending = drive.buffer().pending_blocks();
    assert!(pending < 2 * 40_960_000 / BLOCK_BYTES, "{pending} blocks");
    // Written by turns, the zones interrupt each other, and the buffer gets what bands lack.
    let mut drive = written_in_zones("st8000as0002");
    for at in 0..ZONE / 128 * 2 {
        let zone = Zone(2 + (at % 2) as u32);
        now = zoned(drive.as_mut()).append(now, zone, 128, &mut []).expect("room").1.done;
    }
    assert_eq!(drive.counters().in_order_bands, 0);
    assert_eq!(drive.buffer().pending_blocks(), 2 * ZONE);
}

#[test]
fn hosts_plan_with_the_way_to_the_log_and_twelve_passes() {
    for name in ["st8000as0002", "cmr7200"] {
        let mut disk = make(name, &Settings::default()).expect("a drive");
        let mut now = Nanos::ZERO;
        for block in (0..ZONE).step_by(128) {
            let io = Io { op: Op::Write, block: Block(block), count: 128 };
            now = disk.serve(now, &io, &mut []).done;
        }
        let costs = written_in_zones(name).description().costs;
        let read = disk.description().costs.read;
        assert_eq!((costs.read, costs.rmw_base), (read, read), "{name}");
        assert_eq!(costs.rmw_per_block.0, 12 * now.0 / ZONE, "{name}");
        // Of a modern disk a block of 4 KiB takes some 20 to 40 us.
        assert!((200..500).contains(&(costs.rmw_per_block.0 / 1000)), "{name}: {costs:?}");
    }
}

/// Zones of a host-aware disk are reset before they are written, so what they held costs nothing.
#[test]
fn a_host_plans_alike_whether_a_host_aware_disk_holds_data_or_not() {
    let costs = |filled| {
        let overrides = Overrides::new().with("filled", filled);
        // (It is scaled with the data, as for a short trace.)
        let buffer = Buffer::Bytes(20 << 20);
        let drive = make("ha-roco", &Settings { overrides, buffer, ..Settings::default() });
        costs_in_zones(drive.expect("a drive"), ZONE)
    };
    let (empty, full) = (costs("off"), costs("on"));
    assert_eq!(full.read, empty.read);
    let (empty, full) = (empty.rmw_per_block.0, full.rmw_per_block.0);
    // (A reset of each zone of 16 MiB is in it.)
    assert!(empty <= full && full < empty + empty / 10, "{empty} and {full} ns");
}
