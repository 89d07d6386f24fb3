//! The policies of the papers, step by step: cases worked out by hand from their figures, and
//! random ones against models that search and sort where the policies keep count.

use proptest::prelude::*;
use shingle_core::plan::Plan;
use shingle_core::units::{Block, Op};
use shingle_testkit::DISK_BLOCKS;

use crate::run::{Run, made};

const ZONE: u64 = 8;
/// Of the disk of `common`.
const BUFFER: u64 = 20;
const READ: Op = Op::Read;
const WRITE: Op = Op::Write;

impl Run {
    /// Accesses a block; returns what left the cache for it, in order of address.
    fn left(&mut self, block: u64, op: Op) -> Vec<u64> {
        self.access_and_left(block, op).1
    }

    /// Writes blocks, whatever leaves for them.
    fn rewrites(&mut self, blocks: &[u64]) {
        blocks.iter().for_each(|&block| _ = self.access(block, WRITE));
    }
}

// ── PORE ─────────────────────────────────────────────────────────────────────────────────────

/// Figure 7: `d` is the coldest, but in the forbidden region, as is the next one; `c` leaves.
#[test]
fn pore_skips_dirty_blocks_of_forbidden_zones() {
    let (d, e, [c, b, a]) = (ZONE, 2 * ZONE, [0, 1, 2]);
    // A period of 3 blocks: zone 0 alone has as many.
    let mut run = made("pore-cf", &[("period", "0.15")], 5);
    run.rewrites(&[d, e, c, b, a]);
    run.left(c, WRITE); // now b is the coldest of the open ones
    assert_eq!(run.left(3 * ZONE, WRITE), [b], "d and e are colder, but their zones are closed");
    assert_eq!(run.left(3 * ZONE + 1, READ), [a]);
    assert_eq!(run.left(3 * ZONE + 2, READ), [c]);
    // Zone 0 is empty. The clean blocks are not restricted.
    assert_eq!(run.left(4 * ZONE, READ), [3 * ZONE + 1]);
    assert_eq!(run.cached(), [d, e, 3 * ZONE, 3 * ZONE + 2, 4 * ZONE]);
}

/// §V-B: the band leaves with the least recently used block, and that is a clean one here.
#[test]
fn lru_band_evicts_the_band_of_the_coldest_block() {
    let left = |sets: &[(&str, &str)]| {
        let mut run = made("lru-band", sets, 5);
        run.left(8, READ);
        run.left(16, READ);
        run.rewrites(&[9]);
        run.left(10, READ);
        run.rewrites(&[17]);
        [32, 33, 34, 35].map(|block| run.left(block, READ))
    };
    assert_eq!(left(&[]), [vec![8, 9, 10], vec![], vec![], vec![16, 17]]);
    assert_eq!(left(&[("clean", "keep")]), [vec![8, 9], vec![], vec![16, 17], vec![]]);
    let alone = left(&[("clean_victim", "alone")]);
    assert_eq!(
        alone,
        [vec![8], vec![16], vec![9, 10], vec![]],
        "only a dirty one takes its band along"
    );
}

/// §IV-C.1: zones open until their dirty blocks in the cache reach the period.
#[test]
fn pore_opens_zones_until_a_period_of_dirty_blocks_is_open() {
    // Zones 1, 2, 3 with 1, 3, 2 dirty blocks, and a period of 4: zones 2 and 3 open.
    let mut run = made("pore-cf", &[("period", "0.2")], 6);
    run.rewrites(&[8, 16, 17, 18, 24, 25]);
    assert_eq!(run.left(40, WRITE), [16], "the coldest block of zones 2 and 3");
    assert_eq!(run.left(41, WRITE), [17]);
    assert_eq!(run.left(42, WRITE), [18]);
    assert_eq!(run.left(43, WRITE), [24]);
    // Four were written: zone 5 has 4 dirty blocks and opens; 8 and 25 are older, but locked.
    assert_eq!(run.left(48, WRITE), [40]);
    assert_eq!(run.cached(), [8, 25, 41, 42, 43, 48]);
}

