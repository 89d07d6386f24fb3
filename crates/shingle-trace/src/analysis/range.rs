//! Where writes go in the course of a trace, as Amphisbaena's Fig. 3 draws it: a dot a write, to the right
//! by its number among the writes, up by its first block.

use hashbrown::HashSet;

use crate::zones::LARGE_ZONE_BLOCKS;

/// Parts of the trace whose zones are counted apart.
const PARTS: usize = 10;

/// Which zones and blocks are written, and when.
#[derive(Clone, Debug)]
pub struct WriteRange {
    /// Writes of a part: a tenth of all.
    part_writes: usize,
    /// A dot for each so-manieth write.
    each: usize,
    writes: usize,
    /// 256 MiB zones written in this part, and in all. Never iterated.
    part: HashSet<u64>,
    all: HashSet<u64>,
    /// Zones of the parts that ended, added up, and their number.
    ended: (u64, u64),
    last_zone: u64,
    points: Vec<(f64, f64)>,
}

impl WriteRange {
    /// For so many writes, of which at most so many are drawn.
    #[must_use]
    pub fn new(writes: usize, most_points: usize) -> WriteRange {
        WriteRange {
            part_writes: writes.div_ceil(PARTS).max(1),
            each: writes.div_ceil(most_points.max(1)).max(1),
            writes: 0,
            part: HashSet::new(),
            all: HashSet::new(),
            ended: (0, 0),
            last_zone: u64::MAX,
            points: Vec::new(),
        }
    }

    /// A write that begins at this block.
    #[inline]
    pub fn add(&mut self, first_block: u64) {
        if self.writes.is_multiple_of(self.each) {
            self.points.push((self.writes as f64, first_block as f64));
        }
        if self.writes > 0 && self.writes.is_multiple_of(self.part_writes) {
            self.ended = (self.ended.0 + self.part.len() as u64, self.ended.1 + 1);
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

    /// 256 MiB zones in which a write begins in a tenth of the trace, on average, of those in which one
    /// does in all of it. Nothing if nothing is written.
    #[must_use]
    pub fn part_zones(&self) -> Option<f64> {
        let (zones, parts) = (self.ended.0 + self.part.len() as u64, self.ended.1 + 1);
        (self.writes > 0).then(|| zones as f64 / parts as f64 / self.all.len() as f64)
    }

    /// Number and first block of writes, at equal distances.
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
