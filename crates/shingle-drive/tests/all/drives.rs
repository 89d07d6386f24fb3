//! Every drive, made tiny, under random work: what is read is what was last written, spans add up,
//! counters conserve, invariants hold after each step.

use proptest::prelude::*;
use shingle_core::units::{Block, Nanos, Op};
use shingle_drive::{
    Buffer, Counters, Drive, Io, Overrides, Settings, Stamp, Timing, make, make_ssd,
};
use std::collections::HashMap;

/// The drives under test: all of the registry, some in more than one setting.
const KINDS: [&str; 32] = [
    "st8000as0002",
    "st8000as0002, cost timing",
    "st8000as0002, few extents",
    "st8000as0002, bands drawn",
    "st5000as0011, no write cache",
    "st5000as0011, idle cleaning",
    "st5000as0011+fc",
    "st5000as0011+fc, no write cache",
    "st5000as0011+fc, nothing beside, cost timing",
    "st5000as0011+fc, no copies, idle cleaning",
    "st5000as0011+rmw-f",
    "st5000as0011+rmw-f, no write cache",
    "st5000as0011+rmw-f, nothing beside, cost timing",
    "st5000as0011+rmw-f, disk full, through cache, idle cleaning",
    "st5000as0011+mcm",
    "st5000as0011+mcm, no write cache",
    "st5000as0011+mcm, nothing beside, cost timing",
    "st5000as0011+mcm, dead stay, rewrites, idle cleaning",
    "st5000as0011+mcm, larger is colder, worn as it comes, prefilled",
    "st5000as0011+mcm, all hot, look ahead one",
    "ha-roco",
    "ha-roco, cost timing",
    "ha-256m, few extents",
    "ha-256m, idle cleaning",
    "sac-emulator",
    "sac-emulator, on a disk",
    "pore-emulator",
    "pore-emulator, on a disk",
    "cmr5900",
    "cmr7200, no write cache",
    "pcie-ssd",
    "ssd-slc",
];

const BLOCK: u64 = 4096;

/// A drive with tracks, bands and buffers of a few blocks.
fn tiny(kind: &str) -> Box<dyn Drive> {
    let name = kind.split(',').next().expect("a name");
    let mut overrides = Overrides::new();
    let mut set = |name: &str, value: u64| overrides.set(name, &value.to_string());
    let mut buffer = Buffer::Real;
    match name {
        "pcie-ssd" => set("capacity_bytes", 100 * BLOCK),
        "ssd-slc" => {
            // 102 pages for the host, 34 a unit: with 36 there would be nothing to collect.
            set("units", 3);
            set("blocks_per_unit", 10);
            set("pages_per_block", 4);
        }
        "sac-emulator" | "pore-emulator" => {
            set("band_first_bytes", 5 * BLOCK);
            set("band_step_bytes", BLOCK);
            set("band_classes", 3);
            set("bands_per_class", 5);
            buffer = Buffer::Bytes(9 * BLOCK);
        }
        _ => {
            set("capacity_bytes", 107 * BLOCK);
            set("track_od_bytes", 8 * BLOCK);
            set("track_id_bytes", 4 * BLOCK);
            set("rate_zones", 3);
            set("zone_tracks", 7);
            set("read_ahead_bytes", 6 * BLOCK);
            set("read_segments", 3);
        }
    }
    match name {
        "cmr5900" | "cmr7200" => set("write_cache_entries", 3),
        "ha-roco" | "ha-256m" => {
            // 20 zones, 12 blocks of log.
            set("zone_bytes", 5 * BLOCK);
            set("log_zones", 4);
            set("conventional_zones", if name == "ha-256m" { 2 } else { 0 });
            set("capacity_bytes", 120 * BLOCK);
            set("open_zones", 3);
            set("merge_bytes", 2 * BLOCK);
            buffer = Buffer::Bytes(12 * BLOCK);
        }
        _ if name.starts_with("st") => {
            set("tracks_per_band", 2);
            set("log_bytes", 24 * BLOCK);
            set("extent_max_bytes", 4 * BLOCK);
            set("merge_bytes", 8 * BLOCK);
            set("collect_reads_max", 3);
            set("stream_min_bytes", 5 * BLOCK);
            set("journal_packets", 5);
            buffer = Buffer::Limits { log_bytes: 24 * BLOCK, extents: 14 };
        }
        _ => {}
    }
    if name.contains('+') {
        // 80 pages in 40 erase blocks.
        set("flash_bytes", 80 * BLOCK);
        set("flash_units", 2);
        set("flash_pages_per_block", 2);
    }
    let switches =
        [("nothing beside", "flash_background", "off"), ("no copies", "fc_copies", "off")];
    for (_, name, value) in switches.into_iter().filter(|(words, ..)| kind.contains(words)) {
        overrides.set(name, value);
    }
    if kind.ends_with("few extents") {
        buffer = Buffer::Limits { log_bytes: 24 * BLOCK, extents: 3 };
    }
    if kind.ends_with("bands drawn") {
        // 21 tracks of 8, 6 and 4 blocks, 7 of each: bands of 1 to 3 of them.
        overrides.set("tracks_per_band", "3");
        overrides.set("tracks_per_band_min", "1");
    }
    if kind.ends_with("no write cache") {
        overrides.set("write_cache", "off");
    }
    let idle = kind.ends_with("idle cleaning");
    let settings = Settings {
        timing: match kind {
            _ if kind.ends_with("cost timing") => Some(Timing::Cost),
            _ if kind.ends_with("on a disk") => Some(Timing::Mechanics),
            _ => None,
        },
        buffer,
        idle_cleaning: idle.then_some(true),
        idle_delay: idle.then_some(Nanos::from_micros(10)),
        overrides,
    };
    match name {
        "pcie-ssd" | "ssd-slc" => make_ssd(name, &settings),
        _ => make(name, &settings),
    }
    .unwrap_or_else(|error| panic!("{kind}: {error}"))
}

