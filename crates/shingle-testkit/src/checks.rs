//! The checks that every policy must pass. Each check tries all [`variants`] of a policy. It panics
//! with the policy and its parameters if one of them fails.

use shingle_core::params::Params;
use shingle_core::plan::Plan;
use shingle_core::policy::Idle;
use shingle_core::registry::Entry;
use shingle_core::units::{Block, Op};

use crate::at_once::AtOnce;
use crate::in_flight::InFlight;
use crate::setup::{DISK_BLOCKS, FailureContext, Rng, make_with, variants};

/// Calls `check` with each variant of `entry`.
fn for_each_variant(entry: &Entry, mut check: impl FnMut(&Params)) {
    for params in variants(entry) {
        let _context = FailureContext(entry, &params);
        check(&params);
    }
}

/// Runs 250 random reads, writes, trims and idle times over 120 blocks, through caches of 3 to 39
/// blocks.
pub fn a_read_returns_the_last_write(entry: &Entry) {
    for_each_variant(entry, |params| {
        for seed in 0..24 {
            let mut rng = Rng(seed);
            let (slots, batch) = (3 + rng.below(37) as u32, 1 + rng.below(8));
            let mut run = AtOnce::new(entry, params, slots, batch);
            for _ in 0..250 {
                let (kind, block) = (rng.below(12), rng.below(120));
                step(&mut run, kind, block);
            }
        }
    });
}

/// Executes one step of a history: `kind` (0 to 11) chooses the operation on `block` (below 120).
/// For property tests, which find the shortest history that fails.
pub fn step(run: &mut AtOnce, kind: u64, block: u64) {
    match kind {
        0..5 => _ = run.access(Block(block), Op::Write),
        5..9 => _ = run.access(Block(block % 60), Op::Read),
        9 => run.trim(Block(block), 1 + block % 50),
        _ => _ = run.idle(block as u32 % 9),
    }
    run.check();
}

/// Runs all sequences of five accesses over three blocks in two zones, reads and writes, through
/// caches of one and three slots, and of six accesses through one of two slots: 46,656. Only with
/// the default parameters.
pub fn every_short_sequence_is_current(entry: &Entry) {
    let params = &variants(entry)[0];
    let _context = FailureContext(entry, params);
    for (slots, accesses) in [(1, 5), (2, 6), (3, 5)] {
        for code in 0..6u32.pow(accesses) {
            let mut run = AtOnce::new(entry, params, slots, 1);
            let mut rest = code;
            for _ in 0..accesses {
                let op = if rest % 2 == 0 { Op::Read } else { Op::Write };
                run.access(Block(u64::from(rest / 2 % 3) * 5), op);
                rest /= 6;
            }
            run.check();
        }
    }
}

/// Runs uniform accesses over 400 blocks through a cache of 40: no policy without foresight can hit
/// more than a tenth of them. Returns the fewest hits of a variant, in 20,000 accesses.
pub fn a_hit_ratio_is_no_better_than_the_cache_is_large(entry: &Entry) -> u32 {
    let mut fewest = u32::MAX;
    for_each_variant(entry, |params| {
        let mut run = AtOnce::new(entry, params, 40, 1);
        let (mut rng, mut hits) = (Rng(7), 0u32);
        for _ in 0..20_000 {
            let op = if rng.chance(70) { Op::Write } else { Op::Read };
            hits += u32::from(run.access(Block(rng.below(DISK_BLOCKS)), op));
        }
        assert!(hits < 20_000 / 10 * 12 / 10, "{hits} hits");
        fewest = fewest.min(hits);
    });
    fewest
}

/// Checks idle time after some work: it destages every dirty block, in at most as many calls as
/// there are dirty blocks, for any number of blocks per call. Nothing is lost, and the cache
/// continues to work. A policy that names nothing in idle time ([`Idle::Never`]) must name nothing.
pub fn idle_time_leaves_nothing_dirty(entry: &Entry) {
    for_each_variant(entry, |params| {
        for (seed, slots, want) in [(1, 3, 1), (2, 40, 1), (3, 40, 8), (4, 130, 64)] {
            let mut run = AtOnce::new(entry, params, slots, 1);
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
                    assert!(dirty > 0, "there is nothing to write");
                    let calls = (0..dirty).take_while(|_| run.idle(want) > 0).count() as u32;
                    assert!(calls <= dirty && run.cache.slots().dirty_blocks() == 0);
                    let behind = run.latest.iter().filter(|&(b, v)| run.on_disk.get(b) != Some(v));
                    assert_eq!(behind.count(), 0, "the disk has not got all");
                }
                assert_eq!(run.idle(want), 0);
                run.check();
            }
        }
    });
}

