//! Classes of numbers that grow with the numbers, and tables that count and draw classes.
//!
//! Up to 8 each number is its own class; above, an octave has four. So a histogram of distances,
//! gaps or times needs only a few dozen counts, and does not contain exact values.

use crate::synth::rng::Rng;

/// Returns the class of a number.
pub(super) fn class(value: u64) -> u32 {
    if value < 8 {
        return value as u32;
    }
    let octave = value.ilog2();
    let quarter = (value >> (octave - 2)) & 3;
    8 + 4 * (octave - 3) + quarter as u32
}

/// Returns the least number of a class, and the count of its numbers.
pub(super) fn span(class: u32) -> (u64, u64) {
    if class < 8 {
        return (u64::from(class), 1);
    }
    let (octave, quarter) = ((class - 8) / 4 + 3, u64::from((class - 8) % 4));
    let width = 1 << (octave - 2);
    ((4 + quarter) * width, width)
}

/// Draws a number of a class; all are equally likely.
pub(super) fn within(class: u32, rng: &mut Rng) -> u64 {
    let (low, width) = span(class);
    low + rng.below(width)
}

/// Draws a number of a signed class.
pub(super) fn signed_within(class: u32, rng: &mut Rng) -> i64 {
    let number = within(class / 2, rng).cast_signed();
    if class % 2 == 1 { -number } else { number }
}

/// A histogram of values.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Counts {
    /// Values with cumulated counts, by value.
    ends: Vec<(u32, u64)>,
}

impl Counts {
    pub(super) fn add(&mut self, value: u32, count: u64) {
        let at = self.ends.partition_point(|&(other, _)| other < value);
        if self.ends.get(at).is_none_or(|&(other, _)| other != value) {
            let below = at.checked_sub(1).map_or(0, |at| self.ends[at].1);
            self.ends.insert(at, (value, below));
        }
        for (_, end) in &mut self.ends[at..] {
            *end += count;
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Returns the values and their counts.
    pub(super) fn pairs(&self) -> impl Iterator<Item = (u32, u64)> + '_ {
        let mut below = 0;
        self.ends.iter().map(move |&(value, end)| {
            let count = end - below;
            below = end;
            (value, count)
        })
    }

    fn draw(&self, rng: &mut Rng) -> Option<u32> {
        let total = self.ends.last()?.1;
        let drawn = rng.below(total);
        let at = self.ends.partition_point(|&(_, end)| end <= drawn);
        Some(self.ends[at].0)
    }
}

/// A histogram for each of several situations.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Table {
    situations: Vec<Counts>,
    /// The sum over all situations, used for situations that never occurred.
    all: Counts,
}

impl Table {
    pub(super) fn new(situations: usize) -> Table {
        Table { situations: vec![Counts::default(); situations], all: Counts::default() }
    }

    pub(super) fn add(&mut self, situation: usize, value: u32, count: u64) {
        self.situations[situation].add(value, count);
        self.all.add(value, count);
    }

    /// Draws a value as often as it occurred in this situation, or in any if this one never
    /// occurred. `None` if the table is empty.
    pub(super) fn draw(&self, situation: usize, rng: &mut Rng) -> Option<u32> {
        self.situations[situation].draw(rng).or_else(|| self.all.draw(rng))
    }

    /// Returns the situations that occurred, with their histograms.
    pub(super) fn situations(&self) -> impl Iterator<Item = (usize, &Counts)> {
        self.situations.iter().enumerate().filter(|(_, counts)| !counts.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synth::rng::Seed;

    #[test]
    fn classes_follow_one_another() {
        let mut next = 0;
        for number in 0..8 + 4 * 61 {
            let (low, width) = span(number);
            assert_eq!(low, next);
            assert_eq!((class(low), class(low + (width - 1))), (number, number));
            next = low.wrapping_add(width);
        }
        assert_eq!(next, 0, "the last class ends with the largest number");
    }

    #[test]
    fn values_are_drawn_as_often_as_they_were_counted() {
        let mut table = Table::new(2);
        for (value, count) in [(9, 1), (3, 2), (5, 1)] {
            table.add(0, value, count);
        }
        let mut rng = Seed { seed: 1, workload: "test" }.stream("counts");
        let mut drawn = [0_u32; 10];
        for _ in 0..40_000 {
            drawn[table.draw(0, &mut rng).expect("counted") as usize] += 1;
        }
        assert!(drawn[3].abs_diff(20_000) < 600, "{drawn:?}");
        assert!(drawn[5].abs_diff(10_000) < 600 && drawn[9].abs_diff(10_000) < 600, "{drawn:?}");
        assert!(table.draw(1, &mut rng).is_some(), "a new situation is like all");
        assert!(Table::new(1).draw(0, &mut rng).is_none());
    }
}