#[derive(Clone, Debug)]
enum Step {
    Io(Op, u64, u64),
    /// Goes on where the last write ended.
    InOrder(u64),
    /// Idles so many microseconds, with so many background steps.
    Idle(u64, usize),
    Drain,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let io = |op: Op, most: u64| (0u64..107, 1..=most).prop_map(move |(at, n)| Step::Io(op, at, n));
    prop::collection::vec(
        prop_oneof![
            8 => io(Op::Write, 3),
            3 => io(Op::Write, 40),
            6 => (1u64..9).prop_map(Step::InOrder),
            6 => io(Op::Read, 20),
            1 => io(Op::Trim, 60),
            1 => Just(Step::Io(Op::Flush, 0, 0)),
            2 => (1u64..50_000, 0usize..4).prop_map(|(us, steps)| Step::Idle(us, steps)),
            1 => Just(Step::Drain),
        ],
        1..200,
    )
}

/// A drive, and what its blocks should read as.
struct Checked {
    kind: &'static str,
    drive: Box<dyn Drive>,
    now: Nanos,
    /// Blocks trimmed and not written since are not in here and not checked.
    expected: HashMap<u64, Stamp>,
    trimmed: Vec<bool>,
    stamp: Stamp,
    write_end: u64,
    before: Counters,
}

impl Checked {
    fn new(kind: &'static str) -> Checked {
        let drive = tiny(kind);
        let blocks = usize::try_from(drive.description().disk_blocks).expect("tiny");
        Checked {
            kind,
            drive,
            now: Nanos::ZERO,
            expected: HashMap::new(),
            trimmed: vec![false; blocks],
            stamp: 0,
            write_end: 0,
            before: Counters::default(),
        }
    }

    fn step(&mut self, step: &Step) {
        let disk = self.trimmed.len() as u64;
        match *step {
            Step::Io(op, block, count) => {
                let block = block % disk;
                self.io(op, block, count.min(disk - block));
            }
            Step::InOrder(count) => {
                let block = self.write_end % disk;
                self.io(Op::Write, block, count.min(disk - block));
            }
            Step::Idle(us, steps) => self.idle(us, steps),
            Step::Drain => {
                let end = self.drive.drain(self.now);
                assert!(end >= self.now, "{}", self.kind);
                self.now = end;
                assert_eq!(self.drive.buffer().pending_blocks(), 0, "{}: drained", self.kind);
            }
        }
        self.check();
    }

