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

use crate::index::Index;
use crate::policy::{Access, Admission, Cost, Policy, Victims, WriteOrder};
use crate::slots::Slots;
use crate::units::{Block, Op, Slot};

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

/// A block to write to the disk.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Destage {
    /// Where its data is.
    pub slot: Slot,
    /// Where it goes.
    pub block: Block,
}

/// What an executor has to do so that blocks can leave: destages in groups, each with its order.
/// The caller owns it; the cache appends.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    destages: Vec<Destage>,
    /// Ends of groups within `destages`; what follows the last is one more group, by address.
    groups: Vec<(usize, WriteOrder)>,
    dropped_blocks: u64,
}

impl Plan {
    /// The destages, in groups.
    pub fn groups(&mut self) -> impl Iterator<Item = (&mut [Destage], WriteOrder)> {
        let last = (self.destages.len(), WriteOrder::ByAddress);
        let mut rest = self.destages.as_mut_slice();
        let mut start = 0;
        let ends = self.groups.iter().copied().chain([last]);
        ends.map(move |(end, order)| {
            let (group, after) = core::mem::take(&mut rest).split_at_mut(end - start);
            (start, rest) = (end, after);
            (group, order)
        })
        .filter(|(group, _)| !group.is_empty())
    }

    /// All destages.
    #[must_use]
    pub fn destages(&self) -> &[Destage] {
        &self.destages
    }

    /// Clean blocks dropped.
    #[must_use]
    pub fn dropped_blocks(&self) -> u64 {
        self.dropped_blocks
    }

    /// Whether there is nothing to do.
    #[must_use]
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.destages.is_empty() && self.dropped_blocks == 0
    }

    /// Forgets everything; call it when the plan has been carried out.
    #[inline]
    pub fn clear(&mut self) {
        self.destages.clear();
        self.groups.clear();
        self.dropped_blocks = 0;
    }

    /// What was planned so far without a word on groups becomes a group of its own.
    fn begin_group(&mut self) {
        if self.groups.last().map_or(0, |&(end, _)| end) < self.destages.len() {
            self.end_group(WriteOrder::ByAddress);
        }
    }

    fn end_group(&mut self, order: WriteOrder) {
        self.groups.push((self.destages.len(), order));
    }
}

/// A cache of blocks, managed by policy `P`. Pure: it decides, an executor does and reports back.
#[derive(Clone, Debug)]
pub struct Cache<P> {
    blocks: Blocks,
    policy: P,
    victims: Victims,
    batch: u32,
    /// Blocks that were given a slot so far.
    inserts: u64,
    /// The block refused last, and how many inserts there had been: as long as there was none
    /// since, it is still not here and need not be looked up again.
    refused: Option<(Block, u64)>,
}

/// Which block is in which slot.
#[derive(Clone, Debug)]
struct Blocks {
    slots: Slots,
    index: Index,
    free: Vec<Slot>,
}

impl Blocks {
    #[inline]
    fn find(&self, block: Block) -> Option<Slot> {
        self.index.get(block, |slot| self.slots.block(slot) == block)
    }

    #[inline]
    fn release(&mut self, slot: Slot) {
        let block = self.slots.free(slot);
        self.index.remove(block, slot);
        self.free.push(slot);
    }

    /// A clean victim is gone at once, a dirty one is put on the plan.
    #[inline]
    fn leave(&mut self, slot: Slot, plan: &mut Plan) {
        let (block, freed) = self.slots.leave(slot);
        if freed {
            plan.dropped_blocks += 1;
            self.index.remove(block, slot);
            self.free.push(slot);
        } else {
            plan.destages.push(Destage { slot, block });
        }
    }
}

impl<P: Policy> Cache<P> {
    /// An empty cache over `slots`, which asks for `batch` victims at a time.
    pub(crate) fn new(policy: P, slots: Slots, batch: u32) -> Cache<P> {
        let capacity = slots.capacity();
        let zone_blocks = slots.drive().zones.as_ref().map_or(0, crate::zones::ZoneMap::largest);
        let most = u64::from(capacity).min(zone_blocks.max(u64::from(batch)));
        let blocks = Blocks {
            index: Index::new(capacity as usize),
            free: (0..capacity).rev().map(Slot).collect(),
            slots,
        };
        let victims = Victims::with_capacity(most as usize);
        Cache { blocks, policy, victims, batch: batch.max(1), inserts: 0, refused: None }
    }

