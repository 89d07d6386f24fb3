//! Wear of flash: erases of its blocks, by region, and its expected lifetime.

use std::collections::BTreeMap;

/// Erases of the erase blocks of one region.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RegionWear {
    /// Name.
    pub region: &'static str,
    /// Number of blocks by number of erases.
    pub histogram: BTreeMap<u32, u32>,
}

/// Wear of all flash in a drive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wear {
    /// Its regions, each erase block in one.
    pub regions: Vec<RegionWear>,
    /// Number of erases that a block endures.
    pub endurance: u32,
    /// Blocks of 4 KiB the host wrote to the drive.
    pub host_blocks: u64,
    /// Pages taken by the host's writes.
    pub written_pages: u64,
    /// Pages programmed.
    pub programmed_pages: u64,
}

impl RegionWear {
    /// Returns the number of erase blocks.
    #[must_use]
    pub fn blocks(&self) -> u64 {
        self.histogram.values().map(|&blocks| u64::from(blocks)).sum()
    }

    /// Returns the erases of all blocks.
    #[must_use]
    pub fn erases(&self) -> u64 {
        self.histogram.iter().map(|(&erases, &blocks)| u64::from(erases) * u64::from(blocks)).sum()
    }

    /// Returns the erases of the least erased block.
    #[must_use]
    pub fn min(&self) -> u32 {
        self.histogram.keys().next().copied().unwrap_or(0)
    }

    /// Returns the erases of the most erased block.
    #[must_use]
    pub fn max(&self) -> u32 {
        self.histogram.keys().next_back().copied().unwrap_or(0)
    }

    /// Returns the mean erases of a block; 0 without blocks.
    #[must_use]
    pub fn mean(&self) -> f64 {
        self.erases() as f64 / self.blocks().max(1) as f64
    }

    /// Returns the standard deviation of the erases of all blocks of the region.
    #[must_use]
    pub fn stddev(&self) -> f64 {
        let mean = self.mean();
        let square = |(&erases, &blocks): (&u32, &u32)| {
            let off = f64::from(erases) - mean;
            off * off * f64::from(blocks)
        };
        (self.histogram.iter().map(square).sum::<f64>() / self.blocks().max(1) as f64).sqrt()
    }
}

impl Wear {
    /// Returns all regions combined.
    #[must_use]
    pub fn all(&self) -> RegionWear {
        let mut all = RegionWear { region: "all", histogram: BTreeMap::new() };
        for (&erases, &blocks) in self.regions.iter().flat_map(|region| &region.histogram) {
            *all.histogram.entry(erases).or_default() += blocks;
        }
        all
    }

    /// Returns the pages programmed per page of host writes; `None` without any.
    #[must_use]
    pub fn wa_flash(&self) -> Option<f64> {
        (self.written_pages > 0).then(|| self.programmed_pages as f64 / self.written_pages as f64)
    }

    /// Returns the bytes that the host can write, in the same pattern, until the flash is worn out:
    /// if erases were spread evenly, and for the most worn block. `None` before the first erase.
    #[must_use]
    pub fn lifetime_bytes(&self) -> Option<(f64, f64)> {
        let all = self.all();
        let bytes = (self.host_blocks * shingle_core::units::BLOCK_BYTES) as f64;
        let until = |erases: f64| bytes * f64::from(self.endurance) / erases;
        (all.max() > 0).then(|| (until(all.mean()), until(f64::from(all.max()))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spread_and_lifetime_by_hand() {
        let region = |region, blocks: &[(u32, u32)]| RegionWear {
            region,
            histogram: blocks.iter().copied().collect(),
        };
        let wear = Wear {
            regions: vec![region("a", &[(2, 3), (6, 1)]), region("b", &[(6, 4)])],
            endurance: 60,
            host_blocks: 100,
            written_pages: 80,
            programmed_pages: 120,
        };
        let a = &wear.regions[0];
        assert_eq!((a.blocks(), a.erases(), a.min(), a.max()), (4, 12, 2, 6));
        // Away from the mean of 3: 1, 1, 1 and 3.
        assert_eq!((a.mean(), a.stddev()), (3.0, 3.0_f64.sqrt()));
        let all = wear.all();
        assert_eq!((all.blocks(), all.erases(), all.mean()), (8, 36, 4.5));
        assert_eq!(wear.wa_flash(), Some(1.5));
        // 409,600 bytes cost 4.5 of 60 erases, and 6 in the worst block.
        let (even, worst) = wear.lifetime_bytes().expect("erased");
        assert_eq!(worst, 4_096_000.0);
        assert!((even - 409_600.0 * 60.0 / 4.5).abs() < 1e-6);
    }
}
