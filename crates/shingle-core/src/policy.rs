//! The seam for cache policies: a policy orders the blocks and names who leaves.
//!
//! One of the shortest: a hand goes round, and who it meets next leaves.
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
//!     const ABOUT: &'static str = "whoever is next, used or not";
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
//!         // Once round: whoever has I/O under way is passed over.
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
//! // Whoever takes a registry runs it by its name.
//! let mut registry = Registry::default();
//! registry.add::<Hand>();
//! assert_eq!(registry.get("hand").expect("it is there").about, "whoever is next, used or not");
//! ```
//!
//! The crate `shingle-testkit` tests whether a policy keeps its contract, with a line for all of it.

use crate::contract::broken;
use crate::params::{Param, Params};
use crate::parts::Links;
use crate::plan::{Manner, Plan};
use crate::slots::{EXPECTED_MAX, Slots};
use crate::units::{Block, Nanos, Op, Request, Slot, Zone};

/// One block of a request, on its way through the cache.
#[derive(Clone, Copy, Debug)]
pub struct Access {
    /// The request the block belongs to: its arrival, extent and operation.
    pub request: Request,
    /// Number of the request since the start of the run.
    pub number: u64,
    /// Place of the block within its request, from 0.
    pub place: u32,
    /// The block.
    pub block: Block,
    /// [`Op::Read`] or [`Op::Write`].
    pub op: Op,
    /// The request covers the block only in part.
    pub partial: bool,
    /// The block was cached and dirty before. Set by the cache.
    pub was_dirty: bool,
    /// Number of the access, counted from 0 over the run, that uses this block next;
    /// [`Access::NEVER`] if none does, or if nobody knows. Only a simulator can know, and it tells
    /// only policies that want it ([`Policy::wants_future`]).
    pub next_use: u64,
}

impl Access {
    /// The [`Access::next_use`] of a block that is not used again.
    pub const NEVER: u64 = u64::MAX;

    /// An access to one whole block by a request of its own.
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
    /// It gets a slot: a read fills it from the disk, a write goes to the cache only.
    Fill,
    /// The disk serves it; the cache stays as it is.
    Bypass,
}

/// Takes the names of those who leave. Without a word on groups all are one group, written by
/// address.
#[derive(Debug)]
pub struct Victims<'a> {
    slots: &'a mut Slots,
    plan: &'a mut Plan,
    /// Who names them.
    policy: &'static str,
    named: u32,
    stay: bool,
    /// Where in the plan the group under way began.
    group: usize,
}

impl<'a> Victims<'a> {
    /// With `stay`, what is named is written and stays.
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

    /// The slots, as they are now.
    #[must_use]
    #[inline]
    pub fn slots(&self) -> &Slots {
        self.slots
    }

    /// Names `slot`, which the policy has forgotten: a clean block is gone with this, a dirty one
    /// is on its way. From here on the slot tells nothing of what was in it.
    ///
    /// # Panics
    /// If the slot is not [`Slots::evictable`], or is clean and was to be written and stay. The message
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

    /// Names `slot`, which is dirty, to be written with its group and to stay: do not forget it. What the disk got
    /// turns clean ([`Policy::on_clean`]). In idle time that is what [`Victims::push`] does.
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

    /// `named` blocks have been named of the `most` that follow each other on a list, and `next` is next: what the
    /// leaving of the next part of them reads is brought now, for many side by side.
    #[inline]
    pub(crate) fn expect(&self, named: u32, most: u32, next: Slot, links: &Links) {
        if named.is_multiple_of(EXPECTED_MAX as u32) && most - named > 1 {
            let members =
                core::iter::successors(Some(next.0), |&member| links.towards_head(member));
            self.slots.expect_to_leave(members.map(Slot).take((most - named) as usize));
        }
    }

    /// Whether all that is named is written and stays: this is idle time.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.stay
    }

    /// Names those of `slots` that are dirty and [`Slots::evictable`]: in idle time all others stay as
    /// they are.
    #[inline]
    pub fn push_dirty(&mut self, slots: impl IntoIterator<Item = Slot>) {
        for slot in slots {
            if self.slots.evictable(slot) && self.slots.dirty(slot) {
                self.push(slot);
            }
        }
    }

    /// Ends a group: the dirty ones of the victims named since the last end are written so.
    pub fn end_group(&mut self, manner: Manner) {
        self.plan.end_group(self.group, manner);
        self.group = self.plan.destages().len();
    }

    /// Victims named so far.
    #[must_use]
    #[inline]
    pub fn len(&self) -> u32 {
        self.named
    }

    /// Whether no victim has been named.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.named == 0
    }
}

