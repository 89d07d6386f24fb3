//! The log of a buffer: a ring of block slots, appended at its end, released at its tail.
//!
//! ```text
//!        tail                         end = tail + used
//!         │ oldest                     │
//!   ┈┈┈┈┈┈█░█░░███░█████░██████████████┈┈┈┈┈┈     █ live: newest copy of its block   ░ hole
//! ```
//! A [`Map`] has the contents of the slots. Holes are released when the tail reaches them, never
//! before.

use crate::drive::BufferState;
use crate::parts::map::Map;
pub(crate) use crate::parts::map::{BLOCKS_MAX, SLOTS_MAX};
use shingle_core::units::BLOCK_BYTES;
use std::ops::Range;

#[derive(Clone, Debug)]
pub(crate) struct Ring {
    /// The log begins at the tail.
    map: Map,
    /// Low half of the host's written-blocks counter when the slot was filled.
    arrived: Vec<u32>,
    used: u32,
    /// Number of slots released since the start: the number of the tail.
    released: u64,
}

impl Ring {
    pub(crate) fn new(slots: u32, bands: usize) -> Ring {
        let map = Map::new(slots, bands);
        Ring { map, arrived: vec![0; slots as usize], used: 0, released: 0 }
    }

    pub(crate) fn capacity(&self) -> u32 {
        self.map.capacity()
    }

    /// Returns the number of slots between tail and end, holes included.
    pub(crate) fn used(&self) -> u32 {
        self.used
    }

    /// Returns the number of live slots.
    pub(crate) fn live(&self) -> u32 {
        self.map.live()
    }

    /// Returns the number of bands with live slots.
    pub(crate) fn live_bands(&self) -> u32 {
        self.map.live_bands()
    }

    /// Returns the number of map entries: runs of live slots of one host write.
    pub(crate) fn entries(&self) -> u32 {
        self.map.entries()
    }

    /// Returns the number of the oldest slot in use, counted from the first ever filled.
    pub(crate) fn tail_number(&self) -> u64 {
        self.released
    }

    /// Returns the number of the slot filled next.
    pub(crate) fn end_number(&self) -> u64 {
        self.released + u64::from(self.used)
    }

    /// Returns the slot filled next.
    #[inline]
    pub(crate) fn end_slot(&self) -> u32 {
        let slot = self.map.edge() + self.used;
        if slot >= self.capacity() { slot - self.capacity() } else { slot }
    }

    /// Returns the number of `slot`, which is in use.
    pub(crate) fn number(&self, slot: u32) -> u64 {
        let tail = self.map.edge();
        let ahead = if slot >= tail { slot - tail } else { slot + self.capacity() - tail };
        self.released + u64::from(ahead)
    }

    /// Returns the block of a live slot.
    pub(crate) fn block(&self, slot: u32) -> u64 {
        self.map.block(slot)
    }

    /// Returns the oldest live slot.
    pub(crate) fn oldest(&self) -> Option<u32> {
        (self.live() > 0).then_some(self.map.edge())
    }

    /// Returns the value of the host's counter, now `written`, when the oldest live block arrived.
    /// Only the low half is stored: a buffer turns over within 2^32 blocks.
    fn oldest_arrived(&self, written: u64) -> Option<u64> {
        let slot = self.oldest()?;
        let since = (written as u32).wrapping_sub(self.arrived[slot as usize]);
        Some(written - u64::from(since))
    }

    /// Returns the state of a buffer with this log, when the host has written `written` blocks.
    pub(crate) fn state(&self, written: u64) -> BufferState {
        BufferState {
            blocks: u64::from(self.live()),
            bands: u64::from(self.live_bands()),
            extents: u64::from(self.entries()),
            log_bytes: u64::from(self.used) * BLOCK_BYTES,
            oldest: self.oldest_arrived(written),
            ..BufferState::default()
        }
    }

    /// Returns the slot that holds `block`.
    #[inline]
    pub(crate) fn find(&self, block: u64) -> Option<u32> {
        self.map.find(block)
    }

    /// As [`Map::prefetch`].
    #[inline]
    pub(crate) fn prefetch(&self, block: u64) {
        self.map.prefetch(block);
    }

    /// Fills the slot at the end with `block` of `band`; an older copy becomes a hole. `starts`: it
    /// is the first block of a host write. Returns the slot, and whether there was an older copy.
    #[inline]
    // Only the low half of the counter is stored.
    pub(crate) fn append(
        &mut self,
        block: u64,
        band: usize,
        starts: bool,
        arrived: u64,
    ) -> (u32, bool) {
        debug_assert!(self.used < self.capacity(), "append to a full ring");
        let slot = self.end_slot();
        let old = self.map.put(slot, block, band, starts);
        self.used += 1;
        self.arrived[slot as usize] = arrived as u32;
        self.release();
        (slot, old.is_some())
    }

    /// Turns `slot`, which is live in `band`, into a hole.
    pub(crate) fn remove(&mut self, slot: u32, band: usize) {
        self.map.remove(slot, band);
        self.release();
    }

