//! What policies over orders promise the order beneath, checked from beneath: two orders of a few
//! lines that panic when a promise is broken, under PORE and on both sides of the comparator.

use std::cell::Cell;
use std::collections::BTreeSet;

use shingle_core::cache::{CacheCore, Outcome};
use shingle_core::cdc::held::Held;
use shingle_core::cdc::{CLEAN_PART, COST, Cdc, Pair, WINDOW, group_blocks};
use shingle_core::order::Order;
use shingle_core::params::{Param, Params};
use shingle_core::plan::Plan;
use shingle_core::policies::pore::Pore;
use shingle_core::policies::pore::scheme::{Balanced, CoverageFirst, PopularityFirst};
use shingle_core::policy::{Access, Memory, Policy, ZONE};
use shingle_core::registry::{CACHE_PARAMS, Setup, build};
use shingle_core::slots::Slots;
use shingle_core::units::{Block, Op, Slot};
use shingle_core::zones::ZoneMap;
use shingle_testkit::{DISK_BLOCKS, Rng};

/// First in, first out; or last in, first out. Remembers who left, and who was named and neither
/// left nor came back yet.
#[derive(Clone, Debug, Default)]
struct Strict<const LAST_FIRST: bool> {
    queue: Vec<Slot>, // coldest first
    named: BTreeSet<Slot>,
    ghosts: BTreeSet<Block>,
}

thread_local! {
    /// Misses of blocks that had left.
    static GHOST_HITS: Cell<u64> = const { Cell::new(0) };
}

impl<const LAST_FIRST: bool> Strict<LAST_FIRST> {
    fn holds(&self, slot: Slot) -> bool {
        self.queue.contains(&slot)
    }
}

impl<const LAST_FIRST: bool> Order for Strict<LAST_FIRST> {
    const NAME: &'static str = "strict";
    const ABOUT: &'static str = "an order that checks what it is told";

    fn new(_: &Params, _: &Slots) -> Self {
        Strict::default()
    }

    fn miss(&mut self, access: &Access, _: &Slots) {
        if self.ghosts.contains(&access.block) {
            GHOST_HITS.set(GHOST_HITS.get() + 1);
        }
    }

    fn insert(&mut self, slot: Slot, access: &Access, slots: &Slots) {
        assert!(!self.holds(slot) && !self.named.contains(&slot), "it is here already");
        assert_eq!(slots.block(slot), access.block, "the access is of another block");
        self.ghosts.remove(&access.block);
        let at = if LAST_FIRST { 0 } else { self.queue.len() };
        self.queue.insert(at, slot);
    }

    fn touch(&mut self, slot: Slot, access: &Access, slots: &Slots) {
        assert!(self.holds(slot) && !self.named.contains(&slot), "used, but not here");
        assert_eq!(slots.block(slot), access.block);
    }

    fn remove(&mut self, slot: Slot, _: &Slots) {
        assert!(self.holds(slot), "removed, but not here");
        self.queue.retain(|&other| other != slot);
    }

    fn pop(&mut self, slots: &Slots) -> Option<Slot> {
        let at = self.queue.iter().position(|&slot| slots.evictable(slot))?;
        let slot = self.queue.remove(at);
        assert!(self.named.insert(slot));
        Some(slot)
    }

    fn restore(&mut self, slot: Slot, _: &Slots) {
        assert!(self.named.remove(&slot), "restored, but not named");
        self.queue.insert(0, slot);
    }

    fn left(&mut self, slot: Slot, slots: &Slots) {
        assert!(self.named.remove(&slot), "left, but not named");
        self.ghosts.insert(slots.block(slot));
    }

    fn coldest(&self) -> impl Iterator<Item = Slot> + '_ {
        self.queue.iter().copied()
    }

    fn memory(&self) -> Memory {
        Memory::default()
    }

    fn check(&self, slots: &Slots) {
        let ghosts_here = self.queue.iter().filter(|&&s| self.ghosts.contains(&slots.block(s)));
        assert_eq!(ghosts_here.count(), 0, "a ghost is in the cache");
    }
}

/// The comparator over first-in-first-out for clean, last-in-first-out for dirty blocks.
#[derive(Clone, Debug)]
struct StrictSides;

