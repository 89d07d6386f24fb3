//! Reuses of the 4 KiB pages in which requests start: their distances, whether they repeat the
//! previous order, and how soon short and long writes are rewritten.
//!
//! Distances of start pages are published for whole MSR volumes (`data/volumes`); a request is one
//! access.

use std::collections::VecDeque;

use shingle_core::units::{Block, Op, Request};

use crate::distance::{Numbers, Stack};

/// The most writes until a rewrite for it to count as soon.
pub const SOON_WRITES: u64 = 5_000;
/// Number of writes to whose mean length a write is compared: a shorter one is short (Amphisbaena
/// §6.1).
pub const WINDOW_WRITES: usize = 1_024;

/// Reuses of start pages.
#[derive(Clone, Debug, Default)]
pub struct Starts {
    numbers: Numbers,
    stack: Stack,
    /// Number of reuses by distance, which is less than the number of pages.
    distances: Vec<u32>,
    reuses: u64,
    in_order: u64,
    writes: u64,
    /// For each page its last write, counted from 1, and whether it was short; 0 for none.
    written: Vec<(u64, bool)>,
    window: Window,
    /// Short writes.
    pub short: Again,
    /// Long writes.
    pub long: Again,
}

/// How often writes are rewritten.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Again {
    /// Number of writes.
    pub writes: u64,
    /// Those after which a write soon starts in the same page.
    pub soon: u64,
}

impl Again {
    /// Returns the fraction that is rewritten soon; NaN if there are no writes.
    #[must_use]
    pub fn part(self) -> f64 {
        self.soon as f64 / self.writes as f64
    }
}

/// Lengths of the last writes, in blocks.
#[derive(Clone, Debug, Default)]
struct Window {
    blocks: VecDeque<u64>,
    sum: u64,
}

impl Window {
    /// Returns whether a write is shorter than the mean of those before it, and adds it to them.
    fn is_short(&mut self, blocks: u64) -> bool {
        let short = blocks * (self.blocks.len() as u64) < self.sum;
        if self.blocks.len() == WINDOW_WRITES {
            self.sum -= self.blocks.pop_front().unwrap_or(0);
        }
        self.blocks.push_back(blocks);
        self.sum += blocks;
        short
    }
}

impl Starts {
    /// Counts a request; trims and flushes are ignored.
    ///
    /// # Panics
    /// If there are 2³¹ distinct pages or more.
    pub fn add(&mut self, request: &Request) {
        if matches!(request.op, Op::Read | Op::Write) {
            self.count(request.first(), request.blocks(), request.op == Op::Write);
        }
    }

    /// Counts a request in blocks.
    pub(crate) fn count(&mut self, first: Block, blocks: u64, write: bool) {
        let number = self.numbers.of(first);
        let at = number as usize;
        let (distance, in_order) = self.stack.touch_in_order(number);
        if self.distances.len() <= at {
            self.distances.resize(at + 1, 0);
            self.written.resize(at + 1, (0, false));
        }
        if let Some(distance) = distance {
            self.distances[distance as usize] += 1;
            self.reuses += 1;
            self.in_order += u64::from(in_order);
        }
        if !write {
            return;
        }
        self.writes += 1;
        let short = self.window.is_short(blocks);
        self.kind(short).writes += 1;
        let (before, was_short) = core::mem::replace(&mut self.written[at], (self.writes, short));
        if before > 0 && self.writes - before <= SOON_WRITES {
            self.kind(was_short).soon += 1;
        }
    }

    fn kind(&mut self, short: bool) -> &mut Again {
        if short { &mut self.short } else { &mut self.long }
    }

    /// Returns the number of distinct start pages.
    #[must_use]
    pub fn pages(&self) -> u64 {
        u64::from(self.numbers.len())
    }

    /// Returns the number of requests that start in a page in which an earlier one started.
    #[must_use]
    pub fn reuses(&self) -> u64 {
        self.reuses
    }

    /// Returns the mean distance of reuses: the number of other pages accessed in between. NaN if
    /// there are none.
    #[must_use]
    pub fn mean(&self) -> f64 {
        let distances = self.distances.iter().enumerate();
        let sum: u64 = distances.map(|(distance, &count)| distance as u64 * u64::from(count)).sum();
        sum as f64 / self.reuses as f64
    }

    /// Returns the smallest LRU size, in pages, that holds this percentage of the reuses; 0 if
    /// there are none.
    #[must_use]
    pub fn holds(&self, percent: u64) -> u64 {
        let wanted = (self.reuses * percent).div_ceil(100).max(1);
        let mut held = 0;
        let enough = |&count: &u32| {
            held += u64::from(count);
            held >= wanted
        };
        self.distances.iter().position(enough).map_or(0, |distance| distance as u64 + 1)
    }

    /// Returns the fraction of reuses that repeat the previous order: the page used next after the
    /// one reused last is reused. NaN if there are none.
    #[must_use]
    pub fn in_order(&self) -> f64 {
        self.in_order as f64 / self.reuses as f64
    }

    /// Returns how many times more often short writes are rewritten soon than long ones; NaN
    /// without both kinds.
    #[must_use]
    pub fn short_to_long(&self) -> f64 {
        self.short.part() / self.long.part()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(requests: &[(u64, u64, bool)]) -> Starts {
        let mut starts = Starts::default();
        requests.iter().for_each(|&(page, blocks, write)| starts.count(Block(page), blocks, write));
        starts
    }

    #[test]
    fn reuses_by_hand() {
        let starts = counted(&[7, 3, 7, 7, 5, 3, 9, 7].map(|page| (page, 1, false)));
        // Distances 1, 0, 2 and 3 of four pages.
        assert_eq!((starts.pages(), starts.reuses(), starts.mean()), (4, 4, 1.5));
        assert_eq!([25, 50, 70, 80, 90].map(|percent| starts.holds(percent)), [1, 2, 3, 4, 4]);
        assert!(counted(&[(1, 1, true)]).mean().is_nan());
    }

    #[test]
    fn the_old_order_by_hand() {
        // 1 2 3 4, then 2 3 (follows), 9 is new, 4 (follows), 1 (does not: 2 came after 4).
        let starts = counted(&[1, 2, 3, 4, 2, 3, 9, 4, 1].map(|page| (page, 1, false)));
        assert_eq!((starts.reuses(), starts.in_order()), (4, 0.5));
    }

    #[test]
    fn short_and_long_writes_by_hand() {
        // The first write is not shorter than those before it. The reads in between are ignored. A
        // rewrite counts for the write before it: 4 and 1 are rewritten; the second 4 and the
        // rewrites are not.
        let starts = counted(&[
            (10, 4, true),
            (20, 1, true),
            (10, 1, false),
            (30, 4, true),
            (20, 1, true),
            (10, 4, true),
        ]);
        assert_eq!(starts.short, Again { writes: 2, soon: 1 });
        assert_eq!(starts.long, Again { writes: 3, soon: 1 });
        assert!((starts.short_to_long() - 1.5).abs() < 1e-9);
    }

    #[test]
    fn soon_ends() {
        for (between, soon) in [(SOON_WRITES - 1, 1), (SOON_WRITES, 0)] {
            let mut requests = vec![(0, 1, true)];
            requests.extend((1..=between).map(|page| (page, 1, true)));
            requests.push((0, 1, true));
            assert_eq!(counted(&requests).long.soon, soon, "{between}");
        }
    }
}
