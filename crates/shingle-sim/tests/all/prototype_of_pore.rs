//! PORE's prototype, modelled apart from the policies, so that what they do differently has a name.
//!
//! The model has the prototype's rules and its defects: accesses that are never reset and are
//! inherited, blocks that leave hottest first after a division, and zones of equal rank in the order
//! that its quicksort leaves them in. With them it gives the numbers of the prototype exactly; with
//! the one the policy does not have as an option, the quicksort, replaced, those of the policy.

use std::collections::{BTreeMap, HashMap};

use shingle_core::registry::Registry;
use shingle_core::units::Op;
use shingle_sim::experiment::{Assignment, Trace, plan, run_all};
use shingle_trace::Mode;

use crate::common::{prototypes, real_mode};

const ZONE: u64 = 5120;
const CACHE: usize = 55_292;
const PERIOD: u64 = 11_058;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Scheme {
    Coverage,
    Popularity,
    Balanced,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Ties {
    Quicksort,
    HigherAddressFirst,
}

#[derive(Clone, Copy, Default)]
struct Entry {
    block: u64,
    uses: i64,
    used_at: u64,
}

/// A table of history entries, of which those in use are in `of`.
#[derive(Default)]
struct History {
    entries: Vec<Entry>,
    of: BTreeMap<u64, usize>,
    free: Vec<usize>,
}

impl History {
    fn entry(&mut self, block: u64) -> &mut Entry {
        let at = *self.of.entry(block).or_insert_with(|| {
            let at = self.free.pop().unwrap_or_else(|| {
                self.entries.push(Entry::default());
                self.entries.len() - 1
            });
            self.entries[at].block = block; // its uses stay
            at
        });
        &mut self.entries[at]
    }

    /// Entries in use, hottest first.
    fn by_use(&self) -> Vec<usize> {
        let mut all: Vec<usize> = self.of.values().copied().collect();
        all.sort_by_key(|&at| std::cmp::Reverse(self.entries[at].used_at));
        all
    }
}

/// Zones by rank, highest first, as a quicksort around the first element leaves them.
fn quicksort(zones: &mut [(i64, u64)]) {
    if zones.len() < 2 {
        return;
    }
    let (pivot, mut low, mut high) = (zones[0], 0, zones.len() - 1);
    while low < high {
        while low < high && zones[high].0 <= pivot.0 {
            high -= 1;
        }
        zones[low] = zones[high];
        while low < high && zones[low].0 >= pivot.0 {
            low += 1;
        }
        zones[high] = zones[low];
    }
    zones[low] = pivot;
    quicksort(&mut zones[..low]);
    quicksort(&mut zones[low + 1..]);
}

/// Zones with a rank before those without: from both ends, what is on the wrong side is swapped.
fn with_rank_first(zones: &mut Vec<(i64, u64)>) {
    let (mut low, mut high) = (0, zones.len().saturating_sub(1));
    while low < high {
        match (zones[low].0, zones[high].0) {
            (_, 0) => high -= 1,
            (0, _) => zones.swap(low, high),
            _ => low += 1,
        }
    }
    zones.retain(|zone| zone.0 != 0);
}

/// Hits of the prototype over the written `blocks`, with the cache and period of the known answers.
fn hits(blocks: &[u64], scheme: Scheme, ties: Ties) -> u64 {
    let zone = |block: u64| (block / ZONE) as usize;
    let zones = blocks.iter().map(|&block| zone(block) + 1).max().unwrap_or(0);
    let mut history = History::default();
    // Blocks in the cache with their place; of those that may leave, the lowest place goes first.
    let mut cached: HashMap<u64, i64> = HashMap::new();
    let mut may_leave = BTreeMap::new();
    let mut open = vec![true; zones];
    let (mut hits, mut written, mut now) = (0, 0, 0i64);
    for &block in blocks {
        now += 1;
        let is_hit = cached.contains_key(&block);
        if !is_hit && cached.len() == CACHE && written >= PERIOD {
            let mut known = vec![(0i64, 0i64, 0u64); zones]; // uses, pages, pages in the cache
            for &at in history.of.values() {
                let Entry { block, uses, .. } = history.entries[at];
                let known = &mut known[zone(block)];
                known.0 += uses;
                known.1 += 1;
                known.2 += u64::from(cached.contains_key(&block));
            }
            let rank = |&(uses, pages, _): &(i64, i64, u64)| match (pages, scheme) {
                (0, _) => 0,
                (_, Scheme::Coverage) => pages,
                (_, Scheme::Popularity) => -uses * 1000 / pages,
                (_, Scheme::Balanced) => -uses * 1000 / pages * 1000 / pages,
            };
            let mut ranked: Vec<(i64, u64)> = known.iter().map(rank).zip(0..).collect();
            match ties {
                Ties::Quicksort => {
                    with_rank_first(&mut ranked);
                    // It counts one zone too few: the last one stays last, whatever its rank.
                    let count = ranked.len().saturating_sub(1);
                    quicksort(&mut ranked[..count]);
                }
                Ties::HigherAddressFirst => {
                    ranked.retain(|zone| zone.0 != 0);
                    ranked.sort_by(|a, b| b.cmp(a));
                }
            }
            open.fill(false);
            let mut total = 0;
            for &(_, zone) in &ranked {
                if total >= PERIOD {
                    break;
                }
                open[zone as usize] = true;
                total += known[zone as usize].2;
            }
            // Hottest first, and all of them before what is used from now on.
            may_leave.clear();
            for (place, at) in history.by_use().into_iter().enumerate() {
                let block = history.entries[at].block;
                if let Some(at) = cached.get_mut(&block) {
                    *at = place as i64 - i64::MAX;
                    if open[zone(block)] {
                        may_leave.insert(*at, block);
                    }
                } else {
                    history.of.remove(&block);
                    history.free.push(at);
                }
            }
            written = 0;
        }
        let entry = history.entry(block);
        entry.uses += 1;
        entry.used_at = now as u64;
        if is_hit {
            hits += 1;
            may_leave.remove(&cached[&block]);
        } else {
            written += 1;
            if cached.len() == CACHE {
                let (_, victim) = may_leave.pop_first().expect("a period of blocks is open");
                cached.remove(&victim);
            }
        }
        cached.insert(block, now);
        if open[zone(block)] {
            may_leave.insert(now, block);
        }
    }
    hits
}

#[test]
fn what_differs_from_the_prototype_is_how_its_quicksort_leaves_zones_of_equal_rank() {
    let Some(trace) = real_mode("cloudphysics_sample.vscsi.zst", Mode::Write) else { return };
    let written: Vec<u64> = trace
        .requests
        .iter()
        .filter(|request| request.op == Op::Write)
        .flat_map(|request| (0..request.blocks()).map(|at| request.first().after(at).0))
        .collect();
    assert_eq!(written.len(), 656_169);
    let policies = policies(&trace);
    let cases = [
        (Scheme::Coverage, 133_297, policies[0]),
        (Scheme::Popularity, 150_118, policies[1]),
        (Scheme::Balanced, 116_056, policies[2]),
    ];
    for (scheme, prototype, policy) in cases {
        assert_eq!(hits(&written, scheme, Ties::Quicksort), prototype, "{scheme:?}");
        assert_eq!(hits(&written, scheme, Ties::HigherAddressFirst), policy, "{scheme:?}");
    }
}

/// Hits of the policies with the prototype's options.
fn policies(trace: &Trace) -> Vec<u64> {
    let names = ["pore-cf", "pore-pf", "pore"];
    let mut options = prototypes(&names, &["55292b"], &[("drive.pb", "11058b")]);
    options.drives = vec!["pore-emulator".into()];
    options.mode = Mode::Write;
    for name in names {
        for set in ["history=forever", "division=prototype"] {
            options.sets.push(Assignment::parse(&format!("{name}.{set}")).expect("a key"));
        }
    }
    let (jobs, _) = plan(&options, &Registry::default(), trace).expect("valid options");
    let runs = run_all(&jobs, trace, &|_| {}).expect("no stale read");
    runs.iter().map(|run| run.all.hits.write_blocks).collect()
}
