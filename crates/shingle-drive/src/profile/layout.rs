//! The bands of a whole disk, extrapolated from the measured ones.

use super::BandFacts;
use crate::parts::fit::line;
use crate::parts::rng::Rng;

/// Sizes that differ by no more are alike: a border is found to a reading step.
const ALIKE: f64 = 0.05;
/// Fewer bands of random sizes do not show a trend.
const TREND_BANDS_MIN: usize = 8;
/// Seed of the drawn sizes. Any will do.
const SEED: u64 = 1;

/// Bands from block 0 to the end of the disk, as pairs of blocks and count.
///
/// - Samples within 5 % of each other: all bands have their median.
/// - Sizes that go evenly with the address (each sample within 5 % of what its neighbours say, for
///   half of them at least): between two samples the square of the size goes in a line. Bands of as many
///   tracks each, on tracks that get shorter by a step each, do just that.
/// - Others: drawn from the samples with a fixed seed, the trend over the disk kept if there are eight
///   of them.
pub(super) fn laid_out(samples: &[BandFacts], disk_blocks: u64) -> Vec<(u64, u64)> {
    assert!(!samples.is_empty(), "bands are made of bands");
    let mut sizes: Vec<u64> = samples.iter().map(|band| band.blocks).collect();
    sizes.sort_unstable();
    let (least, most) = (sizes[0], sizes[sizes.len() - 1]);
    if (most as f64) <= least as f64 * (1.0 + ALIKE) {
        let size = sizes[sizes.len() / 2].min(disk_blocks);
        return vec![(size, disk_blocks.div_ceil(size))];
    }
    if goes_evenly(samples) {
        return filled(disk_blocks, |first| between(samples, first));
    }
    let mut drawn = Drawn::new(samples);
    filled(disk_blocks, |first| drawn.size(first))
}

/// Returns bands until the disk ends, the size of each by its first block.
fn filled(disk_blocks: u64, mut size: impl FnMut(u64) -> f64) -> Vec<(u64, u64)> {
    let (mut pairs, mut first): (Vec<(u64, u64)>, u64) = (Vec::new(), 0);
    while first < disk_blocks {
        let blocks = whole(size(first));
        match pairs.last_mut() {
            Some((last, count)) if *last == blocks => *count += 1,
            _ => pairs.push((blocks, 1)),
        }
        first += blocks;
    }
    pairs
}

/// Returns whether the sizes of at least half of the samples are what their neighbours predict.
fn goes_evenly(samples: &[BandFacts]) -> bool {
    let expected = |three: &[BandFacts]| {
        let size = between(&[three[0], three[2]], three[1].first_block);
        (three[1].blocks as f64 - size).abs() <= ALIKE * size
    };
    let even = samples.windows(3).filter(|three| expected(three)).count();
    2 * even >= samples.len().saturating_sub(2)
}

/// Returns the size at a block, interpolated between the samples to its left and right; constant
/// beyond the first and last.
fn between(samples: &[BandFacts], block: u64) -> f64 {
    let right = samples.partition_point(|band| band.first_block <= block);
    let (Some(right), Some(left)) = (samples.get(right), samples[..right].last()) else {
        let nearest = if right == 0 { samples.first() } else { samples.last() };
        return nearest.expect("at least one").blocks as f64;
    };
    let part =
        (block - left.first_block) as f64 / (right.first_block - left.first_block).max(1) as f64;
    let square = |band: &BandFacts| band.blocks as f64 * band.blocks as f64;
    (square(left) * (1.0 - part) + square(right) * part).sqrt()
}

/// Sizes drawn from samples.
struct Drawn {
    /// The size at block 0, what each block adds to it, and the least and greatest it may become.
    trend: (f64, f64),
    bounds: (f64, f64),
    /// Size of each sample over that of the trend there.
    ratios: Vec<f64>,
    /// Cumulated weights of the ratios.
    ends: Vec<u64>,
    rng: Rng,
}

impl Drawn {
    fn new(samples: &[BandFacts]) -> Drawn {
        let sizes = || samples.iter().map(|band| band.blocks as f64);
        let mean = sizes().sum::<f64>() / samples.len() as f64;
        let points: Vec<(f64, f64)> =
            samples.iter().map(|band| (band.first_block as f64, band.blocks as f64)).collect();
        let trend = line(&points)
            .filter(|_| samples.len() >= TREND_BANDS_MIN)
            .map_or((mean, 0.0), |line| (line.intercept, line.slope));
        let bounds = (sizes().fold(mean, f64::min), sizes().fold(mean, f64::max));
        let mut drawn = Drawn { trend, bounds, ratios: vec![], ends: vec![], rng: Rng::new(SEED) };
        let mut end = 0;
        for band in samples {
            let ratio = band.blocks as f64 / drawn.expected(band.first_block);
            // A probe finds the band around a random place, so large bands are found in proportion
            // to their size. The weight corrects that.
            end += whole((1e6 / ratio).min(1e9));
            drawn.ratios.push(ratio);
            drawn.ends.push(end);
        }
        drawn
    }

