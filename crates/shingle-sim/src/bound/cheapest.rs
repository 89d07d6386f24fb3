//! The cheapest times to rewrite a band.

/// A write of a block of a band, and its data. Times are counted in accesses of the whole trace.
#[derive(Clone, Copy, Debug)]
pub(super) struct Write {
    /// When.
    pub(super) at: u64,
    /// When its data was read last.
    pub(super) read: u64,
    /// The data counts until then: the next write or trim of the block ends it.
    pub(super) until: u64,
    /// The longest run that can have one entry of the map with it.
    pub(super) run: u64,
}

/// The data counts to the end.
pub(super) const NEVER: u64 = u64::MAX;

/// Writes of which what is held is summed up; few in tests, whose bands are small.
const BLOCK: usize = if cfg!(test) { 2 } else { 64 };

/// The writes of a band, in their order.
#[derive(Clone, Debug)]
pub(super) struct Band {
    pub(super) writes: Vec<Write>,
    /// Them by [`Write::read`], and by [`Write::until`].
    by_read: Vec<u32>,
    by_until: Vec<u32>,
}

impl Band {
    #[allow(clippy::cast_possible_truncation)] // numbers of writes
    pub(super) fn new(writes: Vec<Write>) -> Band {
        let sorted = |key: fn(&Write) -> u64| {
            let mut numbers: Vec<u32> = (0..writes.len() as u32).collect();
            numbers.sort_by_key(|&number| key(&writes[number as usize]));
            numbers
        };
        let (by_read, by_until) = (sorted(|write| write.read), sorted(|write| write.until));
        Band { writes, by_read, by_until }
    }
}

/// What room costs.
pub(super) struct Costs {
    /// Of a place for an access, in rewrites.
    pub(super) price: f64,
    /// Places that a block takes, by the longest run it can be in.
    pub(super) by_run: Vec<f64>,
    /// Reads of what is held are paid for: it takes no place until the last of them.
    pub(super) reads_paid: bool,
}

impl Costs {
    fn from(&self, write: &Write) -> u64 {
        if self.reads_paid { write.read } else { write.at }
    }

    fn places(&self, write: &Write) -> f64 {
        self.by_run[write.run as usize]
    }

    /// What the data of a write costs that is held until `end`.
    #[allow(clippy::cast_precision_loss)] // counts below 2^53
    fn held(&self, write: &Write, end: u64) -> f64 {
        let accesses = write.until.min(end).saturating_sub(self.from(write));
        self.price * self.places(write) * accesses as f64
    }
}

/// What data costs that is held until now, of [`BLOCK`] writes each: `over` of those whose data counts no more, and of the
/// others places, and places times when they began.
struct Held<'a> {
    band: &'a Band,
    costs: &'a Costs,
    begun: usize,
    ended: usize,
    blocks: Vec<[f64; 3]>,
}

impl Held<'_> {
    fn new<'a>(band: &'a Band, costs: &'a Costs) -> Held<'a> {
        let blocks = vec![[0.0; 3]; band.writes.len().div_ceil(BLOCK)];
        Held { band, costs, begun: 0, ended: 0, blocks }
    }

    #[allow(clippy::cast_precision_loss)]
    fn add(&mut self, number: usize, times: f64) {
        let (write, block) = (&self.band.writes[number], &mut self.blocks[number / BLOCK]);
        let places = times * self.costs.places(write);
        block[1] += places;
        block[2] += places * self.costs.from(write) as f64;
    }

    /// It is `now`.
    fn go_on(&mut self, now: u64) {
        let Band { writes, by_read, by_until } = self.band;
        let paid = self.costs.reads_paid;
        let number = |at: usize| if paid { by_read[at] as usize } else { at };
        while self.begun < writes.len() && self.costs.from(&writes[number(self.begun)]) <= now {
            self.add(number(self.begun), 1.0);
            self.begun += 1;
        }
        while self.ended < writes.len() && writes[by_until[self.ended] as usize].until <= now {
            let number = by_until[self.ended] as usize;
            self.add(number, -1.0);
            self.blocks[number / BLOCK][0] += self.costs.held(&writes[number], now);
            self.ended += 1;
        }
    }

    /// What writes from `begin` to `end` cost.
    fn of(&self, begin: usize, end: usize, now: u64) -> f64 {
        let whole = begin.div_ceil(BLOCK)..end.div_ceil(BLOCK);
        let first = &self.band.writes[begin..(whole.start * BLOCK).min(end)];
        let first = first.iter().map(|write| self.costs.held(write, now)).sum::<f64>();
        first + whole.map(|block| self.of_block(block, now)).sum::<f64>()
    }

    #[allow(clippy::cast_precision_loss)]
    fn of_block(&self, block: usize, now: u64) -> f64 {
        let [over, places, from] = self.blocks[block];
        over + self.costs.price * (places * now as f64 - from)
    }
}