    #[inline]
    fn hit(&mut self, slot: Slot, access: &mut Access) {
        let write = access.op == Op::Write;
        let before = self.blocks.slots.touch(slot, write);
        access.was_dirty = before.dirty();
        if before.leaving() {
            self.blocks.slots.stay(slot);
            self.policy.on_insert(slot, access, &self.blocks.slots);
            return;
        }
        if write && !before.dirty() {
            self.policy.on_dirty(slot, &self.blocks.slots);
        }
        self.policy.on_hit(slot, access, &self.blocks.slots);
    }

    /// Gives a free slot to the block of `access`, making room first if there is none.
    #[inline]
    fn place(&mut self, access: &Access, plan: &mut Plan) -> Outcome {
        if self.blocks.free.is_empty() {
            self.make_room(Some(access), self.batch, plan);
        }
        let Some(slot) = self.blocks.free.pop() else {
            self.refused = Some((access.block, self.inserts));
            return Outcome::NoRoom;
        };
        self.inserts += 1;
        self.blocks.slots.fill(slot, access.block, access.op == Op::Write);
        self.blocks.index.insert(access.block, slot);
        self.policy.on_insert(slot, access, &self.blocks.slots);
        Outcome::Miss(slot)
    }

    fn make_room(&mut self, incoming: Option<&Access>, want: u32, plan: &mut Plan) {
        self.victims.clear();
        self.policy.evict(incoming, want, &self.blocks.slots, &mut self.victims);
        let mut named = self.victims.slots().iter();
        for (count, order) in self.victims.counts() {
            plan.begin_group();
            named.by_ref().take(count).for_each(|&slot| self.blocks.leave(slot, plan));
            plan.end_group(order);
        }
        named.for_each(|&slot| self.blocks.leave(slot, plan));
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

    /// Plans up to `want` destages of blocks that stay (idle time). They are reported like others.
    fn idle(&mut self, want: u32, plan: &mut Plan);

    /// Makes room before it is needed: about `want` blocks leave.
    fn evict(&mut self, want: u32, plan: &mut Plan);

    /// Drops the cached ones of `count` blocks from `first` on without destaging them; returns how
    /// many there were. A block with I/O under way stays: a trim is advice.
    fn trim(&mut self, first: Block, count: u64) -> u64;

    /// I/O on `slot` begins: it may not be named until [`CacheCore::unpin`].
    fn pin(&mut self, slot: Slot);

    /// I/O on `slot` has ended.
    fn unpin(&mut self, slot: Slot);

    /// The slot that holds `block`.
    fn lookup(&self, block: Block) -> Option<Slot>;

    /// What an I/O on the disk really took.
    fn observe(&mut self, cost: &Cost);

    /// Whether the policy wants to be told [`CacheCore::set_horizon`].
    fn wants_horizon(&self) -> bool;

    /// A simulator's truth on the disk's buffer; see [`Slots::horizon`].
    fn set_horizon(&mut self, horizon: u64);

    /// The slots.
    fn slots(&self) -> &Slots;

    /// Dirty blocks with their slots, in slot order: what a drain has to write.
    fn dirty(&self) -> Vec<Destage>;

    /// Whether every slot holds a block.
    fn full(&self) -> bool;

    /// A copy in the same state, for what-if questions such as draining.
    fn copy(&self) -> Box<dyn CacheCore>;

    /// Bytes of memory taken by cache and policy.
    fn bytes(&self) -> usize;

    /// Panics if an invariant is broken. For tests; slow.
    fn check(&self);
}

impl<P: Policy> CacheCore for Cache<P> {
    #[inline]
    fn access(&mut self, access: &mut Access, plan: &mut Plan) -> Outcome {
        if let Some(slot) = self.blocks.find(access.block) {
            self.hit(slot, access);
            return Outcome::Hit(slot);
        }
        access.was_dirty = false;
        match self.policy.admit(access, &self.blocks.slots) {
            Admission::Fill => self.place(access, plan),
            Admission::Bypass => Outcome::Bypass,
        }
    }

    fn retry(&mut self, access: &mut Access, plan: &mut Plan) -> Outcome {
        // Somebody else may have brought the block in meanwhile.
        if self.refused != Some((access.block, self.inserts))
            && let Some(slot) = self.blocks.find(access.block)
        {
            self.hit(slot, access);
            return Outcome::Hit(slot);
        }
        self.place(access, plan)
    }

