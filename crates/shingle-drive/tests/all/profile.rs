//! Profiles: as text and back, refused in words, and made into drives.

use proptest::prelude::*;
use shingle_core::units::{BLOCK_BYTES, Block, Nanos, Op, Zone};
use shingle_core::zones::ZoneMap;
use shingle_drive::measure::Plan;
use shingle_drive::profile::{
    BandFacts, BufferFacts, CapacityFacts, DistanceFacts, FORMAT, IdleFacts, Kind, MechanicsFacts,
    Profile, Reads, RmwFacts, ZoneFacts, parse, read,
};
use shingle_drive::{Buffer, Drive, Io, Overrides, Rng, Settings, Timing, entry, make, measure};
use std::path::PathBuf;

/// What the documentation shows.
fn shown() -> String {
    let text = include_str!("../../../../docs/profile.md");
    let block = text.split("```toml\n").nth(1).and_then(|rest| rest.split("```").next());
    block.expect("an example").to_owned()
}

/// What is true of `st8000as0002`, with so many bands looked at.
fn truth(bands: u64) -> Profile {
    let drive = make("st8000as0002", &Settings::default()).expect("a drive");
    let description = drive.description();
    let map = description.bands.clone().expect("bands");
    let us = |time: Nanos| time.0 as f64 / 1e3;
    let mut profile = parse(&shown()).expect("the example");
    profile.bytes = description.disk_blocks * BLOCK_BYTES;
    profile.read.random_us = us(description.costs.read);
    let rmw = profile.rmw.as_mut().expect("measured");
    rmw.base_us = us(description.costs.rmw_base);
    rmw.us_per_block = us(description.costs.rmw_per_block);
    let at = |nth: u64| map.zone(Block((description.disk_blocks - 1) * nth / (bands - 1).max(1)));
    profile.bands = (0..bands).map(|nth| band(&map, at(nth))).collect();
    profile
}

fn band(map: &ZoneMap, zone: Zone) -> BandFacts {
    // The last is cut by the end of the disk: the one before it is whole.
    let zone = if zone.index() + 1 == map.count() { Zone(zone.0 - 1) } else { zone };
    BandFacts { first_block: map.first_block(zone).0, blocks: map.blocks(zone), error_blocks: 0 }
}

/// A file of that profile, by a name of its own, and how to name it as a drive.
fn file(name: &str, text: &str) -> (PathBuf, String) {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}.toml"));
    std::fs::write(&path, text).expect("written");
    let drive = format!("profile:{}", path.display());
    (path, drive)
}

fn made(name: &str, profile: &Profile, settings: &Settings) -> Result<Box<dyn Drive>, String> {
    make(&file(name, &profile.to_text()).1, settings).map_err(|error| error.to_string())
}

#[test]
fn the_example_is_a_profile_and_a_drive() {
    let profile = parse(&shown()).expect("the example of docs/profile.md");
    assert_eq!(profile.kind, Kind::DriveManaged);
    assert_eq!(parse(&profile.to_text()), Ok(profile.clone()));
    assert_eq!(read(&file("example", &shown()).0), Ok(profile.clone()));
    let drive = made("example", &profile, &Settings::default()).expect("a drive");
    assert_eq!(drive.description().buffer_blocks, 184_000);
}

#[test]
fn a_profile_of_the_truth_is_the_drive() {
    let known = make("st8000as0002", &Settings::default()).expect("a drive");
    let known = known.description();
    let count = |map: &Option<ZoneMap>| map.as_ref().expect("bands").count();
    for bands in [2, 5, 30] {
        let name = format!("truth-{bands}");
        let drive = made(&name, &truth(bands), &Settings::default()).expect("a drive");
        let seen = drive.description();
        assert_eq!(seen.disk_blocks, known.disk_blocks);
        assert_eq!(seen.buffer_blocks, known.buffer_blocks);
        // The cache plans with it, whoever tells it: profile or model.
        let of_profile = truth(bands).plan();
        assert_eq!(of_profile.buffer_blocks, Some(known.buffer_blocks));
        assert_eq!(of_profile.log_blocks, Some(known.in_order.log_blocks));
        assert_eq!(seen.costs, known.costs);
        let (is, should) = (count(&seen.bands), count(&known.bands));
        assert!(is.abs_diff(should) * 100 <= should, "{is} bands of {should} from {bands}");
        // Bands in the same place are as large, too.
        for block in (0..20).map(|at| Block(known.disk_blocks / 20 * at)) {
            let size = |map: &Option<ZoneMap>| {
                let map = map.as_ref().expect("bands");
                map.blocks(map.zone(block))
            };
            let (is, should) = (size(&seen.bands), size(&known.bands));
            assert!(is.abs_diff(should) * 100 <= should, "{is} of {should} at {block:?}");
        }
    }
}

