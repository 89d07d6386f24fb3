//! What policies name in idle time: by hand, and in figures.

use shingle_core::plan::{DestageMethod, Plan, WriteOrder};
use shingle_core::policies;
use shingle_core::units::{Op, Zone};
use shingle_testkit::{DISK_BLOCKS, Rng, make};

use crate::run::{Run, Written, made};

const READ: Op = Op::Read;
const WRITE: Op = Op::Write;
const BY_ADDRESS: DestageMethod = DestageMethod::Write(WriteOrder::ByAddress);
const AS_GIVEN: DestageMethod = DestageMethod::Write(WriteOrder::AsGiven);

fn by_address(blocks: &[u64]) -> Written {
    vec![(BY_ADDRESS, blocks.to_vec())]
}

#[test]
fn an_order_writes_the_coldest_and_then_the_others() {
    let mut run = made("lru", &[], 40);
    run.writes([3, 2, 1, 5]);
    assert_eq!(run.idle(2), by_address(&[2, 3]));
    // 30 clean blocks that are colder than the dirty ones hide them from eight looks.
    (100..130).for_each(|block| _ = run.access(block, READ));
    run.access(5, WRITE);
    run.access(1, WRITE);
    assert_eq!(run.idle(1), by_address(&[1]));
    assert_eq!((run.idle(1), run.idle(1)), (by_address(&[5]), vec![]));
}

/// Zones by their dirty blocks, each to its end; then clean blocks leave before all else.
#[test]
fn most_writes_the_fullest_zone() {
    let mut run = made("most", &[], 6);
    run.writes([16, 24, 25, 8, 9, 10]);
    assert_eq!(run.idle(1), by_address(&[8, 9, 10]));
    assert_eq!(run.access(8, READ), []);
    assert_eq!(run.access(9, WRITE), []);
    assert_eq!(run.idle(3), by_address(&[16, 24, 25]));
    // 8 was used after it turned clean, 10 was not.
    run.writes([32]);
    assert!(run.has(8) && !run.has(10), "in LRU order");
    assert_eq!(run.idle(9), by_address(&[9, 32]));
}

/// The prototype's ways: zones with clean blocks, by all of them.
#[test]
fn most_of_the_prototype_writes_dirty_blocks_only() {
    let mut run = made("most", &[("clean", "evict"), ("score", "all")], 40);
    (8..14).for_each(|block| _ = run.access(block, READ));
    run.writes([14, 16, 17]);
    assert_eq!(run.idle(1), by_address(&[16, 17]), "the most dirty blocks");
    assert_eq!((run.idle(1), run.idle(1)), (by_address(&[14]), vec![]));
}

/// Cold is what was not used within the last two accesses.
#[test]
fn sac_writes_the_zone_that_releases_most_whole() {
    let mut run = made("sac", &[("window", "0.25")], 8);
    run.writes([8, 16, 17, 18, 24, 25]);
    assert_eq!(run.idle(1), by_address(&[16, 17, 18]), "three cold blocks");
    assert_eq!(run.idle(1), by_address(&[8]));
    run.writes([32, 33]);
    // The cold ones leave in the order in which they turned clean, before the hot ones.
    for (block, gone) in [(40, 16), (41, 17), (42, 18), (43, 8)] {
        let cold: Vec<u64> = [16, 17, 18, 8].into_iter().filter(|&block| run.has(block)).collect();
        assert_eq!(run.access(block, READ), [], "clean blocks leave at no cost");
        let left: Vec<u64> = cold.into_iter().filter(|&block| !run.has(block)).collect();
        assert_eq!(left, [gone]);
    }
}

/// In a cycle the target zones come first, whatever others score.
#[test]
fn sac_continues_the_cycle_in_progress() {
    let mut run = made("sac", &[("window", "0.25"), ("clean_part", "1")], 8);
    run.writes([8, 9, 10, 16, 17, 24, 32, 33]);
    // A buffer of 20 blocks: cycles of two zones. The first block of zones 1 and 2 leaves.
    assert_eq!(run.access(40, WRITE), by_address(&[8]));
    assert_eq!(run.idle(1), by_address(&[9, 10]));
    assert_eq!(run.idle(1), by_address(&[16, 17]));
    // Others follow, and the cycle is over when it is asked again.
    assert_eq!(run.idle(9), by_address(&[24, 32, 33, 40]));
    assert_eq!(run.access(41, WRITE), [], "a clean block leaves");
}

#[test]
fn the_comparator_writes_the_dirty_side_only() {
    let mut run = made("lru+cdc", &[], 12);
    (100..103).for_each(|block| _ = run.access(block, READ));
    run.writes([9, 8, 16]);
    assert_eq!(run.idle(2), by_address(&[8, 9]));
    assert_eq!((run.idle(2), run.idle(2)), (by_address(&[16]), vec![]));

    let mut run = made("most+cdc", &[], 12);
    (100..103).for_each(|block| _ = run.access(block, READ));
    run.writes([9, 16, 17]);
    assert_eq!(run.idle(1), by_address(&[16, 17]));
    assert_eq!((run.idle(2), run.idle(2)), (by_address(&[9]), vec![]));

    // A group that idle time has written is over; the dirty block is of a zone that was not in it.
    let mut run = made("most+cdc", &[], 6);
    run.writes([8, 9, 10, 16, 17, 24]);
    assert_eq!(run.access(32, WRITE), by_address(&[8]));
    assert_eq!(run.idle(1), by_address(&[9, 10]));
    assert_eq!(run.idle(9), by_address(&[16, 17, 24, 32]));
    assert_eq!((run.access(32, WRITE), run.access(40, READ)), (vec![], vec![]));
}

