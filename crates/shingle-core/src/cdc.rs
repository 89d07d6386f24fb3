//! The clean/dirty comparator of SAC (§4.4), for any order of dirty blocks: clean blocks are kept
//! in LRU order, dirty blocks by a [`DirtySide`]; whenever a group of blocks has left, the costs of
//! the next clean and the next dirty group are compared, and the cheaper one goes.
//!
//! Equation 2: `Cost(S) = Time(S) / ARS(S)`, the disk time for each block of cache really released;
//! `ARS(S)` is the number of cold blocks of the group, `P(x)` being 1 for hot and 0 for cold blocks.
//! Equation 3: dropping clean blocks costs reading the hot ones back, `L_read` each. Equation 5:
//! writing dirty blocks costs `R(x)` for each zone that holds `x` of them. A group without a cold
//! block releases one block, as in the authors' prototype, so that no cost is infinite.

use crate::list::{Links, List};
use crate::params::{Kind, Param, Params};
use crate::policy::{Access, Memory, Policy, Victims, Zoning};
use crate::recency::Recency;
use crate::slots::Slots;
use crate::units::{Nanos, Slot};

/// What both sides use: one pool of links, as no slot is clean and dirty, and one clock.
#[derive(Clone, Debug)]
pub struct Shared {
    /// Links of the lists of both sides.
    pub links: Links,
    /// Who is cold.
    pub recency: Recency,
}

/// A group of dirty blocks and its price.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Offer {
    /// Time to write the group (Equation 5).
    pub time: Nanos,
    /// Cold blocks in it.
    pub cold_blocks: u64,
}

/// The order of the dirty blocks.
pub trait DirtySide: Clone + Send + 'static {
    /// Name of the policy.
    const NAME: &'static str;
    /// One line, with the source.
    const ABOUT: &'static str;
    /// The division of the disk it works with.
    const ZONING: Zoning;
    /// Parameters, [`CDC_WINDOW`] and [`CDC_CLEAN_PART`] among them.
    const PARAMS: &'static [Param];

    /// An empty side.
    fn new(params: &Params, slots: &Slots) -> Self;
    /// `slot` comes in.
    fn insert(&mut self, slot: Slot, cold: bool, shared: &mut Shared, slots: &Slots);
    /// `slot` was used; `was_cold` tells what it was before.
    fn touch(&mut self, slot: Slot, was_cold: bool, shared: &mut Shared, slots: &Slots);
    /// `slot` goes or turns clean.
    fn remove(&mut self, slot: Slot, was_cold: bool, shared: &mut Shared, slots: &Slots);
    /// `slot` has become cold.
    fn turned_cold(&mut self, slot: Slot, slots: &Slots);
    /// Chooses and prices the next group. `None` if no group may go now; with `forced` there is one
    /// whenever there is a dirty block.
    fn offer(&mut self, forced: bool, slots: &Slots) -> Option<Offer>;
    /// The group offered last begins to leave.
    fn begin(&mut self, shared: &Shared, slots: &Slots);
    /// Names about `want` blocks of the group. False when the group is finished.
    fn evict(&mut self, want: u32, shared: &mut Shared, out: &mut Victims) -> bool;
    /// As [`Policy::wants_horizon`].
    fn wants_horizon(&self) -> bool {
        false
    }
    /// Memory taken, links and stamps apart.
    fn memory(&self) -> Memory;
    /// Panics if an invariant is broken.
    fn check(&self, shared: &Shared, slots: &Slots);
}

/// Parameters of the comparator.
pub const CDC_WINDOW: Param = Param {
    name: "window",
    kind: Kind::Ratio,
    default: "0.8",
    about: "blocks not used within this many cache sizes of accesses are cold (prototype)",
};

/// See [`CDC_WINDOW`].
pub const CDC_CLEAN_PART: Param = Param {
    name: "clean_part",
    kind: Kind::Count,
    default: "80",
    about: "a clean group is one such part of the cache (prototype: 100,000 of 8 M blocks)",
};

/// A policy made of clean blocks in LRU order, dirty blocks by `D`, and the comparator.
#[derive(Clone, Debug)]
pub struct Cdc<D> {
    dirty: D,
    clean: List,
    clean_cold: u64,
    shared: Shared,
    phase: Phase,
    clean_group: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Nothing decided.
    Open,
    /// Clean blocks leave; so many have left.
    Clean { left: u64 },
    /// The dirty group leaves.
    Dirty,
}

impl<D: DirtySide> Cdc<D> {
    /// Draws a stamp for `slot` and accounts for the slot that turns cold by that.
    #[inline]
    fn stamp(&mut self, slot: Slot, slots: &Slots) {
        if let Some(turned) = self.shared.recency.touch(slot) {
            if slots.dirty(turned) {
                self.dirty.turned_cold(turned, slots);
            } else {
                self.clean_cold += 1;
            }
        }
    }

    fn remove_clean(&mut self, slot: Slot) {
        self.clean_cold -= u64::from(self.shared.recency.cold(slot));
        self.clean.unlink(&mut self.shared.links, slot.0);
    }

    /// Names up to `want` clean blocks from the cold end.
    fn evict_clean(&mut self, want: u32, out: &mut Victims) -> u32 {
        let (mut next, mut named) = (self.clean.tail(), 0);
        while let Some(slot) = next.map(Slot) {
            if named == want {
                break;
            }
            next = self.shared.links.towards_head(slot.0);
            if out.slots().evictable(slot) {
                self.remove_clean(slot);
                self.shared.recency.forget(slot);
                out.push(slot);
                named += 1;
            }
        }
        named
    }