/// Times by hand: `R(x)` of the profile is of a zone, what a band takes is less.
#[test]
fn io_takes_what_was_measured() {
    let mut profile = parse(&shown()).expect("the example");
    profile.bytes = 100_000 * BLOCK_BYTES;
    profile.mechanics = None;
    profile.bands = vec![BandFacts { first_block: 0, blocks: 200, error_blocks: 0 }];
    let settings = Settings { timing: Some(Timing::Cost), ..Settings::default() };
    let mut drive = made("by-hand", &profile, &settings).expect("a drive");
    let took = |drive: &mut dyn Drive, op, block, count| {
        let io = Io { op, block: Block(block), count };
        drive.serve(Nanos::ZERO, &io, &mut []).done.0
    };
    let drive = drive.as_mut();
    // Means of 21.6 and 41.7 for each further block.
    assert_eq!(took(drive, Op::Read, 777, 1), 16_036_000);
    assert_eq!(took(drive, Op::Read, 777, 11), 16_036_000 + 10 * 31_650);
    assert_eq!(took(drive, Op::Write, 777, 1), 306_000);
    assert_eq!(took(drive, Op::Write, 888, 5), 306_000 + 4 * 29_000);
    // A zone of 5,000 blocks lies in 26 bands of 200, of which none has more than 112 runs to collect:
    // 613,742 / 26 us; 2,435 - 306 for each block. The six blocks are of two bands.
    let base = (613_742_000.0_f64 / 26.0).round() as u64;
    assert_eq!(drive.drain(Nanos::ZERO).0, 2 * base + 6 * 2_129_000);
    let costs = drive.description().costs;
    assert_eq!(costs.rmw_base, Nanos(613_742_000));
    assert_eq!(costs.rmw_per_block, Nanos(2_435_000));
}

/// The example's reads by distance are those of `st8000as0002`.
#[test]
fn with_reads_by_distance_it_is_the_disk_it_was() {
    let mut profile = truth(30);
    let (_, name) = file("arm", &profile.to_text());
    // Near reads take as long as was measured, reads all over the disk take L_read.
    let mut drive = make(&name, &Settings::default()).expect("a drive");
    let mut now = Nanos::ZERO;
    let mut mean = |drive: &mut dyn Drive, span: u64| {
        let mut rng = Rng::new(3);
        let start = now;
        for _ in 0..2000 {
            let io = Io { op: Op::Read, block: Block(rng.below(span)), count: 1 };
            now = drive.serve(now, &io, &mut []).done;
        }
        now.since(start).0 as f64 / 2000.0 / 1e3
    };
    let (near, far) = (mean(drive.as_mut(), 2_600_000), mean(drive.as_mut(), profile.bytes / 4096));
    let mut known = make("st8000as0002", &Settings::default()).expect("a drive");
    let known = (mean(known.as_mut(), 2_600_000), mean(known.as_mut(), profile.bytes / 4096));
    assert!((near / known.0 - 1.0).abs() < 0.05, "{near} for {}", known.0);
    assert!((far / known.1 - 1.0).abs() < 0.05, "{far} for {}", known.1);
    // Cleaning takes what was measured; of a disk that takes twice as long, too.
    for times in [1.0, 2.0] {
        let rmw = profile.rmw.as_mut().expect("measured");
        (rmw.base_us, rmw.us_per_block) = (rmw.base_us * times, rmw.us_per_block * times);
        (rmw.us_per_block_low, rmw.us_per_block_high) = (0.0, rmw.us_per_block);
        let rmw = *rmw;
        let (_, name) = file("cleaning", &profile.to_text());
        let plan = Plan { fills: 1, coverages: vec![500, 1500, 2500], ..Plan::default() };
        let shown = measure::rmw(&name, &Settings::default(), &plan).expect("measured");
        for point in &shown.points {
            let should = (rmw.base_us + rmw.us_per_block * point.blocks as f64) / 1e3;
            assert!(
                (point.zone_ms() / should - 1.0).abs() < 0.1,
                "{} of {should}",
                point.zone_ms()
            );
        }
    }
}

