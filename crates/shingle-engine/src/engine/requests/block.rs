//! An operation on one block: a part of a command.

use std::ops::Range;

use shingle_core::units::{BLOCK_BYTES, Block, Nanos, Slot};

use super::super::keys::CommandKey;
use crate::data::Data;
use crate::format::journal::Record;
use crate::format::{Frame, State};

/// The operation of a command on one block, or a part of it.
#[derive(Clone)]
pub(in super::super) struct BlockOp<D> {
    pub(super) command: CommandKey,
    pub(super) block: Block,
    /// The position of the block in the command, from 0.
    pub(super) place: u32,
    pub(super) write: bool,
    /// The bytes within the block.
    pub(super) part: Range<u16>,
    pub(super) slot: Option<Slot>,
    /// Whether the block was cached and dirty before this.
    pub(super) was_dirty: bool,
    /// The policy has been called for this access.
    pub(super) asked: bool,
    /// The client has its answer; the rest concerns the cache only.
    pub(super) answered: bool,
    /// The frame that the data is written to, and its checksum.
    pub(super) frame: Option<Frame>,
    pub(super) crc: u32,
    /// Data kept while the operation waits.
    pub(super) buffer: Option<D>,
    pub(super) stage: Stage,
    pub(super) since: Nanos,
}

/// What an operation does when it is run.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(in super::super) enum Stage {
    /// Begins with the lookup.
    New,
    /// Writes its data to the disk, as soon as the SSD records that it holds none.
    Bypass,
    /// Writes through: waits until the block may be destaged.
    Through,
}

impl<D: Data> BlockOp<D> {
    pub(super) fn new(
        command: CommandKey,
        block: Block,
        place: u32,
        write: bool,
        part: Range<u16>,
        since: Nanos,
    ) -> BlockOp<D> {
        BlockOp {
            command,
            block,
            place,
            write,
            part,
            slot: None,
            was_dirty: false,
            asked: false,
            answered: false,
            frame: None,
            crc: 0,
            buffer: None,
            stage: Stage::New,
            since,
        }
    }

    pub(in super::super) fn block(&self) -> Block {
        self.block
    }

    pub(in super::super) fn is_write(&self) -> bool {
        self.write
    }

    pub(in super::super) fn is_partial(&self) -> bool {
        self.part.len() < BLOCK_BYTES as usize
    }

    /// Its slot, which is pinned.
    pub(in super::super) fn slot(&self) -> Option<Slot> {
        self.slot
    }

    pub(in super::super) fn was_dirty(&self) -> bool {
        self.was_dirty
    }

    pub(in super::super) fn stage(&self) -> Stage {
        self.stage
    }

    /// Sets the slot that the policy gave it, which stays pinned until the operation is done.
    pub(in super::super) fn enter(&mut self, slot: Slot, was_dirty: bool) {
        (self.slot, self.was_dirty) = (Some(slot), was_dirty);
    }

    /// Takes its slot away.
    pub(in super::super) fn take_slot(&mut self) -> Option<Slot> {
        self.slot.take()
    }

    /// Notes that the policy is called for it. Returns whether that was done before.
    pub(in super::super) fn mark_asked(&mut self) -> bool {
        std::mem::replace(&mut self.asked, true)
    }

    pub(in super::super) fn resume_at(&mut self, stage: Stage) {
        self.stage = stage;
    }

    /// Keeps its data while it waits.
    pub(in super::super) fn keep(&mut self, buffer: D) {
        self.buffer = Some(buffer);
    }

    /// Takes the data back.
    pub(in super::super) fn take_buffer(&mut self) -> D {
        self.buffer.take().expect("it waits with its data")
    }

    /// Sets the frame that its data is written to.
    pub(in super::super) fn write_to(&mut self, frame: Frame, crc: u32) {
        (self.frame, self.crc) = (Some(frame), crc);
    }

    /// The frame that its data is written to.
    pub(in super::super) fn frame(&self) -> Option<Frame> {
        self.frame
    }

    /// The record to add when its data is written.
    pub(in super::super) fn record(&self) -> Record {
        let state = if self.write { State::Dirty } else { State::Clean };
        let frame = self.frame.expect("a frame");
        Record { frame, crc: self.crc, block: self.block, state }
    }
}
