//! A skew without a scale, and lengths that fall off, from tables: no power is computed in a draw.

use super::super::rng::Rng;

/// Few, so that the tables of several volumes stay in a near cache.
const STEPS: usize = 1 << STEPS_BITS;
const STEPS_BITS: u32 = 10;
const ONE: u64 = 1 << 32;

/// The part that the first part `x` of all takes: x^(1/skew).
pub(super) fn share_of_first(x: f64, skew: f64) -> f64 {
    libm::pow(x, 1.0 / skew)
}

/// Draws ranks: the first part x of them in x^(1/skew) of the draws.
#[derive(Debug)]
pub(super) struct Power {
    /// The part of the ranks below which a draw falls, by its part of all draws.
    ends: Vec<u32>,
}

impl Power {
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    pub(super) fn new(skew: f64) -> Power {
        let end = |step| libm::pow(step as f64 / STEPS as f64, skew) * ONE as f64;
        // The last end is 2^32 - 1, near enough to all.
        Power { ends: (0..=STEPS).map(|step| end(step) as u32).collect() }
    }

    /// A rank below `ranks`.
    #[inline]
    pub(super) fn draw(&self, ranks: u64, rng: &mut Rng) -> u64 {
        let drawn = rng.next();
        let step = (drawn >> (64 - STEPS_BITS)) as usize;
        let (low, high) = (u64::from(self.ends[step]), u64::from(self.ends[step + 1]));
        let within = drawn & (ONE - 1);
        let part = low + (((high - low) * within) >> 32);
        (part * ranks) >> 32
    }
}

/// Draws lengths of at least 1 that fall off like an exponential distribution, of a given mean.
#[derive(Debug)]
pub(super) struct Lengths {
    /// Quantiles of the exponential distribution of mean 1, in 2^-16.
    quantiles: Vec<u32>,
}

impl Lengths {
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    pub(super) fn new() -> Lengths {
        let quantile = |step| -libm::log(1.0 - (step as f64 + 0.5) / STEPS as f64) * 65_536.0;
        Lengths { quantiles: (0..STEPS).map(|step| quantile(step) as u32).collect() }
    }

    /// A length of this mean, given in 2^-16; at least 1.
    #[inline]
    pub(super) fn draw(&self, mean: u64, rng: &mut Rng) -> u64 {
        let drawn = rng.next();
        let over = mean.saturating_sub(1 << 16);
        let exact = (u64::from(self.quantiles[(drawn >> (64 - STEPS_BITS)) as usize]) * over) >> 16;
        // Up or down, so that the mean stays what it is.
        1 + ((exact + (drawn & 0xffff)) >> 16)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synth::rng::Seed;

    #[test]
    fn the_first_ranks_take_what_they_should() {
        let mut rng = Seed { seed: 1, workload: "test" }.stream("power");
        let power = Power::new(3.0);
        let mut first = [0_u64; 2];
        for _ in 0..100_000 {
            let rank = power.draw(1_000, &mut rng);
            assert!(rank < 1_000);
            first[0] += u64::from(rank < 8);
            first[1] += u64::from(rank < 125);
        }
        // 0.008^(1/3) and 0.125^(1/3).
        assert!((19_000..21_000).contains(&first[0]), "{first:?}");
        assert!((49_000..51_000).contains(&first[1]), "{first:?}");
        assert!((0..1_000).all(|_| Power::new(64.0).draw(1, &mut rng) == 0));
    }

    #[test]
    fn lengths_have_their_mean() {
        let mut rng = Seed { seed: 1, workload: "test" }.stream("lengths");
        let lengths = Lengths::new();
        let sum: u64 = (0..100_000).map(|_| lengths.draw(5 << 15, &mut rng)).sum();
        assert!((248_000..252_000).contains(&sum), "{sum}");
        assert!((0..1_000).all(|_| lengths.draw(1 << 16, &mut rng) == 1));
    }
}
