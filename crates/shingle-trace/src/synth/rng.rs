//! Random integers from a seed, the same on every machine.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng as _, SeedableRng as _};

/// The seed of a workload. Each purpose has its own stream, so a new purpose does not change the
/// others.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seed {
    pub(crate) seed: u64,
    pub(crate) workload: &'static str,
}

impl Seed {
    pub(crate) fn stream(self, purpose: &str) -> Rng {
        let mut hash = Fnv::default();
        hash.add(&self.seed.to_le_bytes());
        hash.add(self.workload.as_bytes());
        hash.add(&[0]);
        hash.add(purpose.as_bytes());
        Rng(Xoshiro256PlusPlus::seed_from_u64(hash.0))
    }
}

/// The FNV-1a hash, which suffices to separate a few short names.
pub(crate) struct Fnv(pub(super) u64);

impl Default for Fnv {
    fn default() -> Self {
        Fnv(0xcbf2_9ce4_8422_2325)
    }
}

impl Fnv {
    pub(crate) fn add(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }
}

/// A share of all cases, as a 32-bit fraction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Share(u64);

impl Share {
    const ONE: u64 = 1 << 32;

    /// Creates a share from a number from 0 to 1.
    pub(crate) fn of(share: f64) -> Share {
        // A product with a power of two is exact, so the result is the same on every machine.
        Share((share.clamp(0.0, 1.0) * 4_294_967_296.0) as u64)
    }

    pub(crate) const fn percent(percent: u64) -> Share {
        Share(percent * Share::ONE / 100)
    }

    pub(crate) fn part(self, whole: u64) -> u64 {
        ((u128::from(whole) * u128::from(self.0)) >> 32) as u64
    }

    pub(crate) fn rest(self) -> Share {
        Share(Share::ONE - self.0)
    }
}

pub(crate) struct Rng(Xoshiro256PlusPlus);

impl Rng {
    pub(crate) fn next(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// Returns a number below `limit`, which must not be 0.
    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        assert!(limit > 0, "nothing is below 0");
        // The bias is limit / 2^64, which is negligible.
        ((u128::from(self.next()) * u128::from(limit)) >> 64) as u64
    }

    /// Returns true with this probability.
    pub(crate) fn chance(&mut self, share: Share) -> bool {
        (self.next() >> 32) < share.0
    }

    /// Returns a number with about an exponential distribution of this mean, computed in integers.
    ///
    /// The leading zeros of a random word are geometric; a second word fills the steps evenly.
    pub(crate) fn exponential(&mut self, mean: u64) -> u64 {
        let zeros = u64::from((self.next() | 1).leading_zeros());
        let within = self.next() >> 48;
        // `zeros` has mean 1, and `within` / 2^16 has mean 1/2, so the mean is 1.5 steps.
        let scaled = u128::from(mean) * u128::from((zeros << 16) + within) * 2 / 3;
        u64::try_from(scaled >> 16).unwrap_or(u64::MAX)
    }

    pub(crate) fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            let other = self.below(last as u64 + 1) as usize;
            items.swap(last, other);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_have_the_means_they_promise() {
        const DRAWS: u64 = 100_000;
        let mut rng = Seed { seed: 1, workload: "test" }.stream("means");
        let exponential = (0..DRAWS).map(|_| rng.exponential(1_000)).sum::<u64>() / DRAWS;
        assert!((980..1_020).contains(&exponential), "{exponential}");
        let hits = (0..DRAWS).filter(|_| rng.chance(Share::of(0.3))).count() as u64;
        assert!((29_000..31_000).contains(&hits), "{hits}");
        assert!(!rng.chance(Share::of(0.0)) && rng.chance(Share::of(1.0)));
        let below = (0..DRAWS).map(|_| rng.below(10)).sum::<u64>() * 10 / DRAWS;
        assert!((44..46).contains(&below), "{below}");
    }
}
