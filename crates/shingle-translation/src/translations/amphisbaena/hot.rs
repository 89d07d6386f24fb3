//! The high-frequency buffer (HFB, Amphisbaena §5.2.1): slots of one block each, in the chunks
//! assigned to it. Any block may be in any slot.
//!
//! A chunk that reallocation took from the LFB returns "if any block in \[it\] is not updated again
//! within a sample period" (§5.2.3). Literally one such block is enough ([`Returns::Any`]). If *any
//! … not* means *none* ([`Returns::None`]), a chunk of which a single block is updated stays.

use shingle_core::parts::Bitmap;

/// When a chunk returns.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Returns {
    /// A block in it was not updated in the period, or it is empty.
    Any,
    /// No block in it was updated in the period.
    None,
}

/// A chunk of the buffer that the HFB owns or may own.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Owned(u32);

/// No chunk.
const UNUSED: Owned = Owned(!OBTAINED);
/// Marks a chunk that reallocation took from the LFB.
const OBTAINED: u32 = 1 << 31;

impl Owned {
    #[inline]
    fn chunk(self) -> u32 {
        self.0 & !OBTAINED
    }
}

/// The chunks and slots of the HFB.
#[derive(Clone, Debug)]
pub(super) struct Hot {
    chunk_blocks: u32,
    owned: Box<[Owned]>,
    chunks: u32,
    /// All entries before this one are in use.
    room_from: usize,
    /// By slot: whether its block was updated in this period.
    updated: Bitmap,
    /// Chunks before this one were checked, and stay until the next period.
    looked_at: usize,
}

impl Hot {
    /// Creates an HFB without chunks, with room for `chunks_max`.
    pub(super) fn new(chunk_blocks: u32, chunks_max: u32) -> Hot {
        Hot {
            chunk_blocks,
            owned: vec![UNUSED; chunks_max as usize].into(),
            chunks: 0,
            room_from: 0,
            updated: Bitmap::new(u64::from(chunks_max) * u64::from(chunk_blocks)),
            looked_at: 0,
        }
    }

    pub(super) fn chunks(&self) -> u32 {
        self.chunks
    }

    pub(super) fn is_full(&self) -> bool {
        self.chunks as usize == self.owned.len()
    }

    pub(super) fn blocks(&self) -> u32 {
        self.chunks * self.chunk_blocks
    }

    /// Adds `chunk` of the buffer to the HFB. Returns its slots.
    pub(super) fn add(&mut self, chunk: u32, obtained: bool) -> core::ops::Range<u32> {
        let unused = self.owned[self.room_from..].iter().position(|&owned| owned == UNUSED);
        let at = self.room_from + unused.expect("no room for another chunk");
        self.owned[at] = Owned(if obtained { chunk | OBTAINED } else { chunk });
        self.chunks += 1;
        self.room_from = at + 1;
        self.slots(at)
    }

    fn slots(&self, at: usize) -> core::ops::Range<u32> {
        let first = at as u32 * self.chunk_blocks;
        first..first + self.chunk_blocks
    }

    /// Returns the slots of the next obtained chunk that has to return. Later calls in the same
    /// period continue from there: no block is updated meanwhile.
    pub(super) fn returning(
        &mut self,
        returns: Returns,
        is_resident: impl Fn(u32) -> bool,
    ) -> Option<core::ops::Range<u32>> {
        while let Some(owned) = self.owned.get(self.looked_at) {
            let slots = self.slots(self.looked_at);
            let updated = |slot: u32| self.updated.get(slot.into());
            let goes = owned.0 & OBTAINED != 0
                && match returns {
                    Returns::Any => {
                        let mut residents = slots.clone().filter(|&slot| is_resident(slot));
                        residents.clone().next().is_none() || residents.any(|slot| !updated(slot))
                    }
                    Returns::None => !slots.clone().any(updated),
                };
            if goes {
                // Its blocks move one by one: clearing the marks keeps the decision for those still
                // there.
                slots.clone().for_each(|slot| _ = self.updated.clear(slot.into()));
                return Some(slots);
            }
            self.looked_at += 1;
        }
        None
    }

    /// Removes the chunk whose slots begin with `slot`, and returns it.
    pub(super) fn remove(&mut self, slot: u32) -> u32 {
        let at = (slot / self.chunk_blocks) as usize;
        self.chunks -= 1;
        self.room_from = self.room_from.min(at);
        core::mem::replace(&mut self.owned[at], UNUSED).chunk()
    }

    #[inline]
    pub(super) fn place(&self, slot: u32) -> u64 {
        let chunk = self.owned[(slot / self.chunk_blocks) as usize].chunk();
        u64::from(chunk) * u64::from(self.chunk_blocks) + u64::from(slot % self.chunk_blocks)
    }

    /// Marks `slot` as not updated: a new block enters it.
    #[inline]
    pub(super) fn enter(&mut self, slot: u32) {
        self.updated.clear(slot.into());
    }

    #[inline]
    pub(super) fn update(&mut self, slot: u32) {
        self.updated.set(slot.into());
    }

    pub(super) fn begin_period(&mut self) {
        self.updated.clear_all();
        self.looked_at = 0;
    }

    pub(super) fn bytes(&self) -> usize {
        self.owned.len() * size_of::<Owned>() + self.updated.bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Three chunks of two slots; the first was the HFB's from the start. In the second one of two blocks
    /// is updated, in the third the only one.
    #[test]
    fn chunks_return_by_either_reading() {
        let mut hot = Hot::new(2, 4);
        for (chunk, obtained) in [(7, false), (8, true), (9, true)] {
            hot.add(chunk, obtained);
        }
        let resident = |slot: u32| slot < 5;
        [2, 4].into_iter().for_each(|slot| hot.update(slot));
        assert_eq!(hot.clone().returning(Returns::None, resident), None);
        assert_eq!(hot.clone().returning(Returns::Any, resident), Some(2..4), "3 was not updated");
        // Slot 2 gets another block.
        hot.enter(2);
        let mut decided = hot.clone();
        decided.update(3);
        assert_eq!(decided.returning(Returns::Any, resident), Some(2..4));
        let left = |slot: u32| slot == 3 || slot == 4;
        assert_eq!(decided.returning(Returns::Any, left), Some(2..4), "2 has moved; 3 was updated");
        let mut both = hot.clone();
        assert_eq!(both.returning(Returns::None, resident), Some(2..4));
        assert_eq!(both.remove(2), 8);
        assert_eq!(both.returning(Returns::None, resident), None, "4 was");
        // Without a block in it, a chunk is of no use.
        assert_eq!(hot.clone().returning(Returns::Any, |slot| slot < 2), Some(2..4));
        hot.begin_period();
        assert_eq!(hot.returning(Returns::None, |slot| slot < 2), Some(2..4));
    }
}
