//! Workloads that bring the papers' prototypes down, through every policy that works with zones.
//!
//! SAC's exits when all zones it could choose wait for their turn, as happens with reads all over
//! the disk and writes to a single zone, and overruns an array when the buffer is larger than 100
//! zones (2.05 GB); its MOST with the comparator reads before an array whenever its zones are
//! exhausted; PORE's crashes when nothing is open, and when a hit comes in a cache of one block.

use shingle_core::params::Params;
use shingle_core::policy::Zoning;
use shingle_core::registry::Registry;
use shingle_core::units::{BLOCK_BYTES, Block, Nanos, Op, Request};
use shingle_result::RunResult;
use shingle_sim::experiment::{Trace, plan, run_all};
use shingle_trace::Summary;

use crate::common::prototypes;

/// Fixed zones of 20 MB, 5,000 blocks.
const ZONE: u64 = 5000;

fn trace(accesses: impl Iterator<Item = (u64, Op)>) -> Trace {
    let request = |(block, op)| Request {
        at: Nanos::ZERO,
        offset: Block(block).bytes(),
        bytes: BLOCK_BYTES,
        op,
    };
    let requests: Vec<Request> = accesses.map(request).collect();
    Trace { name: "by hand".into(), format: None, summary: Summary::of(&requests), requests }
}

/// Runs every policy with fixed zones, all data checked.
fn run(trace: &Trace, cache: &str, buffer: &str) -> Vec<RunResult> {
    let registry = Registry::default();
    let zoned = registry.entries().iter();
    let zoned = zoned.filter(|e| e.zoning(&Params::new(e.params)) == Zoning::Fixed);
    let names: Vec<&str> = zoned.map(|entry| entry.name).collect();
    assert!(
        ["most", "most+cdc", "lru+cdc", "cdc", "sac", "sac-pd", "sac-ad", "pore"]
            .iter()
            .all(|name| names.contains(name))
    );
    let mut options = prototypes(&names, &[cache], &[("drive.pb", buffer)]);
    (options.check, options.drain) = (true, true);
    let (jobs, _) = plan(&options, &registry, trace).expect("valid options");
    run_all(&jobs, trace, &|_| {}).expect("no stale read")
}

/// A block somewhere, the same on every machine.
fn scattered(number: u64, range: u64) -> u64 {
    (number.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 20) % range
}

#[test]
fn reads_everywhere_and_writes_to_one_zone() {
    let accesses = (0..60_000).map(|number| match number % 10 {
        0 => (scattered(number, ZONE), Op::Write),
        _ => (scattered(number, 400 * ZONE), Op::Read),
    });
    for buffer in ["100b", "6000b"] {
        for run in run(&trace(accesses.clone()), "2000b", buffer) {
            let (all, name) = (&run.all, &run.labels.policy);
            assert_eq!(all.requests.read + all.requests.write, 60_000, "{name}");
            assert!(name == "most" || all.evictions.clean_blocks > 0, "{name} kept every read");
        }
    }
}

#[test]
fn a_single_dirty_zone_with_nothing_clean() {
    let accesses = (0..40_000).map(|number| (scattered(number, ZONE), Op::Write));
    for run in run(&trace(accesses), "300b", "100b") {
        assert!(run.all.evictions.dirty_blocks > 10_000, "{}", run.labels.policy);
        assert!(run.all.drive_io.rmw > 0, "{}", run.labels.policy);
    }
}

/// 600,000 blocks are 120 zones: more than 2 GiB and more than 100 zones at a time.
#[test]
fn a_buffer_of_more_than_a_hundred_zones() {
    let accesses = (0..60_000).map(|number| {
        let (zone, block) = (scattered(number, 300), scattered(number * 7, ZONE));
        (zone * ZONE + block, if number % 4 == 0 { Op::Read } else { Op::Write })
    });
    for run in run(&trace(accesses), "4000b", "600000b") {
        assert!(run.all.evictions.dirty_blocks > 10_000, "{}", run.labels.policy);
    }
}

#[test]
fn a_cache_of_one_block() {
    let accesses = (0..200).map(|number| (number / 3 % 5 * ZONE, Op::Write));
    for run in run(&trace(accesses), "1b", "10b") {
        // The same block three times, then another.
        assert_eq!(run.all.hits.write_blocks, 133, "{}", run.labels.policy);
    }
}
