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
//! A leaving block is in no order of the policy, but lookups find it until the disk has its data.

use std::any::Any;

use crate::ahead::{Ahead, LOOKAHEAD, PREFETCH_MAX, PrefetchStep};
use crate::contract::broken;
use crate::parts::ZoneIndex;
use crate::plan::{Destage, Plan};
use crate::policy::{Access, Admission, Cost, Idle, Memory, Policy, Victims};
use crate::slots::{Slots, VICTIMS_MAX};
use crate::units::{Block, Op, Request, Slot, Zone};
use crate::whole_bands::{Taken, widen};

/// The outcome of an access.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// The block is in this slot: read it there, or write it there.
    Hit(Slot),
    /// The block was allocated this slot. A write goes there. A read, and the rest of a partly
    /// written block, is read from the disk into it.
    Miss(Slot),
    /// The disk serves the block; it is not in the cache.
    Bypass,
    /// There is no room yet. Carry out the plan, report what was destaged, then call
    /// [`Cache::retry`]. With an empty plan, wait for I/O in flight.
    NoRoom,
}

/// The likely outcomes of the next [`LOOKAHEAD`] requests. A guess, for
/// executors that prefetch data of their own.
#[derive(Clone, Copy, Debug)]
pub enum Forecast<'a> {
    /// Slots that will be hit.
    Hits(&'a [Slot]),
    /// Blocks that will miss.
    Misses(&'a [Block]),
    /// Slots that will be evicted for them.
    Victims(&'a [Slot]),
}

impl Forecast<'_> {
    /// Calls `prefetch` with each block that the disk will read or write.
    #[inline]
    pub fn on_disk(&self, slots: &Slots, prefetch: impl Fn(Block)) {
        match self {
            Forecast::Hits(_) => {}
            Forecast::Misses(blocks) => blocks.iter().for_each(|&block| prefetch(block)),
            Forecast::Victims(victims) => {
                let dirty = victims.iter().filter(|&&slot| slots.dirty(slot));
                dirty.for_each(|&slot| prefetch(slots.block(slot)));
            }
        }
    }
}

/// What is known of the blocks that are restored next, each at its number modulo the places.
struct Coming {
    zones: [Option<Zone>; Coming::PLACES],
    /// Their zones, if the cache has met them.
    met: [Option<ZoneIndex>; Coming::PLACES],
}

impl Coming {
    /// Steps in which is prefetched what a block needs, before it is restored.
    const STEPS: usize = 3;
    const PLACES: usize = (Coming::STEPS + 1) * LOOKAHEAD;
}

impl Default for Coming {
    fn default() -> Coming {
        Coming { zones: [None; Coming::PLACES], met: [None; Coming::PLACES] }
    }
}

/// A cache of blocks, managed by policy `P`. Pure: it decides, and an executor acts and reports
/// back.
#[derive(Clone, Debug)]
pub struct Cache<P> {
    slots: Slots,
    policy: P,
    /// Name of the policy. A policy that is registered at run time has no name in its type.
    name: &'static str,
    batch: u32,
    /// Reads that miss bypass the cache, whatever the policy.
    writes_only: bool,
    /// Whether and how bands are written whole, whatever the policy.
    whole_bands: Option<Taken>,
    /// Number of slots allocated so far.
    inserts: u64,
    /// The block that found no room last, and `inserts` at that time. While `inserts` is unchanged,
    /// the block is still not cached and need not be looked up again.
    refused: Option<(Block, u64)>,
}

impl<P: Policy> Cache<P> {
    /// Creates an empty cache over `slots` that asks for `batch` victims at a time.
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

    /// Makes the cache write bands whole.
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

    /// Allocates a slot to the block of `access`, making room first if none is free.
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
    fn restored(&mut self, slot: Slot, block: Block, dirty: bool) {
        self.inserts += 1;
        let op = if dirty { Op::Write } else { Op::Read };
        self.policy.on_insert(slot, &Access::whole(0, block, op), &self.slots);
    }

    #[inline]
    fn make_room(&mut self, incoming: Option<&Access>, want: u32, plan: &mut Plan) {
        let mark = plan.mark();
        let mut out = Victims::new(self.name, &mut self.slots, plan, false);
        self.policy.evict(incoming, want, &mut out);
        if out.is_empty() && incoming.is_some() {
            self.check_none_evictable();
        }
        if let Some(taken) = self.whole_bands {
            widen(taken, plan, mark, &mut self.slots);
        }
    }

    /// Ends the program if the policy named no victim though one is evictable. While I/O is in
    /// flight, its completion may free a slot; without any, the access would wait for ever. (An
    /// executor that makes room ahead of need can do without.)
    #[cold]
    fn check_none_evictable(&self) {
        if let Some(slot) = self.slots.evictable_at_rest() {
            let what = format_args!("it named no slot, though slot {} may leave", slot.0);
            broken(self.name, "evict", what);
        }
    }
}

impl<P: Policy> Cache<P> {
    /// Checks what was named in idle time against the contract.
    fn check_idle(&self, want: u32, named: &[Destage]) {
        let broken = |what: core::fmt::Arguments| broken(self.name, "destage", what);
        if P::IDLE != Idle::Names && !named.is_empty() {
            broken(format_args!(
                "it named {} slots, and declares that it names none (Policy::IDLE)",
                named.len()
            ));
        }
        // Beyond `want`, only the rest of the zone begun last may be named.
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
            broken(format_args!("it named no slot, though slot {} is dirty", slot.0));
        }
    }
}

