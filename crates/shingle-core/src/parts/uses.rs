//! An LRU order in which a use writes to no other member: it appends the member at the head of a
//! ring, and stores the place with the member. A linked list would write to two neighbours, and
//! each is a wait for memory.
//!
//! ```text
//!  least recent                                      most recent
//! │ a  .  b  .  c │               │ d  .  e  .  .  f │            `.`  stale: used again later, or
//! removed
//!  tail     swept         gap                          head
//! ```
//!
//! Stale places are swept: once the ring is nearly full, each use moves some members towards the
//! tail, over the stale places, so that no use takes long.

use prefetch_index::prefetch_index;

use crate::units::Slot;

const NONE: u32 = u32::MAX;

/// Places in the ring for each eight members.
const PLACES: usize = 23;

/// A sweep begins when this many eighths of the ring are taken, and each use sweeps `SWEPT_AT_ONCE`
/// places. So it ends before the ring is full, and leaves half of it free.
const EIGHTHS: u32 = 7;
const SWEPT_AT_ONCE: u32 = 8;

/// Places examined for each likely next victim.
const PLACES_EXAMINED: u32 = 4;

/// Returns the number of taken places at which a sweep begins, in a ring of `places`.
fn sweep_threshold(places: usize) -> u32 {
    places as u32 / 8 * EIGHTHS
}

/// Members `0..capacity` by their last use.
#[derive(Clone, Debug)]
pub struct Uses {
    /// Place of each member in the ring; `NONE` if it is not in the order.
    places: Vec<u32>,
    /// The members in the order of their use. A place that is not the place of its member is stale.
    ring: Vec<u32>,
    tail: u32,
    /// Places from the tail to the head.
    taken: u32,
    /// Swept places at the tail, and the empty places behind them. Both 0 if no sweep is active.
    swept: u32,
    gap: u32,
    /// Number of taken places from which on a use sweeps; 0 while a sweep is active.
    sweep_from: u32,
}

impl Uses {
    /// Creates an empty order of members `0..capacity`.
    #[must_use]
    pub fn new(capacity: u32) -> Uses {
        let places = (PLACES * capacity as usize / 8 + 16).min(NONE as usize);
        let (places, ring) = (vec![NONE; capacity as usize], vec![0; places]);
        let sweep_from = sweep_threshold(ring.len());
        Uses { places, ring, tail: 0, taken: 0, swept: 0, gap: 0, sweep_from }
    }

    /// Returns the place at this distance from the tail.
    #[inline]
    fn place(&self, distance: u32) -> u32 {
        let to_end = self.ring.len() as u32 - self.tail;
        if distance < to_end { self.tail + distance } else { distance - to_end }
    }

    /// Returns the member at `place`, unless the place is stale.
    #[inline]
    fn at(&self, place: u32) -> Option<u32> {
        let member = self.ring[place as usize];
        (self.places[member as usize] == place).then_some(member)
    }

    #[inline]
    fn put(&mut self, member: u32, place: u32) {
        self.ring[place as usize] = member;
        self.places[member as usize] = place;
    }

    /// Prefetches what a use of `member` writes.
    #[inline]
    pub fn prefetch(&self, member: u32) {
        prefetch_index(&self.places, member as usize);
    }

    /// Makes `member` the most recent one, and inserts it if it is not in the order.
    #[inline]
    pub fn touch(&mut self, member: u32) {
        if self.taken >= self.sweep_from {
            return self.touch_and_sweep(member);
        }
        self.put(member, self.place(self.taken));
        // Frees one stale place at the tail per use: freeing millions of them at once would delay
        // one eviction.
        match self.at(self.tail) {
            Some(_) => self.taken += 1,
            None => self.tail = self.place(1),
        }
    }

    #[cold]
    fn touch_and_sweep(&mut self, member: u32) {
        self.sweep();
        self.put(member, self.place(self.taken));
        self.taken += 1;
        self.skip_one();
    }

    /// Inserts `member`, which is not in the order, as the least recent one.
    pub fn push_tail(&mut self, member: u32) {
        if self.taken == self.ring.len() as u32 {
            self.sweep();
        }
        self.swept += u32::from(self.swept + self.gap > 0);
        self.tail = self.tail.checked_sub(1).unwrap_or(self.ring.len() as u32 - 1);
        self.taken += 1;
        self.put(member, self.tail);
    }

    /// Removes `member`.
    ///
    /// # Panics
    /// If it is not in the order.
    pub fn remove(&mut self, member: u32) {
        let place = core::mem::replace(&mut self.places[member as usize], NONE);
        assert!(place != NONE, "Uses::remove of member {member}, which is not in the order");
    }

    /// Removes and returns the least recent member for which `may` holds.
    #[inline]
    pub fn pop(&mut self, may: impl Fn(u32) -> bool) -> Option<u32> {
        let oldest = self.skip()?;
        let gone =
            if may(oldest) { oldest } else { self.from_tail().find(|&member| may(member))? };
        self.places[gone as usize] = NONE;
        Some(gone)
    }

