//! The executor of translations, held to steps and figures worked out by hand: a translation here
//! plays a script, over a zoned disk of a few blocks.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use shingle_core::params::Params;
use shingle_core::registry::{CACHE_PARAMS, Registry, Setup};
use shingle_core::units::{BLOCK_BYTES, Block, Nanos, Op, Request, Zone};
use shingle_drive::{Drive, Io, Stamp};
use shingle_drive::{Overrides, Settings, make, make_ssd};
use shingle_result::Pacing;
use shingle_sim::system::{Rules, System};
use shingle_sim::translated::{Translated, layout};
use shingle_translation::{
    BufferState, Counters, Layout, Piece, Place, Queue, Step, Translation, Work,
};

/// Blocks in a zone. Two zones are conventional, six sequential.
const ZONE: u64 = 16;
const CONVENTIONAL: u64 = 2;

fn zoned_drive() -> Box<dyn Drive> {
    let bytes = |blocks: u64| (blocks * BLOCK_BYTES).to_string();
    let overrides = Overrides::new()
        .with("capacity_bytes", &bytes((3 + CONVENTIONAL + 6) * ZONE))
        .with("zone_bytes", &bytes(ZONE))
        .with("conventional_zones", &CONVENTIONAL.to_string())
        .with("log_zones", "3")
        .with("track_od_bytes", &bytes(16))
        .with("track_id_bytes", &bytes(8))
        .with("rate_zones", "2")
        .with("zone_tracks", "4");
    make("ha-256m", &Settings { overrides, ..Settings::default() }).expect("a tiny drive")
}

/// What a step saw of the queue: whether anything waited, and whether a write of block 0 did.
type Seen = Arc<Mutex<Vec<(bool, bool)>>>;

/// Plays a script: the steps of each work.
#[derive(Clone, Default)]
struct Scripted {
    works: VecDeque<Vec<Step>>,
    under_way: VecDeque<Step>,
    places: Vec<Piece>,
    pointers: [u64; 6],
    counters: Counters,
    idles: usize,
    seen: Seen,
}

impl Scripted {
    fn new(works: &[&[Step]]) -> Scripted {
        let works = works.iter().map(|steps| steps.to_vec()).collect();
        Scripted { works, ..Scripted::default() }
    }

    fn over_a_drive(self, idle_after: Option<Nanos>) -> Translated {
        let drive = zoned_drive();
        let layout = layout(drive.description(), Some(20)).expect("it has zones");
        assert_eq!(layout, Layout { zone_blocks: ZONE, buffer_blocks: 20, zones: 6 });
        Translated::new(Box::new(self), drive, layout, idle_after)
    }
}

impl Translation for Scripted {
    fn blocks(&self) -> u64 {
        6 * ZONE
    }
    fn locate(&mut self, _: Block, _: u64, out: &mut Vec<Piece>) {
        out.extend(&self.places);
    }
    fn begin(&mut self, work: Work) {
        assert!(self.under_way.is_empty(), "one work at a time");
        if work == Work::Idle {
            self.idles -= 1;
        }
        self.under_way = self.works.pop_front().unwrap_or_default().into();
    }
    fn next(&mut self, queue: &dyn Queue) -> Option<Step> {
        self.seen
            .lock()
            .expect("one thread")
            .push((queue.waits(), queue.writes(&|block, _| block == Block(0))));
        let step = self.under_way.pop_front();
        match step {
            Some(Step::Append { zone, count, .. }) => self.pointers[zone.index()] += count,
            Some(Step::Reset { zone }) => self.pointers[zone.index()] = 0,
            _ => {}
        }
        step
    }
    fn wants_idle(&self) -> bool {
        self.idles > 0
    }
    fn counters(&self) -> &Counters {
        &self.counters
    }
    fn buffer_state(&self) -> BufferState {
        BufferState { free: 20, ..BufferState::default() }
    }
    fn write_pointer(&self, zone: Zone) -> u64 {
        self.pointers[zone.index()]
    }
    fn memory_bytes(&self) -> u64 {
        77
    }
    fn copy(&self) -> Box<dyn Translation> {
        Box::new(self.clone())
    }
}

fn buffer(at: u64, block: u64, count: u64) -> Step {
    Step::Buffer { block: Block(block), count, at }
}

fn read(from: Place, block: u64, count: u64) -> Step {
    Step::Read { from, block: Block(block), count }
}