    fn io(&mut self, op: Op, block: u64, count: u64) {
        let io = Io { op, block: Block(block), count };
        let mut data =
            vec![u64::MAX; if op == Op::Flush || op == Op::Trim { 0 } else { count as usize }];
        if op == Op::Write {
            for (block, stamp) in (block..).zip(&mut data) {
                self.stamp += 1;
                *stamp = self.stamp;
                self.expected.insert(block, self.stamp);
                self.trimmed[block as usize] = false;
            }
            self.write_end = block + count;
        }
        let served = self.drive.serve(self.now, &io, &mut data);
        assert_eq!(served.wait, Nanos::ZERO, "{}: one I/O at a time", self.kind);
        let spans = [served.command, served.seek, served.rotation, served.transfer, served.clean];
        assert_eq!(self.now + spans.into_iter().sum(), served.done, "{}: {io:?}", self.kind);
        self.now = served.done;
        match op {
            Op::Read => self.compare(block, &data),
            Op::Trim => {
                for block in block..block + count {
                    self.expected.remove(&block);
                    self.trimmed[block as usize] = true;
                }
            }
            Op::Write | Op::Flush => {}
        }
    }

    fn compare(&self, first: u64, data: &[Stamp]) {
        for (block, &stamp) in (first..).zip(data) {
            if !self.trimmed[block as usize] {
                let expected = self.expected.get(&block).copied().unwrap_or(0);
                assert_eq!(stamp, expected, "{}: block {block}", self.kind);
            }
        }
    }

    fn idle(&mut self, us: u64, steps: usize) {
        let since = self.now;
        self.now += Nanos::from_micros(us);
        let other = Io { op: Op::Read, block: Block(0), count: 1 };
        assert_eq!(self.drive.background(self.now, since, &[other]), None, "gives way");
        for _ in 0..steps {
            let from = self.drive.background_from(since);
            let step = self.drive.background(self.now, since, &[]);
            assert_eq!(step.is_some(), from.is_some_and(|from| from <= self.now), "{}", self.kind);
            self.now = step.unwrap_or(self.now);
        }
    }

    fn check(&mut self) {
        self.drive.check();
        let (now, before) = (self.drive.counters(), &self.before);
        assert!(now.clean_time >= before.clean_time && now.log_time >= before.log_time);
        assert!(now.rmw >= before.rmw && now.log_bytes_written >= before.log_bytes_written);
        let buffer = self.drive.buffer();
        let gone = now.buffer_write_hits + now.buffer_evicted_blocks + now.buffer_released_blocks;
        if self.kind != "pore-emulator" {
            assert_eq!(now.buffer_written_blocks, buffer.blocks + gone, "{}", self.kind);
        }
        // What flash inside a disk writes back to it is counted there once more.
        if !self.kind.contains('+') && self.kind != "pore-emulator" && !self.kind.contains("ssd") {
            let native = now.native_bytes_written / BLOCK;
            let taken = now.buffer_written_blocks + native + buffer.held_blocks;
            assert_eq!(now.written_blocks, taken, "{}: in the buffer, in bands or held", self.kind);
        }
        let read = now.buffer_read_blocks + now.native_read_blocks + now.beyond_pointer_blocks;
        assert_eq!(now.read_blocks, read);
        assert!(buffer.bands.max(buffer.extents) <= buffer.blocks, "an extent may span bands");
        assert!(buffer.oldest.is_none_or(|oldest| oldest <= now.written_blocks));
        self.before = *now;
    }

