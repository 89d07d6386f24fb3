//! Idle time: finding dirty blocks to write while no requests come.
//!
//! A policy names what an eviction would name next, as long as its own order leads to dirty blocks.
//! An order that does not track dirty blocks leads only to clean ones once the coldest have been
//! written. Then the dirty blocks are walked by slot ([`Round`]). So an idle disk gets everything
//! in the end, and nothing is searched.

use crate::policy::Victims;
use crate::slots::Slots;
use crate::units::Slot;

/// Slots examined in the policy's own order, for each block to be written.
pub const SLOTS_EXAMINED: usize = 8;

/// Walks round the dirty blocks, in slot order.
#[derive(Clone, Copy, Debug, Default)]
pub struct Round {
    next: u32,
}

impl Round {
    /// Names the next dirty blocks until `want` have been named.
    pub fn name(&mut self, want: u32, out: &mut Victims) {
        while out.len() < want
            && let Some(slot) = self.next(out.slots())
        {
            out.push(slot);
        }
    }

    /// Returns the next dirty [`Slots::evictable`] slot. Skips only slots with I/O in flight.
    pub fn next(&mut self, slots: &Slots) -> Option<Slot> {
        let (mut at, mut turned) = (self.next, false);
        loop {
            match slots.next_dirty(Slot(at)) {
                Some(slot) if turned && slot.0 >= self.next => return None,
                Some(slot) if slots.evictable(slot) => {
                    self.next = slot.0 + 1;
                    return Some(slot);
                }
                Some(slot) => at = slot.0 + 1,
                None if turned => return None,
                None => (at, turned) = (0, true),
            }
        }
    }
}
