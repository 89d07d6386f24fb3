//! The clean/dirty comparator of SAC (§4.4), for any pair of orders. One [`Side`] keeps the clean
//! blocks and one the dirty blocks. Whenever a group of blocks has left, the costs of the next
//! clean and the next dirty group are compared, and the cheaper group leaves.
//!
//! Equation 2: `Cost(S) = Time(S) / ARS(S)`, the disk time for each block of cache really released.
//! `ARS(S)` is the number of cold blocks of the group; `P(x)` is 1 for hot and 0 for cold blocks.
//! Equation 3: dropping clean blocks costs reading the hot ones back, `L_read` each. Equation 5:
//! writing dirty blocks costs `R(x)` for each zone that holds `x` of them. A group without a cold
//! block counts as releasing one block, as in the authors' prototype, so that no cost is infinite.
//!
//! The paper says nothing of idle time. Here the dirty blocks that would leave next are written,
//! whatever the clean ones would cost, because nothing leaves. A block that turns clean moves to
//! the clean side.

pub mod held;
pub mod recent;

use crate::ahead::PrefetchStep;
use crate::drive_view::Costs;
use crate::param;
use crate::params::{Param, Params};
use crate::parts::{Links, Recency, ZoneIndex};
use crate::policy::{Access, Admission, Idle, Memory, Policy, Victims, Zoning};
use crate::slots::Slots;
use crate::units::{Block, Nanos, Op, Slot};

/// State shared by both sides: one pool of links, as no slot is both clean and dirty, and one
/// clock.
#[derive(Clone, Debug)]
pub struct Shared {
    /// Links of the lists of both sides.
    pub links: Links,
    /// Which slots are cold.
    pub recency: Recency,
}

/// A group of blocks and its price.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Offer {
    /// Disk time that its eviction costs (Equations 3 and 5).
    pub time: Nanos,
    /// Number of cold blocks in it.
    pub cold_blocks: u64,
}

impl Offer {
    /// Returns whether a released block costs less here than in `other`: `time / (cold + 1) <
    /// other.time / (other.cold + 1)`, in integers.
    #[must_use]
    pub fn cheaper_than(&self, other: &Offer) -> bool {
        u128::from(self.time.0) * u128::from(other.cold_blocks + 1)
            < u128::from(other.time.0) * u128::from(self.cold_blocks + 1)
    }
}

/// The order of the clean blocks, or that of the dirty ones.
pub trait Side: Clone + Send + 'static {
    /// As [`crate::order::Order::miss`].
    #[inline]
    fn miss(&mut self, access: &Access, slots: &Slots) {
        let _ = (access, slots);
    }
    /// Inserts `slot`, which is new or comes from the other side; `cold` if it was not used just
    /// now.
    fn insert(
        &mut self,
        slot: Slot,
        cold: bool,
        access: &Access,
        shared: &mut Shared,
        slots: &Slots,
    );
    /// A hit of `slot`; `was_cold` is its state before.
    fn touch(
        &mut self,
        slot: Slot,
        was_cold: bool,
        access: &Access,
        shared: &mut Shared,
        slots: &Slots,
    );
    /// Removes `slot`, which leaves the cache or changes sides.
    fn remove(&mut self, slot: Slot, was_cold: bool, shared: &mut Shared, slots: &Slots);
    /// `slot` has become cold.
    fn turned_cold(&mut self, slot: Slot, shared: &mut Shared, slots: &Slots);
    /// Chooses and prices the next group. `None` if no group may leave now; with `forced` there is
    /// one whenever there is a block.
    fn offer(
        &mut self,
        forced: bool,
        costs: &Costs,
        shared: &mut Shared,
        slots: &Slots,
    ) -> Option<Offer>;
    /// Begins to evict the group offered last.
    fn begin(&mut self, shared: &Shared, slots: &Slots);
    /// Names about `want` blocks of the group. Returns false when the group is finished.
    fn evict(&mut self, want: u32, shared: &mut Shared, out: &mut Victims) -> bool;
    /// As [`Policy::destage`], called on the dirty side. Blocks that the disk has got move to the
    /// other side.
    fn destage(&mut self, want: u32, shared: &mut Shared, out: &mut Victims) {
        let _ = (want, shared, out);
    }
    /// As [`Policy::prefetch`].
    #[inline]
    fn prefetch(&self, slot: Slot) {
        let _ = slot;
    }
    /// As [`Policy::prefetch_insert`].
    #[inline]
    fn prefetch_insert(&self, zone: ZoneIndex, shared: &Shared, step: PrefetchStep) {
        let _ = (zone, shared, step);
    }
    /// As [`Policy::next_victims`], while the group leaves.
    #[inline]
    fn next_victims(&self, shared: &Shared, out: &mut [Slot]) -> usize {
        let _ = (shared, out);
        0
    }
    /// As [`Policy::remark`].
    fn remark(&self, cache_blocks: u32, slots: &Slots) -> Option<String> {
        let _ = (cache_blocks, slots);
        None
    }
    /// As [`Policy::wants_horizon`].
    fn wants_horizon(&self) -> bool {
        false
    }
    /// Returns the memory in use, without links and stamps.
    fn memory(&self) -> Memory;
    /// Panics if an invariant is broken, or the side does not hold exactly its own slots.
    fn check(&self, shared: &Shared, slots: &Slots);
}

