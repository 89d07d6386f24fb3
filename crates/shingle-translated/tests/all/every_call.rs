//! A power cut before every call that a translated disk makes to the zoned one, in every short
//! sequence of host requests, and another one before every call of the recovery. Flushed data is
//! there.
//!
//! The disk is [explored](shingle_testbed::explore) as the engine is, with two differences: a disk
//! cannot be copied, so each sequence is replayed, and the unflushed data that survives is random,
//! instead of every combination.
//!
//! `SHINGLE_COMMANDS=N` tries sequences of this many commands, `SHINGLE_OUTCOMES=N` this many seeds
//! for each power cut.

use std::hash::Hasher as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::common::{data, geometry, versions, wanted};
use shingle_core::units::{Block, Zone};
use shingle_engine::Buffer;
use shingle_testbed::explore::{Digest, Model, Quiet, explore, shortest};
use shingle_testbed::number;
use shingle_translated::{Bug, LiveDisk, LiveError, format};
use shingle_translation::translations::ALL;
use shingle_zoned::{Faults, Geometry, MemoryDisk, ZoneCommand, ZoneReport, ZonedDisk, ZonedError};

/// A disk that counts calls, and has its power cut before one of them.
#[derive(Clone)]
struct Counted {
    disk: Arc<MemoryDisk>,
    calls: Arc<AtomicU64>,
    /// 0: never.
    off_before: Arc<AtomicU64>,
}

impl Counted {
    fn new(seed: u64) -> Counted {
        let faults = Faults { seed, faults: Vec::new(), lost_resets: true };
        let disk = Arc::new(MemoryDisk::new(geometry(), faults));
        Counted { disk, calls: Arc::default(), off_before: Arc::default() }
    }

    fn calls(&self) -> u64 {
        self.calls.load(Ordering::Relaxed)
    }

    /// Cuts the power before this call, counted from 1 from now on; 0: never.
    fn cut_before(&self, call: u64) {
        let off_before = if call == 0 { 0 } else { self.calls() + call };
        self.off_before.store(off_before, Ordering::Relaxed);
    }

    fn called(&self) -> &MemoryDisk {
        let call = self.calls.fetch_add(1, Ordering::Relaxed) + 1;
        if call == self.off_before.load(Ordering::Relaxed) {
            self.disk.cut_power();
        }
        &self.disk
    }

    fn open(&self, bug: Option<Bug>) -> LiveDisk {
        let opened = LiveDisk::open_with(Box::new(self.clone()), bug);
        opened.unwrap_or_else(|error| panic!("{error}"))
    }
}

impl ZonedDisk for Counted {
    fn name(&self) -> &str {
        self.disk.name()
    }
    fn geometry(&self) -> &Geometry {
        self.disk.geometry()
    }
    fn report(&self, first: Zone, count: u32) -> Result<Vec<ZoneReport>, ZonedError> {
        self.called().report(first, count)
    }
    fn read(&self, block: Block, buffers: &mut [Buffer]) -> Result<(), ZonedError> {
        self.called().read(block, buffers)
    }
    fn write(&self, block: Block, buffers: &[Buffer]) -> Result<(), ZonedError> {
        self.called().write(block, buffers)
    }
    fn command(&self, command: ZoneCommand, zone: Zone) -> Result<(), ZonedError> {
        self.called().command(command, zone)
    }
    fn flush(&self) -> Result<(), ZonedError> {
        self.called().flush()
    }
}

/// The requests of a host.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Want {
    /// This many blocks from this one on.
    Write(u64, u64),
    Flush,
    Trim(u64, u64),
    /// Idle time.
    Idle,
}

/// A block, neighbours across the end of a zone, and a write large enough to cause cleaning.
const WANTS: [Want; 6] = [
    Want::Write(3, 1),
    Want::Write(14, 4),
    Want::Write(0, 72),
    Want::Flush,
    Want::Trim(2, 3),
    Want::Idle,
];

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Step {
    Do(Want),
    /// A power cut before a call of the last request, with a seed for its outcome.
    Cut {
        before: u64,
        seed: u64,
    },
    /// And another one before a call of the recovery.
    CutAgain {
        before: u64,
    },
}

/// How much is tried.
#[derive(Clone, Copy)]
struct Limits {
    commands: usize,
    seeds: u64,
    again: bool,
}