#[test]
fn a_limit_that_was_not_reached_does_not_bind() {
    let mut profile = parse(&shown()).expect("the example");
    let fill = |profile: &Profile, name: &str, count: u64| {
        let mut drive = made(name, profile, &Settings::default()).expect("a drive");
        let mut writes = 0;
        while !drive.buffer().was_full {
            let io = Io { op: Op::Write, block: Block(1 + writes * 100_000), count };
            drive.serve(Nanos::ZERO, &io, &mut []);
            writes += 1;
        }
        writes - 1
    };
    let buffer = profile.buffer.as_mut().expect("measured");
    (buffer.extents, buffer.log_bytes) = (Some(1000), None);
    assert_eq!((fill(&profile, "extents", 1), fill(&profile, "extents", 128)), (1000, 1000));
    let buffer = profile.buffer.as_mut().expect("measured");
    (buffer.extents, buffer.log_bytes) = (None, Some(1000 * BLOCK_BYTES));
    assert_eq!((fill(&profile, "log", 1), fill(&profile, "log", 100)), (1000, 10));
}

#[test]
fn settings_of_the_user_override_the_profile() {
    let profile = truth(2);
    let with = |name: &str, value: &str| {
        let overrides = Overrides::new().with(name, value);
        made("set", &profile, &Settings { overrides, ..Settings::default() })
    };
    let drive = with("measured_read_us", "9000").expect("a drive");
    assert_eq!(drive.description().costs.read, Nanos::from_micros(9000));
    let drive = with("packets_max", "100").map(drop).expect_err("below the trigger");
    assert!(drive.ends_with("packets_trigger is at most packets_max"), "{drive}");
    let told = with("band_seed", "3").map(drop).expect_err("the bands are known");
    assert!(told.ends_with("take -d st8000as0002 to set drive.band_seed"), "{told}");
    assert!(
        with("rmp", "3").map(drop).expect_err("no such").starts_with("no parameter `drive.rmp`")
    );
    let settings = Settings { buffer: Buffer::Bytes(1 << 20), ..Settings::default() };
    let drive = made("set", &profile, &settings).expect("a drive");
    assert_eq!(drive.description().buffer_blocks, 256);
    let settings = Settings { timing: Some(Timing::Mechanics), ..Settings::default() };
    let still = Profile { mechanics: None, ..profile.clone() };
    let told = made("set", &still, &settings).map(drop).expect_err("no mechanics");
    assert!(told.contains("does not say how the arm moves"), "{told}");

    let (_, name) = file("set", &profile.to_text());
    let known = entry(&name).expect("known");
    assert_eq!((known.name.as_str(), known.shingled), (name.as_str(), true));
    assert_eq!(known.idle_cleaning, Some(true));
    assert!(known.has("cost_log_us_per_further_block") && !known.has("tracks_per_band"));
    let source = known.parameters().into_iter().find(|p| p.name == "cost_read_us");
    assert_eq!(source.expect("there").source, name);
}

#[test]
fn a_conventional_disk_has_no_buffer_and_no_zones() {
    let mut profile = parse(&shown()).expect("the example");
    profile.kind = Kind::Conventional;
    (profile.buffer, profile.rmw, profile.idle, profile.bands) = (None, None, None, Vec::new());
    profile.mechanics = None;
    let mut drive = made("cmr", &profile, &Settings::default()).expect("a drive");
    let description = drive.description();
    assert_eq!(description.disk_blocks, profile.bytes / BLOCK_BYTES);
    assert!(description.bands.is_none() && description.buffer_blocks == 0);
    let io = Io { op: Op::Read, block: Block(9), count: 1 };
    assert_eq!(drive.serve(Nanos::ZERO, &io, &mut []).done, Nanos(16_036_000));
}

#[test]
fn what_no_model_is_made_of_is_refused_in_a_line() {
    let base = parse(&shown()).expect("the example");
    let told = |name: &str, change: &dyn Fn(&mut Profile)| {
        let mut profile = base.clone();
        change(&mut profile);
        let told = made(name, &profile, &Settings::default()).map(drop).expect_err("refused");
        assert_eq!(told.lines().count(), 1, "{told}");
        assert!(told.contains(&format!("{name}.toml: ")), "{told}");
        told
    };
    assert!(told("ha", &|p| p.kind = Kind::HostAware).contains("-d ha-256m"));
    assert!(told("hm", &|p| p.kind = Kind::HostManaged).contains("-d exos-x18z"));
    assert!(told("ssd", &|p| p.kind = Kind::SolidState).contains("nothing to put a cache before"));
    assert!(told("hidden", &|p| p.kind = Kind::Hidden).contains("was not found out"));
    assert!(told("no-buffer", &|p| p.buffer = None).contains("has no [buffer]"));
    assert!(told("no-rmw", &|p| p.rmw = None).contains("has no [rmw]: what cleaning costs"));
    assert!(told("no-bands", &|p| p.bands.clear()).contains("has no [[bands]]"));
    assert!(
        told("limits", &|p| {
            let buffer = p.buffer.as_mut().expect("measured");
            (buffer.extents, buffer.log_bytes) = (None, None);
        })
        .contains("its end was not reached")
    );
    assert!(told("large", &|p| p.bytes = 1 << 50).contains("capacity_bytes would be"));
    assert!(told("small", &|p| p.bands[0].blocks = 2).contains("too small to be bands"));
    let told = make("profile:/nowhere/disk.toml", &Settings::default()).map(drop);
    let told = told.expect_err("no file").to_string();
    assert!(told.starts_with("/nowhere/disk.toml: there is no such file"), "{told}");
}

