//! Orders as policies, against models of their own (`models/`), and against MIN.

use std::collections::BTreeMap;

use crate::models::model;
use proptest::prelude::*;
use shingle_core::cache::{CacheCore, Outcome};
use shingle_core::plan::Plan;
use shingle_core::policies::ORDERS;
use shingle_core::policy::Access;
use shingle_core::registry::Entry;
use shingle_core::units::{Block, Op};
use shingle_testkit::{DISK_BLOCKS, Rng, make};

/// Blocks the traces are of.
const BLOCKS: u64 = 60;

/// One access of a trace: what, whether it writes, and when the block is used again.
type Step = (u64, bool, u64);

fn with_next_uses(accesses: &[(u64, bool)]) -> Vec<Step> {
    let mut last = BTreeMap::new();
    let step = |(at, &(block, write)): (usize, &(u64, bool))| {
        (block, write, last.insert(block, at as u64).unwrap_or(Access::NEVER))
    };
    let mut steps: Vec<Step> = accesses.iter().enumerate().rev().map(step).collect();
    steps.reverse();
    steps
}

/// Skewed accesses, scans and loops in turn, a third of them writes.
fn mixed(seed: u64, accesses: usize) -> Vec<Step> {
    let (mut rng, mut all) = (Rng(seed), Vec::new());
    while all.len() < accesses {
        let (first, length) = (rng.below(BLOCKS), 1 + rng.below(40));
        match rng.below(4) {
            0 => all.extend((0..length).map(|at| (first + at) % BLOCKS)),
            1 => all.extend((0..3 * length).map(|at| (first + at % (1 + length / 4)) % BLOCKS)),
            _ => all.extend((0..4 * length).map(|_| {
                let range = 1 + rng.below(BLOCKS);
                rng.below(range)
            })),
        }
    }
    let accesses: Vec<_> = all.into_iter().map(|block| (block, rng.chance(33))).collect();
    with_next_uses(&accesses)
}

/// Whether the access hit. Whatever is to be written is written at once.
fn access(cache: &mut dyn CacheCore, number: usize, &(block, write, next_use): &Step) -> bool {
    let op = if write { Op::Write } else { Op::Read };
    let mut access = Access::whole(number as u64, Block(block), op);
    access.next_use = next_use;
    let mut plan = Plan::default();
    let mut outcome = cache.access(&mut access, &mut plan);
    if outcome == Outcome::NoRoom {
        for destage in plan.destages() {
            assert!(cache.destaged(destage.slot), "a victim leaves");
        }
        outcome = cache.retry(&mut access, &mut plan);
    }
    assert!(plan.destages().len() + plan.dropped_blocks() as usize <= 1, "one goes for one");
    matches!(outcome, Outcome::Hit(_))
}

fn hits(entry: &Entry, slots: u32, trace: &[Step]) -> usize {
    let mut cache = make(entry, slots, 1);
    trace.iter().enumerate().filter(|&(at, step)| access(cache.as_mut(), at, step)).count()
}

/// Access by access: the same hits, and the same blocks in the cache.
fn agrees(entry: &Entry, slots: u32, trace: &[Step]) -> Result<(), TestCaseError> {
    let (mut cache, mut model) = (make(entry, slots, 1), model(entry.name, slots as usize));
    for (at, step) in trace.iter().enumerate() {
        let hit = access(cache.as_mut(), at, step);
        let wanted = model.access(step.0, step.2);
        prop_assert_eq!(
            hit,
            wanted,
            "{}, {} slots: access {} of {:?}",
            entry.name,
            slots,
            at,
            trace
        );
        if entry.name == "belady" {
            continue; // who of those never used again leaves is not said
        }
        let mut wanted = model.cached();
        wanted.sort_unstable();
        let cached: Vec<u64> =
            (0..BLOCKS).filter(|&block| cache.lookup(Block(block)).is_some()).collect();
        prop_assert_eq!(cached, wanted, "{}, {} slots: after {}", entry.name, slots, at);
    }
    cache.check();
    Ok(())
}

#[test]
fn every_order_equals_its_model() {
    for entry in ORDERS {
        for slots in [1, 2, 3, 4, 5, 7, 10, 16, 29, 50] {
            for seed in 0..12 {
                agrees(entry, slots, &mixed(seed, 1_500)).unwrap_or_else(|error| panic!("{error}"));
            }
        }
    }
}

