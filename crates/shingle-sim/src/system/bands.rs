//! Writing a whole band in order, over a disk that takes such a band past its buffer.

use shingle_core::plan::Destage;
use shingle_core::units::{Block, Op, Zone};

use super::System;

/// A gap of fewer cached blocks than this is read over, because a new read takes longer than
/// reading on.
const READ_OVER: u64 = 128;

impl System {
    /// Reads the blocks of band `zone` that are not in `group`, sorted, and writes the whole band
    /// in order. The group counts as destaged only then.
    pub(super) fn write_band(&mut self, zone: Zone, group: &[Destage]) {
        let zones = self.cache.slots().zones();
        let first = zones.first_block(zone);
        let end = first.after(zones.blocks(zone));
        let begun = self.clock.ready();
        self.merged.clear();
        self.merged.resize((end.0 - first.0) as usize * self.stamped(), 0);
        let read = self.read_missing(first, end, group);
        self.merge_slots(first, group);
        self.serve_merged(Op::Write, first, end, 0);
        self.host.host_rmw += 1;
        self.host.host_rmw_read_blocks += read;
        self.host.host_rmw_written_blocks += end.0 - first.0;
        self.host.host_rmw_added_blocks += end.0 - first.0 - group.len() as u64;
        self.destaged(group, self.clock.ready().since(begun));
    }

    /// Reads the blocks that are not in `group`, in as few runs as is worthwhile. Returns their
    /// number.
    fn read_missing(&mut self, first: Block, end: Block, group: &[Destage]) -> u64 {
        let mut read = 0;
        // The run to read, and the first cached block behind it.
        let (mut from, mut to) = (first, first);
        let mut next = first;
        let mut rest = group;
        while next < end {
            let cached =
                rest.iter().zip(next.0..).take_while(|(one, at)| one.block.0 == *at).count();
            rest = &rest[cached..];
            let missing = next.after(cached as u64);
            let until = rest.first().map_or(end, |one| one.block);
            if missing < until {
                if cached as u64 >= READ_OVER || from == to {
                    read += self.read_run(first, from, to);
                    from = missing;
                }
                to = until;
            }
            next = until.max(missing);
        }
        read + self.read_run(first, from, to)
    }

    fn read_run(&mut self, first: Block, from: Block, to: Block) -> u64 {
        self.serve_merged(Op::Read, from, to, (from.0 - first.0) as usize);
        to.0 - from.0
    }

    /// Overwrites what was read with the cached blocks, which are newer.
    fn merge_slots(&mut self, first: Block, group: &[Destage]) {
        let done = self.read_slots(group);
        self.clock.chain(done);
        for (one, &stamp) in group.iter().zip(&self.stamps) {
            self.merged[(one.block.0 - first.0) as usize] = stamp;
        }
    }
}
