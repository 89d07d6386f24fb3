//! The policy through the cache: whatever it evicts, a read returns the last write.

use std::collections::BTreeMap;

use my_policy::QuietZones;
use shingle_core::cache::{CacheCore, Outcome};
use shingle_core::params::Params;
use shingle_core::plan::Plan;
use shingle_core::policy::Access;
use shingle_core::registry::{CACHE_PARAMS, Entry, Setup};
use shingle_core::slots::Costs;
use shingle_core::units::{Block, Nanos, Op};

/// An executor that does everything at once. Data is the number of the access that wrote it.
struct Executor {
    cache: Box<dyn CacheCore>,
    plan: Plan,
    ssd: Vec<u64>,
    disk: BTreeMap<Block, u64>,
    evicted: usize,
}

impl Executor {
    fn new(slots: u32, zone: &str) -> Executor {
        let entry = Entry::of::<QuietZones>();
        let mut params = Params::new(entry.params);
        params.set("zone", zone).unwrap();
        let setup = Setup {
            cache_blocks: slots,
            disk_blocks: 400,
            bands: None,
            conventional_zones: None,
            sequential_required: false,
            buffer_blocks: 20,
            costs: Costs { read: Nanos::ZERO, rmw_base: Nanos::ZERO, rmw_per_block: Nanos::ZERO },
            cache: &Params::new(CACHE_PARAMS),
        };
        let cache = entry.make(&params, &setup).unwrap();
        let (ssd, disk) = (vec![0; slots as usize], BTreeMap::new());
        Executor { cache, plan: Plan::default(), ssd, disk, evicted: 0 }
    }

    /// Returns what the block holds afterwards.
    fn access(&mut self, number: u64, block: Block, op: Op) -> u64 {
        let mut access = Access::whole(number, block, op);
        let mut outcome = self.cache.access(&mut access, &mut self.plan);
        self.carry_out();
        if outcome == Outcome::NoRoom {
            outcome = self.cache.retry(&mut access, &mut self.plan);
            self.carry_out();
        }
        self.cache.check();
        let on_disk = self.disk.get(&block).copied().unwrap_or(0);
        match (outcome, op) {
            (Outcome::Hit(slot) | Outcome::Miss(slot), Op::Write) => {
                self.ssd[slot.index()] = number;
                number
            }
            (Outcome::Hit(slot), _) => self.ssd[slot.index()],
            (Outcome::Bypass, Op::Read) => on_disk,
            other => panic!("this policy fills with writes only, and there is room: {other:?}"),
        }
    }

    /// Every dirty victim is written to the disk, then its slot is free.
    fn carry_out(&mut self) {
        for destage in self.plan.destages() {
            self.disk.insert(destage.block, self.ssd[destage.slot.index()]);
            assert!(self.cache.destaged(destage.slot));
            self.evicted += 1;
        }
        self.plan.clear();
    }
}

#[test]
fn a_read_returns_the_last_write() {
    for slots in [1, 2, 7, 40] {
        let (mut run, mut latest) = (Executor::new(slots, "8b"), BTreeMap::new());
        let mut random = 1u64;
        for number in 1..20_000 {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let block = Block((random >> 33) % 120);
            let op = if random >> 63 == 0 { Op::Read } else { Op::Write };
            if op == Op::Write {
                latest.insert(block, number);
            }
            let expected = latest.get(&block).copied().unwrap_or(0);
            assert_eq!(run.access(number, block, op), expected, "block {}", block.0);
        }
        assert!(run.evicted > 1_000);
    }
}

#[test]
fn the_quiet_one_of_two_zones_leaves() {
    let mut run = Executor::new(8, "8b");
    let write = |run: &mut Executor, block| run.access(1, Block(block), Op::Write);
    (0..5).for_each(|block| _ = write(&mut run, block)); // zone 0: five blocks …
    (8..11).for_each(|block| _ = write(&mut run, block)); // zone 1: three blocks, never hit
    (0..5).for_each(|block| _ = write(&mut run, block)); // … each of them hit once
    write(&mut run, 16);
    assert!(run.cache.lookup(Block(0)).is_some() && run.cache.lookup(Block(8)).is_none());
}
