//! How long blocks have been dirty. For each slot the step of time in which that began, and for
//! each step the number of dirty slots. Steps grow with the time that has passed. Two bytes a slot;
//! a query need not look at slots.

use prefetch_index::prefetch_index;
use shingle_core::units::{Nanos, Slot};

use super::super::status::DirtyAges;

/// The length of a step at first. After 18 hours two steps are joined to one, and so on: an age is
/// exact to a 32,768th of the time since the start.
const STEP: Nanos = Nanos::from_millis(1_000);
const STEPS_MAX: u16 = u16::MAX - 1;
/// Marks a slot that is not dirty.
pub(super) const NEVER: u16 = u16::MAX;
/// Marks a slot that was dirty when the process began. Since when is known within one process only.
pub(super) const AT_START: u16 = 0;

/// Since when each slot is dirty.
#[derive(Clone)]
pub(super) struct Ages {
    step: Nanos,
    since: Vec<u16>,
    /// The number of dirty slots of each step.
    counts: Vec<u32>,
    /// No slot of an earlier step is dirty.
    first: usize,
}

impl Ages {
    /// Those of slots that are dirty since time 0 ([`AT_START`]), or not dirty ([`NEVER`]).
    pub(super) fn at_start(since: Vec<u16>) -> Ages {
        let dirty = since.iter().filter(|&&since| since == AT_START).count() as u32;
        let counts = if dirty > 0 { vec![dirty] } else { Vec::new() };
        Ages { step: STEP, since, counts, first: 0 }
    }

    /// Prefetches the entry of `slot`.
    #[inline]
    pub(super) fn prefetch(&self, slot: Slot) {
        prefetch_index(&self.since, slot.index());
    }

    /// Notes that `slot` is dirty, if it was not already.
    pub(super) fn dirty(&mut self, slot: Slot, now: Nanos) {
        if self.since[slot.index()] != NEVER {
            return;
        }
        while now.0 / self.step.0 > u64::from(STEPS_MAX) {
            self.join_steps();
        }
        let step = (now.0 / self.step.0) as usize;
        if self.counts.len() <= step {
            self.counts.resize(step + 1, 0);
        }
        self.since[slot.index()] = step as u16;
        self.counts[step] += 1;
        // Time never runs back, except for blocks that move to another cache.
        self.first = self.first.min(step);
    }

    /// Notes that `slot` is clean or unmapped.
    pub(super) fn clean(&mut self, slot: Slot) {
        let since = std::mem::replace(&mut self.since[slot.index()], NEVER);
        if since == NEVER {
            return;
        }
        self.counts[usize::from(since)] -= 1;
        while self.counts.get(self.first).is_some_and(|&count| count == 0) {
            self.first += 1;
        }
    }

    /// Renumbers the slots.
    pub(super) fn move_slots(&mut self, new_of: &[Slot]) {
        let old = std::mem::take(&mut self.since);
        self.since = vec![NEVER; old.len()];
        for (new, since) in new_of.iter().zip(old) {
            match *new {
                Slot::NONE => {
                    if since != NEVER {
                        self.counts[usize::from(since)] -= 1;
                    }
                }
                new => self.since[new.index()] = since,
            }
        }
    }

    fn join_steps(&mut self) {
        self.step = Nanos(self.step.0 * 2);
        self.since.iter_mut().filter(|since| **since != NEVER).for_each(|since| *since /= 2);
        self.counts = self.counts.chunks(2).map(|pair| pair.iter().sum()).collect();
        self.first /= 2;
    }

    pub(super) fn at(&self, now: Nanos) -> DirtyAges {
        let age = |step: usize| Nanos(now.0.saturating_sub(step as u64 * self.step.0));
        let mut ages = DirtyAges::default();
        let dirty =
            self.counts.iter().enumerate().skip(self.first).filter(|(_, count)| **count > 0);
        for (step, &count) in dirty {
            let age = age(step);
            ages.oldest = ages.oldest.max(age);
            for (blocks, limit) in ages.older.iter_mut().zip(DirtyAges::LIMITS) {
                *blocks += if age >= limit { u64::from(count) } else { 0 };
            }
        }
        ages
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    fn oldest(ages: &Ages, now: u64) -> u64 {
        ages.at(Nanos(now * SECOND)).oldest.0 / SECOND
    }

    #[test]
    fn an_age_counts_from_when_a_block_became_dirty() {
        let mut ages = Ages::at_start(vec![NEVER; 3]);
        assert_eq!(ages.at(Nanos(SECOND)), DirtyAges::default());
        ages.dirty(Slot(0), Nanos(10 * SECOND));
        ages.dirty(Slot(1), Nanos(100 * SECOND));
        // Written again, it is as old as before.
        ages.dirty(Slot(0), Nanos(4_000 * SECOND));
        let now = Nanos(4_010 * SECOND);
        let said = ages.at(now);
        assert_eq!((said.oldest, said.older), (Nanos(4_000 * SECOND), [2, 2, 0]));
        ages.clean(Slot(0));
        ages.clean(Slot(0));
        assert_eq!(oldest(&ages, 4_010), 3_910);
        assert_eq!(ages.at(Nanos(90_000 * SECOND)).older, [1, 1, 1]);
        ages.move_slots(&[Slot(2), Slot(0), Slot::NONE]);
        ages.clean(Slot(1));
        assert_eq!(oldest(&ages, 4_010), 3_910);
        ages.clean(Slot(0));
        assert_eq!(ages.at(now), DirtyAges::default());
    }

    #[test]
    fn after_years_ages_are_known_roughly() {
        const YEAR: u64 = 365 * 86_400;
        let mut ages = Ages::at_start(vec![NEVER; 2]);
        ages.dirty(Slot(0), Nanos(5 * SECOND));
        ages.dirty(Slot(1), Nanos(3 * YEAR * SECOND));
        assert!(ages.counts.len() <= usize::from(STEPS_MAX) + 1);
        assert_eq!(oldest(&ages, 4 * YEAR), 4 * YEAR);
        ages.clean(Slot(0));
        let error = oldest(&ages, 4 * YEAR).abs_diff(YEAR);
        assert!(error <= 3 * YEAR / 32_768, "{error} s");
    }
}
