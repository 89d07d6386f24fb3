//! A tiny host-managed disk under random work, against a literal model of the rules of ZBC: refused
//! is exactly what the model refuses, and then nothing has changed.

use proptest::prelude::*;
use shingle_core::units::{Block, Nanos, Op, Zone};
use shingle_drive::{Condition, Drive, Io, Overrides, Rule, Served, Settings, Stamp, Timing, make};
use std::collections::BTreeSet;

const BLOCK: u64 = 4096;
const ZONE: u64 = 5;
const ZONES: u64 = 8;
const CONVENTIONAL: u64 = 2;
const OPEN: usize = 3;

#[derive(Clone, Debug)]
enum Step {
    Io(Op, u64, u64),
    /// At the write pointer of a zone, whether or not that is allowed.
    AtPointer(u64, u64),
    Append(u64, u64),
    Open(u64),
    Close(u64),
    Finish(u64),
    Reset(u64),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let zone = || 0..ZONES;
    let io = |op: Op, most: u64| {
        (0..ZONE * ZONES, 1..=most).prop_map(move |(block, count)| Step::Io(op, block, count))
    };
    let prefix = prop_oneof![
        4 => io(Op::Write, 12),
        8 => (zone(), 1..=ZONE).prop_map(|(zone, count)| Step::AtPointer(zone, count)),
        8 => (zone(), 1..=ZONE).prop_map(|(zone, count)| Step::Append(zone, count)),
        4 => io(Op::Read, ZONE * ZONES),
        1 => io(Op::Trim, 12),
        1 => Just(Step::Io(Op::Flush, 0, 0)),
        4 => zone().prop_map(Step::Open),
        2 => zone().prop_map(Step::Close),
        2 => zone().prop_map(Step::Finish),
        3 => zone().prop_map(Step::Reset),
    ];
    prop::collection::vec(prefix, 1..120)
}

/// A zone as ZBC speaks of it.
#[derive(Clone, Debug, PartialEq)]
struct Known {
    condition: Condition,
    /// What each block reads as.
    blocks: Vec<Stamp>,
    pointer: u64,
    /// When it was opened by a write.
    opened: u64,
}

#[derive(Clone, Debug, PartialEq)]
struct Model {
    zones: Vec<Known>,
    reads_beyond: bool,
    opened: u64,
    closes: u64,
    moved: BTreeSet<u32>,
}

impl Model {
    fn new(reads_beyond: bool) -> Model {
        let zone = |zone| Known {
            condition: if zone < CONVENTIONAL { Condition::Conventional } else { Condition::Empty },
            blocks: vec![0; ZONE as usize],
            pointer: 0,
            opened: 0,
        };
        let (moved, zones) = (BTreeSet::new(), (0..ZONES).map(zone).collect());
        Model { zones, reads_beyond, opened: 0, closes: 0, moved }
    }

    fn count(&self, condition: Condition) -> usize {
        self.zones.iter().filter(|zone| zone.condition == condition).count()
    }

    /// Takes a place among the open zones, for a zone that is empty or closed.
    fn take_place(&mut self) -> Result<(), Rule> {
        if self.count(Condition::ExplicitOpen) == OPEN {
            return Err(Rule::TooManyOpen);
        }
        if self.count(Condition::ExplicitOpen) + self.count(Condition::ImplicitOpen) == OPEN {
            let implicit = self.zones.iter_mut().filter(|z| z.condition == Condition::ImplicitOpen);
            implicit.min_by_key(|zone| zone.opened).expect("one").condition = Condition::Closed;
            self.closes += 1;
        }
        Ok(())
    }

    fn write(&mut self, block: u64, data: &[Stamp]) -> Result<(), Rule> {
        let (zone, end) = ((block / ZONE) as usize, block + data.len() as u64);
        if zone < CONVENTIONAL as usize {
            if end > CONVENTIONAL * ZONE {
                return Err(Rule::ZoneBoundary);
            }
        } else {
            match self.zones[zone].condition {
                Condition::Full => return Err(Rule::ZoneFull),
                _ if end > (zone as u64 + 1) * ZONE => return Err(Rule::ZoneBoundary),
                _ if block % ZONE != self.zones[zone].pointer => return Err(Rule::AtPointer),
                Condition::Empty | Condition::Closed => {
                    self.take_place()?;
                    self.opened += 1;
                    self.zones[zone].opened = self.opened;
                    self.zones[zone].condition = Condition::ImplicitOpen;
                }
                _ => {}
            }
            let written = &mut self.zones[zone];
            written.pointer += data.len() as u64;
            if written.pointer == ZONE {
                written.condition = Condition::Full;
            }
            self.moved.insert(zone as u32);
        }
        for (at, &stamp) in (block..).zip(data) {
            self.zones[(at / ZONE) as usize].blocks[(at % ZONE) as usize] = stamp;
        }
        Ok(())
    }

