//! The host-aware disks, worked out by hand: block by block as in the figures of ROCO.

use shingle_core::units::{Block, Nanos, Op, Zone};
use shingle_drive::{
    Buffer, Condition, Drive, Io, Overrides, Rng, Rule, Settings, Stamp, Timing, ZoneInfo, make,
};

const BLOCK: u64 = 4096;

/// Ten zones of `zone` blocks after `logs` log zones of `log` blocks.
fn drive(zone: u64, (logs, log): (u64, u64), overrides: &[(&str, &str)]) -> Box<dyn Drive> {
    let mut all = Overrides::new()
        .with("zone_bytes", &(zone * BLOCK).to_string())
        .with("log_zones", &logs.to_string())
        .with("capacity_bytes", &((10 + logs) * zone * BLOCK).to_string());
    overrides.iter().for_each(|(name, value)| all.set(name, value));
    let buffer = Buffer::Bytes(logs * log * BLOCK);
    let settings = Settings { buffer, overrides: all, ..Settings::default() };
    make("ha-roco", &settings).expect("the drive")
}

fn io(drive: &mut dyn Drive, op: Op, block: u64, data: &mut [Stamp]) {
    let count = data.len() as u64;
    drive.serve(Nanos::ZERO, &Io { op, block: Block(block), count }, data);
    drive.check();
}

fn write(drive: &mut dyn Drive, block: u64, stamps: &[Stamp]) {
    io(drive, Op::Write, block, &mut stamps.to_vec());
}

fn read(drive: &mut dyn Drive, block: u64, count: usize) -> Vec<Stamp> {
    let mut data = vec![u64::MAX; count];
    io(drive, Op::Read, block, &mut data);
    data
}

fn zone(drive: &mut dyn Drive, number: u32) -> ZoneInfo {
    drive.zoned().expect("zones").zone(Zone(number))
}

/// A disk that holds data reads what the host has never written, and takes nothing at a pointer before a reset.
#[test]
fn on_a_filled_disk_all_zones_are_full() {
    let mut drive = drive(16, (4, 16), &[("filled", "on"), ("conventional_zones", "1")]);
    let drive = drive.as_mut();
    let conditions = [0, 1, 9].map(|number| zone(drive, number).condition);
    assert_eq!(conditions, [Condition::Conventional, Condition::Full, Condition::Full]);
    assert_eq!(read(drive, 16, 32), vec![0; 32]);
    let counters = *drive.counters();
    assert_eq!((counters.native_read_blocks, counters.beyond_pointer_blocks), (32, 0));
    write(drive, 16, &[7]);
    assert_eq!(drive.buffer().blocks, 1);
    // The host hears of every zone that is not empty.
    let moved: Vec<u32> =
        std::iter::from_fn(|| drive.zoned().expect("zones").moved()).map(|zone| zone.0).collect();
    assert_eq!(moved, (1..10).collect::<Vec<_>>());
    drive.zoned().expect("zones").reset(Nanos::ZERO, Zone(1)).expect("it is no conventional one");
    write(drive, 16, &[8, 9]);
    assert_eq!((drive.buffer().blocks, zone(drive, 1).write_pointer), (0, 2));
    assert_eq!(read(drive, 16, 3), [8, 9, 0]);
}

