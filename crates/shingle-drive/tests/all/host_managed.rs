//! The host-managed disks, worked out by hand: each rule of zones, what a command does to their
//! condition, and what it takes.

use shingle_core::units::{Block, Nanos, Op, Zone};
use shingle_drive::{
    Buffer, Condition, Drive, Io, Overrides, Refused, Rng, Rule, Served, Settings, Stamp, Timing,
    make,
};

const BLOCK: u64 = 4096;

/// Zones of four blocks: 0 and 1 are conventional, 2 to 7 are not; two can be open.
fn drive(overrides: &[(&str, &str)]) -> Box<dyn Drive> {
    let mut all = Overrides::new()
        .with("zone_bytes", &(4 * BLOCK).to_string())
        .with("conventional_zones", "2")
        .with("capacity_bytes", &(8 * 4 * BLOCK).to_string())
        .with("open_zones", "2");
    overrides.iter().for_each(|(name, value)| all.set(name, value));
    make("hm-tiny", &Settings { overrides: all, ..Settings::default() }).expect("the drive")
}

#[derive(Clone, Copy, Debug)]
enum Do {
    Write(u64, u64),
    Read(u64, u64),
    Append(u32, u64),
    Open(u32),
    Close(u32),
    Finish(u32),
    Reset(u32),
}

fn carry_out(drive: &mut dyn Drive, what: Do, data: &mut [Stamp]) -> Result<Served, Refused> {
    let zoned = drive.zoned().expect("zones");
    let io = |op, block, count| Io { op, block: Block(block), count };
    let now = Nanos::ZERO;
    match what {
        Do::Write(block, count) => zoned.try_serve(now, &io(Op::Write, block, count), data),
        Do::Read(block, count) => zoned.try_serve(now, &io(Op::Read, block, count), data),
        Do::Append(zone, count) => zoned.append(now, Zone(zone), count, data).map(|done| done.1),
        Do::Open(zone) => zoned.open(now, Zone(zone)),
        Do::Close(zone) => zoned.close(now, Zone(zone)),
        Do::Finish(zone) => zoned.finish(now, Zone(zone)),
        Do::Reset(zone) => zoned.reset(now, Zone(zone)),
    }
}

fn state(drive: &mut dyn Drive, zone: u32) -> (Condition, u64) {
    let info = drive.zoned().expect("zones").zone(Zone(zone));
    (info.condition, info.write_pointer)
}