    /// How many of the blocks are made up.
    fn read(&self, block: u64, data: &[Stamp]) -> Result<u64, Rule> {
        let mut beyond = 0;
        for at in block..block + data.len() as u64 {
            let zone = &self.zones[(at / ZONE) as usize];
            beyond += u64::from(at / ZONE >= CONVENTIONAL && at % ZONE >= zone.pointer);
        }
        if beyond > 0 && !self.reads_beyond { Err(Rule::ReadBeyond) } else { Ok(beyond) }
    }

    fn append(&mut self, zone: u64, data: &[Stamp]) -> Result<(), Rule> {
        let known = &self.zones[zone as usize];
        match known.condition {
            Condition::Conventional => Err(Rule::Conventional),
            Condition::Full => Err(Rule::ZoneFull),
            _ => self.write(zone * ZONE + known.pointer, data),
        }
    }

    fn command(&mut self, step: &Step, zone: usize) -> Result<(), Rule> {
        use Condition::{Closed, Conventional, Empty, ExplicitOpen, Full};
        let condition = self.zones[zone].condition;
        if condition == Conventional {
            return Err(Rule::Conventional);
        }
        let before = self.zones[zone].pointer;
        match step {
            Step::Open(_) if condition != Full => {
                if matches!(condition, Empty | Closed) {
                    self.take_place()?;
                }
                self.zones[zone].condition = ExplicitOpen;
            }
            Step::Close(_) if condition != Full => {
                self.zones[zone].condition = if before == 0 { Empty } else { Closed };
            }
            Step::Finish(_) if condition != Full => {
                if matches!(condition, Empty | Closed) {
                    self.take_place()?;
                }
                self.zones[zone].condition = Full;
                self.zones[zone].pointer = ZONE;
            }
            Step::Reset(_) => {
                let blocks = vec![0; ZONE as usize];
                self.zones[zone] = Known { condition: Empty, blocks, pointer: 0, opened: 0 };
            }
            _ => {}
        }
        if self.zones[zone].pointer != before {
            self.moved.insert(zone as u32);
        }
        Ok(())
    }
}

struct Checked {
    drive: Box<dyn Drive>,
    model: Model,
    now: Nanos,
    stamp: Stamp,
}

impl Checked {
    fn new(reads_beyond: bool, timing: Timing) -> Checked {
        let overrides = Overrides::new()
            .with("zone_bytes", &(ZONE * BLOCK).to_string())
            .with("conventional_zones", &CONVENTIONAL.to_string())
            .with("capacity_bytes", &(ZONES * ZONE * BLOCK + BLOCK).to_string())
            .with("track_od_bytes", &(8 * BLOCK).to_string())
            .with("track_id_bytes", &(4 * BLOCK).to_string())
            .with("rate_zones", "2")
            .with("zone_tracks", "3")
            .with("read_ahead_bytes", &(3 * BLOCK).to_string())
            .with("reads_beyond_pointer", if reads_beyond { "on" } else { "off" })
            .with("open_zones", &OPEN.to_string());
        let settings = Settings { timing: Some(timing), overrides, ..Settings::default() };
        let drive = make("hm-tiny", &settings).expect("the drive");
        assert_eq!(drive.description().disk_blocks, ZONE * ZONES, "whole zones");
        Checked { drive, model: Model::new(reads_beyond), now: Nanos::ZERO, stamp: 0 }
    }