/// ROCO, Fig. 2. Blocks A to M are 0 to 12 of zone 0; the stamp of a block is its letter, and that of
/// an update the letter in lower case.
#[test]
fn figure_2_block_by_block() {
    for (whole, kept) in [("off", 2), ("on", 5)] {
        let mut drive = drive(16, (4, 16), &[("clean_reads_whole", whole)]);
        let drive = drive.as_mut();
        let letters = |text: &str| text.bytes().map(u64::from).collect::<Vec<Stamp>>();
        let info = |drive: &mut dyn Drive| {
            let zone = zone(drive, 0);
            (zone.write_pointer, zone.data_end, drive.buffer().blocks)
        };
        // (a) In the order of the block queue: what arrives, and pointer, end of data and blocks in
        // the disk cache after it.
        for (block, arrives, expected) in [
            (0, "ABCD", (4, 4, 0)),
            (0, "abc", (4, 4, 3)),
            (6, "G", (4, 7, 4)),
            (5, "F", (4, 7, 5)),
            (4, "E", (5, 7, 5)),
            (7, "H", (5, 8, 6)),
            (10, "K", (5, 11, 7)),
            (12, "M", (5, 13, 8)),
        ] {
            write(drive, block, &letters(arrives));
            assert_eq!(info(drive), expected, "after {arrives}");
        }
        let before = *drive.counters();
        assert_eq!((before.native_bytes_written, before.buffer_written_blocks), (5 * BLOCK, 8));
        assert!(zone(drive, 0).non_sequential);
        // Before cleaning, I, J, L and what follows M are made up.
        let mut expected = letters("abcDEFGH\0\0K\0M\0\0\0");
        assert_eq!(read(drive, 0, 16), expected);
        assert_eq!(drive.counters().beyond_pointer_blocks, 6);
        // (b) A', B', C' replace A, B, C: D and E are read and written back. (c) I, J and L are
        // synthesized, and the pointer is after M.
        drive.drain(Nanos::ZERO);
        drive.check();
        assert_eq!(info(drive), (13, 13, 0));
        let after = *drive.counters();
        assert_eq!(after.rmw_read_bytes, kept * BLOCK);
        assert_eq!(after.band_bytes_written, 13 * BLOCK);
        assert_eq!((after.synthesized_blocks, after.buffer_evicted_blocks), (3, 8));
        assert_eq!((after.rmw, after.rmw_free), (1, 0));
        assert!(!zone(drive, 0).non_sequential);
        assert_eq!(read(drive, 0, 16), expected);
        // Only N, O and P lie beyond the pointer now.
        assert_eq!(drive.counters().beyond_pointer_blocks, 6 + 3);
        // The next sequential write is N, and a reset takes all of it away.
        write(drive, 13, &letters("N"));
        expected[13] = u64::from(b'N');
        assert_eq!((info(drive), read(drive, 0, 16)), ((14, 14, 0), expected));
        drive.zoned().expect("zones").reset(Nanos::ZERO, Zone(0)).expect("a sequential zone");
        assert_eq!((info(drive), read(drive, 0, 16)), ((0, 0, 0), vec![0; 16]));
    }
}

#[test]
fn blocks_beyond_the_write_pointer_are_appended_without_reading() {
    let mut drive = drive(16, (4, 16), &[]);
    let drive = drive.as_mut();
    write(drive, 0, &[1, 2]);
    // 4 and 5, then 3 of 2 and 3: the piece does not start at the pointer, so all of it is buffered.
    write(drive, 4, &[5, 6]);
    write(drive, 3, &[4]);
    drive.drain(Nanos::ZERO);
    let counters = drive.counters();
    assert_eq!((counters.rmw, counters.rmw_free, counters.rmw_read_bytes), (0, 1, 0));
    // Block 2 is made up.
    assert_eq!((counters.band_bytes_written, counters.synthesized_blocks), (4 * BLOCK, 1));
    assert_eq!(read(drive, 0, 7), [1, 2, 0, 4, 5, 6, 0]);
    // In zone 1 what waits begins right at the pointer, once the block before it has come.
    write(drive, 17, &[18, 19]);
    write(drive, 16, &[17]);
    assert_eq!(zone(drive, 1).write_pointer, 1);
    drive.drain(Nanos::ZERO);
    let counters = drive.counters();
    assert_eq!((counters.rmw, counters.rmw_free, counters.rmw_read_bytes), (0, 2, 0));
    assert_eq!((counters.band_bytes_written, counters.synthesized_blocks), (6 * BLOCK, 1));
    assert_eq!(read(drive, 16, 4), [17, 18, 19, 0]);
}

