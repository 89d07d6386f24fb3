//! `belady` in the simulator, which reads ahead for it: as many hits as a search of the rest of the
//! trace at every eviction finds, through requests of several blocks and trims.

use std::collections::BTreeSet;

use shingle_core::registry::Registry;
use shingle_core::units::{BLOCK_BYTES, Nanos, Op, Request};
use shingle_sim::experiment::{Trace, plan, run_all};
use shingle_trace::Summary;

use crate::common::{prototypes, read};

/// Requests of up to 8 blocks over 300, every twelfth a trim, by an additive generator.
fn requests() -> Vec<Request> {
    let mut state = 1u64;
    let mut below = |bound: u64| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % bound
    };
    (0..3_000)
        .map(|number| {
            let op = match below(12) {
                0 => Op::Trim,
                1..6 => Op::Read,
                _ => Op::Write,
            };
            let range = 1 + below(300);
            let (first, blocks) = (below(range), 1 + below(8));
            let (offset, bytes) = (first * BLOCK_BYTES, blocks * BLOCK_BYTES);
            Request { at: Nanos(number), offset, bytes, op }
        })
        .collect()
}

/// What happens to blocks, one by one.
fn steps(requests: &[Request]) -> Vec<(u64, Op)> {
    let blocks = |r: &Request| r.first().0..r.first().0 + r.blocks();
    requests.iter().flat_map(|r| blocks(r).map(|block| (block, r.op))).collect()
}

fn hits_of_min(steps: &[(u64, Op)], slots: usize) -> u64 {
    let (mut cached, mut hits) = (BTreeSet::new(), 0);
    for (at, &(block, op)) in steps.iter().enumerate() {
        if op == Op::Trim {
            cached.remove(&block);
            continue;
        }
        let hit = cached.contains(&block);
        hits += u64::from(hit);
        if !hit && cached.len() == slots {
            let next = |block: u64| {
                let next = (at + 1..steps.len()).find(|&later| steps[later].0 == block);
                next.filter(|&later| steps[later].1 != Op::Trim).unwrap_or(usize::MAX)
            };
            let victim = cached.iter().copied().max_by_key(|&block| next(block)).expect("full");
            cached.remove(&victim);
        }
        cached.insert(block);
    }
    hits
}

fn hits(trace: &Trace, policy: &str, cache: &str) -> u64 {
    let options = prototypes(&[policy], &[cache], &[("drive.pb", "4000b")]);
    let (jobs, _) = plan(&options, &Registry::default(), trace).expect("valid options");
    let runs = run_all(&jobs, trace, &|_| {}).expect("no check, no failure");
    runs[0].all.hits.read_blocks + runs[0].all.hits.write_blocks
}

#[test]
fn belady_in_the_simulator_is_min() {
    let requests = requests();
    let trace =
        Trace { name: "own".into(), format: None, summary: Summary::of(&requests), requests };
    let steps = steps(&trace.requests);
    for slots in [1, 2, 5, 20, 100] {
        let wanted = hits_of_min(&steps, slots);
        assert_eq!(hits(&trace, "belady", &format!("{slots}b")), wanted, "{slots} slots");
    }
}

#[test]
fn no_order_has_more_hits_than_belady() {
    let trace = read("synth:mixed?requests=10k");
    let bound = hits(&trace, "belady", "2%zones");
    for order in shingle_core::policies::ORDER_NAMES {
        let hits = hits(&trace, order, "2%zones");
        assert!(hits <= bound, "{order}: {hits} of {bound}");
    }
}
