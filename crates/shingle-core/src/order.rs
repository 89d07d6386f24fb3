//! Orders: who is coldest. A policy that only orders is an [`Order`] and nothing more; policies
//! that restrict or combine orders ask them one slot at a time.

use crate::idle::{LOOKED_AT, Round};
use crate::params::{Param, Params};
use crate::policy::{Access, Admission, Idle, Memory, Policy, Victims};
use crate::slots::Slots;
use crate::units::{Block, Slot};

/// Orders slots from hot to cold. Same duties as a [`Policy`]: no I/O, no clock, no allocation
/// after `new`, every loop bounded.
pub trait Order: Clone + Send + 'static {
    /// Name on the command line.
    const NAME: &'static str;
    /// One line, with the source.
    const ABOUT: &'static str;
    /// As [`Policy::IDLE`], of the policy that evicts by this order alone.
    const IDLE: Idle = Idle::Names;
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
    /// As [`Order::pop`], for a victim beyond the first of an eviction. An order that sets a part of the
    /// cache apart for those who leave next names nobody beyond it: what is asked for at a time
    /// (`cache.batch`) must not decide who stays.
    #[inline]
    fn pop_another(&mut self, slots: &Slots) -> Option<Slot> {
        self.pop(slots)
    }
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
    /// As [`Policy::expect_blocks`].
    #[inline]
    fn expect_blocks(&self, next: &[Block], soon: &[Block], slots: &Slots) {
        let _ = (next, soon, slots);
    }
    /// As [`Policy::coming`].
    #[inline]
    fn coming(&self, out: &mut [Slot]) -> usize {
        let _ = out;
        0
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

/// The policy that evicts by an order alone. In idle time it has the coldest dirty blocks written, so
/// that those who leave next are clean; once there are none among the coldest, any others.
#[derive(Clone, Debug)]
pub struct Plain<O> {
    order: O,
    round: Round,
}

impl<O: Order> Policy for Plain<O> {
    const NAME: &'static str = O::NAME;
    const ABOUT: &'static str = O::ABOUT;
    const IDLE: Idle = O::IDLE;
    const PARAMS: &'static [Param] = O::PARAMS;

    fn new(params: &Params, slots: &Slots) -> Self {
        Plain { order: O::new(params, slots), round: Round::default() }
    }

    #[inline]
    fn admit(&mut self, access: &Access, slots: &Slots) -> Admission {
        self.order.miss(access, slots);
        Admission::Fill
    }

    #[inline]
    fn on_hit(&mut self, slot: Slot, access: &Access, slots: &Slots) {
        self.order.touch(slot, access, slots);
    }

    #[inline]
    fn on_insert(&mut self, slot: Slot, access: &Access, slots: &Slots) {
        self.order.insert(slot, access, slots);
    }

    fn on_remove(&mut self, slot: Slot, slots: &Slots) {
        self.order.remove(slot, slots);
    }

    #[inline]
    fn evict(&mut self, _: Option<&Access>, want: u32, out: &mut Victims) {
        for _ in 0..want {
            let slots = out.slots();
            let slot =
                if out.is_empty() { self.order.pop(slots) } else { self.order.pop_another(slots) };
            let Some(slot) = slot else { return };
            self.order.left(slot, out.slots());
            out.push(slot);
        }
    }

    fn destage(&mut self, want: u32, out: &mut Victims) {
        if O::IDLE != Idle::Names {
            return;
        }
        for slot in self.order.coldest().take(LOOKED_AT.saturating_mul(want as usize)) {
            if out.len() == want {
                return;
            }
            out.push_dirty([slot]);
        }
        self.round.name(want, out);
    }

    #[inline]
    fn expect(&self, slot: Slot) {
        self.order.expect(slot);
    }

    #[inline]
    fn expect_blocks(&self, next: &[Block], soon: &[Block], slots: &Slots) {
        self.order.expect_blocks(next, soon, slots);
    }

    #[inline]
    fn coming(&self, out: &mut [Slot]) -> usize {
        self.order.coming(out)
    }

    fn wants_future(&self) -> bool {
        self.order.wants_future()
    }

    fn memory(&self) -> Memory {
        self.order.memory()
    }

    fn check(&self, slots: &Slots) {
        self.order.check(slots);
    }
}