/// A write over a border is cut there: its first half ends zone 0, its second is at the pointer of
/// zone 1, or not.
#[test]
fn a_write_is_cut_at_the_border_of_zones() {
    let mut drive = drive(4, (4, 8), &[]);
    let drive = drive.as_mut();
    write(drive, 0, &[1, 2, 3, 4, 5, 6]);
    assert_eq!((zone(drive, 0).condition, zone(drive, 1).write_pointer), (Condition::Full, 2));
    write(drive, 7, &[8, 9]);
    assert_eq!((drive.buffer().blocks, zone(drive, 2).write_pointer), (1, 1));
    assert_eq!(read(drive, 0, 10), [1, 2, 3, 4, 5, 6, 0, 8, 9, 0]);
    let pointers: Vec<u32> =
        std::iter::from_fn(|| drive.zoned().expect("zones").moved()).map(|zone| zone.0).collect();
    assert_eq!(pointers, [0, 1, 2], "each once, though zone 1 could move again");
    assert_eq!(drive.zoned().expect("zones").moved(), None);
}

/// Five log zones of four blocks, of which two are kept free. Four are filled, as written here, and
/// the next write needs a fifth.
#[test]
fn a_log_zone_is_collected_only_if_half_of_it_is_invalid() {
    // Half of the first and of the second are holes. 5 and 7, then 1 and 3 are copied to the fifth.
    let half = [[1, 3, 5, 7], [1, 3, 17, 19], [17, 19, 21, 23], [25, 27, 29, 31]];
    // A quarter. Zone 0 is cleaned, which empties the first.
    let quarter = [[1, 3, 5, 7], [1, 17, 19, 21], [17, 23, 25, 27], [29, 31, 18, 20]];
    for (logs, moved, cleaned) in [(half, 4, 0), (quarter, 0, 1)] {
        let mut drive = drive(16, (5, 4), &[]);
        let drive = drive.as_mut();
        let mut expected = vec![0; 48];
        for (stamp, block) in (100..).zip(logs.into_iter().flatten()) {
            write(drive, block, &[stamp]);
            expected[block as usize] = stamp;
        }
        assert!(!drive.buffer().was_full);
        write(drive, 33, &[33]);
        expected[33] = 33;
        assert!(drive.buffer().was_full);
        let counters = drive.counters();
        assert_eq!((counters.buffer_moved_blocks, counters.rmw_free), (moved, cleaned));
        assert_eq!((counters.rmw, counters.log_bytes_written), (0, (17 + moved) * BLOCK));
        // Everything is found where it went.
        assert_eq!(read(drive, 0, 48), expected);
        drive.drain(Nanos::ZERO);
        assert_eq!(read(drive, 0, 48), expected);
    }
}

/// Zones are cleaned in the order of their first non-sequential write since they were last cleaned.
#[test]
fn zones_are_cleaned_in_the_order_of_their_first_random_write() {
    let mut drive = drive(4, (5, 2), &[("gc_invalid_percent", "100")]);
    let drive = drive.as_mut();
    // Zone 2, 0, 1, then 2 again, which keeps its turn: four log zones of two are full after eight.
    for block in [9, 1, 5, 10, 2, 6, 13, 14] {
        write(drive, block, &[block]);
    }
    let cleaned = |drive: &mut dyn Drive| -> Vec<u32> {
        (0..4).filter(|&number| zone(drive, number).write_pointer > 0).collect()
    };
    assert_eq!(cleaned(drive), [0_u32; 0]);
    // Two log zones are to be free. Blocks 9 and 10 lie in two that hold something else too; with 1
    // and 2 gone as well, the first is empty.
    write(drive, 17, &[17]);
    assert_eq!(cleaned(drive), [0, 2]);
    assert_eq!(drive.counters().rmw_free, 2);
    assert_eq!(drive.buffer().oldest, Some(2), "zone 1 is the oldest now");
    // Zone 2 comes again, to the end.
    write(drive, 9, &[109]);
    drive.drain(Nanos::ZERO);
    assert_eq!(read(drive, 9, 2), [109, 10]);
}