/// The interface of a cache for executors, whatever its policy.
pub trait CacheCore: Send {
    /// Looks up the block of `access`, tells the policy, and makes room if needed. What has to
    /// leave is appended to `plan`. The executor carries the plan out before it writes to the slot
    /// of the outcome.
    fn access(&mut self, access: &mut Access, plan: &mut Plan) -> Outcome;

    /// Repeats an access that returned [`Outcome::NoRoom`].
    fn retry(&mut self, access: &mut Access, plan: &mut Plan) -> Outcome;

    /// Reports that the disk has the data of `slot` as it was when the destage was planned. Returns
    /// whether the slot was freed.
    fn destaged(&mut self, slot: Slot) -> bool;

    /// Reports that the destage of `slot` failed: the block stays, dirty.
    fn destage_failed(&mut self, slot: Slot);

    /// Plans about `want` destages of blocks that stay (idle time). A policy that empties zones
    /// finishes the zone it began. Completions are reported as for other destages.
    fn idle(&mut self, want: u32, plan: &mut Plan);

    /// Makes room ahead of need: about `want` blocks leave.
    fn evict(&mut self, want: u32, plan: &mut Plan);

    /// Begins a destage of `slot`, chosen by the executor, for modes in which every write goes to
    /// the disk soon. The block stays, and the completion is reported as for other destages.
    /// Returns false if the slot is clean or has I/O in flight.
    fn begin_destage(&mut self, slot: Slot) -> bool;

    /// Restores a block that the executor found in its cache at start, as if it had been used just
    /// now. Call it for the coldest block first. Returns `None` if every slot is allocated. The
    /// block must not be cached: the caller checks, as there may be millions of calls.
    fn restore(&mut self, block: Block, dirty: bool) -> Option<Slot>;

    /// Restores blocks as [`CacheCore::restore`] would one after the other, those with `true` as dirty,
    /// in less time. Into a new cache: the first block gets slot 0, and so on. Stops with an error at
    /// a block that is cached already.
    ///
    /// # Panics
    /// If there are fewer slots, or the cache is not new.
    fn restore_all(&mut self, blocks: &[(Block, bool)]) -> Result<(), Block>;

    /// Drops the cached blocks among `count` blocks from `first` on, without destaging them, and
    /// returns their number. A block with I/O in flight stays, as a trim is advice.
    fn trim(&mut self, first: Block, count: u64) -> u64;

    /// Marks the start of an I/O on `slot`. It may not be a victim until [`CacheCore::unpin`].
    fn pin(&mut self, slot: Slot);

    /// Marks the end of an I/O on `slot`.
    fn unpin(&mut self, slot: Slot);

    /// Prefetches what the next requests will read: `requests` are the next
    /// [`PREFETCH_REQUESTS`](crate::ahead::PREFETCH_REQUESTS), or as many as are known. Call it
    /// before each [`LOOKAHEAD`] requests, with the same `ahead`; each
    /// batch of them is taken one step further. `tell` gets the likely outcomes of the first batch.
    /// The state does not change. Only an executor that knows the next requests can call it.
    fn prefetch(&self, ahead: &mut Ahead, requests: &[Request], tell: &mut dyn FnMut(Forecast));

    /// Prefetches what [`CacheCore::destaged`] of `slot` will read, one step per call. The state
    /// does not change.
    fn prefetch_destaged(&self, slot: Slot, step: PrefetchStep);

    /// Returns the slot that holds `block`.
    fn lookup(&self, block: Block) -> Option<Slot>;

    /// Passes the measured cost of an I/O on the disk to the policy.
    fn observe(&mut self, cost: &Cost);

    /// Returns whether the policy needs [`CacheCore::set_horizon`].
    fn wants_horizon(&self) -> bool;

    /// As [`Policy::remark`].
    fn remark(&self, cache_blocks: u32) -> Option<String>;

    /// Returns whether the policy needs [`Access::next_use`].
    fn wants_future(&self) -> bool;

    /// Sets the true state of the disk's buffer; see [`Slots::horizon`].
    fn set_horizon(&mut self, horizon: u64);

    /// Returns whether the policy needs [`CacheCore::set_write_pointer`].
    fn wants_write_pointers(&self) -> bool;

    /// Sets the write pointer of `zone`, in blocks from the start of the zone, after the zone was
    /// written, cleaned or reset. The executor reports it before the next access. At the start all
    /// zones count as empty.
    fn set_write_pointer(&mut self, zone: Zone, to: u64);

    /// Returns the slots.
    fn slots(&self) -> &Slots;

    /// Returns whether every slot holds a block.
    fn full(&self) -> bool;

    /// Returns a copy in the same state, for what-if questions such as draining.
    fn copy(&self) -> Box<dyn CacheCore>;