/// The least that rewriting a band costs with all its writes done, in rewrites.
pub(super) fn cheapest(band: &Band, costs: &Costs) -> f64 {
    let writes = &band.writes;
    let mut least = Vec::with_capacity(writes.len() + 1);
    least.push(0.0f64);
    let mut from = 0;
    let mut sums = Held::new(band, costs);
    for (last, write) in writes.iter().enumerate() {
        sums.go_on(write.at);
        // To begin where the last one did is a good guess, which spares looking at most others.
        let mut best = least[from] + 1.0 + sums.of(from, last + 1, write.at);
        let (mut held, mut best_from) = (0.0, from);
        // A stretch from write `first` to `last`, made longer to the front. None costs less than all before its
        // block of writes.
        let mut end = last + 1;
        while end > from && least[from] + 1.0 + held < best {
            let begin = ((end - 1) / BLOCK * BLOCK).max(from);
            if least[begin] + 1.0 + held >= best {
                held += sums.of_block(begin / BLOCK, write.at);
            } else {
                for first in (begin..end).rev() {
                    held += costs.held(&writes[first], write.at);
                    let cost = least[first] + 1.0 + held;
                    if cost < best {
                        (best, best_from) = (cost, first);
                    }
                }
            }
            end = begin;
        }
        least.push(best);
        from = best_from;
    }
    // What is trimmed in the end needs no rewrite behind it.
    let (mut held, mut best) = (0.0, least[writes.len()]);
    let trimmed = writes.iter().zip(&least).rev().take_while(|(write, _)| write.until != NEVER);
    for (write, before) in trimmed {
        held += costs.held(write, write.until);
        best = best.min(before + held);
    }
    best
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use super::*;
    use proptest::prelude::*;
    use shingle_core::units::Op;

    /// What happens to a band: when, which block, and whether it is written or trimmed.
    type Event = (u64, u64, Op);

    /// All ways to rewrite a band, tried one by one: a rewrite after each write whose bit is set, and nothing left to do.
    fn by_trial(events: &[Event], price: f64) -> f64 {
        let writes = events.iter().filter(|event| event.2 == Op::Write).count();
        let ways = (0..1u32 << writes).filter_map(|ways| {
            let (mut cost, mut held, mut now, mut nth) = (0.0, BTreeSet::new(), 0, 0);
            for &(at, block, op) in events {
                cost += price * (held.len() as u64 * (at - now)) as f64;
                now = at;
                if op == Op::Trim {
                    held.remove(&block);
                    continue;
                }
                held.insert(block);
                if ways >> nth & 1 == 1 {
                    held.clear();
                    cost += 1.0;
                }
                nth += 1;
            }
            held.is_empty().then_some(cost)
        });
        ways.fold(f64::INFINITY, f64::min)
    }

    proptest! {
        #[test]
        fn the_cheapest_way_is_that_of_all_ways_tried(
            steps in prop::collection::vec((0u64..4, 1u64..5, prop::bool::weighted(0.3)), 1..13),
            price in 0.0f64..0.4,
        ) {
            let (mut now, mut events) = (0, Vec::new());
            let mut last: BTreeMap<u64, usize> = BTreeMap::new();
            let mut writes: Vec<Write> = Vec::new();
            for (block, pause, trims) in steps {
                now += pause;
                if let Some(before) = last.remove(&block) {
                    writes[before].until = now;
                }
                if !trims {
                    last.insert(block, writes.len());
                    writes.push(Write { at: now, read: now, until: NEVER, run: 1 });
                }
                events.push((now, block, if trims { Op::Trim } else { Op::Write }));
            }
            let costs = Costs { price, by_run: vec![0.0, 1.0], reads_paid: false };
            let (ours, theirs) = (cheapest(&Band::new(writes), &costs), by_trial(&events, price));
            prop_assert!((ours - theirs).abs() < 1e-9, "{ours} {theirs}");
        }
    }
}