#[test]
fn pore_divides_at_once_when_nothing_may_leave() {
    let mut run = made("pore-cf", &[("period", "0.1")], 3);
    run.rewrites(&[8, 16, 17]); // a period of 2: zone 2 opens
    assert_eq!(run.left(24, WRITE), [16]);
    run.left(17, WRITE);
    assert_eq!(run.cached(), [8, 17, 24]);
    // Trimmed away, the open zone is empty, and the one written block is no period.
    assert_eq!(run.cache.trim(Block(17), 1), 1);
    run.left(32, READ);
    assert_eq!(run.left(33, READ), [32], "clean blocks leave first, if they are all there is");
    run.left(33, WRITE);
    let left = run.left(40, READ);
    assert_eq!(left, [8], "of zones 1, 3 and 4, with a dirty block each, the first two open");
}

/// Periods of one block. Zone 1 was hot before the first division and not used since. Six accesses to
/// its block, one to those of zones 2 and 3: zone 2 opens, of equals the first, and 16 leaves for 17.
/// Then zone 1 has had none in the last period, and 8 leaves. By the accesses of what is cached it has
/// 6 to one block, zones 2 and 3 have 1 to one: 17 leaves. By the prototype's records zone 2 has 2 to
/// two, as 16 still stands in them, which is 1 to one too.
#[test]
fn popularity_is_that_of_what_is_cached_or_of_the_last_period_or_of_all_time() {
    for (history, leaves) in [("period", 8), ("cached", 17), ("forever", 17)] {
        let mut run = made("pore-pf", &[("period", "0.05"), ("history", history)], 3);
        run.rewrites(&[8, 8, 8, 8, 8, 8, 16, 24]);
        assert_eq!(run.left(17, WRITE), [16], "{history}");
        assert_eq!(run.left(18, WRITE), [leaves], "{history}");
    }
}

/// A block that leaves takes its accesses with it. Zone 1 has four accesses of block 8 and one of block
/// 9, 2.5 a block; zone 2 has one of one block and opens. Once 8 is trimmed zone 1 has one of one, as
/// zones 3 and 4 have, and opens as the first of equals.
#[test]
fn accesses_leave_with_their_block() {
    let mut run = made("pore-pf", &[("period", "0.05"), ("history", "cached")], 3);
    run.rewrites(&[8, 8, 8, 8, 9, 16]);
    assert_eq!(run.left(24, WRITE), [16]);
    assert_eq!(run.cache.trim(Block(8), 1), 1);
    assert_eq!(run.left(32, WRITE), [], "there is room");
    assert_eq!(run.left(33, WRITE), [9]);
}

/// In idle time only blocks of open zones are written.
#[test]
fn pore_destages_open_zones_only() {
    let mut run = made("pore-cf", &[("period", "0.15")], 5);
    run.rewrites(&[8, 16, 0, 1, 2, 24]); // zone 0 is open, and 0 has left
    let mut plan = Plan::default();
    run.cache.idle(9, &mut plan);
    let named: Vec<u64> = plan.destages().iter().map(|destage| destage.block.0).collect();
    assert_eq!(named, [1, 2]);
    run.carry_out(&mut plan);
    run.cache.check();
}

/// What a model of PORE over LRU knows of a zone.
#[derive(Clone, Copy, Default)]
struct Zone {
    uses: u64,
    dirty: u64,
}

/// PORE over LRU, searching.
struct Model {
    /// Coldest first: block and whether it is dirty.
    blocks: Vec<(u64, bool)>,
    /// Accesses of each dirty block in the cache, or (`by_period`) of each zone since the last division.
    accesses: std::collections::BTreeMap<u64, u64>,
    by_period: bool,
    slots: usize,
    period: u64,
    scheme: &'static str,
    zones: Vec<Zone>,
    open: Option<Vec<bool>>,
    written: u64,
}

