//! Which blocks are cold: not used within the last `window` accesses (SAC §4.3, `P(x)`).
//!
//! Every access draws the next stamp. A ring remembers which slot drew each of the last `window`
//! stamps. So each access finds in constant time the slot that turns cold by it, and nothing is
//! ever scanned for cold blocks.

use prefetch_index::prefetch_index;

use crate::units::Slot;

/// Stamps of slots, and the edge between hot and cold.
#[derive(Clone, Debug)]
pub struct Recency {
    stamps: Vec<u64>, // by slot; FORGOTTEN if not tracked
    ring: Vec<Slot>,  // the slot that drew stamp t, at t modulo the window
    window: u64,
    at: usize,
    now: u64,
}

/// Later than any use, so not cold.
const FORGOTTEN: u64 = u64::MAX;

/// Windows up to this many cache sizes allocate their ring at once.
const CACHES_AT_ONCE: u64 = 4;

impl Recency {
    /// Creates it for slots `0..capacity`; cold means not used within `window` accesses (at least
    /// one).
    #[must_use]
    pub fn new(capacity: u32, window: u64) -> Recency {
        let window = window.max(1);
        let at_once = window.min(CACHES_AT_ONCE * u64::from(capacity.max(1)));
        Recency {
            stamps: vec![FORGOTTEN; capacity as usize],
            ring: Vec::with_capacity(at_once as usize),
            window,
            at: 0,
            now: 0,
        }
    }

    /// Notes a use of `slot`. Returns the slot that turns cold by it, if one does.
    #[inline]
    pub fn touch(&mut self, slot: Slot) -> Option<Slot> {
        let drawn = self.now;
        self.now += 1;
        self.stamps[slot.index()] = drawn;
        if (self.ring.len() as u64) < self.window {
            self.extend(slot);
            return None;
        }
        let oldest = core::mem::replace(&mut self.ring[self.at], slot);
        self.at += 1;
        if self.at == self.ring.len() {
            self.at = 0;
        }
        (self.stamps[oldest.index()] == drawn - self.window).then_some(oldest)
    }

    /// Notes one of the first uses, which fill the ring.
    #[cold]
    fn extend(&mut self, slot: Slot) {
        self.ring.push(slot);
        self.at = if self.ring.len() as u64 == self.window { 0 } else { self.ring.len() };
    }

    /// Stops tracking `slot`.
    #[inline]
    pub fn forget(&mut self, slot: Slot) {
        self.stamps[slot.index()] = FORGOTTEN;
    }

    /// Returns the stamp of the last use of `slot`: larger is more recent.
    #[must_use]
    #[inline]
    pub fn stamp(&self, slot: Slot) -> u64 {
        self.stamps[slot.index()]
    }

    /// Returns whether `slot` was used later than all others.
    #[must_use]
    #[inline]
    pub fn used_last(&self, slot: Slot) -> bool {
        self.stamps[slot.index()] == self.now.wrapping_sub(1)
    }

    /// Returns whether `slot` was not used within the window.
    #[must_use]
    #[inline]
    pub fn cold(&self, slot: Slot) -> bool {
        self.stamps[slot.index()] < self.now.saturating_sub(self.window)
    }

    /// Prefetches the stamp of `slot`.
    #[inline]
    pub fn prefetch(&self, slot: Slot) {
        prefetch_index(&self.stamps, slot.index());
    }

    /// Prefetches the stamps of the slots that may turn cold with `count` uses after the next
    /// `passed`.
    #[inline]
    pub fn prefetch_turning_cold(&self, passed: usize, count: usize) {
        let drawn = self.ring.get(self.at + passed..).unwrap_or_default();
        drawn.iter().take(count).for_each(|slot| prefetch_index(&self.stamps, slot.index()));
    }

    /// Returns the slots that turn cold with the next `count` uses, unless they are used before that, or
    /// were since they drew their stamps: to find out costs more than to prefetch one that was.
    pub fn turning_cold(&self, count: usize) -> impl Iterator<Item = Slot> + '_ {
        self.ring.get(self.at..).unwrap_or_default().iter().take(count).copied()
    }

    /// Returns the bytes of memory used.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.stamps.capacity() * 8 + self.ring.capacity() * 4
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_longer_than_any_trace_takes_no_memory_for_what_did_not_happen() {
        let mut recency = Recency::new(4, u64::MAX);
        assert!((0..40).all(|n| recency.touch(Slot(n % 4)).is_none()));
        assert!((0..4).all(|slot| !recency.cold(Slot(slot))) && recency.used_last(Slot(3)));
        assert!(recency.bytes() < 1000, "{}", recency.bytes());
    }

    #[test]
    fn a_slot_turns_cold_when_the_window_has_passed_over_it() {
        let mut recency = Recency::new(4, 2);
        assert_eq!(recency.touch(Slot(0)), None); // stamp 0
        assert_eq!(recency.touch(Slot(1)), None); // stamp 1
        assert!(!recency.cold(Slot(0)), "two accesses ago is still within the window");
        let foreseen: Vec<Slot> = recency.turning_cold(9).collect();
        assert_eq!(foreseen, [Slot(0), Slot(1)], "if they are not used by then");
        assert_eq!(recency.touch(Slot(2)), Some(Slot(0))); // stamp 2 pushes stamp 0 out
        assert!(recency.cold(Slot(0)) && !recency.cold(Slot(1)));
        assert_eq!(recency.touch(Slot(1)), None, "it was used just now");
        assert_eq!(recency.touch(Slot(1)), Some(Slot(2)));
        recency.forget(Slot(1));
        assert_eq!(recency.touch(Slot(3)), None, "forgotten slots do not turn cold");
        assert!(!recency.cold(Slot(1)));
    }
}
