//! A scale-free skew, and random lengths from a table, so that a draw computes no logarithm.

use super::super::rng::Rng;

/// Few steps, so that the table stays in a near CPU cache.
const STEPS: usize = 1 << STEPS_BITS;
const STEPS_BITS: u32 = 10;

/// Returns the share of the first fraction `x` of all: x^(1/skew).
pub(super) fn share_of_first(x: f64, skew: f64) -> f64 {
    libm::pow(x, 1.0 / skew)
}

/// Draws lengths of at least 1, with about an exponential distribution of a given mean.
#[derive(Debug)]
pub(super) struct Lengths {
    /// Quantiles of the exponential distribution of mean 1, in 2^-16.
    quantiles: Vec<u32>,
}

impl Lengths {
    pub(super) fn new() -> Lengths {
        let quantile = |step| -libm::log(1.0 - (step as f64 + 0.5) / STEPS as f64) * 65_536.0;
        Lengths { quantiles: (0..STEPS).map(|step| quantile(step) as u32).collect() }
    }

    /// Draws a length of this mean, given in 2^-16; at least 1.
    #[inline]
    pub(super) fn draw(&self, mean: u64, rng: &mut Rng) -> u64 {
        let drawn = rng.next();
        let over = mean.saturating_sub(1 << 16);
        let exact = (u64::from(self.quantiles[(drawn >> (64 - STEPS_BITS)) as usize]) * over) >> 16;
        // Rounded up or down at random, so that the mean is kept.
        1 + ((exact + (drawn & 0xffff)) >> 16)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synth::rng::Seed;

    #[test]
    fn lengths_have_their_mean() {
        let mut rng = Seed { seed: 1, workload: "test" }.stream("lengths");
        let lengths = Lengths::new();
        let sum: u64 = (0..100_000).map(|_| lengths.draw(5 << 15, &mut rng)).sum();
        assert!((248_000..252_000).contains(&sum), "{sum}");
        assert!((0..1_000).all(|_| lengths.draw(1 << 16, &mut rng) == 1));
    }
}