/// The allowed versions of a block.
#[derive(Clone)]
struct Known {
    may_be: Vec<u64>,
    any: bool,
}

/// A sequence of steps.
#[derive(Clone)]
struct History {
    translation: &'static str,
    bug: Option<Bug>,
    limits: Limits,
    steps: Vec<Step>,
    /// Number of calls of the last request, or of the recovery.
    calls: u64,
}

impl History {
    fn new(translation: &'static str, limits: Limits, bug: Option<Bug>) -> History {
        History { translation, bug, limits, steps: Vec::new(), calls: 0 }
    }

    /// Replays it, and checks the contents if the power was cut.
    fn played(mut self) -> History {
        let seed = self.steps.iter().find_map(|step| match step {
            Step::Cut { seed, .. } => Some(*seed),
            _ => None,
        });
        let disk = Counted::new(seed.unwrap_or(0));
        let made = format(&disk, &wanted(self.translation)).unwrap_or_else(|why| panic!("{why}"));
        let mut live = disk.open(self.bug);
        let mut blocks = vec![Known { may_be: vec![0], any: false }; made.blocks as usize];
        let mut version = 0;
        // A used disk.
        for want in [Want::Write(0, 20), Want::Flush, Want::Write(5, 2), Want::Flush] {
            version += 1;
            wish(&live, want, version, &mut blocks).unwrap_or_else(|why| panic!("{why}"));
        }
        let cuts = |step: &Step| !matches!(step, Step::Do(_));
        let until = self.steps.iter().position(cuts).unwrap_or(self.steps.len());
        for at in 0..until {
            let Step::Do(want) = self.steps[at] else { unreachable!("no power cut is before") };
            let before = disk.calls();
            if let Some(&Step::Cut { before, .. }) = self.steps.get(at + 1) {
                disk.cut_before(before);
            }
            version += 1;
            let done = wish(&live, want, version, &mut blocks);
            assert!(done.is_ok() || disk.disk.is_off(), "{want:?}: {done:?}");
            self.calls = disk.calls() - before;
        }
        if until == self.steps.len() {
            return self;
        }
        drop(live);
        // (The calls when it is dropped may be the only ones left to cut off.)
        if !disk.disk.is_off() {
            disk.disk.cut_power();
        }
        disk.disk.restart();
        if let Some(&Step::CutAgain { before }) = self.steps.get(until + 1) {
            disk.cut_before(before);
            drop(LiveDisk::open_with(Box::new(disk.clone()), self.bug));
            if !disk.disk.is_off() {
                disk.disk.cut_power();
            }
            disk.disk.restart();
        }
        disk.cut_before(0);
        let before = disk.calls();
        live = disk.open(self.bug);
        self.calls = disk.calls() - before;
        look(&live, &mut blocks);
        // It can be written, too.
        version += 1;
        for want in [Want::Write(1, 3), Want::Flush] {
            wish(&live, want, version, &mut blocks).unwrap_or_else(|why| panic!("{why}"));
        }
        look(&live, &mut blocks);
        self
    }
}

fn wish(live: &LiveDisk, want: Want, version: u64, blocks: &mut [Known]) -> Result<(), LiveError> {
    match want {
        Want::Write(first, count) => {
            let range = first..first + count;
            let buffers: Vec<Buffer> = range.clone().map(|block| data(block, version)).collect();
            blocks[first as usize..range.end as usize]
                .iter_mut()
                .for_each(|known| known.may_be.push(version));
            live.write(Block(first), &buffers)
        }
        Want::Trim(first, count) => {
            let range = first as usize..(first + count) as usize;
            blocks[range].iter_mut().for_each(|known| known.any = true);
            live.trim(Block(first), count)
        }
        Want::Flush => {
            live.flush()?;
            for known in blocks {
                // The contents of trimmed blocks are unknown until they are written.
                let newest = *known.may_be.last().expect("it is something");
                known.may_be = vec![newest];
            }
            Ok(())
        }
        Want::Idle => live.idle().map(drop),
    }
}

