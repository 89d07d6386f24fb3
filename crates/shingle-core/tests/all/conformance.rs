//! Every policy in the registry, with every variant that its parameters offer, through `shingle-testkit`.
//! A new policy is found by itself.

use std::sync::atomic::{AtomicBool, Ordering};

use proptest::prelude::*;
use rayon::prelude::{ParallelBridge, ParallelIterator};
use shingle_core::params::Params;
use shingle_core::policies;
use shingle_core::policy::{Access, Idle, Memory, Policy, Victims};
use shingle_core::registry::Entry;
use shingle_core::slots::Slots;
use shingle_core::units::{Block, Slot};
use shingle_testkit::{AtOnce, checks, variants};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// As the check of the same name, but a failure is cut down to the shortest history.
    #[test]
    fn a_read_returns_the_last_write(
        slots in 3u32..40,
        batch in 1u64..9,
        ops in prop::collection::vec((0u64..12, 0u64..120), 1..250),
    ) {
        for entry in policies::all() {
            for params in variants(entry) {
                let mut run = AtOnce::new(entry, &params, slots, batch);
                ops.iter().for_each(|&(kind, block)| checks::step(&mut run, kind, block));
            }
        }
    }
}

#[test]
fn every_short_sequence_is_current() {
    policies::all().for_each(checks::every_short_sequence_is_current);
}

#[test]
fn a_hit_ratio_is_no_better_than_the_cache_is_large() {
    for entry in policies::all() {
        let hits = checks::a_hit_ratio_is_no_better_than_the_cache_is_large(entry);
        // A tenth of 20,000; those that cache only some of the blocks hit half as often.
        assert!(entry.name == "none" || hits > 1_000, "{}: {hits} hits", entry.name);
    }
}

#[test]
fn idle_time_leaves_nothing_dirty() {
    policies::all().for_each(checks::idle_time_leaves_nothing_dirty);
}

#[test]
fn the_same_accesses_give_the_same_run() {
    policies::all().for_each(checks::the_same_accesses_give_the_same_run);
}

/// Names the oldest slot in one run, and the newest in the next.
#[derive(Clone)]
struct Fickle {
    newest: bool,
    came: Vec<Slot>,
}

impl Policy for Fickle {
    const NAME: &'static str = "fickle";
    const ABOUT: &'static str = "decides by what no seed decides";

    fn new(_: &Params, _: &Slots) -> Fickle {
        static NEWEST: AtomicBool = AtomicBool::new(false);
        Fickle { newest: NEWEST.fetch_not(Ordering::Relaxed), came: Vec::new() }
    }

    fn on_hit(&mut self, _: Slot, _: &Access, _: &Slots) {}

    fn on_insert(&mut self, slot: Slot, _: &Access, _: &Slots) {
        self.came.push(slot);
    }

    fn on_remove(&mut self, slot: Slot, _: &Slots) {
        self.came.retain(|&came| came != slot);
    }

    fn evict(&mut self, _: Option<&Access>, _: u32, out: &mut Victims) {
        let named = if self.newest { self.came.pop() } else { Some(self.came.remove(0)) };
        out.push(named.expect("the cache is full"));
    }

    fn memory(&self) -> Memory {
        Memory::default()
    }
}

#[test]
#[should_panic(expected = "the same accesses gave another run")]
fn a_policy_that_is_not_deterministic_is_detected() {
    checks::the_same_accesses_give_the_same_run(&Entry::of::<Fickle>());
}

#[test]
fn every_read_is_current_with_32_requests_in_flight() {
    policies::all().par_bridge().for_each(checks::every_read_is_current_with_32_requests_in_flight);
}

/// And where recency decides, those restored last stay longest.
#[test]
fn a_restored_cache_goes_on() {
    // `none` never has a block to name.
    for entry in policies::all().filter(|entry| entry.name != "none") {
        let mut left = checks::a_restored_cache_goes_on(entry);
        if entry.name == "lru" {
            left[..3].sort_unstable();
            assert_eq!(left[..3], [Block(0), Block(7), Block(14)], "coldest first");
        }
    }
}

#[test]
fn an_executor_may_destage_any_dirty_block() {
    policies::all().for_each(checks::an_executor_may_destage_any_dirty_block);
}

/// Every policy of the project has said what it does.
#[test]
fn every_policy_declares_its_use_of_idle_time() {
    let never = |entry: &&Entry| entry.idle != Idle::Names;
    let never: Vec<_> = policies::all().filter(never).map(|entry| entry.name).collect();
    assert_eq!(never, ["none", "belady"]);
    for (name, why) in [("none", "no block"), ("belady", "no store")] {
        let entry = policies::all().find(|entry| entry.name == name).expect("a policy");
        assert!(entry.idle.to_string().contains(why), "{}", entry.idle);
    }
}
