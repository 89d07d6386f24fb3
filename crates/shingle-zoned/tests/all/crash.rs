//! Thousands of hosts with power cuts, kills or errors, each from a seed: flushed data is there,
//! blocks below a write pointer have the written data, and no pointer is too high.
//!
//! `SHINGLE_SEEDS=N` (or `FIRST..END`) tries more of them, `SHINGLE_SEED=N` one.

use std::collections::{BTreeMap, BTreeSet};

use crate::common::{blocks, rule};
use rand_xoshiro::SplitMix64;
use rand_xoshiro::rand_core::{Rng as _, SeedableRng as _};
use shingle_core::units::{Block, Zone};
use shingle_engine::Buffer;
use shingle_engine::buffer::zeroed;
use shingle_testbed::{seeds, times};
use shingle_zoned::{Condition, Fault, Faults, Geometry, MemoryDisk, ZonedDisk, ZonedError};

const ZONES: u32 = 6;
const CONVENTIONAL: u32 = 1;
const BLOCKS: u64 = 6;
const CALLS: u64 = 60;

/// The contents of a sequential zone between two resets.
#[derive(Clone, Default, Debug)]
struct Life {
    /// The versions that were written, or may have been.
    versions: Vec<u64>,
    /// How many of them are known to be written.
    done: usize,
}

/// What a host knows about a sequential zone: its lives since the last flush, and how much of the
/// first was flushed.
#[derive(Clone, Debug)]
struct Known {
    lives: Vec<Life>,
    flushed: usize,
    /// The number of resets since the last flush that are known to be done.
    resets: usize,
}

/// What may have happened to a disk since its state was last known.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Loss {
    /// Unflushed data is partly lost.
    Unflushed,
    /// The same, or nothing: a flush failed. Existing data may be lost later.
    Forgotten,
    /// Nothing, except that the last command may be done or not.
    Nothing,
}

#[derive(Default, Debug)]
struct Seen {
    between: u64,
    lost_resets: u64,
    torn: u64,
    mixed: u64,
    late: u64,
    failed: u64,
}

struct Host<'a> {
    disk: &'a MemoryDisk,
    draw: SplitMix64,
    zones: Vec<Known>,
    /// For each conventional block: versions since the last flush; the last one is known.
    conventional: BTreeMap<u64, Vec<u64>>,
    /// The versions from this one up to `version` belong to the command interrupted by a kill. In a
    /// conventional zone it may arrive late, over data that was written and flushed since.
    late: std::ops::Range<u64>,
    /// The zone of that command, which may be written, finished or reset at any time.
    late_zone: Option<Zone>,
    /// Conventional blocks that a power cut has mixed, until they are written again.
    mixed: BTreeSet<u64>,
    version: u64,
    lost_resets: bool,
    seen: &'a mut Seen,
    seed: u64,
}

