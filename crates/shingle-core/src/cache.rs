//! The cache: which block is in which slot, and the two steps in which a dirty block leaves.
//!
//! ```text
//!            access: miss                    evict: clean
//!   free ───────────────────► live ──────────────────────────► free
//!                              ▲ │ evict: dirty                  ▲
//!              hit, or failed  │ ▼                  destaged     │
//!                             leaving ───────────────────────────┘
//! ```
//!
//! A leaving block is forgotten by the policy but found by everyone else until the disk has it.

use std::any::Any;

use crate::contract::broken;
use crate::plan::{Destage, Plan};
use crate::policy::{Access, Admission, Cost, Idle, Memory, Policy, Victims};
use crate::slots::{EXPECTED_MAX, Slots, VICTIMS_MAX};
use crate::units::{Block, Op, Request, Slot, Zone};
use crate::whole_bands::{Taken, widen};

/// Requests from one look ahead to the next.
pub const LOOKED_AHEAD: usize = 16;

/// Requests that a look ahead is shown. What is found of a block hangs on what was read before: where its chain
/// begins, who is first there, who is next.
pub const SHOWN: usize = 3 * LOOKED_AHEAD;

/// What became of an access.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// The block is in this slot: read it there, or write it there.
    Hit(Slot),
    /// The block was given this slot: a write goes there; a read, and the rest of a partly written
    /// block, comes from the disk and fills it.
    Miss(Slot),
    /// The disk serves the block; it is not in the cache.
    Bypass,
    /// There is no room yet. Carry out the plan, report what was destaged, then
    /// [`Cache::retry`]. With an empty plan: wait for I/O that is under way.
    NoRoom,
}

/// What is likely to become of the next [`LOOKED_AHEAD`] requests. A guess, for whoever has the memory bring what it
/// will look up itself.
#[derive(Clone, Copy, Debug)]
pub enum Coming<'a> {
    /// Blocks are found in these slots.
    Hits(&'a [Slot]),
    /// These blocks are not found.
    Misses(&'a [Block]),
    /// These slots make room for them.
    Victims(&'a [Slot]),
}

impl Coming<'_> {
    /// Tells `expect` of the blocks that the disk is to read or write for it.
    #[inline]
    pub fn on_disk(&self, slots: &Slots, expect: impl Fn(Block)) {
        match self {
            Coming::Hits(_) => {}
            Coming::Misses(blocks) => blocks.iter().for_each(|&block| expect(block)),
            Coming::Victims(victims) => {
                let dirty = victims.iter().filter(|&&slot| slots.dirty(slot));
                dirty.for_each(|&slot| expect(slots.block(slot)));
            }
        }
    }
}

/// What is read lies where what was read before says: the steps in which the memory is asked for it, ahead of time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ahead {
    /// What is known of a slot.
    First,
    /// Where that leads.
    Second,
    /// And where that leads.
    Third,
}

/// A cache of blocks, managed by policy `P`. Pure: it decides, an executor does and reports back.
#[derive(Clone, Debug)]
pub struct Cache<P> {
    slots: Slots,
    policy: P,
    /// What the policy is called: one that is described while the program runs has no name in its type.
    name: &'static str,
    batch: u32,
    /// Reads that miss go round the cache, whatever the policy.
    writes_only: bool,
    /// Bands are written whole so, whatever the policy.
    whole_bands: Option<Taken>,
    /// Blocks that were given a slot so far.
    inserts: u64,
    /// The block refused last, and how many inserts there had been: as long as there was none
    /// since, it is still not here and need not be looked up again.
    refused: Option<(Block, u64)>,
}

impl<P: Policy> Cache<P> {
    /// An empty cache over `slots`, which asks for `batch` victims at a time.
    pub(crate) fn new(
        name: &'static str,
        policy: P,
        slots: Slots,
        batch: u32,
        writes_only: bool,
    ) -> Cache<P> {
        let (batch, whole_bands) = (batch.max(1), None);
        Cache { slots, policy, name, batch, writes_only, whole_bands, inserts: 0, refused: None }
    }

