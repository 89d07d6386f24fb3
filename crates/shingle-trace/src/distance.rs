//! Stack distances: the number of distinct other blocks used since the last use of a block.
//!
//! Uses get rising positions. The last position of each block is marked. The distance of a block is
//! the number of marks between its last position and now (Bennett and Kruskal, IBM J. Res. Dev.
//! 19(4), 1975). When positions run out, the last ones are renumbered. So memory grows with the
//! number of distinct blocks, not with the number of uses or the size of the disk.

use hashbrown::HashMap;
use shingle_core::units::Block;

use crate::marks::Marks;

/// Means no number, or no position.
const NEVER: u32 = u32::MAX;

/// Distances of one stream of uses.
#[derive(Clone, Debug, Default)]
pub struct Distances {
    numbers: Numbers,
    stack: Stack,
}

impl Distances {
    /// Creates an empty stream.
    #[must_use]
    pub fn new() -> Distances {
        Distances::default()
    }

    /// Returns the number of distinct blocks used.
    #[must_use]
    pub fn blocks(&self) -> usize {
        self.stack.len() as usize
    }

    /// Records a use of `block`. Returns the number of the block, which counts from 0 by first use,
    /// and the number of distinct other blocks used since its last use; `None` at its first use.
    ///
    /// # Panics
    /// If there are 2³¹ distinct blocks or more.
    pub fn touch(&mut self, block: Block) -> (u32, Option<u64>) {
        let number = self.numbers.of(block);
        (number, self.stack.touch(number))
    }
}

/// Blocks of a page of [`Numbers`]: a cache line, so that isolated blocks waste no more than that.
const PAGE_BLOCKS: u64 = 16;

/// Numbers blocks from 0, in the order of their first use.
#[derive(Clone, Debug, Default)]
pub struct Numbers {
    /// Never iterated, so its order cannot matter.
    index: HashMap<u64, u32>,
    pages: Vec<[u32; PAGE_BLOCKS as usize]>,
    /// The page used last: blocks of the same page come most often.
    last: Option<(u64, u32)>,
    next: u32,
}

impl Numbers {
    /// Returns the number of blocks that are numbered.
    #[must_use]
    pub fn len(&self) -> u32 {
        self.next
    }

    /// Returns whether no block is numbered.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.next == 0
    }

    /// Returns the number of `block`; a new block gets the next number.
    ///
    /// # Panics
    /// If there are 2³¹ distinct blocks or more.
    pub fn of(&mut self, block: Block) -> u32 {
        let page = self.page(block.0 / PAGE_BLOCKS);
        let number = &mut self.pages[page as usize][(block.0 % PAGE_BLOCKS) as usize];
        if *number == NEVER {
            assert!(self.next < 1 << 31, "fewer than 2³¹ different blocks");
            *number = self.next;
            self.next += 1;
        }
        *number
    }

    fn page(&mut self, page: u64) -> u32 {
        if let Some((last, at)) = self.last
            && last == page
        {
            return at;
        }
        let next = self.pages.len() as u32;
        let at = *self.index.entry(page).or_insert(next);
        if at == next {
            self.pages.push([NEVER; PAGE_BLOCKS as usize]);
        }
        self.last = Some((page, at));
        at
    }
}

/// Distances over numbered blocks. Several may share one [`Numbers`].
#[derive(Clone, Debug, Default)]
pub struct Stack {
    last: Vec<u32>,
    /// The last positions of all blocks.
    marks: Marks,
    /// The position of the next use.
    next: usize,
    /// Last position of the block whose use would continue the previous order.
    successor: Option<u32>,
}

const ROOM_MIN: usize = 1_024;
/// Positions are 32 bits wide; nearly 2³¹ blocks still leave room for as many uses again.
const ROOM_MAX: usize = (1 << 32) - 512;

