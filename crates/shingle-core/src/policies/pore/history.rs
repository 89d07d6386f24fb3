//! The access records of PORE's prototype (`history=forever`): accesses are counted for each block
//! and never reset. A block that leaves stays in the record of its zone until the next division,
//! and if it returns before that, its count continues. After the division its place in the table
//! goes to the next new block, which inherits the count, because the prototype does not clear it.
//! So hot zones may look cold, and cold ones hot. The paper says nothing of this.
//!
//! Unlike the prototype's, these records cover dirty blocks only, and a bounded number of blocks
//! that have left: the size of the cache and a period.

use crate::parts::ZoneIndex;
use crate::units::{Block, Slot};

/// A block that has left since the last division.
#[derive(Clone, Copy, Debug)]
struct Gone {
    block: Block,
    zone: ZoneIndex,
    /// The next entry of the same hash chain.
    chain: u32,
    uses: u64,
    used_at: u64,
}

const NONE: u32 = u32::MAX;
/// Marks an entry whose block has returned.
const BACK: Block = Block(u64::MAX);

/// Access counts of dirty blocks, cached and gone.
#[derive(Clone, Debug)]
pub struct History {
    uses: Vec<u64>,    // by slot
    used_at: Vec<u64>, // by slot
    gone: Vec<Gone>,
    gone_max: usize,
    heads: Vec<u32>,
    /// Counts left in the free places of the prototype's table; the next one to be taken is last.
    free: Vec<u64>,
}

impl History {
    /// Creates empty records, for this number of slots and of blocks in a period.
    #[must_use]
    pub fn new(slots: usize, period_blocks: u64) -> History {
        let gone_max = slots.saturating_add(usize::try_from(period_blocks).unwrap_or(slots));
        let gone_max = gone_max.min(2 * slots);
        History {
            uses: vec![0; slots],
            used_at: vec![0; slots],
            gone: Vec::with_capacity(gone_max),
            gone_max,
            heads: vec![NONE; gone_max.next_power_of_two()],
            free: Vec::with_capacity(gone_max + slots),
        }
    }

    fn bucket(&self, block: Block) -> usize {
        let hash = (block.0 ^ (block.0 >> 32)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        (hash >> 32) as usize & (self.heads.len() - 1)
    }

    /// Notes that `block` enters `slot`. Returns its initial count if the record is new.
    pub fn entered(&mut self, slot: Slot, block: Block) -> Option<u64> {
        let bucket = self.bucket(block);
        let (mut before, mut at) = (NONE, self.heads[bucket]);
        while at != NONE {
            let Gone { block: found, chain, uses, .. } = self.gone[at as usize];
            if found == block {
                match before {
                    NONE => self.heads[bucket] = chain,
                    before => self.gone[before as usize].chain = chain,
                }
                self.gone[at as usize].block = BACK;
                self.uses[slot.index()] = uses;
                return None;
            }
            (before, at) = (at, chain);
        }
        let inherited = self.free.pop().unwrap_or(0);
        self.uses[slot.index()] = inherited;
        Some(inherited)
    }

    /// Counts an access of `slot`.
    pub fn used(&mut self, slot: Slot, now: u64) {
        self.uses[slot.index()] += 1;
        self.used_at[slot.index()] = now;
    }

    /// Removes the record of `slot`, whose block is no longer dirty, and returns its count.
    pub fn forget(&mut self, slot: Slot) -> u64 {
        let uses = self.uses[slot.index()];
        self.free(uses);
        uses
    }

    /// Notes that `block` leaves `slot`. Returns its count if there is no room to remember it.
    pub fn left(&mut self, slot: Slot, block: Block, zone: ZoneIndex) -> Option<u64> {
        if self.gone.len() == self.gone_max {
            return Some(self.forget(slot));
        }
        let bucket = self.bucket(block);
        let (uses, used_at) = (self.uses[slot.index()], self.used_at[slot.index()]);
        self.gone.push(Gone { block, zone, chain: self.heads[bucket], uses, used_at });
        self.heads[bucket] = (self.gone.len() - 1) as u32;
        None
    }

    /// Removes the records of blocks that are gone, and calls `each` with the zone and the count of
    /// each. The one used last is removed first, so that its place is reused last.
    pub fn drop_gone(&mut self, mut each: impl FnMut(ZoneIndex, u64)) {
        for at in 0..self.gone.len() {
            let bucket = self.bucket(self.gone[at].block);
            self.heads[bucket] = NONE;
        }
        self.gone.sort_unstable_by_key(|gone| core::cmp::Reverse(gone.used_at));
        let mut gone = core::mem::take(&mut self.gone);
        for gone in gone.drain(..).filter(|gone| gone.block != BACK) {
            self.free(gone.uses);
            each(gone.zone, gone.uses);
        }
        self.gone = gone;
    }

    fn free(&mut self, uses: u64) {
        // There are at most as many free places as there were records at a time.
        if self.free.len() < self.gone_max + self.uses.len() {
            self.free.push(uses);
        }
    }

    /// Returns the bytes of memory used.
    #[must_use]
    pub fn bytes(&self) -> usize {
        (self.uses.capacity() + self.used_at.capacity() + self.free.capacity()) * size_of::<u64>()
            + self.gone.capacity() * size_of::<Gone>()
            + self.heads.capacity() * size_of::<u32>()
    }
}
