//! Draws ranks with a zipf skew.

use super::rng::Rng;

/// A table of cumulated weights: rank i, from 0, has weight 1 / (i + 1)^theta.
///
/// The power is computed by libm with plain IEEE operations, so a table is the same on every
/// machine. If theta is 0 all ranks have the same weight.
pub(super) struct Skew {
    ends: Vec<u64>,
}

impl Skew {
    /// The most ranks: more would need memory with no visible effect.
    pub(super) const RANKS_MAX: u64 = 1 << 23;

    pub(super) fn new(ranks: u64, theta: f64) -> Skew {
        // The largest weight; 2^23 of them fit 64 bits.
        const WEIGHT: f64 = (1_u64 << 40) as f64;
        let ranks = ranks.clamp(1, Skew::RANKS_MAX);
        let mut end = 0;
        let ends = (1..=ranks)
            .map(|rank| {
                end += ((libm::pow(rank as f64, -theta) * WEIGHT) as u64).max(1);
                end
            })
            .collect();
        Skew { ends }
    }

    pub(super) fn ranks(&self) -> u64 {
        self.ends.len() as u64
    }

    pub(super) fn draw(&self, rng: &mut Rng) -> u64 {
        let total = self.ends.last().copied().unwrap_or(1);
        let drawn = rng.below(total);
        self.ends.partition_point(|end| *end <= drawn) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::super::rng::Seed;
    use super::*;

    #[test]
    fn low_ranks_are_drawn_more_often() {
        let mut rng = Seed { seed: 1, workload: "test" }.stream("skew");
        let mut drawn = [0_u32; 4];
        let skew = Skew::new(4, 1.0);
        for _ in 0..25_000 {
            drawn[skew.draw(&mut rng) as usize] += 1;
        }
        // 12 : 6 : 4 : 3 of 25 parts.
        for (count, expected) in drawn.iter().zip([12_000_u32, 6_000, 4_000, 3_000]) {
            assert!(count.abs_diff(expected) < 400, "{drawn:?}");
        }
    }
}
