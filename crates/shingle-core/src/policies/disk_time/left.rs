//! Ghosts: blocks that left, with what they were like.

use crate::parts::{Ghosts, Links, List};
use crate::units::Block;

/// As many as there are slots at most. Their links are behind those of the slots.
#[derive(Clone, Debug)]
pub(super) struct Left {
    ghosts: Ghosts,
    /// The one that left last at the head.
    list: List,
    stamps: Vec<u32>,
    slots: u32,
}

impl Left {
    /// Nobody has left a cache of so many slots.
    pub(super) fn new(slots: u32) -> Left {
        let ghosts = Left::capacity_for(slots);
        let (ghosts, stamps) = (Ghosts::new(slots, ghosts), vec![0; ghosts as usize]);
        Left { ghosts, list: List::default(), stamps, slots }
    }

    /// Ghosts for a cache of so many slots.
    pub(super) fn capacity_for(slots: u32) -> u32 {
        Ghosts::capacity_for(slots, slots.into())
    }

    fn place(&self, ghost: u32) -> usize {
        (ghost - self.slots) as usize
    }

    /// A block comes back: its kind, and when it was used last, if that is remembered.
    pub(super) fn take(&mut self, block: Block, links: &mut Links) -> Option<(u8, u32)> {
        let ghost = self.ghosts.find(block)?;
        let known = (self.ghosts.tag(ghost) as u8, self.stamps[self.place(ghost)]);
        self.list.unlink(links, ghost);
        self.ghosts.remove(ghost);
        Some(known)
    }

    /// `block`, which is no ghost, is remembered.
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

    /// As [`Ghosts::expect`].
    #[inline]
    pub(super) fn expect(&self, next: &[Block], soon: &[Block]) {
        self.ghosts.expect(next, soon);
    }

    /// Whether `block` is remembered.
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