/// What is done one after the other: what comes of it, and condition and write pointer of a zone
/// after it.
#[test]
fn each_rule_and_each_condition() {
    use Condition::{Closed, Conventional, Empty, ExplicitOpen, Full, ImplicitOpen};
    use Do::{Append, Close, Finish, Open, Read, Reset, Write};
    let (done, refused) = (Ok(()), Err::<(), Rule>);
    let steps = [
        // Conventional zones: in place, over their borders, but not into a zone with a pointer.
        (Write(6, 1), done, 1, (Conventional, 0)),
        (Write(2, 5), done, 0, (Conventional, 0)),
        (Write(7, 2), refused(Rule::ZoneBoundary), 2, (Empty, 0)),
        (Append(1, 1), refused(Rule::Conventional), 1, (Conventional, 0)),
        (Open(0), refused(Rule::Conventional), 0, (Conventional, 0)),
        (Close(0), refused(Rule::Conventional), 0, (Conventional, 0)),
        (Finish(1), refused(Rule::Conventional), 1, (Conventional, 0)),
        (Reset(1), refused(Rule::Conventional), 1, (Conventional, 0)),
        // At the pointer, nowhere else, and not over the end.
        (Write(9, 1), refused(Rule::AtPointer), 2, (Empty, 0)),
        (Write(8, 5), refused(Rule::ZoneBoundary), 2, (Empty, 0)),
        (Write(8, 2), done, 2, (ImplicitOpen, 2)),
        (Write(8, 2), refused(Rule::AtPointer), 2, (ImplicitOpen, 2)),
        (Append(2, 3), refused(Rule::ZoneBoundary), 2, (ImplicitOpen, 2)),
        (Append(2, 2), done, 2, (Full, 4)),
        (Append(2, 1), refused(Rule::ZoneFull), 2, (Full, 4)),
        (Write(11, 1), refused(Rule::ZoneFull), 2, (Full, 4)),
        // A full zone is not opened or closed.
        (Open(2), done, 2, (Full, 4)),
        (Close(2), done, 2, (Full, 4)),
        (Finish(2), done, 2, (Full, 4)),
        (Reset(2), done, 2, (Empty, 0)),
        (Reset(2), done, 2, (Empty, 0)),
        // An empty zone that is opened and closed is empty again; one that was written is closed.
        (Close(3), done, 3, (Empty, 0)),
        (Open(3), done, 3, (ExplicitOpen, 0)),
        (Close(3), done, 3, (Empty, 0)),
        (Open(3), done, 3, (ExplicitOpen, 0)),
        (Append(3, 1), done, 3, (ExplicitOpen, 1)),
        (Open(3), done, 3, (ExplicitOpen, 1)),
        (Close(3), done, 3, (Closed, 1)),
        (Append(3, 1), done, 3, (ImplicitOpen, 2)),
        // Two can be open: the one opened longest ago by a write is closed.
        (Append(4, 1), done, 3, (ImplicitOpen, 2)),
        (Append(5, 1), done, 3, (Closed, 2)),
        (Open(6), done, 4, (Closed, 1)),
        (Append(4, 1), done, 5, (Closed, 1)),
        (Open(4), done, 4, (ExplicitOpen, 2)),
        // Both were opened by command: nothing can be closed for a third.
        (Append(5, 1), refused(Rule::TooManyOpen), 5, (Closed, 1)),
        (Write(28, 1), refused(Rule::TooManyOpen), 7, (Empty, 0)),
        (Open(7), refused(Rule::TooManyOpen), 7, (Empty, 0)),
        (Finish(5), refused(Rule::TooManyOpen), 5, (Closed, 1)),
        (Append(6, 1), done, 6, (ExplicitOpen, 1)),
        (Write(0, 8), done, 0, (Conventional, 0)),
        (Finish(6), done, 6, (Full, 4)),
        (Finish(5), done, 5, (Full, 4)),
        (Finish(7), done, 7, (Full, 4)),
        (Append(4, 2), done, 4, (Full, 4)),
        (Read(0, 32), done, 4, (Full, 4)),
    ];
    let mut drive = drive(&[]);
    for (step, (what, expected, zone, after)) in steps.into_iter().enumerate() {
        let before = *drive.counters();
        let answer = carry_out(drive.as_mut(), what, &mut []);
        assert_eq!(answer.map(|_| ()).map_err(|refused| refused.rule), expected, "{step} {what:?}");
        assert_eq!(state(drive.as_mut(), zone), after, "{step} {what:?}");
        assert!(expected.is_ok() || *drive.counters() == before, "{step}: refused, and counted");
        drive.check();
    }
    let counters = drive.counters();
    assert_eq!((counters.zone_closes, counters.zone_resets), (3, 2));
    assert_eq!(counters.written_blocks, 6 + 4 + 2 + 2 + 1 + 1 + 8 + 2);
    // Zone 2 is empty, 3 half; the rest was written or finished.
    assert_eq!((counters.read_blocks, counters.beyond_pointer_blocks), (32, 4 + 2));
}

#[test]
fn a_refusal_names_rule_and_place_in_one_line() {
    let mut drive = drive(&[("reads_beyond_pointer", "off"), ("open_zones", "1")]);
    let drive = drive.as_mut();
    let mut refused = |what| carry_out(drive, what, &mut []).map(|_| ()).map_err(|r| r.to_string());
    assert_eq!(refused(Do::Append(3, 2)), Ok(()));
    let says = |place: &str, rule: &str| Err(format!("{place}: {rule}"));
    assert_eq!(
        refused(Do::Write(12, 1)),
        says(
            "zone 3, block 12, write pointer 14",
            "a write must begin at the write pointer; write there, or reset"
        )
    );
    assert_eq!(
        refused(Do::Write(14, 3)),
        says(
            "zone 3, block 14, write pointer 14",
            "a write may not go over the end of its zone; cut it there"
        )
    );
    assert_eq!(
        refused(Do::Read(4, 11)),
        says(
            "zone 2, block 4, write pointer 8",
            "a read may not go beyond the write pointer (URSWRZ is 0); read what was written"
        )
    );
    assert_eq!(refused(Do::Read(12, 2)), Ok(()));
    assert_eq!(refused(Do::Open(3)), Ok(()));
    assert_eq!(
        refused(Do::Open(4)),
        says(
            "zone 4, block 16, write pointer 16",
            "as many zones as can be open were opened by command; close or finish one"
        )
    );
    assert_eq!(refused(Do::Finish(3)), Ok(()));
    assert_eq!(
        refused(Do::Append(3, 1)),
        says("zone 3, block 16, write pointer 16", "a full zone takes no write; reset it first")
    );
    assert_eq!(
        refused(Do::Reset(1)),
        says(
            "zone 1, block 4, write pointer 4",
            "a conventional zone has no write pointer to append at or to move; write in place"
        )
    );
    // All of zone 3 is below the pointer, written or not.
    assert_eq!(refused(Do::Read(12, 4)), Ok(()));
}

