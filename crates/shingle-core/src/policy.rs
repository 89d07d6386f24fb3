//! The interface of cache policies: a policy orders the blocks and names the victims.
//!
//! One of the shortest policies: a hand goes round the slots, and the next slot leaves.
//!
//! ```
//! use shingle_core::params::Params;
//! use shingle_core::policy::{Access, Memory, Policy, Victims};
//! use shingle_core::registry::Registry;
//! use shingle_core::slots::Slots;
//! use shingle_core::units::Slot;
//!
//! #[derive(Clone)]
//! struct Hand(u32);
//!
//! impl Policy for Hand {
//!     const NAME: &'static str = "hand";
//!     const ABOUT: &'static str = "the next slot, used or not";
//!
//!     fn new(_: &Params, _: &Slots) -> Hand {
//!         Hand(0)
//!     }
//!
//!     fn on_hit(&mut self, _: Slot, _: &Access, _: &Slots) {}
//!     fn on_insert(&mut self, _: Slot, _: &Access, _: &Slots) {}
//!     fn on_remove(&mut self, _: Slot, _: &Slots) {}
//!
//!     fn evict(&mut self, _: Option<&Access>, want: u32, out: &mut Victims) {
//!         let capacity = out.slots().capacity();
//!         // One round at most: slots with I/O in flight are skipped.
//!         for _ in 0..capacity {
//!             if out.len() == want {
//!                 return;
//!             }
//!             let slot = Slot(self.0);
//!             self.0 = (self.0 + 1) % capacity;
//!             if out.slots().evictable(slot) {
//!                 out.push(slot);
//!             }
//!         }
//!     }
//!
//!     fn memory(&self) -> Memory {
//!         Memory::default()
//!     }
//! }
//!
//! // Everything that takes a registry finds the policy by its name.
//! let mut registry = Registry::default();
//! registry.add::<Hand>();
//! assert_eq!(registry.get("hand").expect("it is there").about, "the next slot, used or not");
//! ```
//!
//! The crate `shingle-testkit` tests the whole contract of a policy with one line.

use crate::ahead::{PREFETCH_MAX, PrefetchStep};
use crate::contract::broken;
use crate::params::{Param, Params};
use crate::parts::{Links, ZoneIndex};
use crate::plan::{DestageMethod, Plan};
use crate::slots::Slots;
use crate::units::{Block, Nanos, Op, Request, Slot, Zone};

/// One block of a request.
#[derive(Clone, Copy, Debug)]
pub struct Access {
    /// The request the block belongs to: its arrival, extent and operation.
    pub request: Request,
    /// Number of the request since the start of the run.
    pub number: u64,
    /// Index of the block within its request, from 0.
    pub place: u32,
    /// The block.
    pub block: Block,
    /// [`Op::Read`] or [`Op::Write`].
    pub op: Op,
    /// Whether the request covers the block only in part.
    pub partial: bool,
    /// Whether the block was cached and dirty before. Set by the cache.
    pub was_dirty: bool,
    /// Number of the access that uses this block next, counted from 0 over the run.
    /// [`Access::NEVER`] if there is none or it is not known. Only a simulator can know it, and
    /// sets it only for policies that ask ([`Policy::wants_future`]).
    pub next_use: u64,
}

impl Access {
    /// [`Access::next_use`] of a block that is not used again.
    pub const NEVER: u64 = u64::MAX;

    /// Returns an access to one whole block, by a request of its own.
    #[must_use]
    pub fn whole(number: u64, block: Block, op: Op) -> Access {
        let bytes = crate::units::BLOCK_BYTES;
        let request = Request { at: Nanos::ZERO, offset: block.bytes(), bytes, op };
        Access {
            request,
            number,
            place: 0,
            block,
            op,
            partial: false,
            was_dirty: false,
            next_use: Access::NEVER,
        }
    }
}

/// Whether a block that is not cached enters the cache.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Admission {
    /// The block gets a slot: a read fills it from the disk, a write goes to the cache only.
    Fill,
    /// The disk serves the block; the cache does not change.
    Bypass,
}

/// Collects the victims that a policy names. Without [`Victims::end_group`] all victims are one
/// group, written by address.
#[derive(Debug)]
pub struct Victims<'a> {
    slots: &'a mut Slots,
    plan: &'a mut Plan,
    /// Name of the policy, for messages.
    policy: &'static str,
    /// Number of victims named so far.
    named: u32,
    stay: bool,
    /// Index in the plan at which the current group begins.
    group: usize,
}