#[test]
fn what_is_written_while_cleaning_waits_wins() {
    let idle = |drive: &mut dyn Drive, now| drive.background(now, Nanos::ZERO, &[]);
    let overrides = [("merge_bytes", "16384"), ("idle_cleaning", "on"), ("idle_delay_ms", "0")];
    let made = || {
        let mut drive = drive(16, (4, 16), &overrides);
        write(drive.as_mut(), 0, &[1, 2, 3, 4]);
        for block in [1, 9, 11] {
            write(drive.as_mut(), block, &[100 + block]);
        }
        assert!(idle(drive.as_mut(), Nanos::ZERO).is_some());
        drive
    };
    // Twelve blocks in phases of four. Between two of them block 9 is written again, and 6.
    let mut plain = made();
    write(plain.as_mut(), 9, &[209]);
    write(plain.as_mut(), 6, &[206]);
    assert!(idle(plain.as_mut(), Nanos::ZERO).is_some());
    assert_eq!(zone(plain.as_mut(), 0).write_pointer, 4, "not before the end");
    assert!(idle(plain.as_mut(), Nanos::ZERO).is_some());
    let info = zone(plain.as_mut(), 0);
    assert_eq!((info.write_pointer, info.non_sequential), (12, true));
    assert_eq!(plain.buffer().blocks, 2);
    let expected = [1, 101, 3, 4, 0, 0, 206, 0, 0, 209, 0, 111, 0];
    assert_eq!(read(plain.as_mut(), 0, 13), expected);
    plain.drain(Nanos::ZERO);
    assert_eq!(read(plain.as_mut(), 0, 13), expected);
    // What comes between phases and is trimmed again leaves the zone without a turn.
    let mut trimmed = made();
    write(trimmed.as_mut(), 9, &[209]);
    trimmed.serve(Nanos::ZERO, &Io { op: Op::Trim, block: Block(9), count: 1 }, &mut []);
    trimmed.drain(Nanos::ZERO);
    trimmed.check();
    let counters = trimmed.counters();
    assert_eq!((counters.rmw, counters.buffer_evicted_blocks), (1, 2));
    assert_eq!(idle(trimmed.as_mut(), Nanos::ZERO), None);
    // A write at the pointer ends the cleaning: nothing has moved, and it begins anew.
    let mut given_up = made();
    write(given_up.as_mut(), 17, &[17]);
    write(given_up.as_mut(), 4, &[5]);
    let info = zone(given_up.as_mut(), 0);
    assert_eq!((info.write_pointer, given_up.buffer().blocks), (5, 4));
    assert_eq!(
        given_up.buffer().oldest,
        Some(4),
        "its turn comes before that of zone 1, as before"
    );
    given_up.drain(Nanos::ZERO);
    let counters = given_up.counters();
    assert_eq!((counters.rmw, counters.buffer_evicted_blocks), (1, 4));
    assert_eq!(counters.band_bytes_written, (4 + 12 + 2) * BLOCK, "a phase for nothing");
    assert_eq!(read(given_up.as_mut(), 0, 5), [1, 101, 3, 4, 5]);
    // So does a reset, which leaves nothing to clean.
    let mut reset = made();
    reset.zoned().expect("zones").reset(Nanos::ZERO, Zone(0)).expect("a sequential zone");
    reset.check();
    assert_eq!((reset.buffer().blocks, reset.counters().buffer_released_blocks), (0, 3));
    assert_eq!(idle(reset.as_mut(), Nanos::ZERO), None);
    assert_eq!(read(reset.as_mut(), 0, 13), [0; 13]);
}

