//! Zones whose blocks keep their addresses: block `n` of the host belongs into block `n` of the
//! sequential zones, and is there if the write pointer has passed it.

use crate::translation::{Layout, Piece, Place};
use shingle_core::param;
use shingle_core::params::Param;
use shingle_core::units::{Block, Zone};

/// What to do with data that could go to its zone at once: [`super::Buffered::append_fresh`].
pub(crate) const FRESH: Param = param!("fresh": Choice(&["random", "sequential"]) = "random",
    "where a write goes that goes on at the write pointer of a zone of which nothing is in the buffer: to the \
     buffer (the papers'), or to the zone (own)");

/// The write pointer of each sequential zone.
#[derive(Clone, Debug)]
pub(crate) struct Native {
    zone_blocks: u64,
    /// Blocks from the start of the zone.
    pointers: Vec<u32>,
}

/// Checks that a layout is not empty and that its blocks can be counted in 32 bits (16 TiB of
/// buffer, or in a zone). `name` is the translation, for the error.
pub(crate) fn countable(name: &str, layout: Layout) -> Result<(), String> {
    let Layout { zone_blocks, buffer_blocks, zones } = layout;
    let most = u64::from(u32::MAX) - 1;
    if zones == 0 || zone_blocks == 0 || buffer_blocks == 0 {
        return Err(format!("{name} needs a sequential zone and a block of buffer"));
    }
    if zone_blocks > most || buffer_blocks > most {
        return Err(format!("{name} counts to {most} blocks: smaller zones or buffer, please"));
    }
    Ok(())
}

impl Native {
    /// Creates empty zones, if the layout is [`countable`].
    pub(crate) fn new(name: &str, layout: Layout) -> Result<Native, String> {
        countable(name, layout)?;
        let pointers = vec![0; layout.zones as usize];
        Ok(Native { zone_blocks: layout.zone_blocks, pointers })
    }

    pub(crate) fn blocks(&self) -> u64 {
        self.pointers.len() as u64 * self.zone_blocks
    }

    #[inline]
    pub(crate) fn zone(&self, block: Block) -> Zone {
        Zone((block.0 / self.zone_blocks) as u32)
    }

    #[inline]
    pub(crate) fn offset(&self, block: Block) -> u64 {
        block.0 % self.zone_blocks
    }

    pub(crate) fn first(&self, zone: Zone) -> Block {
        Block(u64::from(zone.0) * self.zone_blocks)
    }

    /// Returns the write pointer of `zone`, in blocks from its start.
    #[inline]
    pub(crate) fn pointer(&self, zone: Zone) -> u64 {
        u64::from(self.pointers[zone.index()])
    }

    /// Moves the write pointer of `zone`.
    pub(crate) fn set_pointer(&mut self, zone: Zone, offset: u64) {
        debug_assert!(offset <= self.zone_blocks, "a write pointer stays in its zone");
        self.pointers[zone.index()] = offset as u32;
    }

    /// If `block` belongs at the write pointer of its zone, appends as many of `count` blocks as
    /// there is room for, and returns their number.
    pub(crate) fn append(&mut self, block: Block, count: u64) -> Option<u64> {
        let (zone, offset) = (self.zone(block), self.offset(block));
        let count = count.min(self.zone_blocks - offset);
        let goes_on = offset == self.pointer(zone);
        goes_on.then(|| self.set_pointer(zone, offset + count)).map(|()| count)
    }

    #[inline]
    pub(crate) fn place(&self, block: Block) -> Place {
        if self.offset(block) < self.pointer(self.zone(block)) {
            Place::Native(block.0)
        } else {
            Place::Nowhere
        }
    }

    pub(crate) fn memory_bytes(&self) -> u64 {
        self.pointers.capacity() as u64 * 4
    }
}

/// Appends to `out` the places of `count` blocks from `block` on, neighbours joined.
#[inline]
pub(crate) fn pieces(
    block: Block,
    count: u64,
    out: &mut Vec<Piece>,
    mut place: impl FnMut(Block) -> Place,
) {
    let blocks = (block.0..block.0 + count).map(Block);
    join(blocks.map(|block| Piece { place: place(block), count: 1 }), out);
}

/// Appends pieces to others, as few as there can be.
pub(crate) fn join(pieces: impl Iterator<Item = Piece>, out: &mut Vec<Piece>) {
    let start = out.len();
    for piece in pieces {
        match out[start..].last_mut() {
            Some(last) if last.place.after(last.count) == piece.place => last.count += piece.count,
            _ => out.push(piece),
        }
    }
}
