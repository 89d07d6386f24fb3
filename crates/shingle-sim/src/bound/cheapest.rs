//! The cheapest times to rewrite a band.

use super::begins::Begins;

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

/// The writes of a band, in their order.
#[derive(Clone, Debug)]
pub(super) struct Band {
    pub(super) writes: Vec<Write>,
    /// Them by [`Write::read`], and by [`Write::until`].
    pub(super) by_read: Vec<u32>,
    pub(super) by_until: Vec<u32>,
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
    /// From when on the data of a write takes a place.
    pub(super) fn from(&self, write: &Write) -> u64 {
        if self.reads_paid { write.read } else { write.at }
    }

    pub(super) fn places(&self, write: &Write) -> f64 {
        self.by_run[write.run as usize]
    }

    /// What the data of a write costs that is held as long as it counts.
    #[allow(clippy::cast_precision_loss)] // counts below 2^53
    fn held(&self, write: &Write) -> f64 {
        self.price * self.places(write) * (write.until - self.from(write)) as f64
    }
}

/// The least that rewriting a band costs with all its writes done, in rewrites.
pub(super) fn cheapest(band: &Band, costs: &Costs) -> f64 {
    let writes = &band.writes;
    // The least so far with a rewrite right after as many writes.
    let mut least = Vec::with_capacity(writes.len() + 1);
    least.push(0.0f64);
    let mut begins = Begins::new(band, costs);
    for (begin, write) in writes.iter().enumerate() {
        begins.add(least[begin], write.at);
        least.push(begins.best(write.at) + 1.0);
    }
    // What is trimmed in the end needs no rewrite behind it.
    let (mut held, mut best) = (0.0, least[writes.len()]);
    let trimmed = writes.iter().zip(&least).rev().take_while(|(write, _)| write.until != NEVER);
    for (write, before) in trimmed {
        held += costs.held(write);
        best = best.min(before + held);
    }
    best
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use proptest::prelude::*;
    use shingle_core::units::Op;

    /// What happens to a band: when, which block, and whether it is written, read or trimmed.
    type Event = (u64, u64, Op);

    /// Neighbours of some blocks share an entry.
    fn run(block: u64) -> u64 {
        1 + block % 2
    }

    fn writes(events: &[Event]) -> Vec<Write> {
        let mut last: BTreeMap<u64, usize> = BTreeMap::new();
        let mut writes: Vec<Write> = Vec::new();
        for &(at, block, op) in events {
            match op {
                Op::Read => last.get(&block).into_iter().for_each(|&last| writes[last].read = at),
                _ => last.remove(&block).into_iter().for_each(|last| writes[last].until = at),
            }
            if op == Op::Write {
                last.insert(block, writes.len());
                writes.push(Write { at, read: at, until: NEVER, run: run(block) });
            }
        }
        writes
    }

    /// All ways to rewrite a band, tried one by one: a rewrite after each write whose bit is set, and nothing left to do.
    fn by_trial(events: &[Event], costs: &Costs) -> f64 {
        let written = writes(events);
        let ways = (0..1u32 << written.len()).filter_map(|ways| {
            let (mut cost, mut held, mut now, mut nth) = (0.0, BTreeMap::new(), 0, 0);
            for &(at, block, op) in events {
                for (block, from) in &held {
                    let accesses = at - now.max(*from).min(at);
                    cost += costs.price * costs.by_run[run(*block) as usize] * accesses as f64;
                }
                now = at;
                match op {
                    Op::Trim => _ = held.remove(&block),
                    Op::Write => {
                        held.insert(block, costs.from(&written[nth]));
                        if ways >> nth & 1 == 1 {
                            held.clear();
                            cost += 1.0;
                        }
                        nth += 1;
                    }
                    _ => {}
                }
            }
            held.is_empty().then_some(cost)
        });
        ways.fold(f64::INFINITY, f64::min)
    }

    proptest! {
        #[test]
        fn the_cheapest_way_is_that_of_all_ways_tried(
            steps in prop::collection::vec((0u64..4, 1u64..5, 0u32..10), 1..15),
            price in 0.0f64..0.4,
            reads_paid: bool,
        ) {
            let mut now = 0;
            let events = steps.into_iter().map(|(block, pause, chance)| {
                now += pause;
                (now, block, match chance { 0..2 => Op::Trim, 2..4 => Op::Read, _ => Op::Write })
            });
            let events: Vec<Event> = events.collect();
            let costs = Costs { price, by_run: vec![0.0, 1.0, 0.3], reads_paid };
            let (ours, theirs) =
                (cheapest(&Band::new(writes(&events)), &costs), by_trial(&events, &costs));
            prop_assert!((ours - theirs).abs() < 1e-9, "{ours} {theirs}");
        }
    }
}
