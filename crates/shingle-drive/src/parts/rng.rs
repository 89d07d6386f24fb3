//! Seeded random numbers, integers only: the same on every machine.

use shingle_core::parts::split_mix;

/// `SplitMix64`: one 64-bit state, every seed is a good one.
#[derive(Clone, Debug)]
pub struct Rng(u64);

impl Rng {
    /// Creates the stream of a seed.
    #[must_use]
    pub fn new(seed: u64) -> Rng {
        Rng(seed)
    }

    /// Returns the next 64 random bits.
    pub fn bits(&mut self) -> u64 {
        split_mix::next(&mut self.0)
    }

    /// Returns a number below `bound`: the high half of a product. Its bias, below `bound / 2^64`,
    /// is too small to show in any run.
    ///
    /// # Panics
    /// If `bound` is 0.
    // The high half of a product of 64 bits has 64 bits.
    pub fn below(&mut self, bound: u64) -> u64 {
        assert!(bound > 0, "no number is below 0");
        ((u128::from(self.bits()) * u128::from(bound)) >> 64) as u64
    }
}
