//! A hash table from keys to ids that stores only the ids, so that it costs less than five bytes
//! each. The owner of the table has the keys.
//!
//! A cache line of the processor holds 15 ids, each with as many bits of its hash as fit beside its
//! number, so that a search rarely checks a wrong id. An id goes into the emptier one of two lines
//! (two random choices fill lines evenly, Azar et al., STOC 1994). Rarely both are full: then it
//! goes into a following line, and each full line counts the ids that passed it, so that a search
//! knows where to end. Removing an id moves nothing, and a table that changes for a long time stays
//! as fast as a new one.

const CELLS: usize = 15;
/// Design load of a line in half ids: nine tenths of the cells.
const LOAD_IN_HALVES: usize = 27;
/// Most ids: four bits of each hash are left.
pub(super) const IDS_MAX: u64 = 1 << 28;
/// No id: this number is never used.
const EMPTY: u32 = u32::MAX;

const NO_IDS: [u32; CELLS + 1] = {
    let mut cells = [EMPTY; CELLS + 1];
    cells[CELLS] = 0;
    cells
};

#[derive(Clone, Debug)]
#[repr(align(64))]
struct Line {
    /// Ids, and in the last cell how many are in following lines because this line, their second
    /// one or one after that, was full.
    cells: [u32; CELLS + 1],
}

impl Line {
    fn ids(&mut self) -> &mut [u32] {
        &mut self.cells[..CELLS]
    }

    /// Returns the number of empty cells.
    fn free(&self) -> u32 {
        self.cells.iter().map(|&cell| u32::from(cell == EMPTY)).sum()
    }
}

/// Ids, each at most once.
#[derive(Clone, Debug)]
pub(super) struct Index {
    lines: Vec<Line>,
    id_bits: u32,
}

#[inline]
pub(super) fn hash(number: u64) -> u64 {
    (number ^ (number >> 32)).wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

impl Index {
    /// Creates a table for at most `count` of the ids `0..ids`.
    pub(super) fn new(count: usize, ids: usize) -> Index {
        assert!(ids as u64 <= IDS_MAX, "more ids than an index can number");
        let lines = (2 * count).div_ceil(LOAD_IN_HALVES).max(1);
        // Room for one more id, so that no cell in use equals an empty one.
        let id_bits = usize::BITS - ids.leading_zeros();
        Index { lines: vec![Line { cells: NO_IDS }; lines], id_bits }
    }

    /// Returns the two lines of a hash.
    #[inline]
    fn lines(&self, hash: u64) -> (usize, usize) {
        let scaled = |bits: u32| (bits as usize * self.lines.len()) >> 32;
        (scaled((hash >> 32) as u32), scaled((hash as u32).wrapping_mul(0x85EB_CA6B)))
    }

    fn following(&self, line: usize) -> usize {
        if line + 1 == self.lines.len() { 0 } else { line + 1 }
    }

    fn tag(&self, hash: u64) -> u32 {
        hash as u32 >> self.id_bits
    }

    /// Returns the id with this hash for which `is` is true.
    #[inline]
    pub(super) fn find(&self, hash: u64, is: impl Fn(u32) -> bool) -> Option<u32> {
        let id_mask = (1 << self.id_bits) - 1;
        let tag = self.tag(hash) << self.id_bits;
        let search = |line: usize| {
            let cells = &self.lines[line].cells;
            // Compares all cells at once; usually none has the tag.
            let tagged = |cell: u32| cell & !id_mask == tag;
            if !cells.iter().fold(false, |any, &cell| any | tagged(cell)) {
                return None;
            }
            let mut ids = cells[..CELLS].iter().filter(|&&cell| tagged(cell) && cell != EMPTY);
            ids.find(|&&cell| is(cell & id_mask)).map(|cell| cell & id_mask)
        };
        let (first, mut line) = self.lines(hash);
        let found = search(first).or_else(|| search(line));
        if found.is_some() {
            return found;
        }
        for _ in 0..self.lines.len() {
            if self.lines[line].cells[CELLS] == 0 {
                break;
            }
            line = self.following(line);
            if let Some(id) = search(line) {
                return Some(id);
            }
        }
        None
    }

    /// Adds `id`, which must not be in the table.
    pub(super) fn insert(&mut self, hash: u64, id: u32) {
        let filled = self.tag(hash) << self.id_bits | id;
        let (first, second) = self.lines(hash);
        if self.lines[first].free() > self.lines[second].free() {
            self.replace(first, EMPTY, filled);
        } else {
            self.replace_from(second, EMPTY, filled, 1);
        }
    }

    /// Removes `id`, which must have been added with this hash.
    pub(super) fn remove(&mut self, hash: u64, id: u32) {
        let filled = self.tag(hash) << self.id_bits | id;
        let (first, second) = self.lines(hash);
        if !self.replace(first, filled, EMPTY) {
            self.replace_from(second, filled, EMPTY, u32::MAX);
        }
    }

    /// Replaces `old` with `new` in a line. Returns whether `old` was there.
    fn replace(&mut self, line: usize, old: u32, new: u32) -> bool {
        let cell = self.lines[line].ids().iter_mut().find(|cell| **cell == old);
        cell.map(|cell| *cell = new).is_some()
    }

    /// Replaces the first `old` from a line on with `new`; adds `past` to the counts of the lines
    /// before it.
    fn replace_from(&mut self, mut line: usize, old: u32, new: u32, past: u32) {
        for _ in 0..self.lines.len() {
            if self.replace(line, old, new) {
                return;
            }
            let count = &mut self.lines[line].cells[CELLS];
            *count = count.wrapping_add(past);
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
