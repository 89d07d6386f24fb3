//! The cheapest beginning of the stretch of writes that a rewrite of a band covers now.
//!
//! A stretch that begins with write `i` costs what was spent before it and, for each write from `i`
//! on, the price of holding its data until now: `places · max(0, min(until, now) − from)`. This
//! never falls with time: not if the data takes a place only from a later read on, nor if it shares
//! a place, nor when it is no longer valid. So of two beginnings the later one, which covers fewer
//! writes, gains on the earlier one, and once it costs no more it never does again. The earlier one
//! is then dropped.
//!
//! Of those that remain, a later beginning costs more, so the first is the best. For each one the
//! difference to the next is kept: the cost of the writes that it covers and the next does not, as
//! a line over time. A heap gives the beginning that reaches the cost of its successor soonest.
//! Lines change when data begins to take a place and when it ceases to, twice per write; each
//! beginning is dropped once. So a band with `n` writes takes time in `n log n`.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::band::{Band, Costs, NEVER};

/// Times beyond this never come: a price, or places except for rounding, may be zero.
const ACCESSES_MAX: f64 = 1e15;

/// Places that are taken until now, times accesses: `places · now − begun`.
#[derive(Clone, Copy, Default)]
struct Held {
    places: f64,
    begun: f64,
}

impl Held {
    /// Adds places from `now` on; a negative number releases places.
    fn takes(&mut self, places: f64, now: u64) {
        self.places += places;
        self.begun += places * now as f64;
    }

    fn add(&mut self, other: Held, times: f64) {
        self.places += times * other.places;
        self.begun += times * other.begun;
    }

    fn until(self, now: u64) -> f64 {
        self.places * now as f64 - self.begun
    }
}

/// A write with which a stretch may begin.
struct Begin {
    /// What was spent before it.
    spent: f64,
    /// Held data of the writes from here to the next beginning that was not dropped.
    held: Held,
    /// The next beginning that was not dropped.
    next: usize,
    /// Itself, or, if it was dropped, an earlier beginning (union-find).
    dropped_for: usize,
    /// Time at which it costs as much as the next.
    ends: u64,
}

pub(super) struct Begins<'a> {
    band: &'a Band,
    costs: &'a Costs,
    begins: Vec<Begin>,
    first: usize,
    /// Held data of all writes from the first beginning on.
    held: Held,
    /// Beginnings by [`Begin::ends`]; entries may be outdated.
    soonest: BinaryHeap<Reverse<(u64, usize)>>,
    /// Number of writes whose data takes, or took, a place; and of those whose data is no longer
    /// valid.
    taken: usize,
    over: usize,
}

impl Begins<'_> {
    pub(super) fn new<'a>(band: &'a Band, costs: &'a Costs) -> Begins<'a> {
        let begins = Vec::with_capacity(band.writes.len());
        let (first, held, soonest, taken, over) = (0, Held::default(), BinaryHeap::new(), 0, 0);
        Begins { band, costs, begins, first, held, soonest, taken, over }
    }

    /// Adds a beginning at the next write, which comes now. `spent` is the cost before it.
    pub(super) fn add(&mut self, spent: f64, now: u64) {
        let begin = self.begins.len();
        let held = Held::default();
        self.begins.push(Begin { spent, held, next: begin + 1, dropped_for: begin, ends: NEVER });
        if begin > 0 {
            let before = self.kept(begin - 1);
            self.find_crossing(before, now);
        }
    }

    /// Returns the cost of the best stretch that ends with the last write, including what was spent
    /// before it.
    pub(super) fn best(&mut self, now: u64) -> f64 {
        self.advance(now);
        while let Some(&Reverse((at, begin))) = self.soonest.peek() {
            if at > now {
                break;
            }
            self.soonest.pop();
            if self.begins[begin].ends == at {
                self.drop(begin, now);
            }
        }
        self.begins[self.first].spent + self.costs.price * self.held.until(now)
    }

    /// Returns the last beginning up to `begin` that was not dropped, or one before
    /// [`Begins::first`].
    fn kept(&mut self, mut begin: usize) -> usize {
        while self.begins[begin].dropped_for != begin {
            let before = self.begins[begin].dropped_for;
            self.begins[begin].dropped_for = self.begins[before].dropped_for;
            begin = before;
        }
        begin
    }

    /// Advances the time to `now`: data takes places, or ceases to.
    fn advance(&mut self, now: u64) {
        let Band { writes, by_read, by_until } = self.band;
        let costs = self.costs;
        let number = |at: usize| if costs.reads_paid { by_read[at] as usize } else { at };
        while self.taken < writes.len() && costs.from(&writes[number(self.taken)]) <= now {
            let number = number(self.taken);
            self.takes(number, 1.0, costs.from(&writes[number]), now);
            self.taken += 1;
        }
        while self.over < writes.len() && writes[by_until[self.over] as usize].until <= now {
            let number = by_until[self.over] as usize;
            self.takes(number, -1.0, writes[number].until, now);
            self.over += 1;
        }
    }

    fn takes(&mut self, number: usize, times: f64, at: u64, now: u64) {
        let begin = self.kept(number);
        // Writes before the first beginning are part of no stretch any more.
        if begin >= self.first {
            let places = times * self.costs.places(&self.band.writes[number]);
            self.held.takes(places, at);
            self.begins[begin].held.takes(places, at);
            self.find_crossing(begin, now);
        }
    }

    /// Computes when `begin` costs as much as the next.
    fn find_crossing(&mut self, begin: usize, now: u64) {
        let Begin { spent, held, next, .. } = self.begins[begin];
        let Some(next) = self.begins.get(next) else { return };
        let less = next.spent - spent - self.costs.price * held.until(now);
        let accesses = (less / (self.costs.price * held.places)).ceil();
        let ends = if less <= 0.0 {
            now
        } else if (0.0..ACCESSES_MAX).contains(&accesses) {
            now + accesses as u64
        } else {
            NEVER
        };
        self.begins[begin].ends = ends;
        if ends != NEVER {
            self.soonest.push(Reverse((ends, begin)));
        }
    }

    /// Drops `begin`, which costs no less than the next.
    fn drop(&mut self, begin: usize, now: u64) {
        let Begin { held, next, .. } = self.begins[begin];
        self.begins[begin].ends = NEVER;
        if begin == self.first {
            self.first = next;
            self.held.add(held, -1.0);
            return;
        }
        let before = self.kept(begin - 1);
        self.begins[begin].dropped_for = before;
        self.begins[before].next = next;
        self.begins[before].held.add(held, 1.0);
        self.find_crossing(before, now);
    }
}
