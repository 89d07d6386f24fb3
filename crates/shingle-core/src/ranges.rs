//! A set of blocks, stored as ranges that neither touch nor overlap.

use std::collections::BTreeMap;
use std::ops::Range;

/// A set of blocks.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Ranges {
    /// Ends, by starts.
    ends: BTreeMap<u64, u64>,
}

impl Ranges {
    /// Adds blocks.
    pub fn insert(&mut self, range: Range<u64>) {
        let Range { mut start, mut end } = range;
        if start >= end {
            return;
        }
        // Ranges that overlap or touch it are merged.
        while let Some((&from, &to)) =
            self.ends.range(..=end).next_back().filter(|&(_, &to)| to >= start)
        {
            self.ends.remove(&from);
            (start, end) = (start.min(from), end.max(to));
        }
        self.ends.insert(start, end);
    }

    /// Removes blocks. Returns whether any was in the set.
    pub fn remove(&mut self, range: Range<u64>) -> bool {
        let mut any = false;
        while let Some(overlap) = self.first_in(range.clone()) {
            any = true;
            let (&from, &to) = self.ends.range(..=overlap.start).next_back().expect("it overlaps");
            self.ends.remove(&from);
            if from < overlap.start {
                self.ends.insert(from, overlap.start);
            }
            if overlap.end < to {
                self.ends.insert(overlap.end, to);
            }
        }
        any
    }

    /// Returns the first part of `range` that is in the set.
    #[must_use]
    pub fn first_in(&self, range: Range<u64>) -> Option<Range<u64>> {
        let before =
            self.ends.range(..=range.start).next_back().filter(|(_, end)| **end > range.start);
        let (&start, &end) = before.or_else(|| self.ends.range(range.start..).next())?;
        let both = start.max(range.start)..end.min(range.end);
        (both.start < both.end).then_some(both)
    }

    /// Removes and returns the first range.
    pub fn pop_first(&mut self) -> Option<Range<u64>> {
        self.ends.pop_first().map(|(start, end)| start..end)
    }

    /// Returns whether all of these blocks are in the set.
    #[must_use]
    pub fn has(&self, range: Range<u64>) -> bool {
        range.is_empty() || self.first_in(range.clone()) == Some(range)
    }

    /// Returns the ranges, in order.
    pub fn iter(&self) -> impl Iterator<Item = Range<u64>> + '_ {
        self.ends.iter().map(|(&start, &end)| start..end)
    }

    /// Returns the first block and the number of blocks of each range, for formats that people
    /// read.
    #[must_use]
    pub fn starts_and_counts(&self) -> Vec<(u64, u64)> {
        self.iter().map(|range| (range.start, range.end - range.start)).collect()
    }

    /// Returns the number of blocks.
    #[must_use]
    pub fn blocks(&self) -> u64 {
        self.iter().map(|range| range.end - range.start).sum()
    }

    /// Returns the number of ranges.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Returns whether the set is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Removes all blocks.
    pub fn clear(&mut self) {
        self.ends.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn it_is_a_set_of_blocks(
            ops in prop::collection::vec((any::<bool>(), 0u64..40, 0u64..9), 1..60),
            look in (0u64..45, 0u64..12),
        ) {
            let (mut ranges, mut blocks) = (Ranges::default(), BTreeSet::new());
            for (inserts, start, count) in ops {
                let range = start..start + count;
                if inserts {
                    ranges.insert(range.clone());
                    blocks.extend(range);
                } else {
                    let any = range.clone().filter(|block| blocks.remove(block)).count() > 0;
                    prop_assert_eq!(ranges.remove(range), any);
                }
            }
            let all: Vec<u64> = ranges.iter().flatten().collect();
            prop_assert_eq!(&all, &blocks.iter().copied().collect::<Vec<_>>());
            let all: Vec<_> = ranges.iter().collect();
            prop_assert!(all.windows(2).all(|two| two[0].end < two[1].start), "{:?}", all);
            prop_assert_eq!(all.len(), ranges.len());
            prop_assert_eq!(ranges.blocks(), blocks.len() as u64);
            let within = look.0..look.0 + look.1;
            let first = within.clone().find(|block| blocks.contains(block));
            let end = first.map(|first| (first..within.end).find(|at| !blocks.contains(at)).unwrap_or(within.end));
            prop_assert_eq!(ranges.first_in(within), first.zip(end).map(|(start, end)| start..end));
        }
    }
}