#[test]
fn invalid_profiles_are_refused_with_their_place() {
    let text = shown();
    let told = |from: &str, to: &str| {
        assert!(text.contains(from), "{from}");
        let told = parse(&text.replacen(from, to, 1)).expect_err(to).to_string();
        assert_eq!(told.lines().count(), 1, "{told}");
        told
    };
    assert!(told("profile/1", "profile/2").contains("`shingle.profile/2`"));
    assert!(told("format = ", "form = ").contains("does not say format"));
    let line = told("random_us", "random");
    assert!(line.starts_with("line 8: unknown field `random`"), "{line}");
    assert!(told("bytes = 8001563222016", "bytes = -1").starts_with("line 5: "));
    assert!(told("kind = \"drive-managed\"", "kind = \"odd\"").starts_with("line 4: "));
    assert!(told("[read]", "[read").starts_with("line 7: "));
    // A terminal is not for the text to command.
    let bell = told("random_us", "\"bell \\u0007\"");
    assert!(bell.contains("unknown field") && !bell.contains(char::is_control), "{bell:?}");
    for (from, to, field) in [
        ("bytes = 8001563222016", "bytes = 0", "bytes is 0"),
        ("random_us = 16036.0", "random_us = nan", "read.random_us is NaN"),
        ("random_us = 16036.0", "random_us = -1.0", "read.random_us is -1"),
        ("write_us = 306.0", "write_us = inf", "buffer.write_us is inf"),
        ("rotation_us = ", "rotation_us = -", "mechanics.rotation_us is -"),
        ("blocks = 1063,", "blocks = 0,", "mechanics.reads[0].blocks is 0"),
        ("blocks = 34040,", "blocks = 1063,", "mechanics.reads[1].blocks is 1063"),
        ("extents = 184000", "extents = 0", "buffer.extents is 0"),
        ("log_bytes = 30300000000", "log_bytes = 9223372036854775807", "buffer.log_bytes is"),
        ("depth = 1", "depth = 0", "buffer.measured[0].depth is 0"),
        ("bytes_low = 753651712", "bytes_low = 853651712", "buffer.measured[0].bytes_low"),
        ("zone_blocks = 5000", "zone_blocks = 0", "rmw.zone_blocks is 0"),
        ("us_per_block_low = 2391.0", "us_per_block_low = nan", "rmw.us_per_block_low is NaN"),
        ("us_per_block_high = 2479.0", "us_per_block_high = 0.0", "rmw.us_per_block_high is 0"),
        ("r_squared = 0.9999", "r_squared = 2.0", "rmw.r_squared is 2"),
        ("delay_ms = 1000.0", "delay_ms = -1.0", "idle.delay_ms is -1"),
        ("blocks = 9744", "blocks = 0", "bands[0].blocks is 0"),
        ("blocks = 9744", "blocks = 1953501100", "bands[1].first_block is 1953501000"),
        ("first_block = 0", "first_block = 1953495000", "bands[1].first_block"),
        ("blocks = 5061", "blocks = 9223372036854775807", "bands[1].blocks is"),
        ("first_block = 1953501000", "first_block = 9223372036854775807", "bands[1].first_block"),
    ] {
        let told = told(from, to);
        assert!(told.starts_with(field), "{told}");
    }
}