fn append(zone: u32, block: u64, count: u64) -> Step {
    Step::Append { zone: Zone(zone), block: Block(block), count }
}

fn io(op: Op, block: u64, count: u64) -> Io {
    Io { op, block: Block(block), count }
}

const RESET: Step = Step::Reset { zone: Zone(1) };

/// Zone 1 holds blocks 16 to 31.
#[test]
fn steps_move_data_and_count_by_cause() {
    let mut script = Scripted::new(&[
        // Two blocks with a gap of one go to the buffer,
        &[buffer(3, 17, 1), Step::Commit],
        &[buffer(4, 19, 1), Step::Commit],
        // then to the empty zone: the lowest is not at its start, so two gaps.
        &[
            read(Place::Buffer(3), 17, 1),
            read(Place::Buffer(4), 19, 1),
            append(1, 16, 4),
            Step::Commit,
            buffer(9, 40, 1),
        ],
        &[buffer(3, 18, 1)],
        // The gap between them is filled by an RMW; the gap before them is written again.
        &[
            read(Place::Native(ZONE), 16, 4),
            read(Place::Buffer(3), 18, 1),
            RESET,
            append(1, 16, 7),
            Step::Commit,
            // The host's own data goes straight behind.
            append(1, 23, 2),
        ],
    ]);
    script.places = vec![Piece { place: Place::Native(ZONE), count: 9 }];
    let mut drive = script.over_a_drive(None);
    let mut now = Nanos::ZERO;
    let mut write = |drive: &mut Translated, block, stamps: &mut [Stamp]| {
        let served = drive.serve(now, &io(Op::Write, block, stamps.len() as u64), stamps);
        let spans = [served.command, served.seek, served.rotation, served.transfer, served.clean];
        assert_eq!(served.done, now + spans.into_iter().sum(), "the spans add up");
        now = served.done;
        served
    };
    assert_eq!(write(&mut drive, 17, &mut [170]).clean, Nanos::ZERO);
    write(&mut drive, 19, &mut [190]);
    let before = *drive.counters();
    assert!(write(&mut drive, 40, &mut [400]).clean > Nanos::ZERO);
    let padded = |drive: &Translated| {
        let did = drive.translating();
        (did.padded_first_blocks, did.padded_blocks)
    };
    assert_eq!(padded(&drive), (2, 2), "16 and 18");
    write(&mut drive, 18, &mut [180]);
    write(&mut drive, 23, &mut [230, 240]);
    // 16 again; 20, 21 and 22 for the first time; 18 is none any more.
    assert_eq!(padded(&drive), (5, 6));

    let counters = *drive.counters();
    assert_eq!(counters.log_bytes_written, 4 * BLOCK_BYTES);
    assert_eq!(counters.buffer_written_blocks, 4);
    assert_eq!(counters.band_bytes_written, (4 + 7) * BLOCK_BYTES);
    assert_eq!(counters.native_bytes_written, 2 * BLOCK_BYTES);
    assert_eq!(counters.rmw_read_bytes, 4 * BLOCK_BYTES);
    assert_eq!((counters.zone_resets, counters.synthesized_blocks), (1, 5));
    assert_eq!((before.clean_time, before.write_time), (Nanos::ZERO, Nanos::ZERO));
    assert!(before.log_time > Nanos::ZERO && counters.write_time > Nanos::ZERO);
    let all = counters.log_time + counters.write_time + counters.clean_time;
    assert_eq!(all, now, "all time has a cause");
    drive.check();

    let mut stamps = [Stamp::MAX; 9];
    drive.serve(now, &io(Op::Read, 16, 9), &mut stamps);
    assert_eq!(stamps, [0, 170, 180, 190, 0, 0, 0, 230, 240]);
}

/// Blocks 40 and 41 in the buffer, which is an SSD of 28 us a block; 41 goes to zone 1 from there.
#[test]
fn the_buffer_may_be_a_device_of_its_own() {
    let steps = [read(Place::Buffer(8), 41, 1), append(1, 41, 1), Step::Commit];
    let mut script = Scripted::new(&[&[buffer(7, 40, 2)], &steps]);
    script.places = vec![
        Piece { place: Place::Buffer(7), count: 1 },
        Piece { place: Place::Native(ZONE), count: 1 },
    ];
    let ssd = make_ssd("pcie-ssd", &Settings::default()).expect("an SSD");
    let mut drive = script.over_a_drive(None).with_buffer_on(ssd);
    let served = drive.serve(Nanos::ZERO, &io(Op::Write, 40, 2), &mut [400, 410]);
    assert_eq!(served.done, Nanos::from_micros(56), "on the SSD");
    assert_eq!(drive.counters().log_time, Nanos::from_micros(56));
    let written = drive.serve(served.done, &io(Op::Write, 0, 1), &mut [7]);
    assert!(written.done.since(served.done) > Nanos::from_micros(28 + 100), "on the disk");
    let mut copy = drive.duplicate();
    let mut stamps = [Stamp::MAX; 2];
    copy.serve(written.done, &io(Op::Read, 40, 2), &mut stamps);
    assert_eq!(stamps, [400, 410]);
    assert_eq!(copy.serve(written.done, &io(Op::Flush, 0, 0), &mut []).clean, Nanos::ZERO);
    drive.check();
}

