//! ROCO's replacement algorithm and the zone FIFOs beside it: by hand, and CREA against Algorithm 1
//! of the paper as it stands there, with its sorting and its loops.

use std::collections::BTreeMap;

use proptest::prelude::*;
use shingle_core::cache::Outcome;
use shingle_core::drive_view::Costs;
use shingle_core::params::Params;
use shingle_core::plan::{DestageMethod, Plan, WriteOrder};
use shingle_core::policy::Access;
use shingle_core::registry::{CACHE_PARAMS, MakeError, Registry, Setup};
use shingle_core::units::{Block, Nanos, Op, Zone};
use shingle_core::zones::ZoneMap;

use crate::run::{Run, Written, params};

const ZONE: u64 = 10;
const ZONES: u64 = 12;

fn make(policy: &str, slots: u32, conventional_zones: Option<u32>) -> Result<Run, MakeError> {
    make_with(policy, &[], slots, conventional_zones)
}

fn make_with(
    policy: &str,
    sets: &[(&str, &str)],
    slots: u32,
    conventional_zones: Option<u32>,
) -> Result<Run, MakeError> {
    let zones = ZoneMap::fixed(ZONE, ZONE * ZONES);
    let costs = Costs { read: Nanos(1), rmw_base: Nanos(1), rmw_per_block: Nanos(1) };
    let defaults = Params::new(CACHE_PARAMS);
    let setup = Setup {
        bands: Some(&zones),
        conventional_zones,
        buffer_blocks: 20,
        is_log: false,
        costs,
        ..Setup::new(slots, ZONE * ZONES, &defaults)
    };
    let registry = Registry::default();
    let entry = registry.get(policy).expect("a policy");
    Ok(Run::of(entry.make(&params(entry, None, sets), &setup)?))
}

/// Over a drive that exposes its zones.
fn exposed(policy: &str, slots: u32) -> Run {
    make(policy, slots, Some(0)).expect("the drive exposes zones")
}

/// ROCO with heats of this kind.
fn roco(heat: &str, slots: u32) -> Run {
    make_with("roco", &[("heat", heat)], slots, Some(0)).expect("the drive exposes zones")
}

fn point(run: &mut Run, zone: u64, to: u64) {
    run.cache.set_write_pointer(Zone(zone as u32), to);
    run.cache.check();
}

const BY_ADDRESS: DestageMethod = DestageMethod::Write(WriteOrder::ByAddress);

/// Figure 6 and equation (1), with fewer blocks: three of a zone, accessed 1, 2 and 3 times, make a
/// heat of 2; a zone of one block accessed once is colder, one of two with 5 accesses is hotter.
#[test]
fn heat_is_accesses_per_cached_block() {
    let mut run = roco("count", 6);
    for zone in 0..3 {
        point(&mut run, zone, 9); // nothing is in sequence
    }
    run.writes([0, 1, 1, 2, 2, 2, 10, 20, 20, 20, 21, 21]);
    assert_eq!(run.access(30, Op::Write), [(BY_ADDRESS, vec![10])], "heat 1");
    // The zone written last is as cold, 30 has been written once. It is colder than 2.
    point(&mut run, 3, 9);
    assert_eq!(run.access(3, Op::Write), [(BY_ADDRESS, vec![30])]);
    // Zone 0: 7 accesses of 4 blocks, 1.75. Zone 2: 2.5.
    assert_eq!(run.access(40, Op::Write), [(BY_ADDRESS, vec![0, 1, 2, 3])]);
}

