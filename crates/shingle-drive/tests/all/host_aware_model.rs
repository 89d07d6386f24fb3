//! A tiny host-aware disk under random work, against a plain model of what the host may rely on:
//! what each block reads as, where each write pointer is, and why it moved.

use proptest::prelude::*;
use shingle_core::units::{Block, Nanos, Op, Zone};
use shingle_drive::{Buffer, Condition, Drive, Io, Overrides, Rule, Settings, Stamp, make};
use std::collections::BTreeSet;

const BLOCK: u64 = 4096;
const ZONE: u64 = 7;
const ZONES: u64 = 6;
const CONVENTIONAL: u64 = 1;

fn tiny(extents: u64, whole: bool) -> Box<dyn Drive> {
    let overrides = Overrides::new()
        .with("zone_bytes", &(ZONE * BLOCK).to_string())
        .with("conventional_zones", &CONVENTIONAL.to_string())
        .with("log_zones", "4")
        .with("capacity_bytes", &((ZONES + 4) * ZONE * BLOCK).to_string())
        .with("track_od_bytes", &(8 * BLOCK).to_string())
        .with("track_id_bytes", &(4 * BLOCK).to_string())
        .with("rate_zones", "2")
        .with("zone_tracks", "6")
        .with("merge_bytes", &(2 * BLOCK).to_string())
        .with("clean_reads_whole", if whole { "on" } else { "off" })
        .with("open_zones", "2");
    let buffer = Buffer::Limits { log_bytes: 12 * BLOCK, extents };
    let (idle_cleaning, idle_delay) = (Some(true), Some(Nanos::ZERO));
    let settings = Settings { buffer, overrides, idle_cleaning, idle_delay, ..Settings::default() };
    make("ha-roco", &settings).expect("the drive")
}

#[derive(Clone, Debug)]
enum Step {
    Io(Op, u64, u64),
    /// At the write pointer of a zone.
    Sequential(u64, u64),
    Append(u64, u64),
    Reset(u64),
    Background,
    Drain,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let io = |op: Op, most: u64| {
        (0..ZONE * ZONES, 1..=most).prop_map(move |(block, count)| Step::Io(op, block, count))
    };
    prop::collection::vec(
        prop_oneof![
            8 => io(Op::Write, 5),
            6 => (0..ZONES, 1..=ZONE).prop_map(|(zone, count)| Step::Sequential(zone, count)),
            2 => (0..ZONES, 1..=ZONE).prop_map(|(zone, count)| Step::Append(zone, count)),
            4 => io(Op::Read, 20),
            1 => io(Op::Trim, 12),
            2 => (0..ZONES).prop_map(Step::Reset),
            4 => Just(Step::Background),
            1 => Just(Step::Drain),
        ],
        1..150,
    )
}

/// What a host knows of a zone.
#[derive(Clone, Debug, Default)]
struct Known {
    pointer: u64,
    /// Offsets that wait in the disk cache. Of those below the pointer some may have been cleaned, if
    /// others came while that went on.
    buffered: BTreeSet<u64>,
}

struct Checked {
    drive: Box<dyn Drive>,
    now: Nanos,
    zones: Vec<Known>,
    /// What each block reads as; `None` after a trim, when it is unspecified.
    blocks: Vec<Option<Stamp>>,
    stamp: Stamp,
    resets: u64,
}

impl Checked {
    fn new(extents: u64, whole: bool) -> Checked {
        let drive = tiny(extents, whole);
        assert_eq!(drive.description().disk_blocks, ZONE * ZONES);
        let zones = vec![Known::default(); ZONES as usize];
        let blocks = vec![Some(0); (ZONE * ZONES) as usize];
        Checked { drive, now: Nanos::ZERO, zones, blocks, stamp: 0, resets: 0 }
    }

