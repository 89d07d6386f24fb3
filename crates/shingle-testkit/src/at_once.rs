//! An executor that completes all I/O at once.

use std::collections::BTreeMap;

use shingle_core::cache::{CacheCore, Outcome};
use shingle_core::params::Params;
use shingle_core::plan::{Destage, DestageMethod, Plan, WriteOrder};
use shingle_core::policy::{Access, Idle};
use shingle_core::registry::Entry;
use shingle_core::units::{Block, Op, Zone};

use crate::setup::make_with;

/// Completes all I/O at once. Keeps a version of every block and a write pointer of every zone of a
/// host-aware drive, and asserts that each read returns the last write.
pub struct AtOnce {
    pub(crate) cache: Box<dyn CacheCore>,
    pub(crate) idle: Idle,
    plan: Plan,
    in_slot: Vec<u64>,
    pub(crate) on_disk: BTreeMap<Block, u64>,
    pub(crate) latest: BTreeMap<Block, u64>,
    pointers: BTreeMap<Zone, u64>,
    accesses: u64,
}

impl AtOnce {
    /// Makes an executor with an empty cache of `slots` blocks.
    #[must_use]
    pub fn new(entry: &Entry, params: &Params, slots: u32, batch: u64) -> AtOnce {
        AtOnce::over(make_with(entry, params, slots, batch), entry)
    }

    fn over(cache: Box<dyn CacheCore>, entry: &Entry) -> AtOnce {
        let idle = entry.idle;
        let in_slot = vec![u64::MAX; cache.slots().capacity() as usize];
        let (on_disk, latest) = (BTreeMap::new(), BTreeMap::new());
        let (plan, pointers) = (Plan::default(), BTreeMap::new());
        AtOnce { cache, idle, plan, in_slot, on_disk, latest, pointers, accesses: 0 }
    }

    /// Serves one block. Returns whether the access hit.
    pub fn access(&mut self, block: Block, op: Op) -> bool {
        self.accesses += 1;
        let mut access = Access::whole(self.accesses, block, op);
        let mut outcome = self.cache.access(&mut access, &mut self.plan);
        self.execute_plan();
        if outcome == Outcome::NoRoom {
            outcome = self.cache.retry(&mut access, &mut self.plan);
            self.execute_plan();
        }
        let stored = |map: &BTreeMap<Block, u64>| map.get(&block).copied().unwrap_or(0);
        if let Outcome::Miss(slot) = outcome {
            self.in_slot[slot.index()] = stored(&self.on_disk);
        }
        let (Outcome::Hit(slot) | Outcome::Miss(slot)) = outcome else {
            assert_eq!(outcome, Outcome::Bypass, "with nothing in flight there is always room");
            match op {
                Op::Write => {
                    self.on_disk.insert(block, self.accesses);
                    self.latest.insert(block, self.accesses);
                }
                _ => assert_eq!(stored(&self.on_disk), stored(&self.latest)),
            }
            return false;
        };
        assert_eq!(self.cache.slots().block(slot), block);
        if op == Op::Write {
            self.in_slot[slot.index()] = self.accesses;
            self.latest.insert(block, self.accesses);
        }
        assert_eq!(self.in_slot[slot.index()], stored(&self.latest), "a read is not current");
        matches!(outcome, Outcome::Hit(_))
    }

    /// Spends idle time: destages the blocks that the policy names, and returns their number.
    pub fn idle(&mut self, want: u32) -> usize {
        let dirty = self.cache.slots().dirty_blocks() as usize;
        self.cache.idle(want, &mut self.plan);
        let named = self.plan.destages().len();
        assert_eq!(named > 0, self.idle == Idle::Names && dirty > 0 && want > 0);
        self.execute_plan();
        assert_eq!(self.cache.slots().dirty_blocks() as usize, dirty - named);
        named
    }

    /// Whether the block is cached.
    #[must_use]
    pub fn has(&self, block: Block) -> bool {
        self.cache.lookup(block).is_some()
    }

    /// Checks the invariants of cache and policy, and panics if one is broken.
    pub fn check(&self) {
        self.cache.check();
    }

    fn execute_plan(&mut self) {
        let mut plan = core::mem::take(&mut self.plan);
        for (group, manner) in plan.groups() {
            if manner != DestageMethod::Write(WriteOrder::AsGiven) {
                group.sort_by_key(|destage| destage.block);
            }
            if self.cache.wants_write_pointers() {
                self.move_pointers(group, manner);
            }
            for destage in group {
                self.on_disk.insert(destage.block, self.in_slot[destage.slot.index()]);
                self.cache.destaged(destage.slot);
            }
        }
        plan.clear();
        self.plan = plan;
    }

    fn move_pointers(&mut self, group: &[Destage], manner: DestageMethod) {
        let zones = self.cache.slots().zones().clone();
        let offset = |one: &Destage| one.block.0 - zones.first_block(zones.zone(one.block)).0;
        let last = offset(group.last().expect("groups are not empty"));
        let zone = match manner {
            DestageMethod::Write(_) => {
                for one in group {
                    let pointer = self.pointers.entry(zones.zone(one.block)).or_default();
                    *pointer += u64::from(*pointer == offset(one));
                }
                zones.zone(group[0].block)
            }
            DestageMethod::Rewrite(zone) => {
                assert_eq!(group.len() as u64, zones.blocks(zone), "all of it is cached");
                assert!(self.pointers[&zone] > 0, "there is something to reset");
                self.pointers.insert(zone, zones.blocks(zone));
                zone
            }
            DestageMethod::Append(zone) => {
                let pointer = self.pointers.entry(zone).or_default();
                assert!(*pointer <= offset(&group[0]), "nothing before the pointer is appended");
                *pointer = last + 1;
                zone
            }
            DestageMethod::WholeBand(_) => unreachable!("only over disks without write pointers"),
            DestageMethod::HostRmw(zone) => {
                let pointer = self.pointers.entry(zone).or_default();
                *pointer = (*pointer).max(last + 1);
                zone
            }
        };
        assert!(group.iter().all(|one| zones.zone(one.block) == zone), "a group is of one zone");
        self.cache.set_write_pointer(zone, self.pointers.get(&zone).copied().unwrap_or(0));
    }

    /// Trims `count` blocks. After that a block may read as on the disk.
    pub fn trim(&mut self, first: Block, count: u64) {
        let cached =
            |run: &Self| (0..120).filter(|&b| run.cache.lookup(Block(b)).is_some()).count();
        let before = cached(self);
        let dropped = self.cache.trim(first, count);
        assert_eq!(before - cached(self), dropped as usize);
        for block in (first.0..first.0 + count).map(Block) {
            assert_eq!(self.cache.lookup(block), None, "nothing is in flight");
            self.latest.insert(block, self.on_disk.get(&block).copied().unwrap_or(0));
        }
    }
}
