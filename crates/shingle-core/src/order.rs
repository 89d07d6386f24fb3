//! Orders: which slot is coldest. A policy that only orders is an [`Order`] and nothing more.
//! Policies that restrict or combine orders ask them for one slot at a time.

use crate::idle::{Round, SLOTS_EXAMINED};
use crate::params::{Param, Params};
use crate::policy::{Access, Admission, Idle, Memory, Policy, Victims};
use crate::slots::Slots;
use crate::units::{Block, Slot};

/// Orders slots from hot to cold. It has the same duties as a [`Policy`]: no I/O, no clock, no
/// allocation after `new`, every loop bounded.
pub trait Order: Clone + Send + 'static {
    /// Name on the command line.
    const NAME: &'static str;
    /// One line, with the source.
    const ABOUT: &'static str;
    /// [`Policy::IDLE`] of the policy that evicts by this order alone.
    const IDLE: Idle = Idle::Names;
    /// Its parameters.
    const PARAMS: &'static [Param] = &[];

    /// Creates an empty order.
    fn new(params: &Params, slots: &Slots) -> Self;
    /// A miss: `access` is about to be inserted. Called before room is made, so that an order with
    /// ghosts can adapt.
    #[inline]
    fn miss(&mut self, access: &Access, slots: &Slots) {
        let _ = (access, slots);
    }
    /// Inserts `slot` for `access`.
    fn insert(&mut self, slot: Slot, access: &Access, slots: &Slots);
    /// A hit: `slot`, which is in the order, was used by `access`.
    fn touch(&mut self, slot: Slot, access: &Access, slots: &Slots);
    /// Removes `slot`, which is in the order, for a reason outside the order, such as a trim.
    fn remove(&mut self, slot: Slot, slots: &Slots);
    /// Removes and returns the coldest [`Slots::evictable`] slot.
    fn pop(&mut self, slots: &Slots) -> Option<Slot>;
    /// As [`Order::pop`], for victims after the first of an eviction. An order that reserves a part
    /// of the cache for the next victims (such as LIRS) returns `None` beyond that part, so that
    /// the batch size (`cache.batch`) does not decide which blocks stay.
    #[inline]
    fn pop_another(&mut self, slots: &Slots) -> Option<Slot> {
        self.pop(slots)
    }
    /// Puts `slot` back that [`Order::pop`] returned, at the cold end of the part it came from.
    fn restore(&mut self, slot: Slot, slots: &Slots);
    /// Confirms that `slot`, which [`Order::pop`] returned, leaves the cache. The order may keep a
    /// ghost of its block from now on. Before this call the slot may still be restored.
    #[inline]
    fn left(&mut self, slot: Slot, slots: &Slots) {
        let _ = (slot, slots);
    }
    /// Returns the slots from the coldest on, as far as the order knows them without changing.
    fn coldest(&self) -> impl Iterator<Item = Slot> + '_ {
        core::iter::empty()
    }
    /// As [`Policy::prefetch`].
    #[inline]
    fn prefetch(&self, slot: Slot) {
        let _ = slot;
    }
    /// As [`Policy::prefetch_blocks`].
    #[inline]
    fn prefetch_blocks(&self, next: &[Block], soon: &[Block], slots: &Slots) {
        let _ = (next, soon, slots);
    }
    /// As [`Policy::next_victims`].
    #[inline]
    fn next_victims(&self, out: &mut [Slot]) -> usize {
        let _ = out;
        0
    }
    /// As [`Policy::wants_future`].
    fn wants_future(&self) -> bool {
        false
    }
    /// Returns the memory in use.
    fn memory(&self) -> Memory;
    /// Panics if an invariant is broken.
    fn check(&self, slots: &Slots) {
        let _ = slots;
    }
}

/// The policy that evicts by an order alone. In idle time it writes the coldest dirty blocks, so
/// that the next victims are clean. When none of the coldest is dirty, it writes any others.
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
        for slot in self.order.coldest().take(SLOTS_EXAMINED.saturating_mul(want as usize)) {
            if out.len() == want {
                return;
            }
            out.push_dirty([slot]);
        }
        self.round.name(want, out);
    }

    #[inline]
    fn prefetch(&self, slot: Slot) {
        self.order.prefetch(slot);
    }

    #[inline]
    fn prefetch_blocks(&self, next: &[Block], soon: &[Block], slots: &Slots) {
        self.order.prefetch_blocks(next, soon, slots);
    }

    #[inline]
    fn next_victims(&self, out: &mut [Slot]) -> usize {
        self.order.next_victims(out)
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