/// A cache of four blocks; accesses weigh 1, 1 1/4, 1 1/2, 1 3/4, then 2, 2 1/2, 3, 3 1/2, then 4, 5, 6.
/// Zone 0 has the first three, 3 3/4; after it a zone comes with each write. By counts all of these
/// have 1, the one cached longest leaves, and zone 0 with its 3 stays whatever comes. As a frequency
/// zone 0 is colder than zone 6, which came with 4, and leaves before it.
#[test]
fn a_zone_hot_once_stays_for_ever_by_counts_and_leaves_as_a_frequency() {
    for (heat, last) in [("count", [60, 70, 80]), ("recent", [0, 60, 70])] {
        let mut run = roco(heat, 4);
        (0..ZONES).for_each(|zone| point(&mut run, zone, 9)); // nothing is in sequence
        run.writes([0, 0, 0, 10, 20, 30]);
        let left = [40, 50, 60, 70, 80].map(|block| run.access(block, Op::Write));
        let first = [10, 20, 30, 40, 50];
        assert_eq!(left, first.map(|block| vec![(BY_ADDRESS, vec![block])]), "{heat}");
        let left = [90, 100, 110].map(|block| run.access(block, Op::Write));
        assert_eq!(left, last.map(|block| vec![(BY_ADDRESS, vec![block])]), "{heat}");
    }
}

/// Of two zones alike, the one that has been cached longer is the colder.
#[test]
fn zones_of_equal_heat_leave_in_fifo_order() {
    let mut run = roco("count", 3);
    for zone in 0..3 {
        point(&mut run, zone, 9);
    }
    run.writes([20, 0, 10]);
    assert_eq!(run.access(1, Op::Write), [(BY_ADDRESS, vec![20])]);
}

/// Algorithm 1, lines 15 to 27: in sequence before all else, the coldest first, whichever of the two
/// types; and only the blocks up to the first gap.
#[test]
fn sequential_zones_leave_first_and_only_their_runs() {
    let mut run = exposed("roco", 14);
    point(&mut run, 0, 3);
    point(&mut run, 1, 4);
    point(&mut run, 2, 0);
    // Zone 0 is the coldest and has a block below its pointer. Zone 1 has blocks 4, 5 and 7, used
    // twice each: its pointer is at 4.
    run.writes([1, 3, 4]);
    run.writes([14, 15, 17, 14, 15, 17]);
    // Zone 2: a single block, not at the pointer.
    run.writes([25]);
    run.writes([50, 51, 60, 61, 62, 70, 71]);
    for zone in 5..8 {
        point(&mut run, zone, 9);
    }
    assert_eq!(run.access(100, Op::Write), [(BY_ADDRESS, vec![14, 15])], "hotter, but in sequence");
    point(&mut run, 1, 6);
    // Written again, nothing below the pointer: block 1 was trimmed.
    assert_eq!(run.cache.trim(Block(1), 1), 1);
    run.writes([101, 102]);
    assert_eq!(run.access(103, Op::Write), [(BY_ADDRESS, vec![3, 4])], "zone 0 is in sequence now");
}

/// Lines 21 to 26: a zone of which all is cached is rewritten, from wherever its pointer is; at the
/// start there is nothing to reset.
#[test]
fn a_zone_cached_whole_is_rewritten() {
    for (pointer, manner) in [(7, DestageMethod::Rewrite(Zone(1))), (0, BY_ADDRESS)] {
        let mut run = exposed("roco", 10);
        point(&mut run, 1, pointer);
        run.writes((10..20).rev());
        assert_eq!(run.access(0, Op::Write), [(manner, (10..20).collect())]);
    }
}

/// Lines 28 to 36: from 80 % of a zone on, also exactly there; and before a colder zone that has to
/// go to the disk cache.
#[test]
fn zones_cached_to_four_fifths_are_rewritten_by_the_host() {
    let mut run = exposed("roco", 16);
    point(&mut run, 0, 9);
    point(&mut run, 1, 9);
    run.writes(0..7); // colder, 70 %
    run.writes((10..18).chain(10..18));
    point(&mut run, 2, 9);
    run.writes([20]);
    assert_eq!(run.access(21, Op::Write), [(DestageMethod::HostRmw(Zone(1)), (10..18).collect())]);
    run.writes(22..29); // 90 % of zone 2, as cold as zone 0, which is older
    assert_eq!(run.access(50, Op::Write), [(DestageMethod::HostRmw(Zone(2)), (20..29).collect())]);
}

/// A conventional zone needs no sequence.
#[test]
fn conventional_zones_leave_as_they_are() {
    let mut run = make("roco", 4, Some(1)).expect("zones");
    point(&mut run, 1, 9);
    run.writes([10, 2, 7, 2]);
    run.writes([11]);
    assert_eq!(run.access(12, Op::Write), [(BY_ADDRESS, vec![2, 7])]);
}

