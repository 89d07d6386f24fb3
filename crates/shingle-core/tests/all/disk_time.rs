//! disk-time by hand: who leaves, what is written with it, what it remembers.

use shingle_core::cache::{CacheCore, Outcome};
use shingle_core::drive_view::InOrder;
use shingle_core::params::Params;
use shingle_core::plan::{DestageMethod, Plan, WriteOrder};
use shingle_core::policy::Access;
use shingle_core::registry::{CACHE_PARAMS, Registry, Setup};
use shingle_core::units::{Block, Nanos, Op, Zone};
use shingle_core::zones::ZoneMap;

const BY_ADDRESS: DestageMethod = DestageMethod::Write(WriteOrder::ByAddress);

/// A disk that takes bands in order past its buffer.
const PAST_BUFFER: InOrder = InOrder { log_blocks: 0, band_pass: Some(Nanos::from_millis(150)) };

/// A cache whose I/O is done at once, over zones of 10 blocks.
struct Run {
    cache: Box<dyn CacheCore>,
    number: u64,
}

impl Run {
    fn new(
        slots: u32,
        buffer_blocks: u64,
        sets: &[(&str, &str)],
        cache_sets: &[(&str, &str)],
    ) -> Run {
        // (Zones of a fixed size are over a disk that knows no way past its buffer.)
        let takes_bands = sets.contains(&("zone", "bands"));
        let in_order = if takes_bands { PAST_BUFFER } else { InOrder::default() };
        Run::over(None, in_order, slots, buffer_blocks, sets, cache_sets)
    }

    /// Over a disk that takes bands in order past its log; where they are is not known.
    fn in_order(slots: u32) -> Run {
        Run::over(None, InOrder { log_blocks: 1_000, ..PAST_BUFFER }, slots, 100, &[], &[])
    }

    /// Over a disk whose zones have write pointers, but for so many.
    fn host_aware(conventional: u32, buffer_blocks: u64, sets: &[(&str, &str)]) -> Run {
        Run::over(Some(conventional), PAST_BUFFER, 12, buffer_blocks, sets, &[])
    }

    fn over(
        conventional_zones: Option<u32>,
        in_order: InOrder,
        slots: u32,
        buffer_blocks: u64,
        sets: &[(&str, &str)],
        cache_sets: &[(&str, &str)],
    ) -> Run {
        let registry = Registry::default();
        let policy =
            sets.iter().find(|(name, _)| *name == "policy").map_or("disk-time", |set| set.1);
        let entry = registry.get(policy).expect("a policy");
        let (mut params, mut cache) = (Params::new(entry.params), Params::new(CACHE_PARAMS));
        params.set("zone", "10b").expect("a size");
        let own = sets.iter().filter(|(name, _)| *name != "policy");
        own.for_each(|(name, value)| params.set(name, value).expect("a value"));
        cache_sets.iter().for_each(|(name, value)| cache.set(name, value).expect("a value"));
        let bands = ZoneMap::fixed(10, 1_000);
        let setup = Setup {
            bands: Some(&bands),
            conventional_zones,
            buffer_blocks,
            is_log: false,
            in_order,
            ..Setup::new(slots, 1_000, &cache)
        };
        Run { cache: entry.make(&params, &setup).expect("a cache"), number: 0 }
    }

    /// Returns what was written to the disk for it: manner, blocks that left, blocks that stayed.
    fn access(&mut self, block: u64, op: Op) -> Vec<(DestageMethod, Vec<u64>, Vec<u64>)> {
        self.number += 1;
        let mut access = Access::whole(self.number, Block(block), op);
        let (mut plan, mut written) = (Plan::default(), Vec::new());
        let mut outcome = self.cache.access(&mut access, &mut plan);
        loop {
            for (group, manner) in plan.groups() {
                group.sort_by_key(|one| one.block);
                let of = |leaves| group.iter().filter(move |one| one.leaves == leaves);
                let [left, stayed] =
                    [true, false].map(|leaves| of(leaves).map(|one| one.block.0).collect());
                written.push((manner, left, stayed));
                group.iter().for_each(|one| _ = self.cache.destaged(one.slot));
            }
            plan.clear();
            self.cache.check();
            if outcome != Outcome::NoRoom {
                return written;
            }
            outcome = self.cache.retry(&mut access, &mut plan);
        }
    }

    fn writes(&mut self, blocks: impl IntoIterator<Item = u64>) {
        blocks
            .into_iter()
            .for_each(|block| assert_eq!(self.access(block, Op::Write), [], "there is room"));
    }
}

