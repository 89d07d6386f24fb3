//! I/O of the disk for the host: misses, the rest of partly written blocks, and bypasses.
//! Neighbours are joined to one I/O.

use shingle_core::policy::{Access, Cost};
use shingle_core::units::{Block, Nanos, Op, Slot};
use shingle_drive::{Io, Stamp};

use super::System;
use crate::watch::Cause;

/// Neighbouring blocks of a request that the disk has to serve, not yet submitted.
#[derive(Clone, Debug, Default)]
pub(super) struct Run {
    op: Option<Op>,
    first: Block,
    blocks: Vec<(Slot, Stamp)>, // slot to fill, or NONE; the stamp a bypassing write carries
    /// Whether the host writes into the slots after they are filled.
    written: bool,
}

impl Run {
    pub(super) fn is_pending(&self) -> bool {
        self.op.is_some()
    }

    fn is_continued_by(&self, op: Op, block: Block, written: bool) -> bool {
        let next = self.first.after(self.blocks.len() as u64);
        self.op == Some(op) && block == next && !written && !self.written
    }

    /// Returns the cause of the I/O.
    fn cause(&self) -> Cause {
        match self.blocks.first() {
            Some(&(Slot::NONE, _)) => Cause::Bypass,
            _ if self.written => Cause::Fill,
            _ => Cause::Miss,
        }
    }
}

impl System {
    /// Adds a fill of `slot` from the disk, for a read or for the rest of a partly written block.
    #[inline(never)]
    pub(super) fn miss(&mut self, slot: Slot, access: &Access, written: bool) {
        self.host.fills += u64::from(written);
        self.cache.pin(slot);
        self.append(Op::Read, access.block, slot, written);
        self.notice_full_cache();
    }

    #[inline(never)]
    pub(super) fn bypass(&mut self, access: &Access) {
        let fills = access.partial && self.rules.fill_partial;
        match access.op {
            Op::Read => {
                self.host.bypassed_reads += 1;
                self.append(Op::Read, access.block, Slot::NONE, false);
            }
            _ => {
                self.host.bypassed_writes += 1;
                if fills {
                    // The disk writes whole blocks, so the rest of this one is read first.
                    self.host.fills += 1;
                    self.append(Op::Read, access.block, Slot::NONE, false);
                }
                self.append(Op::Write, access.block, Slot::NONE, false);
            }
        }
    }

    /// Adds a block to the pending run, or begins a new one.
    fn append(&mut self, op: Op, block: Block, slot: Slot, written: bool) {
        if !self.run.is_continued_by(op, block, written) {
            self.issue();
            (self.run.op, self.run.first, self.run.written) = (Some(op), block, written);
        }
        let stamp = match (op, &mut self.check) {
            (Op::Write, Some(check)) => check.write(block),
            _ => 0,
        };
        self.run.blocks.push((slot, stamp));
    }

    /// Submits the pending run, if there is one.
    #[inline]
    pub(super) fn issue(&mut self) {
        if let Some(op) = self.run.op.take() {
            self.submit(op);
        }
    }

    #[inline(never)]
    fn submit(&mut self, op: Op) {
        let cause = self.run.cause();
        let blocks = core::mem::take(&mut self.run.blocks);
        let io = Io { op, block: self.run.first, count: blocks.len() as u64 };
        self.stamps.clear();
        if self.check.is_some() {
            self.stamps.extend(blocks.iter().map(|&(_, stamp)| stamp));
        }
        let ready = self.clock.ready();
        let turn = self.disk.serve_for(cause, ready, &io, &mut self.stamps);
        self.clock.waits_for(turn.done);
        if op == Op::Read {
            let took = turn.done.since(turn.came);
            self.cache.observe(&Cost { op, blocks: io.count, took });
            self.fill(&blocks, turn.done);
        }
        self.run.blocks = blocks;
        self.run.blocks.clear();
    }

    /// Passes what the disk has read to the host and fills the slots. The host does not wait for
    /// the fill, unless it writes there itself.
    fn fill(&mut self, blocks: &[(Slot, Stamp)], read: Nanos) {
        self.clock.chain(read);
        for (at, &(slot, _)) in blocks.iter().enumerate() {
            let block = self.run.first.after(at as u64);
            let stamp = self.check.as_mut().map(|check| {
                check.read(block, self.stamps[at]);
                if self.run.written { check.write(block) } else { self.stamps[at] }
            });
            if slot == Slot::NONE {
                continue;
            }
            let done = self.store(slot, stamp);
            if self.run.written || self.clock.closed() {
                self.clock.waits_for(done);
            }
            self.cache.unpin(slot);
        }
    }
}
