//! SAC+ over zones that the host writes back: by hand, and at random against a model that looks at all
//! zones each time, as the prototype does. Over drives without exposed zones: SAC's cycles, zone by
//! zone.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use shingle_core::drive_view::{Costs, InOrder};
use shingle_core::params::Params;
use shingle_core::plan::{DestageMethod, WriteOrder};
use shingle_core::registry::{CACHE_PARAMS, Registry, Setup};
use shingle_core::units::{Block, Nanos, Op, Zone};
use shingle_core::zones::ZoneMap;

use crate::run::{Run, Written, params};

const ZONE: u64 = 10;
const ZONES: u64 = 12;
const READ: Op = Op::Read;
const WRITE: Op = Op::Write;
const BY_ADDRESS: DestageMethod = DestageMethod::Write(WriteOrder::ByAddress);

/// What left the cache: dirty blocks, how and by address, and clean ones.
#[derive(Clone, Debug, Default, PartialEq)]
struct Gone {
    dirty: Written,
    clean: Vec<u64>,
}

fn clean(blocks: &[u64]) -> Gone {
    Gone { clean: blocks.to_vec(), ..Gone::default() }
}

fn dirty(manner: DestageMethod, blocks: &[u64]) -> Gone {
    Gone { dirty: vec![(manner, blocks.to_vec())], ..Gone::default() }
}

/// Of a disk whose zones the host writes back, or of another one.
struct Plus(Run);

impl Plus {
    /// `R(x)` is `base + x`, a read takes `read`.
    fn new(slots: u32, (read, base): (u64, u64), sets: &[(&str, &str)], exposed: bool) -> Plus {
        let zones = ZoneMap::fixed(ZONE, ZONE * ZONES);
        let setup = Setup {
            cache_blocks: slots,
            disk_blocks: ZONE * ZONES,
            bands: Some(&zones),
            conventional_zones: exposed.then_some(1),
            sequential_required: exposed,
            buffer_blocks: if exposed { 0 } else { 30 },
            is_log: false,
            in_order: InOrder::default(),
            costs: Costs { read: Nanos(read), rmw_base: Nanos(base), rmw_per_block: Nanos(1) },
            cache: &Params::new(CACHE_PARAMS),
        };
        let registry = Registry::default();
        let entry = registry.get("sac-plus").expect("a policy");
        let params = params(entry, Some("10b"), sets);
        Plus(Run::of(entry.make(&params, &setup).expect("it takes either")))
    }

    fn access(&mut self, block: u64, op: Op) -> Gone {
        let (dirty, left) = self.0.access_and_left(block, op);
        let written: BTreeSet<u64> = dirty.iter().flat_map(|(_, all)| all.clone()).collect();
        let clean = left.into_iter().filter(|block| !written.contains(block)).collect();
        Gone { dirty, clean }
    }

    fn all(&mut self, op: Op, blocks: impl IntoIterator<Item = u64>) {
        for block in blocks {
            assert_eq!(self.access(block, op), Gone::default(), "there is room");
        }
    }
}

const DEAR_READS: (u64, u64) = (1000, 5);

/// Cold is what was not used within a window; of it clean blocks go before all else.
#[test]
fn cold_clean_blocks_go_first_and_only_they() {
    let sets = [("window", "0.5"), ("clean_part", "1")];
    let mut run = Plus::new(6, DEAR_READS, &sets, true);
    run.all(READ, [20, 21]);
    run.all(WRITE, [30, 31]);
    run.all(READ, [22, 23]);
    // A window of 3: 20, 21 and 30 are cold. Reads are dear, and yet clean blocks go.
    assert_eq!(run.access(24, READ), clean(&[20]));
    assert_eq!(run.access(25, READ), clean(&[21]));
    // The clean ones have been used within the last three accesses: 30 and 31 of zone 3.
    run.all(READ, [22, 23, 24]);
    assert_eq!(run.access(26, READ), clean(&[25]), "used four accesses ago");
    run.all(READ, [22, 23, 24]);
    assert_eq!(run.access(27, READ), clean(&[26]));
}

