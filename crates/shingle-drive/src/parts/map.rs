//! The map of the slots of a log: the slot with the newest copy of each block, and the slots of
//! each band.
//!
//! A slot whose block is written again, trimmed or cleaned becomes a hole. Each band has a list of
//! its live slots in the order they were filled, so cleaning a band costs what it collects, and a
//! flat table finds the slot of a block. In which order slots are filled, and when holes can be
//! filled again, is the business of the log: a ring (`ring.rs`) or zones (`host_aware/cache.rs`).

use prefetch_index::prefetch_index;

/// No slot in a list, none in the table: slots are stored plus one, so that memory never written
/// stays untouched.
const NONE: u32 = 0;
/// Set in the word of the first slot of a host write.
const STARTS: u64 = 1 << 63;
/// Set in the word of a slot that the current cleaning collects.
const MARKED: u64 = 1 << 62;

/// Places in a pair of links.
const NEXT: usize = 0;
const PREV: usize = 1;

#[derive(Clone, Debug)]
pub(crate) struct Map {
    /// What each slot holds: 0 in a hole; else the block plus one, [`STARTS`] and [`MARKED`].
    words: Vec<u64>,
    /// Neighbours of each live slot in its band's circle, next and previous, plus one.
    links: Vec<[u32; 2]>,
    /// Open addressing, at most half full: the block in the upper half, its slot plus one in the
    /// lower, so that a search looks nowhere else. 0 is free.
    table: Vec<u64>,
    shift: u32,
    /// Oldest live slot of each band, plus one.
    heads: Vec<u32>,
    live: u32,
    live_bands: u32,
    entries: u32,
    /// The slot where the log begins: no map entry crosses it.
    edge: u32,
}

impl Map {
    pub(crate) fn new(slots: u32, bands: usize) -> Map {
        assert!((1..=SLOTS_MAX).contains(&slots), "a log has slots");
        let table = (slots as usize * 2).next_power_of_two();
        Map {
            words: vec![0; slots as usize],
            links: vec![[NONE; 2]; slots as usize],
            table: vec![0; table],
            shift: 64 - table.trailing_zeros(),
            heads: vec![NONE; bands],
            live: 0,
            live_bands: 0,
            entries: 0,
            edge: 0,
        }
    }

    /// Returns the number of slots, live or not.
    pub(crate) fn capacity(&self) -> u32 {
        u32::try_from(self.words.len()).expect("checked when made")
    }

    /// Returns the number of live slots.
    pub(crate) fn live(&self) -> u32 {
        self.live
    }

    /// Returns the number of bands with live slots.
    pub(crate) fn live_bands(&self) -> u32 {
        self.live_bands
    }

    /// Returns the number of map entries: runs of live slots of one host write.
    pub(crate) fn entries(&self) -> u32 {
        self.entries
    }

    /// Returns the slot where the log begins.
    pub(crate) fn edge(&self) -> u32 {
        self.edge
    }

    /// Moves the beginning of the log to `slot`; all slots between the old beginning and it are
    /// holes.
    #[inline]
    pub(crate) fn set_edge(&mut self, slot: u32) {
        self.edge = slot;
    }

    /// Returns whether `slot` holds a block.
    #[inline]
    pub(crate) fn is_live(&self, slot: u32) -> bool {
        self.words[slot as usize] != 0
    }

    /// Returns whether the block of a live slot was the first of its host write.
    pub(crate) fn starts(&self, slot: u32) -> bool {
        self.words[slot as usize] & STARTS != 0
    }

    /// Returns the block of a live slot.
    pub(crate) fn block(&self, slot: u32) -> u64 {
        (self.words[slot as usize] & !(STARTS | MARKED)) - 1
    }

    /// Returns the slot that holds `block`.
    #[inline]
    pub(crate) fn find(&self, block: u64) -> Option<u32> {
        let entry = self.table[self.probe(block)];
        (entry != 0).then(|| slot_of(entry))
    }

    /// Prefetches the first step of a lookup of `block`.
    #[inline]
    pub(crate) fn prefetch(&self, block: u64) {
        prefetch_index(&self.table, self.home(block));
    }

    /// Fills `slot`, a hole, with `block` of `band`. `starts`: it is the first block of a host
    /// write. Returns the slot of an older copy, which becomes a hole.
    #[inline]
    pub(crate) fn put(&mut self, slot: u32, block: u64, band: usize, starts: bool) -> Option<u32> {
        debug_assert!(!self.is_live(slot), "only holes are filled");
        let at = self.probe(block);
        let old = self.table[at];
        self.table[at] = (block << 32) | u64::from(slot + 1);
        if old != 0 {
            self.forget(slot_of(old), band);
        }
        self.live += 1;
        self.entries += u32::from(starts);
        let head = self.heads[band];
        let (next, prev) = if head == NONE {
            self.heads[band] = slot + 1;
            self.live_bands += 1;
            (slot + 1, slot + 1)
        } else {
            let last = self.links[head as usize - 1][PREV];
            self.links[head as usize - 1][PREV] = slot + 1;
            self.links[last as usize - 1][NEXT] = slot + 1;
            (head, last)
        };
        self.words[slot as usize] = (block + 1) | if starts { STARTS } else { 0 };
        self.links[slot as usize] = [next, prev];
        (old != 0).then(|| slot_of(old))
    }

