//! The layout of tracks or bands whose size tapers, in runs of equal units: from block to unit and
//! back without division.

use shingle_core::zones::ZoneMap;

/// Consecutive runs of units of one size, from block 0 on.
#[derive(Clone, Debug)]
pub(crate) struct Runs {
    runs: Vec<Run>,
    /// For each stretch of `1 << shift` blocks, the run its first block lies in.
    coarse: Vec<u32>,
    shift: u32,
    end: u64,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Run {
    pub(crate) first: u64,
    pub(crate) first_unit: u64,
    pub(crate) unit_blocks: u64,
    /// `⌊2^64 / unit_blocks⌋ + 1`: the high half of a product with it is the quotient, exact for
    /// every offset below `2^64 / unit_blocks`.
    magic: u64,
}

/// The place of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) run: usize,
    pub(crate) unit: u64,
    pub(crate) offset: u64,
}

impl Run {
    /// Returns `blocks / unit_blocks`, by multiplication.
    #[inline]
    // The high half of a product of 64 bits has 64 bits.
    pub(crate) fn units_in(&self, blocks: u64) -> u64 {
        ((u128::from(blocks) * u128::from(self.magic)) >> 64) as u64
    }

    /// Returns `blocks % unit_blocks`, by multiplication.
    #[inline]
    pub(crate) fn rest_in(&self, blocks: u64) -> u64 {
        blocks - self.units_in(blocks) * self.unit_blocks
    }
}

impl Runs {
    /// Creates runs from `(unit_blocks, units)` pairs, cut at `end` blocks; the last is prolonged
    /// to it.
    pub(crate) fn new(pairs: &[(u64, u64)], end: u64) -> Runs {
        assert!(!pairs.is_empty() && end > 0, "at least one run of one block");
        let (mut first, mut first_unit, mut runs) = (0, 0, Vec::with_capacity(pairs.len()));
        for &(unit_blocks, units) in pairs {
            if first >= end {
                break;
            }
            assert!(unit_blocks >= 2 && units > 0, "units of two blocks or more");
            runs.push(Run { first, first_unit, unit_blocks, magic: u64::MAX / unit_blocks + 1 });
            first += unit_blocks * units;
            first_unit += units;
        }
        // With about four stretches a run, the search after the look-up takes at most about one
        // step.
        let stretches = 4 * runs.len() as u64;
        let shift = end.div_ceil(stretches).next_power_of_two().trailing_zeros();
        let coarse = (0..=(end >> shift)).map(|at| {
            let block = at << shift;
            u32::try_from(runs.partition_point(|run| run.first <= block) - 1).expect("few runs")
        });
        Runs { coarse: coarse.collect(), runs, shift, end }
    }

    #[inline]
    pub(crate) fn place(&self, block: u64) -> Place {
        debug_assert!(block < self.end, "block {block} of {}", self.end);
        let mut run = self.coarse[usize::try_from(block >> self.shift).unwrap_or(0)] as usize;
        while run + 1 < self.runs.len() && self.runs[run + 1].first <= block {
            run += 1;
        }
        let this = &self.runs[run];
        let inside = block - this.first;
        let units = this.units_in(inside);
        Place { run, unit: this.first_unit + units, offset: inside - units * this.unit_blocks }
    }

    /// Returns the unit of `block`, as an index.
    #[inline]
    pub(crate) fn index(&self, block: u64) -> usize {
        usize::try_from(self.place(block).unit).unwrap_or(usize::MAX)
    }

    #[inline]
    pub(crate) fn run(&self, run: usize) -> &Run {
        &self.runs[run]
    }

    pub(crate) fn all(&self) -> &[Run] {
        &self.runs
    }

    /// Returns the first block of `unit` and its number of blocks, cut at the end.
    pub(crate) fn unit(&self, unit: u64) -> (u64, u64) {
        let run = &self.runs[self.runs.partition_point(|run| run.first_unit <= unit) - 1];
        let first = run.first + (unit - run.first_unit) * run.unit_blocks;
        (first, run.unit_blocks.min(self.end.saturating_sub(first)))
    }

    /// Returns the number of units; the last may be cut.
    pub(crate) fn units(&self) -> u64 {
        self.place(self.end - 1).unit + 1
    }

    /// Returns the number of blocks in all units.
    pub(crate) fn end(&self) -> u64 {
        self.end
    }

    /// Returns the layout as a map for hosts.
    pub(crate) fn zone_map(&self) -> ZoneMap {
        let next = self.runs.iter().skip(1).map(|run| run.first_unit).chain([self.units()]);
        let pairs: Vec<(u64, u64)> = self
            .runs
            .iter()
            .zip(next)
            .map(|(run, end)| (run.unit_blocks, end - run.first_unit))
            .collect();
        ZoneMap::runs(&pairs, self.end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use shingle_core::units::{Block, Zone};

    #[test]
    fn every_block_is_where_the_zone_map_says() {
        for (pairs, end) in [
            (vec![(7, 3), (5, 4), (2, 2)], 60),
            (vec![(10, 1)], 95),
            (vec![(464, 15), (463, 15), (241, 15)], 16_000),
        ] {
            let runs = Runs::new(&pairs, end);
            let map = runs.zone_map();
            assert_eq!(map.count() as u64, runs.units());
            for block in 0..end {
                let place = runs.place(block);
                let zone = map.zone(Block(block));
                assert_eq!(u64::from(zone.0), place.unit, "block {block}");
                assert_eq!(block - map.first_block(zone).0, place.offset);
                assert_eq!(runs.unit(place.unit), (map.first_block(zone).0, map.blocks(zone)));
            }
        }
    }

    #[test]
    fn division_by_multiplication_is_exact_at_every_border() {
        let runs = Runs::new(&[(5000, 1_000_000), (10_000, 400_000)], 9_000_000_000);
        for unit in (0..1_400_000).step_by(997) {
            let (first, blocks) = runs.unit(unit);
            assert_eq!(runs.place(first).unit, unit);
            assert_eq!(
                runs.place(first + blocks - 1),
                Place { unit, offset: blocks - 1, ..runs.place(first) }
            );
        }
        assert_eq!(runs.zone_map().zone(Block(5000)), Zone(1));
    }
}
