//! The weight of an access in the heat of its zone (ROCO §3.2, §3.3).
//!
//! The paper calls heat "the access frequency of a zone" and computes it as accesses ÷ cached
//! blocks (equation 1). A count is a frequency only among zones that have been counted for equally
//! long, and zones enter the cache one after another. Two readings:
//!
//! * `count`: each access adds 1, and nothing ages. A zone that has just entered has the least
//!   possible heat, 1; a zone of which any block was ever written again is above that for as long
//!   as it is cached.
//! * `recent`: an access counts half as much for each cache size of accesses that has been counted
//!   since. With a cache of T blocks, one of age `a` weighs 2^(-a/T), interpolated linearly between
//!   whole T.
//!
//! Ageing all zones alike does not change which is colder. So instead of making old accesses
//! lighter, each new one is heavier than the last: the nth weighs (1 + (n mod T) / T) · 2^⌊n/T⌋.
//! Every [`TURNOVERS`] cache sizes of accesses the weights are divided so that they fit into 64
//! bits.

/// Bits of a weight behind the point.
const FRACTION_BITS: u32 = 16;
/// Cache sizes of accesses between two divisions; each doubles the weight. The sum that a zone can
/// reach within them, with 2^32 slots, is below 2^(32 + 16 + 12 + 2).
const TURNOVERS: u32 = 12;

/// Computes the weight of each access.
#[derive(Clone, Debug)]
pub(super) struct Clock {
    /// Accesses in which a weight doubles; 0: all accesses weigh the same.
    turnover: u64,
    /// Since the last division: number of doublings, and accesses since the last doubling.
    turns: u32,
    rest: u64,
}

impl Clock {
    /// All accesses weigh the same.
    pub(super) fn counting() -> Clock {
        Clock { turnover: 0, turns: 0, rest: 0 }
    }

    /// Weights double in `turnover` accesses.
    pub(super) fn doubling(turnover: u32) -> Clock {
        Clock { turnover: u64::from(turnover.max(1)), turns: 0, rest: 0 }
    }

    /// Returns the weight of the next access.
    #[inline]
    pub(super) fn weigh(&mut self) -> u64 {
        if self.turnover == 0 {
            return 1;
        }
        let grown = (self.rest << FRACTION_BITS) / self.turnover;
        let weight = ((1 << FRACTION_BITS) + grown) << self.turns;
        self.rest += 1;
        if self.rest == self.turnover {
            (self.turns, self.rest) = (self.turns + 1, 0);
        }
        weight
    }

    /// Resets the weights if they have doubled often enough. If it returns true, all existing
    /// weights have to be [divided](Clock::divided) before the next access is weighed.
    #[inline]
    pub(super) fn begin_anew_if_due(&mut self) -> bool {
        let due = self.turns == TURNOVERS;
        if due {
            self.turns = 0;
        }
        due
    }

    /// Returns the weight of a block after a division. Not 0, which stands for no block: 1 is less
    /// than a 65,536th of what one access adds.
    pub(super) fn divided(weight: u64) -> u64 {
        (weight >> TURNOVERS).max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_double_with_each_cache_of_accesses() {
        let mut clock = Clock::doubling(4);
        let weights: Vec<f64> = (0..9).map(|_| clock.weigh() as f64 / 65_536.0).collect();
        assert_eq!(weights, [1.0, 1.25, 1.5, 1.75, 2.0, 2.5, 3.0, 3.5, 4.0]);
        let mut counting = Clock::counting();
        assert_eq!([counting.weigh(), counting.weigh()], [1, 1]);
        assert!(!counting.begin_anew_if_due());
    }

    /// A division changes no quotient of two weights, but for rounding.
    #[test]
    fn after_twelve_caches_of_accesses_weights_begin_anew() {
        let mut clock = Clock::doubling(3);
        let weights: Vec<u64> = (0..36)
            .map(|_| {
                assert!(!clock.begin_anew_if_due());
                clock.weigh()
            })
            .collect();
        assert!(clock.begin_anew_if_due());
        // The first access of the last turnover weighs half of the next one, that of the first 2^-12.
        let divided: Vec<u64> = weights.iter().map(|&weight| Clock::divided(weight)).collect();
        assert_eq!((clock.weigh(), divided[33]), (65_536, 32_768));
        assert_eq!((divided[0], divided[3]), (16, 32));
        assert_eq!(Clock::divided(16), 1, "never nothing");
    }

    #[test]
    fn the_greatest_cache_does_not_overflow() {
        let turnover = u64::from(u32::MAX);
        let last = ((1u64 << FRACTION_BITS) * 2) << (TURNOVERS - 1);
        // Each turnover gathers at most its accesses times the weight at its end; the last one as much
        // as all before and more.
        assert!(u128::from(turnover) * u128::from(last) * 2 < u128::from(u64::MAX));
    }
}