#[test]
fn reads_need_one_io_a_piece_and_none_for_unmapped_blocks() {
    let mut script = Scripted::new(&[&[buffer(0, 40, 2)], &[buffer(9, 42, 1)]]);
    script.places = vec![
        Piece { place: Place::Buffer(0), count: 2 },
        Piece { place: Place::Buffer(9), count: 1 },
        Piece { place: Place::Nowhere, count: 3 },
    ];
    let mut drive = script.over_a_drive(None);
    let now = drive.serve(Nanos::ZERO, &io(Op::Write, 40, 2), &mut [7, 8]).done;
    let now = drive.serve(now, &io(Op::Write, 42, 1), &mut [9]).done;
    let mut stamps = [Stamp::MAX; 6];
    let done = drive.serve(now, &io(Op::Read, 40, 6), &mut stamps).done;
    assert_eq!(stamps, [7, 8, 9, 0, 0, 0]);
    let counters = drive.counters();
    assert_eq!(counters.read_blocks, 6);
    assert_eq!((counters.buffer_read_blocks, counters.beyond_pointer_blocks), (3, 3));

    // By itself the drive takes the same time for two reads.
    let mut bare = zoned_drive();
    let mut at = Nanos::ZERO;
    for (op, block, count) in [(Op::Write, 0, 2), (Op::Write, 9, 1), (Op::Read, 0, 2)] {
        at = bare.serve(at, &io(op, block, count), &mut []).done;
    }
    assert_eq!(bare.serve(at, &io(Op::Read, 9, 1), &mut []).done, done);
}

#[test]
fn contiguous_steps_are_joined_to_one_io() {
    let collect = |steps: &[Step]| {
        let mut works = vec![vec![buffer(0, 16, 8)]];
        works.push(steps.iter().copied().chain([append(1, 16, 8), buffer(9, 40, 1)]).collect());
        let works: Vec<&[Step]> = works.iter().map(Vec::as_slice).collect();
        let mut drive = Scripted::new(&works).over_a_drive(None);
        let now = drive.serve(Nanos::ZERO, &io(Op::Write, 16, 8), &mut []).done;
        drive.serve(now, &io(Op::Write, 40, 1), &mut []).done
    };
    let whole = collect(&[read(Place::Buffer(0), 16, 8)]);
    // The last two of the buffer first for the host: still one read.
    let parts = [read(Place::Buffer(0), 18, 6), read(Place::Buffer(6), 16, 2)];
    assert_eq!(collect(&parts), whole);
    let scattered = [read(Place::Buffer(6), 16, 2), read(Place::Buffer(0), 18, 6)];
    assert!(collect(&scattered) > whole, "reading what lies scattered takes longer");
}

#[test]
fn idle_work_runs_in_steps_and_io_interrupts_it() {
    let steps = [read(Place::Buffer(0), 16, 1), append(0, 0, 2), Step::Commit, append(0, 2, 2)];
    let mut script = Scripted::new(&[&[buffer(0, 16, 1)], &steps, &[buffer(0, 1, 1)]]);
    script.idles = 1;
    let seen = script.seen.clone();
    let mut drive = script.over_a_drive(Some(Nanos::from_millis(5)));
    let last = drive.serve(Nanos::ZERO, &io(Op::Write, 16, 1), &mut []).done;
    let due = drive.background_from(last).expect("it wants idle time");
    assert_eq!(due, last + Nanos::from_millis(5));
    assert_eq!(drive.background(last, last, &[]), None, "not yet");
    let first = drive.background(due, last, &[]).expect("a read");
    let second = drive.background(first, last, &[]).expect("an append");
    assert_eq!(drive.counters().band_bytes_written, 2 * BLOCK_BYTES);
    assert_eq!(drive.counters().idle_clean_time, second.since(due));
    // A write comes: the last step is told that it waits, and comes first.
    seen.lock().expect("one thread").clear();
    let served = drive.serve(second, &io(Op::Write, 0, 1), &mut []);
    assert!(served.clean > Nanos::ZERO);
    assert_eq!(drive.counters().band_bytes_written, 4 * BLOCK_BYTES);
    assert_eq!(drive.counters().clean_time, served.clean);
    let seen = seen.lock().expect("one thread");
    assert_eq!(seen[0], (true, true), "{seen:?}");
    assert_eq!(seen.last(), Some(&(false, false)), "its own work holds nothing up");
    assert_eq!(drive.background_from(served.done), None, "nothing left");
}