    fn step(&mut self, step: &Step) {
        let disk = ZONE * ZONES;
        match *step {
            // Writes within a zone: room made for one piece may move the pointer that the next finds.
            Step::Io(Op::Write, block, count) => {
                self.io(Op::Write, block, count.min(ZONE - block % ZONE));
            }
            Step::Io(op, block, count) => self.io(op, block, count.min(disk - block)),
            Step::Sequential(zone, count) => {
                let pointer = self.zones[zone as usize].pointer;
                if pointer < ZONE {
                    self.io(Op::Write, zone * ZONE + pointer, count.min(ZONE - pointer));
                }
            }
            Step::Append(zone, count) => self.append(zone, count),
            Step::Reset(zone) => self.reset(zone),
            Step::Background => {
                if let Some(end) = self.drive.background(self.now, self.now, &[]) {
                    assert!(end >= self.now);
                    self.now = end;
                }
                self.look(true);
            }
            Step::Drain => {
                self.now = self.drive.drain(self.now);
                self.look(true);
                assert!(self.zones.iter().all(|zone| zone.buffered.is_empty()), "drained");
            }
        }
        self.drive.check();
        let most: usize = self.zones.iter().map(|zone| zone.buffered.len()).sum();
        let least: usize = self.zones.iter().map(|z| z.buffered.range(z.pointer..).count()).sum();
        assert!((least as u64..=most as u64).contains(&self.drive.buffer().blocks));
        assert_eq!(self.drive.counters().zone_resets, self.resets);
    }

    fn io(&mut self, op: Op, block: u64, count: u64) {
        let io = Io { op, block: Block(block), count };
        let mut data = match op {
            Op::Write => self.stamps(count),
            Op::Read => vec![u64::MAX; count as usize],
            Op::Trim | Op::Flush => Vec::new(),
        };
        let before = *self.drive.counters();
        let served = self.drive.serve(self.now, &io, &mut data);
        let spans = [served.command, served.seek, served.rotation, served.transfer, served.clean];
        assert_eq!(self.now + spans.into_iter().sum(), served.done, "{io:?}");
        self.now = served.done;
        let after = *self.drive.counters();
        let blocks = block..block + count;
        match op {
            Op::Write => {
                // A write may clean zones first, which moves pointers, but never past it.
                let waited = served.clean > Nanos::ZERO;
                let sequential = (after.native_bytes_written - before.native_bytes_written) / BLOCK;
                let expected = self.write(blocks, &data, waited);
                assert_eq!(sequential, expected, "{io:?}");
            }
            Op::Read => {
                self.read(blocks, &data, after.beyond_pointer_blocks - before.beyond_pointer_blocks)
            }
            Op::Trim => {
                for block in blocks {
                    self.zones[(block / ZONE) as usize].buffered.remove(&(block % ZONE));
                    self.blocks[block as usize] = None;
                }
                self.look(false);
            }
            Op::Flush => {}
        }
    }

    /// Takes note of a write; returns how many of its blocks went to their zone.
    fn write(&mut self, blocks: std::ops::Range<u64>, stamps: &[Stamp], waited: bool) -> u64 {
        let (zone, offset) = (blocks.start / ZONE, blocks.start % ZONE);
        let count = blocks.end - blocks.start;
        let known = &mut self.zones[zone as usize];
        let in_place = zone < CONVENTIONAL;
        let sequential = if in_place || offset == known.pointer { count } else { 0 };
        if sequential == 0 {
            known.buffered.extend(offset..offset + count);
        } else if !in_place {
            known.pointer += count;
            known.buffered = &known.buffered - &(offset..offset + count).collect();
        }
        for (block, &stamp) in blocks.clone().zip(stamps) {
            self.blocks[block as usize] = Some(stamp);
        }
        self.look(waited);
        sequential
    }

    fn read(&mut self, blocks: std::ops::Range<u64>, data: &[Stamp], made_up: u64) {
        let mut expected = 0;
        for (block, &stamp) in blocks.zip(data) {
            let (zone, offset) = (block / ZONE, block % ZONE);
            let known = &self.zones[zone as usize];
            let nowhere = zone >= CONVENTIONAL
                && offset >= known.pointer
                && !known.buffered.contains(&offset);
            expected += u64::from(nowhere);
            match self.blocks[block as usize] {
                _ if nowhere => assert_eq!(stamp, 0, "block {block} is beyond the pointer"),
                Some(written) => assert_eq!(stamp, written, "block {block}"),
                None => {}
            }
        }
        assert_eq!(made_up, expected);
    }

