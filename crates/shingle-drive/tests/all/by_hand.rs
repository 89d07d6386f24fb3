//! Small cases worked by hand, block by block.

use shingle_core::units::{Block, Nanos, Op, Zone};
use shingle_drive::{Buffer, Counters, Drive, Io, Overrides, Settings, Timing, make};

/// An emulator with bands of ten blocks and a buffer of `slots`.
fn emulator(name: &str, slots: u64) -> Box<dyn Drive> {
    let overrides = Overrides::new()
        .with("band_first_bytes", "40960")
        .with("band_step_bytes", "0")
        .with("band_classes", "1")
        .with("bands_per_class", "10");
    let buffer = Buffer::Bytes(slots * 4096);
    make(name, &Settings { buffer, overrides, ..Settings::default() }).expect("the emulator")
}

/// Writes a block; returns how many live blocks are in the buffer, how many slots are in use, and
/// how many RMWs there have been.
fn write(drive: &mut dyn Drive, block: u64) -> (u64, u64, u64) {
    let io = Io { op: Op::Write, block: Block(block), count: 1 };
    drive.serve(Nanos::ZERO, &io, &mut []);
    drive.check();
    let buffer = drive.buffer();
    (buffer.blocks, buffer.log_bytes / 4096, drive.counters().rmw)
}

/// SAC, Figure 6 (b): a, b, c1 and c2 lie in one band (0 to 9), the others elsewhere.
#[test]
fn truncated_fragmentation() {
    let (a, b, c1, c2) = (1, 2, 3, 4);
    let mut drive = emulator("sac-emulator", 5);
    let drive = drive.as_mut();
    assert_eq!(write(drive, a), (1, 1, 0));
    assert_eq!(write(drive, 21), (2, 2, 0));
    assert_eq!(write(drive, b), (3, 3, 0));
    assert_eq!(write(drive, 22), (4, 4, 0));
    // c1 fills the buffer.
    assert_eq!(write(drive, c1), (5, 5, 0));
    assert!(drive.buffer().was_full);
    // c2 comes too late: a, b and c1 are rewritten without it. Tail to end: 21 · 22 · c2.
    assert_eq!(write(drive, c2), (3, 5, 1));
    assert_eq!((drive.counters().buffer_evicted_blocks, drive.counters().truncated), (3, 0));
    // The next write takes band 2 out: 21 and 22. Tail to end: c2 31.
    assert_eq!(write(drive, 31), (2, 2, 2));
    assert_eq!(write(drive, 32), (3, 3, 2));
    assert_eq!(write(drive, 33), (4, 4, 2));
    assert_eq!(write(drive, 34), (5, 5, 2));
    // Now c2 costs an RMW of its own, two evicted blocks after its band's last.
    assert_eq!(write(drive, 35), (5, 5, 3));
    let counters = drive.counters();
    assert_eq!((counters.buffer_evicted_blocks, counters.truncated), (6, 1));
    assert_eq!(counters.band_bytes_written, 3 * 40_960);
}

#[test]
fn sac_appends_what_is_written_again_and_pore_updates_it() {
    let mut sac = emulator("sac-emulator", 3);
    let mut pore = emulator("pore-emulator", 3);
    for (block, in_sac, in_pore) in [
        (1, (1, 1, 0), (1, 1, 0)),
        (11, (2, 2, 0), (2, 2, 0)),
        // Block 1 again: SAC's tail passes the hole at once, PORE's block keeps its turn.
        (1, (2, 2, 0), (2, 2, 0)),
        (21, (3, 3, 0), (3, 3, 0)),
        // Full: SAC rewrites the band of 11, PORE that of 1.
        (31, (3, 3, 1), (3, 3, 1)),
        // Full again. SAC makes room before it looks for an older copy: the band that leaves is
        // that of block 1 itself.
        (1, (3, 3, 2), (3, 3, 2)),
    ] {
        assert_eq!(write(sac.as_mut(), block), in_sac, "SAC, block {block}");
        assert_eq!(write(pore.as_mut(), block), in_pore, "PORE, block {block}");
    }
    assert_eq!(sac.counters().buffer_write_hits, 1);
    assert_eq!(pore.counters().buffer_write_hits, 1);
}

