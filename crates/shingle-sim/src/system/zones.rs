//! What an executor does with the zones of a drive that exposes them: write pointers for the policy,
//! and zones written back whole.

use shingle_core::plan::Destage;
use shingle_core::policy::Cost;
use shingle_core::units::{Block, Op, Zone};
use shingle_drive::drive::Io;

use super::System;

impl System {
    /// Tells the policy of write pointers that have moved.
    pub(super) fn tell_write_pointers(&mut self) {
        let Some(zoned) = self.disk.drive_mut().zoned() else { return };
        while let Some(zone) = zoned.moved() {
            self.cache.set_write_pointer(zone, zoned.zone(zone).write_pointer);
        }
    }

    /// `group`, sorted, is all of `zone`: nothing that was there is of use.
    pub(super) fn rewrite(&mut self, zone: Zone, group: &[Destage]) {
        self.reset(zone);
        self.destage_all(group);
    }

    /// Reads what `group`, sorted, leaves out of `zone`, gaps included, and writes the zone back from
    /// its start (ROCO §2.2, §3.4). As far as data lies in the drive, in the zone or in its buffer:
    /// the reset takes both away.
    ///
    /// The data read is in the host's memory alone between the reset and the write: a store has to
    /// put it somewhere safe first.
    pub(super) fn host_rmw(&mut self, zone: Zone, group: &[Destage]) {
        let Some(zoned) = self.disk.drive_mut().zoned() else { return self.destage_all(group) };
        let info = zoned.zone(zone);
        let (Some(last), first) = (group.last(), info.first) else { return };
        let end = first.after(info.data_end.max(last.block.0 + 1 - first.0));
        let begun = self.ready;
        self.merged.clear();

        let (mut next, mut rest) = (first, group);
        while next < end {
            let gap_end = rest.first().map_or(end, |destage| destage.block);
            self.read_gap(next, gap_end);
            let joined = rest.iter().zip(gap_end.0..).take_while(|(one, at)| one.block.0 == *at);
            let (run, after) = rest.split_at(joined.count());
            self.read_slots_to_merge(run);
            (next, rest) = (gap_end.after(run.len() as u64), after);
        }

        self.reset(zone);
        self.write_merged(first, end);
        self.host.host_rmw += 1;
        self.host.evicted_dirty += group.len() as u64;
        for destage in group {
            self.cache.destaged(destage.slot);
        }
        let took = self.ready.since(begun);
        self.cache.observe(&Cost { op: Op::Write, blocks: group.len() as u64, took });
    }

    fn reset(&mut self, zone: Zone) {
        let (start, served) = self.disk.reset(self.ready, zone);
        self.host.drive_write_time += served.done.since(start);
        self.chain(served.done);
    }

    /// Reads what the cache does not have.
    fn read_gap(&mut self, from: Block, to: Block) {
        let (most, checked) = (self.joined_max() as u64, self.check.is_some());
        let mut next = from;
        while next < to {
            let count = most.min(to.0 - next.0);
            let at = self.merged.len();
            self.merged.resize(at + if checked { count as usize } else { 0 }, 0);
            let io = Io { op: Op::Read, block: next, count };
            let (start, served) = self.disk.serve(self.ready, &io, &mut self.merged[at..]);
            self.host.drive_read_time += served.done.since(start);
            self.host.host_rmw_read_blocks += count;
            self.chain(served.done);
            next = next.after(count);
        }
    }

    /// Reads what it has.
    fn read_slots_to_merge(&mut self, run: &[Destage]) {
        let done = self.read_slots(run);
        self.chain(done);
        self.merged.extend(&self.stamps);
    }

    fn write_merged(&mut self, first: Block, end: Block) {
        let most = self.joined_max() as u64;
        let mut next = first;
        while next < end {
            let count = most.min(end.0 - next.0);
            let at = ((next.0 - first.0) as usize).min(self.merged.len());
            let to = (at + count as usize).min(self.merged.len());
            let io = Io { op: Op::Write, block: next, count };
            let (start, served) = self.disk.serve(self.ready, &io, &mut self.merged[at..to]);
            self.host.drive_write_time += served.done.since(start);
            self.host.host_rmw_written_blocks += count;
            self.chain(served.done);
            next = next.after(count);
        }
    }
}
