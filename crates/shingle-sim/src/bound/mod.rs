//! Lower bounds on band rewrites and on time, for any policy, whatever it knows of the future.
//!
//! A block that was written is in the cache or in the disk's buffer until its band is rewritten, by
//! the disk or by the host. So between two rewrites of a band each block written there takes room
//! from its first write on, and at no time is there more room than the cache and the buffer have
//! ([`Room`]). This is relaxed: only the average over time is limited, through a price for each
//! place and access (Lagrangian relaxation). Then bands no longer compete. Each is rewritten at the
//! times that are cheapest for it. The sum of these costs, less the price of all room, is below the
//! cost of any policy. The price that makes this bound highest is searched for.
//!
//! Reads compete for the same slots ([`Prices`]). Between an access of a block and a later read of
//! it either the block is held, at that price, or the read goes to the disk. A held dirty block
//! serves reads, too: until the last read of the written data it costs nothing as a dirty block.
//!
//! A block that is trimmed gives its place back, and need not be written to the band at all.
//!
//! For one band, the cheapest times are found exactly. A rewrite comes right after a write, and
//! `f(j)`, the least cost when one comes after the band's write `j`, is the least over `i < j` of
//! `f(i) + 1 + price · places(i, j)`. The best `i` never falls as `j` rises: the longer a stretch,
//! the more a further write adds to it. `begins.rs` explains this, and finds it without looking at
//! pairs. Writes after the last rewrite are possible if all of their data is trimmed in the end.

mod accesses;
mod band;
mod begins;
mod cheapest;
mod of_run;
mod room;
mod search;

pub use accesses::Accesses;
pub use of_run::rewrites;
pub use room::Room;

/// A lower bound on the cost of any policy.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Bound {
    /// Rewrites of bands and reads at their prices, including those left to do in the end.
    pub cost: f64,
    /// The price of a cache slot per access from which the bound follows.
    pub price: f64,
    /// The bound with unlimited room: each band is rewritten once, and each block whose first
    /// access is a read is read once.
    pub at_least: f64,
}

/// Prices of rewriting a band and of reading a block from the disk.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Prices {
    /// Price of a rewrite.
    pub rewrite: f64,
    /// Price of a block read; 0 if reads do not count, so that the cache is for writes alone.
    pub read: f64,
}

impl Prices {
    /// Counts rewrites, nothing else.
    pub const REWRITES: Prices = Prices { rewrite: 1.0, read: 0.0 };
}

#[cfg(test)]
mod tests {
    use super::*;
    use shingle_core::units::{BLOCK_BYTES, Nanos, Op, Request};
    use shingle_core::zones::ZoneMap;

    fn write(block: u64) -> Request {
        Request { at: Nanos::ZERO, offset: block * BLOCK_BYTES, bytes: BLOCK_BYTES, op: Op::Write }
    }

    fn read(block: u64) -> Request {
        Request { op: Op::Read, ..write(block) }
    }

    fn trim(first: u64, count: u64) -> Request {
        Request { op: Op::Trim, bytes: count * BLOCK_BYTES, ..write(first) }
    }

    fn rewrites(requests: &[Request], places: u64) -> Bound {
        let accesses = Accesses::new(requests, &ZoneMap::fixed(100, 1_000), 1);
        accesses.bound(&Room::of_blocks(places, 0), &Prices::REWRITES)
    }

    #[test]
    fn what_is_trimmed_need_not_be_rewritten() {
        let files: Vec<Request> =
            (0..10).flat_map(|n| [write(n * 100), trim(n * 100, 1)]).collect();
        assert_eq!(rewrites(&files, 4).cost, 0.0, "a cache drops all of it");
        let kept = [&files[..], &[write(5)]].concat();
        assert_eq!(rewrites(&kept, 4).cost, 1.0);
        let across = [write(99), write(100), write(102), trim(98, 4)];
        assert_eq!(rewrites(&across, 4).cost, 1.0, "block 102 lies behind what is trimmed");
        let in_part = Request { bytes: BLOCK_BYTES - 1, ..trim(7, 1) };
        assert_eq!(rewrites(&[write(7), in_part], 4).cost, 1.0, "the rest is still wanted");
    }