    /// The same, with bands written whole.
    pub(crate) fn with_whole_bands(self, taken: Taken) -> Cache<P> {
        Cache { whole_bands: Some(taken), ..self }
    }

    #[inline(always)]
    fn hit(&mut self, slot: Slot, access: &mut Access) {
        let write = access.op == Op::Write;
        let before = self.slots.touch(slot, write);
        access.was_dirty = before.dirty();
        if before.leaving() {
            self.slots.stay(slot);
            self.policy.on_insert(slot, access, &self.slots);
            return;
        }
        if write && !before.dirty() {
            self.policy.on_dirty(slot, &self.slots);
        }
        self.policy.on_hit(slot, access, &self.slots);
    }

    /// Gives a free slot to the block of `access`, making room first if there is none.
    #[inline(always)]
    fn place(&mut self, access: &Access, plan: &mut Plan) -> Outcome {
        if self.slots.full() {
            self.make_room(Some(access), self.batch, plan);
        }
        let Some(slot) = self.slots.fill(access.block, access.op == Op::Write) else {
            self.refused = Some((access.block, self.inserts));
            return Outcome::NoRoom;
        };
        self.inserts += 1;
        self.policy.on_insert(slot, access, &self.slots);
        Outcome::Miss(slot)
    }

    #[inline]
    fn make_room(&mut self, incoming: Option<&Access>, want: u32, plan: &mut Plan) {
        let mark = plan.mark();
        let mut out = Victims::new(self.name, &mut self.slots, plan, false);
        self.policy.evict(incoming, want, &mut out);
        if out.is_empty() && incoming.is_some() {
            self.nobody_named();
        }
        if let Some(taken) = self.whole_bands {
            widen(taken, plan, mark, &mut self.slots);
        }
    }

    /// Nobody was named to make room for an access. While I/O is under way its end may change that; without
    /// any, room would be waited for that nobody makes. (Who asks for room ahead of need can do without.)
    #[cold]
    fn nobody_named(&self) {
        if let Some(slot) = self.slots.evictable_at_rest() {
            let what = format_args!("it named nobody, though slot {} may leave", slot.0);
            broken(self.name, "evict", what);
        }
    }
}

impl<P: Policy> Cache<P> {
    /// Holds what was named in idle time against the contract.
    fn check_idle(&self, want: u32, named: &[Destage]) {
        let broken = |what: core::fmt::Arguments| broken(self.name, "destage", what);
        if P::IDLE != Idle::Names && !named.is_empty() {
            broken(format_args!(
                "it named {} slots, and declares that it names none (Policy::IDLE)",
                named.len()
            ));
        }
        // Once all that is wanted has been named, what follows is of the zone begun last.
        let zone = |one: &Destage| self.slots.zone_index(one.slot);
        let wanted = named.get(..want as usize).unwrap_or(named);
        let rest = &named[wanted.len()..];
        let begun = wanted.last().filter(|_| self.slots.drive().zones.is_some()).map(zone);
        if rest.iter().any(|one| Some(zone(one)) != begun) {
            broken(format_args!(
                "it named {} slots, {want} are wanted: beyond these only the rest of a zone",
                named.len()
            ));
        }
        if P::IDLE == Idle::Names
            && want > 0
            && named.is_empty()
            && let Some(slot) = self.slots.dirty_at_rest()
        {
            broken(format_args!("it named nobody, though slot {} is dirty", slot.0));
        }
    }
}

/// What an executor does with a cache, whatever its policy.
pub trait CacheCore: Send {
    /// Looks up the block of `access`, lets the policy know, and makes room if need be. What has to
    /// leave is appended to `plan`. The executor carries the plan out before it writes to the slot
    /// of the outcome.
    fn access(&mut self, access: &mut Access, plan: &mut Plan) -> Outcome;

    /// Asks again after [`Outcome::NoRoom`].
    fn retry(&mut self, access: &mut Access, plan: &mut Plan) -> Outcome;

    /// The disk has the data of `slot` as it was when the destage was planned. Returns whether the
    /// slot was freed.
    fn destaged(&mut self, slot: Slot) -> bool;