#[test]
#[should_panic(expected = "a write must begin at the write pointer")]
fn serve_panics_where_a_write_breaks_a_zone_rule() {
    drive(&[]).serve(Nanos::ZERO, &Io { op: Op::Write, block: Block(9), count: 1 }, &mut []);
}

#[test]
fn what_was_not_written_reads_as_zeros() {
    let mut drive = drive(&[]);
    let drive = drive.as_mut();
    let mut all = |what: &[Do]| {
        let mut stamp = 10;
        for &step in what {
            let count = match step {
                Do::Append(_, count) | Do::Write(_, count) => count,
                _ => 0,
            };
            let mut stamps: Vec<Stamp> = (stamp + 1..=stamp + count).collect();
            stamp += count;
            carry_out(drive, step, &mut stamps).expect("allowed");
        }
        let mut data = [99; 12];
        carry_out(drive, Do::Read(4, 12), &mut data).expect("allowed");
        data
    };
    use Do::{Append, Finish, Reset, Write};
    let written = all(&[Write(6, 1), Append(2, 3), Append(3, 4)]);
    assert_eq!(written, [0, 0, 11, 0, 12, 13, 14, 0, 15, 16, 17, 18]);
    assert_eq!(all(&[Reset(3), Finish(2)]), [0, 0, 11, 0, 12, 13, 14, 0, 0, 0, 0, 0]);
    assert_eq!(all(&[Append(3, 1), Reset(2)]), [0, 0, 11, 0, 0, 0, 0, 0, 11, 0, 0, 0]);
}

/// A rotation of 8 ms, tracks of 8 blocks that are also the zones, each a block later than the one
/// before; seeks of 1 ms, and half of one to settle; 0.1 ms a command, 1 us a block on the bus.
#[test]
fn an_append_waits_for_the_platter() {
    let mut drive = drive(&[
        ("zone_bytes", "32768"),
        ("conventional_zones", "1"),
        ("capacity_bytes", "262144"),
        ("rpm", "7500"),
        ("track_od_bytes", "32768"),
        ("track_id_bytes", "32768"),
        ("rate_zones", "1"),
        ("seek_base_ms", "1"),
        ("seek_sqrt_ms", "0"),
        ("seek_linear_ms", "0"),
        ("head_switch_us", "1000"),
        ("write_settle_us", "500"),
        ("command_us", "100"),
        ("bus_bytes_per_us", "4096"),
    ]);
    let mut append = |at_us: u64| {
        let zoned = drive.zoned().expect("zones");
        let (_, served) =
            zoned.append(Nanos::from_micros(at_us), Zone(1), 1, &mut []).expect("room");
        [served.command, served.seek, served.rotation, served.transfer].map(|time| time.0 / 1000)
    };
    // At 1.601 ms the head is on track 1, whose first block comes by at 1 ms and at 9 ms.
    assert_eq!(append(0), [101, 1500, 7399, 1000]);
    // At 10 ms the next block begins, but the command takes its time: nearly a whole turn.
    assert_eq!(append(10_000), [101, 0, 7899, 1000]);
    // At 27 ms the third one begins, and the head is there.
    assert_eq!(append(26_899), [101, 0, 0, 1000]);
    // A reset takes a command; what is beyond the pointer comes over the bus alone.
    let zoned = drive.zoned().expect("zones");
    let reset = zoned.reset(Nanos::from_micros(28_000), Zone(1)).expect("a zone");
    assert_eq!(reset.done, Nanos::from_micros(28_100));
    let io = Io { op: Op::Read, block: Block(8), count: 3 };
    let read = drive.serve(reset.done, &io, &mut []);
    assert_eq!(read.done, Nanos::from_micros(28_203));
}