impl Host<'_> {
    fn below(&mut self, bound: u64) -> u64 {
        self.draw.next_u64() % bound
    }

    fn data(&mut self, count: u64) -> (Vec<u64>, Vec<Buffer>) {
        let versions: Vec<u64> = (self.version + 1..=self.version + count).collect();
        self.version += count;
        (versions.clone(), blocks(&versions))
    }

    /// Executes one command; returns an error of the device.
    fn step(&mut self) -> Result<(), ZonedError> {
        let zone = CONVENTIONAL + self.below(u64::from(ZONES - CONVENTIONAL)) as u32;
        match self.below(15) {
            0..7 => {
                let count = 1 + self.below(3);
                let (versions, buffers) = self.data(count);
                let life = self.zones[zone as usize].lives.last_mut().expect("one");
                // (After a full zone the next one begins.)
                let at = Block(u64::from(zone) * BLOCKS + (life.done as u64).min(BLOCKS - 1));
                life.versions.truncate(life.done);
                let fits = life.done as u64 + count <= BLOCKS;
                if fits {
                    life.versions.extend(&versions);
                }
                self.disk.write(at, &buffers)?;
                assert!(fits, "{}: beyond the zone", self.seed);
                self.zones[zone as usize].lives.last_mut().expect("one").done += count as usize;
            }
            7..10 => {
                let (at, count) = (self.below(BLOCKS), 1 + self.below(2));
                let (versions, buffers) = self.data(count);
                if at + count <= BLOCKS {
                    for (at, &version) in (at..).zip(&versions) {
                        self.conventional.entry(at).or_insert_with(|| vec![0]).push(version);
                    }
                }
                self.disk.write(Block(at), &buffers)?;
                self.mixed.retain(|block| !(at..at + count).contains(block));
            }
            10..12 => {
                let known = &mut self.zones[zone as usize];
                known.lives.push(Life::default());
                self.disk.reset(Zone(zone))?;
                let known = &mut self.zones[zone as usize];
                known.resets = known.lives.len() - 1;
            }
            12 => {
                let life = self.zones[zone as usize].lives.last_mut().expect("one");
                life.versions.truncate(life.done);
                life.versions.resize(BLOCKS as usize, 0);
                self.disk.finish(Zone(zone))?;
                self.zones[zone as usize].lives.last_mut().expect("one").done = BLOCKS as usize;
            }
            _ => {
                self.disk.flush()?;
                for known in &mut self.zones {
                    let last = known.lives.pop().expect("one");
                    *known = Known { flushed: last.done, lives: vec![last], resets: 0 };
                }
                for (at, versions) in &mut self.conventional {
                    if !self.mixed.contains(at) {
                        versions.drain(..versions.len() - 1);
                    }
                }
            }
        }
        Ok(())
    }

    /// Checks that the contents of the whole disk are allowed; they are known from now on. False if
    /// the device cannot be read at the moment.
    fn look(&mut self, loss: Loss) -> bool {
        let mut unseen: Vec<u32> = (CONVENTIONAL..ZONES).collect();
        for _ in 0..3 {
            unseen.retain(|&zone| !self.look_at(zone, loss));
        }
        unseen.is_empty() && (0..3).any(|_| self.look_at_conventional(loss))
    }

    fn look_at_conventional(&mut self, loss: Loss) -> bool {
        let mut buffers: Vec<Buffer> = (0..BLOCKS).map(|_| zeroed()).collect();
        match self.disk.read(Block(0), &mut buffers) {
            Err(error) => return self.may_fail(&error),
            Ok(()) => {
                for (at, buffer) in (0..).zip(&buffers) {
                    let known = self.conventional.entry(at).or_insert_with(|| vec![0]);
                    let parts = buffer
                        .0
                        .chunks(512)
                        .map(|part| u64::from_le_bytes(part[..8].try_into().expect("8")));
                    let parts: Vec<u64> = parts.collect();
                    let possible =
                        parts.iter().all(|part| known.contains(part) || self.late.contains(part));
                    assert!(possible, "{}: block {at} is {parts:?}, not of {known:?}", self.seed);
                    if parts.iter().any(|part| *part != parts[0]) {
                        self.seen.mixed += 1;
                        // Of several versions: a new version is recorded.
                        *known = parts;
                        self.mixed.insert(at);
                    } else if loss == Loss::Unflushed {
                        *known = vec![parts[0]];
                    } else {
                        known.push(parts[0]);
                    }
                }
            }
        }
        true
    }

    /// True for an error that means nothing can be read. False if the device may succeed later.
    fn may_fail(&mut self, error: &ZonedError) -> bool {
        let failed = matches!(rule(error), "read-only" | "offline" | "device");
        assert!(failed, "{}: {error}", self.seed);
        self.seen.failed += 1;
        rule(error) != "device"
    }

    fn look_at(&mut self, zone: u32, loss: Loss) -> bool {
        let reported = match self.disk.report(Zone(zone), 1) {
            Ok(zones) => zones[0],
            Err(error) => return self.may_fail(&error),
        };
        if reported.condition == Condition::Offline {
            return true;
        }
        let mut buffers: Vec<Buffer> = (0..BLOCKS).map(|_| zeroed()).collect();
        if let Err(error) = self.disk.read(reported.first, &mut buffers) {
            return self.may_fail(&error);
        }
        // Late I/O may arrive in between.
        if self.disk.report(Zone(zone), 1).is_ok_and(|zones| zones[0] != reported) {
            return false;
        }
        let all: Vec<u64> =
            buffers.iter().map(|buffer| crate::common::version(buffer).expect("whole")).collect();
        let written = all.iter().position(|&version| version == 0).unwrap_or(all.len());
        let known = &self.zones[zone as usize];
        let (resets, flushed) = (known.resets, known.flushed);
        // How far the zone is written, if it is in this life.
        let written_in = |(at, life): (usize, &Life)| {
            let least = match loss {
                Loss::Unflushed | Loss::Forgotten if at == 0 => flushed,
                Loss::Unflushed | Loss::Forgotten => 0,
                Loss::Nothing if at == resets => life.done,
                Loss::Nothing => 0,
            };
            // A read-only zone has no pointer: zeros may be the end of a finished zone.
            let pointer = reported.write_pointer.map_or(written.max(least), |at| at as usize);
            let (found, done) = (&all[..pointer], &life.versions[..life.done]);
            let alive = at >= resets || loss != Loss::Nothing && self.lost_resets;
            let lately = self.late_zone == Some(Zone(zone))
                && (pointer == 0 || pointer >= life.done)
                && (0..).zip(found).all(|(at, &version)| {
                    // (Reset late, and then finished.)
                    let finished = version == 0 && pointer == all.len();
                    done.get(at).unwrap_or(&0) == &version
                        || self.late.contains(&version)
                        || finished
                });
            // What lands late can come before a finish of which the host thinks that it filled the place.
            let holds = |(at, version): (usize, &u64)| {
                let known = life.versions.get(at);
                known == Some(version)
                    || known == Some(&0)
                        && self.late_zone == Some(Zone(zone))
                        && self.late.contains(version)
            };
            let known = pointer >= least && found.iter().enumerate().all(holds);
            (alive && (known || lately)).then_some(pointer)
        };
        let mut lives = known.lives.iter().enumerate().rev();
        let candidate = lives.find_map(|(at, life)| Some((at, life.done, written_in((at, life))?)));
        let Some((at, done, pointer)) = candidate else {
            panic!(
                "{}: zone {zone} after {loss:?}: {reported:?} with {all:?}, not of {known:?}",
                self.seed
            );
        };
        let beyond = &all[pointer..];
        assert!(beyond.iter().all(|&version| version == 0), "{}: zone {zone}: {all:?}", self.seed);
        let least = if at == 0 { flushed } else { 0 };
        self.seen.between += u64::from(least < pointer && pointer < done);
        self.seen.lost_resets += u64::from(at < resets);
        self.seen.torn += u64::from(reported.torn_bytes > 0);
        self.seen.late += u64::from(loss == Loss::Nothing && pointer > done);
        let life = Life { versions: all[..pointer].to_vec(), done: pointer };
        let known = &mut self.zones[zone as usize];
        match loss {
            Loss::Unflushed => *known = Known { lives: vec![life], flushed: pointer, resets: 0 },
            Loss::Forgotten | Loss::Nothing => {
                known.lives.truncate(at + 1);
                if pointer == 0 && done > 0 && self.late_zone == Some(Zone(zone)) {
                    // The late reset may be lost too.
                    known.lives.push(life);
                    known.resets = at + 1;
                } else {
                    (known.lives[at], known.resets) = (life, at);
                }
            }
        }
        true
    }
}