/// Serves the same accesses twice: the hits and the writes to the disk must be the same. (Results
/// of a policy that reads a clock, uses an unseeded generator or iterates over a hash map would not
/// be reproducible.)
pub fn the_same_accesses_give_the_same_run(entry: &Entry) {
    for_each_variant(entry, |params| {
        for (seed, slots, batch) in [(1, 5, 1), (2, 40, 1), (3, 40, 8)] {
            let run = || {
                let mut run = AtOnce::new(entry, params, slots, batch);
                let mut rng = Rng(seed);
                let access = |_| {
                    let range = if rng.chance(50) { 60 } else { DISK_BLOCKS };
                    let op = if rng.chance(60) { Op::Write } else { Op::Read };
                    run.access(Block(rng.below(range)), op)
                };
                let hits: Vec<bool> = (0..1_000).map(access).collect();
                (hits, run.on_disk)
            };
            assert!(
                run() == run(),
                "the same accesses gave another run: what does the policy decide by?"
            );
        }
    });
}

/// Runs 32 requests in flight, with failing destages, trims and idle time. Equal seeds must give
/// equal runs.
pub fn every_read_is_current_with_32_requests_in_flight(entry: &Entry) {
    for_each_variant(entry, |params| {
        // Most bugs show in a cache that is barely larger than the requests in flight.
        for (seed, slots, batch) in [(1, 3, 1), (2, 5, 2), (3, 33, 1), (4, 64, 8), (5, 130, 64)] {
            let run = |seed| {
                let mut run = InFlight::new(make_with(entry, params, slots, batch), seed);
                run.run(800);
                assert!(run.reads_checked > 500);
                // In the smallest caches every slot is in use all the time.
                let named = run.idle_destages > 0;
                let right = if entry.idle == Idle::Names { named || slots < 64 } else { !named };
                assert!(right, "{} destages in idle time", run.idle_destages);
                run.digest
            };
            let digest = run(seed);
            // (For a cache that is neither always full nor hardly used.)
            if slots == 33 {
                assert_eq!(digest, run(seed), "equal seeds, equal runs");
            }
        }
    });
}

/// Restores a cache as a store does when it opens its SSD: the cache must be consistent, and each
/// block must leave exactly once, clean ones by name. Returns the order in which the 20 blocks of
/// the last variant left. (Not for a policy that never caches.)
pub fn a_restored_cache_goes_on(entry: &Entry) -> Vec<Block> {
    let mut left = Vec::new();
    for_each_variant(entry, |params| {
        let mut cache = make_with(entry, params, 20, 1);
        let mut at_once = make_with(entry, params, 20, 1);
        let (mut plan, mut same_plan) = (Plan::listing_dropped(), Plan::listing_dropped());
        let blocks: Vec<(Block, bool)> = (0..20).map(|n| (Block(n * 7), n % 3 == 0)).collect();
        for &(block, dirty) in &blocks {
            let slot = cache.restore(block, dirty).expect("there is room");
            assert_eq!(cache.lookup(block), Some(slot));
        }
        assert_eq!(at_once.restore_all(&blocks[..9]), Ok(()));
        assert_eq!(at_once.restore_all(&blocks[9..]), Ok(()));
        assert_eq!(cache.restore(Block(399), false), None, "it is full");
        cache.check();
        assert_eq!((cache.slots().dirty_blocks(), cache.slots().clean_blocks()), (7, 13));
        left.clear();
        while left.len() < 20 {
            cache.evict(3, &mut plan);
            at_once.evict(3, &mut same_plan);
            assert_eq!(plan.dropped(), same_plan.dropped(), "restored at once it is the same");
            assert_eq!(plan.destages(), same_plan.destages(), "restored at once it is the same");
            assert_eq!(plan.dropped().len() as u64, plan.dropped_blocks());
            left.extend(plan.dropped().iter().map(|dropped| dropped.block));
            for destage in plan.destages() {
                assert!(cache.destaged(destage.slot) && at_once.destaged(destage.slot));
                left.push(destage.block);
            }
            assert!(!plan.is_empty(), "a block leaves");
            plan.clear();
            same_plan.clear();
        }
        cache.check();
        let mut sorted = left.clone();
        sorted.sort_unstable();
        sorted.dedup();
        assert!(sorted.into_iter().eq((0..20).map(|n| Block(n * 7))));
    });
    left
}

/// Lets the executor destage without being asked by the policy: the block must stay, and be clean.
pub fn an_executor_may_destage_any_dirty_block(entry: &Entry) {
    for_each_variant(entry, |params| {
        let mut cache = make_with(entry, params, 20, 1);
        let dirty = cache.restore(Block(3), true).expect("there is room");
        let clean = cache.restore(Block(5), false).expect("there is room");
        assert!(!cache.begin_destage(clean));
        assert!(cache.begin_destage(dirty) && !cache.begin_destage(dirty));
        assert!(!cache.destaged(dirty), "it stays");
        assert_eq!((cache.slots().dirty_blocks(), cache.slots().clean_blocks()), (0, 2));
        cache.check();
    });
}
