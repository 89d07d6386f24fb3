//! Writes to zones that a drive exposes: blocks are appended, and zones written back whole.

use shingle_core::plan::Destage;
use shingle_core::units::{Block, Op, Zone};
use shingle_drive::Io;

use super::System;
use crate::watch::Cause;

impl System {
    /// Rewrites `zone` with `group`, sorted, which is all of it: nothing has to be read.
    pub(super) fn rewrite(&mut self, zone: Zone, group: &[Destage]) {
        self.reset(zone);
        self.destage_all(group);
    }

    /// Writes `group`, sorted, at the write pointer of `zone`. Gaps are read if the drive's buffer
    /// holds data there, and otherwise filled with zeros.
    pub(super) fn append_to(&mut self, zone: Zone, group: &[Destage]) {
        let Some(zoned) = self.disk.drive_mut().zoned() else { return self.destage_all(group) };
        let info = zoned.zone(zone);
        let (Some(first), Some(last)) = (group.first(), group.last()) else { return };
        let (from, end) = (info.first.after(info.write_pointer), last.block.after(1));
        if first.block < from {
            // To make room for earlier writes, the drive has cleaned this very zone.
            return self.destage_all(group);
        }
        let begun = self.clock.ready();
        let zeros = self.merge(group, from, end, info.first.after(info.data_end));
        let gaps = end.0 - from.0 - group.len() as u64;
        self.host.host_rmw_read_blocks += gaps - zeros;
        self.host.host_rmw_added_blocks += gaps;
        self.serve_merged(Op::Write, from, end, 0);
        self.destaged(group, self.clock.ready().since(begun));
    }

    /// Reads the blocks of `zone` that are not in `group`, sorted, gaps included, and writes the
    /// zone back from its start (ROCO §2.2, §3.4). It reads as far as the drive has data, in the
    /// zone or in its buffer: the reset removes both.
    ///
    /// Between the reset and the write the data read is only in the host's memory: a store has to
    /// save it somewhere first.
    pub(super) fn host_rmw(&mut self, zone: Zone, group: &[Destage]) {
        let Some(zoned) = self.disk.drive_mut().zoned() else { return self.destage_all(group) };
        let info = zoned.zone(zone);
        let (Some(last), first) = (group.last(), info.first) else { return };
        let end = first.after(info.data_end.max(last.block.0 + 1 - first.0));
        let begun = self.clock.ready();
        let gaps = end.0 - first.0 - group.len() as u64;
        self.merge(group, first, end, end);
        self.reset(zone);
        self.serve_merged(Op::Write, first, end, 0);
        self.host.host_rmw += 1;
        self.host.host_rmw_read_blocks += gaps;
        self.host.host_rmw_written_blocks += end.0 - first.0;
        self.host.host_rmw_added_blocks += gaps;
        self.destaged(group, self.clock.ready().since(begun));
    }

    /// Merges the blocks from `from` to `end`: `group`, sorted, from the cache, and the rest from
    /// the disk as far as `data_end`, then zeros. Returns the number of zero blocks.
    fn merge(&mut self, group: &[Destage], from: Block, end: Block, data_end: Block) -> u64 {
        self.merged.clear();
        let (mut next, mut rest, mut zeros) = (from, group, 0);
        while next < end {
            let gap_end = rest.first().map_or(end, |destage| destage.block);
            let read_end = gap_end.min(data_end.max(next));
            self.read_gap(next, read_end);
            let beyond = gap_end.0 - read_end.0;
            let stamped = self.stamped();
            self.merged.resize(self.merged.len() + beyond as usize * stamped, 0);
            zeros += beyond;
            let joined = rest.iter().zip(gap_end.0..).take_while(|(one, at)| one.block.0 == *at);
            let (run, after) = rest.split_at(joined.count());
            self.read_slots_to_merge(run);
            (next, rest) = (gap_end.after(run.len() as u64), after);
        }
        zeros
    }

    fn reset(&mut self, zone: Zone) {
        let turn = self.disk.reset(self.clock.ready(), zone);
        self.clock.chain(turn.done);
    }

    fn read_gap(&mut self, from: Block, to: Block) {
        let at = self.merged.len();
        self.merged.resize(at + (to.0 - from.0) as usize * self.stamped(), 0);
        self.serve_merged(Op::Read, from, to, at);
    }

    /// Reads cached blocks.
    fn read_slots_to_merge(&mut self, run: &[Destage]) {
        let done = self.read_slots(run);
        self.clock.chain(done);
        self.merged.extend(&self.stamps);
    }

    /// Reads or writes the blocks from `from` to `to`, whose stamps are in `merged` from `at` on.
    pub(super) fn serve_merged(&mut self, op: Op, from: Block, to: Block, at: usize) {
        let most = self.joined_max() as u64;
        let mut next = from;
        while next < to {
            let count = most.min(to.0 - next.0);
            let begin = (at + (next.0 - from.0) as usize).min(self.merged.len());
            let end = (begin + count as usize).min(self.merged.len());
            let io = Io { op, block: next, count };
            let (ready, data) = (self.clock.ready(), &mut self.merged[begin..end]);
            let turn = self.disk.serve_for(Cause::Rmw, ready, &io, data);
            self.clock.chain(turn.done);
            next = next.after(count);
        }
    }
}