impl<'a> Victims<'a> {
    /// Collects victims into `plan`. With `stay`, they are written and stay in the cache.
    #[inline]
    pub(crate) fn new(
        policy: &'static str,
        slots: &'a mut Slots,
        plan: &'a mut Plan,
        stay: bool,
    ) -> Victims<'a> {
        let group = plan.destages().len();
        Victims { slots, plan, policy, named: 0, stay, group }
    }

    /// Returns the slots in their current state.
    #[must_use]
    #[inline]
    pub fn slots(&self) -> &Slots {
        self.slots
    }

    /// Names `slot` as a victim. The policy has removed it from its order before. A clean block is
    /// dropped by this call; a dirty one begins to leave. Afterwards the slot's state tells nothing
    /// about the block that it held.
    ///
    /// # Panics
    /// If the slot is not [`Slots::evictable`], or is clean while this is idle time. The message
    /// names the policy and the rule.
    #[inline]
    pub fn push(&mut self, slot: Slot) {
        if let Some(why) = self.slots.refusal(slot, self.stay) {
            let method = if self.stay { "destage" } else { "evict" };
            broken(self.policy, method, format_args!("it named slot {}, {why}", slot.0));
        }
        self.named += 1;
        if self.stay {
            self.plan.write(slot, self.slots);
        } else {
            self.plan.leave(slot, self.slots);
        }
    }

    /// Names the dirty `slot` to be written with its group and to stay: the policy keeps it in its
    /// order. When the disk has the data, the slot turns clean ([`Policy::on_clean`]). In idle time
    /// [`Victims::push`] does the same.
    ///
    /// # Panics
    /// If the slot is not [`Slots::evictable`], or is clean.
    #[inline]
    pub fn keep(&mut self, slot: Slot) {
        if let Some(why) = self.slots.refusal(slot, true) {
            broken(self.policy, "evict", format_args!("it kept slot {}, {why}", slot.0));
        }
        self.named += 1;
        self.plan.write(slot, self.slots);
    }

    /// Prefetches what evicting the next members of a list reads, a batch at a time. `named` of
    /// `most` members have been named; `next` is the next one.
    #[inline]
    pub(crate) fn prefetch(&self, named: u32, most: u32, next: Slot, links: &Links) {
        if named.is_multiple_of(PREFETCH_MAX as u32) && most - named > 1 {
            let members =
                core::iter::successors(Some(next.0), |&member| links.towards_head(member));
            self.slots.prefetch_heads_of(members.map(Slot).take((most - named) as usize));
        }
    }

    /// Returns whether this is idle time: all that is named is written and stays.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.stay
    }

    /// Names those of `slots` that are dirty and [`Slots::evictable`]. For idle time, in which all
    /// others stay unchanged.
    #[inline]
    pub fn push_dirty(&mut self, slots: impl IntoIterator<Item = Slot>) {
        for slot in slots {
            if self.slots.evictable(slot) && self.slots.dirty(slot) {
                self.push(slot);
            }
        }
    }

    /// Ends a group: the dirty victims named since the last call are written in `manner`.
    pub fn end_group(&mut self, manner: DestageMethod) {
        self.plan.end_group(self.group, manner);
        self.group = self.plan.destages().len();
    }

    /// Returns the number of victims named so far.
    #[must_use]
    #[inline]
    pub fn len(&self) -> u32 {
        self.named
    }

    /// Returns whether no victim has been named.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.named == 0
    }
}

/// Measured cost of an I/O on the disk.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Cost {
    /// [`Op::Read`] for a miss, [`Op::Write`] for a destage.
    pub op: Op,
    /// Number of blocks of the I/O.
    pub blocks: u64,
    /// Time from when the disk started the I/O to its completion.
    pub took: Nanos,
}

/// Memory use, in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Memory {
    /// Part that grows with the slots of the cache.
    pub by_slots: usize,
    /// Part that grows with the zones of the disk that the cache has met.
    pub by_zones: usize,
}

impl core::ops::Add for Memory {
    type Output = Memory;
    fn add(self, other: Memory) -> Memory {
        Memory {
            by_slots: self.by_slots + other.by_slots,
            by_zones: self.by_zones + other.by_zones,
        }
    }
}