/// What an I/O on the disk really took.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Cost {
    /// [`Op::Read`] for a miss, [`Op::Write`] for a destage.
    pub op: Op,
    /// Blocks of the I/O.
    pub blocks: u64,
    /// From the disk's start on it to its completion.
    pub took: Nanos,
}

/// Memory taken, in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Memory {
    /// What grows with the slots of the cache.
    pub by_slots: usize,
    /// What grows with the zones of the disk that the cache has met.
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

/// What division of the disk a policy works with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Zoning {
    /// None.
    None,
    /// Zones of a fixed size, set by the parameter `zone` ([`ZONE`]), or, at the value `bands`, as
    /// [`Zoning::Bands`].
    Fixed,
    /// The drive's true bands: more than a host can know, unless the drive exposes them as zones.
    /// Tables mark a policy that is told more than a host can know.
    Bands,
    /// The zones that the drive exposes, with their write pointers.
    Exposed,
    /// As [`Zoning::Exposed`] over a drive that exposes zones, as [`Zoning::Fixed`] over any other.
    ExposedOrFixed,
}

/// The parameter of every policy that works with fixed zones.
pub const ZONE: Param = Param {
    name: "zone",
    kind: crate::params::Kind::Zones,
    default: "5000b",
    about: "size of the fixed zones that stand for bands (SAC §5.2: 20 MB), or bands: the true \
            ones, which no host knows",
};

/// What a policy does with idle time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Idle {
    /// [`Policy::destage`] names dirty blocks as long as there are any.
    Names,
    /// It names nothing, for this reason.
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

