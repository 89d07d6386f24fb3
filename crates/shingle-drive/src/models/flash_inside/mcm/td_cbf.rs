//! Which bands are hot: a counting Bloom filter for a window of time (TD-CBF, MCM §III-B.b).
//!
//! Counters of two bits in two tables. Each sequential write counts its band in the current table;
//! when that is full it becomes the history table, which is only read, the older one is dropped, and
//! a new one is begun. A band that either table has counted three times is hot.
//!
//! *Full* cannot mean 90 % of the counters: 1,024 samples set about half of them. It is taken as 90 %
//! of the samples. A counter that two of the hash functions choose counts once.

use shingle_core::units::Zone;

/// Largest value of a counter.
const COUNT_MAX: u64 = 3;

#[derive(Clone, Debug)]
pub(crate) struct TdCbf {
    shape: Shape,
    hot_count: u32,
    /// Counters of two bits each, 32 a word.
    current: Vec<u64>,
    history: Vec<u64>,
    /// Samples in the current table, and the number at which it is full.
    inserted: u64,
    full: u64,
}

/// The size of a filter: equations 1 and 2.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Shape {
    /// Counters of a table by equation 1.
    pub(crate) counters_needed: u64,
    /// Binary logarithm of the counters of a table: the next power of two.
    pub(crate) index_bits: u32,
    pub(crate) hashes: usize,
    pub(crate) samples: u64,
    /// Bits of a band number.
    key_bits: u32,
}

impl Shape {
    /// Sizes a filter for `samples`, a probability `p` of a false positive, and this number of
    /// bands.
    pub(crate) fn new(samples: u64, p: f64, bands: u64) -> Shape {
        let ln2 = std::f64::consts::LN_2;
        let counters_needed = (-(samples as f64) * libm::log(p) / (ln2 * ln2)).ceil() as u64;
        let index_bits = counters_needed.next_power_of_two().trailing_zeros().max(5);
        let hashes = (-libm::log2(p)).round().clamp(1.0, 3.0) as usize;
        let key_bits = (u64::BITS - bands.leading_zeros()).max(index_bits);
        Shape { counters_needed, index_bits, hashes, samples, key_bits }
    }

    /// Returns the counters of a band: direct modulo, folding, middle of the square.
    fn places(&self, band: Zone) -> [u64; 3] {
        let (key, mask) = (u64::from(band.0), (1u64 << self.index_bits) - 1);
        let direct = key & mask;
        let mut folded = 0;
        let mut rest = key;
        while rest > 0 {
            folded += rest & mask;
            rest >>= self.index_bits;
        }
        // The middle of the square, which has twice as many bits as a band number.
        let square = (key * key) >> (self.key_bits - self.index_bits / 2);
        [direct, folded & mask, square & mask]
    }
}

impl TdCbf {
    pub(crate) fn new(shape: Shape, hot_count: u32) -> TdCbf {
        let words = (1usize << shape.index_bits) / 32;
        TdCbf {
            shape,
            hot_count,
            current: vec![0; words],
            history: vec![0; words],
            inserted: 0,
            full: (shape.samples * 9).div_ceil(10),
        }
    }

    /// Counts a band.
    pub(crate) fn insert(&mut self, band: Zone) {
        let places = self.shape.places(band);
        let places = &places[..self.shape.hashes];
        for (at, &place) in places.iter().enumerate() {
            let (word, shift) = (place as usize / 32, place % 32 * 2);
            let full = self.current[word] >> shift & COUNT_MAX == COUNT_MAX;
            if !full && !places[..at].contains(&place) {
                self.current[word] += 1 << shift;
            }
        }
        self.inserted += 1;
        if self.inserted >= self.full {
            self.inserted = 0;
            std::mem::swap(&mut self.current, &mut self.history);
            self.current.fill(0);
        }
    }

    /// Returns how often a band was counted, at most three: the higher count of both tables. Never
    /// too low.
    pub(crate) fn count(&self, band: Zone) -> u32 {
        let places = self.shape.places(band);
        let least = |table: &[u64]| {
            let at = |&place: &u64| table[place as usize / 32] >> (place % 32 * 2) & COUNT_MAX;
            places[..self.shape.hashes].iter().map(at).min().unwrap_or(0)
        };
        least(&self.current).max(least(&self.history)) as u32
    }

    /// Returns whether a band is hot.
    pub(crate) fn hot(&self, band: Zone) -> bool {
        self.count(band) >= self.hot_count
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paper() -> Shape {
        Shape::new(1024, 0.147, 172_385)
    }

    #[test]
    fn equations_are_those_of_the_paper() {
        let shape = paper();
        assert_eq!((shape.counters_needed, 1 << shape.index_bits, shape.hashes), (4087, 4096, 3));
        assert_eq!(TdCbf::new(shape, 3).full, 922);
    }

    #[test]
    fn hash_functions_by_hand() {
        // 18 bits: 100000 = 11000011010100000 in binary. Modulo 4096 it is 1696; in parts of twelve
        // bits 24 and 1696, folded 1720. Its square is 10^10; without the lower 18 - 6 = 12 bits
        // 2441406, and that modulo 4096 is 190.
        assert_eq!(paper().places(Zone(100_000)), [1696, 1720, 190]);
        // Below 4096 there is nothing to fold: two of the three are the same.
        assert_eq!(paper().places(Zone(1000)), [1000, 1000, 244]);
    }

    /// Three phases: what is hot in one is hot in the next, as history, and forgotten in the one
    /// after.
    #[test]
    fn life_over_three_phases() {
        let mut filter = TdCbf::new(Shape::new(20, 0.147, 1 << 20), 3);
        assert_eq!((filter.shape.index_bits, filter.full), (7, 18));
        let (hot, cold) = (Zone(5), Zone(1 << 19));
        assert!(!filter.hot(hot), "at first all is cold");
        // Phase 1: three of eighteen samples are of the hot band.
        (0..2).for_each(|_| filter.insert(hot));
        assert!(!filter.hot(hot));
        filter.insert(hot);
        assert!(filter.hot(hot));
        (0..14).for_each(|_| filter.insert(cold));
        assert_eq!(filter.inserted, 17);
        // The eighteenth fills the table: it is history, the current one empty.
        filter.insert(cold);
        assert_eq!((filter.inserted, filter.current.iter().sum::<u64>()), (0, 0));
        assert!(filter.hot(hot) && filter.hot(cold));
        // Phase 2 does not see the hot band. Twice is not enough, and the two tables do not add up.
        (0..2).for_each(|_| filter.insert(Zone(77)));
        assert!(filter.hot(hot) && !filter.hot(Zone(77)));
        (0..16).for_each(|_| filter.insert(cold));
        // Phase 3: the first table is gone.
        assert!(!filter.hot(hot) && filter.hot(cold));
        assert_eq!(filter.count(Zone(77)), 2);
    }

    #[test]
    fn no_band_counts_too_little() {
        let mut rng = crate::parts::rng::Rng::new(9);
        let mut filter = TdCbf::new(paper(), 3);
        let mut counts = std::collections::BTreeMap::<u32, u32>::new();
        for _ in 0..900 {
            let band = rng.below(400) as u32 * 431;
            filter.insert(Zone(band));
            *counts.entry(band).or_default() += 1;
        }
        for (band, count) in counts {
            assert!(filter.count(Zone(band)) >= count.min(3), "band {band}");
        }
    }
}