/// ARSC: zone 3 has two cold blocks from offset 8 on (2 / 2), zone 4 four from offset 2 on (4 / 8),
/// zone 5 one at offset 9 (1 / 1), and a hot one before it.
#[test]
fn the_zone_with_most_cold_blocks_for_each_rewritten_goes() {
    let full =
        |run: &mut Plus| (1..12).for_each(|zone| run.0.cache.set_write_pointer(Zone(zone), 10));
    let sets = [("window", "0.5")];
    let mut run = Plus::new(8, DEAR_READS, &sets, true);
    full(&mut run);
    run.all(WRITE, [38, 39, 42, 44, 45, 46, 59, 58]);
    run.all(WRITE, [58, 58, 58]);
    // A window of 4: all but 58 are cold. Of zones 3 and 5, which tie, the first goes.
    assert_eq!(run.access(60, WRITE), dirty(DestageMethod::HostRmw(Zone(3)), &[38, 39]));
    assert_eq!(run.access(61, WRITE), Gone::default());
    // 59 is alone at the end: 1 / 1 against 4 / 8. What lies before it stays.
    assert_eq!(run.access(62, WRITE), dirty(DestageMethod::HostRmw(Zone(5)), &[59]));
    // By whole zones: 4 of zone 4 before 2 of zone 3.
    let mut run = Plus::new(8, DEAR_READS, &[("window", "0.5"), ("partial", "off")], true);
    full(&mut run);
    run.all(WRITE, [38, 39, 42, 44, 45, 46, 59, 58]);
    run.all(WRITE, [58, 58, 58]);
    assert_eq!(run.access(60, WRITE), dirty(DestageMethod::HostRmw(Zone(4)), &[42, 44, 45, 46]));
}

/// From the lowest cold block on all dirty ones go, the hot among them too.
#[test]
fn hot_blocks_in_the_range_are_written_too() {
    let mut run = Plus::new(5, DEAR_READS, &[("window", "0.4")], true);
    run.0.cache.set_write_pointer(Zone(2), 8);
    run.all(WRITE, [24, 26, 21, 25, 50]);
    run.all(WRITE, [21, 25]);
    // A window of 2: 24, 26 and 50 are cold, 21 and 25 hot. Zone 2: 2 / 6; zone 5: 1 / 10.
    assert_eq!(run.access(51, WRITE), dirty(DestageMethod::HostRmw(Zone(2)), &[24, 25, 26]));
    assert_eq!(run.0.cached(), [21, 50, 51]);
}

/// If nothing is cold everything is taken to be.
#[test]
fn without_cold_blocks_most_dirty_blocks_for_each_rewritten() {
    let mut run = Plus::new(6, DEAR_READS, &[], true);
    run.all(WRITE, [20, 21, 22, 37, 38, 45]);
    // 3 / 10, 2 / 3, 1 / 5.
    assert_eq!(run.access(50, WRITE), dirty(DestageMethod::Append(Zone(3)), &[37, 38]));
    // 2 / 5 now.
    assert_eq!(run.access(46, WRITE), Gone::default());
    assert_eq!(run.access(51, WRITE), dirty(DestageMethod::Append(Zone(4)), &[45, 46]));
}

/// How a zone is written back: beyond the pointer in sequence, else read, reset and rewritten, and a
/// conventional one in place.
#[test]
fn the_write_pointer_decides_how_a_group_is_destaged() {
    for (pointer, manner) in
        [(4, DestageMethod::Append(Zone(3))), (5, DestageMethod::HostRmw(Zone(3)))]
    {
        let mut run = Plus::new(2, DEAR_READS, &[], true);
        run.0.cache.set_write_pointer(Zone(3), pointer);
        run.all(WRITE, [34, 37]);
        assert_eq!(run.access(50, WRITE), dirty(manner, &[34, 37]));
    }
    let mut run = Plus::new(2, DEAR_READS, &[], true);
    run.all(WRITE, [4, 7]);
    assert_eq!(run.access(50, WRITE), dirty(BY_ADDRESS, &[4, 7]));
}