    /// The disk did not take the data of `slot`: it stays, dirty.
    fn destage_failed(&mut self, slot: Slot);

    /// Plans about `want` destages of blocks that stay (idle time); a policy that empties zones finishes
    /// the zone it began. They are reported like others.
    fn idle(&mut self, want: u32, plan: &mut Plan);

    /// Makes room before it is needed: about `want` blocks leave.
    fn evict(&mut self, want: u32, plan: &mut Plan);

    /// The executor itself begins to destage `slot`, which stays: for modes in which the disk gets
    /// everything soon. It is reported like others. Returns whether it may: a slot that is clean or
    /// has I/O under way may not.
    fn begin_destage(&mut self, slot: Slot) -> bool;

    /// Puts back a block that an executor found in its cache when it started, as if it had been
    /// used just now: begin with the coldest. `None` if every slot is taken. The block is not there yet:
    /// whoever calls has looked, as there may be millions of them.
    fn restore(&mut self, block: Block, dirty: bool) -> Option<Slot>;

    /// Drops the cached ones of `count` blocks from `first` on without destaging them; returns how
    /// many there were. A block with I/O under way stays: a trim is advice.
    fn trim(&mut self, first: Block, count: u64) -> u64;

    /// I/O on `slot` begins: it may not be named until [`CacheCore::unpin`].
    fn pin(&mut self, slot: Slot);

    /// I/O on `slot` has ended.
    fn unpin(&mut self, slot: Slot);

    /// These requests come next, [`SHOWN`] or as many as are known: has the memory bring what they will read, a step
    /// for each [`LOOKED_AHEAD`] of them, while others are worked on. To be called before each [`LOOKED_AHEAD`]
    /// requests. `tell` is told what is likely to become of the first of them. It changes nothing; only an executor
    /// that knows the future can call it.
    fn expect(&self, requests: &[Request], tell: &mut dyn FnMut(Coming));

    /// The destage of `slot` is soon [reported](CacheCore::destaged): has the memory bring what that will read, a step at a
    /// time, while others are worked on. It changes nothing.
    fn expect_destaged(&self, slot: Slot, step: Ahead);

    /// The slot that holds `block`.
    fn lookup(&self, block: Block) -> Option<Slot>;

    /// What an I/O on the disk really took.
    fn observe(&mut self, cost: &Cost);

    /// Whether the policy wants to be told [`CacheCore::set_horizon`].
    fn wants_horizon(&self) -> bool;

    /// As [`Policy::remark`].
    fn remark(&self, cache_blocks: u32) -> Option<String>;

    /// Whether the policy wants every access to say when its block is used next.
    fn wants_future(&self) -> bool;

    /// A simulator's truth on the disk's buffer; see [`Slots::horizon`].
    fn set_horizon(&mut self, horizon: u64);

    /// Whether the policy wants to be told [`CacheCore::set_write_pointer`].
    fn wants_write_pointers(&self) -> bool;

    /// The write pointer of `zone` is now `to`, in blocks from the start of the zone: a zone may have
    /// been written, cleaned or reset. An executor tells it before the next access; at the start all
    /// zones are taken as empty.
    fn set_write_pointer(&mut self, zone: Zone, to: u64);

    /// The slots.
    fn slots(&self) -> &Slots;

    /// Whether every slot holds a block.
    fn full(&self) -> bool;

    /// A copy in the same state, for what-if questions such as draining.
    fn copy(&self) -> Box<dyn CacheCore>;

    /// Memory taken by cache and policy.
    fn memory(&self) -> Memory;

    /// Panics if an invariant is broken. For tests; slow.
    fn check(&self);

    /// Who is told of what it decides, if anybody is ([`Observed`](crate::observer::Observed)).
    fn observer(&mut self) -> Option<&mut dyn Any> {
        None
    }
}

