//! A sample of the zones of a trace: one zone in `n`, with all that happens in it.
//!
//! Of every `n` neighbouring zones one is kept, drawn by a hash of their position. So exactly one
//! part in `n` of the disk is kept, in its order, and a pattern that repeats every `n` zones cannot
//! coincide with the sample.

use shingle_core::parts::split_mix::mixed;

/// Selects the zones that are kept.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ZoneSample {
    every: u64,
    seed: u64,
}

impl ZoneSample {
    /// Keeps one zone in `every`, which must not be 0; 1 keeps all.
    #[must_use]
    pub fn new(every: u64, seed: u64) -> ZoneSample {
        assert!(every > 0, "one zone in none");
        ZoneSample { every, seed }
    }

    /// Returns whether the zone of this number is kept.
    #[inline]
    #[must_use]
    pub fn keeps(&self, zone: u64) -> bool {
        let (group, place) = (zone / self.every, zone % self.every);
        place == mixed(self.seed ^ mixed(group)) % self.every
    }

    /// Returns the number of a kept zone among the kept zones.
    #[must_use]
    pub fn place(&self, zone: u64) -> u64 {
        zone / self.every
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_every_few_neighbours_one_is_kept() {
        assert!((0..100).all(|zone| ZoneSample::new(1, 7).keeps(zone)));
        let mut places = [0; 5];
        for seed in 0..20 {
            let sample = ZoneSample::new(5, seed);
            for group in 0..50 {
                let zones = 5 * group..5 * group + 5;
                let kept: Vec<u64> = zones.filter(|&zone| sample.keeps(zone)).collect();
                assert_eq!(kept.len(), 1);
                assert_eq!(sample.place(kept[0]), group);
                places[(kept[0] % 5) as usize] += 1;
            }
        }
        // A thousand draws, each of five positions.
        assert!(places.iter().all(|count| (150..250).contains(count)), "{places:?}");
    }
}