fn some_profile() -> impl Strategy<Value = Profile> {
    let kind = prop::sample::select(vec![
        Kind::Conventional,
        Kind::DriveManaged,
        Kind::HostAware,
        Kind::HostManaged,
        Kind::SolidState,
        Kind::Hidden,
    ]);
    let us = || 0.0..1e6_f64;
    let buffer = (
        prop::option::of(1u64..1 << 25),
        prop::option::of((1u64..1 << 25).prop_map(|blocks| blocks * BLOCK_BYTES)),
        us(),
        us(),
        prop::collection::vec((1u64..1 << 20, 1u32..64, 0u64..1 << 40, us()), 0..4),
    );
    let bands = prop::collection::vec((2u64..30_000, 0u64..100_000), 0..12);
    let rest = (prop::option::of((1u64..1 << 20, us())), any::<(bool, bool)>(), us());
    let read = (us(), us(), us());
    ("\\PC{0,12}", kind, 2u64..1 << 31, read, prop::option::of(buffer), bands, rest).prop_map(
        |(name, kind, blocks, read, buffer, bands, (rmw, (idle, cleaning), delay))| {
            let mut first = 0;
            let bands = bands.into_iter().map(|(blocks, gap)| {
                let band = BandFacts { first_block: first, blocks, error_blocks: gap / 100 };
                first += blocks + gap;
                band
            });
            let row = |(kib, depth, bytes, iops): (u64, u32, u64, f64)| CapacityFacts {
                write_bytes: kib * BLOCK_BYTES,
                depth,
                bytes,
                bytes_low: bytes / 2,
                bytes_high: bytes + 5,
                iops_before: iops,
                iops_after: iops / 3.0,
            };
            Profile {
                format: FORMAT.into(),
                serial: name.clone(),
                name,
                kind,
                bytes: blocks * BLOCK_BYTES + 512,
                read: Reads {
                    random_us: read.0,
                    sequential_us_per_block_first: read.1,
                    sequential_us_per_block_last: read.2,
                },
                mechanics: (delay > 1e5).then(|| MechanicsFacts {
                    rotation_us: read.1 / 50.0,
                    command_us: read.2 / 1e3,
                    read_ahead_bytes: blocks,
                    reads: (0..blocks.ilog2())
                        .map(|at| DistanceFacts { blocks: 1 << at, us: read.0 / 30.0 })
                        .collect(),
                }),
                zones: idle.then_some(ZoneFacts { zone_bytes: 1 << 28, count: blocks }),
                buffer: buffer.map(|(extents, log_bytes, write_us, further, rows)| BufferFacts {
                    extents,
                    log_bytes,
                    write_us,
                    write_us_per_further_block: further,
                    measured: rows.into_iter().map(row).collect(),
                }),
                rmw: rmw.map(|(zone_blocks, base_us)| RmwFacts {
                    zone_blocks,
                    base_us,
                    us_per_block: base_us / 7.0,
                    us_per_block_low: base_us / 8.0,
                    us_per_block_high: base_us / 6.0,
                    r_squared: 0.5,
                }),
                idle: idle.then_some(IdleFacts { cleaning, delay_ms: delay, delay_ms_error: 1.0 }),
                bands: bands.filter(|band| band.first_block + band.blocks <= blocks).collect(),
            }
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    /// As text and back it is the same; as a drive it is refused in words, or works.
    #[test]
    fn profiles_come_back_from_their_text_and_work(profile in some_profile()) {
        prop_assert_eq!(parse(&profile.to_text()), Ok(profile.clone()));
        // A small buffer: filling and cleaning it is quick.
        let settings = Settings { buffer: Buffer::Bytes(40_960), ..Settings::default() };
        let settings = if profile.kind == Kind::Conventional { Settings::default() } else { settings };
        if let Ok(mut drive) = made("random", &profile, &settings) {
            drive.check();
            let blocks = drive.description().disk_blocks;
            let mut now = Nanos::ZERO;
            for turn in 0..50 {
                let block = Block(blocks / 50 * turn);
                let mut stamps = [turn + 1];
                let io = Io { op: Op::Write, block, count: 1 };
                now = drive.serve(now, &io, &mut stamps).done;
            }
            drive.check();
            for turn in 0..50 {
                let block = Block(blocks / 50 * turn);
                let mut stamps = [0];
                now = drive.serve(now, &Io { op: Op::Read, block, count: 1 }, &mut stamps).done;
                if blocks >= 50 {
                    prop_assert_eq!(stamps[0], turn + 1);
                }
            }
            prop_assert!(drive.drain(now) >= now);
        }
    }

    /// Bytes changed anywhere: refused in one line, or a profile, and never a panic.
    #[test]
    fn a_changed_text_is_refused_or_read(at in 0usize..1000, byte in any::<u8>(), cut in 0usize..2000) {
        let mut bytes = shown().into_bytes();
        let length = bytes.len();
        bytes[at % length] = byte;
        bytes.truncate(cut.max(1));
        if let Err(error) = parse(&String::from_utf8_lossy(&bytes)) {
            prop_assert_eq!(error.to_string().lines().count(), 1);
        }
    }
}
