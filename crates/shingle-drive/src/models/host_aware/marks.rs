//! A set of offsets in a zone.

use std::ops::Range;

const BITS: u64 = 64;

/// A bit per offset.
#[derive(Clone, Debug)]
pub(super) struct Marks {
    words: Vec<u64>,
}

impl Marks {
    /// Creates an empty set of offsets below `blocks`.
    pub(super) fn new(blocks: u64) -> Marks {
        let words = usize::try_from(blocks.div_ceil(BITS)).expect("a zone fits into memory");
        Marks { words: vec![0; words] }
    }

    pub(super) fn clear(&mut self) {
        self.words.fill(0);
    }

    #[inline]
    pub(super) fn set(&mut self, offset: u64) {
        self.words[index(offset)] |= 1 << (offset % BITS);
    }

    /// Returns the offsets of `range` that are not in the set: their number, and the stretch from
    /// the first to the last.
    pub(super) fn gaps(&self, range: Range<u64>) -> (u64, Range<u64>) {
        let (mut count, mut stretch) = (0, 0..0);
        let mut at = range.start;
        // Terminates: each turn advances to the next word.
        while at < range.end {
            let next = ((at / BITS + 1) * BITS).min(range.end);
            let first = at / BITS * BITS;
            let inside = (u64::MAX >> (BITS - (next - at))) << (at - first);
            let gaps = !self.words[index(at)] & inside;
            if gaps != 0 {
                if count == 0 {
                    stretch.start = first + u64::from(gaps.trailing_zeros());
                }
                stretch.end = first + BITS - u64::from(gaps.leading_zeros());
                count += u64::from(gaps.count_ones());
            }
            at = next;
        }
        (count, stretch)
    }
}

/// The word of an offset.
#[inline]
fn index(offset: u64) -> usize {
    (offset / BITS) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_are_counted_across_words() {
        let mut marks = Marks::new(200);
        let mut rng = crate::parts::rng::Rng::new(2);
        for _ in 0..150 {
            marks.set(rng.below(200));
            let (from, to) = (rng.below(200), rng.below(201));
            let is_gap = |offset: &u64| marks.words[index(*offset)] >> (offset % BITS) & 1 == 0;
            let gaps: Vec<u64> = (from..to).filter(is_gap).collect();
            let stretch = gaps.first().map_or(0..0, |&first| first..gaps[gaps.len() - 1] + 1);
            assert_eq!(marks.gaps(from..to), (gaps.len() as u64, stretch));
        }
        marks.clear();
        assert_eq!(marks.gaps(60..130), (70, 60..130));
        assert_eq!(marks.gaps(60..60), (0, 0..0));
    }
}
