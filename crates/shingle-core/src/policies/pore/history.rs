//! The records of PORE's prototype (`history=forever`): accesses are counted for each block and
//! never reset. A block that leaves stays in the records of its zone until the next division, and if
//! it comes back before that it goes on counting. After that its place in the table goes to the next
//! new block, which inherits its count: the prototype does not clear it. So hot zones may look
//! cold, and cold ones hot; of such an inheritance the paper says nothing.
//!
//! Unlike the prototype's, these records are of dirty blocks only, and of a bounded number that have
//! left: the size of the cache and a period.

use crate::parts::ZoneIndex;
use crate::units::{Block, Slot};

/// A block that has left since the last division.
#[derive(Clone, Copy, Debug)]
struct Gone {
    block: Block,
    zone: ZoneIndex,
    /// The next one of the same hash.
    chain: u32,
    uses: u64,
    used_at: u64,
}

const NONE: u32 = u32::MAX;
/// A block that has come back.
const BACK: Block = Block(u64::MAX);

/// Accesses of the dirty blocks, in the cache and gone.
#[derive(Clone, Debug)]
pub struct History {
    uses: Vec<u64>,    // by slot
    used_at: Vec<u64>, // by slot
    gone: Vec<Gone>,
    gone_max: usize,
    heads: Vec<u32>,
    /// What free places of the prototype's table still count, the next one last.
    free: Vec<u64>,
}

impl History {
    /// No records, for so many slots and blocks in a period.
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

    /// `block` comes into `slot`. Returns the count it begins with if the record is new.
    pub fn came(&mut self, slot: Slot, block: Block) -> Option<u64> {
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

    /// `slot` was used.
    pub fn used(&mut self, slot: Slot, now: u64) {
        self.uses[slot.index()] += 1;
        self.used_at[slot.index()] = now;
    }

    /// The block in `slot` is dirty no longer. Returns its count, which leaves the record.
    pub fn forget(&mut self, slot: Slot) -> u64 {
        let uses = self.uses[slot.index()];
        self.free(uses);
        uses
    }

    /// `block` leaves `slot`. Returns its count if there is no room to remember it.
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

    /// Forgets the blocks that are gone; `each` is told the zone and the count of each. The one used
    /// last is forgotten first, so that its place is taken last.
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
        // Of all records there have been at a time, these are the ones not in use.
        if self.free.len() < self.gone_max + self.uses.len() {
            self.free.push(uses);
        }
    }

    /// Bytes of memory taken.
    #[must_use]
    pub fn bytes(&self) -> usize {
        (self.uses.capacity() + self.used_at.capacity() + self.free.capacity()) * size_of::<u64>()
            + self.gone.capacity() * size_of::<Gone>()
            + self.heads.capacity() * size_of::<u32>()
    }
}