/// How a policy divides the disk.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Zoning {
    /// It uses no zones.
    None,
    /// Zones of a fixed size, set by the parameter `zone` ([`ZONE`]), or, at the value `bands`, as
    /// [`Zoning::Bands`].
    Fixed,
    /// The true bands of the drive. A host cannot know them unless the drive exposes them as zones,
    /// so tables mark such a policy.
    Bands,
    /// The zones that the drive exposes, with their write pointers.
    Exposed,
    /// [`Zoning::Exposed`] over a drive that exposes zones, [`Zoning::Fixed`] over any other.
    ExposedOrFixed,
}

/// The zone size, a parameter of every policy that works with fixed zones.
pub const ZONE: Param = Param {
    name: "zone",
    kind: crate::params::Kind::Zones,
    default: "5000b",
    about: "size of the fixed zones that stand for bands (SAC §5.2: 20 MB), or bands: the true \
            ones, which no host knows",
};

/// The zone size over a disk that is written as a log, of a policy that has other zones there.
pub const LOG_ZONE: Param = Param {
    name: "log_zone",
    kind: crate::params::Kind::Blocks,
    default: "64b",
    about: "size of the zones over a disk that is written as a log, where no band is rewritten for them",
};

/// What a policy does with idle time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Idle {
    /// [`Policy::destage`] names dirty blocks as long as there are any.
    Names,
    /// It names nothing, for the given reason.
    Never(&'static str),
}

impl core::fmt::Display for Idle {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Idle::Names => {
                write!(f, "the dirty blocks that would leave next are written, and stay")
            }
            Idle::Never(why) => write!(f, "nothing is written: {why}"),
        }
    }
}

