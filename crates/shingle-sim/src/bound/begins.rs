//! Where the stretch of a band's writes begins that is cheapest to rewrite now.
//!
//! A stretch that begins with write `i` costs until now what was spent before it and, of each write from `i` on, what its
//! data costs that is held since then. That is `places · max(0, min(until, now) − from)`, which never falls as time goes on: not if
//! it takes a place only from a read that is still to come, nor if that is a part of one, nor when it is over. So of two begins the
//! later one, which does without some writes, gains on the earlier one, and once it costs no more it never does
//! again. The earlier one is dropped then.
//!
//! What remains costs the more the later it begins, so the first is the best. Of each is kept what the writes cost
//! that it has and the next does not, as a line over time, and a heap knows which will be as dear as the next soonest. Lines
//! change when data begins to take a place and when it is over, twice a write; each begin is dropped once. So a
//! band with `n` writes takes time in `n log n`.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::band::{Band, Costs, NEVER};

/// What takes longer never happens: a price, or places but for rounding, may be none.
const ACCESSES_MAX: f64 = 1e15;

/// Places that are taken until now, times accesses: `places · now − begun`.
#[derive(Clone, Copy, Default)]
struct Held {
    places: f64,
    begun: f64,
}

impl Held {
    /// So many places are taken from `now` on, or given back if there are less than none.
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
    /// Of the writes from here to the next begin that was not dropped.
    held: Held,
    /// Where that is.
    next: usize,
    /// Itself, or if it was dropped one before it: the last that was not is found that way.
    dropped_for: usize,
    /// When it costs as much as the next.
    ends: u64,
}

/// All begins so far.
pub(super) struct Begins<'a> {
    band: &'a Band,
    costs: &'a Costs,
    begins: Vec<Begin>,
    first: usize,
    /// Of all writes from the first begin on.
    held: Held,
    /// Begins by [`Begin::ends`], and what has changed since.
    soonest: BinaryHeap<Reverse<(u64, usize)>>,
    /// Writes whose data takes a place, and those whose data is over.
    taken: usize,
    over: usize,
}

impl Begins<'_> {
    pub(super) fn new<'a>(band: &'a Band, costs: &'a Costs) -> Begins<'a> {
        let begins = Vec::with_capacity(band.writes.len());
        let (first, held, soonest, taken, over) = (0, Held::default(), BinaryHeap::new(), 0, 0);
        Begins { band, costs, begins, first, held, soonest, taken, over }
    }

    /// A stretch may begin with the next write, which comes now. So much was `spent` before it.
    pub(super) fn add(&mut self, spent: f64, now: u64) {
        let begin = self.begins.len();
        let held = Held::default();
        self.begins.push(Begin { spent, held, next: begin + 1, dropped_for: begin, ends: NEVER });
        if begin > 0 {
            let before = self.kept(begin - 1);
            self.foresee(before, now);
        }
    }

    /// What the best stretch costs that ends with the last write, and what was spent before it.
    pub(super) fn best(&mut self, now: u64) -> f64 {
        self.go_on(now);
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

    /// The last begin up to `begin` that was not dropped, or one before [`Begins::first`].
    fn kept(&mut self, mut begin: usize) -> usize {
        while self.begins[begin].dropped_for != begin {
            let before = self.begins[begin].dropped_for;
            self.begins[begin].dropped_for = self.begins[before].dropped_for;
            begin = before;
        }
        begin
    }

    /// It is `now`: data takes places, or is over.
    fn go_on(&mut self, now: u64) {
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
        // (With writes before the first begin, no stretch begins any more.)
        if begin >= self.first {
            let places = times * self.costs.places(&self.band.writes[number]);
            self.held.takes(places, at);
            self.begins[begin].held.takes(places, at);
            self.foresee(begin, now);
        }
    }

    /// Notes when `begin` costs as much as the next.
    fn foresee(&mut self, begin: usize, now: u64) {
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

    /// `begin` costs no less than the next.
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
        self.foresee(before, now);
    }
}
