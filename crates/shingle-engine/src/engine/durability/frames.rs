//! The free frames.
//!
//! A write never overwrites valid data: it takes a free frame, and the old one is released when the
//! new one is written.

use crate::format::Frame;

#[derive(Clone, Default, Hash)]
pub(super) struct FreeFrames {
    /// The next one is the last of the list.
    free: Vec<Frame>,
    /// With fewer free frames than this a commit is due, to free those that were released.
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

    /// Returns a frame to which a write failed. It is used again only when no other is free:
    /// without free frames the cache could take no write at all.
    pub(super) fn put_back_last(&mut self, frame: Frame) {
        self.free.insert(0, frame);
    }

    /// Adds frames that are free again, sorted so that neighbours are used one after the other.
    pub(super) fn free(&mut self, freed: &mut Vec<Frame>) {
        freed.sort_unstable_by(|a, b| b.cmp(a));
        self.free.append(freed);
    }

    #[inline]
    pub(super) fn is_low(&self) -> bool {
        self.free.len() < self.low
    }

    #[inline]
    pub(super) fn count(&self) -> usize {
        self.free.len()
    }

    /// For a seeded bug.
    pub(super) fn free_at_once(&mut self, frame: Frame) {
        self.free.push(frame);
    }

    /// For a seeded bug: frees the frame with the next commit, not with the one after.
    pub(super) fn free_at_commit(&mut self, frame: Frame) {
        self.early.push(frame);
    }

    /// For a seeded bug.
    pub(super) fn take_early(&mut self) -> Vec<Frame> {
        std::mem::take(&mut self.early)
    }
}
