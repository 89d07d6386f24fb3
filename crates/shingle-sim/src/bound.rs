//! How few band rewrites any policy can do with: a bound below, whatever it knows of the future.
//!
//! A block that was written is in the cache or in the disk's buffer until its band is rewritten, by the disk or by
//! the host. So between two rewrites of a band each block that was written there takes a place from its first write on;
//! and at no time are there more places than the cache and the buffer have. Of that only the average over time is asked
//! for, at a price for each place and write (Lagrangian relaxation). Then bands no longer compete: each is rewritten at the
//! times that are cheapest for it, and the sum of what that costs, less the price of all the places there are, is less
//! than what any policy can do. The price that makes the most of it is searched for.
//!
//! A block that is trimmed gives its place back, and need not come to the band at all.
//!
//! Of one band, the cheapest times are found exactly: a rewrite comes right after a write, and `f(j)`, the least cost
//! when one comes after the band's write `j`, is the least over `i < j` of `f(i) + 1 + price · places(i, j)`. What `i`
//! is best never falls as `j` rises: the longer a stretch, the more a further write adds to it. So only stretches are
//! looked at that begin no earlier than the best before. Behind the last rewrite there may be writes of which all is
//! trimmed in the end.

use rayon::prelude::*;
use shingle_core::units::{Block, Op, Request};
use shingle_core::zones::ZoneMap;
use std::collections::BTreeMap;

/// Prices tried, at most.
const TRIES: u32 = 40;

/// What no policy can do with less.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Bound {
    /// Rewrites of bands, those included that are left to do in the end.
    pub rewrites: f64,
    /// Rewrites for each place and write: the price at which that follows.
    pub price: f64,
    /// Bands that are written at all. Each is rewritten once at least, unless all of it is trimmed.
    pub bands: u64,
    /// Blocks written, each as often as it is.
    pub written_blocks: u64,
}

/// A write of a band: when, and until when its data counts, which the next write or trim of the block ends. Both are
/// counted in writes of the whole trace.
#[derive(Clone, Copy, Debug)]
struct Write {
    at: u64,
    until: u64,
}

/// The data counts to the end.
const NEVER: u64 = u64::MAX;

/// The writes of a trace, by band.
#[derive(Clone, Debug)]
pub struct Writes {
    bands: Vec<Vec<Write>>,
    count: u64,
}

impl Writes {
    /// Those of `requests`, over a disk with these bands.
    #[must_use]
    pub fn new(requests: &[Request], bands: &ZoneMap) -> Writes {
        let mut by_band: BTreeMap<u32, Vec<Write>> = BTreeMap::new();
        // Of each block that holds data of a write: the band of it, and which of the band's writes that is.
        let mut newest: BTreeMap<u64, (u32, usize)> = BTreeMap::new();
        let mut count = 0;
        for request in requests {
            match request.op {
                Op::Write => {
                    let first = request.first().0;
                    for block in first..first + request.blocks() {
                        let band = bands.zone(Block(block)).0;
                        let number = by_band.get(&band).map_or(0, Vec::len);
                        if let Some(before) = newest.insert(block, (band, number)) {
                            end(&mut by_band, before, count);
                        }
                        by_band.entry(band).or_default().push(Write { at: count, until: NEVER });
                        count += 1;
                    }
                }
                Op::Trim => {
                    let (first, blocks) = request.whole_blocks();
                    let trimmed = first.0..first.0 + blocks;
                    while let Some((&block, &before)) = newest.range(trimmed.clone()).next() {
                        newest.remove(&block);
                        end(&mut by_band, before, count);
                    }
                }
                Op::Read | Op::Flush => {}
            }
        }
        Writes { bands: by_band.into_values().collect(), count }
    }

    /// The bound for a cache and a buffer with so many places together.
    #[must_use]
    #[allow(clippy::cast_precision_loss)] // counts below 2^53
    pub fn bound(&self, places: u64) -> Bound {
        let kept = |writes: &&Vec<Write>| writes.iter().any(|write| write.until == NEVER);
        let once_each = self.bands.iter().filter(kept).count() as f64;
        let all_places = places as f64 * self.count as f64;
        let at = |price: f64| {
            let costs = self.bands.par_iter().map(|writes| cheapest(writes, price));
            // In the order of bands, so that the sum is the same on any number of threads.
            costs.collect::<Vec<f64>>().iter().sum::<f64>() - price * all_places
        };
        // The bound is concave in the price: a search by golden section over its logarithm.
        let one = 1.0 / (all_places.max(1.0));
        let (mut low, mut high) = ((one * 1e-3).ln(), (one * 1e7).ln());
        let golden = (5f64.sqrt() - 1.0) / 2.0;
        let (mut a, mut b) = (high - golden * (high - low), low + golden * (high - low));
        let (mut at_a, mut at_b) = (at(a.exp()), at(b.exp()));
        let mut best = if at_a > at_b { (at_a, a.exp()) } else { (at_b, b.exp()) };
        for _ in 0..TRIES {
            if high - low < 0.01 {
                break;
            }
            if at_a > at_b {
                (high, b, at_b) = (b, a, at_a);
                a = high - golden * (high - low);
                at_a = at(a.exp());
                best = if at_a > best.0 { (at_a, a.exp()) } else { best };
            } else {
                (low, a, at_a) = (a, b, at_b);
                b = low + golden * (high - low);
                at_b = at(b.exp());
                best = if at_b > best.0 { (at_b, b.exp()) } else { best };
            }
        }
        let (rewrites, price) = if best.0 > once_each { best } else { (once_each, 0.0) };
        Bound { rewrites, price, bands: self.bands.len() as u64, written_blocks: self.count }
    }
}