impl Pair for StrictSides {
    const NAME: &'static str = "strict-cdc";
    const ABOUT: &'static str = "for this test";
    const PARAMS: &'static [Param] = &[ZONE, WINDOW, CLEAN_PART, COST];
    type Clean = Held<Strict<false>>;
    type Dirty = Held<Strict<true>>;

    fn sides(params: &Params, slots: &Slots) -> (Self::Clean, Self::Dirty) {
        let group = group_blocks(params, slots);
        (
            Held::clean(Strict::new(params, slots), group, slots),
            Held::dirty(Strict::new(params, slots), group, slots),
        )
    }
}

/// Random accesses, destages that complete later or fail, trims, idle time.
fn work<P: Policy>(sets: &[(&str, &str)], slots: u32, seed: u64) {
    let mut params = Params::new(P::PARAMS);
    params.set("zone", "8b").expect("a size");
    for (name, value) in sets {
        params.set(name, value).expect("a value");
    }
    let cache_params = Params::new(CACHE_PARAMS);
    let bands = ZoneMap::fixed(8, DISK_BLOCKS);
    let setup = Setup {
        bands: Some(&bands),
        buffer_blocks: 20,
        is_log: false,
        ..Setup::new(slots, DISK_BLOCKS, &cache_params)
    };
    let mut cache = build::<P>(&params, &setup).expect("zones of 8 blocks");
    let (mut rng, mut plan, mut under_way) = (Rng(seed), Plan::default(), Vec::new());
    let (mut hits, mut refused) = (0, 0);
    for number in 0..3_000 {
        let range = if rng.chance(50) { 24 } else { DISK_BLOCKS };
        let block = Block(rng.below(range));
        let op = if rng.chance(60) { Op::Write } else { Op::Read };
        let mut access = Access::whole(number, block, op);
        let mut outcome = cache.access(&mut access, &mut plan);
        while outcome == Outcome::NoRoom {
            refused += 1;
            under_way.extend(plan.destages().iter().map(|destage| destage.slot));
            plan.clear();
            assert!(!under_way.is_empty(), "no room, and nothing is under way");
            finish(&mut cache, &mut under_way, &mut rng);
            outcome = cache.retry(&mut access, &mut plan);
        }
        hits += u64::from(matches!(outcome, Outcome::Hit(_)));
        under_way.extend(plan.destages().iter().map(|destage| destage.slot));
        plan.clear();
        match rng.below(20) {
            0 => cache.idle(3, &mut plan),
            1 => _ = cache.trim(block, 3),
            2 => cache.evict(2, &mut plan),
            _ => {}
        }
        under_way.extend(plan.destages().iter().map(|destage| destage.slot));
        plan.clear();
        if rng.chance(60) {
            finish(&mut cache, &mut under_way, &mut rng);
        }
        cache.check();
    }
    assert!(hits > 30 && refused > 0, "{hits} hits, {refused} refused: nothing was tried");
    assert!(GHOST_HITS.replace(0) > 100, "misses, or who left, are not told");
}

fn finish(cache: &mut impl CacheCore, under_way: &mut Vec<Slot>, rng: &mut Rng) {
    if !under_way.is_empty() {
        let slot = under_way.swap_remove(rng.below(under_way.len() as u64) as usize);
        if rng.chance(10) {
            cache.destage_failed(slot);
        } else {
            cache.destaged(slot);
        }
    }
}

#[test]
fn pore_reports_all_events_to_its_order() {
    for (seed, slots) in [(1, 3), (2, 10), (3, 40)] {
        for period in ["0.05", "0.4", "1"] {
            for division in ["paper", "prototype"] {
                for history in ["cached", "period", "forever"] {
                    let sets = [("period", period), ("division", division), ("history", history)];
                    work::<Pore<Balanced, Strict<false>>>(&sets, slots, seed);
                    work::<Pore<CoverageFirst, Strict<true>>>(&sets, slots, seed);
                    work::<Pore<PopularityFirst, Strict<false>>>(&sets, slots, seed);
                }
            }
        }
    }
}

#[test]
fn the_comparator_reports_all_events_to_its_order() {
    for (seed, slots) in [(1, 3), (2, 10), (3, 40)] {
        for part in ["1", "4", "80"] {
            work::<Cdc<StrictSides>>(&[("clean_part", part)], slots, seed);
        }
    }
}
