//! A set of marked positions that supports counting and selection by rank.
//!
//! Marks are bits. A Fenwick tree counts them by groups of a cache line. To change a mark, to count
//! the marks before a position and to find the n-th take O(log n) memory accesses.

/// Positions of a group: eight words, which fill a cache line.
const GROUP: usize = 512;
const WORDS: usize = GROUP / 64;

/// A set of positions.
#[derive(Clone, Debug, Default)]
pub(crate) struct Marks {
    groups: Vec<[u64; WORDS]>,
    /// A Fenwick tree of the marks by group: `tree[i]` counts the `i & -i` groups up to the i-th.
    tree: Vec<u32>,
    count: u32,
}

impl Marks {
    /// Creates a set with at least `room` positions, of which the first `count` are marked.
    pub(crate) fn with_first(count: usize, room: usize) -> Marks {
        assert!(count <= room, "marks lie within the room");
        let groups = room.div_ceil(GROUP);
        let mut marks = Marks {
            groups: vec![[0; WORDS]; groups],
            tree: vec![0; groups + 1],
            count: count as u32,
        };
        let (full, rest) = (count / 64, count % 64);
        for word in 0..full {
            marks.groups[word / WORDS][word % WORDS] = u64::MAX;
        }
        if rest > 0 {
            marks.groups[full / WORDS][full % WORDS] = (1 << rest) - 1;
        }
        for node in 1..=groups {
            marks.tree[node] +=
                marks.groups[node - 1].iter().map(|word| word.count_ones()).sum::<u32>();
            let above = node + (node & node.wrapping_neg());
            if above <= groups {
                marks.tree[above] += marks.tree[node];
            }
        }
        marks
    }

    pub(crate) fn room(&self) -> usize {
        self.groups.len() * GROUP
    }

    pub(crate) fn count(&self) -> u32 {
        self.count
    }

    pub(crate) fn is_set(&self, position: usize) -> bool {
        self.groups[position / GROUP][position / 64 % WORDS] >> (position % 64) & 1 == 1
    }

    /// Marks a position that is not marked.
    pub(crate) fn set(&mut self, position: usize) {
        self.count += 1;
        self.flip(position, 1);
    }

    /// Removes the mark of a marked position.
    pub(crate) fn clear(&mut self, position: usize) {
        self.count -= 1;
        self.flip(position, u32::MAX); // -1 modulo 2³²
    }

    /// Flips a mark, and adds `change` to the counts, modulo 2³².
    fn flip(&mut self, position: usize, change: u32) {
        self.groups[position / GROUP][position / 64 % WORDS] ^= 1 << (position % 64);
        let mut node = position / GROUP + 1;
        while node < self.tree.len() {
            self.tree[node] = self.tree[node].wrapping_add(change);
            node += node & node.wrapping_neg();
        }
    }

    pub(crate) fn count_up_to(&self, position: usize) -> u32 {
        let group = &self.groups[position / GROUP];
        let word = position / 64 % WORDS;
        let below: u32 = group[..word].iter().map(|word| word.count_ones()).sum();
        let within = (group[word] & (u64::MAX >> (63 - position % 64))).count_ones();
        let (mut node, mut count) = (position / GROUP, below + within);
        while node > 0 {
            count += self.tree[node];
            node -= node & node.wrapping_neg();
        }
        count
    }

    /// Returns the position of the mark with `before` marks before it, which must exist.
    pub(crate) fn nth(&self, before: u32) -> usize {
        assert!(before < self.count, "there are so many marks");
        let groups = self.groups.len();
        let (mut group, mut left, mut step) = (0, before, 1 << groups.ilog2());
        while step > 0 {
            let next = group + step;
            if next <= groups && self.tree[next] <= left {
                group = next;
                left -= self.tree[next];
            }
            step /= 2;
        }
        for (number, &word) in self.groups[group].iter().enumerate() {
            let ones = word.count_ones();
            if left < ones {
                let rest = (0..left).fold(word, |rest, _| rest & (rest - 1));
                return group * GROUP + number * 64 + rest.trailing_zeros() as usize;
            }
            left -= ones;
        }
        unreachable!("the tree counts the marks of the groups")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn marks_are_those_of_a_set(
            first in 0..3_000_usize,
            turned in proptest::collection::vec(0..3_000_usize, 0..600),
        ) {
            let mut marks = Marks::with_first(first, 3_000);
            let mut set: BTreeSet<usize> = (0..first).collect();
            for position in turned {
                if set.remove(&position) {
                    marks.clear(position);
                } else {
                    set.insert(position);
                    marks.set(position);
                }
                prop_assert_eq!(marks.is_set(position), set.contains(&position));
                prop_assert_eq!(marks.count_up_to(position) as usize, set.range(..=position).count());
            }
            prop_assert_eq!(marks.count() as usize, set.len());
            for (before, &position) in set.iter().enumerate().step_by(17) {
                prop_assert_eq!(marks.nth(before as u32), position);
            }
        }
    }
}