#[test]
fn a_hole_in_the_middle_is_not_free_until_the_tail_gets_there() {
    let mut drive = emulator("sac-emulator", 4);
    let drive = drive.as_mut();
    write(drive, 1);
    write(drive, 11);
    assert_eq!(write(drive, 11), (2, 3, 0));
    assert_eq!(write(drive, 12), (3, 4, 0));
    // Four slots in use with three live blocks: full. Block 1's band goes, then the hole.
    assert_eq!(write(drive, 21), (3, 3, 1));
}

#[test]
fn costs_are_those_of_the_paper() {
    let mut drive = emulator("sac-emulator", 2);
    let mut io = Io { op: Op::Write, block: Block(0), count: 2 };
    let logged = drive.serve(Nanos::ZERO, &io, &mut []);
    assert_eq!(logged.done, Nanos::from_micros(600));
    io.block = Block(50);
    io.count = 1;
    // R(2) = 435.833 + 2 · 0.728 ms, then the write itself.
    let waited = drive.serve(logged.done, &io, &mut []);
    assert_eq!(waited.clean, Nanos::from_micros(435_833 + 2 * 728));
    assert_eq!(waited.done, Nanos::from_micros(600 + 437_289 + 300));
    io.op = Op::Read;
    let read = drive.serve(waited.done, &io, &mut []);
    assert_eq!(read.transfer, Nanos::from_millis(14));
    assert_eq!(drive.counters().buffer_read_blocks, 1);
}

/// As the prototypes ran: over a conventional disk, whose head moves between buffer and bands.
#[test]
fn an_emulator_on_a_disk_cleans_the_same_bands_in_the_time_of_the_disk() {
    let made = |timing| {
        let buffer = Buffer::Bytes(100 * 4096);
        let settings = Settings { buffer, timing, ..Settings::default() };
        make("pore-emulator", &settings).expect("the emulator")
    };
    let [mut costs, mut disk] = [None, Some(Timing::Mechanics)].map(made);
    for drive in [&mut costs, &mut disk] {
        let mut now = Nanos::ZERO;
        for at in 0..1000u64 {
            // Ten blocks in each of ten bands, again and again in another order.
            let block = Block(at * 7 % 10 * 4608 + at * 13 % 101);
            now = drive.serve(now, &Io { op: Op::Write, block, count: 1 }, &mut []).done;
        }
    }
    let ([costs, disk], of) = ([costs, disk], |drive: &dyn Drive| *drive.counters());
    let (by_costs, on_disk) = (of(costs.as_ref()), of(disk.as_ref()));
    assert!(on_disk.rmw > 50);
    assert_eq!(
        (on_disk.rmw, on_disk.buffer_evicted_blocks),
        (by_costs.rmw, by_costs.buffer_evicted_blocks)
    );
    // A band of 18 MiB read and written at 125 MB/s, and its blocks, a few to a rotation.
    let each = on_disk.clean_time.as_secs_f64() / on_disk.rmw as f64;
    assert!((0.30..0.42).contains(&each), "{each} s a band");
    assert!(disk.description().disk_blocks < costs.description().disk_blocks, "500 GB of 5 TB");
}

#[test]
fn the_buffer_reports_how_much_was_written_when_its_oldest_block_arrived() {
    let mut drive = emulator("sac-emulator", 3);
    assert_eq!(drive.buffer().oldest, None);
    for (block, horizon) in [(1, 0), (11, 0), (1, 1), (21, 1), (31, 2)] {
        write(drive.as_mut(), block);
        assert_eq!(drive.buffer().oldest, Some(horizon), "after block {block}");
    }
    drive.drain(Nanos::ZERO);
    assert_eq!(drive.buffer().oldest, None);
}

#[test]
fn settings_that_make_no_sense_are_refused_in_one_line() {
    let refused = |name: &str, settings: Settings| {
        let error = make(name, &settings).err().expect("refused").to_string();
        assert!(error.starts_with(name) && error.lines().count() == 1, "{error}");
    };
    refused("sac-emulator", Settings { buffer: Buffer::Bytes(100), ..Settings::default() });
    refused("cmr5900", Settings { buffer: Buffer::Bytes(1 << 30), ..Settings::default() });
    refused("pore-emulator", Settings { idle_cleaning: Some(true), ..Settings::default() });
}

