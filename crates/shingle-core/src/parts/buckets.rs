//! Members by score: a bucket queue. Changing a score by any amount and finding the members of the
//! highest scores take constant time, whatever their number. As on a [`List`], a member is a `u32`:
//! a zone of a policy, a band or block within a drive.

use crate::parts::{Links, List};

/// Members in one bucket per score. Within a bucket, first in, first out.
#[derive(Clone, Debug)]
pub struct Buckets {
    links: Links,
    score: Vec<u32>, // by member; members beyond its end are in no bucket
    buckets: Vec<List>,
    filled: Vec<u64>, // one bit a bucket: skips empty ones 64 at a time
}

/// Not in any bucket.
const ABSENT: u32 = u32::MAX;

impl Buckets {
    /// Creates buckets for scores `0..=score_max`. Allocates for members `0..capacity` at once, and
    /// for others when they are added.
    #[must_use]
    pub fn new(capacity: usize, score_max: u32) -> Buckets {
        let buckets = score_max as usize + 1;
        Buckets {
            links: Links::new(capacity),
            score: vec![ABSENT; capacity],
            buckets: vec![List::default(); buckets],
            filled: vec![0; buckets.div_ceil(64)],
        }
    }

    /// Returns the score of `member`; `None` if it is in no bucket.
    #[must_use]
    #[inline]
    pub fn score(&self, member: u32) -> Option<u32> {
        self.score.get(member as usize).copied().filter(|&score| score != ABSENT)
    }

    /// Moves `member` to the end of bucket `score`, from wherever it was.
    pub fn set(&mut self, member: u32, score: u32) {
        let before = self.score(member);
        if before == Some(score) {
            return;
        }
        if let Some(before) = before {
            self.take_out(member, before);
        } else if member as usize >= self.score.len() {
            self.score.resize(member as usize + 1, ABSENT);
        }
        // The head of a list is its old end here: first in, first out.
        self.buckets[score as usize].push_tail(&mut self.links, member);
        self.filled[score as usize / 64] |= 1 << (score % 64);
        self.score[member as usize] = score;
    }

    /// Removes `member` from its bucket, if it is in one.
    pub fn remove(&mut self, member: u32) {
        if let Some(score) = self.score(member) {
            self.take_out(member, score);
            self.score[member as usize] = ABSENT;
        }
    }

    fn take_out(&mut self, member: u32, score: u32) {
        let bucket = &mut self.buckets[score as usize];
        bucket.unlink(&mut self.links, member);
        if bucket.is_empty() {
            self.filled[score as usize / 64] &= !(1 << (score % 64));
        }
    }

    /// Returns the member of the highest score; of several, the one that reached it first.
    #[must_use]
    pub fn highest(&self) -> Option<u32> {
        self.descending().next()
    }

    /// Returns the members from the highest score down; within a score, first in, first out.
    pub fn descending(&self) -> impl Iterator<Item = u32> + '_ {
        core::iter::successors(self.bucket_below(self.buckets.len()), |&bucket| {
            self.bucket_below(bucket)
        })
        .flat_map(|bucket| {
            core::iter::successors(self.buckets[bucket].head(), |&member| {
                self.links.towards_tail(member)
            })
        })
    }

    /// Returns the highest bucket below `bound` that holds a member.
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

    /// Returns the bytes of memory used.
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
            assert_eq!(self.filled[score / 64] >> (score % 64) & 1 == 1, !bucket.is_empty());
            // Nearly all of the thousands of buckets are empty.
            if bucket.is_empty() {
                assert_eq!(bucket.head(), None, "an empty list has a head");
                continue;
            }
            bucket.check(&self.links);
            for member in bucket.from_tail(&self.links) {
                assert_eq!(self.score[member as usize] as usize, score);
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
        fn buckets_are_a_stable_sort(
            ops in prop::collection::vec((0u32..9, 0u32..140), 0..120),
            capacity in 0usize..9,
        ) {
            let mut buckets = Buckets::new(capacity, 129);
            let mut model: Vec<(u32, u32)> = Vec::new(); // (member, score) in order of arrival
            for (member, score) in ops {
                if score >= 130 {
                    buckets.remove(member);
                    model.retain(|&(m, _)| m != member);
                } else if buckets.score(member) != Some(score) {
                    buckets.set(member, score);
                    model.retain(|&(m, _)| m != member);
                    model.push((member, score));
                }
                buckets.check();
                let mut sorted = model.clone();
                sorted.sort_by_key(|&(_, score)| core::cmp::Reverse(score));
                let members: Vec<u32> = buckets.descending().collect();
                prop_assert_eq!(members, sorted.iter().map(|&(member, _)| member).collect::<Vec<_>>());
            }
        }
    }
}