#[test]
fn without_idle_time_nothing_is_done_in_it() {
    let mut script = Scripted::new(&[]);
    script.idles = 1;
    let mut drive = script.over_a_drive(None);
    assert_eq!(drive.background_from(Nanos::ZERO), None);
    assert_eq!(drive.background(Nanos::from_millis(9), Nanos::ZERO, &[]), None);
}

#[test]
#[should_panic(expected = "an append of 17 blocks that the drive refuses: zone 3")]
fn a_step_that_violates_a_zone_rule_is_detected() {
    let mut drive = Scripted::new(&[&[append(1, 16, 17)]]).over_a_drive(None);
    drive.serve(Nanos::ZERO, &io(Op::Write, 16, 17), &mut []);
}

#[test]
#[should_panic(expected = "block 18 is to go to the buffer")]
fn a_step_without_its_data_is_detected() {
    let mut drive = Scripted::new(&[&[buffer(0, 17, 2)]]).over_a_drive(None);
    drive.serve(Nanos::ZERO, &io(Op::Write, 17, 1), &mut [1]);
}

#[test]
fn a_drive_without_zones_to_spare_is_refused() {
    let plain = make("cmr7200", &Settings::default()).expect("a drive");
    let error = layout(plain.description(), None).expect_err("refused");
    assert!(error.contains("no zones"), "{error}");
    let drive = zoned_drive();
    let error = layout(drive.description(), Some(33)).expect_err("refused");
    assert!(error.contains("32 blocks"), "{error}");
    assert_eq!(layout(drive.description(), None).map(|layout| layout.buffer_blocks), Ok(32));
}

/// Policy `none` over a scripted translation.
fn system(script: Scripted, pacing: Pacing) -> System {
    let drive = script.over_a_drive(None);
    let description = drive.description().clone();
    let none = Registry::default().get("none").copied().expect("a policy");
    let defaults = Params::new(CACHE_PARAMS);
    let setup = Setup {
        buffer_blocks: description.buffer_blocks,
        is_log: false,
        costs: description.costs,
        ..Setup::new(0, description.disk_blocks, &defaults)
    };
    let cache = none.make(&Params::new(none.params), &setup).expect("no cache");
    let ssd = make_ssd("pcie-ssd", &Settings::default()).expect("an SSD");
    let rules = Rules { pacing, split: false, fill_partial: false };
    System::new(cache, ssd, drive, rules, false)
}

#[test]
fn in_open_loop_a_translation_sees_what_has_arrived() {
    // Twenty writes into the buffer take far longer than a millisecond each.
    let works = [[buffer(0, 40, 1)]; 3];
    let works: Vec<&[Step]> = works.iter().map(|steps| &steps[..]).collect();
    let request = |ms, block: u64| Request {
        at: Nanos::from_millis(ms),
        offset: block * BLOCK_BYTES,
        bytes: BLOCK_BYTES,
        op: Op::Write,
    };
    let requests = [request(0, 40), request(0, 0), request(60_000, 40)];
    for pacing in [Pacing::Open, Pacing::Closed] {
        let script = Scripted::new(&works);
        let seen = script.seen.clone();
        let mut system = system(script, pacing);
        assert_eq!(system.uses_announcements(), pacing == Pacing::Open);
        system.announce(&requests);
        let mut told = Vec::new();
        for request in &requests {
            seen.lock().expect("one thread").clear();
            system.request(request);
            told.push(seen.lock().expect("one thread")[0]);
        }
        // The second arrives with the first and writes block 0; the third arrives when all is done.
        let waits = pacing == Pacing::Open;
        assert_eq!(told, [(waits, waits), (false, false), (false, false)]);
    }
}