/// Large enough that a hundredth of the cache is more than a block.
#[test]
fn every_order_equals_its_model_in_larger_caches() {
    let mut rng = Rng(11);
    let accesses: Vec<(u64, bool)> = (0..40_000)
        .map(|at| {
            let range = 1 + rng.below(2_000);
            let block = if at / 5_000 % 3 == 1 { at % 700 } else { rng.below(range) };
            (block, rng.chance(33))
        })
        .collect();
    let trace = with_next_uses(&accesses);
    for entry in ORDERS {
        let (mut cache, mut model) = (make(entry, 400, 1), model(entry.name, 400));
        for (at, step) in trace.iter().enumerate() {
            let hit = access(cache.as_mut(), at, step);
            assert_eq!(hit, model.access(step.0, step.2), "{}: access {at}", entry.name);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn every_order_does_as_its_model_on_short_traces(
        slots in 1u32..9,
        accesses in prop::collection::vec((0u64..14, any::<bool>()), 1..120),
    ) {
        let trace = with_next_uses(&accesses);
        for entry in ORDERS {
            agrees(entry, slots, &trace)?;
        }
    }

    /// MIN against all there is to choose: every way to evict.
    #[test]
    fn belady_is_the_best_there_is(
        slots in 1usize..4,
        accesses in prop::collection::vec((0u64..6, any::<bool>()), 1..14),
    ) {
        let trace = with_next_uses(&accesses);
        let belady = ORDERS.iter().find(|entry| entry.name == "belady").unwrap();
        prop_assert_eq!(hits(belady, slots as u32, &trace), most_hits(&[], slots, &trace));
    }
}

/// The most hits that any choice of victims can have.
fn most_hits(cached: &[u64], slots: usize, trace: &[Step]) -> usize {
    let Some((&(block, ..), rest)) = trace.split_first() else { return 0 };
    if cached.contains(&block) {
        return 1 + most_hits(cached, slots, rest);
    }
    let with = |kept: Vec<u64>| most_hits(&[kept, vec![block]].concat(), slots, rest);
    if cached.len() < slots {
        return with(cached.to_vec());
    }
    let without = |victim: &u64| cached.iter().copied().filter(|other| other != victim).collect();
    cached.iter().map(|victim| with(without(victim))).max().unwrap_or(0)
}

#[test]
fn no_policy_has_more_hits_than_belady() {
    let belady = ORDERS.iter().find(|entry| entry.name == "belady").unwrap();
    for slots in [1, 2, 3, 5, 10, 20, 40] {
        for seed in 0..20 {
            let trace = mixed(seed, 2_000);
            let bound = hits(belady, slots, &trace);
            for entry in ORDERS {
                let hits = hits(entry, slots, &trace);
                assert!(hits <= bound, "{}, {slots} slots: {hits} hits of {bound}", entry.name);
            }
        }
    }
}

/// What the tables of slots and an order take together, in caches of a few thousand blocks.
#[test]
fn a_cached_block_takes_at_most_64_bytes() {
    for entry in ORDERS {
        let cache = make(entry, 4096, 1);
        let bytes = cache.memory().by_slots;
        assert!(bytes <= 64 * 4096 + 1024, "{}: {bytes} bytes", entry.name);
    }
}

/// One block in a hundred is HIR: a batch of 64 gets that one, and the other 99 stay what they are.
#[test]
fn a_batch_does_not_turn_lirs_into_an_lru() {
    let accesses: Vec<Step> = {
        let mut rng = Rng(11);
        let block = |rng: &mut Rng| {
            // Half of the accesses go to 60 blocks, the others are a scan in effect.
            if rng.chance(50) { rng.below(60) } else { rng.below(DISK_BLOCKS) }
        };
        with_next_uses(&(0..20_000).map(|_| (block(&mut rng), rng.chance(33))).collect::<Vec<_>>())
    };
    let entry = shingle_core::policies::all().find(|entry| entry.name == "lirs").unwrap();
    let hits = |batch| {
        let mut cache = make(entry, 100, batch);
        let hit = |(number, step)| access(cache.as_mut(), number, step);
        accesses.iter().enumerate().map(hit).filter(|&hit| hit).count()
    };
    assert_eq!(hits(64), hits(1));
}
