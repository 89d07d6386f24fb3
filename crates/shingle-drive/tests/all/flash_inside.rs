//! Flash inside a disk: times by hand, what runs beside what, and that random work reaches every
//! part of it. That no read is wrong whatever comes is tested for all drives in `drives.rs`.

use shingle_core::units::{Block, Nanos, Op};
use shingle_drive::{Buffer, Drive, Io, Overrides, Rng, Served, Settings, Timing, make};

const READ: Nanos = Nanos::from_micros(750);
const PROGRAM: Nanos = Nanos::from_micros(1300);
const ERASE: Nanos = Nanos::from_micros(3800);

/// Two units, 64 erase blocks of 16 pages, before the real disk. Under cost timing neither command nor
/// bus take time, and each write to the log and each rewriting takes what the papers say.
fn drive(name: &str, timing: Timing, sets: &[(&str, &str)]) -> Box<dyn Drive> {
    let mut overrides = Overrides::new()
        .with("flash_bytes", "4194304")
        .with("flash_units", "2")
        .with("flash_pages_per_block", "16");
    sets.iter().for_each(|(name, value)| overrides.set(name, value));
    // The persistent cache holds 200 blocks.
    let buffer = Buffer::Bytes(200 * 4096);
    let settings = Settings { timing: Some(timing), buffer, overrides, ..Settings::default() };
    make(name, &settings).unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn io(drive: &mut dyn Drive, now: Nanos, op: Op, block: u64, count: u64) -> Served {
    let served = drive.serve(now, &Io { op, block: Block(block), count }, &mut []);
    drive.check();
    served
}

#[test]
fn pages_of_an_io_are_striped_over_units() {
    let mut drive = drive("st5000as0011+fc", Timing::Cost, &[]);
    let drive = drive.as_mut();
    let write = io(drive, Nanos::ZERO, Op::Write, 7, 1);
    assert_eq!((write.done, write.transfer), (PROGRAM, PROGRAM));
    // Five blocks: three on one unit, two on the other.
    let write = io(drive, write.done, Op::Write, 100, 5);
    assert_eq!((write.transfer, write.clean), (Nanos(3 * PROGRAM.0), Nanos::ZERO));
    let read = io(drive, write.done, Op::Read, 100, 5);
    assert_eq!((read.transfer, read.clean), (Nanos(3 * READ.0), Nanos::ZERO));
    let counters = drive.counters();
    assert_eq!((counters.pages_programmed, counters.flash_read_blocks), (6, 5));
    assert_eq!((counters.buffer_read_blocks, counters.native_read_blocks), (5, 0));
    // 105 is on the disk, which is read meanwhile: 14 ms by SAC.
    let read = io(drive, read.done, Op::Read, 104, 2);
    assert_eq!(read.transfer, Nanos::from_millis(14));
}

/// Three writes in a band that is not hot go to the disk when the third comes. Each of the first two
/// takes as long as if it went to the flash.
#[test]
fn a_held_write_is_charged_its_time() {
    let mut drive = drive("st5000as0011+mcm", Timing::Cost, &[]);
    let drive = drive.as_mut();
    let mut now = Nanos::ZERO;
    for block in [50, 10] {
        let held = io(drive, now, Op::Write, block, 3);
        assert_eq!(held.transfer, Nanos(2 * PROGRAM.0), "three pages on two units");
        now = held.done;
        assert_eq!((drive.counters().pages_programmed, drive.buffer().blocks), (0, 0));
    }
    // Memory serves what it holds.
    assert_eq!(io(drive, now, Op::Read, 51, 1).done, now);
    // All three go to the log, and the host waits for all.
    let decided = io(drive, now, Op::Write, 90, 1);
    assert_eq!(decided.transfer, Nanos(7 * 300_000), "0.3 ms for each block, by SAC");
    assert_eq!((drive.buffer().blocks, drive.counters().flash_written_blocks), (7, 0));
    // The band has been counted three times: it is hot, and the next write goes to the flash.
    let hot = io(drive, decided.done, Op::Write, 91, 1);
    assert_eq!((hot.transfer, drive.counters().flash_written_blocks), (PROGRAM, 1));
    // A write elsewhere is held; FLUSH ends that: it is random, and has been paid for.
    let held = io(drive, hot.done, Op::Write, 1_000_000, 1);
    assert_eq!(drive.counters().flash_written_blocks, 1);
    let flush = io(drive, held.done, Op::Flush, 0, 0);
    assert_eq!((flush.done, drive.counters().flash_written_blocks), (held.done, 2));
}

/// Without anything beside, the write that finds too few free blocks waits for all that is done; with
/// it, only for what it needs.
#[test]
fn io_does_not_wait_for_background_work() {
    for name in ["fc", "rmw-f", "mcm"] {
        let waited = |background: &str| {
            let sets = [("flash_background", background)];
            let mut drive = drive(&format!("st5000as0011+{name}"), Timing::Mechanics, &sets);
            let (mut rng, mut now) = (Rng::new(7), Nanos::ZERO);
            for _ in 0..4000 {
                let block = if rng.below(3) == 0 { rng.below(60_000) } else { rng.below(700) };
                let io = Io { op: Op::Write, block: Block(block), count: 1 };
                now = drive.serve(now, &io, &mut []).done;
                // Some time for the flash, which the host does not need.
                now += Nanos::from_millis(200);
            }
            assert!(drive.counters().flash_blocks_erased > 64, "{name} has erased");
            drive.counters().clean_time
        };
        let (beside, before) = (waited("on"), waited("off"));
        println!("{name}: waited {beside:?} with, {before:?} without");
        assert!(beside < before, "{name}");
    }
}

/// Reads of the flash while the disk is busy gaining free blocks take no longer than ever.
#[test]
fn a_hit_does_not_wait_for_the_disk() {
    let mut drive = drive("st5000as0011+fc", Timing::Cost, &[("flash_low_percent", "10")]);
    let drive = drive.as_mut();
    let mut now = Nanos::ZERO;
    // 64 blocks of 16 pages, six of them free: the next pages begin a rewriting.
    let mut block = 0;
    while drive.counters().rmw == 0 {
        let io = Io { op: Op::Write, block: Block(block), count: 1 };
        now = drive.serve(now, &io, &mut []).done;
        block += 1;
    }
    let before = drive.counters().clean_time;
    let read = io(drive, now, Op::Read, block - 1, 1);
    assert_eq!((read.done, read.clean), (now + READ, Nanos::ZERO));
    // What the flash does not hold does wait.
    let read = io(drive, read.done, Op::Read, 5_000_000, 1);
    assert!(read.clean > Nanos::from_millis(400), "{read:?}");
    assert_eq!(drive.counters().clean_time, before + read.clean);
    assert!(read.clean > ERASE);
}

/// With small regions for the host a quarter of the flash, the most that can be asked for, is more than
/// they have free when nothing of them is full yet.
#[test]
fn small_regions_gain_no_more_than_they_can_have_free() {
    let shares = [("mcm_shr_share", "1"), ("mcm_rdr_share", "1")];
    for rbr in ["2", "6"] {
        let marks = [("flash_low_percent", "25"), ("flash_high_percent", "25")];
        let sets = [&shares[..], &marks[..], &[("mcm_rbr_share", rbr)]].concat();
        let mut drive = drive("st5000as0011+mcm", Timing::Cost, &sets);
        let (mut rng, mut now) = (Rng::new(1), Nanos::ZERO);
        for _ in 0..3000 {
            let block = rng.below(20) * 9728 + rng.below(100);
            // Long enough for what is done beside the host's I/O.
            now = io(drive.as_mut(), now, Op::Write, block, 1).done + Nanos::from_millis(1000);
        }
        assert!(drive.counters().flash_blocks_migrated > 10, "{rbr}");
    }
}

#[test]
fn random_work_reaches_every_part() {
    for (name, timing) in
        [("fc", Timing::Mechanics), ("rmw-f", Timing::Cost), ("mcm", Timing::Mechanics)]
    {
        let mut drive = drive(&format!("st5000as0011+{name}"), timing, &[]);
        let (mut rng, mut now) = (Rng::new(3), Nanos::ZERO);
        for turn in 0..20_000u64 {
            let block = match rng.below(4) {
                0 => rng.below(200_000),
                1 => 500_000 + rng.below(300),
                // Runs of sequential writes in a few bands.
                _ => turn / 20 % 7 * 9000 + turn % 20 * 4 + rng.below(40) * 80,
            };
            let op = if rng.below(5) == 0 { Op::Read } else { Op::Write };
            now = drive
                .serve(now, &Io { op, block: Block(block), count: 1 + rng.below(8) }, &mut [])
                .done;
        }
        drive.check();
        let (counters, wear) = (*drive.counters(), drive.wear().expect("flash wears"));
        println!("{name}: {counters:?}");
        let all = wear.all();
        assert_eq!((all.blocks(), all.erases()), (64, counters.flash_blocks_erased));
        assert_eq!(
            counters.pages_programmed,
            counters.flash_written_blocks + counters.pages_copied
        );
        assert!(wear.wa_flash().is_some_and(|wa| wa >= 1.0) && wear.lifetime_bytes().is_some());
        for (what, count) in [
            ("erases", counters.flash_blocks_erased),
            ("copies", counters.pages_copied),
            ("reads", counters.flash_read_blocks),
            ("write-backs", counters.flash_evicted_blocks),
            ("RMWs", counters.rmw),
        ] {
            assert!(count > 100, "{name}: {what} {count}");
        }
        if name == "mcm" {
            let regions: Vec<_> = wear.regions.iter().map(|r| (r.region, r.blocks())).collect();
            assert_eq!(regions, [("shr", 28), ("rdr", 28), ("rbr", 8)]);
            assert!(counters.flash_blocks_migrated > 10);
            // Some went to the disk at once, some copies came back to SHR.
            assert!(counters.flash_written_blocks < counters.written_blocks);
            assert!(counters.pages_copied > counters.pages_migrated);
        } else {
            assert_eq!(wear.regions.len(), 1);
        }
        if name == "rmw-f" {
            assert!(counters.native_bytes_written > 0);
        }
        let drained = drive.drain(now);
        drive.check();
        assert!(drained > now && drive.buffer().blocks == 0, "{name}");
    }
}

#[test]
fn prefilled_flash_is_nearly_full() {
    for name in ["fc", "rmw-f", "mcm"] {
        let sets = [("flash_prefill_percent", "100")];
        let mut drive = drive(&format!("st5000as0011+{name}"), Timing::Mechanics, &sets);
        // Of 1024 pages: what is kept free, and in MCM all of RBR, is not filled.
        let blocks = drive.buffer().blocks;
        assert!((700..1000).contains(&blocks), "{name}: {blocks}");
        let (mut rng, mut now) = (Rng::new(3), Nanos::ZERO);
        for _ in 0..600 {
            let io = Io { op: Op::Write, block: Block(2000 + rng.below(20_000)), count: 1 };
            now = drive.serve(now, &io, &mut []).done;
        }
        assert!(drive.counters().flash_evicted_blocks > 0, "{name}");
    }
}

#[test]
fn flash_that_is_too_small_is_refused_in_one_line() {
    for (name, sets, words) in [
        ("fc", [("flash_bytes", "65536"), ("flash_pages_per_block", "256")], "16 erase blocks"),
        ("mcm", [("flash_bytes", "33554432"), ("mcm_reserve_blocks", "9")], "each region"),
    ] {
        let overrides =
            sets.iter().fold(Overrides::new(), |set, (name, value)| set.with(name, value));
        let settings = Settings { overrides, ..Settings::default() };
        let error = make(&format!("st5000as0011+{name}"), &settings).err().expect("refused");
        let error = error.to_string();
        assert!(error.contains(words) && error.lines().count() == 1, "{error}");
    }
}
