//! Members by score: a bucket queue. Changing a score by any amount takes constant time, and so does
//! finding the members of the highest scores, whatever the number of members. As on a [`List`], a member
//! is a `u32`: a zone of a policy, a band or block within a drive.
//!
//! Scores change far more often than the order is asked for, many times those of one member. So a change
//! is only noted, and [`Buckets::settle`] moves each member once, in the order of their last changes.

use core::hint::select_unpredictable;

use prefetch_index::prefetch_index;

use crate::parts::{Links, List};

/// Members in one bucket per score. Within a bucket, first in, first out.
#[derive(Clone, Debug)]
pub struct Buckets {
    members: Vec<Member>, // those beyond its end are in no bucket
    /// The first `changes` of these are members whose scores have changed since they were moved last, in
    /// this order. One is stale if it is not at the place of its member.
    changed: Vec<u32>,
    changes: usize,
    links: Links,
    buckets: Vec<List>,
    filled: Vec<u64>, // one bit a bucket: skips empty ones 64 at a time
}

#[derive(Clone, Copy, Debug)]
struct Member {
    score: u32,
    /// The bucket it is in, its score before the changes that were not settled yet.
    bucket: u32,
    /// Its place in `changed`.
    place: u32,
}

/// Not in any bucket, or not changed.
const ABSENT: u32 = u32::MAX;

/// Stale changes are removed when there are this many changes for each member.
const CHANGES_EACH: usize = 2;

impl Buckets {
    /// Creates buckets for scores `0..=score_max`. Allocates for members `0..capacity` at once, and
    /// for others when they are added.
    #[must_use]
    pub fn new(capacity: usize, score_max: u32) -> Buckets {
        let buckets = score_max as usize + 1;
        let mut new = Buckets {
            members: Vec::new(),
            changed: Vec::new(),
            changes: 0,
            links: Links::new(capacity),
            buckets: vec![List::default(); buckets],
            filled: vec![0; buckets.div_ceil(64)],
        };
        new.grow(capacity);
        new
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self, members: usize) {
        let absent = Member { score: ABSENT, bucket: ABSENT, place: ABSENT };
        self.members.resize(members, absent);
        self.changed.resize(CHANGES_EACH * members, 0);
    }

    /// Returns the score of `member`; `None` if it is in no bucket.
    #[must_use]
    #[inline]
    pub fn score(&self, member: u32) -> Option<u32> {
        let score = self.members.get(member as usize)?.score;
        (score != ABSENT).then_some(score)
    }

    /// Prefetches what [`Buckets::set`] of `member` reads.
    #[inline]
    pub fn prefetch(&self, member: u32) {
        prefetch_index(&self.members, member as usize);
    }

    /// Moves `member` to the end of bucket `score`, unless it is in this bucket.
    #[inline]
    pub fn set(&mut self, member: u32, score: u32) {
        if member as usize >= self.members.len() {
            self.grow(member as usize + 1);
        }
        if self.members[member as usize].score != score {
            self.change(member, score);
        }
    }

    /// Removes `member` from its bucket, if it is in one.
    pub fn remove(&mut self, member: u32) {
        if self.score(member).is_some() {
            self.change(member, ABSENT);
        }
    }

    #[inline]
    fn change(&mut self, member: u32, score: u32) {
        if self.changes == self.changed.len() {
            self.remove_stale();
        }
        let state = &mut self.members[member as usize];
        (state.score, state.place) = (score, self.changes as u32);
        self.changed[self.changes] = member;
        self.changes += 1;
    }

    /// Removes stale changes: one of each member is left, or none.
    #[cold]
    fn remove_stale(&mut self) {
        let mut kept = 0;
        for at in 0..self.changes {
            let member = self.changed[at];
            // Without a branch, as stale changes are not predictable.
            let place = &mut self.members[member as usize].place;
            let last = *place as usize == at;
            *place = select_unpredictable(last, kept as u32, *place);
            self.changed[kept] = member;
            kept += usize::from(last);
        }
        self.changes = kept;
    }

    /// Moves each member whose score has changed to its bucket. Call this before asking for the order.
    pub fn settle(&mut self) {
        for at in 0..self.changes {
            let member = self.changed[at];
            let Member { score, bucket, place } = self.members[member as usize];
            if place as usize != at {
                continue;
            }
            self.members[member as usize] = Member { score, bucket: score, place: ABSENT };
            if bucket != ABSENT {
                self.take_out(member, bucket);
            }
            if score != ABSENT {
                // The head of a list is its old end here: first in, first out.
                self.buckets[score as usize].push_tail(&mut self.links, member);
                self.filled[score as usize / 64] |= 1 << (score % 64);
            }
        }
        self.changes = 0;
    }

    fn take_out(&mut self, member: u32, score: u32) {
        let bucket = &mut self.buckets[score as usize];
        bucket.unlink(&mut self.links, member);
        if bucket.is_empty() {
            self.filled[score as usize / 64] &= !(1 << (score % 64));
        }
    }

    /// Returns the member of the highest score; of several, the one that reached it first.
    pub fn highest(&mut self) -> Option<u32> {
        self.settle();
        self.descending().next()
    }

    /// Returns the members from the highest score down; within a score, first in, first out.
    ///
    /// # Panics
    /// If scores have changed since [`Buckets::settle`].
    pub fn descending(&self) -> impl Iterator<Item = u32> + '_ {
        assert!(self.changes == 0, "Buckets::descending needs Buckets::settle after changes");
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
            + self.members.capacity() * size_of::<Member>()
            + self.changed.capacity() * 4
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
                assert_eq!(self.members[member as usize].bucket as usize, score);
            }
        }
        let listed: u32 = self.buckets.iter().map(List::len).sum();
        let in_one = self.members.iter().filter(|member| member.bucket != ABSENT).count();
        assert_eq!(listed as usize, in_one);
        for (member, state) in (0..).zip(&self.members) {
            let noted = state.place != ABSENT;
            assert!(noted || state.bucket == state.score, "a change was lost");
            let changed = &self.changed[..self.changes];
            assert!(!noted || changed[state.place as usize] == member, "noted elsewhere");
        }
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
            settled_every in 1usize..30,
        ) {
            let mut buckets = Buckets::new(capacity, 129);
            let mut model: Vec<(u32, u32)> = Vec::new(); // (member, score) in order of arrival
            for (op, (member, score)) in (1..).zip(ops) {
                if score >= 130 {
                    buckets.remove(member);
                    model.retain(|&(m, _)| m != member);
                } else if buckets.score(member) != Some(score) {
                    buckets.set(member, score);
                    model.retain(|&(m, _)| m != member);
                    model.push((member, score));
                }
                prop_assert_eq!(buckets.score(member), model.iter().find(|of| of.0 == member).map(|of| of.1));
                buckets.check();
                if op % settled_every > 0 {
                    continue;
                }
                buckets.settle();
                buckets.check();
                let mut sorted = model.clone();
                sorted.sort_by_key(|&(_, score)| core::cmp::Reverse(score));
                let members: Vec<u32> = buckets.descending().collect();
                prop_assert_eq!(members, sorted.iter().map(|&(member, _)| member).collect::<Vec<_>>());
            }
        }
    }
}