/// Checks all blocks, whose contents are then fixed.
fn look(live: &LiveDisk, blocks: &mut [Known]) {
    for (block, known) in (0..).zip(blocks) {
        let mut buffers = [Buffer::default()];
        let read = live.read(Block(block), &mut buffers);
        read.unwrap_or_else(|why| panic!("block {block}: {why}"));
        let found = versions(block, &buffers[0]);
        let right = |part: &Option<u64>| part.is_some_and(|part| known.may_be.contains(&part));
        let whole = found.iter().all(|part| right(part) && *part == found[0]);
        assert!(known.any || whole, "block {block} is {found:?}, may be {:?}", known.may_be);
        known.may_be = vec![found[0].unwrap_or(0)];
    }
}

impl Model for History {
    type Step = Step;

    fn steps(&self, into: &mut Vec<Step>) {
        let cut = self.steps.iter().any(|step| !matches!(step, Step::Do(_)));
        if !cut && self.steps.len() < self.limits.commands {
            into.extend(WANTS.map(Step::Do));
        }
    }

    fn branch_key(&self) -> Option<u64> {
        Some(self.fingerprint())
    }

    fn branches(&self, into: &mut Vec<Step>) {
        match self.steps.last() {
            Some(Step::Do(_)) => {
                for seed in 0..self.limits.seeds {
                    into.extend((1..=self.calls).map(|before| Step::Cut { before, seed }));
                }
            }
            Some(Step::Cut { .. }) if self.limits.again => {
                into.extend((1..=self.calls).map(|before| Step::CutAgain { before }));
            }
            _ => {}
        }
    }

    fn after(&self, step: &Step) -> History {
        let mut next = self.clone();
        next.steps.push(*step);
        next.played()
    }

    fn fingerprint(&self) -> u64 {
        let mut digest = Digest::default();
        digest.write(format!("{:?}", self.steps).as_bytes());
        digest.finish()
    }

    fn is_at_rest(&self) -> bool {
        true
    }

    fn is_calm(_: &Step) -> bool {
        false
    }

    fn is_time(_: &Step) -> bool {
        false
    }
}

fn tried(limits: Limits) {
    let only = std::env::var("SHINGLE_TRANSLATION").ok();
    for entry in ALL.iter().filter(|entry| only.as_ref().is_none_or(|only| only == entry.name)) {
        let translation = entry.name;
        let quiet = Quiet::begin();
        let explored = explore(History::new(translation, limits, None), u64::MAX);
        drop(quiet);
        match explored {
            Ok(explored) => println!("{translation}: {} histories", explored.states),
            Err(broken) => panic!("{translation}: {}\n{:?}", broken.what, broken.steps),
        }
    }
}

#[test]
fn no_power_cut_loses_what_was_flushed() {
    let commands = number("SHINGLE_COMMANDS").map_or(2, |number| number as usize);
    tried(Limits { commands, seeds: number("SHINGLE_OUTCOMES").unwrap_or(1), again: false });
}

#[test]
fn nor_does_another_one_in_recovery() {
    let commands = number("SHINGLE_COMMANDS").map_or(1, |number| number as usize);
    tried(Limits { commands, seeds: number("SHINGLE_OUTCOMES").unwrap_or(1), again: true });
}

/// Which seeded bugs show in the shortest sequences: for each translation a bug is searched with
/// more and more steps. This takes minutes; `bugs.rs` checks that all are found, with longer runs
/// and disks that fail.
#[test]
#[ignore = "minutes"]
fn seeded_bugs_by_their_shortest_histories() {
    let commands = number("SHINGLE_COMMANDS").map_or(2, |number| number as usize);
    let seeds = number("SHINGLE_OUTCOMES").unwrap_or(1);
    let limits = Limits { commands, seeds, again: true };
    let steps_max = commands as u8 + 1;
    let mut found = 0;
    for &bug in Bug::ALL {
        let quiet = Quiet::begin();
        let shortest_under = |translation: &&'static str| {
            let begin = History::new(translation, limits, Some(bug));
            shortest(&begin, steps_max, u64::MAX).1.map(|broken| (*translation, broken))
        };
        let broken = ["fluid", "dm-zoned", "log"].iter().find_map(shortest_under);
        drop(quiet);
        match broken {
            Some((translation, broken)) => {
                let what = broken.what.lines().next().unwrap_or_default();
                println!("{bug:?}: {translation}, {:?}: {what}", broken.steps);
                found += 1;
            }
            None => println!("{bug:?}: not with {commands} commands"),
        }
    }
    println!("{found} of {} seeded bugs", Bug::ALL.len());
    assert!(found > 0, "histories show some");
}
