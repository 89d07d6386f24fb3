//! Bits flip on an SSD at rest, in data and in metadata: no flip is served, none reaches the disk, and
//! each one in a place that counts is reported.
//!
//! `SHINGLE_FLIPS=N` says how many.

use std::collections::BTreeMap;

use shingle_testbed::{number, times};

use crate::simulated::world::World;

const FLIPS: u64 = 4_000;
/// Of one cache.
const FLIPS_EACH: u64 = 40;

#[test]
fn flips_at_rest_are_reported_and_never_served_nor_destaged() {
    let flips = number("SHINGLE_FLIPS").unwrap_or_else(|| times(FLIPS));
    let mut seen: BTreeMap<String, u64> = BTreeMap::new();
    for seed in 0..flips.div_ceil(FLIPS_EACH) {
        let world = World::at_rest(seed);
        for n in 0..FLIPS_EACH.min(flips - seed * FLIPS_EACH) {
            *seen.entry(world.flipped(n)).or_default() += 1;
        }
    }
    println!("{flips} flips: {seen:?}");
    for what in ["superblock", "table", "journal", "clean data", "dirty data"] {
        assert!(seen.contains_key(&format!("{what}: reported")), "no flip in {what}: {seen:?}");
        assert!(!seen.contains_key(&format!("{what}: not reported")), "{seen:?}");
    }
}