    /// Turns `slot`, which is live in `band`, into a hole.
    pub(crate) fn remove(&mut self, slot: u32, band: usize) {
        let block = self.block(slot);
        let mut hole = self.probe(block);
        debug_assert_eq!(slot_of(self.table[hole]), slot);
        let mask = self.table.len() - 1;
        let mut at = hole;
        // Moves back what collided with the removed entry. Bounded: the table is half empty.
        loop {
            at = (at + 1) & mask;
            let entry = self.table[at];
            if entry == 0 {
                break;
            }
            let home = self.home(entry >> 32);
            if at.wrapping_sub(home) & mask >= at.wrapping_sub(hole) & mask {
                self.table[hole] = entry;
                hole = at;
            }
        }
        self.table[hole] = 0;
        self.forget(slot, band);
    }

    /// Moves the block of the live slot `from` to the hole `to`; it keeps its place in the list of
    /// its band, and its mark. `starts`: a map entry begins there.
    pub(crate) fn relocate(&mut self, from: u32, to: u32, band: usize, starts: bool) {
        debug_assert!(self.is_live(from) && !self.is_live(to), "from a live slot to a hole");
        let word = self.words[from as usize];
        let at = self.probe(self.block(from));
        self.table[at] = (self.table[at] & !u64::from(u32::MAX)) | u64::from(to + 1);
        self.leave_entry(from);
        self.words[from as usize] = 0;
        self.entries += u32::from(starts);
        self.words[to as usize] = (word & !STARTS) | if starts { STARTS } else { 0 };
        let [next, prev] = self.links[from as usize];
        if next == from + 1 {
            self.links[to as usize] = [to + 1; 2];
        } else {
            self.links[to as usize] = [next, prev];
            self.links[next as usize - 1][PREV] = to + 1;
            self.links[prev as usize - 1][NEXT] = to + 1;
        }
        if self.heads[band] == from + 1 {
            self.heads[band] = to + 1;
        }
    }

    /// Returns the oldest live slot of `band`.
    pub(crate) fn first_of(&self, band: usize) -> Option<u32> {
        let head = self.heads[band];
        (head != NONE).then(|| head - 1)
    }

    /// Returns the live slot of `band` that was filled next after `slot`.
    pub(crate) fn next_of(&self, band: usize, slot: u32) -> Option<u32> {
        let next = self.links[slot as usize][NEXT];
        (next != self.heads[band]).then(|| next - 1)
    }

    /// Prefetches what removing the first few slots of `band` reads, before all of them are
    /// removed, oldest first. Returns the slot to pass to [`Map::prefetch_removed`] with the first
    /// removal.
    pub(crate) fn prefetch_emptied(&self, band: usize) -> Option<u32> {
        const STEPS: usize = 4;
        (0..STEPS).try_fold(self.first_of(band)?, |slot, _| self.prefetch_removed(band, slot))
    }

    /// Prefetches what removing `slot` reads, and the links of the slot after it, which is
    /// returned.
    #[inline]
    pub(crate) fn prefetch_removed(&self, band: usize, slot: u32) -> Option<u32> {
        self.prefetch(self.block(slot));
        let next = self.next_of(band, slot)?;
        prefetch_index(&self.words, next as usize);
        prefetch_index(&self.links, next as usize);
        Some(next)
    }

    /// Marks all live slots of `band`. Slots filled later are not marked, so the marked ones stay
    /// the first in the list.
    pub(crate) fn mark(&mut self, band: usize) {
        let mut next = self.first_of(band);
        while let Some(slot) = next {
            self.words[slot as usize] |= MARKED;
            next = self.next_of(band, slot);
        }
    }

    /// Removes the marks of `band`.
    pub(crate) fn unmark(&mut self, band: usize) {
        let mut next = self.first_of(band);
        while let Some(slot) = next {
            self.words[slot as usize] &= !MARKED;
            next = self.next_of(band, slot);
        }
    }

    /// Returns the oldest marked slot of `band`.
    pub(crate) fn first_marked(&self, band: usize) -> Option<u32> {
        self.first_of(band).filter(|&slot| self.marked(slot))
    }

    /// Returns the marked slot of `band` that follows `slot`.
    pub(crate) fn next_marked(&self, band: usize, slot: u32) -> Option<u32> {
        self.next_of(band, slot).filter(|&slot| self.marked(slot))
    }

    fn marked(&self, slot: u32) -> bool {
        self.words[slot as usize] & MARKED != 0
    }

    /// Unlinks a live slot that is no longer in the table.
    fn forget(&mut self, slot: u32, band: usize) {
        self.leave_entry(slot);
        let [next, prev] = self.links[slot as usize];
        self.words[slot as usize] = 0;
        self.live -= 1;
        if next == slot + 1 {
            self.heads[band] = NONE;
            self.live_bands -= 1;
            return;
        }
        self.links[next as usize - 1][PREV] = prev;
        self.links[prev as usize - 1][NEXT] = next;
        if self.heads[band] == slot + 1 {
            self.heads[band] = next;
        }
    }