/// Orders the blocks of a cache and names who leaves. It owns its order and its ghosts, nothing
/// else: which slot holds what, dirty or clean, is the cache's business, so no policy can lose data.
///
/// The caller guarantees that each slot it names is in the state it says, that slots given to
/// [`Policy::on_insert`] are not the policy's already, and that what [`Policy::evict`] named is
/// gone from the policy's view until it is inserted again.
///
/// An implementer must not block, fail, read a clock or do I/O; must be deterministic; and must bound
/// every loop. It takes memory for its slots in [`Policy::new`] and for a zone when the cache first
/// meets it ([`ByZone`](crate::parts::ByZone)), never for all zones of the disk, of which there may
/// be thousands of millions. Once all zones have been met it allocates nothing.
///
/// A policy that names a slot it may not name, names nobody though somebody may be named and no I/O is
/// under way that it could wait for, names more than it was asked for where that is not allowed, or does
/// with idle time what it has not declared, ends the program with a sentence that names it and
/// the rule: to go on would lose data or wait for ever. So does one that loses track of its lists, as far
/// as [`List`](crate::parts::List) sees it.
pub trait Policy: Clone + Send + 'static {
    /// Name on the command line.
    const NAME: &'static str;
    /// One line for `shingle list policies`, with the source.
    const ABOUT: &'static str;
    /// The division of the disk it works with.
    const ZONING: Zoning = Zoning::None;
    /// Whether all it plans for zones that the drive exposes begins at their write pointers, or resets
    /// them first: groups of the manners [`Manner::Append`], [`Manner::Rewrite`] and
    /// [`Manner::HostRmw`], and no bypassed writes. Only such a policy can do without a translation
    /// over a drive whose zones must be written in sequence.
    const IN_SEQUENCE: bool = false;
    /// What it does with idle time. The papers do not say, so this is a decision of this project: whoever
    /// has a disk that is idle wants blocks written before their room is needed, and those first that
    /// would leave next.
    const IDLE: Idle = Idle::Never("it has no Policy::destage");
    /// Its parameters. With [`Zoning::Fixed`] and [`Zoning::ExposedOrFixed`] they include [`ZONE`].
    const PARAMS: &'static [Param] = &[];

    /// A policy for an empty cache. Memory for slots is taken here, for zones when they are met.
    fn new(params: &Params, slots: &Slots) -> Self;

    /// Whether a block that is not cached enters. Asked once per missing access, before room is
    /// made for it, so that ghosts can be consulted.
    #[inline]
    fn admit(&mut self, access: &Access, slots: &Slots) -> Admission {
        let _ = (access, slots);
        Admission::Fill
    }

    /// `slot` holds `access.block` and was touched. Its dirty state is already up to date.
    fn on_hit(&mut self, slot: Slot, access: &Access, slots: &Slots);

    /// `slot` has just been given to `access.block`, or has come back because it was hit on its way
    /// out or its destage failed.
    fn on_insert(&mut self, slot: Slot, access: &Access, slots: &Slots);

    /// The block was trimmed: `slot` is about to be freed. Its state is still that before the trim.
    fn on_remove(&mut self, slot: Slot, slots: &Slots);

    /// A clean slot has become dirty; [`Policy::on_hit`] follows.
    #[inline]
    fn on_dirty(&mut self, slot: Slot, slots: &Slots) {
        let _ = (slot, slots);
    }

    /// A dirty slot has become clean and stays.
    #[inline]
    fn on_clean(&mut self, slot: Slot, slots: &Slots) {
        let _ = (slot, slots);
    }

    /// The write pointer of `zone` has moved from `before` to where it is now
    /// ([`Slots::write_pointer`]). Only policies that work with exposed zones hear of it.
    fn on_write_pointer(&mut self, zone: Zone, before: u64, slots: &Slots) {
        let _ = (zone, before, slots);
    }

    /// Names victims: at least one [`Slots::evictable`] slot if there is one, about `want` of them;
    /// a policy that empties zones may name many more. A slot is forgotten before it is named: a clean
    /// one holds no block from [`Victims::push`] on. Called only with
    /// a full cache or by an executor that wants clean room early; `incoming` is the access that
    /// needs the room, if there is one. What is only written and stays ([`Victims::keep`]) makes no
    /// room and does not count.
    fn evict(&mut self, incoming: Option<&Access>, want: u32, out: &mut Victims);

    /// Names dirty [`Slots::evictable`] slots to be written in idle time: at least one if there is one
    /// and no I/O is under way, about `want` of them, those first that an eviction would name next, in
    /// the groups and manners of an eviction. A policy that empties zones may finish the zone it began;
    /// beyond that nobody is named. They stay in the cache and in the policy: do not forget them. What
    /// the disk got turns clean ([`Policy::on_clean`]). With [`Idle::Never`] nobody is named.
    ///
    /// It must be cheap: no search of all slots or zones.
    fn destage(&mut self, want: u32, out: &mut Victims) {
        let _ = (want, out);
    }

    /// `slot` may be touched next: has the memory bring what that will need, so that it is in the processor's
    /// cache by then.
    #[inline]
    fn expect(&self, slot: Slot) {
        let _ = slot;
    }

    /// These blocks, 64 each at most, may be accessed, cached or not: as [`Policy::expect`]. What has to be read to know
    /// what else will be is brought of those that come `soon`, what else of those that come `next`.
    #[inline]
    fn expect_blocks(&self, next: &[Block], soon: &[Block], slots: &Slots) {
        let _ = (next, soon, slots);
    }

    /// Writes to `out` who may be named next, as far as it takes no search to know, and returns how many:
    /// what their leaving will read is to be in the processor's cache by then. A wrong guess costs
    /// time only.
    #[inline]
    fn coming(&self, out: &mut [Slot]) -> usize {
        let _ = out;
        0
    }

    /// What an I/O on the disk really took.
    fn observe(&mut self, cost: &Cost) {
        let _ = cost;
    }

    /// Whether the policy wants a simulator's truth on the disk's buffer ([`Slots::horizon`]).
    fn wants_horizon(&self) -> bool {
        false
    }

    /// What to know before one believes what comes out with `cache_blocks` slots over this disk: that the
    /// policy cannot do there what it is named for. One sentence, without the name of the policy.
    fn remark(&self, cache_blocks: u32, slots: &Slots) -> Option<String> {
        let _ = (cache_blocks, slots);
        None
    }

    /// Whether the policy wants to know the future ([`Access::next_use`]): such a policy is a bound
    /// for others, and no store can run it.
    fn wants_future(&self) -> bool {
        false
    }

    /// Panics if an invariant is broken. For tests; may be slow.
    fn check(&self, slots: &Slots) {
        let _ = slots;
    }

    /// Memory taken.
    fn memory(&self) -> Memory;
}