/// A read takes 7. Zone 3 takes 5 + 4 for two blocks from offset 6 on: 4.5 a block. Zone 4 alone, one
/// block from offset 6 on: 9.
#[test]
fn the_victims_that_cost_least_for_each_released_block_leave() {
    let sets = [("clean_part", "2"), ("clean_max", "2")];
    let mut run = Plus::new(5, (7, 5), &sets, true);
    run.all(WRITE, [36, 37, 46]);
    run.all(READ, [20, 21]);
    assert_eq!(run.access(50, READ), dirty(DestageMethod::Append(Zone(3)), &[36, 37]));
    run.all(READ, [51]);
    // Two clean ones then, before costs are compared again.
    assert_eq!(run.access(52, READ), clean(&[20]));
    assert_eq!(run.access(53, READ), clean(&[21]));
    run.all(WRITE, [46]);
    assert_eq!(run.access(54, READ), clean(&[50]));
}

/// Over a drive that exposes nothing: targets by cold blocks, as SAC has them, but whole zones.
#[test]
fn without_exposed_zones_target_zones_leave_whole() {
    let mut run = Plus::new(7, DEAR_READS, &[("window", "0.3")], false);
    run.all(WRITE, [21, 20, 22, 35, 34, 41, 50]);
    // A window of 2: zone 2 has 3 cold blocks, 3 has 2, 4 none. A buffer of three zones: those two and
    // zone 4. The zone of the least recently used block comes first, all of it at once.
    assert_eq!(run.access(60, WRITE), dirty(BY_ADDRESS, &[20, 21, 22]));
    run.all(WRITE, [61, 62]);
    assert_eq!(run.access(63, WRITE), dirty(BY_ADDRESS, &[34, 35]));
}

// ── A model that looks at everything ─────────────────────────────────────────────────────────

#[derive(Clone, Copy, Debug)]
struct Cached {
    dirty: bool,
    /// Accesses before its last one.
    stamp: u64,
}

struct Model {
    cached: BTreeMap<u64, Cached>,
    slots: usize,
    window: u64,
    group: usize,
    partial: bool,
    costs: (u64, u64),
    now: u64,
    pointers: [u64; ZONES as usize],
    /// Clean blocks of a group that are yet to leave, and whether only cold ones do.
    phase: Option<(usize, bool)>,
}

impl Model {
    fn access(&mut self, block: u64, op: Op) -> Gone {
        let mut gone = Gone::default();
        if !self.cached.contains_key(&block) && self.cached.len() == self.slots {
            gone = self.evict();
        }
        let entry = self.cached.entry(block).or_insert(Cached { dirty: false, stamp: 0 });
        *entry = Cached { dirty: entry.dirty || op == WRITE, stamp: self.now };
        self.now += 1;
        gone
    }

    fn cold(&self, one: &Cached) -> bool {
        one.stamp + self.window < self.now
    }

    fn evict(&mut self) -> Gone {
        // What was to leave may have been used or trimmed meanwhile.
        let leaves = |only_cold: bool| {
            let mut clean = self.cached.values().filter(|one| !one.dirty);
            clean.any(|one| !only_cold || self.cold(one))
        };
        if !self.phase.is_some_and(|(_, only_cold)| leaves(only_cold)) {
            self.phase = self.decide();
        }
        match self.phase.take() {
            Some((left, only_cold)) => {
                let clean = |one: &&u64| !self.cached[one].dirty;
                let oldest = self.cached.keys().filter(clean).min_by_key(|b| self.cached[b].stamp);
                let block = *oldest.expect("a clean block");
                self.cached.remove(&block);
                let mut clean = self.cached.values().filter(|one| !one.dirty);
                let more = clean.any(|one| !only_cold || self.cold(one));
                self.phase = (left > 1 && more).then_some((left - 1, only_cold));
                Gone { clean: vec![block], ..Gone::default() }
            }
            None => self.write_back(),
        }
    }

