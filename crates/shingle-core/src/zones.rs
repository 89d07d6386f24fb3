//! The division of a disk into zones: of fixed size, exposed by the device, or the true bands of
//! the drive.

use core::ops::Range;

use crate::units::{Block, Zone};

/// Maps each block to its zone.
#[derive(Clone, Debug)]
pub enum ZoneMap {
    /// Zones of one size from block 0 on. The last one may reach beyond the disk.
    Fixed {
        /// Blocks in a zone.
        zone_blocks: u64,
        /// Blocks on the disk.
        disk_blocks: u64,
    },
    /// Runs of zones of equal size, in address order.
    Runs {
        /// At least one run; the first starts at block 0 and zone 0.
        runs: Vec<ZoneRun>,
        /// Blocks on the disk.
        disk_blocks: u64,
    },
}

/// Neighbouring zones of one size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ZoneRun {
    /// First block of the first zone.
    pub first_block: Block,
    /// Number of the first zone.
    pub first_zone: Zone,
    /// Blocks in each zone.
    pub zone_blocks: u64,
}

impl ZoneMap {
    /// Creates zones of `zone_blocks` each over a disk of `disk_blocks`.
    ///
    /// # Panics
    /// If `zone_blocks` is 0, or there would be more zones than a [`Zone`] can number.
    #[must_use]
    pub fn fixed(zone_blocks: u64, disk_blocks: u64) -> ZoneMap {
        assert!(zone_blocks > 0, "a zone has at least one block");
        assert!(disk_blocks.div_ceil(zone_blocks) < u64::from(u32::MAX), "too many zones");
        ZoneMap::Fixed { zone_blocks, disk_blocks }
    }

    /// Creates zones from `(zone_blocks, count)` pairs, one after another. The last zone is cut, or
    /// the last run prolonged, to end at `disk_blocks`.
    ///
    /// # Panics
    /// If there is no pair, or a pair has a zero.
    #[must_use]
    pub fn runs(pairs: &[(u64, u64)], disk_blocks: u64) -> ZoneMap {
        assert!(!pairs.is_empty(), "a zone map has at least one run");
        let (mut block, mut zone, mut runs) = (0u64, 0u64, Vec::with_capacity(pairs.len()));
        for &(zone_blocks, count) in pairs {
            assert!(zone_blocks > 0 && count > 0, "a run has zones, a zone has blocks");
            if block >= disk_blocks && !runs.is_empty() {
                break;
            }
            let first_zone = Zone(u32::try_from(zone).expect("too many zones"));
            runs.push(ZoneRun { first_block: Block(block), first_zone, zone_blocks });
            block += zone_blocks * count;
            zone += count;
        }
        ZoneMap::Runs { runs, disk_blocks }
    }

    /// Returns the `(zone_blocks, count)` pairs from which [`ZoneMap::runs`] creates this map. The
    /// last zone may be cut by the end of the disk.
    #[must_use]
    pub fn pairs(&self) -> Vec<(u64, u64)> {
        let count = self.count() as u64;
        match self {
            ZoneMap::Fixed { zone_blocks, .. } => vec![(*zone_blocks, count.max(1))],
            ZoneMap::Runs { runs, .. } => {
                let next = runs.iter().skip(1).map(|run| u64::from(run.first_zone.0));
                let ends = next.chain([count]);
                let pair = |(run, end): (&ZoneRun, u64)| {
                    (run.zone_blocks, (end - u64::from(run.first_zone.0)).max(1))
                };
                runs.iter().zip(ends).map(pair).collect()
            }
        }
    }

    /// Returns the zone that holds `block`.
    #[must_use]
    // Zone numbers fit into 32 bits: the constructors assert it.
    pub fn zone(&self, block: Block) -> Zone {
        let run = self.run(|run| run.first_block <= block);
        Zone(run.first_zone.0 + ((block.0 - run.first_block.0) / run.zone_blocks) as u32)
    }

    /// Returns the zone that holds `block`, with its blocks: the same as [`ZoneMap::zone`],
    /// [`ZoneMap::first_block`] and [`ZoneMap::blocks`], in one search.
    #[must_use]
    #[inline]
    pub fn extent(&self, block: Block) -> (Zone, Range<Block>) {
        let run = self.run(|run| run.first_block <= block);
        let nth = (block.0 - run.first_block.0) / run.zone_blocks;
        let first = run.first_block.after(nth * run.zone_blocks);
        let end = first.after(self.cut(first, run.zone_blocks));
        (Zone(run.first_zone.0 + nth as u32), first..end)
    }

