//! How far bytes reach that were touched, or were not.

use shingle_core::units::BLOCK_BYTES;

use super::History;
use crate::zones::ZONE_BLOCKS;

impl History {
    pub(super) fn is_touched(&self, zone: usize, block: u64) -> bool {
        let within = (block % ZONE_BLOCKS) as usize;
        self.zones[zone].touched[within / 64] >> (within % 64) & 1 == 1
    }

    /// Whether a block was ever touched.
    pub(in crate::like) fn touched(&self, block: u64) -> bool {
        let zone = self.index.get(&(block / ZONE_BLOCKS));
        zone.is_some_and(|&zone| self.is_touched(zone as usize, block))
    }

    /// Of so many bytes from there on, those up to where more than `fresh` blocks are untouched.
    pub(in crate::like) fn reach(&self, offset: u64, bytes: u64, fresh: u64) -> u64 {
        let mut blocks = offset / BLOCK_BYTES..=(offset + bytes - 1) / BLOCK_BYTES;
        let mut new = blocks.by_ref().filter(|&block| !self.touched(block));
        let new = new.nth(usize::try_from(fresh).unwrap_or(usize::MAX));
        new.map_or(bytes, |block| (block * BLOCK_BYTES).saturating_sub(offset))
    }

    /// How many blocks of these bytes were never touched.
    pub(in crate::like) fn fresh(&self, offset: u64, bytes: u64) -> u64 {
        let blocks = offset / BLOCK_BYTES..=(offset + bytes - 1) / BLOCK_BYTES;
        blocks.filter(|&block| !self.touched(block)).count() as u64
    }

    /// Untouched blocks of the zone from this one on.
    pub(in crate::like) fn room(&self, block: u64) -> u64 {
        let Some(&zone) = self.index.get(&(block / ZONE_BLOCKS)) else {
            return ZONE_BLOCKS - block % ZONE_BLOCKS;
        };
        let end = (block / ZONE_BLOCKS + 1) * ZONE_BLOCKS;
        (block..end).take_while(|&block| !self.is_touched(zone as usize, block)).count() as u64
    }
    /// The next block from this one on in which no request began, if one is near.
    pub(in crate::like) fn without_place(&self, block: u64) -> u64 {
        let mut near = block..block + 16;
        near.find(|&block| self.place_sort(block).is_none()).unwrap_or(block)
    }
}
