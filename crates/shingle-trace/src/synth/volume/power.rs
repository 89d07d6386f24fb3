//! A skew without a scale; and lengths that fall off, from a table: no logarithm is computed in a draw.

use super::super::rng::Rng;

/// Few, so that the table stays in a near cache.
const STEPS: usize = 1 << STEPS_BITS;
const STEPS_BITS: u32 = 10;

/// The part that the first part `x` of all takes: x^(1/skew).
pub(super) fn share_of_first(x: f64, skew: f64) -> f64 {
    libm::pow(x, 1.0 / skew)
}

/// Draws lengths of at least 1 that fall off like an exponential distribution, of a given mean.
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
    fn lengths_have_their_mean() {
        let mut rng = Seed { seed: 1, workload: "test" }.stream("lengths");
        let lengths = Lengths::new();
        let sum: u64 = (0..100_000).map(|_| lengths.draw(5 << 15, &mut rng)).sum();
        assert!((248_000..252_000).contains(&sum), "{sum}");
        assert!((0..1_000).all(|_| lengths.draw(1 << 16, &mut rng) == 1));
    }
}