impl<P: Policy> CacheCore for Cache<P> {
    #[inline]
    fn access(&mut self, access: &mut Access, plan: &mut Plan) -> Outcome {
        if let Some(slot) = self.slots.find(access.block) {
            self.hit(slot, access);
            return Outcome::Hit(slot);
        }
        access.was_dirty = false;
        if self.writes_only && access.op == Op::Read {
            return Outcome::Bypass;
        }
        match self.policy.admit(access, &self.slots) {
            Admission::Fill => self.place(access, plan),
            Admission::Bypass => Outcome::Bypass,
        }
    }

    #[inline]
    fn retry(&mut self, access: &mut Access, plan: &mut Plan) -> Outcome {
        // Somebody else may have brought the block in meanwhile.
        if self.refused != Some((access.block, self.inserts))
            && let Some(slot) = self.slots.find(access.block)
        {
            self.hit(slot, access);
            return Outcome::Hit(slot);
        }
        self.place(access, plan)
    }

    #[inline]
    fn destaged(&mut self, slot: Slot) -> bool {
        let (leaves, current) = self.slots.end_destage(slot);
        if leaves {
            self.slots.free(slot);
        } else if current {
            self.slots.mark_clean(slot);
            self.policy.on_clean(slot, &self.slots);
        }
        leaves
    }

    fn destage_failed(&mut self, slot: Slot) {
        let (leaves, _) = self.slots.end_destage(slot);
        if leaves {
            self.slots.stay(slot);
            let mut access = Access::whole(0, self.slots.block(slot), Op::Write);
            access.was_dirty = true;
            self.policy.on_insert(slot, &access, &self.slots);
        }
    }

    fn idle(&mut self, want: u32, plan: &mut Plan) {
        let mark = plan.mark();
        let mut out = Victims::new(self.name, &mut self.slots, plan, true);
        self.policy.destage(want, &mut out);
        self.check_idle(want, &plan.destages()[mark.destages..]);
        if let Some(taken) = self.whole_bands {
            widen(taken, plan, mark, &mut self.slots);
        }
    }

    fn evict(&mut self, want: u32, plan: &mut Plan) {
        self.make_room(None, want, plan);
    }

    fn begin_destage(&mut self, slot: Slot) -> bool {
        let may = self.slots.evictable(slot) && self.slots.dirty(slot);
        if may {
            self.slots.begin_destage(slot);
        }
        may
    }

    fn restore(&mut self, block: Block, dirty: bool) -> Option<Slot> {
        debug_assert!(self.slots.find(block).is_none(), "a block is restored once");
        let slot = self.slots.fill(block, dirty)?;
        self.inserts += 1;
        let op = if dirty { Op::Write } else { Op::Read };
        self.policy.on_insert(slot, &Access::whole(0, block, op), &self.slots);
        Some(slot)
    }

    fn trim(&mut self, first: Block, count: u64) -> u64 {
        let mut dropped = 0;
        // A trim may cover the whole disk: look at its blocks or at the slots, whichever are fewer.
        for at in 0..count.min(u64::from(self.slots.capacity())) {
            let slot = if count <= u64::from(self.slots.capacity()) {
                self.slots.find(first.after(at))
            } else {
                Some(Slot(at as u32)).filter(|&slot| self.slots.holds(slot, first, count))
            };
            if let Some(slot) = slot.filter(|&slot| !self.slots.busy(slot)) {
                self.policy.on_remove(slot, &self.slots);
                self.slots.free(slot);
                dropped += 1;
            }
        }
        dropped
    }

    fn pin(&mut self, slot: Slot) {
        self.slots.pin(slot);
    }

    fn unpin(&mut self, slot: Slot) {
        self.slots.unpin(slot);
    }