    /// Reads everything back, from the drive, from a copy, and from a drained copy.
    fn read_back(&mut self) {
        let blocks = self.trimmed.len() as u64;
        let io = Io { op: Op::Read, block: Block(0), count: blocks };
        let mut drained = self.drive.copy();
        let end = drained.drain(self.now);
        assert_eq!(drained.buffer().pending_blocks(), 0, "{}", self.kind);
        for (mut drive, now) in [(self.drive.copy(), self.now), (drained, end)] {
            let mut data = vec![0; blocks as usize];
            drive.serve(now, &io, &mut data);
            self.compare(0, &data);
        }
        self.io(Op::Read, 0, blocks);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: shingle_testbed::times(32) as u32, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn each_read_returns_the_last_write(steps in steps()) {
        for kind in KINDS {
            let mut checked = Checked::new(kind);
            for step in &steps {
                checked.step(step);
            }
            checked.read_back();
        }
    }
}

#[test]
fn a_run_is_a_function_of_its_input() {
    for kind in KINDS {
        let run = || {
            let mut drive = tiny(kind);
            let mut rng = shingle_drive::Rng::new(3);
            let mut now = Nanos::ZERO;
            for _ in 0..2000 {
                let op = if rng.below(3) == 0 { Op::Read } else { Op::Write };
                let io = Io { op, block: Block(rng.below(60)), count: 1 + rng.below(8) };
                now = drive.serve(now, &io, &mut []).done;
            }
            (now, *drive.counters(), drive.buffer())
        };
        assert_eq!(run(), run(), "{kind}");
    }
}

#[test]
fn bands_written_in_order_bypass_the_buffer() {
    let mut drive = tiny("st8000as0002");
    let mut now = Nanos::ZERO;
    // Something older lies in the buffer; then the whole disk is written in order.
    for block in [3, 20, 40] {
        let io = Io { op: Op::Write, block: Block(block), count: 1 };
        now = drive.serve(now, &io, &mut [block]).done;
    }
    for block in 0..107 {
        let io = Io { op: Op::Write, block: Block(block), count: 1 };
        now = drive.serve(now, &io, &mut [1000 + block]).done;
        drive.check();
    }
    let counters = drive.counters();
    assert_eq!((counters.native_bytes_written, counters.rmw), (107 * BLOCK, 0));
    let bands = drive.description().bands.as_ref().expect("it has bands").count();
    assert_eq!(counters.in_order_bands, bands as u64);
    assert_eq!((drive.buffer().blocks, counters.buffer_released_blocks), (0, 3));
}

#[test]
fn a_band_that_the_buffer_holds_whole_needs_no_read() {
    let mut drive = tiny("st5000as0011, no write cache");
    let mut now = Nanos::ZERO;
    for block in [8u64, 12, 0, 4] {
        let io = Io { op: Op::Write, block: Block(block), count: 4 };
        now = drive.serve(now, &io, &mut []).done;
    }
    drive.drain(now);
    // 16 blocks in four extents, of which one cleaning may read three, if they do not adjoin.
    let counters = drive.counters();
    assert_eq!((counters.rmw, counters.rmw_free), (0, 1));
    assert_eq!((counters.rmw_read_bytes, counters.band_bytes_written), (0, 16 * BLOCK));
}

#[test]
fn one_cleaning_reads_the_log_only_so_often() {
    let mut drive = tiny("st8000as0002");
    let mut now = Nanos::ZERO;
    // Five blocks of band 0, apart in the log; two of them next to each other would be one read.
    for block in [1u64, 20, 3, 21, 5, 22, 7, 8, 23, 10] {
        let io = Io { op: Op::Write, block: Block(block), count: 1 };
        now = drive.serve(now, &io, &mut []).done;
    }
    let before = drive.buffer();
    assert_eq!((before.blocks, before.extents, before.bands), (10, 10, 2));
    let io = Io { op: Op::Write, block: Block(40), count: 1 };
    for block in 0..5 {
        let io = Io { block: Block(41 + 2 * block), ..io };
        now = drive.serve(now, &io, &mut []).done;
    }
    // 14 extents are live, the fifteenth waits: two bands are cleaned, of the first one blocks 1, 3
    // and 5, of the second 20, 21 and 22.
    assert_eq!((drive.counters().rmw, drive.counters().buffer_evicted_blocks), (2, 6));
    assert_eq!(drive.buffer().blocks, 9);
}
