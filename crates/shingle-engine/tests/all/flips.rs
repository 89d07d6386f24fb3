//! Bit flips on an SSD at rest, in data and in metadata: flipped data is never served or destaged,
//! and each flip that matters is reported.
//!
//! `SHINGLE_FLIPS=N` sets the number of flips.

use std::collections::BTreeMap;

use shingle_testbed::{number, times};

use crate::simulated::world::World;

const FLIPS: u64 = 4_000;
/// Number of flips of one cache.
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
