//! Ghosts: blocks that have left, with their kinds and stamps.

use crate::parts::{Ghosts, Links, List};
use crate::units::Block;

/// At most as many ghosts as there are slots. Their links are behind those of the slots.
#[derive(Clone, Debug)]
pub(super) struct Left {
    ghosts: Ghosts,
    /// The one that left last is at the head.
    list: List,
    stamps: Vec<u32>,
    slots: u32,
}

impl Left {
    /// Creates an empty set for a cache of `slots` slots.
    pub(super) fn new(slots: u32) -> Left {
        let ghosts = Left::capacity_for(slots);
        let (ghosts, stamps) = (Ghosts::new(slots, ghosts), vec![0; ghosts as usize]);
        Left { ghosts, list: List::default(), stamps, slots }
    }

    /// Returns the number of ghosts for a cache of `slots` slots.
    pub(super) fn capacity_for(slots: u32) -> u32 {
        Ghosts::capacity_for(slots, slots.into())
    }

    fn place(&self, ghost: u32) -> usize {
        (ghost - self.slots) as usize
    }

    /// Removes the ghost of `block` and returns its kind and the stamp of its last use, if there is
    /// one.
    pub(super) fn take(&mut self, block: Block, links: &mut Links) -> Option<(u8, u32)> {
        let ghost = self.ghosts.find(block)?;
        let known = (self.ghosts.tag(ghost) as u8, self.stamps[self.place(ghost)]);
        self.list.unlink(links, ghost);
        self.ghosts.remove(ghost);
        Some(known)
    }

    /// Adds a ghost of `block`, which has none.
    pub(super) fn remember(&mut self, block: Block, kind: u8, stamp: u32, links: &mut Links) {
        if self.ghosts.is_full() {
            let Some(oldest) = self.list.pop_tail(links) else { return };
            self.ghosts.remove(oldest);
        }
        let ghost = self.ghosts.add(block, u16::from(kind));
        let place = self.place(ghost);
        self.stamps[place] = stamp;
        self.list.push_head(links, ghost);
    }

    /// As [`Ghosts::prefetch`].
    #[inline]
    pub(super) fn prefetch(&self, next: &[Block], soon: &[Block]) {
        self.ghosts.prefetch(next, soon);
    }

    /// Returns whether `block` has a ghost.
    pub(super) fn holds(&self, block: Block) -> bool {
        self.ghosts.find(block).is_some()
    }

    pub(super) fn bytes(&self) -> usize {
        self.ghosts.bytes() + self.stamps.capacity() * 4
    }

    pub(super) fn check(&self, links: &Links) {
        self.list.check(links);
        assert_eq!(self.list.len(), self.ghosts.len());
    }
}