impl Model {
    fn divide(&mut self) {
        let rank = |zone: &Zone| match self.scheme {
            "pore-cf" => (1, u128::from(zone.dirty)),
            "pore-pf" => (u128::from(zone.uses), u128::from(zone.dirty)),
            _ => (u128::from(zone.uses), u128::from(zone.dirty * zone.dirty)),
        };
        let mut order: Vec<usize> =
            (0..self.zones.len()).filter(|&zone| self.zones[zone].dirty > 0).collect();
        order.sort_by(|&a, &b| {
            let (left, right) = (rank(&self.zones[a]), rank(&self.zones[b]));
            let ranks = (left.0 * right.1).cmp(&(right.0 * left.1));
            ranks.then(self.zones[b].dirty.cmp(&self.zones[a].dirty))
        });
        let (mut open, mut total) = (vec![false; self.zones.len()], 0);
        for zone in order {
            if total < self.period {
                open[zone] = true;
                total += self.zones[zone].dirty;
            }
        }
        self.open = Some(open);
        if self.by_period {
            self.zones.iter_mut().for_each(|zone| zone.uses = 0);
        }
        self.written = 0;
    }

    fn victim(&self) -> Option<usize> {
        self.blocks.iter().position(|&(block, dirty)| {
            !dirty || self.open.as_ref().is_none_or(|open| open[(block / ZONE) as usize])
        })
    }

    /// Returns what left.
    fn access(&mut self, block: u64, op: Op) -> Vec<u64> {
        let (zone, write) = ((block / ZONE) as usize, op == WRITE);
        let mut left = Vec::new();
        let at = self.blocks.iter().position(|known| known.0 == block);
        let was_dirty = at.is_some_and(|at| self.blocks[at].1);
        if let Some(at) = at {
            self.blocks.remove(at);
        } else if self.blocks.len() == self.slots {
            if self.open.is_none() || self.written >= self.period {
                self.divide();
            }
            if self.victim().is_none() {
                self.divide();
            }
            let (victim, dirty) = self.blocks.remove(self.victim().expect("a period is open"));
            let of_zone = &mut self.zones[(victim / ZONE) as usize];
            of_zone.dirty -= u64::from(dirty);
            let accesses = self.accesses.remove(&victim).unwrap_or(0);
            of_zone.uses -= if self.by_period { 0 } else { accesses };
            left.push(victim);
        }
        let dirty = was_dirty || write;
        self.written += u64::from(dirty && !was_dirty);
        self.zones[zone].dirty += u64::from(dirty && !was_dirty);
        self.zones[zone].uses += u64::from(dirty);
        *self.accesses.entry(block).or_default() += u64::from(dirty);
        self.blocks.push((block, dirty));
        left
    }
}

proptest! {
    #[test]
    fn pore_is_its_model(
        scheme in prop::sample::select(vec!["pore", "pore-cf", "pore-pf"]),
        by_period in any::<bool>(),
        slots in 2u32..30,
        period in prop::sample::select(vec![1u64, 3, 8, 20]),
        ops in prop::collection::vec((any::<bool>(), 0u64..60, 0u64..8), 1..400),
    ) {
        let ratio = format!("{}", period as f64 / BUFFER as f64);
        let history = if by_period { "period" } else { "cached" };
        let mut run = made(scheme, &[("period", &ratio), ("history", history)], slots);
        let mut model = Model {
            blocks: Vec::new(),
            accesses: std::collections::BTreeMap::new(),
            by_period,
            slots: slots as usize,
            period,
            scheme,
            zones: vec![Zone::default(); (DISK_BLOCKS / ZONE) as usize],
            open: None,
            written: 0,
        };
        for (write, block, hot) in ops {
            let block = if hot < 3 { block % 10 } else { block };
            let op = if write { WRITE } else { READ };
            prop_assert_eq!(run.left(block, op), model.access(block, op));
        }
    }
}

// ── SAC and its comparator ───────────────────────────────────────────────────────────────────