    /// Returns the first block of `zone`.
    #[must_use]
    pub fn first_block(&self, zone: Zone) -> Block {
        let run = self.run(|run| run.first_zone <= zone);
        run.first_block.after(u64::from(zone.0 - run.first_zone.0) * run.zone_blocks)
    }

    /// Returns the number of blocks in `zone`. The last zone may be cut by the end of the disk.
    #[must_use]
    pub fn blocks(&self, zone: Zone) -> u64 {
        let run = self.run(|run| run.first_zone <= zone);
        let first = run.first_block.after(u64::from(zone.0 - run.first_zone.0) * run.zone_blocks);
        self.cut(first, run.zone_blocks)
    }

    /// Returns the last run for which `starts` holds; the first one always does.
    #[inline]
    fn run(&self, starts: impl Fn(&ZoneRun) -> bool) -> ZoneRun {
        match self {
            ZoneMap::Fixed { zone_blocks, .. } => {
                ZoneRun { first_block: Block(0), first_zone: Zone(0), zone_blocks: *zone_blocks }
            }
            ZoneMap::Runs { runs, .. } => runs[runs.partition_point(starts) - 1],
        }
    }

    /// Returns how many of `blocks` from `first` on are on the disk.
    #[inline]
    fn cut(&self, first: Block, blocks: u64) -> u64 {
        blocks.min(self.disk_blocks().saturating_sub(first.0))
    }

    /// Blocks on the disk.
    #[must_use]
    pub fn disk_blocks(&self) -> u64 {
        match self {
            ZoneMap::Fixed { disk_blocks, .. } | ZoneMap::Runs { disk_blocks, .. } => *disk_blocks,
        }
    }

    /// Returns the number of zones.
    #[must_use]
    pub fn count(&self) -> usize {
        match self.disk_blocks() {
            0 => 0,
            blocks => self.zone(Block(blocks - 1)).index() + 1,
        }
    }

    /// Returns the number of blocks in the largest zone.
    #[must_use]
    pub fn largest(&self) -> u64 {
        match self {
            ZoneMap::Fixed { zone_blocks, .. } => *zone_blocks,
            ZoneMap::Runs { runs, .. } => {
                runs.iter().map(|run| run.zone_blocks).max().expect("at least one run")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_number_their_zones_one_after_another() {
        let map = ZoneMap::runs(&[(10, 2), (5, 3)], 33);
        let zones: Vec<u32> =
            [0, 9, 10, 19, 20, 24, 25, 30, 32].map(|b| map.zone(Block(b)).0).into();
        assert_eq!(zones, [0, 0, 1, 1, 2, 2, 3, 4, 4]);
        assert_eq!(map.pairs(), [(10, 2), (5, 3)]);
        assert_eq!(ZoneMap::fixed(10, 33).pairs(), [(10, 4)]);
        assert_eq!(map.first_block(Zone(3)), Block(25));
        assert_eq!((map.blocks(Zone(1)), map.blocks(Zone(4)), map.count()), (10, 3, 5));
        assert_eq!(map.largest(), 10);
        assert_eq!(map.extent(Block(24)), (Zone(2), Block(20)..Block(25)));
        assert_eq!(
            map.extent(Block(31)),
            (Zone(4), Block(30)..Block(33)),
            "cut by the end of the disk"
        );
    }

    #[test]
    fn a_fixed_map_is_a_map_of_one_run() {
        let (fixed, runs) = (ZoneMap::fixed(7, 30), ZoneMap::runs(&[(7, 5)], 30));
        for block in (0..30).map(Block) {
            let zone = fixed.zone(block);
            assert_eq!(zone, runs.zone(block));
            assert_eq!(fixed.first_block(zone), runs.first_block(zone));
            assert_eq!(fixed.blocks(zone), runs.blocks(zone));
            let first = fixed.first_block(zone);
            let extent = (zone, first..first.after(fixed.blocks(zone)));
            assert_eq!((fixed.extent(block), runs.extent(block)), (extent.clone(), extent));
        }
        assert_eq!(fixed.count(), runs.count());
    }
}