/// Orders the blocks of a cache and names the victims. A policy owns its order and its ghosts,
/// nothing else. Which slot holds which block, clean or dirty, is the cache's business, so no
/// policy can lose data.
///
/// The caller guarantees that each slot it passes is in the state it says, that a slot passed to
/// [`Policy::on_insert`] is not in the policy's order, and that a slot named in [`Policy::evict`]
/// is not passed again until it is inserted again.
///
/// An implementer must not block, fail, read a clock or do I/O. It must be deterministic and must
/// bound every loop. It allocates for slots in [`Policy::new`], and for a zone when the cache first
/// meets it ([`ByZone`](crate::parts::ByZone)), never for all zones of the disk, of which there may
/// be thousands of millions. Once all zones have been met it allocates nothing.
///
/// Four mistakes end the program, because continuing would lose data or wait for ever: naming a
/// slot that is not evictable; naming none though one is evictable and no I/O is in flight; naming
/// more than was asked for where that is not allowed; doing in idle time what [`Policy::IDLE`] does
/// not declare. The message names the policy and the rule. A policy that loses track of its lists
/// ends the program, too, as far as [`List`](crate::parts::List) detects it.
pub trait Policy: Clone + Send + 'static {
    /// Name on the command line.
    const NAME: &'static str;
    /// One line for `shingle list policies`, with the source.
    const ABOUT: &'static str;
    /// How it divides the disk.
    const ZONING: Zoning = Zoning::None;
    /// Whether it writes zones that the drive exposes only at their write pointers, or after a
    /// reset: groups of the manners [`DestageMethod::Append`], [`DestageMethod::Rewrite`] and
    /// [`DestageMethod::HostRmw`], and no bypassed writes. Only such a policy needs no translation over a
    /// drive whose zones must be written in sequence.
    const IN_SEQUENCE: bool = false;
    /// What it does with idle time. The papers do not say, so this is a decision of this project:
    /// while the disk is idle, the dirty blocks that would leave next are written first, before
    /// their room is needed.
    const IDLE: Idle = Idle::Never("it has no Policy::destage");
    /// Its parameters. With [`Zoning::Fixed`] and [`Zoning::ExposedOrFixed`] they include [`ZONE`].
    const PARAMS: &'static [Param] = &[];

    /// Creates the policy for an empty cache. Allocates for slots; zones are allocated for when
    /// they are met.
    fn new(params: &Params, slots: &Slots) -> Self;

    /// Decides whether a block that is not cached enters. Called once per missing access, before
    /// room is made for it, so that ghosts can be consulted.
    #[inline]
    fn admit(&mut self, access: &Access, slots: &Slots) -> Admission {
        let _ = (access, slots);
        Admission::Fill
    }

    /// A hit: `slot` holds `access.block`. Its dirty state is already up to date.
    fn on_hit(&mut self, slot: Slot, access: &Access, slots: &Slots);

    /// An insertion: `slot` has just been allocated to `access.block`, or stays after all, because
    /// it was hit while leaving or its destage failed.
    fn on_insert(&mut self, slot: Slot, access: &Access, slots: &Slots);

    /// A trim: `slot` is about to be freed. Its state is still that before the trim.
    fn on_remove(&mut self, slot: Slot, slots: &Slots);

    /// A clean slot has become dirty. [`Policy::on_hit`] follows.
    #[inline]
    fn on_dirty(&mut self, slot: Slot, slots: &Slots) {
        let _ = (slot, slots);
    }

    /// A dirty slot has become clean and stays.
    #[inline]
    fn on_clean(&mut self, slot: Slot, slots: &Slots) {
        let _ = (slot, slots);
    }

    /// The write pointer of `zone` has moved from `before` to [`Slots::write_pointer`]. Called only
    /// for policies that work with exposed zones.
    fn on_write_pointer(&mut self, zone: Zone, before: u64, slots: &Slots) {
        let _ = (zone, before, slots);
    }

    /// Names victims: about `want`, and at least one if any slot is [`Slots::evictable`]. A policy
    /// that empties zones may name many more. It removes a slot from its order before it names it,
    /// because a clean slot holds no block after [`Victims::push`]. Blocks that are written and
    /// stay ([`Victims::keep`]) make no room and do not count.
    ///
    /// Called with a full cache, or by an executor that makes room ahead of need. `incoming` is the
    /// access that needs the room, if there is one.
    fn evict(&mut self, incoming: Option<&Access>, want: u32, out: &mut Victims);

    /// Names dirty [`Slots::evictable`] slots to be written in idle time: about `want`, and at
    /// least one if there is one and no I/O is in flight. Those that an eviction would name next
    /// come first, in the groups and manners of an eviction. A policy that empties zones may finish
    /// the zone it began, and names nothing beyond it. The blocks stay in the cache and in the
    /// policy's order. When the disk has them, they turn clean ([`Policy::on_clean`]). With
    /// [`Idle::Never`] nothing is named.
    ///
    /// It must be cheap: no search of all slots or zones.
    fn destage(&mut self, want: u32, out: &mut Victims) {
        let _ = (want, out);
    }

    /// Prefetches what a touch of `slot` reads, because one is likely soon.
    #[inline]
    fn prefetch(&self, slot: Slot) {
        let _ = slot;
    }

    /// Prefetches what accesses to these blocks read, whether they are cached or not; 64 each at
    /// most. A lookup takes two steps: for the blocks that come `soon` the first one is prefetched,
    /// for those that come `next` the second one.
    #[inline]
    fn prefetch_blocks(&self, next: &[Block], soon: &[Block], slots: &Slots) {
        let _ = (next, soon, slots);
    }

    /// Prefetches what the insertion of a block of `zone`, which comes soon, reads and writes: the first
    /// step what is read first, the second one what that leads to. A start inserts millions of blocks.
    #[inline]
    fn prefetch_insert(&self, zone: ZoneIndex, dirty: bool, step: PrefetchStep) {
        let _ = (zone, dirty, step);
    }

    /// Writes the likely next victims to `out` and returns their number. It does not search. The
    /// cache prefetches what their eviction reads, so a wrong guess costs time only.
    #[inline]
    fn next_victims(&self, out: &mut [Slot]) -> usize {
        let _ = out;
        0
    }

    /// Takes the measured cost of an I/O on the disk.
    fn observe(&mut self, cost: &Cost) {
        let _ = cost;
    }

    /// Returns whether the policy needs the true state of the disk's buffer, which a simulator
    /// knows ([`Slots::horizon`]).
    fn wants_horizon(&self) -> bool {
        false
    }

    /// Returns a warning about results with `cache_blocks` slots over this disk, if the policy
    /// cannot do there what it is named for. One sentence, without the name of the policy.
    fn remark(&self, cache_blocks: u32, slots: &Slots) -> Option<String> {
        let _ = (cache_blocks, slots);
        None
    }

    /// Returns whether the policy needs to know the future ([`Access::next_use`]). Such a policy is
    /// a bound for others, and no store can run it.
    fn wants_future(&self) -> bool {
        false
    }

    /// Panics if an invariant is broken. For tests; may be slow.
    fn check(&self, slots: &Slots) {
        let _ = slots;
    }

    /// Returns the memory in use.
    fn memory(&self) -> Memory;
}