#[test]
fn a_drive_managed_disk_cleans_only_in_idle_time_that_is_long_enough() {
    let settings = Settings { idle_cleaning: Some(true), ..Settings::default() };
    let mut drive = make("st5000as0011", &settings).expect("the drive");
    let io = Io { op: Op::Write, block: Block(1000), count: 1 };
    let idle = drive.serve(Nanos::ZERO, &io, &mut []).done;
    assert_eq!(drive.background(idle + Nanos::from_millis(999), idle, &[]), None);
    let mut now = drive.background_from(idle).expect("there is something to clean");
    assert_eq!(now, idle + Nanos::from_millis(1000));
    let mut phases = 0;
    while let Some(end) = drive.background(now, idle, &[]) {
        now = end;
        phases += 1;
    }
    // From the third of 20 tracks to the end: 18 tracks of 1.9 MB in phases of 14 MiB.
    assert_eq!(phases, 3);
    let counters: &Counters = drive.counters();
    assert_eq!((counters.rmw, counters.clean_time), (1, Nanos::ZERO));
    assert_eq!(counters.band_bytes_written, 18 * 1_900_544);
    assert_eq!(drive.background_from(idle), None);
    // Three passes over 18 tracks, twelve seeks, one read of the log.
    let seconds = counters.idle_clean_time.as_secs_f64();
    assert!((0.55..0.75).contains(&seconds), "{seconds}");
}

/// Serves `ios` I/O one after another, each `count` blocks, `step` blocks apart. Returns seconds.
fn run(drive: &mut dyn Drive, op: Op, (ios, count, step): (u64, u64, u64)) -> f64 {
    let mut now = Nanos::from_millis(1_000_000);
    let start = now;
    for io in 0..ios {
        now = drive.serve(now, &Io { op, block: Block(io * step), count }, &mut []).done;
    }
    now.since(start).as_secs_f64()
}

#[test]
fn a_conventional_disk_accepts_writes_until_its_cache_is_full() {
    let mut drive = make("cmr7200", &Settings::default()).expect("the drive");
    // Command and bus: 0.2 ms and 4096 / 550 us.
    let accepted = Nanos(200_000 + 7_447);
    let mut now = Nanos::ZERO;
    for io in 0..33 {
        let io = Io { op: Op::Write, block: Block(io * 3_000_000), count: 1 };
        let served = drive.serve(now, &io, &mut []);
        assert_eq!(served.done, now + accepted, "one under way and 32 waiting");
        now = served.done;
    }
    let io = Io { op: Op::Write, block: Block(100_000_000), count: 1 };
    let served = drive.serve(now, &io, &mut []);
    assert!(served.done > now + Nanos::from_millis(1), "the cache is full");
    let flush = Io { op: Op::Flush, block: Block(0), count: 0 };
    let flushed = drive.serve(served.done, &flush, &mut []);
    let took = flushed.done.since(served.done).as_secs_f64();
    assert!((0.1..0.5).contains(&took), "32 writes at 3 to 15 ms: {took} s");
    let again = drive.serve(flushed.done, &flush, &mut []);
    assert_eq!(again.done, flushed.done, "nothing left to flush");
}

#[test]
fn sequential_work_runs_at_the_rate_of_the_media() {
    // 400 MB in pieces of 256 KiB. What a write cache still holds at the end took no time yet.
    let load = (1600, 64, 64);
    let rate = |name: &str, op| {
        let mut drive = make(name, &Settings::default()).expect("a drive of the registry");
        419.4304 / run(drive.as_mut(), op, load)
    };
    for (name, outer) in [("cmr5900", 165.0), ("cmr7200", 125.0), ("st8000as0002", 189.4)] {
        for op in [Op::Read, Op::Write] {
            let rate = rate(name, op);
            assert!((0.75..1.1).contains(&(rate / outer)), "{name} {op:?}: {rate} MB/s of {outer}");
        }
    }
}

