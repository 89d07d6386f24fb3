//! Pseudo-random permutations: each number below a bound once, for positions of writes that never
//! overwrite each other.

use shingle_drive::Rng;

/// A permutation of the numbers below `bound`: a Feistel network over the next power of four,
/// repeated while a number falls outside (cycle walking). Needs no memory, whatever the bound.
#[derive(Clone, Debug)]
pub(crate) struct Permutation {
    bound: u64,
    half_bits: u32,
    keys: [u64; 4],
}

impl Permutation {
    /// Makes the permutation of `seed`.
    ///
    /// # Panics
    /// If `bound` is 0.
    #[must_use]
    pub(crate) fn new(bound: u64, seed: u64) -> Permutation {
        assert!(bound > 0, "no number is below 0");
        let bits = u64::BITS - (bound - 1).leading_zeros();
        let mut rng = Rng::new(seed);
        let keys = std::array::from_fn(|_| rng.bits());
        Permutation { bound, half_bits: bits.div_ceil(2).max(1), keys }
    }

    /// The number of elements.
    #[must_use]
    pub(crate) fn bound(&self) -> u64 {
        self.bound
    }

    /// The element at index `at`, which is below the bound.
    #[must_use]
    pub(crate) fn get(&self, at: u64) -> u64 {
        debug_assert!(at < self.bound);
        let mask = (1 << self.half_bits) - 1;
        let mut number = at;
        // The loop ends: the network is a bijection, so the walk returns to `at`, which is inside.
        loop {
            let (mut left, mut right) = (number >> self.half_bits, number & mask);
            for key in self.keys {
                let mixed = (right ^ key).wrapping_mul(0x9e37_79b9_7f4a_7c15);
                let mixed = (mixed ^ (mixed >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
                (left, right) = (right, left ^ ((mixed >> 32) & mask));
            }
            number = (left << self.half_bits) | right;
            if number < self.bound {
                return number;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_number_comes_once(bound in 1u64..3000, seed: u64) {
            let permutation = Permutation::new(bound, seed);
            let mut all: Vec<u64> = (0..bound).map(|at| permutation.get(at)).collect();
            let as_they_came = all.clone();
            all.sort_unstable();
            prop_assert!(all.iter().copied().eq(0..bound));
            // Neither in order nor nearly so.
            if bound > 100 {
                let in_order = as_they_came.windows(2).filter(|pair| pair[0] + 1 == pair[1]);
                prop_assert!(in_order.count() as u64 <= 1 + bound / 20);
            }
        }
    }
}