/// Reads are served by the disk; what is cached they find.
#[test]
fn reads_never_fill() {
    for policy in ["zfifo", "reorder-zfifo", "roco"] {
        let mut run = exposed(policy, 2);
        run.access(5, Op::Read);
        assert_eq!(run.cache.lookup(Block(5)), None, "{policy}");
        run.writes([5]);
        let mut access = Access::whole(9, Block(5), Op::Read);
        let hit = run.cache.access(&mut access, &mut Plan::default());
        assert!(matches!(hit, Outcome::Hit(_)), "{policy}");
    }
}

/// Any policy may be told so: ROCO compares with an LRU that caches writes.
#[test]
fn a_cache_of_writes_fills_no_reads() {
    let registry = Registry::default();
    let lru = registry.get("lru").expect("a policy");
    for (reads, cached) in [("policy", true), ("bypass", false)] {
        let mut params = Params::new(CACHE_PARAMS);
        params.set("reads", reads).expect("a choice");
        let costs = Costs { read: Nanos(1), rmw_base: Nanos(1), rmw_per_block: Nanos(1) };
        let setup = Setup { costs, ..Setup::new(4, 100, &params) };
        let mut cache = lru.make(&Params::new(lru.params), &setup).expect("LRU needs no zones");
        for (number, op) in [(0, Op::Read), (1, Op::Write)] {
            let mut access = Access::whole(number, Block(number), op);
            cache.access(&mut access, &mut Plan::default());
        }
        assert_eq!(cache.lookup(Block(0)).is_some(), cached, "{reads}");
        assert!(cache.lookup(Block(1)).is_some());
    }
}

/// The zone that came first leaves whole: as its blocks came, or by address. A hit changes neither.
#[test]
fn zone_fifos_empty_the_oldest_zone() {
    let cases = [
        ("zfifo", DestageMethod::Write(WriteOrder::AsGiven), [17, 11, 14]),
        ("reorder-zfifo", BY_ADDRESS, [11, 14, 17]),
    ];
    for (policy, manner, order) in cases {
        let mut run = exposed(policy, 5);
        run.writes([17, 0, 11, 3, 14, 17]);
        assert_eq!(run.access(50, Op::Write), [(manner, order.to_vec())], "{policy}");
        run.writes([18, 51]);
        assert_eq!(run.access(52, Op::Write), [(manner, vec![0, 3])], "{policy}");
    }
}

#[test]
fn roco_is_refused_without_write_pointers() {
    let refused = make("roco", 4, None).err().expect("refused");
    assert!(refused.to_string().contains("choose a host-aware one"), "{refused}");
    assert!(make("zfifo", 4, None).is_ok(), "any division of the disk will do");
}

// ── Algorithm 1, as it stands ────────────────────────────────────────────────────────────────

#[derive(Clone, Default)]
struct ModelZone {
    /// Block offset and access_count, weighed.
    blocks: BTreeMap<u64, u64>,
    entered: u64,
    write_pointer: u64,
}

#[derive(Default)]
struct Model {
    zones: BTreeMap<u64, ModelZone>,
    slots: usize,
    entered: u64,
    /// Whether an access weighs half as much after a cache of them; and how many there were.
    recent: bool,
    accesses: u64,
}

impl Model {
    /// 65,536 · 2^(accesses ÷ slots), straight between powers of two. After twelve of these all that is
    /// cached is divided by 2^12.
    fn weight(&mut self) -> u64 {
        let slots = self.slots as u64;
        if !self.recent {
            return 1;
        }
        if self.accesses == 12 * slots {
            self.accesses = 0;
            let weights = self.zones.values_mut().flat_map(|zone| zone.blocks.values_mut());
            weights.for_each(|weight| *weight = (*weight / 4096).max(1));
        }
        let (turns, rest) = (self.accesses / slots, self.accesses % slots);
        self.accesses += 1;
        65_536 * (slots + rest) / slots * 2u64.pow(turns as u32)
    }

