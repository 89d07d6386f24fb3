//! Chooses the zone to clean next.

use std::cmp::Ordering;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Victim {
    /// The one with the fewest live blocks.
    Greedy,
    /// The one with the best ratio of gained room and time to cost: (1 − u) · age / (1 + u), where
    /// u of it is live and age is that of its youngest block (Rosenblum and Ousterhout, SOSP 1991,
    /// §3.5).
    CostBenefit,
    /// The one whose room costs least, by the price of the policy `disk-time`: 2Kλ/g² for each
    /// block of room and each block written for which it would have been room, where cleaning takes
    /// K (reading the zone, writing live blocks), g of it is garbage, and garbage arises at a rate
    /// of λ. So a zone whose blocks are still being overwritten is left for later.
    Price,
}

impl Victim {
    /// Compares two zones: `Greater` if the first is preferred.
    pub(super) fn prefers(self, one: Case, other: Case) -> Ordering {
        match self {
            Victim::Greedy => other.live.cmp(&one.live),
            Victim::CostBenefit => {
                let gain = |zone: Case| u128::from(zone.blocks - zone.live) * u128::from(zone.age);
                let cost = |zone: Case| u128::from(zone.blocks + zone.live);
                (gain(one) * cost(other)).cmp(&(gain(other) * cost(one)))
            }
            Victim::Price => other.price().total_cmp(&one.price()),
        }
    }
}

/// The figures of a zone that the choice compares.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Case {
    /// Live blocks of the zone.
    pub(super) live: u64,
    pub(super) blocks: u64,
    /// Blocks that the host has written since it wrote the zone's youngest.
    pub(super) age: u64,
    /// Blocks of the zone that became garbage, with exponential decay.
    pub(super) deaths: f32,
}

impl Case {
    /// Returns the price, without factors that are the same for all zones. A zone without recent
    /// garbage is assumed to lose one more block, so that of two such zones the one with more
    /// garbage is chosen.
    fn price(self) -> f32 {
        let garbage = (self.blocks - self.live) as f32;
        (self.blocks + self.live) as f32 * (self.deaths + 1.0) / (garbage * garbage)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn case(live: u64, age: u64) -> Case {
        Case { live, blocks: 100, age, deaths: 0.0 }
    }

    /// Of 100 blocks 60 are live and 39 died lately: 160 · 40 / 40² = 4. With 80 live, quiet: 180 · 1 / 20² = 0.45.
    #[test]
    fn a_zone_that_goes_on_dying_is_waited_for() {
        let by = Victim::Price;
        let dying = Case { deaths: 39.0, ..case(60, 0) };
        assert_eq!(by.prefers(dying, case(80, 0)), Ordering::Less);
        assert_eq!(by.prefers(case(60, 0), case(80, 0)), Ordering::Greater);
        assert_eq!(by.prefers(case(60, 0), case(60, 9)), Ordering::Equal);
    }

    /// u = 0.75 and age 80: 0.25 · 80 / 1.75 = 11.43. u = 0.15 and age 15: 0.85 · 15 / 1.15 = 11.09. So the old
    /// zone is cleaned although five times as much of it is live; at age 16 the other one has 11.83.
    #[test]
    fn old_zones_are_cleaned_at_a_higher_utilization() {
        let by = Victim::CostBenefit;
        assert_eq!(by.prefers(case(75, 80), case(15, 15)), Ordering::Greater);
        assert_eq!(by.prefers(case(75, 80), case(15, 16)), Ordering::Less);
        assert_eq!(by.prefers(case(100, 1_000_000), case(99, 1)), Ordering::Less);
        // 0.5 · 30 / 1.5 = 10 and 0.25 · 70 / 1.75 = 10.
        assert_eq!(by.prefers(case(50, 30), case(75, 70)), Ordering::Equal);
        assert_eq!(Victim::Greedy.prefers(case(75, 80), case(15, 15)), Ordering::Less);
    }
}