    /// As [`Map::prefetch_emptied`].
    pub(crate) fn prefetch_emptied(&self, band: usize) -> Option<u32> {
        self.map.prefetch_emptied(band)
    }

    /// As [`Map::prefetch_removed`].
    #[inline]
    pub(crate) fn prefetch_removed(&self, band: usize, slot: u32) -> Option<u32> {
        self.map.prefetch_removed(band, slot)
    }

    /// Returns the oldest live slot of `band`.
    pub(crate) fn first_of(&self, band: usize) -> Option<u32> {
        self.map.first_of(band)
    }

    /// Returns the live slot of `band` that follows `slot` in the log.
    pub(crate) fn next_of(&self, band: usize, slot: u32) -> Option<u32> {
        self.map.next_of(band, slot)
    }

    /// Turns the live slots of `blocks` into holes; `band_of` gives the bands of the blocks.
    /// Returns their number.
    pub(crate) fn discard(&mut self, blocks: Range<u64>, band_of: impl Fn(u64) -> usize) -> u64 {
        if blocks.end - blocks.start > u64::from(self.used) {
            // A large range is handled band by band.
            let bands = band_of(blocks.start)..=band_of(blocks.end - 1);
            return bands.map(|band| self.discard_of(band, &blocks)).sum();
        }
        let mut discarded = 0;
        for block in blocks {
            if let Some(slot) = self.find(block) {
                self.remove(slot, band_of(block));
                discarded += 1;
            }
        }
        discarded
    }

    /// Turns the live slots of `band` whose blocks are in `blocks` into holes. Returns their
    /// number.
    pub(crate) fn discard_of(&mut self, band: usize, blocks: &Range<u64>) -> u64 {
        let (mut next, mut discarded) = (self.first_of(band), 0);
        while let Some(slot) = next {
            next = self.next_of(band, slot);
            if blocks.contains(&self.block(slot)) {
                self.remove(slot, band);
                discarded += 1;
            }
        }
        discarded
    }

    /// Moves the tail over holes. Each slot is passed once for each time it was filled.
    #[inline]
    fn release(&mut self) {
        while self.used > 0 && !self.map.is_live(self.map.edge()) {
            let tail = self.map.edge() + 1;
            self.map.set_edge(if tail == self.capacity() { 0 } else { tail });
            self.used -= 1;
            self.released += 1;
        }
    }

    /// Panics if an invariant is broken.
    pub(crate) fn check(&self, band_of: impl Fn(u64) -> usize) {
        self.map.check(&band_of);
        let slots = (0..self.used).map(|at| (self.map.edge() + at) % self.capacity());
        let live: Vec<u32> = slots.filter(|&slot| self.map.is_live(slot)).collect();
        assert_eq!(live.len(), self.live() as usize, "all that is live lies between tail and end");
        assert!(live.is_empty() || live[0] == self.map.edge(), "the tail rests on a live slot");
        assert!(!live.is_empty() || self.used == 0, "no hole stays behind the last live slot");
        for slot in live {
            let band = band_of(self.block(slot));
            let next = self.next_of(band, slot).map(|next| self.number(next));
            assert!(next.is_none_or(|next| next > self.number(slot)), "lists are in log order");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bands of four blocks.
    fn band(block: u64) -> usize {
        usize::try_from(block / 4).expect("small")
    }

    fn write(ring: &mut Ring, first: u64, count: u64) {
        for block in first..first + count {
            ring.append(block, band(block), block == first, 0);
        }
        ring.check(band);
    }

    #[test]
    fn overwriting_the_middle_of_a_write_costs_an_entry() {
        let mut ring = Ring::new(16, 4);
        write(&mut ring, 0, 5);
        assert_eq!(ring.entries(), 1);
        write(&mut ring, 2, 1);
        assert_eq!((ring.entries(), ring.live(), ring.used()), (3, 5, 6));
        // The rest of the first half goes, then the first of the second half is trimmed off.
        write(&mut ring, 0, 2);
        assert_eq!((ring.entries(), ring.used()), (3, 5), "the tail passed three holes");
        ring.remove(ring.find(3).expect("live"), 0);
        ring.check(band);
        assert_eq!((ring.entries(), ring.live()), (3, 4));
    }

    #[test]
    fn the_ring_wraps_and_the_table_survives_removals() {
        let mut ring = Ring::new(7, 8);
        let mut rng = crate::parts::rng::Rng::new(1);
        for _ in 0..2000 {
            while ring.used() == ring.capacity() {
                let slot = ring.oldest().expect("a full ring has a live tail");
                ring.remove(slot, band(ring.block(slot)));
            }
            let block = rng.below(30);
            match ring.find(block) {
                Some(slot) if rng.below(4) == 0 => ring.remove(slot, band(block)),
                _ => write(&mut ring, block, 1),
            }
            ring.check(band);
        }
        assert!(ring.tail_number() > 100);
    }
}
