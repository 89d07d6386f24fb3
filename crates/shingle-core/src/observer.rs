//! Observation of the calls between an executor and a cache: every call that has an effect, and
//! every decision that it leads to, in order.
//!
//! A cache is a pure state machine: the same calls on an equal cache lead to the same decisions. So
//! the recording of a store can be replayed and compared event by event.

use std::any::Any;
use std::sync::{Arc, Mutex, PoisonError};

use crate::ahead::{Ahead, PrefetchStep};
use crate::cache::{CacheCore, Forecast, Outcome};
use crate::plan::Plan;
use crate::policy::{Access, Cost, Memory};
use crate::slots::Slots;
use crate::units::{Block, Nanos, Op, Request, Slot, Zone};

/// Whether an access is a first attempt or a retry.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Attempt {
    /// The first attempt.
    Access,
    /// A retry after no room was found.
    Retry,
}

/// Something that happened. Numbers of requests count from 0.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Event {
    /// A request was accepted; its blocks are accessed from now on.
    Request(Request),
    /// A request was completed.
    Answered {
        /// Number of the request.
        number: u64,
        /// Time of the completion.
        at: Nanos,
        /// Whether it succeeded.
        done: bool,
    },
    /// An I/O on a device was completed.
    Io {
        /// Whether the device is the SSD; otherwise the disk.
        ssd: bool,
        /// The operation.
        op: Op,
        /// The first block on that device.
        first: Block,
        /// Number of blocks; 0 for a flush.
        blocks: u64,
        /// Time of the submission.
        at: Nanos,
        /// Time from submission to completion.
        took: Nanos,
        /// Whether it succeeded.
        done: bool,
    },
    /// The events that follow happen at this time.
    Time(Nanos),
    /// A block was found in the cache at the start.
    Restored {
        /// The block.
        block: Block,
        /// Whether it is dirty.
        dirty: bool,
    },
    /// A block of a request was accessed.
    Access {
        /// First attempt or retry.
        asked: Attempt,
        /// Number of the request.
        number: u64,
        /// The block.
        block: Block,
        /// Decision: the outcome.
        outcome: Outcome,
    },
    /// Decision: a clean block was dropped.
    Dropped(Block),
    /// Decision: a dirty block is destaged and leaves. Events are in the order in which the policy
    /// named the blocks.
    Leaves(Block),
    /// Decision: a dirty block is destaged and stays.
    Stays(Block),
    /// The executor asked for this number of victims, ahead of need.
    Room(u32),
    /// The executor offered idle time for this number of destages.
    Idle(u32),
    /// The executor asked to destage this slot itself; decision: whether it may.
    Begun(Slot, bool),
    /// A destage succeeded; decision: whether the slot was freed.
    Destaged(Slot, bool),
    /// A destage failed: the block stays, dirty.
    Kept(Slot),
    /// Blocks were trimmed.
    Trimmed {
        /// The first.
        first: Block,
        /// Number of blocks.
        count: u64,
        /// Number of them that were cached and were dropped.
        dropped: u64,
    },
    /// An I/O on a slot began.
    Pinned(Slot),
    /// An I/O on a slot ended.
    Unpinned(Slot),
    /// The cost of a disk I/O was passed to the policy.
    Observed(Cost),
}

/// Receives events.
pub trait Observer: Send {
    /// Receives an event.
    fn event(&mut self, event: &Event);

    /// Returns whether it needs every call. Otherwise [`Event::Pinned`], [`Event::Unpinned`] and
    /// [`Event::Observed`], of which there are several a request, are left out.
    fn follows(&self) -> bool {
        true
    }
}

/// An observer that several parts of one executor tell.
#[derive(Clone)]
pub struct Shared(Arc<Mutex<dyn Observer>>);

impl Shared {
    /// To be shared.
    pub fn new(observer: impl Observer + 'static) -> Shared {
        Shared(Arc::new(Mutex::new(observer)))
    }

    /// One that can be asked afterwards.
    pub fn of(observer: Arc<Mutex<impl Observer + 'static>>) -> Shared {
        Shared(observer)
    }

    /// Passes an event to the observer. All callers are on one thread, so the lock never waits.
    pub fn event(&self, event: &Event) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).event(event);
    }
}

impl Observer for Shared {
    fn event(&mut self, event: &Event) {
        Shared::event(self, event);
    }

    fn follows(&self) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).follows()
    }
}

/// One that can be asked afterwards.
impl<W: Observer> Observer for Arc<Mutex<W>> {
    fn event(&mut self, event: &Event) {
        self.lock().unwrap_or_else(PoisonError::into_inner).event(event);
    }

    fn follows(&self) -> bool {
        self.lock().unwrap_or_else(PoisonError::into_inner).follows()
    }
}

impl<W: Observer> Observer for Option<W> {
    fn event(&mut self, event: &Event) {
        if let Some(observer) = self {
            observer.event(event);
        }
    }

    fn follows(&self) -> bool {
        self.as_ref().is_some_and(W::follows)
    }
}

/// Both are told.
impl<V: Observer, W: Observer> Observer for (V, W) {
    fn event(&mut self, event: &Event) {
        self.0.event(event);
        self.1.event(event);
    }

    fn follows(&self) -> bool {
        self.0.follows() || self.1.follows()
    }
}

impl core::fmt::Debug for Shared {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("Shared")
    }
}

/// A cache that reports its events to an observer. It decides as it would without one.
pub struct Observed<O = Shared> {
    cache: Box<dyn CacheCore>,
    observer: O,
    follows: bool,
}

