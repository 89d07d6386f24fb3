//! In open loop an SSD hit never waits for the disk, however many fills do.

use shingle_core::params::Params;
use shingle_core::registry::{CACHE_PARAMS, Registry, Setup};
use shingle_core::units::{BLOCK_BYTES, Nanos, Op, Request};
use shingle_drive::{Settings, make, make_ssd, ssds};
use shingle_result::Pacing;
use shingle_sim::system::{Rules, System};

fn system(ssd: &str) -> System {
    let disk = make("cmr7200", &Settings::default()).expect("a disk");
    let ssd = make_ssd(ssd, &Settings::default()).expect("an SSD");
    let description = disk.description().clone();
    let defaults = Params::new(CACHE_PARAMS);
    let setup =
        Setup { costs: description.costs, ..Setup::new(1000, description.disk_blocks, &defaults) };
    let registry = Registry::default();
    let lru = registry.get("lru").expect("a policy");
    let cache = lru.make(&Params::new(lru.params), &setup).expect("a cache");
    let rules = Rules { pacing: Pacing::Open, split: false, fill_partial: true };
    System::new(cache, ssd, disk, rules, true)
}

#[test]
fn a_hit_does_not_wait_for_what_waits_for_the_disk() {
    for entry in ssds() {
        let mut system = system(entry.name);
        let mut at = |us: u64, op: Op, block: u64| {
            let at = Nanos::from_micros(us);
            let offset = block * BLOCK_BYTES;
            let (_, done) = system.request(&Request { at, offset, bytes: BLOCK_BYTES, op });
            done.since(at)
        };
        // 50 blocks are cached; 400 reads come at once and keep the disk busy for seconds.
        (0..50).for_each(|block| _ = at(0, Op::Write, block));
        let misses = (0..400).map(|turn| at(1_000_000, Op::Read, 1000 + 300_000 * turn));
        assert!(misses.max() > Some(Nanos::from_millis(1000)), "the disk has much to do");
        for block in 0..50 {
            let took = at(1_000_001 + 1000 * block, Op::Read, block);
            assert!(took < Nanos::from_millis(1), "{}: a hit took {took}", entry.name);
        }
    }
}
