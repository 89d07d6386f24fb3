//! LRU needs no cache to be known: an access hits in a cache of `n` slots exactly if fewer than `n`
//! different blocks were accessed since the last access to its block (Mattson et al., IBM Systems
//! Journal 9(2), 1970). One pass gives the hits at every size.

use std::collections::HashMap;

use shingle_core::registry::Registry;
use shingle_core::units::{Op, Request};
use shingle_sim::experiment::{Trace, plan, run_all};

use crate::common::{prototypes, read, real};

/// Counts at places, summed over prefixes (Fenwick, 1994).
struct Fenwick(Vec<i64>);

impl Fenwick {
    fn add(&mut self, place: usize, amount: i64) {
        let mut at = place + 1;
        while at < self.0.len() {
            self.0[at] += amount;
            at += at & at.wrapping_neg();
        }
    }

    /// Sum of all places before `end`.
    fn before(&self, end: usize) -> i64 {
        let (mut at, mut sum) = (end, 0);
        while at > 0 {
            sum += self.0[at];
            at &= at - 1;
        }
        sum
    }
}

/// How many accesses found `n` different blocks accessed since their block was last: reads and
/// writes apart, indexed by `n`. First accesses are in neither.
fn distances(requests: &[Request]) -> [Vec<u64>; 2] {
    let accesses: u64 = requests.iter().map(Request::blocks).sum();
    let accesses = usize::try_from(accesses).expect("fits memory");
    // Marks the place of the latest access of each block.
    let mut latest = Fenwick(vec![0; accesses + 1]);
    let mut last = HashMap::new();
    let mut counts = [vec![0; accesses], vec![0; accesses]];
    let mut now = 0;
    for request in requests {
        assert!(matches!(request.op, Op::Read | Op::Write), "a trim would change the stack");
        for place in 0..request.blocks() {
            if let Some(then) = last.insert(request.first().after(place), now) {
                let between = latest.before(now) - latest.before(then + 1);
                counts[usize::from(request.op == Op::Write)]
                    [usize::try_from(between).expect("a count")] += 1;
                latest.add(then, -1);
            }
            latest.add(now, 1);
            now += 1;
        }
    }
    counts
}

fn compare(trace: &Trace) {
    let [reads, writes] = distances(&trace.requests);
    let most = trace.summary.distinct_blocks;
    let sizes = [100, most / 64, most / 16, most / 4, most];
    let caches: Vec<String> = sizes.iter().map(|size| format!("{size}b")).collect();
    let caches: Vec<&str> = caches.iter().map(String::as_str).collect();
    for split in [true, false] {
        let mut options = prototypes(&["lru"], &caches, &[]);
        // Joined I/O holds the slots of a request for a while; that may not change who leaves.
        options.split = split;
        options.fill_partial = !split;
        let (jobs, _) = plan(&options, &Registry::default(), trace).expect("valid options");
        let runs = run_all(&jobs, trace, &|_| {}).expect("no check, no failure");
        assert_eq!(runs.len(), sizes.len());
        for (run, size) in runs.iter().zip(sizes) {
            assert_eq!(run.labels.cache_blocks, size);
            let below = |counts: &[u64]| counts.iter().take(size as usize).sum::<u64>();
            let hits = (run.all.hits.read_blocks, run.all.hits.write_blocks);
            assert_eq!(hits, (below(&reads), below(&writes)), "{}, {size} slots", trace.name);
        }
    }
}

#[test]
fn distances_equal_those_of_a_simple_count() {
    let access = |block: u64| Request {
        at: shingle_core::units::Nanos::ZERO,
        offset: block * 4096,
        bytes: 4096,
        op: if block == 2 { Op::Write } else { Op::Read },
    };
    let [reads, writes] = distances(&[1, 2, 3, 2, 1, 1, 3].map(access));
    assert_eq!(&reads[..4], [1, 0, 2, 0], "1 at once, 1 and 3 after two others");
    assert_eq!(&writes[..4], [0, 1, 0, 0], "2 after one other");
}

#[test]
fn skewed_single_requests() {
    compare(&read("synth:zipf?requests=60k&range=2GB&size=20KiB"));
}

#[test]
fn streams_and_random_writes() {
    compare(&read("synth:mixed?requests=20k"));
}

#[test]
fn a_virtual_disk() {
    real("cloudphysics_sample.vscsi.zst").iter().for_each(compare);
}

#[test]
fn a_research_server() {
    real("msr_rsrch_1.csv").iter().for_each(compare);
}
