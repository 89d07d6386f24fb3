//! The policy through the cache: what every policy has to keep, and the idea.

use my_policy::QuietZones;
use shingle_core::registry::Entry;
use shingle_core::units::{Block, Op};
use shingle_testkit::{AtOnce, variants};

shingle_testkit::conformance!(QuietZones);

#[test]
fn the_quiet_one_of_two_zones_leaves() {
    let entry = Entry::of::<QuietZones>();
    let mut run = AtOnce::new(&entry, &variants(&entry)[0], 8, 1);
    let mut write = |block| run.access(Block(block), Op::Write);
    (0..5).for_each(|block| _ = write(block)); // zone 0: five blocks …
    (8..11).for_each(|block| _ = write(block)); // zone 1: three blocks, never hit
    (0..5).for_each(|block| _ = write(block)); // … each of them hit once
    write(16);
    assert!(run.has(Block(0)) && !run.has(Block(8)));
}
