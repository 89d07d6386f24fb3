//! The log of a buffer: a ring of block slots, appended at its end, released at its tail.
//!
//! ```text
//!        tail                         end = tail + used
//!         │ oldest                     │
//!   ┈┈┈┈┈┈█░█░░███░█████░██████████████┈┈┈┈┈┈     █ live: newest copy of its block   ░ hole
//! ```
//! A slot whose block is written again, trimmed or cleaned becomes a hole; holes are released when
//! the tail has reached them, never before. Each band has a list of its live slots in log order, so
//! cleaning a band costs what it collects, and a flat table finds the slot of a block.

/// No slot in a list, none in the table: slots are stored plus one, so that memory never written
/// stays untouched.
const NONE: u32 = 0;
/// Set in the word of the first slot of a host write.
const STARTS: u64 = 1 << 63;

/// Places in a pair of links.
const NEXT: usize = 0;
const PREV: usize = 1;

/// See the module.
#[derive(Clone, Debug)]
pub(crate) struct Ring {
    /// What each slot holds: 0 in a hole; else the block plus one, and [`STARTS`].
    words: Vec<u64>,
    /// Neighbours of each live slot in its band's circle, next and previous, plus one.
    links: Vec<[u32; 2]>,
    /// The host's written-blocks counter, low half, when the slot was filled.
    arrived: Vec<u32>,
    /// Open addressing, at most half full: the block in the upper half, its slot plus one in the
    /// lower, so that a search looks nowhere else. 0 is free.
    table: Vec<u64>,
    shift: u32,
    /// Oldest live slot of each band, plus one.
    heads: Vec<u32>,
    tail: u32,
    used: u32,
    /// How many slots have been released since the start: the number of the tail.
    released: u64,
    live: u32,
    live_bands: u32,
    entries: u32,
}

impl Ring {
    /// A ring of `slots` for `bands` bands.
    pub(crate) fn new(slots: u32, bands: usize) -> Ring {
        assert!((1..=SLOTS_MAX).contains(&slots), "a ring has slots");
        let table = (slots as usize * 2).next_power_of_two();
        Ring {
            words: vec![0; slots as usize],
            links: vec![[NONE; 2]; slots as usize],
            arrived: vec![0; slots as usize],
            table: vec![0; table],
            shift: 64 - table.trailing_zeros(),
            heads: vec![NONE; bands],
            tail: 0,
            used: 0,
            released: 0,
            live: 0,
            live_bands: 0,
            entries: 0,
        }
    }

    /// Slots in the ring.
    pub(crate) fn capacity(&self) -> u32 {
        u32::try_from(self.words.len()).expect("checked when made")
    }

    /// Slots between tail and end, holes included.
    pub(crate) fn used(&self) -> u32 {
        self.used
    }

    /// Live slots.
    pub(crate) fn live(&self) -> u32 {
        self.live
    }

    /// Bands with live slots.
    pub(crate) fn live_bands(&self) -> u32 {
        self.live_bands
    }

    /// Map entries: runs of live slots of one host write.
    pub(crate) fn entries(&self) -> u32 {
        self.entries
    }

    /// Number of the oldest slot in use, counted from the first ever filled.
    pub(crate) fn tail_number(&self) -> u64 {
        self.released
    }

    /// Number the next slot filled will get.
    pub(crate) fn end_number(&self) -> u64 {
        self.released + u64::from(self.used)
    }

    /// The slot that is filled next.
    #[inline]
    pub(crate) fn end_slot(&self) -> u32 {
        let slot = self.tail + self.used;
        if slot >= self.capacity() { slot - self.capacity() } else { slot }
    }

    /// Number of `slot`, which is in use.
    pub(crate) fn number(&self, slot: u32) -> u64 {
        let ahead =
            if slot >= self.tail { slot - self.tail } else { slot + self.capacity() - self.tail };
        self.released + u64::from(ahead)
    }

    /// The block of a live slot.
    pub(crate) fn block(&self, slot: u32) -> u64 {
        (self.words[slot as usize] & !STARTS) - 1
    }

    /// The oldest live slot.
    pub(crate) fn oldest(&self) -> Option<u32> {
        (self.live > 0).then_some(self.tail)
    }

    /// What the host's counter, now at `written`, was when the oldest live block arrived; `written`
    /// if nothing is live. Only the low half is kept: a buffer turns over within 2^32 blocks.
    #[allow(clippy::cast_possible_truncation)]
    pub(crate) fn horizon(&self, written: u64) -> u64 {
        self.oldest().map_or(written, |slot| {
            let since = (written as u32).wrapping_sub(self.arrived[slot as usize]);
            written - u64::from(since)
        })
    }

    /// The slot that holds `block`.
    #[inline]
    pub(crate) fn find(&self, block: u64) -> Option<u32> {
        let entry = self.table[self.probe(block)];
        (entry != 0).then(|| slot_of(entry))
    }

