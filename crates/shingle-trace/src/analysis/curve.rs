//! The miss-ratio curve of LRU, from stack distances: a cache of `c` blocks that every access fills
//! hits the accesses with a distance below `c` (Mattson et al., IBM Systems J. 9(2), 1970).
//!
//! The curve is exact at its sizes: every size up to 8 blocks, then eight for each doubling, so
//! powers of two are among them.

use shingle_core::units::Op;

/// Number of sizes for each doubling.
const STEPS: u64 = 8;

/// A histogram of accesses by the smallest of the curve's caches that hits them.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Curve {
    /// Reads and writes by the index of that size.
    hits: Vec<[u64; 2]>,
    /// Reads and writes in all.
    accesses: [u64; 2],
}

/// The misses of a cache.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Point {
    /// Size of the cache.
    pub cache_blocks: u64,
    /// Reads that miss it, in blocks.
    pub read_misses: u64,
    /// Writes that miss it, in blocks.
    pub write_misses: u64,
}

impl Point {
    /// Returns the misses of reads and writes.
    #[must_use]
    pub fn misses(&self) -> u64 {
        self.read_misses + self.write_misses
    }
}

impl Curve {
    /// Adds an access at this distance; `None` for the first access of a block.
    #[inline]
    pub fn add(&mut self, op: Op, distance: Option<u64>) {
        let write = usize::from(op == Op::Write);
        self.accesses[write] += 1;
        if let Some(distance) = distance {
            let index = index_of(distance + 1);
            if self.hits.len() <= index {
                self.hits.resize(index + 1, [0; 2]);
            }
            self.hits[index][write] += 1;
        }
    }

    /// Returns the number of accesses.
    #[must_use]
    pub fn accesses(&self) -> u64 {
        self.accesses[0] + self.accesses[1]
    }

    /// Returns sizes in ascending order with their misses, up to the first at which only first
    /// accesses miss.
    pub fn points(&self) -> impl Iterator<Item = Point> + '_ {
        let [mut read_misses, mut write_misses] = self.accesses;
        self.hits.iter().enumerate().map(move |(index, hits)| {
            read_misses -= hits[0];
            write_misses -= hits[1];
            Point { cache_blocks: blocks_of(index), read_misses, write_misses }
        })
    }

    /// Returns the misses of a cache of a size of the curve; for another size, those of the next
    /// smaller one.
    #[must_use]
    pub fn at(&self, cache_blocks: u64) -> Point {
        let [read_misses, write_misses] = self.accesses;
        let point = self.points().take_while(|point| point.cache_blocks <= cache_blocks).last();
        let point = point.unwrap_or(Point { cache_blocks: 0, read_misses, write_misses });
        Point { cache_blocks, ..point }
    }
}

/// Returns the index of the smallest size of at least `blocks`, which must not be 0.
fn index_of(blocks: u64) -> usize {
    if blocks <= STEPS {
        return blocks as usize - 1;
    }
    let doublings = u64::from(((blocks - 1) / STEPS).ilog2());
    let step = blocks.div_ceil(1 << doublings); // from 9 to 16
    (STEPS + doublings * STEPS + step - STEPS - 1) as usize
}

/// Returns the size of an index.
fn blocks_of(index: usize) -> u64 {
    let index = index as u64;
    if index < STEPS {
        return index + 1;
    }
    (STEPS + 1 + index % STEPS) << (index / STEPS - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_dense_and_then_eight_to_a_doubling() {
        let sizes: Vec<u64> = (0..26).map(blocks_of).collect();
        let expected = [
            1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 18, 20, 22, 24, 26, 28, 30, 32,
            36, 40,
        ];
        assert_eq!(sizes, expected);
        for blocks in (1..10_000).chain([1 << 40, (1 << 40) + 1, (1 << 62) - 1]) {
            let index = index_of(blocks);
            assert!(blocks_of(index) >= blocks, "{blocks}");
            assert!(index == 0 || blocks_of(index - 1) < blocks, "{blocks}");
        }
    }

    #[test]
    fn a_curve_by_hand() {
        let mut curve = Curve::default();
        for (op, distance) in [
            (Op::Write, None),
            (Op::Read, Some(0)),
            (Op::Read, None),
            (Op::Write, Some(2)),
            (Op::Write, Some(2)),
        ] {
            curve.add(op, distance);
        }
        let points: Vec<_> =
            curve.points().map(|p| (p.cache_blocks, p.read_misses, p.write_misses)).collect();
        assert_eq!(points, [(1, 1, 3), (2, 1, 3), (3, 1, 1)]);
        assert_eq!((curve.accesses(), curve.at(64).misses(), curve.at(0).misses()), (5, 2, 5));
    }
}