fn run(seed: u64, seen: &mut Seen) {
    let fine = seed % 4 == 1;
    let physical_block_bytes = if fine { 512 } else { 4096 };
    let geometry = Geometry {
        conventional_zones: CONVENTIONAL,
        max_open: 2,
        physical_block_bytes,
        ..Geometry::new(ZONES, BLOCKS)
    };
    let faults = Faults::draw(seed, CALLS, &geometry);
    let forgets = faults.faults.iter().any(|fault| matches!(fault, Fault::FlushForgets { .. }));
    let killed = faults.faults.iter().any(|fault| matches!(fault, Fault::Kill { .. }));
    let lost_resets = faults.lost_resets;
    let disk = MemoryDisk::new(geometry, faults);
    let zone = Known { lives: vec![Life::default()], flushed: 0, resets: 0 };
    let zones = vec![zone; ZONES as usize];
    let draw = SplitMix64::seed_from_u64(!seed);
    let mut host = Host {
        disk: &disk,
        draw,
        zones,
        conventional: BTreeMap::new(),
        late: 0..0,
        late_zone: None,
        mixed: BTreeSet::new(),
        version: 0,
        lost_resets,
        seen,
        seed,
    };
    let mut ended = false;
    // The host continues after its end, for late I/O and to check that the disk is usable.
    for _ in 0..CALLS + 20 {
        let before = (host.zones.clone(), host.conventional.clone());
        let begun = host.version + 1;
        let Err(error) = host.step() else { continue };
        let flush = error.operation == shingle_zoned::Operation::Flush;
        let lost = match rule(&error) {
            "device" if disk.is_off() => {
                ended = true;
                disk.restart();
                if killed {
                    (host.late, host.late_zone) = (begun..host.version + 1, error.zone);
                    // I/O in flight arrives at any time.
                    let late = host.below(2) == 0;
                    (0..8).filter(|_| late).for_each(|_| drop(disk.report(Zone(0), 0)));
                }
                if killed { Loss::Nothing } else { Loss::Unflushed }
            }
            "device" if flush && forgets => Loss::Forgotten,
            "device" => Loss::Nothing,
            // Late I/O of a killed host came between.
            _ if ended && killed => Loss::Nothing,
            // The host must know that this is not possible.
            "not at pointer" | "full" | "torn" | "boundary" | "out of range" | "too many open"
            | "read-only" | "offline" => {
                (host.zones, host.conventional) = before;
                continue;
            }
            other => panic!("{seed}: {other}: {error}"),
        };
        if !host.look(lost) {
            return;
        }
    }
}