/// The data that this write brought counts until `at` only.
fn end(by_band: &mut BTreeMap<u32, Vec<Write>>, (band, number): (u32, usize), at: u64) {
    let writes = by_band.get_mut(&band).expect("the band was written");
    writes[number].until = at;
}

/// The least that rewriting a band costs with all its writes done, at a price for each place and write.
#[allow(clippy::cast_precision_loss)]
fn cheapest(writes: &[Write], price: f64) -> f64 {
    let mut least = Vec::with_capacity(writes.len() + 1);
    least.push(0.0f64);
    let mut from = 0;
    for (last, write) in writes.iter().enumerate() {
        let (mut places, mut best, mut best_from) = (0u64, f64::INFINITY, from);
        // A stretch from write `first` to `last`, made longer to the front.
        for first in (from..=last).rev() {
            let Write { at, until } = writes[first];
            places += until.min(write.at) - at;
            let cost = least[first] + 1.0 + price * places as f64;
            if cost < best {
                (best, best_from) = (cost, first);
            }
        }
        least.push(best);
        from = best_from;
    }
    // What is trimmed in the end needs no rewrite behind it.
    let (mut places, mut best) = (0u64, least[writes.len()]);
    let trimmed = writes.iter().zip(&least).rev().take_while(|(write, _)| write.until != NEVER);
    for (write, before) in trimmed {
        places += write.until - write.at;
        best = best.min(before + price * places as f64);
    }
    best
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use proptest::prelude::*;
    use shingle_core::units::{BLOCK_BYTES, Nanos};

    fn write(block: u64) -> Request {
        Request { at: Nanos::ZERO, offset: block * BLOCK_BYTES, bytes: BLOCK_BYTES, op: Op::Write }
    }

    fn trim(first: u64, count: u64) -> Request {
        Request { op: Op::Trim, bytes: count * BLOCK_BYTES, ..write(first) }
    }

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
                    writes.push(Write { at: now, until: NEVER });
                }
                events.push((now, block, if trims { Op::Trim } else { Op::Write }));
            }
            let (ours, theirs) = (cheapest(&writes, price), by_trial(&events, price));
            prop_assert!((ours - theirs).abs() < 1e-9, "{ours} {theirs}");
        }
    }

    #[test]
    fn what_is_trimmed_need_not_be_rewritten() {
        let bands = ZoneMap::fixed(100, 1_000);
        let bound = |requests: &[Request]| Writes::new(requests, &bands).bound(4);
        let files: Vec<Request> =
            (0..10).flat_map(|n| [write(n * 100), trim(n * 100, 1)]).collect();
        assert_eq!(
            (bound(&files).rewrites, bound(&files).bands),
            (0.0, 10),
            "a cache drops all of it"
        );
        let kept = [&files[..], &[write(5)]].concat();
        assert_eq!(bound(&kept).rewrites, 1.0);
        let across = [write(99), write(100), write(102), trim(98, 4)];
        assert_eq!(bound(&across).rewrites, 1.0, "block 102 lies behind what is trimmed");
        let in_part = Request { bytes: BLOCK_BYTES - 1, ..trim(7, 1) };
        assert_eq!(
            bound(&[write(7), in_part]).rewrites,
            1.0,
            "the rest of a block is still wanted"
        );
    }

    /// Two bands in turn, a block each time that is new. With 4 places a band is rewritten after every few writes; no
    /// bound is above what a simple schedule needs.
    #[test]
    fn a_bound_is_below_what_is_done_and_above_each_band_once() {
        let requests: Vec<Request> = (0..400).map(|n| write(n / 2 % 100 + 100 * (n % 2))).collect();
        let bands = ZoneMap::fixed(100, 1_000);
        let writes = Writes::new(&requests, &bands);
        let bound = writes.bound(4);
        // With 4 places one of the two is rewritten after two writes to each at the latest: 400 / 3 are possible.
        assert!(bound.rewrites > 60.0 && bound.rewrites <= 200.0, "{bound:?}");
        assert_eq!((bound.bands, bound.written_blocks), (2, 400));
        let roomy = writes.bound(1_000);
        assert_eq!((roomy.rewrites, roomy.price), (2.0, 0.0), "each once, in the end");
    }
}
