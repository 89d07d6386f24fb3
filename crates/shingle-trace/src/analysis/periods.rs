//! Update periods: the number of other blocks written between two writes of a block. Amphisbaena's
//! Fig. 2 draws their average over the writes of each block; a period shorter than the buffer
//! counts as short.

/// Update periods by number of the block.
#[derive(Clone, Debug, Default)]
pub struct Periods {
    /// Sum of the periods of a block, and number of its updates.
    sums: Vec<(u64, u32)>,
}

/// The updated blocks relative to a buffer, in blocks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Parts {
    /// Blocks with an average period shorter than the buffer.
    pub short: u64,
    /// Of these, blocks updated once.
    pub short_once: u64,
    /// Blocks with longer average periods.
    pub long: u64,
    /// Of these, blocks updated more than twice.
    pub long_often: u64,
}

impl Periods {
    /// Records a write of the block of this number; `period` is `None` for its first write.
    #[inline]
    pub fn add(&mut self, number: u32, period: Option<u64>) {
        let Some(period) = period else { return };
        let at = number as usize;
        if self.sums.len() <= at {
            self.sums.resize(at + 1, (0, 0));
        }
        let sum = &mut self.sums[at];
        *sum = (sum.0 + period, sum.1.saturating_add(1));
    }

    /// Returns average period and number of updates of each updated block.
    pub fn updated(&self) -> impl Iterator<Item = (f64, u32)> + '_ {
        let updated = self.sums.iter().filter(|sum| sum.1 > 0);
        updated.map(|&(sum, updates)| (sum as f64 / f64::from(updates), updates))
    }

    /// Returns the updated blocks by their average period relative to a buffer of `buffer_blocks`.
    #[must_use]
    pub fn parts(&self, buffer_blocks: u64) -> Parts {
        let mut parts = Parts { short: 0, short_once: 0, long: 0, long_often: 0 };
        for (period, updates) in self.updated() {
            if period < buffer_blocks as f64 {
                parts.short += 1;
                parts.short_once += u64::from(updates == 1);
            } else {
                parts.long += 1;
                parts.long_often += u64::from(updates > 2);
            }
        }
        parts
    }

    /// Returns average period and number of writes (updates + 1) of at most `most` blocks, taken at
    /// equal intervals from the updated ones.
    #[must_use]
    pub fn points(&self, most: usize) -> Vec<(f64, f64)> {
        let interval = self.updated().count().div_ceil(most.max(1)).max(1);
        let points = self.updated().step_by(interval);
        points.map(|(period, updates)| (period, f64::from(updates) + 1.0)).collect()
    }
}

#[cfg(test)]
mod tests {
    use shingle_core::units::Block;

    use super::*;
    use crate::distance::Distances;

    #[test]
    fn update_periods_by_hand() {
        let (mut distances, mut periods) = (Distances::new(), Periods::default());
        // Block 1: after two others and after none, 1 on average; 2: after two; 3 and 4: never
        // again.
        for block in [1, 2, 3, 1, 1, 2, 4] {
            let (number, period) = distances.touch(Block(block));
            periods.add(number, period);
        }
        let updated: Vec<_> = periods.updated().collect();
        assert_eq!(updated, [(1.0, 2), (2.0, 1)]);
        assert_eq!(periods.points(9), [(1.0, 3.0), (2.0, 2.0)]);
        assert_eq!(periods.points(1), [(1.0, 3.0)]);
        // The period equals the size of the buffer.
        let parts = periods.parts(2);
        assert_eq!(parts, Parts { short: 1, short_once: 0, long: 1, long_often: 0 });
        let parts = periods.parts(3);
        assert_eq!(parts, Parts { short: 2, short_once: 1, long: 0, long_often: 0 });
    }
}