#[test]
fn appends_resets_and_the_limit_of_open_zones() {
    let mut drive = drive(4, (4, 4), &[("open_zones", "2"), ("conventional_zones", "1")]);
    let drive = drive.as_mut();
    let append = |drive: &mut dyn Drive, zone: u32, count: u64| {
        let mut stamps: Vec<Stamp> = (1..=count).collect();
        let appended =
            drive.zoned().expect("zones").append(Nanos::ZERO, Zone(zone), count, &mut stamps);
        drive.check();
        appended.map(|(block, _)| block.0).map_err(|refused| refused.rule)
    };
    assert_eq!(append(drive, 0, 1), Err(Rule::Conventional));
    assert_eq!(append(drive, 1, 3), Ok(4));
    assert_eq!(append(drive, 1, 2), Err(Rule::ZoneBoundary));
    assert_eq!(append(drive, 1, 1), Ok(7));
    assert_eq!(append(drive, 1, 1), Err(Rule::ZoneFull));
    assert_eq!(drive.counters().zone_closes, 0, "a full zone is not open");
    for zone in [2, 3, 4] {
        assert_eq!(append(drive, zone, 2), Ok(u64::from(zone) * 4));
    }
    // Zone 2 was closed for 4; now 3 is closed for 2.
    assert_eq!(append(drive, 2, 1), Ok(10));
    let conditions = [0, 1, 2, 3, 4, 5].map(|number| zone(drive, number).condition);
    use Condition::{Closed, Conventional, Empty, Full, ImplicitOpen};
    assert_eq!(conditions, [Conventional, Full, ImplicitOpen, Closed, ImplicitOpen, Empty]);
    assert_eq!(drive.counters().zone_closes, 2);
    let zoned = drive.zoned().expect("zones");
    assert_eq!(
        zoned.reset(Nanos::ZERO, Zone(0)).err().map(|refused| refused.rule),
        Some(Rule::Conventional)
    );
    zoned.reset(Nanos::ZERO, Zone(2)).expect("a sequential zone");
    assert_eq!((zone(drive, 2).condition, drive.counters().zone_resets), (Empty, 1));
    // Anywhere in the conventional zone, in place.
    write(drive, 2, &[7]);
    write(drive, 1, &[6]);
    assert_eq!((read(drive, 0, 4), drive.buffer().blocks), (vec![0, 6, 7, 0], 0));
}

/// The limit of open zones is advice here: a write always finds its place, a command may not.
#[test]
fn zones_are_opened_closed_and_finished_by_command() {
    use Condition::{Closed, Empty, ExplicitOpen, Full};
    let mut drive = drive(4, (4, 4), &[("open_zones", "2")]);
    let drive = drive.as_mut();
    let zoned = |drive: &mut dyn Drive, what: &str, number: u32| {
        let (zones, at) = (drive.zoned().expect("zones"), Zone(number));
        let answer = match what {
            "open" => zones.open(Nanos::ZERO, at),
            "close" => zones.close(Nanos::ZERO, at),
            _ => zones.finish(Nanos::ZERO, at),
        };
        drive.check();
        let info = zone(drive, number);
        answer.map(|_| (info.condition, info.write_pointer)).map_err(|refused| refused.rule)
    };
    assert_eq!(zoned(drive, "open", 0), Ok((ExplicitOpen, 0)));
    assert_eq!(zoned(drive, "close", 0), Ok((Empty, 0)));
    assert_eq!(zoned(drive, "open", 0), Ok((ExplicitOpen, 0)));
    write(drive, 4, &[1, 2]);
    assert_eq!(zoned(drive, "open", 1), Ok((ExplicitOpen, 2)));
    assert_eq!(zoned(drive, "open", 2), Err(Rule::TooManyOpen));
    assert_eq!(zoned(drive, "finish", 2), Err(Rule::TooManyOpen));
    write(drive, 8, &[3, 4]);
    assert_eq!((zone(drive, 2).condition, drive.counters().zone_closes), (Closed, 1));
    // One block of zone 1 waits in the disk cache, before and after the zone is finished.
    write(drive, 7, &[5]);
    assert_eq!(zoned(drive, "finish", 1), Ok((Full, 4)));
    assert!(zone(drive, 1).non_sequential);
    assert_eq!(zoned(drive, "finish", 2), Ok((Full, 4)));
    assert_eq!(read(drive, 4, 8), [1, 2, 0, 5, 3, 4, 0, 0]);
    drive.drain(Nanos::ZERO);
    drive.check();
    assert_eq!((drive.counters().rmw, read(drive, 4, 4)), (1, vec![1, 2, 0, 5]));
}