    /// Decides who goes next. `no_clean`, `no_dirty`: that side has nothing that may be named.
    fn decide(&mut self, no_clean: bool, no_dirty: bool, slots: &Slots) -> Phase {
        let has_clean = !self.clean.is_empty() && !no_clean;
        if no_dirty || slots.dirty_blocks() == 0 {
            return Phase::Clean { left: 0 };
        }
        let dirty = self.dirty.offer(!has_clean, slots);
        let clean_wins = has_clean
            && dirty.is_none_or(|dirty| {
                let blocks = u64::from(self.clean.len()).min(self.clean_group);
                // The list is in order of use, so its cold blocks are those at the tail.
                let cold = self.clean_cold.min(blocks);
                let clean_time = (blocks - cold) * slots.drive().costs.read.0;
                // clean_time / (cold + 1) < dirty.time / (dirty.cold + 1), in whole numbers
                u128::from(clean_time) * u128::from(dirty.cold_blocks + 1)
                    < u128::from(dirty.time.0) * u128::from(cold + 1)
            });
        if clean_wins {
            Phase::Clean { left: 0 }
        } else {
            self.dirty.begin(&self.shared, slots);
            Phase::Dirty
        }
    }
}

impl<D: DirtySide> Policy for Cdc<D> {
    const NAME: &'static str = D::NAME;
    const ABOUT: &'static str = D::ABOUT;
    const ZONING: Zoning = D::ZONING;
    const PARAMS: &'static [Param] = D::PARAMS;

    fn new(params: &Params, slots: &Slots) -> Self {
        let capacity = slots.capacity();
        let window = u64::from(capacity) * params.thousandths(CDC_WINDOW.name) / 1000;
        let part = params.count(CDC_CLEAN_PART.name).max(1);
        Cdc {
            dirty: D::new(params, slots),
            clean: List::default(),
            clean_cold: 0,
            shared: Shared {
                links: Links::new(capacity as usize),
                recency: Recency::new(capacity, window),
            },
            phase: Phase::Open,
            clean_group: (u64::from(capacity) / part).max(1),
        }
    }

    #[inline]
    fn on_hit(&mut self, slot: Slot, _: &Access, slots: &Slots) {
        let was_cold = self.shared.recency.cold(slot);
        if slots.dirty(slot) {
            self.dirty.touch(slot, was_cold, &mut self.shared, slots);
        } else {
            self.clean_cold -= u64::from(was_cold);
            self.clean.to_head(&mut self.shared.links, slot.0);
        }
        self.stamp(slot, slots);
    }

    #[inline]
    fn on_insert(&mut self, slot: Slot, _: &Access, slots: &Slots) {
        self.stamp(slot, slots);
        if slots.dirty(slot) {
            self.dirty.insert(slot, false, &mut self.shared, slots);
        } else {
            self.clean.push_head(&mut self.shared.links, slot.0);
        }
    }

    fn on_remove(&mut self, slot: Slot, slots: &Slots) {
        if slots.dirty(slot) {
            let was_cold = self.shared.recency.cold(slot);
            self.dirty.remove(slot, was_cold, &mut self.shared, slots);
        } else {
            self.remove_clean(slot);
        }
        self.shared.recency.forget(slot);
    }

    fn on_dirty(&mut self, slot: Slot, slots: &Slots) {
        self.remove_clean(slot);
        // Still as cold as it was: the hit that follows makes it hot.
        let cold = self.shared.recency.cold(slot);
        self.dirty.insert(slot, cold, &mut self.shared, slots);
    }

    fn on_clean(&mut self, slot: Slot, slots: &Slots) {
        let was_cold = self.shared.recency.cold(slot);
        self.dirty.remove(slot, was_cold, &mut self.shared, slots);
        self.clean_cold += u64::from(was_cold);
        self.clean.push_head(&mut self.shared.links, slot.0);
    }

    fn evict(&mut self, _: Option<&Access>, want: u32, out: &mut Victims) {
        let (mut no_clean, mut no_dirty, mut fresh) = (self.clean.is_empty(), false, false);
        // Each turn names victims, ends a phase that has nothing to give, or decides; a side is
        // asked again only if its phase had begun before, so six turns are enough.
        for _ in 0..6 {
            match self.phase {
                Phase::Open if no_clean && no_dirty => return,
                Phase::Open => {
                    self.phase = self.decide(no_clean, no_dirty, out.slots());
                    fresh = true;
                }
                Phase::Clean { left } => {
                    let named = self.evict_clean(want, out);
                    let left = left + u64::from(named);
                    let over = self.clean.is_empty() || left >= self.clean_group || named == 0;
                    self.phase = if over { Phase::Open } else { Phase::Clean { left } };
                    no_clean = named == 0;
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

    #[inline]
    fn expect(&self, slot: Slot) {
        self.shared.links.expect(slot.0);
        self.shared.recency.expect(slot);
    }

    fn wants_horizon(&self) -> bool {
        self.dirty.wants_horizon()
    }

    fn memory(&self) -> Memory {
        let by_slots = self.shared.recency.bytes() + self.shared.links.bytes();
        self.dirty.memory() + Memory { by_slots, by_zones: 0 }
    }

    fn check(&self, slots: &Slots) {
        self.clean.check(&self.shared.links);
        let mut cold = 0;
        for slot in self.clean.from_tail(&self.shared.links).map(Slot) {
            assert!(!slots.dirty(slot), "a dirty slot among the clean ones");
            cold += u64::from(self.shared.recency.cold(slot));
        }
        assert_eq!(cold, self.clean_cold, "cold clean blocks were miscounted");
        self.dirty.check(&self.shared, slots);
    }
}