    fn expected(&self, block: u64) -> f64 {
        (self.trend.0 + self.trend.1 * block as f64).clamp(self.bounds.0, self.bounds.1)
    }

    fn size(&mut self, block: u64) -> f64 {
        let all = self.ends.last().copied().unwrap_or(1);
        let ticket = self.rng.below(all);
        let ratio = self.ratios[self.ends.partition_point(|&end| end <= ticket)];
        self.expected(block) * ratio
    }
}

/// Rounds to a size that a band can have.
fn whole(size: f64) -> u64 {
    (size.round() as u64).max(2)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples(of: &[(u64, u64)]) -> Vec<BandFacts> {
        let band = |&(first_block, blocks)| BandFacts { first_block, blocks, error_blocks: 0 };
        of.iter().map(band).collect()
    }

    fn count(pairs: &[(u64, u64)]) -> u64 {
        pairs.iter().map(|pair| pair.1).sum()
    }

    #[test]
    fn sizes_that_are_alike_are_one_size() {
        let bands = laid_out(&samples(&[(0, 1000), (5000, 1020), (9000, 990)]), 10_500);
        assert_eq!(bands, [(1000, 11)]);
        assert_eq!(laid_out(&samples(&[(0, 1000)]), 500), [(500, 1)]);
    }

    #[test]
    fn a_taper_is_followed_by_the_square() {
        // 2000² = 4e6 to 1000² = 1e6 over 90,000 blocks: 2.5e6 in the middle.
        let bands = samples(&[(0, 2000), (90_000, 1000)]);
        assert_eq!(between(&bands, 45_000), 2.5e6_f64.sqrt());
        assert_eq!((between(&bands, 0), between(&bands, 95_000)), (2000.0, 1000.0));
        // A disk of bands that get shorter by a block each: 2000, 1999, … 1001 are 1,500,500 blocks.
        let first = |band: u64| band * 2000 - band * band.saturating_sub(1) / 2;
        let taper: Vec<_> = [0, 300, 700, 999].map(|band| (first(band), 2000 - band)).into();
        let bands = laid_out(&samples(&taper), 1_500_500);
        assert!(count(&bands).abs_diff(1000) <= 2, "{}", count(&bands));
        assert_eq!(bands[0].0, 2000);
        // Noise within 5 % is no other thing.
        let noisy: Vec<_> =
            taper.iter().zip([20, 0, 20, 0]).map(|(&(at, size), more)| (at, size + more)).collect();
        assert!(count(&laid_out(&samples(&noisy), 1_500_500)).abs_diff(1000) <= 12);
    }

    #[test]
    fn random_sizes_are_drawn_as_often_as_they_are_there() {
        // Half of all bands have 1000 blocks and half 3000: a given block is in one of 3000 three
        // times of four.
        let sizes = [3000, 3000, 1000, 3000, 3000, 1000, 3000, 3000];
        let found: Vec<_> = (0..8).map(|at| (at * 1_000_000, sizes[at as usize])).collect();
        let bands = laid_out(&samples(&found), 8_000_000);
        // The mean is 2000: 4,000 bands.
        assert!(count(&bands).abs_diff(4000) < 120, "{}", count(&bands));
        assert_eq!(bands, laid_out(&samples(&found), 8_000_000), "the same each time");
        let few = laid_out(&samples(&found[..5]), 8_000_000);
        let some = |size| few.iter().filter(|pair| pair.0 == size).count();
        assert_eq!(some(1000) + some(3000), few.len(), "without a trend: the sizes themselves");
    }

    #[test]
    fn a_trend_beneath_random_sizes_is_kept() {
        let mut rng = Rng::new(5);
        let found: Vec<_> = (0..40)
            .map(|at| (at * 250_000, (2000 - 25 * at) * (60 + rng.below(81)) / 100))
            .collect();
        let bands = laid_out(&samples(&found), 10_000_000);
        let mean = |bands: &[(u64, u64)]| {
            bands.iter().map(|pair| pair.0 * pair.1).sum::<u64>() / count(bands)
        };
        let (begin, end) = (mean(&bands[..200]), mean(&bands[bands.len() - 200..]));
        assert!(begin > 1600 && end < 1300, "{begin} {end}");
    }
}
