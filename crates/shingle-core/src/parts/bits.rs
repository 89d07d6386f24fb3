//! A set of numbers as a hierarchical bitmap. Inserting, removing and finding the next member take
//! a few steps, whatever is in the set. Each level has one bit for each word of the level below
//! that is not empty, so empty stretches are skipped at once.

/// A set of members `0..capacity`.
#[derive(Clone, Debug)]
pub struct Bits {
    /// A bit for each member.
    members: Vec<u64>,
    /// For each further level, a bit for each nonzero word of the level below.
    above: Vec<Vec<u64>>,
}

impl Bits {
    /// Creates an empty set.
    #[must_use]
    pub fn new(capacity: usize) -> Bits {
        let words = capacity.div_ceil(64).max(1);
        let (mut above, mut bits) = (Vec::new(), words);
        while bits > 1 {
            bits = bits.div_ceil(64);
            above.push(vec![0; bits]);
        }
        Bits { members: vec![0; words], above }
    }

    /// Returns whether `member` is in the set.
    #[must_use]
    #[inline]
    pub fn contains(&self, member: u32) -> bool {
        self.members[member as usize / 64] >> (member % 64) & 1 == 1
    }

    /// Adds `member`, if it is not in the set.
    #[inline]
    pub fn insert(&mut self, member: u32) {
        let word = &mut self.members[member as usize / 64];
        let before = core::mem::replace(word, *word | 1 << (member % 64));
        if before == 0 {
            self.fill(member as usize / 64);
        }
    }

    /// Removes `member`, if it is in the set.
    #[inline]
    pub fn remove(&mut self, member: u32) {
        let word = &mut self.members[member as usize / 64];
        *word &= !(1 << (member % 64));
        if *word == 0 {
            self.empty(member as usize / 64);
        }
    }

    /// Updates the upper levels after a word of the members became nonzero.
    #[cold]
    fn fill(&mut self, word: usize) {
        let mut at = word;
        for level in &mut self.above {
            let word = &mut level[at / 64];
            let before = core::mem::replace(word, *word | 1 << (at % 64));
            if before != 0 {
                return;
            }
            at /= 64;
        }
    }

    /// Updates the upper levels after a word of the members became zero.
    #[cold]
    fn empty(&mut self, word: usize) {
        let mut at = word;
        for level in &mut self.above {
            let word = &mut level[at / 64];
            *word &= !(1 << (at % 64));
            if *word != 0 {
                return;
            }
            at /= 64;
        }
    }

    fn levels(&self) -> impl DoubleEndedIterator<Item = &Vec<u64>> + ExactSizeIterator {
        (0..self.above.len() + 1).map(|height| match height {
            0 => &self.members,
            height => &self.above[height - 1],
        })
    }

    /// Returns the least member that is not below `from`.
    #[must_use]
    pub fn next(&self, from: u32) -> Option<u32> {
        let mut at = from as usize;
        // Up, until a word has a bit at this place or behind it; then down to the first of them.
        for (height, level) in self.levels().enumerate() {
            let rest = level.get(at / 64)? & (u64::MAX << (at % 64));
            if rest != 0 {
                let found = at / 64 * 64 + rest.trailing_zeros() as usize;
                let first =
                    |at: usize, level: &Vec<u64>| at * 64 + level[at].trailing_zeros() as usize;
                return Some(self.levels().take(height).rev().fold(found, first) as u32);
            }
            at = at / 64 + 1;
        }
        None
    }

    /// Returns the bytes of memory used.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.levels().map(|level| level.capacity() * size_of::<u64>()).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        /// Sparse and dense, over one level and over several.
        #[test]
        fn bits_are_a_set(
            (capacity, ops) in (1u32..300_000).prop_flat_map(|capacity| {
                let near = 0..capacity.min(200);
                let member = prop_oneof![0..capacity, near];
                (Just(capacity), prop::collection::vec((0u8..3, member), 0..400))
            }),
        ) {
            let (mut bits, mut model) = (Bits::new(capacity as usize), BTreeSet::new());
            for (op, member) in ops {
                match op {
                    0 => { bits.insert(member); model.insert(member); }
                    1 => { bits.remove(member); model.remove(&member); }
                    _ => {}
                }
                prop_assert_eq!(bits.next(member), model.range(member..).next().copied());
                prop_assert_eq!(bits.next(0), model.first().copied());
            }
            prop_assert_eq!(bits.next(capacity), None);
        }
    }

    #[test]
    fn an_empty_set_has_no_next() {
        assert_eq!(Bits::new(0).next(0), None);
    }
}
