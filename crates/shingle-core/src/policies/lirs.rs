//! LIRS (Jiang and Zhang, SIGMETRICS 2002). Most of the cache holds blocks with low inter-reference
//! recency (LIR), which leave only by becoming HIR. A small rest holds the HIR blocks, of which the
//! first in the queue Q leaves. The stack S orders by last use all LIR blocks and those HIR blocks,
//! cached or not, that were used more recently than some LIR block. If such a HIR block is used
//! again, its inter-reference recency is lower than that of the LIR block at the bottom, and the
//! two change roles. S always ends with a LIR block: what is below is pruned.
//!
//! As in the paper, blocks become LIR until there are enough of them. Beyond the paper: the number
//! of HIR blocks that are remembered but not cached is limited (`ghosts`; the one that left first
//! is forgotten), and Lhirs is at least a block. When all HIR blocks have I/O in flight or are held
//! back, the least recently used LIR block leaves, and is not remembered. An eviction that asks for
//! more victims than there are HIR blocks gets no more than these: to empty the LIR blocks of a
//! small cache for a large `cache.batch` would make LIRS an LRU. For larger batches raise
//! `lirs.hirs`.

use crate::order::Order;
use crate::param;
use crate::params::{Param, Params};
use crate::parts::{Ghosts, Links, List};
use crate::policy::{Access, Memory};
use crate::slots::Slots;
use crate::units::{Block, Slot};

/// The slot is LIR.
const LIR: u8 = 1;
/// The slot is in the stack.
const STACKED: u8 = 2;

/// Stack and queue. Slots and ghosts are members of two pools of links. One is for the stack. The
/// other is for one list per role: LIR slots by last use, HIR slots in the queue, ghosts by age.
#[derive(Clone, Debug)]
pub struct Lirs {
    pub(super) in_stack: Links,
    pub(super) stack: List,
    pub(super) in_roles: Links,
    pub(super) lirs: List,
    pub(super) queue: List,
    pub(super) aged: List,
    pub(super) states: Vec<u8>, // by slot
    pub(super) ghosts: Ghosts,
    pub(super) lirs_max: u32,
    pub(super) ghosts_max: u32,
    /// The block that missed last, if it was remembered: making room may remove its ghost.
    pub(super) returning: Option<Block>,
}

impl Lirs {
    fn forget(&mut self, ghost: u32) {
        self.stack.unlink(&mut self.in_stack, ghost);
        self.aged.unlink(&mut self.in_roles, ghost);
        self.ghosts.remove(ghost);
    }

    /// Makes `slot`, which has no role, LIR and the last used.
    fn promote(&mut self, slot: Slot) {
        if self.states[slot.index()] & STACKED != 0 {
            self.stack.unlink(&mut self.in_stack, slot.0);
        }
        self.states[slot.index()] = LIR | STACKED;
        self.stack.push_head(&mut self.in_stack, slot.0);
        self.lirs.push_head(&mut self.in_roles, slot.0);
        while self.lirs.len() > self.lirs_max
            && let Some(bottom) = self.lirs.pop_tail(&mut self.in_roles)
        {
            self.stack.unlink(&mut self.in_stack, bottom);
            self.states[bottom as usize] = 0;
            self.queue.push_head(&mut self.in_roles, bottom);
        }
        self.prune();
    }

    /// Prunes the stack until a LIR block is at the bottom.
    fn prune(&mut self) {
        while let Some(bottom) = self.stack.tail() {
            if self.ghosts.numbers(bottom) {
                self.forget(bottom);
            } else if self.states[bottom as usize] & LIR != 0 {
                return;
            } else {
                self.stack.unlink(&mut self.in_stack, bottom);
                self.states[bottom as usize] = 0;
            }
        }
    }
}

