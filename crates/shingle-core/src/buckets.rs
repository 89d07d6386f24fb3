//! Zones by score: a bucket queue. Changing a score by any amount and finding the zones of the
//! highest scores take constant time, whatever the number of zones.

use crate::list::{Links, List};
use crate::units::Zone;

/// Zones sorted into one bucket a score. Within a bucket the zone that came first is first.
#[derive(Clone, Debug)]
pub struct Buckets {
    links: Links,
    score: Vec<u32>,
    buckets: Vec<List>,
    filled: Vec<u64>, // one bit a bucket: skips empty ones 64 at a time
}

/// Not in any bucket.
const ABSENT: u32 = u32::MAX;

impl Buckets {
    /// Room for `zones` zones with scores `0..=score_max`.
    #[must_use]
    pub fn new(zones: usize, score_max: u32) -> Buckets {
        let buckets = score_max as usize + 1;
        Buckets {
            links: Links::new(zones),
            score: vec![ABSENT; zones],
            buckets: vec![List::default(); buckets],
            filled: vec![0; buckets.div_ceil(64)],
        }
    }

    /// The score of `zone`; `None` if it is in no bucket.
    #[must_use]
    pub fn score(&self, zone: Zone) -> Option<u32> {
        let score = self.score[zone.index()];
        (score != ABSENT).then_some(score)
    }

    /// Puts `zone` behind the others of bucket `score`, from wherever it was.
    pub fn set(&mut self, zone: Zone, score: u32) {
        if self.score[zone.index()] == score {
            return;
        }
        self.remove(zone);
        // The head of a list is its coldest end here: first in, first out.
        self.buckets[score as usize].push_tail(&mut self.links, zone.0);
        self.filled[score as usize / 64] |= 1 << (score % 64);
        self.score[zone.index()] = score;
    }

    /// Takes `zone` out of its bucket, if it is in one.
    pub fn remove(&mut self, zone: Zone) {
        let Some(score) = self.score(zone) else { return };
        let bucket = &mut self.buckets[score as usize];
        bucket.unlink(&mut self.links, zone.0);
        if bucket.is_empty() {
            self.filled[score as usize / 64] &= !(1 << (score % 64));
        }
        self.score[zone.index()] = ABSENT;
    }

    /// The zone of the highest score; of several, the one that reached it first.
    #[must_use]
    pub fn highest(&self) -> Option<Zone> {
        self.descending().next()
    }

    /// Zones from the highest score down; within a score first come, first served.
    pub fn descending(&self) -> impl Iterator<Item = Zone> + '_ {
        core::iter::successors(self.bucket_below(self.buckets.len()), |&bucket| {
            self.bucket_below(bucket)
        })
        .flat_map(|bucket| {
            core::iter::successors(self.buckets[bucket].head(), |&zone| {
                self.links.towards_tail(zone)
            })
        })
        .map(Zone)
    }

    /// The highest bucket below `bound` that holds a zone.
    fn bucket_below(&self, bound: usize) -> Option<usize> {
        let (mut word, bit) = (bound / 64, bound % 64);
        let mut bits = match self.filled.get(word) {
            Some(bits) => bits & ((1u64 << bit) - 1),
            None => 0,
        };
        while bits == 0 {
            word = word.checked_sub(1)?;
            bits = self.filled[word];
        }
        Some(word * 64 + 63 - bits.leading_zeros() as usize)
    }

    /// Bytes of memory taken.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.links.bytes()
            + self.score.capacity() * 4
            + self.buckets.capacity() * size_of::<List>()
            + self.filled.capacity() * 8
    }

    /// Panics unless buckets, scores and bits agree.
    pub fn check(&self) {
        for (score, bucket) in self.buckets.iter().enumerate() {
            bucket.check(&self.links);
            assert_eq!(self.filled[score / 64] >> (score % 64) & 1 == 1, !bucket.is_empty());
            for zone in bucket.from_tail(&self.links) {
                assert_eq!(self.score[zone as usize] as usize, score);
            }
        }
        let listed: u32 = self.buckets.iter().map(List::len).sum();
        let scored = self.score.iter().filter(|&&score| score != ABSENT).count();
        assert_eq!(listed as usize, scored);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn buckets_are_a_stable_sort(ops in prop::collection::vec((0u32..9, 0u32..140), 0..120)) {
            let mut buckets = Buckets::new(9, 129);
            let mut model: Vec<(u32, u32)> = Vec::new(); // (zone, score) in order of arrival
            for (zone, score) in ops {
                if score >= 130 {
                    buckets.remove(Zone(zone));
                    model.retain(|&(z, _)| z != zone);
                } else if buckets.score(Zone(zone)) != Some(score) {
                    buckets.set(Zone(zone), score);
                    model.retain(|&(z, _)| z != zone);
                    model.push((zone, score));
                }
                buckets.check();
                let mut sorted = model.clone();
                sorted.sort_by_key(|&(_, score)| core::cmp::Reverse(score));
                let zones: Vec<u32> = buckets.descending().map(|zone| zone.0).collect();
                prop_assert_eq!(zones, sorted.iter().map(|&(zone, _)| zone).collect::<Vec<_>>());
            }
        }
    }
}
