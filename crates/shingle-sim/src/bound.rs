//! How few band rewrites any policy can do with: a bound below, whatever it knows of the future.
//!
//! A block that was written is in the cache or in the disk's buffer until its band is rewritten, by the disk or by
//! the host. So between two rewrites of a band each block that was written there takes a place from its first write on;
//! and at no time are there more places than the cache and the buffer have. Of that only the average over time is asked
//! for, at a price for each place and write (Lagrangian relaxation). Then bands no longer compete: each is rewritten at the
//! times that are cheapest for it, and the sum of what that costs, less the price of all the places there are, is less
//! than what any policy can do. The price that makes the most of it is searched for.
//!
//! Of one band, the cheapest times are found exactly: a rewrite comes right after a write, and `f(j)`, the least cost
//! when one comes after the band's write `j`, is the least over `i < j` of `f(i) + 1 + price · places(i, j)`. What `i`
//! is best never falls as `j` rises: the longer a stretch, the more a further write adds to it. So only stretches are
//! looked at that begin no earlier than the best before.

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
    /// Bands that are written at all: each is rewritten once at least.
    pub bands: u64,
    /// Blocks written, each as often as it is.
    pub written_blocks: u64,
}

/// A write of a band: when, counted in writes of the whole trace, and which of the band's writes is the next to the same
/// block.
#[derive(Clone, Copy, Debug)]
struct Write {
    at: u64,
    next: u32,
}

/// No write of the band follows to the same block.
const NEVER: u32 = u32::MAX;

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
        let mut by_band: BTreeMap<u32, (Vec<Write>, BTreeMap<u64, u32>)> = BTreeMap::new();
        let mut count = 0;
        for request in requests.iter().filter(|request| request.op == Op::Write) {
            let first = request.first().0;
            for block in first..first + request.blocks() {
                let band = bands.zone(Block(block)).0;
                let (writes, last) = by_band.entry(band).or_default();
                let number = u32::try_from(writes.len()).expect("less than 2^32 writes of a band");
                if let Some(before) = last.insert(block, number) {
                    writes[before as usize].next = number;
                }
                writes.push(Write { at: count, next: NEVER });
                count += 1;
            }
        }
        Writes { bands: by_band.into_values().map(|(writes, _)| writes).collect(), count }
    }

    /// The bound for a cache and a buffer with so many places together.
    #[must_use]
    #[allow(clippy::cast_precision_loss)] // counts below 2^53
    pub fn bound(&self, places: u64) -> Bound {
        let bands = self.bands.len() as f64;
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
        let (rewrites, price) = if best.0 > bands { best } else { (bands, 0.0) };
        Bound { rewrites, price, bands: self.bands.len() as u64, written_blocks: self.count }
    }
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
            let Write { at, next } = writes[first];
            let until = if (next as usize) <= last && next != NEVER {
                writes[next as usize].at
            } else {
                write.at
            };
            places += until - at;
            let cost = least[first] + 1.0 + price * places as f64;
            if cost < best {
                (best, best_from) = (cost, first);
            }
        }
        least.push(best);
        from = best_from;
    }
    least[writes.len()]
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use shingle_core::units::{BLOCK_BYTES, Nanos};

    fn write(block: u64) -> Request {
        Request { at: Nanos::ZERO, offset: block * BLOCK_BYTES, bytes: BLOCK_BYTES, op: Op::Write }
    }

    /// All ways to rewrite a band, tried one by one.
    fn by_trial(blocks: &[u64], at: &[u64], price: f64) -> f64 {
        let writes = blocks.len();
        let ways = (0..1u32 << (writes - 1)).map(|ways| {
            // A rewrite after each write whose bit is set, and after the last.
            let (mut cost, mut begun) = (0.0, 0);
            for last in 0..writes {
                if last + 1 < writes && ways >> last & 1 == 0 {
                    continue;
                }
                let mut first = BTreeMap::new();
                (begun..=last).for_each(|one| _ = first.entry(blocks[one]).or_insert(at[one]));
                let places: u64 = first.values().map(|first| at[last] - first).sum();
                cost += 1.0 + price * places as f64;
                begun = last + 1;
            }
            cost
        });
        ways.fold(f64::INFINITY, f64::min)
    }

    proptest! {
        #[test]
        fn the_cheapest_way_is_that_of_all_ways_tried(
            steps in prop::collection::vec((0u64..4, 1u64..5), 1..11),
            price in 0.0f64..0.4,
        ) {
            let (mut now, mut times, mut blocks) = (0, Vec::new(), Vec::new());
            let mut writes: Vec<Write> = Vec::new();
            let mut last: BTreeMap<u64, usize> = BTreeMap::new();
            for (block, pause) in steps {
                now += pause;
                if let Some(before) = last.insert(block, writes.len()) {
                    writes[before].next = writes.len() as u32;
                }
                writes.push(Write { at: now, next: NEVER });
                times.push(now);
                blocks.push(block);
            }
            let (ours, theirs) = (cheapest(&writes, price), by_trial(&blocks, &times, price));
            prop_assert!((ours - theirs).abs() < 1e-9, "{ours} {theirs}");
        }
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
