//! Idle time: what a policy names when nobody asks for anything, and the parts to find it with.
//!
//! A policy names what an eviction would name next, as long as its own order leads there. An order that
//! knows nothing of dirty blocks leads to clean ones only, once those in front have been written: then
//! the dirty blocks are gone through by slot ([`Round`]), so that an idle disk gets everything in the
//! end and nothing is ever searched.

use crate::policy::Victims;
use crate::slots::Slots;
use crate::units::Slot;

/// For each block to be written, so many are looked at in the policy's own order.
pub const LOOKED_AT: usize = 8;

/// Goes round the dirty blocks, slot by slot.
#[derive(Clone, Copy, Debug, Default)]
pub struct Round {
    next: u32,
}

impl Round {
    /// Names the next ones until `want` have been named.
    pub fn name(&mut self, want: u32, out: &mut Victims) {
        while out.len() < want
            && let Some(slot) = self.next(out.slots())
        {
            out.push(slot);
        }
    }

    /// The next dirty [`Slots::evictable`] slot. Passes over those alone on which I/O is under way.
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