    /// Fills the slot at the end with `block` of `band`; an older copy becomes a hole. `starts`: it
    /// is the first block of a host write. Returns the slot, and whether there was an older copy.
    #[inline]
    #[allow(clippy::cast_possible_truncation)] // the low half of the counter is what is kept
    pub(crate) fn append(
        &mut self,
        block: u64,
        band: usize,
        starts: bool,
        arrived: u64,
    ) -> (u32, bool) {
        debug_assert!(self.used < self.capacity(), "append to a full ring");
        let slot = self.end_slot();
        let at = self.probe(block);
        let old = self.table[at];
        self.table[at] = (block << 32) | u64::from(slot + 1);
        if old != 0 {
            self.forget(slot_of(old), band);
        }
        self.used += 1;
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
        let word = (block + 1) | if starts { STARTS } else { 0 };
        self.words[slot as usize] = word;
        self.links[slot as usize] = [next, prev];
        self.arrived[slot as usize] = arrived as u32;
        self.release();
        (slot, old != 0)
    }

    /// Makes a hole of `slot`, which is live in `band`.
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
        self.release();
    }

    /// Oldest live slot of `band`.
    pub(crate) fn first_of(&self, band: usize) -> Option<u32> {
        let head = self.heads[band];
        (head != NONE).then(|| head - 1)
    }

    /// The live slot of `band` that follows `slot` in the log.
    pub(crate) fn next_of(&self, band: usize, slot: u32) -> Option<u32> {
        let next = self.links[slot as usize][NEXT];
        (next != self.heads[band]).then(|| next - 1)
    }

    /// Live slots from the tail on, for rare whole walks.
    pub(crate) fn live_slots(&self) -> impl Iterator<Item = u32> + '_ {
        let capacity = self.capacity();
        (0..self.used)
            .map(move |at| {
                let slot = self.tail + at;
                if slot >= capacity { slot - capacity } else { slot }
            })
            .filter(|&slot| self.words[slot as usize] != 0)
    }

    /// Unlinks a live slot that is no longer in the table.
    fn forget(&mut self, slot: u32, band: usize) {
        self.entries =
            self.entries + u32::from(self.goes_on_after(slot)) - u32::from(self.begins(slot));
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

    /// Whether a map entry begins at the live slot.
    fn begins(&self, slot: u32) -> bool {
        let before = if slot == 0 { self.capacity() - 1 } else { slot - 1 };
        slot == self.tail
            || self.words[slot as usize] & STARTS != 0
            || self.words[before as usize] == 0
    }

    /// Whether the map entry of the live slot goes on in the slot after it.
    fn goes_on_after(&self, slot: u32) -> bool {
        let after = if slot + 1 == self.capacity() { 0 } else { slot + 1 };
        let last = self.number(slot) + 1 >= self.end_number();
        let word = self.words[after as usize];
        !last && word != 0 && word & STARTS == 0
    }

    /// Moves the tail over holes. Each slot is passed once for each time it was filled.
    fn release(&mut self) {
        while self.used > 0 && self.words[self.tail as usize] == 0 {
            self.tail = if self.tail + 1 == self.capacity() { 0 } else { self.tail + 1 };
            self.used -= 1;
            self.released += 1;
        }
    }

    /// First place of `block` in the table. Multiplying by 2^64 divided by the golden ratio spreads
    /// neighbouring blocks evenly (Knuth, TAOCP 3, §6.4).
    #[inline]
    #[allow(clippy::cast_possible_truncation)] // shifted down to the size of the table
    fn home(&self, block: u64) -> usize {
        (block.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> self.shift) as usize
    }

    /// Where `block` is in the table, or the free place where it would go. Bounded: the table is
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
        let live: Vec<u32> = self.live_slots().collect();
        assert_eq!(live.len(), self.live as usize);
        assert_eq!(
            self.live,
            u32::try_from(self.words.iter().filter(|&&word| word != 0).count()).expect("u32")
        );
        assert!(self.live == 0 || live[0] == self.tail, "the tail rests on a live slot");
        assert!(self.live > 0 || self.used == 0, "no hole stays behind the last live slot");
        assert_eq!(self.table.iter().filter(|&&entry| entry != 0).count(), live.len());
        let mut entries = 0;
        for &slot in &live {
            assert_eq!(self.find(self.block(slot)), Some(slot), "each live slot is found");
            entries += u32::from(self.begins(slot));
        }
        assert_eq!(entries, self.entries, "map entries");
        let (mut listed, mut bands) = (0, 0);
        for band in 0..self.heads.len() {
            let mut slot = self.first_of(band);
            bands += u32::from(slot.is_some());
            let mut last = None;
            while let Some(at) = slot {
                assert_eq!(band_of(self.block(at)), band, "a slot is in the list of its band");
                assert!(last < Some(self.number(at)), "lists are in log order");
                last = Some(self.number(at));
                listed += 1;
                assert!(listed <= self.live, "a list runs in a circle");
                slot = self.next_of(band, at);
            }
        }
        assert_eq!((listed, bands), (self.live, self.live_bands));
    }
}

/// The slot of an entry of the table.
#[inline]
#[allow(clippy::cast_possible_truncation)] // the lower half
fn slot_of(entry: u64) -> u32 {
    entry as u32 - 1
}

/// Slots of the largest ring: 512 GiB, more than any drive's buffer, and memory for it can be had.
pub(crate) const SLOTS_MAX: u32 = 1 << 27;
/// Blocks that a ring can tell apart.
pub(crate) const BLOCKS_MAX: u64 = 1 << 32;

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
        let mut rng = crate::rng::Rng::new(1);
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
