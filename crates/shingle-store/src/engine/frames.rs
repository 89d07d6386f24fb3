//! Which frame holds the block of each slot, and which frames are free.
//!
//! The policy knows slots, the SSD has frames. A write never goes over data that counts: it takes a
//! free frame, and the old one is given up when the new one is written.

use std::collections::VecDeque;

use hashbrown::HashMap;
use shingle_core::units::{Block, Slot};

use super::Engine;
use super::bugs::Bug;
use super::commit::FOUND;
use crate::format::journal::Record;
use crate::format::{Frame, State};

/// What a slot holds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Held {
    pub(super) block: Block,
    /// `None` until the first data of the slot is written.
    pub(super) frame: Option<Frame>,
    pub(super) crc: u32,
    /// Counts what has become of the slot: who read a frame knows by it whether that still is the one.
    pub(super) version: u32,
    /// Of the record that says so: the disk gets the block when it is committed. Otherwise, after a
    /// crash, the SSD could hold something older than the disk.
    pub(super) number: u64,
}

/// Frames of the SSD.
#[derive(Default)]
pub(super) struct Frames {
    held: Vec<Held>,
    /// The next one at the end.
    free: Vec<Frame>,
    /// With fewer free ones a commit is due, which frees those that were given up.
    low: usize,
    /// Blocks that left and of which the SSD may still say that they are here, by the record that says
    /// they are not.
    unsaid: HashMap<Block, u64>,
    unsaid_order: VecDeque<(u64, Block)>,
    /// For a seeded bug.
    early: Vec<Frame>,
}

const NONE: Held = Held { block: Block(0), frame: None, crc: 0, version: 0, number: 0 };

impl Frames {
    pub(super) fn new(slots: usize, frames: usize) -> Frames {
        Frames { held: vec![NONE; slots], low: (frames - slots) / 2, ..Frames::default() }
    }

    pub(super) fn held(&self, slot: Slot) -> Held {
        self.held[slot.index()]
    }

    /// As many slots, all without data, to be filled and set.
    pub(super) fn none_held(&self) -> Vec<Held> {
        vec![NONE; self.held.len()]
    }

    /// Slots have other numbers from now on.
    pub(super) fn set_held(&mut self, held: Vec<Held>) {
        self.held = held;
    }

    /// What was found on the SSD.
    pub(super) fn restore(&mut self, slot: Slot, block: Block, frame: Frame, crc: u32) {
        self.held[slot.index()] =
            Held { block, frame: Some(frame), crc, version: 0, number: FOUND };
    }

    pub(super) fn take(&mut self) -> Option<Frame> {
        self.free.pop()
    }

    /// The SSD did not take a write to `frame`: it is tried again when no other is free, as a cache
    /// without free frames could take no write any more.
    pub(super) fn put_back_last(&mut self, frame: Frame) {
        self.free.insert(0, frame);
    }

    /// Frames are free again. Those that lie together leave together.
    pub(super) fn freed(&mut self, freed: &mut Vec<Frame>) {
        freed.sort_unstable_by(|a, b| b.cmp(a));
        self.free.append(freed);
    }

    pub(super) fn few(&self) -> bool {
        self.free.len() < self.low
    }

    pub(super) fn free_count(&self) -> usize {
        self.free.len()
    }

    /// The record that has to be committed before the disk may get something newer of `block`, which
    /// is not cached.
    pub(super) fn unsaid(&self, block: Block) -> u64 {
        self.unsaid.get(&block).copied().unwrap_or(FOUND)
    }

    /// Records up to this one are committed.
    pub(super) fn said(&mut self, committed: u64) {
        while let Some(&(number, block)) = self.unsaid_order.front()
            && number <= committed
        {
            self.unsaid_order.pop_front();
            if self.unsaid.get(&block) == Some(&number) {
                self.unsaid.remove(&block);
            }
        }
    }
}

impl Engine {
    /// The data of `slot` is in `frame` from now on.
    pub(super) fn hold(&mut self, slot: Slot, block: Block, frame: Frame, crc: u32, state: State) {
        let number = self.record(Record { frame, crc, block, state });
        let old = self.frames.held(slot);
        if let Some(old_frame) = old.frame.filter(|&old_frame| old_frame != frame) {
            assert_eq!(old.block, block, "a slot was given up before it held another block");
            let superseded = Record { frame: old_frame, crc: 0, block, state: State::Superseded };
            if !self.bug(Bug::SupersededForgotten) {
                self.record(superseded);
            }
            self.reuse_too_early(old_frame);
        }
        let version = old.version.wrapping_add(1);
        self.frames.held[slot.index()] = Held { block, frame: Some(frame), crc, version, number };
        self.remember_use(slot);
    }

    /// `slot` no longer holds what it held.
    pub(super) fn give_up(&mut self, slot: Slot) {
        let held = &mut self.frames.held[slot.index()];
        held.version = held.version.wrapping_add(1);
        let block = held.block;
        let Some(frame) = held.frame.take() else { return };
        if self.bug(Bug::DroppedForgotten) {
            return;
        }
        let number = self.record(Record { frame, crc: 0, block, state: State::Free });
        self.frames.unsaid.insert(block, number);
        self.frames.unsaid_order.push_back((number, block));
        self.reuse_too_early(frame);
    }

    /// Seeded bugs only.
    fn reuse_too_early(&mut self, frame: Frame) {
        if self.bug(Bug::FrameReusedAtOnce) {
            self.frames.free.push(frame);
        } else if self.bug(Bug::FrameReusedAtCommit) {
            self.frames.early.push(frame);
        }
    }

    /// What a commit made free.
    pub(super) fn take_freed(&mut self, mut freed: Vec<Frame>) {
        if self.bug(Bug::FrameReusedAtOnce) {
            return;
        }
        if self.bug(Bug::FrameReusedAtCommit) {
            freed = std::mem::take(&mut self.frames.early);
        }
        self.frames.freed(&mut freed);
    }
}