impl<O: Observer> Observed<O> {
    /// Wraps `cache`, and reports to `observer`, which [`CacheCore::observer`] returns.
    #[must_use]
    pub fn new(cache: Box<dyn CacheCore>, observer: O) -> Observed<O> {
        let follows = observer.follows();
        Observed { cache, observer, follows }
    }

    /// Of what only those are told who follow each call.
    fn call(&mut self, event: &Event) {
        if self.follows {
            self.observer.event(event);
        }
    }

    /// Tells what a call has added to the plan.
    fn planned(&mut self, before: (usize, usize), plan: &Plan) {
        if length(plan) == before {
            return;
        }
        for dropped in &plan.dropped()[before.0..] {
            self.observer.event(&Event::Dropped(dropped.block));
        }
        for destage in &plan.destages()[before.1..] {
            let block = destage.block;
            let leaves = destage.leaves;
            self.observer.event(&if leaves { Event::Leaves(block) } else { Event::Stays(block) });
        }
    }

    fn asked(
        &mut self,
        asked: Attempt,
        access: &mut Access,
        plan: &mut Plan,
        ask: impl FnOnce(&mut dyn CacheCore, &mut Access, &mut Plan) -> Outcome,
    ) -> Outcome {
        let before = length(plan);
        let outcome = ask(self.cache.as_mut(), access, plan);
        let (number, block) = (access.number, access.block);
        self.observer.event(&Event::Access { asked, number, block, outcome });
        self.planned(before, plan);
        outcome
    }
}

/// How long the lists of a plan are.
fn length(plan: &Plan) -> (usize, usize) {
    (plan.dropped().len(), plan.destages().len())
}

impl<O: Observer + 'static> CacheCore for Observed<O> {
    fn access(&mut self, access: &mut Access, plan: &mut Plan) -> Outcome {
        self.asked(Attempt::Access, access, plan, |cache, access, plan| cache.access(access, plan))
    }

    fn retry(&mut self, access: &mut Access, plan: &mut Plan) -> Outcome {
        self.asked(Attempt::Retry, access, plan, |cache, access, plan| cache.retry(access, plan))
    }

    fn destaged(&mut self, slot: Slot) -> bool {
        let freed = self.cache.destaged(slot);
        self.observer.event(&Event::Destaged(slot, freed));
        freed
    }

    fn destage_failed(&mut self, slot: Slot) {
        self.observer.event(&Event::Kept(slot));
        self.cache.destage_failed(slot);
    }

    fn idle(&mut self, want: u32, plan: &mut Plan) {
        let before = length(plan);
        self.cache.idle(want, plan);
        self.observer.event(&Event::Idle(want));
        self.planned(before, plan);
    }

    fn evict(&mut self, want: u32, plan: &mut Plan) {
        let before = length(plan);
        self.cache.evict(want, plan);
        self.observer.event(&Event::Room(want));
        self.planned(before, plan);
    }

    fn begin_destage(&mut self, slot: Slot) -> bool {
        let may = self.cache.begin_destage(slot);
        self.observer.event(&Event::Begun(slot, may));
        may
    }

    fn restore(&mut self, block: Block, dirty: bool) -> Option<Slot> {
        let slot = self.cache.restore(block, dirty);
        if slot.is_some() {
            self.observer.event(&Event::Restored { block, dirty });
        }
        slot
    }

    fn restore_all(&mut self, blocks: &[(Block, bool)]) -> Result<(), Block> {
        self.cache.restore_all(blocks)?;
        for &(block, dirty) in blocks {
            self.observer.event(&Event::Restored { block, dirty });
        }
        Ok(())
    }

    fn trim(&mut self, first: Block, count: u64) -> u64 {
        let dropped = self.cache.trim(first, count);
        self.observer.event(&Event::Trimmed { first, count, dropped });
        dropped
    }

    fn pin(&mut self, slot: Slot) {
        self.call(&Event::Pinned(slot));
        self.cache.pin(slot);
    }

    fn unpin(&mut self, slot: Slot) {
        self.call(&Event::Unpinned(slot));
        self.cache.unpin(slot);
    }

    fn prefetch(&self, ahead: &mut Ahead, requests: &[Request], tell: &mut dyn FnMut(Forecast)) {
        self.cache.prefetch(ahead, requests, tell);
    }

    fn prefetch_destaged(&self, slot: Slot, step: PrefetchStep) {
        self.cache.prefetch_destaged(slot, step);
    }

    fn lookup(&self, block: Block) -> Option<Slot> {
        self.cache.lookup(block)
    }

    fn observe(&mut self, cost: &Cost) {
        self.call(&Event::Observed(*cost));
        self.cache.observe(cost);
    }

    fn wants_horizon(&self) -> bool {
        self.cache.wants_horizon()
    }

    fn remark(&self, cache_blocks: u32) -> Option<String> {
        self.cache.remark(cache_blocks)
    }

    fn wants_future(&self) -> bool {
        self.cache.wants_future()
    }

    fn set_horizon(&mut self, horizon: u64) {
        self.cache.set_horizon(horizon);
    }

    fn wants_write_pointers(&self) -> bool {
        self.cache.wants_write_pointers()
    }

    fn set_write_pointer(&mut self, zone: Zone, to: u64) {
        self.cache.set_write_pointer(zone, to);
    }

    fn slots(&self) -> &Slots {
        self.cache.slots()
    }

    fn full(&self) -> bool {
        self.cache.full()
    }

    /// Copies are not observed.
    fn copy(&self) -> Box<dyn CacheCore> {
        self.cache.copy()
    }

    fn memory(&self) -> Memory {
        self.cache.memory()
    }

    fn check(&self) {
        self.cache.check();
    }

    fn observer(&mut self) -> Option<&mut dyn Any> {
        Some(&mut self.observer)
    }
}
