//! The cheapest schedule of rewrites of a band.

use super::band::{Band, Costs, NEVER};
use super::begins::Begins;

/// Returns the least cost, in rewrites, of a band with all its writes done.
pub(super) fn cheapest(band: &Band, costs: &Costs) -> f64 {
    let writes = &band.writes;
    // Index n: the least cost with a rewrite right after n writes.
    let mut least = Vec::with_capacity(writes.len() + 1);
    least.push(0.0f64);
    let mut begins = Begins::new(band, costs);
    for (begin, write) in writes.iter().enumerate() {
        begins.add(least[begin], write.at);
        least.push(begins.best(write.at) + 1.0);
    }
    // Data that is trimmed in the end needs no rewrite after it.
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

    use super::super::band::Write;
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
