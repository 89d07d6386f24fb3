//! I/O of the disk for the cache: plans are carried out, until an access has its slot or nothing is
//! dirty.

use shingle_core::cache::Outcome;
use shingle_core::plan::{Destage, DestageMethod, WriteOrder};
use shingle_core::policy::{Access, Cost};
use shingle_core::units::{Nanos, Op};
use shingle_drive::Io;

use super::{JOINED_BLOCKS_MAX, System};
use crate::watch::Cause;

impl System {
    /// Carries out the plan and retries until the access has its slot.
    #[inline(never)]
    pub(super) fn make_room(&mut self, access: &mut Access, mut outcome: Outcome) -> Outcome {
        // Each turn destages something or unpins everything; the latter can happen once.
        loop {
            let stuck = self.plan.is_empty();
            if stuck {
                let unpins = self.run.is_pending();
                assert!(unpins, "the policy names no victim and nothing is in use");
                self.issue();
            }
            self.carry_out();
            if outcome != Outcome::NoRoom {
                return outcome;
            }
            outcome = self.cache.retry(access, &mut self.plan);
            if outcome != Outcome::NoRoom && self.plan.is_empty() {
                return outcome;
            }
        }
    }

    fn carry_out(&mut self) {
        self.host.evicted_clean += self.plan.dropped_blocks();
        if let (&[one], true) = (self.plan.destages(), self.plan.is_plain()) {
            self.plan.clear();
            self.destage(&[one]);
            return self.tell_of_disk();
        }
        let split = self.rules.split;
        self.carry_out_groups(|system, group, order| {
            if order == WriteOrder::ByAddress && !split {
                group.sort_unstable_by_key(|destage| destage.block);
            }
            system.destage_all(group);
        });
    }

    /// Carries out the groups of the plan. Groups written to their places are passed to `write`.
    fn carry_out_groups(&mut self, mut write: impl FnMut(&mut System, &mut [Destage], WriteOrder)) {
        let mut plan = core::mem::take(&mut self.plan);
        for (group, manner) in plan.groups() {
            if !matches!(manner, DestageMethod::Write(_)) {
                group.sort_unstable_by_key(|destage| destage.block);
            }
            match manner {
                DestageMethod::Write(order) => write(self, group, order),
                DestageMethod::Append(zone) => self.append_to(zone, group),
                DestageMethod::Rewrite(zone) => self.rewrite(zone, group),
                DestageMethod::HostRmw(zone) => self.host_rmw(zone, group),
                DestageMethod::WholeBand(zone) => self.write_band(zone, group),
            }
        }
        plan.clear();
        self.plan = plan;
        self.tell_of_disk();
    }

    /// Returns the most blocks of an I/O.
    pub(super) fn joined_max(&self) -> usize {
        if self.rules.split { 1 } else { JOINED_BLOCKS_MAX }
    }

    /// Destages in the given order, joining neighbours.
    pub(super) fn destage_all(&mut self, mut rest: &[Destage]) {
        while !rest.is_empty() {
            let joined = rest
                .windows(2)
                .take(self.joined_max() - 1)
                .take_while(|pair| pair[0].block.after(1) == pair[1].block)
                .count();
            let (run, after) = rest.split_at(joined + 1);
            self.destage(run);
            rest = after;
        }
    }

    /// Writes neighbouring blocks to the disk and frees their slots.
    fn destage(&mut self, run: &[Destage]) {
        let read = self.read_slots(run);
        let io = Io { op: Op::Write, block: run[0].block, count: run.len() as u64 };
        let turn = self.disk.serve_for(Cause::Destage, read, &io, &mut self.stamps);
        // The access that needs the room waits for the write.
        self.clock.chain(turn.done);
        self.destaged(run, turn.done.since(turn.came));
    }

    /// Reads the blocks of `run` from the SSD, and their stamps into `stamps`. Returns the
    /// completion.
    pub(super) fn read_slots(&mut self, run: &[Destage]) -> Nanos {
        self.stamps.clear();
        let stamped = self.stamped();
        let mut read = self.clock.ready();
        for destage in run {
            let mut stamp = [0];
            let ready = if self.clock.closed() { read } else { self.clock.ready() };
            read = read.max(self.ssd.read(ready, destage.slot, &mut stamp[..stamped]));
            self.stamps.extend(&stamp[..stamped]);
        }
        read
    }

    /// Reports that the blocks of `run` are on the disk: their slots are freed.
    pub(super) fn destaged(&mut self, run: &[Destage], took: Nanos) {
        for destage in run {
            match self.cache.destaged(destage.slot) {
                true => self.host.evicted_dirty += 1,
                false => self.host.cleaned += 1,
            }
        }
        self.cache.observe(&Cost { op: Op::Write, blocks: run.len() as u64, took });
    }

    /// Destages all dirty blocks, by address, and drains the disk's buffer. Returns the completion.
    pub fn drain_all(&mut self) -> Nanos {
        self.clock.begin_after(self.disk.last_io());
        let mut plain = Vec::new();
        while self.cache.slots().dirty_blocks() > 0 {
            self.empty_policy(&mut plain);
            let names = !plain.is_empty() || self.cache.slots().dirty_blocks() == 0;
            assert!(names, "a policy with dirty blocks names no victim");
            plain.sort_unstable_by_key(|destage: &Destage| destage.block);
            self.destage_all(&plain);
            plain.clear();
            self.tell_of_disk();
        }
        self.serve_pooled();
        let drained = self.disk.drain(self.clock.ready());
        self.clock.end_at(drained);
        drained
    }

    /// Evicts everything: the policy is asked for victims until all dirty blocks are named.
    /// Destages to their places are collected in `plain`, so that the cost of what is left does not
    /// depend on how many blocks a policy names per call; the store also drains by address. Other
    /// manners are carried out.
    fn empty_policy(&mut self, plain: &mut Vec<Destage>) {
        // A block counts as dirty until it is on the disk.
        while self.cache.slots().dirty_blocks() as usize > plain.len() {
            self.cache.evict(self.cache.slots().capacity(), &mut self.plan);
            if self.plan.is_empty() {
                return;
            }
            self.host.evicted_clean += self.plan.dropped_blocks();
            self.carry_out_groups(|_, group, _| plain.extend_from_slice(group));
        }
    }
}