    fn expect(&self, requests: &[Request], tell: &mut dyn FnMut(Coming)) {
        if self.slots.are_few() {
            return;
        }
        let mut parts = requests.chunks(LOOKED_AHEAD);
        let mut blocks = [[Block(0); EXPECTED_MAX]; 3];
        let [next, soon, later] =
            blocks.each_mut().map(|blocks| blocks_of(parts.next().unwrap_or_default(), blocks));
        self.slots.expect_heads(later);
        self.slots.expect_first(soon);
        let mut met = [Slot::NONE; EXPECTED_MAX];
        self.slots.expect_second(next, &mut met);
        self.policy.expect_blocks(next, soon, &self.slots);
        let (mut hits, mut misses) = ([Slot::NONE; EXPECTED_MAX], [Block(0); EXPECTED_MAX]);
        let mut count = 0;
        for (at, (&block, &slot)) in next.iter().zip(&met).enumerate() {
            // (Without a branch, as in `expect_second`.)
            hits[at - count] = slot;
            misses[count] = block;
            count += usize::from(slot == Slot::NONE);
        }
        let (hits, misses) = (&hits[..next.len() - count], &misses[..count]);
        hits.iter().for_each(|&slot| self.policy.expect(slot));
        tell(Coming::Hits(hits));
        if count > 0 {
            tell(Coming::Misses(misses));
            if self.slots.full() {
                self.expect_victims(count.min(VICTIMS_MAX), tell);
            }
        }
    }

    fn expect_destaged(&self, slot: Slot, step: Ahead) {
        let slot = std::iter::once(slot);
        match step {
            Ahead::First => self.slots.expect_slots(slot),
            Ahead::Second => self.slots.expect_to_leave(slot),
            Ahead::Third => self.slots.expect_leaving(slot),
        }
    }

    fn lookup(&self, block: Block) -> Option<Slot> {
        self.slots.find(block)
    }

    fn observe(&mut self, cost: &Cost) {
        self.policy.observe(cost);
    }

    fn wants_horizon(&self) -> bool {
        self.policy.wants_horizon()
    }

    fn remark(&self, cache_blocks: u32) -> Option<String> {
        self.policy.remark(cache_blocks, &self.slots)
    }

    fn wants_future(&self) -> bool {
        self.policy.wants_future()
    }

    fn set_horizon(&mut self, horizon: u64) {
        self.slots.set_horizon(horizon);
    }

    fn wants_write_pointers(&self) -> bool {
        !self.slots.drive().write_pointers.is_empty()
    }

    fn set_write_pointer(&mut self, zone: Zone, to: u64) {
        match self.slots.set_write_pointer(zone, to) {
            Some(before) if before != to => {
                self.policy.on_write_pointer(zone, before, &self.slots);
            }
            _ => {}
        }
    }

    fn slots(&self) -> &Slots {
        &self.slots
    }

    fn full(&self) -> bool {
        self.slots.full()
    }

    fn copy(&self) -> Box<dyn CacheCore> {
        Box::new(self.clone())
    }

    fn memory(&self) -> Memory {
        Memory { by_slots: self.slots.bytes(), by_zones: self.slots.zone_bytes() }
            + self.policy.memory()
    }

    fn check(&self) {
        self.slots.check();
        self.policy.check(&self.slots);
    }
}

impl<P: Policy> Cache<P> {
    /// As [`CacheCore::expect`], of who leaves for `misses` blocks, and who will for as many behind those.
    #[inline]
    fn expect_victims(&self, misses: usize, tell: &mut dyn FnMut(Coming)) {
        let mut victims = [Slot::NONE; 3 * VICTIMS_MAX];
        let known = self.policy.coming(&mut victims[..3 * misses]);
        let mut parts = victims[..known].chunks(misses);
        let mut part = || parts.next().unwrap_or_default();
        let (next, soon, later) = (part(), part(), part());
        self.slots.expect_slots(later.iter().copied());
        self.slots.expect_to_leave(soon.iter().copied());
        self.slots.expect_leaving(next.iter().copied());
        next.iter().for_each(|&slot| self.policy.expect(slot));
        tell(Coming::Victims(next));
    }
}

/// The blocks of `requests`, or as many as there is room for.
#[inline]
fn blocks_of<'a>(requests: &[Request], room: &'a mut [Block; EXPECTED_MAX]) -> &'a [Block] {
    let blocks = requests
        .iter()
        .flat_map(|request| (0..request.blocks()).map(|place| request.first().after(place)));
    let count = room.iter_mut().zip(blocks).map(|(place, block)| *place = block).count();
    &room[..count]
}