/// A policy, defined by its two sides.
pub trait Pair: Clone + Send + 'static {
    /// Name of the policy.
    const NAME: &'static str;
    /// One line, with the source.
    const ABOUT: &'static str;
    /// Parameters, [`ZONE`](crate::policy::ZONE), [`WINDOW`], [`CLEAN_PART`] and [`COST`] among
    /// them.
    const PARAMS: &'static [Param];
    /// As [`Policy::ZONING`]: a kind that has the parameter [`ZONE`](crate::policy::ZONE).
    const ZONING: Zoning = Zoning::Fixed;
    /// As [`Policy::IN_SEQUENCE`].
    const IN_SEQUENCE: bool = false;
    /// The clean blocks.
    type Clean: Side;
    /// The dirty blocks.
    type Dirty: Side;

    /// Creates both sides, empty.
    fn sides(params: &Params, slots: &Slots) -> (Self::Clean, Self::Dirty);
}

/// Parameters of the comparator.
pub const WINDOW: Param = param!("window": Ratio = "0.8",
    "blocks not used within this many cache sizes of accesses are cold (prototype)");

/// See [`WINDOW`].
pub const CLEAN_PART: Param = param!("clean_part": Count = "80",
    "a clean group is one such part of the cache (prototype: 100,000 of 8 M blocks)");

/// See [`WINDOW`].
pub const COST: Param = param!("cost": Choice(&["drive", "paper"]) = "drive",
    "costs to plan with: those of the drive, or R(x) = 0.728 x + 436 ms (SAC §4.4) and L_read = 14 ms \
     (prototype) whatever the drive");

/// Returns the number of blocks in a group, for a cache of this size ([`CLEAN_PART`]).
#[must_use]
pub fn group_blocks(params: &Params, slots: &Slots) -> u64 {
    (u64::from(slots.capacity()) / params.count(CLEAN_PART.name).max(1)).max(1)
}

/// Writes the first of `members` to `out` and returns their number ([`Side::next_victims`]).
#[inline]
pub(crate) fn next_victims(members: impl Iterator<Item = u32>, out: &mut [Slot]) -> usize {
    out.iter_mut().zip(members).map(|(place, member)| *place = Slot(member)).count()
}

