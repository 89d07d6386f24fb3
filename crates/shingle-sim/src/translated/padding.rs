//! Padding: blocks of the zones that were appended but never written by the host.
//!
//! An append writes padding for blocks that are not in memory. A block that was padding when it was
//! read is padding when it is appended again.

use std::ops::Range;

use shingle_core::units::Block;
use shingle_translation::{Place, Step};

use super::blocks::{Blocks, bits, words};

/// Tracks padding; see the module. Blocks are numbered as the host does.
#[derive(Clone, Default)]
pub(super) struct Padding {
    /// The blocks that the host writes by the current work.
    host: Range<u64>,
    read: Blocks,
    /// Blocks whose place in the zones holds padding.
    padding: Blocks,
    first_blocks: u64,
    blocks: u64,
}

impl Padding {
    /// Begins a work by which the host writes these blocks.
    #[inline]
    pub(super) fn begin(&mut self, host: Range<u64>) {
        self.read.clear();
        self.host = host;
    }

    pub(super) fn have_read(&mut self, steps: &[Step]) {
        for step in steps {
            let Step::Read { from, .. } = step else { continue };
            for (word, mask) in words(step.blocks()) {
                let written = match from {
                    Place::Buffer(_) => mask,
                    Place::Native(_) => !self.padding.word(word),
                    Place::Nowhere => 0,
                };
                self.read.replace(word, mask, written);
            }
        }
    }

    pub(super) fn append(&mut self, block: Block, count: u64) {
        for (word, mask) in words(block.0..block.0 + count) {
            let made_up = mask & !self.read.word(word) & !bits(&self.host, word);
            let before = self.padding.word(word) & mask;
            if made_up != before {
                self.padding.replace(word, mask, made_up);
            }
            self.blocks += u64::from(made_up.count_ones());
            self.first_blocks += u64::from((made_up & !before).count_ones());
        }
    }

    /// Returns the padding written: each gap counted once, and in total.
    pub(super) fn written(&self) -> (u64, u64) {
        (self.first_blocks, self.blocks)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn padding_stays_padding_until_the_host_writes_it() {
        let read = |from, block, count| Step::Read { from, block: Block(block), count };
        let mut padding = Padding::default();
        // Blocks 10 and 13 come from the buffer, a gap of two between them.
        padding.begin(0..0);
        padding.have_read(&[read(Place::Buffer(0), 10, 1), read(Place::Buffer(1), 13, 1)]);
        padding.append(Block(10), 4);
        assert_eq!(padding.written(), (2, 2));
        // The zone is read and rewritten with a new block 11 and a gap behind.
        padding.begin(0..0);
        padding.have_read(&[read(Place::Native(10), 10, 4)]);
        padding.have_read(&[read(Place::Buffer(0), 11, 1)]);
        padding.append(Block(10), 6);
        assert_eq!(padding.written(), (4, 5), "12 again, 14 and 15 for the first time");
        // The host writes all of it.
        padding.begin(10..16);
        padding.append(Block(10), 6);
        padding.begin(0..0);
        padding.have_read(&[read(Place::Native(10), 10, 6)]);
        padding.append(Block(10), 6);
        assert_eq!(padding.written(), (4, 5));
    }
}
