//! The map of the buffer's slots, for translations that put any block in any slot.
//!
//! A slot is live or a hole. The live slots of a zone are on a list in the order they were filled,
//! so that writing a zone back costs what it collects. A live slot takes 24 bytes here, found by
//! hash; a zone takes 12.

use super::native::{Native, pieces};
use super::write_back::WriteBack;
use crate::translation::{BufferState, Layout, Piece, Place, Step};
use shingle_core::parts::{Links, List};
use shingle_core::units::{Block, Zone};

/// The block of a hole.
const HOLE: u64 = u64::MAX;
/// The end of a chain.
const NONE: u32 = u32::MAX;

#[derive(Clone, Debug)]
pub(crate) struct Buffered {
    blocks: Vec<u64>,
    /// The first slot of each hash chain, and the next one of each slot.
    heads: Vec<u32>,
    chains: Vec<u32>,
    links: Links,
    zones: Vec<List>,
    live: u32,
    live_zones: u32,
}

impl Buffered {
    /// Creates it with holes only.
    pub(crate) fn new(layout: Layout) -> Buffered {
        let slots = layout.buffer_blocks as usize;
        Buffered {
            blocks: vec![HOLE; slots],
            heads: vec![NONE; slots],
            chains: vec![NONE; slots],
            links: Links::new(slots),
            zones: vec![List::default(); layout.zones as usize],
            live: 0,
            live_zones: 0,
        }
    }

    /// Returns the number of slots, live or not.
    pub(crate) fn slots(&self) -> u32 {
        self.blocks.len() as u32
    }

    /// Returns the number of live slots.
    pub(crate) fn live(&self) -> u32 {
        self.live
    }

    /// Returns the number of live slots of `zone`.
    #[inline]
    pub(crate) fn live_of(&self, zone: Zone) -> u32 {
        self.zones[zone.index()].len()
    }

    /// Returns the block in `slot`; `None` if it is a hole.
    #[inline]
    pub(crate) fn block(&self, slot: u32) -> Option<Block> {
        let block = self.blocks[slot as usize];
        (block != HOLE).then_some(Block(block))
    }

    #[inline]
    pub(crate) fn find(&self, block: Block) -> Option<u32> {
        let mut slot = self.heads[self.home(block)];
        while slot != NONE && self.blocks[slot as usize] != block.0 {
            slot = self.chains[slot as usize];
        }
        (slot != NONE).then_some(slot)
    }