    /// A group of clean blocks, or `None` if a zone is to be written back.
    fn decide(&self) -> Option<(usize, bool)> {
        let clean = || self.cached.values().filter(|one| !one.dirty);
        if clean().any(|one| self.cold(one)) {
            return Some((self.group, true));
        }
        let Some((_, from, released)) = self.best() else { return Some((self.group, false)) };
        let (read, base) = self.costs;
        // Equal costs: the dirty one.
        let dearer = base + (ZONE - from) > read * released;
        (clean().next().is_some() && dearer).then_some((self.group, false))
    }

    /// The zone of the largest ARSC, from where it is rewritten, and what that releases.
    fn best(&self) -> Option<(u64, u64, u64)> {
        let dirty = || self.cached.iter().filter(|(_, one)| one.dirty);
        let any_cold = dirty().any(|(_, one)| self.cold(one));
        let mut best: Option<(u64, u64, u64)> = None;
        for zone in 0..ZONES {
            let counts = |one: &Cached| !any_cold || self.cold(one);
            let those = dirty().filter(|(block, one)| **block / ZONE == zone && counts(one));
            let offsets: Vec<u64> = those.map(|(block, _)| block % ZONE).collect();
            let Some(&lowest) = offsets.iter().min() else { continue };
            let from = if self.partial { lowest } else { 0 };
            let released = offsets.len() as u64;
            let better = |(_, other, least): (u64, u64, u64)| {
                released * (ZONE - other) > least * (ZONE - from)
            };
            if best.is_none_or(better) {
                best = Some((zone, from, released));
            }
        }
        best
    }

    fn write_back(&mut self) -> Gone {
        let (zone, from, _) = self.best().expect("a dirty block");
        let range = zone * ZONE + from..(zone + 1) * ZONE;
        let dirty = |(block, one): (&u64, &Cached)| one.dirty.then_some(*block);
        let blocks: Vec<u64> = self.cached.range(range).filter_map(dirty).collect();
        blocks.iter().for_each(|block| _ = self.cached.remove(block));
        let manner = match zone {
            0 => BY_ADDRESS,
            _ if blocks[0] % ZONE >= self.pointers[zone as usize] => {
                DestageMethod::Append(Zone(zone as u32))
            }
            _ => DestageMethod::HostRmw(Zone(zone as u32)),
        };
        Gone { dirty: vec![(manner, blocks)], ..Gone::default() }
    }
}

proptest! {
    #[test]
    fn sac_plus_is_its_model(
        slots in 2u32..40,
        window in prop::sample::select(vec!["0.3", "1", "2"]),
        costs in prop::sample::select(vec![(3u64, 1u64), (1, 10), (10, 40), (100, 5)]),
        clean_max in 1usize..5,
        partial in any::<bool>(),
        ops in prop::collection::vec((0u8..20, 0..ZONE * ZONES, 0..=ZONE, any::<bool>()), 1..500),
    ) {
        let (most, switch) = (clean_max.to_string(), if partial { "on" } else { "off" });
        let sets =
            [("window", window), ("clean_part", "1"), ("clean_max", &most), ("partial", switch)];
        let mut run = Plus::new(slots, costs, &sets, true);
        let thousandths = window.parse::<f64>().expect("a number") * 1000.0;
        let mut model = Model {
            cached: BTreeMap::new(),
            slots: slots as usize,
            window: (u64::from(slots) * thousandths as u64 / 1000).max(1),
            group: clean_max.min(slots as usize),
            partial,
            costs,
            now: 0,
            pointers: [0; ZONES as usize],
            phase: None,
        };
        for (kind, block, at, near) in ops {
            let block = if near { block % (3 * ZONE) } else { block };
            match kind {
                0 if block / ZONE > 0 => {
                    run.0.cache.set_write_pointer(Zone((block / ZONE) as u32), at);
                    model.pointers[(block / ZONE) as usize] = at;
                }
                1 => {
                    run.0.cache.trim(Block(block), 1);
                    model.cached.remove(&block);
                }
                2..8 => prop_assert_eq!(run.access(block, READ), model.access(block, READ)),
                _ => prop_assert_eq!(run.access(block, WRITE), model.access(block, WRITE)),
            }
        }
    }
}