    /// Updates the number of map entries before the live `slot` becomes a hole.
    fn leave_entry(&mut self, slot: u32) {
        self.entries =
            self.entries + u32::from(self.goes_on_after(slot)) - u32::from(self.begins(slot));
    }

    /// Returns whether a map entry begins at the live slot.
    fn begins(&self, slot: u32) -> bool {
        let before = if slot == 0 { self.capacity() - 1 } else { slot - 1 };
        slot == self.edge || self.starts(slot) || self.words[before as usize] == 0
    }

    /// Returns whether the map entry of the live slot continues in the next slot.
    fn goes_on_after(&self, slot: u32) -> bool {
        let after = if slot + 1 == self.capacity() { 0 } else { slot + 1 };
        let word = self.words[after as usize];
        after != self.edge && word != 0 && word & STARTS == 0
    }

    /// Returns the first place of `block` in the table. Multiplying by 2^64 divided by the golden
    /// ratio spreads neighbouring blocks evenly (Knuth, TAOCP 3, §6.4).
    #[inline]
    // Shifted down to the size of the table.
    fn home(&self, block: u64) -> usize {
        (block.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> self.shift) as usize
    }

    /// Returns the place of `block` in the table, or the free place for it. Bounded: the table is
    /// half empty.
    #[inline]
    fn probe(&self, block: u64) -> usize {
        let mask = self.table.len() - 1;
        let mut at = self.home(block);
        loop {
            let entry = self.table[at];
            if entry == 0 || entry >> 32 == block {
                return at;
            }
            at = (at + 1) & mask;
        }
    }

    /// Panics if an invariant is broken.
    pub(crate) fn check(&self, band_of: impl Fn(u64) -> usize) {
        let live: Vec<u32> = (0..self.capacity()).filter(|&slot| self.is_live(slot)).collect();
        assert_eq!(live.len(), self.live as usize);
        assert_eq!(self.table.iter().filter(|&&entry| entry != 0).count(), live.len());
        let mut entries = 0;
        for &slot in &live {
            assert_eq!(self.find(self.block(slot)), Some(slot), "each live slot is found");
            entries += u32::from(self.begins(slot));
        }
        assert_eq!(entries, self.entries, "map entries");
        let (mut listed, mut bands) = (0, 0);
        for band in 0..self.heads.len() {
            let mut next = self.first_of(band);
            bands += u32::from(next.is_some());
            let mut marked = true;
            while let Some(slot) = next {
                assert_eq!(band_of(self.block(slot)), band, "a slot is in the list of its band");
                assert!(marked || !self.marked(slot), "marked slots are the first of their list");
                marked = self.marked(slot);
                listed += 1;
                assert!(listed <= self.live, "a list runs in a circle");
                next = self.next_of(band, slot);
            }
        }
        assert_eq!((listed, bands), (self.live, self.live_bands));
    }
}

#[inline]
fn slot_of(entry: u64) -> u32 {
    entry as u32 - 1
}

/// Slots of the largest log: 512 GiB, larger than any drive's buffer, and its map fits into memory.
pub(crate) const SLOTS_MAX: u32 = 1 << 27;
/// Number of different blocks that a map supports.
pub(crate) const BLOCKS_MAX: u64 = 1 << 32;

#[cfg(test)]
mod tests {
    use super::*;

    /// Bands of four blocks.
    fn band(block: u64) -> usize {
        usize::try_from(block / 4).expect("small")
    }

    #[test]
    fn a_block_that_moves_keeps_its_turn_and_its_mark() {
        let mut map = Map::new(16, 4);
        for (slot, block) in [(0, 1), (1, 2), (2, 5), (3, 3)] {
            assert_eq!(map.put(slot, block, band(block), block != 2), None);
        }
        // Blocks 1 and 2 are one entry, 5 and 3 one each.
        assert_eq!((map.entries(), map.live(), map.live_bands()), (3, 4, 2));
        map.mark(0);
        map.relocate(0, 8, 0, true);
        map.check(band);
        assert_eq!(map.entries(), 4, "blocks 1 and 2 are no longer neighbours");
        map.relocate(1, 9, 0, false);
        map.relocate(2, 10, 1, true);
        map.check(band);
        assert_eq!((map.entries(), map.find(2), map.find(5)), (3, Some(9), Some(10)));
        // A newer copy goes to the end of the list, without a mark.
        assert_eq!(map.put(4, 1, 0, true), Some(8));
        let listed: Vec<u32> =
            std::iter::successors(map.first_of(0), |&slot| map.next_of(0, slot)).collect();
        let marked: Vec<u32> =
            std::iter::successors(map.first_marked(0), |&slot| map.next_marked(0, slot)).collect();
        assert_eq!((listed, marked), (vec![9, 3, 4], vec![9, 3]));
        map.unmark(0);
        assert_eq!(map.first_marked(0), None);
        map.check(band);
    }
}