    /// Returns the memory used by cache and policy.
    fn memory(&self) -> Memory;

    /// Panics if an invariant is broken. For tests; slow.
    fn check(&self);

    /// Returns the observer, if there is one ([`Observed`](crate::observer::Observed)).
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
        // Another access may have inserted the block meanwhile.
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
        self.restored(slot, block, dirty);
        Some(slot)
    }

    fn restore_all(&mut self, blocks: &[(Block, bool)]) -> Result<(), Block> {
        let first = self.slots.capacity() - self.slots.free_slots();
        let mut coming = Coming::default();
        for at in 0..blocks.len() + Coming::STEPS * LOOKAHEAD {
            // Each step reads what the one before has prefetched, and is this many blocks behind it.
            let at_step = |step: usize| {
                let at = at.checked_sub(step * LOOKAHEAD)?;
                Some((at, *blocks.get(at)?))
            };
            if let Some((at, (block, _))) = at_step(0) {
                coming.zones[at % Coming::PLACES] = self.slots.prefetch_zone(block);
                self.slots.prefetch_heads(&[self.slots.bucket(block) as u32]);
            }
            if let Some((at, (_, dirty))) = at_step(1) {
                let zone = coming.zones[at % Coming::PLACES];
                let met = zone.and_then(|zone| self.slots.find_zone(zone));
                coming.met[at % Coming::PLACES] = met;
                if let Some(zone) = met {
                    self.policy.prefetch_insert(zone, dirty, PrefetchStep::First);
                }
            }
            if let Some((at, (block, dirty))) = at_step(2) {
                self.slots.prefetch_first(&[self.slots.bucket(block) as u32]);
                if let Some(zone) = coming.met[at % Coming::PLACES] {
                    self.policy.prefetch_insert(zone, dirty, PrefetchStep::Second);
                }
            }
            if let Some((at, (block, dirty))) = at_step(Coming::STEPS) {
                if self.slots.find(block).is_some() {
                    return Err(block);
                }
                let zone = coming.zones[at % Coming::PLACES];
                let slot = self.slots.fill_in(zone, block, dirty);
                assert_eq!(
                    slot,
                    Some(Slot(first + at as u32)),
                    "a new cache gives its slots in order"
                );
                self.restored(Slot(first + at as u32), block, dirty);
            }
        }
        Ok(())
    }

    fn trim(&mut self, first: Block, count: u64) -> u64 {
        let mut dropped = 0;
        // A trim may cover the whole disk: walk its blocks or the slots, whichever are fewer.
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

    fn prefetch(&self, ahead: &mut Ahead, requests: &[Request], tell: &mut dyn FnMut(Forecast)) {
        if self.slots.fit_processor_cache() {
            return;
        }
        let [next, soon, later] = ahead.show(requests, |block| self.slots.bucket(block) as u32);
        self.slots.prefetch_heads(later.buckets());
        self.slots.prefetch_first(soon.buckets());
        let (next, buckets) = (next.blocks(), next.buckets());
        self.policy.prefetch_blocks(next, soon.blocks(), &self.slots);
        let (mut hits, mut misses) = ([Slot::NONE; PREFETCH_MAX], [Block(0); PREFETCH_MAX]);
        let mut count = 0;
        for (at, (&block, &bucket)) in next.iter().zip(buckets).enumerate() {
            // Without a branch, as hit or miss is not predictable.
            let slot = self.slots.prefetch_second(block, bucket);
            hits[at - count] = slot;
            misses[count] = block;
            count += usize::from(slot == Slot::NONE);
        }
        let (hits, misses) = (&hits[..next.len() - count], &misses[..count]);
        hits.iter().for_each(|&slot| self.policy.prefetch(slot));
        tell(Forecast::Hits(hits));
        if count > 0 {
            tell(Forecast::Misses(misses));
            if self.slots.full() {
                self.prefetch_victims(count.min(VICTIMS_MAX), tell);
            }
        }
    }

    fn prefetch_destaged(&self, slot: Slot, step: PrefetchStep) {
        let slot = std::iter::once(slot);
        match step {
            PrefetchStep::First => self.slots.prefetch_records(slot),
            PrefetchStep::Second => self.slots.prefetch_heads_of(slot),
            PrefetchStep::Third => self.slots.prefetch_first_of(slot),
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
    /// Prefetches what evictions for the next `misses` misses will read, and for twice as many
    /// misses after them.
    #[inline]
    fn prefetch_victims(&self, misses: usize, tell: &mut dyn FnMut(Forecast)) {
        let mut victims = [Slot::NONE; 3 * VICTIMS_MAX];
        let known = self.policy.next_victims(&mut victims[..3 * misses]);
        let mut parts = victims[..known].chunks(misses);
        let mut part = || parts.next().unwrap_or_default();
        let (next, soon, later) = (part(), part(), part());
        self.slots.prefetch_records(later.iter().copied());
        self.slots.prefetch_heads_of(soon.iter().copied());
        self.slots.prefetch_first_of(next.iter().copied());
        next.iter().for_each(|&slot| self.policy.prefetch(slot));
        tell(Forecast::Victims(next));
    }
}