    fn append(&mut self, zone: u64, count: u64) {
        let pointer = self.zones[zone as usize].pointer;
        let mut data = self.stamps(count);
        let number = Zone(u32::try_from(zone).expect("few"));
        let zoned = self.drive.zoned().expect("zones");
        let answer = zoned.append(self.now, number, count, &mut data);
        let refused = match () {
            () if zone < CONVENTIONAL => Some(Rule::Conventional),
            () if pointer == ZONE => Some(Rule::ZoneFull),
            () if pointer + count > ZONE => Some(Rule::ZoneBoundary),
            () => None,
        };
        assert_eq!(answer.as_ref().err().map(|refused| refused.rule), refused);
        if let Ok((block, served)) = answer {
            assert_eq!(block, Block(zone * ZONE + pointer));
            self.now = served.done;
            assert_eq!(self.write(block.0..block.0 + count, &data, false), count);
        }
    }

    fn reset(&mut self, zone: u64) {
        let number = Zone(u32::try_from(zone).expect("few"));
        let answer = self.drive.zoned().expect("zones").reset(self.now, number);
        if zone < CONVENTIONAL {
            assert_eq!(answer.err().map(|refused| refused.rule), Some(Rule::Conventional));
            return;
        }
        self.now = answer.expect("a sequential zone").done;
        self.resets += 1;
        self.zones[zone as usize] = Known::default();
        self.blocks[(zone * ZONE) as usize..][..ZONE as usize].fill(Some(0));
        self.look(false);
    }

    fn stamps(&mut self, count: u64) -> Vec<Stamp> {
        let first = self.stamp + 1;
        self.stamp += count;
        (first..=self.stamp).collect()
    }

    /// Compares what the drive says of its zones with what is known. If it may have `cleaned`, blocks
    /// can have left the disk cache, and pointers can have moved to the end of what left.
    fn look(&mut self, cleaned: bool) {
        let zoned = self.drive.zoned().expect("zones");
        let moved: BTreeSet<u32> = std::iter::from_fn(|| zoned.moved()).map(|z| z.0).collect();
        for (number, known) in self.zones.iter_mut().enumerate() {
            let info = zoned.zone(Zone(u32::try_from(number).expect("few")));
            if (number as u64) < CONVENTIONAL {
                assert_eq!((info.condition, info.data_end), (Condition::Conventional, ZONE));
                assert!(known.buffered.is_empty() && !info.non_sequential);
                continue;
            }
            let end = |known: &Known| known.buffered.last().map_or(0, |last| last + 1);
            if info.write_pointer != known.pointer {
                assert!(cleaned, "zone {number} was cleaned unasked");
                assert!(info.write_pointer > known.pointer, "zone {number} went back");
                assert!(moved.contains(&(number as u32)), "the host was told");
                // The pointer is behind the last block that was cleaned.
                assert!(known.buffered.contains(&(info.write_pointer - 1)), "zone {number}");
                known.pointer = info.write_pointer;
            }
            if !info.non_sequential {
                let beyond = known.buffered.range(known.pointer..).next();
                assert_eq!(beyond, None, "zone {number}: what is beyond the pointer waits");
                known.buffered.clear();
            }
            assert!(!info.non_sequential || !known.buffered.is_empty(), "zone {number}");
            assert_eq!(info.data_end, known.pointer.max(end(known)), "zone {number}");
            let full = info.write_pointer == ZONE;
            assert_eq!(info.condition == Condition::Full, full);
            assert_eq!(info.condition == Condition::Empty, info.write_pointer == 0);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: shingle_testbed::times(500) as u32, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_host_aware_disk_does_what_its_host_relies_on(
        steps in steps(),
        extents in prop_oneof![Just(3u64), Just(100)],
        whole in any::<bool>(),
    ) {
        let mut checked = Checked::new(extents, whole);
        for step in &steps {
            checked.step(step);
        }
        checked.io(Op::Read, 0, ZONE * ZONES);
        checked.step(&Step::Drain);
        checked.io(Op::Read, 0, ZONE * ZONES);
    }
}