#[test]
fn cost_timing_charges_the_sheet() {
    let overrides = Overrides::new()
        .with("cost_read_us", "7000")
        .with("cost_read_us_per_further_block", "10")
        .with("cost_log_us_per_block", "300")
        .with("cost_rmw_base_us", "400000")
        .with("cost_rmw_us_per_block", "700");
    let settings = Settings { timing: Some(Timing::Cost), overrides, ..Settings::default() };
    let mut drive = make("ha-roco", &settings).expect("the drive");
    let mut took = |op, block, count| {
        let io = Io { op, block: Block(block), count };
        drive.serve(Nanos::ZERO, &io, &mut []).done.0 / 1000
    };
    assert_eq!(took(Op::Write, 0, 4), 40, "at the pointer");
    assert_eq!(took(Op::Write, 5, 2), 600, "to the disk cache");
    assert_eq!(took(Op::Read, 3, 3), 7010, "blocks 3 and 5; 4 is made up");
    assert_eq!(took(Op::Read, 9, 3), 0);
    assert_eq!(drive.drain(Nanos::ZERO), Nanos::from_micros(400_000 + 2 * 700));
}

/// The disk of ROCO section 4.1: 8,750 zones of 16 MiB, of which 32 are the disk cache.
#[test]
fn the_disk_of_roco() {
    let drive = make("ha-roco", &Settings::default()).expect("the drive");
    let description = drive.description();
    assert_eq!(description.disk_blocks, 8718 * 4096);
    // One log zone is open to the last block, and one is left when a write has to wait.
    assert_eq!(description.buffer_blocks, 31 * 4096);
    let exposed = description.exposed.expect("zones");
    assert_eq!((exposed.conventional_zones, exposed.open_zones), (0, 128));
    let scaled = Settings { buffer: Buffer::Bytes(1000 * BLOCK), ..Settings::default() };
    let scaled = make("ha-roco", &scaled).expect("the drive");
    assert_eq!(scaled.description().disk_blocks, description.disk_blocks);
    assert_eq!(scaled.description().buffer_blocks, 31 * (1000 / 32));
    let large = make("ha-256m", &Settings::default()).expect("the drive");
    assert_eq!(large.description().disk_blocks, (29_808 - 100) * 65_536);
    assert_eq!(large.description().exposed.expect("zones").conventional_zones, 64);
}

/// ROCO section 4.1 gives 4.4 ms for reads and 4.9 ms for writes, as latencies; on a disk of 10,017
/// rpm these can only be mean seeks. The points of the seek table say 4.7 ms.
#[test]
fn the_arm_and_the_platter_of_the_atlas() {
    // All but the last zone in place, so that reads and writes go anywhere.
    let overrides = Overrides::new().with("conventional_zones", "8717");
    let settings = Settings { overrides, ..Settings::default() };
    let mut drive = make("ha-roco", &settings).expect("the drive");
    let mut rng = Rng::new(1);
    let mut now = Nanos::ZERO;
    let mut means = |op| {
        let (mut seek, mut rotation, mut longest) = (0.0, 0.0, 0.0f64);
        for _ in 0..20_000 {
            let io = Io { op, block: Block(rng.below(8717 * 4096)), count: 1 };
            let served = drive.serve(now, &io, &mut []);
            now = served.done;
            seek += served.seek.as_secs_f64() * 1e3 / 20_000.0;
            rotation += served.rotation.as_secs_f64() * 1e3 / 20_000.0;
            longest = longest.max(served.rotation.as_secs_f64() * 1e3);
        }
        (seek, rotation, longest)
    };
    let (read, rotation, longest) = means(Op::Read);
    assert!((4.4..4.8).contains(&read), "{read} ms");
    assert!((rotation - 5.990 / 2.0).abs() < 0.05, "{rotation} ms");
    assert!((5.9..5.991).contains(&longest), "{longest} ms");
    let (write, _, _) = means(Op::Write);
    assert!((write - read - 0.45).abs() < 0.05, "{write} ms");
}