    fn step(&mut self, step: &Step) {
        let (counters, model) = (*self.drive.counters(), self.model.clone());
        let (answer, expected) = match *step {
            Step::Io(op, block, count) => self.io(op, block, count.min(ZONE * ZONES - block)),
            Step::AtPointer(zone, count) => {
                let block = zone * ZONE + self.model.zones[zone as usize].pointer;
                match ZONE * ZONES - block {
                    0 => return,
                    room => self.io(Op::Write, block, count.min(room)),
                }
            }
            Step::Append(zone, count) => {
                let mut data = self.stamps(count);
                let expected = self.model.append(zone, &data);
                let zoned = self.drive.zoned().expect("zones");
                let answer = zoned.append(self.now, Zone(zone as u32), count, &mut data);
                let answer = answer.map(|(block, served)| {
                    let at = model.zones[zone as usize].pointer;
                    assert_eq!(block, Block(zone * ZONE + at));
                    served
                });
                (answer.map_err(|refused| refused.rule), expected)
            }
            Step::Open(zone) | Step::Close(zone) | Step::Finish(zone) | Step::Reset(zone) => {
                let expected = self.model.command(step, zone as usize);
                let (zoned, at) = (self.drive.zoned().expect("zones"), Zone(zone as u32));
                let answer = match step {
                    Step::Open(_) => zoned.open(self.now, at),
                    Step::Close(_) => zoned.close(self.now, at),
                    Step::Finish(_) => zoned.finish(self.now, at),
                    _ => zoned.reset(self.now, at),
                };
                (answer.map_err(|refused| refused.rule), expected)
            }
        };
        assert_eq!(answer.map(|_| ()), expected, "{step:?}");
        match answer {
            Ok(served) => {
                let spans = [served.command, served.seek, served.rotation, served.transfer];
                assert_eq!(self.now + spans.into_iter().sum(), served.done, "{step:?}");
                self.now = served.done;
            }
            Err(_) => {
                assert_eq!(*self.drive.counters(), counters, "{step:?}: refused, and counted");
                assert_eq!(self.model, model, "a model that refuses changes nothing");
            }
        }
        self.look();
    }

    fn io(&mut self, op: Op, block: u64, count: u64) -> (Result<Served, Rule>, Result<(), Rule>) {
        let io = Io { op, block: Block(block), count };
        let mut data = match op {
            Op::Write => self.stamps(count),
            Op::Read => vec![u64::MAX; count as usize],
            Op::Trim | Op::Flush => Vec::new(),
        };
        let beyond = self.drive.counters().beyond_pointer_blocks;
        let expected = match op {
            Op::Write => self.model.write(block, &data),
            Op::Read => self.model.read(block, &data).map(|_| ()),
            Op::Trim | Op::Flush => Ok(()),
        };
        let zoned = self.drive.zoned().expect("zones");
        let answer = zoned.try_serve(self.now, &io, &mut data).map_err(|refused| refused.rule);
        if op == Op::Read && answer.is_ok() {
            let model =
                |at: u64| self.model.zones[(at / ZONE) as usize].blocks[(at % ZONE) as usize];
            let expected: Vec<Stamp> = (block..block + count).map(model).collect();
            assert_eq!(data, expected);
            let made_up = self.drive.counters().beyond_pointer_blocks - beyond;
            assert_eq!(Ok(made_up), self.model.read(block, &data));
        }
        (answer, expected)
    }

    fn stamps(&mut self, count: u64) -> Vec<Stamp> {
        let first = self.stamp + 1;
        self.stamp += count;
        (first..=self.stamp).collect()
    }

    /// Compares what the drive says of its zones, and all that is on it.
    fn look(&mut self) {
        self.drive.check();
        assert_eq!(self.drive.counters().zone_closes, self.model.closes);
        let zoned = self.drive.zoned().expect("zones");
        let moved: BTreeSet<u32> =
            std::iter::from_fn(|| zoned.moved()).map(|zone| zone.0).collect();
        assert_eq!(moved, std::mem::take(&mut self.model.moved));
        for (at, known) in self.model.zones.iter().enumerate() {
            let info = zoned.zone(Zone(at as u32));
            assert_eq!((info.condition, info.write_pointer), (known.condition, known.pointer));
            assert_eq!((info.first, info.blocks), (Block(at as u64 * ZONE), ZONE));
            let end = if at < CONVENTIONAL as usize { ZONE } else { known.pointer };
            assert_eq!((info.data_end, info.non_sequential), (end, false));
        }
        // A copy reads all that was written, so that the drive itself stays as it is.
        let mut copy = self.drive.copy();
        for (at, known) in self.model.zones.iter().enumerate() {
            let end = if at < CONVENTIONAL as usize { ZONE } else { known.pointer };
            let mut data = vec![u64::MAX; end as usize];
            if end > 0 {
                let io = Io { op: Op::Read, block: Block(at as u64 * ZONE), count: end };
                copy.serve(self.now, &io, &mut data);
            }
            assert_eq!(data, known.blocks[..end as usize]);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_host_managed_disk_refuses_what_zbc_does_and_nothing_else(
        steps in steps(),
        reads_beyond in any::<bool>(),
        cost in any::<bool>(),
    ) {
        let timing = if cost { Timing::Cost } else { Timing::Mechanics };
        let mut checked = Checked::new(reads_beyond, timing);
        for step in &steps {
            checked.step(step);
        }
    }
}
