//! A cache whose I/O is done at once, for cases that are worked out by hand. Write pointers are moved by hand, too.

use shingle_core::cache::{CacheCore, Outcome};
use shingle_core::params::Params;
use shingle_core::plan::{DestageMethod, Plan, WriteOrder};
use shingle_core::policy::Access;
use shingle_core::registry::{Entry, Registry};
use shingle_core::units::{Block, Op};
use shingle_testkit::{DISK_BLOCKS, make_with};

/// Groups of blocks, in the order in which they are written.
pub(crate) type Written = Vec<(DestageMethod, Vec<u64>)>;

/// See the module.
pub(crate) struct Run {
    pub(crate) cache: Box<dyn CacheCore>,
    number: u64,
}

impl Run {
    pub(crate) fn of(cache: Box<dyn CacheCore>) -> Run {
        Run { cache, number: 0 }
    }

    /// Returns what was written to the disk for it.
    pub(crate) fn access(&mut self, block: u64, op: Op) -> Written {
        self.number += 1;
        let mut access = Access::whole(self.number, Block(block), op);
        let mut plan = Plan::default();
        let outcome = self.cache.access(&mut access, &mut plan);
        let written = self.carry_out(&mut plan);
        if outcome == Outcome::NoRoom {
            let outcome = self.cache.retry(&mut access, &mut plan);
            assert!(matches!(outcome, Outcome::Miss(_)) && plan.is_empty());
        }
        self.cache.check();
        written
    }

    /// The same, and what left the cache for it, in the order of addresses.
    pub(crate) fn access_and_left(&mut self, block: u64, op: Op) -> (Written, Vec<u64>) {
        let mut left = self.cached();
        let written = self.access(block, op);
        left.retain(|&block| !self.has(block));
        (written, left)
    }

    /// Writes blocks that there is room for.
    pub(crate) fn writes(&mut self, blocks: impl IntoIterator<Item = u64>) {
        for block in blocks {
            assert_eq!(self.access(block, Op::Write), [], "there is room");
        }
    }

    /// No request comes. Returns what was written.
    pub(crate) fn idle(&mut self, want: u32) -> Written {
        let mut plan = Plan::default();
        self.cache.idle(want, &mut plan);
        self.carry_out(&mut plan)
    }

    pub(crate) fn carry_out(&mut self, plan: &mut Plan) -> Written {
        let mut written = Vec::new();
        for (group, manner) in plan.groups() {
            if manner != DestageMethod::Write(WriteOrder::AsGiven) {
                group.sort_by_key(|destage| destage.block);
            }
            written.push((manner, group.iter().map(|destage| destage.block.0).collect()));
            group.iter().for_each(|destage| _ = self.cache.destaged(destage.slot));
        }
        plan.clear();
        self.cache.check();
        written
    }

    pub(crate) fn has(&self, block: u64) -> bool {
        self.cache.lookup(Block(block)).is_some()
    }

    /// Blocks that are cached, in the order of addresses.
    pub(crate) fn cached(&self) -> Vec<u64> {
        (0..DISK_BLOCKS).filter(|&block| self.has(block)).collect()
    }
}

/// Over zones of 8 blocks, which the bands of the disk are, too.
pub(crate) fn made(policy: &str, sets: &[(&str, &str)], slots: u32) -> Run {
    let registry = Registry::default();
    let entry = registry.get(policy).expect("a policy");
    Run::of(make_with(entry, &params(entry, Some("8b"), sets), slots, 1))
}

/// The parameters of a policy, of which these are set; its zones, if it has any, are of this size otherwise.
pub(crate) fn params(entry: &Entry, zone: Option<&str>, sets: &[(&str, &str)]) -> Params {
    let mut params = Params::new(entry.params);
    let zone = zone.filter(|_| params.has("zone")).map(|zone| ("zone", zone));
    for (name, value) in zone.iter().chain(sets) {
        params.set(name, value).expect("a value");
    }
    params
}