/// §6.4: zone 1 has two dirty blocks, both cold; zone 2 four, of which three are cold; zone 3 six,
/// of which one is cold. The last 7 accesses are hot.
#[test]
fn targets_are_chosen_by_released_space_popularity_or_amount() {
    // The cold share is 2/2, 3/4, 1/6; the coldest block of the chosen zone leaves.
    for (policy, leaves) in [("sac", 16), ("sac-pd", 8), ("sac-ad", 24)] {
        // Cycles of 8 blocks: one zone each.
        let sets = [("window", "0.59"), ("cycle", "0.4")];
        let mut run = made(policy, &sets, 12);
        run.rewrites(&[8, 9, 16, 17, 18, 24, 19, 25, 26, 27, 28, 29]);
        assert_eq!(run.left(40, WRITE), [leaves], "{policy}");
    }
}

/// Cycles of 32 blocks over a buffer of 20, zones of 8 with 1, 2, 3 and 4 dirty blocks. As large as the
/// cycle, all four are targets, and the coldest block leaves; as large as the buffer, the two with most.
#[test]
fn rule_1_goes_by_the_cycle_or_by_the_buffer() {
    for (rule1, leaves) in [("cycle", 8), ("buffer", 24)] {
        let sets = [("window", "0.01"), ("cycle", "1.6"), ("rule1", rule1)];
        let mut run = made("sac", &sets, 10);
        run.rewrites(&[8, 16, 17, 24, 25, 26, 32, 33, 34, 35]);
        assert_eq!(run.left(50, WRITE), [leaves], "{rule1}");
    }
}

/// Equation 3: one cold clean block costs nothing. Equation 5: with the paper's costs a dirty block
/// costs 436.7 ms. When all clean blocks are hot, dropping one costs 14 ms, still the less.
#[test]
fn the_comparator_drops_clean_blocks_as_long_as_that_is_cheaper() {
    for policy in ["lru+cdc", "cdc", "most+cdc", "sac"] {
        let mut run = made(policy, &[("cost", "paper"), ("clean_part", "4")], 4);
        run.rewrites(&[8]);
        run.left(100, READ);
        run.left(101, READ);
        run.left(102, READ);
        for miss in 103..110 {
            let left = run.left(miss, READ);
            assert_eq!(left, [miss - 3], "{policy}: reading again costs less than writing");
        }
        assert_eq!(run.cached(), [8, 107, 108, 109], "{policy}");
    }
}

/// Equation 2 with numbers: groups of 2 blocks; the clean ones are hot, (2 · 14 ms) / (0 + 1) = 28
/// ms; the dirty ones are cold, in one zone (436 + 2 · 0.728) / (2 + 1) = 145.8 ms. With 40 blocks
/// in a group, 11 of them hot, it is 154 ms against 145.8 ms: the dirty group goes.
#[test]
fn the_comparator_writes_when_many_clean_blocks_are_hot() {
    for (part, leaves) in [("7", 20), ("1", 8)] {
        // 13 slots, of which the last 11 accesses are hot: two dirty and eleven clean blocks.
        let sets = [("cost", "paper"), ("clean_part", part), ("window", "0.85")];
        let mut run = made("lru+cdc", &sets, 13);
        run.rewrites(&[8, 9]);
        (20..31).for_each(|block| _ = run.left(block, READ));
        assert_eq!(run.left(40, READ), [leaves], "groups of one {part}th of the cache");
    }
}

/// MOST under the comparator empties the zones with the most dirty blocks, and fills reads.
#[test]
fn most_under_the_comparator_empties_the_fullest_zones_first() {
    let mut run = made("most+cdc", &[], 6);
    run.rewrites(&[8, 16, 17, 18, 24, 25]);
    let left: Vec<u64> = (0..6).flat_map(|at| run.left(100 + at, WRITE)).collect();
    assert_eq!(left[..5], [16, 17, 18, 24, 25]);
    assert_eq!(run.left(200, READ).len(), 1);
    assert!(run.cached().contains(&200), "a read fills");
}

