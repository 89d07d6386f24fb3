//! Where the data of each slot is. 32 bytes a slot, which are zeros at first, so that a large cache
//! gets its memory from the system only where it is written.

use prefetch_index::prefetch_index;
use shingle_core::units::{Block, Slot};

use crate::format::Frame;

/// Where the data of a slot is.
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct Mapping {
    pub(in super::super) block: Block,
    /// `None` until the first data of the slot is written.
    pub(in super::super) frame: Option<Frame>,
    pub(in super::super) crc: u32,
    /// Changed with each change of the mapping. A reader compares it after its I/O to see whether
    /// the slot still maps the frame that it read.
    pub(in super::super) version: u32,
    /// The number of the record of this mapping. The disk gets the block only when the record is
    /// committed: otherwise, after a crash, the SSD could hold something older than the disk.
    pub(in super::super) number: u64,
}

/// A mapping in memory: block, number, the frame plus 1 or 0 if there is none, checksum, version.
pub(super) type Packed = (u64, u64, u32, u32, u32);

/// The block of a mapping.
#[inline]
pub(super) fn block_of(&(block, ..): &Packed) -> Block {
    Block(block)
}

/// The mapping of each slot.
#[derive(Clone)]
pub(super) struct Mappings(Vec<Packed>);

impl Mappings {
    /// All slots are without a frame.
    pub(super) fn new(slots: usize) -> Mappings {
        Mappings(vec![(0, 0, 0, 0, 0); slots])
    }

    #[inline]
    pub(super) fn prefetch(&self, slot: Slot) {
        prefetch_index(&self.0, slot.index());
    }

    #[inline]
    pub(super) fn get(&self, slot: Slot) -> Mapping {
        let (block, number, frame, crc, version) = self.0[slot.index()];
        let frame = frame.checked_sub(1).map(Frame);
        Mapping { block: Block(block), frame, crc, version, number }
    }

    #[inline]
    pub(super) fn set(&mut self, slot: Slot, mapping: &Mapping) {
        self.0[slot.index()] = mapping.packed();
    }

    /// Those of all slots, for several threads that set them.
    pub(super) fn all_mut(&mut self) -> &mut [Packed] {
        &mut self.0
    }
}

impl Mapping {
    #[inline]
    pub(super) fn packed(&self) -> Packed {
        let Mapping { block, frame, crc, version, number } = *self;
        // No frame has the highest number: there are fewer.
        (block.0, number, frame.map_or(0, |frame| frame.0 + 1), crc, version)
    }
}
