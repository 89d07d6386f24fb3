//! The completion times of I/O in flight.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use shingle_core::units::Nanos;

/// The completion time of an I/O, its sequence number and its key, packed into one number that
/// sorts in this order.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Due(u128);

/// Later than any.
const NEVER: Due = Due(u128::MAX);

const KEY_BITS: u32 = 24;
const BEGUN_BITS: u32 = 40;

impl Due {
    fn at(self) -> Nanos {
        Nanos((self.0 >> 64) as u64)
    }

    fn key(self) -> usize {
        self.0 as usize & ((1 << KEY_BITS) - 1)
    }
}

/// I/O of two devices, by completion time; of equals the one submitted first.
pub(super) struct Agenda {
    /// I/O that completes in the order of submission, by device: a disk serves one I/O after the
    /// other, and an SSD takes about as long for each.
    in_order: [VecDeque<Due>; 2],
    others: BinaryHeap<Reverse<Due>>,
    /// The first completion; [`NEVER`] if nothing is in flight.
    first: Due,
    /// The queue that it is in: that of a device, or [`OTHERS`].
    first_of: usize,
    begun: u64,
}

/// Value of [`Agenda::first_of`] for `others`.
const OTHERS: usize = 2;

impl Default for Agenda {
    fn default() -> Agenda {
        let (in_order, others) = (<[VecDeque<Due>; 2]>::default(), BinaryHeap::new());
        Agenda { in_order, others, first: NEVER, first_of: OTHERS, begun: 0 }
    }
}

impl Agenda {
    /// Adds I/O `key` of a device, which completes at `at`.
    pub(super) fn begin(&mut self, device: usize, at: Nanos, key: usize) {
        assert!(key >> KEY_BITS == 0 && self.begun >> BEGUN_BITS == 0, "no run has so much I/O");
        let due = Due(u128::from(at.0) << 64 | u128::from(self.begun << KEY_BITS | key as u64));
        self.begun += 1;
        let in_order = &mut self.in_order[device];
        let of = if in_order.back().is_none_or(|&last| last < due) {
            in_order.push_back(due);
            device
        } else {
            self.others.push(Reverse(due));
            OTHERS
        };
        if due < self.first {
            (self.first, self.first_of) = (due, of);
        }
    }

    fn look(&mut self) {
        let others = self.others.peek().map_or(NEVER, |&Reverse(due)| due);
        (self.first, self.first_of) = (others, OTHERS);
        for (of, in_order) in self.in_order.iter().enumerate() {
            if let Some(&due) = in_order.front()
                && due < self.first
            {
                (self.first, self.first_of) = (due, of);
            }
        }
    }

    /// Returns the time of the next completion; [`Nanos::NEVER`] if nothing is in flight.
    #[inline]
    pub(super) fn next(&self) -> Nanos {
        self.first.at()
    }

    /// Removes and returns the next I/O that completes by `now`.
    #[inline]
    pub(super) fn done(&mut self, now: Nanos) -> Option<usize> {
        let first = self.first;
        // NEVER is later than any time.
        if first.at() > now || first == NEVER {
            return None;
        }
        match self.in_order.get_mut(self.first_of) {
            Some(due) => drop(due.pop_front()),
            None => drop(self.others.pop()),
        }
        self.look();
        Some(first.key())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_done_first_comes_first_and_of_equals_what_was_begun_first() {
        let mut agenda = Agenda::default();
        let ios = [(0, 50), (1, 20), (0, 70), (0, 20), (1, 20), (0, 60), (1, 5), (1, 90)];
        for (key, (device, at)) in ios.into_iter().enumerate() {
            agenda.begin(device, Nanos(at), key);
        }
        let mut done = Vec::new();
        for now in [4, 5, 55, 100] {
            let next = agenda.next();
            let keys = std::iter::from_fn(|| agenda.done(Nanos(now)));
            done.push((next.0, keys.collect::<Vec<_>>()));
        }
        let expected = [(5, vec![]), (5, vec![6]), (20, vec![1, 3, 4, 0]), (60, vec![5, 2, 7])];
        assert_eq!(done, expected);
        assert_eq!(agenda.next(), Nanos::NEVER);
    }
}
