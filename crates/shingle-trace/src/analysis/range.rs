//! The addresses of writes over a trace, as in Amphisbaena's Fig. 3: a dot for each write, with its
//! number among the writes on the x axis and its first block on the y axis.

use hashbrown::HashSet;

use crate::zones::LARGE_ZONE_BLOCKS;

/// Number of parts of the trace, each of which counts its own zones.
const PARTS: usize = 10;

/// The zones and blocks that are written over time.
#[derive(Clone, Debug)]
pub struct WriteRange {
    /// Writes in a part: a tenth of all.
    part_writes: usize,
    /// Interval of the writes that get a dot.
    interval: usize,
    writes: usize,
    /// 256 MiB zones written in this part; `all` has those of the trace. Never iterated.
    part: HashSet<u64>,
    all: HashSet<u64>,
    /// Sum of the zones of the completed parts, and number of these parts.
    completed: (u64, u64),
    last_zone: u64,
    points: Vec<(f64, f64)>,
}

impl WriteRange {
    /// Creates it for a number of writes, at most `most_points` of which get a dot.
    #[must_use]
    pub fn new(writes: usize, most_points: usize) -> WriteRange {
        WriteRange {
            part_writes: writes.div_ceil(PARTS).max(1),
            interval: writes.div_ceil(most_points.max(1)).max(1),
            writes: 0,
            part: HashSet::new(),
            all: HashSet::new(),
            completed: (0, 0),
            last_zone: u64::MAX,
            points: Vec::new(),
        }
    }

    /// Adds a write that begins at this block.
    #[inline]
    pub fn add(&mut self, first_block: u64) {
        if self.writes.is_multiple_of(self.interval) {
            self.points.push((self.writes as f64, first_block as f64));
        }
        if self.writes > 0 && self.writes.is_multiple_of(self.part_writes) {
            self.completed = (self.completed.0 + self.part.len() as u64, self.completed.1 + 1);
            self.part.clear();
            self.last_zone = u64::MAX;
        }
        self.writes += 1;
        let zone = first_block / LARGE_ZONE_BLOCKS;
        if zone != self.last_zone {
            self.last_zone = zone;
            if self.part.insert(zone) {
                self.all.insert(zone);
            }
        }
    }

    /// Returns the mean number of 256 MiB zones in which a tenth of the writes begin, divided by
    /// the number for the whole trace. `None` without writes.
    #[must_use]
    pub fn part_zones(&self) -> Option<f64> {
        let (zones, parts) = (self.completed.0 + self.part.len() as u64, self.completed.1 + 1);
        (self.writes > 0).then(|| zones as f64 / parts as f64 / self.all.len() as f64)
    }

    /// Returns number and first block of writes, at equal intervals.
    #[must_use]
    pub fn points(&self) -> &[(f64, f64)] {
        &self.points
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zones_of_tenths_by_hand() {
        let mut range = WriteRange::new(20, 7);
        assert_eq!(range.part_zones(), None);
        // Two writes a tenth: the first nine tenths write zones 0 and 1, the last one zone 2.
        for zone in (0..9).flat_map(|_| [0, 1]).chain([2, 2]) {
            range.add(zone * LARGE_ZONE_BLOCKS + 5);
        }
        assert_eq!(range.part_zones(), Some(19.0 / 10.0 / 3.0));
        let drawn: Vec<f64> = range.points().iter().map(|point| point.0).collect();
        assert_eq!(drawn, [0.0, 3.0, 6.0, 9.0, 12.0, 15.0, 18.0]);
        assert_eq!(range.points()[1].1, (LARGE_ZONE_BLOCKS + 5) as f64);
    }
}
