//! Stack distances: how many other blocks were used since a block was used last.
//!
//! Uses get rising positions. A Fenwick tree counts, of all positions, those that are the last one of
//! their block; the count between a block's last position and now is its distance (Bennett and
//! Kruskal, IBM J. Res. Dev. 19(4), 1975). When positions run out the last ones are renumbered, so that
//! memory goes with the different blocks and not with the uses.

use shingle_core::units::Block;

/// Never used.
const NEVER: u32 = u32::MAX;

/// Distances of one stream of uses.
#[derive(Clone, Debug, Default)]
pub struct Distances {
    /// Of each block its number here, by first use.
    numbers: Vec<u32>,
    /// Of each number its last position.
    last: Vec<u32>,
    /// Of each position its number, or `NEVER` if it is no longer the last.
    owners: Vec<u32>,
    /// Counts of last positions, as a Fenwick tree: `tree[i]` is that of `i & -i` positions up to `i`.
    tree: Vec<u32>,
}

impl Distances {
    /// Nothing was used yet.
    #[must_use]
    pub fn new() -> Distances {
        Distances::default()
    }

    /// How many different blocks were used.
    #[must_use]
    pub fn blocks(&self) -> usize {
        self.last.len()
    }

    /// A use of `block`. Returns the number of the block, which counts from 0 by first use, and how many
    /// different other blocks were used since it was used last; `None` at its first use.
    ///
    /// # Panics
    /// If there are 2³² different blocks or more.
    pub fn touch(&mut self, block: Block) -> (u32, Option<u64>) {
        if self.owners.len() == self.tree.len().saturating_sub(1) {
            self.renumber();
        }
        let at = usize::try_from(block.0).expect("64-bit machines");
        if self.numbers.len() <= at {
            self.numbers.resize(at + 1, NEVER);
        }
        let number = self.numbers[at];
        if number == NEVER {
            let number = u32::try_from(self.last.len()).expect("fewer than 2³² blocks");
            self.numbers[at] = number;
            self.last.push(0);
            self.put(number);
            return (number, None);
        }
        let last = self.last[number as usize] as usize;
        let distance = self.last.len() as u64 - self.up_to(last);
        self.owners[last] = NEVER;
        self.add(last, false);
        self.put(number);
        (number, Some(distance))
    }

    fn put(&mut self, number: u32) {
        let at = self.owners.len();
        self.owners.push(number);
        self.last[number as usize] = at as u32;
        self.add(at, true);
    }

    fn add(&mut self, position: usize, one_more: bool) {
        let mut at = position + 1;
        while at < self.tree.len() {
            if one_more {
                self.tree[at] += 1;
            } else {
                self.tree[at] -= 1;
            }
            at += at & at.wrapping_neg();
        }
    }

    /// Last positions up to and with this one.
    fn up_to(&self, position: usize) -> u64 {
        let (mut at, mut count) = (position + 1, 0);
        while at > 0 {
            count += u64::from(self.tree[at]);
            at -= at & at.wrapping_neg();
        }
        count
    }

    /// Gives last positions the lowest numbers, in their order, and makes room for as many again.
    fn renumber(&mut self) {
        self.owners.retain(|&owner| owner != NEVER);
        for (position, &owner) in self.owners.iter().enumerate() {
            self.last[owner as usize] = position as u32;
        }
        let room = (2 * self.owners.len()).max(1 << 10);
        self.tree.clear();
        self.tree.resize(room + 1, 0);
        for at in 1..=room {
            self.tree[at] += u32::from(at <= self.owners.len());
            let above = at + (at & at.wrapping_neg());
            if above <= room {
                self.tree[above] += self.tree[at];
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn distances_by_hand() {
        let mut distances = Distances::new();
        let uses = [7, 3, 7, 7, 5, 3, 9, 7];
        let found: Vec<_> = uses.map(|block| distances.touch(Block(block))).to_vec();
        let expected = [
            (0, None),
            (1, None),
            (0, Some(1)),
            (0, Some(0)),
            (2, None),
            (1, Some(2)),
            (3, None),
            (0, Some(3)),
        ];
        assert_eq!(found, expected);
        assert_eq!(distances.blocks(), 4);
    }

    proptest! {
        /// Long enough to renumber several times.
        #[test]
        fn distances_are_those_of_a_list(uses in proptest::collection::vec(0u64..600, 0..6_000)) {
            let mut distances = Distances::new();
            let mut stack: Vec<u64> = Vec::new();
            for block in uses {
                let at = stack.iter().rev().position(|&other| other == block);
                if at.is_some() {
                    stack.retain(|&other| other != block);
                }
                stack.push(block);
                let (_, distance) = distances.touch(Block(block));
                prop_assert_eq!(distance, at.map(|at| at as u64));
            }
        }
    }
}