/// The policy: two sides, and the comparator.
#[derive(Clone, Debug)]
pub struct Cdc<P: Pair> {
    clean: P::Clean,
    dirty: P::Dirty,
    shared: Shared,
    costs: Costs,
    phase: Phase,
    /// Number of the last request.
    now: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// No group is chosen.
    Open,
    /// The clean group leaves.
    Clean,
    /// The dirty group leaves.
    Dirty,
}

impl<P: Pair> Cdc<P> {
    /// Draws a stamp for `slot` and updates the slot that turns cold by this.
    #[inline]
    fn stamp(&mut self, slot: Slot, slots: &Slots) {
        if let Some(turned) = self.shared.recency.touch(slot) {
            if slots.dirty(turned) {
                self.dirty.turned_cold(turned, &mut self.shared, slots);
            } else {
                self.clean.turned_cold(turned, &mut self.shared, slots);
            }
        }
    }

    /// Decides which side evicts next. `no_clean`, `no_dirty`: that side has no evictable slot.
    fn decide(&mut self, no_clean: bool, no_dirty: bool, slots: &Slots) -> Phase {
        let (costs, shared) = (&self.costs, &mut self.shared);
        let clean = match no_clean {
            false => self.clean.offer(no_dirty, costs, shared, slots),
            true => None,
        };
        let dirty = match no_dirty || slots.dirty_blocks() == 0 {
            false => self.dirty.offer(clean.is_none(), costs, shared, slots),
            true => None,
        };
        match (clean, dirty) {
            (clean, Some(dirty)) if clean.is_none_or(|clean| !clean.cheaper_than(&dirty)) => {
                self.dirty.begin(shared, slots);
                Phase::Dirty
            }
            _ => {
                self.clean.begin(shared, slots);
                Phase::Clean
            }
        }
    }
}

impl<P: Pair> Policy for Cdc<P> {
    const NAME: &'static str = P::NAME;
    const ABOUT: &'static str = P::ABOUT;
    const ZONING: Zoning = P::ZONING;
    const IN_SEQUENCE: bool = P::IN_SEQUENCE;
    const IDLE: Idle = Idle::Names;
    const PARAMS: &'static [Param] = P::PARAMS;

    fn new(params: &Params, slots: &Slots) -> Self {
        let capacity = slots.capacity();
        let window = params.part_of(WINDOW.name, capacity);
        let (clean, dirty) = P::sides(params, slots);
        Cdc {
            clean,
            dirty,
            shared: Shared {
                links: Links::new(capacity as usize),
                recency: Recency::new(capacity, window),
            },
            costs: match params.choice(COST.name) {
                "paper" => Costs::PAPER,
                _ => slots.drive().costs,
            },
            phase: Phase::Open,
            now: 0,
        }
    }

    #[inline]
    fn admit(&mut self, access: &Access, slots: &Slots) -> Admission {
        match access.op {
            Op::Write => self.dirty.miss(access, slots),
            _ => self.clean.miss(access, slots),
        }
        Admission::Fill
    }

    #[inline]
    fn on_hit(&mut self, slot: Slot, access: &Access, slots: &Slots) {
        self.now = access.number;
        let was_cold = self.shared.recency.cold(slot);
        if !slots.dirty(slot) {
            self.clean.touch(slot, was_cold, access, &mut self.shared, slots);
        } else if access.was_dirty {
            self.dirty.touch(slot, was_cold, access, &mut self.shared, slots);
        } else {
            self.dirty.insert(slot, false, access, &mut self.shared, slots);
        }
        self.stamp(slot, slots);
    }

    #[inline]
    fn on_insert(&mut self, slot: Slot, access: &Access, slots: &Slots) {
        self.now = access.number;
        self.stamp(slot, slots);
        if slots.dirty(slot) {
            self.dirty.insert(slot, false, access, &mut self.shared, slots);
        } else {
            self.clean.insert(slot, false, access, &mut self.shared, slots);
        }
    }