    /// Frees the stale places at the tail. Returns the least recent member.
    #[inline]
    fn skip(&mut self) -> Option<u32> {
        while self.skip_one() {}
        (self.taken > 0).then(|| self.ring[self.tail as usize])
    }

    /// Frees a stale place at the tail, or the whole gap. Returns false if there is none.
    #[inline]
    fn skip_one(&mut self) -> bool {
        if self.taken == 0 {
            return false;
        }
        if self.swept == 0 && self.gap > 0 {
            self.tail = self.place(self.gap);
            self.taken -= self.gap;
            self.end_sweep();
            return true;
        }
        if self.at(self.tail).is_some() {
            return false;
        }
        self.tail = self.place(1);
        self.taken -= 1;
        self.swept = self.swept.saturating_sub(1);
        true
    }

    /// Sweeps some places; if the ring is full, all of them.
    fn sweep(&mut self) {
        let all = self.taken as usize == self.ring.len();
        self.sweep_from = 0;
        for _ in 0..if all { self.taken + 1 } else { SWEPT_AT_ONCE } {
            if self.swept + self.gap == self.taken {
                self.taken = self.swept;
                return self.end_sweep();
            }
            match self.at(self.place(self.swept + self.gap)) {
                Some(member) => {
                    self.put(member, self.place(self.swept));
                    self.swept += 1;
                }
                None => self.gap += 1,
            }
        }
    }

    fn end_sweep(&mut self) {
        (self.swept, self.gap, self.sweep_from) = (0, 0, sweep_threshold(self.ring.len()));
    }

    /// Returns the members from the least recent to the most recent.
    pub fn from_tail(&self) -> impl Iterator<Item = u32> + '_ {
        let distances = (0..self.swept).chain(self.swept + self.gap..self.taken);
        distances.filter_map(|distance| self.at(self.place(distance)))
    }

    /// Writes the members that [`Uses::pop`] is likely to return next to `out`, and returns their
    /// number. Reading them here brings them into the processor's cache.
    #[inline]
    pub fn next_victims(&self, out: &mut [Slot]) -> usize {
        let examined = self.taken.min(PLACES_EXAMINED * out.len() as u32) as usize;
        let (around, ahead) = self.ring.split_at(self.tail as usize);
        let ahead = &ahead[..examined.min(ahead.len())];
        let around = &around[..examined - ahead.len()];
        let mut count = 0;
        for (from, members) in [(self.tail, ahead), (0, around)] {
            for (&member, place) in members.iter().zip(from..) {
                let Some(next) = out.get_mut(count) else { return count };
                // Without a branch, as stale places are not predictable.
                *next = Slot(member);
                count += usize::from(self.places[member as usize] == place);
            }
        }
        count
    }

    /// Returns the bytes of memory used.
    #[must_use]
    pub fn bytes(&self) -> usize {
        (self.places.capacity() + self.ring.capacity()) * size_of::<u32>()
    }

    /// Panics unless each member that has a place is met once.
    pub fn check(&self) {
        let there = self.places.iter().filter(|&&place| place != NONE).count();
        assert_eq!(self.from_tail().count(), there, "an order has lost members");
        assert!(self.swept + self.gap <= self.taken && self.taken as usize <= self.ring.len());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::VecDeque;

    /// As after long without a miss: uses drop stale places at the tail, so a victim is found at once.
    #[test]
    fn what_is_left_behind_at_the_tail_goes_while_members_are_used() {
        let mut uses = Uses::new(1_000);
        (0..1_000).for_each(|member| uses.touch(member));
        (0..500).for_each(|member| uses.touch(member));
        assert_eq!((uses.taken, uses.pop(|_| true)), (1_000, Some(500)));
    }

    proptest! {
        #[test]
        fn uses_are_a_deque(
            capacity in 1u32..24,
            ops in prop::collection::vec((0u8..16, 0u32..24), 0..600),
        ) {
            let mut uses = Uses::new(capacity);
            let mut model = VecDeque::new(); // front: the least recent
            for (op, member) in ops {
                let member = member % capacity;
                let known = model.contains(&member);
                match op {
                    0 if !known => { uses.push_tail(member); model.push_front(member); }
                    1 if known => { uses.remove(member); model.retain(|&m| m != member); }
                    2 => { prop_assert_eq!(uses.pop(|_| true), model.pop_front()); }
                    3 => {
                        let found = model.iter().copied().find(|m| m % 3 == 1);
                        prop_assert_eq!(uses.pop(|m| m % 3 == 1), found);
                        model.retain(|&m| Some(m) != found);
                    }
                    _ => {
                        uses.touch(member);
                        model.retain(|&m| m != member);
                        model.push_back(member);
                    }
                }
                uses.check();
                prop_assert!(uses.from_tail().eq(model.iter().copied()));
            }
        }
    }
}