    fn write(&mut self, block: u64) -> Written {
        let mut gone = Vec::new();
        let (zone, offset) = (block / ZONE, block % ZONE);
        let held = |zone: &ModelZone| zone.blocks.contains_key(&offset);
        if !self.zones.get(&zone).is_some_and(held)
            && self.zones.values().map(|zone| zone.blocks.len()).sum::<usize>() == self.slots
        {
            gone.push(self.crea());
        }
        let (weight, entered) = (self.weight(), self.entered + 1);
        let zone = self.zones.entry(zone).or_default();
        if zone.blocks.is_empty() {
            (zone.entered, self.entered) = (entered, entered);
        }
        *zone.blocks.entry(offset).or_default() += weight;
        gone
    }

    fn crea(&mut self) -> (DestageMethod, Vec<u64>) {
        let mut cached: Vec<u64> = self.zones.keys().copied().collect();
        cached.retain(|zone| !self.zones[zone].blocks.is_empty());
        // Heats as fractions of the product of all counts would be exact too; products of two are.
        cached.sort_by(|a, b| {
            let (a, b) = (&self.zones[a], &self.zones[b]);
            let sum = |zone: &ModelZone| u128::from(zone.blocks.values().sum::<u64>());
            let order = (sum(a) * b.blocks.len() as u128).cmp(&(sum(b) * a.blocks.len() as u128));
            order.then(a.entered.cmp(&b.entered))
        });
        for &k in &cached {
            let zone = &self.zones[&k];
            let low = *zone.blocks.keys().next().expect("it has blocks");
            if low == zone.write_pointer && (zone.blocks.len() as u64) < ZONE {
                let run: Vec<u64> =
                    (low..ZONE).take_while(|at| zone.blocks.contains_key(at)).collect();
                return (BY_ADDRESS, self.take(k, &run));
            }
            if zone.blocks.len() as u64 == ZONE {
                let start = zone.write_pointer == 0;
                let manner =
                    if start { BY_ADDRESS } else { DestageMethod::Rewrite(Zone(k as u32)) };
                return (manner, self.take(k, &(0..ZONE).collect::<Vec<_>>()));
            }
        }
        let whole =
            |zone: &ModelZone| -> Vec<u64> { zone.blocks.keys().copied().collect::<Vec<_>>() };
        for &k in &cached {
            if self.zones[&k].blocks.len() as u64 * 10 >= ZONE * 8 {
                let blocks = whole(&self.zones[&k]);
                return (DestageMethod::HostRmw(Zone(k as u32)), self.take(k, &blocks));
            }
        }
        let blocks = whole(&self.zones[&cached[0]]);
        (BY_ADDRESS, self.take(cached[0], &blocks))
    }

    fn take(&mut self, zone: u64, offsets: &[u64]) -> Vec<u64> {
        let blocks = &mut self.zones.get_mut(&zone).expect("a cached zone").blocks;
        offsets.iter().for_each(|offset| _ = blocks.remove(offset));
        offsets.iter().map(|offset| zone * ZONE + offset).collect()
    }
}

proptest! {
    #[test]
    fn crea_is_algorithm_1(
        slots in 1u32..50,
        recent in any::<bool>(),
        ops in prop::collection::vec((0u8..12, 0..ZONE * ZONES, 0..=ZONE, any::<bool>()), 1..400),
    ) {
        let mut run = roco(if recent { "recent" } else { "count" }, slots);
        let mut model = Model { slots: slots as usize, recent, ..Model::default() };
        for (kind, block, at, near) in ops {
            let block = if near { block % (2 * ZONE) } else { block };
            match kind {
                0 => {
                    point(&mut run, block / ZONE, at);
                    model.zones.entry(block / ZONE).or_default().write_pointer = at;
                }
                1 => {
                    run.cache.trim(Block(block), 1);
                    if let Some(zone) = model.zones.get_mut(&(block / ZONE)) {
                        zone.blocks.remove(&(block % ZONE));
                    }
                }
                _ => prop_assert_eq!(run.access(block, Op::Write), model.write(block)),
            }
        }
    }
}
