//! How far bytes reach that were touched, or were not.

use shingle_core::units::BLOCK_BYTES;

use super::History;
use crate::zones::ZONE_BLOCKS;

impl History {
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
}