/// Two zones of four dirty blocks each; one is written all the time. The other leaves, whole.
#[test]
fn the_zone_that_is_written_less_leaves_first() {
    let mut run = Run::new(9, 100, &[], &[]);
    run.writes([10, 11, 12, 13, 20, 21, 22, 23, 30]);
    run.writes([10, 11, 12, 13, 10, 11, 12, 13]);
    assert_eq!(run.access(31, Op::Write), [(BY_ADDRESS, vec![20, 21, 22, 23], vec![])]);
}

/// Zones written alike: the one with more dirty blocks frees more slots for one cleaning.
#[test]
fn the_fuller_of_two_zones_leaves_first() {
    let mut run = Run::new(8, 100, &[], &[]);
    run.writes([10, 11, 10, 20, 21, 22, 30, 40, 50]);
    assert_eq!(run.access(60, Op::Write), [(BY_ADDRESS, vec![20, 21, 22], vec![])]);
}

/// A zone is written all the time, and has a block more than one that is quiet. It leaves first if the disk's buffer holds it for
/// long: what is written to it then can be sent along.
#[test]
fn a_buffer_that_holds_zones_for_long_serves_those_that_are_written_more() {
    let leaves = |buffer_blocks: u64| {
        let mut run = Run::new(10, buffer_blocks, &[], &[]);
        run.writes(90..100);
        assert_eq!(run.access(30, Op::Write), [(BY_ADDRESS, (90..100).collect(), vec![])]);
        run.writes(20..23);
        (0..10).for_each(|_| run.writes(10..14));
        run.writes([40, 50]);
        run.access(80, Op::Write).remove(0).1
    };
    assert_eq!(leaves(0), [20, 21, 22], "a disk without a buffer");
    assert_eq!(leaves(1_000), [10, 11, 12, 13]);
}

/// Of 102 slots two are clean. Reads take them, until what that loses is as much as they would wait for: the zone that a
/// write would have sent at once. A hundredth of what writing it takes are 4.4 ms; a clean block that is not worth the
/// read of 14 ms in 3 of 10 cases loses 2.1 to 4.2 ms with each access.
#[test]
fn a_read_takes_a_clean_block_rather_than_wait_for_a_zone() {
    let reads = |reads_first: &str| {
        let mut run = Run::new(102, 100, &[("zone", "100b"), ("reads_first", reads_first)], &[]);
        run.writes(100..200);
        let mut waits = |block| !run.access(block, Op::Read).is_empty();
        let used = [500, 501, 500, 501, 500, 501].map(&mut waits);
        assert_eq!(used, [false; 6], "there is room");
        [600, 601, 602].map(waits)
    };
    assert!(reads("0")[0], "the zone is cheaper");
    assert_eq!(reads("0.01"), [false, false, true]);
    assert_eq!(reads("1"), [false; 3]);
}

/// A read that does without a slot loses 0.3 × 14 ms with each access from then on, as nothing is known of such blocks. After `n` of
/// them `4.2 n (n - 1) / 2` ms are lost; writing the zone takes 436 ms and more. So the 15th waits, or the 8th if it is to
/// wait for a quarter of that.
#[test]
fn a_read_bypasses_a_cache_that_is_all_dirty() {
    let past = |reads_first: &str| {
        let mut run = Run::new(10, 100, &[("reads_first", reads_first)], &[]);
        run.writes(10..20);
        let mut past = 0;
        loop {
            let written = run.access(500 + past, Op::Read);
            if !written.is_empty() {
                assert_eq!(written, [(BY_ADDRESS, (10..20).collect(), vec![])]);
                return past;
            }
            past += 1;
            assert_eq!(run.cache.slots().dirty_blocks(), 10, "it has not entered");
        }
    };
    assert_eq!(["0", "0.25", "1"].map(past), [0, 7, 14]);
}

/// The only clean block is one of the same read.
#[test]
fn a_read_of_two_blocks_does_not_wait_for_the_second() {
    let mut run = Run::new(10, 100, &[], &[]);
    run.writes(10..19);
    assert_eq!(run.access(500, Op::Read), [], "there is room");
    let slot = run.cache.lookup(Block(500)).expect("it has entered");
    run.cache.pin(slot);
    assert_eq!(run.access(501, Op::Read), []);
    assert_eq!(run.cache.lookup(Block(501)), None, "it has gone past");
    assert_eq!(run.cache.slots().dirty_blocks(), 9);
}

