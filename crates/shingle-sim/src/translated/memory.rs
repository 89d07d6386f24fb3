//! The memory in which a translation's steps move blocks, and which blocks of the zones are padding.
//!
//! Without checking no data is moved: what counts is whether memory has a block that somebody wrote.
//! What an append lacks, and what was padding when it was read, is padding in the zone.

use std::collections::HashMap;
use std::ops::Range;

use shingle_core::units::Block;
use shingle_drive::drive::Stamp;
use shingle_translation::step::Place;

use super::blocks::{Blocks, bits, words};

/// See the module. Blocks are the host's.
#[derive(Clone, Default)]
pub(super) struct Memory {
    /// What the host writes.
    host: Range<u64>,
    /// Blocks that steps have read and that somebody wrote.
    read: Blocks,
    /// Something was read since the last commit.
    gathers: bool,
    /// Blocks whose place in the zones holds padding.
    padding: Blocks,
    padded_first_blocks: u64,
    padded_blocks: u64,
    /// Checked: what memory holds.
    stamps: Option<HashMap<u64, Stamp>>,
    /// Checked: the data of the I/O under way.
    data: Vec<Stamp>,
}

impl Memory {
    /// The first stamps turn the keeping of stamps on.
    #[inline]
    pub(super) fn see(&mut self, data: &[Stamp]) {
        if !data.is_empty() && self.stamps.is_none() {
            self.stamps = Some(HashMap::new());
        }
    }

    /// A work begins. Memory holds what the host writes by it, if it does.
    #[inline]
    pub(super) fn begin(&mut self, host: Range<u64>, data: &[Stamp]) {
        self.read.clear();
        self.gathers = false;
        if let Some(stamps) = &mut self.stamps {
            stamps.clear();
            stamps.extend(host.clone().zip(data.iter().copied()));
        }
        self.host = host;
    }

    /// Room for the data of an I/O of `count` blocks: empty if none is kept.
    pub(super) fn room(&mut self, count: u64) -> &mut [Stamp] {
        self.data.clear();
        if self.stamps.is_some() {
            self.data.resize(count as usize, 0);
        }
        &mut self.data
    }

    /// `parts`, blocks of the host, have been read into the room, one after the other from `place` on.
    pub(super) fn have_read(&mut self, place: Place, parts: &[(Block, u64)]) {
        self.gathers = true;
        let mut data = self.data.as_slice();
        for &(block, count) in parts {
            let blocks = block.0..block.0 + count;
            for (word, mask) in words(blocks.clone()) {
                let written = match place {
                    Place::Buffer(_) => mask,
                    Place::Native(_) => !self.padding.word(word),
                    Place::Nowhere => 0,
                };
                self.read.replace(word, mask, written);
            }
            if let Some(stamps) = &mut self.stamps {
                let (own, rest) = data.split_at(count as usize);
                let held = |at: &u64| self.host.contains(at);
                stamps.extend(blocks.zip(own.iter().copied()).filter(|(at, _)| !held(at)));
                data = rest;
            }
        }
    }

    /// The data of `parts`, which are to be written to the buffer.
    ///
    /// # Panics
    /// If memory lacks a block: a mistake of the translation.
    pub(super) fn for_buffer(&mut self, parts: &[(Block, u64)]) -> &mut [Stamp] {
        self.data.clear();
        if let Some(stamps) = &self.stamps {
            for at in parts.iter().flat_map(|&(block, count)| block.0..block.0 + count) {
                let Some(&stamp) = stamps.get(&at) else {
                    panic!("block {at} is to go to the buffer, and no step before has read it")
                };
                self.data.push(stamp);
            }
        }
        &mut self.data
    }

    /// The data of blocks that are to be appended to a zone; what is lacking is padding.
    pub(super) fn for_zone(&mut self, block: Block, count: u64) -> &mut [Stamp] {
        for (word, mask) in words(block.0..block.0 + count) {
            let made_up = mask & !self.read.word(word) & !bits(&self.host, word);
            let before = self.padding.word(word) & mask;
            if made_up != before {
                self.padding.replace(word, mask, made_up);
            }
            self.padded_blocks += u64::from(made_up.count_ones());
            self.padded_first_blocks += u64::from((made_up & !before).count_ones());
        }
        self.data.clear();
        if let Some(stamps) = &self.stamps {
            let stamp = |at: u64| stamps.get(&at).copied().unwrap_or(0);
            self.data.extend((block.0..block.0 + count).map(stamp));
        }
        &mut self.data
    }

    /// Whether blocks are part of what the host writes.
    #[inline]
    pub(super) fn is_hosts(&self, block: Block, count: u64) -> bool {
        self.host.start <= block.0 && block.0 + count <= self.host.end
    }

    /// All that was read has its new place.
    pub(super) fn commit(&mut self) {
        self.gathers = false;
    }

    /// Whether something was read since the last commit, which an append then writes back.
    pub(super) fn gathers(&self) -> bool {
        self.gathers
    }

    /// Padding written: each gap once, and all of it.
    pub(super) fn padded(&self) -> (u64, u64) {
        (self.padded_first_blocks, self.padded_blocks)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn padding_stays_padding_until_somebody_writes_it() {
        let mut memory = Memory::default();
        // Blocks 10 and 13 come from the buffer, a gap of two between them.
        memory.begin(0..0, &[]);
        memory.have_read(Place::Buffer(0), &[(Block(10), 1), (Block(13), 1)]);
        memory.for_zone(Block(10), 4);
        assert_eq!(memory.padded(), (2, 2));
        // The zone is read and rewritten with a new block 11 and a gap behind.
        memory.begin(0..0, &[]);
        memory.have_read(Place::Native(10), &[(Block(10), 4)]);
        memory.have_read(Place::Buffer(0), &[(Block(11), 1)]);
        memory.for_zone(Block(10), 6);
        assert_eq!(memory.padded(), (4, 5), "12 again, 14 and 15 for the first time");
        // The host writes all of it.
        memory.begin(10..16, &[]);
        memory.for_zone(Block(10), 6);
        memory.begin(0..0, &[]);
        memory.have_read(Place::Native(10), &[(Block(10), 6)]);
        memory.for_zone(Block(10), 6);
        assert_eq!(memory.padded(), (4, 5));
    }

    #[test]
    fn the_hosts_own_data_is_not_replaced() {
        let mut memory = Memory::default();
        memory.see(&[1]);
        memory.begin(4..6, &[70, 71]);
        memory.room(3).copy_from_slice(&[1, 2, 3]);
        memory.have_read(Place::Native(3), &[(Block(3), 3)]);
        assert_eq!(memory.for_zone(Block(2), 5), [0, 1, 70, 71, 0]);
        assert_eq!(memory.for_buffer(&[(Block(5), 1), (Block(3), 1)]), [71, 1]);
    }
}
