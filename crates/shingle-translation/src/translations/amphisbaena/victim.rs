//! Chooses the zone to write back next (Amphisbaena §5.3, equations 3 and 4).

use super::zones::{ZoneState, kept};

/// The fragmentation level of a victim (equation 3), as a fraction: the share of blocks with data
/// in the range that the write-back spans. Despite its name it is high where little is fragmented.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Level {
    pub(super) blocks: u64,
    pub(super) offset: u64,
}

/// Returns the level of a zone that has blocks in the LFB.
///
/// If all victim blocks lie behind the write pointer: their number over the distance from the write
/// pointer to the last of them. If one lies below it (an RMW): native blocks plus victim blocks,
/// over the write pointer, or over the end of the last victim block where that is farther: the
/// equation has only the write pointer, and could exceed 1. Native blocks that victim blocks
/// replace count once.
pub(super) fn level(zone: &ZoneState) -> Level {
    let (cold, pointer, end) =
        (u64::from(zone.cold), u64::from(zone.write_pointer), u64::from(zone.end));
    if zone.below == 0 {
        return Level { blocks: cold, offset: end - pointer };
    }
    let native = u64::from(kept(zone.native, zone.below, zone.write_pointer));
    Level { blocks: native + cold, offset: pointer.max(end) }
}

/// How equation 4 is read: its operator is missing in print.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Reading {
    /// `chunk_cnt × FL`: many chunks, densely filled, as the text wants it.
    Times,
    /// `chunk_cnt / FL`.
    Over,
}

/// Returns the weight of a victim with this many chunks (equation 4), in 1/65,536. Never 0.
pub(super) fn weight(chunks: u32, level: Level, reading: Reading) -> u64 {
    let chunks = u64::from(chunks) << 16;
    let weight = match reading {
        Reading::Times => u128::from(chunks) * u128::from(level.blocks) / u128::from(level.offset),
        Reading::Over => u128::from(chunks) * u128::from(level.offset) / u128::from(level.blocks),
    };
    weight.clamp(1, u128::from(u64::MAX)) as u64
}

/// A tournament tree: returns the zone of the greatest weight at once, and updates a weight in as
/// many matches as there are rounds. Of equals the zone that was touched first wins.
#[derive(Clone, Debug, Default)]
pub(super) struct Tournament {
    /// By number of the zone; 0 for no victim. The length is a power of two.
    weights: Vec<u64>,
    /// Winners: of all, then of each half, and so on.
    winners: Vec<u32>,
}

impl Tournament {
    /// Makes room for `zones` zones.
    pub(super) fn grow(&mut self, zones: u32) {
        let places = zones.next_power_of_two() as usize;
        if places <= self.weights.len() {
            return;
        }
        self.weights.resize(places, 0);
        self.winners.resize(places, 0);
        for at in (1..places).rev() {
            self.play(at);
        }
    }

    /// Returns the winner at `at`: a zone, or the winner of a match.
    fn winner(&self, at: usize) -> u32 {
        match at.checked_sub(self.weights.len()) {
            Some(zone) => zone as u32,
            None => self.winners[at],
        }
    }

    fn play(&mut self, at: usize) {
        let (left, right) = (self.winner(2 * at), self.winner(2 * at + 1));
        let right_wins = self.weights[right as usize] > self.weights[left as usize];
        self.winners[at] = if right_wins { right } else { left };
    }

    pub(super) fn set(&mut self, zone: u32, weight: u64) {
        self.weights[zone as usize] = weight;
        let mut at = (self.weights.len() + zone as usize) / 2;
        while at > 0 {
            self.play(at);
            at /= 2;
        }
    }

    /// Returns the zone of the greatest weight.
    pub(super) fn best(&self) -> Option<u32> {
        let best = match self.weights.len() {
            0 => return None,
            1 => 0,
            _ => self.winners[1],
        };
        (self.weights[best as usize] > 0).then_some(best)
    }

    pub(super) fn bytes(&self) -> usize {
        self.weights.capacity() * size_of::<u64>() + self.winners.capacity() * size_of::<u32>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::translations::amphisbaena::zones::Zones;
    use proptest::prelude::*;

    /// A zone with so much native data, and victim blocks at these offsets.
    fn zone(native: u32, write_pointer: u32, victims: &[u32]) -> ZoneState {
        let mut zones = Zones::new(1);
        let number = zones.touch(0);
        let state = zones.get_mut(number);
        (state.native, state.write_pointer) = (native, write_pointer);
        victims.iter().for_each(|&offset| zones.count_cold(number, offset, true));
        *zones.get(number)
    }

    fn fraction(zone: &ZoneState) -> (u64, u64) {
        let level = level(zone);
        (level.blocks, level.offset)
    }

    #[test]
    fn fragmentation_levels_by_hand() {
        // Behind the write pointer: 4 blocks, the last is the eighth behind it.
        assert_eq!(fraction(&zone(10, 10, &[10, 11, 12, 17])), (4, 8));
        assert_eq!(fraction(&zone(10, 10, &[10, 11])), (2, 2), "nothing is fragmented");
        // Below it: 4 victims replace 4 of 10 native blocks, and all 10 are there afterwards.
        assert_eq!(fraction(&zone(10, 10, &[0, 3, 4, 9])), (10, 10));
        // Half of what is below is valid: of 4 victims 2 fill gaps.
        assert_eq!(fraction(&zone(10, 20, &[0, 3, 4, 9])), (8 + 4, 20));
        // On both sides: the new cluster ends with the last victim.
        assert_eq!(fraction(&zone(10, 10, &[3, 14])), (9 + 2, 15));
        // An empty zone has no native blocks.
        assert_eq!(fraction(&zone(0, 0, &[7])), (1, 8));
    }

    #[test]
    fn both_readings_of_the_weight_by_hand() {
        // One chunk, dense; three chunks, half filled; two chunks, dense.
        let victims = [(1, 4, 4), (3, 24, 48), (2, 32, 32)];
        let weights = |reading| {
            victims.map(|(chunks, blocks, offset)| {
                weight(chunks, Level { blocks, offset }, reading) as f64 / 65_536.0
            })
        };
        assert_eq!(weights(Reading::Times), [1.0, 1.5, 2.0]);
        assert_eq!(weights(Reading::Over), [1.0, 6.0, 2.0]);
    }

    proptest! {
        #[test]
        fn the_first_of_the_greatest_wins(
            changes in prop::collection::vec((0u32..40, 0u64..6), 0..80),
        ) {
            let mut tournament = Tournament::default();
            let mut model: Vec<u64> = Vec::new();
            for (zone, weight) in changes {
                if model.len() <= zone as usize {
                    model.resize(zone as usize + 1, 0);
                    tournament.grow(zone + 1);
                }
                tournament.set(zone, weight);
                model[zone as usize] = weight;
                let most = *model.iter().max().unwrap();
                let best = model.iter().position(|&weight| weight == most && most > 0);
                prop_assert_eq!(tournament.best(), best.map(|zone| zone as u32));
            }
        }
    }
}