/// The comparator over LRU on both sides, searching.
struct Comparator {
    /// By side, clean and dirty: coldest first, block and when it was used.
    sides: [Vec<(u64, u64)>; 2],
    /// Blocks of the group that leaves, and its side.
    group: (usize, Vec<u64>),
    group_blocks: usize,
    window: u64,
    slots: usize,
    now: u64,
}

impl Comparator {
    /// Time in units of 1 µs, and cold blocks, of the next group of a side.
    fn price(&self, side: usize) -> Option<(u128, u128)> {
        let group = &self.sides[side][..self.group_blocks.min(self.sides[side].len())];
        let cold = group.iter().filter(|block| block.1 + self.window < self.now).count() as u128;
        let mut zones: Vec<u64> = group.iter().map(|block| block.0 / ZONE).collect();
        zones.sort_unstable();
        zones.dedup();
        let time = match side {
            0 => 14_000 * (group.len() as u128 - cold),
            _ => 436_000 * zones.len() as u128 + 728 * group.len() as u128,
        };
        (!group.is_empty()).then_some((time, cold))
    }

    fn evict(&mut self) -> u64 {
        let held = |group: &(usize, Vec<u64>), sides: &[Vec<(u64, u64)>; 2]| {
            sides[group.0].iter().position(|block| group.1.contains(&block.0))
        };
        if held(&self.group, &self.sides).is_none() {
            let side = match (self.price(0), self.price(1)) {
                (Some(clean), Some(dirty)) => {
                    usize::from(clean.0 * (dirty.1 + 1) >= dirty.0 * (clean.1 + 1))
                }
                (None, _) => 1,
                (_, None) => 0,
            };
            let group = self.sides[side].iter().take(self.group_blocks);
            self.group = (side, group.map(|block| block.0).collect());
        }
        let at = held(&self.group, &self.sides).expect("a group has blocks");
        let (block, _) = self.sides[self.group.0].remove(at);
        self.group.1.retain(|&held| held != block);
        block
    }

    fn access(&mut self, block: u64, op: Op) -> Vec<u64> {
        let find = |side: &Vec<(u64, u64)>| side.iter().position(|known| known.0 == block);
        let found = [find(&self.sides[0]), find(&self.sides[1])];
        let mut left = Vec::new();
        for (side, at) in found.iter().enumerate() {
            if let Some(at) = *at {
                self.sides[side].remove(at);
                self.group.1.retain(|&held| held != block); // used: no longer of the group
            }
        }
        if found == [None, None] && self.sides[0].len() + self.sides[1].len() == self.slots {
            left.push(self.evict());
        }
        let side = usize::from(op == WRITE || found[1].is_some());
        self.sides[side].push((block, self.now));
        self.now += 1;
        left
    }
}

proptest! {
    /// `cdc` with its defaults, and `lru+cdc`, which is the same with fewer choices.
    #[test]
    fn the_comparator_is_its_model(
        slots in 2u32..40,
        part in 1u64..9,
        ops in prop::collection::vec((0u8..10, 0u64..80, 0u64..8), 1..400),
        writes in 1u8..9,
    ) {
        let part_set = part.to_string();
        let sets = [("cost", "paper"), ("clean_part", part_set.as_str())];
        let mut runs = [made("lru+cdc", &sets, slots), made("cdc", &sets, slots)];
        let mut model = Comparator {
            sides: [Vec::new(), Vec::new()],
            group: (0, Vec::new()),
            group_blocks: (u64::from(slots) / part).max(1) as usize,
            window: (u64::from(slots) * 800 / 1000).max(1),
            slots: slots as usize,
            now: 0,
        };
        for (kind, block, hot) in ops {
            let block = if hot < 4 { block % 12 } else { block };
            let op = if kind < writes { WRITE } else { READ };
            let expected = model.access(block, op);
            for run in &mut runs {
                prop_assert_eq!(run.left(block, op), expected.clone());
            }
        }
    }
}