impl Order for Lirs {
    const NAME: &'static str = "lirs";
    const ABOUT: &'static str = "LIRS: low inter-reference recency stays (SIGMETRICS 2002)";
    const PARAMS: &'static [Param] = &[
        param!("hirs": Ratio = "0.01",
            "part of the cache for resident HIR blocks (paper), at least a block; an eviction names no more \
             than these, whatever cache.batch asks for"),
        param!("ghosts": Ratio = "0.5",
            "HIR blocks remembered that are not cached, in cache sizes, at most 4 (own)"),
    ];

    fn new(params: &Params, slots: &Slots) -> Self {
        let capacity = slots.capacity();
        let hirs = params.part_of("hirs", capacity).clamp(1, u64::from(capacity).max(1)) as u32;
        let wanted = params.part_of("ghosts", capacity).min(4 * u64::from(capacity));
        // One more than may stay, until the oldest is removed.
        let ghosts = Ghosts::capacity_for(capacity, wanted + 1);
        let members = capacity as usize + ghosts as usize;
        Lirs {
            in_stack: Links::new(members),
            stack: List::default(),
            in_roles: Links::new(members),
            lirs: List::default(),
            queue: List::default(),
            aged: List::default(),
            states: vec![0; capacity as usize],
            ghosts: Ghosts::new(capacity, ghosts),
            lirs_max: capacity.saturating_sub(hirs),
            ghosts_max: ghosts - 1,
            returning: None,
        }
    }

    #[inline]
    fn miss(&mut self, access: &Access, _: &Slots) {
        self.returning = self.ghosts.find(access.block).map(|_| access.block);
    }

    #[inline]
    fn insert(&mut self, slot: Slot, access: &Access, _: &Slots) {
        let missed = self.returning.take_if(|returning| *returning == access.block).is_some();
        let ghost = self.ghosts.find(access.block);
        if let Some(ghost) = ghost {
            self.forget(ghost);
        }
        self.states[slot.index()] = 0;
        if missed || ghost.is_some() || self.lirs.len() < self.lirs_max {
            return self.promote(slot);
        }
        self.states[slot.index()] = STACKED;
        self.stack.push_head(&mut self.in_stack, slot.0);
        self.queue.push_head(&mut self.in_roles, slot.0);
        self.prune();
    }

    #[inline]
    fn touch(&mut self, slot: Slot, _: &Access, _: &Slots) {
        let state = self.states[slot.index()];
        if state & LIR != 0 {
            self.lirs.to_head(&mut self.in_roles, slot.0);
            self.stack.to_head(&mut self.in_stack, slot.0);
        } else if state & STACKED != 0 || self.lirs.len() < self.lirs_max {
            self.queue.unlink(&mut self.in_roles, slot.0);
            return self.promote(slot);
        } else {
            self.states[slot.index()] = STACKED;
            self.stack.push_head(&mut self.in_stack, slot.0);
            self.queue.to_head(&mut self.in_roles, slot.0);
        }
        self.prune();
    }

    fn remove(&mut self, slot: Slot, _: &Slots) {
        let state = core::mem::take(&mut self.states[slot.index()]);
        let list = if state & LIR != 0 { &mut self.lirs } else { &mut self.queue };
        list.unlink(&mut self.in_roles, slot.0);
        if state & STACKED != 0 {
            self.stack.unlink(&mut self.in_stack, slot.0);
        }
        self.prune();
    }

    /// A HIR slot keeps its place in the stack until it really leaves.
    #[inline]
    fn pop(&mut self, slots: &Slots) -> Option<Slot> {
        if let Some(slot) = self.pop_another(slots) {
            return Some(slot);
        }
        let slot = slots.coldest(&self.lirs, &self.in_roles)?;
        self.lirs.unlink(&mut self.in_roles, slot.0);
        self.stack.unlink(&mut self.in_stack, slot.0);
        self.states[slot.index()] = LIR;
        self.prune();
        Some(slot)
    }

    /// LIR blocks leave one at a time, only if there is no HIR block.
    #[inline]
    fn pop_another(&mut self, slots: &Slots) -> Option<Slot> {
        let slot = slots.coldest(&self.queue, &self.in_roles)?;
        self.queue.unlink(&mut self.in_roles, slot.0);
        Some(slot)
    }

    fn restore(&mut self, slot: Slot, _: &Slots) {
        let state = &mut self.states[slot.index()];
        if *state & LIR == 0 {
            return self.queue.push_tail(&mut self.in_roles, slot.0);
        }
        *state |= STACKED;
        self.stack.push_tail(&mut self.in_stack, slot.0);
        self.lirs.push_tail(&mut self.in_roles, slot.0);
    }

    #[inline]
    fn left(&mut self, slot: Slot, slots: &Slots) {
        if core::mem::take(&mut self.states[slot.index()]) != STACKED {
            return;
        }
        let ghost = self.ghosts.add(slots.block(slot), 0);
        self.stack.push_behind(&mut self.in_stack, ghost, slot.0);
        self.stack.unlink(&mut self.in_stack, slot.0);
        self.aged.push_head(&mut self.in_roles, ghost);
        if self.aged.len() > self.ghosts_max
            && let Some(oldest) = self.aged.tail()
        {
            self.forget(oldest);
        }
    }

    fn coldest(&self) -> impl Iterator<Item = Slot> + '_ {
        self.queue.from_tail(&self.in_roles).chain(self.lirs.from_tail(&self.in_roles)).map(Slot)
    }

    #[inline]
    fn prefetch(&self, slot: Slot) {
        self.in_stack.prefetch(slot.0);
        self.in_roles.prefetch(slot.0);
    }

    #[inline]
    fn prefetch_blocks(&self, next: &[Block], soon: &[Block], _: &Slots) {
        self.ghosts.prefetch(next, soon);
    }

    fn memory(&self) -> Memory {
        let links = self.in_stack.bytes() + self.in_roles.bytes();
        Memory { by_slots: links + self.states.capacity() + self.ghosts.bytes(), by_zones: 0 }
    }

    fn check(&self, slots: &Slots) {
        self.stack.check(&self.in_stack);
        [self.lirs, self.queue, self.aged].iter().for_each(|list| list.check(&self.in_roles));
        assert_eq!(self.aged.len(), self.ghosts.len(), "a ghost is on no list");
        assert_eq!(self.stack.tail(), self.lirs.tail(), "the stack ends with no LIR block");
        for slot in self.queue.from_tail(&self.in_roles).map(Slot) {
            assert_eq!(self.states[slot.index()] & LIR, 0, "a LIR slot is in the queue");
        }
        for slot in self.lirs.from_tail(&self.in_roles).map(Slot) {
            assert_eq!(self.states[slot.index()], LIR | STACKED, "a LIR slot is not in the stack");
        }
        for member in self.stack.from_tail(&self.in_stack) {
            if !self.ghosts.numbers(member) {
                assert!(self.states[member as usize] & STACKED != 0, "a stacked slot has no mark");
                let block = slots.block(Slot(member));
                assert!(self.ghosts.find(block).is_none(), "a ghost is in the cache");
            }
        }
    }
}
