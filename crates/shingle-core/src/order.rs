//! Orders: who is coldest. A policy that only orders is an [`Order`] and nothing more; policies
//! that restrict or combine orders ask them one slot at a time.

use crate::params::{Param, Params};
use crate::policy::{Access, Admission, Memory, Policy, Victims};
use crate::slots::Slots;
use crate::units::Slot;

/// Orders slots from hot to cold. Same duties as a [`Policy`]: no I/O, no clock, no allocation
/// after `new`, every loop bounded.
pub trait Order: Clone + Send + 'static {
    /// Name on the command line.
    const NAME: &'static str;
    /// One line, with the source.
    const ABOUT: &'static str;
    /// Its parameters.
    const PARAMS: &'static [Param] = &[];

    /// An empty order.
    fn new(params: &Params, slots: &Slots) -> Self;
    /// `access` missed and is about to come in. Asked before room is made, so that an order that
    /// remembers who left (ghosts) can adapt.
    #[inline]
    fn miss(&mut self, access: &Access, slots: &Slots) {
        let _ = (access, slots);
    }
    /// `slot` comes in, brought by `access`.
    fn insert(&mut self, slot: Slot, access: &Access, slots: &Slots);
    /// `slot`, which is in the order, was used by `access`.
    fn touch(&mut self, slot: Slot, access: &Access, slots: &Slots);
    /// `slot`, which is in the order, goes for a reason of its own.
    fn remove(&mut self, slot: Slot, slots: &Slots);
    /// Names the coldest [`Slots::evictable`] slot and forgets it.
    fn pop(&mut self, slots: &Slots) -> Option<Slot>;
    /// Takes `slot` back, which [`Order::pop`] named, as the coldest of the place it came from.
    fn restore(&mut self, slot: Slot, slots: &Slots);
    /// `slot`, which [`Order::pop`] named, really leaves the cache: from now on it may be
    /// remembered by its block. Until then it may still be restored.
    #[inline]
    fn left(&mut self, slot: Slot, slots: &Slots) {
        let _ = (slot, slots);
    }
    /// The slots from the coldest on, as far as that is known without changing anything.
    fn coldest(&self) -> impl Iterator<Item = Slot> + '_ {
        core::iter::empty()
    }
    /// As [`Policy::expect`].
    #[inline]
    fn expect(&self, slot: Slot) {
        let _ = slot;
    }
    /// As [`Policy::wants_future`].
    fn wants_future(&self) -> bool {
        false
    }
    /// Memory taken.
    fn memory(&self) -> Memory;
    /// Panics if an invariant is broken.
    fn check(&self, slots: &Slots) {
        let _ = slots;
    }
}

/// For each block to be written in idle time, so many are looked at, from the coldest on.
pub(crate) const LOOKED_AT: usize = 8;

/// The policy that evicts by an order alone. In idle time it has the coldest dirty blocks written, so
/// that those who leave next are clean.
#[derive(Clone, Debug)]
pub struct Plain<O>(O);

impl<O: Order> Policy for Plain<O> {
    const NAME: &'static str = O::NAME;
    const ABOUT: &'static str = O::ABOUT;
    const PARAMS: &'static [Param] = O::PARAMS;

    fn new(params: &Params, slots: &Slots) -> Self {
        Plain(O::new(params, slots))
    }

    #[inline]
    fn admit(&mut self, access: &Access, slots: &Slots) -> Admission {
        self.0.miss(access, slots);
        Admission::Fill
    }

    #[inline]
    fn on_hit(&mut self, slot: Slot, access: &Access, slots: &Slots) {
        self.0.touch(slot, access, slots);
    }

    #[inline]
    fn on_insert(&mut self, slot: Slot, access: &Access, slots: &Slots) {
        self.0.insert(slot, access, slots);
    }

    fn on_remove(&mut self, slot: Slot, slots: &Slots) {
        self.0.remove(slot, slots);
    }

    #[inline]
    fn evict(&mut self, _: Option<&Access>, want: u32, out: &mut Victims) {
        for _ in 0..want {
            let Some(slot) = self.0.pop(out.slots()) else { return };
            self.0.left(slot, out.slots());
            out.push(slot);
        }
    }

    fn destage(&mut self, want: u32, out: &mut Victims) {
        for slot in self.0.coldest().take(want as usize * LOOKED_AT) {
            if out.len() == want {
                return;
            }
            if out.slots().evictable(slot) && out.slots().dirty(slot) {
                out.push(slot);
            }
        }
    }

    #[inline]
    fn expect(&self, slot: Slot) {
        self.0.expect(slot);
    }

    fn wants_future(&self) -> bool {
        self.0.wants_future()
    }

    fn memory(&self) -> Memory {
        self.0.memory()
    }

    fn check(&self, slots: &Slots) {
        self.0.check(slots);
    }
}