impl Stack {
    /// Returns the number of distinct blocks used.
    #[must_use]
    pub fn len(&self) -> u32 {
        self.marks.count()
    }

    /// Returns whether no block was used.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Records a use of the block of this number. Returns the number of distinct other blocks used
    /// since its last use; `None` at its first use.
    pub fn touch(&mut self, number: u32) -> Option<u64> {
        let at = number as usize;
        if self.last.len() <= at {
            self.last.resize(at + 1, NEVER);
        }
        if self.next == self.marks.room() {
            self.renumber();
        }
        let last = self.last[at];
        let distance = (last != NEVER).then(|| {
            let distance = u64::from(self.len()) - u64::from(self.marks.count_up_to(last as usize));
            self.marks.clear(last as usize);
            distance
        });
        self.marks.set(self.next);
        self.last[at] = self.next as u32;
        self.next += 1;
        distance
    }

    /// Does the same, and returns whether this use repeats the previous order: after the block that
    /// was reused last, the previous order had this block next. New blocks in between do not break
    /// the order.
    pub fn touch_in_order(&mut self, number: u32) -> (Option<u64>, bool) {
        let last = self.last.get(number as usize).copied().filter(|&last| last != NEVER);
        let in_order = last.is_some() && last == self.successor;
        if let Some(last) = last {
            let before = self.marks.count_up_to(last as usize);
            self.successor = (before < self.len()).then(|| self.marks.nth(before) as u32);
        }
        (self.touch(number), in_order)
    }

    /// Renumbers the last positions from 0 in their order, and makes room for three times as many.
    fn renumber(&mut self) {
        let last = self.last.iter_mut().filter(|last| **last != NEVER);
        for last in last.chain(&mut self.successor) {
            *last = self.marks.count_up_to(*last as usize) - 1;
        }
        self.next = self.len() as usize;
        self.marks = Marks::with_first(self.next, (4 * self.next).clamp(ROOM_MIN, ROOM_MAX));
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

    #[test]
    fn blocks_far_apart_take_no_more_memory() {
        let mut distances = Distances::new();
        for block in [u64::MAX, 0, 1 << 50, u64::MAX, u64::MAX - 1] {
            distances.touch(Block(block));
        }
        assert_eq!(distances.blocks(), 4);
        assert_eq!(distances.numbers.pages.len(), 3);
        assert_eq!(distances.touch(Block(0)), (1, Some(3)));
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
                let (_, distance) = distances.touch(Block(block * block * block));
                prop_assert_eq!(distance, at.map(|at| at as u64));
            }
        }

        /// Long enough to renumber several times.
        #[test]
        fn the_old_order_is_that_of_a_list(uses in proptest::collection::vec(0u32..600, 0..6_000)) {
            let mut stack = Stack::default();
            let (mut list, mut successor): (Vec<u32>, Option<u32>) = (Vec::new(), None);
            for number in uses {
                let at = list.iter().position(|&other| other == number);
                prop_assert_eq!(stack.touch_in_order(number).1, at.is_some() && successor == Some(number));
                if let Some(at) = at {
                    successor = list.get(at + 1).copied();
                    list.remove(at);
                }
                list.push(number);
            }
        }

        /// Numbers that a stack never sees, or sees late, change nothing.
        #[test]
        fn stacks_share_numbers(uses in proptest::collection::vec((0u64..90, any::<bool>()), 0..3_000)) {
            let (mut numbers, mut all, mut some) = (Numbers::default(), Stack::default(), Stack::default());
            let (mut alone, mut some_alone) = (Distances::new(), Distances::new());
            for (block, chosen) in uses {
                let number = numbers.of(Block(block));
                prop_assert_eq!((number, all.touch(number)), alone.touch(Block(block)));
                if chosen {
                    prop_assert_eq!(some.touch(number), some_alone.touch(Block(block)).1);
                }
            }
            prop_assert_eq!(some.len() as usize, some_alone.blocks());
        }
    }
}
