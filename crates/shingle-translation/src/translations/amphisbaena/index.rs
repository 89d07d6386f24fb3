//! From what an id stands for to the id: a hash table that holds nothing but ids, so that it costs
//! less than five bytes each. What they stand for is with their owner.
//!
//! A line of the processor's cache holds 15 ids, each with as many bits of its hash as its number
//! leaves room for: a search reads one line, and hardly ever an id that is not the one. Ids for which
//! a line has no room go into the next one, and the line counts how many went past it: where none did,
//! a search ends. Nothing moves when an id is removed.

const CELLS: usize = 15;
/// Ids in a line that the table is made for: what is free keeps most ids on their own line.
const LOAD_IN_HALVES: usize = 27;
/// The most ids: four bits of each hash are left.
pub(super) const IDS_MAX: u64 = 1 << 28;
/// No id: a number that is never given.
const EMPTY: u32 = u32::MAX;

#[derive(Clone, Debug)]
#[repr(align(64))]
struct Line {
    cells: [u32; CELLS],
    /// Ids of this line, or of one before, that are further on.
    past: u32,
}

/// Ids, each at most once.
#[derive(Clone, Debug)]
pub(super) struct Index {
    lines: Vec<Line>,
    id_bits: u32,
}

/// The hash of a number.
#[inline]
pub(super) fn hash(number: u64) -> u64 {
    (number ^ (number >> 32)).wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

impl Index {
    /// Room for `count` of the ids `0..ids` at a time.
    pub(super) fn new(count: usize, ids: usize) -> Index {
        assert!(ids as u64 <= IDS_MAX, "more ids than an index can number");
        let lines = (2 * count).div_ceil(LOAD_IN_HALVES).max(1);
        // One more id than there are, so that no cell in use looks empty.
        let id_bits = usize::BITS - ids.leading_zeros();
        Index { lines: vec![Line { cells: [EMPTY; CELLS], past: 0 }; lines], id_bits }
    }

    #[inline]
    fn home(&self, hash: u64) -> usize {
        ((hash >> 32) as usize * self.lines.len()) >> 32
    }

    fn following(&self, line: usize) -> usize {
        if line + 1 == self.lines.len() { 0 } else { line + 1 }
    }

    fn tag(&self, hash: u64) -> u32 {
        hash as u32 >> self.id_bits
    }

    /// The id of this hash that `is` the one.
    #[inline]
    pub(super) fn find(&self, hash: u64, is: impl Fn(u32) -> bool) -> Option<u32> {
        let (tag, mask) = (self.tag(hash), (1 << self.id_bits) - 1);
        let mut line = self.home(hash);
        for _ in 0..self.lines.len() {
            let Line { cells, past } = &self.lines[line];
            for &cell in cells {
                if cell >> self.id_bits == tag && cell != EMPTY && is(cell & mask) {
                    return Some(cell & mask);
                }
            }
            if *past == 0 {
                break;
            }
            line = self.following(line);
        }
        None
    }

    /// Adds `id`, which the table does not have.
    pub(super) fn insert(&mut self, hash: u64, id: u32) {
        let filled = self.tag(hash) << self.id_bits | id;
        self.replace(hash, EMPTY, filled, 1);
    }

    /// Removes `id`, which was added with this hash.
    pub(super) fn remove(&mut self, hash: u64, id: u32) {
        let filled = self.tag(hash) << self.id_bits | id;
        self.replace(hash, filled, EMPTY, u32::MAX);
    }

    /// Puts `new` where `old` is found first, and adds `past` to the counts of the lines before.
    fn replace(&mut self, hash: u64, old: u32, new: u32, past: u32) {
        let mut line = self.home(hash);
        for _ in 0..self.lines.len() {
            let here = &mut self.lines[line];
            if let Some(cell) = here.cells.iter_mut().find(|cell| **cell == old) {
                *cell = new;
                return;
            }
            here.past = here.past.wrapping_add(past);
            line = self.following(line);
        }
        panic!("an index is too small, or does not have what is removed");
    }

    pub(super) fn bytes(&self) -> usize {
        self.lines.capacity() * size_of::<Line>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    proptest! {
        #[test]
        fn an_index_is_a_map(
            capacity in 1u32..60,
            spread in prop::sample::select(vec![1u64, 16, 1 << 33]),
            ops in prop::collection::vec((any::<bool>(), 0u64..90), 0..400),
        ) {
            let mut index = Index::new(capacity as usize, capacity as usize);
            let mut keys: Vec<Option<u64>> = vec![None; capacity as usize];
            let mut model = BTreeMap::new();
            for (add, key) in ops {
                let key = key * spread;
                if let Some(id) = model.get(&key).copied() {
                    if !add {
                        index.remove(hash(key), id);
                        keys[id as usize] = None;
                        model.remove(&key);
                    }
                } else if add && let Some(id) = keys.iter().position(Option::is_none) {
                    index.insert(hash(key), id as u32);
                    keys[id] = Some(key);
                    model.insert(key, id as u32);
                }
                for key in (0..90).map(|key| key * spread) {
                    let found = index.find(hash(key), |id| keys[id as usize] == Some(key));
                    prop_assert_eq!(found, model.get(&key).copied());
                }
            }
        }
    }

    #[test]
    fn an_id_costs_less_than_five_bytes() {
        assert!(Index::new(1_000_000, 1_000_000).bytes() < 5_000_000);
    }
}
