//! An LRU stack of extents that finds an extent by depth, among all or those of one zone.
//!
//! Accesses get rising positions, and the last one of each extent is marked. A depth is the number
//! of marks after a position. Each zone has a list of its extents' positions, which finds the
//! extent nearest to a depth. When positions run out they are renumbered, so memory grows with the
//! number of accessed extents.

use super::curve::Drawn;
use crate::marks::Marks;

const ROOM_MIN: usize = 1_024;

/// An LRU stack of extents, each of which belongs to a list.
#[derive(Debug)]
pub(super) struct Recency {
    marks: Marks,
    /// The extent that was accessed at each position.
    extents: Vec<u32>,
    /// For each list the positions of its extents, ascending.
    lists: Vec<Vec<u32>>,
    next: usize,
    /// Number of renumberings.
    epoch: u32,
}

/// A range of positions around a distance.
#[derive(Clone, Copy, Debug)]
pub(super) struct Near {
    from: usize,
    at: usize,
    to: usize,
}

/// A position that may be outdated.
#[derive(Clone, Copy, Debug)]
pub(super) struct OldPosition {
    position: usize,
    epoch: u32,
}

impl Near {
    /// Returns its positions, the nearest first, up to a limit.
    pub(super) fn nearest_first(self) -> impl Iterator<Item = usize> {
        const SEARCHED_MAX: usize = 512;
        (0..SEARCHED_MAX).flat_map(move |away| {
            let older = self.at.checked_sub(away).filter(|at| *at >= self.from);
            let newer = (away > 0).then_some(self.at + away).filter(|at| *at <= self.to);
            older.into_iter().chain(newer)
        })
    }
}

impl Recency {
    /// Creates an empty stack.
    pub(super) fn new(lists: usize) -> Recency {
        let marks = Marks::with_first(0, ROOM_MIN);
        Recency { extents: Vec::new(), marks, lists: vec![Vec::new(); lists], next: 0, epoch: 0 }
    }

    /// Returns the number of accessed extents.
    pub(super) fn len(&self) -> u32 {
        self.marks.count()
    }

    /// Returns the position of the extent at a depth; 0 is the last accessed.
    pub(super) fn at_depth(&self, depth: u32) -> usize {
        self.marks.nth(self.len() - 1 - depth)
    }

    /// Returns the number of extents accessed since a position.
    pub(super) fn depth(&self, position: usize) -> u32 {
        self.len() - self.marks.count_up_to(position)
    }

    /// Returns the extent at a position, if that was its last access.
    pub(super) fn extent(&self, position: usize) -> Option<u32> {
        (position < self.next && self.marks.is_set(position)).then(|| self.extents[position])
    }

    /// Returns the positions of a range of distances.
    pub(super) fn near(&self, drawn: Drawn) -> Near {
        let at = |depth| self.at_depth(depth);
        Near { from: at(drawn.to), at: at(drawn.at), to: at(drawn.from) }
    }

    /// Returns the positions of a list within the range, up to a few on either side of the
    /// distance.
    pub(super) fn near_in_list(&self, list: u32, near: Near) -> &[u32] {
        const SIDE: usize = 6;
        let positions = &self.lists[list as usize];
        let at = positions.partition_point(|position| (*position as usize) < near.at);
        let positions = &positions[at.saturating_sub(SIDE)..positions.len().min(at + SIDE)];
        let from = positions.partition_point(|position| (*position as usize) < near.from);
        let to = positions.partition_point(|position| (*position as usize) <= near.to);
        &positions[from..to]
    }

    /// Returns the position in a list that is nearest to the distance, even out of the range.
    pub(super) fn nearest(&self, list: u32, near: Near) -> Option<usize> {
        let positions = &self.lists[list as usize];
        let at = positions.partition_point(|position| (*position as usize) < near.at);
        positions.get(at).or(positions.last()).map(|position| *position as usize)
    }

    /// Keeps a position for use after further accesses.
    pub(super) fn keep_position(&self, position: usize) -> OldPosition {
        OldPosition { position, epoch: self.epoch }
    }

    /// Returns the position of the extent that was accessed next, unless the position is too old.
    pub(super) fn successor(&self, before: OldPosition) -> Option<usize> {
        const SEARCHED_MAX: usize = 64;
        let next = before.position + 1;
        let mut there = (next..next + SEARCHED_MAX).take_while(|_| before.epoch == self.epoch);
        there.find(|position| self.extent(*position).is_some())
    }

    /// Adds the first access to an extent.
    pub(super) fn push(&mut self, extent: u32, list: u32) {
        if self.next == self.marks.room() {
            self.renumber();
        }
        self.marks.set(self.next);
        self.extents.push(extent);
        self.lists[list as usize].push(self.next as u32);
        self.next += 1;
    }

    pub(super) fn move_to_top(&mut self, position: usize, list: u32) {
        let extent = self.extents[position];
        self.marks.clear(position);
        let positions = &mut self.lists[list as usize];
        let at = positions.binary_search(&(position as u32)).expect("its list has it");
        positions.remove(at);
        self.push(extent, list);
    }

    fn renumber(&mut self) {
        for position in self.lists.iter_mut().flatten() {
            *position = self.marks.count_up_to(*position as usize) - 1;
        }
        let (marks, mut at) = (&self.marks, 0);
        self.extents.retain(|_| {
            at += 1;
            marks.is_set(at - 1)
        });
        self.epoch += 1;
        self.next = self.extents.len();
        self.marks = Marks::with_first(self.next, (2 * self.next).max(ROOM_MIN));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn depths_by_hand() {
        let mut recency = Recency::new(2);
        for (extent, list) in [(10, 0), (11, 1), (12, 0), (13, 1)] {
            recency.push(extent, list);
        }
        // 13 12 11 10 from the top.
        let at = recency.at_depth(2);
        assert_eq!((recency.extent(at), recency.depth(at)), (Some(11), 2));
        recency.move_to_top(at, 1);
        // 11 13 12 10.
        let found: Vec<_> = (0..4).map(|depth| recency.extent(recency.at_depth(depth))).collect();
        assert_eq!(found, [Some(11), Some(13), Some(12), Some(10)]);
        assert_eq!(recency.extent(at), None);
        let extents = |list| -> Vec<_> {
            recency.lists[list as usize].iter().map(|at| recency.extent(*at as usize)).collect()
        };
        assert_eq!(extents(0), [Some(10), Some(12)]);
        assert_eq!(extents(1), [Some(13), Some(11)]);
    }

    proptest! {
        /// Long enough to renumber.
        #[test]
        fn a_stack_is_that_of_a_list(uses in proptest::collection::vec(any::<u32>(), 0..4_000)) {
            let mut recency = Recency::new(3);
            let mut stack: Vec<u32> = Vec::new();
            for (number, drawn) in uses.iter().enumerate() {
                if number < 40 || drawn % 50 == 0 {
                    let extent = stack.len() as u32;
                    recency.push(extent, extent % 3);
                    stack.push(extent);
                    continue;
                }
                let depth = drawn % stack.len() as u32;
                let extent = stack.remove(stack.len() - 1 - depth as usize);
                let at = recency.at_depth(depth);
                prop_assert_eq!(recency.extent(at), Some(extent));
                prop_assert_eq!(recency.depth(at), depth);
                recency.move_to_top(at, extent % 3);
                stack.push(extent);
            }
            for list in 0..3 {
                let extents = recency.lists[list as usize].iter().map(|at| recency.extent(*at as usize));
                let expected = stack.iter().filter(|extent| **extent % 3 == list);
                prop_assert!(extents.eq(expected.map(|extent| Some(*extent))));
            }
        }
    }
}