/// SAC+: R(x) = 0.0345 x + 30.61 ms for reading and writing x blocks, in however many I/Os.
#[test]
fn cost_timing_charges_a_rewriting_its_r() {
    let settings = Settings { timing: Some(Timing::Cost), ..Settings::default() };
    let mut drive = make("exos-x18z", &settings).expect("the drive");
    let zone = Zone(720);
    let first = 720 * 65_536;
    let mut now = Nanos::ZERO;
    let zoned = drive.zoned().expect("zones");
    now = zoned.append(now, zone, 3000, &mut []).expect("room").1.done;
    let start = now;
    for at in (0..3000).step_by(128) {
        let count = 128.min(3000 - at);
        let io = Io { op: Op::Read, block: Block(first + at), count };
        now = zoned.serve(now, &io, &mut []).done;
    }
    now = zoned.reset(now, zone).expect("a zone").done;
    for at in (0..3000).step_by(100) {
        let (block, served) = zoned.append(now, zone, 100, &mut []).expect("room");
        assert_eq!(block, Block(first + at));
        now = served.done;
    }
    assert_eq!(now.since(start), Nanos::from_micros(30_610 + 3000 * 345 / 10));
    assert_eq!(drive.description().costs.rmw(3000), now.since(start));
    assert_eq!(drive.description().costs.read, Nanos::from_millis(14));
    // Beyond the pointer nothing is read.
    let io = Io { op: Op::Read, block: Block(first + 2999), count: 500 };
    assert_eq!(drive.serve(now, &io, &mut []).done.since(now), Nanos(14_000_000 + 17_250));
}

/// Amphisbaena Table 2 (models of what it leaves out): 18 TB, 720 conventional zones, 66,336 others.
#[test]
fn the_disk_of_amphisbaena() {
    let mut drive = make("exos-x18z", &Settings::default()).expect("the drive");
    let description = drive.description();
    assert_eq!(description.disk_blocks, (720 + 66_336) * 65_536);
    assert_eq!(description.buffer_blocks, 0);
    let exposed = description.exposed.expect("zones");
    assert_eq!((exposed.conventional_zones, exposed.open_zones), (720, 128));
    assert!(exposed.sequential_required);
    assert_eq!(state(drive.as_mut(), 719), (Condition::Conventional, 0));
    assert_eq!(state(drive.as_mut(), 67_055), (Condition::Empty, 0));
    let buffer = Settings { buffer: Buffer::Bytes(1 << 30), ..Settings::default() };
    let error = make("exos-x18z", &buffer).err().expect("refused").to_string();
    assert_eq!(error, "exos-x18z: a host-managed disk has no buffer of its own to size");
    // All zones finished, reads go anywhere. Over pairs of tracks a mean seek takes 8.2 ms; blocks lie
    // a little closer together, as outer tracks hold more of them. A rotation takes 8.33 ms.
    let mut now = Nanos::ZERO;
    for zone in 720..67_056 {
        now = drive.zoned().expect("zones").finish(now, Zone(zone)).expect("a zone").done;
    }
    let mut rng = Rng::new(1);
    let (mut seek, mut rotation) = (0.0, 0.0);
    for _ in 0..20_000 {
        let block = Block(rng.below(drive.description().disk_blocks));
        let served = drive.serve(now, &Io { op: Op::Read, block, count: 1 }, &mut []);
        now = served.done;
        seek += served.seek.as_secs_f64() * 1e3 / 20_000.0;
        rotation += served.rotation.as_secs_f64() * 1e3 / 20_000.0;
    }
    assert!((seek - 8.05).abs() < 0.05, "{seek} ms");
    assert!((rotation - 8.333 / 2.0).abs() < 0.05, "{rotation} ms");
    // A zone at either edge in one I/O: 270 and 130 MB/s less the skew of tracks.
    for (zone, expected) in [(0u64, 248.0), (67_055, 120.0)] {
        let io = Io { op: Op::Read, block: Block(zone * 65_536), count: 65_536 };
        let served = drive.serve(now, &io, &mut []);
        let seconds = served.done.since(now).as_secs_f64();
        let rate = 268.435_456 / seconds;
        assert!((rate - expected).abs() < 5.0, "{rate} MB/s");
    }
}