    fn destaged(&mut self, slot: Slot) -> bool {
        let (leaves, current) = self.blocks.slots.end_destage(slot);
        if leaves {
            self.blocks.release(slot);
        } else if current {
            self.blocks.slots.mark_clean(slot);
            self.policy.on_clean(slot, &self.blocks.slots);
        }
        leaves
    }

    fn destage_failed(&mut self, slot: Slot) {
        let (leaves, _) = self.blocks.slots.end_destage(slot);
        if leaves {
            self.blocks.slots.stay(slot);
            let mut access = Access::whole(0, self.blocks.slots.block(slot), Op::Write);
            access.was_dirty = true;
            self.policy.on_insert(slot, &access, &self.blocks.slots);
        }
    }

    fn idle(&mut self, want: u32, plan: &mut Plan) {
        let slots = &mut self.blocks.slots;
        self.victims.clear();
        self.policy.destage(want, slots, &mut self.victims);
        let mut destage = |slot: Slot, plan: &mut Plan| {
            let ready = slots.evictable(slot) && slots.dirty(slot);
            assert!(ready, "a policy named a slot for destaging that is in use or clean");
            slots.begin_destage(slot);
            plan.destages.push(Destage { slot, block: slots.block(slot) });
        };
        let mut named = self.victims.slots().iter();
        for (count, order) in self.victims.counts() {
            plan.begin_group();
            named.by_ref().take(count).for_each(|&slot| destage(slot, plan));
            plan.end_group(order);
        }
        named.for_each(|&slot| destage(slot, plan));
    }

    fn evict(&mut self, want: u32, plan: &mut Plan) {
        self.make_room(None, want, plan);
    }

    fn trim(&mut self, first: Block, count: u64) -> u64 {
        let mut dropped = 0;
        // A trim may cover the whole disk: look at its blocks or at the slots, whichever are fewer.
        for at in 0..count.min(u64::from(self.blocks.slots.capacity())) {
            let slot = if count <= u64::from(self.blocks.slots.capacity()) {
                self.blocks.find(first.after(at))
            } else {
                Some(Slot(at as u32)).filter(|&slot| self.blocks.slots.holds(slot, first, count))
            };
            if let Some(slot) = slot.filter(|&slot| !self.blocks.slots.busy(slot)) {
                self.policy.on_remove(slot, &self.blocks.slots);
                self.blocks.release(slot);
                dropped += 1;
            }
        }
        dropped
    }

    fn pin(&mut self, slot: Slot) {
        self.blocks.slots.pin(slot);
    }

    fn unpin(&mut self, slot: Slot) {
        self.blocks.slots.unpin(slot);
    }

    fn lookup(&self, block: Block) -> Option<Slot> {
        self.blocks.find(block)
    }

    fn observe(&mut self, cost: &Cost) {
        self.policy.observe(cost);
    }

    fn wants_horizon(&self) -> bool {
        self.policy.wants_horizon()
    }

    fn set_horizon(&mut self, horizon: u64) {
        self.blocks.slots.set_horizon(horizon);
    }

    fn slots(&self) -> &Slots {
        &self.blocks.slots
    }

    fn dirty(&self) -> Vec<Destage> {
        let dirty = self.blocks.slots.iter_live().filter(|&slot| self.blocks.slots.dirty(slot));
        dirty.map(|slot| Destage { slot, block: self.blocks.slots.block(slot) }).collect()
    }

    fn full(&self) -> bool {
        self.blocks.free.is_empty()
    }

    fn copy(&self) -> Box<dyn CacheCore> {
        Box::new(self.clone())
    }

    fn bytes(&self) -> usize {
        self.blocks.slots.bytes() + self.blocks.index.bytes() + self.blocks.free.capacity() * 4 + self.policy.bytes()
    }

    fn check(&self) {
        let live: Vec<Slot> = self.blocks.slots.iter_live().collect();
        assert_eq!(live.len() + self.blocks.free.len(), self.blocks.slots.capacity() as usize);
        let dirty = live.iter().filter(|&&slot| self.blocks.slots.dirty(slot)).count();
        assert_eq!(dirty, self.blocks.slots.dirty_blocks() as usize);
        assert_eq!(live.len() - dirty, self.blocks.slots.clean_blocks() as usize);
        for &slot in &live {
            assert_eq!(self.blocks.find(self.blocks.slots.block(slot)), Some(slot), "a block is not found");
        }
        self.policy.check(&self.blocks.slots);
    }
}