#[test]
fn without_its_write_cache_a_drive_managed_disk_writes_one_packet_a_write() {
    let overrides = Overrides::new().with("write_cache", "off");
    let settings = Settings { overrides, ..Settings::default() };
    let mut drive = make("st5000as0011", &settings).expect("the drive");
    // 2.4 rotations of 10.033 ms and 0.7 ms; every 240th packet 300 ms more.
    let seconds = run(drive.as_mut(), Op::Write, (239, 1, 50_000));
    assert!((seconds / 239.0 - 0.02478).abs() < 1e-5, "{seconds}");
    let mut writes = 239;
    while drive.counters().clean_time == Nanos::ZERO {
        let io = Io { op: Op::Write, block: Block(writes * 50_000), count: 1 };
        drive.serve(Nanos::from_millis(2_000_000), &io, &mut []);
        writes += 1;
    }
    assert_eq!(writes, 23_001, "live packets are the limit");
    assert_eq!(drive.description().buffer_blocks, 23_000);
}

/// Bands of 10 to 21 tracks: within bounds, not all alike, over all of the disk, and cleaned whole
/// from their first dirty track on.
#[test]
fn bands_of_drawn_sizes() {
    let set = |seed: &str| {
        let overrides = Overrides::new()
            .with("tracks_per_band_min", "10")
            .with("band_seed", seed)
            .with("capacity_bytes", "100GiB");
        Settings { overrides, ..Settings::default() }
    };
    let mut drive = make("st8000as0002", &set("7")).expect("a drive");
    let bands = drive.description().bands.clone().expect("a shingled disk");
    let other = make("st8000as0002", &set("8")).expect("a drive").description().bands.clone();
    let mut sizes = Vec::new();
    let mut next = 0;
    for band in (0..bands.count()).map(|band| Zone(u32::try_from(band).expect("few"))) {
        assert_eq!(bands.first_block(band), Block(next));
        sizes.push(bands.blocks(band));
        next += bands.blocks(band);
    }
    assert_eq!(next, (100 << 30) / 4096);
    // The last is cut by the end of the disk.
    let whole = &sizes[..sizes.len() - 1];
    // Within the first 100 GiB a track has 464, 463 or 462 blocks (a rate zone is 46 GB).
    let tracks = |blocks: &u64| {
        let track = [464, 463, 462].into_iter().find(|track: &u64| blocks.is_multiple_of(*track));
        blocks / track.expect("whole tracks")
    };
    let counts: Vec<u64> = whole.iter().map(tracks).collect();
    for tracks in 10..=21 {
        assert!(counts.contains(&tracks), "no band of {tracks} among {}", counts.len());
    }
    assert!(counts.iter().all(|tracks| (10..=21).contains(tracks)));
    assert_ne!(other.expect("bands").first_block(Zone(9)), bands.first_block(Zone(9)));

    // One block of the band's last track is dirty: that track alone is rewritten.
    let band = Zone(3);
    let last = bands.first_block(Zone(4)).0 - 1;
    assert_ne!(bands.blocks(band), bands.blocks(Zone(2)));
    let io = Io { op: Op::Write, block: Block(last), count: 1 };
    let done = drive.serve(Nanos::ZERO, &io, &mut []).done;
    drive.drain(done);
    assert_eq!(drive.counters().band_bytes_written, 464 * 4096);
    // A block of its first track: all of it.
    let io = Io { op: Op::Write, block: bands.first_block(band), count: 1 };
    let done = drive.serve(done, &io, &mut []).done;
    drive.drain(done);
    let both = (464 + bands.blocks(band)) * 4096;
    assert_eq!(drive.counters().band_bytes_written, both);
    let told = make(
        "st8000as0002",
        &Settings {
            overrides: Overrides::new().with("tracks_per_band_min", "22"),
            ..Settings::default()
        },
    );
    let told = told.err().expect("refused").to_string();
    assert_eq!(told, "st8000as0002: tracks_per_band_min is at most tracks_per_band");
}

/// What SAC's Table 3 has a queued command cost: 51 and 67 us more, 59 on average.
#[test]
fn the_sheet_has_the_cost_of_a_queued_command() {
    let of = |name| make(name, &Settings::default()).expect(name).description().queued_command;
    assert_eq!(of("st8000as0002"), Nanos::from_micros(59));
    assert_eq!((of("cmr5900"), of("sac-emulator")), (Nanos::ZERO, Nanos::ZERO));
}
