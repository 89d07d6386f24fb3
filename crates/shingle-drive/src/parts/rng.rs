//! Seeded random numbers, integers only: the same on every machine.

/// `SplitMix64` (Steele, Lea and Flood, OOPSLA 2014): one 64-bit state, every seed is a good one.
#[derive(Clone, Debug)]
pub struct Rng(u64);

impl Rng {
    /// A stream of its own for each seed.
    #[must_use]
    pub fn new(seed: u64) -> Rng {
        Rng(seed)
    }

    /// The next 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `bound`, by the high half of a product: its bias, below `bound / 2^64`, shows
    /// in no run that ends.
    ///
    /// # Panics
    /// If `bound` is 0.
    #[allow(clippy::cast_possible_truncation)] // the high half of a product of 64 bits has 64 bits
    pub fn below(&mut self, bound: u64) -> u64 {
        assert!(bound > 0, "no number is below 0");
        ((u128::from(self.bits()) * u128::from(bound)) >> 64) as u64
    }
}