    /// Returns the live slots of `zone`, in the order of filling.
    pub(crate) fn of_zone(&self, zone: Zone) -> impl Iterator<Item = u32> + '_ {
        self.zones[zone.index()].from_tail(&self.links)
    }

    /// Returns the live slot of `zone` that was filled first.
    pub(crate) fn first_of(&self, zone: Zone) -> Option<u32> {
        self.zones[zone.index()].tail()
    }

    /// Fills `slot`, a hole, with `block` of `zone`, which is in no slot.
    #[inline]
    pub(crate) fn fill(&mut self, slot: u32, block: Block, zone: Zone) {
        debug_assert!(self.block(slot).is_none() && self.find(block).is_none());
        let home = self.home(block);
        self.blocks[slot as usize] = block.0;
        self.chains[slot as usize] = core::mem::replace(&mut self.heads[home], slot);
        let list = &mut self.zones[zone.index()];
        self.live_zones += u32::from(list.is_empty());
        list.push_head(&mut self.links, slot);
        self.live += 1;
    }

    /// Turns `slot`, which is live in `zone`, into a hole.
    #[inline]
    pub(crate) fn empty(&mut self, slot: u32, zone: Zone) {
        let block = self.block(slot).expect("the slot is live");
        let (home, next) = (self.home(block), self.chains[slot as usize]);
        if self.heads[home] == slot {
            self.heads[home] = next;
        } else {
            let mut before = self.heads[home];
            while self.chains[before as usize] != slot {
                before = self.chains[before as usize];
            }
            self.chains[before as usize] = next;
        }
        self.blocks[slot as usize] = HOLE;
        let list = &mut self.zones[zone.index()];
        list.unlink(&mut self.links, slot);
        self.live_zones -= u32::from(list.is_empty());
        self.live -= 1;
    }

    /// Turns all live slots of `zone` into holes.
    pub(crate) fn empty_zone(&mut self, zone: Zone) {
        while let Some(slot) = self.first_of(zone) {
            self.empty(slot, zone);
        }
    }

    /// Turns the live slots of `count` blocks from `block` on into holes. `emptied` gets each slot
    /// and its zone.
    pub(crate) fn trim(
        &mut self,
        block: Block,
        count: u64,
        native: &Native,
        mut emptied: impl FnMut(&Buffered, u32, Zone),
    ) {
        let mut forget = |this: &mut Buffered, slot, block| {
            let zone = native.zone(block);
            this.empty(slot, zone);
            emptied(this, slot, zone);
        };
        if count < u64::from(self.slots()) {
            for block in (block.0..block.0 + count).map(Block) {
                if let Some(slot) = self.find(block) {
                    forget(self, slot, block);
                }
            }
        } else {
            for slot in 0..self.slots() {
                if let Some(held) = self.block(slot)
                    && (block..block.after(count)).contains(&held)
                {
                    forget(self, slot, held);
                }
            }
        }
    }

    /// If no block of `block`'s zone is in the buffer, and `block` belongs at the zone's write
    /// pointer, appends as many of `count` blocks as there is room for. Returns the step that does.
    pub(crate) fn append_fresh(
        &self,
        native: &mut Native,
        block: Block,
        count: u64,
    ) -> Option<(u64, Step)> {
        let zone = native.zone(block);
        if self.live_of(zone) > 0 {
            return None;
        }
        native.append(block, count).map(|count| (count, Step::Append { zone, block, count }))
    }

    /// Begins to write `zone` back, with all its live slots, in the order of filling.
    pub(crate) fn write_back(&self, zone: Zone, back: &mut WriteBack, native: &Native) {
        let blocks = || self.of_zone(zone).map(|slot| (slot, Block(self.blocks[slot as usize])));
        let lowest = blocks().map(|(_, block)| block).min().expect("the zone is live");
        back.begin(zone, lowest, native);
        for (slot, block) in blocks() {
            back.collect(u64::from(slot), block, 1, native);
        }
        back.close();
    }

    /// Appends the places of `count` blocks from `block` on to `out`.
    pub(crate) fn locate(&self, native: &Native, block: Block, count: u64, out: &mut Vec<Piece>) {
        pieces(block, count, out, |block| match self.find(block) {
            Some(slot) => Place::Buffer(u64::from(slot)),
            None => native.place(block),
        });
    }

    /// Returns the state of the buffer if `used` of its slots are in use.
    pub(crate) fn buffer_state(&self, used: u32) -> BufferState {
        BufferState {
            blocks: u64::from(self.live),
            zones: u64::from(self.live_zones),
            used: u64::from(used),
            free: u64::from(self.slots() - used),
        }
    }

    /// Multiplying by 2^64 divided by the golden ratio spreads neighbours evenly (Knuth, TAOCP 3,
    /// §6.4).
    #[inline]
    fn home(&self, block: Block) -> usize {
        let spread = block.0.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        ((spread * self.heads.len() as u64) >> 32) as usize
    }

    pub(crate) fn memory_bytes(&self) -> u64 {
        let slots =
            self.blocks.capacity() * 8 + (self.heads.capacity() + self.chains.capacity()) * 4;
        let zones = self.zones.capacity() * size_of::<List>();
        (slots + self.links.bytes() + zones) as u64
    }

    /// Panics if slots, chains and lists disagree.
    pub(crate) fn check(&self, native: &Native) {
        let (mut live, mut zones) = (0, 0);
        for slot in 0..self.slots() {
            if let Some(block) = self.block(slot) {
                live += 1;
                assert_eq!(self.find(block), Some(slot), "each live slot is found");
            }
        }
        for (zone, list) in self.zones.iter().enumerate() {
            list.check(&self.links);
            zones += u32::from(!list.is_empty());
            for slot in list.from_tail(&self.links) {
                let block = self.block(slot).expect("slots on lists are live");
                assert_eq!(native.zone(block).index(), zone, "a slot is on the list of its zone");
            }
        }
        let listed: u32 = self.zones.iter().map(List::len).sum();
        assert_eq!((live, zones, listed), (self.live, self.live_zones, live));
    }
}