#[test]
fn zone_fifos_write_the_zone_that_came_first() {
    for (name, manner, first) in
        [("zfifo", AS_GIVEN, [9, 8]), ("reorder-zfifo", BY_ADDRESS, [8, 9])]
    {
        let mut run = made(name, &[], 12);
        run.writes([9, 16, 8, 24]);
        let zone = |blocks: &[u64]| (manner, blocks.to_vec());
        assert_eq!(run.idle(1), [zone(&first)], "{name}");
        // Zone 1 is the oldest still, written as it is.
        assert_eq!(run.access(8, WRITE), []);
        assert_eq!(run.idle(2), [zone(&[8]), zone(&[16])], "{name}");
        assert_eq!((run.idle(9), run.idle(9)), (vec![zone(&[24])], vec![]), "{name}");
    }
}

#[test]
fn lru_band_writes_the_band_of_the_coldest() {
    let mut run = made("lru-band", &[], 40);
    (100..103).for_each(|block| _ = run.access(block, READ));
    run.writes([16, 8, 17, 24]);
    assert_eq!(run.idle(1), by_address(&[16, 17]));
    (104..130).for_each(|block| _ = run.access(block, READ));
    assert_eq!((run.idle(2), run.idle(2)), (by_address(&[8, 24]), vec![]));
}

/// Where an open zone has nothing cold, zones are written one by one, open ones first.
#[test]
fn pore_writes_forbidden_zones_last() {
    let mut run = made("pore-cf", &[("period", "0.15")], 14);
    run.writes([0, 1, 2, 8, 16]);
    (100..109).for_each(|block| _ = run.access(block, READ));
    assert_eq!(run.access(24, WRITE), by_address(&[0]), "zone 0 is open, of three blocks");
    run.writes([1, 2]);
    // The eight coldest are 8, 16 and clean ones.
    assert_eq!(run.idle(1), by_address(&[1, 2]));
    assert_eq!(run.idle(1), by_address(&[24]), "it has the slot of 0");
    assert_eq!((run.idle(9), run.idle(9)), (by_address(&[8, 16]), vec![]));
}

/// The first two zones are conventional.
#[test]
fn roco_writes_in_sequence_where_it_can() {
    let mut run = made("roco", &[], 40);
    // Zone 2 from its pointer on up to a gap, zone 3 whole and over what is there, zone 4 in disorder.
    run.writes([16, 17, 19]);
    run.cache.set_write_pointer(Zone(3), 5);
    run.writes(24..32);
    run.cache.set_write_pointer(Zone(4), 7);
    run.writes([33]);
    assert_eq!(run.idle(1), by_address(&[16, 17]));
    run.cache.set_write_pointer(Zone(2), 2);
    assert_eq!(run.idle(1), [(DestageMethod::Rewrite(Zone(3)), (24..32).collect())]);
    assert_eq!(run.idle(2), [(BY_ADDRESS, vec![19]), (BY_ADDRESS, vec![33])]);
    // A part of a zone, most of it: the host reads the rest.
    run.writes(40..47);
    run.cache.set_write_pointer(Zone(5), 3);
    assert_eq!(run.idle(1), [(DestageMethod::HostRmw(Zone(5)), (40..47).collect())]);
    // Nothing is dirty: zones leave as they are.
    let mut plan = Plan::listing_dropped();
    run.cache.evict(1, &mut plan);
    assert_eq!((plan.destages().len(), plan.dropped().len()), (0, 3), "all of zone 2");
    assert!(!run.has(16) && run.has(24));
    run.cache.check();
}

#[test]
fn sac_plus_appends_and_rewrites() {
    let mut run = made("sac-plus", &[("window", "0.25")], 8);
    run.writes([18, 19, 24, 26, 27]);
    run.cache.set_write_pointer(Zone(3), 1);
    // Zone 2 has a cold block of 16 blocks less two, zone 3 has 24 and 26: it releases more.
    let first = run.idle(1);
    let append = |zone, blocks: &[u64]| (DestageMethod::Append(Zone(zone)), blocks.to_vec());
    let rewrite = |zone, blocks: &[u64]| (DestageMethod::HostRmw(Zone(zone)), blocks.to_vec());
    assert_eq!(first, [append(2, &[18, 19])], "two cold of six blocks, against one of eight");
    run.cache.set_write_pointer(Zone(2), 4);
    assert_eq!(run.idle(1), [rewrite(3, &[24, 26, 27])]);
    assert_eq!(run.idle(1), []);
}

/// How many dirty blocks are left after so many calls of 16 each: `--nocapture` shows the table.
#[test]
fn dirty_blocks_after_calls() {
    const CALLS: [usize; 6] = [0, 1, 2, 4, 8, 16];
    println!("policy          dirty   left after 1, 2, 4, 8 and 16 calls that want 16");
    for entry in policies::all() {
        let mut run = Run::of(make(entry, 200, 1));
        let mut rng = Rng(7);
        for _ in 0..4_000 {
            let range = if rng.chance(50) { 60 } else { DISK_BLOCKS };
            let op = if rng.chance(60) { WRITE } else { READ };
            run.access(rng.below(range), op);
        }
        let mut left = Vec::new();
        for call in 0..=16 {
            if CALLS.contains(&call) {
                left.push(run.cache.slots().dirty_blocks());
            }
            run.idle(16);
        }
        let told: Vec<String> = left[1..].iter().map(|left| format!("{left:5}")).collect();
        println!("{:14} {:6} {}", entry.name, left[0], told.join(" "));
        let names = entry.idle == shingle_core::policy::Idle::Names;
        assert_eq!(left[5] == 0, names || entry.name == "none", "{}", entry.name);
        // PORE goes no further while there are cold blocks in open zones.
        let few = !names || entry.name.starts_with("pore");
        assert!(few || left[1] + 16 <= left[0], "{}: a call gets what it wants", entry.name);
    }
}