#[test]
fn a_band_is_written_whole_where_the_disk_supports_that() {
    let mut run = Run::new(4, 100, &[("zone", "bands"), ("whole_bands", "always")], &[]);
    run.writes([10, 11, 12, 20]);
    let whole = DestageMethod::WholeBand(Zone(1));
    assert_eq!(run.access(30, Op::Write), [(whole, vec![10, 11, 12], vec![])]);
}

/// LRU-band names all of a band; SAC one block at a time, and what else is dirty of the band stays.
#[test]
fn any_policy_with_bands_can_write_whole_bands() {
    let mut run = Run::new(4, 100, &[("policy", "sac"), ("zone", "bands")], &[("bands", "whole")]);
    run.writes([10, 11, 20, 12]);
    let written = run.access(30, Op::Write);
    assert_eq!(written, [(DestageMethod::WholeBand(Zone(1)), vec![10], vec![11, 12])]);
    assert_eq!(run.cache.slots().dirty_blocks(), 2, "20 and 30: what stays is clean");
}

/// What lies behind the write pointer is appended; what does not makes the host rewrite the zone; and a conventional zone is written in
/// place.
#[test]
fn zones_with_write_pointers_are_appended_to_or_rewritten() {
    let written = |conventional, pointer, block| {
        let mut run = Run::host_aware(conventional, 100, &[("whole_bands", "always")]);
        run.cache.set_write_pointer(Zone(1), pointer);
        run.writes([block, 16, 17, 20, 21, 30, 40, 50, 60, 70, 80, 90]);
        let (manner, left, stayed) = run.access(95, Op::Write).remove(0);
        assert_eq!((left, stayed), (vec![block, 16, 17], vec![]));
        manner
    };
    assert_eq!(written(0, 4, 14), DestageMethod::Append(Zone(1)));
    assert_eq!(written(0, 5, 14), DestageMethod::HostRmw(Zone(1)));
    assert_eq!(written(2, 0, 14), BY_ADDRESS);
}

/// All zones are full: to rewrite one takes `2 · 14 + 20 · 13.6 = 300` ms. Sent to the disk, `n` blocks apart take as long for each
/// buffer full, and `14 (1 + n)` ms. The host does it where that is more than 1.5 times as long: of two blocks where the
/// buffer takes one, and not where it takes two. (Nothing is known of how long the buffer holds a zone when the first leaves.)
#[test]
fn a_zone_that_the_buffer_does_not_hold_is_rewritten_by_the_host() {
    let third = |buffer_blocks| {
        let mut run = Run::host_aware(0, buffer_blocks, &[]);
        (0..10).for_each(|zone| run.cache.set_write_pointer(Zone(zone), 10));
        run.writes([10, 12, 20, 22, 30, 32, 40, 42, 50, 52, 60, 62]);
        let leave = |block| run.access(block, Op::Write);
        [70, 71, 80, 81, 90].map(leave).into_iter().flatten().last().expect("some leave").0
    };
    assert_eq!(third(2), BY_ADDRESS);
    assert!(matches!(third(1), DestageMethod::HostRmw(_)), "{:?}", third(1));
}

#[test]
fn where_bands_are_not_known_a_zone_beside_one_in_the_buffer_leaves_sooner() {
    let leaves_first = |in_order, beside: u64| {
        let mut run = Run::over(None, in_order, 87, 1_000, &[], &[]);
        let whole = [5, 30, 32, 34, 36, 38, 40, 42];
        run.writes(whole.into_iter().flat_map(|zone| 10 * zone..10 * zone + 10));
        // Three blocks beside zone 5, and four in a zone that has no other beside it.
        run.writes((10 * beside..10 * beside + 3).chain(80..84));
        // One block in each of many zones, then a second: the whole zones leave, and then ...
        let small = (0..2).flat_map(|place| (50..100).map(move |zone| 10 * zone + place));
        let mut left = small.flat_map(|block| run.access(block, Op::Write));
        left.nth(whole.len()).expect("one more zone leaves").1
    };
    let maps_extents = InOrder { log_blocks: 40_000, band_pass: None };
    assert_eq!(leaves_first(maps_extents, 4), [40, 41, 42], "half of it is cleaned with zone 5");
    assert_eq!(leaves_first(maps_extents, 6), [60, 61, 62], "on either side");
    let takes_blocks = InOrder::default();
    assert_eq!(leaves_first(takes_blocks, 6), [80, 81, 82, 83], "the fuller one");
}

