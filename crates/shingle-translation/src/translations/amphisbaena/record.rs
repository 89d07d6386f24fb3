//! The record of a block with a role: eight bytes.

use shingle_core::units::Block;

const ROLE_BITS: u32 = 2;
const TIME_BITS: u32 = 28;
/// The latest time that fits.
pub(super) const TIME_MAX: u32 = (1 << TIME_BITS) - 1;
/// Greater block numbers do not fit: 64 TiB.
pub(super) const BLOCK_MAX: u64 = (1 << (64 - ROLE_BITS - TIME_BITS)) - 2;

/// The roles of a block (§5.1.1, table 1).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Role {
    /// Short update period: in the buffer for hot blocks, on the resident list.
    Sup,
    /// Long update period: in the buffer for hot blocks, on the filter list and maybe on the resident
    /// list.
    Lup,
    /// Was evicted from the buffer for hot blocks, and is remembered on the resident list.
    Ghost,
    /// Was not admitted to it, and is remembered on the resident list.
    Shadow,
}

const ROLES: [Role; 4] = [Role::Sup, Role::Lup, Role::Ghost, Role::Shadow];

/// A block, its role, and the time of its last update, by which the resident list is sorted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Record(u64);

impl Record {
    /// No block.
    pub(super) const NONE: Record = Record(u64::MAX);

    #[inline]
    pub(super) fn new(block: Block, role: Role, time: u32) -> Record {
        debug_assert!(block.0 <= BLOCK_MAX && time <= TIME_MAX);
        Record((block.0 << ROLE_BITS | role as u64) << TIME_BITS | u64::from(time))
    }

    #[inline]
    pub(super) fn block(self) -> Block {
        Block(self.0 >> (ROLE_BITS + TIME_BITS))
    }

    #[inline]
    pub(super) fn role(self) -> Role {
        ROLES[(self.0 >> TIME_BITS & 3) as usize]
    }

    #[inline]
    pub(super) fn time(self) -> u32 {
        self.0 as u32 & TIME_MAX
    }

    /// Returns the record of the same block with this role and update time.
    pub(super) fn with(self, role: Role, time: u32) -> Record {
        Record::new(self.block(), role, time)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_keeps_what_it_was_given() {
        for role in ROLES {
            for (block, time) in [(0, TIME_MAX), (BLOCK_MAX, 0), (BLOCK_MAX, TIME_MAX), (7, 9)] {
                let record = Record::new(Block(block), role, time);
                let kept = (record.block(), record.role(), record.time());
                assert_eq!(kept, (Block(block), role, time));
                assert_ne!(record, Record::NONE);
            }
        }
    }
}
