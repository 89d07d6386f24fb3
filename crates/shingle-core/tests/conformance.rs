//! Every policy in the registry, and every variant its parameters offer, through one suite. A new
//! policy is found by itself.

mod common;

use std::collections::BTreeMap;

use common::{DISK_BLOCKS, Rng, make, variants, with_params};
use proptest::prelude::*;
use shingle_core::cache::{CacheCore, Outcome};
use shingle_core::idle::Idle;
use shingle_core::params::Params;
use shingle_core::plan::{Destage, Manner, Plan, WriteOrder};
use shingle_core::policies;
use shingle_core::policy::Access;
use shingle_core::registry::Entry;
use shingle_core::units::{Block, Op, Zone};

/// An executor that does everything at once and keeps a version for every block, and a write pointer
/// for every zone of a host-aware drive.
struct AtOnce {
    cache: Box<dyn CacheCore>,
    idle: Idle,
    plan: Plan,
    in_slot: Vec<u64>,
    on_disk: BTreeMap<Block, u64>,
    latest: BTreeMap<Block, u64>,
    pointers: BTreeMap<Zone, u64>,
    accesses: u64,
}

impl AtOnce {
    fn new(entry: &Entry, params: &Params, slots: u32, batch: u64) -> AtOnce {
        AtOnce::over(with_params(entry, params, slots, batch), entry)
    }

    fn over(cache: Box<dyn CacheCore>, entry: &Entry) -> AtOnce {
        let idle = entry.idle;
        let in_slot = vec![u64::MAX; cache.slots().capacity() as usize];
        let (on_disk, latest) = (BTreeMap::new(), BTreeMap::new());
        let (plan, pointers) = (Plan::default(), BTreeMap::new());
        AtOnce { cache, idle, plan, in_slot, on_disk, latest, pointers, accesses: 0 }
    }

    /// Returns whether the access hit.
    fn access(&mut self, block: Block, op: Op) -> bool {
        self.accesses += 1;
        let mut access = Access::whole(self.accesses, block, op);
        let mut outcome = self.cache.access(&mut access, &mut self.plan);
        self.carry_out();
        if outcome == Outcome::NoRoom {
            outcome = self.cache.retry(&mut access, &mut self.plan);
            self.carry_out();
        }
        let stored = |map: &BTreeMap<Block, u64>| map.get(&block).copied().unwrap_or(0);
        if let Outcome::Miss(slot) = outcome {
            self.in_slot[slot.index()] = stored(&self.on_disk);
        }
        let (Outcome::Hit(slot) | Outcome::Miss(slot)) = outcome else {
            assert_eq!(outcome, Outcome::Bypass, "with nothing in flight there is always room");
            match op {
                Op::Write => {
                    self.on_disk.insert(block, self.accesses);
                    self.latest.insert(block, self.accesses);
                }
                _ => assert_eq!(stored(&self.on_disk), stored(&self.latest)),
            }
            return false;
        };
        assert_eq!(self.cache.slots().block(slot), block);
        if op == Op::Write {
            self.in_slot[slot.index()] = self.accesses;
            self.latest.insert(block, self.accesses);
        }
        assert_eq!(self.in_slot[slot.index()], stored(&self.latest), "a read is not current");
        matches!(outcome, Outcome::Hit(_))
    }

    /// Nobody asks for anything. Returns how many blocks were named; each is clean then.
    fn idle(&mut self, want: u32) -> usize {
        let dirty = self.cache.slots().dirty_blocks() as usize;
        self.cache.idle(want, &mut self.plan);
        let named = self.plan.destages().len();
        assert_eq!(named > 0, self.idle == Idle::Names && dirty > 0 && want > 0);
        self.carry_out();
        assert_eq!(self.cache.slots().dirty_blocks() as usize, dirty - named);
        named
    }

    fn carry_out(&mut self) {
        let mut plan = core::mem::take(&mut self.plan);
        for (group, manner) in plan.groups() {
            if manner != Manner::Write(WriteOrder::AsGiven) {
                group.sort_by_key(|destage| destage.block);
            }
            if self.cache.wants_write_pointers() {
                self.move_pointers(group, manner);
            }
            for destage in group {
                self.on_disk.insert(destage.block, self.in_slot[destage.slot.index()]);
                self.cache.destaged(destage.slot);
            }
        }
        plan.clear();
        self.plan = plan;
    }

    fn move_pointers(&mut self, group: &[Destage], manner: Manner) {
        let zones = self.cache.slots().zones().clone();
        let offset = |one: &Destage| one.block.0 - zones.first_block(zones.zone(one.block)).0;
        let last = offset(group.last().expect("groups are not empty"));
        let zone = match manner {
            Manner::Write(_) => {
                for one in group {
                    let pointer = self.pointers.entry(zones.zone(one.block)).or_default();
                    *pointer += u64::from(*pointer == offset(one));
                }
                zones.zone(group[0].block)
            }
            Manner::Rewrite(zone) => {
                assert_eq!(group.len() as u64, zones.blocks(zone), "all of it is cached");
                assert!(self.pointers[&zone] > 0, "there is something to reset");
                self.pointers.insert(zone, zones.blocks(zone));
                zone
            }
            Manner::Append(zone) => {
                let pointer = self.pointers.entry(zone).or_default();
                assert!(*pointer <= offset(&group[0]), "nothing before the pointer is appended");
                *pointer = last + 1;
                zone
            }
            Manner::HostRmw(zone) => {
                let pointer = self.pointers.entry(zone).or_default();
                *pointer = (*pointer).max(last + 1);
                zone
            }
        };
        assert!(group.iter().all(|one| zones.zone(one.block) == zone), "a group is of one zone");
        self.cache.set_write_pointer(zone, self.pointers.get(&zone).copied().unwrap_or(0));
    }