/// Of zone 6 four blocks are dirty and of zone 8 three. Six more are read, of zone 6 or of another.
#[test]
fn a_zone_that_is_read_leaves_later_for_a_log_with_a_way_there() {
    let leaves_first = |in_order, read: u64| {
        let mut run = Run::over(None, in_order, 93, 1_000, &[], &[]);
        let whole = [30, 32, 34, 36, 38, 40, 42, 44];
        run.writes(whole.into_iter().flat_map(|zone| 10 * zone..10 * zone + 10));
        (10 * read + 4..10 * read + 10).for_each(|block| _ = run.access(block, Op::Read));
        run.writes([60, 61, 62, 63, 80, 81, 82]);
        let small = (0..2).flat_map(|place| (50..100).map(move |zone| 10 * zone + place));
        let mut left = small.flat_map(|block| run.access(block, Op::Write));
        left.nth(whole.len()).expect("one more zone leaves").1
    };
    let has_arm = InOrder { log_blocks: 40_000, band_pass: None };
    assert_eq!(leaves_first(has_arm, 20), [60, 61, 62, 63]);
    assert_eq!(leaves_first(has_arm, 6), [80, 81, 82]);
    assert_eq!(
        leaves_first(InOrder::default(), 6),
        [60, 61, 62, 63],
        "nothing is known of the disk"
    );
}

/// Zone 5 was written once, then zones 2 and 6 twice. The quietest leaves first, and then that which goes on where it ended: not if
/// one of the two lacks its last block, nor on a disk that has no way past its buffer.
#[test]
fn a_zone_that_continues_in_order_leaves_next() {
    let order = |mut run: Run, first: u64, behind: u64| {
        run.writes(50..50 + first);
        (0..2).for_each(|_| run.writes((20..30).chain(60..60 + behind)));
        run.writes(80..101 - first - behind);
        let mut leave = |blocks: std::ops::Range<u64>| {
            let left = blocks.flat_map(|block| run.access(block, Op::Write)).next();
            left.expect("a zone").1[0] / 10
        };
        [leave(90..100), leave(100..110)]
    };
    assert_eq!(order(Run::in_order(31), 10, 10), [5, 6]);
    assert_eq!(order(Run::in_order(31), 9, 10), [5, 2]);
    assert_eq!(order(Run::in_order(31), 10, 9), [5, 2]);
    assert_eq!(order(Run::new(31, 100, &[], &[]), 10, 10), [5, 2]);
}

/// A buffer of 12 blocks is sent three at a time, those used longest ago.
#[test]
fn a_zone_goes_in_pieces_to_a_small_buffer() {
    let mut run = Run::new(8, 12, &[], &[]);
    run.writes([15, 14, 13, 12, 11, 10, 20, 30]);
    assert_eq!(run.access(40, Op::Write), [(BY_ADDRESS, vec![13, 14, 15], vec![])]);
}

/// As over disks that take bands in order, only that the zone is reset first; a conventional one is not.
#[test]
fn any_policy_with_bands_can_rewrite_zones_with_write_pointers() {
    let written = |conventional| {
        let sets = [("policy", "sac"), ("zone", "bands")];
        let mut run =
            Run::over(Some(conventional), PAST_BUFFER, 4, 100, &sets, &[("bands", "whole")]);
        run.writes([10, 11, 20, 12]);
        run.access(30, Op::Write)
    };
    assert_eq!(written(1), [(DestageMethod::HostRmw(Zone(1)), vec![10], vec![11, 12])]);
    assert_eq!(written(2), [(BY_ADDRESS, vec![10], vec![11, 12])]);
}

/// 96 bytes a cached block, all included.
#[test]
fn memory_is_below_96_bytes_a_block() {
    let registry = Registry::default();
    let entry = registry.get("disk-time").expect("a policy");
    for cache_blocks in [100_000, 131_072, 131_073] {
        let defaults = Params::new(CACHE_PARAMS);
        let setup =
            Setup { buffer_blocks: 184_000, ..Setup::new(cache_blocks, 1 << 30, &defaults) };
        let cache = entry.make(&Params::new(entry.params), &setup).expect("a cache");
        let each = cache.memory().by_slots as f64 / f64::from(cache_blocks);
        assert!(each <= 96.0, "{each} bytes a block with {cache_blocks} blocks");
    }
}