    /// Two bands in turn, a block each time that is new. With 4 places a band is rewritten after every few writes; no
    /// bound is above what a simple schedule needs.
    #[test]
    fn a_bound_is_below_what_is_done_and_above_each_band_once() {
        let requests: Vec<Request> = (0..400).map(|n| write(n / 2 % 100 + 100 * (n % 2))).collect();
        let bound = rewrites(&requests, 4);
        // With 4 places one of the two is rewritten after two writes to each at the latest: 400 / 3 are possible.
        assert!(bound.cost > 60.0 && bound.cost <= 200.0, "{bound:?}");
        let roomy = rewrites(&requests, 1_000);
        assert_eq!((roomy.cost, roomy.price), (2.0, 0.0), "each once, in the end");
    }

    /// By hand. A band gets a new block with each access, far from the others or beside one of them; the buffer has two entries.
    /// Single blocks take an entry each, neighbours half of one.
    ///
    /// At a price `p` for an entry and an access, and no cache: `n` single blocks written one by one and cleaned together
    /// take `p · n(n − 1)/2`, so cleaning after each `n` costs `(1 + p · n(n − 1)/2) / n` a write, less `2p` for the two
    /// entries there are. With `n = 4` that is `1/4 + 3p/2 − 2p`, and with `n = 5` `1/5 + 2p − 2p`: at `p = 1/10` both are
    /// 1/5, others more. So of 90 writes one in five is followed by a rewrite at least. Neighbours take half of that room:
    /// `1/n + p · (n − 1)/4 − 2p` is least, and 1/9, with `n = 9`.
    #[test]
    fn entries_by_hand() {
        let zones = ZoneMap::fixed(1_000, 10_000);
        let room = Room { cache: 0, entries: 2, log: 1_000, run_max: 128 };
        let bound = |step: fn(u64) -> u64| {
            let requests: Vec<Request> = (0..90).map(|n| write(step(n))).collect();
            Accesses::new(&requests, &zones, room.run_max).bound(&room, &Prices::REWRITES)
        };
        let single = bound(|n| 3 * n);
        assert!((single.cost - 18.0).abs() < 0.2, "{single:?}");
        let pairs = bound(|n| 3 * (n / 2) + n % 2);
        assert!((pairs.cost - 10.0).abs() < 0.2, "{pairs:?}");
        let run = bound(|n| n);
        assert_eq!(run.cost, 1.0, "one entry has room for all of it");
    }

    /// By hand. Four blocks are read in turn, 25 times, at 1 for each that is not held. Of one slot at a price `p`, held from
    /// a read to the next of the block it saves 1 in 4 accesses: at `p = 1/4` it is all the same, and 100 reads less a slot
    /// for 100 accesses are 75.
    #[test]
    fn reads_by_hand() {
        let requests: Vec<Request> = (0..100).map(|n| read(n % 4)).collect();
        let accesses = Accesses::new(&requests, &ZoneMap::fixed(100, 1_000), 1);
        let prices = Prices { rewrite: 1.0, read: 1.0 };
        let bound = accesses.bound(&Room::of_blocks(1, 0), &prices);
        assert!((bound.cost - 75.0).abs() < 0.5, "{bound:?}");
        assert_eq!(accesses.bound(&Room::of_blocks(4, 0), &prices).cost, 4.0, "each is read once");
    }

    /// A slot that holds what was written serves its reads: what is dirty and read again takes one slot, not two.
    #[test]
    fn what_is_dirty_and_read_is_held_once() {
        let requests: Vec<Request> = (0..50).flat_map(|_| [write(0), read(0)]).collect();
        let accesses = Accesses::new(&requests, &ZoneMap::fixed(100, 1_000), 1);
        let bound = accesses.bound(&Room::of_blocks(1, 0), &Prices { rewrite: 1.0, read: 1.0 });
        assert_eq!(bound.cost, 1.0, "one slot is enough");
    }
}
