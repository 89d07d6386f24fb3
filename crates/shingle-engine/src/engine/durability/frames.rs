//! Frames that hold nothing.
//!
//! A write never goes over data that counts: it takes a free frame, and the old one is given up when the
//! new one is written.

use crate::format::Frame;

/// Free frames.
#[derive(Clone, Default, Hash)]
pub(super) struct FreeFrames {
    /// The next one at the end.
    free: Vec<Frame>,
    /// With fewer free ones a commit is due, which frees those that were given up.
    low: usize,
    /// For a seeded bug.
    early: Vec<Frame>,
}

impl FreeFrames {
    pub(super) fn new(slots: usize, frames: usize) -> FreeFrames {
        FreeFrames { low: (frames - slots) / 2, ..FreeFrames::default() }
    }

    #[inline]
    pub(super) fn take(&mut self) -> Option<Frame> {
        self.free.pop()
    }

    /// The SSD did not take a write to `frame`: it is tried again when no other is free, as a cache
    /// without free frames could take no write any more.
    pub(super) fn put_back_last(&mut self, frame: Frame) {
        self.free.insert(0, frame);
    }

    /// Frames are free again. Those that lie together leave together.
    pub(super) fn free(&mut self, freed: &mut Vec<Frame>) {
        freed.sort_unstable_by(|a, b| b.cmp(a));
        self.free.append(freed);
    }

    #[inline]
    pub(super) fn few(&self) -> bool {
        self.free.len() < self.low
    }

    #[inline]
    pub(super) fn count(&self) -> usize {
        self.free.len()
    }

    /// A seeded bug only.
    pub(super) fn free_at_once(&mut self, frame: Frame) {
        self.free.push(frame);
    }

    /// A seeded bug only: with the next commit, not with the one after.
    pub(super) fn free_at_commit(&mut self, frame: Frame) {
        self.early.push(frame);
    }

    /// A seeded bug only.
    pub(super) fn take_early(&mut self) -> Vec<Frame> {
        std::mem::take(&mut self.early)
    }
}
