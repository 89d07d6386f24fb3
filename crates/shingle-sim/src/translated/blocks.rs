//! Sets of blocks: one bit each, in pages that exist only where there are members.

use std::collections::HashMap;
use std::ops::Range;

/// Words of 64 blocks in a page: 16 MiB of disk.
const PAGE_WORDS: u64 = 64;

/// A set of blocks. A run of them is changed word by word.
#[derive(Clone, Default)]
pub(super) struct Blocks {
    pages: Vec<[u64; PAGE_WORDS as usize]>,
    at: HashMap<u64, usize>,
}

impl Blocks {
    /// Returns the members among the 64 blocks of `word`.
    #[inline]
    pub(super) fn word(&self, word: u64) -> u64 {
        let page = self.at.get(&(word / PAGE_WORDS));
        page.map_or(0, |&page| self.pages[page][(word % PAGE_WORDS) as usize])
    }

    /// Sets the blocks of `mask` in `word`: those in `members` become members, the others do not.
    pub(super) fn replace(&mut self, word: u64, mask: u64, members: u64) {
        let new = self.pages.len();
        let page = *self.at.entry(word / PAGE_WORDS).or_insert(new);
        if page == new {
            self.pages.push([0; PAGE_WORDS as usize]);
        }
        let bits = &mut self.pages[page][(word % PAGE_WORDS) as usize];
        *bits = (*bits & !mask) | (members & mask);
    }

    /// Removes all members; keeps its memory.
    pub(super) fn clear(&mut self) {
        if !self.pages.is_empty() {
            self.pages.clear();
            self.at.clear();
        }
    }
}

/// Returns the words that contain `blocks`, each with the bits of these blocks.
pub(super) fn words(blocks: Range<u64>) -> impl Iterator<Item = (u64, u64)> {
    let all = blocks.start / 64..blocks.end.div_ceil(64);
    all.map(move |word| (word, bits(&blocks, word))).filter(|&(_, bits)| bits != 0)
}

#[inline]
pub(super) fn bits(blocks: &Range<u64>, word: u64) -> u64 {
    let first = blocks.start.clamp(word * 64, word * 64 + 64) - word * 64;
    let end = blocks.end.clamp(word * 64, word * 64 + 64) - word * 64;
    let below = |bit: u64| if bit == 64 { u64::MAX } else { (1 << bit) - 1 };
    below(end) & !below(first)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_cut_into_words() {
        let cut: Vec<(u64, u64)> = words(62..130).collect();
        assert_eq!(cut, [(0, 0b11 << 62), (1, u64::MAX), (2, 0b11)]);
        assert_eq!(words(64..64).count(), 0);
        assert_eq!(words(3..5).collect::<Vec<_>>(), [(0, 0b11000)]);
    }

    #[test]
    fn members_are_those_put_in_last() {
        let mut blocks = Blocks::default();
        blocks.replace(70, 0b1111, 0b0110);
        blocks.replace(70, 0b0010, 0);
        blocks.replace(3, u64::MAX, u64::MAX);
        assert_eq!((blocks.word(70), blocks.word(3), blocks.word(4)), (0b0100, u64::MAX, 0));
        blocks.clear();
        assert_eq!((blocks.word(70), blocks.word(3)), (0, 0));
    }
}