    fn on_remove(&mut self, slot: Slot, slots: &Slots) {
        let was_cold = self.shared.recency.cold(slot);
        if slots.dirty(slot) {
            self.dirty.remove(slot, was_cold, &mut self.shared, slots);
        } else {
            self.clean.remove(slot, was_cold, &mut self.shared, slots);
        }
        self.shared.recency.forget(slot);
    }

    /// The slot enters the dirty side with the hit that follows.
    fn on_dirty(&mut self, slot: Slot, slots: &Slots) {
        let was_cold = self.shared.recency.cold(slot);
        self.clean.remove(slot, was_cold, &mut self.shared, slots);
    }

    fn on_clean(&mut self, slot: Slot, slots: &Slots) {
        let cold = self.shared.recency.cold(slot);
        self.dirty.remove(slot, cold, &mut self.shared, slots);
        let access = Access::whole(self.now, slots.block(slot), Op::Write);
        self.clean.insert(slot, cold, &access, &mut self.shared, slots);
    }

    fn evict(&mut self, _: Option<&Access>, want: u32, out: &mut Victims) {
        let (mut no_clean, mut no_dirty, mut fresh) =
            (out.slots().clean_blocks() == 0, false, false);
        // Each turn names victims, ends a phase that has nothing to name, or decides. A side is
        // asked again only if its phase had begun before, so six turns are enough.
        for _ in 0..6 {
            match self.phase {
                Phase::Open if no_clean && no_dirty => return,
                Phase::Open => {
                    self.phase = self.decide(no_clean, no_dirty, out.slots());
                    fresh = true;
                }
                Phase::Clean => {
                    if !self.clean.evict(want, &mut self.shared, out) {
                        self.phase = Phase::Open;
                    }
                    no_clean = fresh && out.is_empty();
                }
                Phase::Dirty => {
                    if !self.dirty.evict(want, &mut self.shared, out) {
                        self.phase = Phase::Open;
                    }
                    no_dirty = fresh && out.is_empty();
                }
            }
            if !out.is_empty() {
                return;
            }
        }
    }

    fn destage(&mut self, want: u32, out: &mut Victims) {
        self.dirty.destage(want, &mut self.shared, out);
    }

    #[inline]
    fn prefetch(&self, slot: Slot) {
        self.shared.links.prefetch_neighbours(slot.0);
        self.shared.recency.prefetch(slot);
        self.clean.prefetch(slot);
        self.dirty.prefetch(slot);
    }

    #[inline]
    fn prefetch_blocks(&self, next: &[Block], soon: &[Block], slots: &Slots) {
        self.shared.recency.prefetch_turning_cold(next.len(), soon.len());
        slots.prefetch_records(self.shared.recency.turning_cold(next.len()));
    }

    #[inline]
    fn prefetch_insert(&self, zone: ZoneIndex, dirty: bool, step: PrefetchStep) {
        match dirty {
            true => self.dirty.prefetch_insert(zone, &self.shared, step),
            false => self.clean.prefetch_insert(zone, &self.shared, step),
        }
    }

    #[inline]
    fn next_victims(&self, out: &mut [Slot]) -> usize {
        match self.phase {
            Phase::Open => 0,
            Phase::Clean => self.clean.next_victims(&self.shared, out),
            Phase::Dirty => self.dirty.next_victims(&self.shared, out),
        }
    }

    fn remark(&self, cache_blocks: u32, slots: &Slots) -> Option<String> {
        self.dirty.remark(cache_blocks, slots)
    }

    fn wants_horizon(&self) -> bool {
        self.dirty.wants_horizon()
    }

    fn memory(&self) -> Memory {
        let by_slots = self.shared.recency.bytes() + self.shared.links.bytes();
        self.clean.memory() + self.dirty.memory() + Memory { by_slots, by_zones: 0 }
    }

    fn check(&self, slots: &Slots) {
        self.clean.check(&self.shared, slots);
        self.dirty.check(&self.shared, slots);
    }
}
