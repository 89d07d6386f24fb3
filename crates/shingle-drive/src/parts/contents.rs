//! Where each block's newest stamp lies, for checking runs: beside the drive, moved by its moves.
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
    /// Each move, if somebody wants to know.
    steps: StepLog,
}

impl Contents {
    /// The moves, for somebody who wants to know them.
    pub(crate) fn steps(&mut self) -> &mut StepLog {
        &mut self.steps
    }

    /// The host reads a block.
    pub(crate) fn read_from(&mut self, from: Place, block: u64) {
        self.steps.add(Step::Read { from, block: Block(block) });
    }

    /// A part of a band is rewritten.
    pub(crate) fn rewrite(&mut self, first: u64, blocks: u64, read: bool) {
        self.steps.add(Step::Rewrite { first: Block(first), blocks, read });
    }

    /// What was collected is where it belongs.
    pub(crate) fn written(&mut self) {
        self.steps.add(Step::Written);
    }

    /// Called with the data of each I/O: the first stamps turn the keeping on.
    #[inline]
    pub(crate) fn see(&mut self, data: &[Stamp]) {
        self.on |= !data.is_empty();
    }

    /// Whether stamps are kept.
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

    /// Cleaning: the slot's stamp goes home.
    pub(crate) fn slot_to_native(&mut self, slot: u32, block: u64) {
        if self.on {
            let stamp = self.slots.remove(&slot).unwrap_or(0);
            self.native.insert(block, stamp);
            self.steps.add(Step::Collect { slot, block: Block(block) });
        }
    }

    /// Garbage collection: the stamp goes from one slot to another.
    pub(crate) fn move_slot(&mut self, from: u32, to: u32) {
        if self.on {
            let stamp = self.slots.remove(&from).unwrap_or(0);
            self.slots.insert(to, stamp);
        }
    }

    /// These slots hold nothing any more.
    pub(crate) fn drop_slots(&mut self, slots: Range<u32>) {
        if self.on {
            for slot in slots {
                self.slots.remove(&slot);
            }
        }
    }

    /// What was written to these native places is gone, or has been replaced by made-up data.
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
