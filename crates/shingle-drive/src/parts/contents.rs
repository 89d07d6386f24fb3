//! The newest stamp of each block and its place, for checked runs: kept beside the drive, and moved
//! by the drive's moves.
//!
//! A wrong move in a drive shows up as a wrong read. Nothing is kept, and nothing allocated, until
//! the first I/O that carries stamps.

use crate::io::{Io, Stamp};
use crate::steps::{Place, Step, StepLog};
use shingle_core::units::{Block, Op};
use std::collections::HashMap;
use std::ops::Range;

/// Stamps at their native places and in slots of the buffer.
#[derive(Clone, Debug, Default)]
pub(crate) struct Contents {
    on: bool,
    native: HashMap<u64, Stamp>,
    slots: HashMap<u32, Stamp>,
    /// Blocks held in the drive's memory.
    held: HashMap<u64, Stamp>,
    /// Log of the moves, if enabled.
    steps: StepLog,
}

impl Contents {
    /// Returns the log of the moves.
    pub(crate) fn steps(&mut self) -> &mut StepLog {
        &mut self.steps
    }

    /// Notes a host read of a block.
    pub(crate) fn read_from(&mut self, from: Place, block: u64) {
        self.steps.add(Step::Read { from, block: Block(block) });
    }

    /// Notes the rewrite of a part of a band.
    pub(crate) fn rewrite(&mut self, first: u64, blocks: u64, read: bool) {
        self.steps.add(Step::Rewrite { first: Block(first), blocks, read });
    }

    /// Notes that the collected blocks are in their native place.
    pub(crate) fn written(&mut self) {
        self.steps.add(Step::Written);
    }

    /// Called with the data of each I/O: the first stamps switch on keeping them.
    #[inline]
    pub(crate) fn see(&mut self, data: &[Stamp]) {
        self.on |= !data.is_empty();
    }

    /// Returns whether stamps are kept.
    #[inline]
    pub(crate) fn on(&self) -> bool {
        self.on
    }

    /// Writes to a slot of the buffer.
    pub(crate) fn put_slot(&mut self, slot: u32, stamp: Stamp) {
        self.slots.insert(slot, stamp);
        self.steps.add(Step::Put { stamp, to: Place::Slot(slot), block: Block(0) });
    }

    /// Writes to the native place.
    pub(crate) fn put_native(&mut self, block: u64, stamp: Stamp) {
        self.native.insert(block, stamp);
        self.steps.add(Step::Put { stamp, to: Place::Native, block: Block(block) });
    }

    /// Writes to memory.
    pub(crate) fn put_held(&mut self, block: u64, stamp: Stamp) {
        self.held.insert(block, stamp);
        self.steps.add(Step::Put { stamp, to: Place::Memory, block: Block(block) });
    }

    /// Reads a slot of the buffer.
    pub(crate) fn slot(&self, slot: u32) -> Stamp {
        self.slots.get(&slot).copied().unwrap_or(0)
    }

    /// Reads the native place.
    pub(crate) fn native(&self, block: u64) -> Stamp {
        self.native.get(&block).copied().unwrap_or(0)
    }

    /// Reads memory.
    pub(crate) fn held(&self, block: u64) -> Stamp {
        self.held.get(&block).copied().unwrap_or(0)
    }

    /// Moves a slot's stamp to its native place (cleaning).
    pub(crate) fn slot_to_native(&mut self, slot: u32, block: u64) {
        if self.on {
            let stamp = self.slots.remove(&slot).unwrap_or(0);
            self.native.insert(block, stamp);
            self.steps.add(Step::Collect { slot, block: Block(block) });
        }
    }

    /// Moves a stamp from one slot to another (garbage collection).
    pub(crate) fn move_slot(&mut self, from: u32, to: u32) {
        if self.on {
            let stamp = self.slots.remove(&from).unwrap_or(0);
            self.slots.insert(to, stamp);
        }
    }

    /// Empties these slots.
    pub(crate) fn drop_slots(&mut self, slots: Range<u32>) {
        if self.on {
            for slot in slots {
                self.slots.remove(&slot);
            }
        }
    }

    /// Empties these native places, whose data is gone or was synthesized.
    pub(crate) fn drop_native(&mut self, blocks: Range<u64>) {
        if self.on {
            for block in blocks {
                self.native.remove(&block);
            }
        }
    }
}

impl Contents {
    /// Serves the stamps of an I/O of a drive that keeps every block at its native place.
    pub(crate) fn serve_native(&mut self, io: &Io, data: &mut [Stamp]) {
        for (block, stamp) in (io.block.0..).zip(data) {
            match io.op {
                Op::Read => *stamp = self.native(block),
                Op::Write => self.put_native(block, *stamp),
                Op::Trim | Op::Flush => {}
            }
        }
    }
}