#[test]
fn what_was_flushed_survives_whatever_ends_the_host() {
    let mut seen = Seen::default();
    let seeds = seeds(times(1_200));
    let begun = std::time::Instant::now();
    seeds.clone().for_each(|seed| run(seed, &mut seen));
    println!("seeds {seeds:?} in {:?}: {seen:?}", begun.elapsed());
    if seeds.end - seeds.start == 1 {
        return;
    }
    let Seen { between, lost_resets, torn, mixed, late, failed } = seen;
    for (what, count) in [
        ("between", between),
        ("lost resets", lost_resets),
        ("torn", torn),
        ("mixed", mixed),
        ("late", late),
        ("failed", failed),
    ] {
        assert!(count > 0, "no seed has met: {what}");
    }
}

/// Each kind of fault by itself.
#[test]
fn faults_come_when_they_are_called() {
    let disk = |faults: &[Fault]| {
        MemoryDisk::new(Geometry::new(3, 4), Faults { faults: faults.to_vec(), ..Faults::none() })
    };
    let pointer =
        |disk: &MemoryDisk, zone| disk.report(Zone(zone), 1).expect("a report")[0].write_pointer;

    let failing = disk(&[Fault::Error { call: 1, for_ever: true }]);
    failing.write(Block(0), &blocks(&[1])).expect("call 0");
    let mut at = Block(1);
    for _ in 0..3 {
        let error = failing.write(at, &blocks(&[2])).expect_err("from call 1 on");
        assert_eq!((rule(&error), error.errno()), ("device", Some(5)));
        // It may have been carried out.
        at = Block(pointer(&failing, 0).expect("a pointer"));
    }
    failing.write(Block(4), &blocks(&[3])).expect("another zone");

    let once = disk(&[Fault::Error { call: 0, for_ever: false }]);
    once.flush().expect_err("call 0");
    once.flush().expect("call 1");

    let killed = disk(&[Fault::Kill { call: 1, lands_after: 1 }]);
    killed.write(Block(8), &blocks(&[1])).expect("call 0");
    killed.write(Block(9), &blocks(&[2])).expect_err("killed");
    killed.flush().expect_err("the host is off");
    assert!(killed.is_off());
    killed.restart();
    assert_eq!(pointer(&killed, 2), Some(1), "nothing was lost");
    assert_eq!(pointer(&killed, 2), Some(2), "and then it lands");
    killed.write(Block(9), &blocks(&[7])).expect_err("no longer at the pointer");

    let forgets = disk(&[Fault::FlushForgets { call: 0 }]);
    forgets.write(Block(0), &blocks(&[1, 2, 3])).expect("written");
    forgets.flush().expect_err("fails");
    let left = pointer(&forgets, 0).expect("a pointer");
    forgets.flush().expect("as if nothing had been");
    forgets.cut_power();
    forgets.restart();
    assert_eq!(pointer(&forgets, 0), Some(left));
}