    /// After a trim a block may read as what is on the disk.
    fn trim(&mut self, first: Block, count: u64) {
        let cached =
            |run: &Self| (0..120).filter(|&b| run.cache.lookup(Block(b)).is_some()).count();
        let before = cached(self);
        let dropped = self.cache.trim(first, count);
        assert_eq!(before - cached(self), dropped as usize);
        for block in (first.0..first.0 + count).map(Block) {
            assert_eq!(self.cache.lookup(block), None, "nothing is in flight");
            self.latest.insert(block, self.on_disk.get(&block).copied().unwrap_or(0));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn a_read_returns_the_last_write(
        slots in 3u32..40,
        batch in 1u64..9,
        ops in prop::collection::vec((0u8..12, 0u64..120), 1..250),
    ) {
        for (entry, params) in variants() {
            let mut run = AtOnce::new(&entry, &params, slots, batch);
            for &(kind, block) in &ops {
                match kind {
                    0..5 => { run.access(Block(block), Op::Write); }
                    5..9 => { run.access(Block(block % 60), Op::Read); }
                    9 => run.trim(Block(block), 1 + block % 50),
                    _ => { run.idle(block as u32 % 9); }
                }
                run.cache.check();
            }
        }
    }
}

/// All sequences of six accesses over three blocks in two zones, reads and writes, through caches
/// of one to three slots: 46,656 sequences a policy and size.
#[test]
fn every_short_sequence_is_current() {
    for entry in policies::all() {
        for slots in 1..=3 {
            for code in 0..6u32.pow(6) {
                let mut run = AtOnce::over(make(entry, slots, 1), entry);
                let mut rest = code;
                for _ in 0..6 {
                    let op = if rest % 2 == 0 { Op::Read } else { Op::Write };
                    run.access(Block(u64::from(rest / 2 % 3) * 5), op);
                    rest /= 6;
                }
                run.cache.check();
            }
        }
    }
}

#[test]
fn a_hit_ratio_is_no_better_than_the_cache_is_large() {
    for (entry, params) in variants() {
        let mut run = AtOnce::new(&entry, &params, 40, 1);
        let (mut rng, mut hits) = (Rng(7), 0u32);
        for _ in 0..40_000 {
            let op = if rng.chance(70) { Op::Write } else { Op::Read };
            hits += u32::from(run.access(Block(rng.below(DISK_BLOCKS)), op));
        }
        // Uniform accesses over 400 blocks: no policy without foresight can hold more than a tenth.
        assert!(hits < 40_000 / 10 * 12 / 10, "{}: {hits} hits", entry.name);
        let caches = entry.name != "none";
        assert!(!caches || hits > 40_000 / 10 / 2, "{}: {hits} hits", entry.name);
    }
}

/// After some work, a disk that is idle long enough has everything: within as many calls as there are
/// dirty blocks, and within that many however small the calls. Nothing is lost by it, and the cache goes
/// on as before.
#[test]
fn idle_time_leaves_nothing_dirty() {
    for (entry, params) in variants() {
        for (seed, slots, want) in [(1, 3, 1), (2, 40, 1), (3, 40, 8), (4, 130, 64)] {
            let mut run = AtOnce::new(&entry, &params, slots, 1);
            let mut rng = Rng(seed);
            for _ in 0..3 {
                for _ in 0..1_500 {
                    let range = if rng.chance(50) { 60 } else { DISK_BLOCKS };
                    let op = if rng.chance(60) { Op::Write } else { Op::Read };
                    run.access(Block(rng.below(range)), op);
                }
                run.access(Block(rng.below(DISK_BLOCKS)), Op::Write);
                let dirty = run.cache.slots().dirty_blocks();
                if run.idle == Idle::Names {
                    assert!(dirty > 0, "{}: there is nothing to write", entry.name);
                    let calls = (0..dirty).take_while(|_| run.idle(want) > 0).count() as u32;
                    assert!(calls <= dirty && run.cache.slots().dirty_blocks() == 0);
                    let behind = run.latest.iter().filter(|&(b, v)| run.on_disk.get(b) != Some(v));
                    assert_eq!(behind.count(), 0, "{}: the disk has not got all", entry.name);
                }
                assert_eq!(run.idle(want), 0);
                run.cache.check();
            }
        }
    }
}

/// Every policy of the project has said what it does.
#[test]
fn nobody_leaves_idle_time_to_chance() {
    let never = |entry: &&Entry| entry.idle != Idle::Names;
    let never: Vec<_> = policies::all().filter(never).map(|entry| entry.name).collect();
    assert_eq!(never, ["none", "belady"]);
    for (name, why) in [("none", "no block"), ("belady", "no store")] {
        let entry = policies::all().find(|entry| entry.name == name).expect("a policy");
        assert!(entry.idle.to_string().contains(why), "{}", entry.idle);
    }
}
